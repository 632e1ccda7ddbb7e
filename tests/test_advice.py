"""Errors that can be followed: what each message says is done, and it works."""

import copy
import datetime as dt
import io
import math
import re

import numpy as np
import pandas as pd
import pytest
import river
from river import (
    compose,
    datasets,
    evaluate,
    feature_selection,
    metrics,
    preprocessing,
    stats,
    stream,
)
from streams import blobs, dump, learned, small, told

from river_ineural import INeurAL, active, baselines
from river_ineural.active import Budget
from river_ineural.features import index as features
from river_ineural.features import watch
from river_ineural.persistence import from_bytes, to_bytes


def said(x):
    with pytest.raises((TypeError, ValueError)) as error:
        small().learn_one(x, 1)
    return str(error.value)


def code(message, before, after):
    """The piece of code between two pieces of a message."""
    found = re.search(re.escape(before) + "(.*?)" + re.escape(after), message)
    assert found, message
    return found[1]


NOON = dt.datetime(2024, 2, 29, 12, 30)
TIMES = [
    *(NOON, pd.Timestamp(NOON), NOON.date(), NOON.time(), dt.timedelta(minutes=2)),
    *(pd.Timedelta(np.timedelta64(2, "m")), np.datetime64("1970-01-02"), np.timedelta64(3, "m")),
]


@pytest.mark.parametrize("value", TIMES, ids=repr)
def test_a_time(value):
    message = said({"at": value})
    assert message.startswith(f"feature 'at' is {value!r} ({type(value).__name__}), not a number")
    assert "make numbers of it first, as its hour or its seconds" in message


@pytest.mark.parametrize("text", ["", "?", "NA", "null", " - ", "31.5", "2024-02-29 12:30:00"])
def test_text_of_a_csv_file(text):
    message = said({"it": text})
    converters = eval(code(message, "with converters=", "}") + "}")
    expected = 31.5 if text == "31.5" else None
    if text.startswith("2024"):
        convert = "lambda text: " + code(message, "if it holds a time, ", " are its seconds")
        converters, expected = {"it": eval(convert, vars(dt))}, NOON.timestamp()
    file = io.StringIO(f'it,y\n"{text}",1\n')
    ((x, y),) = stream.iter_csv(file, target="y", converters=converters)
    assert x == {"it": expected}
    small(missing=True).learn_one(x, y)


@pytest.mark.parametrize("gap", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT], ids=str)
def test_a_missing_value(gap):
    """Taken with the option; and by River's imputer, which is given None, in a sampler too."""
    message = said({"age": gap})
    assert "INeurAL(missing=True)" in message
    small(missing=True).learn_one({"age": gap}, 1)
    imputer = eval(code(message, "first, with ", " in front"), {"river": river})
    model = active.INeurALSampler(imputer | small(), budget=20, seed=1)
    rows = [({"age": None if i % 3 else float(i)}, i % 2) for i in range(40)]
    evaluate.progressive_val_score(rows, model, metrics.Accuracy())
    assert model.n_queries > 0
    assert math.isfinite(model.classifier["StatImputer"].stats["age"].get())


@pytest.mark.parametrize(
    ("budget", "meant"), [(10.0, {10, 0.1}), (2.5, {0.025}), (250.5, {250}), (100.0, {100, 1.0})]
)
@pytest.mark.parametrize("kind", [Budget, lambda b: active.RandomSampler(small(), budget=b)])
def test_a_budget_that_is_none(kind, budget, meant):
    """What is to be written instead is a budget: an int a number of labels, a float a share."""
    with pytest.raises((TypeError, ValueError)) as error:
        kind(budget)
    advice = str(error.value).rpartition(": write ")[2]
    written = [eval(each) for each in re.findall(r"(?:^|, )(\S+) for", advice)]
    assert {(type(each), each) for each in written} == {(type(each), each) for each in meant}
    for each in written:
        kind(each)


def loaded(model):
    return from_bytes(to_bytes(model))


def rows_with(names_of, n=101):
    """Rows of a number and of the names of each round."""
    return [({"size": float(i % 7), **names_of(i)}, i % 2) for i in range(n)]


def quick(**settings):
    return small(hidden_dim=4, n_steps=0, explorers=(), **settings)


def keys(i):
    """Names that hold an id: 50 a row, each once."""
    return {f"clicked_{50 * i + j:x}": 1.0 for j in range(50)}


def strings(i):
    """A column that is the same for all, and one that is another in each row."""
    return {"job": "ab"[i % 2], "who": f"u{i:x}"}


def test_names_that_hold_ids():
    """One warning, which leaves the model whole, and from which another way is known."""
    model, rows = quick(), rows_with(keys, 130)
    assert told(learned, model, rows[:100]) == []  # the first row does not count
    with pytest.raises(UserWarning, match="new features") as error:  # they are errors in tests
        model.learn_one(*rows[100])
    message = str(error.value)
    assert message.startswith("5,000 new features or more within 100 learned examples")
    assert "the latest of which is 'clicked_" in message
    assert "the value of one feature" in message
    assert "river.preprocessing.FeatureHasher" in message
    assert len(dump(model).features) == 100 * 50 + 1
    assert told(learned, model, rows[100:]) == []
    assert len(dump(model).features) == 130 * 50 + 1
    model = preprocessing.FeatureHasher(n_features=64, seed=1) | quick()
    assert told(learned, model, rows) == []
    assert len(dump(model["INeurAL"]).features.columns) == 64
    assert told(learned, quick(), rows_with(lambda i: {"clicked": float(i)})) == []


def test_a_category_that_is_an_id():
    """It is told of after a hundred labels, and has few features, in rows and in a frame. A copy
    and a loaded model go on alike. Strings that come again are features, however many.
    """
    rows = rows_with(strings, 150)
    frame, labels = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
    by_row, by_frame = quick(categories=True), quick(categories=True)
    assert told(learned, by_row, rows[:99]) == []
    other = loaded(by_row)
    for model in (by_row, copy.deepcopy(by_row), other):
        (message,) = told(learned, model, rows[99:])
        assert message.startswith("column 'who' has a new string in 100 of 100 labels")
        assert len(dump(model).features) == 3 + watch.FEW_STRINGS
    for model in (other, by_row):
        assert dump(model).features.strings == {"job": [150, 2], "who": [150, 150]}
    (message,) = told(by_frame.learn_many, frame, labels)
    assert len(dump(by_frame).features) == 3 + watch.FEW_STRINGS
    leave_out = eval(code(message, "e.g. with ", " in front"), {"river": river})
    model = leave_out | quick(categories=True)
    assert told(learned, model, rows) == []
    assert set(dump(model["INeurAL"]).features.columns) == {"size", "job=a", "job=b"}
    towns = np.random.default_rng(0).exponential(40, 600).astype(int)
    often = rows_with(lambda i: {"town": f"t{towns[i]}"}, 600)
    model = quick(categories=True)
    assert told(learned, model, often) == []
    assert len(dump(model).features) == 1 + len({x["town"] for x, _ in often})


@pytest.mark.parametrize("at_once", [1, 40])
def test_a_category_of_many_strings_that_begins_as_an_id_does(at_once):
    """The first strings are all new, and later ones come again: these get their features."""
    rng = np.random.default_rng(1)
    shops = [*rng.permutation(300)[:40], *rng.integers(300, size=1240)]
    rows = rows_with(lambda i: {"shop": f"s{shops[i]}"}, len(shops))
    frame, labels = pd.DataFrame([x for x, _ in rows]), [y for _, y in rows]
    model = quick(categories=True)
    for first in range(0, 640, at_once):
        part = slice(first, first + at_once)
        model.learn_many(frame[part], labels[part])
    other = loaded(model)
    for each in (model, copy.deepcopy(model), other):
        each.learn_many(frame[640:], labels[640:])
        assert len(dump(each).features) > 290
    ids = rows_with(lambda i: {"shop": "s1", "who": f"u{i}"}, watch.MOST_REFUSED + 50)
    assert len(told(learned, other, ids)) == 1
    assert len(dump(other).features.refused) == watch.MOST_REFUSED


def int_names(x):
    return dict(enumerate(x.values()))


def test_predictions_with_other_names_than_labels():
    """As after JSON: one warning, with two of the names. A label with such names is told of too."""
    rows, texts = blobs(60), [str(name) for name in range(6)]
    model = learned(quick(), [(int_names(x), y) for x, y in rows])
    as_text = [dict(zip(texts, x.values(), strict=True)) for x, _ in rows]
    for each in (model, copy.deepcopy(model), loaded(model)):
        assert told(lambda each=each: [each.predict_one(x) for x in as_text[:19]]) == []
        with pytest.raises(UserWarning, match=r"20 predictions in a row lack .* 0, .* '0'"):
            each.predict_one(as_text[19])
        assert told(lambda each=each: [each.predict_one(x) for x in as_text]) == []
    (message,) = told(model.learn_one, as_text[0], 1)
    assert message.startswith("0 and '0' are two features")
    assert told(model.learn_one, as_text[0], 0) == []
    (message,) = told(learned(quick(), rows).predict_many, pd.DataFrame(as_text))
    assert message.startswith("60 predictions in a row lack features that all labels had")


def of_codes(form, n=60):
    return [({"zip": form(str(t % 5)), "size": t % 7 / 7}, t % 5 > 2) for t in range(n)]


@pytest.mark.parametrize(("of_labels", "of_predictions"), [(str, int), (int, str)])
def test_a_column_that_is_text_for_labels_and_numbers_for_predictions(of_labels, of_predictions):
    """As pandas reads codes: all examples would be predicted alike."""
    model = learned(quick(categories=True), of_codes(of_labels))
    same, others = of_codes(of_labels), of_codes(of_predictions)
    for each in (model, loaded(model)):
        assert told(lambda each=each: [each.predict_one(x) for x, _ in same]) == []
        (message,) = told(lambda each=each: [each.predict_one(x) for x, _ in others])
        assert message.startswith("20 predictions in a row have numbers in column 'zip', which")


def test_a_loaded_model_does_not_know_what_all_labels_had():
    """But for those that it learns itself; it only knows the names of the latest."""
    rows = [{"a": t % 5, "b": t % 7, "c": t % 3} for t in range(1_000)]
    model = learned(
        quick(), [({**x, "flag": 1.0} if t % 50 == 49 else x, 0) for t, x in enumerate(rows[:100])]
    )
    for each in (loaded(model), copy.deepcopy(model)):
        assert told(lambda each=each: [each.predict_one(x) for x in rows]) == []


def test_new_strings_are_no_other_names():
    """Where a source fails, a column of ids brings strings that no label had."""
    rows = [{"a": t % 5, "b": t % 7, "c": t % 3, "d": t % 2, "id": f"i{t}"} for t in range(190)]
    model = learned(quick(categories=True), [(x, x["a"] > 2) for x in rows[:60]])
    gone = [{name: x[name] for name in x if name != "b"} for x in rows[60:]]
    assert told(lambda: [model.predict_one(x) for x in gone]) == []


def test_predictions_have_names_where_labels_had_none():
    model = learned(quick(), [({}, t % 2) for t in range(30)])
    assert told(lambda: [model.predict_one({"a": 1.0}) for _ in range(120)]) == []


def mixed(t):
    """Ages, of which every second is text, in labels; then only another text."""
    return {"age": "old" if t > 60 else "?" if t % 2 else t, "size": 1.0}


def test_a_column_of_text_and_numbers_is_not_told_of():
    model = learned(quick(categories=True), [(mixed(t), t % 3 > 1) for t in range(60)])
    assert told(lambda: [model.predict_one(mixed(t)) for t in range(300)]) == []


@pytest.mark.parametrize(("rename", "n"), [("C3", 100), (None, 1_000)])
def test_one_column_that_predictions_lack(rename, n):
    """Of several. With another name in its place that is told of sooner, as no source fails so."""
    rows = [{f"c{i}": (t + i) % 7 for i in range(6)} for t in range(n)]
    model = learned(quick(), [(x, x["c3"] > 3) for x in rows[:60]])
    for x in rows:
        gone = x.pop("c3")
        x |= {rename: gone} if rename else {}
    assert told(lambda: [model.predict_one(x) for x in rows[:-1]]) == []
    (message,) = told(model.predict_one, rows[-1])
    assert message.startswith(f"{n} predictions in a row lack features that all labels had")
    assert repr(rename or "c3") in message


@pytest.mark.parametrize(
    "model",
    [
        baselines.RetrainedNetwork(hidden_dim=4, n_epochs=1, seed=1),
        baselines.NeuALNTKF(hidden_dim=4, seed=1),
        baselines.ALPS(n_hypotheses=2, n_pretraining=20, n_epochs=1, hidden_dim=4, seed=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_baselines_tell_of_other_names_too(model):
    learned(model, [(int_names(x), y % 2) for x, y in blobs(30)])
    texts = [{str(name): value for name, value in int_names(x).items()} for x, _ in blobs(30)]
    (message,) = told(lambda: [model.predict_one(x) for x in texts])
    assert message.startswith("20 predictions in a row lack features that all labels had")


def chosen(k):
    return feature_selection.SelectKBest(similarity=stats.PearsonCorr(), k=k)


def test_a_pipeline_that_learns_all_features_and_predicts_from_a_few():
    """River's does so with SelectKBest alone in front; in a sampler it is as in a union."""
    rows, right = list(datasets.Phishing().take(300)), []
    for k, example in ((5, "'[a-z_]+' and '[a-z_]+'. "), (8, "'[a-z_]+'. ")):
        (message,) = told(rounds_alone, chosen(k) | quick(), rows)
        assert re.search("lack features that all labels had, such as " + example, message)
        assert "SelectKBest" in message
    alone = lambda model: model  # noqa: E731
    sampler = lambda model: active.RandomSampler(model, p=1.0, seed=1)  # noqa: E731
    ineural = lambda model: active.INeurALSampler(model, gamma=1e9, seed=1)  # noqa: E731
    for around, step in (
        *((alone, compose.TransformerUnion(chosen(5))), (sampler, chosen(5))),
        (ineural, chosen(5)),
    ):
        score = metrics.Accuracy()
        assert told(evaluate.progressive_val_score, rows, around(step | small()), score) == []
        right.append(score.get())
    assert right[0] == right[1] == right[2]
    still = small(drift_detector=None)  # all labels stay in the history
    steps = chosen(5), compose.TransformerUnion(chosen(5))
    named = [ineural(step | still.clone()) for step in steps]
    for x, y in rows:  # and labels teach such steps through `answer`, too
        for model in named:
            model.answer(model.decide_one(x).query, y)
    twin = rounds_alone(ineural(chosen(5) | still.clone()), rows)
    assert {dump(model).history.n_labelled for model in (*named, twin)} == {300}
    for x, _ in datasets.Phishing().take(400):
        pairs = {model.predict_one(x)[0] for model in (*named, twin)}
        assert len(pairs) == 1
    with pytest.raises(TypeError):
        named[0].answer(named[0].decide_one(x).query, None)
    assert named[0].classifier["SelectKBest"].leaderboard == (
        twin.classifier["SelectKBest"].leaderboard
    )
    model = active.RandomSampler(preprocessing.StandardScaler() | chosen(2) | quick(), seed=1)
    learned(model, rows[:9])  # each step once
    assert model.classifier["StandardScaler"].counts["ip_in_url"] == 9
    assert dump(model).history.n_labelled == 9


def rounds_alone(model, rows):
    for x, y in rows:
        model.predict_one(x)
        model.learn_one(x, y)
    return model


WORDS = [f"w{i}" for i in range(2_000)]


def words(rng, t):
    return dict.fromkeys(rng.choice(WORDS, 6).tolist(), 1.0)


def gaps(rng, t):
    return {f"f{j}": 1.0 for j in range(5) if rng.random() < 0.7}


def gone(rng, t):  # from the last quarter on a half of the values
    return {f"f{j}": 1.0 for j in range(6) if t < 30 or rng.random() < 0.5}


def broken(rng, t):  # one source of seven, for half of the rounds
    return {f"f{j}": 1.0 for j in range(7) if j or (t // 125) % 2 == 0}


def renamed(rng, t):  # and sparse: no label has had one of these
    return {f"{'old' if t < 12 else 'new'}{j}": 1.0 for j in rng.choice(50, 4).tolist()}


def late(rng, t):
    return {f"f{j}": 1.0 for j in range(1 + t // 60)}


def one_hot(rng, t):
    return {"size": 1.0, "job": f"j{rng.integers(9)}", "age": rng.choice([1.0, None])}


def seasons(rng, t):
    return {"size": 1.0, "when": f"s{t // 99}", "how": f"h{t // 99}"}


@pytest.mark.parametrize(
    "make", [words, gaps, gone, broken, late, one_hot, seasons, lambda rng, t: {}]
)
@pytest.mark.parametrize("share", [0.05, 1.0])
def test_streams_whose_names_vary_are_not_told_of(make, share):
    """Words, missing values, features that come late, categories, the first examples."""
    rng, model = np.random.default_rng(0), quick(categories=True, missing=True)

    def run():
        for t in range(500):
            x = make(rng, t)
            model.predict_one(x)
            if t < 12 or rng.random() < share:
                model.learn_one(x, t % 2)

    assert [each for each in told(run) if not each.startswith("no feature has varied")] == []


def test_features_that_do_not_vary_are_told_of_and_the_commonest_class_is_learned():
    for x in ({}, {"a": 1}, {"a": 0.0, "b": 7.5}):
        model, rng = INeurAL(seed=1), np.random.default_rng(1)
        model.learn_one(x, "rare")
        labels = np.where(rng.random(98) < 0.1, "rare", "common").tolist()
        assert told(learned, model, [(x, y) for y in labels]) == []
        with pytest.raises(UserWarning, match="no feature has varied in 100 labels"):
            model.learn_one(x, "common")
        assert model.predict_one(x) == "common"
        assert model.predict_proba_one(x)["common"] > 0.8


def test_strings_that_read_as_numbers_are_told_of():
    """Those of a file of which nobody made numbers; not codes, and not what a number is beside."""
    rows = [{"amount": f"{i / 8}" if i % 5 else "", "kind": f"k{i}", "n": i} for i in range(40)]
    model = quick(categories=True)
    text = "10 strings of column .amount. read as numbers.*.amount.: float"
    with pytest.warns(UserWarning, match=text) as found:
        learned(model, [(row, i % 2) for i, row in enumerate(rows)])
    assert len(found) == 1
    assert "converters={'amount': float}" in said({"amount": "0.5"}).partition("categories")[0]


def test_a_text_feature_without_a_name_is_learned():
    """As the first column of a file that pandas wrote, with its index."""
    model = small(categories=True, missing=True)
    learned(model, [({"": f"r{i % 3}", "a": 1.0 * i}, i % 2) for i in range(30)])
    assert {"=r0", "=r1", "=r2"} <= {*dump(model).features.names}


def test_values_that_are_missing_now_here_and_now_there_are_not_told_of():
    """But a half of the names that is missing from 20 predictions in a row is."""
    model = learned(quick(), blobs(12))
    halves = [{f"f{3 * i + j}": 1.0 for j in range(3)} for i in (0, 1)]
    assert told(lambda: [model.predict_one(halves[t % 2]) for t in range(200)]) == []
    assert told(lambda: [model.predict_one(halves[0]) for _ in range(19)]) == []
    with pytest.raises(UserWarning, match=r"^20 predictions .* 'f3' and 'f4'\. "):
        model.predict_one(halves[0])


def test_examples_without_any_feature_are_told_of():
    model = learned(quick(), blobs(12))
    assert told(lambda: [model.predict_one({}) for _ in range(19)]) == []
    with pytest.raises(UserWarning, match=r"^20 predictions .* 'f0' and 'f1'\. "):
        model.predict_one({})


def test_sparse_names_that_no_label_had():
    rng, model = np.random.default_rng(0), quick()
    learned(model, [(renamed(rng, t), t % 2) for t in range(12)])
    assert told(lambda: [model.predict_one(renamed(rng, 12)) for _ in range(99)]) == []
    with pytest.raises(UserWarning, match=r"100 predictions .* some labels .*'old\d.*, .*'new\d"):
        model.predict_one(renamed(rng, 12))


def test_wide_tables_and_slow_growth_are_no_flood():
    wide = {f"pixel_{j}": float(j) for j in range(5_500)}
    assert told(learned, quick(), [(wide, 0), (wide, 1)]) == []
    index = features.FeatureIndex(10**5)

    def grow():
        for i in range(watch.MANY + 1_000):
            index.learn([f"user_{i}"])

    assert told(grow) == []
    assert len(index) == watch.MANY + 1_000
