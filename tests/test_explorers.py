"""Explorers: how much they are trusted, and what adding one takes."""

import numpy as np
import pytest
from streams import blobs, dump, f1_of, small

from river_ineural import INeurAL, NeurONAL
from river_ineural.active import INeurALSampler
from river_ineural.explorers.trust import EXPLORERS

BOTH = pytest.mark.parametrize("kind", [INeurAL, NeurONAL])


class Toy:
    """An explorer that says a half of f1."""

    TRUST, PRIOR = 0.25, 1.0

    def __init__(self):
        self.n_learned = 0

    def estimate(self, x, f1):
        return 0.5 * f1

    def learn(self, history, scaling, n, pseudo_label):
        self.n_learned += n

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
    np.testing.assert_allclose(added["toy"], model.trust["toy"] * 0.5 * f1, atol=1e-6)
    assert model.n_drifts == 1
    snapshot = dump(model).snapshot.explorers.by_name["toy"]
    assert dump(model).explorers.by_name["toy"] is not snapshot
    assert snapshot.n_learned == i + 1


@BOTH
def test_what_explorers_added_to_the_gap_is_told_with_the_decision(kind):
    sampler = INeurALSampler(small(kind), budget=0.5, horizon=60, seed=1)
    for x, y in blobs(60, n_features=4, n_classes=3, seed=1):
        labels = sampler.classifier.known_labels
        if len(labels) > 1:
            scores, _ = sampler.classifier.explained_one(x)
            ranked = np.argsort(-np.array([*scores.values()]))
            f1 = f1_of(sampler.classifier, x)
        label, ask = sampler.predict_one(x)
        decision = sampler.last_decision
        if len(labels) > 1:
            top, second = ranked[:2]
            assert label == labels[top]
            own = f1[top] - f1[second]
            assert own + sum(decision.added.values()) == pytest.approx(decision.gap, abs=1e-5)
        if ask:
            sampler.learn_one(x, y)
    assert decision.added.keys() == sampler.classifier.trust.keys()
    assert (*decision.added,) == sampler.classifier.explorers
