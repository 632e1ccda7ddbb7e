"""Streams of known class probabilities."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from river_ineural.datasets import KnownPosterior


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("margin", [None, 0.3, 1.0])
def test_labels_follow_the_posterior(n_classes, margin):
    """Labels are as frequent as their probabilities add up to, over all and where they are high."""
    stream = KnownPosterior(6_000, n_classes=n_classes, margin=margin, seed=3)
    examples = list(stream)
    assert len(examples) == 6_000
    posteriors = np.array([list(stream.posterior(x).values()) for x, _ in examples])
    labels = np.eye(n_classes)[[y for _, y in examples]]
    np.testing.assert_allclose(posteriors.sum(1), 1)
    np.testing.assert_allclose(labels.mean(0), posteriors.mean(0), atol=0.03)
    for low, high in pairwise([0, 0.2, 0.4, 0.6, 0.8, 1.01]):
        within = (posteriors >= low) & (posteriors < high)
        if within.sum() > 500:
            assert labels[within].mean() == pytest.approx(posteriors[within].mean(), abs=0.05)
    assert 0.25 / n_classes < posteriors.mean(0).min()  # no class is rare


def test_a_hard_margin_holds_everywhere():
    """The assumption ε-margin: the best class leads by ε; without one some points are undecided."""
    for margin in (0.4, 1.0):
        stream = KnownPosterior(500, n_classes=3, margin=margin, seed=1)
        for x, _ in stream:
            second, best = sorted(stream.posterior(x).values())[-2:]
            assert best - second == pytest.approx(margin)
    stream = KnownPosterior(500, n_classes=3, seed=1)
    leads = [np.diff(sorted(stream.posterior(x).values())[-2:]) for x, _ in stream]
    assert min(leads) < 0.05


def test_every_iteration_is_the_same_and_seeds_differ():
    one, again, other = (list(KnownPosterior(300, seed=seed)) for seed in (1, 1, 2))
    stream = KnownPosterior(300, seed=1)
    assert one == again == list(stream) == list(stream)
    assert one != other
    assert all(np.linalg.norm(list(x.values())) == pytest.approx(1) for x, _ in one)


@pytest.mark.parametrize(
    "settings",
    [{"n_classes": 1}, {"n_features": 1}, {"margin": 0.0}, {"gap": -1.0}, {"n_samples": 0}],
    ids=str,
)
def test_a_bad_parameter_is_named(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        KnownPosterior(**settings)
