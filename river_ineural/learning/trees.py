"""The loops over the examples of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.network.loops import loop

__all__ = ["apart", "grow"]

Array = NDArray[Any]

BETTER = 1 + 1e-9  # how many times as pure another split has to be, so that rounding decides none


@loop
def grow(
    x: Array,
    order: Array,
    classes: Array,
    weight: Array,
    columns: Array,
    n_classes: int,
    n_tries: int,
    draws: Array,
    feature: Array,
    threshold: Array,
    child: Array,
) -> None:
    """Grow a classification tree (Breiman, Random forests, 2001) until its leaves are pure.

    A node is split where Gini impurity falls most, at one of `n_tries` features, drawn of those
    that vary there, and in the middle between two of their values. Nodes are numbered as they are
    met, level by level.

    Parameters
    ----------
    x, order, classes, weight
        Features to choose from, of examples, (d, n); which example has the smallest value of each
        feature, the next one and so on, (d, n); classes (n,); weights (n,), at least 0.
    columns
        Of the features, (d,), as they are written.
    draws
        Uniform on [0, 1), some hundreds, which are used in turn and then again: a generator is no
        argument for a loop, which an interrupt on the way in would crash.
    feature, threshold, child
        (N,), written. Of a node that is split: its feature, the largest value that goes to the
        left, and the node on the left, before that on the right. Of a leaf: -1, anything, and its
        class, -1 where nothing weighs anything. N bounds the tree.
    """
    n_rows = 0
    for row in order[0]:
        n_rows += weight[row] > 0
    rows = np.empty((len(order), n_rows), order.dtype)  # of each node from begin to end, ascending
    for j in range(len(order)):
        i = 0
        for row in order[j]:
            if weight[row] > 0:
                rows[j, i] = row
                i += 1
    tried, later = np.arange(len(order)), np.empty(n_rows, order.dtype)
    goes_left = np.zeros(len(weight), np.bool_)
    begins, ends = np.zeros(len(feature), np.int64), np.zeros(len(feature), np.int64)
    ends[0] = n_rows
    total, left = np.empty(n_classes), np.empty(n_classes)
    n_nodes, node, n_drawn = 1, -1, 0
    while node + 1 < n_nodes:
        node += 1
        begin, end = begins[node], ends[node]
        total[:] = 0
        for row in rows[0, begin:end]:
            total[classes[row]] += weight[row]
        mass, squares, top = 0.0, 0.0, 0
        for c in range(n_classes):
            mass += total[c]
            squares += total[c] * total[c]
            if total[c] > total[top]:
                top = c
        feature[node], child[node] = -1, top if begin < end else -1
        if begin == end or total[top] == mass or n_nodes + 2 > len(feature):
            continue
        best, found, highest = squares / mass * BETTER, -1, threshold[0]
        n_left, n_tried = len(tried), 0
        while n_left and n_tried < n_tries:
            drawn = int(draws[n_drawn % len(draws)] * n_left)
            n_drawn += 1
            n_left -= 1
            j = tried[drawn]
            tried[drawn], tried[n_left] = tried[n_left], j
            values, ascending = x[j], rows[j, begin:end]
            if values[ascending[0]] == values[ascending[-1]]:
                continue
            n_tried += 1
            left[:] = 0
            mass_left, squares_left, squares_right = 0.0, 0.0, squares
            high = values[ascending[0]]
            for i in range(len(ascending) - 1):
                c, w = classes[ascending[i]], weight[ascending[i]]
                squares_left += w * (2 * left[c] + w)
                squares_right -= w * (2 * (total[c] - left[c]) - w)
                left[c] += w
                mass_left += w
                low, high = high, values[ascending[i + 1]]
                if low < high:
                    purity = squares_left / mass_left + squares_right / (mass - mass_left)
                    if purity > best:
                        best, found = purity * BETTER, j
                        middle = low / 2 + high / 2
                        highest = middle if middle < high else low
        if found < 0:
            continue
        for row in rows[found, begin:end]:
            goes_left[row] = x[found, row] <= highest
        for j in range(len(rows)):  # those of the left in front, all still ascending
            i = n_later = 0
            part = rows[j, begin:end]
            for row in part:  # no branch, which would be guessed wrong half the time
                part[i] = later[n_later] = row
                i += goes_left[row]
                n_later += not goes_left[row]
            part[i:] = later[:n_later]
        feature[node], threshold[node], child[node] = columns[found], highest, n_nodes
        begins[n_nodes], ends[n_nodes] = begin, begin + i
        begins[n_nodes + 1], ends[n_nodes + 1] = begin + i, end
        n_nodes += 2


@loop
def apart(x: Array, f1: Array, feature: Array, threshold: Array, child: Array) -> Array:
    """v - p, (B, k): shares of the votes of trees, (T, N) as `grow` writes them, on raw x (B, d),
    less f1 (B, k) within [0, 1]. A tree that is not grown votes for nothing.
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
