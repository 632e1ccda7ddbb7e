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
DOUBT = 0.05  # of what f1 says of a class
SURE = 3.0  # standard deviations beyond chance from which labels hang together


class LastLabel:
    """An explorer: the class of the last given label, as far as it still lasts.

    In many streams the next label is mostly the last one: a state that lasts, or classes that come
    one after the other. f1 and the forest see only x, and they need several labels of a new class
    before they predict it. Let l be the class of the last given label, q its share among the
    labels, and κ the probability that it lasts until now. Bayes' rule gives for p = f1 within
    [0, 1], with 0.05 more because f1 can be wrong about a class that it says is impossible,

        b_i ∝ (p_i + 0.05) (κ [i = l] / q + 1 - κ),    Σ_i b_i = 1

    and what f1 gets wrong, r1 - f1, is estimated by b - p. Each example learned is a chance h for
    the class to end, so that κ = (1 - h)^(examples since that label, this one included). At each
    label that follows another

        changes ← 0.98 changes + [it differs],    examples ← 0.98 examples + examples since the last
        h = (changes + 1) / (examples + 1)

    It says 0 until the labels hang together in time: until the next label was the last one more
    often than chance allows. By chance it is with probability q. With s = 1 where it was, else 0,
    each label moves

        excess ← 0.98 excess + s - q,    variance ← 0.98 variance + q (1 - q)

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
    >>> f1 = np.array([[0.75, 0.5]])
    >>> f1 + last.estimate(np.zeros((1, 0)), f1, f1)
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
        self.age = 0  # examples learned since the last label
        self.counts: dict[int, float] = {}  # labels by class, the older the less
        self.excess = self.variance = self.changes = self.examples = 0.0

    @property
    def holds(self) -> bool:
        """Whether labels hang together in time."""
        return self.excess > SURE * math.sqrt(self.variance)

    @property
    def share(self) -> float:
        """Of the last label's class, among the labels."""
        return self.counts[self.last] / sum(self.counts.values())

    @property
    def lasts(self) -> float:
        """Probability that the class of the last label lasts until the next example."""
        ends = (self.changes + 1) / (self.examples + 1)
        return float((1 - ends) ** (self.age + 1))

    def see(self, label: int) -> None:
        """Note the class of the next example, and whether the last label told it."""
        self.age += 1
        if self.last != NONE:
            q, same = self.share, label == self.last
            self.excess = FADING * self.excess + same - q
            self.variance = FADING * self.variance + q * (1 - q)
            self.changes = FADING * self.changes + (not same)
            self.examples = FADING * self.examples + self.age
        self.counts = {each: FADING * count for each, count in self.counts.items()}
        self.counts[label] = self.counts.get(label, 0.0) + 1
        self.last, self.age = label, 0

    def estimate(self, x: Floats, f1: Floats, f2: Floats) -> Floats:
        """b - p of each class, f1 (B, k) → (B, k); 0 unless labels hang together."""
        if not self.holds:
            return np.zeros_like(f1)
        lasts = self.lasts
        likely = np.full(f1.shape[1], 1 - lasts, f1.dtype)
        likely[self.last] += lasts / self.share
        p = f1.clip(0, 1)
        b = (p + DOUBT) * likely
        found: Floats = b / b.sum(axis=1, keepdims=True) - p
        return found

    def learn(
        self, history: History, scaling: Scaling, features: FeatureIndex, n: int, pseudo_label: bool
    ) -> None:
        """Note the latest of n more labels, but for those that weigh nothing."""
        if pseudo_label:
            self.age += n
            return
        _, classes, w = history.stored(history.labelled()[-min(n, TOLD) :])
        for label, weight in zip(classes.tolist(), w, strict=True):
            if weight > 0:
                self.see(label)
            else:
                self.age += 1

    def renewed(self) -> Self:
        """One that has seen no label; this one stays as it is."""
        return type(self)()
