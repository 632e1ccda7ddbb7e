"""Whatever is accepted can be saved: random calls, each of which leaves a state that loads."""

import copy
import datetime as dt
import itertools
import json
import math
import random
from collections import ChainMap, Counter, OrderedDict, UserDict
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from river import compose, drift
from streams import dump, learned, small, told

from river_ineural import INeurAL, NeurONAL, active
from river_ineural.features.keys import OF_TIME, as_kept, plain_value, size_of
from river_ineural.persistence import from_bytes, to_bytes
from river_ineural.persistence.encoding import encoded

REFUSALS = AttributeError, LookupError, TypeError, ValueError
ODD_NUMBERS = (
    *(0, -0.0, 1e-320, 1e-200, 1e15, -1e15, 1e16, 1e300, 10**400, math.inf, math.nan, True),
    *(Decimal("1.5"), Decimal("sNaN"), Fraction(1, 3), np.float16(2), np.longdouble(3)),
    *(np.uint8(200), np.int64(-4), np.float64("nan"), pd.NA, pd.NaT, None, 1j, dt.date(2024, 1, 1)),
)
TEXTS = "", "red", "a,[{", "\ud800", "\U0001f600" * 90, "x" * 5_000, "y" * 500_000
NAMES = (
    *("f0", "f1", "f2", "=", " missing", 7, 2.5, None, True, (1, ("a", None)), b"b", np.str_("s")),
    *(math.nan, frozenset("a"), 10**301, np.int64(3), "n" * 3_000, "n" * 4_000, "\U0001f600" * 250),
)
LABELS = (
    *(0, 1, 0, 1, 0, 1, "good", "bad", True, 2.5, -3, np.int64(5), np.str_("t"), np.float32(0.5)),
    *(10**300, 10**301, "l" * 1_500, "l" * 1_600, "\ud800", "", None, math.nan, (1,), object()),
)
WIDTHS = None, active.ConstantWidth(2), active.TheoreticalWidth(c1=1e308), active.ConstantWidth(0)
BUDGETS = (
    *(None, 0, 3, 50, 10**15, 0.0, 0.3, 1.0, np.float64(0.5), np.int64(9), Fraction(1, 2), 1.5),
    *(active.Budget(0.2, burst=2), active.Budget(0.5, horizon=40), active.Budget(5), 10**20, -1),
)
SETTINGS = {  # by name, what may be set, and what may not
    "budget": BUDGETS,
    "horizon": (None, 1, 10, 10**6, 10**400, 0, np.int64(30), 2.5),
    "gamma": (0, 0.5, 6, 1e6, 1e308, np.float32(2), -1, math.inf, Decimal(1)),
    "width": WIDTHS,
    "self_training": (True, False, 2),
    "p": (0, 1, np.float16(0.5), 2),
    "threshold": (None, 0, 0.5, Fraction(1, 3), 7),
    "lr": (1e-37, 1e-3, 1.0, 1e3, 1e38, 0, np.longdouble(0.01), Fraction(1, 1000)),
    "n_steps": (0, 0.3, 3, 1e6, np.float64(1), math.nan),
}


def numbers(rng, n=3):
    return {f"f{i}": rng.gauss(0, 1) for i in range(n)}


def example(rng):
    """Mostly of three numbers, sometimes with odd names and values."""
    x, kind = numbers(rng), rng.random()
    if kind < 0.1:
        x[rng.choice(NAMES)] = rng.choice(ODD_NUMBERS + TEXTS)
    elif kind < 0.15:
        x = {name: rng.choice((1.0, 2, *ODD_NUMBERS)) for name in rng.sample(NAMES, 2)}
    elif kind < 0.2:
        x |= {f"{'é' * rng.randrange(300)}{i}": 1.0 for i in range(rng.randrange(12))}
    elif kind < 0.25:
        x["f0"] = rng.choice(TEXTS)
    return x


def model_of(rng):
    """A sampler around a learner, both with random parameters."""
    detector = rng.choice([None, "cusum", "cusum", drift.binary.DDM(warm_start=5)])
    inner = small(
        rng.choice([INeurAL, INeurAL, NeurONAL]),
        hidden_dim=rng.choice([1, 4]),
        n_steps=1,
        capacity=rng.choice([2, 9, 60]),
        n_layers=rng.choice([2, 3]),
        max_features=rng.choice([3, 8, 10_000]),
        max_classes=rng.choice([2, 4, 100]),
        categories=rng.random() < 0.5,
        missing=rng.random() < 0.5,
        classes=rng.choice([None, None, ("good", 1)]),
        explorers=rng.choice(
            [("network", "forest", "discriminant", "last_label"), ("network",), ()]
        ),
        drift_detector=detector,
    )
    kind = rng.choice([active.INeurALSampler] * 3 + [active.RandomSampler, active.MarginSampler])
    return kind(inner, budget=rng.choice([None, 0.5, 30]), seed=rng.randrange(9))


def call(rng, model, stream):
    """One random call, and what it is given."""
    inner, waiting = model.classifier, [each.query for each in model.queries()]
    names = [name for name in SETTINGS if hasattr(model, name)]
    query = rng.choice(waiting) if waiting else rng.randrange(-1, 200)
    x, y, name = example(rng), rng.choice(LABELS), rng.choice(names)
    if rng.random() < 0.6:  # as is usual
        x, y = next(stream)
    value = rng.choice(SETTINGS[name])
    return rng.choice(
        [
            *[(model.decide_one, x)] * 6,
            *[(model.answer, query, y)] * 5,
            (model.answer, rng.randrange(-1, 200), y),  # to correct it
            (model.withdraw, rng.choice([query, rng.randrange(200)])),
            (model.learn_one, x, y),
            (lambda: model.learn_one(x, y, w=rng.choice([0, 1e6, 0.5, -1, 1e7, math.nan, "2"])),),
            (inner.learn_one, x, y, True),
            (inner.learn_many, pd.DataFrame([numbers(rng) for _ in range(4)]), [0, 1, y, 0]),
            (setattr, model, name, value),
            *[(setattr, model, name, value)] * 2,
            (setattr, inner, *rng.choice([(n, v) for n in ("lr", "n_steps") for v in SETTINGS[n]])),
            (model.mutate, {name: value, "horizon": rng.choice(SETTINGS["horizon"])}),
            (setattr, model, "classifier", rng.choice([inner, small(seed=2), model, None])),
        ]
    )


def streaming(rng):
    """Two blobs whose labels are swapped at times, so that changes are detected."""
    for t in itertools.count():
        y = rng.randrange(2)
        x = {name: value * 0.5 + 2 * y for name, value in numbers(rng).items()}
        yield x, (y + t // 150) % 2


def outcome(function, *given):
    """None, or the error that a call raises."""
    try:
        return function(*given)
    except REFUSALS as error:
        return repr(error)


def changing(model):
    return getattr(model.classifier, "changing", False)


def turn(model, stream):
    """Learn labels that are swapped after a while, until a change is detected."""
    model.classifier.lr, model.classifier.n_steps = 0.01, 2
    for t, (x, _) in enumerate(itertools.islice(stream, 120)):
        model.learn_one(x, (x["f0"] > 1) ^ (t >= 60))
        if changing(model):
            return


def drive(seed, n):
    """Random calls; how many were accepted, refused, and left a model that recovers."""
    rng = random.Random(seed)
    model, stream, said = model_of(rng), streaming(rng), Counter()
    before = b""
    for i in range(n):
        if i % 50 == 49:
            model, before = model_of(rng), b""
        function, *given = (turn, model, stream) if i % 20 == 10 else call(rng, model, stream)
        before = before or to_bytes(model)
        try:
            function(*given)
            said["accepted"] += 1
        except REFUSALS:
            said["refused"] += 1
            assert to_bytes(model) == before, (i, function, f"{given!r:.300}")
            continue
        said["recovering"] += changing(model)
        loaded, x = from_bytes(to_bytes(model)), numbers(rng)
        assert loaded.classifier.scores_one(x) == model.classifier.scores_one(x), (i, function)
        before = to_bytes(model)
        if i % 20 == 0 or (changing(model) and i % 5 == 0):
            assert to_bytes(loaded) == before, (i, function)
            twin = copy.deepcopy(model)
            assert repr(loaded.decide_one(x)) == repr(twin.decide_one(x)), (i, function)
            for given in itertools.islice(streaming(rng), 3):
                assert outcome(loaded.learn_one, *given) == outcome(twin.learn_one, *given)
            assert to_bytes(loaded) == to_bytes(twin), (i, function)
            loaded = from_bytes(before)
        if rng.random() < 0.05:
            model = loaded
    return said


@pytest.mark.filterwarnings("ignore")
def test_whatever_is_accepted_can_be_saved():
    said = sum((drive(seed, 60) for seed in range(3)), Counter())
    assert min(said["accepted"], said["refused"]) > 30
    assert said["recovering"] > 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_accepted_can_be_saved_often(seed):
    said = drive(100 + seed, 200)
    assert min(said["accepted"], said["refused"]) > 20
    assert said["recovering"] > 0


def test_every_limit_is_checked_where_the_value_enters():
    """Names by the room that each of `max_features` has in a file; labels; questions' names."""
    for name, most in (("max_features", 100_000), ("max_classes", 2_000), ("n_steps", 1_000)):
        assert getattr(small(**{name: most}), name) == most
        with pytest.raises(ValueError, match=name):
            small(**{name: 2 * most})
    model = active.INeurALSampler(small(), seed=1)
    for x in ({"n" * 4_000: 1.0}, {math.nan: 1.0}, {frozenset("a"): 1.0}):
        with pytest.raises((TypeError, ValueError), match=r"^feature name"):
            model.predict_one(x)
        with pytest.raises((TypeError, ValueError), match=r"^feature name"):
            model.learn_one(x, 0)
    assert model.n_rounds == 0
    for y in ("l" * 1_600, 10**301):
        with pytest.raises((TypeError, ValueError), match=r"^label"):
            model.learn_one({"a": 1.0}, y)
    with pytest.raises(ValueError, match=r"^lr"):
        model.classifier.lr = 1e38


@pytest.mark.parametrize("budget", [0, 3, 0.0, 0.01, active.Budget(0.5, horizon=10)])
def test_a_budget_below_what_was_asked_is_saved(budget):
    model = active.INeurALSampler(small(), budget=None, seed=1)
    for t in range(40):
        model.decide_one({"a": float(t)})
    model.budget = budget
    assert model.decide_one({"a": 1.0}).budget_left >= 0
    assert repr(from_bytes(to_bytes(model)).decide_one({"a": 2.0})) == repr(
        model.decide_one({"a": 2.0})
    )


def test_many_wide_names_are_saved():
    """3,100 names of 196 characters of four bytes, and as many others."""
    model = active.INeurALSampler(small(hidden_dim=1, explorers=()), seed=1)
    for i in range(2):
        model.decide_one({f"{i}{j:04}" + "\U0001f600" * 191: 1.0 for j in range(3_100)})
        model.answer(model.n_rounds, i)
    assert from_bytes(to_bytes(model)).n_rounds == 2


def test_questions_of_odd_numbers_are_answered_by_their_features():
    """They are kept as floats, and found again as they were given."""
    model = active.INeurALSampler(small(missing=True), seed=1)
    for value in (Decimal("0.1"), Fraction(1, 3), np.longdouble(2), pd.NA, Decimal("sNaN")):
        assert model.predict_one({"a": value, "b": 1.0})[1]
        model = from_bytes(to_bytes(model))
        model.learn_one({"a": value, "b": 1.0}, 1)
        assert model.n_pending == 0


class Odd:
    """A value that neither compares nor shows itself."""

    def __eq__(self, other):
        raise RuntimeError

    __hash__, __repr__ = None, __eq__


def deep(n):
    return [deep(n - 1)] if n else []


DROPPED = {  # what makes a value that a step drops, and whether a file holds it
    "a set": (lambda: {1, "b"}, False),
    "a Timestamp": (lambda: pd.Timestamp("2024-02-29 12:00:00.000000001"), False),
    "a datetime": (lambda: dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC), True),
    "a date": (lambda: dt.date(2024, 2, 29), True),
    "a time": (lambda: dt.time(12), True),
    "a Decimal": (lambda: Decimal("0.1"), True),
    "bytes": (lambda: b"\x00" * 99, True),
    "a nested dict": (lambda: {"a": {"b": [1.5, (2, None)]}}, True),
    "a set in a dict": (lambda: {"a": {"b": {1}}}, False),
    "a dict of NaN": (lambda: {math.nan: 1}, False),
    "an array": (lambda: np.arange(3), False),
    "a complex number": (lambda: 1j, False),
    "an object": (object, False),
    "an odd object": (Odd, False),
    "a deep list": (lambda: deep(19), True),
    "a deeper list": (lambda: deep(300), False),
    "a huge number": (lambda: 10**5_000, False),
}
SHAPES = {
    "around": lambda: active.INeurALSampler(compose.Discard("odd") | small(), seed=1),
    "last step": lambda: compose.Discard("odd") | active.INeurALSampler(small(), seed=1),
    "random": lambda: active.RandomSampler(compose.Discard("odd") | small(), p=1.0, seed=1),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("make", "held"), DROPPED.values(), ids=DROPPED)
def test_questions_with_values_that_a_pipeline_drops_are_saved(make, held, shape):
    """Labels find them by the values that a file holds, before and after, or by their name."""
    model = SHAPES[shape]()
    rows = [{"a": float(i), "odd": make()} for i in range(4)]
    for x in rows:
        assert model.predict_one(x)[1]
    data = to_bytes(model)
    loaded = from_bytes(data)
    assert to_bytes(loaded) == data
    sampler = loaded[-1] if shape == "last step" else loaded
    assert [each.query for each in sampler.queries()] == [1, 2, 3, 4]
    loaded.learn_one({"a": 2.0, "odd": make()}, 1)  # equal, but none of those that were kept
    assert [each.query for each in sampler.queries()] == [1, 2, 4]
    if shape != "last step":
        loaded.learn_one({"a": 1.0, "odd": "other"}, 1)
        assert sampler.n_pending == 3
    sampler.answer(4, 0)
    scores = from_bytes(to_bytes(loaded)).predict_proba_one(rows[0])
    assert scores == loaded.predict_proba_one(rows[0])
    assert {*scores[0]} == {0, 1}
    original = model[-1] if shape == "last step" else model
    if shape == "last step" or make is not DROPPED["an array"][0]:  # which does not compare
        model.learn_one(rows[2], 1)
        assert [each.query for each in original.queries()] == [1, 2, 4]


@pytest.mark.parametrize(("make", "held"), DROPPED.values(), ids=DROPPED)
def test_a_value_takes_no_more_in_a_file_than_is_counted(make, held):
    value = plain_value(make())
    assert (size_of(value, depth=1) < math.inf) == held
    for x in (value, {"odd": value}, {"a": [value], ("b", 1): "{[,"}):
        text = json.dumps(encoded(as_kept(x), ""))
        assert len(text) + sum(map(text.count, ",[{")) <= size_of(x, OF_TIME)


def test_labels_that_cannot_find_their_questions_are_told_of():
    """As a NaN in a list is equal to no other."""
    model = active.INeurALSampler(compose.Discard("odd") | small(), gamma=1e9, seed=1)
    for i in range(12):
        model.predict_one({"a": float(i), "odd": [math.nan]})
    rows = [({"a": float(i), "odd": [float("nan")]}, i % 2) for i in range(12)]
    (message,) = told(learned, from_bytes(to_bytes(model)), rows)
    assert message.startswith("10 of 10 labels answered no question")


@pytest.mark.parametrize("kind", [UserDict, OrderedDict, MappingProxyType, ChainMap])
def test_questions_of_other_mappings_are_saved(kind):
    model = active.INeurALSampler(small(), seed=1)
    model.predict_one(kind({"a": 1.0}))
    loaded = from_bytes(to_bytes(model))
    for each in (model, loaded):
        each.learn_one(kind({"a": 1.0}), 1)
        assert each.n_pending == 0


@pytest.mark.parametrize("name", [np.int64(1), np.uint8(1), 1.0, np.float64(1)])
def test_a_question_whose_name_is_another_number_is_settled_and_saved(name):
    """As in a column of names, some of which are missing."""
    model = active.INeurALSampler(small(), seed=1)
    model.predict_one({"a": 1.0})
    model.answer(name, 1)
    loaded = from_bytes(to_bytes(model))
    loaded.answer(name, 0)
    loaded.withdraw(name)
    assert from_bytes(to_bytes(loaded)).n_queries == 0
    for none in ([1], {}, "1", math.nan, None, 2, True):
        with pytest.raises(LookupError, match="No question has the name"):
            loaded.answer(none, 1)


def test_trees_that_do_not_vote_are_saved():
    """As all labels have no weight, but f1 has learned others, which the history has forgotten."""
    model = small(capacity=2, n_steps=5, drift_detector=None)
    for t in range(8):
        model.learn_one({"a": float(t), "b": -1.0 * t}, t % 2, w=float(t < 4))
    assert dump(model).explorers.by_name["forest"].grown
    x = {"a": 1.5, "b": 0.5}
    for loaded in (from_bytes(to_bytes(model)), copy.deepcopy(model)):
        assert loaded.explained_one(x) == model.explained_one(x)


def test_a_width_that_is_no_number_counts_no_round():
    model = active.INeurALSampler(small(), width=lambda t, k, n: None, seed=1)
    with pytest.raises(TypeError, match=r"width must return a number, .* returns None"):
        model.predict_one({"a": 1.0})
    assert model.n_rounds == 0


@pytest.mark.parametrize("factor", [1e-35, 1e-60, 1e-69])
def test_tiny_units_are_read(factor):
    model = small(hidden_dim=16)
    for t in range(60):
        model.learn_one({"a": factor * (t % 2 + 0.1 * (t % 7))}, t % 2)
    assert [model.predict_one({"a": factor * a}) for a in (0.1, 1.3)] == [0, 1]


def test_a_feature_that_is_too_small_to_vary_is_told_of_once():
    model = small()
    stream = [({"a": 1e-80 * t, "b": 1e-80 if t % 2 else 1.0}, t % 2) for t in range(30)]
    (message,) = told(learned, model, stream)
    assert message.startswith("feature 'a' varies by less than 1e-70. It counts as constant")


@pytest.mark.filterwarnings("ignore:max_features")
def test_columns_of_strings_that_are_forgotten_take_no_room():
    model = small(categories=True, max_features=5)
    for t in range(40):
        model.learn_one({f"column {t}": "text"}, t % 2)
    assert len(dump(model).features.strings) <= 5


def test_a_total_of_a_share_is_exact():
    for limit, horizon in ((0.999999999, 2**53), (0.29, 100), (1 / 3, 3), (1.0, 2**53)):
        total = active.Budget(limit, horizon=horizon).total
        assert abs(Fraction(total) - Fraction(limit) * horizon) < 1
        assert total <= Fraction(limit) * horizon + Fraction(1, 10**9)
