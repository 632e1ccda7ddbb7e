"""ALPS: losses, version space and requesters by hand."""

import copy

import numpy as np
import pytest
from streams import blobs

from river_ineural.active.query import gap
from river_ineural.baselines import ALPS

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


@pytest.mark.parametrize(("slack", "requester_slack"), [(0.3, 1.0), (5.0, 0.5), (5.0, 1.0)])
def test_every_round_is_as_by_hand(slack, requester_slack):
    """It asks where consistent hypotheses differ and the margin is below the least reliable s."""
    model = ready(slack=slack, requester_slack=requester_slack)
    losses, told, kinds, n = np.zeros(4), [], set(), 0
    for x, y in STREAM[20:]:
        said = [each.predict_proba_one(x) for each in model.classifier.hypotheses]
        leader, consistent = losses.argmin(), losses <= losses.min() + slack * np.sqrt(n)
        agreed = {max(p, key=p.get) for p, within in zip(said, consistent, strict=True) if within}
        margin, requester = gap(said[leader].values()), 0.9
        for s in (0.75, 0.5, 0.25, 0.1):
            wrong = [missed for at, missed in told if at >= s]
            requester = s if sum(wrong) + 1 <= requester_slack * np.sqrt(len(wrong)) else requester
        label, ask = model.predict_one(x)
        assert label == max(said[leader], key=said[leader].get)
        assert ask == (len(agreed) > 1 and margin < requester)
        kinds.add((ask, len(agreed)))
        if ask:
            told.append((margin, label != y))
            model.learn_one(x, y)
        if ask or len(agreed) == 1:  # which is a pseudo-label
            learned, n = y if ask else agreed.pop(), n + 1
            losses -= [np.log(max(p[learned], 1e-3)) for p in said]
        np.testing.assert_allclose(model.classifier.losses, losses, rtol=1e-6)
    assert {(True, 2), (False, 1)} <= kinds


def test_labels_by_name_count_as_those_with_features():
    models = [ALPS(n_hypotheses=3, n_pretraining=30, budget=150, seed=1) for _ in "ab"]
    for x, y in STREAM[:200]:
        for by_name, model in enumerate(models):
            decision = model.decide_one(x)
            if decision.asked:
                model.answer(decision.query, y) if by_name else model.learn_one(x, y)
    assert models[0]._at_least.tolist() == models[1]._at_least.tolist() != [0] * 5
    assert models[0]._missed.tolist() == models[1]._missed.tolist()


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
