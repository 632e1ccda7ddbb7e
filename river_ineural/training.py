"""Mini-batch SGD with warm start (Algorithm 2) on flat parameters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural import compiled
from river_ineural.capture import Captured
from river_ineural.history import History
from river_ineural.networks import (
    Activations,
    Shape,
    Weights,
    adversary,
    exploit,
    explore,
    gradients,
    grow,
    overlay,
    phases_of,
    raw,
)
from river_ineural.normalization import CONSTANT, Normalizer

__all__ = ["Trainer", "batch_examples"]

Floats = NDArray[np.floating[Any]]

N_ITERATES = 8  # snapshots that stand for all iterates so far
WINDOW, EVERY = 50, 8  # steps that an average of the iterates spans, and from one to the next
TILE = 1024  # numbers of an input gradient at a time: with a row of weights they fit a first cache
FIRST_RADIUS = 1 / 3  # of the largest
COUNTED = 2  # contexts of an example, at most, that count towards those of a batch
FEW_CLASSES = 4  # up to here one example is scored faster by loops than by matrix products


def batch_examples(batch_size: int, n_classes: int) -> int:
    """Examples in a batch of so many contexts: as many for more classes as for two."""
    return -(-batch_size // min(max(n_classes, 1), COUNTED))


class Batch:
    """Buffers of a batch drawn from the history."""

    def __init__(self, shape: Shape, n_examples: int, like: Tensor) -> None:
        k, d = shape.n_classes, shape.n_features
        self.x = like.new_empty(n_examples, d)  # normalised
        self.columns = self.x.t()
        self.rows = torch.zeros(n_examples, dtype=torch.int64, device=like.device)
        self.direction = like.new_empty(n_examples, d)  # in which f1 errs most easily
        self.targets = like.new_empty(n_examples, 2, k)
        self.weight = like.new_empty(n_examples)
        self.raw = SimpleNamespace(**{name: raw(part) for name, part in vars(self).items()})


class Forward:
    """Buffers of a pass over rows that are not in the history."""

    def __init__(self, shape: Shape, n_examples: int, like: Tensor) -> None:
        k, d = shape.n_classes, shape.n_features
        self.sent, self.x = like.new_empty(n_examples, d), like.new_empty(n_examples, d)
        self.activations = Activations(shape, n_examples, like)
        self.found = like.new_empty(2, n_examples, k)  # f1, scores


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
    adversarial_radius
        How far at most the examples of a batch are moved to where f1 errs.
    iterate
        "average": predict with an average of the last iterates. "last": with the current weights.
        "uniform": with weights drawn uniformly from all iterates so far (Algorithm 2, lines 7, 8).
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
        adversarial_radius: float,
        iterate: str,
        rng: np.random.Generator,
        like: Tensor,
    ) -> None:
        self.lr = lr
        self.exploration_lr = exploration_lr
        self.optimizer = optimizer
        self.init_scale = init_scale
        self.batch_size = batch_size
        self.adversarial_radius = adversarial_radius
        self.iterate = iterate
        self.rng = rng
        self.shape = shape
        self.n_features = 0  # in use; shape.n_features of them have room
        self.n_rounds = self.n_steps = 0
        self.flat = like.new_zeros(shape.n_parameters)
        n_moments = 2 if optimizer == "adam" else 0
        self.moments = [torch.zeros_like(self.flat) for _ in range(n_moments)]
        self.radius = like.new_tensor(adversarial_radius * FIRST_RADIUS)
        self.n_updates = torch.zeros(2, device=like.device)  # of f1, of f2
        self.iterates: list[Tensor] = []
        self.served = 0  # which of the iterates predicts
        self._allocate()

    def _allocate(self) -> None:
        """Views and buffers that follow from the state."""
        k = self.shape.n_classes
        n_examples = batch_examples(self.batch_size, k)
        self.weights = Weights(self.flat, self.shape)
        self.gradient = torch.zeros_like(self.flat)
        self.gradients = Weights(self.gradient, self.shape)
        averages = [Weights(moment, self.shape) for moment in self.moments]
        layouts = [self.weights, self.gradients, *averages]
        rates = (self.lr, self.exploration_lr)
        self.networks = [
            (*(layout.raw.networks[i] for layout in layouts), raw(self.n_updates[i : i + 1]), rate)
            for i, rate in enumerate(rates)
        ]  # of f1 and of f2, what the optimiser takes
        self.batch = Batch(self.shape, n_examples, self.flat)
        self.training = Activations(self.shape, n_examples, self.flat)
        self.prediction = Forward(self.shape, 1, self.flat)
        self.captured_steps = [Captured(self.flat.device) for _ in range(2)]
        self.captured_prediction = Captured(self.flat.device)
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
            *("weights", "gradient", "gradients", "networks", "predicting"),
            *("batch", "training", "single", "prediction"),
            *("captured_steps", "captured_prediction"),
        }
        state = {name: value for name, value in self.__dict__.items() if name not in derived}
        for name in ("flat", "radius", "n_updates"):
            state[name] = state[name].cpu().numpy()
        for name in ("moments", "iterates"):
            state[name] = [tensor.cpu().numpy() for tensor in state[name]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("flat", "radius", "n_updates"):
            setattr(self, name, torch.from_numpy(state[name].copy()))
        for name in ("moments", "iterates"):
            setattr(self, name, [torch.from_numpy(array.copy()) for array in state[name]])
        self._allocate()

    def to(self, device: torch.device) -> None:
        """Move all state to a device."""
        self.flat = self.flat.to(device)
        self.radius = self.radius.to(device)
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
        if self.iterate == "average" and not self.iterates:
            self.iterates = [fresh.clone()]
        self.n_features = n_features
        if new == old:
            self._serve()
            self.captured_prediction = Captured(fresh.device)  # of what now predicts
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
        f1, _ = self._score_rows(x, normalizer)
        return f1

    def scores(self, x: Floats, normalizer: Normalizer) -> tuple[Floats, Floats]:
        """f1, and f1 + f2, of each class under the weights that predict: raw x (B, d) → (B, k)."""
        if self.single and len(x) == 1 and self.shape.n_classes <= FEW_CLASSES:
            self._score_one(x[0], normalizer, self.single, explore=True)
            return self.single.f1.copy(), self.single.scores.copy()
        return self._score_rows(x, normalizer)

    def _score_one(self, x: Floats, normalizer: Normalizer, single: Single, explore: bool) -> None:
        w = self.predicting.raw
        compiled.score_one(
            x,
            normalizer.raw.shift,
            normalizer.raw.inverse,
            normalizer.normalize,
            *(w.context, w.gradient, w.hidden1, w.output1, w.hidden2, w.output2),
            explore,
            *single.buffers,
        )

    def _score_rows(self, rows: Floats, normalizer: Normalizer) -> tuple[Floats, Floats]:
        """`scores` by matrix products: one transfer to the device, one back."""
        standing = len(rows) == 1 and self.iterate != "uniform"
        forward = self.prediction if standing else Forward(self.shape, len(rows), self.flat)
        forward.sent.copy_(torch.from_numpy(rows))

        def run() -> None:
            a, x = forward.activations, forward.x
            normalizer(x.copy_(forward.sent))
            exploit(self.predicting, x.t(), a)
            explore(self.predicting, a)
            torch.stack((a.f1_by_class, a.scores_by_class), out=forward.found)

        (self.captured_prediction if standing else Captured(torch.device("cpu")))(run)
        f1, scores = forward.found.cpu().numpy().copy()
        return f1, scores

    def step(self, history: History, normalizer: Normalizer, exploring: bool = True) -> None:
        """One step from one batch of the history (Algorithm 2, lines 1 to 6).

        The batch is shared: each network sees b uniform draws, and the forward pass of f1 that f2's
        embedding needs is the one that f1 learns from.

        Parameters
        ----------
        exploring
            Whether f2 takes a step as well as f1.
        """
        batch = self.batch
        rows = history.rows(len(batch.x))
        batch.rows.copy_(torch.from_numpy(rows))
        self.captured_steps[exploring](lambda: self._train(history, normalizer, exploring))
        self.n_steps += 1
        if self.iterate == "average":
            self._average()

    def _average(self) -> None:
        """Move the average to the current weights: in equal parts at first, then exponentially."""
        if self.n_steps <= WINDOW:
            self.iterates[0].lerp_(self.flat, 1 / self.n_steps)
        elif self.n_steps % EVERY == 0:
            self.iterates[0].lerp_(self.flat, EVERY / WINDOW)

    def _train(self, history: History, normalizer: Normalizer, exploring: bool) -> None:
        batch, a, w, stored = self.batch, self.training, self.weights, history.raw
        b = batch.raw
        a.phases.gather(
            *(b.rows, stored.x, stored.targets, stored.weight),
            *(normalizer.raw.shift, normalizer.raw.inverse, normalizer.normalize),
            *(1 / a.n_contexts, b.x, b.targets, b.weight),
        )
        if self.adversarial_radius:
            self._move(history.capacities[0])
        exploit(w, batch.columns, a, exploring)
        if exploring:
            explore(w, a)
        gradients(w, batch.x, batch.targets, batch.weight, a, self.gradients, exploring)
        for network in self.networks if exploring else self.networks[:1]:
            if self.optimizer == "adam":
                a.phases.adam(*network)
            else:
                a.phases.sgd(*network)

    def _move(self, n_labelled: int) -> None:
        """Adversarial training: move each x of the batch to where f1 of its class falls behind.

        By the radius, against the gradient of f1(its class) - f1(the best other), of norm 1. The
        radius shrinks by a step in which too many given labels are missed where they are, before
        anything is moved, and grows otherwise.
        """
        batch, a, w = self.batch, self.training, self.weights
        b, radius, sign = batch.raw, raw(self.radius), a.raw.error1
        exploit(w, batch.columns, a, exploring=False)
        a.phases.oppose(
            *(a.raw.f1, b.targets, b.rows, n_labelled, self.adversarial_radius, sign, radius)
        )
        adversary(w, sign, a, batch.direction)
        a.phases.perturb(b.direction, radius, CONSTANT, b.x)

    def draw_iterate(self) -> None:
        """Algorithm 2, lines 7 and 8: add the current weights to Ω, predict with a draw from it.

        Ω is kept as a reservoir: every iterate so far is in it with the same probability, and the
        draw from it is uniform, so the weights that predict are a uniform draw from all iterates.
        """
        if self.iterate != "uniform":
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
