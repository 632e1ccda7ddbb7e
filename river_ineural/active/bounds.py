"""Bounds on errors, and what the regression behind them solves: see `active.accuracy`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

Z = 1.96  # of 95 %
ONE_SIDED = 1.645  # of 95 %, of the bound that follows from a variance
MOST_STEPS = 20  # of Newton's method


def solved(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """The solution of a symmetric system of three by Cramer's rule; LAPACK takes longer to start.

    Examples
    --------
    >>> solved([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]], [4.0, 5.0, 6.0])
    [1.0, 2.0, 6.0]
    """
    (a, b, c), (_, d, e), (_, _, f) = matrix
    ab, ac, bc = c * e - b * f, b * e - c * d, b * c - a * e
    rows = (d * f - e * e, ab, ac), (ab, a * f - c * c, bc), (ac, bc, a * d - b * b)
    determinant = math.fsum(map(operator.mul, matrix[0], rows[0]))
    return [math.fsum(map(operator.mul, row, right)) / determinant for row in rows]


def most_of(wrong: float, n: float) -> float:
    """The upper end of the interval of Wilson (1927) of a share, of which n were looked at."""
    if n < 1e-9:
        return 1.0
    p, least = min(1.0, wrong / n), Z * Z / n
    end = (p + least / 2 + Z * math.sqrt(p * (1 - p) / n + least / (4 * n))) / (1 + least)
    return min(1.0, end)  # as rounded


def most_times(found: float, foreseen: float, variance: float) -> float:
    """The largest θ that is likely where `found` errors are wrong and `foreseen` were expected.

    log θ has the mode 0 and this variance before any error was looked for: see `Accuracy`.
    """
    at = variance * found  # at least the mode, from where Newton's method goes down to it
    if foreseen > 0 and found > 0:
        at = min(at, math.log(found / foreseen))
    for _ in range(MOST_STEPS):
        expected = foreseen * math.exp(at)
        at -= (at / variance - found + expected) / (1 / variance + expected)
    deviation = (1 / variance + foreseen * math.exp(at)) ** -0.5
    return math.exp(min(50.0, at + ONE_SIDED * deviation))
