"""Errors that can be followed: what each message says is done, and it works."""

import datetime as dt
import io
import math
import re

import numpy as np
import pandas as pd
import pytest
import river
from river import compose, evaluate, metrics, preprocessing, stream
from streams import dump, learned, small, told

from river_ineural import active
from river_ineural.active import Budget
from river_ineural.features import index as features


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
    frame = pd.DataFrame([x for x, _ in rows_with(strings, 5_000)])
    labels = pd.Series([i % 2 for i in range(5_000)])
    with pytest.warns(UserWarning, match=r"is 'who=u") as found:
        quick(categories=True).learn_many(frame, labels)
    assert len(found) == 1
    assert "e.g. with river.compose.Discard" in str(found[0].message)
    model = compose.Discard("who") | quick(categories=True)
    assert told(learned, model, rows_with(strings, 20)) == []
    assert set(dump(model["INeurAL"]).features.columns) == {"size", "job=a", "job=b"}
    quick(categories=True).learn_many(frame.drop(columns="who"), labels)


def test_wide_tables_and_slow_growth_are_no_flood():
    wide = {f"pixel_{j}": float(j) for j in range(5_500)}
    assert told(learned, quick(), [(wide, 0), (wide, 1)]) == []
    index = features.FeatureIndex(10**9)
    for i in range(features.MANY + 1_000):
        index.learn([f"user_{i}"])
        index.touch(index.look_up([f"user_{i}"]))
    assert len(index) == features.MANY + 1_000
    assert not index._flood.told
