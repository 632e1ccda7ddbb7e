"""Questions by name: answered, corrected and withdrawn; and labels that come with features."""

import copy
import enum
import itertools
import json
import pickle
from decimal import Decimal

import hypothesis.strategies as st
import kept
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from river import (
    compose,
    datasets,
    evaluate,
    feature_extraction,
    metrics,
    naive_bayes,
    preprocessing,
    stats,
    tree,
)
from river.linear_model import SoftmaxRegression
from streams import blobs, dump, shifting, small, waits_its_turn

from river_ineural import INeurAL, active, baselines
from river_ineural.active import base, questions
from river_ineural.persistence import LoadError, from_bytes, to_bytes

STREAM = blobs(300, n_features=4, n_classes=3, seed=1)
PHISHING = list(datasets.Phishing())


def sampler(**given):
    return active.INeurALSampler(small(), **{"seed": 1, **given})


def right_at_the_end(decisions, stream, n=400):
    pairs = zip(decisions[-n:], stream[-n:], strict=True)
    return np.mean([decision.label == y for decision, (_, y) in pairs])


# Late labels


def late(shape, seed, delay=50):
    """A sampler after Phishing with 5 % of the labels, late by some rounds, and its accuracy."""
    scaler, learner = preprocessing.StandardScaler(), INeurAL(seed=seed)
    inner = scaler | learner if shape == "around a pipeline" else learner
    model = active.INeurALSampler(inner, budget=0.05, horizon=1250, seed=seed)
    if shape == "by name":
        decisions, accuracy = [], metrics.Accuracy()
        for t, (x, y) in enumerate(PHISHING):
            if t > delay and (query := decisions[t - delay - 1].query):
                model.answer(query, PHISHING[t - delay - 1][1])
            decisions.append(model.decide_one(x))
            accuracy.update(y, decisions[-1].label)
        return model, accuracy.get()
    whole = scaler | model if shape == "last step" else model
    return model, evaluate.progressive_val_score(
        PHISHING, whole, metrics.Accuracy(), delay=delay
    ).get()


@pytest.mark.parametrize("shape", ["alone", "around a pipeline", "last step", "by name"])
def test_late_labels_answer_their_questions(shape):
    """Whatever a scaler before the sampler has made of their features meanwhile."""
    model, accuracy = late(shape, seed=1)
    due = [each for each in model.queries() if each.round <= model.n_rounds - 51]
    assert due == []
    assert model.n_queries == 62
    assert accuracy > 0.85


@pytest.mark.parametrize("kind", ["StandardScaler", "AdaptiveStandardScaler"])
def test_labels_that_come_at_once_answer_their_questions_after_a_scaler(kind):
    """Which moves between the question and its label, this one by a third."""
    model = active.INeurALSampler(small(), budget=0.1, seed=1)
    whole = getattr(preprocessing, kind)() | model
    evaluate.progressive_val_score(PHISHING[:600], whole, metrics.Accuracy())
    assert (model.n_pending, model.classifier.n_labels) == (0, model.n_queries)


CHANGED = {
    "rounded": lambda x: {name: float(np.float32(value)) for name, value in x.items()},
    "without zeros": lambda x: {name: value for name, value in x.items() if value},
    "both, in JSON": lambda x: json.loads(json.dumps({k: round(v, 3) for k, v in x.items() if v})),
    "moved a little": lambda x: {name: 0.98 * value + 0.01 for name, value in x.items()},
}


@pytest.mark.parametrize("kind", ["ineural", "random"])
@pytest.mark.parametrize("change", CHANGED)
def test_features_that_come_back_changed_find_their_question(change, kind):
    """Each its own, for 40 wait; and a label of an example that was not asked for finds none."""
    stream = [({**x, "flag": float(t % 2)}, y) for t, (x, y) in enumerate(STREAM)]
    model = sampler(gamma=1e12)
    if kind == "random":
        model = active.RandomSampler(naive_bayes.GaussianNB(), p=1.0, seed=1)
    for t, (x, _) in enumerate(stream):
        model.predict_one(x)
        if t >= 40:
            model.learn_one(CHANGED[change](stream[t - 40][0]), stream[t - 40][1])
            assert [each.query for each in model.queries()] == [*range(t - 38, t + 2)]
    if change in ("moved a little", "both, in JSON"):  # then labels are believed to come in order
        return
    model.learn_one({name: value + 0.5 for name, value in stream[5][0].items()}, 1)
    model.learn_one({"f0": 1.0}, 1)
    assert model.n_pending == 40


def test_labels_that_answer_nothing_are_told_once(recwarn):
    """While as many questions wait; not of a warm start, nor where all labels are learned late."""
    model = sampler(budget=60)
    for t, (x, _) in enumerate(STREAM):
        model.predict_one(x)
        if t >= 20:
            model.learn_one(*STREAM[t - 20])
    assert not recwarn
    model = sampler(gamma=1e12)
    for x, y in STREAM[:30]:
        model.learn_one(x, y)
    for x, _ in STREAM[30:60]:
        model.predict_one(x)
    for i in range(30):
        model.learn_one({"other": float(i)}, 1)
    (told,) = [str(each.message) for each in recwarn]
    assert told.startswith("10 of 10 labels answered no question, while 30 questions wait")
    assert "answer(decide_one(x).query, y)" in told


def test_labels_that_come_too_late_are_told_so(monkeypatch, recwarn):
    monkeypatch.setattr(questions, "PATIENCE", 50)
    model = sampler(gamma=1e12)
    for t, (x, _) in enumerate(STREAM[:120]):
        model.predict_one(x)
        if t >= 60:
            model.learn_one(*STREAM[t - 60])
    (told,) = [str(each.message) for each in recwarn]
    assert told.endswith("A question waits for 50 rounds: later labels answer none.")


@pytest.mark.parametrize("n_features", [4, 9])
def test_labels_that_nobody_asked_for_seldom_take_a_question(n_features):
    """Of a pipeline whose scaler moves, with as many such labels as answers, 50 rounds late."""
    rng, scaler, asked = np.random.default_rng(1), preprocessing.StandardScaler(), {}
    model, answered, taken = active.RandomSampler(SoftmaxRegression(), p=0.1, seed=1), 0, 0
    rows = [dict(enumerate(row)) for row in rng.normal(3, 2, (2_000, n_features)).tolist()]

    def settled_by(x):
        before = {each.query for each in model.queries()}
        model.learn_one(scaler.transform_one(x), 1)
        return before - {each.query for each in model.queries()}

    for t, x in enumerate(rows):
        scaler.learn_one(x)
        if t - 50 in asked:
            answered += settled_by(asked[t - 50]) == {t - 49}
        if rng.random() < 0.1:
            taken += settled_by(rows[t - 1_000]) != set()
        if model.predict_one(scaler.transform_one(x))[1]:
            asked[t] = x
    assert len(asked) > 180
    assert answered > 0.7 * len(asked)
    assert taken < 0.2 * len(asked)


@pytest.mark.filterwarnings("ignore:10 of 1[0-3] labels answered no question")
def test_labels_of_other_rows_take_no_question_where_most_values_are_zero():
    """Such rows differ in one or two features, and are near to many; some are all 0."""
    rng = np.random.default_rng(5)
    amounts = np.where(rng.random((600, 6)) < 0.75, 0.0, rng.lognormal(3, 1, (600, 6)).round(2))
    rows = [dict(zip("abcdef", row, strict=True)) for row in amounts.tolist()]
    model = active.RandomSampler(SoftmaxRegression(), p=0.15, seed=1)
    for x in rows[:400]:
        model.predict_one(x)
    waited = model.n_pending
    others = [x for x in rows[400:] if any(x.values()) and x not in rows[:400]]
    for x in others[:60]:
        model.learn_one(x, 1)
    assert waited > 50
    assert waited - model.n_pending <= 3


def test_a_question_whose_name_was_told_is_not_answered_by_what_resembles_it(recwarn):
    """Nor after a file; equal features find it, and those that a rounding has changed."""
    rows = np.random.default_rng(1).normal(size=(240, 2)).tolist()
    model = sampler(gamma=1e12)
    asked = {model.decide_one({"a": a, "b": b}).query: {"a": a, "b": b} for a, b in rows[:40]}
    model = from_bytes(to_bytes(model))
    first, second, *others = asked
    model.answer(first, True)
    for a, b in rows[40:]:
        model.learn_one({"a": a, "b": b}, a > 0)
    assert [each.query for each in model.queries()] == [second, *others]
    assert not recwarn  # for a label was learned by its name
    model.learn_one({name: float(np.float32(value)) for name, value in asked[second].items()}, True)
    assert [each.query for each in model.queries()] == others


@pytest.mark.parametrize("odd", ["a", None, float("nan"), [1], True, 10**400, np.float32(2)])
def test_a_label_is_not_taken_for_an_answer_where_other_values_differ(odd):
    waiting = questions.Questions()
    for now, number in enumerate((0.1, 0.5, 0.9), 1):
        waiting.add({"a": number, "b": odd}, {}, now, "gap", 0.5)
    assert waiting._nearest({"a": 0.501, "b": copy.deepcopy(odd)}, 4)[0] == 2
    assert waiting._nearest({"a": 0.501, "b": "other"}, 4)[0] is None
    assert waiting._nearest({"a": "text", "b": odd}, 4)[0] is None


# Names


KINDS = {
    "ineural": lambda: sampler(budget=40),
    "in a pipeline": lambda: active.INeurALSampler(
        preprocessing.StandardScaler() | small(), budget=40, seed=1
    ),
    "random": lambda: active.RandomSampler(small(), p=0.5, seed=1),
    "margin": lambda: active.MarginSampler(SoftmaxRegression(), seed=1),
    "alps": lambda: baselines.ALPS(n_hypotheses=3, n_pretraining=20, seed=1),
    "ntk-f": lambda: baselines.NeuALNTKF(hidden_dim=8, seed=1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_decision_says_what_both_predictions_say_and_costs_one_round(kind):
    models = [KINDS[kind]() for _ in range(3)]
    for x, y in STREAM[:60]:
        y %= 2
        decision = models[0].decide_one(x)
        assert (decision.label, decision.asked) == models[1].predict_one(x)
        assert (decision.probabilities, decision.asked) == models[2].predict_proba_one(x)
        assert decision == models[0].last_decision or decision.gap != decision.gap
        assert decision.query == (models[0].n_rounds if decision.asked else None)
        if decision.asked:
            if kind == "in a pipeline":  # whose scaler has not moved since
                assert {each.query for each in models[0].queries()} == {decision.query}
            models[0].answer(decision.query, y)
            for model in models[1:]:
                model.learn_one(x, y)
    assert len({model.n_rounds for model in models}) == 1
    assert models[0].n_pending == 0
    assert models[0].n_queries > 5


@pytest.mark.parametrize("by", ["name", "features"])
def test_the_example_is_learned_as_it_was_seen(by):
    """However far the scaler has moved, and whatever the caller has done to x."""
    model = active.INeurALSampler(preprocessing.StandardScaler() | small(), seed=1)
    for x, y in STREAM[:20]:
        model.predict_one(x)
        model.learn_one(x, y)
    x, same, seen = dict(STREAM[20][0]), STREAM[20][0], []
    query = model.decide_one(x).query
    expected = model.classifier["StandardScaler"].transform_one(x)
    x.clear()
    for x, _ in STREAM[21:200]:
        model.predict_one({name: 100 * value for name, value in x.items()})
    means = dict(model.classifier["StandardScaler"].means)
    learn = model.classifier[-1].learn_one
    model.classifier[-1].learn_one = lambda x, y, **given: (seen.append((x, given)), learn(x, y))
    if by == "name":
        model.answer(query, 1, w=2.0)
    else:
        model.learn_one(same, 1, w=2.0)
    assert seen == [(expected, {"w": 2.0})]
    assert query not in [each.query for each in model.queries()]
    assert model.classifier["StandardScaler"].means == means


def test_names_that_cannot_be_answered_say_why(monkeypatch):
    model = sampler(gamma=1e12)
    queries = [model.decide_one(x).query for x, _ in STREAM[:6]]
    model.withdraw(queries[1])
    model.answer(queries[2], 1)
    before = to_bytes(model)
    wrong = {
        queries[1]: "was withdrawn",
        99: "No question has the name 99",
        "1": "the name '1'",
        True: "name True",
    }
    for query, said in wrong.items():
        for call in (lambda query: model.answer(query, 1), model.withdraw):
            with pytest.raises(LookupError, match=said):
                call(query)
    for label, query in itertools.product((None, 1.5j), (queries[0], queries[2])):
        with pytest.raises(TypeError):
            model.answer(query, label)
    assert to_bytes(model) == before
    monkeypatch.setattr(questions, "PATIENCE", 3)
    with pytest.raises(LookupError, match="Question 1 is too old: questions are kept for 3 rounds"):
        model.answer(queries[0], 1)
    model.answer(queries[4], 1)
    assert [each.query for each in model.queries()] == [4, 6]
    monkeypatch.setattr(questions, "MOST_BYTES", 1)
    model.predict_one(STREAM[6][0])
    assert model.queries() == []


def test_labels_are_corrected_in_the_history_and_learned_anew():
    """Reward and residual, and each tree that held the example; the same label changes nothing."""
    model = sampler(gamma=1e12)
    queries = [model.decide_one(x).query for x, _ in STREAM[:80]]
    for query, (_, y) in zip(queries, STREAM, strict=False):
        model.answer(query, y)
    before, history = to_bytes(model), dump(model).history
    model.answer(queries[70], STREAM[70][1])
    assert to_bytes(model) == before
    r1, r2 = history.targets[70].copy()
    forest, y = dump(model).explorers.by_name["forest"], (STREAM[70][1] + 1) % 3
    nodes = forest.child.copy()
    model.answer(queries[70], y)
    assert dump(model).labels[history.targets[70, 0].argmax()] == y
    np.testing.assert_allclose(r1 - r2, np.subtract(*history.targets[70]), atol=1e-6)
    assert 10 < (nodes != forest.child).any(axis=1).sum() < 64
    labels = [y for _, y in STREAM[:70]] + [y] + [y for _, y in STREAM[71:80]]
    assert {each: n for each, (n, _) in model._seen.items()} == {
        each: labels.count(each) for each in range(3)
    }
    assert (model.n_queries, model.n_pending, model.classifier.n_labels) == (80, 0, 80)
    model.answer(queries[70], "new")
    assert model.classifier.known_labels[-1] == "new"
    model.withdraw(queries[70])
    assert (history.weight[70], model.n_queries) == (0, 79)


@pytest.mark.filterwarnings("ignore:max_classes=2 reached")
@pytest.mark.parametrize("wrong", [None, "a typo, and no class"])
def test_what_was_taken_back_counts_again_with_another_label(wrong):
    """With the weight that it had, after a file and after growth too."""
    model = small(classes=("good", "bad"), max_classes=2)
    for i in range(20):
        model.learn_one({"a": 10.0 * (i % 2)}, "bad" if i % 2 else "good", w=1.0 + i)
    history = dump(model).history
    before = history.weight.copy(), history.targets.copy()
    for number in range(1, 21, 2):
        model.correct_one(number, wrong)
    assert history.weight[:20].tolist() == [(i % 2) * (1.0 + i) for i in range(20)]
    model = from_bytes(to_bytes(model))
    model.learn_one({"a": 1.0, "b": 2.0}, "good")
    for number in range(1, 21, 2):
        model.correct_one(number, "good")
    history = dump(model).history
    assert history.weight[:20].tolist() == before[0][:20].tolist()
    assert history.targets[:20].tolist() == pytest.approx(before[1][:20])


def test_what_is_in_no_history_cannot_be_corrected():
    """Of a small history, of a wrapper, of a model without one, and of a learner set since."""
    model = active.INeurALSampler(small(capacity=20), gamma=1e12, seed=1)
    for x, y in STREAM[:40]:
        model.answer(model.decide_one(x).query, y)
    with pytest.raises(LookupError, match="no longer in the history"):
        model.answer(1, "other")
    model.answer(40, "other")
    model.classifier = small()
    random = active.RandomSampler(SoftmaxRegression(), p=1.0, seed=1)
    random.answer(random.decide_one(X).query, 1)
    random.answer(1, 1)
    for each, query in ((model, 40), (random, 1)):
        for call in (lambda: each.answer(query, 2), lambda: each.withdraw(query)):  # noqa: B023
            with pytest.raises(LookupError, match="for good: its example is in no history"):
                call()


X = STREAM[0][0]


@pytest.mark.parametrize("label", [None, float("nan"), ("a",)])
def test_what_is_no_label_answers_nothing(label):
    """Whatever the classifier takes: River's takes None for a class."""
    model = active.RandomSampler(naive_bayes.GaussianNB(), p=1.0, seed=1)
    query = model.decide_one({"a": 1.0}).query
    for learn in (lambda: model.answer(query, label), lambda: model.learn_one({"a": 1.0}, label)):
        with pytest.raises((TypeError, ValueError), match=r"^label .* (must be|is not finite)"):
            learn()
    assert (model.n_pending, model.classifier.class_counts) == (1, {})


@pytest.mark.filterwarnings("ignore:No label of 'corrected'")  # after the challenger forgot it
def test_corrections_reach_all_models_of_a_recovery():
    """Old labels of what the challenger has dropped, and new ones; then after its end."""
    model, answered = active.INeurALSampler(small(drift_detector="cusum"), gamma=1e3, seed=1), []
    stream = blobs(260, n_features=5, n_classes=3, noise=0.4, seed=3)
    for t, (x, y) in enumerate(stream):
        query = model.decide_one(x).query
        model.answer(query, (y + (t >= 150)) % 3)
        answered.append(query)
        if model.classifier.changing and len(answered) % 5 == 0:
            for old in (answered[-3], answered[20]):
                number = model._questions.settled[old].number
                model.answer(old, "corrected")
                state = dump(model)
                histories = [state.history, state.incumbent.history, state.snapshot.history]
                rows = [(each, each.find(number)) for each in histories]
                found = [each.targets[row, 0].argmax() for each, row in rows if row is not None]
                assert found
                assert {state.labels[label] for label in found} == {"corrected"}
                model.answer(old, 1)
    assert model.n_drifts == 1
    assert not model.classifier.changing
    model.answer(answered[-1], 2)


def test_corrected_labels_cost_little():
    """A tenth is wrong at first, and each is corrected after 100 rounds."""

    def accuracy(wrong, corrected):
        rng, decisions, due = np.random.default_rng(0), [], []
        model = active.INeurALSampler(INeurAL(seed=1), budget=0.2, seed=1)
        for t, (x, y) in enumerate(PHISHING):
            while due and due[0][0] <= t:
                model.answer(*due.pop(0)[1:])
            decisions.append(model.decide_one(x))
            if query := decisions[-1].query:
                bad = rng.random() < wrong
                model.answer(query, y != bad)
                if bad and corrected:
                    due.append((t + 100, query, y))
        return right_at_the_end(decisions, PHISHING)

    clean, corrected = accuracy(0.0, False), accuracy(0.2, True)
    assert corrected > clean - 0.02
    assert accuracy(0.2, False) < clean - 0.01


@pytest.mark.parametrize("way", ["corrected", "withdrawn"])
def test_a_slip_among_known_classes_is_not_searched_for(way, recwarn):
    """Nobody named it: random asks would take its labels from close calls until the end."""
    asked = []
    for slips in ([], [30]):
        model = active.INeurALSampler(small(), budget=0.1, seed=1)
        for x, y in blobs(1500, n_features=4, n_classes=3, seed=1):
            if (query := model.decide_one(x).query) is None:
                continue
            if model.n_queries in slips:
                slips.clear()
                model.answer(query, "slip")
                if way == "withdrawn":
                    model.withdraw(query)
                    continue
            model.answer(query, y)
        asked.append(model.n_by_reason["random"])
    assert model.classifier.unseen_labels == ("slip",)
    assert asked[1] <= 1.5 * asked[0]
    assert not recwarn


@pytest.mark.parametrize("classes", [None, ("good", "bad")])
@pytest.mark.filterwarnings("ignore:No label of 'bad':UserWarning", "ignore:Only one class")
def test_a_class_of_a_wrong_label_alone_is_searched_for_as_before(classes):
    """As if the label had been right, whether it was corrected or taken back."""
    asked = []
    for slip in ("none", "corrected", "withdrawn"):
        learner = small(classes=classes)
        model = active.INeurALSampler(learner, budget=0.1, seed=1)
        rows = np.random.default_rng(3).normal(size=(200, 2)).tolist()
        for i, (a, b) in enumerate(rows):
            query = model.decide_one({"a": a, "b": b}).query
            if query is not None:
                model.answer(query, "bad" if i == 0 and slip != "none" else "good")
            if i == 3 and slip == "corrected":
                model.answer(1, "good")
            if i == 3 and slip == "withdrawn":
                model.withdraw(1)
        asked.append(model.n_by_reason["few classes"] + model.n_by_reason["gap"])
        if slip != "none" or classes:
            assert model.classifier.unseen_labels == ("bad",)
    assert max(asked) - min(asked) <= 2


def test_a_correction_does_not_forget_classes_whose_labels_the_history_has_replaced(recwarn):
    model = active.INeurALSampler(small(capacity=16), gamma=1e12, seed=1)
    for i in range(60):
        query = model.decide_one({"a": float(i % 7), "b": float(i % 5)}).query
        model.answer(query, "rare" if i in (0, 2) else "common")
    assert model.classifier.unseen_labels == ("rare",)
    model.answer(query, "rare")
    model.answer(query, "common")
    for i in range(20):
        assert model.decide_one({"a": float(i % 7), "b": float(i % 5)}).reason != "few classes"
    assert not recwarn


def test_steps_that_learn_labels_keep_a_corrected_one_and_say_so_once(recwarn):
    by_group = compose.Select("v") + feature_extraction.TargetAgg(by="c", how=stats.Mean())
    model = active.INeurALSampler(by_group | small(), seed=1)
    for i in range(4):
        model.answer(model.decide_one({"c": "ab"[i % 2], "v": float(i)}).query, i % 2)
    model.answer(1, 1)
    model.withdraw(2)
    (told,) = [str(each.message) for each in recwarn]
    assert told.startswith("Label 0 was corrected or taken back, but a step before the model")


# Books


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["ask", "ask", "pass", "pass", "withdraw"]), max_size=80),
    st.sampled_from([(0.1, 1), (0.1, 3), (0.3, 2), (0.02, 5)]),
    st.randoms(use_true_random=False),
)
def test_a_bucket_is_as_if_what_was_withdrawn_had_not_been_asked(operations, budget, random):
    """So in no window are more labels bought than the budget allows, in any order of calls."""
    rate, burst = budget
    model = active.RandomSampler(
        SoftmaxRegression(), p=1.0, budget=active.Budget(rate, burst=burst), seed=1
    )
    asked = []
    for operation in operations:
        if operation == "withdraw":
            if waiting := model.queries():
                model.withdraw(name := random.choice(waiting).query)
                asked[name - 1] = False
        else:
            model.p = float(operation == "ask")
            query = model.decide_one(X).query
            asked.append(query is not None)
            if query and random.random() < 0.5:
                model.answer(query, 1)
    left = float(burst)
    for i, bought in enumerate(asked):
        left = min(burst, left + rate * (i > 0)) - bought
    assert model._budget_manager.left == pytest.approx(left)
    assert model.n_queries == sum(asked)


OPERATIONS = st.sampled_from(
    ["decide"] * 4
    + ["predict", "answer", "answer", "again", "correct", "withdraw", "withdraw answered"]
    + ["learn", "learn other", "save", "pickle"]
)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(OPERATIONS, st.integers(0, 9)), max_size=60),
    st.sampled_from([5, 0.2, None, active.Budget(0.3, burst=4), active.Budget(0.4, horizon=20)]),
)
def test_books_are_right_in_any_order(operations, budget):
    model, waiting, answered, n_rounds = sampler(budget=budget, gamma=1e12), {}, {}, 0
    for (operation, i), (x, y) in zip(operations, STREAM, strict=False):
        chosen = [*waiting][i % len(waiting)] if waiting else None
        before = [*answered][i % len(answered)] if answered else None
        if operation == "decide" and (query := model.decide_one(x).query):
            waiting[query] = x, y
        elif operation == "predict" and model.predict_one(x)[1]:
            waiting[model.last_decision.query] = x, y
        elif operation == "answer" and chosen:
            model.answer(chosen, waiting[chosen][1])
            answered[chosen] = waiting.pop(chosen)[1]
        elif operation == "learn" and chosen:
            model.learn_one(*waiting[chosen])
            answered[chosen] = waiting.pop(chosen)[1]
        elif operation == "learn other":
            model.learn_one({"other": float(i)}, y)
        elif operation == "withdraw" and chosen:
            model.withdraw(chosen)
            del waiting[chosen]
        elif operation == "again" and before:
            model.answer(before, answered[before])
        elif operation == "correct" and before:
            answered[before] = (answered[before] + 1) % 3
            model.answer(before, answered[before])
        elif operation == "withdraw answered" and before:
            model.withdraw(before)
            del answered[before]
        elif operation == "save":
            model = from_bytes(to_bytes(model))
        elif operation == "pickle":
            model = pickle.loads(pickle.dumps(model))
        n_rounds += operation in ("decide", "predict")
        assert (model.n_rounds, model.n_queries) == (n_rounds, len(waiting) + len(answered))
        assert [each.query for each in model.queries()] == [*waiting]
        assert model.n_pending == len(waiting)
        limit = model._budget_manager
        assert model.n_queries <= limit.size + (limit.rate or 0) * n_rounds * bool(limit.bucket)
        assert 0 <= limit.left <= limit.size
        state = dump(model)
        for query, label in answered.items():
            row = state.history.find(model._questions.settled[query].number)
            assert state.labels[state.history.targets[row, 0].argmax()] == label


# Copies and files


def copies(model):
    return {
        "file": lambda: from_bytes(to_bytes(model)),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "copy": lambda: copy.deepcopy(model),
    }


@pytest.mark.parametrize("way", ["file", "pickle", "copy"])
def test_a_copy_goes_on_with_its_questions(way):
    """With labels on their way, some to be corrected, and features that come back rounded."""
    stream = shifting(150, 6, 3, seed=2)
    model = active.INeurALSampler(small(categories=True), budget=0.5, seed=1)

    def go_on(model, first, last, queries):
        decisions = []
        for t in range(first, last):
            x = stream[t][0] | {"kind": "ab"[t % 2], "n": t}
            decisions.append(model.decide_one(x))
            queries.append((decisions[-1].query, x, stream[t][1]))
            query, x, y = queries[max(0, t - 30)]
            if t < 30:
                continue
            if query and t % 2:
                model.answer(query, y)
            elif query:
                rounded = ((k, v if k == "kind" else float(np.float32(v))) for k, v in x.items())
                model.learn_one(dict(rounded), y)
            query = queries[max(0, t - 45)][0]
            if query and query in model._questions.settled and t % 3 == 0:
                model.answer(query, "class 0")
        return decisions

    go_on(model, 0, 80, queries := [])
    assert model.n_pending > 5
    other, theirs = copies(model)[way](), [*queries]
    assert repr(go_on(model, 80, 150, queries)) == repr(go_on(other, 80, 150, theirs))
    assert to_bytes(model) == to_bytes(other)


def test_any_example_is_kept_in_a_file():
    odd = [True, 3, 2**60, -0.0, float("nan"), float("inf"), None, "a", b"b", np.int8(4), ("c", 1)]
    examples = [dict(enumerate(odd)), {"a": 1.0}, {}, "text", ["wo", "rds"], {("pair", 1): "x"}]
    model = sampler()
    for now, x in enumerate(examples, 1):
        model._questions.add(x, x if now % 2 else {"seen": 1.0}, now, "gap", 0.5)
    loaded = from_bytes(to_bytes(model))
    assert repr(loaded._questions.waiting) == repr(model._questions.waiting)
    assert repr(loaded._questions.recent) == repr(model._questions.recent)


def test_many_questions_fit_in_a_file():
    """More than the rest of a model may be."""
    model = sampler()
    for now in range(1, 6_001):
        x = {f"feature {j}": now + j / 7 for j in range(50)}
        model._questions.add(x, x, now, "gap", 0.5)
    assert from_bytes(to_bytes(model))._questions.waiting == model._questions.waiting


FORGED = [
    ("waiting", lambda rows: rows[::-1], "of few questions in order"),
    ("waiting", lambda rows: [[-1, *rows[0][1:]]], "Expected `int` >= 1"),
    ("waiting", lambda rows: [[1, "whim", 0.5, False, {}, []]], "Invalid enum value 'whim'"),
    ("waiting", lambda rows: rows * 700, "of few questions in order"),
    ("settled", lambda rows: [[1, 1, 1]], "waiting or settled"),
    ("recent", lambda rows: rows * 2, "of few questions"),
    ("forgotten", lambda n: -1, "Expected `int` >= 0"),
]


@pytest.mark.parametrize(("name", "change", "said"), FORGED)
def test_forged_questions_are_refused(name, change, said):
    model = sampler(gamma=1e12)
    for t, (x, y) in enumerate(STREAM[:30]):
        query = model.decide_one(x).query
        if t % 2:
            model.answer(query, y)
    document, arrays = kept.opened(to_bytes(model))
    found = json.loads(arrays[QUESTIONS].tobytes())
    found[name] = change(found[name])
    data = np.frombuffer(json.dumps(found).encode(), np.uint8)
    with pytest.raises(LoadError, match=said):
        from_bytes(kept.sealed(document, {**arrays, QUESTIONS: data}))
    data = np.frombuffer(b"[" + b"[[]]," * 1_400_000 + b"1]", np.uint8)
    with pytest.raises(LoadError, match=r"4,200,00\d items"):
        from_bytes(kept.sealed(document, {**arrays, QUESTIONS: data}))


QUESTIONS = "sampler._questions"


def test_a_clone_with_attributes_has_the_counts():
    for model in (sampler(budget=9), active.RandomSampler(SoftmaxRegression(), p=1.0, seed=1)):
        for x, y in STREAM[:12]:
            model.predict_one(x)
            model.learn_one(x, y)
        model.predict_one(X)
        other = model.clone(include_attributes=True)
        assert (other.n_queries, other.n_rounds) == (model.n_queries, 13)
        assert other.accuracy == model.accuracy != model.clone().accuracy
        with pytest.raises(LookupError, match="for good"):  # its learner has learned nothing
            other.answer(1, "other")
        other.predict_one(X)
        assert model.n_rounds == 13
        assert len(pickle.dumps(other)) < len(pickle.dumps(model))  # nor has it the old trees
        more = model.clone({"budget": 20}, include_attributes=True)
        assert more._budget_manager.left == 20 - model.n_queries
    learned = small()
    learned.learn_one(X, 1)
    assert learned.clone(include_attributes=True).scores_one(X) == learned.scores_one(X)
    assert learned.clone({"lr": 0.5}, include_attributes=True).lr == 0.5
    for name, value in (("capacity", 10), ("hidden_dim", 3), ("explorers", ()), ("seed", 7)):
        with pytest.raises(ValueError, match=f"{name} is fixed: leave it out"):
            learned.clone({name: value}, include_attributes=True)


@pytest.mark.parametrize("way", ["set", "set, and rounds", "clone"])
def test_another_classifier_learns_questions_and_archives_with_all_its_steps(way):
    """Its scaler has seen no round of the one before, and learns what comes without a round."""
    rows = [({name: 100 * value + 500 for name, value in x.items()}, y) for x, y in STREAM]
    inner = preprocessing.StandardScaler() | small()
    model = active.INeurALSampler(inner, gamma=1e12, seed=1)
    asked = {model.decide_one(x).query: (x, y) for x, y in rows[:20]}
    if way == "clone":
        model = model.clone(include_attributes=True)
    else:
        model.classifier = preprocessing.StandardScaler() | small()
    fresh = active.INeurALSampler(preprocessing.StandardScaler() | small(), gamma=1e12, seed=1)
    for x, _ in rows[40:60] if way == "set, and rounds" else []:
        model.predict_one(x)
        fresh.classifier["StandardScaler"].learn_one(x)
    for query, (x, y) in asked.items():
        model.answer(query, y)
        fresh.learn_one(x, y)
    if way != "set, and rounds":
        for x, y in rows[20:40]:
            model.learn_one(x, y)
            fresh.learn_one(x, y)
    assert model._questions._size == from_bytes(to_bytes(model))._questions._size
    held, expected = (dump(each).history for each in (model, fresh))
    assert (held.x[: held.n_labelled] == expected.x[: held.n_labelled]).all()
    assert np.count_nonzero(held.x[1:20, 1:]) > 20


def test_a_label_that_nobody_asked_for_answers_no_question():
    model = sampler(gamma=1e12)
    query = model.decide_one(X).query
    model.learn_one(X, 1, asked=False)
    assert (model.n_pending, model.classifier.n_labels) == (1, 1)
    model.withdraw(query)  # and takes no label back
    assert (model.n_queries, model.classifier.unseen_labels) == (0, ())


@pytest.mark.filterwarnings("ignore:No label of 'b' has come")
def test_pseudo_labels_are_learned_by_the_sampler_itself():
    """Not as a label that was given; nor before two classes have labels, named ones or not."""
    model = sampler(gamma=1e12)
    query = model.decide_one(X).query
    for call in (
        lambda: model.answer(query, 1, pseudo_label=True),
        lambda: model.learn_one(X, 1, pseudo_label=True),
    ):
        with pytest.raises(TypeError, match="learns pseudo-labels by itself"):
            call()
    assert (model.n_pending, model.classifier.n_labels) == (1, 0)
    model = active.INeurALSampler(small(classes=("a", "b")), gamma=0.0, budget=0.1, seed=1)
    for x, _ in STREAM:
        if model.predict_one(x)[1]:
            model.learn_one(x, "a")
    assert model.n_pseudo_labels == 0
    model.learn_one(X, "b")
    for x, _ in STREAM:
        model.predict_one(x)
    assert model.n_pseudo_labels > 0


CALLS = {
    "decide_one": lambda model: model.decide_one(X),
    "answer": lambda model: model.answer(1, 1),
    "withdraw": lambda model: model.withdraw(2),
    "queries": lambda model: model.queries(),
    "predict_many": lambda model: model.predict_many(pd.DataFrame([X])),
    "learn_many": lambda model: model.learn_many(pd.DataFrame([X]), pd.Series([1])),
    "clone": lambda model: model.clone(include_attributes=True),
    "another classifier": lambda model: setattr(model, "classifier", small()),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_waits_for_its_turn(name):
    model = sampler(gamma=1e12)
    model.predict_many(pd.DataFrame([x for x, _ in STREAM[:3]]))  # and so loads what it needs
    model.learn_one(*STREAM[2])
    assert waits_its_turn(CALLS[name], model, model._lock)


# Frames


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_are_rows_in_order(library):
    X, y = (
        library.DataFrame([x for x, _ in STREAM[:40]]),
        library.Series([y for _, y in STREAM[:40]]),
    )
    model, other = sampler(budget=30), sampler(budget=30)
    for part in (slice(0, 20), slice(20, 40)):
        labels, asks = model.predict_many(X[part])
        pairs = [other.predict_one(x) for x, _ in STREAM[part]]
        assert [*zip(labels.to_list(), asks.to_list(), strict=True)] == pairs
        if library is pd:
            assert labels.index.equals(X[part].index)
        model.learn_many(X[part], y[part])
        for example in STREAM[part]:
            other.learn_one(*example)
        assert model.n_pending == 0
    assert to_bytes(model) == to_bytes(other)
    before = to_bytes(model)
    bad = library.DataFrame([*(x for x, _ in STREAM[:3]), {**X_BAD}])
    for call, said in (
        (lambda: model.predict_many(bad), "feature 'f1' is inf"),
        (lambda: model.learn_many(bad, y[:4]), "feature 'f1' is inf"),
        (lambda: model.learn_many(X, y[:4]), "X has 40 rows, y 4"),
        (lambda: model.predict_many(library.DataFrame()), "X has no column"),
        (lambda: model.learn_many(library.DataFrame(), y[:0]), "X has no column"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            call()
    assert to_bytes(model) == before


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_without_rows_asks_for_none(library):
    """The loop over batches goes on: what it selects by `asks` are rows."""
    X, y = library.DataFrame([x for x, _ in STREAM[:3]]), library.Series([1, 2, 1])
    model = sampler()
    _, asks = model.predict_many(X[:0])
    rows = X[:0][asks] if library is pd else X[:0].filter(asks)
    model.learn_many(rows, y[:0])
    assert (len(rows), model.n_rounds, model._n_labels) == (0, 0, 0)


def test_rows_of_a_frame_have_weights():
    X, w = pd.DataFrame([x for x, _ in STREAM[:9]]), [float(i) for i in range(9)]
    y = pd.Series([y for _, y in STREAM[:9]])
    model, other, same = sampler(), sampler(), sampler()
    model.learn_many(X, y, w=pd.Series(w))
    same.learn_many(X, y, w=2.0)
    for (x, label), weight in zip(STREAM[:9], w, strict=True):
        other.learn_one(x, label, w=weight)
    assert to_bytes(model) == to_bytes(other)
    assert (dump(same).history.weight[:9] == 2).all()
    before = to_bytes(model)
    for bad, said in ([*w[1:], -1.0], "w must be"), (w[1:], "X has 9 rows, w 8"):
        with pytest.raises(ValueError, match=said):
            model.learn_many(X, y, w=bad)
    assert to_bytes(model) == before


def test_an_imputer_fills_a_frame_from_the_rows_before():
    model = active.INeurALSampler(preprocessing.PreviousImputer() | small(), gamma=1e12, seed=1)
    X = pd.DataFrame({"a": pd.Series([1.0, 2.0, None, 4.0], dtype=object)})
    assert model.predict_many(X)[1].all()
    model.learn_many(X, pd.Series([1, 2, 1, 2]))
    assert model.classifier[-1].n_labels == 4


def test_a_frame_with_a_row_that_is_refused_asks_for_nothing_around_a_pipeline():
    model = active.INeurALSampler(preprocessing.StandardScaler() | small(), gamma=1e12, seed=1)
    for x, y in STREAM[:9]:
        model.predict_one(x)
        model.learn_one(x, y)
    before = to_bytes(model)
    rows = pd.DataFrame([*(x for x, _ in STREAM[9:12]), X_BAD])
    for call in (
        lambda: model.predict_many(rows),
        lambda: model.learn_many(rows, pd.Series([1, 2, 1, 2])),
    ):
        with pytest.raises(ValueError, match="feature 'f1'"):
            call()
    assert to_bytes(model) == before


@pytest.mark.parametrize("labels", [(2, 1.5), ("x", 1)], ids=str)
def test_labels_of_several_types_come_back_in_polars_too(labels):
    model = sampler(budget=20)
    for x, y in STREAM[:12]:
        model.learn_one(x, labels[y % 2])
    told, _ = model.predict_many(pl.DataFrame([x for x, _ in STREAM[12:30]]))
    assert {*told.to_list()} == {*labels}
    assert model.n_rounds == 18


X_BAD = {**X, "f1": float("inf")}


def test_a_step_that_changes_x_in_place_changes_no_question():
    """River's Renamer does: 75 of 100 questions were never answered."""
    for kind in (active.MarginSampler, active.RandomSampler, active.INeurALSampler):
        last = small() if kind is active.INeurALSampler else tree.HoeffdingTreeClassifier()
        model = kind(compose.Renamer({"https": "ssl"}) | last, budget=60, seed=1)
        evaluate.progressive_val_score(datasets.Phishing().take(400), model, metrics.Accuracy())
        assert model.n_queries > 30
        assert not model.n_pending
        x = {"https": 1.0}
        model.predict_one(x)
        model.learn_one(x, True)
        assert x == {"https": 1.0}


class Kind(str, enum.Enum):  # noqa: UP042  # a StrEnum is written as plain text is
    OLD = "old"
    NEW = "new"


def test_steps_learn_the_type_that_they_predict():
    """Of a question plain values are kept, of which an encoder would make other features."""
    steps = preprocessing.OneHotEncoder() | SoftmaxRegression()
    model = active.RandomSampler(steps, p=1.0, seed=1)
    for t in range(20):
        x = {"kind": [*Kind][t % 2], "size": Decimal(f"{t % 2}.50")}
        model.predict_one(x)
        model.learn_one(x, t % 2)
    assert model.n_pending == 0
    learned = {name for weights in model.classifier[-1].weights.values() for name in weights}
    assert learned == {"kind_Kind.OLD", "kind_Kind.NEW", "size_0.50", "size_1.50"}


def test_a_label_is_late_by_the_examples_learned_since():
    """Rounds in which nothing is learned make no class end sooner."""
    model = active.RandomSampler(small(), p=1.0, seed=1)
    queries = [model.decide_one(x).query for x, _ in STREAM[:11]]
    for query in queries[:10]:
        model.answer(query, query % 2)
    model.p = 0.0
    for x, _ in STREAM[:30]:
        model.predict_one(x)
    assert base.lateness(model, queries[10]) == {"late": 8}  # 30 rounds, a fourth of them learned
    assert base.lateness(model, None) == {}
    model.answer(float(queries[10]), 1)
    assert model.n_pending == 0
