"""Online centring, scaling and unit norm of raw vectors, on the device of the networks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.tensors import Tensors
from river_ineural.network import eager, phases
from river_ineural.network.growth import Columns
from river_ineural.network.phases import Buffer, raw

__all__ = ["CONSTANT", "RawScaling", "Scaling"]

MEMORY = 20_000  # examples that the statistics are of, the older the less
CONSTANT = 1  # columns before those of the features: one, which is 0 in raw vectors


class RawScaling(NamedTuple):
    """What phases take of `Scaling`."""

    reference: Buffer  # (d,) float64
    moments: Buffer  # (4, d) float64
    scaling: Buffer  # (2, d)


class Scaling(Tensors):
    """Centre, scale each feature, then scale to unit norm (the paper assumes ‖x‖ = 1).

    With the mean of the examples learned so far, and q the fourth root of the mean fourth power of
    their distance from it, feature by feature, z = (x - mean) / q. A feature that has not varied
    is not scaled. The fourth power lies between the standard deviation, with which rare values of
    a mostly constant feature dwarf all others, and the range, which one outlier sets. From 20,000
    examples on, older ones count less and less: features that move are followed.

    Unit norm alone would forget how far an example is from the mean. So a constant s, the root
    mean square of that distance, is put in front of the example first:

        (s, z) / ‖(s, z)‖,    s² = Σ variance / q²

    It also serves the first layers, which have no bias, as one. The history stores raw examples, so
    old ones are scaled by the statistics of today.

    Raw vectors hold what a feature is beyond its reference, its first value, subtracted in float64:
    a time in seconds, 1.7e9 and its changes, would be rounded to hundreds of them in float32. So
    the statistics here are of that difference, and a feature that is absent, which is 0, is minus
    the reference.

    Parameters
    ----------
    center, scale, normalize
        Which of the three to do. Without `center` the mean is 0, without `normalize` the constant.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("reference", "moments", "scaling")
    VIEWS = ("raw", "phases", "rows", "subtracted", "absent")

    def __init__(self, center: bool, scale: bool, normalize: bool, like: Tensor) -> None:
        self.center = center
        self.scale = scale
        self.normalize = normalize
        self.n = 0
        # The mean, and the sums of the second, third and fourth powers of the distance from it
        self.reference = like.new_zeros(0, dtype=torch.float64)
        self.moments = like.new_zeros(4, 0, dtype=torch.float64)
        self.scaling = like.new_zeros(2, 0)  # the mean, the constant's negative in front; and 1 / q
        self.bind()

    def bind(self) -> None:
        self.raw = RawScaling(raw(self.reference), raw(self.moments), raw(self.scaling))
        # For examples that arrive, on the CPU: what is subtracted, and what an absent feature is
        self.subtracted = self.reference.cpu().numpy()
        self.absent = (-self.reference).to(self.scaling.dtype).cpu().numpy()
        self.phases = phases.of(self.moments)
        self.rows = self.scaling.unbind()

    def widened(self, n_features: int, columns: Columns, first: NDArray[np.float64]) -> Scaling:
        """These statistics with features that have been 0 in every example so far.

        This object stays as it is.

        Parameters
        ----------
        n_features
            That there is room for.
        columns
            Of the features that appear.
        first
            Their first values, which become their references.
        """
        known = len(self.reference)
        reference = self.reference.new_zeros(n_features)
        moments = self.moments.new_zeros(4, n_features)
        scaling = self.scaling.new_zeros(2, n_features)
        scaling[1] = 1
        reference[:known] = self.reference
        moments[:, :known], scaling[:, :known] = self.moments, self.scaling
        reference[columns] = torch.from_numpy(first).to(reference.device)
        moments[:, columns], scaling[1, columns] = 0, 1
        moments[0, columns] = -reference[columns]
        scaling[0, columns] = -reference[columns].to(scaling.dtype)
        return self.twin(reference=reference, moments=moments, scaling=scaling)

    def faded(self, n: int) -> Scaling:
        """These statistics as if they were of n examples, or as many as they are of.

        They follow those that come. This object stays as it is.
        """
        other = self.twin(**{name: getattr(self, name).clone() for name in self.TENSORS})
        other._count_as(min(n, self.n))
        return other

    def _count_as(self, n: int) -> None:
        """Let the statistics be as if they were of n examples."""
        self.moments[1:] *= n / max(1, self.n)
        self.n = n

    def update(self, rows: NDArray[np.floating[Any]]) -> None:
        """Let rows (B, d) move the statistics."""
        x: Any = rows
        if isinstance(self.raw.moments, Tensor):
            x = torch.from_numpy(rows).to(self.moments.device)
        if self.n + len(rows) > MEMORY:  # older ones fade, so that what moves is followed
            self._count_as(max(0, MEMORY - len(rows)))
        self.phases.observe(x, self.n, self.center, self.scale, self.normalize, *self.raw)
        self.n += len(rows)

    def __call__(self, x: Tensor) -> Tensor:
        """Standardise the rows of x (B, d) in place."""
        eager.standardize(x, self.rows, self.normalize, x)
        return x
