"""Explorers: how much they are trusted, and what adding one takes."""

import numpy as np
import pytest
from river import anomaly, drift, evaluate, imblearn, metrics, preprocessing
from river.preprocessing import StandardScaler
from streams import blobs, dump, f1_of

from river_ineural import INeurAL, active
from river_ineural.explorers.last_label import LastLabel
from river_ineural.explorers.trust import EXPLORERS


class Toy:
    """An explorer that says a half of f1."""

    TRUST, PRIOR = 0.25, 1.0

    def __init__(self):
        self.n_learned = 0

    def estimate(self, x, f1):
        return 0.5 * f1

    def learn(self, history, scaling, n):
        self.n_learned += n

    def count_pseudo_label(self):
        pass

    def renewed(self):
        return type(self)()


def test_a_fourth_explorer_needs_no_more_than_the_protocol(monkeypatch):
    monkeypatch.setitem(EXPLORERS, "toy", lambda rng: Toy())
    names = "network", "forest", "last_label", "toy"
    model = INeurAL(hidden_dim=8, explorers=names, seed=1)
    assert model.trust["toy"] == 0.25
    stream = blobs(120, noise=0.3)
    for i, (x, y) in enumerate(stream):
        model.learn_one(x, y if i < 70 else 1 - y)
        if model.n_drifts:
            break
    assert (*model.trust,) == names
    assert 0 <= model.trust["toy"] <= 1 != model.trust["toy"] / 0.25
    _, added = model.explained_one(x)
    f1 = f1_of(model, x)
    assert (*added,) == names
    assert "another" not in added
    np.testing.assert_allclose(added["toy"], model.trust["toy"] * 0.5 * f1, atol=1e-6)
    assert model.n_drifts == 1
    snapshot = dump(model).snapshot.explorers.by_name["toy"]
    assert dump(model).explorers.by_name["toy"] is not snapshot
    assert snapshot.n_learned == i + 1


def lasting(seed, n=3_000):
    """Rows whose class lasts for some thirty of them, which x tells at three of four."""
    rng = np.random.default_rng(seed)
    for y in (np.cumsum(rng.random(n) < 0.03) % 2).tolist():
        x = rng.normal([1.0 if y else -1.0, 0.0], [1.2, 1.0])
        yield dict(zip("ab", x.tolist(), strict=True)), y


def of_lasting(explorers=("network", "forest", "last_label"), around=lambda model: model, **late):
    """Right predictions on such rows, with a fifth of the labels, which may come late."""
    model = INeurAL(explorers=explorers, drift_detector=None, seed=1)
    sampler = active.INeurALSampler(around(model), budget=0.2, seed=1)
    evaluate.progressive_val_score(lasting(1), sampler, right := metrics.Accuracy(), **late)
    return right.get()


@pytest.mark.parametrize("around", [lambda model: model, lambda model: StandardScaler() | model])
def test_the_last_label_says_nothing_where_classes_end_before_labels_come(around):
    """It had been taken for what is true now; it still counts where labels are a little late."""
    without = of_lasting(("network", "forest"), around, delay=100)
    assert of_lasting(around=around, delay=3) > without + 0.1
    assert of_lasting(around=around, delay=100) > without - 0.02


def test_a_label_is_late_for_itself_alone():
    """So that a copy, a file and a model that is put away need not know of it."""
    model, last = INeurAL(seed=1), LastLabel()
    for t in range(90):
        last.late = 40
        last.update(t // 30)
        assert not last.dependent
        model.learn_one({"a": t % 7}, t // 30, late=40)
        assert dump(model).explorers.last_label.late == 0
    last.late = 0
    last.update(2)
    assert last.dependent


@pytest.mark.parametrize("late", [-1, 1.5, True])
def test_examples_before_a_late_label_are_counted(late):
    model = INeurAL(seed=1)
    with pytest.raises((TypeError, ValueError), match="late must be"):
        model.learn_one({"a": 1.0}, 0, late=late)
    assert not model.n_labels


WRAPPED = {
    "filter": lambda model: (
        preprocessing.MinMaxScaler()
        | anomaly.QuantileFilter(anomaly.HalfSpaceTrees(n_trees=2, seed=1), q=0.95)
        | model
    ),
    "sampler": lambda model: imblearn.RandomUnderSampler(model, {0: 0.5, 1: 0.5}, seed=1),
    "retraining": lambda model: drift.DriftRetrainingClassifier(model),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_late_labels_are_learned_in_wrappers(name):
    """A filter hands on no lateness, which its detector would refuse; others do."""
    right = of_lasting(around=WRAPPED[name], delay=100)
    assert right > 0.5 if name == "filter" else right > of_lasting(("network", "forest")) - 0.1


def test_a_recovery_knows_that_labels_are_late():
    """Trained anew, the explorer had learned all labels as if they were in time."""
    rng, model = np.random.default_rng(1), INeurAL(seed=1)
    for t, y in enumerate((np.cumsum(rng.random(600) < 0.06) % 2).tolist()):
        sign = (1 if t < 400 else -1) * (2.0 if y else -2.0)
        model.learn_one({"a": rng.normal(sign), "b": rng.normal()}, y, late=100)
        assert t < 60 or not model.temporal_dependence
    assert model.n_drifts


@pytest.mark.parametrize("late", [-1, None, ""])
def test_a_bad_lateness_is_refused_before_steps_learn(late):
    scaler = StandardScaler()
    model = active.INeurALSampler(scaler | INeurAL(seed=1), seed=1)
    with pytest.raises((TypeError, ValueError), match="late must be"):
        model.learn_one({"a": 1.0}, 0, asked=False, late=late)
    assert not scaler.counts
