"""Mini-batch SGD with warm start (Algorithm 2) on flat parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural import compiled
from river_ineural.history import History
from river_ineural.networks import (
    Activations,
    Shape,
    Weights,
    exploit,
    explore,
    gradients,
    grow,
    overlay,
    phases_of,
    raw,
)
from river_ineural.normalization import Normalizer

__all__ = ["Trainer"]

Floats = NDArray[np.floating[Any]]

N_ITERATES = 8  # snapshots that stand for all iterates so far
TILE = 1024  # numbers of an input gradient at a time: with a row of weights they fit a first cache
FEW_CLASSES = 4  # up to here one example is scored faster by loops than by matrix products


class Batch:
    """Buffers of a batch drawn from the history."""

    def __init__(self, shape: Shape, n_examples: int, like: Tensor) -> None:
        k, d = shape.n_classes, shape.n_features
        self.x = like.new_empty(n_examples, d)  # normalised
        self.columns = self.x.t()
        self.targets = like.new_empty(n_examples, 2, k)
        self.weight = like.new_empty(n_examples)
        self.raw = (raw(self.x), raw(self.targets), raw(self.weight))


class Single:
    """Buffers of `compiled.score_one`."""

    def __init__(self, shape: Shape, dtype: np.dtype[Any], tile: int = TILE) -> None:
        k, d, m, depth = shape
        self.f1, self.scores = np.zeros((1, k), dtype), np.zeros((1, k), dtype)
        self.buffers = (
            np.empty(d, dtype),
            np.empty((depth - 1, k, m), dtype),
            np.empty((2, k, m), dtype),
            np.empty((k, tile), dtype),
            np.empty(m, np.int64),
            self.f1[0],
            self.scores[0],
        )


class Trainer:
    """Both networks, their optimiser, and the iterates to predict with.

    Parameters
    ----------
    shape
        Shape of the networks, of no class and no feature yet.
    lr, exploration_lr
        Learning rates η1 and η2.
    optimizer
        "adam" or "sgd" (Algorithm 2 as printed).
    init_scale
        Factor on the initial weights of the first layers.
    batch_size
        Contexts b a step.
    iterate
        "last": predict with the current weights. "uniform": with weights drawn uniformly from all
        iterates so far (Algorithm 2, lines 7 and 8).
    rng
        Generator of the initial weights and of the drawn iterates, owned by this trainer.
    like
        A tensor of the dtype and device to work in.
    """

    def __init__(
        self,
        shape: Shape,
        *,
        lr: float,
        exploration_lr: float,
        optimizer: str,
        init_scale: float,
        batch_size: int,
        iterate: str,
        rng: np.random.Generator,
        like: Tensor,
    ) -> None:
        self.lr = lr
        self.exploration_lr = exploration_lr
        self.optimizer = optimizer
        self.init_scale = init_scale
        self.batch_size = batch_size
        self.iterate = iterate
        self.rng = rng
        self.shape = shape
        self.n_features = 0  # in use; shape.n_features of them have room
        self.n_rounds = 0
        self.flat = like.new_zeros(shape.n_parameters)
        n_moments = 2 if optimizer == "adam" else 0
        self.moments = [torch.zeros_like(self.flat) for _ in range(n_moments)]
        self.n_updates = torch.zeros((), device=like.device)
        self.iterates: list[Tensor] = []
        self.served = 0  # which of the iterates predicts
        self._allocate()

    def _allocate(self) -> None:
        """Views and buffers that follow from the state."""
        k = self.shape.n_classes
        n_examples = max(1, -(-self.batch_size // max(k, 1)))
        self.weights = Weights(self.flat, self.shape)
        self.gradient = torch.zeros_like(self.flat)
        self.gradients = Weights(self.gradient, self.shape)
        self.optimised = [raw(part) for part in (self.flat, self.gradient, *self.moments)]
        self.batch = Batch(self.shape, n_examples, self.flat)
        self.training = Activations(self.shape, n_examples, self.flat)
        self.prediction = Activations(self.shape, 1, self.flat)
        self.single = (
            Single(self.shape, self.flat.numpy().dtype)
            if phases_of(self.flat) is compiled
            else None
        )
        self._serve()

    def _serve(self) -> None:
        flat = self.iterates[self.served] if self.iterates else self.flat
        self.predicting = Weights(flat, self.shape)

    def __getstate__(self) -> dict[str, Any]:
        """What `_allocate` does not rebuild, as arrays on no device."""
        derived = {
            *("weights", "gradient", "gradients", "optimised", "predicting"),
            *("batch", "training", "single", "prediction"),
        }
        state = {name: value for name, value in self.__dict__.items() if name not in derived}
        for name in ("flat", "n_updates"):
            state[name] = state[name].cpu().numpy()
        for name in ("moments", "iterates"):
            state[name] = [tensor.cpu().numpy() for tensor in state[name]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("flat", "n_updates"):
            setattr(self, name, torch.from_numpy(state[name].copy()))
        for name in ("moments", "iterates"):
            setattr(self, name, [torch.from_numpy(array.copy()) for array in state[name]])
        self._allocate()

    def to(self, device: torch.device) -> None:
        """Move all state to a device."""
        self.flat = self.flat.to(device)
        self.n_updates = self.n_updates.to(device)
        self.moments = [moment.to(device) for moment in self.moments]
        self.iterates = [iterate.to(device) for iterate in self.iterates]
        self._allocate()

    def grow(self, n_features: int, n_classes: int) -> None:
        """Add features and classes; nothing already learned changes.

        Room for features grows by a quarter at a time, so that a stream that keeps naming new ones
        moves its weights rarely.
        """
        room = self.shape.n_features
        if n_features > room:
            room = max(n_features, room + room // 4)
        new = self.shape._replace(n_classes=n_classes, n_features=room)
        old, before = self.shape, self.n_features
        fresh = grow(self.flat, old, new, (before, n_features), self.init_scale, self.rng)
        self.iterates = [overlay(fresh.clone(), new, past, old, before) for past in self.iterates]
        self.n_features = n_features
        if new == old:
            self._serve()
            return
        self.moments = [
            overlay(torch.zeros_like(fresh), new, moment, old, before) for moment in self.moments
        ]
        self.flat, self.shape = fresh, new
        self._allocate()

    def exploitation(self, x: Floats, normalizer: Normalizer) -> Floats:
        """f1 of each class under the weights that predict: raw x (B, d) → (B, k)."""
        if self.single and len(x) == 1:
            self._score_one(x[0], normalizer, self.single, explore=False)
            return self.single.f1
        return self._forward(x, normalizer).f1_by_class.cpu().numpy()

    def scores(self, x: Floats, normalizer: Normalizer) -> tuple[Floats, Floats]:
        """f1, and f1 + f2, of each class under the weights that predict: raw x (B, d) → (B, k)."""
        if self.single and len(x) == 1 and self.shape.n_classes <= FEW_CLASSES:
            self._score_one(x[0], normalizer, self.single, explore=True)
            return self.single.f1.copy(), self.single.scores.copy()
        a = self._forward(x, normalizer)
        explore(self.predicting, a)
        both = torch.stack((a.f1_by_class, a.scores_by_class)).cpu().numpy()  # one transfer
        return both[0], both[1]

    def _score_one(self, x: Floats, normalizer: Normalizer, single: Single, explore: bool) -> None:
        w = self.predicting.raw
        compiled.score_one(
            x,
            normalizer.raw.shift,
            normalizer.normalize,
            *(w.context, w.gradient, w.hidden1, w.output1, w.hidden2, w.output2),
            explore,
            *single.buffers,
        )

    def _forward(self, rows: Floats, normalizer: Normalizer) -> Activations:
        """`exploit` of raw rows (B, d)."""
        n = len(rows)
        a = self.prediction if n == 1 else Activations(self.shape, n, self.flat)
        x = normalizer(torch.tensor(rows, device=self.flat.device))
        exploit(self.predicting, x.t(), a)
        return a

    def step(self, history: History, normalizer: Normalizer) -> None:
        """One step of both networks from one batch of the history (Algorithm 2, lines 1 to 6).

        The batch is shared: each network sees b uniform draws, and the forward pass of f1 that f2's
        embedding needs is the one that f1 learns from.
        """
        batch, a, w = self.batch, self.training, self.weights
        rows: Any = history.rows(len(batch.x))
        if a.phases is not compiled:
            rows = torch.from_numpy(rows).to(self.flat.device)
        stored = history.raw
        a.phases.gather(
            *(rows, stored.x, stored.targets, stored.weight),
            *(normalizer.raw.shift, normalizer.normalize, 1 / a.n_contexts),
            *batch.raw,
        )
        exploit(w, batch.columns, a)
        explore(w, a)
        gradients(w, batch.x, batch.targets, batch.weight, a, self.gradients)
        self._descend()

    def _descend(self) -> None:
        """θ - η ∇ℒ for each network (Algorithm 2, lines 3 and 6), or the same with Adam."""
        w, g = self.weights, self.gradients
        if self.optimizer == "sgd":
            w.f1.add_(g.f1, alpha=-self.lr)
            w.f2.add_(g.f2, alpha=-self.exploration_lr)
            return
        self.training.phases.adam(
            *(*self.optimised, raw(self.n_updates), len(w.f1)), self.lr, self.exploration_lr
        )

    def draw_iterate(self) -> None:
        """Algorithm 2, lines 7 and 8: add the current weights to Ω, predict with a draw from it.

        Ω is kept as a reservoir: every iterate so far is in it with the same probability, and the
        draw from it is uniform, so the weights that predict are a uniform draw from all iterates.
        """
        if self.iterate == "last":
            return
        self.n_rounds += 1
        if len(self.iterates) < N_ITERATES:
            self.iterates.append(self.flat.clone())
        else:
            slot = int(self.rng.integers(self.n_rounds))
            if slot < N_ITERATES:
                self.iterates[slot].copy_(self.flat)
        self.served = int(self.rng.integers(len(self.iterates)))
        self._serve()
