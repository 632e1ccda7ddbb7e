"""Compiled loops that grow trees, and that let them vote.

A node needs no sorted rows: it scatters the weights of its rows over the ranks of a feature, and
marks those ranks in a bitmap. The set bits, from low to high, are its values in ascending order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from river_ineural.features.jit import allocating, inlined, loop

Array = NDArray[Any]

NEARLY = 1e-9  # a split must be purer than the best so far by this part, so that rounding
BETTER = 1 + NEARLY  # decides nothing
NONE = 0xFFFF  # no row
ONE, LOW = np.uint64(1), np.uint64(63)
HALF, LOWER = np.int64(32), np.int64(0xFFFFFFFF)  # of the bits of a weight of two classes
RANK = np.uint16  # of ranks, rows and classes: indices without a sign need no check for one
TOGETHER = 4  # trees that vote at the same time
HEAVIEST = 2**18  # largest weight, as a whole number: of 768 examples seven times it is below 2³¹
STRIDE = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64 (Steele, Lea, Flood, 2014), and its factors
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# 2³² times the probabilities that a Poisson variable of mean 1 is at most 0, 1, … 6
POISSON = tuple(
    int(2**32 * sum(math.exp(-1) / math.factorial(i) for i in range(n))) for n in range(1, 8)
)


@intrinsic
def lowest(typing_context: Any, bits: Any) -> Any:
    """The position of the lowest bit that is set in a uint64 other than 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


lowest_bit: Any = lowest  # called without the first argument


@inlined
def drawn(seed: int, at: int) -> np.uint64:
    """The `at`-th number, uniform on [0, 2³²), of SplitMix64 from a seed."""
    z = np.uint64(seed) + STRIDE * np.uint64(at + 1)
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@inlined
def times(seed: int, tree: int, serial: int, n_trees: int) -> int:
    """How often the bootstrap sample of a tree holds an example: a Poisson variable of mean 1."""
    u, n = drawn(seed, serial * n_trees + tree), 0
    for i in range(len(POISSON)):  # without a branch
        n += int(u >= np.uint64(POISSON[i]))
    return n


@inlined
def best_of_two(
    best: float,
    j: int,
    node: int,
    begin: int,
    end: int,
    rank: Array,
    n_values: Array,
    rows: Array,
    packed: Array,
    total: Array,
    masses: Array,
    bits: Array,
    split: Array,
) -> tuple[float, int]:
    """The best split by feature j of a node of two classes, if it is better than `best`.

    The rows of the node are those from `begin` to `end`. With t and l the weights of both classes
    in the node and on the left, and L and R those of both sides, the purity of a split is that of
    the node and 2 / (L + R) times

        g = (l0 t1 - l1 t0)² / (L R)

    Parameters
    ----------
    best
        The best g so far, plus 1e-9 of its purity, so that rounding decides nothing.
    packed
        The weight of each row, (n,): in the lower half of its bits for class 0, in the upper one
        for class 1, so that one addition is for both.
    masses, bits
        Memory, (values,) and a bit for each, 0 before and after. Arguments are whole arrays: slices
        would take longer than what is done with them.
    split
        The ranks on the two sides of the best split, (2,), written only if it is by this feature.

    Returns
    -------
    `best` for the next feature, and the number of values.
    """
    t0, t1, n, before = total[node, 0], total[node, 1], 0, -1
    mass, slack, left = t0 + t1, (t0 * t0 + t1 * t1) / 2, np.int64(0)
    if n_values[j] == 2:  # nothing goes through memory
        for i in range(begin, end):
            left += packed[rows[i]] & (np.int64(rank[j, rows[i]]) - 1)
        left0, left1 = float(left & LOWER), float(left >> HALF)
        m, apart = left0 + left1, left0 * t1 - left1 * t0
        between = m * (mass - m)  # 0 if there is one value
        if apart * apart > best * between:
            best = apart * apart / between
            best += NEARLY * (slack + best)
            split[0], split[1] = 0, 1
        return best, 1 + (between > 0)
    if n_values[j] <= 64:  # one word of the bitmap, which then need not go through memory
        marks = np.uint64(0)
        for i in range(begin, end):
            v = rank[j, rows[i]]
            masses[v] += packed[rows[i]]
            marks |= ONE << np.uint64(v)
        bits[0] = marks
    else:
        for i in range(begin, end):
            v = rank[j, rows[i]]
            masses[v] += packed[rows[i]]
            bits[v >> 6] |= ONE << (np.uint64(v) & LOW)
    for word in range((n_values[j] >> 6) + 1):
        marked = bits[word]
        bits[word] = 0
        while marked:
            at: Any = 64 * word + np.int64(lowest_bit(marked))
            marked &= marked - ONE
            left0, left1 = float(left & LOWER), float(left >> HALF)
            m, apart = left0 + left1, left0 * t1 - left1 * t0
            between = m * (mass - m)
            if apart * apart > best * between:  # 0 > 0 before the first value
                best = apart * apart / between
                best += NEARLY * (slack + best)
                # In memory, so that this stays a branch: without one, each value would wait for
                # the division of the one before.
                split[0], split[1] = before, at
            n, before = n + 1, at
            left += masses[at]
            masses[at] = 0
    return best, n


@inlined
def best_of_many(
    best: float,
    j: int,
    node: int,
    begin: int,
    end: int,
    rank: Array,
    n_values: Array,
    rows: Array,
    classes: Array,
    weight: Array,
    total: Array,
    left: Array,
    bits: Array,
    front: Array,
    following: Array,
    split: Array,
) -> tuple[float, int]:
    """The same of any number of classes: the rows of each rank are a list, the last one in front.

    `best` is a purity, and `left` (1, k), `front` and `following` are memory too.
    """
    for i in range(begin, end):
        row = rows[i]
        v = rank[j, row]
        bit = ONE << (np.uint64(v) & LOW)
        following[row] = front[v] if bits[v >> 6] & bit else NONE
        front[v] = row
        bits[v >> 6] |= bit
    mass = on_right = m = on_left = 0.0
    for c in range(total.shape[1]):
        mass += total[node, c]
        on_right += total[node, c] * total[node, c]
        left[0, c] = 0
    n, before = 0, -1
    for word in range((n_values[j] >> 6) + 1):
        marked = bits[word]
        bits[word] = 0
        while marked:
            at: Any = 64 * word + np.int64(lowest_bit(marked))
            marked &= marked - ONE
            if n and on_left * (mass - m) + on_right * m > best * m * (mass - m):
                purity = on_left / m + on_right / (mass - m)
                if purity > best:
                    best, split[0], split[1] = purity * BETTER, before, at
            n, before, next_ = n + 1, at, front[at]
            while next_ != NONE:
                c, w = classes[next_], weight[next_]
                on_left += w * (2 * left[0, c] + w)
                on_right -= w * (2 * (total[node, c] - left[0, c]) - w)
                left[0, c] += w
                m += w
                next_ = following[next_]
    return best, n


@loop
def grow_tree(
    tree: int,
    n_rows: int,
    rank: Array,
    distinct: Array,
    n_values: Array,
    classes: Array,
    weight: Array,
    packed: Array,
    rows: Array,
    columns: Array,
    n_tries: int,
    seed: int,
    masses: Array,
    left: Array,
    bits: Array,
    front: Array,
    following: Array,
    split: Array,
    span: Array,
    tried: Array,
    total: Array,
    feature: Array,
    threshold: Array,
    child: Array,
) -> None:
    """Grow a tree on the first `n_rows` of `rows`, until its leaves are pure: see `grow`.

    span (2, N), where the rows of each node begin and end, and total (N, k), the weight of each
    class in them, are memory, and so are `tried`, `front` and `following`.
    """
    for j in range(len(columns)):
        tried[j] = columns[j]
    for c in range(total.shape[1]):
        total[0, c] = 0
    for i in range(n_rows):
        total[0, classes[rows[i]]] += weight[rows[i]]
    span[0, 0], span[1, 0] = 0, n_rows
    n_nodes, node, n_drawn = 1, -1, 0
    while node + 1 < n_nodes:
        node += 1
        n_there, top, mass, squares = 0, -1, 0.0, 0.0
        for c in range(total.shape[1]):
            w = total[node, c]
            n_there += w > 0
            mass += w
            squares += w * w
            if w > (total[node, top] if top >= 0 else 0):
                top = c
        feature[tree, node], child[tree, node] = -1, top
        threshold[tree, node] = total[node, top] / mass if top >= 0 else 0.0
        if n_there < 2 or n_nodes + 2 > len(total):
            continue
        begin, end, found, n_left, n_tried = span[0, node], span[1, node], -1, len(tried), 0
        two = total.shape[1] == 2
        best = NEARLY * squares / 2 if two else squares / mass * BETTER
        pure = total[node, 0] * total[node, 1] if two else mass  # `best`, if both sides were
        while n_left and n_tried < n_tries and best < pure:
            at = np.int64((drawn(seed, n_drawn) * np.uint64(n_left)) >> np.uint64(32))
            n_drawn += 1
            n_left -= 1
            j = tried[at]
            tried[at], tried[n_left] = tried[n_left], j
            if two:
                better, n = best_of_two(
                    best, j, node, begin, end, rank, n_values, rows, packed, total, masses, bits,
                    split,
                )  # fmt: skip
            else:
                better, n = best_of_many(
                    best, j, node, begin, end, rank, n_values, rows, classes, weight, total,
                    left, bits, front, following, split,
                )  # fmt: skip
            if better > best:
                found, best = j, better
            n_tried += n > 1
        if found < 0:
            continue
        last, next_ = split[0], split[1]
        for c in range(total.shape[1]):
            total[n_nodes, c] = total[n_nodes + 1, c] = 0
        middle, n_other = begin, 0
        for i in range(begin, end):
            # Both sides are written, and one counts: a branch would be foreseen too seldom.
            row, right = rows[i], rank[found, rows[i]] > last
            total[n_nodes + right, classes[row]] += weight[row]
            rows[middle] = front[n_other] = row
            middle += not right
            n_other += right
        for i in range(n_other):
            rows[middle + i] = front[i]
        between = distinct[found, last] / 2 + distinct[found, next_] / 2
        fine = between < distinct[found, next_]
        threshold[tree, node] = between if fine else distinct[found, last]
        feature[tree, node], child[tree, node] = found, n_nodes
        span[0, n_nodes], span[1, n_nodes] = begin, middle
        span[0, n_nodes + 1], span[1, n_nodes + 1] = middle, end
        n_nodes += 2


@allocating
def grow(
    ranks: tuple[Array, Array, Array],
    classes: Array,
    n_classes: int,
    weights: Array,
    serials: Array,
    columns: Array,
    n_tries: int,
    seeds: tuple[int, int],
    stale: Array,
    n_due: int,
    oldest: int,
    feature: Array,
    threshold: Array,
    child: Array,
) -> tuple[int, int]:
    """Grow classification trees (Breiman, Random forests, 2001) until their leaves are pure.

    Each tree is grown on a bootstrap sample, in which an example is as often as a Poisson variable
    of mean 1 says, always the same for a tree and an example. A node is split where Gini impurity
    falls most, at one of `n_tries` features, drawn of those that vary there, and in the middle
    between two of their values. Once both sides would be pure no other feature is tried. Nodes are
    numbered as they are met, level by level.

    Parameters
    ----------
    ranks
        Rank of each value among the distinct values of its feature, (d, n); these values, (d, n);
        and their number, (d,).
    classes, weights, serials
        Of the examples, (n,): class; weight, a whole number in [0, 2¹⁸]; serial number.
    columns
        Features that vary, as rows of `ranks`.
    seeds
        Of the samples, and of the features that nodes draw.
    stale, n_due, oldest
        Trees that are not of the present examples, (T,). Of these `n_due` are grown, from `oldest`
        on, and after the last tree the first.
    feature, threshold, child
        (T, N), written. For a node that is split: its feature, the largest value that goes to the
        left, and its left child, which the right one follows. For a leaf: -1, the share of its
        class, and this class, or -1 if its examples have no weight. A tree has at most N nodes.

    Returns
    -------
    How many trees were grown, and passed by.
    """
    rank, distinct, n_values = ranks
    n, most = len(classes), feature.shape[1]
    total, weight, rows = np.empty((most, n_classes)), np.empty(n), np.empty(n, RANK)
    packed, masses, left = np.empty(n, np.int64), np.zeros(n, np.int64), np.empty((1, n_classes))
    bits, split = np.zeros(n // 64 + 1, np.uint64), np.empty(2, np.int64)
    front, following = np.empty(n, RANK), np.empty(n, RANK)
    span, tried = np.empty((2, most), np.int64), np.empty(len(columns), np.int64)
    n_grown = n_passed = 0
    while n_grown < n_due and n_passed < len(feature):
        tree = (oldest + n_passed) % len(feature)
        n_passed += 1
        if not stale[tree]:
            continue
        n_rows = 0
        for i in range(n):
            often: Any = times(seeds[0], tree, serials[i], len(feature))
            weight[i] = often * weights[i]
            packed[i] = np.int64(weight[i]) << (HALF if classes[i] == 1 else 0)
            rows[n_rows] = i
            n_rows += weight[i] > 0
        seed: Any = np.int64(drawn(seeds[1], tree))
        grow_tree(
            *(tree, n_rows, rank, distinct, n_values, classes, weight, packed, rows, columns),
            *(n_tries, seed, masses, left, bits, front, following, split, span, tried),
            *(total, feature, threshold, child),
        )
        stale[tree] = False
        n_grown += 1
    return n_grown, n_passed


@loop
def votes(
    x: Array,
    f1: Array,
    feature: Array,
    threshold: Array,
    child: Array,
    at: Array,
    found: Array,
) -> None:
    """Write v - p, (B, k): the shares of the votes of trees on raw x (B, d), less f1 (B, k) clipped
    to [0, 1]. Trees are as `grow` writes them, (T, N). A leaf whose examples no feature tells
    apart may hold several classes: it gives its class only the share of it, and the others the rest
    in proportion to f1. A tree that is not grown does not vote.

    `at` (4,) is memory. Four trees go down at the same time, because a node takes longer to come
    from memory than to be decided.
    """
    share = f1.dtype.type(1 / len(feature))
    for row in range(len(x)):
        for c in range(f1.shape[1]):
            found[row, c] = -min(max(f1[row, c], 0), 1)
        for first in range(0, len(feature), TOGETHER):
            moves = True
            for i in range(TOGETHER):
                at[i] = 0
            while moves:
                moves = False
                for i in range(TOGETHER):
                    tree, node = first + i, at[i]
                    j = feature[tree, node]
                    leaf = j < 0
                    right = x[row, 0 if leaf else j] > threshold[tree, node]
                    at[i] = node if leaf else child[tree, node] + right
                    moves |= not leaf
            for i in range(TOGETHER):
                label, part = child[first + i, at[i]], f1.dtype.type(threshold[first + i, at[i]])
                if label >= 0:
                    found[row, label] += share * part
                if label < 0 or part >= 1:
                    continue
                rest, others, k = share * (1 - part), f1.dtype.type(0), f1.shape[1]
                for c in range(k):
                    others += min(max(f1[row, c], 0), 1) if c != label else 0
                for c in range(k):
                    if c != label:
                        p = min(max(f1[row, c], 0), 1)
                        found[row, c] += rest * (p / others if others > 0 else 1 / (k - 1))
