"""The samplers: budgets, rounds, pipelines, delays, weights, pseudo-labels."""

from __future__ import annotations

import copy
import datetime as dt
import math
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from river import evaluate, feature_extraction, linear_model, metrics, naive_bayes, preprocessing
from river.compose import Pipeline
from streams import Eager, Scored, WithoutAudits, blobs

from river_ineural import INeurAL, active
from river_ineural.active import Budget, ConstantWidth, TheoreticalWidth, ineural
from river_ineural.active.learner import route
from river_ineural.network.scores import top_and_gap

ROUNDS, LEAST = 2_500, 20  # stated in the samplers' docstrings
STREAM = blobs(120, n_features=4, n_classes=3, seed=1)


def small(**settings):
    return INeurAL(**{"hidden_dim": 8, "batch_size": 8, "seed": 1, **settings})


def eager(kind, budget=None, horizon=None):
    """A sampler that would ask at every round, whether or not the labels come."""
    if kind == "random":
        inner, asks = linear_model.SoftmaxRegression(), {"p": 1.0}
        return active.RandomSampler(inner, budget=budget, horizon=horizon, seed=1, **asks)
    if kind == "margin":
        inner = linear_model.SoftmaxRegression()
        return active.MarginSampler(inner, threshold=1.0, budget=budget, horizon=horizon)
    return Eager(small(lr=0.01), budget=budget, horizon=horizon, seed=1)


KINDS = ["random", "margin", "ineural"]
WORDS = ("spam", "ham")


# Budgets

budgets = st.one_of(
    st.tuples(st.integers(0, 30), st.none() | st.integers(1, 200)),
    st.tuples(st.integers(0, 100).map(lambda n: n / 100), st.none() | st.integers(1, 200)),
)
operations = st.lists(
    st.sampled_from(
        ["predict", "predict_proba", "learn oldest", "learn newest", "drop", "learn any"]
    ),
    max_size=60,
)


def cap(budget, horizon, t):
    """The most labels that may have been asked for by round t, computed without rounding."""
    if isinstance(budget, int):
        return budget
    share = Fraction(repr(budget))
    if horizon:
        return math.floor(share * horizon)
    return math.floor(share * t + max(LEAST, math.floor(share * ROUNDS)))


@pytest.mark.parametrize("kind", KINDS)
@given(budget_and_horizon=budgets, operations=operations)
def test_budget_is_a_hard_cap_in_any_calling_order(kind, budget_and_horizon, operations):
    """However predictions and labels interleave, however late, lost or unasked labels are."""
    budget, horizon = budget_and_horizon
    model = eager(kind, budget, horizon)
    waiting, n_asked, n_rounds = [], 0, 0
    for i, operation in enumerate(operations):
        x, y = STREAM[i]
        if operation.startswith("predict"):
            predict = model.predict_one if operation == "predict" else model.predict_proba_one
            _, ask = predict(x)
            n_rounds += 1
            if ask:
                n_asked += 1
                waiting.append((x, y))
        elif operation == "learn any":
            model.learn_one(x, y)
        elif waiting:
            x, y = waiting.pop(-1 if operation == "learn newest" else 0)
            if operation != "drop":
                model.learn_one(x, y)
        assert n_asked <= cap(budget, horizon, n_rounds)
        assert (model.n_queries, model.n_rounds) == (n_asked, n_rounds)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("budget", "horizon", "by_round"),
    [
        (0.1, 100, lambda t: 10),
        (0.29, 100, lambda t: 29),  # 28.999… in floating point
        (0.125, 60, lambda t: 7),
        (1.0, 50, lambda t: 50),
        *((0, n, lambda t: 0) for n in (None, 1000)),
        *((1, n, lambda t: 1) for n in (None, 1000)),  # no share of 100 %
        *((7, n, lambda t: 7) for n in (None, 1000)),
        (Budget(0.2, burst=20), None, lambda t: Fraction("0.2") * (t - 1) + 20),
        (None, None, lambda t: t),
    ],
)
def test_what_a_budget_buys_where_every_round_wants_a_label(kind, budget, horizon, by_round):
    model = eager(kind, budget, horizon)
    for t, (x, y) in enumerate(STREAM, start=1):
        if model.predict_one(x)[1]:
            model.learn_one(x, y)
        assert model.n_queries == min(t, math.floor(by_round(t)))


# Query rule


THEORY = TheoreticalWidth


@pytest.mark.parametrize(
    ("width", "arguments", "expected"),
    [
        (THEORY(0.1, 12_000), (1, 2, 2), 10.63448),  # √2 + 6/√2 + √(2 log 240,000)
        (THEORY(0.1, 12_000), (4, 2, 2), 10.63448 / 2),  # all three terms are halved
        # √(8/8) + 0.5 · 9/√16 + √(2 log 30,000 / 8)
        (THEORY(0.05, 100, c1=4, c2=0.5, c3=3), (8, 5, 3), 3.730378),
        # T is 2 · 3: √2 + 4.5/√4 + √(log 1,440)
        (THEORY(0.05, c1=2, c2=0.5, c3=4), (2, 3, 3), 6.360953),
        *((ConstantWidth(0.3), (t, k, 2), 0.3) for t in (1, 10**6) for k in (2, 50)),
    ],
)
def test_widths_by_hand(width, arguments, expected):
    """β_t at t, k and L (Algorithm 1, line 11), with pencil and a table of logarithms."""
    assert width(*arguments) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("width", "settings"),
    [
        (ConstantWidth, {"beta": -0.1}),
        (ConstantWidth, {"beta": math.nan}),
        (TheoreticalWidth, {"delta": 0}),
        (TheoreticalWidth, {"delta": 1}),
        (TheoreticalWidth, {"horizon": 0}),
        (TheoreticalWidth, {"c1": -1}),
        (TheoreticalWidth, {"c2": math.inf}),
        (TheoreticalWidth, {"c3": 0.5}),
    ],
)
def test_widths_check_their_parameters(width, settings):
    """The error names the parameter."""
    with pytest.raises(ValueError, match=rf"\b{next(iter(settings))}\b"):
        width(**settings)


def trained(kind=WithoutAudits, **settings):
    """A sampler over a classifier that knows the stream well."""
    classifier = small(hidden_dim=32, batch_size=32, explorers=())  # of which few gaps are small
    for x, y in STREAM * 3:
        classifier.learn_one(x, y)
    return kind(classifier, **settings)


def test_predictions_are_those_of_the_classifier_before_it_learns():
    """Label and probabilities of a round come from the classifier as it was, for every sampler."""
    for kind in KINDS:
        model = eager(kind, budget=30)
        for i, (x, y) in enumerate(STREAM):
            before = copy.deepcopy(model.classifier)
            if i % 2:
                predicted, ask = model.predict_one(x)
                assert predicted == before.predict_one(x)
            else:
                predicted, ask = model.predict_proba_one(x)
                assert predicted == before.predict_proba_one(x)
            if ask:
                model.learn_one(x, y)
        if kind == "ineural":
            assert model.n_pseudo_labels > 10


# In River: pipelines, delays, weights

DELAYS = {
    "no delay": {},
    "delay": {"delay": 7},
    "moment and delay": {
        "moment": lambda x: dt.datetime(2024, 1, 1) + dt.timedelta(hours=x["f0"] // 10),
        "delay": dt.timedelta(hours=3),
    },
    "longer than the stream": {"delay": 10**6},
}


def ordered(stream):
    """The stream with a first feature that only grows, to serve as a clock."""
    return [({**x, "f0": 10.0 * t}, y) for t, (x, y) in enumerate(stream)]


@pytest.mark.parametrize("timing", list(DELAYS.values()), ids=list(DELAYS))
@pytest.mark.parametrize("nested", [False, True], ids=["scaler", "two steps"])
def test_unsupervised_steps_see_every_round_once(nested, timing):
    """Around a pipeline, asked or not, and however late the label."""
    steps = [preprocessing.StandardScaler()]
    if nested:
        steps.append(preprocessing.MinMaxScaler())
    pipeline = Pipeline(*steps, small())
    model = active.INeurALSampler(pipeline, budget=0.3, horizon=len(STREAM), seed=1)
    stream = ordered(STREAM)
    evaluate.progressive_val_score(stream, model, metrics.Accuracy(), **timing)
    assert 0 < model.n_queries <= 36 < model.n_rounds == len(STREAM)
    scaler = pipeline["StandardScaler"]
    assert set(scaler.counts.values()) == {len(STREAM)}
    for name in ("f0", "f1"):
        values = [x[name] for x, _ in stream]
        assert scaler.means[name] == pytest.approx(sum(values) / len(values))


@pytest.mark.parametrize("predicted", [True, False])
def test_unsupervised_steps_see_once_what_was_not_asked_for(predicted):
    """A label that comes all the same, or an example of a warm start, without a round."""
    pipeline = preprocessing.StandardScaler() | small()
    model = active.INeurALSampler(pipeline, budget=10, seed=1)
    for x, y in STREAM:
        if predicted:
            model.predict_one(x)
        model.learn_one(x, y)
    assert set(pipeline["StandardScaler"].counts.values()) == {len(STREAM)}


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sampler_takes_what_the_first_step_takes(kind, delay):
    """Text, or the words of one: labels that were asked for are expected and settled, however late.

    River's evaluation gives a copy of x to `predict_one`.
    """
    plain = {"strip_accents": False, "lowercase": False, "tokenizer": list}
    for form, steps in ((str, {}), (str.split, plain)):
        words = feature_extraction.BagOfWords(**steps)
        if kind == "ineural":
            model = active.INeurALSampler(words | small(), seed=1)
        elif kind == "random":
            model = active.RandomSampler(words | naive_bayes.MultinomialNB(), p=1.0, seed=1)
        else:
            model = active.MarginSampler(words | naive_bayes.MultinomialNB(), threshold=1.0)
        stream = [(form(f"{word} {i % 7}"), word == "spam") for i in range(30) for word in WORDS]
        metric = evaluate.progressive_val_score(stream, model, metrics.Accuracy(), delay=delay)
        assert metric.get() > 0.8
        assert model.n_queries > 0
        assert model.n_pending == 0
        x, y = stream[0]
        model.predict_one(x)
        model.learn_one(copy.deepcopy(x), y)
        assert model.n_pending == 0


def shaped(shape, kind, **settings):
    """A classifier, a sampler, and what River evaluates."""
    classifier = small()
    inner = preprocessing.StandardScaler() | classifier if "around" in shape else classifier
    sampler = kind(inner, seed=1, **settings)
    return (
        classifier,
        sampler,
        (preprocessing.StandardScaler() | sampler if shape == "last step" else sampler),
    )


@pytest.mark.parametrize("timing", list(DELAYS.values()), ids=list(DELAYS))
@pytest.mark.parametrize("metric", [metrics.Accuracy, metrics.CrossEntropy])
@pytest.mark.parametrize("shape", ["alone", "around a pipeline", "last step"])
def test_progressive_validation(shape, metric, timing):
    """River's evaluation sees each round, teaches each label asked for, and no other."""
    classifier, sampler, model = shaped(shape, Eager, budget=20)
    *_, last = evaluate.iter_progressive_val_score(
        ordered(STREAM), model, metric(), step=len(STREAM), **timing
    )
    assert last["Step"] == sampler.n_rounds == len(STREAM)
    assert last["Samples used"] == sampler.n_queries == 20
    assert classifier._state.history.added == [20, sampler.n_pseudo_labels]


def test_accuracy_survives_a_delay():
    """Late labels still teach: three times better than the guess among three classes allows."""
    model = active.INeurALSampler(INeurAL(seed=1), budget=60, seed=1)
    stream = blobs(400, n_features=6, n_classes=3, seed=2, noise=0.3)
    score = evaluate.progressive_val_score(stream, model, metrics.Accuracy(), delay=20)
    assert score.get() > 0.8


@pytest.mark.parametrize("timing", [{}, {"delay": 5}], ids=["no delay", "delay"])
@pytest.mark.parametrize("shape", ["alone", "around a pipeline", "last step"])
def test_weights_reach_the_history(shape, timing):
    """(x, y, {"w": 2.0}) in the data set weighs the stored example by 2."""
    classifier, _, model = shaped(shape, active.INeurALSampler, gamma=1e6)
    stream = [(x, y, {"w": 0.5 + t}) for t, (x, y) in enumerate(STREAM[:20])]
    evaluate.progressive_val_score(stream, model, metrics.Accuracy(), **timing)
    assert classifier._state.history.weight[:20].tolist() == [0.5 + t for t in range(20)]


@pytest.mark.parametrize("kind", ["random", "margin"])
def test_other_samplers_pass_weights_on(kind):
    """Kinds that wrap any classifier give it the weight too."""
    kinds = {"random": active.RandomSampler, "margin": active.MarginSampler}
    sampler = kinds[kind](linear_model.LogisticRegression())
    plain = linear_model.LogisticRegression()
    for x, y in STREAM[:20]:
        sampler.learn_one(x, y > 0, w=3.0)
        plain.learn_one(x, y > 0, w=3.0)
    x = STREAM[20][0]
    assert sampler.classifier.predict_proba_one(x) == plain.predict_proba_one(x)


def test_debug_one_shows_gap_and_threshold():
    """debug_one is pure, alone and around a pipeline, and prints this round's numbers."""
    for inner in (small(), preprocessing.StandardScaler() | small()):
        model = active.INeurALSampler(inner, gamma=2.0, width=ConstantWidth(0.125), seed=1)
        for x, y in STREAM[:20]:
            model.predict_one(x)
            model.learn_one(x, y)
        n_rounds = model.n_rounds
        text = model.debug_one(STREAM[20][0])
        assert "threshold: 0.50000" in text
        assert all(str(label) in text for label in route(inner)[0].known_labels)
        assert model.n_rounds == n_rounds


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.floats(0, 1))
def test_random_sampler_is_the_coin_it_says(seed, p):
    """The same seed gives the same asks, and about a share p of them."""
    inner = linear_model.SoftmaxRegression()
    first, second = (active.RandomSampler(inner.clone(), p=p, seed=seed) for _ in range(2))
    x = STREAM[0][0]
    asks = [first.predict_one(x)[1] for _ in range(400)]
    assert asks == [second.predict_one(x)[1] for _ in range(400)]
    assert abs(sum(asks) / 400 - p) <= 6 * math.sqrt(p * (1 - p) / 400) + 1e-9


@pytest.mark.parametrize(("threshold", "ask"), [(0.49, False), (0.5, False), (0.51, True)])
def test_a_margin_at_the_threshold_is_wide_enough(threshold, ask):
    """Asked for is what is below it: 0.625 - 0.125 is 0.5 to the last bit."""
    model = active.MarginSampler(Scored(0.125, 0.625, 0.125, 0.125), threshold=threshold)
    assert model.predict_one({"a": 1.0}) == (1, ask)


def test_with_one_class_known_there_are_no_pseudo_labels(monkeypatch):
    """Not even where any gap is enough and the budget is spent: the guess would be no guess."""
    monkeypatch.setattr(ineural, "CONFIDENCE", 0.0)
    model = active.INeurALSampler(small(), budget=1, seed=1)
    for i, (x, _) in enumerate(STREAM[:10]):
        assert model.predict_one(x)[1] == (i == 0)
        if i == 0:
            model.learn_one(x, "only")
    assert model.n_pseudo_labels == 0
    model.learn_one(STREAM[10][0], "other")
    assert not model.predict_one(STREAM[11][0])[1]
    assert model.n_pseudo_labels == 1


def test_a_gap_at_the_threshold_is_not_asked_for_and_one_at_the_confidence_is_learned(
    monkeypatch,
):
    """f(î) - f(i°) < 2γβ asks, ≥ confidence is a pseudo-label: 0.5 to the last bit."""
    for beta, confidence, ask, learned in (
        (0.25, 0.5, False, [1]),
        (0.25, 0.51, False, []),
        (0.26, 0.5, True, []),
    ):
        learner = Scored(0.25, 0.75)
        monkeypatch.setattr(ineural, "CONFIDENCE", confidence)
        model = WithoutAudits(learner, gamma=1.0, width=ConstantWidth(beta))
        assert model.predict_one({"a": 1.0}) == (1, ask)
        assert learner.pseudo_labels == learned


def test_the_width_gets_the_round_the_classes_and_the_depth_of_the_learner():
    calls = []
    learner = Scored(0.25, 0.75)
    learner.n_layers = 3
    model = active.INeurALSampler(learner, width=lambda *given: calls.append(given) or 0.0)
    model.predict_one({"a": 1.0})
    model.debug_one({"a": 1.0})
    assert calls == [(1, 2, 3), (2, 2, 3)]


def test_a_budget_that_is_overspent_leaves_nothing():
    """As after it was lowered: no share below 0."""
    model = trained(Eager, budget=0.5, self_training=False)
    for _ in range(40):
        model._account.spend()
    for budget in (0.1, 5):
        model.mutate({"horizon": 120 if budget == 0.1 else None, "budget": budget})
        assert model._account.share(reserve=False) == model._account.share(reserve=True) == 0
        assert not any(model.predict_one(x)[1] for x, _ in STREAM[:40])


@given(st.lists(st.one_of(st.floats(), st.sampled_from([0.5, math.inf, -math.inf])), max_size=4))
def test_the_top_is_that_of_max_and_the_gap_that_of_the_sorted(scores):
    """Whatever is infinite or NaN; -inf is no runner-up."""
    named = {chr(97 + i): score for i, score in enumerate(scores)}
    top, margin = top_and_gap(named)
    assert top == (max(named, key=named.__getitem__) if named else None)
    ranked = sorted(scores, reverse=True)
    if any(map(math.isnan, scores)):
        assert math.isnan(margin)
    elif len(scores) < 2 or ranked[1] == -math.inf:
        assert margin == 0
    else:
        between = ranked[0] - ranked[1]
        assert margin == between or (math.isnan(margin) and math.isnan(between))
