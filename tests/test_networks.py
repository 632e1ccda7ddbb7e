"""The networks, compiled and as modules, against automatic differentiation of the paper's form."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import reference_outputs
import torch
from hypothesis import given
from reference import contexts, dense, embedding, flatten, network

from river_ineural.network.constants import BETA1
from river_ineural.network.growth import draw, overlay
from river_ineural.network.layout import Shape, Weights
from river_ineural.network.modules import Modules
from river_ineural.network.passes import Loops

FORMS = pytest.mark.parametrize("form", [Loops, Modules])

shapes = st.builds(
    Shape,
    n_classes=st.integers(1, 4),
    n_features=st.integers(1, 6),
    hidden_dim=st.integers(1, 9),
    n_layers=st.integers(2, 4),
    explores=st.just(True),
    outputs=st.booleans(),
)


def grow(flat, old, new, used, rng):
    """Weights of a larger shape, features used before and after."""
    before, after = used
    grown = overlay(flat.new_zeros(new.n_parameters), new, flat, old, before)
    columns = slice(before, after)
    draw(grown, new, old.n_classes, columns, after, rng).write(Weights(grown, new))
    return grown


def fresh(shape, rng, dtype=torch.float64):
    """Weights drawn for a shape, f2 no longer silent."""
    empty = shape._replace(n_classes=0, n_features=0)
    nothing = torch.zeros(empty.n_parameters, dtype=dtype)
    if shape.outputs:  # layers whose size is fixed are drawn before classes and features come
        nothing.copy_(torch.from_numpy(rng.normal(0, shape.hidden_dim**-0.5, len(nothing))))
    flat = grow(nothing, empty, shape, (0, shape.n_features), rng)
    f2 = Weights(flat, shape).networks[1]
    silent = f2 == 0
    noise = rng.normal(0, shape.hidden_dim**-0.5, int(silent.sum()))
    f2[silent] = torch.from_numpy(noise).to(dtype)
    return flat


def unit(rng, n, d, dtype=np.float64):
    """Rows of norm 1."""
    x = rng.normal(size=(n, d))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)


class Passed:
    """A form of the networks over a copy of weights, with Adam's averages at 0."""

    def __init__(self, form, shape, flat, radius=0.1):
        self.flat, self.shape = flat.clone(), shape
        self.moments = [torch.zeros_like(flat) for _ in range(2)]
        self.radius = torch.tensor(radius, dtype=flat.dtype)
        self.passes = form(shape, self.flat, self.moments, torch.zeros(2), self.radius)
        self.scaling = np.zeros((3, shape.n_features), flat.numpy().dtype)  # x as it is
        self.scaling[1] = 1

    def score(self, x, exploring=True):
        return self.passes.score(x, self.scaling, exploring)

    def step(self, x, targets, weight, exploring=True, given=1.0, most=0.0):
        stored, rows = (x, targets, weight), np.arange(len(x))
        plan = given, len(x), most, 1
        return self.passes.step(stored, rows, self.scaling, plan, (0.01, 0.02), exploring)

    def gradient(self, *learned, **settings):
        """Of both losses, which Adam's first average has after one step."""
        assert self.step(*learned, **settings)
        return self.moments[0] / (1 - BETA1)


def examples(shape, rng, n, dtype=np.float64):
    """x (n, d), targets (n, 2, k) and weights (n,)."""
    labels = np.eye(shape.n_classes)[rng.integers(0, shape.n_classes, n)]
    targets = np.stack((labels, rng.normal(size=labels.shape)), axis=1).astype(dtype)
    return unit(rng, n, shape.n_features, dtype), targets, rng.uniform(size=n).astype(dtype)


def paper(flat, shape, x):
    """θ1 and θ2 as the paper has them, and both networks as functions of them, (n, k)."""
    weights, k = Weights(flat, shape), shape.n_classes
    if shape.outputs:
        kept = reference_outputs.axes(k, shape.hidden_dim, shape.n_layers)
        f1, f2 = weights.f1, weights.f2
        theta1 = [f1.first[0], *f1.hidden, f1.output]
        theta2 = [f2.first[0], *f2.hidden, f2.output]
        phi = reference_outputs.embedding(x, theta1)
        of_paper = reference_outputs.network
        return (
            *(theta1, theta2, lambda theta: of_paper(x, theta)),
            lambda theta: of_paper(phi, [theta[0] @ kept, *theta[1:]]),
        )
    theta1, theta2 = dense(weights, shape.n_features)
    built = torch.cat([contexts(row, k) for row in x])
    phi = embedding(built, theta1)
    return (
        *(theta1, theta2, lambda theta: network(built, theta).view(-1, k)),
        lambda theta: network(phi, theta).view(-1, k),
    )


@given(shape=shapes, n=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_scores_and_gradients_are_those_of_the_paper_s_networks(shape, n, seed):
    """f1, f2, and the gradients of both weighted losses, contexts and embeddings being built.

    In the compiled form; the other takes the same steps.
    """
    rng = np.random.default_rng(seed)
    flat = fresh(shape, rng)
    x, targets, weight = examples(shape, rng, n)
    theta1, theta2, f1, f2 = paper(flat, shape, torch.from_numpy(x))
    passed = Passed(Loops, shape, flat)
    scores = passed.score(x)
    np.testing.assert_allclose(scores[0], f1(theta1), atol=1e-10)
    np.testing.assert_allclose(scores[1] - scores[0], f2(theta2), atol=1e-10)
    gradient = passed.gradient(x, targets, weight)
    share = torch.from_numpy(weight[:, None]) / (n * shape.n_classes)
    found = paper(gradient, shape, torch.from_numpy(x))[:2]
    for kind, (theta, f, actual) in enumerate(zip((theta1, theta2), (f1, f2), found, strict=True)):
        theta = [matrix.clone().requires_grad_() for matrix in theta]
        loss = share * (torch.from_numpy(targets[:, kind]) - f(theta)) ** 2 / 2
        expected = torch.autograd.grad(loss.sum(), theta)
        torch.testing.assert_close(flatten(actual), flatten(expected), atol=1e-10, rtol=1e-8)


@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@given(
    shape=shapes,
    n=st.integers(1, 12),
    seed=st.integers(0, 2**32),
    exploring=st.booleans(),
    most=st.sampled_from([0.0, 0.15]),
)
def test_both_forms_take_the_same_steps(dtype, close, shape, n, seed, exploring, most):
    """Scores, the gradients of a step, and the radius of what is moved."""
    rng = np.random.default_rng(seed)
    flat = fresh(shape, rng, torch.from_numpy(np.empty(0, dtype)).dtype)
    learned = examples(shape, rng, n, dtype)
    both = [Passed(form, shape, flat) for form in (Loops, Modules)]
    settings = {"exploring": exploring, "given": 2.0, "most": most}
    for rows in (learned[0], learned[0][:0]):
        scores = [passed.score(rows, exploring) for passed in both]
        assert scores[0].shape[1:] == (len(rows), shape.n_classes)
        np.testing.assert_allclose(*scores, atol=close)
    gradients = [passed.gradient(*learned, **settings) for passed in both]
    torch.testing.assert_close(*gradients, atol=close, rtol=100 * close)
    assert both[0].radius.item() == pytest.approx(both[1].radius.item(), rel=1e-5)


@FORMS
def test_a_step_that_is_not_finite_is_not_taken(form):
    shape = Shape(n_classes=2, n_features=3, hidden_dim=4, n_layers=2)
    rng = np.random.default_rng(0)
    flat = fresh(shape, rng)
    x, targets, weight = examples(shape, rng, 4)
    passed = Passed(form, shape, flat)
    for kind in range(2):
        bad = targets.copy()
        bad[0, kind, 0] = np.inf
        assert not passed.step(x, bad, weight)
        assert torch.equal(passed.flat, flat)
    assert passed.step(x, targets, weight)


@FORMS
@given(shape=shapes, seed=st.integers(0, 2**32))
def test_without_f2_f1_is_the_same_and_all_there_is(form, shape, seed):
    """Its gradient, which has the scores in it, and its size."""
    rng = np.random.default_rng(seed)
    flat, learned = fresh(shape, rng), examples(shape, rng, 3)
    alone, of_f1 = shape._replace(explores=False), Weights(flat, shape).networks[0]
    assert alone.n_parameters == len(of_f1)
    both, one = Passed(form, shape, flat), Passed(form, alone, of_f1)
    gradients = [passed.gradient(*learned, exploring=False) for passed in (both, one)]
    torch.testing.assert_close(gradients[0][: len(of_f1)], gradients[1])
    assert not gradients[0][len(of_f1) :].any()
