"""The exploitation network f1, the exploration network f2 and the embedding between them.

The paper feeds f1 the context x_i: k blocks of d numbers, all zero but block i, which is x. A first
layer W (m, kd) times x_i is its block i times x, so no context is ever built: the first layers are
kept as k blocks of shape (m, d) and all classes of all examples are one matrix product.

The input gradient of f1 at x_i is dense in all k blocks: W^T delta_i, with delta_i (m,) the gradient
of f1 at the first layer's pre-activations. The first layer of f2 sees it, scaled to norm 1/√2,
through k blocks of shape (m, d), and x_i / √2 through k more, which are block i times x again.
That product of three, (delta W) A^T, is taken in the order that costs less: from the left for few
contexts, as delta (W A^T) from as many contexts as hidden units.

Hidden and output layers are shared by the classes, as one network f1(x_i) implies.

Letters: B examples, k classes, n = B·k contexts, d features, m hidden units, L layers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

__all__ = ["Activations", "Shape", "Weights", "explore", "exploit", "gradients", "grow", "overlay", "views"]

TINY = 1e-12  # keeps the norm of a dead gradient, which is exactly 0, from dividing by 0
SQRT_HALF = 0.5**0.5


class Shape(NamedTuple):
    """What fixes the size of the two networks."""

    n_classes: int
    n_features: int
    hidden_dim: int
    n_layers: int

    @property
    def n_parameters(self) -> int:
        k, d, m, depth = self
        return 3 * k * m * d + 2 * (depth - 2) * m * m + 2 * m


class Weights(NamedTuple):
    """Views of one flat tensor: a single optimiser call, or copy, serves both networks."""

    context: Tensor  # (2, k, m, d): first layer of f1; context half of the first layer of f2
    gradient: Tensor  # (k, m, d): gradient half of the first layer of f2
    hidden: Tensor  # (2, L - 2, m, m): layers 2 … L - 1 of f1; of f2
    output: Tensor  # (2, m): last layer of f1; of f2


def views(flat: Tensor, shape: Shape) -> Weights:
    """Cut a flat tensor of `shape.n_parameters` numbers into weights (or their gradient)."""
    k, d, m, depth = shape
    first, hidden = k * m * d, (depth - 2) * m * m
    context, gradient, deep, output = flat.split((2 * first, first, 2 * hidden, 2 * m))
    return Weights(
        context.view(2, k, m, d),
        gradient.view(k, m, d),
        deep.view(2, depth - 2, m, m),
        output.view(2, m),
    )


def overlay(onto: Tensor, new: Shape, flat: Tensor, old: Shape, n_features: int) -> Tensor:
    """Copy weights of shape `old` and their first `n_features` columns into those of shape `new`."""
    source, target = views(flat, old), views(onto, new)
    k = old.n_classes
    target.context[:, :k, :, :n_features] = source.context[..., :n_features]
    target.gradient[:k, :, :n_features] = source.gradient[..., :n_features]
    target.hidden.copy_(source.hidden)
    target.output.copy_(source.output)
    return onto


def grow(
    flat: Tensor, old: Shape, new: Shape, used: tuple[int, int], rng: np.random.Generator
) -> Tensor:
    """Weights of `new` shape: old ones kept, new features and classes initialised.

    Hidden layers are drawn from N(0, 2/m), output layers from N(0, 1/m) (Algorithm 1, line 1).
    Columns reserved beyond the features in use stay 0, so that they change nothing.

    Parameters
    ----------
    flat
        Weights of shape `old`; where that has no class yet, all layers are drawn.
    used
        Features in use before and after.

    Returns
    -------
    Flat tensor, shape (new.n_parameters,).
    """
    std = (2 / new.hidden_dim) ** 0.5
    known, (before, after) = old.n_classes, used

    def draw(part: Tensor, std: float) -> None:
        part.copy_(torch.from_numpy(rng.normal(0.0, std, part.shape)))

    grown = overlay(flat.new_zeros(new.n_parameters), new, flat, old, before)
    w = views(grown, new)
    if known == 0:
        draw(w.hidden, std)
        draw(w.output, std * SQRT_HALF)
    for first in (*w.context, w.gradient):
        draw(first[:known, :, before:after], std)
        draw(first[known:, :, :after], std)
    return grown


class Activations:
    """Buffers of one pass over `n_examples`, allocated once and written in place ever after."""

    def __init__(self, shape: Shape, n_examples: int, dtype: torch.dtype, device: torch.device):
        k, d, m, depth = shape
        b, n = n_examples, n_examples * k
        self.shape, self.n_examples = shape, n_examples

        def empty(*size: int) -> Tensor:
            return torch.empty(size, dtype=dtype, device=device)

        self.first = empty(b, 2, k, m)  # first-layer products of both nets; then their gradients
        self.context_product = self.first.view(b, 2 * k * m)
        self.h1 = empty(depth - 1, n, m)  # hidden activations of f1
        self.h2 = empty(depth - 1, n, m)  # hidden activations of f2
        self.on = empty(n, m)  # 1 where a unit is active
        self.delta1 = empty(depth - 1, n, m)  # gradient of f1 at each layer's pre-activations
        self.delta2 = empty(2, n, m)  # the same for f2, two layers at a time
        self.scale = empty(n)  # 1 / (√2 ‖∇_x f1‖)
        self.fold = n >= m
        if self.fold:
            self.inner, self.inner_grad = empty(2, m, m), empty(m, m)
        else:
            self.input_gradient = empty(k, n, d)  # [j, i]: block j of the gradient at context i
            self.block_norms = empty(k, n)
        self.explored = empty(n, m)
        self.f1, self.f2, self.scores = empty(n), empty(n), empty(n)
        self.error = empty(n)

    def per_class(self, contexts: Tensor) -> Tensor:
        """(n, m) → (B, k, m), or (n,) → (B, k)."""
        return contexts.view(self.n_examples, self.shape.n_classes, *contexts.shape[1:])


def exploit(w: Weights, x: Tensor, a: Activations) -> None:
    """f1 of every class (Eq. of Section 4), and its gradient at every pre-activation.

    x is (B, d). Fills a.first, a.h1, a.delta1, a.f1.
    """
    depth = a.shape.n_layers
    context = w.context.view(-1, x.shape[1])  # (2km, d): first layers of both nets, one product
    torch.mm(x, context.t(), out=a.context_product)
    torch.clamp_min(a.first[:, 0], 0, out=a.per_class(a.h1[0]))
    for layer in range(1, depth - 1):
        torch.mm(a.h1[layer - 1], w.hidden[0, layer - 1].t(), out=a.h1[layer])
        a.h1[layer].clamp_min_(0)
    torch.mv(a.h1[-1], w.output[0], out=a.f1)

    torch.sign(a.h1[-1], out=a.on)
    torch.mul(a.on, w.output[0], out=a.delta1[-1])
    for layer in range(depth - 2, 0, -1):
        torch.mm(a.delta1[layer], w.hidden[0, layer - 1], out=a.delta1[layer - 1])
        torch.sign(a.h1[layer - 1], out=a.on)
        a.delta1[layer - 1].mul_(a.on)


def explore(w: Weights, a: Activations) -> None:
    """f2 of the derivative-context embedding of every class (Definition 4.1).

    Runs after `exploit`. Fills a.input_gradient, a.scale, a.h2, a.f2 and the scores f1 + f2.
    """
    k, _, m, depth = a.shape
    n = a.f1.shape[0]
    delta, first, half = a.delta1[0], w.context[0], w.gradient.transpose(1, 2)
    if a.fold:  # Σ_j (m, d) @ (d, m), then the squared norm delta^T (W W^T) delta
        torch.addbmm(a.inner[0], first, half, beta=0, out=a.inner[0])
        torch.addbmm(a.inner[1], first, first.transpose(1, 2), beta=0, out=a.inner[1])
        torch.mm(delta, a.inner[1], out=a.explored)
        torch.sum(a.explored.mul_(delta), 1, out=a.scale)
        a.scale.clamp_min_(TINY**2).rsqrt_()
        torch.mm(delta, a.inner[0], out=a.explored)
    else:  # ∇_x f1 = W^T delta, block by block: (k, n, m) @ (k, m, d), then Σ_j (n, d) @ (d, m)
        torch.bmm(delta.expand(k, n, m), first, out=a.input_gradient)
        torch.linalg.vector_norm(a.input_gradient, dim=2, out=a.block_norms)
        torch.linalg.vector_norm(a.block_norms, dim=0, out=a.scale)
        a.scale.clamp_min_(TINY).reciprocal_()
        torch.addbmm(a.explored, a.input_gradient, half, beta=0, out=a.explored)
    a.scale.mul_(SQRT_HALF)
    a.explored.mul_(a.scale.unsqueeze(1))
    torch.add(
        a.per_class(a.explored), a.first[:, 1], alpha=SQRT_HALF, out=a.per_class(a.h2[0])
    ).clamp_min_(0)
    for layer in range(1, depth - 1):
        torch.mm(a.h2[layer - 1], w.hidden[1, layer - 1].t(), out=a.h2[layer])
        a.h2[layer].clamp_min_(0)
    torch.mv(a.h2[-1], w.output[1], out=a.f2)
    torch.add(a.f1, a.f2, out=a.scores)


def gradients(
    w: Weights,
    x: Tensor,
    reward: Tensor,
    residual: Tensor,
    weight: Tensor,
    a: Activations,
    g: Weights,
) -> None:
    """Gradient of Σ weight·(r - f)²/2 of both networks at the pass held in `a`.

    Parameters
    ----------
    x
        (B, d), as `exploit` had it.
    reward, residual
        r1 and r2, (B, k).
    weight
        (B, 1): of each example's k contexts, the 1/b of Algorithm 2 included.
    g
        Written: views of one flat gradient.
    """
    k, d, m, depth = a.shape
    n = a.f1.shape[0]
    error, h1, h2 = a.error, a.h1, a.h2

    # f1: ∂ℒ1/∂z = error · ∂f1/∂z, and `exploit` left ∂f1/∂z in delta1
    torch.sub(a.per_class(a.f1), reward, out=a.per_class(error)).mul_(weight)
    torch.mv(h1[-1].t(), error, out=g.output[0])
    for layer in range(depth - 2, 0, -1):
        torch.mul(a.delta1[layer], error.unsqueeze(1), out=a.on)
        torch.mm(a.on.t(), h1[layer - 1], out=g.hidden[0, layer - 1])
    torch.mul(a.per_class(a.delta1[0]), a.per_class(error).unsqueeze(2), out=a.first[:, 0])

    # f2: the embedding is its input, so nothing flows back into f1
    torch.sub(a.per_class(a.f2), residual, out=a.per_class(error)).mul_(weight)
    torch.mv(h2[-1].t(), error, out=g.output[1])
    here, below = a.delta2
    torch.sign(h2[-1], out=here)
    here.mul_(w.output[1]).mul_(error.unsqueeze(1))
    for layer in range(depth - 2, 0, -1):
        torch.mm(here.t(), h2[layer - 1], out=g.hidden[1, layer - 1])
        torch.mm(here, w.hidden[1, layer - 1], out=below)
        torch.sign(h2[layer - 1], out=a.on)
        here, below = below.mul_(a.on), here
    torch.mul(a.per_class(here), SQRT_HALF, out=a.first[:, 1])
    here.mul_(a.scale.unsqueeze(1))
    if a.fold:
        torch.mm(here.t(), a.delta1[0], out=a.inner_grad)
        torch.bmm(a.inner_grad.expand(k, m, m), w.context[0], out=g.gradient)
    else:
        torch.bmm(here.t().expand(k, m, n), a.input_gradient, out=g.gradient)

    # first layers on the context, both nets: (2km, B) @ (B, d)
    torch.mm(a.context_product.t(), x, out=g.context.view(-1, d))
