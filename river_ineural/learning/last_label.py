"""The last label as an explorer: where labels hang together in time it tells the next one."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from river_ineural.inputs.features import FeatureIndex
from river_ineural.learning.history import History
from river_ineural.learning.scaling import Scaling

__all__ = ["LastLabel"]

Floats = NDArray[np.floating[Any]]

NONE = -1  # before the first label
FADING = 0.98  # of what labels told of their order, at each that follows
TOLD = 300  # labels of which one without any learns the order: older ones have faded
SURE = 3.0  # standard deviations beyond chance from which labels hang together


class LastLabel:
    """An explorer: the class of the last given label, as `river.dummy.NoChangeClassifier` predicts.

    With v = 1 for that class and 0 for all others, it estimates what f1 gets wrong, r1 - f1, by

        v - p(x)

    with p = f1 within [0, 1]. In many streams the next label is mostly the last one: a state that
    lasts, or classes that come one after the other. f1 and the forest see only x, and they need
    several labels of a new class before they predict it.

    It says 0 until the labels hang together in time: until the next label was the last one more
    often than chance allows. By chance it is with probability q, the share of that class among the
    labels before. With h = 1 where it was, else 0, each label moves

        excess ← 0.98 excess + h - q,    variance ← 0.98 variance + q (1 - q)

    and labels hang together while excess > 3 √variance. So where rows are shuffled, or where what
    changes is not the order of the labels, it changes nothing.

    Examples
    --------
    >>> last = LastLabel()
    >>> for label in [0] * 20 + [1] * 3:
    ...     last.see(label)
    >>> last.holds
    False
    >>> last.see(1)
    >>> last.holds
    True
    >>> last.estimate(np.zeros((1, 0)), np.array([[0.75, 0.5]]), np.zeros((1, 2)))
    array([[-0.75,  0.5 ]])

    References
    ----------
    Žliobaitė, Bifet, Read, Pfahringer, Holmes: Evaluation methods and decision theory for
    classification of streaming data with temporal dependence. Machine Learning, 2015.
    """

    TRUST: ClassVar[float] = 0.0
    PRIOR: ClassVar[float] = 1.0

    def __init__(self) -> None:
        self.last = NONE
        self.counts: dict[int, float] = {}  # labels by class, the older the less
        self.excess = self.variance = 0.0

    @property
    def holds(self) -> bool:
        """Whether labels hang together in time."""
        return self.excess > SURE * math.sqrt(self.variance)

    def see(self, label: int) -> None:
        """Note the class of a label, and whether the last one told it."""
        if self.last != NONE:
            q = self.counts[self.last] / sum(self.counts.values())
            self.excess = FADING * self.excess + (label == self.last) - q
            self.variance = FADING * self.variance + q * (1 - q)
        self.counts = {each: FADING * count for each, count in self.counts.items()}
        self.counts[label] = self.counts.get(label, 0.0) + 1
        self.last = label

    def estimate(self, x: Floats, f1: Floats, f2: Floats) -> Floats:
        """v - p of each class, f1 (B, k) → (B, k); 0 unless labels hang together."""
        if not self.holds:
            return np.zeros_like(f1)
        found: Floats = -f1.clip(0, 1)
        found[:, self.last] += 1
        return found

    def learn(self, history: History, scaling: Scaling, features: FeatureIndex, n: int) -> None:
        """Note the latest of n more labels, but for those that weigh nothing."""
        _, classes, w = history.stored(history.labelled()[-min(n, TOLD) :])
        for label in classes[w > 0].tolist():
            self.see(label)

    def renewed(self) -> Self:
        """One that has seen no label; this one stays as it is."""
        return type(self)()
