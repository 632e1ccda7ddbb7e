"""Networks restricted to some columns, for examples that have few of many features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.features.jit import allocating, loop
from river_ineural.networks.compiled import pair, score_both
from river_ineural.networks.layout import Arrays, Shape, Weights

Array = NDArray[Any]

# Which row of a block goes into each: all; none into the average; and the weights into it, too.
ALL, TRAINED, BACK = np.arange(4), np.array([0, -1, 2, 3]), np.array([0, 0, 2, 3])


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

    def of(self, block: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """A copy of these weights of a block (4, P): of columns all rows, or those `TRAINED`."""
        some = block.new_empty(len(block), self.shape.n_parameters)
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


@loop
def copy_columns(source: Array, out_of: Array, target: Array, into: Array, rows: Array) -> None:
    """Copy columns (T,) of first layers (4, m, blocks, d) into columns (T,) of others.

    Row i of the target is that of row `rows[i]` of the source; below 0 it stays as it is.
    """
    for i in range(len(rows)):
        if rows[i] < 0:
            continue
        for u in range(source.shape[1]):
            for block in range(source.shape[2]):
                for t in range(len(out_of)):
                    target[i, u, block, into[t]] = source[rows[i], u, block, out_of[t]]


@loop
def columns_of(weights: Array, columns: Array, some: Array) -> None:
    """Write columns (T,) of weights (n, d) into some (n, T)."""
    for u in range(len(weights)):
        for t in range(len(columns)):
            some[u, t] = weights[u, columns[t]]


@allocating
def score_few(
    arrays: tuple[Array, ...],
    raw: Array,
    scaling: Array,
    columns: Array,
    exploring: bool,
    found: Array,
) -> None:
    """`score` for raw rows (B, T) of few of the features, those of columns (T,)."""
    f1, f2 = pair(arrays)
    m, d = len(f1.first), f1.at_x.shape[1]
    few = np.empty((3, len(f1.at_x), len(columns)), f1.first.dtype)
    wide = few.reshape(3, m, len(f1.at_x) // m * len(columns))
    columns_of(f1.at_x, columns, few[0])
    some = Arrays(few[0], wide[0], f1.hidden, f1.output)
    other = some
    if exploring:
        other = f2
        if len(f2.at_x):
            columns_of(f2.at_x, columns, few[1])
            columns_of(f2.first.reshape(len(f2.at_x), d), columns, few[2])
            other = Arrays(few[1], wide[2], f2.hidden, f2.output)
    score_both((some, other), raw, scaling, exploring, found)
