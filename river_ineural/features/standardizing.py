"""Compiled loops that place the values of examples, and standardise raw examples.

A row has d features, the constant's column first. Arrays are (B, d) unless shapes are given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.constants import FARTHEST, NARROW, TINY
from river_ineural.features.jit import allocating, inlined, loop

Array = NDArray[Any]

SQRT_TWO, LOG_TWO = 2**0.5, math.log(2)
NEAR = 1e-3  # below it arsinh(v) is v - v³/6


@loop
def place(values: Array, columns: Array, x: Array) -> None:
    """Write values (B, n) into their columns (n,) of x (B, d), 0 elsewhere; -1 has none."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = 0
        for j in range(len(columns)):
            if columns[j] >= 0:
                x[i, columns[j]] = values[i, j]


@inlined
def arsinh(v: float) -> float:
    """arsinh(v) = sign(v) log(|v| + √(v² + 1)) to 1e-10, without branch or call: it vectorises.

    The logarithm is that of the exponent and of the mantissa m of the argument; with m in [√½, √2]
    and t = (m - 1) / (m + 1), log m = 2 (t + t³/3 + t⁵/5 + …).
    """
    a = np.abs(np.float64(v))
    bits = np.float64(a + np.sqrt(a * a + 1.0)).view(np.int64)
    exponent = (bits >> 52) - 1023
    m = np.int64((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(np.float64)
    high = m > SQRT_TWO
    m = 0.5 * m if high else m
    t = (m - 1.0) / (m + 1.0)
    s = t * t
    series = 1 + s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s / 11))))
    far = 2 * t * series + LOG_TWO * (exponent + high)
    near = a - a * a * a / 6
    value: float = np.copysign(near if a < NEAR else far, v)
    return value


@inlined
def scale_row(raw: Array, scaling: Array, x: Array) -> None:
    """Write one row (d,), centred and scaled, into x."""
    most = x.dtype.type(FARTHEST)
    for j in range(len(x)):
        x[j] = max(-most, min(most, (raw[j] - scaling[0, j]) * scaling[1, j]))


@allocating
def squash_rows(scaling: Array, x: Array) -> None:
    """Squash scaled rows x (B, d), then scale each to norm 1.

    All are squashed in one loop: row by row, the rest of each row that fills no vector of the
    processor takes longer than all others.
    """
    zero, tiny = x.dtype.type(0), x.dtype.type(TINY)
    n_rows, d = x.shape
    if d <= NARROW:  # else nothing is squashed
        columns, n = np.empty(d, np.int64), 0
        for j in range(d):
            columns[n] = j
            n += scaling[2, j] > 0
        held = np.empty(n_rows * n, x.dtype)
        for i in range(n_rows):
            for t in range(n):
                held[i * n + t] = x[i, columns[t]]
        for t in range(len(held)):
            held[t] = arsinh(held[t])
        for i in range(n_rows):
            for t in range(n):
                x[i, columns[t]] = held[i * n + t]
    for i in range(n_rows):
        square = zero
        for j in range(d):
            square += x[i, j] * x[i, j]
        factor = 1 / max(np.sqrt(square), tiny)
        for j in range(d):
            x[i, j] *= factor


@inlined
def standardized(raw: Array, scaling: Array, x: Array) -> None:
    """Write rows (B, d) centred, scaled and squashed, then scaled to norm 1, into x.

    Scaling (3, d) holds the subtrahend, the factor, and whether arsinh is applied.
    """
    for i in range(len(raw)):
        scale_row(raw[i], scaling, x[i])
    squash_rows(scaling, x)


@allocating
def there(rows: Array, first: int) -> Array:
    """The columns (T,) before `first`, and those that any of the rows (B, d) has."""
    found = np.zeros(rows.shape[1], np.bool_)
    found[:first] = True
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            found[j] |= rows[i, j] != 0
    return np.flatnonzero(found)


@loop
def take(rows: Array, first: int, scaling: Array, columns: Array, x: Array, scale: Array) -> None:
    """Write rows (B, T) and scaling (3, T) of columns (T,), which are `there`.

    A feature that is 0 is absent, and is put at its mean.
    """
    for t in range(len(columns)):
        j = columns[t]
        for kind in range(3):
            scale[kind, t] = scaling[kind, j]
        for i in range(len(rows)):
            given = j < first or rows[i, j] != 0
            x[i, t] = rows[i, j] if given else scaling[0, j]
