"""Online centring, scaling and unit norm of raw vectors, on the device of the networks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.tensors import Tensors
from river_ineural.network import eager, phases
from river_ineural.network.phases import Buffer, raw

__all__ = ["CONSTANT", "RawScaling", "Scaling"]

CONSTANT = 1  # columns before those of the features: one, which is 0 in raw vectors


class RawScaling(NamedTuple):
    """What phases take of `Scaling`."""

    moments: Buffer  # (4, d) float64
    scaling: Buffer  # (2, d)


class Scaling(Tensors):
    """Centre, scale each feature, then scale to unit norm (the paper assumes ‖x‖ = 1).

    With the mean of all examples learned so far, and q the fourth root of the mean fourth power of
    their distance from it, feature by feature, z = (x - mean) / q. A feature that has not varied
    is not scaled. The fourth power lies between the standard deviation, with which rare values of
    a mostly constant feature dwarf all others, and the range, which one outlier sets.

    Unit norm alone would forget how far an example is from the mean. So a constant s, the root
    mean square of that distance, is put in front of the example first:

        (s, z) / ‖(s, z)‖,    s² = Σ variance / q²

    It also serves the first layers, which have no bias, as one. The history stores raw examples, so
    old ones are scaled by the statistics of today.

    Parameters
    ----------
    center, scale, normalize
        Which of the three to do. Without `center` the mean is 0, without `normalize` the constant.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("moments", "scaling")
    VIEWS = ("raw", "phases")

    def __init__(self, center: bool, scale: bool, normalize: bool, like: Tensor) -> None:
        self.center = center
        self.scale = scale
        self.normalize = normalize
        self.n = 0
        # The mean, and the sums of the second, third and fourth powers of the distance from it
        self.moments = like.new_zeros(4, 0, dtype=torch.float64)
        self.scaling = like.new_zeros(2, 0)  # the mean, the constant's negative in front; and 1 / q
        self.bind()

    def bind(self) -> None:
        self.raw = RawScaling(raw(self.moments), raw(self.scaling))
        self.phases = phases.of(self.moments)

    def widened(self, n_features: int) -> Scaling:
        """These statistics with room for features that have been 0 in every example so far.

        This object stays as it is.
        """
        known = self.moments.shape[1]
        if n_features == known:
            return self
        moments = self.moments.new_zeros(4, n_features)
        scaling = self.scaling.new_zeros(2, n_features)
        scaling[1] = 1
        moments[:, :known], scaling[:, :known] = self.moments, self.scaling
        return self.twin(moments=moments, scaling=scaling)

    def update(self, rows: NDArray[np.floating[Any]]) -> None:
        """Let rows (B, d) move the statistics."""
        x: Any = rows
        if isinstance(self.raw.moments, Tensor):
            x = torch.from_numpy(rows).to(self.moments.device)
        self.phases.observe(x, self.n, self.center, self.scale, self.normalize, *self.raw)
        self.n += len(rows)

    def __call__(self, x: Tensor) -> Tensor:
        """Standardise the rows of x (B, d) in place."""
        eager.standardize(x, self.scaling, self.normalize, x)
        return x
