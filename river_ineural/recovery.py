"""After a change was detected: was it one, and what do old labels still say?"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.drift import DRIFT, SURE, DriftDetector, changed_rate, log_ratio, top_of
from river_ineural.history import History

Values = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]
Labels = NDArray[np.int64]
Examples = tuple[Values, Labels, Values, Labels]  # raw x (B, d), class, weight, number (B,)

FOLLOWED = 50  # examples that the statistics count as after a change, so that they follow it
DECIDED = 3.0  # log likelihood ratio that confirms a change, or refutes it
CLEAR = 12.0  # the same from which classes that have changed places are believed
COMPARED = 24  # labels after an alarm from which challenger and incumbent are compared
FADING = 0.9  # of the counts of a predicted class, at each label that follows
RETRAINED = (4, 8, 16, 32, 48)  # labels after an alarm at which the challenger is trained anew
WORTHLESS = 0.4  # old labels that weigh no more are dropped
WON, LOST = math.log(0.8 / 0.5), math.log(0.2 / 0.5)  # of a label: see `Former`
KEPT = 3  # former models
FEW = 16  # labels after an alarm from which all classes are believed to have become one


class Recovery:
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
    the incumbent. Otherwise nothing had to be forgotten. It also stays if a class clearly took the
    name of another one: labels are then asked where the challenger cannot tell classes apart, and
    say little of it elsewhere. What the last label adds is left out of both: labels are frequent
    after an alarm, so it would predict for a wrong model too.

    Parameters
    ----------
    detector
        The detector that has raised the alarm, which stays as it is.
    since
        Labels since the change, of a weight above 0.
    stored
        The history of the snapshot; None: it holds all these labels.

    Attributes
    ----------
    detector
        That of the incumbent, without what points to a change.
    n_since
        Examples since the change, until the alarm.
    n_after
        Labels after the alarm.
    n_told
        Of these, labels of a weight above 0.
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
    retrains
        Whether the challenger is to be trained anew after the last labels.
    """

    def __init__(self, detector: DriftDetector, since: int, stored: History | None = None) -> None:
        self.detector = copy.deepcopy(detector)
        self.detector.reset()
        self.n_after = self.n_told = 0
        self.retrains = False
        self.confusion: dict[int, dict[int, float]] = {}
        self.log_ratio, self.confirmed, self.lead = 0.0, False, 0
        self.n_since = since
        if stored is not None:
            told, n = np.flatnonzero(stored.weight[stored.labelled()]), stored.n_labelled
            self.n_since = n - int(told[-since]) if since <= len(told) else n
            since = min(since, n)
        for top, gap, label in list(detector.recent)[-since:] if since else ():
            self.count(top, gap, label)

    def update(
        self, scores_of_each: list[Scores], classes: list[int], counts: NDArray[np.bool_]
    ) -> None:
        """Learn labels, and the scores (B, k) of their examples from before they were learned, by
        challenger and incumbent, both without the last label, and by the snapshot. `counts` (B,)
        says which labels have a weight above 0: the others tell nothing.
        """
        challenger, incumbent, snapshot = scores_of_each
        for i in np.flatnonzero(counts).tolist():
            label, (top, gap) = classes[i], top_of(snapshot[i])
            self.count(top, gap, label)
            rate = self.detector.expected_rate(gap)
            self.log_ratio += log_ratio(top != label, rate, changed_rate(rate))
            self.confirmed |= self.log_ratio >= DECIDED
        compared = slice(max(0, COMPARED - self.n_told), None)
        for scores, sign in ((challenger, 1), (incumbent, -1)):
            right = (scores.argmax(axis=1) == classes)[counts]
            self.lead += sign * int(np.count_nonzero(right[compared]))
        self.n_after += len(classes)
        before, self.n_told = self.n_told, self.n_told + int(np.count_nonzero(counts))
        self.retrains = any(before < at <= self.n_told for at in RETRAINED)

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
        if self.over and self.lead <= 0 and not self.swapped:
            return True
        return not self.confirmed and self.log_ratio <= -DECIDED

    @property
    def swapped(self) -> bool:
        """Whether a class clearly has the name of another one that the snapshot says."""
        now, worth = self.old_labels(1 + max(self.confusion, default=-1))
        names = (now[top] for top in self.confusion if worth[top] > WORTHLESS and now[top] != top)
        return self.log_ratio >= CLEAR and any(name in self.confusion for name in names)

    @property
    def over(self) -> bool:
        """Whether all is decided."""
        return self.n_told >= RETRAINED[-1]

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

    def examples(self, old: History, new: History, n_classes: int) -> list[Examples]:
        """The examples to train on: what old ones are worth, then those since the change.

        Old ones stay as they were if so few labels, with them, say that one class is left.

        Parameters
        ----------
        old, new
            Histories of the snapshot and of the challenger.
        """
        rows = old.labelled()
        at = len(rows) - self.n_since
        since = [old.examples(rows[at:])]
        if self.n_after:
            since.append(new.examples(new.labelled()[-self.n_after :]))
        x, classes, w, number = old.examples(rows[:at])
        now, worth = self.old_labels(n_classes)
        kept = worth[classes] * w > WORTHLESS
        left = {*now[classes[kept]].tolist(), *(c for each in since for c in each[1].tolist())}
        if self.n_told >= FEW or len(left) > 1:
            x, number = x[kept], number[kept]
            classes, w = now[classes[kept]], (w * worth[classes])[kept]
        return [(x, classes, w, number), *since]


class Former:
    """A model of before a change, which may be right again: what it knows recurs, or the labels
    of the change were wrong.

    It does not learn. A label counts if only one of it and the model in use was right: by the log
    of the likelihood ratio of two cases. In the first it is right at four of five such labels, and
    in the second at half of them. A sum below 0 starts again at 0 (Page, 1954). What the last label
    adds is left out of this model, which does not know it.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.evidence = 0.0  # that this model is the better one

    def compare(
        self, then: Scores, now: Scores, classes: list[int], counts: NDArray[np.bool_]
    ) -> None:
        """Learn labels, and the scores of this model, and (B, k) of the one in use.

        `counts` (B,) says which labels have a weight above 0.
        """
        then = then[:, : now.shape[1]]  # of labels that were known before
        right, other = (each.argmax(axis=1) == classes for each in (then, now))
        for better in right[(right != other) & counts].tolist():
            self.evidence = max(0.0, self.evidence + (WON if better else LOST))


def returning(formers: list[Former]) -> Former | None:
    """The former model that is to be used again, after 13 labels at least, or None."""
    best = max(formers, key=lambda former: former.evidence, default=None)
    return best if best and best.evidence > DRIFT else None


def unknown(history: History, n: int, known: History) -> Examples:
    """The last n labels, and before them others of classes that the known ones do not have."""
    x, classes, w, number = history.examples(history.labelled())
    new = ~np.isin(classes, [*known.classes()]) & (w > 0)
    new &= ~np.isin(number, known.number[known.labelled()])  # renamed since
    new[-n:] = True
    return x[new], classes[new], w[new], number[new]
