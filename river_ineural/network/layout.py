"""Where the weights of both networks lie: in one flat tensor.

A shape has two forms, which differ in two numbers, the blocks of the first layers and the rows of
the output layers.

*Contexts* (I-NeurAL): k blocks, 1 row. The paper feeds f1 the context x_i: k blocks of d numbers,
all zero but block i, which is x. So the first layer W (m, kd) has a block (m, d) a class. f2 is fed
the derivative-context embedding φ(x_i), of norm 1: the input gradient ∇f1(x_i) / ‖∇f1(x_i)‖, dense
in all blocks, and x_i, both divided by √2.

*Outputs* (NeurONAL; Ban et al., ICLR 2024, Section 4): 1 block, k rows. f1 maps x to k numbers. f2
is fed the end-to-end embedding of x: the output h1 of f1's first hidden layer, and the gradient of
f1 with respect to its last layer, the whole of norm 1. That gradient is the last hidden layer h,
once a class: the same m numbers k times. Of equal inputs a layer sees but the sum. In other axes,
with the k copies of h turned into √k h and zeros, a normal draw of the layer is a normal draw
again, and gradient descent takes the same steps; the weights of the zeros do nothing and are left
out. So the embedding here is (h1, √k h) / norm: the same function of x, with the same distribution
at the start. Where L = 2, h1 is h, and all k + 1 copies are one: h / ‖h‖.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Arrays", "Layers", "Shape", "Weights"]


class Shape(NamedTuple):
    """What fixes the size of the two networks."""

    n_classes: int
    n_features: int
    hidden_dim: int
    n_layers: int
    explores: bool = True  # whether there is an f2
    outputs: bool = False  # whether a class has an output, instead of a context

    @property
    def blocks(self) -> int:
        """Of the first layers, each (m, d)."""
        return 1 if self.outputs else self.n_classes

    @property
    def rows(self) -> int:
        """Of the output layers, each (m,)."""
        return self.n_classes if self.outputs else 1

    @property
    def n_embedded(self) -> int:
        """Numbers of an embedding: two halves as wide as contexts; or h alone, or h1 and √k h."""
        if self.outputs:
            return self.hidden_dim * min(2, self.n_layers - 1)
        return 2 * self.blocks * self.n_features

    def layers_of_f1(self, theta: Tensor) -> Layers:
        """Views of its weights."""
        return self._layers(theta, self.parts[:3], 1, self.blocks * self.n_features)

    def layers_of_f2(self, theta: Tensor) -> Layers:
        """Views of its weights; without an f2 they are empty."""
        n, inputs = (1, self.n_embedded) if self.outputs else (2, self.n_embedded // 2)
        return self._layers(theta, self.parts[3:], n * self.explores, inputs)

    def _layers(self, theta: Tensor, parts: tuple[int, ...], n: int, inputs: int) -> Layers:
        m, (a, b, _) = self.hidden_dim, parts  # slices: views of a split may not be written
        first, hidden, output = theta[:a], theta[a : a + b], theta[a + b :]
        return Layers(first.view(n, m, inputs), hidden.view(-1, m, m), output.view(-1, m))

    @property
    def parts(self) -> tuple[int, ...]:
        """Weights of the first layer, the hidden ones and the output of f1, then of f2."""
        m, others = self.hidden_dim, self.n_layers - 2
        deep, output = others * m * m, self.rows * m
        f1 = m * self.blocks * self.n_features, deep, output
        return *f1, *(n * self.explores for n in (m * self.n_embedded, deep, output))

    @property
    def n_parameters(self) -> int:
        """Of both networks together."""
        return sum(self.parts)


class Layers(NamedTuple):
    """Views of one of the two networks."""

    first: Tensor  # (1, m, inputs); (2, m, kd) of f2 of contexts: for x_i, and for the gradient
    hidden: Tensor  # (L - 2, m, m)
    output: Tensor  # (rows, m)


class Arrays(NamedTuple):
    """The same as arrays, the first layer in two sizes, for compiled passes."""

    at_x: NDArray[Any]  # (m·blocks, d), for x; no rows in an f2 that is not fed x
    first: NDArray[Any]  # (m, inputs), for a whole context, or for all else that f2 is fed
    hidden: NDArray[Any]  # (L - 2, m, m)
    output: NDArray[Any]  # (rows, m)


class Weights:
    """Views of one flat tensor, first the weights of f1, then those of f2.

    Without an f2 its layers are empty.
    """

    def __init__(self, flat: Tensor, shape: Shape) -> None:
        self.flat, self.shape = flat, shape
        of_f1 = sum(shape.parts[:3])
        self.networks = flat[:of_f1], flat[of_f1:]
        self.f1 = shape.layers_of_f1(self.networks[0])
        self.f2 = shape.layers_of_f2(self.networks[1])

    @property
    def arrays(self) -> tuple[Arrays, Arrays]:
        """Of f1 and f2; without an f2, of f1 twice."""
        sizes = self.shape.hidden_dim * self.shape.blocks, self.shape.n_features
        at_x = self.f1.first[0].view(sizes)
        layers = [(at_x, self.f1.first[0], *self.f1[1:])]
        if self.shape.explores:
            at_x = at_x[:0] if self.shape.outputs else self.f2.first[0].view(sizes)
            layers.append((at_x, self.f2.first[-1], *self.f2[1:]))
        f1, f2 = (Arrays(*(each.numpy() for each in one)) for one in (layers[0], layers[-1]))
        return f1, f2

    @property
    def first_layers(self) -> list[Tensor]:
        """Each (m, blocks, d), with a column a feature."""
        layers = [*self.f1.first] if self.shape.outputs else [*self.f1.first, *self.f2.first]
        return [
            layer.view(len(layer), self.shape.blocks, self.shape.n_features) for layer in layers
        ]

    @property
    def deep(self) -> list[Tensor]:
        """Layers of the same size whatever the classes and features are."""
        embedded = [*self.f2.first] if self.shape.outputs else []
        return [*self.f1.hidden, *self.f2.hidden, *embedded]

    @property
    def outputs(self) -> list[Tensor]:
        """Output layers, with a row a class, or one."""
        return [self.f1.output, self.f2.output]

    @property
    def shared(self) -> list[Tensor]:
        """All layers that no feature has a column of."""
        return [*self.deep, *self.outputs]
