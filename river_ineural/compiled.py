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
    "oppose",
    "output_gradient",
    "perturb",
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
PACE, TOLERATED, LEAST_RADIUS = 0.2, 0.01, 1 / 15  # of the control of the adversarial radius
RESOLUTION = 1e-7  # relative: what varies less is a constant to float32
CLOSEST, FARTHEST = 1e-30, 1e15  # spreads and scaled values whose squares float32 can hold

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
def standardize(raw: Array, shift: Array, inverse: Array, normalize: bool, x: Array) -> None:
    """x (d,) = (raw - shift) · inverse, then of norm 1."""
    zero, tiny, most = x.dtype.type(0), x.dtype.type(TINY), x.dtype.type(FARTHEST)
    for j in range(len(x)):
        x[j] = max(-most, min(most, (raw[j] - shift[j]) * inverse[j]))
    if normalize:
        square = zero
        for j in range(len(x)):
            square += x[j] * x[j]
        factor = 1 / max(np.sqrt(square), tiny)
        for j in range(len(x)):
            x[j] *= factor


@phase
def gather(
    rows: Array,  # (B,)
    stored_x: Array,  # (capacity, d)
    stored_targets: Array,  # (capacity, 2, k)
    stored_weight: Array,  # (capacity,)
    shift: Array,  # (d,)
    inverse: Array,  # (d,)
    normalize: bool,
    share: float,
    x: Array,  # (B, d)
    targets: Array,  # (B, 2, k)
    weight: Array,  # (B,)
) -> None:
    """Rows of the history, x normalised, weight times `share`."""
    for i in range(len(rows)):
        row = rows[i]
        standardize(stored_x[row], shift, inverse, normalize, x[i])
        targets[i] = stored_targets[row]
        weight[i] = stored_weight[row] * share


@phase
def oppose(
    f1: Array,  # (n,)
    targets: Array,  # (B, 2, k)
    rows: Array,  # (B,)
    n_labelled: int,
    most: float,
    sign: Array,  # (n,)
    radius: Array,  # ()
) -> None:
    """Sign 1 for the class of each example, -1 for the best other one, 0 for the rest.

    Rows of the history before `n_labelled` have a label that was given. The radius shrinks where
    too many of those are misclassified, and else grows up to `most`.
    """
    n_examples = len(targets)
    n_given, n_wrong = 0, 0
    sign[:] = 0
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
        grown = radius[()] * np.exp(PACE * (TOLERATED - n_wrong / n_given))
        radius[()] = min(max(grown, most * LEAST_RADIUS), most)


@phase
def perturb(direction: Array, radius: Array, first: int, x: Array) -> None:
    """Columns of x (B, d) from `first` on moved against direction (B, d), by the radius."""
    zero, tiny = x.dtype.type(0), x.dtype.type(TINY)
    for i in range(x.shape[0]):
        square = zero
        for j in range(first, x.shape[1]):
            square += direction[i, j] * direction[i, j]
        far = x.dtype.type(radius[()]) / max(np.sqrt(square), tiny)
        for j in range(first, x.shape[1]):
            x[i, j] -= far * direction[i, j]


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
    x: Array,  # (B, d)
    n: int,
    center: bool,
    scale: bool,
    normalize: bool,
    mean: Array,  # (d,), as those that follow
    square: Array,
    cube: Array,
    fourth: Array,
    shift: Array,
    inverse: Array,
) -> None:
    """Move statistics of n examples by the rows of x, one after the other.

    Sums of powers of the distance from the mean, in the order in which none is needed before it is
    replaced (Pébay, 2008, Formulas for robust, one-pass parallel computation of covariances and
    arbitrary-order statistical moments).
    """
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
    for j in range(x.shape[1]):
        spread = np.sqrt(np.sqrt(max(fourth[j], 0.0) / n))
        known = scale and spread > max(RESOLUTION * abs(mean[j]), CLOSEST)
        inverse[j] = 1 / spread if known else 1.0
        shift[j] = mean[j]
    if normalize:
        total = 0.0
        for j in range(x.shape[1]):
            total += square[j] * (np.float64(inverse[j]) * np.float64(inverse[j]))
        shift[0] = -np.sqrt(total / n)


@phase
def score_one(
    raw: Array,  # (d,)
    shift: Array,  # (d,)
    inverse: Array,  # (d,)
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
    standardize(raw, shift, inverse, normalize, x)

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
