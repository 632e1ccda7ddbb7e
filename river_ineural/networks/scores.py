"""Probabilities from scores, and scores as a table."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Label = TypeVar("Label")

LEAST = 1e-3  # least probability of a class, so that a log loss stays finite
UNIFORM = 0.1  # largest share of the uniform distribution in the mixture
FAR = 1e6  # up to here rounding is small; a score so far below the top gets no share


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution nearest to each row of scores in squared error, the loss of the networks.

    It is the Euclidean projection onto the simplex, p_i = max(f_i - τ, 0) with τ such that
    Σ p_i = 1, mixed with a little of the uniform distribution. The order of the scores is kept, and
    the first class with the highest score is the first with the highest probability.

    Parameters
    ----------
    scores
        float64 (B, k). inf ranks first, -inf and NaN last.

    Returns
    -------
    float64 (B, k), each at least 0.001 (0.1 / k for more than 100 classes) apart from rounding.
    Each row sums to 1.

    Examples
    --------
    >>> probabilities(np.array([[0.9, 0.3, -0.2]])).round(4)
    array([[0.7986, 0.2004, 0.001 ]])

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball. ICML 2008.
    """
    k = scores.shape[1]
    if k == 0:
        return scores
    if not (np.abs(scores) <= FAR).all():  # also true for NaN
        scores = _within_reach(scores)
    descending = -np.sort(-scores, axis=1)
    shifts = (descending.cumsum(axis=1) - 1) / np.arange(1, k + 1)
    n_positive = (descending > shifts).sum(axis=1, keepdims=True)
    nearest = np.maximum(scores - np.take_along_axis(shifts, n_positive - 1, axis=1), 0)
    least = min(LEAST, UNIFORM / k)
    mixed = nearest * (1 - k * least) + least
    distribution = np.asarray(mixed / mixed.sum(axis=1, keepdims=True))
    tied = distribution.argmax(axis=1) != scores.argmax(axis=1)  # with a lower score, by rounding
    if tied.any():
        top = tied[:, None] & (scores == scores.max(axis=1, keepdims=True))
        distribution[top] = np.nextafter(distribution[top], 1)
    return distribution


def _within_reach(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores within ±2 FAR with the same distribution and top class; NaN counts as -inf.

    In a row whose top is within ±FAR, all scores that matter keep their bits.
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    top = scores.max(axis=1, keepdims=True)
    far = np.abs(top) > FAR  # the distribution depends only on distances from the top
    with np.errstate(over="ignore", invalid="ignore"):  # overflow; inf - inf
        distances = scores - np.where(far, top, 0)
    origin = np.where(far, 0, top)
    return np.maximum(np.where(scores == top, origin, distances), origin - FAR)


def _of_two(a: float, b: float) -> tuple[float, float]:
    """`probabilities` of two scores within ±FAR in closed form, with identical bits.

    τ is (a + b - 1) / 2 if the scores differ by less than 1, else the higher score minus 1.
    """
    high, low = (a, b) if a >= b else (b, a)
    shift = (high + low - 1) / 2
    if low <= shift:
        shift = high - 1
    left = 1 - 2 * LEAST
    p = (a - shift if a > shift else 0.0) * left + LEAST
    q = (b - shift if b > shift else 0.0) * left + LEAST
    total = p + q
    p, q = p / total, q / total
    if p == q and b > a:  # equal by rounding: the first would be the top
        q = math.nextafter(q, 1)
    return p, q


def nearest_distribution(scores: dict[Label, float]) -> dict[Label, float]:
    """`probabilities` of a dict of scores by label."""
    if len(scores) == 2:
        (one, a), (other, b) = scores.items()
        if -FAR <= a <= FAR and -FAR <= b <= FAR:  # not NaN
            p, q = _of_two(a, b)
            return {one: p, other: q}
    row = probabilities(np.array([list(scores.values())], np.float64))[0]
    return dict(zip(scores, row.tolist(), strict=True))


def table(parts: dict[str, list[float]], scores: dict[Any, float], trust: dict[str, float]) -> str:
    """A table of f1 and what explorers add, (k,) each, and the score; the gap; the trust."""
    named = (*parts.items(), ("score", scores.values()))
    columns = [["class", *map(str, scores)]]
    columns += [[name, *(f"{value:9.5f}" for value in values)] for name, values in named]
    widths = [max(map(len, column)) for column in columns]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in zip(*columns, strict=True)]
    trusted = ", ".join(f"{name} {value:.3f}" for name, value in trust.items())
    best, runner_up = (*sorted(scores.values(), reverse=True), 0.0, 0.0)[:2]
    gap = best - runner_up if len(scores) > 1 else 0.0
    lines += [f"gap: {gap:.5f}", f"trust: {trusted or 'no explorers'}"]
    return "\n".join(lines)
