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
    (stored_x, stored_targets, stored_weight), (x, targets, weight) = stored, given
    for i in range(len(x)):
        row = first + (n_before + i) % capacity
        for j in range(stored_x.shape[1]):
            stored_x[row, j] = x[i, j]
        for kind in range(2):
            for label in range(stored_targets.shape[2]):
                stored_targets[row, kind, label] = targets[i, kind, label]
        stored_weight[row] = weight[i]


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
