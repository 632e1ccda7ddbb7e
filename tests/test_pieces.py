"""Features taken apart into linear pieces."""

from __future__ import annotations

import contextlib
import math
import pickle

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from river_ineural import INeurAL, NeurONAL
from river_ineural.learning import encoding
from river_ineural.learning.encoding import encoded
from river_ineural.learning.pieces import MOST_PIECES, PIECES, Pieces
from river_ineural.learning.ranking import SAMPLE
from river_ineural.persistence import from_bytes, to_bytes


def strips(n, seed=0, width=1.0):
    """Classes that take turns along one feature of three."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x = dict(zip("abc", rng.uniform(-2, 2, 3).tolist(), strict=True))
        yield x, math.floor(x["b"] / width) % 2


@pytest.fixture
def soon(monkeypatch):
    """Features are taken apart on less evidence, for which fewer labels do."""
    monkeypatch.setattr(encoding, "SURE", 1.0)


def learned(n=100, stream=None, **settings):
    model = INeurAL(**{"hidden_dim": 32, "capacity": 400, "pieces": True, "seed": 1, **settings})
    for x, y in stream or strips(n):
        model.learn_one(x, y)
    return model


def filled(state):
    """Whether all that is stored has the pieces of its features."""
    for rows in state.history.filled:
        x = state.history.x[rows].numpy().copy()
        before = x.copy()
        state.pieces.fill(x)
        np.testing.assert_array_equal(x, before)
    return len(state.features) + 1 == state.trainer.n_features <= state.history.x.shape[1]


# What pieces are


def test_they_lie_between_quantiles():
    sample = np.column_stack(
        [np.zeros(61), np.arange(61.0), np.arange(61) % 2, np.arange(61) % 3, [*[5.0] * 60, 9.0]]
    )
    pieces = Pieces.of(sample)
    assert pieces.first == 5
    assert pieces.sources.tolist() == [1] * PIECES + [3] * 2
    np.testing.assert_array_equal(pieces.lower, [*np.arange(0.0, 60, 10), 0, 1])
    np.testing.assert_array_equal(pieces.upper, [*np.arange(10.0, 61, 10), 1, 2])
    assert Pieces.of(sample[:, [0, 2, 4]]) is None  # of two values each, or nearly so
    assert Pieces.of(sample[:0]) is None


def test_many_features_have_fewer_pieces_each():
    rng = np.random.default_rng(0)
    for n_features, each in (42, PIECES), (51, 5), (128, 2), (129, 0):
        pieces = Pieces.of(rng.normal(size=(200, n_features)))
        assert len(pieces or ()) == n_features * each <= MOST_PIECES


@hypothesis.given(
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=3, max_size=50, unique=True),
    st.floats(-2e3, 2e3, width=32),
)
def test_the_pieces_of_a_value_add_up(values, value):
    """Times their widths they are the way from the least value to it, within the range; those below
    it are 1, those above it 0.
    """
    pieces = Pieces.of(np.array(values, np.float64)[:, np.newaxis])
    x = np.zeros((1, 1 + len(pieces)))
    x[0, 0] = value
    pieces.fill(x)
    found = x[0, pieces.columns]
    along = min(max(value, min(values)), max(values)) - min(values)
    assert np.dot(found, pieces.upper - pieces.lower) == pytest.approx(along, abs=1e-6)
    assert sorted(found.tolist(), reverse=True) == found.tolist()
    assert ((found == 1) | (pieces.upper >= value)).all()
    assert ((found == 0) | (pieces.lower <= value)).all()


# When features are taken apart


@pytest.mark.parametrize("kind", [INeurAL, NeurONAL])
def test_where_they_help(kind):
    wrong = []
    for pieces in (True, False):
        model = kind(hidden_dim=32, pieces=pieces, forest=False, seed=1)
        wrong.append(0)
        for x, y in strips(400, width=0.5):
            wrong[-1] += model.predict_one(x) != y
            model.learn_one(x, y)
        assert (model._state.pieces is not None) == pieces
    assert wrong[0] < 0.75 * wrong[1]


def test_not_where_a_line_does():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 4))
    names = "abcd"
    stream = [(dict(zip(names, row.tolist(), strict=True)), bool(row.sum() > 0)) for row in rows]
    assert learned(stream=stream)._state.pieces is None


def test_not_without_scaling():
    """x of norm 1 is taken as it is."""
    for settings in {"pieces": False}, {"normalize": "assumed", "pieces": True}:
        model = INeurAL(hidden_dim=8, seed=1, **settings)
        for x, y in strips(70):
            norm = math.hypot(*x.values())
            model.learn_one({name: value / norm for name, value in x.items()}, y)
        assert not model._state.takes_apart
        assert model._state.pieces is None


def test_the_sample_stands_for_all_examples():
    """Statistics of pieces are as if they had been there from the start."""
    rng = np.random.default_rng(0)
    model = INeurAL(hidden_dim=4, n_steps=0, seed=1)
    values = np.exp(rng.normal(size=4 * SAMPLE))
    for value in values.tolist():
        model.learn_one({"a": value}, value > 1)
    state = model._state
    pieces = Pieces.of(state.scaling.ranking.seen()[:, :2])
    scaling = encoded(state, pieces).scaling
    x = np.zeros((len(values), 2 + len(pieces)))
    x[:, 1] = values - values[0]
    pieces.fill(x)
    mean, *powers = scaling.moments[:, pieces.columns].numpy() / [[1], *[[scaling.n]] * 3]
    np.testing.assert_allclose(mean, x[:, pieces.columns].mean(axis=0), atol=0.1)
    apart = x[:, pieces.columns] - mean
    for power, found in zip((2, 3, 4), powers, strict=True):
        np.testing.assert_allclose(found, (apart**power).mean(axis=0), atol=0.1)


# With them


def test_what_is_asked_changes_nothing(soon):
    model = learned()
    assert model._state.pieces
    before = pickle.dumps(model)
    x, _ = next(strips(1, seed=1))
    model.predict_proba_one(x)
    model.predict_one({"new": 1.0})
    copied = pickle.loads(before)
    assert copied.scores_one(x) == model.scores_one(x)
    assert pickle.dumps(model) == before


def test_rows_of_frames_are_scored_as_examples(soon):
    model = learned()
    rows = [x for x, _ in strips(20, seed=1)]
    frame = model.predict_proba_many(pd.DataFrame(rows))
    for i, x in enumerate(rows):
        assert model.predict_proba_one(x) == pytest.approx(frame.iloc[i].to_dict(), abs=1e-5)


@pytest.mark.parametrize("max_features", [5, 50])
def test_features_that_come_and_go(soon, max_features):
    """Those that appear get columns behind the pieces; a column that another feature takes has
    pieces of what is in it. All goes on in a copy, and in a file.
    """
    model = learned(max_features=max_features)
    state = model._state
    n_pieces = len(state.pieces)
    full = pytest.warns(UserWarning, match="max_features")
    named = [{**x, f"new {i % 7}": 2.0 * i} for i, (x, _) in enumerate(strips(20, seed=2))]
    with full if max_features == 5 else contextlib.nullcontext():
        for i, x in enumerate(named):
            model.learn_one(x, i % 2)
            state = model._state
            assert filled(state)
            assert len(state.pieces) == n_pieces
    names = state.features.names
    assert len(names) == min(max_features, 3 + 7) == len(state.features.columns)
    assert [state.features.name(column) for column in state.features.columns.values()] == names
    pieces = set(range(state.pieces.first, state.pieces.first + n_pieces))
    assert not pieces & set(state.features.columns.values())
    for other in pickle.loads(pickle.dumps(model)), from_bytes(to_bytes(model)):
        again = learned(max_features=max_features)
        assert again._state.features.columns.keys() == {"a", "b", "c"}
        assert other._state.features.columns == state.features.columns
        assert other.scores_one(named[-1]) == model.scores_one(named[-1])
        other.learn_one(named[0], 1)
        assert filled(other._state)


def test_gaps_are_filled_before_they_are_taken_apart(soon):
    model = learned(missing=True, categories=True)
    assert model._state.pieces
    for x, y in strips(20, seed=2):
        model.learn_one(x | {"b": None, "kind": "new"}, y)
        assert filled(model._state)
    x = model._state.history.x[model._state.history.filled[0]].numpy()
    assert np.isfinite(x).all()


def test_after_a_change_they_stay_until_labels_have_doubled(soon):
    model = learned(120, drift_detector="surprise")
    columns = model._state.pieces.columns
    for x, y in strips(60, seed=3):
        model.learn_one(x, 1 - y)
    assert model.n_drifts > 0
    assert model._state.pieces.columns == columns
    assert filled(model._state)
    for state in (model._state.trial.former, model._state.trial.ongoing) if model.changing else ():
        assert filled(state)
