"""A random forest as an explorer: it finds rules that a network learns slowly."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from river_ineural.explorers import trees
from river_ineural.features.constants import CONSTANT
from river_ineural.features.scaling import Scaling
from river_ineural.history import History

__all__ = ["Forest"]

Floats = NDArray[np.floating[Any]]

TREES = 64
NODES = 511  # of a tree, at most
EXAMPLES = 768  # of which trees are grown, at most
MOST_TRIED = 16  # features of which a node takes the best, at most; else half of them
DRAWS = 1024  # random numbers of a tree
FEW, POWER = 100, 1.5  # labels up to which all trees are grown at each; how fast it then falls
SELDOM = 0.3  # trees grown at a label, at least


class Forest:
    """An explorer: a random forest on the labelled examples in the history.

    Its trees vote for classes, and v(x) are the shares of the votes. It estimates the residual
    r1 - f1 by

        v(x) - p(x)

    where p is f1 clipped to [0, 1]. The part of f1 above 1 is kept: it shows that x is far from the
    learned examples, where trees, which know no slope, stay as sure as ever. With few labels a
    network is smooth and a forest is not. So trees are right where thresholds decide the class, f1
    is right where classes part along a slope, and elsewhere their mistakes differ. Above 256
    features no forest is grown, and the estimate is 0.

    A tree is grown on a bootstrap sample of at most 768 labelled examples, until its leaves are
    pure. Each node takes the best of half of the features, 16 at most. Up to 100 labels all trees
    are grown at each label. With n labels a part (100 / n)^(3/2) of them is, and at least three
    every ten labels, the oldest first. So the work for a label is bounded, and the forest follows
    the stream. With 40 / n a stream took 0.7 of the time and made 1.011 of the mistakes (13
    tables, five seeds).

    Parameters
    ----------
    rng
        Generator of the draws, owned by this object.

    References
    ----------
    Breiman: Random forests. Machine Learning, 2001.
    """

    TRUST: ClassVar[float] = 0.5
    PRIOR: ClassVar[float] = 5.0

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.feature = np.empty((TREES, 0), np.int16)  # of each node, as `trees.grow` writes them
        self.threshold = np.empty((TREES, 0))
        self.child = np.empty((TREES, 0), np.int32)
        self.oldest = 0
        self.due = float(TREES)  # trees to be grown, at first all

    def __getstate__(self) -> dict[str, Any]:
        """Without unused nodes."""
        n = 1 + max(np.flatnonzero((self.child >= 0).any(axis=0)), default=-1)
        nodes = ("feature", "threshold", "child")
        return self.__dict__ | {name: getattr(self, name)[:, :n].copy() for name in nodes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.grown:
            self._make_room()

    def _make_room(self) -> None:
        """Make room for trees of any size. Trees that are not grown yet do not vote."""
        more = ((0, 0), (0, NODES - self.feature.shape[1]))
        feature, child = (np.pad(a, more, constant_values=-1) for a in (self.feature, self.child))
        threshold = np.pad(self.threshold, more)
        self.__dict__.update(feature=feature, threshold=threshold, child=child)

    @property
    def grown(self) -> bool:
        """Whether there are trees."""
        return self.feature.shape[1] > 0

    def estimate(self, x: Floats, f1: Floats, f2: Floats) -> Floats:
        """v - p of each class: raw x (B, d), f1 (B, k) → (B, k); 0 before there are trees."""
        if not self.grown:
            return np.zeros_like(f1)
        nodes = self.feature, self.threshold, self.child
        found: Floats = trees.residual_estimates(x, f1, *nodes)
        return found

    def learn(self, history: History, scaling: Scaling, n: int, pseudo_label: bool) -> None:
        """Grow the trees due after n more labels, on the examples and features of the history."""
        held, n_classes = history.n_labelled, history.targets.shape[2]
        if pseudo_label or n_classes < 2 or not scaling.narrow:
            return
        part = min(1.0, (FEW / held) ** POWER)
        self.due = min(float(TREES), self.due + n * max(SELDOM, TREES * part))
        if self.due < 1:
            return
        columns = np.arange(CONSTANT, history.n_features)
        n_tries = min(MOST_TRIED, max(1, len(columns) // 2))
        columns = columns[scaling.varies()[columns]]
        if not len(columns):
            return
        if not self.grown:
            self._make_room()
        rows = history.labelled()
        if held > EXAMPLES:
            rows = rows[self.rng.choice(held, EXAMPLES, replace=False)]
        found, classes, w = history.examples(rows)
        x = np.ascontiguousarray(found.T[columns])
        order = x.argsort(axis=1).astype(trees.ROW)
        n_trees = int(self.due)
        numbers = self.rng.random((n_trees, len(rows) + DRAWS))
        sample = x, order, classes.astype(trees.ROW), w
        nodes = self.feature, self.threshold, self.child
        room = np.empty((NODES, n_classes))
        trees.grow(*sample, columns, n_tries, numbers, room, self.oldest, *nodes)
        self.oldest = (self.oldest + n_trees) % TREES
        self.due -= n_trees

    def renewed(self) -> Self:
        """A forest without trees; this one stays as it is."""
        return type(self)(copy.deepcopy(self.rng))
