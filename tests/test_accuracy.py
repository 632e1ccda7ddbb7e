"""How right a sampler is: known probabilities of asks, sums of labels, and honest intervals."""

import copy
import itertools
import math
import random
import signal
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import base, datasets, linear_model, naive_bayes
from scipy import stats

from river_ineural import INeurAL, active, load, save
from river_ineural.active import accuracy as told
from river_ineural.active import bounds, query
from river_ineural.active.accuracy import Accuracy, Estimate
from river_ineural.active.budget import Budget, BudgetManager
from river_ineural.datasets import KnownPosterior

GRID = [(i + 0.5) / 400 for i in range(400)]  # draws that are evenly spread over [0, 1)
STREAM = list(KnownPosterior(margin=0.8, seed=3).take(400))


class Dice:
    """Draws of a generator that are given, and the last of them from then on."""

    def __init__(self, *draws):
        self.draws = [*draws]

    def random(self):
        return self.draws.pop(0) if len(self.draws) > 1 else self.draws[0]


def manager(budget, n_rounds, n_asked):
    found = BudgetManager(budget)
    for t in range(n_rounds):
        found.round()
        if t < n_asked:
            found.spend()
    return found


BUDGETS = [Budget(), Budget(0.05), Budget(0.4), Budget(0.2, 500), Budget(90, 500), Budget(90)]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("n_asked", [5, 12, 60])
def test_few_classes_ask_as_often_as_they_say(budget, n_asked):
    held = manager(budget, 100, n_asked)
    found = [query.few_classes(held, 99, 0, True, Dice(draw).random) for draw in GRID]
    asks, (p, *_) = zip(*found, strict=True)
    assert np.mean(asks) == pytest.approx(p, abs=1 / 400)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("unconfirmed", [False, True])
@pytest.mark.parametrize(("n_pending", "n_silent"), [(0, 10), (3, 10), (3, 60), (1, 60)])
@pytest.mark.parametrize("searching", [False, True])
def test_random_asks_come_as_often_as_they_say(budget, unconfirmed, n_pending, n_silent, searching):
    held, draws = manager(budget, 100, 5), itertools.product(GRID)
    if unconfirmed and n_pending:  # two draws
        draws = itertools.product(GRID[::20], GRID)
    found = [
        query.random_ask(held, 0.2, unconfirmed, n_pending, n_silent, searching, Dice(*each).random)
        for each in draws
    ]
    assert len({p for _, p in found}) == 1
    assert np.mean([asks for asks, _ in found]) == pytest.approx(found[0][1], abs=1 / 400)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("theta", [0.2, 0.9])
@pytest.mark.parametrize("n_asked", [2, 60, 90])
def test_a_margin_is_asked_about_as_often_as_it_says(budget, theta, n_asked):
    wanted = []
    for draw in GRID:
        model = active.MarginSampler(linear_model.LogisticRegression(), budget=budget, seed=1)
        model._budget_manager, model._theta = manager(budget, 100, n_asked), theta
        model._rng = Dice(draw)
        reason, *_, p = model._wanted({}, {0: 0.25, 1: 0.75})
        if model._budget_manager.left >= 1:
            wanted.append((reason != "none", p))
    if wanted:
        asks, probabilities = zip(*wanted, strict=True)
        assert len({*probabilities}) == 1
        assert np.mean(asks) == pytest.approx(probabilities[0], abs=1 / 400)


SAMPLERS = {
    "rate": lambda: active.INeurALSampler(small(), budget=Budget(0.1, burst=20), seed=2),
    "horizon": lambda: active.INeurALSampler(small(), budget=60, horizon=400, seed=2),
    "audit": lambda: active.INeurALSampler(small(), budget=0.1, audit=0.5, seed=2),
    "no gap": lambda: active.INeurALSampler(small(), gamma=0.0, budget=100, seed=2),
    "margin": lambda: active.MarginSampler(logistic(), budget=0.2, seed=2),
    "margin, audit": lambda: active.MarginSampler(logistic(), threshold=0.3, audit=0.2, seed=2),
    "random": lambda: active.RandomSampler(logistic(), p=0.3, budget=100, seed=2),
}


def small():
    return INeurAL(hidden_dim=8, n_steps=1, seed=1)


def logistic():
    return linear_model.LogisticRegression()


def run(model, stream=STREAM, late=0, wrong=()):
    """The rounds as the sampler noted them: prediction, label, probability, and whether asked."""
    seen, due, round_of = [], [], model._accuracy.round

    def noted(now, label, gap, p, ask, beyond):
        seen.append((label, p, ask))
        round_of(now, label, gap, p, ask, beyond)

    model._accuracy.round = noted
    for t, (x, y) in enumerate(stream):
        while due and due[0][0] <= t:
            model.answer(*due.pop(0)[1:])
        if (query := model.decide_one(x).query) is not None:
            due.append((t + late + 1, query, y))
    for _, query, y in due:
        model.answer(query, y)
    del model._accuracy.round
    return [(label, y, p, ask) for (label, p, ask), (_, y) in zip(seen, stream, strict=True)]


@pytest.mark.parametrize("name", SAMPLERS)
def test_each_sampler_asks_as_often_as_it_notes(name):
    """Over seeds: 1 and 0 are certain, and all else adds up within five deviations."""
    excess = variance = 0.0
    for seed in range(5):
        model = SAMPLERS[name]().clone({"seed": seed})
        for _, _, p, ask in run(model):
            assert 0 <= p <= 1
            assert p < 1 or ask
            assert p > 0 or not ask
            excess, variance = excess + ask - p, variance + p * (1 - p)
    assert abs(excess) <= 5 * math.sqrt(variance)


@pytest.mark.parametrize("kind", [active.MarginSampler, active.INeurALSampler])
@pytest.mark.parametrize("budget", [Budget(0.1, burst=20), 60])
def test_audits_have_labels_of_their_own(kind, budget):
    """However many others are wanted: so intervals get narrower."""
    widths = []
    for audit in (0.0, 0.3):
        model = kind(small(), budget=budget, audit=audit, seed=1)
        run(model, STREAM * 3)
        widths.append(model.accuracy.high - model.accuracy.low)
    assert widths[1] < widths[0]
    assert model.n_by_reason["random"] >= 0.2 * model.n_queries


@pytest.mark.parametrize("kind", [active.MarginSampler, active.INeurALSampler])
def test_audits_leave_labels_to_others(kind):
    """Where a bucket holds one label, and five of a large one are enough."""
    n_asked = []
    for burst in (1, 50):
        for audit in (0.0, 0.5):
            model = kind(small(), budget=Budget(0.1, burst=burst), audit=audit, seed=1)
            run(model, STREAM)
            n_asked.append(model.n_queries)
    assert n_asked[1] >= 0.7 * n_asked[0]
    assert n_asked[3] >= n_asked[2] - 10


def test_an_audit_of_0_draws_nothing_and_of_1_asks_in_any_round():
    plain, audited = (
        active.RandomSampler(logistic(), p=0.0, budget=0.2, audit=a, seed=1) for a in (0.0, 1.0)
    )
    state = plain._rng.getstate()
    found = run(plain)
    assert {p for _, _, p, _ in found} == {0.0}
    p = {p for _, _, p, _ in run(audited)}
    assert p == {0.2}
    assert audited.n_by_reason["random"] == audited.n_queries == pytest.approx(80, abs=40)
    plain.predict_one({"x0": 1.0})
    rng = copy.copy(plain._rng)
    rng.setstate(state)
    for _ in range(401):  # one draw a round, as ever
        rng.random()
    assert rng.getstate() == plain._rng.getstate()


def test_before_the_first_prediction_nothing_is_known():
    model = active.INeurALSampler(small(), seed=1)
    assert str(model.accuracy) == "unknown, no round was predicted"
    model.decide_one({"a": 1.0})  # no class is known: a round without a prediction
    model.answer(1, "good")
    assert model.accuracy[1:] == (0.0, 1.0, 0)
    model.decide_one({"a": 1.0})
    assert model.accuracy.value == model.accuracy_since(5).value == 0.5
    for rounds in (0, 2.5, "all"):
        with pytest.raises((TypeError, ValueError), match="rounds"):
            model.accuracy_since(rounds)


def test_where_every_label_comes_the_accuracy_is_that_of_the_labels():
    model = active.RandomSampler(logistic(), p=1.0, seed=1)
    found = run(model)
    share = np.mean([label == y for label, y, *_ in found])
    assert model.accuracy == pytest.approx((share, share, share, len(found)))
    late = active.RandomSampler(logistic(), p=1.0, seed=1)
    assert late.accuracy.n_labels == 0
    found = run(late, late=30)
    share = np.mean([label == y for label, y, *_ in found])
    assert late.accuracy == pytest.approx((share, share, share, len(found)))
    matrix = Counter((label, y) for label, y, *_ in found)
    precision, recall = late.accuracy_of_class(True)
    hits = matrix[True, True]
    assert precision.value == pytest.approx(hits / (hits + matrix[True, False]))
    assert recall.value == pytest.approx(hits / (hits + matrix[False, True]))
    assert precision.low <= precision.value <= precision.high
    assert recall.low <= recall.value <= recall.high


def test_a_class_of_few_labels_has_no_estimate():
    model = active.RandomSampler(logistic(), p=1.0, seed=1)
    run(model, STREAM[:9])
    with pytest.raises(ValueError, match=r"True has too few labels: \d where it was predicted"):
        model.accuracy_of_class(True)
    with pytest.raises(ValueError, match="'other' has too few labels: 0 where"):
        model.accuracy_of_class("other")


def test_a_corrected_label_replaces_the_first_and_a_withdrawn_one_counts_no_more():
    model = active.INeurALSampler(small(), budget=100, seed=2)
    found = run(model)
    queries = [t + 1 for t, (_, _, _, ask) in enumerate(found) if ask]
    query = queries[-1]
    label, y, *_ = found[query - 1]
    before = model._accuracy.sums()
    n = model.accuracy.n_labels
    model.answer(query, not y)
    wrong = 1.0 if y == label else -1.0
    assert model._accuracy.sums()[told.WRONG] == before[told.WRONG] + wrong
    assert model.accuracy.n_labels == n
    model.answer(query, y)
    assert model._accuracy.sums() == pytest.approx(before)
    model.withdraw(query)
    assert model.accuracy.n_labels == n - 1
    waiting = model.decide_one({"x0": 0.0}).query
    if waiting is not None:
        model.withdraw(waiting)
    assert model.accuracy.n_labels == n - 1


def test_intervals_hold_where_labels_are_corrected_at_once():
    """The limit on errors without a label follows the corrections, too."""
    held = []
    for seed in range(8):
        rng, right = np.random.default_rng(seed), []
        model = active.MarginSampler(logistic(), budget=0.3, seed=seed)
        for _ in range(1_000):
            x = {"a": rng.normal()}
            first = x["a"] > 0
            y = bool(first) != (rng.random() < 0.15)
            decision = model.decide_one(x)
            right.append(decision.label == y)
            if decision.asked:
                model.answer(decision.query, bool(first))
                model._accuracy.label(decision.query, y)  # it has no history
        low, high = model.accuracy[1:3]
        held.append(low <= np.mean(right) <= high)
    assert sum(held) >= 6


def test_a_label_that_was_not_asked_for_does_not_count():
    model = active.RandomSampler(logistic(), p=0.0, seed=1)
    model.predict_one({"a": 1.0})
    model.learn_one({"a": 1.0}, True)
    assert model.accuracy.n_labels == 0


ROUNDS = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "b"]),
        st.one_of(st.floats(0, 2), st.just(math.nan)),
        st.sampled_from([0.0, 1e-4, 0.01, 0.25, 1.0]),
        st.booleans(),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from([None, "a", "b"]),
    ),
    min_size=1,
    max_size=80,
)


@settings(max_examples=150, deadline=None)
@given(rounds=ROUNDS, since=st.integers(1, 100))
def test_sums_are_those_of_the_latest_labels(rounds, since):
    """The estimate lies within its interval. What was taken back leaves no trace in the sums."""
    found, kept = Accuracy(), Accuracy()
    for now, (label, gap, p, wanted, first, last) in enumerate(rounds, 1):
        ask = p == 1 or (wanted and p > 0)
        for each, labels in ((found, [first, last]), (kept, [last])):
            each.weights = [0.0, 1.5, 0.5]  # the same for both
            each._look(3.0, 1.0)
            each.round(now, label, gap, p, ask)
            for y in labels:
                each.label(now, y)
    assert np.allclose(found.sums(), kept.sums(), rtol=1e-6, atol=1e-6)
    for label in kept.classes:
        assert np.allclose(found.classes[label], kept.classes[label], rtol=1e-6, atol=1e-6)
    for value, low, high, n in (found.estimate(), found.estimate(since)):
        assert 0 <= low <= high <= 1
        assert n <= len(rounds)
        assert low <= value <= high or math.isnan(value)


def test_the_latest_rounds_are_found_within_a_twentieth_and_blocks_stay_few():
    found = Accuracy()
    for now in range(1, 30_001):
        found.round(now, "a", 0.5, 0.5, True)
        found.label(now, "a" if now > 29_000 else "b")
    assert len(found.spans) <= told.SAME * (2 + math.log2(30_000 / told.FIRST / told.SAME)) + 2
    assert sum(found.spans) == 30_000 == found.sums()[told.ROUNDS]
    for rounds in (10, 100, 900, 1_100, 4_000, 29_999):
        share = min(1.0, 1_000 / rounds)
        assert found.sums(rounds)[told.ROUNDS] == pytest.approx(rounds)
        assert found.estimate(rounds).value == pytest.approx(share, abs=0.05)
    found.label(20_000, "a")  # forgotten: more than 10,000 asks ago
    assert found.sums()[told.WRONG] == 29_000
    found.label(25_000, "a")  # corrected: it counts in its own block
    assert found.sums()[told.WRONG] == 28_999
    assert found.sums(3_000)[told.WRONG] == 2_000
    assert len(found.noted) == told.MOST


def test_one_random_label_does_not_count_as_many():
    """It speaks for 49 rounds, where those before spoke for one each, and is wrong."""
    told = Accuracy()
    for now in range(1, 601):
        told.round(now, "good", 0.1, 0.5, now % 2 == 0)
        if now % 2 == 0:
            told.label(now, "good" if now % 10 else "bad")
    told.round(601, "good", 0.97, 0.02, True, True)
    told.label(601, "bad")
    for now in range(602, 2_001):
        told.round(now, "good", 0.5, 0.0, False)
    assert told.estimate().low < 0.3
    assert told.estimate().high > 0.8


def test_intervals_hold_where_labels_come_late():
    """A quarter of the rounds are better than all that labels have told of: half missed it."""
    missed = 0
    for seed in range(20):
        rows, asked, right = list(datasets.Phishing())[:800], [], 0
        random.Random(f"order {seed}").shuffle(rows)
        model = active.RandomSampler(naive_bayes.GaussianNB(), p=0.15, seed=seed)
        for t, (x, y) in enumerate(rows):
            decision = model.decide_one(x)
            right += decision.label == y
            if decision.asked:
                asked.append((t + 200, decision.query, y))
            while asked and asked[0][0] <= t:
                model.answer(*asked.pop(0)[1:])
        missed += not model.accuracy.low <= right / 800 <= model.accuracy.high
        latest = model.accuracy_since(150)
        assert latest.n_labels == 0
    assert missed <= 2


def test_intervals_hold_where_a_change_has_made_a_model_sure_and_wrong():
    """Then close calls are right more often than sure ones, and only random labels show it."""
    held = []
    for seed in range(8):
        rng, right = np.random.default_rng(seed), []
        model = active.MarginSampler(linear_model.LogisticRegression(), budget=0.1, seed=seed)
        w = rng.normal(size=6)
        for t in range(2_000):
            x = rng.normal(size=6)
            y = bool(x @ w > 0) != (t >= 1_000)
            decision = model.decide_one(dict(enumerate(x.tolist())))
            right.append(decision.label == y)
            if decision.asked:
                model.answer(decision.query, y)
        for found, n in ((model.accuracy, 2_000), (model.accuracy_since(1_000), 1_000)):
            held.append(found.low <= np.mean(right[-n:]) <= found.high)
    assert sum(held) >= 14


def test_a_round_that_ctrl_c_ends_leaves_a_sampler_that_can_be_saved(tmp_path, monkeypatch):
    model = active.INeurALSampler(small(), seed=2)
    run(model, STREAM[:40])

    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(model, "_wanted_at", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.predict_one(STREAM[40][0])
    assert any(model.decide_one(STREAM[41][0]).asked for _ in range(100))
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").accuracy == model.accuracy


def test_ctrl_c_ends_no_round_between_a_label_that_is_spent_and_its_question(monkeypatch):
    model = active.INeurALSampler(small(), budget=3, seed=2)
    add = model._questions.add

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        add(*given)

    monkeypatch.setattr(model._questions, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.predict_one(STREAM[0][0])
    assert (model.n_queries, model.n_pending) == (1, 1)


class Bayes(base.Classifier):
    """Knows the posterior, which is the only feature, and learns nothing."""

    def learn_one(self, x, y):
        pass

    def predict_proba_one(self, x):
        return {0: 1 - x["p"], 1: x["p"]}


BOTH = {
    "random": lambda seed: active.RandomSampler(Bayes(), p=0.1, seed=seed),
    "margin": lambda seed: active.MarginSampler(Bayes(), budget=active.Budget(0.1), seed=seed),
    "audit": lambda seed: active.MarginSampler(Bayes(), threshold=0.2, audit=0.2, seed=seed),
}


@pytest.mark.parametrize("name", BOTH)
def test_intervals_hold_the_truth_as_often_as_they_say_where_the_posterior_is_known(name):
    """400 runs of 400 rounds: about 40 random labels, or those of close calls too.

    An interval of random asks is narrower than that of as many labels alone (Wilson, 1927).
    """
    stream, rng = KnownPosterior(n_features=5, sharpness=1.5, seed=5), np.random.default_rng(1)
    held, error, width, plain = [], [], [], []
    for seed in range(400):
        _, posteriors = stream.draw(400, rng)
        model, right = BOTH[name](seed), 0
        for p, draw in zip(posteriors[:, 1].tolist(), rng.random(400).tolist(), strict=True):
            label, ask = model.predict_one({"p": p})
            right += label == (draw < p)
            if ask:
                model.answer(model.n_rounds, int(draw < p))
        value, low, high, n = model.accuracy
        share, least = right / 400, 1.96**2 / n
        held.append(low <= share <= high)
        error.append(value - share)
        width.append(high - low)
        plain.append(2 * math.sqrt(least * (share * (1 - share) + least / 4)) / (1 + least))
    assert np.mean(held) >= 0.93
    assert np.mean(held) <= 0.97 or name == "margin"  # whose labels differ most in their weights
    assert name != "random" or np.mean(width) < np.mean(plain)
    assert np.mean(error) == pytest.approx(0, abs=0.005)


def test_an_estimate_reads_as_a_sentence():
    assert str(Estimate(0.915, 0.857, 0.956, 1_000)) == "91.5% (85.7% to 95.6%, 1,000 labels)"


@pytest.mark.parametrize(("expected", "worth"), [(10, 1.0), (500, 3.5)])
def test_the_regression_counts_as_seven_random_labels_or_as_one_error(expected, worth):
    """Random labels that speak for as many errors, and found none, halve what it expects."""
    sums = [0.0] * told.SIZES[0]
    sums[told.ROUNDS] = sums[told.LIKELY] = 1_000
    sums[told.EXPECTED] = expected
    sums[told.SPREAD], sums[told.FORESEEN] = expected, worth  # each random label weighs 1
    assert Accuracy()._wrong_predictions(sums)[0] == pytest.approx(expected / 2)


@pytest.mark.parametrize("found", [0.0, 1.0, 9.5])
@pytest.mark.parametrize("foreseen", [0.0, 0.02, 3.0])
@pytest.mark.parametrize("variance", [0.1, 2.0, 12.0])
def test_the_likely_errors_are_those_of_the_mode_and_the_curvature(found, foreseen, variance):
    """The mode is found by a search of a fine grid."""
    grid = np.linspace(-40.0, 130.0, 1_700_001)
    height = found * grid - foreseen * np.exp(grid) - grid**2 / (2 * variance)
    mode = grid[height.argmax()]
    deviation = (1 / variance + foreseen * math.exp(mode)) ** -0.5
    largest = min(50.0, mode + 1.645 * deviation)
    assert math.log(bounds.most_times(found, foreseen, variance)) == pytest.approx(
        largest, abs=1e-3
    )


@pytest.mark.parametrize("looked", [False, True])
def test_only_random_labels_tell_that_a_sure_model_is_right(looked):
    """Else all labels are of close calls: it may be wrong in a tenth of the rounds where it is
    sure."""
    accuracy = Accuracy()
    for now in range(1, 2_001):
        close, p = now % 40 == 0, 0.05 if looked else 0.001
        ask = close or (looked and now % 20 == 10)
        accuracy.round(now, 0, 0.1 if close else 1.0, 1.0 if close else p, ask, not close)
        if ask:
            accuracy.label(now, 0)
    _, low, high, _ = accuracy.estimate()
    assert (low < 0.9 < high) == (not looked)
    assert high > 0.99


@given(st.floats(0, 1e4), st.floats(0, 1))
def test_a_likely_share_is_none_above_one(n, part):
    assert part * n <= bounds.most_of(part * n, n) * n * (1 + 1e-9) + 1e-9
    assert 0 <= bounds.most_of(part * n, n) <= 1


def close_calls(n_labels, n_after, wrong=4):
    """A stream of a close call in ten rounds; each is asked about, every fourth in vain."""
    accuracy = Accuracy()
    for now in range(1, 10 * n_labels + n_after + 1):
        ask = now % 10 == 0 and now <= 10 * n_labels
        accuracy.round(now, "a", 0.05 if ask else 0.6, 1.0 if ask else 0.0, ask, not ask)
        if ask:
            accuracy.label(now, "b" if now // 10 % wrong == 0 else "a")
    return accuracy


def test_errors_are_no_likelier_where_no_label_was_asked_for():
    """In a quarter of the close calls the model is wrong, so in no more of the others."""
    _, low, high, _ = close_calls(100, 0).estimate()
    n, p = 36.1, 0.25  # labels that count, as each counts half as much 250 rounds later
    centre, least = p + 1.96**2 / (2 * n), 1.96**2 / n
    limit = (centre + 1.96 * math.sqrt(p * (1 - p) / n + least / (4 * n))) / (1 + least)
    assert 0.75 * (1 - limit) < low < 1 - limit + 0.01  # wider in the first rounds
    assert low < 0.75 < high


def test_a_limit_of_errors_lasts_as_long_as_its_labels():
    """4,000 rounds later nothing follows from them, for the stream may have changed."""
    soon, late = (close_calls(100, after) for after in (100, 4_000))
    assert soon.estimate().low > 0.5
    assert late.estimate(1_000).low < 0.1
    assert late.near[0] == pytest.approx(0.5**16 * close_calls(100, 0).near[0])


def test_a_class_may_be_wrong_more_often_than_the_others():
    """So no limit holds for it, and its precision is less certain than the accuracy."""
    accuracy = close_calls(200, 0)
    precision, _ = accuracy.of_class("a")
    assert precision.low < accuracy.estimate().low - 0.1


def test_an_interval_of_many_random_labels_is_that_of_a_gamma_distribution():
    """Wrong predictions are counts at an uncertain rate: a negative binomial distribution."""
    sums, expected, found = [0.0] * told.SIZES[0], 100.0, 40.0
    sums[told.ROUNDS] = sums[told.LIKELY] = 1e6
    sums[told.EXPECTED] = sums[told.SPREAD] = expected
    sums[told.FOUND] = sums[told.FORESEEN] = found
    for end, shape in ((1, 1 + found - 1 / 41), (2, 1.5 + found)):
        p = (1 + found) / (1 + found + expected)
        ends = stats.nbinom.ppf((0.025, 0.975), shape, p)
        assert Accuracy()._wrong_predictions(sums)[end] == pytest.approx(ends[end - 1], rel=0.02)


def test_a_part_of_a_block_is_not_taken_for_labelled():
    """One of its sixteen rounds has a label: nothing certain follows for the latest round."""
    accuracy = Accuracy()
    for now in range(1, 17):
        accuracy.round(now, 0, 0.1, 0.1, now == 8, False)
    accuracy.label(8, 0)
    _, low, high, _ = accuracy.estimate(1)
    assert low < 0.6 < high


@given(st.integers(0, 2**32 - 1))
def test_the_regression_solves_as_numpy_does(seed):
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=(3, 40)) * 10.0 ** rng.integers(-2, 3, (3, 1))
    matrix, right = labels @ labels.T + np.diag([4.0, 2.0, 2.0]), rng.normal(size=3)
    expected = np.linalg.solve(matrix, right)
    assert bounds.solved(matrix.tolist(), right.tolist()) == pytest.approx(expected, rel=1e-6)


def test_labels_that_are_never_predicted_take_no_room():
    """A quantity as a target has as many labels as rounds."""
    found = Accuracy()
    for now in range(1, told.MOST_CLASSES + 200):
        found.round(now, "good", 0.1, 0.5, True)
        found.label(now, f"bad {now}")
    assert len(found.classes) == told.MOST_CLASSES
    found.label(now, None)
    assert found.classes["good"][told.WRONG] == now - 1


@pytest.mark.parametrize("p", [1.0, 0.3])
def test_labels_that_a_rate_allows_speak_for_the_rounds_between(p):
    """Any round may be one of them, so they show that classes have traded places."""
    n_held, n_told = 0, 0
    for seed in range(12):
        rng, right = random.Random(f"stream {seed}"), []
        model = active.RandomSampler(naive_bayes.GaussianNB(), p=p, budget=0.05, seed=seed)
        for t in range(1_500):
            x = {"a": rng.gauss(0, 1)}
            y = (x["a"] + rng.gauss(0, 0.5) > 0) != (t > 750)
            label, asks = model.predict_one(x)
            right.append(label == y)
            if asks:
                model.learn_one(x, y)
        for found, truth in ((model.accuracy, right), (model.accuracy_since(400), right[-400:])):
            n_held += found.low <= np.mean(truth) <= found.high
            n_told += found.high - found.low < 0.6
    assert n_held >= 22
    assert n_told >= 20


def test_recall_intervals_hold_where_labels_are_those_of_a_plane():
    """Hits and misses are guessed by one regression, which expects too many of the latter."""
    held = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, plane = rng.normal(size=(800, 6)), rng.normal(size=6)
        y = (x @ plane > 0).tolist()
        model = active.INeurALSampler(INeurAL(seed=seed), budget=0.05, seed=seed)
        said = []
        for row, label in zip(x.tolist(), y, strict=True):
            decision = model.decide_one(dict(zip("abcdef", row, strict=True)))
            said.append(decision.label)
            if decision.asked:
                model.answer(decision.query, label)
        for of in (False, True):
            hits = [one == of for one, label in zip(said, y, strict=True) if label == of]
            found = model.accuracy_of_class(of).recall
            held.append(found.low <= np.mean(hits) <= found.high)
    assert sum(held) >= 22


def test_a_fixed_threshold_that_asks_for_nothing_is_told_of_once():
    """Its classifier learned of one class alone, and then became sure of both."""
    rng, classifier = random.Random(3), naive_bayes.GaussianNB()
    model = active.MarginSampler(classifier, threshold=0.2, budget=100, seed=1)
    rows = [{"a": rng.gauss(10 * (t % 2), 1)} for t in range(2_300)]
    for t, x in enumerate(rows[:150]):
        if model.predict_one(x)[1]:
            model.learn_one(x, t % 2)
    assert model.n_queries < 60

    def predict(sampler, some):
        for x in some:
            sampler.predict_one(x)

    with pytest.warns(UserWarning, match="below threshold=0.2 in 1,000 rounds.* leave threshold"):
        predict(model, rows[150:1_300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict(model, rows[1_300:])
        predict(active.MarginSampler(naive_bayes.GaussianNB(), budget=100, seed=1), rows)
