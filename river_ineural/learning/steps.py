"""One step of the networks from where they stand (Algorithm 2, lines 1 to 6)."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from river_ineural.learning.adversary import LARGEST, Adversary
from river_ineural.learning.history import History
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.network.layout import Shape
from river_ineural.network.passes import passes

__all__ = ["Recipe", "Step", "batch_examples"]

COUNTED = 2  # contexts of an example, at most, that count towards those of a batch


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
    """Steps of both networks.

    A batch is of whole examples, drawn with replacement from both rings of the history
    (`History.rows`), and serves both networks: the pass of f1 that the embedding of f2 needs is the
    one that f1 learns from. Where features are many its examples are moved to where f1 errs.

    Parameters
    ----------
    shape
        Of the networks.
    flat
        Their weights, which a step changes.
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
        flat: Tensor,
        optimizer: Optimizer,
        adversary: Adversary,
        batch_size: int,
        recipe: Recipe,
    ) -> None:
        self.n_examples = batch_examples(batch_size, shape.n_classes)
        self.given = float(max(1, shape.n_classes - 1)) ** recipe.balance
        parts = optimizer.moments, optimizer.n_updates, adversary.radius
        self.passes = passes(shape, flat, *parts)

    def __call__(
        self, history: History, scaling: Scaling, rates: tuple[float, float], exploring: bool
    ) -> bool:
        """One step of f1, and with `exploring` of f2; whether it was finite, and so was taken."""
        plan = self.given, history.capacities[0], 0.0 if scaling.narrow else LARGEST, CONSTANT
        rows = history.rows(self.n_examples)
        return self.passes.step(history.raw, rows, scaling.raw.scaling, plan, rates, exploring)


def batch_examples(batch_size: int, n_classes: int) -> int:
    """Examples in a batch of so many contexts: as many for more classes as for two."""
    return -(-batch_size // min(max(n_classes, 1), COUNTED))
