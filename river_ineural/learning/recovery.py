"""After a change was detected: was it one, and what do old labels still say?"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from river_ineural.learning.drift import SURE, DriftDetector, changed_rate, log_ratio, top_of

__all__ = ["Recovery"]

DECIDED = 3.0  # log likelihood ratio that confirms a change, or refutes it
COMPARED = 24  # labels after an alarm from which challenger and incumbent are compared
FADING = 0.9  # of the counts of a predicted class, at each label that follows
RETRAINED = (4, 8, 16, 32, 48)  # labels after an alarm at which the challenger is trained anew


class WithDetector(Protocol):
    """All that was learned, with a detector that may find a change of the stream."""

    detector: DriftDetector | None


Learned = TypeVar("Learned", bound=WithDetector)


@dataclass
class Recovery(Generic[Learned]):
    """What is known after an alarm, until it is decided whether the stream has changed.

    Three models are kept. The *snapshot* is the model at the alarm, and does not learn. The
    *incumbent* is a copy of it that goes on learning. The *challenger*, which predicts, was trained
    anew from the labels since the change and from what old labels are still worth.

    Each label that follows is compared with what the snapshot says of it. This answers two
    questions. First, was there a change? Wald's sequential test confirms or refutes it (`DECIDED`).
    If the snapshot makes no more mistakes than it made before, there was none, and the incumbent
    comes back. Second, what became of each class? `confusion` counts the labels by the class that
    the snapshot says. If the snapshot is sure of a class and always wrong in the same way, old
    labels of that class count under the new name. If it is wrong in all ways they count nothing.

    After 48 labels the challenger stays only if it was right at more of the last 24 of them than
    the incumbent. Otherwise nothing had to be forgotten.

    Parameters
    ----------
    snapshot
        The state at the alarm, with its detector. It grows with the one in use.
    incumbent
        The same, which learns the labels after the alarm.
    n_since
        Labels since the change, until the alarm.
    n_after
        Labels after the alarm.
    confusion
        By class that the snapshot says, and by label: how many, each weighted by how sure the
        snapshot was.
    log_ratio
        Log likelihood ratio of the change, from labels after the alarm.
    confirmed
        Whether it has been large enough.
    lead
        Labels, of those compared, at which the challenger was right, less those at which the
        incumbent was.
    """

    snapshot: Learned
    incumbent: Learned
    n_since: int
    n_after: int = 0
    confusion: dict[int, dict[int, float]] = field(default_factory=dict)
    log_ratio: float = 0.0
    confirmed: bool = False
    lead: int = 0

    def map(self, function: Callable[[Learned], Learned]) -> Recovery[Learned]:
        """The same recovery, with what a function makes of snapshot and incumbent."""
        return replace(self, snapshot=function(self.snapshot), incumbent=function(self.incumbent))

    @classmethod
    def begin(cls, snapshot: Learned, since: int) -> Recovery[Learned]:
        """After an alarm; the labels since the change are counted already."""
        assert snapshot.detector is not None
        recent = list(snapshot.detector.recent)[-since:]
        snapshot.detector.reset()
        recovery = cls(snapshot, copy.deepcopy(snapshot), len(recent))
        for top, gap, label in recent:
            recovery.count(top, gap, label)
        return recovery

    def update(self, scores: NDArray[np.float64], label: int) -> None:
        """Learn a label, and the scores (k,) that the snapshot gives its example."""
        detector = self.snapshot.detector
        assert detector is not None
        top, gap = top_of(scores)
        self.count(top, gap, label)
        rate = detector.expected_rate(gap)
        self.log_ratio += log_ratio(top != label, rate, changed_rate(rate))
        self.confirmed |= self.log_ratio >= DECIDED

    def compare(self, challenger: list[bool], incumbent: list[bool]) -> None:
        """Count who was right at which of the labels that have come."""
        uncounted = max(0, COMPARED - self.n_after)
        self.lead += sum(challenger[uncounted:]) - sum(incumbent[uncounted:])

    def count(self, top: int, gap: float, label: int) -> None:
        """Count the label of an example of which the snapshot says `top`.

        Earlier labels of that class then count less, because the change may be gradual.
        """
        row = self.confusion.setdefault(top, {})
        for earlier in row:
            row[earlier] *= FADING
        row[label] = row.get(label, 0.0) + min(1.0, gap / SURE)

    @property
    def refuted(self) -> bool:
        """Whether there was no change, or nothing had to be forgotten."""
        if self.over and self.lead <= 0:
            return True
        return not self.confirmed and self.log_ratio <= -DECIDED

    def retrains(self, n: int) -> bool:
        """Whether the challenger is to be trained anew after the last n labels."""
        return any(self.n_after - n < at <= self.n_after for at in RETRAINED)

    @property
    def over(self) -> bool:
        """Whether all is decided."""
        return self.n_after >= RETRAINED[-1]

    def old_labels(self, n_classes: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The class that old labels of each class have now, and how much they are worth.

        Of labels of weight n that the snapshot assigns to a class, m belong to the commonest class.
        Old labels take that class and the weight 2m/(n + 1) - 1, at least 0. That nothing has
        changed is believed more easily: m and n are then larger by 1. Old labels of a class without
        any evidence weigh 0.

        Returns
        -------
        Classes, int64 (k,), and weights in [0, 1), float64 (k,).
        """
        classes, weights = np.arange(n_classes), np.zeros(n_classes)
        for top, row in self.confusion.items():
            n, same = sum(row.values()), row.get(top, 0.0) + 1
            other = max(row, key=row.__getitem__)
            if row[other] > same:
                classes[top], weights[top] = other, 2 * row[other] / (n + 1) - 1
            else:
                weights[top] = 2 * same / (n + 2) - 1
        return classes, np.maximum(weights, 0.0)
