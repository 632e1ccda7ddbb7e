"""Detecting that a feature comes in much smaller units than before."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_ineural.network.growth import Columns

__all__ = ["UnitChange", "Units"]

MEMORY = 20_000  # changes that their mean square is of
FAR = 3e-3  # of the usual change: a smaller change counts as small
STEADY = 32  # small changes in a row after which the units are others

LATEST, N_CHANGES, SQUARE, N_SMALL, MEAN, SPREAD = range(6)  # rows, as `loops.follow` moves them


class UnitChange(NamedTuple):
    """Features in other units: their columns, and mean and variance of their latest values."""

    columns: NDArray[np.int64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


class Units:
    """How much each feature changes from one example to the next, in float64.

    The values of a feature may become smaller by a factor of a thousand or of a billion, because a
    source reports another unit. Beside the old statistics, and in raw vectors of float32 that are
    relative to an old reference, all its values then look the same. So a long run of small changes
    is detected. Larger units need no such care.

    Parameters
    ----------
    n_features
        Columns that there is room for.

    Examples
    --------
    >>> units = Units(1)
    >>> column, walk = np.array([0]), [1.0, 3.0, 2.0] * 20
    >>> any(units.update(np.array([[value]]), column) for value in walk)
    False
    >>> changes = (units.update(np.array([[1e-9 * value]]), column) for value in walk)
    >>> round(float(next(filter(None, changes)).mean[0]), 10)
    2e-09
    """

    _follow: ClassVar[Any]

    @classmethod
    def _load(cls) -> None:
        """Import Numba with the first model, and not with the package."""
        from river_ineural.inputs import loops

        cls._follow = staticmethod(loops.follow)

    def __init__(self, n_features: int) -> None:
        self._load()
        self.recent = np.zeros((6, n_features))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._load()
        self.recent = state["recent"].copy()

    def copy(self) -> Units:
        """The same, which moves on its own."""
        other = Units(0)
        other.recent = self.recent.copy()
        return other

    def widened(self, n_features: int, columns: Columns) -> Units:
        """These, with some columns that begin anew; this object stays as it is."""
        other = Units(n_features)
        other.recent[:, : self.recent.shape[1]] = self.recent
        other.recent[:, columns] = 0
        return other

    def update(self, values: NDArray[np.float64], columns: NDArray[np.int64]) -> UnitChange | None:
        """Learn values (B, n) of columns (n,); the features whose units have shrunk, or None.

        Columns below 0 are ignored.
        """
        if not self._follow(values, columns, self.recent, MEMORY, FAR**2, STEADY):
            return None
        columns = np.flatnonzero(self.recent[N_SMALL] >= STEADY)
        n, mean, spread = self.recent[N_SMALL:, columns]
        return UnitChange(columns, mean, spread / n)

    def accept(self, change: UnitChange) -> None:
        """Expect changes of the new units from now on."""
        self.recent[SQUARE, change.columns] = 2 * change.variance
        self.recent[N_SMALL:, change.columns] = 0
