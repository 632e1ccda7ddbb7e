"""The phases as loops over arrays, compiled for the CPU by Numba.

One pass over memory a phase, where PyTorch takes a call, and a pass, an operation. `eager` has the
same phases, with the same signatures, for tensors of any device. Compiled at first use, for the
precision in use, and kept on disk.

Letters as in `contexts`: m units, n = k·B contexts, class by class; arrays are (m, n) unless shapes
are given. Arrays are filled element by element, not by slices: Numba takes seconds to compile the
error message of a slice that does not fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.network.constants import (
    BETA1,
    BETA2,
    EPSILON,
    LEAST,
    LEAST_RADIUS,
    MOST_GRADIENT,
    PACE,
    SQRT_HALF,
    TINY,
    TOLERATED,
)
from river_ineural.network.loops import inlined, loop
from river_ineural.network.standardizing import observe, standardize, standardize_row, weigh

__all__ = [
    "adam",
    "activate",
    "behind_output",
    "embed",
    "embed_folded",
    "errors",
    "gather",
    "observe",
    "oppose",
    "output_gradient",
    "perturb",
    "rescale",
    "score",
    "standardize",
    "unit_columns",
    "weigh",
]

Array = NDArray[Any]


@loop
def gather(
    rows: Array,  # (B,)
    stored_x: Array,  # (capacity, d)
    stored_targets: Array,  # (capacity, 2, k)
    stored_weight: Array,  # (capacity,)
    scaling: Array,  # (3, d)
    share: float,
    given: float,
    n_explored: int,
    x: Array,  # (B, d)
    targets: Array,  # (B, 2, k)
    weight: Array,  # (B, 2, k)
) -> None:
    """Rows of the history, x standardised, each class's weight times `share`.

    That of the class of an example, whose reward is 1, times `given` as well. In the loss of f2,
    the second, rows from `n_explored` on weigh 0.
    """
    for i in range(len(rows)):
        row = rows[i]
        standardize_row(stored_x[row], scaling, x[i])
        for kind in range(2):
            for label in range(targets.shape[2]):
                targets[i, kind, label] = stored_targets[row, kind, label]
        for label in range(weight.shape[2]):
            weight[i, 0, label] = stored_weight[row] * share
            if stored_targets[row, 0, label] > 0:
                weight[i, 0, label] *= given
            weight[i, 1, label] = weight[i, 0, label] if row < n_explored else 0


@loop
def oppose(
    f1: Array,  # (n,)
    targets: Array,  # (B, 2, k)
    rows: Array,  # (B,)
    n_labelled: int,
    most: float,
    sign: Array,  # (n,)
    radius: Array,  # (1,)
) -> None:
    """Sign 1 for the class of each example, -1 for the best other one, 0 for the rest.

    Rows of the history before `n_labelled` have a label that was given. The radius shrinks where
    too many of those are misclassified, and else grows up to `most`.
    """
    n_examples = len(targets)
    n_given, n_wrong = 0, 0
    for j in range(len(sign)):
        sign[j] = 0
    for i in range(n_examples):
        label, other = 0, -1
        for c in range(1, targets.shape[2]):
            if targets[i, 0, c] > targets[i, 0, label]:
                label = c
        for c in range(targets.shape[2]):
            if c != label and (other < 0 or f1[c * n_examples + i] > f1[other * n_examples + i]):
                other = c
        if other < 0:
            continue
        sign[label * n_examples + i] = 1
        sign[other * n_examples + i] = -1
        if rows[i] < n_labelled:
            n_given += 1
            n_wrong += f1[label * n_examples + i] <= f1[other * n_examples + i]
    if n_given:
        grown = radius[0] * np.exp(PACE * (TOLERATED - n_wrong / n_given))
        radius[0] = min(max(grown, most * LEAST_RADIUS), most)


@loop
def perturb(direction: Array, radius: Array, first: int, x: Array) -> None:
    """Columns of x (B, d) from `first` on moved against direction (B, d), by the radius."""
    zero, tiny = x.dtype.type(0), x.dtype.type(TINY)
    for i in range(x.shape[0]):
        square = zero
        for j in range(first, x.shape[1]):
            square += direction[i, j] * direction[i, j]
        far = x.dtype.type(radius[0]) / max(np.sqrt(square), tiny)
        for j in range(first, x.shape[1]):
            x[i, j] -= far * direction[i, j]


@loop
def activate(products: Array, output: Array, f1: Array, delta: Array) -> None:
    """ReLU in place, f1 (n,) and its gradient before the ReLU, of the last hidden layer."""
    zero = products.dtype.type(0)
    for j in range(len(f1)):
        f1[j] = zero
    for unit in range(products.shape[0]):
        out = output[unit]
        for j in range(products.shape[1]):
            hidden = max(products[unit, j], zero)
            products[unit, j] = hidden
            f1[j] += out * hidden
            delta[unit, j] = out if hidden > 0 else zero


@inlined
def add_inverse_norm(products: Array, explored: Array, inverse: Array) -> None:
    """First hidden layer of f2: ReLU(products + explored / norm), in place."""
    zero = products.dtype.type(0)
    for unit in range(products.shape[0]):
        for j in range(products.shape[1]):
            value = products[unit, j] + explored[unit, j] * inverse[j]
            products[unit, j] = max(value, zero)


@loop
def embed(gradient: Array, explored: Array, products: Array, inverse: Array) -> None:
    """`add_inverse_norm` with the norms of the rows of gradient (n, kd)."""
    zero, tiny = products.dtype.type(0), products.dtype.type(TINY)
    for j in range(gradient.shape[0]):
        square = zero
        for q in range(gradient.shape[1]):
            square += gradient[j, q] * gradient[j, q]
        inverse[j] = 1 / max(np.sqrt(square), tiny)
    add_inverse_norm(products, explored, inverse)


@loop
def embed_folded(
    delta: Array, quadratic: Array, explored: Array, products: Array, inverse: Array
) -> None:
    """`add_inverse_norm` with ‖delta W‖² = delta (W Wᵀ) deltaᵀ, quadratic being (W Wᵀ) deltaᵀ."""
    zero, tiny = products.dtype.type(0), products.dtype.type(TINY)
    for j in range(len(inverse)):
        inverse[j] = zero
    for unit in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            inverse[j] += delta[unit, j] * quadratic[unit, j]
    for j in range(delta.shape[1]):
        inverse[j] = 1 / np.sqrt(max(inverse[j], tiny * tiny))
    add_inverse_norm(products, explored, inverse)


@loop
def unit_columns(columns: Array, inverse: Array) -> None:
    """Columns of (e, B) scaled to norm 1; inverse (B,) is what they are multiplied with."""
    zero, tiny = columns.dtype.type(0), columns.dtype.type(TINY)
    for j in range(len(inverse)):
        inverse[j] = zero
    for unit in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            inverse[j] += columns[unit, j] * columns[unit, j]
    for j in range(len(inverse)):
        inverse[j] = 1 / max(np.sqrt(inverse[j]), tiny)
    for unit in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            columns[unit, j] *= inverse[j]


@loop
def score(hidden: Array, output: Array, f1: Array, scores: Array) -> None:
    """f1 + f2 (n,) from the last hidden layer of f2."""
    half = hidden.dtype.type(SQRT_HALF)
    for j in range(len(f1)):
        scores[j] = f1[j]
    for unit in range(hidden.shape[0]):
        out = half * output[unit]
        for j in range(hidden.shape[1]):
            scores[j] += out * hidden[unit, j]


@loop
def errors(
    f1: Array,
    scores: Array,
    targets: Array,  # (B, 2, k)
    weight: Array,  # (B, 2, k)
    exploring: bool,
    factor: float,
    error1: Array,
    error2: Array,
) -> bool:
    """Gradients of the losses at f1 and, with `exploring`, at f2 before its factor (n,).

    Returns
    -------
    Whether they are finite.
    """
    share = f1.dtype.type(factor)
    n_examples, fine = len(weight), True
    for label in range(targets.shape[2]):
        for i in range(n_examples):
            j = label * n_examples + i
            error1[j] = weight[i, 0, label] * (f1[j] - targets[i, 0, label])
            fine &= abs(error1[j]) < np.inf
            if exploring:
                error2[j] = weight[i, 1, label] * (scores[j] - f1[j] - targets[i, 1, label]) * share
                fine &= abs(error2[j]) < np.inf
    return fine


@loop
def output_gradient(hidden: Array, error: Array, gradient: Array) -> None:
    """Gradient of an output layer (m,)."""
    zero = hidden.dtype.type(0)
    for unit in range(hidden.shape[0]):
        total = zero
        for j in range(hidden.shape[1]):
            total += hidden[unit, j] * error[j]
        gradient[unit] = total


@loop
def behind_output(hidden: Array, output: Array, error: Array) -> None:
    """Gradient before the last ReLU, in place of the hidden layer."""
    zero = hidden.dtype.type(0)
    for unit in range(hidden.shape[0]):
        out = output[unit]
        for j in range(hidden.shape[1]):
            hidden[unit, j] = out * error[j] if hidden[unit, j] > 0 else zero


@loop
def rescale(gradient: Array, inverse: Array, scaled: Array) -> None:
    """Columns of gradient times inverse (n,)."""
    for unit in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            scaled[unit, j] = gradient[unit, j] * inverse[j]


@loop
def adam(
    parameters: Array,
    gradient: Array,
    mean: Array,
    square: Array,
    n_updates: Array,
    lr: float,
) -> None:
    """One update of Adam; all flat, n_updates (1,).

    Numbers of the gradient whose squares could not be held, or that are none, count as 0.
    Averages of a unit that is off decay to numbers below the normal range, with which a processor
    takes a hundred times as long: they are set to 0 long before they mean anything.
    """
    n_updates[0] += 1
    t, number = float(n_updates[0]), parameters.dtype.type
    zero, least, most = number(0), number(LEAST), number(MOST_GRADIENT)
    step, root = number(lr / (1 - BETA1**t)), number(1 / np.sqrt(1 - BETA2**t))
    new1, new2, keep2, eps = number(1 - BETA1), number(1 - BETA2), number(BETA2), number(EPSILON)
    for i in range(len(parameters)):
        g = gradient[i]
        g = g if abs(g) <= most else zero
        first = mean[i] + new1 * (g - mean[i])
        second = keep2 * square[i] + new2 * g * g
        mean[i] = first = first if abs(first) > least else zero
        square[i] = second = second if second > least else zero
        parameters[i] -= step * first / (np.sqrt(second) * root + eps)
