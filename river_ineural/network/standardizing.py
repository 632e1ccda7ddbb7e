"""The phases between raw and standardised examples, as loops: part of `compiled`.

d features a row, the constant's column in front; arrays are (B, d) unless shapes are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.network.constants import (
    CLOSEST,
    FARTHEST,
    FIRST_STEPS,
    FLAG,
    MOST_RELEVANT,
    RELEVANCE,
    RESOLUTION,
    ROUNDING,
    TINY,
    TWO_VALUED,
)
from river_ineural.network.loops import inlined, loop
from river_ineural.network.phases import Encoding

__all__ = ["height", "observe", "spread", "standardize", "standardize_row", "weigh"]

Array = NDArray[Any]


@inlined
def height(value: Any, knots: Array, heights: Array) -> Any:
    """The heights at the knots (Q,), interpolated; knots are counted, which needs no branch."""
    if value <= knots[0]:
        return heights[0]
    low = -1
    for q in range(len(knots)):
        low += value >= knots[q]
    if low + 1 == len(knots):
        return heights[low]
    width = knots[low + 1] - knots[low]
    return heights[low] + (heights[low + 1] - heights[low]) * ((value - knots[low]) / width)


@inlined
def standardize_row(raw: Array, encoding: Encoding, normalize: bool, x: Array) -> None:
    """`standardize` of one row (d,)."""
    zero, tiny, most = x.dtype.type(0), x.dtype.type(TINY), x.dtype.type(FARTHEST)
    scaling = encoding.scaling
    for j in range(len(x)):
        x[j] = raw[j]
    for j in range(len(x)):
        if scaling[2, j] > 0:
            x[j] += height(x[j], encoding.knots[j], encoding.heights[j])
    for j in range(len(x)):
        x[j] = max(-most, min(most, (x[j] - scaling[0, j]) * scaling[1, j]))
    if normalize:
        square = zero
        for j in range(len(x)):
            square += x[j] * x[j]
        factor = 1 / max(np.sqrt(square), tiny)
        for j in range(len(x)):
            x[j] *= factor


@loop
def standardize(raw: Array, encoding: Encoding, normalize: bool, x: Array) -> None:
    """Rows of x (B, d) = (raw + height(raw) - shift) · inverse, then of norm 1.

    Scaling (3, d) holds shift, inverse, and whether there is a height.
    """
    for i in range(raw.shape[0]):
        standardize_row(raw[i], encoding, normalize, x[i])


@loop
def observe(x: Array, n: int, center: bool, moments: Array) -> None:
    """Move the statistics of n examples by the rows of x (B, d), one after the other.

    x is what examples are beyond the reference. `moments` (4, d) holds the mean and the sums of the
    second, third and fourth powers of the distance from it, in the order in which none is needed
    before it is replaced (Pébay, 2008, Formulas for robust, one-pass parallel computation of
    covariances and arbitrary-order statistical moments).
    """
    mean, square, cube, fourth = moments[0], moments[1], moments[2], moments[3]
    for i in range(x.shape[0]):
        before = n
        n += 1
        share = 1 / n
        for j in range(x.shape[1]):
            apart = np.float64(x[i, j]) - mean[j]
            if not center:
                two = apart * apart
                square[j] += two
                fourth[j] += two * two
                continue
            step = apart * share
            two, term = step * step, apart * step * before
            fourth[j] += (
                term * two * (float(n) * n - 3.0 * n + 3.0)
                + 6 * two * square[j]
                - 4 * step * cube[j]
            )
            cube[j] += term * step * (n - 2) - 3 * step * square[j]
            square[j] += term
            mean[j] += step


@inlined
def spread(center: bool, square: Any, cube: Any, fourth: Any) -> Any:
    """What a feature of these moments is divided by.

    Around the mean the fourth moment is at least cube² / square + square² (Pearson, 1916). It is
    that of two values only, whose range is √(cube² / square² + 4 square).
    """
    if center and square > 0:
        skew = cube / square
        if fourth - skew * cube - square * square <= TWO_VALUED * fourth:
            return FLAG * np.sqrt(skew * skew + 4 * square)
    return np.sqrt(np.sqrt(max(fourth, 0.0)))


@loop
def weigh(
    n: int,
    center: bool,
    scale: bool,
    normalize: bool,
    reference: Array,  # (d,)
    moments: Array,  # (4, d)
    shares: Array,  # (2, d)
    relevance: Array,  # (2, d)
    n_steps: Array,  # (1,)
    scaling: Array,  # (3, d)
) -> None:
    """Scaling from the statistics of n examples, of `observe`, `heed` and `Ranking`.

    Also by how much columns that were found relevant are enlarged, the second row of `relevance`.
    """
    mean, square, cube, fourth = moments[0], moments[1], moments[2], moments[3]
    means, factor = relevance[0], relevance[1]
    total, n_relevant = 0.0, 0
    for j in range(len(mean)):
        total += means[j]
        n_relevant += means[j] > 0
    heeded = n_steps[0] >= FIRST_STEPS and total > 0
    for j in range(len(mean)):
        factor[j] = 1.0
        if heeded and means[j] > 0:
            typical = means[j] * n_relevant / total
            factor[j] = min(max(typical**RELEVANCE, 1 / MOST_RELEVANT), MOST_RELEVANT)
        q = spread(center, square[j] / n, cube[j] / n, fourth[j] / n)
        least = max(RESOLUTION * abs(mean[j]), ROUNDING * abs(mean[j] + reference[j]), CLOSEST)
        known = scale and q > least
        scaling[0, j] = mean[j]
        scaling[1, j] = shares[0, j] * factor[j] * (1 / q if known else 1.0)
        scaling[2, j] = shares[0, j] < 1
    if normalize:
        total = 0.0
        for j in range(len(mean)):
            scaled = np.float64(scaling[1, j]) / shares[0, j]
            total += square[j] * (scaled * scaled) * shares[1, j]
        scaling[0, 0] = -np.sqrt(total / n)
