"""All that a classifier has learned, replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from river.base.typing import ClfTarget, FeatureName

from river_ineural.inputs.features import FeatureIndex
from river_ineural.inputs.labels import LabelIndex
from river_ineural.learning.arrival import Arrival
from river_ineural.learning.drift import DriftDetector
from river_ineural.learning.explorers import Explorers
from river_ineural.learning.history import History
from river_ineural.learning.imputation import impute
from river_ineural.learning.recovery import Recovery
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.learning.tensors import outside_inference_mode, uncounted_bytes
from river_ineural.learning.trainer import PSEUDO_LABEL_STEPS, Trainer
from river_ineural.network.growth import Columns

if TYPE_CHECKING:
    from river_ineural.inputs.frames import Frame

__all__ = ["State"]

Floats = NDArray[np.floating[Any]]
Values = NDArray[np.float64]

ROWS_A_PASS = 1024  # of a frame: bounds the memory of its pass


@dataclass
class State:
    """Names, labels, statistics, history and networks, which have to fit each other.

    New features or classes make a new state (`grown`), and the old one stays as it is. The holder
    of a state replaces it by the new one once that is complete. So a failure or an interrupt leaves
    names, classes and shapes as they were.
    """

    features: FeatureIndex
    labels: LabelIndex
    scaling: Scaling
    history: History
    trainer: Trainer
    explorers: Explorers
    detector: DriftDetector | None
    recovery: Recovery[State] | None = None
    n_dropped: int = 0  # labels that a recovery has dropped from the history

    @property
    def n_labels(self) -> int:
        """Labels given so far: each counts once its example is in the history."""
        return self.n_dropped + self.history.added[0]

    def __getstate__(self) -> dict[str, Any]:
        """Without columns of the history that no feature uses yet."""
        history, used = self.history, self.trainer.n_features
        return {**self.__dict__, "history": history.replaced(x=history.x[:, :used])}

    @outside_inference_mode
    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        room = self.trainer.shape.n_features
        self.history = self.history.resized(room, self.history.targets.shape[2])

    def grown(self, names: Iterable[FeatureName], values: Values, labels: list[ClfTarget]) -> State:
        """A state that knows these names and labels too, as far as the limits allow.

        Raises
        ------
        ValueError
            If the networks would be too large; before anything is allocated.
        """
        if self.features.encoder is not None:  # a feature that is always missing gets no column
            there = np.flatnonzero(np.isfinite(values).any(axis=0))
            names = tuple(names)
            names, values = [names[j] for j in there], values[:, there]
        features, columns = self.features.grown(names)
        known = self.labels.grown(labels)
        if features is self.features and known is self.labels and self.trainer.n_features:
            return self
        return self._grown(features, columns, known, names, values)

    @outside_inference_mode
    def _grown(
        self,
        features: FeatureIndex,
        columns: Columns,
        known: LabelIndex,
        names: Iterable[FeatureName],
        values: Values,
    ) -> State:
        """The state with these features, `columns` of them new, and these labels."""
        self.settle()
        recovery = self.recovery and self.recovery.map(
            lambda state: state._grown(features, columns, known, names, values)
        )
        n_features = CONSTANT + len(features)
        if not self.trainer.n_features:
            columns = slice(0, n_features)
        appeared = np.arange(n_features)[columns]
        trainer = self.trainer.grown(columns, n_features, len(known))
        room = trainer.shape.n_features
        first = np.zeros(n_features)
        given = np.isfinite(values).argmax(axis=0)  # the first row that has it
        at = dict(zip(names, values[given, np.arange(len(given))], strict=True))
        for column in appeared[appeared >= CONSTANT].tolist():
            first[column] = at[features.name(column)]
        scaling = self.scaling.widened(room, columns, first[appeared])
        history = self.history.resized(room, len(known))
        grown = replace(self, features=features, labels=known, scaling=scaling)
        grown = replace(grown, history=history, trainer=trainer, recovery=recovery)
        if history is not self.history:  # nothing is shared with this state
            grown.settle()
        return grown

    def check(self, names: Iterable[FeatureName], label: ClfTarget) -> None:
        """Raise if the label is none, or if with it and these names networks would be too large."""
        self.labels.checked(label)
        n_features, k = self.features.n_with(names), len(self.labels)
        if label not in self.labels.index:
            k = min(self.labels.max_classes, k + 1)
        if (CONSTANT + n_features, k) != (self.trainer.n_features, self.trainer.shape.n_classes):
            self.trainer.room_for(CONSTANT + n_features, k)

    def settle(self) -> None:
        """Write the weights and values of new features; a second call changes nothing."""
        for fresh in self.trainer.pending:
            self.history.put(fresh.columns, self.scaling.absent)
        self.trainer.settle()
        if self.recovery:
            self.recovery.snapshot.settle()
            self.recovery.incumbent.settle()

    def vectors(self, names: Iterable[FeatureName], values: Values) -> Floats:
        """Raw vectors (B, d) of checked values (B, names)."""
        scaling = self.scaling
        x = self.features.place(names, values, scaling.raw.reference, scaling.absent)
        if self.features.encoder is not None:
            impute(x, self.history, self.trainer.pending, scaling.absent)
        return x

    def explained(
        self, names: Iterable[FeatureName], values: Values
    ) -> tuple[Floats, list[Floats]]:
        """f1, and what each explorer adds to it (Algorithm 1, lines 5 to 7), (B, k) each.

        Of values (B, names). Before anything is learned, f1 is that of initial weights θ0. They are
        drawn for an example with these names, and then dropped.
        """
        if not self.trainer.n_features:
            nothing = np.zeros((len(values), len(self.labels)))
            if not nothing.size:
                return nothing, [nothing for _ in self.explorers.parts]
            return self.grown(names, values, []).explained(names, values)
        x = self.vectors(names, values)
        exploring = self.explorers.trusted.get("network", 0.0) > 0  # else f2 is not needed
        f1, f2 = self.trainer.score(x, self.scaling, exploring)
        return f1, self.explorers.added(self.explorers.estimates(x, f1, f2))

    def scores(self, names: Iterable[FeatureName], values: Values) -> Floats:
        """The scores, f1 and what explorers add: values (B, names) → (B, k)."""
        f1, added = self.explained(names, values)
        return sum(added, f1)

    def scores_of_many(self, names: list[str], values: Values) -> Values:
        """`scores` of each row (B, k), some rows at a time."""
        scores = [self.scores(names, values[part]) for part in passes(len(values))]
        return np.concatenate(scores).astype(np.float64)

    def scores_of_frame(self, frame: Frame) -> Values:
        """`scores` of each row (B, k)."""
        size = ROWS_A_PASS if self.trainer.n_features else 1  # weights are drawn for its names
        parts = frame.parts(self.features.columns, size)
        return np.concatenate([self.scores_of_many(*part) for part in parts])

    def arrival(self, x: Floats, classes: list[int], pseudo_label: bool = False) -> Arrival:
        """Raw vectors (B, d) of these classes, with their scores and estimates before learning.

        Pseudo-labels have none, because they move neither trust nor the detector.
        """
        targets = np.zeros((len(x), 2, len(self.labels)), x.dtype)
        reward, residual = targets[:, 0], targets[:, 1]  # r1, r2, (B, k)
        for row, known in enumerate(classes):
            reward[row, known] = 1  # lines 15 and 20
        if pseudo_label:
            return Arrival(x, classes, targets, None, None)
        said, all_estimates, trainer = [], [], self.trainer.with_pending()
        for part in passes(len(x)):
            f1, f2 = trainer.score(x[part], self.scaling)
            np.subtract(reward[part], f1, out=residual[part])  # line 16
            estimates = self.explorers.estimates(x[part], f1, f2)
            said.append(sum(self.explorers.added(estimates), f1))
            all_estimates.append(np.reshape(estimates, (len(estimates), *f1.shape)))
        return Arrival(x, classes, targets, np.concatenate(said), np.concatenate(all_estimates, 1))

    def learn(self, arrival: Arrival, w: Values, n_steps: float) -> None:
        """Store examples with their targets, then train (Algorithm 1, lines 24 to 26).

        Each example whose label was given takes `n_steps` steps. Examples count as learned once
        they are in the history. A failure before that changes nothing; a later one costs training.
        """
        x, targets, pseudo_label = arrival.x, arrival.targets, arrival.estimates is None
        self.settle()
        self.history.add(x, targets, w, pseudo_label)  # lines 24 and 25
        self.scaling.update(x)
        if arrival.estimates is not None:
            self.explorers.update_trust(targets[:, 1], arrival.estimates, w)
        self.explorers.learn(self.history, self.scaling, self.features, len(x), pseudo_label)
        n_steps = len(x) * (PSEUDO_LABEL_STEPS if pseudo_label else n_steps)
        self.trainer.learn(self.history, self.scaling, n_steps, pseudo_label)  # line 26

    def __sizeof__(self) -> int:
        """Bytes of this object, with those of torch, which River does not count."""
        parts = [self.scaling, self.history, self.trainer, self.recovery]
        return object.__sizeof__(self) + uncounted_bytes(parts)

    def to(self, device: torch.device) -> State:
        """This state on a device; this object stays as it is."""
        recovery = self.recovery and self.recovery.map(lambda state: state.to(device))
        return replace(self, trainer=self.trainer.to(device), recovery=recovery)


def passes(n_rows: int) -> list[slice]:
    """Parts of a frame, which bound the memory of a pass; one part for an empty frame."""
    return [slice(i, i + ROWS_A_PASS) for i in range(0, max(1, n_rows), ROWS_A_PASS)]
