"""Online centring and unit norm of raw vectors, on the device of the networks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["Normalizer"]

TINY = 1e-12  # an example equal to the mean has norm 0 and stays 0


class Normalizer:
    """Subtract the running mean, then divide by the norm (the paper assumes ‖x‖ = 1).

    The history stores raw examples, so old ones are centred by the mean of today.

    Parameters
    ----------
    center, normalize
        Which of the two to do.
    like
        A tensor of the dtype and device to work in.
    """

    def __init__(self, center: bool, normalize: bool, like: Tensor) -> None:
        self.center = center
        self.normalize = normalize
        self.n = 0
        self.mean = like.new_zeros(0)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "mean": self.mean.cpu().numpy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, mean=torch.from_numpy(state["mean"].copy()))

    def to(self, device: torch.device) -> None:
        """Move the mean to a device."""
        self.mean = self.mean.to(device)

    def widen(self, n_features: int) -> None:
        """Make room for features that have been 0 in every example so far."""
        self.mean = torch.nn.functional.pad(self.mean, (0, n_features - len(self.mean)))

    def update(self, x: Tensor) -> None:
        """Let the rows of x (B, d) move the mean."""
        self.n += len(x)
        self.mean.lerp_(x.mean(0), len(x) / self.n)

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise the rows of x (B, d) in place."""
        if self.center:
            x.sub_(self.mean)
        if self.normalize:
            x.div_(torch.linalg.vector_norm(x, dim=1, keepdim=True).clamp_min_(TINY))
        return x
