"""What the paper's baselines share: epochs over all that is stored, at each label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from river.base.typing import FeatureName
from torch import Tensor

from river_ineural.inputs.features import FeatureIndex
from river_ineural.inputs.parameters import Live
from river_ineural.inputs.validation import check_integer, integer, real

__all__ = ["Cached", "Stored", "TrainedInEpochs", "behind_relu", "placed"]

Floats = NDArray[np.floating[Any]]

CACHED = ("latest", "weights", "inverse", "theta")  # until the next label


def behind_relu(gradient: Tensor, activation: Tensor, out: Tensor) -> None:
    """Gradient before a ReLU from the one behind it: 0 where the unit is off."""
    torch.ops.aten.threshold_backward.grad_input(gradient, activation, 0, grad_input=out)


class Stored:
    """The newest examples as rows of arrays, which double until the capacity is reached.

    Parameters
    ----------
    capacity
        Examples at most, at least 1; the newest then takes the row of the oldest.
    n_targets
        Integers stored with each.
    """

    def __init__(self, capacity: int, n_targets: int = 1) -> None:
        check_integer("capacity", capacity, least=1)
        self.capacity = capacity
        self.n_added = 0
        self.vectors = np.zeros((0, 0), np.float32)
        self.targets = np.zeros((0, n_targets), np.int64)

    def __len__(self) -> int:
        return min(self.n_added, self.capacity)

    def __getstate__(self) -> dict[str, Any]:
        """Without the rows that are still free."""
        used = {"vectors": self.vectors[: len(self)], "targets": self.targets[: len(self)]}
        return {**self.__dict__, **used}

    def add(self, vector: Floats, *targets: int) -> None:
        """Store a vector of all features known; those that are new were 0 before."""
        row = self.n_added % self.capacity
        n_rows, n_features = self.vectors.shape
        more = min(max(1, n_rows), self.capacity - n_rows) if row == n_rows else 0
        if more or len(vector) > n_features:
            self.vectors = np.pad(self.vectors, ((0, more), (0, len(vector) - n_features)))
            self.targets = np.pad(self.targets, ((0, more), (0, 0)))
        self.vectors[row], self.targets[row] = vector, targets
        self.n_added += 1

    def tensors(self) -> tuple[Tensor, ...]:
        """The vectors (n, d), then each target (n,)."""
        targets = torch.from_numpy(self.targets[: len(self)].T.copy())
        return torch.from_numpy(self.vectors[: len(self)]), *targets


class TrainedInEpochs:
    """What is trained by passes of Adam, as `RetrainedNetwork` describes the parameters."""

    lr = Live[float](real(1e-37))
    batch_size = Live[int](integer(1))
    n_epochs = Live[int](integer(1))
    tolerance = Live[float](real(0))

    def __init__(self, lr: float, batch_size: int, n_epochs: int, tolerance: float) -> None:
        self.lr = lr
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.tolerance = tolerance

    def train_epochs(
        self,
        weights: list[Tensor],
        backward: Callable[[Tensor, list[Tensor]], Tensor],
        n_examples: int,
        rng: np.random.Generator,
    ) -> None:
        """Passes of Adam, which starts anew, until the losses of a pass are small.

        Parameters
        ----------
        weights
            Changed in place.
        backward
            Mean loss of the rows with the given numbers, whose gradients by the weights it writes
            into the second argument.
        """
        gradients = [torch.empty_like(part) for part in weights]
        means, squares = ([torch.zeros_like(part) for part in weights] for _ in range(2))
        n_steps = torch.zeros((), dtype=torch.float32, device="cpu")
        for _ in range(self.n_epochs):
            total = 0.0
            rows = torch.from_numpy(rng.permutation(n_examples))
            for batch in torch.split(rows, self.batch_size):
                total += backward(batch, gradients).item()
                n_steps += 1
                # what torch.optim.Adam(fused=True) calls, at a fifth of its time for small weights
                torch._fused_adam_(
                    *(weights, gradients, means, squares, [], [n_steps] * len(weights)),
                    lr=self.lr,
                    beta1=0.9,
                    beta2=0.999,
                    weight_decay=0.0,
                    eps=1e-8,
                    amsgrad=False,
                    maximize=False,
                )
            if total <= self.tolerance * n_examples:
                break


def placed(features: FeatureIndex, x: Any, values: NDArray[np.float64]) -> Floats:
    """Checked values of x as a float32 vector of all features known."""
    nothing = np.zeros(len(features))
    vector: Floats = features.place(x, values[None], nothing, nothing.astype(np.float32))[0]
    return vector


class Cached:
    """What is computed from what was learned: kept from round to round, and not pickled."""

    latest: tuple[dict[FeatureName, Any], Any] | None = None  # x, and what was computed of it

    def forget(self) -> None:
        """What was computed from weights and sums that have changed since."""
        for name in CACHED:
            self.__dict__.pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name not in CACHED}
