"""NeurONAL with the package's parameters: slow, by automatic differentiation.

What it shares with I-NeurAL (statistics, histories, batches, explorers, changes) is in
`reference.py`. Here the end-to-end embedding is built as the paper has it, in R^(m + Km), the
gradient of f1 with respect to its last layer taken by torch.autograd. The package leaves out of
f2's first layer the axes of that space in which the embedding is always 0; `axes` holds the others.
"""

import math

import torch
from reference import ALL, FIRST_LAYERS, TINY, ReferenceClassifier, hidden


def network(z, theta):
    """W_L σ(W_{L-1} … σ(W_1 z)) of every row z, with W_L (K, m)."""
    return hidden(z, theta) @ theta[-1].T


def embedding(x, theta1):
    """Of every row: the first hidden layer's output, and the gradient of f1 with respect to its
    last layer, each output's row of it, one after the other. The whole of norm 1.
    """
    last = theta1[-1].expand(len(x), -1, -1).clone().requires_grad_()
    outputs = torch.einsum("bkm,bm->bk", last, hidden(x, theta1))
    (gradient,) = torch.autograd.grad(outputs.sum(), last)
    whole = torch.cat([torch.relu(x @ theta1[0].T), gradient.flatten(1)], dim=1)
    return whole / torch.linalg.vector_norm(whole, dim=1, keepdim=True).clamp_min(TINY)


def axes(k, m, depth):
    """Orthonormal rows (e, m + Km): of two layers all K + 1 parts are alike, of more the last K."""
    parts = torch.eye(m).double()
    alike = torch.cat([parts] * k, dim=1) / math.sqrt(k)
    if depth == 2:
        return torch.cat([parts, math.sqrt(k) * alike], dim=1) / math.sqrt(1 + k)
    return torch.block_diag(parts, alike)


class ReferenceOutputs(ReferenceClassifier):
    """Both networks with an output a class."""

    exploration_lr, balance, span = 3e-3, 0.5, 24

    def f1(self, rows, theta1):
        return network(rows, theta1)

    def f2(self, rows, theta1, theta2):
        return network(embedding(rows, theta1), self.on_paper(theta2))

    def on_paper(self, theta2):
        """f2 with the first layer (m, m + Km) of the paper."""
        return [theta2[0] @ axes(len(self.labels), self.m, self.depth), *theta2[1:]]

    def columns(self, there):
        return there, ALL  # f2 is fed no feature

    def initial(self):
        """Both networks, of no class and no feature yet."""
        m = self.m
        n = self.n_networks
        layers = self.normal(n, self.depth - 2, m, m, variance=2)
        firsts, output = [torch.zeros(m, 0).double()], torch.zeros(0, m).double()
        if n > 1:
            firsts.append(self.normal(m, m * min(2, self.depth - 1), variance=2))
        return *([firsts[i], *layers[i], output] for i in range(n)), *[[]] * (2 - n)

    def widened(self, k, d, k_new, d_new):
        rows = [self.normal(k_new - k, self.m, variance=1) for _ in range(self.n_networks)]
        columns = self.normal(self.m, d_new - d, variance=2) * FIRST_LAYERS

        def embed1(theta, scale=1):
            first, *others, output = theta
            first = torch.cat([first, scale * columns], dim=1)
            return [first, *others, torch.cat([output, scale * rows[0]])]

        def embed2(theta, scale=1):  # f2 says 0 of a new class
            return [*theta[:-1], torch.cat([theta[-1], 0 * rows[1]])] if theta else []

        return embed1, embed2

    def dense(self, weights):
        f1, f2, d = weights.f1, weights.f2, 1 + len(self.features)
        theta2 = [f2.first[0], *f2.hidden, f2.output] if weights.shape.explores else []
        return [f1.first[0][:, :d], *f1.hidden, f1.output], theta2
