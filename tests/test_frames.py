"""Frames of pandas and polars: the same numbers as row by row, in the caller's kind of frame."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from river import preprocessing
from streams import blobs

from river_ineural import INeurAL, NeurONAL
from river_ineural.inputs.frames import Frame
from river_ineural.learning.state import ROWS_A_PASS

STREAM = blobs(80, n_features=5, n_classes=3, seed=3)
XS = [x for x, _ in STREAM]
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def small(kind=INeurAL, **settings):
    return kind(**{"hidden_dim": 16, "batch_size": 16, "seed": 1, **settings})


def trained(labels=("red", "green", "blue"), **settings):
    model = small(**settings)
    for x, y in STREAM[:40]:
        model.learn_one(x, labels[y])
    return model


def assert_matches_row_by_row(model, X, xs):
    """Labels equal, probabilities within float32's rounding."""
    labels, proba = model.predict_many(X), model.predict_proba_many(X)
    assert type(proba) is type(X)
    assert type(labels) is (pd.Series if isinstance(X, pd.DataFrame) else pl.Series)
    assert labels.to_list() == [model.predict_one(x) for x in xs]
    expected = [model.predict_proba_one(x) for x in xs]
    known = list(expected[0])
    columns = known if isinstance(X, pd.DataFrame) else [str(label) for label in known]
    assert list(proba.columns) == columns
    actual = np.asarray(proba.to_numpy())
    assert actual.dtype == np.float64
    assert actual == pytest.approx(np.array([[p[i] for i in known] for p in expected]), abs=1e-5)
    assert np.abs(actual.sum(axis=1) - 1).max() < 1e-9


@pytest.mark.parametrize("kind", [INeurAL, NeurONAL])
@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
@pytest.mark.parametrize(
    "labels", [("red", "green", "blue"), (1, 2, 3), (True, False, True)], ids=["str", "int", "bool"]
)
def test_predictions_match_row_by_row(frame, labels, kind):
    assert_matches_row_by_row(trained(labels, kind=kind), frame(XS), XS)


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_order_of_columns_does_not_matter(frame):
    X = frame(XS)
    columns = ["f3", "f0", "f4", "f2", "f1"]
    assert_matches_row_by_row(trained(), X[columns], XS)


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_missing_columns_are_absent_features(frame):
    columns = ["f3", "f1"]
    xs = [{name: x[name] for name in columns} for x in XS]
    assert_matches_row_by_row(trained(), frame(XS)[columns], xs)


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_unknown_columns_are_ignored(frame):
    model = trained()
    xs = [{**x, "new": 5.0} for x in XS]
    assert_matches_row_by_row(model, frame(xs), XS)


def test_columns_that_are_not_strings():
    """pandas allows them, and dicts with the same keys are the same examples."""
    model = small()
    xs = [dict(enumerate(x.values())) for x in XS]
    for x, (_, y) in zip(xs, STREAM, strict=True):
        model.learn_one(x, y)
    assert_matches_row_by_row(model, pd.DataFrame(xs), xs)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "Float64", "Int32"])
def test_kinds_of_numeric_columns(dtype):
    """NumPy's and pandas' nullable ones."""
    X = (pd.DataFrame(XS) > 0).astype(dtype)
    xs = [{name: float(value) for name, value in x.items()} for x in X.to_dict("records")]
    assert_matches_row_by_row(trained(), X, xs)


def test_index_is_carried():
    X = pd.DataFrame(XS[:4], index=["w", "x", "y", "w"])
    model = trained()
    assert list(model.predict_many(X).index) == list(X.index)
    assert list(model.predict_proba_many(X).index) == list(X.index)


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_more_rows_than_one_pass(frame):
    """Passes are seams that must not show."""
    xs = [{**XS[t % len(XS)], "f0": t / 1000} for t in range(ROWS_A_PASS + 7)]
    model = trained()
    rows = [0, ROWS_A_PASS - 1, ROWS_A_PASS, ROWS_A_PASS + 6]
    labels = model.predict_many(frame(xs))
    assert len(labels) == len(xs)
    assert [labels[row] for row in rows] == [model.predict_one(xs[row]) for row in rows]


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_no_rows(frame):
    """A frame without rows predicts nothing and teaches nothing."""
    X = frame(XS)[:0]
    model = trained()
    assert len(model.predict_many(X)) == 0
    assert len(model.predict_proba_many(X)) == 0
    before = pickle.dumps(model)
    model.learn_many(X, (pd.Series if frame is pd.DataFrame else pl.Series)([]))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_unlearned_model(frame):
    """No class is known: no label, and no column of probabilities, for any row."""
    X = frame(XS[:3])
    labels = small().predict_many(X)
    assert labels.to_list() == [None] * 3
    assert small().predict_proba_many(X).shape[1] == 0


def test_unlearned_model_keeps_the_index():
    X = pd.DataFrame(XS[:3], index=[7, 8, 9])
    assert list(small().predict_many(X).index) == [7, 8, 9]
    assert list(small().predict_proba_many(X).index) == [7, 8, 9]


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_classes_known_beforehand(frame):
    """They are predicted as predict_one does before anything is learned."""
    model = small(classes=("a", "b"))
    assert_matches_row_by_row(model, frame(XS[:3]), XS[:3])


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_more_than_a_thousand_classes(frame):
    """Still distributions, the top of which is the label, and the same row by row."""
    model = trained(classes=tuple(range(1_200)), max_classes=1_500, labels=(7, 1_199, 600))
    X = frame(XS)
    assert_matches_row_by_row(model, X, XS)
    proba = np.asarray(model.predict_proba_many(X).to_numpy())
    assert (proba > 0).all()
    assert proba.argmax(axis=1).tolist() == model.predict_many(X).to_list()
    for x in XS[:5]:
        row = model.predict_proba_one(x)
        assert max(row, key=row.get) == model.predict_one(x)


@pytest.mark.parametrize("labels", [(1, "1", "b"), ("b", "True", True), (0.5, "b", "0.5")])
def test_labels_of_one_name(labels):
    """polars would have one column for both, and one probability lost; pandas keeps them apart."""
    model = trained(labels)
    assert_matches_row_by_row(model, pd.DataFrame(XS), XS)
    first, second = (label for label in model.known_labels if label != "b")
    with pytest.raises(ValueError, match=f"labels {first!r} and {second!r} .*: give a pandas"):
        model.predict_proba_many(pl.DataFrame(XS))
    one_type = trained([str(label) + type(label).__name__ for label in labels])
    assert_matches_row_by_row(one_type, pl.DataFrame(XS), XS)


# learn_many


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_learn_many_stores_every_row_with_its_residual_from_before(kind):
    """One pass under the weights and the mean before the frame, then n_steps for each row."""
    model, n_steps = trained(n_steps=2), []
    frame, series = (pd.DataFrame, pd.Series) if kind == "pandas" else (pl.DataFrame, pl.Series)
    step = model._state.trainer.step
    model._state.trainer.step = lambda *args, **kwargs: (n_steps.append(1), step(*args, **kwargs))
    xs, ys = XS[40:60], [("red", "green", "blue")[y] for _, y in STREAM[40:60]]
    f1 = [torch.tensor(model._seen(x)[0][0]) for x in xs]
    weights = [0.5 + i for i in range(20)]
    model.learn_many(frame(xs)[["f4", "f1", "f2", "f3", "f0"]], series(ys), series(weights))
    history, rows = model._state.history, slice(40, 60)
    assert history.added == [60, 0]
    assert len(n_steps) == 40
    assert history.weight[rows].tolist() == weights
    columns, reference = model._state.features.columns, model._state.scaling.reference
    for row, x, y, before in zip(range(40, 60), xs, ys, f1, strict=True):
        raw = history.x[row] + reference
        stored = {name: raw[column].item() for name, column in columns.items()}
        assert stored == pytest.approx(x, abs=1e-6)
        reward = torch.zeros(3)
        reward[model._state.labels.index[y]] = 1
        assert torch.equal(history.targets[row, 0], reward)
        torch.testing.assert_close(history.targets[row, 1], reward - before)
    mean = pd.DataFrame(XS[:60]).mean()
    assert model._state.scaling.n == 60
    for name, column in columns.items():
        found = model._state.scaling.moments[0, column] + reference[column]
        assert found.item() == pytest.approx(mean[name], abs=1e-5)


def test_a_frame_of_one_row_is_learn_one():
    """Bit by bit, new classes and features included."""
    by_frame, by_row = small(), small()
    for t, (x, y) in enumerate(STREAM):
        x = {name: x[name] for name in list(x)[: 1 + t // 10]}
        by_row.learn_one(x, y)
        by_frame.learn_many(pd.DataFrame([x]), pd.Series([y]))
    assert torch.equal(by_frame._state.trainer.flat, by_row._state.trainer.flat)
    assert by_frame.scores_one(XS[0]) == by_row.scores_one(XS[0])


def test_a_frame_longer_than_the_history_and_than_a_pass():
    """The newest rows stay; all move the mean."""
    model = small(capacity=20, n_steps=0, seed=2)
    for label in (0, 1):
        model.learn_one({"t": 2_000.0 * label, "u": 1.0}, label)
    before = copy.deepcopy(model)
    n = ROWS_A_PASS + 50
    X = pd.DataFrame({"t": np.arange(n, dtype=float), "u": 1.0})
    model.learn_many(X, pd.Series([0, 1] * (n // 2)))
    assert model._state.history.n_labelled == 15
    stored = model._state.history.x[:15, model._state.features.columns["t"]].tolist()
    assert sorted(stored) == [float(t) for t in range(n - 15, n)]
    column = model._state.features.columns["t"]
    mean = (n * (n - 1) / 2 + 2_000) / (n + 2)
    assert model._state.scaling.moments[0, column].item() == pytest.approx(mean, rel=1e-5)
    # residuals of the second pass are under the weights and the mean before the frame too
    f1 = model._state.history.targets[:15, 0] - model._state.history.targets[:15, 1]
    expected = [before._seen({"t": t, "u": 1.0})[0][0] for t in stored]
    assert f1.numpy() == pytest.approx(np.array(expected), abs=1e-6)
    assert np.ptp(expected, axis=0).min() > 1e-4


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
def test_learn_many_learns(frame):
    """Frames alone make a good classifier."""
    stream = blobs(600, n_features=5, n_classes=3, seed=5, noise=0.3)
    xs, ys = (list(part) for part in zip(*stream, strict=True))
    model = INeurAL(seed=1)
    series = pd.Series if frame is pd.DataFrame else pl.Series
    for start in range(0, 500, 50):
        rows = slice(start, start + 50)
        model.learn_many(frame(xs[rows]), series(ys[rows]))
    assert np.mean(np.array(model.predict_many(frame(xs[500:])).to_list()) == ys[500:]) > 0.95


@pytest.mark.parametrize("frame", list(KINDS.values()), ids=list(KINDS))
@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "red", 1e16])
def test_errors_name_the_column(frame, value):
    columns = {"f0": [1.0, 2.0], "odd": [value, value]}
    model = trained()
    before = pickle.dumps(model)
    series = pd.Series if frame is pd.DataFrame else pl.Series
    for call in (
        lambda: model.predict_many(frame(columns)),
        lambda: model.predict_proba_many(frame(columns)),
        lambda: model.learn_many(frame(columns), series(["red", "blue"])),
    ):
        with pytest.raises(ValueError, match="column 'odd'"):
            call()
    assert pickle.dumps(model) == before


def test_null_label_in_polars():
    model = trained()
    with pytest.raises((TypeError, ValueError), match="label"):
        model.learn_many(pl.DataFrame(XS[:2]), pl.Series(["red", None]))


# Columns that are numbers or are not


def objects(values):
    """A pandas column of these very objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return pd.Series(array, dtype=object)


DAYS = [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 3, 12)]
DATES, TIMES = [day.date() for day in DAYS], [dt.time(1), dt.time(2, 30)]
DURATIONS = [dt.timedelta(seconds=1), dt.timedelta(hours=1)]
AS_NUMBERS = {  # columns NumPy or pandas or polars has numbers of, and what the error calls them
    "objects of str": (objects(["1", "2"]), "strings"),
    "objects of bytes": (objects([b"1", b"2"]), "bytes"),
    "objects of int and str": (objects([1, "2"]), "strings"),
    "objects of dates": (objects(DATES), "dates"),
    "objects of timestamps": (objects([pd.Timestamp(day) for day in DAYS]), "dates"),
    "objects of NumPy's dates": (objects([np.datetime64(5, "ns")]), "dates"),
    "objects of times": (objects(TIMES), "times of day"),
    "objects of durations": (objects(DURATIONS), "durations"),
    "objects of NumPy's durations": (objects([np.timedelta64(5, "ns")]), "durations"),
    "objects of complex": (objects([1, 2 + 0j]), "complex"),
    "objects of lists": (objects([[1], [2]]), "lists"),
    "objects of int and None": (objects([1, None]), "missing"),
    "objects of int and NA": (objects([1, pd.NA]), "missing"),
    "objects of NaN": (objects([1.0, float("nan")]), "missing"),
    "objects of a huge int": (objects([1, 10**400]), "beyond"),
    "strings": (pd.Series(["1", "2"], dtype="string"), "strings"),
    "categories of str": (pd.Series(["1", "2"], dtype="category"), "categories"),
    "categories of int": (pd.Series([1, 2], dtype="category"), "categories"),
    "dates": (pd.Series(DAYS), "dates"),
    "dates of a zone": (pd.Series(DAYS).dt.tz_localize("UTC"), "dates"),
    "durations": (pd.Series(DURATIONS), "durations"),
    "periods": (pd.Series(pd.period_range("1970", periods=2, freq="D")), "not a number"),
    "complex": (pd.Series([1, 2 + 0j]), "complex"),
    "nullable int": (pd.Series([1, None], dtype="Int64"), "missing"),
    "nullable bool": (pd.Series([True, None], dtype="boolean"), "missing"),
    "large int": (pd.Series([2**53 + 1, 0]), "beyond"),
    "polars strings": (pl.Series(["1", "2"]), "strings"),
    "polars bytes": (pl.Series([b"1", b"2"]), "bytes"),
    "polars categories": (pl.Series(["1", "2"], dtype=pl.Categorical), "categories"),
    "polars enum": (pl.Series(["1", "2"], dtype=pl.Enum(["1", "2"])), "categories"),
    "polars dates": (pl.Series(DATES), "dates"),
    "polars datetimes": (pl.Series(DAYS), "dates"),
    "polars durations": (pl.Series(DURATIONS), "durations"),
    "polars times": (pl.Series(TIMES), "times of day"),
    "polars lists": (pl.Series([[1], [2]]), "lists"),
    "polars arrays": (pl.Series([[1], [2]], dtype=pl.Array(pl.Int64, 1)), "lists"),
    "polars structs": (pl.Series([{"a": 1}, {"a": 2}]), "structs"),
    "polars objects": (pl.Series(["1", "2"], dtype=pl.Object), "strings"),
    "polars nulls": (pl.Series([None, None]), "missing"),
    "polars int": (pl.Series([1, None]), "missing"),
    "polars bool": (pl.Series([True, None]), "missing"),
    "polars decimals": (pl.Series([Decimal("1.5"), None]), "missing"),
}


def with_numbers(column):
    """A frame of that column and one of floats."""
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    return frame({"f0": [0.5] * len(column), "odd": column})


@pytest.mark.parametrize(("column", "what"), AS_NUMBERS.values(), ids=list(AS_NUMBERS))
def test_what_is_not_a_number_is_an_error_that_names_the_column(column, what):
    """Though it may look like one, or be one inside: strings, categories, dates, ..."""
    with pytest.raises(ValueError, match=rf"column 'odd' .*{what}.*: .* first"):
        Frame(with_numbers(column))


REAL_NUMBERS = {
    "float32": pd.Series([0.1, 2.5], dtype="float32"),
    "float16": pd.Series([0.1, 2.5], dtype="float16"),
    "long double": pd.Series(np.array([0.5, 2.5], np.longdouble)),
    "uint8": pd.Series([0, 255], dtype="uint8"),
    "int64": pd.Series([10**15 - 1, -(10**15) + 1]),
    "bool": pd.Series([True, False]),
    "nullable": pd.Series([1, 255], dtype="UInt8"),
    "nullable float": pd.Series([0.1, 2.5], dtype="Float64"),
    "nullable bool": pd.Series([True, False], dtype="boolean"),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 1], dtype="Sparse[uint8]")),
    "objects": objects([1, 0.1, True, np.float32(0.1), np.uint8(3), np.bool_(True)]),
    "exact objects": objects([Decimal("0.1"), Fraction(1, 3), 10**15 - 1]),
    "polars uint8": pl.Series([0, 255], dtype=pl.UInt8),
    "polars int64": pl.Series([10**15 - 1, -(10**15) + 1]),
    "polars int128": pl.Series([10**15 - 1, -(10**15) + 1], dtype=pl.Int128),
    "polars float32": pl.Series([0.1, 2.5], dtype=pl.Float32),
    "polars bool": pl.Series([True, False]),
    "polars decimals": pl.Series([Decimal("0.1"), Decimal("1234567890123.4567890123")]),
    "polars objects": pl.Series([1, Decimal("0.1")], dtype=pl.Object),
}


@pytest.mark.parametrize("column", REAL_NUMBERS.values(), ids=list(REAL_NUMBERS))
def test_real_numbers_of_any_type_are_their_floats(column):
    """As `float` has them, next to other columns and alone."""
    X = with_numbers(column)
    expected = [float(value) for value in column.to_list()]
    for frame, place in (X, 1), (X[["odd", "f0"]], 0), (X[["odd"]], 0):
        values = Frame(frame).values
        assert values[:, place].tolist() == expected
        assert values.dtype == np.float64
        assert values.flags.c_contiguous


def test_columns_of_objects_among_columns_that_are_not_named_by_strings():
    """Each keeps its place."""
    X = pd.DataFrame({2: [0.5], 0: objects([1]), ("a", 1): [2], 1: objects([True])})
    assert Frame(X).values.tolist() == [[0.5, 1.0, 2.0, 1.0]]


def test_columns_of_objects_without_rows():
    """pandas has no better type for a column of nothing."""
    assert Frame(pd.DataFrame(columns=["a", "b"])).values.shape == (0, 2)


MENDED = {  # columns after what the errors advise
    "dates": (pd.Series(DAYS) - pd.Timestamp("2020-01-01")).dt.total_seconds(),
    "objects of dates": (pd.to_datetime(objects(DATES)) - DAYS[0]).dt.total_seconds(),
    "durations": pd.Series(DURATIONS).dt.total_seconds(),
    "objects of times": objects([time.hour * 3600 + time.minute * 60 for time in TIMES]),
    "objects of bytes": objects([int(value) for value in (b"1", b"2")]),
    "polars bytes": pl.Series([b"1", b"2"]).cast(pl.String).cast(pl.Float64),
    "complex": pd.Series(np.array([1, 2 + 1j]).imag),
    "missing": pd.Series([1, None], dtype="Int64").fillna(0),
    "large int": pd.Series([2**53 + 1, 0]) / 2**53,
    "polars dates": (pl.Series(DATES) - dt.date(2020, 1, 1)).dt.total_seconds(),
    "polars datetimes": (pl.Series(DAYS) - DAYS[0]).dt.total_seconds(),
    "polars durations": pl.Series(DURATIONS).dt.total_seconds(),
    "polars times": pl.Series(TIMES).cast(pl.Duration).dt.total_seconds(),
    "polars lists": pl.Series([[1], [2]]).list.get(0),
    "polars structs": pl.Series([{"a": 1}, {"a": 2}]).struct.field("a"),
    "polars missing": pl.Series([1, None]).fill_null(0),
}


@pytest.mark.parametrize("column", MENDED.values(), ids=list(MENDED))
def test_what_the_errors_advise_works(column):
    """Numbers come of it, and different ones of different values."""
    first, second = Frame(with_numbers(column)).values[:, 1]
    assert first != second


@pytest.mark.parametrize(
    "name",
    [name for name, (_, what) in AS_NUMBERS.items() if what in ("strings", "categories")],
)
def test_encoding_as_the_errors_advise_works(name):
    """River's encoder has a column of 0 and 1 for each string or category."""
    column = AS_NUMBERS[name][0]
    if name == "polars objects":
        column = pl.Series(column.to_list())  # polars finds no unique values of objects
    X = with_numbers(column)[["odd"]]
    encoder = preprocessing.OneHotEncoder()
    encoder.learn_many(X)
    values = Frame(encoder.transform_many(X)).values
    assert values.sum(axis=0).tolist() == [1.0, 1.0]
    assert set(values.ravel().tolist()) == {0.0, 1.0}


def test_two_columns_of_one_name():
    """pandas allows them; a feature has one value."""
    X = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["f0", "odd", "odd"])
    with pytest.raises(ValueError, match=r"(?s)rename or drop them first.*'odd'"):
        trained().predict_many(X)


def test_the_first_row_is_the_reference():
    """What a feature is beyond, in float64, is its value in the first row that has it."""
    model = small()
    model.learn_many(pd.DataFrame({"a": [3.0, 5.0], "b": [-1.0, 2.0]}), pd.Series([0, 1]))
    model.learn_many(pd.DataFrame({"a": [9.0, 8.0], "c": [7.0, 6.0]}), pd.Series([0, 1]))
    assert model._state.scaling.reference[1:4].tolist() == [3.0, -1.0, 7.0]
