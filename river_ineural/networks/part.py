"""Networks restricted to some columns, for examples that have few of many features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.networks.compiled import copy_columns
from river_ineural.networks.layout import Shape, Weights


class Part:
    """The weights of some columns, and of all deep and output layers.

    In sequence they are those of smaller networks without the other features. So the same loops
    score and learn, at a cost that depends on the features present.

    Parameters
    ----------
    shape
        Shape of the whole networks.
    columns
        Columns (T,) of the first layers, ascending.
    exploring
        Whether f2 is included.
    """

    def __init__(self, shape: Shape, columns: NDArray[np.int64], exploring: bool) -> None:
        self.columns, self.all = columns, np.arange(len(columns))
        self.included = shape._replace(explores=exploring)
        self.shape = self.included._replace(n_features=len(columns))

    def of(self, block: Tensor) -> Tensor:
        """A copy of these weights, taken from the rows of a block (n, P)."""
        some = block.new_empty(len(block), self.shape.n_parameters)
        self._copy(views(block, self.included), views(some, self.shape))
        return some

    def put(self, some: Tensor, block: Tensor) -> None:
        """Write these weights back into a block."""
        self._copy(views(some, self.shape), views(block, self.included))

    def put_columns(self, source: Tensor, target: Tensor) -> None:
        """Copy the weights of the columns from rows of a block into others."""
        self._copy_columns(views(source, self.included), views(target, self.included))

    def _copy(self, source: Weights[Any], target: Weights[Any]) -> None:
        """Copy all of these weights, of which one side holds nothing else."""
        self._copy_columns(source, target)
        for layer, other in zip(source.shared, target.shared, strict=True):
            other[...] = layer

    def _copy_columns(self, source: Weights[Any], target: Weights[Any]) -> None:
        out_of, into = (
            self.all if weights.shape == self.shape else self.columns
            for weights in (source, target)
        )
        for layer, other in zip(source.first_layers, target.first_layers, strict=True):
            if isinstance(layer, np.ndarray):
                copy_columns(layer, out_of, other, into)
            else:
                other[..., into] = layer[..., out_of]


def views(block: Tensor, shape: Shape) -> Weights[Any]:
    """Views of weights, on the CPU of an array, which are made faster."""
    return Weights(block.numpy() if block.device.type == "cpu" else block, shape)
