"""ALPS: losses, version space and requesters by hand."""

import copy

import numpy as np
import pytest
from streams import blobs

from river_ineural.baselines import ALPS
from river_ineural.network.scores import gap

STREAM = blobs(200, n_features=3, n_classes=2, seed=2, noise=0.6)
SMALL = {"n_hypotheses": 4, "n_pretraining": 20, "hidden_dim": 6, "n_epochs": 5, "seed": 1}


def ready(**settings):
    model = ALPS(**{**SMALL, **settings})
    model.pretrain(STREAM[:20])
    return model


def test_the_first_labels_train_hypotheses_that_stay():
    model = ALPS(**SMALL)
    for i, (x, y) in enumerate(STREAM[:20]):
        assert model.predict_one(x)[1]
        assert not model.classifier.ready
        if i:
            proba, _ = copy.deepcopy(model).predict_proba_one(x)
            assert sum(proba.values()) == pytest.approx(1)
        model.learn_one(x, y)
    assert model.classifier.ready
    assert not any(h._stored for h in model.classifier.hypotheses)
    assert model.n_queries == 20
    before = [model.classifier.probabilities(x).copy() for x, _ in STREAM[60:80]]
    for x, y in STREAM[20:60]:
        model.predict_one(x)
        model.learn_one(x, y)
    after = [model.classifier.probabilities(x) for x, _ in STREAM[60:80]]
    np.testing.assert_array_equal(after, before)
    assert all(len(set(of_each)) == 4 for of_each in np.array(after)[:, :, 0])


def test_labels_of_one_class_are_not_enough():
    """Another class must be among the last so many labels; asking goes on until it is."""
    model = ALPS(**SMALL)
    for x, _ in STREAM[:30]:
        assert model.predict_one(x) == ("a" if model.n_rounds > 1 else None, True)
        model.learn_one(x, "a")
        assert not model.classifier.ready
    model.learn_one(STREAM[30][0], "b")
    assert model.classifier.ready
    assert set(model.predict_proba_one(STREAM[31][0])[0]) == {"a", "b"}


def test_a_class_that_no_hypothesis_knows_costs_all_of_them_the_most():
    """-log 0.001 each: no probability counts as less."""
    model = ready()
    before = model.classifier.losses.copy()
    model.learn_one(STREAM[30][0], "unknown")
    np.testing.assert_allclose(model.classifier.losses - before, -np.log(0.001))
    assert set(model.predict_proba_one(STREAM[31][0])[0]) == {0, 1}


def test_losses_and_consistency_by_hand():
    model = ready(slack=0.3)
    space, losses = model.classifier, np.zeros(4)
    for n, (x, y) in enumerate(STREAM[20:60], start=1):
        probabilities = [h.predict_proba_one(x) for h in space.hypotheses]
        space.learn_one(x, y)
        losses -= [np.log(max(p[y], 1e-3)) for p in probabilities]
        np.testing.assert_allclose(space.losses, losses, rtol=1e-6)  # all hypotheses at once
        assert space.predict_proba_one(x) == pytest.approx(probabilities[losses.argmin()], rel=1e-6)
        labels = {
            max(p, key=p.__getitem__)
            for p, loss in zip(probabilities, losses, strict=True)
            if loss <= losses.min() + 0.3 * np.sqrt(n)
        }
        assert space.agreed(x) == (labels.pop() if len(labels) == 1 else None)


def test_it_asks_where_hypotheses_differ_and_the_margin_is_small():
    model = ready(slack=5.0)
    kinds = set()
    for x, y in STREAM[20:]:
        space, s = copy.deepcopy(model.classifier), model.requester
        before = space.losses.copy()
        label, ask = model.predict_one(x)
        leader, agreed = space.predict_proba_one(x), space.agreed(x)
        assert label == max(leader, key=leader.__getitem__)
        assert ask == (agreed is None and gap(leader.values()) < s)
        learned = agreed is not None
        assert (model.classifier.losses != before).any() == learned  # the pseudo-label
        kinds.add((ask, learned))
        if ask:
            model.learn_one(x, y)
    assert {(True, False), (False, True)} <= kinds


def test_the_requester_is_the_least_reliable_enough():
    model = ready(requester_slack=0.5)
    assert model.requester == 0.9
    model._at_least[:] = (100, 64, 36, 16, 4)
    model._missed[:] = (6, 4, 2, 0, 0)
    assert model.requester == 0.5  # 2 + 1 ≤ 0.5 · 6; 4 + 1 > 0.5 · 8
    model = ready()
    x, _ = STREAM[30]
    leader = model.classifier.predict_proba_one(x)
    wrong = next(label for label in leader if label != max(leader, key=leader.__getitem__))
    model.learn_one(x, wrong)
    beyond = gap(leader.values()) >= np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    np.testing.assert_array_equal(model._at_least, beyond)
    np.testing.assert_array_equal(model._missed, beyond)


def test_a_margin_of_s_is_not_below_s():
    """It is no reason to ask, and its label tells whether s is reliable."""
    model = ready(requester_slack=0.5)
    model.classifier.predict_proba_one = lambda x: {0: 0.75, 1: 0.25}
    model.classifier.agreed = lambda x: None
    x, _ = STREAM[30]
    model.learn_one(x, 1)
    assert model._at_least.tolist() == model._missed.tolist() == [1, 1, 1, 0, 0]
    for wanted, s in ((False, 0.5), (True, 0.75)):
        model._at_least[:] = [9 * (s <= other) for other in (0.1, 0.25, 0.5, 0.75, 0.9)]
        model._missed[:] = 0
        assert model.requester == s
        assert model.predict_one(x)[1] == wanted


def test_probabilities_follow_a_second_training():
    model = ready()
    x, y = STREAM[30]
    before = model.classifier.predict_proba_one(x)
    model.pretrain([(x, 1 - y) for x, y in STREAM[:20]])
    after = model.classifier.predict_proba_one(x)
    assert after == pytest.approx(model.classifier.hypotheses[0].predict_proba_one(x))
    assert after[y] < before[y]
