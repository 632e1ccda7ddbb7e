"""Online centring, scaling and unit norm of raw vectors, on the device of the networks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural import compiled, eager
from river_ineural.compiled import CLOSEST, RESOLUTION
from river_ineural.networks import phases_of, raw

__all__ = ["CONSTANT", "Normalizer"]

TENSORS = ("mean", "square", "cube", "fourth", "shift", "inverse")  # the first four in float64
CONSTANT = 1  # columns before those of the features: one, which is 0 in raw vectors


class Normalizer:
    """Centre, scale each feature, then scale to unit norm (the paper assumes ‖x‖ = 1).

    With the mean of all examples learned so far, and q the fourth root of the mean fourth power of
    their distance from it, feature by feature, z = (x - mean) / q. A feature that has not varied
    is not scaled. The fourth power lies between the standard deviation, with which rare values of
    a mostly constant feature dwarf all others, and the range, which one outlier sets.

    Unit norm alone would forget how far an example is from the mean. So a constant s, the root
    mean square of that distance, is put in front of the example first:

        (s, z) / ‖(s, z)‖,    s² = Σ variance / q²

    It also serves the first layers, which have no bias, as one. The history stores raw examples, so
    old ones are normalised by the statistics of today.

    Parameters
    ----------
    center, scale, normalize
        Which of the three to do. Without `center` the mean is 0, without `normalize` the constant.
    like
        A tensor of the dtype and device to work in.
    """

    def __init__(self, center: bool, scale: bool, normalize: bool, like: Tensor) -> None:
        self.center = center
        self.scale = scale
        self.normalize = normalize
        self.n = 0
        self.mean = like.new_zeros(0, dtype=torch.float64)
        self.square = torch.zeros_like(self.mean)  # sums of powers of the distance from the mean
        self.cube = torch.zeros_like(self.mean)
        self.fourth = torch.zeros_like(self.mean)
        self.shift = like.new_zeros(0)  # the mean, with the constant's negative in front
        self.inverse = like.new_zeros(0)  # 1 / q
        self._view()

    def _view(self) -> None:
        self.raw = SimpleNamespace(**{name: raw(getattr(self, name)) for name in TENSORS})

    def __getstate__(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).cpu().numpy() for name in TENSORS}
        state = {**self.__dict__, **arrays}
        del state["raw"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in TENSORS:
            setattr(self, name, torch.from_numpy(state[name].copy()))
        self._view()

    def to(self, device: torch.device) -> None:
        """Move the statistics to a device."""
        for name in TENSORS:
            setattr(self, name, getattr(self, name).to(device))
        self._view()

    def widen(self, n_features: int) -> None:
        """Make room for features that have been 0 in every example so far."""
        more = n_features - len(self.mean)
        if not more:
            return
        for name in TENSORS:
            fill = 1.0 if name == "inverse" else 0.0
            wider = torch.nn.functional.pad(getattr(self, name), (0, more), value=fill)
            setattr(self, name, wider)
        self._view()

    def update(self, rows: NDArray[np.floating[Any]]) -> None:
        """Let rows (B, d) move the statistics."""
        before, self.n = self.n, self.n + len(rows)
        if phases_of(self.mean) is compiled:
            r = self.raw
            compiled.observe(
                *(rows, before, self.center, self.scale, self.normalize),
                *(r.mean, r.square, r.cube, r.fourth, r.shift, r.inverse),
            )
            return
        self._merge(torch.from_numpy(rows).to(self.mean.device, torch.float64), before)
        spread = (self.fourth.clamp_min(0) / self.n).sqrt_().sqrt_()
        if self.scale:
            varies = spread > (RESOLUTION * self.mean.abs()).clamp_min_(CLOSEST)
            self.inverse.copy_(torch.where(varies, 1 / spread, 1.0))
        self.shift.copy_(self.mean)
        if self.normalize:
            self.shift[0] = -self.square.dot(self.inverse.double().square()).div_(self.n).sqrt_()

    def _merge(self, x: Tensor, n: int) -> None:
        """Statistics of n examples and of x (B, d) together, as in `compiled.observe`."""
        b = x.shape[0]
        middle = x.mean(0) if self.center else torch.zeros_like(self.mean)
        square, cube, fourth = ((x - middle).pow(power).sum(0) for power in (2, 3, 4))
        share, step = b / (n + b), middle - self.mean
        term = step.square() * (n * share)
        self.fourth += fourth + term * step.square() * (1 - 3 * share * (1 - share))
        self.fourth += 6 * step.square() * ((1 - share) ** 2 * square + share**2 * self.square)
        self.fourth += 4 * step * ((1 - share) * cube - share * self.cube)
        self.cube += cube + term * step * (1 - 2 * share)
        self.cube += 3 * step * ((1 - share) * square - share * self.square)
        self.square += square + term
        self.mean += share * step

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise the rows of x (B, d) in place."""
        return eager.standardize(x, self.shift, self.inverse, self.normalize)
