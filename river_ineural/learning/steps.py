"""One step of the networks from where they stand (Algorithm 2, lines 1 to 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.adversary import Adversary
from river_ineural.learning.batch import Batch, batch_examples
from river_ineural.learning.history import Drawn, History
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import Scaling
from river_ineural.learning.training import Training
from river_ineural.network.capture import Captured
from river_ineural.network.networks import Shape, Weights

__all__ = ["SeparateBatches", "SharedBatch", "Steps"]

F1, F2 = 0, 1


class Steps:
    """Buffers of a batch, and of the pass over it and back.

    Parameters
    ----------
    shape
        Of the networks.
    flat
        Their weights, which steps change.
    optimizer, adversary
        Parts of the trainer.
    batch_size
        Contexts b a step.
    training
        How they are trained.
    """

    def __init__(
        self,
        shape: Shape,
        flat: Tensor,
        optimizer: Optimizer,
        adversary: Adversary,
        batch_size: int,
        training: Training,
    ) -> None:
        n_examples = self.n_examples(batch_size, shape.n_classes)
        self.weights = shape.weights(flat)
        self.gradients = shape.weights(torch.zeros_like(flat))
        self.updater = optimizer.updater(self.weights, self.gradients)
        self.adversary = adversary
        self.batch_size = batch_size
        self.given = float(max(1, shape.n_classes - 1)) ** training.balance
        self.of_given = training.residuals == "given"
        self.batch = Batch(shape, n_examples, flat)
        self.activations = shape.activations(n_examples, flat)

    @staticmethod
    def n_examples(batch_size: int, n_classes: int) -> int:
        """Examples whose contexts are in the buffers."""
        raise NotImplementedError

    def _take(self, rows: NDArray[np.int64]) -> None:
        """Let rows of the history be the batch."""
        if isinstance(self.batch.raw.rows, np.ndarray):
            self.batch.raw.rows[:] = rows
        else:
            self.batch.rows.copy_(torch.from_numpy(rows))

    def _gather(self, w: Weights, history: History | Drawn, scaling: Scaling, share: float) -> None:
        """Bring the examples of the batch, their contexts weighing `share` times their weight."""
        a, b, stored = self.activations, self.batch.raw, history.raw
        n_explored = history.capacities[0] if self.of_given else sum(history.capacities)
        a.phases.gather(
            *(b.rows, stored.x, stored.targets, stored.weight),
            *(scaling.encoding, scaling.normalize),
            *(share, self.given, n_explored, b.x, b.targets, b.weight),
        )
        if self.adversary.most or scaling.heeds:
            self.adversary.aim(self.batch, w, a, history.capacities[0])
        if scaling.heeds:
            scaling.heed(b.direction)
        if self.adversary.most:
            self.adversary.move(self.batch, a)

    def _pass(self, w: Weights, exploring: bool) -> bool:
        """Forward and back: whether the errors, and so the gradients, are finite."""
        a, batch, b = self.activations, self.batch, self.batch.raw
        w.exploit(batch.columns, a, exploring)
        if exploring:
            w.explore(a)
        return w.gradients(batch.x, b.targets, b.weight, a, self.gradients, exploring)


class SharedBatch(Steps):
    """One batch for both networks: whole examples, drawn with replacement.

    ⌈b/2⌉ examples, uniform within each ring of the history (`History.rows`). The forward pass of f1
    that f2's embedding needs is the one that f1 learns from: φ is of the weights that it trains.
    """

    def __init__(self, shape: Shape, flat: Tensor, *parts: Any) -> None:
        super().__init__(shape, flat, *parts)
        self.fine = True
        self.forget()

    n_examples = staticmethod(batch_examples)

    def forget(self) -> None:
        """Capture anew what a step does: numbers of Python's have changed."""
        device = self.weights.flat.device
        self.captured = [Captured(device) for _ in range(2)]

    def step(
        self,
        history: History | Drawn,
        scaling: Scaling,
        predicting: Weights,
        rates: tuple[float, float],
        exploring: bool,
    ) -> bool:
        """One step of f1, and with `exploring` of f2; whether it was finite, and so was taken."""
        self._take(history.rows(len(self.batch.x)))

        def run() -> None:
            self._gather(self.weights, history, scaling, 1 / self.activations.n_contexts)
            self.fine = self._pass(self.weights, exploring)
            if self.fine:
                for network in range(1 + exploring):
                    self.updater.step(network, rates[network])

        self.captured[exploring](run)
        return self.fine


class SeparateBatches(Steps):
    """A batch for each network, a uniform subset of b contexts (Algorithm 2 as printed).

    A context is drawn as its example, all of whose other contexts weigh 0. φ is taken of the
    weights θ1 that predict (DC embedding), while f2's are those that it has got to.
    """

    def __init__(self, shape: Shape, flat: Tensor, *parts: Any) -> None:
        super().__init__(shape, flat, *parts)
        self.mixed = shape.weights(torch.zeros_like(flat))  # f1 that predicts, f2 that learns

    @staticmethod
    def n_examples(batch_size: int, n_classes: int) -> int:
        """One for each context."""
        return batch_size

    def forget(self) -> None:
        """Nothing is captured."""

    def step(
        self,
        history: History | Drawn,
        scaling: Scaling,
        predicting: Weights,
        rates: tuple[float, float],
        exploring: bool,
    ) -> bool:
        """One step of f1, and with `exploring` of f2; whether it was finite, and so was taken."""
        assert isinstance(history, History)
        self._draw(self.weights, history, scaling)  # line 2
        if not self._pass(self.weights, exploring=False):
            return False
        self.updater.step(F1, rates[F1])  # line 3
        if exploring:
            self.mixed.networks[F1].copy_(predicting.networks[F1])
            self.mixed.networks[F2].copy_(self.weights.networks[F2])
            self._draw(self.mixed, history, scaling)  # line 5
            if not self._pass(self.mixed, exploring=True):
                return False
            self.updater.step(F2, rates[F2])  # line 6
        return True

    def _draw(self, w: Weights, history: History, scaling: Scaling) -> None:
        """A batch of b contexts, or of all there are while they are fewer; the divisor is b."""
        rows, classes = history.contexts(self.batch_size)
        n = len(rows)
        self._take(np.resize(rows, self.batch_size))
        self._gather(w, history, scaling, 1 / self.batch_size)
        drawn = np.zeros(self.batch.weight.shape)
        drawn[np.arange(n), :, classes] = 1
        self.batch.weight.mul_(torch.from_numpy(drawn).to(self.batch.weight))
