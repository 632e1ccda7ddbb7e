"""Noticing that older labels have aged: a stream may change a little all the time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.jit import loop
from river_ineural.history import History

Array = NDArray[Any]

COMPARED = 128  # newest and oldest labelled examples that are compared, at most
LATEST = 768  # labelled examples that they are the newest and the oldest of
LEAST = 40  # labelled examples that are enough
FADING = 0.99  # of what labels have shown, at each that follows
SURE = 4.0  # standard deviations beyond chance from which older labels have aged


class Ageing:
    """Whether older labelled examples say less of new ones than newer examples do.

    Where a stream changes a little all the time, no label stands out and no alarm is raised, but
    old labels become wrong. So the newest 128 of the latest 768 labelled examples are compared with
    the oldest 128 of them; up to 256 these are the newer and the older half. A given label y of x
    is compared with those of the two neighbours of x: the nearest example of either part. Let s be
    1 if only the newer neighbour has the label y, -1 if only the older one has it, else 0. Where
    the stream does not change, one part is as good as the other, however noisy labels are. This
    does not hold where classes come and go: s is 0 too if one of the two classes is more than twice
    as frequent in one part as in the other. Each label moves

        excess ← 0.99 excess + s,    variance ← 0.99 variance + s²

    and older labels have aged while excess > 4 √variance.

    Examples
    --------
    >>> history = History(400, np.random.default_rng(1), np.float64)
    >>> history.grow(2, np.arange(2), 2, 2)
    >>> ageing, rng = Ageing(), np.random.default_rng(2)
    >>> for i in range(200):  # intervals of two classes move
    ...     x = np.array([[0.0, rng.uniform(0, 2)]])
    ...     label = np.array([(x[0, 1] + i / 200) % 2 > 1], np.int64)
    ...     ageing.update(x[0], label[0], history, np.ones(2))
    ...     history.add(x, label, np.zeros((1, 2)), np.ones(1), i + 1)
    >>> ageing.aged
    True
    """

    def __init__(self) -> None:
        self.excess = self.variance = 0.0

    @property
    def aged(self) -> bool:
        """Whether older labels have aged."""
        return bool(self.excess > SURE * self.variance**0.5)

    def update(self, x: Array, label: int, history: History, factors: Array) -> None:
        """Learn a label of raw x (d,), which the history does not hold yet.

        Differences are multiplied by `factors` (d,).
        """
        if history.n_labelled < LEAST:
            return
        rows, n = history.labelled(LATEST), n_compared(history)
        rows = np.concatenate((rows[:n], rows[-n:]))
        stored = history.x, history.targets, history.weight
        s = agreement(x, label, stored, rows, history.n_features, factors)
        self.excess = FADING * self.excess + s
        self.variance = FADING * self.variance + s * s


def n_compared(history: History) -> int:
    """How many of the newest labelled examples are compared with as many of the oldest."""
    return min(COMPARED, history.n_labelled // 2)


@loop
def agreement(
    x: Array,
    label: int,
    stored: tuple[Array, Array, Array],  # x (capacity, d), targets (capacity, 2, k), weight
    rows: Array,
    d: int,
    factors: Array,
) -> int:
    """1 if only the newer neighbour of x among these rows has the label, -1 if only the older one.

    See `Ageing`. Rows are in the order of their age, the oldest first; those of weight 0 are no
    neighbours.
    """
    stored_x, targets, weight = stored
    half = len(rows) // 2
    older = newer = -1
    nearest = np.inf
    for i in range(len(rows)):
        if i == half:
            nearest = np.inf
        row, distance = rows[i], 0.0
        for j in range(d):
            z = (stored_x[row, j] - x[j]) * factors[j]
            distance += z * z
        if weight[row] > 0 and distance < nearest:
            nearest = distance
            if i < half:
                older = row
            else:
                newer = row
    if older < 0 or newer < 0:
        return 0
    s = int(targets[newer, 0, label] > 0) - int(targets[older, 0, label] > 0)
    if s == 0:
        return 0
    wrong = older if s > 0 else newer
    for c in range(targets.shape[2]):
        if c != label and targets[wrong, 0, c] <= 0:
            continue
        n_older = n_newer = 0
        for i in range(half):
            n_older += targets[rows[i], 0, c] > 0
            n_newer += targets[rows[half + i], 0, c] > 0
        if n_older > 2 * n_newer or n_newer > 2 * n_older:
            return 0
    return s
