"""Bad input: a clear error that names it, and a model that is as it was. And invariants."""

import copy
import datetime as dt
import enum
import inspect
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from river import drift, linear_model
from streams import blobs, dump, learned, raises_and_keeps, rounds, small, told

from river_ineural import INeurAL, NeurONAL, active, datasets, paper
from river_ineural.baselines import ALPS, NeuALNTKD, NeuALNTKF, RetrainedNetwork
from river_ineural.features.parameters import Live
from river_ineural.networks import weights
from river_ineural.networks.layout import Weights
from river_ineural.networks.scores import nearest_distribution, probabilities
from river_ineural.persistence import from_bytes, to_bytes

STREAM = blobs(40, n_features=3, n_classes=2, seed=4)
X = STREAM[0][0]


def trained(**settings):
    return learned(small(**settings), STREAM)


@pytest.fixture(scope="module")
def models():
    """Fresh and trained: what is refused leaves them as they are."""
    learners = [small(), trained(), trained(kind=NeurONAL)]
    samplers = [active.INeurALSampler(model, gamma=1e9, seed=1) for model in (small(), trained())]
    for sampler in samplers:
        assert sampler.predict_one(NEW)[1]  # whose label stays expected
    return learners + samplers


@pytest.fixture(scope="module")
def others():
    quick = {"hidden_dim": 8, "n_epochs": 5}
    models = RetrainedNetwork(**quick), NeuALNTKF(8), NeuALNTKD(**quick), ALPS(3, 20, **quick)
    return [learned(model, STREAM) for model in models] + [RetrainedNetwork(8), ALPS(3)]


# Features

NO_NUMBERS = "red", "3.5", None, pd.NA, [1.0], np.ones(2), np.ones(1), 1j, np.complex64(1)
TOO_LARGE = math.nan, np.float32("nan"), math.inf, -math.inf, 1e300, -1e16, 10**400
BAD_VALUES = [(value, TypeError) for value in NO_NUMBERS]
BAD_VALUES += [(value, ValueError) for value in TOO_LARGE]
BAD_X = [
    *((x, TypeError, "x must be a dict") for x in (None, [1.0, 2.0], "f0", 3)),
    *(({"bad one": bad, "f0": 1.0}, error, "feature 'bad one'") for bad, error in BAD_VALUES),
    *(({"f0": 1.0, "bad one": bad}, error, "feature 'bad one'") for bad, error in BAD_VALUES),
    ({"a": 1e300, "b": -1e300}, ValueError, "feature 'a'"),
    ({"a": 1e16, "b": -1e16}, ValueError, "feature 'a'"),
    (dict.fromkeys(range(10_001), 1.0), ValueError, "more than max_features=10,?000"),
]
CALLS = ("learn_one", 1), ("predict_one",), ("predict_proba_one",), ("debug_one",)
OF_LEARNERS = ("learn_one", 1, True), ("scores_one",)


@pytest.mark.parametrize(("x", "error", "match"), BAD_X, ids=lambda value: f"{value!r:.50}")
def test_a_bad_x_is_refused_by_its_name(models, others, x, error, match):
    """A sampler counts no round, no query and no draw."""
    for model in models + others:
        calls = CALLS if hasattr(model, "classifier") else CALLS + OF_LEARNERS
        if model in others:
            calls = CALLS[:3]
        for name, *more in calls:
            with raises_and_keeps(model, match, error):
                getattr(model, name)(x, *more)


@pytest.mark.parametrize(
    "value",
    [True, np.bool_(True), 1, np.int64(1), np.float16(1), np.float32(1), Decimal(1)]
    + [kind(200) for kind in (np.uint8, np.int16, np.float16)]
    + [1e15, -1e15, Decimal(10) ** 15],
    ids=lambda value: f"{type(value).__name__} {value}",
)
def test_numbers_of_any_kind_are_their_floats(value):
    """Alone, beside others, and where their sum overflows: pixels of 200, say."""
    model, twin = small(), small()
    for n in (1, 2, 400):
        x = {f"f{i}": value for i in range(n)}
        assert told(lambda x=x: model.learn_one(x, 1)) == []
        twin.learn_one(dict.fromkeys(x, float(value)), 1)
    assert model.scores_one(x) == twin.scores_one(dict.fromkeys(x, float(value)))


@pytest.mark.parametrize("make", [small, active.INeurALSampler, RetrainedNetwork])
def test_an_empty_x_is_an_example_whose_features_are_absent(make):
    model = make(small()) if make is active.INeurALSampler else make()
    model.predict_one({})
    learned(model, [({}, 0), ({}, 1), *STREAM, ({}, 1)])
    classifier = getattr(model, "classifier", model)
    absent = classifier.predict_proba_one(dict.fromkeys(X, 0.0))
    assert classifier.predict_proba_one({}) == absent
    assert sum(absent.values()) == pytest.approx(1)
    empty = learned(small(classes=(0, 1)), [({}, 1)] * 5)  # neither name nor class appears
    assert set(empty.scores_one({})) == {0, 1}
    assert dump(empty).history.n_labelled == 5


# Labels, weights, frames

BAD_LABELS = [
    *(None, (1, 2), [1], {"a": 1}, np.ones(2), math.nan, math.inf, pd.NA, np.float32("inf")),
    *(kind("nan") for kind in (np.float64, np.float32, np.float16)),
    *(Fraction(1, 3), np.longdouble(1), 10**301, enum.Enum("Colour", ["RED"]).RED),
]
BAD_NAMES = math.nan, 1j, frozenset("a"), dt.date(2024, 1, 1), 10**301, ("a", math.nan), object()
BAD_WEIGHTS = -1, -1e-9, math.nan, math.inf, "2", None, 1e300  # float32 cannot hold the last
NEW = {"f0": 1.0, "new": 2.0}
NOT_LEARNED = [
    *((NEW, y, 1.0, "label") for y in BAD_LABELS),
    *(({"f0": 1.0, name: 2.0}, 0, 1.0, "feature name.*: use text") for name in BAD_NAMES),
    *((NEW, 1, w, "^w ") for w in BAD_WEIGHTS),
]


@pytest.mark.parametrize(("x", "y", "w", "match"), NOT_LEARNED, ids=lambda part: f"{part!r:.30}")
def test_what_cannot_be_learned_is_refused(models, others, x, y, w, match):
    """As no file can hold it, for one. A name that is not learned may be anything."""
    for model in models + others * (match == "label"):
        with raises_and_keeps(model, match):
            model.learn_one(x, y, **{} if w == 1 else {"w": w})
    if match.startswith("feature"):
        assert models[0].predict_one(x) == models[0].predict_one({"f0": 1.0})


def test_names_whose_hashes_could_be_chosen_are_refused_beyond_2000():
    """A file with more of them would be refused."""
    model = small(hidden_dim=2)
    model.learn_one({i + 0.5: 1.0 for i in range(2_000)}, 0)
    model.learn_one({"text": 1.0, 7: 1.0}, 1)
    with raises_and_keeps(model, "2,001 keys such as this feature name.*: use text"):
        model.learn_one({-0.5: 1.0}, 0)


@pytest.mark.parametrize("pair", [(1, "1"), ("True", True), (1.5, "1.5"), ("bad", " Bad")])
def test_labels_that_read_alike_are_told_of_once(pair):
    """They stay two classes; the warning names both and points at the caller."""
    model = small()
    model.learn_one(X, pair[0])
    with pytest.warns(UserWarning, match="are two classes") as caught:
        model.learn_one(X, pair[1])
    for y in pair:
        model.learn_one(X, y)  # a warning would be an error
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert all(f"{label!r} ({type(label).__name__})" in str(caught[0].message) for label in pair)
    assert model.known_labels == pair


@pytest.mark.parametrize(
    ("columns", "y", "w", "match"),
    [
        (2, [1, None], None, "label"),
        (2, [1], None, "2 rows, y 1"),
        (2, [1, 0, 1], None, "2 rows, y 3"),
        (2, [1, 0], [1.0], "w 1"),
        (2, [1, 0], [1.0, -1.0], r"\bw\b"),
        (2, [1, 0], ["heavy", "light"], r"\bw\b"),
        (0, [1, 0], None, "no column"),
        (60, [1, 0], None, "max_features=50"),
    ],
)
def test_learn_many_refuses(columns, y, w, match):
    w = None if w is None else pd.Series(w)
    for model in (small(max_features=50), trained(max_features=50)):
        with raises_and_keeps(model, match):
            model.learn_many(pd.DataFrame(np.ones((2, columns))), pd.Series(y, dtype=object), w)


class Text(str):
    """A string of another type."""

    __slots__ = ()


class Colour(enum.StrEnum):
    RED, BLUE = "red", "blue"


class Odd(Text, enum.Enum):  # whose members are printed as "Odd.RED"
    RED, BLUE = "red", "blue"


class Number(enum.IntEnum):
    RED, BLUE = 4, 7


@pytest.mark.parametrize("kind", [Colour, Odd, Number, Text], ids=lambda kind: kind.__name__)
def test_enumerations_and_subclasses_are_their_values(kind):
    """As labels, names, categories, named classes and explorers; after a journey too."""
    red, blue = ("red", "blue") if kind not in (Colour, Odd, Number) else kind
    red, blue = (kind(each) for each in (red, blue))
    value = int if kind is Number else str.__str__
    models = []
    for convert in (lambda each: each, value):
        names, labels = {"f0": convert(red)}, {0: convert(red), 1: convert(blue)}
        model = small(classes=(labels[0],), categories=True)
        model = active.INeurALSampler(model, seed=1)
        for x, y in STREAM:
            x = {names.get(name, name): number for name, number in x.items()}
            if kind is not Number:
                x["colour"] = labels[y]
            model.predict_one(x)
            model.learn_one(x, labels[y])
        frame = pd.DataFrame([x for x, _ in STREAM])
        model.classifier.learn_many(frame, [labels[y] for _, y in STREAM])
        models.append(model)
    model, twin = models
    for plain in (*model.classifier.known_labels, *dump(model).features.names):
        assert type(plain) in (int, str)
    assert pickle.dumps(model.classifier) == pickle.dumps(twin.classifier)
    assert from_bytes(to_bytes(model)).predict_one(X) == model.predict_one(X) == twin.predict_one(X)


LABELS = [y for _, y in STREAM]
XS = pd.DataFrame([x for x, _ in STREAM])


@pytest.mark.parametrize(
    "y",
    [
        *(LABELS, tuple(LABELS), np.array(LABELS), np.array(LABELS)[:, None], pd.Index(LABELS)),
        *(pd.DataFrame({"y": LABELS}), pl.DataFrame({"y": LABELS}), pl.Series(LABELS)),
    ],
    ids=lambda y: f"{type(y).__module__} {np.shape(y)}",
)
def test_labels_in_any_column(y):
    """By position; the weights as well."""
    model, twin = small(), small()
    assert told(model.learn_many, XS, y, y) == []
    twin.learn_many(XS, pd.Series(LABELS), pd.Series(LABELS))
    assert pickle.dumps(model) == pickle.dumps(twin)


@pytest.mark.parametrize("y", ["ab", None, 3, {"a": 1}, np.ones((40, 2)), pl.LazyFrame(), {0, 1}])
def test_what_is_no_column_of_labels(y):
    model = trained()
    with raises_and_keeps(model, "^y must be a series, a list, an array or a frame"):
        model.learn_many(XS, y)
    with raises_and_keeps(model, "^w must be a series"):
        model.learn_many(XS, LABELS, {} if y is None else y)


@pytest.mark.parametrize("frame", [XS.to_numpy(), [[1.0]], pl.LazyFrame({"a": [1.0]}), None, X])
def test_what_is_no_frame(frame):
    model = trained()
    for call in (model.predict_many, model.predict_proba_many, lambda X: model.learn_many(X, [1])):
        with raises_and_keeps(model, r"^X must be a data frame, got .*collect\(\) a LazyFrame"):
            call(frame)


def test_an_index_that_differs_is_told_of_once():
    model, y = small(), pd.Series(LABELS, index=range(1, 41))
    (message,) = told(lambda: [model.learn_many(XS, y) for _ in range(3)])
    assert message == "the index of y is not that of X: rows are matched by their position."
    assert told(model.learn_many, XS.set_index(y.index), y, pd.Series(1.0, y.index)) == []
    for sampler in (active.INeurALSampler(small()), active.RandomSampler(small())):
        assert told(sampler.learn_many, XS, y) == [message]
        assert told(sampler.learn_many, XS, y.to_list()) == []


# Parameters

SAMPLERS = active.INeurALSampler, active.RandomSampler, active.MarginSampler
WIDTHS = active.ConstantWidth, active.TheoreticalWidth
BASELINES = RetrainedNetwork, NeuALNTKF, NeuALNTKD, ALPS
KINDS = INeurAL, NeurONAL, paper.INeurAL, active.Budget, *WIDTHS, *SAMPLERS, *BASELINES
SHARES = 1.5, -0.1, -1, math.nan, math.inf, "3%", True, np.float32(1.1), [1]
BAD_PARAMETERS = {  # of each of these classes that has one of that name
    **dict.fromkeys(("hidden_dim", "batch_size", "rounds", "horizon", "capacity"), (0, 1.5, True)),
    **dict.fromkeys(("max_features", "n_epochs", "n_hypotheses", "n_samples"), (0, 1.5)),
    **dict.fromkeys(("n_layers", "n_classes", "n_features", "n_pretraining"), (1, 2.5)),
    **dict.fromkeys(("gamma", "beta", "c1", "c2", "tolerance"), (-1, math.nan, math.inf, "2")),
    **dict.fromkeys(("slack", "requester_slack", "gap"), (-1.0, math.nan, "2")),
    **dict.fromkeys(("lr", "exploration_lr"), (0.0, -1e-3, math.nan, math.inf, "fast")),
    **dict.fromkeys(("ridge", "margin"), (0.0, -1e-3, math.nan, "wide")),
    **{"n_steps": (-1, 1e7, math.inf), "delta": (0.0, 1.0, math.nan), "c3": (0.5,)},
    **{"max_classes": (1,), "classes": ("ab", 5, [], {"a"})},
    "device": ("tpu", "cuda:99", "", "meta"),
    **dict.fromkeys(("p", "threshold", "audit"), (-0.1, 1.1, 2, "half")),
    **{"budget": SHARES, "limit": SHARES, "burst": (9,), "width": (0.05,)},
    **dict.fromkeys(("categories", "missing", "self_training", "explores"), ("yes", np.ones(2))),
    "explorers": ("forest", ["trees"], ("trees",), ("forest", "forest"), ("network",) * 2),
    **{"seed": (-1, 1.5, "x"), "optimizer": ("rmsprop",)},
    "drift_detector": (3, drift.ADWIN()),
    "classifier": (None, linear_model.LinearRegression()),
}
OF_ONE = [
    *((INeurAL, "capacity", value) for value in (1, 10**9)),
    *((INeurAL, "classes", value) for value in (("a", None), ("a", ["b"]))),
    *((INeurAL, "device", None), (INeurAL, "batch_size", 65_537)),
    *((NeurONAL, "explorers", value) for value in (("oracle",), {"network"})),
    *((paper.INeurAL, "classes", value) for value in ((1,), [0, 1], (0, 0), ("a", ["b"]))),
    (datasets.IJCNN, "multiclass", True),  # which has two classes
]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    OF_ONE
    + [
        (kind, name, value)
        for kind in (*KINDS, datasets.IJCNN, datasets.KnownPosterior)
        for name in inspect.signature(kind).parameters
        for value in BAD_PARAMETERS.get(name, ())
    ],
    ids=lambda part: f"{getattr(part, '__module__', '')} {getattr(part, '__name__', part)}",
)
def test_a_bad_parameter_is_named(kind, name, value):
    """By a ValueError where its type is that of the default."""
    usual = inspect.signature(kind).parameters[name].default
    error = ValueError if type(value) is type(usual) else (TypeError, ValueError)
    settings = {"classifier": small()} if kind in SAMPLERS else {}
    if kind is paper.INeurAL:
        settings = {"classes": (0, 1), "rounds": 10}
    said = {"classes": "label|classes", "limit": "budget"}.get(name, rf"\b{name}\b")
    with pytest.raises(error, match=said):
        kind(**settings | {name: value})


def test_lists_are_kept_as_tuples():
    model = INeurAL(classes=["b", "a"], explorers=["forest"])
    for each in (model, model.clone(), from_bytes(to_bytes(model))):
        assert (each.classes, each.known_labels) == (("b", "a"),) * 2
        assert each.explorers == ("forest",)


NUMBERS = (np.int8, np.uint8, np.int64, np.float16, np.float64, np.longdouble, Fraction)


def parameters(model):
    """The parameters of an object, and of the one inside."""
    for name in inspect.signature(type(model)).parameters:
        value = getattr(model, name)
        yield from (
            parameters(value) if isinstance(value, (INeurAL, active.Budget)) else [(name, value)]
        )


@pytest.mark.parametrize("number", NUMBERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__} {kind.__name__}")
def test_numbers_of_any_kind_become_those_of_python(kind, number):
    """Or are refused by the name of the parameter, when the object is made and when it is set."""
    given = {"classifier": small()} if kind in SAMPLERS else {}
    given |= {"classes": (0, 1), "rounds": 10} if kind is paper.INeurAL else {}
    for name, parameter in inspect.signature(kind).parameters.items():
        value = number(2 if name in ("max_classes", "n_layers", "n_pretraining", "rounds") else 1)
        if name in given or isinstance(parameter.default, (bool, str, tuple)):
            continue
        if name in ("width", "classes", "drift_detector", "classifier", "burst"):
            continue
        if name == "delta":
            value = value / 3
        said = None
        try:
            made = kind(**given | {name: value})
            if type(inspect.getattr_static(kind, name, None)) is Live:
                setattr(made, name, value)
        except (TypeError, ValueError) as error:
            said = str(error)
        if said is not None:
            assert re.match({"limit": "budget"}.get(name, name), said)
            continue
        for each, found in parameters(made):
            assert type(found).__module__ != "numpy", each
            assert not isinstance(found, Fraction), each
        if isinstance(made, (INeurAL, *SAMPLERS[:1])):
            to_bytes(made)


@pytest.mark.parametrize(
    "value", [10**400, 10**5_000, -(10**5_000), -math.inf], ids=["e400", "e5000", "-e5000", "-inf"]
)
@pytest.mark.parametrize("name", ["horizon", "limit", "burst"])
def test_numbers_without_end_are_refused_by_their_name(name, value):
    match = "budget" if name == "limit" else name
    with pytest.raises((TypeError, ValueError), match=match):
        active.Budget(**{"limit": 0.5} | {name: value})
    with pytest.raises((TypeError, ValueError), match="lr"):
        small(lr=value)


def test_mutate_changes_all_or_nothing():
    model = active.INeurALSampler(small(), budget=3, seed=1)
    for x, y in STREAM[:5]:
        model.predict_one(x)
        model.learn_one(x, y)
    for change, match in (
        ({"gamma": 3, "budget": 5, "horizon": 0}, "horizon"),
        ({"gamma": 3, "classifier": {"lr": 0.5, "n_steps": -1}}, "n_steps"),
        ({"classifier": {"lr": 0.5}, "budget": 1.5}, "budget"),
        ({"gamma": 3, "seed": 4}, "mutable"),
        ({"budget": 4, "self_training": "x"}, "self_training"),
        ({"classifier": small(), "gamma": -1}, "gamma"),
        ({"classifier": small(), "budget": active.Budget(0.1), "horizon": 3}, "horizon"),
    ):
        with raises_and_keeps(model, match):
            model.mutate(change)
    model.mutate({"budget": 9, "classifier": {"lr": 0.5}, "gamma": np.float32(2)})
    assert (model.budget, model.classifier.lr, model.gamma) == (9, 0.5, 2.0)
    model.predict_one(X)
    assert model.last_decision.budget_left + model.n_queries == 9


@pytest.mark.parametrize("w", [Fraction(1, 4), np.longdouble(2), 3, np.int8(1), np.float16(0.5)])
def test_a_weight_is_a_number_of_any_type(w):
    models = [active.INeurALSampler(small(), seed=1) for _ in range(2)]
    for model, weight in zip(models, (w, float(w)), strict=True):
        for x, y in STREAM[:8]:
            model.classifier.learn_one(x, y, w=weight)
            model.answer(model.decide_one(x).query, y, w=weight)
            model.learn_one(x, y, w=weight)
    assert to_bytes(models[0]) == to_bytes(models[1])


@pytest.mark.parametrize("device", [b"cpu", torch.device("cpu"), 0, 10**40])
def test_a_device_is_the_name_that_a_file_holds(device):
    model = small()
    with pytest.raises(ValueError, match=r"device=.* must be 'cpu', 'cuda' or 'cuda:N'"):
        small(device=device)
    with raises_and_keeps(model, "device="):
        model.to(device)


def test_a_label_that_has_no_number_is_not_corrected():
    model = learned(small(), STREAM[:3])  # the other rows of its history are empty
    for number in (0, -1, 4, None, 1.5):
        with raises_and_keeps(model, "no longer in the history", LookupError):
            model.correct_one(number, 1)


def test_those_learned_longest_ago_make_room():
    """In the order of their columns if it is as long ago; a name in the example never does."""
    model = small(max_features=4)
    for names in ("abcd", "bd", "a", "c"):
        model.learn_one(dict.fromkeys(names, 1.0), 0)
    with pytest.warns(UserWarning, match="max_features=4") as caught:
        model.learn_one({"e": 1.0, "d": 2.0}, 1)
    assert caught[0].filename == __file__
    assert list(dump(model).features.columns) == ["a", "c", "d", "e"]
    model.predict_one({"a": 1.0})  # a prediction is no use
    model.learn_one({"c": 1.0, "g": 1.0, "f": 1.0}, 1)
    assert set(dump(model).features.columns) == {"c", "d", "f", "g"}


@pytest.mark.parametrize("kind", [INeurAL, NeurONAL])
def test_a_name_that_takes_the_place_of_another_starts_anew(kind):
    """Nothing of the old name is left in weights, averages, statistics or the stored examples."""
    model = small(kind, max_features=3, capacity=20, n_steps=3)
    for x, y in STREAM[:10]:
        model.learn_one({"a": 50 + x["f0"], "b": x["f1"], "old": -3 - x["f2"] ** 2}, y)
    was, now = dump(copy.deepcopy(model)), dump(model)
    column = was.features.columns["old"]
    with pytest.warns(UserWarning, match="make room"):
        model._learner.grow(("a", "b", "new"), np.ones((1, 3)), [0])
    assert now.features.columns == {"a": 1, "b": 2, "new": column}
    assert not now.scaling.moments[:, column].any()
    assert not now.history.x[: now.history.n_labelled, column].any()
    before, after = (Weights(each.networks.block, each.networks.shape) for each in (was, now))
    for first, other in zip(before.first_layers, after.first_layers, strict=True):
        assert (first[:2, ..., column] != other[:2, ..., column]).all()
        assert not other[2:, ..., column].any()
        first[..., column] = other[..., column]
    assert torch.equal(was.networks.block, now.networks.block)  # nothing else has moved
    assert before.first_layers[0][2:, ..., 1:3].any()


def test_weights_beyond_the_limit_are_an_error_before_anything_is_allocated(monkeypatch):
    """Which says what to lower; model and sampler are as they were, and go on."""
    with pytest.raises(ValueError, match="weights, more than 25,000,000: lower hidden_dim, max_f"):
        INeurAL(hidden_dim=10**6).learn_one({f"f{i}": 1.0 for i in range(100)}, 0)
    with pytest.raises(ValueError, match="weights, more than 25,000,000: lower hidden_dim, max_f"):
        INeurAL(hidden_dim=10**9)
    monkeypatch.setattr(weights, "MOST_WEIGHTS", 3 * 8 * 2 * 8 + 2 * 8)
    model = learned(small(), [({**x, "f7": 1.0, "f8": 2.0, "f9": 3.0}, y) for x, y in STREAM])
    for call in (model.learn_one, model.check_one):  # there is no room for a third class
        with raises_and_keeps(model, "weights, more than", ValueError):
            call(X, 2)
    more = dict.fromkeys(range(8), 1.0)
    sampler = active.INeurALSampler(model, seed=1)
    with raises_and_keeps(sampler, "weights, more than", ValueError):
        sampler.learn_one(more, 1)
    model.predict_one(more)  # what is not learned takes no room
    model.learn_one({**X, "new": 1.0}, 0)
    assert len(dump(model).features) == 7


def test_examples_of_a_class_beyond_the_cap_are_left_out_and_ask_for_no_room(monkeypatch):
    """With one warning. A frame's first new classes are known, and rows keep their weights."""
    model = small(max_classes=4, classes=("a", "b", "a"))
    learned(model, [(x, "ab"[y]) for x, y in STREAM])
    X = pd.DataFrame([x for x, _ in STREAM[:5]])
    with pytest.warns(UserWarning, match="max_classes=4") as caught:
        model.learn_many(X, pd.Series([*"ccdeb"]), pd.Series([1, 2, 3, 4, 5]))
    assert caught[0].filename == __file__
    assert model.known_labels == ("a", "b", "c", "d")
    assert dump(model).history.weight[len(STREAM) :][:4].tolist() == [1, 2, 3, 5]
    full = small(max_classes=2, max_features=4)  # whose new names would take columns of others
    learned(full, [(x, y % 2) for x, y in STREAM])
    before = dump(full).features.names.copy(), full.scores_one(STREAM[0][0])
    with pytest.warns(UserWarning, match="max_classes=2 reached"):
        full.learn_one({f"new{i}": 1.0 for i in range(3)}, "a third")
    assert (dump(full).features.names, full.scores_one(STREAM[0][0])) == before
    before = dump(model).networks.block[0].clone()
    monkeypatch.setattr(weights, "MOST_WEIGHTS", len(before))
    model.check_one(STREAM[0][0], "e")
    model.learn_one(STREAM[0][0], "e")
    model.learn_many(X[:2], pd.Series(["e", "f"]))  # another warning would be an error
    assert dump(model).networks.block[0].equal(before)
    assert dump(model).history.added[0] == len(STREAM) + 4
    with pytest.raises(ValueError, match="max_classes=2"):
        small(max_classes=2, classes=("a", "b", "c"))


def test_a_feature_far_from_zero_is_as_good_as_one_around_it():
    """Times, identifiers and prices lose nothing to float32: as with a StandardScaler in front."""
    points = np.random.default_rng(0).integers(-8, 8, size=(300, 2)) / 8  # exact beside each offset
    right = []
    for shift in (0.0, 1.7e9, -3e6, 1e12):
        model, hits = small(hidden_dim=32, batch_size=32), []
        for a, b in points:
            x, y = {"t": shift + a, "u": b}, int(a + b / 2 > 0)
            hits.append(model.predict_one(x) == y)
            model.learn_one(x, y)
        right.append(np.mean(hits[50:]))
    assert right == pytest.approx([right[0]] * 4, abs=0.02)
    assert right[0] > 0.87


@pytest.mark.parametrize("kind", [NeurONAL, active.INeurALSampler])
@pytest.mark.parametrize(
    ("factor", "offset"), [(10.0**e, 0.0) for e in (-12, -7, -3, 12)] + [(1.0, 1e9)]
)
def test_other_units_are_learned_within_500_rounds(kind, factor, offset):
    """Features are suddenly multiplied, or rise; a sampler does not ask for ever then."""
    model = active.INeurALSampler(small(hidden_dim=16), seed=1)
    if kind is NeurONAL:
        model = active.RandomSampler(small(kind, hidden_dim=16, n_steps=1), p=1.0)
    stream = blobs(1_000, n_features=3, n_classes=2, seed=4, noise=0.3)
    for t in range(400, 1_000):
        stream[t] = {f: factor * v + offset for f, v in stream[t][0].items()}, stream[t][1]
    labels, asked = np.array([*rounds(model, stream)], dtype=float).T
    right = labels == [y for _, y in stream]
    assert min(right[300:400].mean(), right[-100:].mean()) > 0.95
    assert kind is NeurONAL or asked[-300:].mean() < 0.3


# Invariants

texts = st.text(max_size=3)
names = st.one_of(
    *(texts, st.integers(-5, 5), st.none(), st.tuples(st.integers(0, 2))),
    st.binary(max_size=2),  # Python does not sort them among the others
)
values = st.floats(-1e15, 1e15) | st.integers(-5, 5) | st.booleans()
examples = st.tuples(  # all names of a half of them are text, which has an order of its own
    st.one_of(st.dictionaries(each, values, min_size=1, max_size=5) for each in (texts, names)),
    st.sampled_from([0, 1, "a", "b"]),
    st.booleans(),
)


@pytest.mark.filterwarnings("ignore:.* are two features", "ignore:.* varies by less than")
@settings(max_examples=25)
@given(st.lists(examples, max_size=12), examples, st.randoms(use_true_random=False))
def test_any_stream_in_any_order_of_keys(stream, last, random):
    model, shuffled = small(), small()

    def in_another_order(x):
        return {key: x[key] for key in random.sample(list(x), len(x))}

    for x, y, pseudo_label in stream:
        model.learn_one(x, y, pseudo_label=pseudo_label)
        shuffled.learn_one(in_another_order(x), y, pseudo_label=pseudo_label)
    x = last[0]
    proba, scores = model.predict_proba_one(x), model.scores_one(x)
    assert scores == shuffled.scores_one(in_another_order(x))
    assert dump(model).features.names == dump(shuffled).features.names
    assert torch.equal(dump(model).networks.block[0], dump(shuffled).networks.block[0])
    assert list(proba) == list(scores) == list(dict.fromkeys(y for _, y, _ in stream))
    if not proba:
        assert model.predict_one(x) is None
        return
    assert all(math.isfinite(score) for score in scores.values())
    assert math.isclose(sum(proba.values()), 1.0, abs_tol=1e-9)
    assert all(0 < p <= 1 for p in proba.values())
    assert max(proba, key=proba.get) == model.predict_one(x) == max(scores, key=scores.get)


SCORES = st.sampled_from([1e-17, 1.0, 1e6, 2e6, 1e300]).flatmap(lambda s: st.floats(-s, s))
NEAR = st.sampled_from([0.0, 1.0, -1.0, 1e-16, math.ulp(1.0)])  # of the runner-up to the top


@np.errstate(over="ignore", invalid="ignore")
@given(st.integers(1, 5_000) | st.just(2), st.lists(SCORES | st.floats(), min_size=1), SCORES, NEAR)
def test_probabilities_of_any_number_of_classes_and_any_scores(k, pool, top, near):
    """The nearest with a floor, whose top is that of the scores; inf is first, NaN last. By label
    it is the same to the bit, where two scores have a way of their own.
    """
    rng, floor = np.random.default_rng(k), min(0.001, 0.1 / k)
    rows = rng.choice(np.array([*pool, *rng.normal(size=k % 7)]), (3, k))
    rows[2, :2] = (top, top + near)[:k]
    for row, p in zip(rows, probabilities(rows), strict=True):
        assert abs(p.sum() - 1) <= 1e-9
        assert (p >= floor * (1 - 1e-6)).all()
        row = np.where(np.isnan(row), -np.inf, row)
        # Of all distributions by the distances from the top; what is 1 below it has no share.
        below = np.where(row == row.max(), 0, np.maximum(row - row.max(), -1))
        shifts = ((-np.sort(-below)).cumsum() - 1) / np.arange(1, k + 1)
        nearest = np.maximum(below - shifts.max(), 0)
        assert p == pytest.approx(nearest * (1 - k * floor) + floor, abs=1e-5)
        assert p.argmax() == row.argmax()
        assert (np.diff(p[np.argsort(row, kind="stable")]) >= 0).all()
        assert (probabilities(row[None])[0] == p).all()  # whatever the other rows are
        by_label = nearest_distribution(dict(enumerate(row.tolist())))
        assert list(by_label.values()) == p.tolist()


def test_a_stream_that_keeps_naming_new_features_moves_its_weights_rarely():
    """One new name a round: 300 of them, in room that grows by a quarter at a time."""
    model, places = small(hidden_dim=2, n_steps=0, explorers=("network",)), set()
    for t in range(300):
        model.learn_one({f"f{t}": 1.0, "always": 0.5}, t % 2)
        places.add((len(dump(model).networks.block[0]), dump(model).history.x.shape))
    assert dump(model).networks.n_features == 302
    assert 302 <= dump(model).networks.shape.n_features <= 302 * 1.25
    assert len(places) <= 30  # a tenth of the rounds
