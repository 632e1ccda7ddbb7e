"""Online centring and unit norm of raw vectors, on the device of the networks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural import compiled
from river_ineural.compiled import TINY
from river_ineural.networks import phases_of, raw

__all__ = ["CONSTANT", "Normalizer"]

TENSORS = ("mean", "mean_square", "shift")
CONSTANT = 1  # columns before those of the features: one, which is 0 in raw vectors


class Normalizer:
    """Subtract the running mean, then scale to unit norm (the paper assumes ‖x‖ = 1).

    Unit norm alone would forget how far an example is from the mean. So a constant s, the running
    root mean square of that distance, is put in front of the example first:

        (s, x - mean) / ‖(s, x - mean)‖

    It also serves the first layers, which have no bias, as one. The history stores raw examples, so
    old ones are centred by the mean of today.

    Parameters
    ----------
    center, normalize
        Which of the two to do. Without `normalize` the constant is 0.
    like
        A tensor of the dtype and device to work in.
    """

    def __init__(self, center: bool, normalize: bool, like: Tensor) -> None:
        self.center = center
        self.normalize = normalize
        self.n = 0
        self.mean = like.new_zeros(0)
        self.mean_square = like.new_zeros(())  # of the distance from the mean
        self.shift = like.new_zeros(0)  # the mean, with the constant's negative in front
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
        if n_features == len(self.mean):
            return
        for name in ("mean", "shift"):
            old = getattr(self, name)
            setattr(self, name, torch.nn.functional.pad(old, (0, n_features - old.shape[0])))
        self._view()

    def update(self, rows: NDArray[np.floating[Any]]) -> None:
        """Let rows (B, d) move the statistics."""
        before, self.n = self.n, self.n + len(rows)
        if phases_of(self.mean) is compiled:
            r = self.raw
            compiled.observe(
                rows, before, self.center, self.normalize, r.mean, r.mean_square, r.shift
            )
            return
        x, share = torch.from_numpy(rows).to(self.mean.device), len(rows) / self.n
        if self.center:  # pairwise, as Chan, Golub and LeVeque
            middle = x.mean(0)
            apart = middle - self.mean
            square = apart.dot(apart).mul_(before / self.n)
            if x.shape[0] > 1:
                square += (x - middle).square().sum() / x.shape[0]
            self.mean.lerp_(middle, share)
            self.shift.copy_(self.mean)
        else:
            square = x.square().sum() / x.shape[0]
        self.mean_square.lerp_(square, share)
        if self.normalize:
            self.shift[0] = -self.mean_square.sqrt()

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise the rows of x (B, d) in place."""
        x.sub_(self.shift)
        if self.normalize:
            x.div_(torch.linalg.vector_norm(x, dim=1, keepdim=True).clamp_min_(TINY))
        return x
