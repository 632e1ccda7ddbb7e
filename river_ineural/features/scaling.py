"""Online centring, scaling, squashing and unit norm of examples; changes of their units."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.constants import (
    CLOSEST,
    CONSTANT,
    FLAG,
    NARROW,
    ROUNDING,
    SQUASHED,
    TWO_VALUED,
)
from river_ineural.features.jit import inlined, loop
from river_ineural.features.standardizing import take, there

Array = NDArray[Any]
Floats = NDArray[np.float64]

MEMORY = 20_000  # examples in the statistics; from then on older ones count less and less
SPARSE = 1 / 16  # of more than 256 features: examples with a smaller part of them are sparse
CHANGES = 20_000  # changes that their mean square is of
FAR = 3e-3  # of the usual change: a smaller change counts as small
STEADY = 32  # small changes in a row after which the units are others
ALIKE = 10  # examples after which the constant is 1 if nothing has varied

LATEST, N_CHANGES, SQUARE, N_SMALL, MEAN, SPREAD = range(6)  # rows, as `follow` moves them


class UnitChange(NamedTuple):
    """Features in other units: their columns, and mean and variance of their latest values."""

    columns: NDArray[np.int64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


class Scaling:
    """Centre, scale and squash each feature, then scale to unit norm (the paper assumes ‖x‖ = 1).

    With the mean and the standard deviation of the examples learned so far, feature by feature,

        z = arsinh((x - mean) / deviation)

    This is linear near 0 and logarithmic far out, so a few extreme values neither dwarf the others
    nor are lost. A feature that has not varied is only centred. A feature of two values, a flag, is
    divided by twice its range instead: a category makes many flags, and rare ones would outweigh
    the numbers. Above 256 features nothing is squashed, and each feature is divided by the fourth
    root of its mean fourth power; with the squash digits made 8 % more mistakes. From 20,000
    examples on, older ones count less and less, so that the statistics follow features that move.

    Unit norm alone would lose how far an example is from the mean. So a constant s is put in front.
    It is the root mean square of that distance for normally distributed features:

        (s, z) / ‖(s, z)‖

    The constant also replaces a bias of the first layers, which have none. It is 1 if nothing has
    varied in ten examples: the model then learns how frequent classes are. The history stores raw
    examples, so old examples are scaled by the statistics of today.

    All statistics are float64, like the examples: float32 would round a time in seconds, such as
    1.7e9, to hundreds of seconds. If there are more than 256 features and examples have less than a
    sixteenth of them, as of words, an absent feature is at its mean, and costs nothing.

    The values of a feature may become smaller by a factor of a thousand or of a billion, because a
    source reports another unit. Beside the old statistics all its values then look the same. So it
    is followed how much each feature changes from one example to the next, and a long run of small
    changes is detected. Larger units need no such care.

    Attributes
    ----------
    n
        Examples in the statistics.
    moments
        The mean, and the sums of the second, third and fourth powers of the distance from it.
    scaling
        The mean, the constant's negative in front; 1 / deviation; whether it is squashed.
    recent
        How much each feature changes, (6, d), as `follow` moves it.
    narrow
        Whether there is room for at most 256 features.
    sparse
        Whether there are many features and examples have few of them.
    """

    def __init__(self) -> None:
        self.n = 0
        self.n_there = 0.0  # features that an example has, on average
        self.moments = np.zeros((4, 0))
        self.scaling = np.zeros((3, 0))
        self.recent = np.zeros((6, 0))
        self.narrow, self.sparse = True, False
        self.tiny = False  # whether a latest value is too near 0 to tell it from 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("moments", "scaling", "recent"):  # a pickle's buffers may be read-only
            setattr(self, name, state[name].copy())

    def grow(self, n_features: int, columns: NDArray[np.int64]) -> None:
        """Make room for so many features; those of `columns` were 0 in every example so far."""
        more = ((0, 0), (0, n_features - self.moments.shape[1]))
        moments, scaling, recent = (
            np.pad(each, more) for each in (self.moments, self.scaling, self.recent)
        )
        for each in (moments, scaling, recent):
            each[:, columns] = 0
        scaling[1, columns] = scaling[1, n_features - more[1][1] :] = 1
        widens = self.narrow and n_features > NARROW
        self.moments, self.scaling, self.recent = moments, scaling, recent
        self._notice_sizes()
        if widens and self.n:  # nothing is squashed from now on
            rescale(self.n, self.narrow, self.moments, self.scaling)

    def faded(self, n: int) -> Scaling:
        """These statistics as if they were of at most n examples, so that they follow new ones.

        This object stays as it is.
        """
        other = copy.deepcopy(self)
        other._count_as(min(n, self.n))
        return other

    def accept(self, change: UnitChange) -> None:
        """Go on with the mean and the spread of new units of some features."""
        columns, mean, variance = change
        self.recent[SQUARE, columns] = 2 * variance
        self.recent[N_SMALL:, columns] = 0
        powers = mean, self.n * variance, 0 * variance, 3 * self.n * variance**2
        self.moments[:, columns] = powers  # as of a normal distribution
        rescale(self.n, self.narrow, self.moments, self.scaling)

    def _count_as(self, n: int) -> None:
        """Rescale the statistics as if they were of n examples."""
        self.moments[1:] *= n / max(1, self.n)
        self.n = n

    def update(self, rows: Floats, values: Floats, columns: NDArray[np.int64]) -> UnitChange | None:
        """Move the statistics by rows (B, d), and follow values (B, n) of columns (n,).

        Columns below 0 are ignored. Returns the features whose units have shrunk, or None.

        Examples
        --------
        >>> scaling, column, walk = Scaling(), np.array([0]), [1.0, 3.0, 2.0] * 20
        >>> scaling.grow(1, column)
        >>> def learned(value):
        ...     return scaling.update(np.array([[value]]), np.array([[value]]), column)
        >>> any(learned(value) for value in walk)
        False
        >>> found = (learned(1e-9 * value) for value in walk)
        >>> round(float(next(filter(None, found)).mean[0]), 10)
        2e-09
        """
        if self.n + len(rows) > MEMORY:  # older ones fade
            self._count_as(max(0, MEMORY - len(rows)))
        statistics = self.n, self.narrow, self.moments, self.scaling
        n_there, shrunk, self.tiny = update(rows, *statistics, values, columns, self.recent)
        self.n += len(rows)
        self.n_there += (n_there - len(rows) * self.n_there) / self.n
        if not self.narrow:
            self._notice_sizes()
        if not shrunk:
            return None
        columns = np.flatnonzero(self.recent[N_SMALL] >= STEADY)
        n, mean, spread = self.recent[N_SMALL:, columns]
        return UnitChange(columns, mean, spread / n)

    def _notice_sizes(self) -> None:
        n_features = self.scaling.shape[1]
        self.narrow = n_features <= NARROW
        self.sparse = not self.narrow and 0 < self.n_there < SPARSE * n_features

    def there(self, rows: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        """The columns (T,) that any of the rows (B, d) has, the rows (B, T) and the scaling (3, T).

        A feature that a row does not have is at its mean.
        """
        columns: NDArray[np.int64] = there(rows, CONSTANT)
        x, scale = np.empty((len(rows), len(columns))), np.empty((3, len(columns)))
        take(rows, CONSTANT, self.scaling, columns, x, scale)
        return columns, x, scale

    def varies(self) -> NDArray[np.bool_]:
        """Which columns vary by more than rounding, (d,)."""
        mean, square = self.moments[:2]
        least = np.maximum(ROUNDING * np.abs(mean), CLOSEST)
        found: NDArray[np.bool_] = np.sqrt(square / max(1, self.n)) > least
        return found


@inlined
def observe(x: Array, n: int, moments: Array) -> None:
    """Update the statistics of n examples with the rows of x (B, d), one after the other.

    `moments` (4, d) holds the mean and the sums of the second, third and fourth powers of the
    distance from it. The highest power is updated first: it needs the old values of the others
    (Pébay, 2008, Formulas for robust, one-pass parallel computation of covariances and
    arbitrary-order statistical moments).
    """
    mean, square, cube, fourth = moments[0], moments[1], moments[2], moments[3]
    for i in range(x.shape[0]):
        before = n
        n += 1
        share = 1 / n
        for j in range(x.shape[1]):
            distance = np.float64(x[i, j]) - mean[j]
            step = distance * share
            two, term = step * step, distance * step * before
            fourth[j] += (
                term * two * (float(n) * n - 3.0 * n + 3.0)
                + 6 * two * square[j]
                - 4 * step * cube[j]
            )
            cube[j] += term * step * (n - 2) - 3 * step * square[j]
            square[j] += term
            mean[j] += step


@loop
def rescale(n: int, squash: bool, moments: Array, scaling: Array) -> None:
    """Write scaling (3, d), from the statistics of n examples.

    The fourth central moment is at least cube² / square + square² (Pearson, 1916). It equals this
    only for a flag: a feature of two values, whose range is √(cube² / square² + 4 square).

    Parameters
    ----------
    squash
        Whether features that vary are squashed, except flags.
    """
    total = 0.0
    for j in range(moments.shape[1]):
        mean, square = moments[0, j], moments[1, j] / n
        cube, fourth = moments[2, j] / n, moments[3, j] / n
        skew = cube / square if square > 0 else 0.0
        flag = square > 0 and fourth - skew * cube - square * square <= TWO_VALUED * fourth
        q = np.sqrt(np.sqrt(max(fourth, 0.0)))
        if flag:
            q = FLAG * np.sqrt(skew * skew + 4 * square)
        least = max(ROUNDING * abs(mean), CLOSEST)
        varies = q > least
        squashed = squash and varies and not flag
        if squashed:
            q = np.sqrt(square)
        scaling[0, j] = mean
        scaling[1, j] = 1 / q if varies else 1.0
        scaling[2, j] = squashed
        if varies:
            total += SQUASHED if squashed else square / (q * q)
    if total == 0 and n >= ALIKE:
        total = 1.0  # the constant alone then learns how frequent classes are
    scaling[0, 0] = -np.sqrt(total)


@inlined
def follow(values: Array, columns: Array, recent: Array) -> tuple[bool, bool]:
    """Update `recent` with values (B, n) of columns (n,), and return whether a feature has made
    32 small changes in a row: its values then stay in a much smaller range than usual. Also
    returns whether a value is too near 0 to tell it from 0.

    `recent` (6, d) holds for each column: the latest value; the number of its changes, at most
    20,000; the mean square of these changes; the number of latest changes in a row that were small,
    with a square far below that mean; and the mean of the values after these small changes,
    with the sum of their squared distances from it. Repeated values are skipped.
    """
    due = tiny = False
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            c, value = columns[j], values[i, j]
            tiny |= value != 0 and abs(value) < CLOSEST
            if c < 0 or not abs(value - recent[LATEST, c]) > 0:
                continue
            change = value - recent[LATEST, c]
            square = change * change
            recent[LATEST, c] = value
            if recent[N_CHANGES, c] and square < FAR * FAR * recent[SQUARE, c]:
                recent[N_SMALL, c] += 1
                distance = value - recent[MEAN, c]
                recent[MEAN, c] += distance / recent[N_SMALL, c]
                recent[SPREAD, c] += distance * (value - recent[MEAN, c])
                due |= recent[N_SMALL, c] >= STEADY
            else:
                recent[N_SMALL:, c] = 0
            recent[N_CHANGES, c] = min(recent[N_CHANGES, c] + 1, CHANGES)
            recent[SQUARE, c] += (square - recent[SQUARE, c]) / recent[N_CHANGES, c]
    return due, tiny


@loop
def update(
    rows: Array,
    n: int,
    squash: bool,
    moments: Array,
    scaling: Array,
    values: Array,
    columns: Array,
    recent: Array,
) -> tuple[int, bool, bool]:
    """`observe` rows (B, d) after n examples, `rescale`, and `follow` their values.

    Returns how many numbers in the rows are not 0, and what `follow` returns.
    """
    observe(rows, n, moments)
    rescale(n + len(rows), squash, moments, scaling)
    n_there = 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            n_there += rows[i, j] != 0
    due, tiny = follow(values, columns, recent)
    return n_there, due, tiny
