"""One step of the networks from where they stand (Algorithm 2, lines 1 to 6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from river_ineural.learning.adversary import Adversary
from river_ineural.learning.batch import Batch, batch_examples
from river_ineural.learning.history import History
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import Scaling
from river_ineural.network.capture import Captured
from river_ineural.network.networks import Shape, Weights

__all__ = ["Recipe", "Step"]


class Recipe(NamedTuple):
    """In what the training of the two learners differs; nobody sets it.

    Parameters
    ----------
    exploration_lr
        Learning rate η2 of f2.
    exploration_share
        Share of the steps after a given label in which f2 takes part.
    balance
        Power of k - 1 by which the error at the class of an example weighs more than each of those
        at the k - 1 others. With 0, f1 estimates P(y = i | x), else what grows with it.
    span
        Steps that the average of the weights spans.
    """

    exploration_lr: float
    exploration_share: float
    balance: float
    span: int


class Step:
    """Buffers of a batch, and of the pass over it and back.

    The batch is of whole examples, drawn with replacement from both rings of the history
    (`History.rows`), and serves both networks: the pass of f1 that the embedding of f2 needs is the
    one that f1 learns from.

    Parameters
    ----------
    shape
        Of the networks.
    weights
        Which the step changes.
    optimizer, adversary
        Parts of the trainer.
    batch_size
        Contexts b a step.
    recipe
        How they are trained.
    """

    def __init__(
        self,
        shape: Shape,
        weights: Weights,
        optimizer: Optimizer,
        adversary: Adversary,
        batch_size: int,
        recipe: Recipe,
    ) -> None:
        n_examples, flat = batch_examples(batch_size, shape.n_classes), weights.flat
        self.weights = weights
        self.gradients = shape.weights(torch.zeros_like(flat))
        self.updater = optimizer.updater(weights, self.gradients)
        self.adversary = adversary
        self.given = float(max(1, shape.n_classes - 1)) ** recipe.balance
        self.batch = Batch(shape, n_examples, flat)
        self.activations = shape.activations(n_examples, flat)
        self.fine = True
        self.forget()

    def forget(self) -> None:
        """Capture anew what a step does: numbers of Python's have changed."""
        device = self.weights.flat.device
        self.captured = [Captured(device) for _ in range(2)]

    def __call__(
        self, history: History, scaling: Scaling, rates: tuple[float, float], exploring: bool
    ) -> bool:
        """One step of f1, and with `exploring` of f2; whether it was finite, and so was taken."""
        self._take(history.rows(len(self.batch.x)))

        def run() -> None:
            self._gather(history, scaling)
            self.fine = self._pass(exploring)
            if self.fine:
                for network in range(1 + exploring):
                    self.updater.step(network, rates[network])

        self.captured[exploring](run)
        return self.fine

    def _take(self, rows: NDArray[np.int64]) -> None:
        """Let rows of the history be the batch."""
        if isinstance(self.batch.raw.rows, np.ndarray):
            self.batch.raw.rows[:] = rows
        else:
            self.batch.rows.copy_(torch.from_numpy(rows))

    def _gather(self, history: History, scaling: Scaling) -> None:
        """Bring the examples of the batch; where features are many, move them to where f1 errs."""
        a, b, stored = self.activations, self.batch.raw, history.raw
        n_labelled = history.capacities[0]
        a.phases.gather(
            *(b.rows, stored.x, stored.targets, stored.weight, scaling.raw.scaling),
            *(1 / a.n_contexts, self.given, n_labelled, b.x, b.targets, b.weight),
        )
        if not scaling.narrow:
            self.adversary.move(self.batch, self.weights, a, n_labelled)

    def _pass(self, exploring: bool) -> bool:
        """Forward and back: whether the errors, and so the gradients, are finite."""
        a, batch, b, w = self.activations, self.batch, self.batch.raw, self.weights
        w.exploit(batch.columns, a, exploring)
        if exploring:
            w.explore(a)
        return w.gradients(batch.x, b.targets, b.weight, a, self.gradients, exploring)
