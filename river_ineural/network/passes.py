"""Scores and steps of both networks, on the device of their weights."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.network.layout import Arrays, Shape, Weights, arrays

__all__ = ["Passes", "Plan", "Stored", "passes"]

Floats = NDArray[np.floating[Any]]
Stored = tuple[Floats, Floats, Floats]  # raw x (capacity, d), targets (capacity, 2, k), weight
Plan = tuple[float, int, float, int]


class Passes(Protocol):
    """The interface that learners call."""

    def forget(self) -> None:
        """Capture the steps again, because Python numbers in them have changed."""
        ...

    def score(self, raw: Floats, scaling: Floats, exploring: bool) -> Floats:
        """f1 and f1 + f2 (2, B, k) for raw rows (B, d); without `exploring`, f1 twice."""
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
        """One step of f1, and with `exploring` also of f2 (Algorithm 2, lines 1 to 6).

        Parameters
        ----------
        stored
            The history.
        rows
            Rows of the history that make the batch.
        scaling
            (3, d): for each feature, the subtrahend, the factor, and whether it is squashed.
        plan
            The factor on the error at the class of an example; the index below which rows of the
            history have given labels; the largest radius by which examples are moved to where f1
            errs, or 0; the first column that is moved.
        rates
            Learning rates of f1 and f2.

        Returns
        -------
        Whether the errors were finite; if not, no step was taken.
        """
        ...


def passes(
    shape: Shape, flat: Tensor, moments: list[Tensor], n_updates: Tensor, radius: Tensor
) -> Passes:
    """Compiled loops for the CPU, modules for other devices.

    Parameters
    ----------
    shape
        Shape of the networks.
    flat
        Weights of the networks.
    moments, n_updates
        State of Adam for both networks.
    radius
        Radius () by which examples are moved.
    """
    arguments = shape, flat, moments, n_updates, radius
    if flat.device.type == "cpu" and compiles:
        return Loops(*arguments)
    from river_ineural.network.modules import Modules

    return Modules(*arguments)


compiles = True  # whether the CPU uses compiled loops; tests set this


class Loops:
    """The functions of `compiled`, bound to the memory of weights."""

    def __init__(
        self, shape: Shape, flat: Tensor, moments: list[Tensor], n_updates: Tensor, radius: Tensor
    ) -> None:
        from river_ineural.network import compiled

        self.loops = compiled
        self.networks = arrays(Weights(flat.numpy(), shape))
        self.radius = radius.view(1).numpy()
        self.shape, self.flats = shape, (flat, *moments, n_updates)

    @cached_property
    def memory(self) -> tuple[tuple[Arrays, Arrays], tuple[Floats, ...]]:
        """The memory that steps write: views of the gradient, and all flat arrays."""
        flat, *others = (each.numpy() for each in self.flats)
        gradient = np.empty_like(flat)
        return arrays(Weights(gradient, self.shape)), (flat, gradient, *others)

    def forget(self) -> None:
        """Do nothing: no steps are captured."""

    def score(self, raw: Floats, scaling: Floats, exploring: bool) -> Floats:
        """See `Passes`."""
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
        """See `Passes`."""
        gradients, learned = self.memory
        moving = plan[2:] if plan[2] else None
        others = stored, rows, scaling, self.radius, plan[:2], moving, rates, exploring
        return bool(self.loops.step(self.networks, gradients, learned, *others))
