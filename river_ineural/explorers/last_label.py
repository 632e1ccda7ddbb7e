"""The last label as an explorer: where labels depend on the ones before, it predicts the next."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.scaling import Scaling
from river_ineural.history import History

Floats = NDArray[np.floating[Any]]

NONE = -1  # before the first label
FADING = 0.98  # of what is known of the order of labels, at each that follows
REPLAYED = 300  # labels that a new one learns at most: older ones would have faded
DOUBT = 0.05  # added to p
LASTING = 1 / math.e  # of a class until its label comes: it lasts as long as they do on average
SURE = 3.0  # standard deviations beyond chance from which labels depend on the ones before


class LastLabel:
    """An explorer: the class of the last given label, as far as it is likely to last.

    In many streams the next label is mostly the last one, because a state lasts, or because classes
    come one after the other. f1 and the forest see only x, and they need several labels of a new
    class before they predict it. Let l be the class of the last given label, q its share among the
    labels, and κ the probability that it lasts until now. Bayes' rule gives for p = f1 within
    [0, 1], with 0.05 added because f1 may be wrong about a class that it calls impossible,

        b_i ∝ (p_i + 0.05) (κ [i = l] / q + 1 - κ),    Σ_i b_i = 1

    The residual r1 - f1 is estimated by b - p. At each example learned the class ends with
    probability h, so κ = (1 - h)^(examples since that label, this one included). Where a model
    predicts and learns nothing, examples that it has predicted since then count, each as
    examples / predictions, at most 1. At each label that follows another

        changes ← 0.98 changes + [it differs],    examples ← 0.98 examples + examples since the last
        h = (changes + 1) / (examples + 1),       predictions ← 0.98 predictions + those since then

    The estimate is 0 until labels are found to depend on the ones before: until the next label was
    the same as the last one more often than chance allows. By chance this has probability q. With
    s = 1 if it was the same, else 0, each label moves

        excess ← 0.98 excess + s - q,    variance ← 0.98 variance + q (1 - q)

    and labels are dependent while excess > 3 √variance. So the explorer changes nothing where rows
    are shuffled. Nor does it where labels come so late that their class has likely ended: if the
    model has learned n examples between that of a label and the label, while (1 - h)^n < 1/e.

    Examples
    --------
    >>> last = LastLabel()
    >>> for label in [0] * 20 + [1] * 3:
    ...     last.update(label)
    >>> last.dependent
    False
    >>> last.update(1)
    >>> last.dependent
    True
    >>> f1 = np.array([[0.75, 0.5]])
    >>> f1 + last.estimate(np.zeros((1, 0)), f1)
    array([[0.0306..., 0.9693...]])

    References
    ----------
    Žliobaitė, Bifet, Read, Pfahringer, Holmes: Evaluation methods and decision theory for
    classification of streaming data with temporal dependence. Machine Learning, 2015.
    """

    TRUST: ClassVar[float] = 0.0
    PRIOR: ClassVar[float] = 1.0

    def __init__(self) -> None:
        self.last = NONE
        self.age = 0  # examples learned since the last label, with those of pseudo-labels
        self.predicted = 0  # examples predicted since then
        self.late = 0  # examples learned between the next label and its example
        self.counts: dict[int, float] = {}  # labels by class, the older the less
        self.excess = self.variance = self.changes = self.examples = self.predictions = 0.0
        self.dependent = False  # whether labels depend on the last one

    @property
    def share(self) -> float:
        """q: the share of the last label's class among the labels."""
        return self.counts[self.last] / sum(self.counts.values())

    @property
    def since(self) -> float:
        """Examples learned since the last label, or predicted, as far as those are learned."""
        learned = min(1.0, self.examples / self.predictions) if self.predictions else 1.0
        return max(self.age, learned * self.predicted)

    def persistence(self, n: Any) -> Any:
        """κ: the probability that the class of a label lasts for n more examples, as n is."""
        ends = (self.changes + 1) / (self.examples + 1)
        return (1 - ends) ** n

    def update(self, label: int) -> None:
        """Learn the class of the next example, and whether it is that of the last label."""
        self.age += 1
        if self.last != NONE:
            q, same = self.share, label == self.last
            self.excess = FADING * self.excess + same - q
            self.variance = FADING * self.variance + q * (1 - q)
            self.dependent = self.excess > SURE * math.sqrt(self.variance)
            self.changes = FADING * self.changes + (not same)
            self.examples = FADING * self.examples + self.age
            self.predictions = FADING * self.predictions + self.predicted
            self.dependent &= self.persistence(self.late) >= LASTING
        for each in self.counts:
            self.counts[each] *= FADING
        self.counts[label] = self.counts.get(label, 0.0) + 1
        self.last, self.age, self.predicted = label, 0, 0

    def estimate(self, x: Floats, f1: Floats) -> Floats:
        """b - p of each class, f1 (B, k) → (B, k), of one row after the other; 0 unless labels are
        dependent.
        """
        if not self.dependent:
            return np.zeros_like(f1)
        kappa = self.persistence(self.since + 1 + np.arange(len(f1)))
        likely = np.empty_like(f1)
        likely[:] = 1 - kappa[:, None]
        likely[:, self.last] += kappa / self.share
        p = f1.clip(0, 1)
        b = (p + DOUBT) * likely
        found: Floats = b / b.sum(axis=1, keepdims=True) - p
        return found

    def learn(self, history: History, scaling: Scaling, n: int) -> None:
        """Learn the latest of n more labels, but for those of weight 0, and for repetitions."""
        rows = history.labelled(min(n, REPLAYED))
        rows = rows[~history.repeated(len(rows), self.predicted > 0)]
        for row in rows.tolist():
            if history.weight[row] > 0:
                self.update(int(history.targets[row, 0].argmax()))
            else:
                self.age += 1

    def renewed(self) -> Self:
        """One that has seen no label; this one stays as it is."""
        other = type(self)()
        other.late = self.late
        return other
