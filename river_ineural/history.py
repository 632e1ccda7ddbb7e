"""Bounded history: one ring for labels paid for, one for pseudo-labels."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.jit import loop

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]

NO_F1 = np.empty((0, 0), np.float32)
ROWS = "x", "targets", "weight", "number", "given"  # arrays with a row for each example
HEAVY = 10.0  # times the median weight as which a label counts in what it tells, at most
LABELLED_SHARE = 0.7  # of each batch, when examples of both kinds are there


class History:
    """H1 and H2 (line 2) in one bounded store of examples, each with all its k contexts.

    Most arrivals may be pseudo-labelled, so a single first-in-first-out store would drop the labels
    that were paid for. Here a pseudo-label can only replace an older pseudo-label.

    Parameters
    ----------
    capacity
        Rows in all, at least 2; a quarter of them (at least 1) belong to pseudo-labelled examples.
    rng
        Generator of the draws, owned by this history.
    dtype
        Of targets and weights.

    Attributes
    ----------
    x
        Raw examples, float64 (capacity, d).
    targets
        Rewards r1 and residuals r2, (capacity, 2, k).
    weight
        Of each example, (capacity,).
    number
        Of each example's label among all given labels, from 1; 0 of pseudo-labels. (capacity,)
    given
        Weights as given, whether the example still counts or not, (capacity,).
    added
        Labelled and pseudo-labelled examples ever added.
    n_features
        Columns in use.
    """

    def __init__(self, capacity: int, rng: np.random.Generator, dtype: Any) -> None:
        n_pseudo = max(1, capacity // 4)
        self.capacities = (capacity - n_pseudo, n_pseudo)  # labelled rows first, then pseudo rows
        self.rng = rng
        self.added = [0, 0]
        self.n_features = 0
        self.x = np.empty((capacity, 0))
        self.targets = np.empty((capacity, 2, 0), dtype)
        self.weight = np.empty(capacity, dtype)
        self.number = np.zeros(capacity, np.int64)
        self.given = np.zeros(capacity, dtype)

    @property
    def n_labelled(self) -> int:
        """Labelled examples held now."""
        return min(self.added[0], self.capacities[0])

    @property
    def n_pseudo_labelled(self) -> int:
        """Pseudo-labelled examples held now."""
        return min(self.added[1], self.capacities[1])

    @property
    def filled(self) -> tuple[slice, slice]:
        """Rows in use: labelled, pseudo-labelled."""
        start = self.capacities[0]
        return slice(0, self.n_labelled), slice(start, start + self.n_pseudo_labelled)

    def __getstate__(self) -> dict[str, Any]:
        """Rows and columns in use only, which makes a copy small."""
        rows = np.concatenate([np.arange(rows.start, rows.stop) for rows in self.filled])
        held = {name: getattr(self, name)[rows] for name in ROWS[1:]}
        held["x"] = self.x[rows, : self.n_features]
        return {**self.__dict__, "room": self.x.shape[1], **held}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        room, rows = self.__dict__.pop("room"), np.split(np.arange(len(self.x)), [self.n_labelled])
        self._resize(room, self.targets.shape[2], rows)

    def _resize(self, room: int, n_classes: int, held: Sequence[Any]) -> None:
        """Hold these rows, labelled and pseudo-labelled ones, in larger arrays, 0 elsewhere."""
        sides = {"x": (room,), "targets": (2, n_classes)}
        for name in ROWS:
            old = getattr(self, name)
            new = np.zeros((sum(self.capacities), *sides.get(name, ())), old.dtype)
            for rows, those in zip(self.filled, held, strict=True):
                new[(rows, *map(slice, old.shape[1:]))] = old[those]
            setattr(self, name, new)

    def grow(self, room: int, columns: NDArray[np.int64], n_features: int, n_classes: int) -> None:
        """Make room for features and classes; of stored examples, `columns` and new ones are 0."""
        if (room, n_classes) != (self.x.shape[1], self.targets.shape[2]):
            self._resize(room, n_classes, self.filled)
        for rows in self.filled:
            self.x[rows, columns] = 0
        self.n_features = n_features

    def emptied(self) -> History:
        """An empty history of the same size and capacity; this one stays as it is."""
        other = History(sum(self.capacities), copy.deepcopy(self.rng), self.weight.dtype)
        other._resize(self.x.shape[1], self.targets.shape[2], other.filled)
        other.n_features = self.n_features
        return other

    def labelled(self, latest: int | None = None) -> NDArray[np.int64]:
        """Rows of the labelled examples, or of so many latest ones, the oldest first."""
        n, end = self.n_labelled, self.added[0]
        n = n if latest is None else min(n, latest)
        rows = np.arange(end - n, end)
        return rows if end <= self.capacities[0] else rows % self.capacities[0]

    def classes(self) -> set[int]:
        """The classes of the labelled examples that count."""
        rows = self.labelled()
        rows = rows[self.weight[rows] > 0]
        return {*self.targets[rows, 0].argmax(1).tolist()} if len(rows) else set()

    def examples(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Raw x (B, d), class (B,), weight (B,) and number (B,) of some rows."""
        classes = self.targets[rows, 0].argmax(axis=1)
        return self.x[rows], classes, self.weight[rows].astype(np.float64), self.number[rows]

    def find(self, number: int) -> int | None:
        """The row of the given label of this number, from 1; None if it is there no longer."""
        rows = np.flatnonzero(self.number[: self.n_labelled] == number)
        return int(rows[0]) if len(rows) else None

    def serial(self, row: int) -> int:
        """How many labelled examples were added before that of a row."""
        first = self.added[0] - self.n_labelled
        return first + (row - first) % self.capacities[0]

    def correct(self, row: int, label: int) -> None:
        """Give the example of a row another class, with its reward and residual; -1: weight 0."""
        self.weight[row] = self.given[row] if label >= 0 else 0
        if label < 0:
            return
        r1, r2 = self.targets[row]
        f1 = r1 - r2
        r1[:] = np.arange(len(r1)) == label
        r2[:] = r1 - f1

    def add(
        self,
        x: Floats,
        classes: NDArray[np.int64],
        f1: Floats | None,
        weight: Floats,
        number: NDArray[np.int64] | int = 0,
    ) -> None:
        """Store examples over the oldest of their ring (lines 14 to 25).

        Parameters
        ----------
        x, classes, weight
            Raw examples (B, d), their classes (B,) and weights (B,).
        f1
            What f1 said of them, (B, k); None for pseudo-labels, whose residuals are 0.
        number
            Of their labels, (B,) or one number; not for pseudo-labels.
        """
        ring = int(f1 is None)
        where = ring * self.capacities[0], self.capacities[ring], self.added[ring]
        if not ring:
            rows = np.arange(where[2], where[2] + len(x)) % where[1]
            self.number[rows], self.given[rows] = number, weight
        f1 = NO_F1 if f1 is None else f1
        put((self.x, self.targets, self.weight), x, classes, f1, weight, *where)
        self.added[ring] += len(x)

    def repeated(self, n: int, predicted: bool) -> NDArray[np.bool_]:
        """Whether each of the latest n labelled examples repeats the one before, (n,).

        An ensemble or an oversampler learns an example several times in a row. Each time it
        teaches, but only the first one tells of the stream, and of a model that does not know it
        yet. If an example was `predicted` before these n, the first of them is another one of the
        stream; and so is one that was there before others, as where rows have few distinct values.
        """
        found = np.zeros(n, np.bool_)
        if predicted and n == 1:
            return found
        rows = self.labelled()
        for i in range(max(1, len(rows) - n + predicted), len(rows)):
            found[i - len(rows)] = self._repeats(rows[:i], self.x[rows[i]])
        return found

    def _repeats(self, rows: NDArray[np.int64], x: Floats) -> bool:
        """Whether x (d,) is that of the latest of these rows, which counts, and of none before."""
        if not (self.weight[rows[-1]] > 0 and (self.x[rows[-1]] == x).all()):
            return False
        equal = (self.x[rows] == x).all(axis=1)
        others = np.flatnonzero(~equal)  # none: no feature varies
        return len(others) > 0 and not equal[: others[-1]].any()

    def told(self, x: Floats, w: NDArray[np.float64], predicted: bool) -> NDArray[np.float64]:
        """What new labels of x (B, d) tell, (B,): their weights w (B,) over the median of all above
        0, of these and of stored labels, at most 10; 0 of one that is `repeated`.
        """
        weights = np.append(self.weight[: self.n_labelled], w)
        if (weights != 1).any():
            usual = np.median(weights[weights > 0]) if (weights > 0).any() else 1.0
            w = np.minimum(w / usual, HEAVY)
        if predicted or len(x) > 1:
            return w
        rows = self.labelled()
        return np.zeros(1) if len(rows) and self._repeats(rows, x[0]) else w

    def draws(self, n_steps: int, n: int) -> tuple[NDArray[np.float64], tuple[int, int, int, int]]:
        """Lines 2.2, 2.5: draws (n_steps, n), and what they are of, for `networks.batch.rows_of`.

        Examples are drawn uniformly from each ring, with replacement.
        """
        n_labelled, n_pseudo = self.n_labelled, self.n_pseudo_labelled
        split = n if not n_pseudo else round(LABELLED_SHARE * n) if n_labelled else 0
        return self.rng.random((n_steps, n)), (split, n_labelled, n_pseudo, self.capacities[0])


@loop
def put(
    stored: tuple[Array, Array, Array],  # x (capacity, d), targets (capacity, 2, k), weight
    x: Array,
    classes: Array,
    f1: Array,
    weight: Array,
    first: int,
    capacity: int,
    n_before: int,
) -> None:
    """Store examples as `History.add` does; with an f1 of no rows their residuals are 0.

    The ring begins at row `first` of all, and `n_before` examples were added to it before.
    """
    stored_x, stored_targets, stored_weight = stored
    for i in range(len(x)):
        row = first + (n_before + i) % capacity
        for j in range(stored_x.shape[1]):
            stored_x[row, j] = x[i, j]
        for label in range(stored_targets.shape[2]):
            r1 = stored_targets.dtype.type(label == classes[i])  # lines 15, 20
            stored_targets[row, 0, label] = r1
            stored_targets[row, 1, label] = r1 - f1[i, label] if len(f1) else 0  # lines 16, 21
        stored_weight[row] = weight[i]
