"""Scores and steps of both networks on the CPU, in compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.networks import compiled
from river_ineural.networks.layout import Shape, Weights, arrays

Floats = NDArray[np.floating[Any]]


class Loops:
    """The functions `score` and `train` of `compiled` on the memory of a block of weights.

    `modules.Modules` has the same methods for other devices.

    Parameters
    ----------
    shape
        Shape of the networks.
    block
        (4, P): the weights that are trained, those that predict, and Adam's two means.
    n_updates
        Updates of f1 and of f2, (2,).
    radius
        Radius () by which examples are moved.
    """

    def __init__(self, shape: Shape, block: Tensor, n_updates: Tensor, radius: Tensor) -> None:
        rows = block.numpy()
        self.gradient = block.new_empty(shape.n_parameters)
        memory = rows[0], self.gradient.numpy(), rows[2], rows[3], n_updates.numpy()
        trained, gradients, predicting = (
            sum(arrays(Weights(row, shape)), ()) for row in (rows[0], memory[1], rows[1])
        )
        moved = radius.view(1).numpy()
        self.predicting = predicting
        self.trained = trained, gradients, memory, moved
        self.average = rows[1]
        self.n_classes = shape.n_classes
        self.raw = np.empty((1, shape.n_features))  # where an example is placed
        self.views = [*memory, moved]  # of tensors, and views of these
        self.views += [view for each in (trained, gradients, predicting) for view in each]

    def score(self, raw: Floats, scaling: Floats, exploring: bool) -> Floats:
        """f1 and f2 (2, B, k) for raw rows (B, d); without `exploring`, f2 is 0."""
        found = np.empty((2, len(raw), self.n_classes), self.average.dtype)
        given = self.predicting, raw, scaling, exploring, found
        compiled.score(*given)
        return found

    def step(
        self, stored: tuple[Any, ...], rows: NDArray[np.int64], n_labelled: int, *how: Any
    ) -> bool:
        """One step on these rows, as `modules.Modules` takes it; the average stays."""
        n, exploring = len(stored[0]), np.array(how[-1:])
        draws, drawn_from = (rows[None] + 0.5) / n, (len(rows), n, 0, n_labelled)  # of these rows
        return self.train(stored, draws, drawn_from, *how[:-1], exploring, np.zeros(1))

    def train(self, *given: Any) -> bool:
        """Steps: see `compiled.train` for what is given after the average."""
        return bool(compiled.train(*self.trained, self.average, *given))
