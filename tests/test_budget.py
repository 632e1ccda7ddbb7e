"""What may be asked for, what was, why, and what is still on its way."""

from __future__ import annotations

import collections
import copy
import datetime as dt
import math
import pickle
import random
import threading
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from river import evaluate, linear_model, metrics
from streams import Scored, WithoutAudits, blobs

from river_ineural import INeurAL, active, baselines
from river_ineural.active import Budget, Decision
from river_ineural.active.account import Account
from river_ineural.active.budget import together
from river_ineural.active.decision import REASONS
from river_ineural.active.pending import MOST, PATIENCE, Pending

X = {"a": 1.0}
STREAM = blobs(120, n_features=4, n_classes=2, seed=1)


def scored(*scores, **settings):
    """I-NeurAL's decision about scores that stay."""
    kind = settings.pop("kind", WithoutAudits)
    return kind(Scored(*scores), **{"self_training": False, "seed": 1, **settings})


SURE, UNSURE = (0.0, 1.0), (0.5, 0.5)


# Budget


@pytest.mark.parametrize(
    ("settings", "total", "bucket", "rate"),
    [
        ({}, None, None, None),
        ({"limit": 60}, 60, None, None),
        ({"limit": 60, "horizon": 240}, 60, None, 0.25),
        ({"limit": 60, "horizon": 20}, 60, None, 1.0),
        ({"limit": 0.29, "horizon": 100}, 29, None, 0.29),
        ({"limit": 0.29}, None, 725, 0.29),
        ({"limit": 0.001}, None, 20, 0.001),
        ({"limit": 0.5, "burst": 1}, None, 1, 0.5),
    ],
)
def test_what_a_budget_says(settings, total, bucket, rate):
    budget = Budget(**settings)
    assert (budget.total, budget.bucket, budget.rate) == (total, bucket, rate)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        *(({"limit": 1.5}, "budget"), ({"limit": -1}, "budget"), ({"limit": "x"}, "budget")),
        *(({"horizon": 0}, "horizon"), ({"limit": 0.1, "burst": 0}, "burst")),
        *(({"limit": 5, "burst": 9}, "burst"), ({"burst": 9}, "burst")),
        ({"limit": 0.1, "horizon": 9, "burst": 9}, "burst"),
    ],
)
def test_a_bad_budget_is_named(settings, name):
    with pytest.raises((TypeError, ValueError), match=name):
        Budget(**settings)


def test_a_horizon_is_named_once_or_twice_alike():
    budget = Budget(0.1, horizon=200)
    assert together(budget, None) is together(budget, 200) is budget
    for kind in (active.RandomSampler, active.MarginSampler):
        with pytest.raises(ValueError, match=r"horizon is 100 where budget is Budget\("):
            kind(linear_model.LogisticRegression(), budget=budget, horizon=100)
    model = scored(*UNSURE, budget=budget, horizon=200)
    with pytest.raises(ValueError, match="horizon is 300"):
        model.horizon = 300
    assert model.horizon == 200
    assert model._account.budget is budget
    assert model.clone().budget == budget
    assert copy.deepcopy(model)._account.budget == budget


# Account

shares = st.integers(0, 100).map(lambda n: n / 100)
buckets = st.builds(Budget, shares, st.none(), st.none() | st.integers(1, 30))
totals = st.builds(Budget, st.integers(0, 30), st.none() | st.integers(1, 100))
totals |= st.builds(Budget, shares, st.integers(1, 100))


def assert_bounded(asked, rate, burst):
    """In any w rounds in a row at most rate · w + burst, by the largest excess of any window."""
    excess = 0.0
    for n in asked:
        excess = max(0.0, excess) + n - rate
        assert excess <= burst + 1e-6


@given(buckets, st.lists(st.booleans(), max_size=200))
def test_a_bucket_bounds_every_window(budget, wanted):
    """And wherever one more would keep all bounds, it is allowed."""
    account, asked = Account(budget), []
    held = float(budget.bucket)
    for want in wanted:
        account.round()
        held = min(held + budget.limit * bool(asked), budget.bucket)
        assert account.left == pytest.approx(held)
        if abs(held - 1) > 1e-6:
            assert account.allows() == (held >= 1)
        asked.append(bool(want and account.allows()))
        if asked[-1]:
            account.spend()
            held -= 1
        assert 0 <= account.available <= budget.bucket
    assert_bounded(asked, budget.limit, budget.bucket)


@given(st.lists(st.tuples(buckets, st.lists(st.booleans(), max_size=60)), max_size=6))
def test_no_bucket_is_refilled_by_setting_it(parts):
    """Over all windows, with the largest rate and the largest burst."""
    account, asked = Account(parts[0][0]) if parts else Account(Budget()), []
    for budget, wanted in parts:
        before = account.left
        account.change(budget)
        assert account.left == pytest.approx(min(before, budget.bucket))
        for want in wanted:
            account.round()
            asked.append(bool(want and account.allows()))
            if asked[-1]:
                account.spend()
    if parts:
        rate = max(budget.limit for budget, _ in parts)
        assert_bounded(asked, rate, max(budget.bucket for budget, _ in parts))


@given(totals, st.lists(st.booleans(), max_size=200))
def test_a_total_is_spent_to_the_last_and_no_further(budget, wanted):
    account = Account(budget)
    for want in wanted:
        account.round()
        if want and account.allows():
            account.spend()
    assert account.n_asked == min(sum(wanted), budget.total)
    assert account.available == budget.total - account.n_asked


def test_a_hundred_thousand_rounds_in_random_orders():
    """Each of 100 runs of 1,000 has its own rate, burst and habit of asking."""
    rng = random.Random(0)
    for _ in range(100):
        budget = Budget(rng.random() ** 2, burst=rng.randint(1, 50))
        account, asked, p = Account(budget), [], rng.random()
        for t in range(1_000):
            if t % 100 == 0:
                p = rng.choice([0.0, 1.0, rng.random()])
            account.round()
            asked.append(0)
            while rng.random() < p and account.allows():  # several a round are allowed as well
                account.spend()
                asked[-1] += 1
                if rng.random() < 0.5:
                    break
        assert_bounded(asked, budget.limit, budget.bucket)
        assert account.n_asked == sum(asked)


def test_setting_a_budget_in_the_middle():
    """A total counts what was asked for; a bucket after one is what the rounds would have left."""
    account = Account(Budget())
    assert account.available == math.inf
    for _ in range(100):
        account.round()
        account.spend()
    account.change(Budget(np.uint64(5)))  # 5 - 100 is no large number
    assert not account.allows()
    account.change(Budget(130))
    assert account.available == 30
    account.change(Budget(0.5, burst=60))  # 60 + 50 - 100
    assert account.left == 10
    account.change(Budget(0.5, burst=5))
    account.change(Budget(0.5, burst=60))
    assert account.left == 5
    account.change(Budget(0.1, horizon=500))
    assert account.available == 0
    account.change(Budget())
    account.change(Budget(0.1))  # 250 + 10 - 100
    assert account.left == pytest.approx(160)


@pytest.mark.parametrize(
    ("budget", "n_rounds", "n_asked", "free", "reserved"),
    [
        (Budget(), 5, 9, 1.0, 1.0),
        (Budget(10), 5, 5, 0.5, 0.5),
        (Budget(0), 5, 0, 0.0, 0.0),
        (Budget(10, horizon=100), 0, 5, 0.5, 0.45 / 0.95),
        (Budget(10, horizon=100), 50, 5, 0.5, 0.475 / 0.95),
        (Budget(10, horizon=100), 100, 5, 0.5, 0.5 / 0.95),
        (Budget(10, horizon=100), 300, 5, 0.5, 0.5 / 0.95),
        (Budget(10, horizon=100), 100, 0, 1.0, 1.0),
        (Budget(0.0, burst=10), 5, 5, 0.5, 0.3 / 0.8),
        (Budget(0.0, burst=10), 5, 9, 0.1, 0.0),
    ],
)
def test_what_is_left_and_what_is_held_back(budget, n_rounds, n_asked, free, reserved):
    account = Account(budget)
    for _ in range(n_rounds):
        account.round()
    for _ in range(n_asked):
        account.spend()
    assert account.share(reserve=False) == pytest.approx(free)
    assert account.share(reserve=True) == pytest.approx(reserved)


def test_threads_share_one_account():
    """Eight threads on one sampler: rounds and asks are all counted, none beyond the bucket."""
    model = active.MarginSampler(
        linear_model.LogisticRegression(), threshold=1.0, budget=Budget(0.05, burst=30)
    )
    asked = [0] * 8

    def work(i):
        for t in range(250):
            x, y = STREAM[(t + i) % len(STREAM)]
            ask = model.predict_one(x)[1]
            asked[i] += ask
            if ask and t % 3:
                model.learn_one(x, bool(y))
            if t % 50 == 0:
                model.budget = Budget(0.05, burst=30)
                pickle.loads(pickle.dumps(model))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_rounds == 2_000
    assert sum(asked) == model.n_queries
    assert 120 <= model.n_queries <= 0.05 * 2_000 + 30
    assert sum(model.n_by_reason.values()) == 2_000


# Labels on their way


def test_the_oldest_of_equals_is_settled():
    waiting = Pending()
    for now, x in enumerate([{"a": 1, "b": 2}, {"c": 3}, {"b": 2.0, "a": 1.0}], start=1):
        waiting.ask(x, now)
    waiting.settle(waiting.asked({"d": 4}))
    assert waiting.count(3) == 3
    waiting.settle(waiting.asked({"b": 2, "a": 1}))
    assert list(waiting._keys) == [2, 3]
    waiting.settle(waiting.asked({"a": 1, "b": 2}))
    waiting.settle(waiting.asked({"a": 1, "b": 2}))
    assert list(waiting._keys) == [2]
    assert list(waiting._rounds.values()) == [[2]]


def test_a_label_is_not_expected_for_ever():
    waiting = Pending()
    waiting.ask({"a": 1}, 1)
    waiting.ask({"a": 1}, 2)
    assert waiting.count(PATIENCE + 1) == 2
    assert waiting.count(PATIENCE + 2) == 1
    assert waiting.count(PATIENCE + 3) == 0
    assert not waiting._rounds


def test_no_more_than_so_many_are_remembered():
    waiting = Pending()
    for now in range(MOST + 5):
        waiting.ask({"a": now % 7}, now)
    assert len(waiting._keys) == sum(map(len, waiting._rounds.values())) == MOST
    assert min(waiting._keys) == 5


def test_what_has_no_hash_has_one_key():
    waiting = Pending()
    waiting.ask({"a": [1]}, 1)
    waiting.ask({"a": {}}, 2)
    waiting.settle(waiting.asked({"a": [3]}))
    assert list(waiting._keys) == [2]


def test_a_copy_expects_the_same():
    waiting = Pending()
    waiting.ask({"a": 1}, 1)
    waiting.ask({"a": 2}, 2)
    same = pickle.loads(pickle.dumps(waiting))
    same.settle(same.asked({"a": 2}))
    assert list(same._keys) == [1]


@given(st.lists(st.tuples(st.sampled_from(["round", "learn"]), st.integers(0, 4)), max_size=80))
def test_asks_less_what_was_answered(operations):
    """For any order of rounds and labels, of few different x."""
    model = active.RandomSampler(linear_model.LogisticRegression(), p=0.6, seed=1)
    expected = collections.Counter()
    for operation, value in operations:
        if operation == "round":
            expected[value] += model.predict_one({"a": float(value)})[1]
        else:
            model.learn_one({"a": float(value)}, True)
            expected[value] = max(0, expected[value] - 1)
        assert model.n_pending == expected.total()


def test_the_threshold_waits_for_labels_on_their_way():
    """Times the share of labels there; a label that is refused settles nothing."""
    model = scored(0.5, 0.8, gamma=1.0, width=active.ConstantWidth(0.25))  # threshold 0.5
    thresholds = []
    for learned in (0, 2, 0):
        for i in range(learned):
            model.learn_one({"other": float(i)}, 1)
        model.predict_one({"a": float(len(thresholds))})
        thresholds.append(model.last_decision.threshold)
    assert thresholds == pytest.approx([0.5, 0.5 * 12 / 13, 0.5 * 12 / 14])
    assert [model.n_pending, model.n_queries] == [3, 3]
    with pytest.raises(TypeError):
        model.learn_one({"a": 0.0}, 1, surplus=1)
    for _ in range(3):
        assert model.n_pending
        model.learn_one({"a": float(3 - model.n_pending)}, 1)
    model.predict_one(X)
    assert model.last_decision.threshold == 0.5


DELAYS = {
    "no delay": {},
    "delay": {"delay": 7},
    "moment": {
        "moment": lambda x: dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(x["f0"])),
        "delay": dt.timedelta(hours=9),
    },
}


@pytest.mark.parametrize("timing", DELAYS.values(), ids=DELAYS)
@pytest.mark.parametrize("kind", ["ineural", "pipeline", "margin", "random"])
def test_all_labels_are_settled_in_river_s_evaluation(kind, timing):
    from river import preprocessing

    inner = INeurAL(hidden_dim=8, batch_size=8, seed=1)
    model = {
        "ineural": lambda: active.INeurALSampler(inner, budget=0.3, horizon=120, seed=1),
        "pipeline": lambda: active.INeurALSampler(
            preprocessing.StandardScaler() | inner, budget=0.3, seed=1
        ),
        "margin": lambda: active.MarginSampler(linear_model.SoftmaxRegression(), budget=0.3),
        "random": lambda: active.RandomSampler(linear_model.SoftmaxRegression(), p=0.3, seed=1),
    }[kind]()
    stream = [({**x, "f0": float(t)}, y) for t, (x, y) in enumerate(STREAM)]
    evaluate.progressive_val_score(stream, model, metrics.Accuracy(), **timing)
    assert model.n_pending == 0 < model._n_labels == model.n_queries


# Few classes


@pytest.mark.parametrize("kind", ["ineural", "margin"])
@pytest.mark.parametrize("budget", [500, Budget(0.2, burst=500), 0.5])
def test_one_class_is_asked_for_ever_more_rarely(kind, budget):
    """The first ten rounds, then with probability 10/n but at least the rate; with one warning."""
    if kind == "ineural":
        model = scored(1.0, budget=budget)
    else:
        model = active.MarginSampler(Scored(1.0), budget=budget, seed=1)
    asked = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(400):
            asked.append(model.predict_one(X)[1])
            if asked[-1]:
                model.learn_one(X, 0)
    assert all(asked[:10])
    rate = budget if isinstance(budget, float) else getattr(budget, "limit", 0.0)
    # Without a rate n² grows by twenty a round: 100 + 20 · 390 in the end.
    expected = 89 if rate == 0 else 10 + 390 * rate
    assert abs(sum(asked) - expected) < 26
    assert [str(each.message) for each in caught] == [
        "Only one class was seen in 10 labels: labels are asked for more rarely until another "
        "appears. INeurAL(classes=...) names the classes beforehand."
    ]
    assert model.n_by_reason == {
        **dict.fromkeys(REASONS, 0),
        "few classes": sum(asked),
        "none": 400 - sum(asked),
    }


@pytest.mark.parametrize("kind", ["ineural", "margin"])
def test_without_a_limit_one_class_is_asked_for_always(kind):
    model = scored(1.0) if kind == "ineural" else active.MarginSampler(Scored(1.0))
    for _ in range(100):
        assert model.predict_one(X)[1]
        model.learn_one(X, 0)


@pytest.mark.parametrize("seed", range(3))
def test_a_class_that_comes_after_200_rounds_is_found(seed):
    """River's streams that begin with one class: 200 rounds, then 5 % positives, 3 % of labels."""
    rng = np.random.default_rng(seed)
    centre = np.array([2.5, -2.5, 2.5, -2.5])
    model = active.INeurALSampler(INeurAL(seed=seed), budget=0.03, seed=seed)
    score = metrics.F1()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in range(4_200):
            y = bool(t >= 200 and rng.random() < 0.05)
            x = dict(enumerate((rng.normal(size=4) + y * centre).tolist()))
            predicted, ask = model.predict_one(x)
            if ask:
                model.learn_one(x, y)
            if t >= 2_200:
                score.update(y, bool(predicted))
    assert score.get() > 0.9
    assert model.n_queries <= 0.03 * 4_200 + 75
    assert len(caught) == 1


# Audits


@pytest.mark.parametrize(
    ("budget", "horizon", "expected"),
    [
        (0.1, 20_000, 100),  # a fifth of a quarter: no round adds to it
        (1_000, 10_000, 100),
        (0.1, None, 500),  # a quarter of the rate
        (2_000, None, 20_000 / 99.5),  # the rate is not known: after 50 rounds, one in 50
        (None, None, 20_000 / 99.5),
    ],
)
def test_a_share_of_the_rate_is_asked_for_where_the_model_is_sure(budget, horizon, expected):
    kind = active.INeurALSampler
    model = scored(*SURE, gamma=0.0, budget=budget, horizon=horizon, kind=kind)
    for _ in range(20_000):
        model.predict_one(X)
    assert abs(model.n_queries - expected) <= 5 * math.sqrt(expected)
    assert model.n_by_reason["audit"] == model.n_queries


def test_no_number_is_drawn_where_there_are_no_audits():
    model = scored(*SURE, gamma=0.0, budget=100, kind=active.INeurALSampler)
    state = model._rng.getstate()
    for _ in range(49):
        model.predict_one(X)
    assert model._rng.getstate() == state
    model.predict_one(X)
    assert model._rng.getstate() != state


# Changes


class Changing(Scored):
    changing = warning = False
    n_drifts = 0


def test_in_a_change_what_is_held_back_may_be_asked_for():
    learner = Changing(0.5, 0.501)
    model = WithoutAudits(learner, budget=Budget(0.0, burst=100), seed=1)
    for _ in range(200):
        if model.predict_one(X)[1]:
            model.learn_one(X, 1)
    assert model.last_decision.reason == "none"
    held = model._account.available
    assert 19 <= held <= 21
    learner.changing = True
    for _ in range(200):
        if model.predict_one(X)[1]:
            model.learn_one(X, 1)
    assert model.n_by_reason["change"] >= held - 1
    assert model._account.available <= 1


def test_rounds_of_drifts_are_kept():
    """An alarm that is taken back was none; the last 1,000 are kept."""
    for sampler in (scored, lambda *_: active.MarginSampler(Changing(*SURE))):
        model = sampler(*SURE)
        assert (model.n_drifts, model.drifts) == (0, [])
        learner = model.classifier = Changing(*SURE)
        for change in (0, 1, 0, 1, -1, 2):
            model.predict_one(X)
            learner.n_drifts += change
            model.learn_one(X, 1)
        assert model.n_drifts == 3
        assert model.drifts == [2, 6]
        for _ in range(1_100):
            learner.n_drifts += 1
            model.learn_one(X, 1)
        assert len(model.drifts) == 1_000


# Decisions

SAMPLERS = {
    "ineural": lambda **limits: active.INeurALSampler(
        INeurAL(hidden_dim=8, batch_size=8, seed=1), seed=1, **limits
    ),
    "margin": lambda **limits: active.MarginSampler(linear_model.SoftmaxRegression(), **limits),
    "random": lambda **limits: active.RandomSampler(
        linear_model.SoftmaxRegression(), p=0.4, seed=1, **limits
    ),
    "alps": lambda **limits: baselines.ALPS(n_hypotheses=3, n_pretraining=20, seed=1, **limits),
    "ntk-f": lambda **limits: baselines.NeuALNTKF(hidden_dim=8, seed=1, **limits),
    "ntk-d": lambda **limits: baselines.NeuALNTKD(hidden_dim=8, n_epochs=2, seed=1, **limits),
}
WHY = {
    "ineural": {"few classes", "gap", "audit"},
    "margin": {"few classes", "gap"},
    "random": {"audit"},
    "alps": {"audit", "gap"},
    "ntk-f": {"few classes", "gap"},
    "ntk-d": {"few classes", "gap"},
}


@pytest.mark.parametrize(
    "limit", [{}, {"budget": 15}, {"budget": 0.3}, {"budget": Budget(25, 120)}]
)
@pytest.mark.parametrize("kind", SAMPLERS)
def test_every_round_s_decision_is_told(kind, limit):
    """Asked or not as returned, with a reason that fits, and all reasons counted."""
    model = SAMPLERS[kind](**limit)
    assert model.last_decision is None
    assert model.n_by_reason == dict.fromkeys(REASONS, 0)
    reasons = collections.Counter()
    for x, y in STREAM:
        _, ask = model.predict_one(x)
        decision = model.last_decision
        assert isinstance(decision, Decision)
        assert decision.asked == ask == (decision.reason in WHY[kind])
        assert ask or decision.reason in ("none", "budget")
        assert decision.budget_left == model._account.available
        if decision.reason == "gap":
            assert decision.gap <= decision.threshold
        if decision.reason == "budget":
            assert decision.budget_left == 0
        reasons[decision.reason] += 1
        if ask:
            model.learn_one(x, y)
    assert {**dict.fromkeys(REASONS, 0), **reasons} == model.n_by_reason
    assert sum(reasons[reason] for reason in WHY[kind]) == model.n_queries


def test_debug_one_says_what_the_next_round_does():
    """Also where something is left out or on its way, and changes nothing."""
    model = scored(0.2, 0.3, budget=Budget(0.1, burst=10))
    for _ in range(6):
        model.predict_one(X)
        model.learn_one({"b": 1.0}, 1)
        text = model.debug_one(X)
        after = copy.deepcopy(model)
        after.predict_one(X)
        assert text == f"\nthreshold: {after.last_decision.threshold:.5f}"


def test_a_warning_asks_in_every_round_that_the_budget_allows():
    learner = Changing(*SURE)
    model = WithoutAudits(learner, gamma=0.0, budget=10, self_training=False, seed=1)
    assert not any(model.predict_one(X)[1] for _ in range(20))
    learner.warning = True
    asked = [model.predict_one(X)[1] for _ in range(20)]
    assert asked == [True] * 10 + [False] * 10
    assert model.n_by_reason["warning"] == 10
    assert model.n_by_reason["budget"] == 10


def test_a_share_of_nothing_asks_for_nothing():
    model = scored(0.0, budget=0.0)
    assert not any(model.predict_one(X)[1] for _ in range(50))
