"""The forest beside f1, written out: a node at a time, a split at a time.

Nothing is shared with the package but the draws of its generator, made here in the same order.
"""

import itertools
from collections import deque

import numpy as np

TREES, NODES, EXAMPLES, DRAWS = 64, 511, 768, 1024
FEW, SELDOM = 100, 0.3


class Node:
    """A leaf, until it is split. Weights (n, k) are 0 but at the class of each example."""

    def __init__(self, x, weights):
        self.x, self.weights = x, weights
        self.total = weights.sum(axis=0)
        self.left = None

    def vote(self, x):
        """The class, None of no examples."""
        if self.left is None:
            return int(self.total.argmax()) if len(self.x) else None
        return (self.left if x[self.feature] <= self.threshold else self.right).vote(x)


def purity(weights):
    """Σ_y w_y² / Σ_y w_y, which grows as Gini impurity falls."""
    return (weights**2).sum(axis=-1) / weights.sum(axis=-1)


def tree(x, weights, features, n_tries, draws):
    """Level by level; features are drawn for each node from those that vary there."""
    there = weights.any(axis=1)
    root = Node(x[there], weights[there])
    order, waiting, n_nodes = list(features), deque([root]), 1
    while waiting:
        node = waiting.popleft()
        if (node.total > 0).sum() < 2 or n_nodes + 2 > NODES:
            continue
        best, split = purity(node.total) * (1 + 1e-9), None
        left, tried = len(order), 0
        while left and tried < n_tries:
            drawn = int(next(draws) * left)
            left -= 1
            order[drawn], order[left] = order[left], order[drawn]
            feature = order[left]
            ascending = np.argsort(node.x[:, feature], kind="stable")
            values = node.x[ascending, feature]
            parts = np.flatnonzero(values[1:] > values[:-1])
            tried += len(parts) > 0
            below = node.weights[ascending].cumsum(axis=0)[parts]
            found = purity(np.stack([below, node.total - below])).sum(axis=0)
            for i in np.flatnonzero(found > best):
                if found[i] > best:
                    middle = (values[parts[i]] + values[parts[i] + 1]) / 2
                    best, split = found[i] * (1 + 1e-9), (feature, middle)
        if split:
            node.feature, node.threshold = split
            low = node.x[:, node.feature] <= node.threshold
            node.left, node.right = (Node(node.x[s], node.weights[s]) for s in (low, ~low))
            waiting += [node.left, node.right]
            n_nodes += 2
    return root


class ReferenceForest:
    """Trees that vote."""

    def __init__(self, rng):
        self.rng = rng
        self.trees, self.due = deque([None] * TREES), float(TREES)  # the oldest in front

    def estimate(self, x, f1):
        """v - p of each class; 0 without trees."""
        if self.trees[-1] is None:
            return [0.0] * len(f1)
        said = [each.vote(x) for each in self.trees]
        return [said.count(y) / TREES - min(1, max(0, f)) for y, f in enumerate(f1)]

    def learn(self, x, weights, features, n_tries, n):
        """After n more labels: all examples x (held, d), the oldest first, weights (held, k)."""
        if weights.shape[1] < 2 or not features:
            return
        held = len(x)
        self.due = min(TREES, self.due + n * max(SELDOM, TREES * min(1, (FEW / held) ** 1.5)))
        if self.due >= 1 and held > EXAMPLES:
            chosen = self.rng.choice(held, EXAMPLES, replace=False)
            x, weights = x[chosen], weights[chosen]
        while self.due >= 1:
            self.due -= 1
            drawn = (self.rng.random(len(x)) * len(x)).astype(int)
            often = np.bincount(drawn, minlength=len(x))
            draws = itertools.cycle(self.rng.random(DRAWS).tolist())
            self.trees.popleft()
            self.trees.append(tree(x, weights * often[:, None], features, n_tries, draws))
