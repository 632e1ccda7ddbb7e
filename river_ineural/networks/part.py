"""Networks restricted to some columns, for examples that have few of many features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.networks.compiled import copy_columns
from river_ineural.networks.layout import Shape, Weights

ALL, TRAINED, BACK = (
    np.arange(4),
    np.array([0, -1, 2, 3]),
    np.array([0, 0, 2, 3]),
)  # rows of a block


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
        """A copy of these weights of a block (4, P).

        The average of columns is left out where loops train: they predict where it lies.
        """
        some = block.new_empty(len(block), self.shape.n_parameters)
        rows = TRAINED if block.device.type == "cpu" else ALL
        source, target = views(block, self.included), views(some, self.shape)
        self._copy(source, self.columns, target, self.all, rows)
        return some

    def put(self, some: Tensor, block: Tensor) -> None:
        """Write these weights back into a block; of columns, the weights are the average, too.

        A rare feature moves so seldom that an average of its weights would lag behind.
        """
        source, target = views(some, self.shape), views(block, self.included)
        self._copy(source, self.all, target, self.columns, BACK)

    def _copy(
        self,
        source: Weights[Any],
        out_of: NDArray[np.int64],
        target: Weights[Any],
        into: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> None:
        """Copy columns, into each row of the target one of the source, and all other layers."""
        for layer, other in zip(source.first_layers, target.first_layers, strict=True):
            if isinstance(layer, np.ndarray):
                copy_columns(layer, out_of, other, into, rows)
            else:
                other[..., into] = layer[rows][..., out_of]
        for layer, other in zip(source.shared, target.shared, strict=True):
            other[...] = layer


def views(block: Tensor, shape: Shape) -> Weights[Any]:
    """Views of weights, on the CPU of an array, which are made faster."""
    return Weights(block.numpy() if block.device.type == "cpu" else block, shape)
