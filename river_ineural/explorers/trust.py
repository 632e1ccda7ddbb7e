"""Explorers: estimators of the errors of f1, each trusted as far as labels confirm it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from river_ineural.explorers.forest import Forest
from river_ineural.explorers.last_label import LastLabel
from river_ineural.features.scaling import Scaling
from river_ineural.history import History

__all__ = ["EXPLORERS", "ExplorationNetwork", "Explorer", "Explorers"]

Floats = NDArray[np.floating[Any]]

FADING = 0.99  # of earlier labels, at each that follows


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

    def estimate(self, x: Floats, f1: Floats, f2: Floats) -> Floats:
        """Its estimate of r1 - f1: raw x (B, d), f1 and f2 (B, k) → (B, k), a column a class."""
        ...

    def learn(self, history: History, scaling: Scaling, n: int, pseudo_label: bool) -> None:
        """Learn n more examples.

        Of given labels, `history.examples(history.labelled()[-n:])` is their raw x (B, d), their
        classes (B,) and their weights (B,); an example of weight 0 teaches nothing. Of
        pseudo-labels only their number n is known.
        """
        ...

    def renewed(self) -> Self:
        """One that has learned nothing; this one stays as it is."""
        ...


class ExplorationNetwork:
    """f2 of the paper. Its weights lie beside those of f1, and are trained with them."""

    TRUST: ClassVar[float] = 0.0
    PRIOR: ClassVar[float] = 0.05

    def estimate(self, x: Floats, f1: Floats, f2: Floats) -> Floats:
        """f2(φ)."""
        return f2

    def learn(self, history: History, scaling: Scaling, n: int, pseudo_label: bool) -> None:
        """Do nothing here: `Model.step` trains both networks."""

    def renewed(self) -> Self:
        """The networks are drawn anew."""
        return self


EXPLORERS: dict[str, Callable[[np.random.Generator], Explorer]] = {
    "network": lambda rng: ExplorationNetwork(),
    "forest": Forest,
    "last_label": lambda rng: LastLabel(),
}
"""Makes an explorer, by name, from the generator of all explorers."""


class Explorers:
    """All explorers of a model, and the trust in each.

    With e_1 … e_n their estimates of the residual, a class is scored by

        f = f1 + Σ_j α_j e_j

    α is the least squares solution over labels that were given, each predicted before it is
    learned. At a label, with V (n, k) the estimates and r = r1 - f1 (k,),

        A ← 0.99 A + V Vᵀ,    b ← 0.99 b + V r,    (A + P) α = b + P α_0

    where P is diagonal with each one's `PRIOR` and α_0 each one's `TRUST`, and α is clipped to
    [0, 1]. So an explorer that has not helped lately counts for nothing.

    Parameters
    ----------
    by_name
        The explorers by name.

    Examples
    --------
    >>> explorers = Explorers({"network": ExplorationNetwork()})
    >>> explorers.trust
    (0.0,)
    >>> residual = np.array([[0.4, -0.4]])
    >>> explorers.update_trust(residual, [2 * residual], np.ones(1))
    >>> round(explorers.trust[0], 2)
    0.48
    """

    def __init__(self, by_name: dict[str, Explorer]) -> None:
        self.by_name = by_name
        self.a = np.zeros((len(by_name), len(by_name)))
        self.b = np.zeros(len(by_name))
        self._solve()

    def _solve(self) -> None:
        """Solve for the trust."""
        kinds = self.by_name.values()
        prior = np.diag([each.PRIOR for each in kinds])
        first = np.array([each.PRIOR * each.TRUST for each in kinds])
        found: list[float] = np.linalg.solve(self.a + prior, self.b + first).tolist()
        self.trust = tuple(min(1.0, max(0.0, each)) for each in found)
        self.explores = self.trusted.get("network", 0.0) > 0

    @property
    def trusted(self) -> dict[str, float]:
        """The trust in each, by name."""
        return dict(zip(self.by_name, self.trust, strict=True))

    def estimates(self, x: Floats, f1: Floats, f2: Floats, every: bool) -> list[Floats]:
        """The estimates of each, (B, k); without `every`, 0 of those that are not trusted."""
        found = []
        for trust, each in zip(self.trust, self.by_name.values(), strict=True):
            asked = every or trust > 0
            found.append(each.estimate(x, f1, f2) if asked else np.zeros_like(f1))
        return found

    def update_trust(
        self, residuals: Floats, estimates: list[Floats], w: NDArray[np.float64]
    ) -> None:
        """Move the trust by given labels, before they are learned.

        Parameters
        ----------
        residuals, estimates, w
            r1 - f1 (B, k), its estimate by each explorer, (B, k) each, weights (B,).
        """
        if not estimates:
            return
        said, r = np.array(estimates, np.float64), residuals.astype(np.float64)
        fine = np.isfinite(r).all(axis=1) & np.isfinite(said).all(axis=(0, 2))
        for row in np.flatnonzero(fine & (w > 0)):
            v = said[:, row]
            self.a = FADING * self.a + v @ v.T
            self.b = FADING * self.b + v @ r[row]
        self._solve()

    def learn(self, history: History, scaling: Scaling, n: int, pseudo_label: bool) -> None:
        """All learn after n more examples."""
        for each in self.by_name.values():
            each.learn(history, scaling, n, pseudo_label)

    def renewed(self) -> Explorers:
        """Explorers that have learned nothing and are trusted as these; these stay as they are."""
        other = Explorers({name: each.renewed() for name, each in self.by_name.items()})
        other.a, other.b = self.a, self.b
        other.trust, other.explores = self.trust, self.explores
        return other
