"""The forest beside f1, written out: an example at a time, a split at a time.

Nothing is shared with the package but the draws of its generator, made here in the same order.
"""

from __future__ import annotations

import itertools
from collections import deque

TREES, NODES, EXAMPLES, FEW, DRAWS = 64, 511, 768, 50, 1024


class Node:
    """A leaf, until it is split."""

    def __init__(self, examples, n_classes):
        self.examples = examples  # (x, class, weight)
        self.weights = [sum(w for _, c, w in examples if c == y) for y in range(n_classes)]
        self.left = self.right = None

    @property
    def mixed(self):
        return sum(weight > 0 for weight in self.weights) > 1

    @property
    def label(self):
        """The commonest class, None of no examples."""
        return self.weights.index(max(self.weights)) if self.examples else None

    def vote(self, x):
        if self.left is None:
            return self.label
        return (self.left if x[self.feature] <= self.threshold else self.right).vote(x)


def purity(examples, n_classes):
    """Σ_y w_y² / Σ_y w_y, which grows as Gini impurity falls."""
    weights = Node(examples, n_classes).weights
    return sum(weight**2 for weight in weights) / sum(weights)


def tree(examples, features, n_tries, n_classes, draws):
    """Level by level; features are drawn for each node from those that vary there."""
    root = Node([example for example in examples if example[2] > 0], n_classes)
    order, waiting, n_nodes = list(features), deque([root]), 1
    while waiting:
        node = waiting.popleft()
        if not node.mixed or n_nodes + 2 > NODES:
            continue
        best, split = purity(node.examples, n_classes) * (1 + 1e-9), None
        left, tried = len(order), 0
        while left and tried < n_tries:
            drawn = int(next(draws) * left)
            left -= 1
            order[drawn], order[left] = order[left], order[drawn]
            feature = order[left]
            values = sorted({x[feature] for x, _, _ in node.examples})
            tried += len(values) > 1
            for low, high in itertools.pairwise(values):
                sides = [
                    [e for e in node.examples if (e[0][feature] <= low) == wanted]
                    for wanted in (True, False)
                ]
                found = sum(purity(side, n_classes) for side in sides)
                if found > best:
                    best, split = found * (1 + 1e-9), (feature, (low + high) / 2, sides)
        if split:
            node.feature, node.threshold, sides = split
            node.left, node.right = (Node(side, n_classes) for side in sides)
            waiting += [node.left, node.right]
            n_nodes += 2
    return root


class ReferenceForest:
    """Its trees, and ω."""

    def __init__(self, rng):
        self.rng = rng
        self.trees, self.due = deque([None] * TREES), float(TREES)  # the oldest in front
        self.told, self.of = 0.0, 0.0

    @property
    def part(self):
        return min(1.0, max(0.0, (2.5 + self.told) / (5 + self.of)))

    def apart(self, x, f1):
        """v - p of each class."""
        said = [each.vote(x) for each in self.trees]
        return [said.count(y) / TREES - min(1, max(0, f)) for y, f in enumerate(f1)]

    def corrections(self, x, f1):
        if self.trees[-1] is None:
            return [0.0] * len(f1)
        return [self.part * each for each in self.apart(x, f1)]

    def weigh(self, x, f1, residual, weight):
        if self.trees[-1] is not None and weight > 0:
            apart = self.apart(x, f1)
            self.told = 0.99 * self.told + sum(r * a for r, a in zip(residual, apart, strict=True))
            self.of = 0.99 * self.of + sum(a * a for a in apart)

    def learn(self, examples, features, n_tries, n_classes, n):
        """`examples`, the oldest first: (x, class, weight)."""
        held = len(examples)
        if n_classes < 2 or not features:
            return
        self.due = min(TREES, self.due + n * max(0.1, TREES * min(1, (FEW / held) ** 1.5)))
        if self.due >= 1 and held > EXAMPLES:
            examples = [examples[i] for i in self.rng.choice(held, EXAMPLES, replace=False)]
        while self.due >= 1:
            self.due -= 1
            drawn = [int(self.rng.random() * len(examples)) for _ in examples]
            sample = [
                (x, y, w * drawn.count(i)) for i, (x, y, w) in enumerate(examples) if i in drawn
            ]
            self.trees.popleft()
            draws = itertools.cycle(self.rng.random(DRAWS).tolist())
            self.trees.append(tree(sample, features, n_tries, n_classes, draws))
