"""The forest beside f1, written out: a node at a time, a split at a time.

Nothing is shared with the package but the draws of its generator, made here in the same order.
"""

import math
from collections import deque

import numpy as np

TREES, NODES, EXAMPLES = 64, 511, 768
SELDOM, ANEW = 0.3, 45
WORD = 2**64 - 1
UP_TO = [sum(math.exp(-1) / math.factorial(i) for i in range(n + 1)) for n in range(7)]  # P(≤ n)
BOUNDS = [int(2**32 * part) for part in UP_TO]


def uniform(seed, at):
    """The `at`-th number in [0, 2³²) of SplitMix64 from a seed."""
    z = (seed + 0x9E3779B97F4A7C15 * (at + 1)) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return (z ^ (z >> 31)) >> 32


def poisson(u):
    """The smallest n up to 7 with P(Poisson(1) ≤ n) above u / 2³²."""
    return sum(u >= bound for bound in BOUNDS)


class Node:
    """A leaf, until it is split. Weights (n, k) are 0 but at the class of each example."""

    def __init__(self, x, weights):
        self.x, self.weights = x, weights
        self.total = weights.sum(axis=0)
        self.left = None

    def vote(self, x, p):
        """Shares of the classes: that of the first one, and of the others parts of the rest in
        proportion to p; 0 of no examples.
        """
        if self.left is not None:
            return (self.left if x[self.feature] <= self.threshold else self.right).vote(x, p)
        top, w, others = self.total.argmax(), self.total.sum(), np.array(p)
        if not w:
            return 0 * others
        others[top] = 0
        part = self.total[top] / w
        others = others / others.sum() if others.any() else np.full(len(p), 1 / (len(p) - 1))
        return np.where(np.arange(len(p)) == top, part, (1 - part) * others)


def purity(weights):
    """Σ_y w_y² / Σ_y w_y, which grows as Gini impurity falls."""
    return (weights**2).sum(axis=-1) / weights.sum(axis=-1)


def tree(x, weights, features, n_tries, seed):
    """Level by level; features are drawn for each node from those that vary there."""
    there = weights.any(axis=1)
    root = Node(x[there], weights[there])
    order, waiting, n_nodes, n_drawn = list(features), deque([root]), 1, 0
    while waiting:
        node = waiting.popleft()
        if (node.total > 0).sum() < 2 or n_nodes + 2 > NODES:
            continue
        best, split = purity(node.total) * (1 + 1e-9), None
        left, tried = len(order), 0
        while left and tried < n_tries and best < node.total.sum():  # else both sides are pure
            drawn = (uniform(seed, n_drawn) * left) >> 32
            n_drawn += 1
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
        self.rng, self.seed = rng, int(rng.integers(2**62))
        self.trees, self.stale, self.oldest = [None] * TREES, [True] * TREES, 0
        self.due = float(TREES)

    def estimate(self, x, f1):
        """v - p of each class; 0 without trees."""
        if not any(self.trees):
            return [0.0] * len(f1)
        p = [min(1, max(0, f)) for f in f1]
        said = sum(each.vote(x, p) for each in self.trees if each) / TREES
        return (said - p).tolist()

    def often(self, each, serial):
        """How often the sample of a tree holds an example."""
        return poisson(uniform(self.seed, serial * TREES + each))

    def learn(self, x, weights, features, n_tries, n, end):
        """After n more labels, `end` in all: all examples x (held, d), the oldest first, weights
        (held, k).
        """
        held = len(x)
        if weights.shape[1] < 2:
            return
        if held <= ANEW or held > EXAMPLES or n > held:
            self.stale = [True] * TREES
        else:
            moved = [*range(end - n, end), *range(max(0, end - n - held), end - held)]
            for each in range(TREES):
                self.stale[each] |= any(self.often(each, serial) for serial in moved)
        self.due = min(TREES, self.due + n * max(SELDOM, TREES * min(1, (ANEW / held) ** 1.5)))
        if self.due < 1 or not features:
            return
        serials = np.arange(end - held, end)
        if held > EXAMPLES:
            chosen = self.rng.choice(held, EXAMPLES, replace=False)
            x, weights, serials = x[chosen], weights[chosen], serials[chosen]
        weights = np.ceil(weights * (2**18 / max(weights.max(), 1e-12)))  # whole numbers
        seed, n_due, n_grown = int(self.rng.integers(2**62)), int(self.due), 0
        for _ in range(TREES):
            if n_grown == n_due:
                break
            each, self.oldest = self.oldest, (self.oldest + 1) % TREES
            if self.stale[each]:
                often = np.array([self.often(each, serial) for serial in serials.tolist()])
                drawn = uniform(seed, each)
                self.trees[each] = tree(x, weights * often[:, None], features, n_tries, drawn)
                self.stale[each], n_grown = False, n_grown + 1
        self.due = self.due - n_due if n_grown == n_due else 0.0
