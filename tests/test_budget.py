"""What may be asked for, what was, why, and what is still on its way."""

import collections
import itertools
import math
import pickle
from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given
from reference import some_class_is_late, top_and_gap
from river import active as river_active
from river import drift, linear_model, preprocessing
from streams import Scored, blobs, dump, rounds, small

from river_ineural import active, baselines
from river_ineural.active import Budget, Decision, query, questions
from river_ineural.active.budget import BudgetManager, whole_labels
from river_ineural.active.decision import REASONS

X = {"a": 1.0}
STREAM = blobs(120, n_features=4, n_classes=2, seed=1)
SURE, UNSURE = (0.0, 1.0), (0.5, 0.5)
SOFTMAX = linear_model.SoftmaxRegression()


def scored(*scores, **settings):
    """I-NeurAL's decision about scores that stay."""
    settings = {"self_training": False, "seed": 1, **settings}
    return active.INeurALSampler(Scored(*scores), **settings)


def test_what_contradicts_itself_is_refused():
    """A burst is of a share without a horizon, which is named once, or twice alike."""
    for limits in (0.1, None, 0), (5, None, 9), (0.1, 9, 9):
        with pytest.raises((TypeError, ValueError), match="burst"):
            Budget(*limits)
    budget = Budget(0.1, horizon=200)
    with pytest.raises(ValueError, match=r"horizon is 100 where budget is Budget\("):
        active.MarginSampler(linear_model.LogisticRegression(), budget=budget, horizon=100)
    model = scored(*UNSURE, budget=budget, horizon=200)
    with pytest.raises(ValueError, match="horizon is 300"):
        model.horizon = 300
    assert model.horizon == model.clone().horizon == 200


@pytest.mark.parametrize(
    "kind", [active.RandomSampler, active.MarginSampler, active.INeurALSampler]
)
def test_a_sampler_goes_around_no_sampler(kind):
    """Nor around a pipeline that ends in one; the error for other classifiers says what to use."""
    for inner in (active.INeurALSampler(small()), river_active.EntropySampler(SOFTMAX)):
        for classifier in (inner, preprocessing.StandardScaler() | inner):
            with pytest.raises(TypeError, match=f"sampler already, {type(inner).__name__}"):
                kind(classifier)
    model = kind(small())
    with pytest.raises(TypeError, match="sampler already"):
        model.classifier = inner
    with pytest.raises(TypeError, match=r"active\.MarginSampler around it"):
        active.INeurALSampler(SOFTMAX)


shares = st.integers(0, 100).map(lambda n: n / 100)
budgets = st.one_of(
    st.builds(Budget, st.none() | st.integers(0, 60) | st.integers(0, 60).map(np.uint64)),
    st.builds(Budget, st.integers(0, 60) | shares, st.integers(1, 99)),
    st.builds(Budget, shares, st.none(), st.integers(1, 30)),
)


@given(budgets, st.lists(st.integers(0, 3), max_size=60))
def test_the_same_budget_again_changes_no_bit(budget, wanted):
    manager, other = BudgetManager(budget), BudgetManager(budget)
    for n_wanted in wanted:
        for each in (manager, other):
            each.round()
            for _ in range(n_wanted):
                if each.left >= 1:
                    each.spend()
        manager.change(Budget(budget.limit, budget.horizon, budget.burst))
        assert vars(manager) == vars(other)


@given(st.lists(st.tuples(budgets, st.lists(st.integers(0, 3), max_size=60)), max_size=5))
def test_what_a_budget_allows_however_often_it_is_set(parts):
    """A total counts what was asked for. A bucket is not refilled by setting it, and after a total
    it holds what the rounds would have left. Nothing is held back beyond the horizon.
    """
    manager, before, held, n_rounds, n_asked = BudgetManager(Budget()), Budget(), 0.0, 0, 0
    for budget, wanted in parts:
        manager.change(budget)
        if budget.bucket is None:
            size = math.inf if budget.total is None else budget.total
            held = max(0, size - n_asked)
        else:
            size = budget.bucket
            of_rounds = max(0.0, size + budget.limit * n_rounds - n_asked)
            held = min(size, of_rounds if before.bucket is None else held)
        before = budget
        for n_wanted in wanted:
            manager.round()
            n_rounds, n = n_rounds + 1, 0
            if budget.bucket is not None:
                held = min(held + budget.limit, size)
            assert manager.left == pytest.approx(held)
            while n < n_wanted and manager.left >= 1:
                manager.spend()
                n += 1
            if budget.bucket is None or min(held % 1, -held % 1) > 1e-6:
                assert n == math.floor(max(0, min(held, n_wanted)))
            held, n_asked = held - n, n_asked + n
            free = 1.0 if size == math.inf else max(0.0, held / size if size else 0.0)
            assert query.share(manager, reserve=False) == pytest.approx(free)
            if budget.horizon and n_rounds >= budget.horizon:
                assert query.share(manager, reserve=True) == pytest.approx(min(1, free / 0.95))


any_share = st.sampled_from([1 / n for n in range(1, 400)]) | st.floats(0, 1)
streams = st.integers(0, 3_000)


@given(budgets | st.builds(Budget, any_share, st.none(), st.integers(1, 5)), streams)
def test_the_most_that_a_budget_allows_is_known_before(budget, n_rounds):
    """It is what a sampler gets that asks in every round, for a part of the rounds too."""
    manager = BudgetManager(budget)
    for n in range(n_rounds + 1):
        assert budget.most(n) == manager.n_asked
        manager.round()
        if manager.left >= 1:
            manager.spend()


def test_a_number_of_rounds_is_a_whole_number():
    for n_rounds, error in ((-1, ValueError), (2.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="n_rounds"):
            Budget(0.1).most(n_rounds)


@pytest.mark.parametrize("limit", [{"budget": 10}, {"budget": Budget(0.01, burst=10)}])
def test_a_spent_budget_is_the_reason(limit):
    """Where a full budget would have asked. It decides nothing: only the reason is another."""
    model = scored(0.0, 0.2, gamma=1.0, width=active.ConstantWidth(0.25), **limit)
    wide = scored(0.0, 0.6, gamma=1.0, width=active.ConstantWidth(0.25), **limit)
    for each in (model, wide):
        for _ in range(10):
            each._budget_manager.round()
            each._budget_manager.spend()
        reasons = [each.last_decision.reason for _ in range(80) if not each.predict_one(X)[1]]
        assert set(reasons) - {"budget"} == ({"none"} if each is wide else set())
        assert each.n_by_reason["gap"] == 0


WAITED_FOR = [{"a": 1, "b": 2}, {"b": 2.0, "a": 1.0}, {"a": "1"}, {"a": [1]}, {"a": {}}, "text"]
KEYS = [0, 0, 1, 2, 3, 4]


@given(
    st.lists(
        st.tuples(st.sampled_from(["ask", "settle", "copy"]), st.integers(0, 5), st.integers(1, 9)),
        max_size=60,
    )
)
def test_the_oldest_of_equals_is_settled_and_none_is_expected_for_ever(operations):
    """Whatever is asked, learned and pickled in any order: against a plain list of the latest."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(questions, "PATIENCE", 30)
        patched.setattr(questions, "MOST", 3)
        waiting, expected, now = questions.Questions(), [], 0
        for operation, i, passed in operations:
            now += passed
            if operation == "ask":
                waiting.add(WAITED_FOR[i], WAITED_FOR[i], now, "gap", 0.5)
                expected = [*expected, (now, KEYS[i])][-3:]
            elif operation == "copy":
                waiting = pickle.loads(pickle.dumps(waiting))
            else:
                expected = [(at, key) for at, key in expected if at >= now - 30]
                if (query := waiting.find(WAITED_FOR[i], now)[0]) is not None:
                    waiting.settle(query, questions.Answered(0, 1))
                found = [each for each in expected if each[1] == KEYS[i]]
                expected = [each for each in expected if each != (found or [None])[0]]
            expected = [(at, key) for at, key in expected if at >= now - 30]
            assert waiting.count(now) == len(expected)
            assert list(waiting.waiting) == [at for at, _ in expected]


@pytest.mark.usefixtures("no_random_asks")
@pytest.mark.parametrize("kind", ["ineural", "margin"])
@pytest.mark.parametrize("budget", [500, Budget(0.2, burst=500), 0.5, None])
def test_one_class_is_asked_for_ever_more_rarely(kind, budget, recwarn):
    """After ten rounds with probability 10/n, but at least the rate; always without a limit."""
    if kind == "ineural":
        model = scored(1.0, budget=budget)
    else:
        model = active.MarginSampler(Scored(1.0), budget=budget, seed=1)
    asked = [ask for _, ask in rounds(model, [(X, 0)] * 400)]
    assert all(asked[:10])
    rate = {500: 0, 0.5: 0.5, None: 1}.get(budget, 0.2)
    # Without a rate n² grows by twenty a round: 100 + 20 · 390 in the end.
    expected = 89 if rate == 0 else 10 + 390 * rate
    assert abs(sum(asked) - expected) < 26 * (rate < 1) + 1
    messages = [str(each.message)[:36] for each in recwarn]
    assert messages == ["Only one class was seen in 10 labels"] * (budget is not None)
    reasons = {"few classes": sum(asked), "none": 400 - sum(asked)}
    assert model.n_by_reason == {**dict.fromkeys(REASONS, 0), **reasons}


@pytest.mark.parametrize(
    ("budget", "horizon", "n_drifts", "expected"),
    [
        (1_000, 5_000, 0, 233),  # 0.14 · 1,000 / 1,200 of the rate, beyond the horizon too
        (1_000, 5_000, 1, 667),  # 0.4 · 1,000 / 1,200
        (0.1, None, 0, 250),  # a quarter of the rate
        (0.1, None, 1, 250),
        (2_000, None, 0, 10_000 / 99.5),  # the rate is not known: after 50 rounds, one in 50
        (None, None, 0, 10_000 / 99.5),
    ],
)
def test_a_share_of_the_rate_is_asked_for_where_the_model_is_sure(
    budget, horizon, n_drifts, expected
):
    model = scored(*SURE, gamma=0.0, budget=budget, horizon=horizon)
    model.classifier.n_drifts = n_drifts
    model.learn_one(X, 0)
    for _ in range(10_000):
        model.predict_one(X)
    assert abs(model.n_queries - expected) <= 4 * math.sqrt(expected)
    assert model.n_by_reason["random"] == model.n_queries


def test_a_recovery_may_have_the_labels_that_a_confirmed_change_would_hold_back():
    """Half-way 53 of 400 labels are kept for random asks after a change, in a recovery 19."""
    asked = {}
    for changing in (False, True):
        model = scored(*UNSURE, budget=400, horizon=2_000)
        model._budget_manager.n_rounds, model._budget_manager.n_asked = 1_000, 350
        model._budget_manager.left, model.classifier.n_drifts = 50.0, 1
        model.classifier.changing = changing
        model.learn_one(X, 0)
        model._note_drifts(model.classifier, None)
        for _ in range(100):
            model.predict_one(X)
        asked[changing] = model.n_by_reason["change" if changing else "gap"]
    assert asked[False] == 0
    assert asked[True] > 10


@pytest.mark.parametrize("why", ["gap", "warning", "changing"])
@pytest.mark.parametrize("audit", [0.0, 0.3, 1.0])
def test_labels_last_for_random_asks_until_the_horizon(why, audit):
    """Whatever else asks: when it has its labels, rounds still ask at random as often."""
    model = scored(*(UNSURE if why == "gap" else SURE), budget=400, horizon=2_000, audit=audit)
    setattr(model.classifier, why, True)
    part, manager, last, random_at = 0.14 * 400 / 600 + audit, model._budget_manager, 0, []
    for t in range(1, 2_001):
        decision = model.decide_one(X)
        if decision.asked and decision.reason == "random":
            random_at.append(t)
        elif decision.asked:
            last = t
            assert manager.left >= math.floor(400 * part * (1 - t / 2_000))
    expected = min(400, 400 * part * (1 - last / 2_000))
    after = [t for t in random_at if t > last]
    assert len(after) == pytest.approx(expected, abs=1 + 4 * math.sqrt(expected))
    assert why == "changing" or len(random_at) > 20
    assert model.n_queries > 395


def test_rounds_of_drifts_are_kept():
    """An alarm that is taken back was none; the last 1,000 are kept."""
    for model in (scored(*SURE), active.MarginSampler(Scored(*SURE))):
        assert (model.n_drifts, model.drifts) == (0, [])
        learner = model.classifier
        learner.n_drifts = 0
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


def test_changes_stay_known_where_a_wrapper_replaces_its_learner():
    model = active.INeurALSampler(
        drift.DriftRetrainingClassifier(small(), drift.binary.DDM()), seed=1
    )
    for label in [1] * 50:
        model.learn_one(X, label)
    dump(model).detector.n_drifts = 1
    model.learn_one(X, 1)
    learner = model.classifier.model
    for i in range(60):
        if model.classifier.model is not learner:
            break
        model.learn_one(X, i)
    assert model.classifier.model is not learner
    assert (model.n_drifts, model.drifts) == (0, [0])


@pytest.mark.parametrize("kind", [active.INeurALSampler, active.MarginSampler])
def test_changes_that_another_learner_has_seen_are_none_of_the_sampler(kind):
    """Before it was given to the sampler, or because its own learner makes room for another."""
    learner = small()
    learner.learn_one(X, 1)
    dump(learner).detector.n_drifts = 1
    model = kind(learner, seed=1)
    model.learn_one(X, 1)
    assert (model.n_drifts, model.drifts) == (1, [])
    dump(model).detector.n_drifts = 2
    model.learn_one(X, 1)
    copied = model.clone(include_attributes=True)
    model.classifier = small()
    for each in (model, copied):
        each.learn_one(X, 1)
        assert (each.n_drifts, each.drifts) == (0, [0])


@pytest.mark.parametrize("classes", [("a",), ("a", "b")])
@pytest.mark.parametrize(("budget", "kept", "least"), [(0.02, 29, 80), (100, 15, 60)])
@pytest.mark.filterwarnings("ignore:Only one class", "ignore:No label of 'b'")
def test_a_class_that_comes_late_and_alone_finds_labels_left(classes, budget, kept, least):
    """All but 20 of the bucket of 50 labels; of a total some are left after 4,000 rounds."""
    model = active.INeurALSampler(small(classes=classes, n_steps=0), budget=budget, seed=1)
    for t in range(4_000):
        if model.predict_one({"a": t % 7})[1]:
            model.learn_one({"a": t % 7}, "a")
    assert model._budget_manager.left >= kept
    assert model.n_by_reason["few classes"] == model.n_queries > least


@pytest.mark.parametrize("budget", [100, 0.025])
@pytest.mark.filterwarnings("ignore:Only one class")
def test_labels_of_one_class_last_until_a_known_end(budget):
    """Once a fifth of them is spent, the others are spread over the rounds."""
    model = active.INeurALSampler(small(n_steps=0), budget=budget, horizon=4_000, seed=1)
    asked = []
    for t in range(4_000):
        if model.predict_one({"a": t % 7})[1]:
            model.learn_one({"a": t % 7}, "a")
            asked.append(t)
    assert len(asked) > 90
    assert np.histogram(asked, 4, (1_000, 4_000))[0].min() >= 10


def test_labels_that_a_classifier_brings_along_count():
    """Few pending labels lower the threshold of one that has learned many by little."""
    model = active.INeurALSampler(small(), seed=1)
    for x, y in STREAM:
        model.classifier.learn_one(x, y)
    told = [model.decide_one(x) for x, _ in STREAM[:20]]
    n = sum(each.query is not None for each in told[:-1])
    assert told[-1].threshold == pytest.approx(0.96 * (len(STREAM) + 10) / (len(STREAM) + 10 + n))


def test_a_share_that_is_no_label_is_told():
    with pytest.warns(UserWarning, match=r"0.003 of 300 rounds is no label.*20 for so many"):
        active.RandomSampler(linear_model.LogisticRegression(), budget=0.003, horizon=300)


@pytest.mark.parametrize("kind", [active.MarginSampler, partial(active.INeurALSampler, gamma=1e6)])
def test_labels_of_the_classifier_before_count_for_no_other(kind):
    """Any classifier gets its first ten labels, and nobody is told that 100 were of one class."""
    model = kind(Scored(), budget=0.05, seed=1)
    [*rounds(model, STREAM)]
    n, model.classifier = model._n_labels, Scored()
    assert n >= 10 > model._n_labels
    assert all(model.predict_one(x)[1] for x, _ in STREAM[:10])


@pytest.mark.parametrize("budget", [0.05, 120, Budget(120, horizon=9_000)])
@pytest.mark.filterwarnings("ignore:Only one class was seen in 10 labels")
def test_a_new_classifier_gets_its_first_labels(budget):
    """Though what is left of the budget is held back while one class is known."""
    model = active.INeurALSampler(small(), gamma=1e6, budget=budget, seed=1)
    [*rounds(model, STREAM[:100])]
    assert model.n_queries == 100
    model.classifier, at_first = small(), 0
    for x, _ in STREAM[:30]:
        asks = model.predict_one(x)[1]
        at_first += asks
        if asks:
            model.learn_one(x, "a")
    assert 10 <= at_first < 20


@pytest.mark.parametrize("budget", [0.01, 0.05, 150])
def test_labels_that_were_lost_are_not_waited_for(budget):
    """Those of 300 rounds never come; once one does, the next is not held back with the others."""
    model = active.INeurALSampler(small(), budget=budget, seed=1)
    asked = itertools.chain.from_iterable(itertools.repeat(STREAM))
    for x, _ in itertools.islice(asked, 300):
        model.predict_one(x)
    query = next(filter(None, (model.decide_one(x).query for x, _ in asked)))
    model.answer(query, "a")
    assert any(model.predict_one(x)[1] for x, _ in itertools.islice(asked, 200))


WIDE = {"few classes", "gap"}
SAMPLERS = {  # with reasons to ask
    "ineural": (partial(active.INeurALSampler, small()), {*WIDE, "random"}),
    "margin": (partial(active.MarginSampler, SOFTMAX), {*WIDE, "random"}),
    "fixed margin": (partial(active.MarginSampler, SOFTMAX, threshold=0.5), WIDE),
    "random": (partial(active.RandomSampler, SOFTMAX, p=0.4), {"random"}),
    "alps": (partial(baselines.ALPS, n_hypotheses=3, n_pretraining=20), {"random", "gap"}),
    "ntk-f": (partial(baselines.NeuALNTKF, hidden_dim=8), WIDE),
    "ntk-d": (partial(baselines.NeuALNTKD, hidden_dim=8, n_epochs=2), WIDE),
}


@pytest.mark.parametrize("limit", [{}, {"budget": 15}, {"budget": Budget(0.3, burst=10)}])
@pytest.mark.parametrize(("make", "why"), SAMPLERS.values(), ids=SAMPLERS)
def test_every_round_s_decision_is_told(make, why, limit):
    model = make(seed=1, **limit).clone()
    assert model.last_decision is None
    assert model.n_by_reason == dict.fromkeys(REASONS, 0)
    reasons = collections.Counter()
    for _, ask in rounds(model, STREAM):
        decision = model.last_decision
        assert isinstance(decision, Decision)
        assert decision.asked == ask == (decision.reason in why)
        assert ask or decision.reason in ("none", "budget")
        assert decision.budget_left == whole_labels(model._budget_manager.left)
        if decision.reason == "gap":
            assert decision.gap <= decision.threshold
        if decision.reason == "budget":
            assert decision.budget_left == 0
        reasons[decision.reason] += 1
    assert {**dict.fromkeys(REASONS, 0), **reasons} == model.n_by_reason
    assert sum(reasons[reason] for reason in why) == model.n_queries


@example([*[1] * 100, 0, *[1] * 128])  # a class that stays as rare is not late
@example([*[1] * 40, 0, 2, 2, *[1] * 64])  # two that have come together
@given(st.lists(st.integers(0, 3), max_size=100))
def test_a_late_class_is_told_from_all_labels(labels):
    seen = {}
    for n, label in enumerate(labels, start=1):
        count, first = seen.get(label, (0, n))
        seen[label] = count + 1, first
        assert query.some_class_is_late(seen.values(), n) == some_class_is_late(labels[:n])


@given(st.lists(st.floats(-1e3, 1e3), max_size=6))
def test_the_top_two_are_those_of_sorting(scores):
    """Of equal scores the first is the top; without a runner-up the gap is 0."""
    top, second, gap = query.top_two(scores)
    if len(scores) < 2:
        assert (top, second, gap) == (0, 0, 0.0)
    else:
        assert (top, gap) == top_and_gap(scores)
        assert top != second
        assert scores[top] - scores[second] == gap
