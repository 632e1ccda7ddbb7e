"""Online centring, scaling, squashing and unit norm of raw vectors, on the CPU."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.tensors import Tensors
from river_ineural.learning.units import UnitChange, Units
from river_ineural.network.constants import CLOSEST, RESOLUTION, ROUNDING
from river_ineural.network.growth import Columns

__all__ = ["CONSTANT", "RawScaling", "Scaling"]

Floats = NDArray[np.floating[Any]]

MEMORY = 20_000  # examples in the statistics; from then on older ones count less and less
COARSE = 1e-4  # of the distance from the reference: float32 loses a smaller deviation
CONSTANT = 1  # columns before those of the features: a constant, which is 0 in raw vectors
NARROW = 256  # features up to which there is a forest, and features are squashed
SPARSE = 1 / 16  # of more than 256 features: examples with a smaller part of them are sparse


class RawScaling(NamedTuple):
    """The arrays of `Scaling`, for compiled loops."""

    reference: NDArray[np.float64]  # (d,)
    moments: NDArray[np.float64]  # (4, d)
    scaling: Floats  # (3, d)


class Scaling(Tensors):
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

    Raw vectors hold the difference of a feature from its reference, which is its first value. The
    subtraction is in float64: float32 would round a time in seconds, such as 1.7e9, to hundreds of
    seconds. The statistics are of that difference. A feature that is absent is 0, so its difference
    is minus the reference. When units have shrunk, the latest values become the reference.

    If there are more than 256 features and examples have less than a sixteenth of them, as of
    words, an absent feature is at its mean instead, and costs nothing.

    Parameters
    ----------
    like
        A tensor of the dtype to work in.
    """

    TENSORS = ("reference", "moments", "scaling")
    VIEWS = ("raw", "loops", "absent")

    def __init__(self, like: Tensor) -> None:
        self.n = 0
        self.n_there = 0.0  # features that an example has, on average
        self.units = Units(0)
        # The mean, and the sums of the second, third and fourth powers of the distance from it
        self.reference = like.new_zeros(0, dtype=torch.float64)
        self.moments = like.new_zeros(4, 0, dtype=torch.float64)
        # The mean, the constant's negative in front; 1 / deviation; whether it is squashed
        self.scaling = like.new_zeros(3, 0)
        self.bind()

    def bind(self) -> None:
        from river_ineural.network import (
            standardizing,  # compiled, which an import is not to wait for
        )

        self.loops = standardizing
        self.raw = RawScaling(*(getattr(self, name).numpy() for name in self.TENSORS))
        self.absent = (-self.reference).to(self.scaling.dtype).numpy()  # what an absent feature is

    def widened(self, n_features: int, columns: Columns, first: NDArray[np.float64]) -> Scaling:
        """These statistics with new features, which were 0 in every example so far.

        This object stays as it is.

        Parameters
        ----------
        n_features
            Columns that there is room for.
        columns
            Columns of the new features.
        first
            Their first values, which become their references.
        """
        known = len(self.reference)
        reference = self.reference.new_zeros(n_features)
        moments = self.moments.new_zeros(4, n_features)
        scaling = self.scaling.new_zeros(3, n_features)
        scaling[1] = 1
        reference[:known] = self.reference
        moments[:, :known], scaling[:, :known] = self.moments, self.scaling
        reference[columns] = torch.from_numpy(first)
        moments[:, columns], scaling[1, columns], scaling[2, columns] = 0, 1, 0
        moments[0, columns] = -reference[columns]
        scaling[0, columns] = -reference[columns].to(scaling.dtype)
        units = self.units.widened(n_features, columns)
        other = self.replaced(reference=reference, moments=moments, scaling=scaling, units=units)
        if self.narrow and not other.narrow and self.n:  # nothing is squashed from now on
            other.loops.weigh(other.n, other.narrow, *other.raw)
        return other

    def _copied(self) -> Scaling:
        """The same statistics in other memory."""
        tensors = {name: getattr(self, name).clone() for name in self.TENSORS}
        return self.replaced(**tensors, units=self.units.copy())

    def faded(self, n: int) -> Scaling:
        """These statistics as if they were of at most n examples, so that they follow new ones.

        This object stays as it is.
        """
        other = self._copied()
        other._count_as(min(n, self.n))
        return other

    def renewed(self, change: UnitChange) -> tuple[Scaling, NDArray[np.float64]]:
        """These statistics with the reference and the spread of new units of some features.

        This object stays as it is.

        Returns
        -------
        The statistics, and what to add to raw values of these features; 0 if a reference stays.
        """
        other = self._copied()
        other.units.accept(change)
        at, variance = torch.from_numpy(change.columns), torch.from_numpy(change.variance)
        rise = self.raw.reference[change.columns] - change.mean
        rise[np.sqrt(change.variance) > COARSE * abs(rise)] = 0
        reference = self.raw.reference[change.columns] - rise
        other.reference[at] = torch.from_numpy(reference)
        mean = torch.from_numpy(change.mean - reference)
        powers = torch.stack(  # as of a normal distribution
            [mean, self.n * variance, 0 * variance, 3 * self.n * variance**2]
        )
        other.moments[:, at] = powers
        other.bind()
        other.loops.weigh(other.n, other.narrow, *other.raw)
        return other, rise

    def _count_as(self, n: int) -> None:
        """Rescale the statistics as if they were of n examples."""
        self.raw.moments[1:] *= n / max(1, self.n)
        self.n = n

    def update(self, rows: NDArray[np.floating[Any]]) -> None:
        """Move the statistics by rows (B, d)."""
        if self.n + len(rows) > MEMORY:  # older ones fade
            self._count_as(max(0, MEMORY - len(rows)))
        n_there = self.loops.update(rows, self.absent, self.n, self.narrow, *self.raw)
        self.n += len(rows)
        self.n_there += (n_there - len(rows) * self.n_there) / self.n

    @property
    def narrow(self) -> bool:
        """Whether there is room for at most 256 features."""
        return len(self.absent) <= NARROW

    @property
    def sparse(self) -> bool:
        """Whether there are many features and examples have few of them."""
        return not self.narrow and 0 < self.n_there < SPARSE * len(self.absent)

    def there(self, rows: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        """The columns (T,) that any of the rows (B, d) has, the rows (B, T) and the scaling (3, T).

        A feature that a row does not have is at its mean.
        """
        found: tuple[NDArray[np.int64], Floats, Floats] = self.loops.there(
            rows, self.absent, CONSTANT, self.raw.scaling
        )
        return found

    def varies(self) -> NDArray[np.bool_]:
        """Which columns vary by more than rounding, (d,)."""
        mean, square = self.raw.moments[:2]
        least = np.maximum(RESOLUTION * abs(mean), ROUNDING * abs(mean + self.raw.reference))
        varies: NDArray[np.bool_] = np.sqrt(square / max(1, self.n)) > np.maximum(least, CLOSEST)
        return varies
