"""The networks on the CPU: the passes over a whole batch, compiled by Numba.

`modules` has the same networks in readable form, with automatic differentiation. Here all passes
are written out over views of the same flat weights: one call scales, does the forward and backward
pass, and updates by Adam. Numba compiles for the precision in use at first use, and caches on disk.

Notation: B examples, k classes, d features, m hidden units, L layers. The first layer of f1
(m·b, d) has b blocks, and each output layer (r, m) has r rows: b = k and r = 1 with one context per
class, b = 1 and r = k with one output per class. The values of a layer are (m, n), one row per
unit, with n = b·B columns, block by block. This is the product of the first layer with x, viewed in
another shape: no context is ever built and nothing is ever transposed. Outputs (r, n) are k·B
numbers, class by class.

With one context per class, the input gradient of f1 at x_i is dense in all k blocks: delta_i W,
where delta_i (m,) is the gradient of f1 at the first layer's pre-activations and W (m, kd) is the
first layer. The first layer of f2 has two halves of the size of W: one for x_i, again block i times
x, and A (m, kd) for the gradient. (delta W) Aᵀ is computed in the cheaper order: from the left for
few contexts, as delta (W Aᵀ) for at least as many contexts as hidden units. A ReLU network without
biases is positively homogeneous, f2(φ / √2) = f2(φ) / √2. So the 1/√2 of both halves of φ is
applied once, to the output. With one output per class, φ is (h1, √k h) / norm: see `layout`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.constants import (
    BETA1,
    BETA2,
    EPSILON,
    LEAST,
    MOST_GRADIENT,
    SQRT_HALF,
    TINY,
)
from river_ineural.features.jit import allocating, inlined, loop
from river_ineural.features.standardizing import standardized
from river_ineural.networks.batch import gather, oppose, perturb, rows_of
from river_ineural.networks.layout import Arrays
from river_ineural.networks.products import LEFT, NEITHER, RIGHT, product

Array = NDArray[Any]

OF_F1, OF_F2 = np.int64(0), np.int64(1)  # kinds of targets; for a literal Numba compiles anew


@inlined
def pair(arrays: tuple[Array, ...]) -> tuple[Arrays, Arrays]:
    """f1 and f2 of their eight arrays: Python hands a named tuple over in 1 µs, these in 0.6."""
    f1 = Arrays(arrays[0], arrays[1], arrays[2], arrays[3])
    return f1, Arrays(arrays[4], arrays[5], arrays[6], arrays[7])


@inlined
def forward(layers: Arrays, h: Array, f: Array) -> None:
    """Write hidden layers h (L - 1, m, n) and outputs f; h[0] holds the first layer's products."""
    half = h.dtype.type(0.5)
    for layer in range(len(h)):
        if layer:
            product(layers.hidden[layer - 1], h[layer - 1], NEITHER, h[layer])
        units = h[layer].reshape(h.shape[1] * h.shape[2])  # a loop over few columns is slow
        for i in range(len(units)):
            # max(h, 0), which would store where h < 0 alone: eight times slower where a processor
            # stores parts of vectors slowly.
            units[i] = half * (units[i] + abs(units[i]))
    product(layers.output, h[len(h) - 1], NEITHER, f)


@inlined
def backward(layers: Arrays, h: Array, error: Array, delta: Array) -> None:
    """Write delta (L - 1, m, n): the gradient of outputs times error (r, n) at pre-activations."""
    zero, last = h.dtype.type(0), len(h) - 1
    for layer in range(last, -1, -1):
        if layer == last:
            product(layers.output, error, LEFT, delta[layer])
        else:
            product(layers.hidden[layer], delta[layer + 1], LEFT, delta[layer])
        units, slopes = h[layer].reshape(h[layer].size), delta[layer].reshape(h[layer].size)
        for i in range(len(units)):
            slopes[i] = slopes[i] if units[i] > 0 else zero


@inlined
def exploit(f1: Arrays, x: Array, h: Array, f: Array) -> None:
    """Write hidden layers h (L - 1, m, n) and outputs f (r, n) of f1 for examples x (B, d)."""
    product(f1.at_x, x, RIGHT, h[0].reshape(len(f1.at_x), len(x)))
    forward(f1, h, f)


@inlined
def embed(f1: Arrays, h: Array, delta: Array, inputs: Array, inverse: Array, outputs: bool) -> None:
    """Write the embedding φ as rows of inputs (n, e) times inverse (n,), from f1's h (L - 1, m, n).

    Inverse is 1 / norm. With one output per class, the rows are (h1, √k h), otherwise the input
    gradients deltaᵀ W, with delta[0] (m, n). For many contexts, inputs is empty: see `explore`.
    """
    m, n = h.shape[1], h.shape[2]
    tiny, root = h.dtype.type(TINY), h.dtype.type(np.sqrt(len(f1.output)))
    for j in range(n):
        inverse[j] = 0
    if outputs:
        for j in range(n):
            for u in range(inputs.shape[1]):
                inputs[j, u] = h[0, u, j] if u < m else root * h[len(h) - 1, u - m, j]
    else:
        ones = np.empty((1, n), h.dtype)
        for j in range(n):
            ones[0, j] = 1
        backward(f1, h, ones, delta)
        if len(inputs):
            product(delta[0], f1.first, LEFT, inputs)
        else:  # ‖delta W‖² = delta (W Wᵀ) deltaᵀ
            w_wt, quadratic = np.empty((m, m), h.dtype), np.empty((m, n), h.dtype)
            product(f1.first, f1.first, RIGHT, w_wt)
            product(w_wt, delta[0], NEITHER, quadratic)
            for u in range(m):
                for j in range(n):
                    inverse[j] += delta[0, u, j] * quadratic[u, j]
    for j in range(len(inputs)):
        square = inverse[j]
        for u in range(inputs.shape[1]):
            square += inputs[j, u] * inputs[j, u]
        inverse[j] = square
    for j in range(n):  # rounding can make the sum slightly negative
        inverse[j] = 1 / np.sqrt(max(inverse[j], tiny * tiny))


@allocating
def explore(
    networks: tuple[Arrays, Arrays], x: Array, h1: Array, delta: Array, h: Array, f: Array
) -> tuple[Array, Array]:
    """Write hidden layers h (L - 1, m, n) and outputs f (r, n) of f2, from f1's hidden layers h1.

    Returns inputs and inverse of `embed`. With contexts, `embed` also writes delta (L - 1, m, n).
    """
    f1, f2 = networks
    m, n, outputs = h.shape[1], h.shape[2], not len(f2.at_x)
    inputs = np.empty((n if outputs or n < m else 0, f2.first.shape[1]), x.dtype)
    inverse, embedded = np.empty(n, x.dtype), np.empty((m, n), x.dtype)
    embed(f1, h1, delta, inputs, inverse, outputs)
    if outputs or len(inputs):
        product(f2.first, inputs, RIGHT, embedded)
    else:
        a_wt = np.empty((m, m), x.dtype)
        product(f2.first, f1.first, RIGHT, a_wt)
        product(a_wt, delta[0], NEITHER, embedded)
    if not outputs:
        product(f2.at_x, x, RIGHT, h[0].reshape(len(f2.at_x), len(x)))
    for u in range(m):
        for j in range(n):
            other = x.dtype.type(0) if outputs else h[0, u, j]
            h[0, u, j] = embedded[u, j] * inverse[j] + other
    forward(f2, h, f)
    if not outputs:
        for j in range(n):
            f[0, j] *= x.dtype.type(SQRT_HALF)
    return inputs, inverse


@inlined
def score_both(
    networks: tuple[Arrays, Arrays], raw: Array, scaling: Array, exploring: bool, found: Array
) -> None:
    """`score`, by these networks."""
    f1, n_examples = networks[0], len(raw)
    x = np.empty(raw.shape, f1.first.dtype)
    standardized(raw, scaling, x)
    m, rows = len(f1.first), len(f1.output)
    blocks = len(f1.at_x) // m
    h = np.empty((3, len(f1.hidden) + 1, m, blocks * n_examples), x.dtype)
    f = np.zeros((2, rows, blocks * n_examples), x.dtype)
    exploit(f1, x, h[0], f[0])
    if exploring:
        explore(networks, x, h[0], h[1], h[2], f[1])
    for network in range(2):
        for i in range(n_examples):
            for c in range(rows * blocks):
                found[network, i, c] = f[network, c // blocks, c % blocks * n_examples + i]


@inlined
def score(
    arrays: tuple[Array, ...], raw: Array, scaling: Array, exploring: bool, found: Array
) -> None:
    """Write f1 and f2 (2, B, k) for raw rows (B, d); without `exploring`, f2 is 0."""
    score_both(pair(arrays), raw, scaling, exploring, found)


@inlined
def move(
    f1: Arrays,
    x: Array,
    targets: Array,
    rows: Array,
    n_labelled: int,
    radius: Array,
    most: float,
    memory: tuple[Array, Array, Array, Array],  # h, delta (L - 1, m, n), f, sign (r, n)
) -> None:
    """Move each x of a batch by the radius, towards where f1 prefers another class.

    The move is against the gradient of f1(its class) - f1(best other class). One product with the
    first layer propagates both terms back. Compiled by itself, its sums would have one order in the
    process that compiles and another in the next.
    """
    h, delta, f, sign = memory
    exploit(f1, x, h, f)
    by_class = targets.shape[2], len(x)
    oppose(f.reshape(by_class), targets, rows, n_labelled, most, sign.reshape(by_class), radius)
    backward(f1, h, sign, delta)
    direction = np.empty(x.shape, x.dtype)
    product(delta[0].reshape(len(f1.at_x), len(x)), f1.at_x, LEFT, direction)
    perturb(direction, radius, x)


@loop
def errors(
    f: Array, targets: Array, weight: Array, kind: np.int64, factor: float, error: Array
) -> bool:
    """Write error (k, B), the gradient at f of the loss of f1 or f2 (lines 2.1, 2.4).

    Returns whether it is finite.
    """
    share, fine = f.dtype.type(factor), True
    for label in range(f.shape[0]):
        for i in range(f.shape[1]):
            value = weight[i, kind, label] * (f[label, i] - targets[i, kind, label]) * share
            error[label, i] = value
            fine &= abs(value) < np.inf
    return fine


@loop
def adam(
    parameters: Array,
    gradient: Array,
    mean: Array,
    square: Array,
    n_updates: Array,
    lr: float,
) -> None:
    """One update of Adam on flat arrays (lines 2.3 and 2.6); n_updates is (1,).

    Entries of the gradient that are NaN, or whose squares would overflow, count as 0. Averages of
    an inactive unit decay towards subnormal numbers, with which a processor takes a hundred times
    as long. They are set to 0 before that, when they no longer have any effect.
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


@allocating
def learn(layers: Arrays, gradient: Arrays, x: Array, h: Array, error: Array, delta: Array) -> None:
    """Write the gradient of outputs times error (r, n) at weights except those for the embedding.

    Also writes delta (L - 1, m, n), the gradient at the pre-activations.
    """
    backward(layers, h, error, delta)
    product(error, h[len(h) - 1], RIGHT, gradient.output)
    for layer in range(1, len(h)):
        product(delta[layer], h[layer - 1], RIGHT, gradient.hidden[layer - 1])
    if len(gradient.at_x):
        product(delta[0].reshape(len(gradient.at_x), len(x)), x, NEITHER, gradient.at_x)


@inlined
def learn_embedding(
    f1: Arrays, gradient: Arrays, embedded: tuple[Array, Array], delta1: Array, delta: Array
) -> None:
    """Write the gradient at f2's weights for the embedding, a constant: no gradient flows into f1.

    delta (m, n) of f2 is overwritten; delta1 (m, n) is the delta[0] that `embed` wrote.
    """
    inputs, inverse = embedded
    for u in range(delta.shape[0]):
        for j in range(delta.shape[1]):
            delta[u, j] *= inverse[j]
    if len(inputs):
        product(delta, inputs, NEITHER, gradient.first)
    else:
        inner = np.empty((len(delta), len(delta)), delta.dtype)
        product(delta, delta1, RIGHT, inner)
        product(inner, f1.first, NEITHER, gradient.first)


@inlined
def first_examples(h: Array, n_examples: int, n: int, out: Array) -> None:
    """Write the columns of the first n of all examples of h (L - 1, m, blocks·B)."""
    for layer in range(h.shape[0]):
        for u in range(h.shape[1]):
            for block in range(h.shape[2] // n_examples):
                for i in range(n):
                    out[layer, u, block * n + i] = h[layer, u, block * n_examples + i]


@allocating
def train(
    arrays: tuple[Array, ...],
    gradient_arrays: tuple[Array, ...],
    memory: tuple[Array, ...],  # weights, gradient, Adam's means, all (P,); n_updates (2,)
    radius: Array,
    average: Array,
    stored: tuple[Array, Array, Array],
    draws: Array,
    drawn_from: tuple[int, int, int, int],
    scaling: Array,
    given: float,
    most: float | None,
    lr: float,
    exploration_lr: float,
    exploring: Array,
    shares: Array,
) -> bool:
    """Steps one after the other, of f1 and where `exploring` also of f2 (lines 2.1 to 2.8).

    Parameters
    ----------
    arrays, gradient_arrays, memory
        Views of the weights and of the gradient, as `pair` takes them, and all flat arrays.
    radius
        Radius (1,) by which examples are moved.
    average
        The weights that predict, (P,), which move by `shares` (n,) towards those that are trained.
    stored
        The history: raw x (capacity, d), targets (capacity, 2, k), weight (capacity,).
    draws, drawn_from
        Uniform on [0, 1), (n, B); how many of each row are of given labels, and `rows_of` the rest.
        f2 learns from given labels alone.
    scaling
        (3, d): for each feature, the subtrahend, the factor, and whether it is squashed.
    given
        Factor on the error at the class of an example.
    most
        Largest radius by which examples are moved to where f1 errs; None to move none.
    lr, exploration_lr
        Learning rates η1 and η2.
    exploring
        Whether f2 takes part, (n,).

    Returns
    -------
    Whether all errors were finite; where they were not, no step was taken.
    """
    flat, gradient, mean, square, n_updates = memory
    networks, gradients = pair(arrays), pair(gradient_arrays)
    f1, f2 = networks
    n_examples, n_labelled = draws.shape[1], drawn_from[3]
    rows = np.empty(n_examples, np.int64)
    x = np.empty((n_examples, stored[0].shape[1]), flat.dtype)
    targets = np.empty((n_examples, 2, stored[1].shape[2]), flat.dtype)
    weight = np.empty(targets.shape, flat.dtype)
    m, by_class = len(f1.first), (targets.shape[2], n_examples)
    blocks, deep, r = len(f1.at_x) // m, len(f1.hidden) + 1, len(f1.output)
    of_layers, of_outputs = (2, deep, m, blocks * n_examples), (2, r, blocks * n_examples)
    both, two = np.empty(of_layers, x.dtype), np.empty(of_outputs, x.dtype)
    h, delta, f, error = both[0], both[1], two[0], two[1]
    at = f1.at_x.size + f1.hidden.size + f1.output.size
    all_fine = True
    for i in range(len(draws)):
        rows_of(draws[i], drawn_from, rows)  # lines 2.2, 2.5
        gather(rows, stored, scaling, given, n_labelled, x, targets, weight)
        if most is not None:  # for None, Numba does not compile this branch
            move(f1, x, targets, rows, n_labelled, radius, most, (h, delta, f, error))
        exploit(f1, x, h, f)  # line 2.1
        fine = errors(f.reshape(by_class), targets, weight, OF_F1, 1.0, error.reshape(by_class))
        if exploring[i] and fine:  # line 2.4
            n = 0
            while n < n_examples and rows[n] < n_labelled:
                n += 1
            four = np.empty((4, deep, m, blocks * n), x.dtype)
            h1, delta1, h2, delta2 = four[0], four[1], four[2], four[3]
            first_examples(h, n_examples, n, h1)
            g, error2 = np.empty((r, blocks * n), x.dtype), np.empty((r, blocks * n), x.dtype)
            embedded = explore(networks, x[:n], h1, delta1, h2, g)
            factor = SQRT_HALF if len(f2.at_x) else 1.0
            found, wrong = g.reshape(by_class[0], n), error2.reshape(by_class[0], n)
            fine = errors(found, targets, weight, OF_F2, factor, wrong)
            if fine:
                learn(f2, gradients[1], x[:n], h2, error2, delta2)
                learn_embedding(f1, gradients[1], embedded, delta1[0], delta2[0])
        if fine:
            learn(f1, gradients[0], x, h, error, delta)
            adam(flat[:at], gradient[:at], mean[:at], square[:at], n_updates[:1], lr)  # line 2.3
        if exploring[i] and fine:  # line 2.6
            adam(flat[at:], gradient[at:], mean[at:], square[at:], n_updates[1:], exploration_lr)
        all_fine &= fine
        move_average(memory[0], shares[i], average)
    return all_fine


@inlined
def move_average(weights: Array, share: float, average: Array) -> None:
    """Move an average towards weights, both (P,), by a share of the distance (lines 2.7, 2.8)."""
    part, rest = average.dtype.type(share), average.dtype.type(1 - share)
    if share > 0:
        for i in range(len(average)):
            average[i] = rest * average[i] + part * weights[i]
