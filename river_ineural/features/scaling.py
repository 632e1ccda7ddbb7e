"""Online centring, scaling, squashing and unit norm of examples; changes of their units."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_ineural.features import standardizing
from river_ineural.features.constants import CLOSEST, CONSTANT, ROUNDING
from river_ineural.features.loops import follow

__all__ = ["Scaling", "UnitChange"]

Floats = NDArray[np.float64]

MEMORY = 20_000  # examples in the statistics; from then on older ones count less and less
NARROW = 256  # features up to which there is a forest, and features are squashed
SPARSE = 1 / 16  # of more than 256 features: examples with a smaller part of them are sparse
CHANGES = 20_000  # changes that their mean square is of
FAR = 3e-3  # of the usual change: a smaller change counts as small
STEADY = 32  # small changes in a row after which the units are others

LATEST, N_CHANGES, SQUARE, N_SMALL, MEAN, SPREAD = range(6)  # rows, as `loops.follow` moves them


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

    The constant also replaces a bias of the first layers, which have none. The history stores raw
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
        How much each feature changes, (6, d), as `loops.follow` moves it.
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
            standardizing.rescale(self.n, self.narrow, self.moments, self.scaling)

    def faded(self, n: int) -> Scaling:
        """These statistics as if they were of at most n examples, so that they follow new ones.

        This object stays as it is.
        """
        other = copy.deepcopy(self)
        other._count_as(min(n, self.n))
        return other

    def unit_change(
        self, values: NDArray[np.float64], columns: NDArray[np.int64]
    ) -> UnitChange | None:
        """Follow values (B, n) of columns (n,); the features whose units have shrunk, or None.

        Columns below 0 are ignored.

        Examples
        --------
        >>> scaling, column, walk = Scaling(), np.array([0]), [1.0, 3.0, 2.0] * 20
        >>> scaling.grow(1, column)
        >>> any(scaling.unit_change(np.array([[value]]), column) for value in walk)
        False
        >>> found = (scaling.unit_change(np.array([[1e-9 * value]]), column) for value in walk)
        >>> round(float(next(filter(None, found)).mean[0]), 10)
        2e-09
        """
        if not follow(values, columns, self.recent, CHANGES, FAR**2, STEADY):
            return None
        columns = np.flatnonzero(self.recent[N_SMALL] >= STEADY)
        n, mean, spread = self.recent[N_SMALL:, columns]
        return UnitChange(columns, mean, spread / n)

    def accept(self, change: UnitChange) -> None:
        """Go on with the mean and the spread of new units of some features."""
        columns, mean, variance = change
        self.recent[SQUARE, columns] = 2 * variance
        self.recent[N_SMALL:, columns] = 0
        powers = mean, self.n * variance, 0 * variance, 3 * self.n * variance**2
        self.moments[:, columns] = powers  # as of a normal distribution
        standardizing.rescale(self.n, self.narrow, self.moments, self.scaling)

    def _count_as(self, n: int) -> None:
        """Rescale the statistics as if they were of n examples."""
        self.moments[1:] *= n / max(1, self.n)
        self.n = n

    def update(self, rows: Floats) -> None:
        """Move the statistics by rows (B, d)."""
        if self.n + len(rows) > MEMORY:  # older ones fade
            self._count_as(max(0, MEMORY - len(rows)))
        n_there = standardizing.update(rows, self.n, self.narrow, self.moments, self.scaling)
        self.n += len(rows)
        self.n_there += (n_there - len(rows) * self.n_there) / self.n
        self._notice_sizes()

    def _notice_sizes(self) -> None:
        n_features = self.scaling.shape[1]
        self.narrow = n_features <= NARROW
        self.sparse = not self.narrow and 0 < self.n_there < SPARSE * n_features

    def there(self, rows: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        """The columns (T,) that any of the rows (B, d) has, the rows (B, T) and the scaling (3, T).

        A feature that a row does not have is at its mean.
        """
        found: tuple[Any, Any, Any] = standardizing.there(rows, CONSTANT, self.scaling)
        return found

    def varies(self) -> NDArray[np.bool_]:
        """Which columns vary by more than rounding, (d,)."""
        mean, square = self.moments[:2]
        least = np.maximum(ROUNDING * abs(mean), CLOSEST)
        varies: NDArray[np.bool_] = np.sqrt(square / max(1, self.n)) > least
        return varies
