"""The phases by PyTorch, for tensors of any device.

Each has the name and the signature of its counterpart in `compiled`; what it does is said there.
"""

from __future__ import annotations

import torch
from torch import Tensor

from river_ineural.network.constants import (
    BETA1,
    BETA2,
    CLOSEST,
    EPSILON,
    FARTHEST,
    FLAG,
    LEAST_RADIUS,
    MOST_GRADIENT,
    PACE,
    RESOLUTION,
    ROUNDING,
    SQRT_HALF,
    SQUASHED,
    TINY,
    TOLERATED,
    TWO_VALUED,
)

__all__ = [
    "adam",
    "activate",
    "behind_output",
    "behind_relu",
    "embed",
    "embed_folded",
    "errors",
    "gather",
    "observe",
    "oppose",
    "output_gradient",
    "perturb",
    "rescale",
    "score",
    "standardize",
    "unit_columns",
    "weigh",
]


def behind_relu(gradient: Tensor, activation: Tensor, out: Tensor) -> None:
    """Gradient before a ReLU from the one behind it: 0 where the unit is off."""
    torch.ops.aten.threshold_backward.grad_input(gradient, activation, 0, grad_input=out)


def standardize(raw: Tensor, scaling: Tensor, x: Tensor) -> None:
    """Rows of x = (raw - shift) · inverse, squashed, then of norm 1."""
    shift, inverse, squashed = scaling
    torch.sub(raw, shift, out=x)
    x.mul_(inverse).clamp_(-FARTHEST, FARTHEST)
    torch.where(squashed > 0, x.asinh(), x, out=x)
    x.div_(torch.linalg.vector_norm(x, dim=1, keepdim=True).clamp_min_(TINY))


def gather(
    rows: Tensor,
    stored_x: Tensor,
    stored_targets: Tensor,
    stored_weight: Tensor,
    scaling: Tensor,
    share: float,
    given: float,
    n_explored: int,
    x: Tensor,
    targets: Tensor,
    weight: Tensor,
) -> None:
    """Rows of the history, x standardised, weights times `share` and `given`, or 0."""
    torch.index_select(stored_x, 0, rows, out=x)
    torch.index_select(stored_targets, 0, rows, out=targets)
    weight.copy_(stored_weight[rows].view(-1, 1, 1)).mul_(share)
    weight.mul_(torch.where(targets[:, :1] > 0, given, 1.0))
    weight[:, 1].mul_(rows.lt(n_explored).unsqueeze(1))
    standardize(x, scaling, x)


def oppose(
    f1: Tensor,
    targets: Tensor,
    rows: Tensor,
    n_labelled: int,
    most: float,
    sign: Tensor,
    radius: Tensor,
) -> None:
    """Signs of the class and of the best other; the radius by the share of labels missed."""
    n_examples, _, k = targets.shape
    by_class, signs = f1.view(k, n_examples), sign.view(k, n_examples).zero_()
    if k == 1:
        return
    label = targets[:, 0].argmax(1).unsqueeze(0)
    others = by_class.scatter(0, label, -torch.inf)
    best, other = others.max(0, keepdim=True)
    signs.scatter_(0, other, -1.0).scatter_(0, label, 1.0)
    given = rows < n_labelled
    n_given = given.sum()
    wrong = (by_class.gather(0, label) <= best).squeeze(0).logical_and_(given).sum()
    share = wrong.to(radius.dtype) / n_given.clamp_min(1)
    factor = torch.exp(PACE * (TOLERATED - share))
    grown = (radius * factor).clamp(most * LEAST_RADIUS, most)
    radius.copy_(torch.where(n_given > 0, grown, radius))


def perturb(direction: Tensor, radius: Tensor, first: int, x: Tensor) -> None:
    """Columns of x from `first` on moved against the direction, by the radius."""
    part = direction[:, first:]
    norm = torch.linalg.vector_norm(part, dim=1, keepdim=True).clamp_min_(TINY)
    x[:, first:].sub_(part * (radius / norm))


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


def unit_columns(columns: Tensor, inverse: Tensor) -> None:
    """Columns scaled to norm 1."""
    torch.linalg.vector_norm(columns, dim=0, out=inverse)
    columns.mul_(inverse.clamp_min_(TINY).reciprocal_())


def score(hidden: Tensor, output: Tensor, f1: Tensor, scores: Tensor) -> None:
    """f1 + f2 from the last hidden layer of f2."""
    torch.addmv(f1, hidden.t(), output, alpha=SQRT_HALF, out=scores)


def errors(
    f1: Tensor,
    scores: Tensor,
    targets: Tensor,
    weight: Tensor,
    exploring: bool,
    factor: float,
    error1: Tensor,
    error2: Tensor,
) -> bool:
    """Gradients of the losses at f1 and at f2 before its factor.

    On a GPU nobody asks whether they are finite, as the answer would hold up the next step: there
    the updates leave out what is not.
    """
    reward, residual = targets.permute(1, 2, 0)  # (k, B)
    weight1, weight2 = weight.permute(1, 2, 0)
    by_class = reward.shape
    torch.sub(f1.view(by_class), reward, out=error1.view(by_class))
    error1.view(by_class).mul_(weight1)
    if exploring:
        torch.sub(scores, f1, out=error2)
        error2.view(by_class).sub_(residual).mul_(weight2).mul_(factor)
    if error1.is_cuda:
        return True
    return bool(error1.isfinite().all() and not (exploring and not error2.isfinite().all()))


def output_gradient(hidden: Tensor, error: Tensor, gradient: Tensor) -> None:
    """Gradient of an output layer."""
    torch.mv(hidden, error, out=gradient)


def behind_output(hidden: Tensor, output: Tensor, error: Tensor) -> None:
    """Gradient before the last ReLU, in place of the hidden layer."""
    behind_relu(torch.outer(output, error), hidden, out=hidden)


def rescale(gradient: Tensor, inverse: Tensor, scaled: Tensor) -> None:
    """Columns of gradient times inverse."""
    torch.mul(gradient, inverse, out=scaled)


def adam(
    parameters: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    n_updates: Tensor,
    lr: float,
) -> None:
    """One update of Adam in one call, where `torch.optim.Adam` takes a dozen."""
    n_updates += 1
    gradient.masked_fill_(gradient.abs().le(MOST_GRADIENT).logical_not_(), 0.0)
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


def observe(x: Tensor, n: int, moments: Tensor) -> None:
    """The statistics of n examples and of the rows of x together, all rows at once."""
    mean, square, cube, fourth = moments
    x, b = x.to(moments.dtype), x.shape[0]
    middle = x.mean(0)
    squares, cubes, fourths = ((x - middle).pow(power).sum(0) for power in (2, 3, 4))
    share, step = b / (n + b), middle - mean
    term = step.square() * (n * share)
    fourth += fourths + term * step.square() * (1 - 3 * share * (1 - share))
    fourth += 6 * step.square() * ((1 - share) ** 2 * squares + share**2 * square)
    fourth += 4 * step * ((1 - share) * cubes - share * cube)
    cube += cubes + term * step * (1 - 2 * share)
    cube += 3 * step * ((1 - share) * squares - share * square)
    square += squares + term
    mean += share * step


def more_than_rounding(q: Tensor, mean: Tensor, reference: Tensor) -> Tensor:
    """Which features vary by more than constants do that are rounded."""
    least = torch.maximum(RESOLUTION * mean.abs(), ROUNDING * (mean + reference).abs())
    return q > least.clamp_min_(CLOSEST)


def weigh(n: int, squash: bool, reference: Tensor, moments: Tensor, scaling: Tensor) -> None:
    """Scaling from the statistics of n examples; what a flag is, `standardizing.weigh` says."""
    mean, square, cube, fourth = moments[0], *(moments[1:] / n)
    skew = torch.where(square > 0, cube / square, 0.0)
    flag = (square > 0) & (fourth - skew * cube - square.square() <= TWO_VALUED * fourth)
    q = torch.where(
        flag, FLAG * (skew.square() + 4 * square).sqrt(), fourth.clamp_min(0).sqrt().sqrt()
    )
    varies = more_than_rounding(q, mean, reference)
    squashed = varies & flag.logical_not() & squash
    q = torch.where(squashed, square.sqrt(), q)
    scaling[0].copy_(mean)
    scaling[1].copy_(torch.where(varies, 1 / q, 1.0))
    scaling[2].copy_(squashed)
    spread = torch.where(squashed, SQUASHED, square / q.square())
    scaling[0, 0] = -torch.where(varies, spread, 0.0).sum().sqrt_()
