"""The networks against automatic differentiation, and what growing must leave alone."""

from __future__ import annotations

import contextlib

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from reference import contexts, dense, embedding, flatten, loss_gradient, network

from river_ineural.network import compiled, eager
from river_ineural.network import phases as forms
from river_ineural.network.constants import TINY
from river_ineural.network.contexts import Activations, Shape, Weights
from river_ineural.network.growth import draw, overlay

LIKE = torch.empty(0, dtype=torch.float64)

shapes = st.builds(
    Shape,
    n_classes=st.integers(1, 4),
    n_features=st.integers(1, 6),
    hidden_dim=st.integers(1, 9),
    n_layers=st.integers(2, 4),
    explores=st.just(True),
)


def grow(flat, old, new, used, rng):
    """Weights of a larger shape, features used before and after."""
    before, after = used
    grown = overlay(flat.new_zeros(new.n_parameters), new, flat, old, before)
    columns = slice(before, after)
    drawn = draw(grown, new, old.n_classes, columns, after, rng)
    drawn.write(new.weights(grown))
    return grown


def fresh(shape, rng, dtype=torch.float64):
    """Weights drawn for a shape, f2 no longer silent."""
    empty = shape._replace(n_classes=0, n_features=0)
    flat = grow(
        *(torch.zeros(empty.n_parameters, dtype=dtype), empty, shape, (0, shape.n_features), rng)
    )
    silent = shape.weights(flat).networks[1] == 0
    shape.weights(flat).networks[1][silent] = torch.from_numpy(
        rng.normal(0, shape.hidden_dim**-0.5, int(silent.sum()))
    ).to(dtype)
    return flat


def unit(rng, n, d, dtype=torch.float64):
    """Rows of norm 1."""
    x = rng.normal(size=(n, d))
    return torch.from_numpy(x / np.linalg.norm(x, axis=1, keepdims=True)).to(dtype)


def passed(flat, shape, x):
    """Weights and activations after a pass over x."""
    w, a = Weights(flat, shape), Activations(shape, len(x), flat)
    w.exploit(x.t(), a)
    w.explore(a)
    return w, a


@contextlib.contextmanager
def phases(module):
    """The phases of `module` between the matrix products, whatever the device."""
    usual, forms.of = forms.of, lambda _: module
    try:
        yield
    finally:
        forms.of = usual


BOTH = pytest.mark.parametrize("module", [compiled, eager], ids=["compiled", "eager"])


@BOTH
@given(shape=shapes, n_examples=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_scores_and_gradients_are_those_of_autograd(module, shape, n_examples, seed):
    """f1, f2, their sum, and the gradients of both weighted losses, from dense contexts."""
    with phases(module):
        check_scores_and_gradients(shape, n_examples, seed)


def check_scores_and_gradients(shape, n_examples, seed):
    k, d, *_ = shape
    rng = np.random.default_rng(seed)
    flat, x = fresh(shape, rng), unit(rng, n_examples, d)
    w, a = passed(flat, shape, x)
    theta1, theta2 = dense(w, d)
    built = torch.cat([contexts(row, k) for row in x])
    phi = embedding(built, theta1)
    f1, f2 = network(built, theta1), network(phi, theta2)
    torch.testing.assert_close(a.f1_by_class.flatten(), f1)
    torch.testing.assert_close(a.scores_by_class.flatten(), f1 + f2)

    targets = torch.from_numpy(rng.normal(size=(n_examples, 2, k)))
    reward, residual = targets.unbind(1)
    weight = torch.from_numpy(rng.uniform(size=(n_examples, k)))
    g = Weights(torch.full_like(flat, torch.nan), shape)  # every number of it must be written
    weights = torch.stack((weight, 2 * weight), dim=1)
    w.gradients(x, forms.raw(targets), forms.raw(weights / len(built)), a, g)
    actual1, actual2 = dense(g, d)
    each = weight.flatten()
    of_f1, of_f2 = (lambda theta: network(built, theta)), (lambda theta: network(phi, theta))
    expected1 = loss_gradient(of_f1, reward.flatten(), each, theta1)
    expected2 = loss_gradient(of_f2, residual.flatten(), 2 * each, theta2)
    torch.testing.assert_close(flatten(actual1), flatten(expected1))
    torch.testing.assert_close(flatten(actual2), flatten(expected2))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_many_contexts_score_as_one_example_at_a_time(dtype):
    """The order of (delta W) Aᵀ depends on the number of contexts; its value must not.

    Three examples of two classes are fewer contexts than the 16 hidden units, twenty are more.
    """
    shape = Shape(n_classes=2, n_features=5, hidden_dim=16, n_layers=3)
    rng = np.random.default_rng(1)
    flat, x = fresh(shape, rng, dtype), unit(rng, 21, 5, dtype)
    _, all_at_once = passed(flat, shape, x)
    few = [passed(flat, shape, part)[1] for part in x.split(3)]
    together = torch.cat([a.scores_by_class for a in few])
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    assert (all_at_once.scores_by_class - together).abs().max() < tolerance
    assert (all_at_once.scores != all_at_once.f1).any()  # f2 was there to differ


def test_gradients_of_many_contexts_are_the_sum_of_those_of_few():
    """The same for the gradient, which has its own two orders."""
    shape = Shape(n_classes=2, n_features=5, hidden_dim=16, n_layers=2)
    rng = np.random.default_rng(2)
    flat, x = fresh(shape, rng), unit(rng, 21, 5)
    targets = torch.from_numpy(rng.normal(size=(21, 2, 2)))
    weight = torch.ones(21, 2, 2, dtype=torch.float64)

    def gradient(rows):
        g = torch.zeros_like(flat)
        w, a = passed(flat, shape, x[rows])
        parts = forms.raw(targets[rows]), forms.raw(weight[rows])
        w.gradients(x[rows], *parts, a, Weights(g, shape))
        return g

    few = sum(gradient(slice(start, start + 3)) for start in range(0, 21, 3))
    torch.testing.assert_close(gradient(slice(0, 21)), few)


@given(shapes, st.integers(0, 2**32))
def test_embedding_has_norm_one(shape, seed):
    """‖φ(x_i)‖ = 1 for ‖x‖ = 1 (DC embedding): the norm that the package divides by, and the
    embedding it stands for, are the paper's. A dead gradient leaves the context's half.
    """
    k, d, *_ = shape
    rng = np.random.default_rng(seed)
    flat, x = fresh(shape, rng), unit(rng, 1, d)
    w, a = passed(flat, shape, x)
    theta1, _ = dense(w, d)
    phi = embedding(contexts(x[0], k), theta1)
    input_gradient = a.delta[0].t() @ theta1[0]  # (k, kd)
    torch.testing.assert_close(1 / a.inverse, input_gradient.norm(dim=1).clamp_min(TINY))
    first_half = input_gradient * a.inverse.unsqueeze(1) / 2**0.5
    torch.testing.assert_close(first_half, phi[:, : k * d])
    alive = input_gradient.norm(dim=1) > 1e-9
    expected = torch.where(alive, 1.0, 0.5**0.5).to(phi.dtype)
    torch.testing.assert_close(phi.norm(dim=1), expected)


def test_a_dead_network_scores_zero():
    """Where no unit is active the gradient is 0, and nothing divides by it."""
    for n_examples in (1, 20):
        shape = Shape(n_classes=2, n_features=3, hidden_dim=8, n_layers=2)
        flat = torch.zeros(shape.n_parameters, dtype=torch.float32)
        _, a = passed(flat, shape, unit(np.random.default_rng(0), n_examples, 3, torch.float32))
        assert not a.scores.any()
        assert a.scores.isfinite().all()


@given(shapes, st.integers(1, 3), st.integers(0, 4), st.integers(0, 2**32))
def test_a_late_class_or_feature_leaves_f1_of_known_classes(shape, n_new, n_new_features, seed):
    """Weights of known blocks are kept bit by bit, so f1 of known classes is; new blocks are drawn.

    f2 may move: the input gradient is dense in all blocks, so its norm grows with them.
    """
    k, d, *_ = shape
    rng = np.random.default_rng(seed)
    flat, x = fresh(shape, rng), unit(rng, 2, d)
    w, a = passed(flat, shape, x)
    larger = shape._replace(n_classes=k + n_new, n_features=d + n_new_features)
    grown = grow(flat, shape, larger, (d, d + n_new_features), rng)
    new, b = passed(grown, larger, torch.nn.functional.pad(x, (0, n_new_features)))
    assert torch.equal(new.context[:, :, :k, :d], w.context)
    assert torch.equal(new.gradient[..., :k, :d], w.gradient)
    assert all(torch.equal(*layers) for layers in zip(new.deep, w.deep, strict=True))
    assert (new.context[:, :, k:] != 0).all()
    assert (new.gradient[:, :, k:] != 0).all()
    assert (new.context[..., d:] != 0).all()
    before, after = a.f1_by_class, b.f1_by_class[:, :k]
    torch.testing.assert_close(after, before, rtol=0, atol=1e-12)


@given(shapes, st.integers(0, 2**32))
def test_without_f2_f1_is_the_same_and_all_there_is(shape, seed):
    """Its scores, its gradient, and what grows with classes and features."""
    k, d, *_ = shape
    rng = np.random.default_rng(seed)
    flat, x = fresh(shape, rng), unit(rng, 3, d)
    w, a = passed(flat, shape, x)
    alone = shape._replace(explores=False)
    of_f1 = w.networks[0].clone()
    v, b = alone.weights(of_f1), alone.activations(3, flat)
    v.exploit(x.t(), b, exploring=False)
    torch.testing.assert_close(b.f1, a.f1)
    targets, weight = (torch.from_numpy(rng.normal(size=(3, 2, k))) for _ in range(2))
    g, both = alone.weights(torch.empty_like(of_f1)), shape.weights(torch.empty_like(flat))
    learned = forms.raw(targets), forms.raw(weight)
    assert v.gradients(x, *learned, b, g, exploring=False)
    w.exploit(x.t(), a, exploring=False)
    assert w.gradients(x, *learned, a, both, exploring=False)
    torch.testing.assert_close(g.networks[0], both.networks[0])
    assert alone.n_parameters == len(of_f1)
    larger = alone._replace(n_classes=k + 1, n_features=d + 2)
    grown = grow(of_f1, alone, larger, (d, d + 2), rng)
    assert torch.equal(larger.weights(grown).context[:, :, :k, :d], v.context)


def test_initial_weights_have_the_paper_s_variance():
    """N(0, 2/m) in hidden layers, the first a third of that, N(0, 1/m) in the output layer; all
    layers have mean 0. f2 is silent.
    """
    shape = Shape(n_classes=3, n_features=40, hidden_dim=200, n_layers=3)
    empty = shape._replace(n_classes=0, n_features=0)
    nothing, used = torch.zeros(empty.n_parameters).double(), (0, shape.n_features)
    w = Weights(grow(nothing, empty, shape, used, np.random.default_rng(0)), shape)
    assert not w.output2.any()
    for part, variance in (
        (w.context, 0.3**2 * 2 / 200),
        (w.gradient, 0.3**2 * 2 / 200),
        (w.hidden1[0], 2 / 200),
        (w.hidden2[0], 2 / 200),
        (w.output1, 1 / 200),
    ):
        n = part.numel()
        assert abs(part.mean()) < 5 * (variance / n) ** 0.5
        assert abs(part.var() / variance - 1) < 5 * (2 / n) ** 0.5


def test_reserved_columns_change_nothing():
    """Room for features not yet in use is 0 in all weights."""
    rng = np.random.default_rng(3)
    tight, roomy = Shape(2, 4, 8, 2), Shape(2, 9, 8, 2)
    empty = Shape(0, 0, 8, 2)
    flat = torch.zeros(empty.n_parameters, dtype=torch.float64)
    grown = grow(flat, empty, roomy, (0, 4), rng)
    w = Weights(grown, roomy)
    assert not w.context[..., 4:].any()
    assert not w.gradient[..., 4:].any()
    same = grow(flat, empty, tight, (0, 4), np.random.default_rng(3))
    x = unit(rng, 3, 4)
    _, a = passed(same, tight, x)
    _, b = passed(grown, roomy, torch.nn.functional.pad(x, (0, 5)))
    torch.testing.assert_close(a.scores, b.scores)
