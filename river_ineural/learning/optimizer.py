"""Adam on the two halves of one flat tensor: the weights of f1 and of f2."""

from __future__ import annotations

import torch
from torch import Tensor

from river_ineural.learning.tensors import Tensors
from river_ineural.network.growth import overlay
from river_ineural.network.layout import Shape

__all__ = ["Optimizer"]


class Optimizer(Tensors):
    """Adam's moments and counts of updates, of both networks.

    Parameters
    ----------
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("moments", "n_updates")

    def __init__(self, like: Tensor) -> None:
        self.moments = [torch.zeros_like(like) for _ in range(2)]
        self.n_updates = torch.zeros(2, dtype=torch.float32, device=like.device)  # of f1, of f2

    def grown(self, old: Shape, new: Shape, n_features: int) -> Optimizer:
        """The same for more features and classes, whose moments are 0; this one stays as it is."""
        return self.replaced(
            moments=[
                overlay(moment.new_zeros(new.n_parameters), new, moment, old, n_features)
                for moment in self.moments
            ]
        )
