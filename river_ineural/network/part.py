"""Networks restricted to some columns, for examples that have few of many features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.network.layout import Shape, Weights

__all__ = ["Part"]


class Part:
    """The weights of some columns, and of all deep and output layers.

    In sequence they are those of smaller networks without the other features. So the same passes
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
        self.whole, self.columns = shape, columns
        self.included = shape._replace(explores=exploring)
        self.shape = self.included._replace(n_features=len(columns))

    def of(self, flat: Tensor) -> Tensor:
        """A copy of these weights, taken from flat weights."""
        weights = flat.new_empty(self.shape.n_parameters)
        self._copy(views(flat, self.included), views(weights, self.shape))
        return weights

    def put(self, weights: Tensor, flat: Tensor) -> None:
        """Write these weights back into flat weights."""
        self._copy(views(weights, self.shape), views(flat, self.included))

    def put_columns(self, flat: Tensor, other: Tensor) -> None:
        """Copy the weights of the columns from flat weights into others."""
        self._copy_columns(views(flat, self.included), views(other, self.included))

    def _copy(self, source: Weights[Any], target: Weights[Any]) -> None:
        """Copy all of these weights, of which one side holds nothing else."""
        self._copy_columns(source, target)
        for layer, other in zip(source.shared, target.shared, strict=True):
            other[...] = layer

    def _copy_columns(self, source: Weights[Any], target: Weights[Any]) -> None:
        from river_ineural.network.compiled import copy_columns  # an import is not to wait for it

        out_of, into = (
            np.arange(len(self.columns)) if weights.shape == self.shape else self.columns
            for weights in (source, target)
        )
        for layer, other in zip(source.first_layers, target.first_layers, strict=True):
            if isinstance(layer, np.ndarray):
                copy_columns(layer, out_of, other, into)
            else:
                other[..., into] = layer[..., out_of]


def views(flat: Tensor, shape: Shape) -> Weights[Any]:
    """Views of flat weights, on the CPU of an array, which are made faster."""
    return Weights(flat.numpy() if flat.device.type == "cpu" else flat, shape)
