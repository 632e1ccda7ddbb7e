"""Whatever is accepted can be saved: random calls, each of which leaves a state that loads."""

import copy
import datetime as dt
import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from river import compose, drift
from streams import dump, learned, small, told

from river_ineural import INeurAL, NeurONAL, active
from river_ineural.persistence import from_bytes, to_bytes

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
        explorers=rng.choice([("network", "forest", "last_label"), ("network",), ()]),
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


def drive(seed, n):
    """Random calls; how many were accepted, refused, and how many changes were detected."""
    rng = random.Random(seed)
    model, stream, said = model_of(rng), streaming(rng), {"accepted": 0, "refused": 0, "drifts": 0}
    before = b""
    for i in range(n):
        if i % 400 == 399:
            said["drifts"] += model.n_drifts
            model, before = model_of(rng), b""
        function, *given = call(rng, model, stream)
        before = before or to_bytes(model)
        try:
            function(*given)
            said["accepted"] += 1
        except REFUSALS:
            said["refused"] += 1
            assert to_bytes(model) == before, (i, function, f"{given!r:.300}")
            continue
        before = to_bytes(model)
        loaded, x = from_bytes(before), numbers(rng)
        assert loaded.classifier.scores_one(x) == model.classifier.scores_one(x), (i, function)
        if i % 20 == 0:
            twin = copy.deepcopy(model)
            assert repr(loaded.decide_one(x)) == repr(twin.decide_one(x)), (i, function)
            loaded = from_bytes(before)
            assert to_bytes(loaded) == before, (i, function)
        if rng.random() < 0.05:
            model = loaded
    return said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_accepted_can_be_saved(seed):
    said = drive(seed, 60)
    assert min(said["accepted"], said["refused"]) > 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(10))
def test_whatever_is_accepted_can_be_saved_2000_times(seed):
    said = drive(100 + seed, 2_000)
    assert min(said["accepted"], said["refused"]) > 100


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


@pytest.mark.parametrize("kind", [active.INeurALSampler, active.RandomSampler])
def test_questions_of_times_that_a_pipeline_drops_are_saved(kind):
    """And answered by their features."""
    model = kind(compose.Discard("at", "day", "hour") | small(), budget=40, seed=1)
    for hour in range(20):
        now = dt.datetime(2024, 2, 29, hour, tzinfo=dt.UTC)
        x = {"at": now, "day": now.date(), "hour": now.time(), "a": 1.0 * hour}
        if model.decide_one(x).asked:
            model = from_bytes(to_bytes(model))
            model.learn_one(x, hour % 2)
            assert model.n_pending == 0


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
