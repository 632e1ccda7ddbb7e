"""Strings and missing values: errors that say what to do, or features of their own."""

import math

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from streams import dump, learned, raises_and_keeps, small

from river_ineural.features.encoder import LONGEST
from river_ineural.features.imputation import LATEST


def encoding(**options):
    return small(categories=True, missing=True, **options)


MADE = {"job=clerk", "job=maid", "job=cook", "job missing", "age missing"}


def names(model):
    return set(dump(model).features.columns)


def scores(model, x):
    return list(model.scores_one(x).values())


def test_each_option_is_for_itself():
    """One leaves errors of the other as they are; infinity is an error with both."""
    for options, other, bad in (
        ({"categories": True}, "missing", [None, 1.0]),
        ({"missing": True}, "categories", ["a", "b"]),
    ):
        X, y = pd.DataFrame({"odd": pd.Series(bad, dtype=object)}), pd.Series([0, 1])
        with pytest.raises(TypeError, match=f"{other}=True"):
            small(**options).predict_one({"odd": bad[0]})
        with pytest.raises(ValueError, match="column 'odd'"):
            small(**options).learn_many(X, y)
        small(**{other: True}).learn_many(X, y)
    for bad in (math.inf, b"a", [1.0], 1j):
        with pytest.raises((TypeError, ValueError), match="feature 'a'"):
            encoding().predict_one({"a": bad})


def test_a_missing_number_is_the_median_of_the_labelled():
    """And so is that of a string in a column of numbers. An absent feature is 0."""
    ages = np.random.default_rng(0).exponential(10, LATEST + 40).tolist()
    model, by_hand = (make(n_steps=0, explorers=()) for make in (encoding, small))
    for age in ages:
        for each in (model, by_hand):
            each.learn_one({"age": age, "tall": 1.0}, age > 10)
            each.learn_one({"age": 40.0}, True, pseudo_label=True)
    median = sorted(ages[-LATEST:])[LATEST // 2]
    assert scores(model, {"age": None}) == pytest.approx(scores(by_hand, {"age": median}), abs=1e-5)
    assert scores(model, {"age": "?"}) == scores(model, {"age": None})
    assert scores(model, {}) == pytest.approx(scores(by_hand, {"age": 0.0}), abs=1e-5)
    assert abs(scores(model, {})[0] - scores(model, {"age": None})[0]) > 1e-4


@pytest.mark.parametrize(
    ("x", "bad"),
    [
        *(({name: 1.0, "job": "clerk"}, name) for name in ("job=clerk", "a=", "age missing")),
        ({3: "a", "3": "a"}, "3"),
    ],
)
def test_names_that_read_like_others_are_refused(x, bad):
    """So that no two features share one in silence; without the options they are taken."""
    model = encoding()
    for call, *parts in (
        *((model.learn_one, x, 1), (model.predict_one, x)),
        (model.predict_many, pd.DataFrame([x])),
    ):
        with raises_and_keeps(model, f"'{bad}'.*rename it"):
            call(*parts)
    small().learn_one(dict.fromkeys(x, 1.0), 1)


def test_names_are_short_and_differ_and_what_only_ever_was_missing_has_a_flag_alone():
    long = [({"text": "x" * 100_000 + end, "age": None}, end) for end in "ab"]
    model = learned(encoding(), long)
    assert len(names(model)) == 3
    assert max(map(len, names(model))) < LONGEST + 50
    assert "age" not in names(model) > {"age missing"}
    model.learn_one({"age": 3.0}, "a")
    assert "age" in names(model)


VALUES = st.sampled_from(["a", "b", "", "1", None, math.nan, -3.0, 0.0, 2.0, True, False])
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(("u", "v", "w"), VALUES)), min_size=4)


@given(ROWS, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_any_mixture_in_any_order(rows, random):
    one, other = (encoding(n_steps=1, explorers=("network",)) for _ in range(2))
    for i, x in enumerate(rows):
        shuffled = {key: x[key] for key in random.sample(list(x), len(x))}
        assert one.scores_one(x) == other.scores_one(shuffled)
        one.learn_one(x, i % 2)
        other.learn_one(shuffled, i % 2)
    assert np.isfinite(dump(one).history.x[: len(rows)]).all()
    columns = {name: pd.Series([x[name] for x in rows], dtype=object) for name in "wvu"}
    by_row = [list(one.predict_proba_one(x).values()) for x in rows]
    found = one.predict_proba_many(pd.DataFrame(columns)).to_numpy()
    assert found == pytest.approx(np.array(by_row), abs=1e-5)


PANDAS = pd.DataFrame, pd.Series, "Float64"
POLARS = pl.DataFrame, pl.Series, pl.Float64
COLUMNS = [
    *((PANDAS, dtype) for dtype in (object, "string", "category")),
    *((POLARS, dtype) for dtype in (pl.String, pl.Categorical, pl.Enum(["clerk", "maid", "cook"]))),
]


@pytest.mark.parametrize(("kind", "dtype"), COLUMNS, ids=lambda each: str(each)[:30])
def test_frames_are_as_rows(kind, dtype):
    """Numbers with gaps, categories with gaps, and a label of both."""
    frame, series, floats = kind
    rng, xs = np.random.default_rng(0), []
    for _ in range(60):
        age = None if rng.random() < 0.2 else float(rng.normal(40, 10))
        job = ("clerk", "maid", "cook", None)[rng.integers(4)]
        xs.append({"age": age, "job": job, "tall": bool(rng.integers(2))})
    ys = [(x["job"] == "maid") != (x["age"] is not None and x["age"] > 45) for x in xs]
    X = frame(
        {
            "job": series([x["job"] for x in xs], dtype=dtype),
            "tall": [x["tall"] for x in xs],
            "age": series([x["age"] for x in xs], dtype=floats),
        }
    )
    by_rows, by_frame, one_by_one = encoding(), encoding(), encoding()
    learned(by_rows, zip(xs, ys, strict=True))
    by_frame.learn_many(X, series(ys))
    assert names(by_rows) == names(by_frame) == MADE | {"age", "tall"}
    for model in (encoding(classes=(False, True)), by_rows, by_frame):
        expected = [list(model.predict_proba_one(x).values()) for x in xs]
        found = np.asarray(model.predict_proba_many(X).to_numpy())
        assert found == pytest.approx(np.array(expected), abs=1e-5)
    for i in range(len(X)):
        one_by_one.learn_many(X[i : i + 1], series(ys)[i : i + 1])
    assert dump(one_by_one).networks.block[0].equal(dump(by_rows).networks.block[0])


def test_the_first_frame_has_its_own_median():
    model = encoding()
    X = pd.DataFrame({"age": [None, 50.0, 30.0, 31.0, None], "size": [1.0, None, 1.0, 2.0, 3.0]})
    model.learn_many(X, pd.Series([0, 1, 0, 1, 0]))
    state = dump(model)
    raw = state.history.x[:5]
    for name, expected in ("age", [31, 50, 30, 31, 31]), ("size", [1, 1, 1, 2, 3]):
        assert raw[:, state.features.columns[name]].tolist() == expected


def test_categories_of_numbers_are_neither():
    """A row of them is a number, but the column says otherwise: one of both, the error says."""
    X = pd.DataFrame({"odd": pd.Series([1, 2], dtype="category")})
    with pytest.raises(ValueError, match=r"'odd' holds categories that are not strings.*first"):
        encoding().predict_many(X)
    for kind in (str, float):
        encoding().predict_many(X.astype(kind))
