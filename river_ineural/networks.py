"""The exploitation network f1, the exploration network f2 and the embedding between them.

The paper feeds f1 the context x_i: k blocks of d numbers, all zero but block i, which is x. The
first layer W (m, kd) times x_i is block i of W times x, so no context is ever built: the same
memory seen as (mk, d), times x, gives the first layer of all k contexts in one product.

The input gradient of f1 at x_i is dense in all k blocks: delta_i W, with delta_i (m,) the gradient
of f1 at the first layer's pre-activations. The first layer of f2 has two halves of W's shape: one
for that gradient scaled to norm 1/√2, one for x_i / √2, which is block i times x again.

(delta W) Aᵀ is taken in the order that costs less: from the left for few contexts, as delta (W Aᵀ)
for at least as many contexts as hidden units.

Letters: B examples, k classes, n = B·k contexts, d features, m hidden units, L layers. Everything
is written into buffers that are allocated, and viewed in all the shapes needed, once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

__all__ = ["Activations", "Shape", "Weights", "explore", "exploit", "gradients", "grow", "overlay"]

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
        """Of both networks together."""
        k, d, m, depth = self
        return 3 * m * k * d + 2 * (depth - 2) * m * m + 2 * m


class Weights:
    """Views of one flat tensor, first the weights of f1, then those of f2.

    The first layer of f1 and the context half of the first layer of f2 lie side by side, so that
    one product with x serves both.
    """

    def __init__(self, flat: Tensor, shape: Shape) -> None:
        k, d, m, depth = shape
        first, deep = m * k * d, (depth - 2) * m * m
        of_f1 = m + deep + first
        output1, hidden1, context, gradient, hidden2, output2 = torch.split_with_sizes(
            flat, (m, deep, 2 * first, first, deep, m)
        )
        self.f1, self.f2 = flat[:of_f1], flat[of_f1:]
        self.output1, self.output2 = output1, output2
        self.hidden1 = list(hidden1.view(depth - 2, m, m))  # layers 2 … L - 1 of f1
        self.hidden2 = list(hidden2.view(depth - 2, m, m))  # layers 2 … L - 1 of f2
        self.context = context.view(2, m, k, d)  # first layer of f1; context half of f2's
        self.gradient = gradient.view(m, k, d)  # gradient half of f2's first layer
        self.by_context = context.view(2 * m * k, d)  # both first layers, times x
        self.first = self.context[0].view(m, k * d)  # W
        self.half = gradient.view(m, k * d)  # A

    @property
    def deep(self) -> list[Tensor]:
        """Layers 2 … L of both networks, of the same size whatever k and d are."""
        return [*self.hidden1, *self.hidden2, self.output1, self.output2]


def overlay(onto: Tensor, new: Shape, flat: Tensor, old: Shape, n_features: int) -> Tensor:
    """Copy weights of shape `old`, first `n_features` columns, into those of shape `new`."""
    source, target = Weights(flat, old), Weights(onto, new)
    k = old.n_classes
    target.context[:, :, :k, :n_features] = source.context[..., :n_features]
    target.gradient[:, :k, :n_features] = source.gradient[..., :n_features]
    for layer, known in zip(target.deep, source.deep, strict=True):
        layer.copy_(known)
    return onto


def grow(
    flat: Tensor,
    old: Shape,
    new: Shape,
    used: tuple[int, int],
    init_scale: float,
    rng: np.random.Generator,
) -> Tensor:
    """Weights of `new` shape: old ones kept, new features and classes initialised.

    Hidden layers are drawn from N(0, 2/m), output layers from N(0, 1/m) (Algorithm 1, line 1), the
    first layers times `init_scale`. Columns reserved beyond the features in use stay 0, so that
    they change nothing.

    Parameters
    ----------
    flat
        Weights of shape `old`; where that has no class yet, all layers are drawn.
    used
        Features in use before and after.

    Returns
    -------
    Flat tensor, shape (new.n_parameters,): `flat` itself where the shape has not changed.
    """
    std = (2 / new.hidden_dim) ** 0.5
    known, (before, after) = old.n_classes, used

    def draw(part: Tensor, std: float) -> None:
        part.copy_(torch.from_numpy(rng.normal(0.0, std, part.shape)))

    grown = flat
    if new != old:
        grown = overlay(flat.new_zeros(new.n_parameters), new, flat, old, before)
    w = Weights(grown, new)
    if known == 0:
        for layer in w.deep:
            draw(layer, std if layer.ndim == 2 else std * SQRT_HALF)
    for first in (*w.context, w.gradient):
        draw(first[:, :known, before:after], std * init_scale)
        draw(first[:, known:, :after], std * init_scale)
    return grown


class Activations:
    """Buffers of one pass over B examples, and the shapes they are seen in."""

    def __init__(self, shape: Shape, n_examples: int, like: Tensor) -> None:
        k, d, m, depth = shape
        b, n = n_examples, n_examples * k
        self.n_layers, self.n_contexts = depth, n

        def empty(*size: int) -> Tensor:
            return like.new_empty(size)

        self.products = empty(b, 2 * m * k)  # of both first layers with x; later their gradients
        nets = self.products.view(b, 2, m, k).permute(1, 0, 3, 2)
        self.product1, self.product2 = nets  # (B, k, m)
        self.h1, self.h2, self.delta1, self.delta2 = (
            [empty(n, m) for _ in range(depth - 1)] for _ in range(4)
        )  # activations of hidden layers; gradients of f1, f2 at their pre-activations
        self.explored, self.spare = empty(n, m), empty(n, m)
        by_class = (self.h1[0], self.h2[0], self.delta1[0], self.delta2[0], self.explored)
        (
            self.h1_by_class,
            self.h2_by_class,
            self.delta1_by_class,
            self.delta2_by_class,
            self.explored_by_class,
        ) = (units.view(b, k, m) for units in by_class)
        self.f1, self.scores, self.error, self.norm = empty(n), empty(n), empty(n), empty(n)
        self.f1_by_class, self.scores_by_class, self.error_by_class = (
            contexts.view(b, k) for contexts in (self.f1, self.scores, self.error)
        )
        self.error_by_unit, self.norm_by_unit = self.error.view(b, k, 1), self.norm.view(b, k, 1)
        self.many = n >= m
        if self.many:
            self.w_at, self.w_wt, self.inner = empty(m, m), empty(m, m), empty(m, m)
        else:
            self.input_gradient = empty(n, k * d)  # ∇_x f1


def behind_relu(gradient: Tensor, activation: Tensor, out: Tensor) -> None:
    """Gradient before a ReLU from the one behind it: 0 where the unit is off."""
    torch.ops.aten.threshold_backward.grad_input(gradient, activation, 0, grad_input=out)


def exploit(w: Weights, x: Tensor, a: Activations) -> None:
    """f1 of every class, and its gradient at every pre-activation: x (B, d).

    Fills a.products, a.h1, a.delta1 and a.f1.
    """
    torch.mm(x, w.by_context.t(), out=a.products)
    torch.clamp_min(a.product1, 0, out=a.h1_by_class)
    for layer in range(1, a.n_layers - 1):
        torch.mm(a.h1[layer - 1], w.hidden1[layer - 1].t(), out=a.h1[layer])
        a.h1[layer].clamp_min_(0)
    torch.mv(a.h1[-1], w.output1, out=a.f1)

    behind_relu(w.output1.expand_as(a.h1[-1]), a.h1[-1], out=a.delta1[-1])
    for layer in range(a.n_layers - 2, 0, -1):
        torch.mm(a.delta1[layer], w.hidden1[layer - 1], out=a.spare)
        behind_relu(a.spare, a.h1[layer - 1], out=a.delta1[layer - 1])


def explore(w: Weights, a: Activations) -> None:
    """f2 of the derivative-context embedding of every class (Definition 4.1), after `exploit`.

    A ReLU network without biases is positively homogeneous, f2(φ / √2) = f2(φ) / √2: the 1/√2 of
    both halves of φ is applied once, at the output.

    Fills a.norm, a.h2 and a.scores = f1 + f2 (Algorithm 1, line 6).
    """
    delta = a.delta1[0]
    if a.many:  # ‖delta W‖² = delta (W Wᵀ) deltaᵀ
        torch.mm(w.first, w.first.t(), out=a.w_wt)
        torch.mm(w.first, w.half.t(), out=a.w_at)
        torch.mm(delta, a.w_wt, out=a.explored)
        torch.sum(a.explored.mul_(delta), 1, out=a.norm)
        a.norm.clamp_min_(TINY**2).sqrt_()
        torch.mm(delta, a.w_at, out=a.explored)
    else:
        torch.mm(delta, w.first, out=a.input_gradient)  # ∇_x f1 = delta W
        torch.linalg.vector_norm(a.input_gradient, dim=1, out=a.norm)
        a.norm.clamp_min_(TINY)
        torch.mm(a.input_gradient, w.half.t(), out=a.explored)
    torch.addcdiv(a.product2, a.explored_by_class, a.norm_by_unit, out=a.h2_by_class)
    a.h2[0].clamp_min_(0)
    for layer in range(1, a.n_layers - 1):
        torch.mm(a.h2[layer - 1], w.hidden2[layer - 1].t(), out=a.h2[layer])
        a.h2[layer].clamp_min_(0)
    torch.addmv(a.f1, a.h2[-1], w.output2, alpha=SQRT_HALF, out=a.scores)


def gradients(
    w: Weights,
    x: Tensor,
    reward: Tensor,
    residual: Tensor,
    weight: Tensor,
    a: Activations,
    g: Weights,
) -> None:
    """Gradient of Σ weight·(r - f)²/2 of both networks, after `explore` (Algorithm 2, lines 1, 4).

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
    # f1: the gradient of the loss is error times the gradient of f1, which `exploit` left in delta1
    torch.sub(a.f1_by_class, reward, out=a.error_by_class)
    a.error_by_class.mul_(weight)
    torch.mv(a.h1[-1].t(), a.error, out=g.output1)
    for layer in range(a.n_layers - 2, 0, -1):
        torch.mul(a.delta1[layer], a.error.unsqueeze(1), out=a.spare)
        torch.mm(a.spare.t(), a.h1[layer - 1], out=g.hidden1[layer - 1])
    torch.mul(a.delta1_by_class, a.error_by_unit, out=a.product1)

    # f2: the embedding is its input, so nothing flows back into f1; error is (f2 - r2) / √2
    torch.sub(a.scores_by_class, a.f1_by_class, out=a.error_by_class)
    a.error_by_class.sub_(residual).mul_(weight).mul_(SQRT_HALF)
    torch.mv(a.h2[-1].t(), a.error, out=g.output2)
    torch.outer(a.error, w.output2, out=a.spare)
    for layer in range(a.n_layers - 2, 0, -1):
        behind_relu(a.spare, a.h2[layer], out=a.delta2[layer])
        torch.mm(a.delta2[layer].t(), a.h2[layer - 1], out=g.hidden2[layer - 1])
        torch.mm(a.delta2[layer], w.hidden2[layer - 1], out=a.spare)
    behind_relu(a.spare, a.h2[0], out=a.delta2[0])
    a.product2.copy_(a.delta2_by_class)
    scaled = a.delta2[0]
    a.delta2_by_class.div_(a.norm_by_unit)
    if a.many:
        torch.mm(scaled.t(), a.delta1[0], out=a.inner)
        torch.mm(a.inner, w.first, out=g.half)
    else:
        torch.mm(scaled.t(), a.input_gradient, out=g.half)

    torch.mm(a.products.t(), x, out=g.by_context)  # both first layers on x
