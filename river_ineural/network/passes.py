"""Scores and steps of both networks, on whatever device their weights are."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.network.layout import Arrays, Shape, Weights

__all__ = ["Passes", "Plan", "Stored", "passes"]

Floats = NDArray[np.floating[Any]]
Stored = tuple[Floats, Floats, Floats]  # raw x (capacity, d), targets (capacity, 2, k), weight
Plan = tuple[float, int, float, int]


class Passes(Protocol):
    """What learners call."""

    def forget(self) -> None:
        """Capture anew what a step does: numbers of Python's have changed."""
        ...

    def score(self, raw: Floats, scaling: Floats, exploring: bool) -> Floats:
        """f1, and f1 + f2, (2, B, k) of raw rows (B, d); without `exploring` f1 twice."""
        ...

    def step(
        self,
        stored: Stored,
        rows: NDArray[np.int64],
        scaling: Floats,
        plan: Plan,
        rates: tuple[float, float],
        exploring: bool,
    ) -> bool:
        """One step of f1, and with `exploring` of f2 (Algorithm 2, lines 1 to 6).

        Parameters
        ----------
        stored
            The history.
        rows
            Of it, which make the batch.
        scaling
            (3, d), what is subtracted and multiplied with, and whether a feature is squashed.
        plan
            By what the error at the class of an example weighs more than others; rows of the
            history before this one have a label that was given; the largest radius by which
            examples are moved to where f1 errs, or 0; the first column that is moved.
        rates
            Learning rates of f1 and f2.

        Returns
        -------
        Whether the errors were finite; where they are not, no step is taken.
        """
        ...


def passes(
    shape: Shape, flat: Tensor, moments: list[Tensor], n_updates: Tensor, radius: Tensor
) -> Passes:
    """Compiled loops for the CPU, modules for other devices.

    Parameters
    ----------
    shape
        Of the networks.
    flat
        Their weights.
    moments, n_updates
        Adam's, of both networks.
    radius
        (), by which examples are moved.
    """
    arguments = shape, flat, moments, n_updates, radius
    if flat.device.type == "cpu" and compiles:
        return Loops(*arguments)
    from river_ineural.network.modules import Modules

    return Modules(*arguments)


compiles = True  # on the CPU; tests set it


class Loops:
    """`compiled` bound to the memory of weights."""

    def __init__(
        self, shape: Shape, flat: Tensor, moments: list[Tensor], n_updates: Tensor, radius: Tensor
    ) -> None:
        from river_ineural.network import compiled

        self.loops = compiled
        self.networks, self.radius = Weights(flat, shape).arrays, radius.view(1).numpy()
        self.shape, self.flats = shape, (flat, *moments, n_updates)

    @cached_property
    def memory(self) -> tuple[tuple[Arrays, Arrays], tuple[Floats, ...]]:
        """What steps write: views of the gradient, and all that is flat."""
        flat, *others = self.flats
        gradient = torch.empty_like(flat)
        every = flat, gradient, *others
        return Weights(gradient, self.shape).arrays, tuple(each.numpy() for each in every)

    def forget(self) -> None:
        """Nothing is kept."""

    def score(self, raw: Floats, scaling: Floats, exploring: bool) -> Floats:
        """As `Passes` says."""
        found: Floats = self.loops.score(self.networks, raw, scaling, exploring)
        return found

    def step(
        self,
        stored: Stored,
        rows: NDArray[np.int64],
        scaling: Floats,
        plan: Plan,
        rates: tuple[float, float],
        exploring: bool,
    ) -> bool:
        """As `Passes` says."""
        gradients, learned = self.memory
        moving = plan[2:] if plan[2] else None
        others = stored, rows, scaling, self.radius, plan[:2], moving, rates, exploring
        return bool(self.loops.step(self.networks, gradients, learned, *others))
