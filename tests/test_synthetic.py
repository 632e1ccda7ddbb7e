"""Streams of known class probabilities."""

from itertools import pairwise

import numpy as np
import pytest

from river_ineural.datasets import KnownPosterior


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("margin", [None, 0.3, 1.0])
def test_labels_follow_the_posterior(n_classes, margin):
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
    leads = np.diff(np.sort(posteriors)[:, -2:])
    if margin:  # which is hard: the best class leads by it everywhere
        np.testing.assert_allclose(leads, margin)
    else:
        assert leads.min() < 0.05


def test_every_iteration_is_the_same_and_seeds_differ():
    one, again, other = (list(KnownPosterior(300, seed=seed)) for seed in (1, 1, 2))
    stream = KnownPosterior(300, seed=1)
    assert one == again == list(stream) == list(stream)
    assert one != other
    assert all(np.linalg.norm(list(x.values())) == pytest.approx(1) for x, _ in one)


@pytest.mark.parametrize("settings", [{}, {"margin": 0.6, "n_classes": 3}], ids=str)
def test_fresh_points_are_of_the_same_distribution(settings):
    """The same teacher and the same gap, other points; the stream is as it was."""
    stream = KnownPosterior(6_000, seed=1, **settings)
    before = [x for x, _ in stream]
    x, posteriors = stream.draw(6_000, np.random.default_rng(5))
    assert (x.shape, posteriors.shape) == ((6_000, 10), (6_000, stream.n_classes))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1)
    own = np.array([list(row.values()) for row in before])
    np.testing.assert_allclose(stream.posteriors(x), posteriors)
    np.testing.assert_allclose(x.mean(0), own.mean(0), atol=0.025)
    classes = (each.argmax(1) for each in (posteriors, stream.posteriors(own)))
    shares = [np.bincount(each, minlength=stream.n_classes) / 6_000 for each in classes]
    np.testing.assert_allclose(*shares, atol=0.035)
    if "margin" in settings:
        runner_up, top = np.sort(stream._scores(x), axis=1)[:, -2:].T
        assert (top - runner_up).min() >= stream.gap
    assert not {tuple(row) for row in x.tolist()} & {tuple(row) for row in own.tolist()}
    assert [x for x, _ in stream] == before
