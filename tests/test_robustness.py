"""Bad input: a clear error that names it, and a model that is as it was. And invariants."""

from __future__ import annotations

import datetime as dt
import math
import pickle
import warnings
from decimal import Decimal

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from river import linear_model, preprocessing
from streams import blobs

from river_ineural import INeurAL, NeurONAL, active
from river_ineural.baselines import RetrainedNetwork
from river_ineural.inputs.labels import LabelIndex
from river_ineural.learning import trainer
from river_ineural.learning.history import History
from river_ineural.network.scores import nearest_distribution, probabilities

STREAM = blobs(40, n_features=3, n_classes=2, seed=4)


def small(kind=INeurAL, **settings):
    return kind(**{"hidden_dim": 8, "batch_size": 8, "seed": 1, **settings})


def trained(**settings):
    model = small(**settings)
    for x, y in STREAM:
        model.learn_one(x, y)
    return model


def trained_sampler(**settings):
    return active.INeurALSampler(trained(), **{"seed": 1, **settings})


class raises_and_keeps:
    """`pytest.raises`, and the pickle of the model is the same byte for byte after."""

    def __init__(self, model, error, match):
        self.model, self.raises = model, pytest.raises(error, match=match)

    def __enter__(self):
        self.before = pickle.dumps(self.model)
        return self.raises.__enter__()

    def __exit__(self, *error):
        raised = self.raises.__exit__(*error)
        assert pickle.dumps(self.model) == self.before
        return raised


# Features

BAD_VALUES = {
    "nan": (math.nan, ValueError),
    "numpy nan": (np.float32("nan"), ValueError),
    "inf": (math.inf, ValueError),
    "-inf": (-math.inf, ValueError),
    "string": ("red", TypeError),
    "numeric string": ("3.5", TypeError),
    "None": (None, TypeError),
    "pandas NA": (pd.NA, TypeError),
    "list": ([1.0], TypeError),
    "array": (np.ones(2), TypeError),
    "date": (dt.date(2024, 1, 1), TypeError),
    "complex": (1j, TypeError),
    "numpy complex": (np.complex64(1), TypeError),
    "duration": (np.timedelta64(1, "s"), TypeError),
    "array of one": (np.ones(1), TypeError),
    "1e300": (1e300, ValueError),
    "-1e300": (-1e300, ValueError),
    "a long int": (10**400, ValueError),
}
BAD_X = {
    "None": (None, TypeError, "x must be a dict"),
    "list": ([1.0, 2.0], TypeError, "x must be a dict"),
    "string": ("f0", TypeError, "x must be a dict"),
    "number": (3, TypeError, "x must be a dict"),
    **{
        name: ({"f0": 1.0, "bad one": value, "f2": 2.0}, error, "feature 'bad one'")
        for name, (value, error) in BAD_VALUES.items()
    },
}
CALLS = {
    "learn_one": lambda model, x: model.learn_one(x, 1),
    "learn_one pseudo": lambda model, x: model.learn_one(x, 1, pseudo_label=True),
    "predict_one": lambda model, x: model.predict_one(x),
    "predict_proba_one": lambda model, x: model.predict_proba_one(x),
    "scores_one": lambda model, x: model.scores_one(x),
    "debug_one": lambda model, x: model.debug_one(x),
}
SAMPLER_CALLS = {
    name: CALLS[name] for name in ("learn_one", "predict_one", "predict_proba_one", "debug_one")
}


@pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))
@pytest.mark.parametrize(("x", "error", "match"), list(BAD_X.values()), ids=list(BAD_X))
def test_classifier_refuses_a_bad_x(x, error, match, call):
    """Fresh or trained; the error names the feature."""
    for model in (small(), trained(), trained(kind=NeurONAL)):
        with raises_and_keeps(model, error, match):
            call(model, x)


@pytest.mark.parametrize("call", list(SAMPLER_CALLS.values()), ids=list(SAMPLER_CALLS))
@pytest.mark.parametrize(("x", "error", "match"), list(BAD_X.values()), ids=list(BAD_X))
def test_sampler_refuses_a_bad_x(x, error, match, call):
    """No round, no query, no draw is counted; neither fresh nor trained."""
    for model in (active.INeurALSampler(small(), seed=1), trained_sampler()):
        with raises_and_keeps(model, error, match):
            call(model, x)


@pytest.mark.parametrize("call", ["predict_one", "predict_proba_one"])
def test_sampler_around_a_pipeline_refuses_a_bad_x(call):
    """Unsupervised steps must not have learned the NaN that the classifier refuses: a scaler that
    saw one returns NaN ever after.
    """
    model = active.INeurALSampler(preprocessing.StandardScaler() | small(), seed=1)
    for x, y in STREAM:
        model.predict_one(x)
        model.learn_one(x, y)
    with raises_and_keeps(model, ValueError, "feature 'f1'"):
        SAMPLER_CALLS[call](model, {"f0": 1.0, "f1": math.nan, "f2": 0.0})


@given(
    x=st.dictionaries(st.text(max_size=5), st.floats(-1e15, 1e15), min_size=1, max_size=6),
    bad=st.sampled_from([math.nan, math.inf, -math.inf, 1e16, -1e300, "1", None, 1j]),
    data=st.data(),
)
def test_the_bad_feature_is_named_wherever_it_is(x, bad, data):
    """Among any finite ones, in any position."""
    name = data.draw(st.sampled_from(list(x)))
    model = small()
    with pytest.raises((TypeError, ValueError)) as error:
        model.learn_one({**x, name: bad}, 1)
    assert f"feature {name!r}" in str(error.value)
    assert len(model._state.features) == 0


def test_opposite_extremes_do_not_hide_each_other():
    """Their sum is 0, and finite, and they are still refused."""
    for value in (1e300, 1e16):
        with raises_and_keeps(small(), ValueError, "feature 'a'"):
            CALLS["predict_one"](small(), {"a": value, "b": -value})


@pytest.mark.parametrize(
    "value",
    [True, np.bool_(True), 1, np.int64(1), np.float16(1), np.float32(1), Decimal(1)],
    ids=lambda value: type(value).__name__,
)
def test_kinds_of_numbers(value):
    """Bools, ints and NumPy's are numbers; Decimal is or is not, but not depending on the rest."""
    expected = small().scores_one({"a": 1.0})
    model, twin = small(), small()
    if isinstance(value, Decimal):
        outcomes = []
        for x in ({"a": value}, {"a": value, "b": 1.0}):
            try:
                model.learn_one(x, 1)
                outcomes.append(True)
            except TypeError:
                outcomes.append(False)
        assert outcomes[0] == outcomes[1]
        return
    for x in ({"a": value}, {"a": value, "b": 2.0}):
        model.learn_one(x, 1)
        twin.learn_one({**x, "a": 1.0}, 1)
    assert model.scores_one({"a": value}) == twin.scores_one({"a": 1.0}) != expected


@pytest.mark.parametrize("make", [small, active.INeurALSampler, RetrainedNetwork])
def test_an_empty_x_is_an_example_whose_features_are_absent(make):
    """Before anything is learned, first of all, and among others."""
    model = make(small()) if make is active.INeurALSampler else make()
    model.predict_one({})
    model.learn_one({}, 0)
    model.learn_one({}, 1)
    for x, y in STREAM:
        model.learn_one(x, y)
    model.learn_one({}, 1)
    classifier = getattr(model, "classifier", model)
    absent = classifier.predict_proba_one(dict.fromkeys(STREAM[0][0], 0.0))
    assert classifier.predict_proba_one({}) == absent
    assert sum(absent.values()) == pytest.approx(1)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float16, np.float32])
def test_narrow_scalars_are_the_numbers_they_hold(kind):
    """Their sum would overflow: pixels of 200, say."""
    x = {f"f{i}": kind(200) for i in range(400)}
    model, twin = small(), small()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one(x, 1)
    twin.learn_one(dict.fromkeys(x, 200.0), 1)
    assert model.scores_one(x) == twin.scores_one(x)


@pytest.mark.parametrize("n_names", [60, 10**6])
def test_x_with_far_too_many_names(n_names):
    """Refused, learned or predicted."""
    model = trained(max_features=50)
    x = {**STREAM[0][0], **dict.fromkeys(range(n_names), 1.0)}
    with raises_and_keeps(model, ValueError, "max_features=50"):
        model.learn_one(x, 1)
    with raises_and_keeps(model, ValueError, "max_features=50"):
        model.scores_one(x)


def test_sampler_and_x_with_too_many_names():
    """A confident round would learn it as a pseudo-label, which it cannot: nothing has changed."""
    model = active.INeurALSampler(trained(max_features=50), gamma=0.0, seed=1)
    x = {**STREAM[0][0], **dict.fromkeys(range(60), 1.0)}
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="more than max_features=50"):
        model.predict_one(x)
    assert pickle.dumps(model) == before


# Labels, weights

BAD_LABELS = {
    "None": None,
    "nan": math.nan,
    "numpy nan": np.float64("nan"),
    "inf": math.inf,
    "tuple": (1, 2),
    "list": [1],
    "dict": {"a": 1},
    "array": np.ones(2),
    "pandas NA": pd.NA,
}


@pytest.mark.parametrize("label", list(BAD_LABELS.values()), ids=list(BAD_LABELS))
def test_a_bad_label_is_refused(label):
    """Hashable or not, before anything is stored."""
    for model in (small(), trained(), trained_sampler()):
        with raises_and_keeps(model, (TypeError, ValueError), "label"):
            model.learn_one({"f0": 1.0, "new": 2.0}, label)


@pytest.mark.parametrize("w", [-1, -1e-9, math.nan, math.inf, "2", None, 1e300])
def test_a_bad_weight_is_refused(w):
    """A weight that float32 cannot hold would poison every network weight."""
    for model in (small(), trained(), trained_sampler()):
        with raises_and_keeps(model, (TypeError, ValueError), r"^w "):
            model.learn_one({"f0": 1.0, "new": 2.0}, 1, w=w)


# Frames

GOOD_FRAME = pd.DataFrame({"f0": [1.0, 2.0], "bad one": [0.0, 1.0]})
BAD_FRAMES = {
    "nan": pd.DataFrame({"f0": [1.0, 2.0], "bad one": [0.0, math.nan]}),
    "inf": pd.DataFrame({"f0": [1.0, 2.0], "bad one": [-math.inf, 1.0]}),
    "1e300": pd.DataFrame({"f0": [1.0, 2.0], "bad one": [1e300, 1.0]}),
    "string": pd.DataFrame({"f0": [1.0, 2.0], "bad one": ["red", "blue"]}),
    "numeric string": pd.DataFrame({"f0": [1.0, 2.0], "bad one": ["1", "2"]}),
    "None": pd.DataFrame({"f0": [1.0, 2.0], "bad one": [None, 1.0]}),
    "objects": pd.DataFrame({"f0": [1.0, 2.0], "bad one": [object(), 1.0]}),
    "dates": pd.DataFrame({"f0": [1.0, 2.0], "bad one": pd.to_datetime(["2024-01-01"] * 2)}),
}
FRAME_CALLS = {
    "learn_many": lambda model, X: model.learn_many(X, pd.Series([1, 0])),
    "predict_many": lambda model, X: model.predict_many(X),
    "predict_proba_many": lambda model, X: model.predict_proba_many(X),
}


@pytest.mark.parametrize("call", list(FRAME_CALLS.values()), ids=list(FRAME_CALLS))
@pytest.mark.parametrize("frame", list(BAD_FRAMES.values()), ids=list(BAD_FRAMES))
def test_a_bad_frame_is_refused(frame, call):
    """The error names the column."""
    for model in (small(), trained()):
        with raises_and_keeps(model, (TypeError, ValueError), "column 'bad one'"):
            call(model, frame)


@pytest.mark.parametrize(
    ("X", "y", "w", "match"),
    [
        (GOOD_FRAME, [1, None], None, "label"),
        (GOOD_FRAME, [1.0, math.nan], None, "label"),
        (GOOD_FRAME, [1, (2, 3)], None, "label"),
        (GOOD_FRAME, [1], None, "2 rows, y 1"),
        (GOOD_FRAME, [1, 0, 1], None, "2 rows, y 3"),
        (GOOD_FRAME, [1, 0], [1.0], "w 1"),
        (GOOD_FRAME, [1, 0], [1.0, -1.0], r"\bw\b"),
        (GOOD_FRAME, [1, 0], [1.0, math.nan], r"\bw\b"),
        (GOOD_FRAME, [1, 0], ["heavy", "light"], r"\bw\b"),
        (GOOD_FRAME.iloc[:, :0], [1, 0], None, "no column"),
        (pd.DataFrame(np.ones((2, 60))), [1, 0], None, "max_features=50"),
    ],
)
def test_learn_many_refuses(X, y, w, match):
    """Labels, weights and lengths, before anything is stored."""
    y = pd.Series(y, dtype=object)
    w = None if w is None else pd.Series(w)
    for model in (small(max_features=50), trained(max_features=50)):
        with raises_and_keeps(model, (TypeError, ValueError), match):
            model.learn_many(X, y, w)


# Parameters


@pytest.mark.parametrize(
    "bad",
    [
        {"hidden_dim": 0},
        {"hidden_dim": 1.5},
        {"hidden_dim": True},
        {"n_layers": 1},
        {"lr": 0.0},
        {"lr": -1e-3},
        {"lr": math.nan},
        {"lr": math.inf},
        {"lr": "fast"},
        {"batch_size": 0},
        {"n_steps": -1},
        {"n_steps": math.inf},
        {"capacity": 1},
        {"explorers": "forest"},
        {"explorers": ["forest"]},
        {"explorers": ("trees",)},
        {"explorers": ("forest", "forest")},
        {"classes": "ab"},
        {"classes": 5},
        {"classes": ("a", None)},
        {"classes": ("a", ["b"])},
        {"max_features": 0},
        {"max_classes": 1},
        {"device": "tpu"},
        {"device": "cuda:99"},
        {"device": ""},
        {"device": None},
        {"device": "meta"},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": "x"},
    ],
    ids=str,
)
def test_classifier_checks_its_parameters(bad):
    """The error names the parameter."""
    name = next(iter(bad))
    match = "label|classes" if name == "classes" else rf"\b{name}\b"
    with pytest.raises((TypeError, ValueError), match=match):
        INeurAL(**bad)


SAMPLERS = {
    "ineural": lambda **kw: active.INeurALSampler(**{"classifier": small(), **kw}),
    "random": lambda **kw: active.RandomSampler(
        **{"classifier": linear_model.SoftmaxRegression(), **kw}
    ),
    "margin": lambda **kw: active.MarginSampler(
        **{"classifier": linear_model.SoftmaxRegression(), **kw}
    ),
}


@pytest.mark.parametrize("make", list(SAMPLERS.values()), ids=list(SAMPLERS))
@pytest.mark.parametrize(
    "bad",
    [
        {"budget": 1.5},
        {"budget": -0.1},
        {"budget": -1},
        {"budget": math.nan},
        {"budget": "all"},
        {"budget": True},
        {"horizon": 0},
        {"horizon": 10.5},
        {"horizon": -3},
        {"seed": -1},
        {"seed": "x"},
        {"classifier": None},
        {"classifier": linear_model.LinearRegression()},
    ],
    ids=str,
)
def test_samplers_check_their_parameters(make, bad):
    """The error names the parameter."""
    with pytest.raises((TypeError, ValueError), match=rf"\b{next(iter(bad))}\b"):
        make(**bad)


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("ineural", {"classifier": linear_model.LogisticRegression()}),
        ("ineural", {"classifier": preprocessing.StandardScaler() | linear_model.Perceptron()}),
        ("ineural", {"gamma": -1}),
        ("ineural", {"gamma": math.nan}),
        ("ineural", {"width": 0.05}),
        ("ineural", {"self_training": "yes"}),
        ("random", {"p": 1.1}),
        ("random", {"p": "half"}),
        ("margin", {"threshold": -0.1}),
        ("margin", {"threshold": 2}),
    ],
    ids=str,
)
def test_sampler_checks_its_own_parameters(kind, bad):
    """The error names the parameter."""
    with pytest.raises((TypeError, ValueError), match=rf"\b{next(iter(bad))}\b"):
        SAMPLERS[kind](**bad)


def test_to_a_device_that_is_not_there_changes_nothing():
    model = trained()
    for device in ("tpu", "cuda:99"):
        with raises_and_keeps(model, ValueError, f"device='{device}'"):
            model.to(device)


# Caps


def counted_warnings(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught]


def test_feature_cap_warns_once_and_the_model_works():
    """New names take the places of those not learned for longest; what stays goes on learning."""
    model = small(max_features=3)
    for x, y in STREAM[:20]:
        model.learn_one(x, y)

    def more():
        for t, (x, y) in enumerate(STREAM[20:]):
            model.learn_one({"f0": x["f0"], "f1": x["f1"], f"new {t}": 1.0}, y)

    caught = counted_warnings(more)
    assert len(caught) == 1
    assert "max_features=3" in caught[0]
    assert set(model._state.features.columns) == {"f0", "f1", "new 19"}
    right = [model.predict_one(x) == y for x, y in STREAM]
    assert np.mean(right) > 0.9


def test_those_learned_longest_ago_make_room():
    """In the order of their columns if it is as long ago; a name in the example never does."""
    model = small(max_features=4)
    for names in ("abcd", "bd", "a", "c"):
        model.learn_one(dict.fromkeys(names, 1.0), 0)
    assert counted_warnings(lambda: model.learn_one({"e": 1.0, "d": 2.0}, 1))
    assert list(model._state.features.columns) == ["a", "c", "d", "e"]
    model.predict_one({"a": 1.0})  # a prediction is no use
    model.learn_one({"c": 1.0, "g": 1.0, "f": 1.0}, 1)
    assert set(model._state.features.columns) == {"c", "d", "f", "g"}


@pytest.mark.parametrize("kind", [INeurAL, NeurONAL])
def test_a_name_that_takes_the_place_of_another_starts_anew(kind):
    """Nothing of the old name is left in weights, averages, statistics or the stored examples."""
    model = small(kind, max_features=3, capacity=20, n_steps=3)
    for x, y in STREAM[:10]:
        model.learn_one({"a": 50 + x["f0"], "b": x["f1"], "old": -3 - x["f2"] ** 2}, y)
    state = model._state
    column = state.features.columns["old"]
    kept = [flat.clone() for flat in (state.trainer.flat, state.trainer.average.flat)]
    with pytest.warns(UserWarning, match="make room"):
        grown = state.grown({"a": 1, "b": 1, "new": 1}, np.array([[51.0, 0.0, 7.0]]), [0])
    grown.settle()
    assert grown.features.columns["new"] == column
    assert grown.scaling.reference[column] == 7
    assert grown.scaling.moments[:, column].tolist() == [-7, 0, 0, 0]
    assert (grown.history.x[: grown.history.n_labelled, column] == -7).all()
    shape = grown.trainer.shape
    for before, after in zip(kept, (grown.trainer.flat, grown.trainer.average.flat), strict=True):
        old, new = shape.weights(before), shape.weights(after)
        others = torch.arange(shape.n_features) != column
        for now, then in zip(new.first_layers, old.first_layers, strict=True):
            assert (now[..., column] != then[..., column]).all()
            assert torch.equal(now[..., others], then[..., others])
        kept = (*new.deep, *new.by_class), (*old.deep, *old.by_class)
        assert all(torch.equal(*layers) for layers in zip(*kept, strict=True))
    for moment in grown.trainer.optimizer.moments:
        for layer in shape.weights(moment).first_layers:
            assert not layer[..., column].any()
        assert shape.weights(moment).first_layers[0][..., 1:3].any()


def test_a_vocabulary_that_churns_is_learned():
    """400 names, three at a time, in room for 60: a new word tells its class after a few labels, at
    the end as at the beginning, and memory is that of 60.
    """
    rng = np.random.default_rng(0)
    model = small(max_features=60, hidden_dim=16, batch_size=16, capacity=200)
    right = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in range(1_600):
            topic, y = t // 40, int(rng.integers(2))  # each topic has words of its own
            words = rng.choice(100, 3, replace=False)
            x = {f"topic {topic} class {y} word {word % 5}": 1.0 for word in words}
            if t % 40 >= 20:
                right.append(model.predict_one(x) == y)
            model.learn_one(x, y)
    assert model._state.trainer.shape.n_features <= 76
    assert len(model._state.features) == 60
    late = right[len(right) // 2 :]
    assert np.mean(late) > 0.9


def test_weights_beyond_the_limit_are_an_error_before_anything_is_allocated(monkeypatch):
    """Which says what to lower; model and sampler are as they were, and go on."""
    with pytest.raises(ValueError, match="weights, more than 25,000,000: lower hidden_dim, max_f"):
        INeurAL(hidden_dim=10**6).learn_one({f"f{i}": 1.0 for i in range(100)}, 0)
    monkeypatch.setattr(trainer, "MOST_WEIGHTS", 3 * 8 * 2 * 8 + 2 * 8)
    model = small()
    for x, y in STREAM:
        model.learn_one(
            {**x, "f7": 1.0, "f8": 2.0, "f9": 3.0}, y
        )  # room grows no further than that
    with raises_and_keeps(model, ValueError, "weights, more than"):
        model.learn_one(STREAM[0][0], 2)
    with raises_and_keeps(model, ValueError, "weights, more than"):
        model.check_one(STREAM[0][0], 2)
    sampler = active.INeurALSampler(model, gamma=0.0, seed=1)
    more = dict.fromkeys(range(8), 1.0)
    with raises_and_keeps(sampler, ValueError, "weights, more than"):
        sampler.predict_one(more)  # its pseudo-label could not be learned
    model.predict_one(more)  # what is not learned takes no room
    model.learn_one({**STREAM[0][0], "new": 1.0}, 0)
    assert len(model._state.features) == 7


# Numbers of any size


@pytest.mark.parametrize("offset", [1.7e9, -3e6, 1e12])
def test_a_feature_far_from_zero_is_as_good_as_one_around_it(offset):
    """Times, identifiers and prices lose nothing to float32: as with a StandardScaler in front."""
    rng = np.random.default_rng(0)
    points = rng.integers(-8, 8, size=(300, 2)) / 8  # exact beside each offset
    right = {}
    for shift in (0.0, offset):
        model, hits = small(hidden_dim=32, batch_size=32), []
        for a, b in points:
            x, y = {"t": shift + a, "u": b}, int(a + b / 2 > 0)
            hits.append(model.predict_one(x) == y)
            model.learn_one(x, y)
        right[shift] = np.mean(hits[50:])
    assert right[offset] == pytest.approx(right[0.0], abs=0.02)
    assert right[offset] > 0.85


def test_a_late_feature_far_from_zero():
    """It was 0 in the examples before it, in their statistics and in the store."""
    model = small(capacity=40)
    for x, y in STREAM[:10]:
        model.learn_one({"f0": x["f0"]}, y)
    model.learn_one({"f0": 0.0, "t": 1.7e9}, 1)
    state = model._state
    column = state.features.columns["t"]
    reference = state.scaling.reference[column].item()
    assert reference == 1.7e9
    raw = state.history.x[:11, column].double() + reference
    assert raw.tolist() == [0.0] * 10 + [1.7e9]
    mean = state.scaling.moments[0, column].item() + reference
    assert mean == pytest.approx(1.7e9 / 11)


def test_class_cap_warns_once_and_the_model_works():
    """Examples of later classes are ignored: neither stored nor trained on."""
    model = trained(max_classes=2)

    def more():
        for x, _ in STREAM[:5]:
            model.learn_one(x, 2)
        model.learn_many(pd.DataFrame([x for x, _ in STREAM[:2]]), pd.Series([3, 4]))

    before = model.scores_one(STREAM[0][0])
    caught = counted_warnings(more)
    assert len(caught) == 1
    assert "max_classes=2" in caught[0]
    assert model.scores_one(STREAM[0][0]) == before
    assert len(model._state.history) == len(STREAM)
    X, y = pd.DataFrame([x for x, _ in STREAM[:3]]), pd.Series([0, 5, 1])
    assert counted_warnings(lambda: model.learn_many(X, y)) == []
    assert len(model._state.history) == len(STREAM) + 2
    assert set(model.predict_proba_one(STREAM[0][0])) == {0, 1}


# Invariants

names = st.one_of(st.text(max_size=3), st.integers(-5, 5), st.none(), st.tuples(st.integers(0, 2)))
values = st.floats(-1e15, 1e15) | st.integers(-5, 5) | st.booleans()
examples = st.tuples(
    st.dictionaries(names, values, min_size=1, max_size=5),
    st.sampled_from([0, 1, "a", "b"]),
    st.booleans(),
)


@given(st.lists(examples, max_size=12), examples, st.integers(0, 100))
def test_probabilities_sum_to_one_and_agree_with_the_label(stream, last, seed):
    """After any examples, values up to the largest accepted."""
    model = small(seed=seed)
    for x, y, pseudo_label in stream:
        model.learn_one(x, y, pseudo_label=pseudo_label)
    x = last[0]
    proba, scores = model.predict_proba_one(x), model.scores_one(x)
    assert list(proba) == list(scores) == list(dict.fromkeys(y for _, y, _ in stream))
    if not proba:
        assert model.predict_one(x) is None
        return
    assert all(math.isfinite(score) for score in scores.values())
    assert math.isclose(sum(proba.values()), 1.0, abs_tol=1e-9)
    assert all(0 < p <= 1 for p in proba.values())
    assert max(proba, key=proba.get) == model.predict_one(x) == max(scores, key=scores.get)


@given(
    st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=100),
    st.integers(0, 10**6),
)
def test_probabilities_of_any_scores(scores, seed):
    """Sum 1, none below 0.001, order kept."""
    rows = np.array([scores, np.random.default_rng(seed).permutation(scores)])
    for row, p in zip(rows, probabilities(rows), strict=True):
        assert abs(p.sum() - 1) <= 1e-9
        assert (p >= 0.001 - 1e-12).all()
        assert p[row.argmax()] == p.max()
        assert (np.diff(p[np.argsort(row, kind="stable")]) >= 0).all()


def scores_of(k, pool, seed):
    """k of the pool, each there as often as chance has it."""
    return np.random.default_rng(seed).choice(np.array(pool), k)


def first_of_the_highest(scores):
    """Where it is, NaN being as low as can be."""
    return np.where(np.isnan(scores), -np.inf, scores).argmax()


@given(
    st.integers(1, 5_000),
    st.lists(st.floats(-2, 2) | st.floats(), min_size=1, max_size=20),
    st.integers(0, 10**6),
)
@settings(deadline=None)
def test_probabilities_of_any_number_of_classes_and_any_scores(k, pool, seed):
    """A distribution with a floor, whose top is that of the scores; inf is first, NaN last."""
    pool = [*pool, *np.random.default_rng(seed).normal(size=k % 7).tolist()]
    rows = np.array([scores_of(k, pool, seed), scores_of(k, pool, seed + 1)])
    for row, p in zip(rows, probabilities(rows), strict=True):
        assert abs(p.sum() - 1) <= 1e-9
        assert (p >= min(0.001, 0.1 / k) * (1 - 1e-6)).all()
        assert p.argmax() == first_of_the_highest(row)
        row = np.where(np.isnan(row), -np.inf, row)
        assert (np.diff(p[np.argsort(row, kind="stable")]) >= 0).all()
        assert (probabilities(row[None])[0] == p).all()  # whatever the other rows are
        by_label = nearest_distribution(dict(enumerate(row.tolist())))
        assert list(by_label.values()) == p.tolist()


def close_scores(scale):
    """Pairs of any distance, of neighbouring floats, and of a distance of 1."""
    one = st.floats(-scale, scale)
    steps = st.sampled_from([0.0, 1.0, -1.0, 1e-16, -1e-16])
    return (
        st.tuples(one, one)
        | one.map(lambda a: (a, math.nextafter(a, math.inf)))
        | one.map(lambda a: (math.nextafter(a, math.inf), a))
        | st.tuples(one, steps).map(lambda pair: (pair[0], sum(pair)))
    )


@given(st.lists(st.sampled_from([1e-17, 1.0, 1e6, 2e6, 1e300]).flatmap(close_scores), min_size=50))
@settings(deadline=None)
def test_probabilities_of_two_scores_are_to_the_bit_those_of_many_rows(pairs):
    """The closed form, and the projection by sorting."""
    for pair, row in zip(pairs, probabilities(np.array(pairs)).tolist(), strict=True):
        assert [*nearest_distribution(dict(zip("ab", pair, strict=True))).values()] == row


@pytest.mark.parametrize("k", [2, 100, 101, 1_000, 1_001, 5_000])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e4, 1e30, 1e300])
def test_top_of_many_classes(k, size):
    """More than 1,000 classes too, close together and far apart."""
    scores = np.random.default_rng(k).normal(size=(20, k)) * size
    p = probabilities(scores)
    assert (p > 0).all()
    assert np.abs(p.sum(axis=1) - 1).max() <= 1e-9
    assert (p.argmax(axis=1) == scores.argmax(axis=1)).all()


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1e30], [1]),
        ([-1e30, -1e30], [0.5, 0.5]),
        ([-1e30, 1e30], [0.001, 0.999]),
        ([1e308, 1e308, -1e308], [0.4995, 0.4995, 0.001]),
        ([0.5, 0.5, -1e308, -1e308], [0.499, 0.499, 0.001, 0.001]),
        ([1e9 + 0.5, 1e9], [0.7495, 0.2505]),
        ([math.inf], [1]),
        ([-math.inf], [1]),
        ([1e308, math.inf], [0.001, 0.999]),
        ([math.inf, math.inf, 0], [0.4995, 0.4995, 0.001]),
        ([-math.inf, 0.3, math.nan], [0.001, 0.998, 0.001]),
        ([math.nan, math.nan], [0.5, 0.5]),
        ([math.nan, -math.inf], [0.5, 0.5]),
    ],
)
def test_probabilities_of_huge_infinite_and_missing_scores(scores, expected):
    """As near as the scores get, never NaN."""
    assert probabilities(np.array([scores]))[0] == pytest.approx(expected, abs=1e-12)


def test_probabilities_of_scores_closer_than_rounding():
    """The top of the scores is the top, though the class before it has all but its score."""
    p = probabilities(np.array([[0.0, 1e-17, -1.0], [0.0, 1e-17, 1e-17]]))
    assert p.argmax(axis=1).tolist() == [1, 1]
    assert p[1, 1] == p[1, 2]


def test_probabilities_of_scores_that_are_probabilities():
    """Scores on the simplex are their own nearest distribution, but for the share of uniform."""
    p = probabilities(np.array([[0.7, 0.2, 0.1]]))[0]
    assert p == pytest.approx(0.997 * np.array([0.7, 0.2, 0.1]) + 0.001)


@given(st.lists(examples, min_size=1, max_size=10), st.randoms(use_true_random=False))
def test_order_of_keys_never_matters(stream, random):
    """Weights, columns and scores are the same whatever the order, names of any types."""
    model, shuffled = small(), small()
    for x, y, pseudo_label in stream:
        keys = list(x)
        random.shuffle(keys)
        model.learn_one(x, y, pseudo_label=pseudo_label)
        shuffled.learn_one({key: x[key] for key in keys}, y, pseudo_label=pseudo_label)
        assert list(model._state.features.columns.items()) == list(
            shuffled._state.features.columns.items()
        )
        assert model.scores_one(x) == shuffled.scores_one({key: x[key] for key in keys})
    assert torch.equal(model._state.trainer.flat, shuffled._state.trainer.flat)


def test_order_of_keys_never_matters_for_partially_ordered_names():
    """frozensets compare by inclusion, so sorting them does not order them."""
    keys = [frozenset("a"), frozenset("b"), frozenset("c")]
    columns = []
    for order in (keys, keys[::-1]):
        model = small()
        model.learn_one(dict.fromkeys(order, 1.0), 0)
        columns.append(list(model._state.features.columns))
    assert columns[0] == columns[1]


@pytest.mark.parametrize("capacity", [2, 3, 8, 100])
def test_pseudo_labels_never_push_out_labels(capacity):
    """The labelled ring keeps its examples, the newest of them, whatever the pseudo-labels do."""
    model = small(capacity=capacity)
    n_labelled = capacity - max(1, capacity // 4)
    for t in range(n_labelled + 2):
        model.learn_one({"f": float(t), "g": 1.0}, t % 2)
        for _ in range(3):
            model.learn_one({"f": -1.0, "g": 1.0}, 0, pseudo_label=True)
    history = model._state.history
    rows, pseudo = history.filled
    stored = history.x[rows, model._state.features.columns["f"]].tolist()
    assert sorted(stored) == [float(t) for t in range(2, n_labelled + 2)]
    assert (history.x[pseudo, model._state.features.columns["f"]] == -1).all()
    assert len(history) == capacity == len(history.x)


@settings(max_examples=30)
@given(
    st.integers(2, 12),
    st.lists(st.tuples(st.booleans(), st.integers(1, 15)), max_size=20),
)
def test_history_is_bounded_and_holds_the_newest(capacity, arrivals):
    """Frames of any length into either ring, against a plain list that is cut."""
    model = small(capacity=capacity, n_steps=0)
    n_pseudo = max(1, capacity // 4)
    expected = {False: [], True: []}
    t = 0
    for pseudo_label, n in arrivals:
        values = np.arange(t, t + n, dtype=float)[:, None]
        t += n
        model._remember(["f"], values, [0] * n, np.ones(n), pseudo_label)
        expected[pseudo_label] += values[:, 0].tolist()
    assert len(model._state.history) <= capacity
    if t:
        sizes = {False: capacity - n_pseudo, True: n_pseudo}
        for rows, kind in zip(model._state.history.filled, (False, True), strict=True):
            stored = sorted(
                model._state.history.x[rows, model._state.features.columns["f"]].tolist()
            )
            assert stored == expected[kind][-sizes[kind] :]


def test_share_of_labelled_examples_in_a_batch():
    """0.7 of every batch where both kinds are there; all of it where one is."""
    history = History(100, np.random.default_rng(0), torch.empty(0))
    history = history.resized(1, 1)
    one = torch.zeros(1, 1), torch.zeros(1, 2, 1), torch.ones(1, 1)
    for _ in range(5):
        history.add(*one, pseudo_label=False)
    assert set(history.rows(200)) == set(range(5))
    for _ in range(50):
        history.add(*one, pseudo_label=True)
    rows = np.stack([history.rows(32) for _ in range(100)])
    labelled = rows < history.capacities[0]
    assert (labelled.sum(axis=1) == 22).all()
    assert set(rows.ravel().tolist()) == {*range(5), *range(75, 100)}


def test_history_of_pseudo_labels_only():
    """Nothing labelled yet: the whole batch is pseudo-labelled."""
    history = History(100, np.random.default_rng(0), torch.empty(0))
    history = history.resized(1, 1)
    history.add(np.zeros((3, 1)), np.zeros((3, 2, 1)), np.ones(3), pseudo_label=True)
    assert set(history.rows(200)) == {75, 76, 77}


def test_a_stream_that_keeps_naming_new_features_moves_its_weights_rarely():
    """One new name a round: 300 of them, in room that grows by a quarter at a time."""
    model = small()
    places = set()
    for t in range(300):
        model.learn_one({f"f{t}": 1.0, "always": 0.5}, t % 2)
        places.add((len(model._state.trainer.flat), model._state.history.x.shape))
    assert model._state.trainer.n_features == 302
    assert 302 <= model._state.trainer.shape.n_features <= 302 * 1.25
    assert len(places) <= 30  # a tenth of the rounds


def test_a_bad_weight_reaches_no_step_of_a_pipeline():
    """An example that was never predicted teaches the whole pipeline, if all of it is good."""
    model = active.INeurALSampler(preprocessing.StandardScaler() | small(), seed=1)
    model.learn_one(*STREAM[0])
    with raises_and_keeps(model, ValueError, "w must be"):
        model.learn_one(*STREAM[1], w=-1.0)


@pytest.mark.parametrize("label", [np.bool_(True), np.int64(3), np.float32(0.5), "red", False])
def test_labels_of_numpy_and_python_are_taken(label):
    model = INeurAL(hidden_dim=4, seed=1)
    model.learn_one({"a": 1.0}, label)
    assert model.predict_one({"a": 1.0}) == label


@pytest.mark.parametrize("label", [np.float32("nan"), np.float16("inf"), np.float64("-inf")])
def test_numpy_labels_that_are_not_finite_are_refused(label):
    with pytest.raises(ValueError, match="not finite"):
        INeurAL(hidden_dim=4, seed=1).learn_one({"a": 1.0}, label)


def test_labels_that_appear_together_are_known_once_and_up_to_the_cap():
    """In the order in which they appear; the index that they were added to stays as it is."""
    index = LabelIndex(3, ["a", "b", "a"])
    assert index.labels == ["a", "b"]
    grown = index.grown(["c", "b", "c", "c"])
    assert (grown.labels, grown.index) == (["a", "b", "c"], {"a": 0, "b": 1, "c": 2})
    assert (len(index), len(LabelIndex(3, grown.labels))) == (2, 3)
    with pytest.warns(UserWarning, match="max_classes=3"):
        assert grown.grown(["d"]) is grown
    with pytest.raises(ValueError, match="max_classes=2"):
        LabelIndex(2, ["a", "b", "c"])


def test_warnings_of_the_caps_point_at_the_caller():
    """At the line of `learn_one`, not into the package."""
    model = small(max_features=2, max_classes=2)
    model.learn_one({"a": 1.0, "b": 1.0}, 0)
    with pytest.warns(UserWarning, match="max_features=2") as features:
        model.learn_one({"c": 1.0}, 1)
    with pytest.warns(UserWarning, match="max_classes=2") as classes:
        model.learn_one({"c": 1.0}, 2)
    assert {caught[0].filename for caught in (features, classes)} == {__file__}


def test_the_largest_value_is_taken():
    """1e15 itself: as a float, as a Decimal and in a frame."""
    model = small()
    for value in (1e15, -1e15, Decimal(10) ** 15):
        model.learn_one({"a": value}, 1)
    model.learn_many(pd.DataFrame({"a": [1e15, -1e15]}), pd.Series([0, 1]))
    assert model._state.history.n_labelled == 5


def test_probabilities_of_large_scores_are_those_of_their_distances():
    """To the last digits: 1e11 and an eighth less are as 0 and an eighth less."""
    near = probabilities(np.array([[0.0, -0.125, -0.25]]))
    for top in (1e11, -1e11, 1e6, 2e6):
        far = probabilities(np.array([[top, top - 0.125, top - 0.25]]))
        np.testing.assert_allclose(far, near, rtol=0, atol=1e-9)


def test_an_empty_first_x_of_a_known_class_is_learned():
    """Nothing appears, neither name nor class, and still there are networks from then on."""
    model = small(classes=(0, 1))
    for _ in range(5):
        model.learn_one({}, 1)
    assert set(model.scores_one({})) == {0, 1}
    assert model._state.history.n_labelled == 5


def test_a_class_beyond_the_cap_asks_for_no_room(monkeypatch):
    """Where two classes just fit, an example of a third, which is ignored, is not too large."""
    model = small(max_classes=2, classes=(0, 1))
    model.learn_one(*STREAM[0])
    monkeypatch.setattr(trainer, "MOST_WEIGHTS", model._state.trainer.shape.n_parameters)
    model.check_one(STREAM[0][0], 2)
    with pytest.warns(UserWarning, match="max_classes=2"):
        model.learn_one(STREAM[0][0], 2)
    assert model.known_labels == (0, 1)


@pytest.mark.parametrize("kind", [INeurAL, NeurONAL])
def test_a_name_that_finds_room_has_weights_once_it_is_learned(kind):
    """Its column was reserved, and 0; the next prediction is by weights that were drawn."""
    model = small(kind)
    names = [f"f{i}" for i in range(8)]
    model.learn_one(dict.fromkeys(names, 1.0), 0)
    model.learn_one(dict.fromkeys([*names, "moves"], 1.0), 1)
    shape = model._state.trainer.shape
    model.learn_one(dict.fromkeys([*names, "moves", "fits"], 2.0), 1)
    state = model._state
    assert state.trainer.shape == shape
    assert not state.trainer.pending
    column = state.features.columns["fits"]
    for flat in (state.trainer.flat, state.trainer.average.flat):
        for layer in shape.weights(flat).first_layers:
            assert layer[..., column].all()


def test_a_step_that_is_not_finite_is_not_taken():
    """Not even by what Adam remembers of the steps before it; it is said once."""
    model = trained()
    state = model._state
    state.history.targets[:] = torch.inf
    parts = [state.trainer.flat, *state.trainer.optimizer.moments]
    before = [part.clone() for part in parts]
    with pytest.warns(RuntimeWarning, match="not finite and was not taken"):
        state.trainer.learn(state.history, state.scaling, 2.0, pseudo_label=False)
    assert all(torch.equal(*pair) for pair in zip(parts, before, strict=True))
