"""Compiled loops that standardise raw examples.

A row has d features, the constant's column first. Arrays are (B, d) unless shapes are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.constants import (
    CLOSEST,
    FARTHEST,
    FLAG,
    ROUNDING,
    SQUASHED,
    TINY,
    TWO_VALUED,
)
from river_ineural.features.jit import inlined, loop

__all__ = ["standardize_row", "standardized", "rescale", "there", "update"]

Array = NDArray[Any]


@inlined
def standardize_row(raw: Array, scaling: Array, x: Array) -> None:
    """Write one row (d,), standardised as in `standardized`, into x."""
    square, tiny, most = x.dtype.type(0), x.dtype.type(TINY), x.dtype.type(FARTHEST)
    for j in range(len(x)):
        x[j] = max(-most, min(most, (raw[j] - scaling[0, j]) * scaling[1, j]))
    for j in range(len(x)):
        if scaling[2, j] > 0:
            x[j] = np.arcsinh(x[j])
    for j in range(len(x)):
        square += x[j] * x[j]
    factor = 1 / max(np.sqrt(square), tiny)
    for j in range(len(x)):
        x[j] *= factor


@loop
def standardized(raw: Array, scaling: Array, x: Array) -> None:
    """Write rows (B, d) centred, scaled and squashed, then scaled to norm 1, into x.

    Scaling (3, d) holds the subtrahend, the factor, and whether arsinh is applied.
    """
    for i in range(len(raw)):
        standardize_row(raw[i], scaling, x[i])


@loop
def observe(x: Array, n: int, moments: Array) -> None:
    """Update the statistics of n examples with the rows of x (B, d), one after the other.

    `moments` (4, d) holds the mean and the sums of the
    second, third and fourth powers of the distance from it. The highest power is updated first:
    it needs the old values of the others (Pébay, 2008, Formulas for robust, one-pass parallel
    computation of covariances and arbitrary-order statistical moments).
    """
    mean, square, cube, fourth = moments[0], moments[1], moments[2], moments[3]
    for i in range(x.shape[0]):
        before = n
        n += 1
        share = 1 / n
        for j in range(x.shape[1]):
            distance = np.float64(x[i, j]) - mean[j]
            step = distance * share
            two, term = step * step, distance * step * before
            fourth[j] += (
                term * two * (float(n) * n - 3.0 * n + 3.0)
                + 6 * two * square[j]
                - 4 * step * cube[j]
            )
            cube[j] += term * step * (n - 2) - 3 * step * square[j]
            square[j] += term
            mean[j] += step


@loop
def rescale(n: int, squash: bool, moments: Array, scaling: Array) -> None:
    """Write scaling (3, d), from the statistics of n examples.

    The fourth central moment is at least cube² / square + square² (Pearson, 1916). It equals this
    only for a flag: a feature of two values, whose range is √(cube² / square² + 4 square).

    Parameters
    ----------
    squash
        Whether features that vary are squashed, except flags.
    """
    total = 0.0
    for j in range(moments.shape[1]):
        mean, square = moments[0, j], moments[1, j] / n
        cube, fourth = moments[2, j] / n, moments[3, j] / n
        skew = cube / square if square > 0 else 0.0
        flag = square > 0 and fourth - skew * cube - square * square <= TWO_VALUED * fourth
        q = np.sqrt(np.sqrt(max(fourth, 0.0)))
        if flag:
            q = FLAG * np.sqrt(skew * skew + 4 * square)
        least = max(ROUNDING * abs(mean), CLOSEST)
        varies = q > least
        squashed = squash and varies and not flag
        if squashed:
            q = np.sqrt(square)
        scaling[0, j] = mean
        scaling[1, j] = 1 / q if varies else 1.0
        scaling[2, j] = squashed
        if varies:
            total += SQUASHED if squashed else square / (q * q)
    scaling[0, 0] = -np.sqrt(total)


@loop
def update(rows: Array, n: int, squash: bool, moments: Array, scaling: Array) -> int:
    """`observe` rows (B, d) after n examples, then `rescale`; returns how many values are not 0."""
    observe(rows, n, moments)
    rescale(n + len(rows), squash, moments, scaling)
    n_there = 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            n_there += rows[i, j] != 0
    return n_there


@loop
def there(rows: Array, first: int, scaling: Array) -> tuple[Array, Array, Array]:
    """The columns (T,) before `first` and those that any row has, rows (B, T), scaling (3, T).

    A feature that is 0 is absent, and is put at its mean.
    """
    found = np.zeros(rows.shape[1], np.bool_)
    found[:first] = True
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            found[j] |= rows[i, j] != 0
    columns = np.flatnonzero(found)
    x = np.empty((len(rows), len(columns)), rows.dtype)
    scale = np.empty((3, len(columns)), rows.dtype)
    for t in range(len(columns)):
        j = columns[t]
        for kind in range(3):
            scale[kind, t] = scaling[kind, j]
        for i in range(len(rows)):
            given = j < first or rows[i, j] != 0
            x[i, t] = rows[i, j] if given else scaling[0, j]
    return columns, x, scale
