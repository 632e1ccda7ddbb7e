"""Training as the paper's baselines do it: epochs over all that is stored, at each label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.inputs.features import FeatureIndex

__all__ = ["padded", "placed", "train_epochs"]

Floats = NDArray[np.floating[Any]]


def train_epochs(
    weights: list[Tensor],
    loss: Callable[[Tensor], Tensor],
    n_examples: int,
    rng: np.random.Generator,
    *,
    lr: float,
    batch_size: int,
    n_epochs: int,
    tolerance: float,
) -> None:
    """Passes of Adam, which starts anew, until the losses of a pass are small.

    Parameters
    ----------
    weights
        Leaves that ask for a gradient; changed in place.
    loss
        Mean loss of the rows with the given numbers.
    tolerance
        Training ends when the batch losses of a pass, summed, are at most this many times
        `n_examples`.
    """
    optimizer = torch.optim.Adam(weights, lr=lr, fused=True)
    for _ in range(n_epochs):
        total = 0.0
        order = torch.from_numpy(rng.permutation(n_examples))
        for rows in torch.split(order, batch_size):
            optimizer.zero_grad()
            value = loss(rows)
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += value.item()
        if total <= tolerance * n_examples:
            break


def padded(vectors: list[Floats], n_features: int) -> Tensor:
    """Vectors as rows (n, n_features); features they did not have are 0."""
    rows = torch.zeros(len(vectors), n_features, dtype=torch.float32, device="cpu")
    for row, vector in zip(rows, vectors, strict=True):
        row[: len(vector)] = torch.from_numpy(vector)
    return rows


def placed(features: FeatureIndex, x: Any, values: NDArray[np.float64]) -> Floats:
    """Checked values of x as a float32 vector of all features known."""
    nothing = np.zeros(len(features))
    vector: Floats = features.place(x, values[None], nothing, nothing.astype(np.float32))[0]
    return vector
