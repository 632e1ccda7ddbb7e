"""Compiled loops that grow trees, and that let them vote."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.jit import loop

__all__ = ["ROW", "residual_estimates", "grow"]

Array = NDArray[Any]

BETTER = 1 + 1e-9  # times as pure as the best split so far, so that rounding decides nothing
FEW_VALUES = 32  # up to so many values are counted; by other features examples are kept sorted
ROW = np.uint16  # of rows, classes and ranks: indices without a sign need no check for one


@loop
def ranked(x: Array, order: Array) -> tuple[Array, Array]:
    """Rank of each value among the distinct values of its feature (d, n); their number (d + 1,)."""
    rank, n_values = np.empty(x.shape, ROW), np.empty(len(x) + 1, np.int64)
    for j in range(len(x)):
        n = 0
        for i, row in enumerate(order[j]):
            n += i > 0 and x[j, row] > x[j, order[j, i - 1]]
            rank[j, row] = n
        n_values[j] = n + 1
    n_values[-1] = FEW_VALUES + 1  # the last row belongs to no feature, and is always kept
    return rank, n_values


@loop
def purest(
    rank: Array,
    n_values: Array,
    classes: Array,
    weight: Array,
    rows: Array,
    total: Array,
    tried: Array,
    n_tries: int,
    draws: Array,
    n_drawn: int,
    counted: Array,
) -> tuple[int, int, int]:
    """The split of a node with the least Gini impurity, if that is less than without a split.

    Returns its feature or -1, the last rank on its left, and the number of used `draws`. `rows` of
    the node are in ascending order of each feature, and in any order in the last line; `total` (k,)
    is the weight of its classes. `tried` and `counted` (values + 1, k) are overwritten.
    """
    mass = squares = 0.0
    for c in range(len(total)):
        mass += total[c]
        squares += total[c] * total[c]
    best, found, last = squares / mass * BETTER, -1, -1
    left, n_left, n_tried = counted[-1], len(tried), 0
    while n_left and n_tried < n_tries:
        drawn = int(draws[n_drawn % len(draws)] * n_left)
        n_drawn += 1
        n_left -= 1
        j = tried[drawn]
        tried[drawn], tried[n_left] = tried[n_left], j
        ranks, left[:] = rank[j], 0
        mass_left, squares_left, squares_right = 0.0, 0.0, squares
        if n_values[j] <= FEW_VALUES:
            counted[: n_values[j]] = 0
            for row in rows[-1]:
                counted[ranks[row], classes[row]] += weight[row]
            n_there, low = 0, -1
            for value in range(n_values[j]):
                here = 0.0
                for c in range(len(total)):
                    here += counted[value, c]
                if here == 0:
                    continue
                if n_there:
                    purity = squares_left / mass_left + squares_right / (mass - mass_left)
                    if purity > best:
                        best, found, last = purity * BETTER, j, low
                n_there, low = n_there + 1, value
                mass_left += here
                for c in range(len(total)):
                    w = counted[value, c]
                    squares_left += w * (2 * left[c] + w)
                    squares_right -= w * (2 * (total[c] - left[c]) - w)
                    left[c] += w
            n_tried += n_there > 1
            continue
        ascending = rows[j]
        high = int(ranks[ascending[0]])
        if high == ranks[ascending[-1]]:
            continue
        n_tried += 1
        for i in range(len(ascending) - 1):
            c, w = classes[ascending[i]], weight[ascending[i]]
            squares_left += w * (2 * left[c] + w)
            squares_right -= w * (2 * (total[c] - left[c]) - w)
            left[c] += w
            mass_left += w
            low, high = high, int(ranks[ascending[i + 1]])
            if low < high:
                purity = squares_left / mass_left + squares_right / (mass - mass_left)
                if purity > best:
                    best, found, last = purity * BETTER, j, low
    return found, last, n_drawn


@loop
def present(total: Array) -> tuple[int, int]:
    """The number of classes with a weight, of (k,), and the heaviest of them or -1."""
    n, top = 0, -1
    for c in range(len(total)):
        n += total[c] > 0
        if total[c] > (total[top] if top >= 0 else 0):
            top = c
    return n, top


@loop
def parted(
    rows: Array, n_values: Array, goes_left: Array, both: bool, left: bool, later: Array
) -> int:
    """Move the rows of one side to the front of (d + 1, n), ascending by each feature as before.

    With `both` the rows of the left side come first and the others follow; otherwise only the rows
    of one side are kept. Returns their number.
    """
    n = 0
    for j in range(len(rows)):
        if n_values[j] <= FEW_VALUES:
            continue
        n = n_later = 0
        each = rows[j]
        for i in range(len(each)):  # without a branch, which is often mispredicted
            row = each[i]
            each[n] = later[n_later] = row
            n += goes_left[row] == left
            n_later += goes_left[row] != left
        if both:
            for i in range(n_later):
                each[n + i] = later[i]
    return n


@loop
def grow(
    x: Array,
    order: Array,
    classes: Array,
    weights: Array,
    columns: Array,
    n_tries: int,
    numbers: Array,
    total: Array,
    oldest: int,
    feature: Array,
    threshold: Array,
    child: Array,
) -> None:
    """Grow classification trees (Breiman, Random forests, 2001) until their leaves are pure.

    Each tree is grown on a bootstrap sample: as many examples, drawn with replacement. A node is
    split where Gini impurity falls most, at one of `n_tries` features, drawn of those that vary
    there, and in the middle between two of their values. Nodes are numbered as they are met, level
    by level.

    Parameters
    ----------
    x, order, classes, weights
        Features of examples (d, n); the order of the examples by each feature (d, n); their classes
        (n,); their weights (n,), at least 0.
    columns
        Column of each feature, (d,), which is written into `feature`.
    numbers
        Uniform on [0, 1), (T, n + R). The first n of a tree draw its examples. The others, some
        hundreds, are used in turn and then again. A generator cannot be passed: an interrupt while
        Numba unpacks it crashes the process.
    total
        Memory for the weight of each class in each node, (N, k).
    oldest
        The trees from this one on are replaced, and after the last one the first.
    feature, threshold, child
        (all trees, N), written. For a node that is split: its feature, the largest value that goes
        to the left, and its left child, which the right one follows. For a leaf: -1, any number,
        and its class, or -1 if its examples have no weight. A tree has at most N nodes.
    """
    rank, n_values = ranked(x, order)
    most, members = len(total), len(x)  # rows[members] has the rows of a node in any order
    rows = np.empty((members + 1, len(classes) + 1), ROW)
    later, goes_left = np.empty(len(classes), ROW), np.empty(len(classes), np.bool_)
    begins, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    counted, tried = np.empty((FEW_VALUES + 1, total.shape[1])), np.empty(members, np.int64)
    weight = np.empty(len(classes))
    for each in range(len(numbers)):
        tree, n_rows = (oldest + each) % len(feature), 0
        draws, weight[:] = numbers[each, len(classes) :], 0
        for i in range(len(classes)):
            weight[int(numbers[each, i] * len(classes))] += 1
        for i in range(len(classes)):
            weight[i] *= weights[i]
        for j in range(members + 1):
            if n_values[j] <= FEW_VALUES:
                continue
            n_rows = 0
            for i in range(len(classes)):
                row = i if j == members else order[j, i]
                rows[j, n_rows] = row
                n_rows += weight[row] > 0
        for c in range(total.shape[1]):
            total[0, c] = 0
        for row in rows[members, :n_rows]:
            total[0, classes[row]] += weight[row]
        for j in range(members):
            tried[j] = j
        begins[0], ends[0] = 0, n_rows
        n_nodes, node, n_drawn = 1, -1, 0
        while node + 1 < n_nodes:
            node += 1
            begin, end = begins[node], ends[node]
            here, feature[tree, node] = total[node], -1
            n_there, child[tree, node] = present(here)
            if n_there < 2 or n_nodes + 2 > most:
                continue
            found, last, n_drawn = purest(
                *(rank, n_values, classes, weight, rows[:, begin:end], here),
                *(tried, n_tries, draws, n_drawn, counted),
            )
            if found < 0:
                continue
            for c in range(total.shape[1]):
                total[n_nodes, c] = total[n_nodes + 1, c] = 0
            middle, low, high = begin, -np.inf, np.inf
            for row in rows[members, begin:end]:
                goes_left[row] = rank[found, row] <= last
                total[n_nodes + 1 - goes_left[row], classes[row]] += weight[row]
                middle += goes_left[row]
                if goes_left[row]:
                    low = max(low, x[found, row])
                else:
                    high = min(high, x[found, row])
            between = low / 2 + high / 2
            threshold[tree, node] = between if between < high else low
            feature[tree, node], child[tree, node] = columns[found], n_nodes
            begins[n_nodes], ends[n_nodes] = begin, middle
            begins[n_nodes + 1], ends[n_nodes + 1] = middle, end
            on_left, on_right = present(total[n_nodes])[0] > 1, present(total[n_nodes + 1])[0] > 1
            if on_left or on_right:  # a leaf needs no rows
                both = on_left and on_right
                n = parted(rows[:, begin:end], n_values, goes_left, both, on_left, later)
                if not on_left:
                    begins[n_nodes + 1], ends[n_nodes + 1] = begin, begin + n
            n_nodes += 2


@loop
def residual_estimates(
    x: Array, f1: Array, feature: Array, threshold: Array, child: Array
) -> Array:
    """v - p, (B, k): the shares of the votes of trees on raw x (B, d), less f1 (B, k) clipped to
    [0, 1]. Trees are as `grow` writes them, (T, N). A tree that is not grown does not vote.
    """
    found = np.empty_like(f1)
    share = f1.dtype.type(1 / len(feature))
    for row in range(len(x)):
        for c in range(f1.shape[1]):
            found[row, c] = -min(max(f1[row, c], 0), 1)
        for tree in range(len(feature)):
            node = 0
            while feature[tree, node] >= 0:
                right = x[row, feature[tree, node]] > threshold[tree, node]
                node = child[tree, node] + right
            if child[tree, node] >= 0:
                found[row, child[tree, node]] += share
    return found
