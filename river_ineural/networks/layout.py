"""The layout of the weights of both networks in one row of numbers.

A shape has two forms, which differ in two numbers: the blocks of the first layers and the rows of
the output layers.

*Contexts* (I-NeurAL): k blocks, 1 row. The input of f1 is the paper's context x_i: k blocks of d
numbers, all zero except block i, which is x. So the first layer W (m, kd) has a block (m, d) per
class. The input of f2 is the derivative-context embedding φ(x_i), of norm 1: the input gradient
∇f1(x_i) / ‖∇f1(x_i)‖, dense in all blocks, and x_i, both divided by √2.

*Outputs* (NeurONAL; Ban et al., ICLR 2024, Section 4): 1 block, k rows. f1 maps x to k numbers. The
input of f2 is the end-to-end embedding of x: the output h1 of f1's first hidden layer and the
gradient of f1 with respect to its last layer, scaled to norm 1 together. This gradient holds the
last hidden layer h once per class: the same m numbers k times. For equal inputs, only the sum of
their weights matters. A rotation turns the k copies into √k h and zeros. After it, a normal draw of
the layer is still a normal draw, and gradient descent takes the same steps. The weights of the
zeros do nothing and are left out. So the embedding here is (h1, √k h) / norm: the same function of
x, with the same distribution at the start. If L = 2, h1 is h, and all k + 1 copies merge: h / ‖h‖.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from numpy.typing import NDArray
from torch import Tensor

Memory = TypeVar("Memory", Tensor, NDArray[Any])  # of weights: on any device, or on the CPU


class Shape(NamedTuple):
    """The numbers that determine the size of the two networks."""

    n_classes: int
    n_features: int
    hidden_dim: int
    n_layers: int
    explores: bool = True  # whether there is an f2
    outputs: bool = False  # one output per class, instead of one context

    @property
    def blocks(self) -> int:
        """The number of blocks (m, d) in each first layer."""
        return 1 if self.outputs else self.n_classes

    @property
    def rows(self) -> int:
        """The number of rows (m,) in each output layer."""
        return self.n_classes if self.outputs else 1

    @property
    def n_embedded(self) -> int:
        """The size of an embedding: two halves as wide as contexts; or h alone, or h1 and √k h."""
        if self.outputs:
            return self.hidden_dim * min(2, self.n_layers - 1)
        return 2 * self.blocks * self.n_features

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of weights in the first, hidden and output layers of f1, then of f2."""
        m, others = self.hidden_dim, self.n_layers - 2
        deep, output = others * m * m, self.rows * m
        f1 = m * self.blocks * self.n_features, deep, output
        return *f1, *(n * self.explores for n in (m * self.n_embedded, deep, output))

    @property
    def n_of_f1(self) -> int:
        """The number of weights of f1, which come first."""
        return sum(self.sizes[:3])

    @property
    def n_parameters(self) -> int:
        """The number of weights of both networks."""
        return sum(self.sizes)

    def layers_of_f1(self, theta: Memory) -> Layers[Memory]:
        """Views of the weights of f1, (..., P1)."""
        return self._layers(theta, self.sizes[:3], 1, self.blocks * self.n_features)

    def layers_of_f2(self, theta: Memory) -> Layers[Memory]:
        """Views of the weights of f2, (..., P2), empty without an f2."""
        n, inputs = (1, self.n_embedded) if self.outputs else (2, self.n_embedded // 2)
        return self._layers(theta, self.sizes[3:], n * self.explores, inputs)

    def _layers(self, theta: Memory, sizes: tuple[int, ...], n: int, inputs: int) -> Layers[Memory]:
        lead, m, (a, b, c) = theta.shape[:-1], self.hidden_dim, sizes
        return Layers(
            theta[..., :a].reshape(*lead, n, m, inputs),
            theta[..., a : a + b].reshape(*lead, b // (m * m), m, m),
            theta[..., a + b : a + b + c].reshape(*lead, c // m, m),
        )


class Layers(NamedTuple, Generic[Memory]):
    """Views of the weights of one of the two networks; leading axes are those of the weights."""

    first: Memory  # (1, m, inputs); f2 of contexts (2, m, kd): for x_i, and for the gradient
    hidden: Memory  # (L - 2, m, m)
    output: Memory  # (rows, m)


class Arrays(NamedTuple):
    """`Layers` as arrays for compiled loops, with two views of the first layer."""

    at_x: NDArray[Any]  # (m·blocks, d), for x; no rows if x is not an input of f2
    first: NDArray[Any]  # (m, inputs), for a whole context, or for the other inputs of f2
    hidden: NDArray[Any]  # (L - 2, m, m)
    output: NDArray[Any]  # (rows, m)


class Weights(Generic[Memory]):
    """Views of weights (..., P), first those of f1, then those of f2, which may be none."""

    def __init__(self, theta: Memory, shape: Shape) -> None:
        self.shape = shape
        self.f1: Layers[Memory] = shape.layers_of_f1(theta[..., : shape.n_of_f1])
        self.f2: Layers[Memory] = shape.layers_of_f2(theta[..., shape.n_of_f1 :])

    @property
    def first_layers(self) -> list[Memory]:
        """The first layers, each (..., m, blocks, d), with one column per feature."""
        shape = self.shape
        found: list[Memory] = []
        for first in [self.f1.first] if shape.outputs else [self.f1.first, self.f2.first]:
            for i in range(first.shape[-3]):
                layer = first[..., i, :, :]
                found.append(layer.reshape(*layer.shape[:-1], shape.blocks, shape.n_features))
        return found

    @property
    def deep(self) -> list[Memory]:
        """Layers whose size does not depend on the numbers of classes and features."""
        deep = [self.f1.hidden, self.f2.hidden]
        if self.shape.outputs and self.shape.explores:
            deep.append(self.f2.first[..., 0, :, :])
        return deep

    @property
    def outputs(self) -> list[Memory]:
        """Output layers, (..., rows, m), with one row per class, or one row."""
        return [self.f1.output, self.f2.output]

    @property
    def shared(self) -> list[Memory]:
        """All layers without columns of features."""
        return self.deep + self.outputs


def arrays(weights: Weights[NDArray[Any]]) -> tuple[Arrays, Arrays]:
    """The arrays of f1 and f2 of one row of weights; without an f2, those of f1 twice."""
    shape, f1, f2 = weights.shape, weights.f1, weights.f2
    sizes = shape.hidden_dim * shape.blocks, shape.n_features
    at_x = f1.first[0].reshape(sizes)
    exploitation = Arrays(at_x, f1.first[0], f1.hidden, f1.output)
    if not shape.explores:
        return exploitation, exploitation
    at_x = at_x[:0] if shape.outputs else f2.first[0].reshape(sizes)
    return exploitation, Arrays(at_x, f2.first[-1], f2.hidden, f2.output)
