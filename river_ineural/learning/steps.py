"""One step of the networks from where they stand (Algorithm 2, lines 1 to 6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from torch import Tensor

from river_ineural.learning.adversary import LARGEST, Adversary
from river_ineural.learning.history import History
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.network.layout import Shape
from river_ineural.network.part import Part
from river_ineural.network.passes import passes

__all__ = ["Recipe", "Step", "batch_examples"]

COUNTED = 2  # contexts of an example that count towards those of a batch, at most


class Recipe(NamedTuple):
    """Constants in which the training of `INeurAL` and `NeurONAL` differs.

    Parameters
    ----------
    exploration_lr
        Learning rate η2 of f2.
    exploration_share
        Share of the steps after a given label in which f2 takes part.
    balance
        The error at the class of an example weighs (k - 1)^balance times as much as the error at
        each other class. With 0, f1 estimates P(y = i | x), else a monotone function of it.
    span
        Steps of the average of the weights.
    """

    exploration_lr: float
    exploration_share: float
    balance: float
    span: int


class Step:
    """Steps of both networks.

    A batch holds whole examples, drawn with replacement from both rings of the history
    (`History.rows`). Both networks learn from it, so one pass of f1 serves the update of f1 and the
    embedding of f2. Above 256 features its examples are moved to where f1 errs. Where examples have
    few of many features, a step moves only the weights of the features in the batch.

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
        self.shape, self.flats = shape, [flat, *optimizer.moments]
        self.others = optimizer.n_updates, adversary.radius
        self.passes = passes(shape, flat, optimizer.moments, *self.others)

    def __call__(
        self, history: History, scaling: Scaling, rates: tuple[float, float], exploring: bool
    ) -> tuple[bool, Part | None]:
        """One step of f1, and with `exploring` of f2.

        Returns
        -------
        Whether the step was finite, and so was taken. The part of the weights that it moves, or
        None if it moves all.
        """
        n_labelled, moving = history.capacities[0], (0.0 if scaling.narrow else LARGEST, CONSTANT)
        rows = history.rows(self.n_examples)
        if not scaling.sparse:
            stored, plan = history.raw, (self.given, n_labelled, *moving)
            taken = self.passes.step(stored, rows, scaling.raw.scaling, plan, rates, exploring)
            return taken, None
        x, targets, weight = (each[rows] for each in history.raw)
        columns, x, scale = scaling.there(x)
        part = Part(self.shape, columns, exploring)
        flat, *moments = weights = [part.of(each) for each in self.flats]
        plan = self.given, int(np.count_nonzero(rows < n_labelled)), *moving
        batch = (x, targets, weight), np.arange(len(rows)), scale
        taken = passes(part.shape, flat, moments, *self.others).step(*batch, plan, rates, exploring)
        for each, whole in zip(weights, self.flats, strict=True):
            part.put(each, whole)
        return taken, part


def batch_examples(batch_size: int, n_classes: int) -> int:
    """Examples in a batch of so many contexts: as many for k > 2 classes as for two."""
    return -(-batch_size // min(max(n_classes, 1), COUNTED))
