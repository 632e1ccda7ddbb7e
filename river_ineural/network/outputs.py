"""One pass for all classes: f1 with an output a class, f2, and the embedding between them.

NeurONAL's networks (Ban et al., ICLR 2024, Section 4). f1 maps x (d,) to K numbers. f2 maps the
end-to-end embedding of x to K numbers: the output h1 of f1's first hidden layer, and the gradient
of f1 with respect to its last layer, the whole of norm 1. That gradient is the last hidden layer h,
once a class: the same m numbers K times.

Of equal inputs a layer sees but the sum. In other axes, with the K copies of h turned into √K h and
zeros, a normal draw of the layer is a normal draw again, and gradient descent takes the same steps;
the weights of the zeros do nothing and are left out. So the embedding here is (h1, √K h) / norm:
the same function of x, with the same distribution at the start. Where L = 2, h1 is h, and all K + 1
copies are one: h / ‖h‖.

Letters: B examples, k classes, d features, m hidden units, L layers, e numbers of an embedding. A
layer is (m, B), a row a unit, a column an example, and so are scores (k, B): nothing is ever
transposed in memory. Flat scores and errors (n,), n = k·B, are class by class, as in `contexts`,
and phases take them in the same way. Everything is written into buffers that are allocated once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from river_ineural.network import phases
from river_ineural.network.eager import behind_relu
from river_ineural.network.phases import Buffer, raw

if TYPE_CHECKING:
    from river_ineural.network.single_outputs import Single

__all__ = ["Activations", "RawActivations", "OutputShape", "Weights"]


class OutputShape(NamedTuple):
    """What fixes the size of the two networks."""

    n_classes: int
    n_features: int
    hidden_dim: int
    n_layers: int
    explores: bool = True  # whether there is an f2

    @property
    def n_embedded(self) -> int:
        """Numbers e of an embedding: h alone, or h1 and √K h."""
        return self.hidden_dim * min(2, self.n_layers - 1)

    @property
    def n_parameters(self) -> int:
        """Of both networks together."""
        k, d, m, depth = self[:4]
        after = (depth - 2) * m * m + k * m  # the first layer
        return m * d + after + self.explores * (m * self.n_embedded + after)

    def weights(self, flat: Tensor) -> Weights:
        """Views of flat parameters."""
        return Weights(flat, self)

    def activations(self, n_examples: int, like: Tensor) -> Activations:
        """Buffers of a pass."""
        return Activations(self, n_examples, like)

    def single(self, dtype: np.dtype[Any]) -> Single | None:
        """Loops for one example."""
        from river_ineural.network.single_outputs import Single

        return Single(self[:4], self.n_embedded, dtype)


class Network(NamedTuple):
    """Views of one of the two."""

    first: Tensor  # (m, inputs)
    hidden: Tensor  # (L - 2, m, m)
    output: Tensor  # (k, m)


class Weights:
    """Views of one flat tensor, first the weights of f1, then those of f2.

    Without an f2 its layers are empty.
    """

    def __init__(self, flat: Tensor, shape: OutputShape) -> None:
        self.flat, self.shape = flat, shape
        k, d, m, depth = shape[:4]
        of_f1 = m * d + (depth - 2) * m * m + k * m
        self.networks = flat[:of_f1], flat[of_f1:]  # f1, f2

        def views(part: Tensor, size: int, n: int) -> Network:
            """Of one network, or of n = 0."""
            hidden_layers = n * (depth - 2)
            sizes = n * m * size, hidden_layers * m * m, n * k * m
            first, hidden, output = torch.split_with_sizes(part, sizes)
            return Network(
                first.view(n * m, size), hidden.view(hidden_layers, m, m), output.view(n * k, m)
            )

        self.f1 = views(self.networks[0], d, 1)
        self.f2 = views(self.networks[1], shape.n_embedded, int(shape.explores))

    @property
    def first_layers(self) -> list[Tensor]:
        """That of f1, (m, 1, d): one block for all classes."""
        return [self.f1.first.unsqueeze(1)]

    @property
    def deep(self) -> list[Tensor]:
        """Layers of the same size whatever k and d are."""
        return [*self.f1.hidden, *self.f2.hidden, *[self.f2.first][: self.shape.explores]]

    @property
    def by_class(self) -> list[Tensor]:
        """Output layers, a row a class."""
        return [self.f1.output, self.f2.output][: 1 + self.shape.explores]

    def silence(self, n_known: int) -> None:
        """Let f2 say 0 of classes, of which so many were there before."""
        self.f2.output[n_known:] = 0

    def exploit(self, columns: Tensor, a: Activations, exploring: bool = True) -> None:
        """f1 of every class: columns (d, B) are the examples x. Fills a.h1 and a.f1."""
        forward(self.f1, columns, a.h1, a.f1_rows)

    def explore(self, a: Activations) -> None:
        """f2 of the end-to-end embedding of every example, after `exploit`.

        Fills a.embedding, a.h2 and a.scores = f1 + f2.
        """
        m = self.shape.hidden_dim
        a.embedding[:m].copy_(a.h1[0])
        if len(a.embedding) > m:
            torch.mul(a.h1[-1], self.shape.n_classes**0.5, out=a.embedding[m:])
        a.phases.unit_columns(a.raw.embedding, a.raw.inverse)
        forward(self.f2, a.embedding, a.h2, a.scores_rows)
        a.scores.add_(a.f1)

    def adversary(self, a: Activations, direction: Tensor) -> None:
        """Gradient (B, d) of the sum of f1 over the classes, each times its sign in a.error1."""
        torch.mm(self.f1.output.t(), a.errors1, out=a.spare)
        behind_relu(a.spare, a.h1[-1], out=a.delta)
        for layer in range(len(a.h1) - 1, 0, -1):
            torch.mm(self.f1.hidden[layer - 1].t(), a.delta, out=a.spare)
            behind_relu(a.spare, a.h1[layer - 1], out=a.delta)
        torch.mm(a.delta.t(), self.f1.first, out=direction)

    def gradients(
        self,
        x: Tensor,
        targets: Buffer,
        weight: Buffer,
        a: Activations,
        g: Weights,
        exploring: bool = True,
    ) -> bool:
        """Gradient of Σ weight·(r - f)²/2 of both networks, after `explore`.

        Takes and returns what `networks.Weights.gradients` does.
        """
        b = a.raw
        errors = exploring, 1.0, b.error1, b.error2
        if not a.phases.errors(b.f1, b.scores, targets, weight, *errors):
            return False
        backward(self.f1, x, a.h1, a.errors1, a, g.f1)
        if exploring:  # the embedding is its input: nothing flows back into f1
            backward(self.f2, a.embedding.t(), a.h2, a.errors2, a, g.f2)
        return True


def forward(network: Network, inputs: Tensor, layers: list[Tensor], outputs: Tensor) -> None:
    """Inputs (·, B) → hidden layers (m, B), outputs (k, B)."""
    weights = network.first
    for layer, hidden in enumerate(layers):
        torch.mm(weights, inputs, out=hidden)
        inputs = hidden.clamp_min_(0)
        if layer + 1 < len(layers):
            weights = network.hidden[layer]
    torch.mm(network.output, inputs, out=outputs)


def backward(
    network: Network,
    inputs: Tensor,
    layers: list[Tensor],
    errors: Tensor,
    a: Activations,
    g: Network,
) -> None:
    """Gradients into g from errors (k, B) at the outputs, after `forward`: inputs (B, ·)."""
    torch.mm(errors, layers[-1].t(), out=g.output)
    torch.mm(network.output.t(), errors, out=a.spare)
    behind_relu(a.spare, layers[-1], out=a.delta)
    for layer in range(len(layers) - 1, 0, -1):
        torch.mm(a.delta, layers[layer - 1].t(), out=g.hidden[layer - 1])
        torch.mm(network.hidden[layer - 1].t(), a.delta, out=a.spare)
        behind_relu(a.spare, layers[layer - 1], out=a.delta)
    torch.mm(a.delta, inputs, out=g.first)


class RawActivations(NamedTuple):
    """What phases take of `Activations`."""

    embedding: Buffer
    f1: Buffer
    scores: Buffer
    inverse: Buffer
    error1: Buffer
    error2: Buffer


class Activations:
    """Buffers of one pass over B examples, and the shapes they are seen in."""

    def __init__(self, shape: OutputShape, n_examples: int, like: Tensor) -> None:
        k, _, m, depth = shape[:4]
        b, n = n_examples, n_examples * k
        self.n_contexts = n
        self.phases = phases.of(like)

        def empty(*size: int) -> Tensor:
            return like.new_empty(size)

        self.h1, self.h2 = ([empty(m, b) for _ in range(depth - 1)] for _ in range(2))
        self.embedding, self.inverse = empty(shape.n_embedded, b), empty(b)
        self.delta, self.spare = empty(m, b), empty(m, b)  # gradients at units; behind them
        self.f1, self.scores, self.error1, self.error2 = (empty(n) for _ in range(4))
        self.f1_rows, self.scores_rows = self.f1.view(k, b), self.scores.view(k, b)
        self.errors1, self.errors2 = self.error1.view(k, b), self.error2.view(k, b)
        self.f1_by_class, self.scores_by_class = self.f1_rows.t(), self.scores_rows.t()
        self.raw = RawActivations(
            raw(self.embedding),
            *(raw(self.f1), raw(self.scores), raw(self.inverse)),
            *(raw(self.error1), raw(self.error2)),
        )
