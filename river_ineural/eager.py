"""The arithmetic between the matrix products, by PyTorch: for any device.

The phases of `compiled`, one by one; what each does is said there.
"""

from __future__ import annotations

import torch
from torch import Tensor

from river_ineural.compiled import BETA1, BETA2, EPSILON, SQRT_HALF, TINY

__all__ = [
    "adam",
    "activate",
    "behind_output",
    "behind_relu",
    "embed",
    "embed_folded",
    "errors",
    "gather",
    "output_gradient",
    "rescale",
    "score",
    "sgd",
]


def behind_relu(gradient: Tensor, activation: Tensor, out: Tensor) -> None:
    """Gradient before a ReLU from the one behind it: 0 where the unit is off."""
    torch.ops.aten.threshold_backward.grad_input(gradient, activation, 0, grad_input=out)


def gather(
    rows: Tensor,
    stored_x: Tensor,
    stored_targets: Tensor,
    stored_weight: Tensor,
    shift: Tensor,
    normalize: bool,
    share: float,
    keep: Tensor,
    x: Tensor,
    targets: Tensor,
    weight: Tensor,
) -> None:
    """Rows of the history, x normalised, 0 where keep (B, d) is 0, weight times `share`."""
    torch.index_select(stored_x, 0, rows, out=x)
    torch.index_select(stored_targets, 0, rows, out=targets)
    torch.index_select(stored_weight, 0, rows, out=weight)
    x.sub_(shift)
    if normalize:
        x.div_(torch.linalg.vector_norm(x, dim=1, keepdim=True).clamp_min_(TINY))
    weight.mul_(share)
    x.mul_(keep)


def activate(products: Tensor, output: Tensor, f1: Tensor, delta: Tensor) -> None:
    """ReLU in place, f1 and its gradient before the ReLU, of the last hidden layer."""
    products.clamp_min_(0)
    torch.mv(products.t(), output, out=f1)
    behind_relu(output.unsqueeze(1).expand_as(products), products, out=delta)


def embed(gradient: Tensor, explored: Tensor, products: Tensor, inverse: Tensor) -> None:
    """First hidden layer of f2, norms from the input gradient."""
    torch.linalg.vector_norm(gradient, dim=1, out=inverse)
    inverse.clamp_min_(TINY).reciprocal_()
    products.addcmul_(explored, inverse).clamp_min_(0)


def embed_folded(
    delta: Tensor, quadratic: Tensor, explored: Tensor, products: Tensor, inverse: Tensor
) -> None:
    """First hidden layer of f2, norms from the quadratic form."""
    torch.sum(quadratic.mul_(delta), 0, out=inverse)
    inverse.clamp_min_(TINY**2).rsqrt_()
    products.addcmul_(explored, inverse).clamp_min_(0)


def score(hidden: Tensor, output: Tensor, f1: Tensor, scores: Tensor) -> None:
    """f1 + f2 from the last hidden layer of f2."""
    torch.addmv(f1, hidden.t(), output, alpha=SQRT_HALF, out=scores)


def errors(
    f1: Tensor, scores: Tensor, targets: Tensor, weight: Tensor, error1: Tensor, error2: Tensor
) -> None:
    """Gradients of the losses at f1 and at f2 before its 1/√2."""
    reward, residual = targets.permute(1, 2, 0)  # (k, B)
    by_class = reward.shape
    torch.sub(f1.view(by_class), reward, out=error1.view(by_class))
    torch.sub(scores, f1, out=error2)
    error2.view(by_class).sub_(residual).mul_(weight).mul_(SQRT_HALF)
    error1.view(by_class).mul_(weight)


def output_gradient(hidden: Tensor, error: Tensor, gradient: Tensor) -> None:
    """Gradient of an output layer."""
    torch.mv(hidden, error, out=gradient)


def behind_output(hidden: Tensor, output: Tensor, error: Tensor) -> None:
    """Gradient before the last ReLU, in place of the hidden layer."""
    behind_relu(torch.outer(output, error), hidden, out=hidden)


def rescale(gradient: Tensor, inverse: Tensor, scaled: Tensor) -> None:
    """Columns of gradient times inverse."""
    torch.mul(gradient, inverse, out=scaled)


def sgd(parameters: Tensor, gradient: Tensor, n_updates: Tensor, lr: float) -> None:
    """One update as in Algorithm 2."""
    n_updates += 1
    parameters.sub_(gradient, alpha=lr)


def adam(
    parameters: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, n_updates: Tensor, lr: float
) -> None:
    """One update of Adam in one call, where `torch.optim.Adam` takes a dozen."""
    n_updates += 1
    torch._fused_adam_(
        [parameters],
        [gradient],
        [mean],
        [square],
        [],
        [n_updates],
        lr=lr,
        beta1=BETA1,
        beta2=BETA2,
        eps=EPSILON,
        weight_decay=0.0,
        amsgrad=False,
        maximize=False,
    )
