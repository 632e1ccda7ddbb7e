"""Algorithms 1 and 2 of the paper, their lines numbered.

Numbers in comments are lines of Algorithm 1; 2.1 to 2.8 are those of Algorithm 2. Lines 8 to 13 and
18, which predict and decide, are those of `active.ineural` and `active.query`; line 1, the first
weights, is `networks.weights.draw`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_ineural.ageing import Ageing, n_compared
from river_ineural.explorers.trust import Explorers, say
from river_ineural.features.scaling import Scaling, UnitChange
from river_ineural.history import History
from river_ineural.networks.weights import Networks
from river_ineural.recovery import Examples

Floats = NDArray[np.floating[Any]]
Values = NDArray[np.float64]
Columns = NDArray[np.int64]

ROWS_A_PASS = 1024  # of a frame: bounds the memory of its pass
PSEUDO_LABEL_STEPS = 0.35  # for each pseudo-labelled example
EXPLORATION_SHARE = 0.125  # of the steps after a given label, in which f2 takes part
BEYOND = 2  # times as many steps beyond 256 features, and as large a share: more is to be learned
SPARSE_STEPS = 0.25  # of the steps, where examples have few of many features
ANEW, MOST_STEPS = 2, 1000  # times as many for what a new model starts from; and at most
WIDE = 2048  # numbers in a context above which f2 learns in a quarter of its steps: they are long
COUNTED = 2  # contexts of an example that count towards those of a batch, at most


class Said(NamedTuple):
    """What a model says of B examples."""

    found: Floats  # (n, B, k): first f1, last f1 and the estimates, each times its trust
    rows: Any  # of the estimates
    trust: tuple[float, ...]  # in each explorer

    @property
    def f1(self) -> Floats:
        """f1, (B, k)."""
        f1: Floats = self.found[0]
        return f1

    @property
    def estimates(self) -> Floats:
        """Of the residual r1 - f1, by each explorer: (n, B, k)."""
        estimates: Floats = self.found[self.rows]
        return estimates

    @property
    def scores(self) -> Floats:
        """f1 and the estimates, each times its trust, (B, k)."""
        scores: Floats = self.found[-1]
        return scores


class Added(Mapping[str, list[float]]):
    """What each explorer added to each score of the first example, computed when it is read."""

    def __init__(self, names: tuple[str, ...], said: Said) -> None:
        self.names, self.said = names, said

    def __getitem__(self, name: str) -> list[float]:
        if name not in self.names:
            raise KeyError(name)
        i = self.names.index(name)
        return [self.said.trust[i] * each for each in self.said.estimates[i, 0].tolist()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class Model:
    """f1, f2 and the other explorers, with the history and the statistics of their examples.

    It knows columns and classes, but neither their names nor whether the stream has changed.

    Parameters
    ----------
    batch_size
        Contexts b of each step.
    """

    def __init__(
        self, networks: Networks, history: History, explorers: Explorers, batch_size: int
    ) -> None:
        self.networks, self.history, self.explorers = networks, history, explorers
        self.scaling = Scaling()
        self.ageing = Ageing()
        self.batch_size = batch_size
        self.steps_due = self.explorations_due = 0.0

    def score(self, x: Values, every: bool = True) -> Said:
        """Lines 5 to 7: f1, f2 and f of every class, for raw x (B, d).

        Without `every`, for a prediction: an explorer that is not trusted, f2 too, is not asked and
        counts as 0, and the last label gets older.
        """
        if len(x) > ROWS_A_PASS:
            starts = range(0, len(x), ROWS_A_PASS)
            parts = [self.score(x[i : i + ROWS_A_PASS], every) for i in starts]
            found = np.concatenate([each.found for each in parts], axis=1)
            return parts[0]._replace(found=found)
        explorers = self.explorers
        f1, f2 = self.networks.score(x, self.scaling, every or explorers.explores)
        found = explorers.estimates(x, f1, f2, every)
        for trust, estimate in zip(explorers.trust, found[1:-1], strict=True):
            if trust:
                found[-1] += trust * estimate  # line 6
        if not every:
            explorers.note_predictions(len(x))
        return Said(found, slice(1, -1), explorers.trust)

    def score_one(self, values: Values, columns: Columns, every: bool = True) -> Said:
        """The same of values (1, n) of columns (n,), on the CPU in one compiled call."""
        networks, explorers = self.networks, self.explorers
        exploring = networks.shape.explores and (every or explorers.explores)
        loops = networks.loops
        assert loops
        found = np.zeros((5 + len(explorers.others), 1, loops.n_classes), networks.dtype)
        given = values, columns, self.scaling.scaling, loops.predicting, exploring
        say(*given, *explorers.told(every), explorers.of_said, loops.raw, found)
        f1, scores = found[0], found[-1]
        for row, (i, each) in enumerate(explorers.others, 4):
            if every or explorers.trust[i]:
                found[row] = each.estimate(loops.raw, f1)
            if explorers.trust[i]:
                scores += explorers.trust[i] * found[row]
        if not every:
            explorers.note_predictions(1)
        return Said(found, explorers.rows, explorers.trust)

    def without_last(self, said: Said) -> Floats:
        """The scores without what the last label adds, (B, k)."""
        if "last_label" not in self.explorers.names:
            return said.scores
        i = self.explorers.names.index("last_label")
        without: Floats = said.scores - said.trust[i] * said.estimates[i]
        return without

    def learn(
        self,
        x: Values,
        classes: Columns,
        said: Said | None,
        w: Values,
        values: Values,
        columns: Columns,
        number: int = 0,
        told: Values | None = None,
    ) -> UnitChange | None:
        """Lines 14 to 25: store examples of these classes, with their rewards and residuals.

        Parameters
        ----------
        said
            What this model said of them before; None for pseudo-labels, whose residuals are 0.
        values, columns
            Values (B, n) that were given, and their columns (n,).
        number
            Of the first label, among all that were given.
        told
            What labels tell of this model, (B,): see `History.told`. None: w.

        Returns
        -------
        The features whose units have shrunk, or None.
        """
        told = w if told is None else told
        if said and not self.scaling.sparse:
            for row, label, weight in zip(x, classes, told.tolist(), strict=True):
                if weight > 0:
                    self.ageing.update(row, label, self.history, self.scaling.scaling[1])
        # lines 15, 16, 20, 21, 24 and 25
        numbers = number + np.arange(len(x))
        self.history.add(x, classes, said.f1 if said else None, w, numbers)
        change = self.scaling.update(x, values, columns)
        if said:
            self.explorers.update_trust(classes, said.f1, said.estimates, told)
            self.explorers.learn(self.history, self.scaling, len(x))
        else:
            self.steps_due += self._steps(PSEUDO_LABEL_STEPS * len(x))
        return change

    @property
    def _more(self) -> int:
        """As many times the steps at a label are taken, and f2's share of them."""
        return 1 if self.scaling.narrow else BEYOND

    def _steps(self, n: float) -> float:
        """So many steps, or fewer where examples have few of many features."""
        return n * (SPARSE_STEPS if self.scaling.sparse else 1)

    def correct(self, row: int, label: int) -> None:
        """Give a stored example another class, or -1: weight 0; its trees are grown anew."""
        self.history.correct(row, label)
        if self.explorers.forest:
            self.explorers.forest.relearn(self.history, self.scaling, self.history.serial(row))
        if self.explorers.discriminant:
            self.explorers.discriminant.relearn(self.history)

    def train(self, n_steps: float, lr: float, pseudo_label: bool = False) -> None:
        """Line 26: the steps due, and so many more; a fraction of one is carried over.

        f2 takes part in a share of the steps that are taken after given labels.
        """
        more = self._more
        due = self.steps_due + self._steps(n_steps * more)
        shape, exploring = self.networks.shape, []
        share = EXPLORATION_SHARE * more * (shape.explores and not pseudo_label)
        if not shape.outputs and shape.n_classes * shape.n_features > WIDE:
            share /= 4
        for _ in range(int(due)):
            self.explorations_due += share
            exploring.append(self.explorations_due >= 1)
            self.explorations_due -= exploring[-1]
        self.steps_due = due - len(exploring)
        if exploring:
            self.step(lr, np.array(exploring))

    def step(self, lr: float, exploring: NDArray[np.bool_]) -> None:
        """Lines 2.1 to 2.8: a step of f1 for each of `exploring` (n,), and where that is, of f2.

        A batch serves both. It holds whole examples, with replacement. For more than two classes
        there are as many as for two.
        """
        history, k = self.history, self.networks.shape.n_classes
        n_examples = -(-self.batch_size // min(max(k, 1), COUNTED))
        drawn = history.draws(len(exploring), n_examples)  # lines 2.2, 2.5
        # lines 2.1, 2.3, 2.4 and 2.6: losses and gradients; 2.7 and 2.8: the average of iterates
        stored = history.x, history.targets, history.weight
        self.networks.train(stored, *drawn, self.scaling, lr, exploring)

    def grow(self, columns: Columns, n_features: int, n_classes: int) -> None:
        """Make room for the new features of `columns`, n_features in all, and for classes."""
        self.networks.grow(columns, n_features, n_classes)
        for each in (self.explorers.forest, self.explorers.discriminant):
            if each:
                each.forget(columns)
        room = self.networks.shape.n_features
        self.history.grow(room, columns, n_features, n_classes)
        self.scaling.grow(room, columns)

    def retrained(self, examples: list[Examples], n_steps: float, lr: float) -> Model:
        """A new model with the statistics of this one, trained on these examples alone."""
        history, explorers = self.history.emptied(), self.explorers.renewed()
        anew = Model(self.networks.renewed(), history, explorers, self.batch_size)
        anew.scaling = self.scaling
        anew.study(examples, n_steps, lr)
        return anew

    def without_aged(self, n_steps: float, lr: float) -> Model:
        """A new model, trained on the newest labelled examples that were compared."""
        newer = self.history.examples(self.history.labelled(n_compared(self.history)))
        return self.retrained([newer], n_steps, lr)

    def study(self, examples: list[Examples], n_steps: float, lr: float) -> None:
        """Learn examples that the statistics know, and train by so many steps for each."""
        n = 0
        for x, classes, w, number in examples:
            self.history.add(x, classes, self.score(x).f1, w, number)
            n += len(x)
        n = min(n, self.history.n_labelled)
        self.explorers.learn(self.history, self.scaling, n)
        self.train(min(MOST_STEPS, ANEW * n_steps * n) / self._more, lr)
