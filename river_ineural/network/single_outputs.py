"""Scores of one example: `exploit` and `explore` of `outputs` as loops.

Of a single x the time goes into reading the weights, each once: calls of PyTorch would only add to
it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.network.constants import TINY
from river_ineural.network.loops import inlined, loop
from river_ineural.network.standardizing import standardize_row

__all__ = ["Single"]

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]


class Single:
    """Buffers for the scores of one example, and the call that fills them.

    Parameters
    ----------
    sizes
        Classes, features, hidden units and layers.
    n_embedded
        Numbers of an embedding.
    dtype
        Of the weights.
    """

    def __init__(
        self, sizes: tuple[int, int, int, int], n_embedded: int, dtype: np.dtype[Any]
    ) -> None:
        k, d, m, depth = self.sizes = sizes
        self.found: Floats = np.zeros((2, 1, k), dtype)  # f1, scores
        self.x = np.empty(d, dtype)  # standardised
        self.units = np.empty((depth - 1, m), dtype)
        self.embedding = np.empty(n_embedded, dtype)
        self.buffers = self.x, self.units, self.embedding, self.found[:, 0]

    def score(self, weights: Any, raw: Floats, scaling: Any, exploring: bool) -> Floats:
        """f1, and f1 + f2, (2, 1, k) of a raw x (d,); without `exploring` f1 twice."""
        score_one(weights, self.sizes, raw, scaling, exploring, *self.buffers)
        return self.found.copy()


@inlined
def product(weights: Array, x: Array, least: Any, out: Array) -> None:
    """Rows of flat weights times x, at least `least`."""
    n = len(x)
    for u in range(len(out)):
        row, total = weights[u * n : (u + 1) * n], x.dtype.type(0)
        for j in range(n):
            total += row[j] * x[j]
        out[u] = max(total, least)


@inlined
def propagate(weights: Array, x: Array, units: Array, outputs: Array) -> None:
    """Hidden layers (L - 1, m) and outputs (k,) of x, by flat weights."""
    depth, m = units.shape
    zero, at = x.dtype.type(0), m * len(x)
    product(weights[:at], x, zero, units[0])
    for layer in range(1, depth):
        product(weights[at : at + m * m], units[layer - 1], zero, units[layer])
        at += m * m
    product(weights[at:], units[depth - 1], x.dtype.type(-np.inf), outputs)


@loop
def score_one(
    weights: Array,  # flat, as `outputs.Weights` has them
    shape: tuple[int, int, int, int],
    raw: Array,  # (d,)
    scaling: Array,  # (3, d)
    exploring: bool,
    x: Array,  # (d,)
    units: Array,  # (L - 1, m)
    embedding: Array,  # (e,)
    found: Array,  # (2, k)
) -> None:
    """found = f1, and f1 + f2, of every class; without `exploring` f1 twice."""
    number = weights.dtype.type
    k, d, m, depth = shape
    of_f1 = m * d + (depth - 2) * m * m + k * m
    standardize_row(raw, scaling, x)
    propagate(weights[:of_f1], x, units, found[0])
    if not exploring:
        for c in range(k):
            found[1, c] = found[0, c]
        return
    root, square = number(np.sqrt(k)), number(0)
    for u in range(m):
        embedding[u] = units[0, u]
    for u in range(m, len(embedding)):
        embedding[u] = root * units[depth - 2, u - m]
    for u in range(len(embedding)):
        square += embedding[u] * embedding[u]
    inverse = 1 / max(np.sqrt(square), number(TINY))
    for u in range(len(embedding)):
        embedding[u] *= inverse
    propagate(weights[of_f1:], embedding, units, found[1])
    for c in range(k):
        found[1, c] += found[0, c]
