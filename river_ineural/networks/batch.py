"""The batch of a step, made on the CPU: rows of the history, and how they are moved."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.constants import CONSTANT, LEAST_RADIUS, PACE, TINY, TOLERATED
from river_ineural.features.jit import inlined, loop
from river_ineural.features.standardizing import scale_row, squash_rows

Array = NDArray[Any]


@inlined
def rows_of(draws: Array, drawn_from: tuple[int, int, int, int], rows: Array) -> None:
    """Write rows (B,) of the history for draws (B,) uniform on [0, 1).

    `drawn_from` says how many of the draws, the first ones, are of labelled examples; the numbers
    of labelled and of pseudo-labelled ones; and the row at which the ring of the latter begins.
    """
    split, n_labelled, n_pseudo, first = drawn_from
    for i in range(len(draws)):
        rows[i] = draws[i] * n_labelled if i < split else first + int(draws[i] * n_pseudo)


@inlined
def gather(
    rows: Array,  # (B,)
    stored: tuple[Array, Array, Array],  # x (capacity, d), targets (capacity, 2, k), weight
    scaling: Array,  # (3, d)
    given: float,
    n_labelled: int,
    x: Array,
    targets: Array,
    weight: Array,
) -> None:
    """Write rows of the history: x (B, d) standardised, targets and weights (B, 2, k).

    The weight of a class is that of the example divided by B·k, and times `given` for the class of
    the example. In the loss of f2, the second, rows from `n_labelled` on have weight 0.
    """
    stored_x, stored_targets, stored_weight = stored
    n, k = len(rows), stored_targets.shape[2]
    share = x.dtype.type(1 / (n * k))
    for i in range(n):
        row = rows[i]
        scale_row(stored_x[row], scaling, x[i])
        for kind in range(2):
            for label in range(k):
                targets[i, kind, label] = stored_targets[row, kind, label]
        for label in range(k):
            weight[i, 0, label] = stored_weight[row] * share
            if stored_targets[row, 0, label] > 0:
                weight[i, 0, label] *= given
            weight[i, 1, label] = weight[i, 0, label] if row < n_labelled else 0
    squash_rows(scaling, x)


@loop
def oppose(
    f1: Array,  # (k, B)
    targets: Array,  # (B, 2, k)
    rows: Array,  # (B,)
    n_labelled: int,
    most: float,
    sign: Array,  # (k, B)
    radius: Array,  # (1,)
) -> None:
    """Write sign 1 for the class of each example, -1 for the best other class, 0 for the rest.

    Rows of the history before `n_labelled` have given labels. The radius shrinks if too many of
    these rows are misclassified; otherwise it grows up to `most`.
    """
    k, n_examples = f1.shape
    n_given, n_wrong = 0, 0
    for i in range(n_examples):
        label, other = 0, -1
        for c in range(k):
            sign[c, i] = 0
            if targets[i, 0, c] > targets[i, 0, label]:
                label = c
        for c in range(k):
            if c != label and (other < 0 or f1[c, i] > f1[other, i]):
                other = c
        if other < 0:
            continue
        sign[label, i] = 1
        sign[other, i] = -1
        if rows[i] < n_labelled:
            n_given += 1
            n_wrong += f1[label, i] <= f1[other, i]
    if n_given:
        grown = radius[0] * np.exp(PACE * (TOLERATED - n_wrong / n_given))
        radius[0] = min(max(grown, most * LEAST_RADIUS), most)


@inlined
def perturb(direction: Array, radius: Array, x: Array) -> None:
    """Move x (B, d), but for the constant, against direction (B, d), by the radius."""
    zero, tiny = x.dtype.type(0), x.dtype.type(TINY)
    for i in range(x.shape[0]):
        square = zero
        for j in range(CONSTANT, x.shape[1]):
            square += direction[i, j] * direction[i, j]
        far = x.dtype.type(radius[0]) / max(np.sqrt(square), tiny)
        for j in range(CONSTANT, x.shape[1]):
            x[i, j] -= far * direction[i, j]
