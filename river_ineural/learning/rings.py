"""Compiled loops over the two rings of a history, which an interrupt cannot part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.network.loops import loop

__all__ = ["drawn", "put"]

Array = NDArray[Any]


@loop
def put(
    stored: tuple[Array, Array, Array],  # x (capacity, d), targets (capacity, 2, k), weight
    given: tuple[Array, Array, Array],  # of B examples
    first: int,
    capacity: int,
    n_before: int,
) -> None:
    """Store examples over the oldest of a ring, which begins at row `first` of all.

    `n_before` examples were added to it before.
    """
    for i in range(len(given[0])):
        row = first + (n_before + i) % capacity
        stored[0][row] = given[0][i]
        stored[1][row] = given[1][i]
        stored[2][row] = given[2][i]


@loop
def drawn(draws: Array, split: int, n_labelled: int, n_pseudo: int, first: int) -> Array:
    """Rows (B,) for draws (B,) uniform on [0, 1).

    The draws before `split` are of labelled examples; the others are of pseudo-labelled ones, whose
    ring begins at row `first`.
    """
    rows = np.empty(len(draws), np.int64)
    for i in range(len(draws)):
        rows[i] = draws[i] * n_labelled if i < split else first + int(draws[i] * n_pseudo)
    return rows
