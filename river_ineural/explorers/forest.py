"""A random forest as an explorer: it finds rules that a network learns slowly."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from river_ineural.explorers import trees
from river_ineural.features.constants import CONSTANT, MOST_COLUMNS, TINY
from river_ineural.features.jit import loop
from river_ineural.features.scaling import Scaling
from river_ineural.history import History

Floats = NDArray[np.floating[Any]]
Array = NDArray[Any]
Nodes = tuple[Array, Array, Array, Array]

TREES = 64  # a multiple of `trees.TOGETHER`
NODES = 511  # of a tree, at most
EXAMPLES = 768  # of which trees are grown, at most
TRIED, OF_MANY, MOST_TRIED = 16, 4, 256  # features of which a node takes the best: `n_tried`
DENSE = 0.4  # of more than 256 features: trees of words or digits, which have fewer, are worse
MOST_ANEW, POWER = 45, 1.5  # labels up to which all trees are grown; how fast it then falls
SELDOM = 0.3  # trees due at a label, at least
PARTS = "feature", "threshold", "child"  # of each node
NODE = np.dtype([("threshold", "f8"), ("child", "i4"), ("feature", "i2")], align=True)
RANKS = "ranks", "n_ranked", "nodes"  # attributes that no copy has


def nodes_for(n: int) -> Nodes:
    """Trees without a vote, with room for n nodes each, as `trees.votes` takes them.

    Feature, threshold and child of a node lie side by side, so that they come from memory at once.
    """
    nodes = np.zeros((TREES, n), NODE)
    nodes["feature"] = nodes["child"] = -1
    at = np.empty(trees.TOGETHER, np.int64)
    return nodes["feature"], nodes["threshold"], nodes["child"], at


NO_NODES = nodes_for(1)


class Forest:
    """An explorer: a random forest on the labelled examples in the history.

    Its trees vote for classes, and v(x) are the shares of the votes. It estimates the residual
    r1 - f1 by

        v(x) - p(x)

    where p is f1 clipped to [0, 1]. The part of f1 above 1 is kept: it shows that x is far from the
    learned examples, where trees, which know no slope, stay as sure as ever. With few labels a
    network is smooth and a forest is not. So trees are right where thresholds decide the class, f1
    is right where classes part along a slope, and elsewhere their mistakes differ. Above 4,096
    features no tree is grown, nor above 256 of which examples have less than two fifths, as of
    words. Trees that were grown before stay as they are.

    A tree is grown on a bootstrap sample of at most 768 labelled examples, until its leaves are
    pure or no feature tells their examples apart. An example is in it as often as a Poisson
    variable of mean 1 says, always the same for a tree and an example. So a label that a sample
    does not hold leaves its tree as it is. Each node takes the best of `n_tried` features.

    Up to 45 labels all trees are grown at each label. With n labels a part (45 / n)^(3/2) of them
    is due, and at least three every ten labels, the oldest first. So the work for a label is
    bounded, and the forest follows the stream.

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
        self.seed = int(rng.integers(2**62))  # of the samples
        self.stale = np.ones(TREES, np.bool_)  # whether a label has entered its sample since
        self.oldest = 0
        self.due = float(TREES)  # trees to be grown, at first all
        self._bind()

    def _bind(self, nodes: Nodes = NO_NODES) -> None:
        """Take these trees as they are; no ranks are known."""
        self.nodes = nodes
        self.feature, self.threshold, self.child, _ = nodes  # as `trees.grow` writes them
        self.ranks: tuple[Any, Any, Any] | None = None  # of the first labelled rows
        self.n_ranked = 0

    def __getstate__(self) -> dict[str, Any]:
        """Without unused nodes, and without ranks, which are made anew."""
        n = 1 + max(np.flatnonzero((self.child >= 0).any(axis=0)), default=self.grown - 1)
        nodes = {name: getattr(self, name)[:, :n] for name in PARTS}
        return {name: part for name, part in self.__dict__.items() if name not in RANKS} | nodes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, stale=state["stale"].copy())
        held = [state[name] for name in PARTS]
        self._bind(nodes_for(NODES) if held[0].shape[1] else NO_NODES)
        for room, part in zip(self.nodes, held, strict=False):
            room[:, : part.shape[1]] = part

    @property
    def grown(self) -> bool:
        """Whether there are trees."""
        return self.nodes is not NO_NODES

    def estimate(self, x: Floats, f1: Floats) -> Floats:
        """v - p of each class: raw x (B, d), f1 (B, k) → (B, k); 0 before there are trees."""
        if not self.grown:
            return np.zeros_like(f1)
        found = np.empty_like(f1)
        trees.votes(x, f1, *self.nodes, found)
        return found

    def forget(self, columns: NDArray[np.int64]) -> None:
        """Let splits by these columns, which get new features, see 0, as the history then holds."""
        self.ranks = None
        if self.grown:
            gone = np.isin(self.feature, columns)
            self.stale |= gone.any(axis=1)
            self.feature[gone] = 0  # the constant's column, which is 0 in raw vectors

    def learn(self, history: History, scaling: Scaling, n: int) -> None:
        """Grow the trees due after n more labels, on the examples and features of the history."""
        held, end = history.n_labelled, history.added[0]
        if held <= MOST_ANEW or held > EXAMPLES or n > held:
            self.stale[:] = True
        else:  # trees that hold one of the new examples, or of those that they replace
            enter(self.seed, end - n, end, self.stale)
            enter(self.seed, max(0, end - n - held), end - held, self.stale)
        part = min(1.0, (MOST_ANEW / held) ** POWER)
        self._grow(history, scaling, n * max(SELDOM, TREES * part))

    def relearn(self, history: History, scaling: Scaling, serial: int) -> None:
        """Grow anew the trees whose samples hold an example whose label has changed."""
        holds = np.zeros(TREES, np.bool_)
        enter(self.seed, serial, serial + 1, holds)
        drawn = min(1.0, EXAMPLES / history.n_labelled)  # part of the examples in each sample
        self.stale |= holds | (drawn < 1)
        self._grow(history, scaling, float(holds.sum() * drawn))

    def _grow(self, history: History, scaling: Scaling, due: float) -> None:
        """Grow the trees that are due, so many more than before; none where none may grow."""
        if not may_grow(history, scaling):
            self.stale[:] = True
            return
        n_classes, held, end = history.targets.shape[2], history.n_labelled, history.added[0]
        self.due = min(float(TREES), self.due + due)
        if self.due < 1:
            return
        n_tries = n_tried(history.n_features - CONSTANT, scaling.n_there)
        columns = CONSTANT + np.flatnonzero(scaling.varies()[CONSTANT : history.n_features])
        if not len(columns):
            return
        if not self.grown:
            self._bind(nodes_for(NODES))
        rows, serials = history.labelled(), np.arange(end - held, end)
        if held > EXAMPLES:
            chosen = self.rng.choice(held, EXAMPLES, replace=False)
            rows, serials = rows[chosen], serials[chosen]
        classes, weights = np.empty(len(rows), trees.RANK), np.empty(len(rows))
        examples_of(history.targets, history.weight, rows, classes, weights)
        examples = classes, n_classes, weights, serials
        seeds, n_due = (self.seed, int(self.rng.integers(2**62))), int(self.due)
        n_grown, n_passed = trees.grow(
            *(self._ranked(history, rows), *examples, columns, n_tries, seeds, self.stale),
            *(n_due, self.oldest, self.feature, self.threshold, self.child),
        )
        self.oldest = (self.oldest + n_passed) % TREES
        self.due = self.due - n_due if n_grown == n_due else 0.0

    def _ranked(self, history: History, rows: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        """The ranks of these rows: those of the first ones are kept up by insertion."""
        n, d = len(rows), history.n_features
        first = history.added[0] <= min(EXAMPLES, history.capacities[0])
        if first and self.ranks:
            insert(history.x, self.n_ranked, n, *self.ranks)
        else:
            self.ranks = new_ranks(d, EXAMPLES if first else n)
            x = history.x[rows, :d]
            ranked(x, x.T.argsort(axis=1), *self.ranks)
        ranks, self.n_ranked = self.ranks, n
        self.ranks = ranks if first else None
        return ranks

    def renewed(self) -> Self:
        """A forest without trees; this one stays as it is."""
        return type(self)(copy.deepcopy(self.rng))


def may_grow(history: History, scaling: Scaling) -> bool:
    """Whether there are two classes, and not too many features."""
    d = history.n_features
    dense = scaling.narrow or scaling.n_there >= DENSE * d
    return bool(history.targets.shape[2] > 1 and d - CONSTANT <= MOST_COLUMNS and dense)


def n_tried(d: int, n_there: float) -> int:
    """Of how many of d features a node takes the best: half of them, but at most 16, or a quarter
    of the features that an example has, if these are more; and at most 256.

    Where 5 of 400 features tell the classes apart, a quarter made 0.4 of the mistakes of 16.
    """
    return min(max(1, d // 2), max(TRIED, round(n_there) // OF_MANY), MOST_TRIED)


def new_ranks(d: int, n: int) -> tuple[Any, Any, Any]:
    """Memory for the ranks of n values of each of d features: see `trees.grow`."""
    return np.empty((d, n), trees.RANK), np.empty((d, n)), np.zeros(d, np.int64)


@loop
def examples_of(targets: Array, weight: Array, rows: Array, classes: Array, weights: Array) -> None:
    """Write the classes of rows of the history, and their weights as whole numbers, both (n,).

    Weights are in units of 1/2¹⁸ of the largest. So all sums are exact. Each weight above 0 is at
    least one unit.
    """
    most = TINY
    for i in range(len(rows)):
        label, given = 0, targets[rows[i], 0]
        for c in range(len(given)):
            label = c if given[c] > given[label] else label
        classes[i], weights[i] = label, weight[rows[i]]
        most = max(most, weights[i])
    for i in range(len(rows)):
        weights[i] = np.ceil(weights[i] * (trees.HEAVIEST / most))


@loop
def enter(seed: int, first: int, end: int, stale: Array) -> None:
    """Mark the trees whose samples hold any of the examples of these serial numbers."""
    for tree in range(len(stale)):
        for serial in range(first, end):
            if trees.times(seed, tree, serial, len(stale)):
                stale[tree] = True


@loop
def insert(x: Array, first: int, end: int, rank: Array, distinct: Array, n_values: Array) -> None:
    """Insert rows of x (rows, d) into ranks (d, rows), those before `first` being there already.

    distinct (d, rows) are the values of each feature in ascending order, `n_values` (d,) of them.
    """
    for row in range(first, end):
        for j in range(len(n_values)):
            value, low, high = x[row, j], 0, n_values[j]
            while low < high:
                middle = (low + high) // 2
                if distinct[j, middle] < value:
                    low = middle + 1
                else:
                    high = middle
            if low == n_values[j] or distinct[j, low] > value:
                for i in range(n_values[j], low, -1):
                    distinct[j, i] = distinct[j, i - 1]
                distinct[j, low] = value
                n_values[j] += 1
                for i in range(row):
                    rank[j, i] += rank[j, i] >= low
            rank[j, row] = low


@loop
def ranked(x: Array, order: Array, rank: Array, distinct: Array, n_values: Array) -> None:
    """Write the ranks of all rows of x (rows, d), from their order by each feature, (d, rows)."""
    for j in range(len(n_values)):
        n = -1
        for row in order[j]:
            if n < 0 or x[row, j] > distinct[j, n]:
                n += 1
                distinct[j, n] = x[row, j]
            rank[j, row] = n
        n_values[j] = n + 1
