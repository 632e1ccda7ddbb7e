"""Mini-batch SGD with warm start (Algorithm 2) on flat parameters."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.adversary import Adversary
from river_ineural.learning.average import Average
from river_ineural.learning.history import History
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.learning.steps import Recipe, Step
from river_ineural.learning.tensors import Tensors, outside_inference_mode
from river_ineural.network.growth import Columns, Fresh, draw, overlay
from river_ineural.network.layout import Shape, Weights
from river_ineural.network.part import Part
from river_ineural.network.passes import passes

__all__ = ["Trainer"]

Floats = NDArray[np.floating[Any]]

PSEUDO_LABEL_STEPS = 0.35  # after each pseudo-labelled example
SPARSE_STEPS = 0.5  # of the steps, where examples have few of many features
MOST_WEIGHTS = 25_000_000  # of both networks; with optimiser and average 0.5 GB in float32


class Trainer(Tensors):
    """Both networks, and their training.

    Parameters
    ----------
    shape
        Shape of the networks, without any class or feature at first.
    recipe
        How they are trained.
    lr
        Learning rate η1 of f1; may be changed at any time.
    batch_size
        Contexts b of each step.
    rng
        Generator of the initial weights, owned by this trainer.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("flat",)
    VIEWS = ("step", "predicting")

    def __init__(
        self,
        shape: Shape,
        recipe: Recipe,
        lr: float,
        batch_size: int,
        rng: np.random.Generator,
        like: Tensor,
    ) -> None:
        check_size(shape, 0)
        self.shape = shape
        self.recipe = recipe
        self.lr = lr
        self.batch_size = batch_size
        self.rng = rng
        self.n_features = 0  # in use; there is room for shape.n_features
        self.steps_due = self.explorations_due = 0.0
        self.pending: list[Fresh] = []  # weights to be written
        self.warned = False
        self.dtype = np.float32 if like.dtype is torch.float32 else np.float64
        self.flat = like.new_zeros(shape.n_parameters)
        self.optimizer = Optimizer(self.flat)
        self.average = Average(recipe.span, self.flat)
        self.adversary = Adversary(like)
        self.bind()

    def __getstate__(self) -> dict[str, Any]:
        """Without the weights of columns that no feature uses yet."""
        return super(Trainer, of_width(self, self.n_features)).__getstate__() | {
            "shape": self.shape
        }

    @outside_inference_mode
    def __setstate__(self, state: dict[str, Any]) -> None:
        shape = state["shape"]
        super().__setstate__(state | {"shape": shape._replace(n_features=state["n_features"])})
        if self.shape != shape:
            self.__dict__.update(of_width(self, shape.n_features).__dict__)
            self.bind()
        self.shape = shape  # the same object, which other parts may share

    def bind(self) -> None:
        """Make the views and buffers that follow from the state."""
        parts = self.optimizer, self.adversary, self.batch_size, self.recipe
        self.step = Step(self.shape, self.flat, *parts)
        others = self.optimizer.moments, self.optimizer.n_updates, self.adversary.radius
        self.predicting = passes(self.shape, self.average.flat, *others)

    def change_rate(self, lr: float) -> None:
        """Go on with another learning rate."""
        self.lr = lr
        self.step.passes.forget()

    @outside_inference_mode
    def to(self, device: torch.device) -> Self:
        """This trainer on a device; this object stays as it is."""
        moved = self.shallow_copy()
        moved.flat = self.flat.to(device)
        for name in ("optimizer", "average", "adversary"):
            setattr(moved, name, getattr(self, name).to(device))
        moved.bind()
        return moved

    def grown(self, columns: Columns, n_features: int, n_classes: int) -> Trainer:
        """A trainer with more features and classes; this one stays as it is.

        What is already learned does not change. Room for features grows by a quarter at a time, so
        that weights are rarely copied. Where there is room both trainers share their memory, and
        `settle` writes the new weights once the new trainer is in use.

        Parameters
        ----------
        columns
            Columns of the new features.
        n_features
            Columns in use, the new ones included.
        """
        old, before = self.shape, self.n_features
        new = self.room_for(n_features, n_classes)
        other = self.shallow_copy()
        other.rng = copy.deepcopy(self.rng)
        other.shape, other.n_features = new, n_features
        if new != old:
            other.flat = self.flat.new_zeros(new.n_parameters)
            overlay(other.flat, new, self.flat, old, before)
        fresh = draw(
            *(other.flat, new, old.n_classes, columns, n_features, other.rng),
        )
        other.pending = [*self.pending, fresh]
        if new != old:
            fresh.write(Weights(other.flat, new))
            other.average = self.average.grown(other.flat, old, new, before)
            other.optimizer = self.optimizer.grown(old, new, before)
            other.bind()
        return other

    def renewed(self) -> Trainer:
        """A trainer of new networks of this shape; this one stays as it is."""
        other, shape = self.shallow_copy(), self.shape
        other.rng = copy.deepcopy(self.rng)
        other.flat = torch.zeros_like(self.flat)
        in_use = slice(0, self.n_features)
        draw(other.flat, shape, 0, in_use, self.n_features, other.rng)
        other.pending = []
        other.steps_due = other.explorations_due = 0.0
        other.optimizer = Optimizer(other.flat)
        other.average = Average(self.recipe.span, other.flat)
        other.adversary = self.adversary.renewed()
        other.bind()
        return other

    def room_for(self, n_features: int, n_classes: int) -> Shape:
        """The shape with so many features, and room for more, and classes.

        Raises
        ------
        ValueError
            If it has too many weights.
        """
        old, room = self.shape, self.shape.n_features
        if n_features > room:
            room = max(n_features, room + room // 4)
        new = old._replace(n_classes=n_classes, n_features=room)
        if new.n_parameters > MOST_WEIGHTS:
            new = new._replace(n_features=max(n_features, old.n_features))
        check_size(new, n_features - CONSTANT)
        return new

    def settle(self) -> None:
        """Write the weights of new features; a second call changes nothing."""
        for fresh in self.pending:
            for flat in (self.flat, self.average.flat):
                fresh.write(Weights(flat, self.shape))
            for moment in self.optimizer.moments:
                fresh.write(Weights(moment, self.shape), zero=True)
        self.pending = []

    def with_pending(self) -> Trainer:
        """A trainer that predicts with the weights that are still to be written.

        It is this trainer if there are none; otherwise this one stays as it is.
        """
        if not self.pending:
            return self
        other = self.shallow_copy()
        other.average = self.average.replaced(flat=self.average.flat.clone())
        for fresh in self.pending:
            fresh.write(Weights(other.average.flat, self.shape))
        other.bind()
        return other

    def score(self, x: Floats, scaling: Scaling, exploring: bool = True) -> tuple[Floats, Floats]:
        """f1 and f2 of each class under the weights that predict: raw x (B, d) → (B, k) each.

        Without an f2, or without `exploring`, f2 is 0 and is not computed.
        """
        exploring &= self.shape.explores
        if scaling.sparse and len(x):
            rows = [self._score_few(x[i : i + 1], scaling, exploring) for i in range(len(x))]
            found = np.concatenate(rows, axis=1)
        else:
            found = self.predicting.score(x, scaling.raw.scaling, exploring)
        return found[0], found[1] - found[0] if exploring else np.zeros_like(found[0])

    def _score_few(self, x: Floats, scaling: Scaling, exploring: bool) -> Floats:
        """f1, and f1 + f2, of an example (1, d) that has few of the features."""
        columns, x, scale = scaling.there(x)
        part = Part(self.shape, columns, exploring)
        flat = part.of(self.average.flat)
        others = [flat, flat], self.optimizer.n_updates, self.adversary.radius
        return passes(part.shape, flat, *others).score(x, scale, exploring)

    def learn(self, history: History, scaling: Scaling, n_steps: float, pseudo_label: bool) -> None:
        """Take the steps due after an arrival (Algorithm 1, line 26); a fraction is carried over.

        f2 takes part in a share of the steps after given labels.
        """
        explores = self.shape.explores and not pseudo_label
        self.steps_due += n_steps * (SPARSE_STEPS if scaling.sparse else 1)
        while self.steps_due >= 1:
            self.steps_due -= 1
            if explores:
                self.explorations_due += self.recipe.exploration_share
            exploring = self.explorations_due >= 1
            self.explorations_due -= exploring
            rates = self.lr, self.recipe.exploration_lr
            taken, part = self.step(history, scaling, rates, exploring)
            if not taken:
                self._warn()
            self.average.after_step(self.flat, part)

    def _warn(self) -> None:
        """Warn once that a step was left out."""
        if not self.warned:
            self.warned = True
            warnings.warn(
                "a step was not finite and was not taken: lower lr, or the weights of examples.",
                RuntimeWarning,
                stacklevel=2,
            )


def check_size(shape: Shape, n_named: int) -> None:
    """Raise ValueError if so many features, and all else, make too many weights."""
    if shape.n_parameters > MOST_WEIGHTS:
        raise ValueError(
            f"{n_named:,} features, {shape.n_classes:,} classes and hidden_dim="
            f"{shape.hidden_dim:,} make {shape.n_parameters:,} weights, more than "
            f"{MOST_WEIGHTS:,}: lower hidden_dim, max_features or max_classes."
        )


def of_width(trainer: Trainer, n_features: int) -> Trainer:
    """A trainer with room for so many features, not yet bound; the given one stays as it is."""
    old, used = trainer.shape, trainer.n_features
    new = old._replace(n_features=n_features)
    if new == old:
        return trainer
    empty = trainer.flat.new_zeros(new.n_parameters)
    other = trainer.shallow_copy()
    other.shape, other.flat = new, overlay(empty.clone(), new, trainer.flat, old, used)
    other.optimizer = trainer.optimizer.grown(old, new, used)
    other.average = trainer.average.grown(empty, old, new, used)
    return other
