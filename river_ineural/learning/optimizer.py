"""Adam on the two halves of one flat tensor: the weights of f1 and of f2."""

from __future__ import annotations

import torch
from torch import Tensor

from river_ineural.learning.tensors import Tensors
from river_ineural.network import phases
from river_ineural.network.growth import overlay
from river_ineural.network.networks import Shape, Weights
from river_ineural.network.phases import Buffer, raw

__all__ = ["Optimizer"]


class Optimizer(Tensors):
    """Moments and counts of updates of both networks.

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
        return self.twin(
            moments=[
                overlay(moment.new_zeros(new.n_parameters), new, moment, old, n_features)
                for moment in self.moments
            ]
        )

    def updater(self, weights: Weights, gradients: Weights) -> Updater:
        """What takes steps on these weights."""
        return Updater(self, weights, gradients)


class Updater:
    """An optimizer bound to the memory of weights and gradients."""

    def __init__(self, optimizer: Optimizer, weights: Weights, gradients: Weights) -> None:
        shape, counts = weights.shape, optimizer.n_updates
        self.phases = phases.of(weights.flat)
        layouts = [weights, gradients, *(shape.weights(m) for m in optimizer.moments)]
        self.networks: list[tuple[Buffer, ...]] = [
            (*(raw(layout.networks[i]) for layout in layouts), raw(counts[i : i + 1]))
            for i in range(2)
        ]

    def step(self, network: int, rate: float) -> None:
        """Update f1 (0) or f2 (1) by its gradient (Algorithm 2, line 3 or 6)."""
        self.phases.adam(*self.networks[network], rate)
