"""Mini-batch SGD with warm start (Algorithm 2) on flat parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from river_ineural.history import Batch, History
from river_ineural.networks import (
    Activations,
    Shape,
    Weights,
    exploit,
    explore,
    gradients,
    grow,
    overlay,
)
from river_ineural.normalization import Normalizer

__all__ = ["Trainer"]

N_ITERATES = 8  # snapshots that stand for all iterates so far
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's, as torch.optim.Adam has them


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
        k, d = self.shape.n_classes, self.shape.n_features
        n_examples = max(1, -(-self.batch_size // max(k, 1)))
        self.weights = Weights(self.flat, self.shape)
        self.gradient = torch.zeros_like(self.flat)
        self.gradients = Weights(self.gradient, self.shape)
        self.averages = [Weights(moment, self.shape) for moment in self.moments]
        self.batch = Batch(
            self.flat.new_empty(n_examples, d),
            self.flat.new_empty(n_examples, 2, k),
            self.flat.new_empty(n_examples, 1),
        )
        self.training = Activations(self.shape, n_examples, self.flat)
        self.prediction = Activations(self.shape, 1, self.flat)
        self._serve()

    def _serve(self) -> None:
        flat = self.iterates[self.served] if self.iterates else self.flat
        self.predicting = Weights(flat, self.shape)

    def buffers(self, n_examples: int) -> Activations:
        """Buffers for a pass over `n_examples`: standing ones for a single one."""
        if n_examples == 1:
            return self.prediction
        return Activations(self.shape, n_examples, self.flat)

    def __getstate__(self) -> dict[str, Any]:
        """What `_allocate` does not rebuild, as arrays on no device."""
        derived = {
            *("weights", "gradient", "gradients", "averages", "predicting"),
            *("batch", "training", "prediction"),
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

    def exploitation(self, x: Tensor) -> Tensor:
        """f1 of each class under the weights that predict: x (B, d) → (B, k)."""
        a = self.buffers(len(x))
        exploit(self.predicting, x, a)
        return a.f1_by_class

    def scores(self, x: Tensor) -> Tensor:
        """f1 + f2 of each class under the weights that predict: x (B, d) → (B, k)."""
        a = self.buffers(len(x))
        exploit(self.predicting, x, a)
        explore(self.predicting, a)
        return a.scores_by_class

    def step(self, history: History, normalizer: Normalizer) -> None:
        """One step of both networks from one batch of the history (Algorithm 2, lines 1 to 6).

        The batch is shared: each network sees b uniform draws, and the forward pass of f1 that f2's
        embedding needs is the one that f1 learns from.
        """
        batch, a = self.batch, self.training
        rows = torch.from_numpy(history.rows(len(batch.x))).to(self.flat.device)
        history.batch(rows, batch)
        x = normalizer(batch.x)
        batch.weight.div_(a.n_contexts)  # 1/b
        exploit(self.weights, x, a)
        explore(self.weights, a)
        reward, residual = batch.targets.unbind(1)
        gradients(self.weights, x, reward, residual, batch.weight, a, self.gradients)
        self._descend()

    def _descend(self) -> None:
        """θ - η ∇ℒ for each network (Algorithm 2, lines 3 and 6), or the same with Adam."""
        w, g = self.weights, self.gradients
        if self.optimizer == "sgd":
            w.f1.add_(g.f1, alpha=-self.lr)
            w.f2.add_(g.f2, alpha=-self.exploration_lr)
            return
        self.n_updates += 1
        means, squares = self.averages
        for parameters, gradient, mean, square, lr in (
            (w.f1, g.f1, means.f1, squares.f1, self.lr),
            (w.f2, g.f2, means.f2, squares.f2, self.exploration_lr),
        ):
            adam_step(parameters, gradient, mean, square, self.n_updates, lr)

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


def adam_step(
    parameters: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, n_updates: Tensor, lr: float
) -> None:
    """Adam in one pass over memory, where `torch.optim.Adam` takes a dozen; all flat, in place."""
    torch._fused_adam_(
        [parameters],
        [gradient],
        [mean],
        [square],
        [],
        [n_updates],
        lr=lr,
        beta1=BETA1,
        beta2=BETA2,
        eps=EPSILON,
        weight_decay=0.0,
        amsgrad=False,
        maximize=False,
    )
