"""Explorers: estimators of the errors of f1, each trusted as far as labels confirm it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from river_ineural.explorers.discriminant import NO_FORM, Discriminant, posterior
from river_ineural.explorers.forest import NO_NODES, Forest
from river_ineural.explorers.last_label import LastLabel
from river_ineural.explorers.trees import votes
from river_ineural.features.jit import allocating, loop
from river_ineural.features.scaling import Scaling
from river_ineural.features.standardizing import place
from river_ineural.history import History
from river_ineural.networks.compiled import score

Floats = NDArray[np.floating[Any]]

FADING = 0.99  # of earlier labels, at each that follows
NO_GAINS = np.zeros(2)  # of no discriminant
SAID = "network", "forest", "discriminant"  # explorers whose estimates `say` computes


class Explorer(Protocol):
    """An estimator of the residual r1 - f1, such as `explorers.last_label.LastLabel`.

    After a change of the stream a `renewed` explorer learns all labels that the history then holds,
    in one call of `learn`.
    """

    TRUST: ClassVar[float]
    """The trust α_0 in it before any label has come, in [0, 1]."""
    PRIOR: ClassVar[float]
    """The weight of that first trust in the least squares: the sum of its squared estimates, over
    the labels seen, at which labels and first trust count the same."""

    def estimate(self, x: Floats, f1: Floats) -> Floats:
        """Its estimate of r1 - f1: raw x (B, d), f1 (B, k) → (B, k), a column a class."""
        ...

    def learn(self, history: History, scaling: Scaling, n: int) -> None:
        """Learn n more examples with given labels.

        `history.examples(history.labelled(n))` is their raw x (B, d), classes (B,), weights (B,)
        and numbers (B,); an example of weight 0 teaches nothing.
        """
        ...

    def renewed(self) -> Self:
        """One that has learned no example; this one stays as it is."""
        ...


class ExplorationNetwork:
    """f2 of the paper. Its weights lie beside those of f1, and are trained with them."""

    TRUST: ClassVar[float] = 0.0
    PRIOR: ClassVar[float] = 0.05

    def estimate(self, x: Floats, f1: Floats) -> Floats:
        """f2(φ), which is known with f1 already."""
        raise NotImplementedError

    def learn(self, history: History, scaling: Scaling, n: int) -> None:
        """Do nothing here: `Model.step` trains both networks."""

    def renewed(self) -> Self:
        """The networks are drawn anew."""
        return self


EXPLORERS: dict[str, Callable[[np.random.Generator], Explorer]] = {
    "network": lambda rng: ExplorationNetwork(),
    "forest": Forest,
    "discriminant": lambda rng: Discriminant(),
    "last_label": lambda rng: LastLabel(),
}
"""Makes an explorer, by name, from the generator of all explorers."""


class Explorers:
    """All explorers of a model, and the trust in each.

    With e_1 … e_n their estimates of the residual, a class is scored by

        f = f1 + Σ_j α_j e_j

    α is the least squares solution over labels that were given, each predicted before it is
    learned. At a label of weight w, with V (n, k) the estimates and r = r1 - f1 (k,),

        A ← 0.99 A + w V Vᵀ,    b ← 0.99 b + w V r,    (A + P) α = b + P α_0

    where P is diagonal with each one's `PRIOR` and α_0 each one's `TRUST`, and α is clipped to
    [0, 1]. So an explorer that has not helped lately counts for nothing. A discriminant that is
    silent is left out, and its α is 0.

    Parameters
    ----------
    by_name
        The explorers by name.

    Examples
    --------
    >>> explorers = Explorers({"network": ExplorationNetwork()})
    >>> explorers.trust
    (0.0,)
    >>> f1, estimate = np.array([[0.6, 0.4]]), np.array([[[0.8, -0.8]]])
    >>> explorers.update_trust(np.array([0]), f1, estimate, np.ones(1))
    >>> round(explorers.trust[0], 2)
    0.48
    """

    def __init__(self, by_name: dict[str, Explorer]) -> None:
        self.by_name, self.names = by_name, tuple(by_name)
        self.predicted = False  # whether an example was predicted since the latest label
        known: dict[str, Any] = {**by_name}  # each of the class that `EXPLORERS` has
        self.forest: Forest | None = known.get("forest")
        self.discriminant: Discriminant | None = known.get("discriminant")
        self.last_label: LastLabel | None = known.get("last_label")
        self.a, self.b = np.zeros((len(by_name), len(by_name))), np.zeros(len(by_name))
        self.prior = np.array([each.PRIOR for each in by_name.values()], np.float64)
        self.first = np.array([each.TRUST for each in by_name.values()], np.float64)
        others = [name for name in by_name if name not in SAID]
        self.rows = [1 + (*SAID, *others).index(name) for name in by_name]  # of what `say` writes
        self.others = [(i, by_name[name]) for i, name in enumerate(by_name) if name in others]
        self._solve()

    def __getstate__(self) -> dict[str, Any]:
        """What the rest follows from."""
        return {"by_name": self.by_name, "a": self.a, "b": self.b, "predicted": self.predicted}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["by_name"])  # type: ignore[misc]
        self.a, self.b = state["a"].copy(), state["b"].copy()  # to be written to
        self.predicted = state["predicted"]
        self._solve()

    def _solve(self) -> None:
        """Solve for the trust."""
        each_speaks = (getattr(each, "speaks", True) for each in self.by_name.values())
        speak = np.fromiter(each_speaks, np.bool_)
        self.alpha = solved(self.a, self.b, self.prior, self.first, speak)
        self.trust = tuple(self.alpha.tolist())
        trusted = self.trusted
        self.of_said: Any = tuple(trusted.get(name, 0.0) for name in SAID)
        self.explores = self.of_said[0] > 0

    @property
    def trusted(self) -> dict[str, float]:
        """The trust in each, by name."""
        return dict(zip(self.by_name, self.trust, strict=True))

    def estimates(self, x: Floats, f1: Floats, f2: Floats, every: bool) -> Floats:
        """f1, the estimate of each, of which that of the network is known, and f1 again (n, B, k).

        Without `every`, those of explorers that are not trusted are 0.
        """
        found = np.zeros((len(self.by_name) + 2, *f1.shape), f1.dtype)
        found[0] = found[-1] = f1
        for i, (name, each) in enumerate(self.by_name.items(), 1):
            if name == "network":
                found[i] = f2
            elif every or self.trust[i - 1] > 0:
                found[i] = each.estimate(x, f1)
        return found

    def told(self, every: bool) -> tuple[Any, Any]:
        """Trees and discriminant, as `say` takes them, the latter if `every` or if trusted."""
        asked = every or self.of_said[2] > 0
        nodes = self.forest.nodes if self.forest else NO_NODES
        return nodes, self.discriminant.form if self.discriminant and asked else NO_FORM

    def note_late(self, n: int) -> None:
        """Note that n examples were learned between the next label and its example."""
        if self.last_label:
            self.last_label.late = n

    def learn(self, history: History, scaling: Scaling, n: int) -> None:
        """Let each learn n more examples with given labels."""
        self.predicted = False
        for each in self.by_name.values():
            each.learn(history, scaling, n)

    def count_pseudo_label(self) -> None:
        """Note that an example with the model's own label has come."""
        if self.last_label:
            self.last_label.age += 1

    def note_predictions(self, n: int) -> None:
        """Note that n examples have been predicted."""
        self.predicted |= n > 0
        if self.last_label:
            self.last_label.predicted += n

    def update_trust(
        self,
        classes: NDArray[np.int64],
        f1: Floats,
        estimates: Floats,
        w: NDArray[np.float64],
    ) -> None:
        """Move the trust by given labels, before they are learned.

        Parameters
        ----------
        classes, f1, estimates, w
            Of each example its class (B,), f1 (B, k), the estimates of r1 - f1 by each explorer,
            (n, B, k), and its weight (B,): see `History.told`.
        """
        if len(estimates):
            own, gains = -1, NO_GAINS
            if self.discriminant and self.discriminant.fitted:
                own, gains = self.names.index("discriminant"), self.discriminant.gains
            follow(self.a, self.b, classes, f1, estimates, w, self.alpha, own, gains)
            self._solve()

    def renewed(self) -> Explorers:
        """Explorers that have learned nothing and are trusted as these; these stay as they are."""
        other = Explorers({name: each.renewed() for name, each in self.by_name.items()})
        other.a, other.b = self.a.copy(), self.b.copy()
        other._solve()
        return other


@allocating
def say(
    values: Any,
    columns: Any,
    scaling: Any,
    networks: Any,
    exploring: bool,
    nodes: tuple[Any, Any, Any, Any],
    form: tuple[Any, Any, Any],
    trust: tuple[float, float, float],
    raw: Any,
    found: Any,
) -> None:
    """Write what networks and trees say of values (1, n) of columns (n,), or of none below 0.

    Parameters
    ----------
    nodes
        Trees, and memory, as `trees.votes` takes them. Trees of one node have not been grown.
    form
        Of a discriminant, as `discriminant.posterior` takes it.
    trust
        In f2, the forest and the discriminant.
    raw
        Where x is written, float64 (1, d).
    found
        (n, 1, k), zeros before. Written are f1, f2 if `exploring`, the estimate of the forest if it
        has trees, that of the discriminant if it has a form, and as the last row the sum of f1 and
        these estimates times their trust.
    """
    place(values, columns, raw)
    score(networks, raw, scaling, exploring, found)
    if nodes[0].shape[1] > 1:
        votes(raw, found[0], nodes[0], nodes[1], nodes[2], nodes[3], found[2])
    posterior(raw, found[0], form[0], form[1], form[2], found[3])
    for c in range(found.shape[2]):
        total = np.float64(found[0, 0, c])
        for i in range(3):
            if trust[i] > 0:
                total += trust[i] * found[1 + i, 0, c]
        found[found.shape[0] - 1, 0, c] = total


@loop
def follow(
    a: Any, b: Any, classes: Any, f1: Any, estimates: Any, w: Any, alpha: Any, own: int, gains: Any
) -> None:
    """Move the sums A (n, n) and b (n,) of the least squares by labels: see `Explorers`.

    classes (B,), f1 (B, k), estimates (n, B, k), w (B,). A label of weight 0 counts for nothing,
    nor does one whose numbers are not finite. If there is a discriminant, its estimates are those
    of row `own`, and gain and square (2,) move too: see `Discriminant`. α (n,) is the trust before.
    """
    n, n_rows, k = estimates.shape
    for row in range(n_rows):
        fine = w[row] > 0
        for c in range(k):
            fine &= abs(f1[row, c]) < np.inf
            for i in range(n):
                fine &= abs(estimates[i, row, c]) < np.inf
        if not fine:
            continue
        if own >= 0:
            gain = 0.0
            for c in range(k):
                others = np.float64(f1[row, c])
                for i in range(n):
                    others += alpha[i] * estimates[i, row, c] if i != own else 0.0
                reward = np.float64(c == classes[row])
                s = max(0.0, min(1.0, f1[row, c])) + estimates[own, row, c]
                without, s = reward - max(0.0, min(1.0, others)), reward - s
                gain += without * without - s * s
            gains[0] = FADING * gains[0] + gain
            gains[1] = FADING * gains[1] + gain * gain
        for i in range(n):
            along = 0.0
            for c in range(k):
                residual = f1.dtype.type(c == classes[row]) - f1[row, c]
                along += np.float64(estimates[i, row, c]) * residual
            b[i] = FADING * b[i] + w[row] * along
            for j in range(n):
                product = 0.0
                for c in range(k):
                    product += np.float64(estimates[i, row, c]) * estimates[j, row, c]
                a[i, j] = FADING * a[i, j] + w[row] * product


@allocating
def solved(a: Any, b: Any, prior: Any, first: Any, speak: Any) -> Any:
    """α of (A + P) α = b + P α_0, clipped to [0, 1], by elimination: A + P is positive definite.

    α is 0 of explorers that do not speak, and that of the others as if there were none of these.
    """
    n = len(b)
    left, right = np.empty((n, n)), np.empty(n)
    for i in range(n):
        right[i] = b[i] + prior[i] * first[i] if speak[i] else 0.0
        for j in range(n):
            both = a[i, j] if speak[i] and speak[j] else 0.0
            left[i, j] = both + (prior[i] if i == j else 0.0)
    for i in range(n):
        for j in range(i + 1, n):
            factor = left[j, i] / left[i, i]
            for c in range(i, n):
                left[j, c] -= factor * left[i, c]
            right[j] -= factor * right[i]
    for i in range(n - 1, -1, -1):
        for c in range(i + 1, n):
            right[i] -= left[i, c] * right[c]
        right[i] /= left[i, i]
    for i in range(n):
        right[i] = min(1.0, max(0.0, right[i]))
    return right
