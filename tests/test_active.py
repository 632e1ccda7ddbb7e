"""The samplers: budgets, rounds, pipelines, delays, weights, pseudo-labels."""

import _thread
import copy
import datetime as dt
import math
import random
import statistics
import time
from fractions import Fraction
from functools import partial

import hypothesis.strategies as st
import pytest
from hypothesis import example, given
from river import (
    anomaly,
    datasets,
    evaluate,
    feature_extraction,
    feature_selection,
    forest,
    linear_model,
    metrics,
    naive_bayes,
    neighbors,
    preprocessing,
    stats,
    tree,
    utils,
)
from river.compose import FuncTransformer, Pipeline, learn_during_predict
from river.linear_model import SoftmaxRegression
from streams import Scored, blobs, dump, every_gap, rounds, small

from river_ineural import active
from river_ineural.active import Budget, ConstantWidth, TheoreticalWidth, query, questions
from river_ineural.active.pipelines import find_learner

ROUNDS, LEAST = 2_500, 20  # stated in the samplers' docstrings
BURST = Budget(0.2, burst=3)
STREAM = blobs(120, n_features=4, n_classes=3, seed=1)
KINDS = ["random", "margin", "ineural"]


numbers = st.sampled_from([0, 1]) | st.integers(2, 30)  # 1 is no share of 100 %
shares = st.sampled_from([0.0, 1.0]) | st.integers(1, 99).map(lambda n: n / 100)
calls = "predict", "predict_proba", "learn oldest", "learn newest", "drop", "learn any"


def bought(budget, horizon, t):
    """The labels that can be had in t rounds which all want one, computed without rounding."""
    if budget is None or isinstance(budget, int):
        return t if budget is None else min(t, budget)
    share, burst = (Fraction("0.2"), 3) if budget == BURST else (Fraction(repr(budget)), None)
    if horizon:
        return min(t, math.floor(share * horizon))
    bucket = burst or (max(LEAST, math.floor(share * ROUNDS)) if share else 0)
    return min(t, math.floor(share * (t - 1) + bucket))


@pytest.mark.parametrize("kind", KINDS)
@example((0.29, 100), ["predict"] * 60)  # 28.999… in floating point
@given(
    st.tuples(st.none() | numbers | shares, st.none() | st.integers(1, 200))
    | st.just((BURST, None)),
    st.lists(st.sampled_from(calls), max_size=60),
)
def test_a_budget_buys_what_it_says_and_no_more_in_any_calling_order(kind, limits, operations):
    """However late, lost or unasked labels are; what was asked for and not learned is expected."""
    given, softmax = dict(zip(("budget", "horizon"), limits, strict=True)), SoftmaxRegression()
    quick = small(hidden_dim=2, n_steps=0, explorers=())
    model = {  # each would ask in every round, but for those while it knows one class or none
        "random": active.RandomSampler(softmax, p=1.0, seed=1, **given),
        "margin": active.MarginSampler(softmax, threshold=1.0, **given),
        "ineural": active.INeurALSampler(quick, width=every_gap, seed=1, **given),
    }[kind]
    waiting, n_asked, n_rounds = [], 0, 0
    for operation, (x, y) in zip(operations, STREAM, strict=False):
        if operation.startswith("predict"):
            predict = model.predict_one if operation == "predict" else model.predict_proba_one
            _, ask = predict(x)
            n_rounds += 1
            if ask:
                n_asked += 1
                waiting.append((x, y, True))
        elif operation == "learn any":  # another name: no question is about such an example
            model.learn_one(x | {"other": 1.0}, y)
        elif operation == "drop":
            waiting = [(x, y, False) for x, y, _ in waiting]
        elif comes := [each for each in waiting if each[2]]:
            chosen = comes[-1 if operation == "learn newest" else 0]
            waiting.remove(chosen)
            model.learn_one(*chosen[:2])
        most = bought(*limits, n_rounds)
        assert n_asked == most if kind == "random" else n_asked <= most
        assert (model.n_queries, model.n_rounds) == (n_asked, n_rounds)
        assert model.n_pending == len(waiting)


@pytest.mark.parametrize(
    ("width", "arguments", "expected"),
    [
        # √2 + 6/√2 + √(2 log 240,000)
        (TheoreticalWidth(0.1, 12_000), (1, 2, 2), 10.63448),
        (TheoreticalWidth(0.1, 12_000), (4, 2, 2), 10.63448 / 2),  # all three terms are halved
        # √(8/8) + 0.5 · 9/√16 + √(2 log 30,000 / 8)
        (TheoreticalWidth(0.05, 100, c1=4, c2=0.5, c3=3), (8, 5, 3), 3.730378),
        # T is 2 · 3: √2 + 4.5/√4 + √(log 1,440)
        (TheoreticalWidth(0.05, c1=2, c2=0.5, c3=4), (2, 3, 3), 6.360953),
        *((ConstantWidth(0.3), (t, k, 2), 0.3) for t in (1, 10**6) for k in (2, 50)),
    ],
)
def test_widths_by_hand(width, arguments, expected):
    """β_t at t, k and L (Algorithm 1, line 11), with pencil and a table of logarithms."""
    assert width(*arguments) == pytest.approx(expected, abs=1e-5)


def test_a_margin_at_the_threshold_is_wide_enough():
    """Asked for is what is below it: 0.625 - 0.125 is 0.5 to the last bit."""
    for threshold, ask in ((0.49, False), (0.5, False), (0.51, True)):
        model = active.MarginSampler(Scored(0.125, 0.625, 0.125, 0.125), threshold=threshold)
        assert model.predict_one({"a": 1.0}) == (1, ask)


COMPANIONS = {  # their margins are mostly 1, any, and mostly 0
    "tree": tree.HoeffdingTreeClassifier,
    "naive Bayes": naive_bayes.GaussianNB,
    "forest": partial(forest.ARFClassifier, seed=1),
    "nearest neighbours": neighbors.KNNClassifier,
    "softmax": lambda: preprocessing.StandardScaler() | linear_model.SoftmaxRegression(),
    "certain": lambda: Scored(0.0, 1.0),
    "never sure": lambda: Scored(0.5, 0.5),
}


@pytest.mark.parametrize(
    "budget", [0.05, 60, 0.9, Budget(0.05, horizon=1250), Budget(500, horizon=1250)]
)
@pytest.mark.parametrize("kind", COMPANIONS)
def test_a_margin_that_adapts_spends_the_budget_and_never_stops(kind, budget):
    """Around whatever River has: nine tenths at least, and some of it in the last fifth."""
    budget = budget if isinstance(budget, Budget) else Budget(budget)
    model = active.MarginSampler(COMPANIONS[kind](), budget=budget, seed=1)
    asked = [ask for _, ask in rounds(model, list(datasets.Phishing()))]
    most = budget.most(1250)
    assert 0.9 * most <= sum(asked) <= most
    assert budget.limit == 60 or sum(asked[1000:]) > 0
    assert 0.01 <= model._theta <= 1.01


def test_a_margin_without_a_limit_asks_in_half_of_the_rounds():
    for kind in ("tree", "softmax", "certain"):
        model = active.MarginSampler(COMPANIONS[kind](), seed=1)
        asked = [ask for _, ask in rounds(model, list(datasets.Phishing()))]
        assert 0.4 < sum(asked) / 1250 < 0.6


def test_the_threshold_of_a_margin_falls_after_an_ask_and_else_rises():
    """A threshold that was given stays; without one it goes on where it was. NaN tells nothing."""
    model = active.MarginSampler(Scored(0.25, 0.75), seed=1)
    for _ in range(100):
        theta = model._theta
        _, ask = model.predict_one({"a": 1.0})
        assert model.last_decision.threshold == theta
        assert model._theta == (theta * 0.99 if theta > 0.5 else theta * 1.01)
        assert ask or theta <= 0.5
    theta, model.threshold = model._theta, 0.25
    assert not any(model.predict_one({"a": 1.0})[1] for _ in range(100))
    model.threshold = None
    assert (model._theta, model.last_decision.threshold) == (theta, 0.25)
    model.classifier = Scored(0.25, math.nan)
    reasons = {model.predict_one({"a": 1.0}) and model.last_decision.reason for _ in range(100)}
    assert (model._theta, reasons) == (theta, {"none", "random"})


@pytest.mark.usefixtures("no_random_asks")
@pytest.mark.parametrize(
    ("beta", "confidence", "ask", "learned"),
    [(0.25, 0.5, False, [1]), (0.25, 0.51, False, []), (0.26, 0.5, True, [])],
)
def test_a_gap_at_the_threshold_is_not_asked_for_and_one_at_the_confidence_is_learned(
    beta, confidence, ask, learned, monkeypatch
):
    """f(î) - f(i°) < 2γβ asks, ≥ confidence is a pseudo-label: 0.5 to the last bit."""
    learner = Scored(0.25, 0.75)
    monkeypatch.setattr(query, "PSEUDO_LABEL_GAP", confidence)
    model = active.INeurALSampler(learner, gamma=1.0, width=ConstantWidth(beta))
    assert model.predict_one({"a": 1.0}) == (1, ask)
    assert learner.pseudo_labels == learned
    assert "threshold" in model.debug_one({"a": 1.0})


DELAYS = {
    "no delay": {},
    "delay": {"delay": 7},
    "moment and delay": {
        "moment": lambda x: dt.datetime(2024, 1, 1) + dt.timedelta(hours=x["f0"] // 10),
        "delay": dt.timedelta(hours=3),
    },
    "longer than the stream": {"delay": 10**6},
}


def shaped(shape, **settings):
    """A classifier, the scaler before it if there is one, a sampler, and what River evaluates."""
    classifier, scaler = small(), preprocessing.StandardScaler()
    inner = {
        "around a scaler": scaler | classifier,
        "around two steps": Pipeline(scaler, preprocessing.MinMaxScaler(), classifier),
    }.get(shape, classifier)
    sampler = active.INeurALSampler(inner, seed=1, **settings)
    if shape == "last step":
        return classifier, scaler, sampler, scaler | sampler
    return classifier, None if shape == "alone" else scaler, sampler, sampler


@pytest.mark.parametrize("timing", list(DELAYS.values()), ids=list(DELAYS))
@pytest.mark.parametrize("shape", ["alone", "around a scaler", "around two steps", "last step"])
def test_progressive_validation(shape, timing):
    """Unsupervised steps see every round once, asked or not, and however late the label."""
    classifier, scaler, sampler, model = shaped(shape, width=every_gap, budget=20)
    stream = [({**x, "f0": 10.0 * t}, y, {"w": 0.5 + t}) for t, (x, y) in enumerate(STREAM)]
    metric = metrics.CrossEntropy() if timing else metrics.Accuracy()
    *_, last = evaluate.iter_progressive_val_score(
        stream, model, metric, step=len(STREAM), **timing
    )
    assert last["Step"] == sampler.n_rounds == len(STREAM)
    n = sampler.n_queries
    assert last["Samples used"] == n
    assert n == 20 or (timing["delay"] == 10**6 and 15 < n < 20)  # some are held back until then
    known = dump(classifier)
    history = known.history
    assert history.added == [n, sampler.n_pseudo_labels - len(known.waiting)]
    weights = history.weight[:n].tolist()  # those of the data set, in its order
    assert weights == sorted({*weights}) == [math.floor(w) + 0.5 for w in weights]
    if shape != "last step":  # where the sampler is given another x by then
        assert sampler.n_pending == 0
    if shape.startswith("around"):
        assert set(scaler.counts.values()) == {len(STREAM)}
        for name in ("f0", "f1"):
            values = [x[name] for x, *_ in stream]
            assert scaler.means[name] == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("predicted", [True, False])
def test_unsupervised_steps_see_once_what_was_not_asked_for(predicted):
    _, scaler, model, _ = shaped("around a scaler", budget=10)
    for x, y in STREAM:
        if predicted:
            model.predict_one(x)
        model.learn_one(x, y)
    assert set(scaler.counts.values()) == {len(STREAM)}


def test_a_step_that_learns_nothing_is_applied_once_a_round():
    applied = []
    model = active.INeurALSampler(FuncTransformer(lambda x: applied.append(x) or x) | small())
    for x, _ in STREAM[:5]:
        model.predict_one(x)
    assert applied == [x for x, _ in STREAM[:5]]


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sampler_takes_what_the_first_step_takes(kind, delay):
    """Text, or the words of one. River's evaluation gives a copy of x to `predict_one`."""
    plain = {"strip_accents": False, "lowercase": False, "tokenizer": list}
    for form, steps in ((str, {}), (str.split, plain)):
        words = feature_extraction.BagOfWords(**steps)
        model = {
            "ineural": active.INeurALSampler(words | small(), seed=1),
            "random": active.RandomSampler(words | naive_bayes.MultinomialNB(), p=1.0, seed=1),
            "margin": active.MarginSampler(words | naive_bayes.MultinomialNB(), threshold=1.0),
        }[kind]
        stream = [(form(f"{w} {i % 7}"), w == "spam") for i in range(30) for w in ("spam", "ham")]
        metric = evaluate.progressive_val_score(stream, model, metrics.Accuracy(), delay=delay)
        assert metric.get() > 0.8
        assert model.n_queries > 0
        assert model.n_pending == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_drawn_from_the_same_seed_does_not_decide_what_is_asked(seed):
    model, asked = active.RandomSampler(SoftmaxRegression(), p=0.1, seed=seed), []
    rng = random.Random(seed)
    for _ in range(2_000):
        value = rng.random()
        if model.predict_one({"a": value})[1]:
            asked.append(value)
    assert statistics.mean(asked) == pytest.approx(0.5, abs=0.1)  # 5 standard errors


@pytest.mark.parametrize("kind", [active.RandomSampler, active.MarginSampler])
def test_other_samplers_pass_weights_on(kind):
    sampler, plain = kind(linear_model.LogisticRegression()), linear_model.LogisticRegression()
    for x, y in STREAM[:20]:
        sampler.learn_one(x, y > 0, w=3.0)
        plain.learn_one(x, y > 0, w=3.0)
    x = STREAM[20][0]
    assert sampler.classifier.predict_proba_one(x) == plain.predict_proba_one(x)


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_an_anomaly_filter_keeps_examples_from_labels_by_name_too(threshold):
    """With a threshold of 0 it keeps all of them."""
    learned = []
    for by_name in (False, True):
        kept = anomaly.ThresholdFilter(anomaly.HalfSpaceTrees(seed=1, window_size=20), threshold)
        model = active.INeurALSampler(kept | small(), seed=1)
        for x, y in STREAM[:60]:
            decision = model.decide_one(x)
            if decision.asked and by_name:
                model.answer(decision.query, y)
            elif decision.asked:
                model.learn_one(x, y)
        assert model.n_pending == 0
        learned.append(model.classifier[-1].n_labels)
    assert learned[0] == learned[1] == (0 if threshold == 0 else model.n_queries)


@pytest.mark.parametrize("kind", [active.INeurALSampler, active.MarginSampler])
def test_steps_that_learn_labels_make_a_late_example_anew(kind):
    """It would hold what they knew in its round, as nothing at first, and be wrong for ever."""
    name = next(iter(STREAM[0][0]))
    stream = [({name: round(x[name]), "other": i % 7}, y) for i, (x, y) in enumerate(STREAM[:90])]
    said = []
    for by_name in (False, True):
        steps = feature_extraction.TargetAgg(by=[name], how=stats.Mean()) + FuncTransformer(dict)
        model, late = kind(steps | small(), seed=1), []
        for x, y in stream:
            decision = model.decide_one(x)
            said.append((decision.label, decision.asked, decision.probabilities))
            late.append((decision.query, x, y))
            query, x, y = late.pop(0) if len(late) > 20 else (None, x, y)
            if query and by_name:
                model.answer(query, y)
            elif query:
                model.learn_one(x, y)
        union, _ = model.classifier.steps.values()
        assert union.transformers["TargetAgg"].state.max() > 0
    assert said[: len(stream)] == said[len(stream) :]


def test_a_late_label_by_name_teaches_no_step_the_example_again():
    """Labels that nobody asked for come between."""
    scaler = preprocessing.StandardScaler()
    steps = scaler | feature_selection.SelectKBest(stats.PearsonCorr(), k=2) | small()
    model = active.INeurALSampler(steps, seed=1)
    query = model.decide_one(STREAM[0][0]).query
    for x, y in STREAM[1:6]:
        model.learn_one(x, y, asked=False)
    counts = dict(model.classifier["StandardScaler"].counts)
    model.answer(query, STREAM[0][1])
    assert model.classifier["StandardScaler"].counts == counts


@pytest.mark.parametrize("of_labels", [False, True])
@pytest.mark.parametrize("kind", [active.INeurALSampler, active.MarginSampler])
def test_a_label_by_name_may_come_with_what_steps_take(kind, of_labels):
    """As of a step that needs the time: the last one does not get what it does not take."""
    mean = utils.TimeRolling(stats.Mean, period=dt.timedelta(days=1))
    step = feature_extraction.Agg(next(iter(STREAM[0][0])), None, mean)
    if of_labels:
        step = feature_extraction.TargetAgg(None, mean)
    steps = FuncTransformer(dict) + step
    learner = small(explorers=("network",))  # not sure of what it has seen: it asks each time
    model, now = kind(steps | learner, seed=1), dt.datetime(2024, 1, 1)
    for x, y in STREAM[:10] * 2:
        now += dt.timedelta(hours=1)
        model.answer(model.decide_one(x, t=now).query, y, t=now, w=2.0)
    *_, step = model.classifier["TransformerUnion"].transformers.values()  # its own copy
    (told,) = step.transform_one(x).values()
    of_each = [y if of_labels else x[next(iter(x))] for x, y in STREAM[:10]]
    assert told == pytest.approx(statistics.mean(of_each))
    assert model.classifier[-1].n_labels == model.n_queries == 20


@pytest.mark.parametrize("kind", [active.INeurALSampler, active.RandomSampler])
def test_debug_one_of_a_pipeline_around_a_sampler_is_no_round(kind):
    model = preprocessing.StandardScaler() | kind(small(), budget=20, seed=1)
    for x, y in STREAM[:5]:
        model.predict_one(x)
        model.learn_one(x, y)
    with pytest.raises(TypeError, match="that of the sampler's classifier"):
        model.debug_one(x)
    assert model[-1].n_rounds == 5
    _thread.start_new_thread(model[-1].predict_proba_one, (x,))  # which no other function calls
    until = time.monotonic() + 60
    while model[-1].n_rounds < 6 and time.monotonic() < until:
        time.sleep(0.01)
    assert model[-1].n_rounds == 6


@pytest.mark.usefixtures("no_random_asks")
@pytest.mark.parametrize("shape", ["alone", "around a scaler"])
def test_debug_one_says_what_the_next_round_does(shape):
    """With labels on their way, a budget that shrinks, and a newcomer; it changes nothing."""
    budget, newcomer = Budget(0.1, burst=200), 0
    _, _, model, _ = shaped(shape, gamma=1e3, budget=budget)
    for i, (x, y) in enumerate(STREAM):
        if i >= 10 and i % 3:
            text, after = model.debug_one(x), copy.deepcopy(model)
            assert after.predict_one(x)
            assert f"threshold: {after.last_decision.threshold:.5f}" in text
            assert all(
                str(label) in text for label in find_learner(model.classifier)[0].known_labels
            )
            newcomer += model._late
        model.predict_one(x)
        if i % 10:
            model.learn_one(x, y if i > 110 else y % 2)
    assert model.n_pending == 12
    assert newcomer


@pytest.mark.parametrize("shape", ["alone", "around a scaler"])
def test_debug_one_forgets_no_question(shape, monkeypatch):
    """Though it looks a round ahead, in which the oldest would be too old."""
    monkeypatch.setattr(questions, "PATIENCE", 20)
    _, _, model, _ = shaped(shape, gamma=1e12)
    for x, _ in STREAM[:21]:
        model.predict_one(x)
    model.debug_one(STREAM[21][0])
    model.answer(1, STREAM[0][1])
    assert model.n_pending == 20


def test_a_caller_s_own_context_goes_on():
    """Beside a sampler the steps of another pipeline learn in predictions, as they do alone."""
    stream = [x for x, _ in blobs(20)]

    def n_learned(beside):
        scaler = preprocessing.StandardScaler()
        pipeline = scaler | SoftmaxRegression()
        with learn_during_predict():
            for x in stream:
                pipeline.predict_one(x)
                beside.predict_one(x)
        return scaler.counts

    around = preprocessing.StandardScaler() | small()
    assert n_learned(active.INeurALSampler(around)) == n_learned(SoftmaxRegression())
    assert not vars(Pipeline)["_LEARN_UNSUPERVISED_DURING_PREDICT"]
