"""Strings and missing values: errors that say what to do, or features of their own."""

from __future__ import annotations

import io
import json
import math
import pickle
import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from river import compose, stream

from river_ineural import INeurAL, active
from river_ineural.inputs.encoder import LONGEST
from river_ineural.learning.gaps import LATEST

KINDS = {"pandas": (pd.DataFrame, pd.Series), "polars": (pl.DataFrame, pl.Series)}


def small(**options):
    return INeurAL(**{"hidden_dim": 8, "batch_size": 8, "seed": 1, **options})


def encoding(**options):
    return small(categories=True, missing=True, **options)


def people(n, seed=0):
    """Numbers with gaps, categories with gaps, and a label of both."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        job = ("clerk", "maid", "cook", None)[rng.integers(4)]
        age = None if rng.random() < 0.2 else float(rng.normal(40, 10))
        x = {"age": age, "job": job, "tall": bool(rng.integers(2))}
        rows.append((x, (job == "maid") != (age is not None and age > 45)))
    return rows


def trained(model, rows):
    for x, y in rows:
        model.learn_one(x, y)
    return model


def names(model):
    return set(model._state.features.columns)


def scores(model, x):
    return list(model.scores_one(x).values())


# Without the options: errors, and what they say works (of dicts in test_advice.py)


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_errors_say_of_columns_works(kind):
    frame, series = KINDS[kind]
    for column, match, options in (
        (["a", "b"], r"INeurAL\(categories=True\)", {"categories": True}),
        ([1.0, None], r"INeurAL\(missing=True\)", {"missing": True}),
    ):
        X, y = frame({"odd": column}), series([0, 1])
        with pytest.raises(ValueError, match=f"column 'odd' .*{match}"):
            small().learn_many(X, y)
        small(**options).learn_many(X, y)


def test_each_option_is_for_itself():
    """One leaves errors of the other as they are; infinity is an error with both."""
    with pytest.raises(TypeError, match="missing=True"):
        small(categories=True).predict_one({"a": None})
    with pytest.raises(TypeError, match="categories=True"):
        small(missing=True).predict_one({"a": "b"})
    for bad in (math.inf, b"a", [1.0], 1j):
        with pytest.raises((TypeError, ValueError), match="feature 'a'"):
            encoding().predict_one({"a": bad})
    with pytest.raises(ValueError, match="categories must be one of"):
        small(categories="yes")


# What they become


def test_names_of_what_is_made():
    model = trained(encoding(), people(50))
    made = {"job=clerk", "job=maid", "job=cook", "job missing", "age missing"}
    assert names(model) == made | {"age", "tall"}


def test_categories_are_as_encoded_by_hand():
    """Bit by bit, in any order of the keys."""
    rng = np.random.default_rng(0)
    model, by_hand = small(categories=True), small()
    for x, y in people(60):
        x = {"age": x["age"] or 0.0, "job": x["job"] or "none", "tall": x["tall"]}
        encoded = {"age": x["age"], f"job={x['job']}": 1, "tall": x["tall"]}
        keys = list(x)
        rng.shuffle(keys)
        shuffled = {key: x[key] for key in keys}
        assert scores(model, shuffled) == scores(model, x) == scores(by_hand, encoded)
        model.learn_one(shuffled, y)
        by_hand.learn_one(encoded, y)
    assert model._state.trainer.flat.equal(by_hand._state.trainer.flat)


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


def test_a_name_that_only_ever_was_missing_has_a_flag_alone():
    model = encoding()
    for y in (0, 1):
        model.learn_one({"age": None, "size": 1.0 + y}, y)
    assert names(model) == {"age missing", "size"}
    model.learn_one({"age": 3.0, "size": 1.0}, 0)
    assert "age" in names(model)


@pytest.mark.parametrize("name", ["job=clerk", "a=", "age missing"])
def test_names_like_those_that_are_made_are_refused(name):
    """So that no two features share one in silence; after renaming they are taken."""
    model = encoding()
    before = pickle.dumps(model)
    for call in (
        lambda: model.learn_one({name: 1.0, "job": "clerk"}, 1),
        lambda: model.predict_many(pd.DataFrame({name: [1.0], "job": ["clerk"]})),
    ):
        with pytest.raises(ValueError, match=f"feature {name!r}.*rename it"):
            call()
    assert pickle.dumps(model) == before
    model.learn_one({name.replace("=", ":").replace(" ", "_"): 1.0, "job": "clerk"}, 1)
    small().learn_one({name: 1.0}, 1)


def test_names_that_read_alike_are_refused():
    for call in (
        lambda: encoding().predict_one({3: "a", "3": "a"}),
        lambda: encoding().predict_many(pd.DataFrame({3: ["a"], "3": ["a"]})),
    ):
        with pytest.raises(ValueError, match=r"'3' reads like another one.*rename it"):
            call()


def test_long_strings_have_short_names():
    """That differ where the strings do."""
    model = encoding()
    for end in "ab":
        model.learn_one({"text": "x" * 100_000 + end}, end)
    assert len(names(model)) == 2
    assert max(map(len, names(model))) < LONGEST + 50


def test_a_column_of_ever_new_categories_is_bounded():
    """The cap, one warning, and numbers that are always there stay."""
    rng = np.random.default_rng(0)
    model = encoding(max_features=12, capacity=64)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(600):
            x = {"size": float(rng.normal()), "id": f"person {i}"}
            model.learn_one(x, x["size"] > 0)
            if i == 299:
                size = len(pickle.dumps(model))
    assert ["max_features=12 reached" in str(each.message) for each in caught] == [True]
    assert len(names(model)) == 12
    assert {"size", "id=person 599"} < names(model)
    assert len(pickle.dumps(model)) < 1.05 * size
    X = pd.DataFrame({"size": 0.0, "id": [f"{i}" for i in range(100)]})
    assert len(model.predict_many(X)) == 100
    with pytest.raises(ValueError, match="max_features=12"):
        model.learn_many(X, pd.Series([True, False] * 50))


VALUES = st.one_of(
    st.sampled_from(["a", "b", "", "1"]),
    st.sampled_from([None, math.nan]),
    st.integers(-3, 3).map(float),
    st.booleans(),
)
ROWS = st.lists(st.fixed_dictionaries(dict.fromkeys(("u", "v", "w"), VALUES)), min_size=4)


@given(ROWS, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_any_mixture_in_any_order(rows, random):
    """Order of keys does not matter, rows of a frame are as on their own, nothing is NaN."""
    one, other = encoding(n_steps=1), encoding(n_steps=1)
    for i, x in enumerate(rows):
        keys = list(x)
        random.shuffle(keys)
        shuffled = {key: x[key] for key in keys}
        assert one.scores_one(x) == other.scores_one(shuffled)
        one.learn_one(x, i % 2)
        other.learn_one(shuffled, i % 2)
    assert np.isfinite(one._state.history.raw.x[: len(rows)]).all()
    by_row = np.array([scores(one, x) for x in rows])
    columns = {name: pd.Series([x[name] for x in rows], dtype=object) for name in "wvu"}
    frame = pd.DataFrame(columns)
    from river_ineural.inputs.frames import Frame

    found = one._state.scores_of_frame(Frame(frame, one._state.features.encoder))
    assert found == pytest.approx(by_row, abs=1e-5)


# Frames

COLUMNS = {
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "pandas strings": lambda values: pd.Series(values, dtype="string"),
    "pandas categories": lambda values: pd.Series(values, dtype="category"),
    "polars strings": lambda values: pl.Series(values, dtype=pl.String),
    "polars categories": lambda values: pl.Series(values, dtype=pl.Categorical),
    "polars enum": lambda values: pl.Series(values, dtype=pl.Enum(["clerk", "maid", "cook"])),
}
AGES = {
    "pandas": lambda values: pd.Series(values, dtype="Float64"),
    "polars": lambda values: pl.Series(values, dtype=pl.Float64),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_frames_are_as_rows(column):
    """Predictions before anything is learned, after rows, and after the frame itself."""
    frame, series = KINDS[column.split()[0]]
    rows = people(60)
    xs, ys = zip(*rows, strict=True)
    X = frame(
        {
            "job": COLUMNS[column]([x["job"] for x in xs]),
            "tall": [x["tall"] for x in xs],
            "age": AGES[column.split()[0]]([x["age"] for x in xs]),
        }
    )
    by_rows = trained(encoding(), rows)
    by_frame = encoding()
    by_frame.learn_many(X, series(list(ys)))
    assert names(by_rows) == names(by_frame)
    for model in (encoding(classes=(False, True)), by_rows, by_frame):
        expected = [list(model.predict_proba_one(x).values()) for x in xs]
        found = np.asarray(model.predict_proba_many(X).to_numpy())
        assert found == pytest.approx(np.array(expected), abs=1e-5)
    one_by_one = encoding()
    for i in range(len(X)):
        one_by_one.learn_many(X[i : i + 1], series(list(ys[i : i + 1])))
    assert one_by_one._state.trainer.flat.equal(by_rows._state.trainer.flat)


def test_the_first_frame_has_its_own_median():
    model = encoding()
    X = pd.DataFrame({"age": [None, 50.0, 30.0, 31.0, None], "size": [1.0, None, 1.0, 2.0, 3.0]})
    model.learn_many(X, pd.Series([0, 1, 0, 1, 0]))
    state = model._state
    raw = state.history.raw.x[:5] + state.scaling.subtracted
    assert raw[:, state.features.columns["age"]].tolist() == [31.0, 50.0, 30.0, 31.0, 31.0]
    assert raw[:, state.features.columns["size"]].tolist() == [1.0, 1.0, 1.0, 2.0, 3.0]


def test_categories_of_numbers_are_neither():
    """A row of them is a number, but the column says otherwise: one of both, the error says."""
    X = pd.DataFrame({"odd": pd.Series([1, 2], dtype="category")})
    with pytest.raises(ValueError, match=r"'odd' holds categories that are not strings.*first"):
        encoding().predict_many(X)
    for kind in (str, float):
        encoding().predict_many(X.astype(kind))


# With a sampler


def test_rows_of_a_csv_file_go_straight_in():
    text = "age,job,rich\n31,clerk,no\n,maid,yes\n45,,yes\n"
    converters = {"age": lambda text: float(text) if text else None}
    rows = stream.iter_csv(io.StringIO(text), target="rich", converters=converters)
    model = active.INeurALSampler(encoding(), seed=1)
    for x, y in rows:
        model.predict_one(x)
        model.learn_one(x, y)
    made = {"age missing", "job=", "job=clerk", "job=maid"}
    assert names(model.classifier) == made | {"age"}


def test_a_sampler_learns_by_itself_what_it_would_by_hand():
    """Its checked copies are as good as x: scores, pseudo-labels and labels."""
    rows = people(120)
    model = active.INeurALSampler(encoding(), budget=40, horizon=120, seed=1)
    by_hand = encoding()
    for x, y in rows:
        before = by_hand.scores_one(x)
        pseudo = model.n_pseudo_labels
        _, ask = model.predict_one(x)
        if model.n_pseudo_labels > pseudo:
            by_hand.learn_one(x, max(before, key=before.get), pseudo_label=True)
        if ask:
            model.learn_one(x, y)
            by_hand.learn_one(x, y)
    assert model.n_pseudo_labels > 5
    assert by_hand._state.trainer.flat.equal(model.classifier._state.trainer.flat)


def test_a_label_of_an_example_with_gaps_is_not_expected_for_ever():
    """NaN is another object after a journey."""
    model = active.INeurALSampler(encoding(), seed=1)
    x = {"age": math.nan, "size": 1.0}
    assert model.predict_one(x)[1]
    assert model.n_pending == 1
    model.learn_one(json.loads(json.dumps(x)), 1)
    assert model.n_pending == 0


def test_in_a_pipeline():
    model = active.INeurALSampler(compose.Discard("id") | encoding(), seed=1)
    for i, (x, y) in enumerate(people(30)):
        x = {"id": f"{i}"} | x
        model.predict_one(x)
        model.learn_one(x, y)
    assert "age missing" in names(model.classifier[-1])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="feature 'age' is inf"):
        model.predict_one({"id": "a", "age": math.inf, "job": "clerk"})
    assert pickle.dumps(model) == before
