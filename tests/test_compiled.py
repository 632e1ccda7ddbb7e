"""The compiled loops that have no counterpart in PyTorch, and what they do at the edges."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from test_networks import fresh, passed, shapes

from river_ineural import compiled, eager
from river_ineural.networks import Shape
from river_ineural.normalization import Normalizer
from river_ineural.training import Single, Trainer


def trainer_with(flat, shape):
    """A trainer whose weights are `flat`."""
    trainer = Trainer(
        shape,
        lr=0.1,
        exploration_lr=0.1,
        optimizer="adam",
        init_scale=1.0,
        batch_size=4,
        feature_dropout=0.0,
        iterate="last",
        rng=np.random.default_rng(0),
        like=flat,
    )
    trainer.flat = flat
    trainer._allocate()
    return trainer


def normalizer_of(x, center=True, normalize=True):
    """Statistics of the rows of x, whose first column is the constant's."""
    normalizer = Normalizer(center, normalize, torch.empty(0, dtype=torch.float64))
    normalizer.widen(x.shape[1])
    normalizer.update(x)
    return normalizer


def raw_rows(rng, n, d):
    """Raw vectors: the first column is left to the constant."""
    x = rng.normal(2.0, 1.0, size=(n, d))
    x[:, 0] = 0
    return x


@given(shape=shapes, seed=st.integers(0, 2**32), width=st.sampled_from([1, 3, 1024]))
def test_one_example_scores_as_by_matrix_products(shape, seed, width):
    """`score_one` is `exploit` and `explore`, whatever the width of its tiles."""
    rng = np.random.default_rng(seed)
    flat, x = fresh(shape, rng), raw_rows(rng, 5, shape.n_features)
    normalizer, trainer = normalizer_of(x), trainer_with(flat, shape)
    _, a = passed(flat, shape, normalizer(torch.tensor(x[:1])))
    trainer.single = Single(shape, x.dtype, width)
    f1, scores = trainer.scores(x[:1], normalizer)
    np.testing.assert_allclose(f1, a.f1_by_class, atol=1e-12)
    np.testing.assert_allclose(scores, a.scores_by_class, atol=1e-12)
    np.testing.assert_array_equal(trainer.exploitation(x[:1], normalizer), f1)


def test_a_dead_network_scores_zero():
    """Where no unit is active the gradient is 0, and nothing divides by it."""
    shape = Shape(n_classes=2, n_features=3, hidden_dim=8, n_layers=2)
    x = raw_rows(np.random.default_rng(0), 1, 3)
    trainer = trainer_with(torch.zeros(shape.n_parameters, dtype=torch.float64), shape)
    _, scores = trainer.scores(x, normalizer_of(x))
    np.testing.assert_array_equal(scores, 0)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_running_statistics_are_those_of_all_rows(center, normalize):
    """Mean, mean square of the distance from it, and what is subtracted."""
    x = raw_rows(np.random.default_rng(1), 50, 4)
    normalizer = Normalizer(center, normalize, torch.empty(0, dtype=torch.float64))
    normalizer.widen(4)
    for part in np.split(x, [1, 2, 20]):
        normalizer.update(part)
    mean = x.mean(0) if center else np.zeros(4)
    square = ((x - mean) ** 2).sum(1).mean()
    np.testing.assert_allclose(normalizer.mean, mean, atol=1e-12)
    np.testing.assert_allclose(normalizer.mean_square, square)
    shift = mean.copy()
    if normalize:
        shift[0] = -np.sqrt(square)
    np.testing.assert_allclose(normalizer.shift, shift, atol=1e-12)


@given(seed=st.integers(0, 2**32), n=st.integers(1, 70))
def test_adam_is_pytorch_s(seed, n):
    """Ten updates; `torch.optim.Adam` is the reference."""
    rng = np.random.default_rng(seed)
    start = rng.normal(size=n)
    p, mean, square, count = start.copy(), np.zeros(n), np.zeros(n), np.zeros(1)
    expected = torch.tensor(start)
    reference = torch.optim.Adam([expected], lr=0.1, betas=(compiled.BETA1, compiled.BETA2))
    for _ in range(10):
        g = rng.normal(size=n) * (rng.random(n) < 0.7)
        compiled.adam(p, g, mean, square, count, 0.1)
        expected.grad = torch.tensor(g)
        reference.step()
    np.testing.assert_allclose(p, expected, rtol=1e-9, atol=1e-12)
    assert count == 10


def test_adam_forgets_what_is_too_small_to_matter():
    """A gradient that has been 0 for long leaves averages of 0, not subnormal numbers."""
    p, g, mean, square = np.zeros((4, 3), np.float32)
    count = np.zeros(1, np.float32)
    g[0] = mean[0] = mean[1] = 1
    square[:] = (1, 1e30, 1e-35)
    for _ in range(2_000):
        compiled.adam(p, g, mean, square, count, 0.0)
    assert mean[0] == pytest.approx(1)
    assert mean[1] == mean[2] == 0
    assert square[2] == 0
    assert 0 < square[1] < 1e30


@pytest.mark.parametrize("normalize", [True, False])
def test_gather_takes_rows_as_pytorch_does(normalize):
    """Rows of the history, normalised, their weights scaled."""
    rng = np.random.default_rng(2)
    stored = [rng.normal(size=size) for size in ((9, 4), (9, 2, 3), (9,))]
    rows, shift = np.array([8, 0, 3, 3]), rng.normal(size=4)
    keep = np.ones((4, 4))
    keep[0, 1] = keep[1, 2] = 0
    found = []
    for module, convert in ((compiled, np.array), (eager, torch.tensor)):
        out = [convert(np.full(size, np.nan)) for size in ((4, 4), (4, 2, 3), (4,))]
        dropped = np.array([1, 6, 6]) if module is compiled else keep
        module.gather(
            *(convert(rows), *map(convert, stored), convert(shift), normalize, 0.25),
            *(convert(dropped), *out),
        )
        found.append(out)
    for mine, reference in zip(*found, strict=True):
        np.testing.assert_allclose(mine, reference)
    np.testing.assert_allclose(found[0][2], stored[2][rows] / 4)
