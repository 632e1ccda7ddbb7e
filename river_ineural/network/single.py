"""Scores of one example: `exploit` and `explore` of `contexts` as loops, for few classes.

For a single x the time goes into reading the weights: each of the three first layers is read once,
W twice. The input gradient exists a tile at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.network.constants import SQRT_HALF, TINY
from river_ineural.network.loops import inlined, loop
from river_ineural.network.standardizing import standardize_row

__all__ = ["Single"]

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]

TILE = 1024  # numbers of an input gradient at a time: with a row of weights they fit a first cache


class Single:
    """Buffers for the scores of one example, and the call that fills them.

    Parameters
    ----------
    sizes
        Classes, features, hidden units and layers.
    dtype
        Of the weights.
    tile
        Numbers of an input gradient at a time.
    """

    def __init__(
        self, sizes: tuple[int, int, int, int], dtype: np.dtype[Any], tile: int = TILE
    ) -> None:
        k, d, m, depth = self.sizes = sizes
        self.found: Floats = np.zeros((2, 1, k), dtype)  # f1, scores
        self.x = np.empty(d, dtype)  # standardised
        self.units = np.empty((depth + 1, k, m), dtype)  # L - 1 layers, two of gradients
        self.tile = np.empty((k, tile), dtype)
        self.active = np.empty(m, np.int64)
        self.flat = self.found[:, 0]
        self.buffers = self.x, self.units, self.tile, self.active, self.flat

    def score(self, weights: Any, raw: Floats, scaling: Any, exploring: bool) -> Floats:
        """f1, and f1 + f2, (2, 1, k) of a raw x (d,); without `exploring` f1 twice."""
        score_one(weights, self.sizes, raw, scaling, exploring, *self.buffers)
        return self.found.copy()


@inlined
def propagate(hidden: Array, layers: Array) -> None:
    """Hidden layers 2 … L - 1 (L - 1, k, m) from the first, by weights (L - 2, m, m), flat."""
    zero = layers.dtype.type(0)
    n_layers, k, m = layers.shape
    for layer in range(1, n_layers):
        for c in range(k):
            for u in range(m):
                row_at = ((layer - 1) * m + u) * m
                row, below, total = hidden[row_at : row_at + m], layers[layer - 1, c], zero
                for v in range(m):
                    total += row[v] * below[v]
                layers[layer, c, u] = max(total, zero)


@loop
def score_one(
    weights: Array,  # flat, as `contexts.Weights` has them
    shape: tuple[int, int, int, int],
    raw: Array,  # (d,)
    scaling: Array,  # (3, d)
    exploring: bool,
    x: Array,  # (d,)
    units: Array,  # (L + 1, k, m)
    tile: Array,  # (k, numbers of an input gradient at a time)
    active: Array,  # (m,) int
    found: Array,  # (2, k)
) -> None:
    """found = f1, and f1 + f2, of every class; without `exploring` f1 twice."""
    number = weights.dtype.type
    zero, tiny = number(0), number(TINY)
    k, d, m, depth = shape
    layers, delta, f1, scores = units[: depth - 1], units[depth - 1 :], found[0], found[1]
    one, deep = m * k * d, (depth - 2) * m * m
    start = m + deep
    output1, hidden1 = weights[:m], weights[m:start]
    first = weights[start : start + one].reshape(m, k * d)  # W

    # f1, forward, and its gradient at the last pre-activations
    standardize_row(raw, scaling, x)
    for u in range(m):
        for c in range(k):
            row, total = first[u, c * d : (c + 1) * d], zero
            for j in range(d):
                total += row[j] * x[j]
            layers[0, c, u] = max(total, zero)
    propagate(hidden1, layers)
    for c in range(k):
        total = zero
        for u in range(m):
            value = layers[depth - 2, c, u]
            total += output1[u] * value
            delta[0, c, u] = output1[u] if value > 0 else zero
        f1[c] = scores[c] = total
    if not exploring:
        return

    start += one
    context = weights[start : start + one]  # first layer of f2, times x
    half = weights[start + one : start + 2 * one].reshape(m, k * d)  # A
    start += 2 * one
    hidden2, output2 = weights[start : start + deep], weights[-m:]
    for layer in range(depth - 2, 0, -1):  # and at those before
        for c in range(k):
            for v in range(m):
                delta[1, c, v] = delta[0, c, v]
                delta[0, c, v] = zero
            for u in range(m):
                row_at = ((layer - 1) * m + u) * m
                row, above = hidden1[row_at : row_at + m], delta[1, c, u]
                for v in range(m):
                    delta[0, c, v] += above * row[v]
            for v in range(m):
                if layers[layer - 1, c, v] <= 0:
                    delta[0, c, v] = zero

    # delta W, its square, and its product with A, a tile of columns at a time
    explored, squares = delta[1], scores
    for c in range(k):
        squares[c] = zero
        for u in range(m):
            explored[c, u] = zero
    for start in range(0, k * d, tile.shape[1]):
        stop = min(start + tile.shape[1], k * d)
        width = stop - start
        for c in range(k):
            part, n_active = tile[c, :width], 0
            for u in range(m):
                if delta[0, c, u] != 0:
                    active[n_active] = u
                    n_active += 1
            for q in range(width):
                part[q] = zero
            at = 0
            while at + 4 <= n_active:  # four rows a pass: the tile is read and written less often
                u0, u1, u2, u3 = active[at], active[at + 1], active[at + 2], active[at + 3]
                d0, d1, d2, d3 = delta[0, c, u0], delta[0, c, u1], delta[0, c, u2], delta[0, c, u3]
                row0, row1 = first[u0, start:stop], first[u1, start:stop]
                row2, row3 = first[u2, start:stop], first[u3, start:stop]
                for q in range(width):
                    part[q] += d0 * row0[q] + d1 * row1[q] + d2 * row2[q] + d3 * row3[q]
                at += 4
            while at < n_active:
                u0 = active[at]
                d0, row0 = delta[0, c, u0], first[u0, start:stop]
                for q in range(width):
                    part[q] += d0 * row0[q]
                at += 1
            total = zero
            for q in range(width):
                total += part[q] * part[q]
            squares[c] += total
        for u in range(m):
            row = half[u, start:stop]
            for c in range(k):
                part, total = tile[c, :width], zero
                for q in range(width):
                    total += part[q] * row[q]
                explored[c, u] += total

    # f2
    for c in range(k):
        squares[c] = 1 / max(np.sqrt(squares[c]), tiny)
    for u in range(m):
        for c in range(k):
            row_at = (u * k + c) * d
            row, total = context[row_at : row_at + d], explored[c, u] * squares[c]
            for j in range(d):
                total += row[j] * x[j]
            layers[0, c, u] = max(total, zero)
    propagate(hidden2, layers)
    for c in range(k):
        total = zero
        for u in range(m):
            total += output2[u] * layers[depth - 2, c, u]
        scores[c] = f1[c] + number(SQRT_HALF) * total
