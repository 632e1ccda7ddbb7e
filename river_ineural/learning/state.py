"""All that a classifier has learned, changed as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from river.base.typing import ClfTarget, FeatureName
from torch import Tensor

from river_ineural.inputs.features import FeatureIndex
from river_ineural.inputs.labels import LabelIndex
from river_ineural.learning.history import History
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.learning.tensors import lasting
from river_ineural.learning.trainer import Trainer
from river_ineural.network.growth import Columns

__all__ = ["State"]

Floats = NDArray[np.floating[Any]]
Values = NDArray[np.float64]

ROWS_A_PASS = 1024  # of a frame: bounds the memory of its pass


@dataclass
class State:
    """Names, labels, statistics, history and networks, which have to fit each other.

    What appears, features or classes, makes a new state (`grown`) beside the old one; whoever holds
    a state puts the new one in its place when it is whole. So whatever fails or interrupts on the
    way leaves names, classes and shapes as they were.
    """

    features: FeatureIndex
    labels: LabelIndex
    scaling: Scaling
    history: History
    trainer: Trainer

    def grown(self, names: Iterable[FeatureName], values: Values, labels: list[ClfTarget]) -> State:
        """A state that knows these names and labels too, as far as the caps leave room.

        Raises
        ------
        ValueError
            If the networks would be too large; before anything is allocated.
        """
        features, columns = self.features.grown(names)
        known = self.labels.grown(labels)
        if features is self.features and known is self.labels and self.trainer.n_features:
            return self
        return self._grown(features, columns, known, names, values)

    @lasting
    def _grown(
        self,
        features: FeatureIndex,
        columns: Columns,
        known: LabelIndex,
        names: Iterable[FeatureName],
        values: Values,
    ) -> State:
        """With these features, `columns` of them new, and labels."""
        self.settle()
        n_features = CONSTANT + len(features)
        if not self.trainer.n_features:
            columns = slice(0, n_features)
        appeared = np.arange(n_features)[columns]
        trainer = self.trainer.grown(columns, n_features, len(known))
        room = trainer.shape.n_features
        first = np.zeros(n_features)
        at = dict(zip(names, values[0], strict=True))
        for column in appeared[appeared >= CONSTANT].tolist():
            first[column] = at[features.names[column - CONSTANT]]
        scaling = self.scaling.widened(room, columns, first[appeared])
        history = self.history.resized(room, len(known))
        grown = State(features, known, scaling, history, trainer)
        if history is not self.history:  # nothing is shared with this state
            grown.settle()
        return grown

    def check(self, names: Iterable[FeatureName], label: ClfTarget) -> None:
        """Raise if the networks would be too large with these names and that label."""
        n_features, k = self.features.n_with(names), len(self.labels)
        if label not in self.labels.index:
            k = min(self.labels.max_classes, k + 1)
        if (CONSTANT + n_features, k) != (self.trainer.n_features, self.trainer.shape.n_classes):
            self.trainer.room_for(CONSTANT + n_features, k)

    def settle(self) -> None:
        """Write what features that have appeared bring; repeating it changes nothing."""
        for fresh in self.trainer.pending:
            self.history.put(fresh.columns, self.scaling.absent)
        self.trainer.settle()

    def vectors(self, names: Iterable[FeatureName], values: Values) -> Floats:
        """Raw vectors (B, d) of checked values (B, names)."""
        scaling = self.scaling
        return self.features.place(names, values, scaling.subtracted, scaling.absent)

    def scores(self, names: Iterable[FeatureName], values: Values) -> tuple[Floats, Floats]:
        """f1, and f1 + f2, of each class (Algorithm 1, lines 5 to 7): values (B, names) → (B, k).

        Before anything is learned those of the initial weights θ0 that an example with these names
        would get, which are drawn and forgotten.
        """
        if not self.trainer.n_features:
            nothing = np.zeros((len(values), len(self.labels)))
            return (
                self.grown(names, values, []).scores(names, values)
                if nothing.size
                else (nothing, nothing)
            )
        return self.trainer.scores(self.vectors(names, values), self.scaling)

    def scores_of_many(self, names: list[str], values: Values) -> Values:
        """f1 + f2 of each row (B, k), some rows at a time."""
        scores = [self.scores(names, values[part])[1] for part in passes(len(values))]
        return np.concatenate(scores).astype(np.float64)

    def targets(self, x: Floats, classes: list[int]) -> Floats:
        """Rewards and residuals (B, 2, k) of raw vectors (B, d) of these classes."""
        targets = np.zeros((len(x), 2, len(self.labels)), x.dtype)
        reward, residual = targets[:, 0], targets[:, 1]  # r1, r2, (B, k)
        for row, known in enumerate(classes):
            reward[row, known] = 1  # lines 15 and 20
        for part in passes(len(x)):  # lines 16 and 21
            f1 = self.trainer.exploitation(x[part], self.scaling)
            np.subtract(reward[part], f1, out=residual[part])
        return targets

    def learn(
        self, x: Floats, targets: Floats, w: Values, pseudo_label: bool, n_steps: float
    ) -> None:
        """Store raw vectors with their targets, then train (Algorithm 1, lines 24 to 26).

        By `n_steps` each where the label was given.
        """
        self.settle()
        self.scaling.update(x)
        self.history.add(x, targets, w, pseudo_label)  # lines 24 and 25
        each = self.trainer.training.pseudo_label_steps if pseudo_label else n_steps
        self.trainer.learn(self.history, self.scaling, len(x) * each, pseudo_label)  # line 26

    def __sizeof__(self) -> int:
        """Bytes of this object and of torch, which River does not count, less those of the arrays
        that are views of torch's memory, which it counts.
        """
        storages: dict[int, int] = {}
        views: dict[int, int] = {}
        pending: list[Any] = [self.scaling, self.history, self.trainer]
        while pending:
            part = pending.pop()
            if isinstance(part, Tensor):
                storage = part.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
            elif isinstance(part, np.ndarray):
                views[id(part)] = 0 if part.flags.owndata else part.nbytes
            elif isinstance(part, list | tuple):
                pending += part
            elif type(part).__module__.startswith("river_ineural."):
                pending += vars(part).values()
        counted = sum(storages.values()) - sum(views.values())
        return object.__sizeof__(self) + max(0, counted)

    def on(self, device: torch.device) -> State:
        """The same on a device; this state stays as it is."""
        moved = {name: getattr(self, name).on(device) for name in ("scaling", "history", "trainer")}
        return replace(self, **moved)


def passes(n_rows: int) -> list[slice]:
    """Parts of a frame that bound the memory of a pass; one of no rows for an empty frame."""
    return [slice(i, i + ROWS_A_PASS) for i in range(0, max(1, n_rows), ROWS_A_PASS)]
