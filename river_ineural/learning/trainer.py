"""Mini-batch SGD with warm start (Algorithm 2) on flat parameters."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.adversary import Adversary
from river_ineural.learning.batch import Forward
from river_ineural.learning.crossvalidation import FIRST
from river_ineural.learning.history import Drawn, History
from river_ineural.learning.iterates import Iterates
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.learning.steps import SeparateBatches, SharedBatch
from river_ineural.learning.tensors import Tensors, lasting
from river_ineural.learning.training import Training
from river_ineural.network import phases
from river_ineural.network.capture import Captured
from river_ineural.network.growth import Columns, Fresh, draw, overlay
from river_ineural.network.networks import Shape
from river_ineural.network.phases import raw

__all__ = ["Trainer"]

Floats = NDArray[np.floating[Any]]

MOST_WEIGHTS = 25_000_000  # of both networks; with optimiser and average 0.5 GB in float32


class Trainer(Tensors):
    """Both networks, and the steps they take.

    Parameters
    ----------
    shape
        Shape of the networks, of no class and no feature yet.
    training
        How they are trained.
    lr
        Learning rate η1 of f1; may be changed at any time.
    batch_size
        Contexts b a step.
    optimizer, iterates, adversary
        Parts that this trainer owns.
    n_blank
        Columns in front of an example that are 0.
    rng
        Generator of the initial weights and of the drawn iterates, owned by this trainer.
    of_folds
        Generator of the folds of cross-validation, owned by this trainer.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("flat",)
    VIEWS = (
        "weights",
        "steps",
        "predicting",
        "predicting_raw",
        "prediction",
        "captured_predictions",
        "single",
    )

    def __init__(
        self,
        shape: Shape,
        training: Training,
        lr: float,
        batch_size: int,
        optimizer: Optimizer,
        iterates: Iterates,
        adversary: Adversary,
        n_blank: int,
        rng: np.random.Generator,
        of_folds: np.random.Generator,
        like: Tensor,
    ) -> None:
        self.shape = shape
        self.training = training
        self.lr = lr
        self.batch_size = batch_size
        self.optimizer = optimizer
        self.iterates = iterates
        self.adversary = adversary
        self.n_blank = n_blank
        self.rng = rng
        self.of_folds = of_folds
        self.n_until = FIRST  # given labels, until settings are chosen
        self.n_features = 0  # in use; shape.n_features of them have room
        self.steps_due = self.explorations_due = 0.0
        self.pending: list[Fresh] = []  # weights to be written
        self.warned = False
        self.dtype = np.float32 if like.dtype is torch.float32 else np.float64
        self.flat = like.new_zeros(shape.n_parameters)
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
        kind = SharedBatch if self.training.batches == "shared" else SeparateBatches
        self.weights = self.shape.weights(self.flat)
        self.steps: SharedBatch | SeparateBatches = kind(
            *(self.shape, self.flat, self.optimizer, self.adversary),
            *(self.batch_size, self.training),
        )
        self.prediction = Forward(self.shape, 1, self.flat)
        compiled = phases.compiles(self.flat)
        self.single = self.shape.single(np.dtype(self.dtype)) if compiled else None
        self.serve()

    def serve(self) -> None:
        """Predict with the weights that the iterates say."""
        self.predicting = self.shape.weights(self.iterates.predicting(self.flat))
        self.predicting_raw = raw(self.predicting.flat)
        self.captured_predictions = [Captured(self.flat.device) for _ in range(2)]

    def conclude(self) -> None:
        """Predict from now on with the weights that Algorithm 1 returns after this round."""
        self.iterates = self.iterates.fixed()
        self.serve()

    def change(self, lr: float | None = None, radius: float | None = None) -> None:
        """Learn from now on at another rate, or with another largest radius."""
        if lr is not None:
            self.lr = lr
        if radius is not None:
            self.adversary.free_up_to(radius)
            self.n_until = FIRST
        self.steps.forget()

    @lasting
    def on(self, device: torch.device) -> Self:
        """The same on a device; this trainer stays as it is."""
        moved = self.beside()
        moved.flat = self.flat.to(device)
        for name in ("optimizer", "iterates", "adversary"):
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
            *(other.flat, new, old.n_classes, columns, n_features),
            *(self.training.init_scale, self.n_blank, other.rng),
        )
        other.pending = [*self.pending, fresh]
        if new != old:
            fresh.write(new.weights(other.flat))
            other.iterates = self.iterates.grown(other.flat, old, new, before)
            other.optimizer = self.optimizer.grown(old, new, before)
            other.bind()
        else:  # what was captured reads the statistics of fewer features
            other.steps.forget()
            other.serve()
        return other

    def tried(self, radius: float) -> Trainer:
        """`renewed`, with examples moved by a radius, and averaged iterates."""
        training = replace(self.training, batches="shared")
        adversary = self.adversary.at(radius)
        return self.renewed("average", training=training, adversary=adversary, warned=True)

    def renewed(self, iterate: str | None = None, **parts: Any) -> Trainer:
        """A trainer of the same networks that has learned nothing; this one stays as it is."""
        other, shape = self.beside(), self.shape
        other.rng, other.of_folds = copy.deepcopy(self.rng), copy.deepcopy(self.of_folds)
        other.n_until = min(FIRST, self.n_until)
        other.flat = torch.zeros_like(self.flat)
        draw(
            *(other.flat, shape, 0, slice(0, self.n_features), self.n_features),
            *(self.training.init_scale, self.n_blank, other.rng),
        )
        other.pending = []
        other.steps_due = other.explorations_due = 0.0
        other.optimizer = Optimizer(self.training, other.flat)
        other.adversary = self.adversary.renewed()
        own = self.iterates
        first = Iterates(iterate or own.kind, own.n_kept, own.n_averaged, own.rng)
        other.iterates = first.grown(other.flat, shape, shape, self.n_features)
        other.__dict__.update(parts)
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
            for flat in (self.flat, *self.iterates.kept):
                fresh.write(self.shape.weights(flat))
            for moment in self.optimizer.moments:
                fresh.write(self.shape.weights(moment), zero=True)
        self.pending = []

    def explored(
        self, x: Floats, scaling: Scaling, exploring: bool = True
    ) -> tuple[Floats, Floats]:
        """f1, and f1 + f2, of each class under the weights that predict: raw x (B, d) → (B, k).

        Without `exploring`, or an f2, f1 twice, and f2 costs nothing.
        """
        exploring = exploring and self.training.explores
        single = self.single
        if single and len(x) == 1:
            w = self.predicting_raw
            f1, scores = single.score(w, x[0], scaling.encoding, scaling.normalize, exploring)
            return f1, scores
        return self._score_rows(x, scaling, exploring)

    def exploitation(self, x: Floats, scaling: Scaling) -> Floats:
        """f1 of each class under the weights that predict: raw x (B, d) → (B, k)."""
        return self.explored(x, scaling, exploring=False)[0]

    def _score_rows(self, rows: Floats, scaling: Scaling, exploring: bool) -> tuple[Floats, Floats]:
        """`explored` by matrix products: one transfer to the device, one back."""
        standing = len(rows) == 1 and self.iterates.kind != "uniform"
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

        captured = self.captured_predictions[exploring]
        (captured if standing else Captured(torch.device("cpu")))(run)
        f1, scores = forward.found.cpu().numpy().copy()
        return f1, scores

    def learn(self, history: History, scaling: Scaling, n_steps: float, pseudo_label: bool) -> None:
        """The steps due after an arrival (Algorithm 1, line 26), a fraction being carried over."""
        training = self.training
        explores = training.explores and (training.pseudo_label_exploration or not pseudo_label)
        self.iterates.retire()
        self.steps_due += n_steps
        while self.steps_due >= 1:
            self.steps_due -= 1
            if explores:
                self.explorations_due += training.exploration_share
            exploring = self.explorations_due >= 1
            self.explorations_due -= exploring
            self.step(history, scaling, exploring)
        if self.iterates.draw(self.rng):
            self.serve()

    def step(self, history: History | Drawn, scaling: Scaling, exploring: bool = True) -> None:
        """One step of f1, and with `exploring` of f2 (Algorithm 2, lines 1 to 7)."""
        exploring = exploring and self.training.explores
        rates = self.lr, self.training.exploration_lr
        if not self.steps.step(history, scaling, self.predicting, rates, exploring):
            self._warn()
        self.iterates.after_step(self.flat, self.rng)

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
    other.iterates = trainer.iterates.grown(empty, old, new, used)
    return other
