"""The exploitation network f1, the exploration network f2 and the embedding between them.

The paper feeds f1 the context x_i: k blocks of d numbers, all zero but block i, which is x. The
first layer W (m, kd) times x_i is block i of W times x, so no context is ever built: the same
memory seen as (mk, d), times x, gives the first layer of all k contexts in one product.

The input gradient of f1 at x_i is dense in all k blocks: delta_i W, with delta_i (m,) the gradient
of f1 at the first layer's pre-activations. The first layer of f2 has two halves of W's shape: one
for that gradient scaled to norm 1/√2, one for x_i / √2, which is block i times x again.

(delta W) Aᵀ is taken in the order that costs less: from the left for few contexts, as delta (W Aᵀ)
for at least as many contexts as hidden units.

Letters: B examples, k classes, n = k·B contexts, class by class, d features, m hidden units, L
layers. A layer is (m, n), a row a unit: that is what the first product gives, seen as (2, m, n),
and what the last one takes, so nothing is ever transposed. Everything is written into buffers that
are allocated, and viewed in all the shapes needed, once.

Products are PyTorch's. What lies between them is a phase of `compiled` on the CPU, of `eager`
elsewhere; a `.raw` attribute holds what phases take, arrays or tensors of the same memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from river_ineural.network import phases
from river_ineural.network.constants import SQRT_HALF
from river_ineural.network.eager import behind_relu
from river_ineural.network.phases import Buffer, raw

if TYPE_CHECKING:
    from river_ineural.network.single import Single

__all__ = ["Activations", "RawActivations", "RawWeights", "Shape", "Weights"]

FEW_CLASSES = 4  # up to here one example is scored faster by loops than by matrix products


class Shape(NamedTuple):
    """What fixes the size of the two networks."""

    n_classes: int
    n_features: int
    hidden_dim: int
    n_layers: int
    explores: bool = True  # whether there is an f2

    @property
    def n_parameters(self) -> int:
        """Of both networks together."""
        k, d, m, depth = self[:4]
        blocks, networks = (3, 2) if self.explores else (1, 1)
        return blocks * m * k * d + networks * ((depth - 2) * m * m + m)

    def weights(self, flat: Tensor) -> Weights:
        """Views of flat parameters."""
        return Weights(flat, self)

    def activations(self, n_examples: int, like: Tensor) -> Activations:
        """Buffers of a pass."""
        return Activations(self, n_examples, like)

    def single(self, dtype: np.dtype[Any]) -> Single | None:
        """Loops for one example, where they are faster than matrix products."""
        if self.n_classes > FEW_CLASSES:
            return None
        from river_ineural.network.single import Single

        return Single(self[:4], dtype)


class RawActivations(NamedTuple):
    """What phases take of `Activations`."""

    h1: list[Buffer]
    h2: list[Buffer]
    delta: list[Buffer]
    spare: Buffer
    scaled: Buffer
    explored: Buffer
    f1: Buffer
    scores: Buffer
    inverse: Buffer
    error1: Buffer
    error2: Buffer
    input_gradient: Buffer | None


class Activations:
    """Buffers of one pass over B examples, and the shapes they are seen in."""

    def __init__(self, shape: Shape, n_examples: int, like: Tensor) -> None:
        k, d, m, depth = shape[:4]
        b, n = n_examples, n_examples * k
        self.n_layers, self.n_contexts = depth, n
        self.phases = phases.of(like)

        def empty(*size: int) -> Tensor:
            return like.new_empty(size)

        def layers(first: Tensor) -> list[Tensor]:
            return [first, *(empty(m, n) for _ in range(depth - 2))]

        self.products = empty(2 * m * k, b)  # of both first layers with x; later their gradients
        self.product1 = self.products[: m * k]  # of the first layer of f1
        first1, first2 = self.products.view(2, m, n)
        self.h1, self.h2 = layers(first1), layers(first2)  # hidden layers of f1, of f2
        self.delta = layers(empty(m, n))  # gradient of f1 at its pre-activations
        self.delta_rows = self.delta[0].t()
        self.spare, self.scaled, self.explored = empty(m, n), empty(m, n), empty(m, n)
        self.opposed = self.scaled.view(m * k, b).t()
        self.f1, self.scores, self.inverse = empty(n), empty(n), empty(n)  # inverse: 1 / ‖∇_x f1‖
        self.error1, self.error2 = empty(n), empty(n)
        self.f1_by_class, self.scores_by_class = self.f1.view(k, b).t(), self.scores.view(k, b).t()
        self.many = n >= m
        if self.many:
            self.w_at, self.w_wt, self.inner = empty(m, m), empty(m, m), empty(m, m)
        else:
            self.input_gradient = empty(n, k * d * shape.explores)  # ∇_x f1
            self.input_gradient_columns = self.input_gradient.t()
        self.raw = RawActivations(
            h1=[raw(layer) for layer in self.h1],
            h2=[raw(layer) for layer in self.h2],
            delta=[raw(layer) for layer in self.delta],
            spare=raw(self.spare),
            scaled=raw(self.scaled),
            explored=raw(self.explored),
            f1=raw(self.f1),
            scores=raw(self.scores),
            inverse=raw(self.inverse),
            error1=raw(self.error1),
            error2=raw(self.error2),
            input_gradient=None if self.many else raw(self.input_gradient),
        )


class RawWeights(NamedTuple):
    """What phases take of `Weights`."""

    output1: Buffer
    output2: Buffer


class Weights:
    """Views of one flat tensor, first the weights of f1, then those of f2.

    The first layer of f1 and the context half of the first layer of f2 lie side by side, so that
    one product with x serves both. Without an f2 its layers are empty.
    """

    def __init__(self, flat: Tensor, shape: Shape) -> None:
        self.flat, self.shape = flat, shape
        k, d, m, depth = shape[:4]
        first, deep = m * k * d, (depth - 2) * m * m
        of_f1 = m + deep + first
        n = int(shape.explores)  # networks f2
        output1, hidden1, context, gradient, hidden2, output2 = torch.split_with_sizes(
            flat, (m, deep, (1 + n) * first, n * first, n * deep, n * m)
        )
        self.output1, self.output2 = output1, output2
        self.hidden1 = hidden1.view(depth - 2, m, m)  # layers 2 … L - 1 of f1
        self.hidden2 = hidden2.view(n * (depth - 2), m, m)  # layers 2 … L - 1 of f2
        self.context = context.view(1 + n, m, k, d)  # first layer of f1; context half of f2's
        self.gradient = gradient.view(n, m, k, d)  # gradient half of f2's first layer
        self.by_context = context.view((1 + n) * m * k, d)  # both first layers, times x
        self.by_context1 = self.by_context[: m * k]  # that of f1
        self.first = self.context[0].view(m, k * d)  # W
        self.half = gradient.view(n * m, k * d)  # A
        self.networks = flat[:of_f1], flat[of_f1:]  # f1, f2
        self.raw = RawWeights(raw(output1), raw(output2))

    @property
    def first_layers(self) -> list[Tensor]:
        """Each (m, k, d): a block a class, a column a feature."""
        return [*self.context, *self.gradient]

    @property
    def deep(self) -> list[Tensor]:
        """Layers 2 … L of both networks, of the same size whatever k and d are."""
        outputs = [self.output1, self.output2][: 1 + self.shape.explores]
        return [*self.hidden1, *self.hidden2, *outputs]

    @property
    def by_class(self) -> list[Tensor]:
        """None has but a row a class."""
        return []

    def silence(self, n_known: int) -> None:
        """Let f2 say 0 of classes, of which so many were there before."""
        if not n_known:
            self.output2.zero_()

    def exploit(self, columns: Tensor, a: Activations, exploring: bool = True) -> None:
        """f1 of every class: columns (d, B) are the examples x.

        Fills a.h1, a.f1 and a.delta; for `explore`, also the product of x with f2's first layer.
        """
        if exploring:
            torch.mm(self.by_context, columns, out=a.products)
        else:
            torch.mm(self.by_context1, columns, out=a.product1)
        for layer in range(1, a.n_layers - 1):
            a.h1[layer - 1].clamp_min_(0)
            torch.mm(self.hidden1[layer - 1], a.h1[layer - 1], out=a.h1[layer])
        a.phases.activate(a.raw.h1[-1], self.raw.output1, a.raw.f1, a.raw.delta[-1])
        for layer in range(a.n_layers - 2, 0, -1):
            torch.mm(self.hidden1[layer - 1].t(), a.delta[layer], out=a.spare)
            behind_relu(a.spare, a.h1[layer - 1], out=a.delta[layer - 1])

    def adversary(self, a: Activations, direction: Tensor) -> None:
        """Gradient at x of the sum of f1 over the classes, each times its sign, after `exploit`.

        The signs are in a.error1.

        The block of class i in ∇_x f1(x_i) is delta_i W_i: summed over classes, one product with
        the first layer.

        Parameters
        ----------
        direction
            (B, d), written.
        """
        a.phases.rescale(a.raw.delta[0], a.raw.error1, a.raw.scaled)
        torch.mm(a.opposed, self.by_context1, out=direction)

    def explore(self, a: Activations) -> None:
        """f2 of the derivative-context embedding φ (DC embedding) of every class, after `exploit`.

        A ReLU network without biases is positively homogeneous, f2(φ / √2) = f2(φ) / √2: the 1/√2
        of both halves of φ is applied once, at the output.

        Fills a.inverse, a.h2 and a.scores = f1 + f2 (Algorithm 1, line 6).
        """
        first = a.raw.h2[0]
        if a.many:
            torch.mm(self.first, self.first.t(), out=a.w_wt)
            torch.mm(self.half, self.first.t(), out=a.w_at)
            torch.mm(a.w_wt, a.delta[0], out=a.spare)
            torch.mm(a.w_at, a.delta[0], out=a.explored)
            a.phases.embed_folded(a.raw.delta[0], a.raw.spare, a.raw.explored, first, a.raw.inverse)
        else:
            torch.mm(a.delta_rows, self.first, out=a.input_gradient)  # ∇_x f1 = delta W
            torch.mm(self.half, a.input_gradient_columns, out=a.explored)
            a.phases.embed(a.raw.input_gradient, a.raw.explored, first, a.raw.inverse)
        for layer in range(1, a.n_layers - 1):
            torch.mm(self.hidden2[layer - 1], a.h2[layer - 1], out=a.h2[layer])
            a.h2[layer].clamp_min_(0)
        a.phases.score(a.raw.h2[-1], self.raw.output2, a.raw.f1, a.raw.scores)

    def gradients(
        self,
        x: Tensor,
        targets: Buffer,
        weight: Buffer,
        a: Activations,
        g: Weights,
        exploring: bool = True,
    ) -> bool:
        """Gradient of Σ weight·(r - f)²/2 of both networks, after `explore`: Algorithm 2, 1 and 4.

        Takes and returns what `networks.Weights.gradients` does.
        """
        phases, b = a.phases, a.raw
        errors = exploring, SQRT_HALF, b.error1, b.error2
        if not phases.errors(b.f1, b.scores, targets, weight, *errors):
            return False

        # f1: the gradient of the loss is error times the gradient of f1, which is in delta
        phases.output_gradient(b.h1[-1], b.error1, g.raw.output1)
        for layer in range(a.n_layers - 2, 0, -1):
            torch.mul(a.delta[layer], a.error1, out=a.spare)
            torch.mm(a.spare, a.h1[layer - 1].t(), out=g.hidden1[layer - 1])
        phases.rescale(b.delta[0], b.error1, b.h1[0])
        if not exploring:
            torch.mm(a.product1, x, out=g.by_context1)
            return True

        # f2: the embedding is its input, so nothing flows back into f1; each layer of gradients
        # takes the place of the layer of units
        phases.output_gradient(b.h2[-1], b.error2, g.raw.output2)
        phases.behind_output(b.h2[-1], self.raw.output2, b.error2)
        for layer in range(a.n_layers - 2, 0, -1):
            torch.mm(a.h2[layer], a.h2[layer - 1].t(), out=g.hidden2[layer - 1])
            torch.mm(self.hidden2[layer - 1].t(), a.h2[layer], out=a.spare)
            behind_relu(a.spare, a.h2[layer - 1], out=a.h2[layer - 1])
        phases.rescale(b.h2[0], b.inverse, b.scaled)
        if a.many:
            torch.mm(a.scaled, a.delta_rows, out=a.inner)
            torch.mm(a.inner, self.first, out=g.half)
        else:
            torch.mm(a.scaled, a.input_gradient, out=g.half)

        torch.mm(a.products, x, out=g.by_context)  # both first layers, on x
        return True
