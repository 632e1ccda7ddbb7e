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
from river_ineural.learning.batch import Forward
from river_ineural.learning.history import History
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.learning.steps import Recipe, Step
from river_ineural.learning.tensors import Tensors, lasting
from river_ineural.network import phases
from river_ineural.network.capture import Captured
from river_ineural.network.growth import Columns, Fresh, draw, overlay
from river_ineural.network.networks import Shape

__all__ = ["Trainer"]

Floats = NDArray[np.floating[Any]]

PSEUDO_LABEL_STEPS = 0.35  # after each pseudo-labelled example
MOST_WEIGHTS = 25_000_000  # of both networks; with optimiser and average 0.5 GB in float32


class Trainer(Tensors):
    """Both networks, and the steps they take.

    Parameters
    ----------
    shape
        Shape of the networks, of no class and no feature yet.
    recipe
        How they are trained.
    lr
        Learning rate η1 of f1; may be changed at any time.
    batch_size
        Contexts b a step.
    rng
        Generator of the initial weights, owned by this trainer.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("flat",)
    VIEWS = ("weights", "step", "predicting", "prediction", "captured_predictions", "single")

    def __init__(
        self,
        shape: Shape,
        recipe: Recipe,
        lr: float,
        batch_size: int,
        rng: np.random.Generator,
        like: Tensor,
    ) -> None:
        self.shape = shape
        self.recipe = recipe
        self.lr = lr
        self.batch_size = batch_size
        self.rng = rng
        self.n_features = 0  # in use; shape.n_features of them have room
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
        """Without the weights of columns that no feature has yet, which are 0."""
        return super(Trainer, of_width(self, self.n_features)).__getstate__() | {
            "shape": self.shape
        }

    @lasting
    def __setstate__(self, state: dict[str, Any]) -> None:
        shape = state["shape"]
        super().__setstate__(state | {"shape": shape._replace(n_features=state["n_features"])})
        if self.shape != shape:
            self.__dict__.update(of_width(self, shape.n_features).__dict__)
            self.bind()
        self.shape = shape  # the same object, which others may share

    def bind(self) -> None:
        """Views and buffers that follow from the state."""
        self.weights = self.shape.weights(self.flat)
        self.step = Step(
            *(self.shape, self.weights, self.optimizer, self.adversary),
            *(self.batch_size, self.recipe),
        )
        self.predicting = self.shape.weights(self.average.flat)
        self.prediction = Forward(self.shape, 1, self.flat)
        self.capture_predictions()
        compiled = phases.compiles(self.flat)
        self.single = self.shape.single(np.dtype(self.dtype)) if compiled else None

    def capture_predictions(self) -> None:
        """Anew: of f1 alone, and of both networks."""
        self.captured_predictions = [Captured(self.flat.device) for _ in range(2)]

    def change_rate(self, lr: float) -> None:
        """Learn from now on at another rate."""
        self.lr = lr
        self.step.forget()

    @lasting
    def on(self, device: torch.device) -> Self:
        """The same on a device; this trainer stays as it is."""
        moved = self.beside()
        moved.flat = self.flat.to(device)
        for name in ("optimizer", "average", "adversary"):
            setattr(moved, name, getattr(self, name).on(device))
        moved.bind()
        return moved

    def grown(self, columns: Columns, n_features: int, n_classes: int) -> Trainer:
        """A trainer with more features and classes; this one stays as it is.

        Nothing already learned changes. Room for features grows by a quarter at a time, so that a
        stream that keeps naming new ones moves its weights rarely. Where there is room both share
        their memory, and `settle` writes the new weights once the new trainer is in use.

        Parameters
        ----------
        columns
            Of the features that appear.
        n_features
            In use, those included.
        """
        old, before = self.shape, self.n_features
        new = self.room_for(n_features, n_classes)
        other = self.beside()
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
            fresh.write(new.weights(other.flat))
            other.average = self.average.grown(other.flat, old, new, before)
            other.optimizer = self.optimizer.grown(old, new, before)
            other.bind()
        else:  # what was captured reads the statistics of fewer features
            other.step.forget()
            other.capture_predictions()
        return other

    def renewed(self) -> Trainer:
        """A trainer of the same networks that has learned nothing; this one stays as it is."""
        other, shape = self.beside(), self.shape
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
        if new.n_parameters > MOST_WEIGHTS:
            raise ValueError(
                f"{n_features - CONSTANT:,} features, {n_classes:,} classes and hidden_dim="
                f"{old.hidden_dim:,} make {new.n_parameters:,} weights, more than "
                f"{MOST_WEIGHTS:,}: lower hidden_dim, max_features or max_classes."
            )
        return new

    def settle(self) -> None:
        """Write the weights of features that have appeared; repeating it changes nothing."""
        for fresh in self.pending:
            for flat in (self.flat, self.average.flat):
                fresh.write(self.shape.weights(flat))
            for moment in self.optimizer.moments:
                fresh.write(self.shape.weights(moment), zero=True)
        self.pending = []

    def score(self, x: Floats, scaling: Scaling, exploring: bool = True) -> tuple[Floats, Floats]:
        """f1 and f2 of each class under the weights that predict: raw x (B, d) → (B, k) each.

        Without an f2, or without `exploring`, f2 is 0 and costs nothing.
        """
        exploring &= self.shape.explores
        if self.single and len(x) == 1:
            flat, row = self.predicting.flat.numpy(), x[0]
            found = self.single.score(flat, row, scaling.raw.scaling, exploring)
        else:
            found = self._score_rows(x, scaling, exploring)
        return found[0], found[1] - found[0] if exploring else np.zeros_like(found[0])

    def _score_rows(self, rows: Floats, scaling: Scaling, exploring: bool) -> Floats:
        """f1 and f1 + f2, (2, B, k), by matrix products: one transfer to the device, one back."""
        standing = len(rows) == 1
        forward = self.prediction if standing else Forward(self.shape, len(rows), self.flat)
        forward.sent.copy_(torch.from_numpy(rows))

        def run() -> None:
            a, x = forward.activations, forward.x
            scaling(x.copy_(forward.sent))
            self.predicting.exploit(x.t(), a, exploring)
            if exploring:
                self.predicting.explore(a)
            scores = a.scores_by_class if exploring else a.f1_by_class
            torch.stack((a.f1_by_class, scores), out=forward.found)

        captured = self.captured_predictions[exploring] if standing else None
        (captured or Captured(torch.device("cpu")))(run)
        found: Floats = forward.found.cpu().numpy().copy()
        return found

    def learn(self, history: History, scaling: Scaling, n_steps: float, pseudo_label: bool) -> None:
        """The steps due after an arrival (Algorithm 1, line 26), a fraction being carried over.

        f2 takes part in a share of those after given labels.
        """
        explores = self.shape.explores and not pseudo_label
        self.steps_due += n_steps
        while self.steps_due >= 1:
            self.steps_due -= 1
            if explores:
                self.explorations_due += self.recipe.exploration_share
            exploring = self.explorations_due >= 1
            self.explorations_due -= exploring
            rates = self.lr, self.recipe.exploration_lr
            if not self.step(history, scaling, rates, exploring):
                self._warn()
            self.average.after_step(self.flat)

    def _warn(self) -> None:
        """Say once that a step was left out."""
        if not self.warned:
            self.warned = True
            warnings.warn(
                "a step was not finite and was not taken: lower lr, or the weights of examples.",
                RuntimeWarning,
                stacklevel=2,
            )


def of_width(trainer: Trainer, n_features: int) -> Trainer:
    """A trainer that has room for so many features, not bound; the given one stays as it is."""
    old, used = trainer.shape, trainer.n_features
    new = old._replace(n_features=n_features)
    if new == old:
        return trainer
    empty = trainer.flat.new_zeros(new.n_parameters)
    other = trainer.beside()
    other.shape, other.flat = new, overlay(empty.clone(), new, trainer.flat, old, used)
    other.optimizer = trainer.optimizer.grown(old, new, used)
    other.average = trainer.average.grown(empty, old, new, used)
    return other
