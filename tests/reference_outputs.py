"""NeurONAL with the package's defaults and parameters: slow, by automatic differentiation.

What it shares with I-NeurAL (statistics, histories, batches, optimisers, iterates) is in
`reference.py`. Here the end-to-end embedding is built as the paper has it, in R^(m + Km), the
gradient of f1 with respect to its last layer taken by torch.autograd. The package leaves out of
f2's first layer the axes of that space in which the embedding is always 0; `axes` holds the others.
"""

from __future__ import annotations

import math

import torch
from reference import TINY, ReferenceClassifier


def network(z, theta):
    """W_L σ(W_{L-1} … σ(W_1 z)) of a vector z, with W_L (K, m)."""
    for matrix in theta[:-1]:
        z = torch.relu(matrix @ z)
    return theta[-1] @ z


def embedding(x, theta1):
    """The first hidden layer's output, and the gradient of f1 with respect to its last layer: each
    output's row of it, one after the other. The whole of norm 1.
    """
    last = theta1[-1].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(network(x, [*theta1[:-1], last]).sum(), last)
    whole = torch.cat([torch.relu(theta1[0] @ x), gradient.flatten()])
    return whole / torch.linalg.vector_norm(whole).clamp_min(TINY)


def axes(k, m, depth):
    """Orthonormal rows (e, m + Km): of two layers all K + 1 parts are the same m numbers, of more
    the last K.
    """
    parts = torch.eye(m).double()
    alike = torch.cat([parts] * k, dim=1) / math.sqrt(k)
    if depth == 2:
        return torch.cat([parts, math.sqrt(k) * alike], dim=1) / math.sqrt(1 + k)
    return torch.block_diag(parts, alike)


class ReferenceOutputs(ReferenceClassifier):
    """Both networks with an output a class."""

    def f1(self, row, theta1):
        return network(row, theta1)

    def f2(self, row, theta1, theta2):
        phi = embedding(row, theta1)
        return network(phi, self.on_paper(theta2))

    def on_paper(self, theta2):
        """f2 with the first layer (m, m + Km) of the paper."""
        return [theta2[0] @ axes(len(self.labels), self.m, self.depth), *theta2[1:]]

    def gradient1(self, rows, reward, weight, theta1):
        theta1 = [matrix.clone().requires_grad_() for matrix in theta1]
        return torch.autograd.grad(self.loss(theta1, rows, reward, weight), theta1)

    def gradient2(self, rows, residual, weight):
        theta2 = [matrix.clone().requires_grad_() for matrix in self.theta2]
        phi = [embedding(x, self.theta1) for x in rows]
        return torch.autograd.grad(self.loss(self.on_paper(theta2), phi, residual, weight), theta2)

    def loss(self, theta, inputs, target, weight):
        """Of a network over a batch, divided by its outputs; target and weight (B·k,)."""
        outputs = torch.cat([network(x, theta) for x in inputs])
        return (weight * (target - outputs) ** 2 / 2).mean()

    def initial(self, rng):
        """Both networks, of no class and no feature yet."""
        m = self.m
        n, size = self.n_networks, (self.depth - 2, m, m)
        hidden = torch.from_numpy(rng.normal(0, math.sqrt(2 / m), (n, *size)))
        firsts, output = [torch.zeros(m, 0).double()], torch.zeros(0, m).double()
        if n > 1:
            of_f2 = rng.normal(0, math.sqrt(2 / m), (m, m * min(2, self.depth - 1)))
            firsts.append(torch.from_numpy(of_f2))
        return *([firsts[i], *hidden[i], output] for i in range(n)), *[[]] * (2 - n)

    def widened(self, rng, k, d, k_new, d_new):
        def normal(*shape, variance):
            return torch.from_numpy(rng.normal(0, math.sqrt(variance / self.m), shape))

        rows = [normal(k_new - k, self.m, variance=1) for _ in range(self.n_networks)]
        columns = normal(self.m, d_new - d, variance=2) * self.init_scale
        if not self.unit and not d:
            columns[:, 0] = 0  # of the constant, which is 0 then

        def embed(theta, scale, rows):
            return [*theta[:-1], torch.cat([theta[-1], scale * rows])]

        def embed1(theta, scale=1):
            first, *others = embed(theta, scale, rows[0])
            return [torch.cat([first, scale * columns], dim=1), *others]

        def embed2(theta, scale=1):
            return embed(theta, scale, rows[1]) if theta else []

        return embed1, embed2

    def dense(self, weights):
        f1, f2, d = weights.f1, weights.f2, 1 + len(self.features)
        theta2 = [f2.first, *f2.hidden, f2.output][: 99 * weights.shape.explores]
        return [f1.first[:, :d], *f1.hidden, f1.output], theta2
