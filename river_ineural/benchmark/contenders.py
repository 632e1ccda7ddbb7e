"""What speed is compared with: a floor, a peer, dense contexts."""

from __future__ import annotations

from typing import Any

import torch
from river.base.typing import FeatureName
from torch import Tensor, nn

from river_ineural.learning.batch import batch_examples
from river_ineural.network.eager import adam

__all__ = ["CONTEXTS", "WIDTH", "Dense", "Floor", "Peer", "X"]

WIDTH, CONTEXTS = 100, 64
X = dict[FeatureName, Any]


class Peer:
    """One network, one example at a time, by autograd and `torch.optim.Adam`."""

    def __init__(self, n_features: int, n_classes: int) -> None:
        self.network = nn.Sequential(
            nn.Linear(n_features, WIDTH), nn.ReLU(), nn.Linear(WIDTH, n_classes)
        )
        self.optimizer = torch.optim.Adam(self.network.parameters())
        self.loss = nn.CrossEntropyLoss()

    def predict_one(self, x: X) -> int:
        """The class of the highest output."""
        with torch.inference_mode():
            return int(self.network(torch.tensor([list(x.values())])).argmax())

    def learn_one(self, x: X, y: int) -> None:
        """One step on the example."""
        self.optimizer.zero_grad()
        loss = self.loss(self.network(torch.tensor([list(x.values())])), torch.tensor([y]))
        loss.backward()
        self.optimizer.step()


class Step:
    """Operands of one step of both networks: d inputs, k classes, n contexts."""

    def __init__(self, d: int, k: int) -> None:
        self.generator = torch.Generator().manual_seed(0)
        self.n_examples = batch_examples(CONTEXTS, k)
        self.n, self.kd = self.n_examples * k, k * d
        self.split = WIDTH * self.kd + WIDTH
        self.flat, self.gradient, self.square = (
            self.random(3 * WIDTH * self.kd + 2 * WIDTH) for _ in range(3)
        )
        self.square.abs_()
        self.mean = torch.zeros_like(self.flat)
        parts = (slice(0, self.split), slice(self.split, None))
        self.networks = [
            (self.flat[p], self.gradient[p], self.mean[p], self.square[p], torch.ones(1))
            for p in parts
        ]

    def random(self, *size: int) -> Tensor:
        """Normal numbers."""
        return torch.randn(size, generator=self.generator)

    def update(self) -> None:
        """One fused Adam call a network."""
        for network in self.networks:
            adam(*network, 1e-3)


class Floor(Step):
    """The matrix products that a step cannot avoid, and one fused Adam call a network."""

    def __init__(self, d: int, k: int) -> None:
        super().__init__(d, k)
        m, b, n, kd = WIDTH, self.n_examples, self.n, self.kd
        self.x, self.by_context, self.products = (
            self.random(b, d),
            self.random(2 * m * k, d),
            self.random(b, 2 * m * k),
        )
        self.by_context1, self.products1 = self.random(m * k, d), self.random(b, m * k)
        self.direction = self.random(b, d)
        self.context_gradient = self.random(2 * m * k, d)
        self.first, self.half, self.half_gradient = (self.random(m, kd) for _ in range(3))
        self.delta, self.hidden = self.random(n, m), self.random(n, m)
        self.output, self.scores = self.random(m), self.random(n)
        self.many = n >= m
        if self.many:
            self.gram, self.cross, self.inner = (self.random(m, m) for _ in range(3))
        else:
            self.input_gradient = self.random(n, kd)

    def step(self) -> None:
        """Everything once."""
        torch.mm(self.x, self.by_context1.t(), out=self.products1)  # f1 where the examples are
        torch.mm(self.products1, self.by_context1, out=self.direction)  # in which it errs
        torch.mm(self.x, self.by_context.t(), out=self.products)  # both first layers, moved there
        if self.many:  # fewer products without writing out the input gradient of f1
            torch.mm(self.first, self.first.t(), out=self.gram)
            torch.mm(self.half, self.first.t(), out=self.cross)
            torch.mm(self.delta, self.gram, out=self.hidden)  # its norm
            torch.mm(self.delta, self.cross, out=self.hidden)  # into f2
        else:
            torch.mm(self.delta, self.first, out=self.input_gradient)  # of f1
            torch.mm(self.input_gradient, self.half.t(), out=self.hidden)  # into f2
        for _ in range(2):
            torch.mv(self.hidden, self.output, out=self.scores)  # last layers
            torch.mv(self.hidden.t(), self.scores, out=self.output)  # and their gradients
        if self.many:
            torch.mm(self.hidden.t(), self.delta, out=self.inner)
            torch.mm(self.inner, self.first, out=self.half_gradient)
        else:
            torch.mm(self.delta.t(), self.input_gradient, out=self.half_gradient)
        torch.mm(self.products.t(), self.x, out=self.context_gradient)
        self.update()


class Dense(Step):
    """The same step with the contexts x_i written out: kd numbers each, all but d of them 0."""

    def __init__(self, d: int, k: int) -> None:
        super().__init__(d, k)
        m, n, kd = WIDTH, self.n, self.kd
        self.contexts = torch.zeros(n, kd)
        for i in range(n):
            self.contexts[i, (i % k) * d : (i % k + 1) * d] = self.random(d)
        self.embedding = torch.empty(n, 2 * kd)
        weights = [self.flat[m : self.split], self.flat[self.split : -m]]
        gradients = [self.gradient[m : self.split], self.gradient[self.split : -m]]
        self.first1, self.gradient1 = (part.view(m, kd) for part in (weights[0], gradients[0]))
        self.first2, self.gradient2 = (part.view(m, 2 * kd) for part in (weights[1], gradients[1]))
        self.output = self.flat[:m]
        self.error = self.random(n, 1)

    def step(self) -> None:
        """Everything once, without the parts that cost the same either way."""
        hidden = torch.mm(self.contexts, self.first1.t()).clamp_min_(0)
        delta = (hidden > 0) * self.output
        input_gradient = torch.mm(delta, self.first1)
        norm = torch.linalg.vector_norm(input_gradient, dim=1, keepdim=True).clamp_min_(1e-12)
        self.embedding[:, : self.kd] = input_gradient / norm
        self.embedding[:, self.kd :] = self.contexts
        hidden2 = torch.mm(self.embedding, self.first2.t()).clamp_min_(0)
        torch.mm((delta * self.error).t(), self.contexts, out=self.gradient1)
        delta2 = (hidden2 > 0) * self.output * self.error
        torch.mm(delta2.t(), self.embedding, out=self.gradient2)
        self.update()
