"""Frames of pandas and polars: the same numbers as row by row, in the caller's kind of frame."""

import copy
import datetime as dt
import functools
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from streams import blobs, dump, f1_of, learned, raises_and_keeps, small

from river_ineural import NeurONAL
from river_ineural.features.frames import Frame
from river_ineural.features.index import FeatureIndex
from river_ineural.learner import ROWS_A_PASS

STREAM = blobs(80, n_features=5, n_classes=3, seed=3)
XS = [x for x, _ in STREAM]
COLOURS = "red", "green", "blue"
KINDS = {"pandas": (pd.DataFrame, pd.Series), "polars": (pl.DataFrame, pl.Series)}


@pytest.fixture(params=list(KINDS))
def kind(request):
    """Frames and series of pandas, and of polars."""
    return KINDS[request.param]


def trained(labels=COLOURS, **settings):
    return learned(small(**settings), [(x, labels[y]) for x, y in STREAM[:40]])


def assert_matches_row_by_row(model, X, xs):
    """Labels equal, probabilities within float32's rounding; pandas keeps labels and index."""
    labels, proba = model.predict_many(X), model.predict_proba_many(X)
    assert type(proba) is type(X)
    assert labels.to_list() == [model.predict_one(x) for x in xs]
    expected = [model.predict_proba_one(x) for x in xs]
    known = columns = list(expected[0])
    if isinstance(X, pd.DataFrame):
        assert list(labels.index) == list(proba.index) == list(X.index)
    else:
        assert type(labels) is pl.Series
        columns = [str(label) for label in known]
    assert list(proba.columns) == columns
    actual = np.asarray(proba.to_numpy())
    assert actual.dtype == np.float64
    assert actual == pytest.approx(np.array([[p[i] for i in known] for p in expected]), abs=1e-5)
    assert np.abs(actual.sum(axis=1) - 1).max() < 1e-9


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kind": NeurONAL},
        {"labels": (1, 2, 3)},
        {"labels": (True, False, True)},
        {"labels": (7, 1_199, 600), "classes": tuple(range(1_200)), "max_classes": 1_500},
    ],
    ids=["str", "an output a class", "int", "bool", "more than a thousand"],
)
def test_predictions_match_row_by_row(kind, settings):
    assert_matches_row_by_row(trained(**settings), kind[0](XS), XS)


@pytest.mark.filterwarnings("ignore:80 predictions in a row lack")
def test_columns_in_another_order_missing_or_unknown(kind):
    """The first frame has more rows than one pass, the end of which is at none of its repeats."""
    frame, model, many = kind[0], trained(), XS * (ROWS_A_PASS // len(XS) + 1)
    assert_matches_row_by_row(model, frame(many)[["f3", "f0", "f4", "f2", "f1"]], many)
    xs = [{name: x[name] for name in ("f3", "f1")} for x in XS]
    assert_matches_row_by_row(model, frame(xs), xs)
    assert_matches_row_by_row(model, frame([{**x, "new": 5.0} for x in XS]), XS)


def test_columns_that_are_not_strings_or_two_of_one_name():
    """pandas allows them, and dicts with the same keys are the same examples, in their places."""
    X = pd.DataFrame({2: [0.5], 0: objects(1), ("a", 1): [2], 1: objects(True)})
    assert Frame(X, FeatureIndex(9)).values.tolist() == [[0.5, 1.0, 2.0, 1.0]]
    two = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["f0", "odd", "odd"])
    with pytest.raises(ValueError, match=r"(?s)rename or drop them first.*'odd'"):
        Frame(two, FeatureIndex(9))
    xs = [dict(enumerate(x.values())) for x in XS]
    model = learned(small(), [(x, y) for x, (_, y) in zip(xs, STREAM, strict=True)])
    assert_matches_row_by_row(model, pd.DataFrame(xs), xs)


def test_a_frame_without_rows_and_a_model_without_classes(kind):
    (frame, series), model = kind, trained()
    X, before = frame(XS), pickle.dumps(model)
    assert len(model.predict_many(X[:0])) == len(model.predict_proba_many(X[:0])) == 0
    model.learn_many(X[:0], series([]))
    assert pickle.dumps(model) == before
    labels, proba = small().predict_many(X[3:6]), small().predict_proba_many(X[3:6])
    assert (labels.to_list(), proba.shape[1]) == ([None] * 3, 0)
    assert frame is pl.DataFrame or list(labels.index) == list(proba.index) == [3, 4, 5]
    assert_matches_row_by_row(small(classes=("a", "b")), X[3:6], XS[3:6])


@pytest.mark.filterwarnings("ignore:labels .* are two classes")
@pytest.mark.parametrize("labels", [(1, "1", "b"), ("b", "True", True), (0.5, "b", "0.5")])
def test_labels_of_one_name(labels):
    """polars would have one column for both, and one probability lost; pandas keeps them apart."""
    model = trained(labels)
    assert_matches_row_by_row(model, pd.DataFrame(XS, index=[*"wxyw"] * 20), XS)
    first, second = (label for label in model.known_labels if label != "b")
    with pytest.raises(ValueError, match=f"labels {first!r} and {second!r} .*: give a pandas"):
        model.predict_proba_many(pl.DataFrame(XS))
    one_type = trained([str(label) + type(label).__name__ for label in labels])
    assert_matches_row_by_row(one_type, pl.DataFrame(XS), XS)


def test_a_frame_longer_than_the_history_and_than_a_pass():
    """The newest rows stay; all move the mean."""
    model = small(hidden_dim=16, capacity=20, n_steps=0, seed=2)
    learned(model, [({"t": 2_000.0 * label, "u": 1.0}, label) for label in (0, 1)])
    before = copy.deepcopy(model)
    n = ROWS_A_PASS + 50
    X = pd.DataFrame({"t": np.arange(n, dtype=float), "u": 1.0})
    model.learn_many(X, pd.Series([0, 1] * (n // 2)))
    history, column = dump(model).history, dump(model).features.columns["t"]
    assert history.n_labelled == 15
    stored = history.x[:15, column].tolist()
    assert sorted(stored) == [float(t) for t in range(n - 15, n)]
    mean = (n * (n - 1) / 2 + 2_000) / (n + 2)
    assert dump(model).scaling.moments[0, column].item() == pytest.approx(mean, rel=1e-5)
    # residuals of the second pass are under the weights and the mean before the frame too
    f1 = history.targets[:15, 0] - history.targets[:15, 1]
    expected = [f1_of(before, {"t": t, "u": 1.0}) for t in stored]
    assert f1 == pytest.approx(np.array(expected), abs=1e-6)
    assert np.ptp(expected, axis=0).min() > 1e-4


def objects(*values):
    """A pandas column of these very objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return pd.Series(array, dtype=object)


DAYS = [dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 3, 12)]
DATES, TIMES = [day.date() for day in DAYS], [dt.time(1), dt.time(2, 30)]
DURATIONS = [dt.timedelta(seconds=1), dt.timedelta(hours=1)]
NO_NUMBERS = [  # though NumPy or pandas or polars has numbers of some, or one is inside
    *(objects("1", "2"), objects(1, "2"), pd.Series(["1", "2"], dtype="string")),
    *(pl.Series(["1", "2"]), pl.Series(["1", "2"], dtype=pl.Object)),
    *(objects(b"1", b"2"), pl.Series([b"1", b"2"])),
    *(pd.Series(values, dtype="category") for values in (["1", "2"], [1, 2])),
    *(pl.Series(["1", "2"], dtype=dtype) for dtype in (pl.Categorical, pl.Enum(["1", "2"]))),
    *(objects(*DATES), objects(*map(pd.Timestamp, DAYS)), objects(np.datetime64(5, "ns"))),
    *(pd.Series(DAYS), pd.Series(DAYS).dt.tz_localize("UTC"), pl.Series(DATES), pl.Series(DAYS)),
    *(objects(*TIMES), pl.Series(TIMES), objects(*DURATIONS), objects(np.timedelta64(5, "ns"))),
    *(pd.Series(DURATIONS), pl.Series(DURATIONS)),
    *(pd.Series(pd.period_range("1970", periods=2, freq="D")), objects(object())),
    *(objects(1, 2 + 0j), pd.Series([1, 2 + 0j]), objects([1], [2]), pl.Series([[1], [2]])),
    *(pl.Series([[1], [2]], dtype=pl.Array(pl.Int64, 1)), pl.Series([{"a": 1}, {"a": 2}])),
    *(objects(1, None), objects(1, pd.NA), objects(1.0, float("nan"))),
    *(pd.Series([1, None], dtype="Int64"), pd.Series([True, None], dtype="boolean")),
    *(pl.Series(values) for values in ([None, None], [1, None], [True, None])),
    *(pl.Series([Decimal("1.5"), None]), objects(1, 10**400), pd.Series([2**53 + 1, 0])),
    *(kind([1.0, value]) for kind in (pd.Series, pl.Series) for value in (math.nan, -math.inf)),
]


def kind_of(column):
    return f"{type(column).__module__.partition('.')[0]} {column.dtype}"


def with_numbers(column):
    """A frame of that column and one of floats."""
    frame = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    return frame({"f0": [0.5] * len(column), "odd": column})


@pytest.fixture(scope="module")
def model():
    return trained()


@pytest.mark.parametrize("column", NO_NUMBERS, ids=kind_of)
def test_what_is_not_a_number_is_an_error_that_names_the_column_and_changes_nothing(model, column):
    X = with_numbers(column)
    learns = functools.partial(model.learn_many, y=X["f0"])
    for call in (model.predict_many, model.predict_proba_many, learns):
        with raises_and_keeps(model, "column 'odd' holds .* first", ValueError):
            call(X)


@pytest.mark.parametrize(
    "column",
    [
        *(pd.Series([0.1, 2.5], dtype=dtype) for dtype in ("float32", "float16", "Float64")),
        *(pd.Series([0, 255], dtype=dtype) for dtype in ("uint8", "UInt8", "Int32")),
        *(pd.Series([True, False], dtype=dtype) for dtype in (bool, "boolean")),
        pd.Series(np.array([0.5, 2.5], np.longdouble)),
        pd.Series([10**15 - 1, -(10**15) + 1]),
        pd.Series(pd.arrays.SparseArray([0, 1], dtype="Sparse[uint8]")),
        objects(1, 0.1, True, np.float32(0.1), np.uint8(3), np.bool_(True)),
        objects(Decimal("0.1"), Fraction(1, 3), 10**15 - 1),
        *(pl.Series([10**15 - 1, -(10**15) + 1], dtype=dtype) for dtype in (pl.Int64, pl.Int128)),
        *(pl.Series([0, 255], dtype=pl.UInt8), pl.Series([True, False])),
        pl.Series([0.1, 2.5], dtype=pl.Float32),
        pl.Series([Decimal("0.1"), Decimal("1234567890123.4567890123")]),
        pl.Series([1, Decimal("0.1")], dtype=pl.Object),
    ],
    ids=kind_of,
)
def test_real_numbers_of_any_type_are_their_floats(column):
    X = with_numbers(column)
    expected = [float(value) for value in column.to_list()]
    for frame, place in (X, 1), (X[["odd", "f0"]], 0), (X[["odd"]], 0):
        values = Frame(frame, FeatureIndex(9)).values
        assert values[:, place].tolist() == expected
        assert values.dtype == np.float64
        assert values.flags.c_contiguous
