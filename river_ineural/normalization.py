"""Online centring and unit norm of raw vectors, on the device of the networks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["CONSTANT", "Normalizer"]

TINY = 1e-12  # an example of norm 0 stays 0
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

    def __getstate__(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).cpu().numpy() for name in TENSORS}
        return {**self.__dict__, **arrays}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in TENSORS:
            setattr(self, name, torch.from_numpy(state[name].copy()))

    def to(self, device: torch.device) -> None:
        """Move the statistics to a device."""
        for name in TENSORS:
            setattr(self, name, getattr(self, name).to(device))

    def widen(self, n_features: int) -> None:
        """Make room for features that have been 0 in every example so far."""
        for name in ("mean", "shift"):
            old = getattr(self, name)
            setattr(self, name, torch.nn.functional.pad(old, (0, n_features - old.shape[0])))

    def update(self, x: Tensor) -> None:
        """Let the rows of x (B, d) move the statistics (pairwise, as Chan, Golub and LeVeque)."""
        before, self.n = self.n, self.n + x.shape[0]
        share = x.shape[0] / self.n
        if self.center:
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
