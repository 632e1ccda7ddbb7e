"""The networks as PyTorch modules with automatic differentiation, for readers and for CUDA.

`compiled` has the same networks for the CPU, written out over the same weights (`layout`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from river_ineural.features.constants import (
    BETA1,
    BETA2,
    CONSTANT,
    EPSILON,
    LEAST_RADIUS,
    MOST_GRADIENT,
    PACE,
    SQRT_HALF,
    TINY,
    TOLERATED,
)
from river_ineural.features.standardizing import standardized
from river_ineural.networks.batch import gather
from river_ineural.networks.capture import Captured
from river_ineural.networks.layout import Layers, Shape

Floats = NDArray[np.floating[Any]]

MOST = 2**26  # most numbers in the embeddings of one pass


def unit(x: Tensor) -> Tensor:
    """Scale rows to norm 1; a row of zeros stays 0."""
    norms: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / norms.clamp_min(TINY)


class Network(nn.Module):
    """W_L σ(W_{L-1} … σ(W_1 ·)): a ReLU network without biases."""

    def __init__(self, theta: Tensor, shape: Shape) -> None:
        super().__init__()
        self.theta, self.shape = nn.Parameter(theta), shape

    @property
    def layers(self) -> Layers[Tensor]:
        """Views of θ."""
        raise NotImplementedError

    def behind(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """The last hidden layer (B, blocks, m), and the outputs (B, k).

        z (B, blocks, m) are the products of the first layer.
        """
        _, hidden, output = self.layers
        h = z.relu()
        for w in hidden:
            h = (h @ w.T).relu()
        return h, (h @ output.T).flatten(1)


class Exploitation(Network):
    """f1 of the context of each class, or of x with one output per class."""

    @property
    def layers(self) -> Layers[Tensor]:
        return self.shape.layers_of_f1(self.theta)

    def products(self, x: Tensor) -> Tensor:
        """The first layer's products (B, blocks, m): for the context x_i, block i times x."""
        (first,) = self.layers.first
        blocks = first.view(len(first), self.shape.blocks, self.shape.n_features)
        return torch.einsum("bd,mkd->bkm", x, blocks)

    def forward(self, x: Tensor) -> Tensor:
        """f1 of every class (B, k) for x (B, d)."""
        return self.behind(self.products(x))[1]


class Embedding(nn.Module):
    """φ, the input of f2, of norm 1; no gradient flows through it."""

    def forward(self, f1: Exploitation, x: Tensor) -> tuple[Tensor, ...]:
        """With contexts, the halves of √2 φ: x (B, d) and ∇f1(x_i) / ‖∇f1(x_i)‖ (B, k, kd). f2 has
        one first layer for each half. With outputs, the embedding (B, 1, e).
        """
        z = f1.products(x).detach().requires_grad_()
        h, outputs = f1.behind(z)
        if f1.shape.outputs:
            h1, h = z.detach().relu(), h.detach()
            deep = f1.shape.n_layers > 2
            return (unit(torch.cat((h1, f1.shape.n_classes**0.5 * h), -1) if deep else h),)
        (delta,) = torch.autograd.grad(outputs.sum(), z)
        return x, unit(delta @ f1.layers.first[0].detach())


class Exploration(Network):
    """f2 of the embedding of each class, or of x with one output per class."""

    @property
    def layers(self) -> Layers[Tensor]:
        return self.shape.layers_of_f2(self.theta)

    def forward(self, *embedded: Tensor) -> Tensor:
        """f2 of every class (B, k) for the tensors that `Embedding` returns."""
        first = self.layers.first
        if self.shape.outputs:
            return self.behind(embedded[0] @ first[0].T)[1]
        x, gradient = embedded
        blocks = first[0].view(-1, self.shape.blocks, self.shape.n_features)
        z = torch.einsum("bd,mkd->bkm", x, blocks) + gradient @ first[1].T
        return self.behind(SQRT_HALF * z)[1]


def modules(theta: Tensor, shape: Shape) -> tuple[Exploitation, Embedding, Exploration]:
    """f1, φ and f2, which share the memory of the weights (P,)."""
    at = shape.n_of_f1
    return Exploitation(theta[:at], shape), Embedding(), Exploration(theta[at:], shape)


def loss(f: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """Σ weight (r - f)² / 2, for arguments of shape (B, k)."""
    return (weight * (targets - f).square()).sum() / 2


class Modules:
    """Scores and steps of both networks on the device of their weights.

    The arguments and results are those of `loops.Loops`.
    """

    def __init__(self, shape: Shape, block: Tensor, n_updates: Tensor, radius: Tensor) -> None:
        self.shape, self.radius, self.device = shape, radius, block.device
        self.predicting = modules(block[1], shape)
        self.f1, self.embedding, self.f2 = modules(block[0], shape)
        self.adams, at = [], shape.n_of_f1
        halves = (self.f1.theta, slice(at)), (self.f2.theta, slice(at, None))
        for (theta, half), n in zip(halves, n_updates.unbind(), strict=True):
            adam = torch.optim.Adam(
                [theta], betas=(BETA1, BETA2), eps=EPSILON, capturable=block.is_cuda
            )
            adam.state[theta] = {"step": n, "exp_avg": block[2, half], "exp_avg_sq": block[3, half]}
            self.adams.append(adam)
        self.standing: list[Tensor] = []  # the buffers of a batch
        self.numbers: tuple[float | None, ...] = ()  # of the captured steps
        self.captured = [Captured(self.device) for _ in range(2)]
        self.finite = True

    @torch.inference_mode(False)
    @torch.enable_grad()
    def score(self, raw: Floats, scaling: Floats, exploring: bool) -> Floats:
        """f1 and f2 (2, B, k) for raw rows (B, d); without `exploring`, f2 is 0."""
        f1, embedding, f2 = self.predicting
        found, size = [], max(1, MOST // (self.shape.n_classes * self.shape.n_embedded + 1))
        for rows in torch.split(self._standardized(raw, scaling), size):
            one = f1(rows)
            other = f2(*embedding(f1, rows)) if exploring else torch.zeros_like(one)
            found.append(torch.stack((one, other)).detach())
        return torch.cat(found, 1).cpu().numpy()

    def _standardized(self, raw: Floats, scaling: Floats) -> Tensor:
        x = np.empty(raw.shape, np.float32 if self.f1.theta.dtype is torch.float32 else np.float64)
        standardized(raw, scaling, x)
        return torch.from_numpy(x).to(self.device)

    @torch.inference_mode(False)
    @torch.enable_grad()
    def step(
        self,
        stored: tuple[Any, ...],
        rows: NDArray[np.int64],
        n_labelled: int,
        scaling: Floats,
        given: float,
        most: float | None,
        lr: float,
        exploration_lr: float,
        exploring: bool,
    ) -> bool:
        """One step of f1, and with `exploring` also of f2: see `loops.Loops`."""
        x = np.empty((len(rows), stored[0].shape[1]), stored[1].dtype)
        targets = np.empty((len(rows), *stored[1].shape[1:]), x.dtype)
        gathered = x, targets, np.empty_like(targets)
        gather(rows, stored, scaling, given, n_labelled, *gathered)
        sent = [torch.from_numpy(part) for part in (*gathered, rows < n_labelled)]
        if not self.standing:
            self.standing = [part.to(self.device) for part in sent]
        for part, new in zip(self.standing, sent, strict=True):
            part.copy_(new)
        if self.numbers != (most, lr, exploration_lr):  # Python numbers in captured steps
            self.numbers = most, lr, exploration_lr
            self.captured = [Captured(self.device) for _ in range(2)]
            for adam, rate in zip(self.adams, (lr, exploration_lr), strict=True):
                adam.param_groups[0]["lr"] = rate

        def run() -> None:
            x, targets, weight, labelled = self.standing
            if most:
                x = self._moved(x, targets[:, 0], labelled, most)
            losses = [loss(self.f1(x), targets[:, 0], weight[:, 0])]
            if exploring:
                f2 = self.f2(*self.embedding(self.f1, x))
                losses.append(loss(f2, targets[:, 1], weight[:, 1]))
            self._update(losses)

        self.captured[exploring](run)
        return self.finite

    def _update(self, losses: list[Tensor]) -> None:
        """Update the weights by Adam to lower the losses, f1 first.

        On a GPU the losses are not checked for NaN or inf, as this would delay the next step.
        """
        self.finite = self.device.type == "cuda" or all(each.isfinite() for each in losses)
        if not self.finite:
            return
        thetas = self.f1.theta, self.f2.theta
        pairs = list(zip(losses, thetas, self.adams, strict=False))
        gradients = [torch.autograd.grad(each, theta)[0] for each, theta, _ in pairs]
        for gradient, (_, theta, adam) in zip(gradients, pairs, strict=True):
            theta.grad = gradient.masked_fill(~(gradient.abs() <= MOST_GRADIENT), 0.0)
            adam.step()

    def _moved(self, x: Tensor, reward: Tensor, given: Tensor, most: float) -> Tensor:
        """x moved by the radius, towards where f1 prefers another class.

        The move is against the gradient of f1(its class) - f1(best other class). The radius shrinks
        if too many examples with given labels are misclassified; else it grows up to `most`.
        """
        if self.shape.n_classes < 2:
            return x
        x = x.detach().requires_grad_()
        f1, label = self.f1(x), reward.argmax(1, keepdim=True)
        own = f1.gather(1, label)
        best = f1.scatter(1, label, -torch.inf).max(1, keepdim=True).values
        (direction,) = torch.autograd.grad((own - best).sum(), x)
        direction[:, :CONSTANT] = 0
        weight = given.to(x.dtype)
        wrong = ((own <= best).squeeze(1) * weight).sum() / weight.sum().clamp_min(1)
        grown = self.radius * torch.exp(PACE * (TOLERATED - wrong))
        grown = grown.clamp(most * LEAST_RADIUS, most)
        self.radius.copy_(torch.where(given.any(), grown, self.radius))
        return x.detach() - self.radius * unit(direction)
