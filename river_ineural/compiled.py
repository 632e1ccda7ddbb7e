"""The arithmetic between the matrix products, compiled for the CPU by Numba.

One pass over memory a phase, where PyTorch takes a call, and a pass, an operation. The phases are
those of `eager`, for arrays instead of tensors; `score_one` and `observe` have no counterpart
there. Compiled at first use, for float32 and float64, and cached on disk.

Letters as in `networks`: m units, n = k·B contexts, class by class; arrays are (m, n) unless shapes
are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "adam",
    "activate",
    "behind_output",
    "embed",
    "embed_folded",
    "errors",
    "gather",
    "observe",
    "output_gradient",
    "rescale",
    "score",
    "scatter",
    "sgd",
    "score_one",
    "within",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Array = NDArray[Any]

TINY = 1e-12  # keeps the norm of a dead gradient, which is exactly 0, from dividing by 0
SQRT_HALF = 0.5**0.5
BETA1, BETA2, EPSILON = 0.9, 0.99, 1e-8  # Adam's; its usual 0.999 forgets too slowly here
LEAST = 1e-35

# Sums in any order and fused multiplications, so that loops vectorise; NaN and infinity are kept. A
# loop that sums must not store into an array as well: whether it is vectorised, and so the order of
# the sum, would depend on where the arrays lie, which no seed fixes.
REORDER = {"reassoc", "contract", "arcp", "nsz"}


def phase(function: Function) -> Function:
    """Compile a phase at its first call."""
    jit = numba.njit(cache=True, fastmath=REORDER, error_model="numpy", nogil=True)
    compiled: Function = jit(function)  # type: ignore[assignment]
    return compiled


@phase
def within(values: Array, limit: float) -> bool:
    """Whether all values are numbers of at most that magnitude."""
    every = True
    for value in values:
        every &= abs(value) <= limit
    return every


@phase
def scatter(values: Array, columns: Array, placed: Array) -> None:
    """Values (B, n) into columns (n,) of placed (B, d); those of column -1 are left out."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if columns[j] >= 0:
                placed[i, columns[j]] = values[i, j]


@phase
def centre(raw: Array, shift: Array, normalize: bool, x: Array) -> None:
    """x (d,) = raw - shift, then of norm 1."""
    zero, tiny = x.dtype.type(0), x.dtype.type(TINY)
    for j in range(len(x)):
        x[j] = raw[j] - shift[j]
    if normalize:
        square = zero
        for j in range(len(x)):
            square += x[j] * x[j]
        inverse = 1 / max(np.sqrt(square), tiny)
        for j in range(len(x)):
            x[j] *= inverse


@phase
def gather(
    rows: Array,  # (B,)
    stored_x: Array,  # (capacity, d)
    stored_targets: Array,  # (capacity, 2, k)
    stored_weight: Array,  # (capacity,)
    shift: Array,  # (d,)
    normalize: bool,
    share: float,
    dropped: Array,  # numbers of x, counted row by row
    x: Array,  # (B, d)
    targets: Array,  # (B, 2, k)
    weight: Array,  # (B,)
) -> None:
    """Rows of the history, x normalised, then 0 where dropped, weight times `share`."""
    for i in range(len(rows)):
        row = rows[i]
        centre(stored_x[row], shift, normalize, x[i])
        targets[i] = stored_targets[row]
        weight[i] = stored_weight[row] * share
    flat = x.reshape(x.size)
    for i in range(len(dropped)):
        flat[dropped[i]] = 0


@phase
def activate(products: Array, output: Array, f1: Array, delta: Array) -> None:
    """ReLU in place, f1 (n,) and its gradient before the ReLU, of the last hidden layer."""
    zero = products.dtype.type(0)
    f1[:] = zero
    for unit in range(products.shape[0]):
        out = output[unit]
        for j in range(products.shape[1]):
            hidden = max(products[unit, j], zero)
            products[unit, j] = hidden
            f1[j] += out * hidden
            delta[unit, j] = out if hidden > 0 else zero


@phase
def add_inverse_norm(products: Array, explored: Array, inverse: Array) -> None:
    """First hidden layer of f2: ReLU(products + explored / norm), in place."""
    zero = products.dtype.type(0)
    for unit in range(products.shape[0]):
        for j in range(products.shape[1]):
            value = products[unit, j] + explored[unit, j] * inverse[j]
            products[unit, j] = max(value, zero)


@phase
def embed(gradient: Array, explored: Array, products: Array, inverse: Array) -> None:
    """`add_inverse_norm` with the norms of the rows of gradient (n, kd)."""
    zero, tiny = products.dtype.type(0), products.dtype.type(TINY)
    for j in range(gradient.shape[0]):
        square = zero
        for q in range(gradient.shape[1]):
            square += gradient[j, q] * gradient[j, q]
        inverse[j] = 1 / max(np.sqrt(square), tiny)
    add_inverse_norm(products, explored, inverse)


@phase
def embed_folded(
    delta: Array, quadratic: Array, explored: Array, products: Array, inverse: Array
) -> None:
    """`add_inverse_norm` with ‖delta W‖² = delta (W Wᵀ) deltaᵀ, quadratic being (W Wᵀ) deltaᵀ."""
    zero, tiny = products.dtype.type(0), products.dtype.type(TINY)
    inverse[:] = zero
    for unit in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            inverse[j] += delta[unit, j] * quadratic[unit, j]
    for j in range(delta.shape[1]):
        inverse[j] = 1 / np.sqrt(max(inverse[j], tiny * tiny))
    add_inverse_norm(products, explored, inverse)


@phase
def score(hidden: Array, output: Array, f1: Array, scores: Array) -> None:
    """f1 + f2 (n,) from the last hidden layer of f2."""
    half = hidden.dtype.type(SQRT_HALF)
    scores[:] = f1
    for unit in range(hidden.shape[0]):
        out = half * output[unit]
        for j in range(hidden.shape[1]):
            scores[j] += out * hidden[unit, j]


@phase
def errors(
    f1: Array, scores: Array, targets: Array, weight: Array, error1: Array, error2: Array
) -> None:
    """Gradients of the losses at f1 and at f2 before its 1/√2 (n,): targets (B, 2, k)."""
    half = f1.dtype.type(SQRT_HALF)
    n_examples = len(weight)
    for label in range(targets.shape[2]):
        for i in range(n_examples):
            j = label * n_examples + i
            error1[j] = weight[i] * (f1[j] - targets[i, 0, label])
            error2[j] = weight[i] * (scores[j] - f1[j] - targets[i, 1, label]) * half


@phase
def output_gradient(hidden: Array, error: Array, gradient: Array) -> None:
    """Gradient of an output layer (m,)."""
    zero = hidden.dtype.type(0)
    for unit in range(hidden.shape[0]):
        total = zero
        for j in range(hidden.shape[1]):
            total += hidden[unit, j] * error[j]
        gradient[unit] = total


@phase
def behind_output(hidden: Array, output: Array, error: Array) -> None:
    """Gradient before the last ReLU, in place of the hidden layer."""
    zero = hidden.dtype.type(0)
    for unit in range(hidden.shape[0]):
        out = output[unit]
        for j in range(hidden.shape[1]):
            hidden[unit, j] = out * error[j] if hidden[unit, j] > 0 else zero


@phase
def rescale(gradient: Array, inverse: Array, scaled: Array) -> None:
    """Columns of gradient times inverse (n,)."""
    for unit in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            scaled[unit, j] = gradient[unit, j] * inverse[j]


@phase
def sgd(parameters: Array, gradient: Array, n_updates: Array, lr: float) -> None:
    """One update as in Algorithm 2; all flat, n_updates (1,)."""
    n_updates[0] += 1
    rate = parameters.dtype.type(lr)
    for i in range(len(parameters)):
        parameters[i] -= rate * gradient[i]


@phase
def adam(
    parameters: Array, gradient: Array, mean: Array, square: Array, n_updates: Array, lr: float
) -> None:
    """One update of Adam; all flat, n_updates (1,).

    Averages of a unit that is off decay to numbers below the normal range, with which a processor
    takes a hundred times as long: they are set to 0 long before they mean anything.
    """
    n_updates[0] += 1
    t, number = float(n_updates[0]), parameters.dtype.type
    zero, least = number(0), number(LEAST)
    step, root = number(lr / (1 - BETA1**t)), number(1 / np.sqrt(1 - BETA2**t))
    new1, new2, keep2, eps = number(1 - BETA1), number(1 - BETA2), number(BETA2), number(EPSILON)
    for i in range(len(parameters)):
        g = gradient[i]
        first = mean[i] + new1 * (g - mean[i])
        second = keep2 * square[i] + new2 * g * g
        mean[i] = first = first if abs(first) > least else zero
        square[i] = second = second if second > least else zero
        parameters[i] -= step * first / (np.sqrt(second) * root + eps)


@phase
def observe(
    x: Array, n: int, center: bool, normalize: bool, mean: Array, mean_square: Array, shift: Array
) -> None:
    """Move running statistics of n examples by the rows of x (B, d), one after the other."""
    number = mean.dtype.type
    for i in range(x.shape[0]):
        n += 1
        share, square = number(1 / n), number(0)
        for j in range(x.shape[1]):
            apart = x[i, j] - mean[j]
            square += apart * apart
        if center:
            square *= number((n - 1) / n)
            for j in range(x.shape[1]):
                mean[j] += share * (x[i, j] - mean[j])
        mean_square[()] += share * (square - mean_square[()])
    if center:
        shift[:] = mean
    if normalize:
        shift[0] = -np.sqrt(mean_square[()])


@phase
def score_one(
    raw: Array,  # (d,)
    shift: Array,  # (d,)
    normalize: bool,
    context: Array,  # (2, m, k, d)
    gradient: Array,  # (m, k, d)
    hidden1: Array,  # (L - 2, m, m)
    output1: Array,  # (m,)
    hidden2: Array,  # (L - 2, m, m)
    output2: Array,  # (m,)
    explore: bool,
    x: Array,  # (d,)
    layers: Array,  # (L - 1, k, m)
    delta: Array,  # (2, k, m)
    tile: Array,  # (k, numbers of an input gradient at a time)
    active: Array,  # (m,) int
    f1: Array,  # (k,)
    scores: Array,  # (k,)
) -> None:
    """f1, and with `explore` f1 + f2, of every class of one example.

    `networks.exploit` and `explore` for a single x and few classes, where the time goes into
    reading the weights: each of the three first layers is read once, W twice. The input gradient
    exists a tile at a time.
    """
    number = raw.dtype.type
    zero, tiny = number(0), number(TINY)
    m, k, d = gradient.shape
    depth = len(layers) + 1
    centre(raw, shift, normalize, x)

    # f1, forward, then its gradient at every pre-activation
    for u in range(m):
        for c in range(k):
            row, total = context[0, u, c], zero
            for j in range(d):
                total += row[j] * x[j]
            layers[0, c, u] = max(total, zero)
    for layer in range(1, depth - 1):
        for c in range(k):
            for u in range(m):
                row, below, total = hidden1[layer - 1, u], layers[layer - 1, c], zero
                for v in range(m):
                    total += row[v] * below[v]
                layers[layer, c, u] = max(total, zero)
    for c in range(k):
        total = zero
        for u in range(m):
            value = layers[depth - 2, c, u]
            total += output1[u] * value
            delta[0, c, u] = output1[u] if value > 0 else zero
        f1[c] = total
    if not explore:
        return
    for layer in range(depth - 2, 0, -1):
        for c in range(k):
            delta[1, c] = delta[0, c]
            delta[0, c] = zero
            for u in range(m):
                row, above = hidden1[layer - 1, u], delta[1, c, u]
                for v in range(m):
                    delta[0, c, v] += above * row[v]
            for v in range(m):
                if layers[layer - 1, c, v] <= 0:
                    delta[0, c, v] = zero

    # delta W, its square, and its product with A, a tile of columns at a time
    first, half = context[0].reshape(m, k * d), gradient.reshape(m, k * d)
    explored, squares = delta[1], scores
    explored[:] = zero
    squares[:] = zero
    for start in range(0, k * d, tile.shape[1]):
        stop = min(start + tile.shape[1], k * d)
        width = stop - start
        for c in range(k):
            part, n_active = tile[c, :width], 0
            for u in range(m):
                if delta[0, c, u] != 0:
                    active[n_active] = u
                    n_active += 1
            part[:] = zero
            at = 0
            while at + 4 <= n_active:  # four rows a pass: the tile is read and written less often
                u0, u1, u2, u3 = active[at], active[at + 1], active[at + 2], active[at + 3]
                d0, d1, d2, d3 = delta[0, c, u0], delta[0, c, u1], delta[0, c, u2], delta[0, c, u3]
                row0, row1 = first[u0, start:stop], first[u1, start:stop]
                row2, row3 = first[u2, start:stop], first[u3, start:stop]
                for q in range(width):
                    part[q] += d0 * row0[q] + d1 * row1[q] + d2 * row2[q] + d3 * row3[q]
                at += 4
            while at < n_active:
                u0 = active[at]
                d0, row0 = delta[0, c, u0], first[u0, start:stop]
                for q in range(width):
                    part[q] += d0 * row0[q]
                at += 1
            total = zero
            for q in range(width):
                total += part[q] * part[q]
            squares[c] += total
        for u in range(m):
            row = half[u, start:stop]
            for c in range(k):
                part, total = tile[c, :width], zero
                for q in range(width):
                    total += part[q] * row[q]
                explored[c, u] += total

    # f2
    for c in range(k):
        squares[c] = 1 / max(np.sqrt(squares[c]), tiny)
    for u in range(m):
        for c in range(k):
            row, total = context[1, u, c], explored[c, u] * squares[c]
            for j in range(d):
                total += row[j] * x[j]
            layers[0, c, u] = max(total, zero)
    for layer in range(1, depth - 1):
        for c in range(k):
            for u in range(m):
                row, below, total = hidden2[layer - 1, u], layers[layer - 1, c], zero
                for v in range(m):
                    total += row[v] * below[v]
                layers[layer, c, u] = max(total, zero)
    for c in range(k):
        total = zero
        for u in range(m):
            total += output2[u] * layers[depth - 2, c, u]
        scores[c] = f1[c] + number(SQRT_HALF) * total
