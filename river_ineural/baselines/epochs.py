"""Shared by the paper's baselines: training in epochs over all stored examples at each label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from river.base.typing import FeatureName
from torch import Tensor

from river_ineural.features.index import FeatureIndex, place
from river_ineural.features.parameters import Live
from river_ineural.features.validation import check_integer, integer, real
from river_ineural.networks.threads import single_threaded

__all__ = ["Cached", "Stored", "TrainedInEpochs", "placed"]

Floats = NDArray[np.floating[Any]]


class Stored:
    """The newest examples, each a vector and integers; a new one takes the place of the oldest."""

    def __init__(self, capacity: int) -> None:
        check_integer("capacity", capacity, least=1)
        self.capacity = capacity
        self.n_added = 0
        self.examples: list[tuple[Floats, tuple[int, ...]]] = []

    def __len__(self) -> int:
        return len(self.examples)

    def add(self, vector: Floats, *targets: int) -> None:
        """Store a vector of all known features."""
        row = self.n_added % self.capacity
        self.examples[row : row + 1] = [(vector, targets)]
        self.n_added += 1

    def tensors(self) -> tuple[Tensor, ...]:
        """The vectors (n, d), 0 for features that came later, then each target (n,)."""
        vectors, targets = zip(*self.examples, strict=True)
        x = np.zeros((len(vectors), max(map(len, vectors))), np.float32)
        for row, vector in zip(x, vectors, strict=True):
            row[: len(vector)] = vector
        return torch.from_numpy(x), *map(torch.tensor, zip(*targets, strict=True))


class TrainedInEpochs:
    """A model trained in epochs of Adam; `RetrainedNetwork` describes the parameters."""

    lr = Live[float](real(1e-37))
    batch_size = Live[int](integer(1))
    n_epochs = Live[int](integer(1))
    tolerance = Live[float](real(0))

    def __init__(self, lr: float, batch_size: int, n_epochs: int, tolerance: float) -> None:
        self.lr = lr
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.tolerance = tolerance

    @single_threaded
    def train_epochs(
        self,
        weights: list[Tensor],
        loss: Callable[[list[Tensor], Tensor], Tensor],
        n_examples: int,
        rng: np.random.Generator,
    ) -> None:
        """Train the weights in place with a new Adam until the losses of an epoch are small.
        `loss(weights, rows)` is the mean loss of the examples with the indices `rows`.
        """
        trained = [part.detach().requires_grad_() for part in weights]  # shares their memory
        adam = torch.optim.Adam(trained, self.lr, fused=True)
        for _ in range(self.n_epochs):
            total = 0.0
            for rows in torch.split(torch.from_numpy(rng.permutation(n_examples)), self.batch_size):
                adam.zero_grad()
                found = loss(trained, rows)
                torch.autograd.backward(found)
                adam.step()
                total += found.item()
            if total <= self.tolerance * n_examples:
                break


class Cached:
    """Caches the result for the latest x; the cache is not pickled."""

    latest: tuple[dict[FeatureName, Any], Any] | None = None  # x and the result for it

    def __getstate__(self) -> dict[str, Any]:
        computed = ("latest", "weights")
        return {name: part for name, part in self.__dict__.items() if name not in computed}


def placed(features: FeatureIndex, x: Any, values: NDArray[np.float64]) -> Floats:
    """Checked values of x as a float32 vector of all known features."""
    columns = features.look_up(x)
    vector: Floats = place(values[None], columns, len(features))[0].astype(np.float32)
    return vector
