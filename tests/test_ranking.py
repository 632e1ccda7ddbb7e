"""Ranks: which features get one, from what sample, and what it is."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from streams import blobs

from river_ineural import INeurAL
from river_ineural.learning.ranking import KNOTS, MOST, SAMPLE, SELDOM, Ranking
from river_ineural.network import compiled, eager, standardizing
from river_ineural.network.phases import Encoding


def surveyed(columns):
    """A ranking of features whose values are given, with the q of each."""
    x = np.stack(columns, axis=1).astype(np.float64)
    ranking = Ranking(True, False, np.random.default_rng(0), torch.empty(0, dtype=torch.float64))
    ranking = ranking.widened(x.shape[1], slice(0, x.shape[1]), np.zeros(x.shape[1]))
    ranking.see(x, 0)
    q = np.mean((x - x.mean(axis=0)) ** 4, axis=0) ** 0.25
    ranking.survey(q)
    return ranking, q


def test_features_far_out_or_in_clumps_are_ranked():
    """And those that are not, or that do not vary, are what they were."""
    rng = np.random.default_rng(1)
    normal = rng.normal(size=SAMPLE)
    columns = {
        "uniform": rng.uniform(size=SAMPLE),
        "normal": normal,
        "of two values": (normal > 1).astype(float),
        "constant": np.full(SAMPLE, 7.0),
        "skewed": np.exp(2 * normal),
        "far out": normal**5,
        "mostly 0": np.where(normal > 1, np.exp(normal), 0.0),
        "of two clumps": np.where(normal > -1, 1000, 0) + normal,
    }
    ranking, _ = surveyed(list(columns.values()))
    share, larger = ranking.shares.tolist()
    ranked = {name for name, part in zip(columns, share, strict=True) if part < 1}
    assert ranked == {"skewed", "far out", "mostly 0", "of two clumps"}
    for name, part, more in zip(columns, share, larger, strict=True):
        assert part == (0.5 if name in ranked else 1)
        assert (more == 1) == (name not in ranked)
    assert not ranking.heights[[0, 1, 2, 3]].any()


def test_a_height_is_the_share_below():
    """At the sample's own values, as far as 16 quantiles can tell."""
    values = np.exp(2 * np.random.default_rng(2).normal(size=SAMPLE))
    ranking, q = surveyed([values])
    share = np.array([(np.sum(values < v) + np.sum(values <= v)) / 2 for v in values]) / SAMPLE
    expected = q * (share - 0.5) / np.mean((share - 0.5) ** 4) ** 0.25
    knots, heights = ranking.knots[0].numpy(), ranking.heights[0].numpy()
    found = np.array([standardizing.height.py_func(v, knots, heights) for v in values])
    assert np.abs(found - expected).max() <= (heights[-1] - heights[0]) / KNOTS
    at_knots = [standardizing.height.py_func(v, knots, heights) for v in knots]
    np.testing.assert_allclose(at_knots, heights)


@given(seed=st.integers(0, 2**32), n_distinct=st.integers(1, 20))
def test_both_forms_interpolate_as_numpy_does(seed, n_distinct):
    """Between quantiles of which many may be the same, and beyond them."""
    rng = np.random.default_rng(seed)
    knots = np.sort(rng.choice(rng.normal(size=n_distinct), size=(3, KNOTS)))
    heights = np.stack([np.unique(row, return_inverse=True)[1] for row in knots]).astype(float)
    x = rng.normal(size=(20, 3)) * 2
    x[:3] = knots[:, [0, 7, 15]].T
    expected = np.stack([np.interp(x[:, j], knots[j], heights[j]) for j in range(3)], axis=1)
    scaling = np.stack([np.zeros(3), np.ones(3), np.ones(3)])
    by_loops = np.empty_like(x)
    compiled.standardize(x, Encoding(scaling, knots, heights), False, by_loops)
    np.testing.assert_allclose(by_loops, x + expected, atol=1e-12)
    tensors = [torch.from_numpy(part) for part in (scaling, knots, heights)]
    by_torch = torch.empty(20, 3, dtype=torch.float64)
    eager.standardize(torch.from_numpy(x), Encoding(*tensors), False, by_torch)
    np.testing.assert_allclose(by_torch, x + expected, atol=1e-12)


def test_the_sample_is_uniform():
    """Of 2,000 examples each is in the sample with the same probability."""
    counts = np.zeros(2000)
    for seed in range(200):
        ranking = Ranking(
            True, False, np.random.default_rng(seed), torch.empty(0, dtype=torch.float64)
        )
        ranking = ranking.widened(1, slice(0, 1), np.zeros(1))
        for start in range(0, 2000, 100):
            ranking.see(np.arange(start, start + 100.0)[:, None], start)
        counts[ranking.sample[:, 0].astype(int)] += 1
    parts = counts.reshape(10, 200).sum(axis=1) / (200 * SAMPLE / 10)
    assert parts == pytest.approx(np.ones(10), abs=0.06)


def test_after_a_change_the_sample_follows():
    ranking, _ = surveyed([np.random.default_rng(3).normal(size=SAMPLE)])
    before = ranking.sample.copy()
    faded = ranking.faded()
    assert faded.n_since == SELDOM
    faded.see(np.full((2 * SAMPLE, 1), 99.0), 50)
    assert (faded.sample == 99).mean() > 0.6
    np.testing.assert_array_equal(ranking.sample, before)


def test_a_monotone_change_of_features_matters_little():
    """Their exponentials are learned from well, where they would mislead without ranks."""
    stream = blobs(1500, n_features=6, n_classes=3)
    wrong = []
    alone = {"forest": False}  # to which it does not matter
    bare = {"ranks": False, **alone}
    cases = (alone, float), (alone, lambda v: np.exp(3 * v)), (bare, None)
    for settings, change in cases:
        change = change or (lambda v: np.exp(3 * v))
        model, n_wrong = INeurAL(seed=1, **settings), 0
        for x, y in stream:
            x = {name: float(change(value)) for name, value in x.items()}
            n_wrong += model.predict_one(x) != y
            model.learn_one(x, y)
        wrong.append(n_wrong)
    plain, by_rank, without = wrong
    assert plain <= by_rank < without / 2


def test_many_features_are_not_ranked():
    """From the 257th on none is, nor is any enlarged; no sample is held."""
    rng = np.random.default_rng(4)
    model = INeurAL(hidden_dim=4, seed=1)
    for n_features in (200, MOST + 1):
        for _ in range(40):
            values = np.exp(2 * rng.normal(size=n_features)).tolist()
            model.learn_one({f"f{j}": v for j, v in enumerate(values)}, int(values[0] > 1))
        scaling = model._state.scaling
        ranked = (scaling.ranking.shares[0] < 1).sum().item()
        assert (ranked > 150) == (scaling.scaling[2].sum() > 150) == (n_features == 200)
        assert scaling.ranking.serves == scaling.heeds == (n_features == 200)
        assert (scaling.relevance[1] == 1).all().item() == (n_features > 200)
    assert ranked == 0
    assert scaling.ranking.sample.nbytes == 0
