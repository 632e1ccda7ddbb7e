"""How well it learns from few labels, at the defaults, on streams where that is known."""

from __future__ import annotations

import numpy as np
import pytest
from river import datasets, evaluate, metrics
from streams import blobs

from river_ineural import INeurAL, active

SEEDS = range(3)


def sampler(seed, **settings):
    return active.INeurALSampler(INeurAL(seed=seed), seed=seed, **settings)


def run(model, stream):
    """Labels predicted, round by round; those asked for are learned."""
    predictions = []
    for x, y in stream:
        label, ask = model.predict_one(x)
        predictions.append(label)
        if ask:
            model.learn_one(x, y)
    return predictions


def test_phishing_at_ten_percent_of_the_labels():
    """River's Phishing: 90 % progressive accuracy on average over seeds, at most 125 labels."""
    accuracies = []
    for seed in SEEDS:
        model = sampler(seed, budget=0.1, horizon=1250)
        score = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
        assert model.n_rounds == 1250
        assert model.n_queries <= 125
        accuracies.append(score.get())
    assert np.mean(accuracies) >= 0.90, accuracies


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_separable_stream_needs_few_labels(n_classes, seed):
    """Blobs far apart, 15 labels a class: over 95 % from the 200th round on."""
    stream = blobs(1000, n_features=10, n_classes=n_classes, seed=seed, noise=0.3)
    model = sampler(seed, budget=15 * n_classes)
    predicted = run(model, stream)[200:]
    correct = np.mean([p == y for p, (_, y) in zip(predicted, stream[200:], strict=True)])
    assert correct > 0.95
    assert model.n_queries <= 15 * n_classes


@pytest.mark.filterwarnings("ignore:Only one class was seen")
@pytest.mark.parametrize("seed", SEEDS)
def test_imbalanced_stream_never_locks_out(seed):
    """5 % positives, none of them among the first 200 examples: the learner must not become sure of
    the majority and never ask again. It finds most positives of the second half, and does not cry
    wolf.
    """
    stream = blobs(2000, n_features=10, n_classes=2, seed=seed, noise=0.5, priors=[0.95, 0.05])
    stream = [(x, y) for t, (x, y) in enumerate(stream) if t >= 200 or y == 0]
    model = sampler(seed, budget=0.1, horizon=len(stream))
    predicted = np.array(run(model, stream)[1000:])
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
    predicted = run(model, stream)[-500:]
    late = [p for p, (_, y) in zip(predicted, stream[-500:], strict=True) if y == 2]
    assert len(late) > 100
    assert np.mean([p == 2 for p in late]) > 0.9


def test_more_labels_help():
    """On a noisy stream all labels beat a twentieth of them, averaged over seeds."""
    accuracy = {}
    for share in (0.02, 1.0):
        correct = []
        for seed in range(3):
            stream = blobs(600, n_features=10, n_classes=4, seed=seed, noise=1.0)
            predicted = run(sampler(seed, budget=share, horizon=600, gamma=100.0), stream)
            correct += [p == y for p, (_, y) in zip(predicted, stream, strict=True)]
        accuracy[share] = np.mean(correct)
    assert accuracy[1.0] > accuracy[0.02] + 0.03


def test_asks_the_uncertain_rounds():
    """Over all seeds, rounds that are asked for are wrong more often than those that are not: the
    gap means something.
    """
    asked, sure = [], []
    for seed in SEEDS:
        stream = blobs(1000, n_features=4, n_classes=3, seed=seed, noise=0.6)
        model = sampler(seed)
        for t, (x, y) in enumerate(stream):
            label, ask = model.predict_one(x)
            if t >= 200:
                (asked if ask else sure).append(label == y)
            if ask:
                model.learn_one(x, y)
    assert min(len(asked), len(sure)) > 60
    assert np.mean(asked) < np.mean(sure) - 0.1
