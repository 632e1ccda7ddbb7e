"""Add weights for new features and classes; existing weights stay as they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.network.layout import Shape, Weights

__all__ = ["Columns", "Fresh", "draw", "overlay"]

FIRST_LAYERS = 0.3  # factor on first-layer weights: the initial functions are smoother

Columns = slice | NDArray[np.int64]  # columns of features in a first layer


class Fresh(NamedTuple):
    """First-layer weights of new features, for the blocks that already existed."""

    columns: Columns
    drawn: list[Tensor]  # (m, known blocks, columns) of each first layer

    def write(self, weights: Weights[Tensor], zero: bool = False) -> None:
        """Write the drawn values, or zeros, into `weights`."""
        for block, drawn in zip(weights.first_layers, self.drawn, strict=True):
            known = drawn.shape[1]
            block[:, :known, self.columns] = 0 if zero else drawn.to(block)


def overlay(onto: Tensor, new: Shape, flat: Tensor, old: Shape, n_features: int) -> Tensor:
    """Copy `flat` of shape `old`, its first `n_features` columns, into `onto` of shape `new`."""
    source, target = Weights(flat, old), Weights(onto, new)
    for layer, known in zip(target.first_layers, source.first_layers, strict=True):
        layer[:, : known.shape[1], :n_features] = known[..., :n_features]
    for layer, known in zip(target.deep, source.deep, strict=True):
        layer.copy_(known)
    for layer, known in zip(target.outputs, source.outputs, strict=True):
        layer[: len(known)] = known
    return onto


def draw(
    flat: Tensor,
    new: Shape,
    n_known: int,
    columns: Columns,
    n_features: int,
    rng: np.random.Generator,
) -> Fresh:
    """Draw new weights: hidden layers from N(0, 2/m), output layers from N(0, 1/m) (Algorithm 1,
    line 1). First layers are multiplied by 0.3, and the output layer of f2 is 0.

    Deep layers, if no class was known, and the blocks and rows of new classes are written to
    `flat`. Columns of new features, for the blocks that already existed, are returned. Columns
    reserved beyond the features in use stay 0 and have no effect. f2 outputs 0 until it has
    learned something.

    Parameters
    ----------
    flat
        Weights of shape `new`.
    n_known
        Number of classes known before.
    columns
        Columns of the new features.
    n_features
        Features in use, including the new ones.
    """
    std = (2 / new.hidden_dim) ** 0.5
    w = Weights(flat, new)

    def normal(shape: torch.Size | tuple[int, ...], std: float) -> Tensor:
        return torch.from_numpy(rng.normal(0.0, std, shape))

    if n_known == 0 < new.n_classes:
        for layer in w.deep:
            layer.copy_(normal(layer.shape, std))
    for layer in w.outputs:
        layer[n_known:].copy_(normal(layer[n_known:].shape, std * 0.5**0.5))
    w.f2.output[n_known:] = 0
    drawn = []
    for first in w.first_layers:
        drawn.append(normal(first[:, :n_known, columns].shape, std * FIRST_LAYERS))
        fresh = first[:, n_known:, :n_features]
        fresh.copy_(normal(fresh.shape, std * FIRST_LAYERS))
    return Fresh(columns, drawn)
