"""NeurONAL's networks: an output a class, and the end-to-end embedding in fewer axes."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from reference_outputs import axes, embedding, network
from streams import shifting
from test_networks import BOTH, fresh, grow, phases, unit

from river_ineural import INeurAL, NeurONAL, active, persistence
from river_ineural.network import outputs
from river_ineural.network import phases as forms

shapes = st.builds(
    outputs.OutputShape,
    n_classes=st.integers(1, 5),
    n_features=st.integers(1, 6),
    hidden_dim=st.integers(1, 9),
    n_layers=st.integers(2, 4),
    explores=st.just(True),
)


def passed(flat, shape, x):
    """Weights and activations after a pass over x."""
    w, a = shape.weights(flat), shape.activations(len(x), flat)
    w.exploit(x.t(), a)
    w.explore(a)
    return w, a


@BOTH
@given(shape=shapes, n_examples=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_steps_of_gradient_descent_are_those_on_the_paper_s_embedding(
    module, shape, n_examples, seed
):
    """With the weights of R^(m + Km) written out, f2 and its gradient are the same; what moves
    there lies in the axes that are kept.
    """
    k, _, m, depth = shape[:4]
    rng = np.random.default_rng(seed)
    flat, x = fresh(shape, rng), unit(rng, n_examples, shape.n_features)
    targets = torch.from_numpy(rng.normal(size=(n_examples, 2, k)))
    weight = torch.from_numpy(rng.uniform(size=(n_examples, 2, k)))
    with phases(module):
        w, a = passed(flat, shape, x)
        f1, scores = a.f1_by_class.clone(), a.scores_by_class.clone()
        g = shape.weights(torch.full_like(flat, torch.nan))  # every number of it must be written
        assert w.gradients(x, forms.raw(targets), forms.raw(weight), a, g)
    kept = axes(k, m, depth)
    torch.testing.assert_close(kept @ kept.t(), torch.eye(len(kept)).double())
    theta1 = [w.f1.first, *w.f1.hidden, w.f1.output]
    theta2 = [w.f2.first @ kept, *w.f2.hidden, w.f2.output]
    phi = embedding(x, theta1)
    for kind, (theta, rows, found) in enumerate(
        ((theta1, x, g.f1), (theta2, phi, g.f2)),
    ):
        theta = [matrix.clone().requires_grad_() for matrix in theta]
        made = network(rows, theta)
        torch.testing.assert_close((f1, scores - f1)[kind], made.detach())
        loss = (weight[:, kind] * (targets[:, kind] - made) ** 2 / 2).sum()
        first, *others = torch.autograd.grad(loss, theta)
        torch.testing.assert_close(first, found.first @ kept if kind else found.first)
        for expected, actual in zip(others, (*found.hidden, found.output), strict=True):
            torch.testing.assert_close(actual, expected)


@given(shapes, st.integers(1, 3), st.integers(0, 4), st.integers(0, 2**32))
def test_a_late_class_or_feature_leaves_f1_of_known_classes(shape, n_new, n_new_features, seed):
    """Known weights are kept bit by bit; new rows and columns are drawn."""
    k, d, *_ = shape
    rng = np.random.default_rng(seed)
    flat, x = fresh(shape, rng), unit(rng, 2, d)
    w, a = passed(flat, shape, x)
    larger = shape._replace(n_classes=k + n_new, n_features=d + n_new_features)
    grown = grow(flat, shape, larger, (d, d + n_new_features), rng)
    new, b = passed(grown, larger, torch.nn.functional.pad(x, (0, n_new_features)))
    for layer, known in zip(new.by_class, w.by_class, strict=True):
        assert torch.equal(layer[:k], known)
    assert new.f1.output[k:].all()
    assert not new.f2.output[k:].any()
    assert torch.equal(new.f1.first[:, :d], w.f1.first)
    assert new.f1.first[:, d:].all()
    assert all(torch.equal(*layers) for layers in zip(new.deep, w.deep, strict=True))
    torch.testing.assert_close(b.f1_by_class[:, :k], a.f1_by_class, rtol=0, atol=1e-12)


def test_an_example_that_no_unit_answers_scores_zero():
    """Nothing divides by the norm of an embedding that is 0, compiled or not."""
    for n_examples in (1, 5):
        shape = outputs.OutputShape(n_classes=3, n_features=4, hidden_dim=8, n_layers=2)
        flat = torch.zeros(shape.n_parameters)
        _, a = passed(flat, shape, torch.ones(n_examples, 4) / 2)
        assert not a.scores.any()


def test_parameters_are_those_of_ineural_with_other_defaults():
    """So that nothing that one can do is missing in the other."""
    ours, theirs = (kind(seed=1)._get_params() for kind in (NeurONAL, INeurAL))
    assert list(ours) == list(theirs)
    assert {name for name in ours if ours[name] != theirs[name]} == {
        "hidden_dim",
        "lr",
        "batch_size",
    }


@pytest.mark.parametrize("n_layers", [2, 3])
def test_a_saved_model_goes_on_to_the_bit(n_layers):
    """With its width, and a first layer that has room for a feature that is to come."""
    model = active.INeurALSampler(
        NeurONAL(hidden_dim=8, n_layers=n_layers, seed=1),
        width=active.NeurONALWidth(horizon=120),
        budget=60,
        seed=1,
    )
    stream = shifting(120, 7, 3)
    for x, y in stream[:60]:
        if model.predict_one(x)[1]:
            model.learn_one(x, y)
    loaded = persistence.from_bytes(persistence.to_bytes(model))
    for x, y in stream[60:]:
        assert loaded.predict_proba_one(x) == model.predict_proba_one(x)
        loaded.learn_one(x, y)
        model.learn_one(x, y)
