"""How well it learns from few labels, at the defaults, on streams where that is known."""

import numpy as np
import pytest
from river import datasets, evaluate, metrics
from streams import blobs, rounds

from river_ineural import INeurAL, active

SEEDS = range(3)
pytestmark = pytest.mark.slow


def sampler(seed, **settings):
    return active.INeurALSampler(INeurAL(seed=seed), seed=seed, **settings)


def test_phishing_at_ten_percent_of_the_labels():
    """Explorers count: f1 alone is right in 90.6 % of the rounds."""
    accuracies = []
    for seed in SEEDS:
        model = sampler(seed, budget=0.1, horizon=1250)
        score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
        assert model.n_rounds == 1250
        assert model.n_queries <= 125
        accuracies.append(score.get())
    assert np.mean(accuracies) >= 0.91, accuracies


@pytest.mark.filterwarnings("ignore:Only one class was seen")
@pytest.mark.parametrize("seed", SEEDS)
def test_imbalanced_stream_never_locks_out(seed):
    """5 % positives, none among the first 200: most of the second half are found, and no wolf."""
    stream = blobs(2000, n_features=10, n_classes=2, seed=seed, noise=0.5, priors=[0.95, 0.05])
    stream = [(x, y) for t, (x, y) in enumerate(stream) if t >= 200 or y == 0]
    model = sampler(seed, budget=0.1, horizon=len(stream))
    predicted = np.array([label for label, _ in rounds(model, stream)][1000:])
    truth = np.array([y for _, y in stream[1000:]])
    assert truth.sum() > 20
    assert np.mean(predicted[truth == 1] == 1) > 0.8
    assert np.mean(predicted[truth == 0] == 0) > 0.95
    assert model.n_queries <= 200


@pytest.mark.parametrize("seed", SEEDS)
def test_a_class_that_arrives_late_is_found(seed):
    """500 rounds of two classes, then a third as often as they: random asks find it."""
    stream = blobs(3000, n_features=10, n_classes=3, seed=seed, noise=0.3)
    stream = [(x, y) for t, (x, y) in enumerate(stream) if t >= 500 or y < 2]
    model = sampler(seed, budget=0.2, horizon=len(stream))
    predicted = [label for label, _ in rounds(model, stream)][-500:]
    late = [p for p, (_, y) in zip(predicted, stream[-500:], strict=True) if y == 2]
    assert len(late) > 100
    assert np.mean([p == 2 for p in late]) > 0.9


def test_asks_the_uncertain_rounds():
    asked, sure = [], []
    for seed in SEEDS:
        stream = blobs(1000, n_features=4, n_classes=3, seed=seed, noise=0.6)
        model = sampler(seed)
        decisions = zip(rounds(model, stream), stream, strict=True)
        for (label, ask), (_, y) in list(decisions)[200:]:
            (asked if ask else sure).append(label == y)
    assert min(len(asked), len(sure)) > 60
    assert np.mean(asked) < np.mean(sure) - 0.1
