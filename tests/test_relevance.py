"""Relevance: which features f1 relies on, and by how much they are enlarged."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given

from river_ineural import INeurAL
from river_ineural.network import compiled, eager
from river_ineural.network.constants import FIRST_STEPS, HEEDED


@given(seed=st.integers(0, 2**32), n_steps=st.integers(0, 200), n_blank=st.integers(0, 4))
def test_heed_is_a_running_mean_of_squares(seed, n_steps, n_blank):
    """By hand, compiled and by PyTorch; a direction of 0 says nothing, nor does the constant."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=(4, 6))
    direction[:n_blank] = 0
    means, factors = rng.uniform(0, 1, 6), rng.uniform(0.25, 4, 6)
    expected, counted = means.copy(), n_steps
    if n_blank < 4:
        counted += 1
        parts = direction[n_blank:, 1:] ** 2
        square = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0) * factors[1:] ** 2
        expected[1:] += max(HEEDED, 1 / counted) * (square - expected[1:])
    for module, convert in ((compiled, np.array), (eager, torch.tensor)):
        relevance = convert(np.stack([means, factors]))
        steps = convert(np.array([float(n_steps)]))
        module.heed(convert(direction), 1, relevance, steps)
        np.testing.assert_allclose(relevance[0], expected, atol=1e-12)
        np.testing.assert_allclose(relevance[1], factors)
        assert float(steps[0]) == counted


@pytest.mark.parametrize("n_steps", [FIRST_STEPS - 1, FIRST_STEPS])
def test_features_are_enlarged_by_the_fourth_root(n_steps):
    """Of what they are to the typical one, within a quarter and four; after 50 steps."""
    means = np.array([0.0, 1e-9, 16.0, 1.0, 3000.0, 0.0])
    typical = means.sum() / 4
    enlarged = np.clip((means / typical) ** 0.25, 1 / 4, 4)
    enlarged[[0, 5]] = 1  # the constant, and room for a feature
    expected = enlarged if n_steps >= FIRST_STEPS else np.ones(6)
    moments = np.stack([np.arange(6.0), np.full(6, 20.0), np.zeros(6), np.full(6, 160.0)])
    for module, convert in ((compiled, np.array), (eager, torch.tensor)):
        relevance = convert(np.stack([means, np.full(6, 7.0)]))
        scaling = convert(np.zeros((3, 6)))
        module.weigh(
            *(10, True, True, True, convert(np.zeros(6)), convert(moments)),
            *(convert(np.ones((2, 6))), relevance, convert(np.array([float(n_steps)])), scaling),
        )
        np.testing.assert_allclose(relevance[1], expected)
        np.testing.assert_allclose(scaling[1], expected / 2)  # q is the fourth root of 16
        np.testing.assert_allclose(scaling[0][1:], moments[0][1:])
        spread = (moments[1] * (expected / 2) ** 2).sum() / 10
        assert float(scaling[0][0]) == pytest.approx(-np.sqrt(spread))


@pytest.mark.parametrize("radius", [0.15, 0.0])
def test_features_that_say_nothing_shrink(radius):
    """With adversarial training and without."""
    rng = np.random.default_rng(0)
    alone = {"adversarial_radius": radius, "forest": False, "seed": 1}
    model, plain = INeurAL(**alone), INeurAL(relevance=False, **alone)
    wrong = [0, 0]
    for _ in range(400):
        values = rng.normal(size=20)
        x, y = {f"f{j:02}": v for j, v in enumerate(values.tolist())}, bool(values[3] > 0)
        for i, each in enumerate((model, plain)):
            wrong[i] += each.predict_one(x) != y
            each.learn_one(x, y)
    scaling = model._state.scaling
    factors = scaling.relevance[1, 1:21].tolist()
    assert max(range(20), key=factors.__getitem__) == 3
    assert factors[3] > 1.5 * np.mean(factors[:3] + factors[4:])
    assert wrong[0] < wrong[1]
    assert (plain._state.scaling.relevance[1] == 1).all()


def test_a_new_feature_is_as_relevant_as_any():
    rng = np.random.default_rng(0)
    model = INeurAL(seed=1)
    for t in range(120):
        values = rng.normal(size=4)
        x = {f"f{j}": v for j, v in enumerate(values.tolist())}
        if t < 119:
            model.learn_one(x, bool(values[0] > 0))
    before = model._state.scaling
    state = model._state.grown([*x, "new"], np.array([[*x.values(), 1.0]]), [])
    column = state.features.columns["new"]
    found = state.scaling.relevance[:, column].tolist()
    n = 1 + len(model._state.features)  # the constant, features and their pieces
    assert found == pytest.approx([before.relevance[0, 1:n].mean().item(), 1.0])
    assert torch.equal(state.scaling.relevance[:, :n], before.relevance[:, :n])
