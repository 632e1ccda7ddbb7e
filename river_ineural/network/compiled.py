"""The networks on the CPU: the passes over a whole batch, compiled by Numba.

`modules` has the same networks to be read, and by automatic differentiation. Here all is written
out, over the same flat weights: scaling, forward, backward and Adam's update are one call.
Compiled at first use, for the precision in use, and kept on disk.

Letters: B examples, k classes, d features, m hidden units, L layers. The first layer of f1
(m·b, d) has b blocks, and each output layer (r, m) has r rows: with a context a class b = k and
r = 1, with an output a class b = 1 and r = k. So a layer is (m, n), a row a unit, with n = b·B
columns, block by block: this is what the product of the first layer with x gives, seen with other
sizes, so that no context is ever built and nothing is ever transposed. Outputs (r, n) are k·B
numbers, class by class.

With a context a class the input gradient of f1 at x_i is dense in all k blocks: delta_i W, with
delta_i (m,) the gradient of f1 at the first layer's pre-activations, and W (m, kd) the first layer.
The first layer of f2 has two halves of W's size: one for x_i, which is block i times x again, and
A (m, kd) for that gradient. (delta W) Aᵀ is taken in the order that costs less: from the left for
few contexts, as delta (W Aᵀ) for at least as many contexts as hidden units. A ReLU network without
biases is positively homogeneous, f2(φ / √2) = f2(φ) / √2: the 1/√2 of both halves of φ is applied
once, to the output.

With an output a class the embedding is (h1, √k h) / norm: see `layout`.

Arrays are filled element by element, not by slices: Numba takes seconds to compile the error
message of a slice that does not fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.network.batch import gather, oppose, perturb
from river_ineural.network.constants import (
    BETA1,
    BETA2,
    EPSILON,
    LEAST,
    MOST_GRADIENT,
    SQRT_HALF,
    TINY,
)
from river_ineural.network.loops import inlined, loop
from river_ineural.network.products import product
from river_ineural.network.standardizing import standardized

__all__ = ["adam", "score", "step"]

Array = NDArray[Any]
Sizes = tuple[int, ...]  # k, d, m, L, b, r, inputs of f2


@inlined
def of_f1(sizes: Sizes) -> int:
    """Weights of f1; those of f2 follow."""
    _, d, m, depth, blocks, rows, _, _ = sizes
    return m * blocks * d + (depth - 2) * m * m + rows * m


@inlined
def split(flat: Array, n_first: int, m: int, depth: int, rows: int) -> tuple[Array, Array, Array]:
    """First layer (n_first,), layers 2 … L - 1 (L - 2, m, m) and output layer (r, m)."""
    end = n_first + (depth - 2) * m * m
    hidden = flat[n_first:end].reshape(depth - 2, m, m)
    return flat[:n_first], hidden, flat[end : end + rows * m].reshape(rows, m)


@loop
def ascend(hidden: Array, output: Array, h: Array, f: Array) -> None:
    """Hidden layers h (L - 1, m, n) from the first's product with its inputs, and outputs f."""
    zero = h.dtype.type(0)
    for layer in range(len(h)):
        if layer:
            product(hidden[layer - 1], h[layer - 1], h[layer])
        for u in range(h.shape[1]):
            for j in range(h.shape[2]):
                h[layer, u, j] = max(h[layer, u, j], zero)
    product(output, h[len(h) - 1], f)


@loop
def descend(hidden: Array, output: Array, h: Array, error: Array, delta: Array) -> None:
    """Gradient at the pre-activations, delta (L - 1, m, n), of outputs times error (r, n)."""
    zero, last = h.dtype.type(0), len(h) - 1
    for layer in range(last, -1, -1):
        if layer == last:
            product(output.T, error, delta[layer])
        else:
            product(hidden[layer].T, delta[layer + 1], delta[layer])
        for u in range(h.shape[1]):
            for j in range(h.shape[2]):
                delta[layer, u, j] = delta[layer, u, j] if h[layer, u, j] > 0 else zero


@loop
def collect(h: Array, delta: Array, error: Array, hidden: Array, output: Array) -> None:
    """Gradients at the weights behind the first layer."""
    product(error, h[len(h) - 1].T, output)
    for layer in range(1, len(h)):
        product(delta[layer], h[layer - 1].T, hidden[layer - 1])


@loop
def exploit(sizes: Sizes, flat: Array, x: Array) -> tuple[Array, Array]:
    """Hidden layers (L - 1, m, n) and outputs f1 (r, n) of examples x (B, d)."""
    _, d, m, depth, blocks, rows, _, _ = sizes
    n = blocks * len(x)
    first, hidden, output = split(flat, m * blocks * d, m, depth, rows)
    h, f1 = np.empty((depth - 1, m, n), x.dtype), np.empty((rows, n), x.dtype)
    product(first.reshape(m * blocks, d), x.T, h[0].reshape(m * blocks, len(x)))
    ascend(hidden, output, h, f1)
    return h, f1


@inlined
def invert(squares: Array) -> None:
    """1 / √ in place; of 0, which a rounded sum may be a little below, a large number."""
    tiny = squares.dtype.type(TINY)
    for j in range(len(squares)):
        squares[j] = 1 / np.sqrt(max(squares[j], tiny * tiny))


@loop
def embed_contexts(
    sizes: Sizes, flat: Array, x: Array, h1: Array, products: Array
) -> tuple[Array, Array, Array]:
    """First layer of f2, products (m, n), of the derivative-context embedding φ.

    Returns
    -------
    Gradient of f1 at the first layer's pre-activations (m, n); 1 / ‖∇_x f1‖ (n,); and, of few
    contexts, ∇_x f1 (n, kd).
    """
    k, d, m, depth, _, rows, _, _ = sizes
    n, wide, size = k * len(x), k * d, m * k * d
    first, hidden, output = split(flat, size, m, depth, rows)
    at = of_f1(sizes)
    half = flat[at + size : at + 2 * size].reshape(m, wide)  # A
    w = first.reshape(m, wide)
    product(flat[at : at + size].reshape(m * k, d), x.T, products.reshape(m * k, len(x)))
    delta, explored = np.empty((depth - 1, m, n), x.dtype), np.empty((m, n), x.dtype)
    descend(hidden, output, h1, np.ones((1, n), x.dtype), delta)
    inverse = np.zeros(n, x.dtype)
    gradient = np.empty((0 if n >= m else n, wide), x.dtype)
    if n >= m:
        w_wt, a_wt = np.empty((m, m), x.dtype), np.empty((m, m), x.dtype)
        quadratic = np.empty((m, n), x.dtype)
        product(w, w.T, w_wt)
        product(half, w.T, a_wt)
        product(w_wt, delta[0], quadratic)
        product(a_wt, delta[0], explored)
        for u in range(m):  # ‖delta W‖² = delta (W Wᵀ) deltaᵀ
            for j in range(n):
                inverse[j] += delta[0, u, j] * quadratic[u, j]
    else:
        product(delta[0].T, w, gradient)
        product(half, gradient.T, explored)
        for j in range(n):
            square = inverse[j]
            for q in range(wide):
                square += gradient[j, q] * gradient[j, q]
            inverse[j] = square
    invert(inverse)
    for u in range(m):
        for j in range(n):
            products[u, j] += explored[u, j] * inverse[j]
    return delta[0], inverse, gradient


@loop
def embed_outputs(
    sizes: Sizes, flat: Array, x: Array, h1: Array, products: Array
) -> tuple[Array, Array, Array]:
    """First layer of f2, products (m, B), of the end-to-end embedding.

    Returns
    -------
    Nothing; 1 / norm (B,); the embedding (e, B).
    """
    k, _, m, depth, _, _, e, _ = sizes
    n, root = len(x), x.dtype.type(np.sqrt(k))
    at = of_f1(sizes)
    embedding, inverse = np.empty((e, n), x.dtype), np.zeros(n, x.dtype)
    for u in range(e):
        for j in range(n):
            value = h1[0, u, j] if u < m else root * h1[depth - 2, u - m, j]
            embedding[u, j] = value
            inverse[j] += value * value
    invert(inverse)
    for u in range(e):
        for j in range(n):
            embedding[u, j] *= inverse[j]
    product(flat[at : at + m * e].reshape(m, e), embedding, products)
    return np.empty((0, 0), x.dtype), inverse, embedding


@loop
def explore(
    sizes: Sizes, flat: Array, x: Array, h1: Array
) -> tuple[Array, Array, tuple[Array, Array, Array]]:
    """Hidden layers of f2, f2 (r, n), and what `embed_contexts` or `embed_outputs` returns."""
    _, _, m, depth, _, rows, e, outputs = sizes
    n = h1.shape[2]
    h, f2 = np.empty(h1.shape, x.dtype), np.empty((rows, n), x.dtype)
    if outputs:
        embedded = embed_outputs(sizes, flat, x, h1, h[0])
    else:
        embedded = embed_contexts(sizes, flat, x, h1, h[0])
    _, hidden, output = split(flat[of_f1(sizes) :], m * e, m, depth, rows)
    ascend(hidden, output, h, f2)
    if not outputs:
        for j in range(n):
            f2[0, j] *= x.dtype.type(SQRT_HALF)
    return h, f2, embedded


@loop
def score(sizes: Sizes, flat: Array, raw: Array, scaling: Array, exploring: bool) -> Array:
    """f1, and f1 + f2, (2, B, k) of raw rows (B, d); without `exploring` f1 twice."""
    x = standardized(raw, scaling)
    k, n_examples = sizes[0], len(x)
    h1, f1 = exploit(sizes, flat, x)
    by_class1 = f1.reshape(k, n_examples)
    found = np.empty((2, n_examples, k), x.dtype)
    for i in range(n_examples):
        for c in range(k):
            found[0, i, c] = found[1, i, c] = by_class1[c, i]
    if exploring:
        _, f2, _ = explore(sizes, flat, x, h1)
        by_class2 = f2.reshape(k, n_examples)
        for i in range(n_examples):
            for c in range(k):
                found[1, i, c] += by_class2[c, i]
    return found


@loop
def move(
    sizes: Sizes,
    flat: Array,
    x: Array,
    targets: Array,
    rows: Array,
    radius: Array,
    limits: tuple[int, float, int],  # n_labelled, most, first
) -> None:
    """Move each x of a batch by the radius to where f1 of its class falls behind.

    Against the gradient of f1(its class) - f1(the best other): what flows back from both signs is
    one product with the first layer.
    """
    k, d, m, depth, blocks, n_rows, _, _ = sizes
    n_labelled, most, first_column = limits
    h, f1 = exploit(sizes, flat, x)
    sign, delta = np.empty(f1.shape, x.dtype), np.empty(h.shape, x.dtype)
    by_class = k, len(x)
    oppose(f1.reshape(by_class), targets, rows, n_labelled, most, sign.reshape(by_class), radius)
    first, hidden, output = split(flat, m * blocks * d, m, depth, n_rows)
    descend(hidden, output, h, sign, delta)
    direction = np.empty(x.shape, x.dtype)
    back = delta[0].reshape(m * blocks, len(x)).T
    product(back, first.reshape(m * blocks, d), direction)
    perturb(direction, radius, first_column, x)


@loop
def errors(f: Array, targets: Array, weight: Array, kind: int, factor: float) -> tuple[Array, bool]:
    """Gradient (k, B) of the loss of f1 (kind 0) or f2 at (k, B), and whether it is finite."""
    error, share, fine = np.empty(f.shape, f.dtype), f.dtype.type(factor), True
    for label in range(f.shape[0]):
        for i in range(f.shape[1]):
            value = weight[i, kind, label] * (f[label, i] - targets[i, kind, label]) * share
            error[label, i] = value
            fine &= abs(value) < np.inf
    return error, fine


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


@inlined
def learn_exploitation(sizes: Sizes, flat: Array, x: Array, h: Array, error: Array) -> Array:
    """Gradient of f1's loss at its weights, flat."""
    _, d, m, depth, blocks, rows, _, _ = sizes
    n_first = m * blocks * d
    _, hidden, output = split(flat, n_first, m, depth, rows)
    gradient = np.empty(of_f1(sizes), x.dtype)
    first, g_hidden, g_output = split(gradient, n_first, m, depth, rows)
    delta = np.empty(h.shape, x.dtype)
    descend(hidden, output, h, error, delta)
    collect(h, delta, error, g_hidden, g_output)
    product(delta[0].reshape(m * blocks, len(x)), x, first.reshape(m * blocks, d))
    return gradient


@inlined
def learn_exploration(
    sizes: Sizes,
    flat: Array,
    x: Array,
    h: Array,
    error: Array,
    embedded: tuple[Array, Array, Array],
) -> Array:
    """Gradient of f2's loss at its weights, flat: its input is given, nothing flows into f1."""
    k, d, m, depth, _, rows, e, outputs = sizes
    at, wide = of_f1(sizes), k * d
    _, hidden, output = split(flat[at:], m * e, m, depth, rows)
    gradient = np.empty(len(flat) - at, x.dtype)
    first, g_hidden, g_output = split(gradient, m * e, m, depth, rows)
    delta = np.empty(h.shape, x.dtype)
    descend(hidden, output, h, error, delta)
    collect(h, delta, error, g_hidden, g_output)
    unit, inverse, inputs = embedded
    if outputs:
        product(delta[0], inputs.T, first.reshape(m, e))
        return gradient
    product(delta[0].reshape(m * k, len(x)), x, first[: m * wide].reshape(m * k, d))
    half = first[m * wide :].reshape(m, wide)
    for u in range(m):
        for j in range(h.shape[2]):
            delta[0, u, j] *= inverse[j]
    if len(inputs):
        product(delta[0], inputs, half)
    else:
        inner = np.empty((m, m), x.dtype)
        product(delta[0], unit.T, inner)
        product(inner, flat[: m * wide].reshape(m, wide), half)
    return gradient


@loop
def step(
    sizes: Sizes,
    learned: tuple[Array, Array, Array, Array],  # weights, means and squares (P,), n_updates (2,)
    stored: tuple[Array, Array, Array],
    rows: Array,
    scaling: Array,
    radius: Array,
    plan: tuple[float, int, float, int],
    rates: tuple[float, float],
    exploring: bool,
) -> bool:
    """One step of f1, and with `exploring` of f2, as `passes.Passes` has it."""
    flat, mean, square, n_updates = learned
    factor, n_labelled, most, first = plan
    x, targets, weight = gather(rows, stored, scaling, factor, n_labelled)
    if most > 0:
        move(sizes, flat, x, targets, rows, radius, (n_labelled, most, first))
    by_class, at = (sizes[0], len(x)), of_f1(sizes)
    h1, f1 = exploit(sizes, flat, x)
    error1, fine = errors(f1.reshape(by_class), targets, weight, 0, 1.0)
    if not fine:
        return False
    if exploring:
        h2, f2, embedded = explore(sizes, flat, x, h1)
        factor = 1.0 if sizes[7] else SQRT_HALF
        error2, fine = errors(f2.reshape(by_class), targets, weight, 1, factor)
        if not fine:
            return False
        error2 = error2.reshape(f2.shape)
        gradient2 = learn_exploration(sizes, flat, x, h2, error2, embedded)
    gradient1 = learn_exploitation(sizes, flat, x, h1, error1.reshape(f1.shape))
    adam(flat[:at], gradient1, mean[:at], square[:at], n_updates[:1], rates[0])
    if exploring:
        adam(flat[at:], gradient2, mean[at:], square[at:], n_updates[1:], rates[1])
    return True
