"""Pipelines in files: each transformer and statistic goes on exactly; nothing else is let in."""

import contextlib
import copy
import datetime as dt
import json
import math
import numbers
import random
import time

import kept
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import compose, feature_selection, preprocessing, stats, utils
from river import feature_extraction as extraction
from river.preprocessing.impute import Constant
from streams import python, small

from river_ineural import active, load, save
from river_ineural.persistence import LoadError, SaveError, from_bytes, kinds, pipelines, to_bytes
from river_ineural.persistence.encoding import decoded, encoded

# Random streams


def numeric(rng):
    return {name: rng.choice([rng.gauss(0, 3), 0.0, 2, True]) for name in ("a", "b", 3, "c d")}


def smooth(rng):
    """A window of equal values gives a variance below 0 in River."""
    return {name: rng.gauss(0, 3) for name in ("a", "b", 3, "c d")}


def gaps(rng):
    return {name: rng.choice([None, rng.gauss(0, 1), 1]) for name in ("a", "b", "c")}


DAY = dt.date(2026, 1, 2)


def kinds_of(rng):
    return {
        "kind": rng.choice("xyzu"),
        "size": rng.choice([1, 2.5, None, DAY]),
        4: rng.choice("pq"),
    }


def groups(rng):
    return {"v": rng.gauss(0, 1), "kind": rng.choice("xyz"), "size": rng.choice([1, 2.5])}


def text(rng):
    return {"text": " ".join(rng.choices(["The", "caf\u00e9", "cat", "sat", "on", "$x"], k=5))}


def mixed(rng):
    return {**groups(rng), "n": rng.randrange(5), "yes": rng.random() < 0.5}


STATISTICS = {
    **{kind.__name__: kind for kind in (stats.AbsMax, stats.Count, stats.Max, stats.Mean)},
    **{kind.__name__: kind for kind in (stats.Min, stats.Mode, stats.Sum, stats.Var, stats.MAD)},
    **{kind.__name__: kind for kind in (stats.SEM, stats.PeakToPeak, stats.Entropy, stats.IQR)},
    **{kind.__name__: kind for kind in (stats.Quantile, stats.EWMean, stats.EWVar, stats.Skew)},
    "Kurtosis": lambda: stats.Kurtosis(bias=True),
    "AutoCorr": lambda: stats.AutoCorr(3),
    "BayesianMean": lambda: stats.BayesianMean(0.5, 4),
    "Link": lambda: stats.Shift(2) | stats.Quantile(0.3),
    "Shift": lambda: stats.Shift(3, fill_value=-1.5),
    "RollingIQR": lambda: stats.RollingIQR(7, 0.2, 0.9),
    "RollingQuantile": lambda: stats.RollingQuantile(0.3, 7),
    **{
        kind.__name__: lambda kind=kind: kind(7)
        for kind in (stats.RollingAbsMax, stats.RollingMax, stats.RollingMin, stats.RollingMode)
    },
    "RollingPeakToPeak": lambda: stats.RollingPeakToPeak(7),
    "Rolling": lambda: utils.Rolling(stats.Mean, 7),
    "Rolling Var": lambda: utils.Rolling(stats.Var, 7, ddof=0),
}
CATEGORIES = {"kind": {"x", "y"}, "size": {1, 2.5}, 4: {"p"}}
STEPS = {
    "StandardScaler": (preprocessing.StandardScaler, numeric),
    "StandardScaler in a window": (lambda: preprocessing.StandardScaler(window_size=9), smooth),
    "MinMaxScaler": (preprocessing.MinMaxScaler, numeric),
    "MinMaxScaler in a window": (lambda: preprocessing.MinMaxScaler(window_size=9), numeric),
    "MaxAbsScaler": (preprocessing.MaxAbsScaler, numeric),
    "MaxAbsScaler in a window": (lambda: preprocessing.MaxAbsScaler(window_size=9), numeric),
    "RobustScaler": (preprocessing.RobustScaler, numeric),
    "AdaptiveStandardScaler": (preprocessing.AdaptiveStandardScaler, numeric),
    "Normalizer": (lambda: preprocessing.Normalizer(order=1), smooth),
    "Binarizer": (lambda: preprocessing.Binarizer(threshold=1, dtype=int), numeric),
    "OneHotEncoder": (preprocessing.OneHotEncoder, kinds_of),
    "OneHotEncoder of some": (lambda: preprocessing.OneHotEncoder(CATEGORIES), kinds_of),
    "OrdinalEncoder": (preprocessing.OrdinalEncoder, kinds_of),
    "FeatureHasher": (lambda: preprocessing.FeatureHasher(n_features=6), mixed),
    "StatImputer": (
        lambda: preprocessing.StatImputer(("a", stats.Mean()), ("b", stats.Max()), ("c", 2.5)),
        gaps,
    ),
    "PreviousImputer": (preprocessing.PreviousImputer, gaps),
    "BagOfWords": (lambda: extraction.BagOfWords(on="text", ngram_range=(1, 2)), text),
    "TFIDF": (lambda: extraction.TFIDF(on="text", stop_words={"the"}, ngram_range=(1, 2)), text),
    "PolynomialExtender": (
        lambda: compose.Discard(3) | extraction.PolynomialExtender(degree=3, include_bias=True),
        numeric,
    ),
    "Agg": (lambda: extraction.Agg("v", ["kind", "size"], stats.RollingQuantile(0.5, 4)), groups),
    "Agg of all": (lambda: extraction.Agg("v", None, utils.Rolling(stats.Mean, 4)), groups),
    "Select": (lambda: compose.Select("a", "b"), numeric),
    "Discard": (lambda: compose.Discard("a", "b"), numeric),
    "SelectType": (lambda: compose.SelectType(numbers.Number, str), mixed),
    "Prefixer": (lambda: compose.Prefixer("$of "), mixed),
    "Suffixer": (lambda: compose.Suffixer("_1"), mixed),
    "Renamer": (lambda: compose.Renamer({"a": "z", 3: "y"}), numeric),
    "TransformerUnion": (
        lambda: (
            (compose.Select("v", "n") | preprocessing.StandardScaler())
            + (compose.Select("kind") | preprocessing.OneHotEncoder())
            + extraction.Agg("v", "kind", stats.Mean())
            + preprocessing.StatImputer(("n", stats.Mean()))
        ),
        mixed,
    ),
    "TransformerProduct": (
        lambda: (
            (compose.Select("v") | preprocessing.RobustScaler())
            * (compose.Select("kind") | preprocessing.OneHotEncoder())
        ),
        mixed,
    ),
}


def alone(step, learner):
    return step | learner


def around(step, learner):
    return active.INeurALSampler(step | learner, budget=0.5, seed=2)


def last(step, learner):
    return step | active.INeurALSampler(learner, budget=0.5, seed=2)


def drawn_around(step, learner):
    return active.RandomSampler(step | learner, p=0.5, seed=2)


def rounds(model, stream):
    """What is said in each round; what is asked for is learned, and all without a sampler."""
    for x, y in stream:
        said = model.predict_proba_one(dict(x))
        yield repr(said)
        if not isinstance(said, tuple) or said[1]:
            model.learn_one(dict(x), y)


def stream_of(features, seed, n=40):
    rng = random.Random(seed)
    return [(features(rng), rng.choice("pqr")) for _ in range(n)]


def learner():
    return small(categories=True, missing=True, classes=("p", "q", "r"))


@pytest.mark.filterwarnings("ignore:No label of", "ignore:Only one class", "ignore:1. of 1. labels")
@pytest.mark.parametrize("case", STEPS)
@settings(max_examples=6, deadline=None)
@given(
    place=st.sampled_from([alone, around, last, drawn_around]),
    seed=st.integers(0, 10**6),
    at=st.integers(0, 30),
)
def test_each_transformer_goes_on(case, place, seed, at):
    make, features = STEPS[case]
    step, stream = make(), stream_of(features, seed)
    step.learn_one({name: value or 1.0 for name, value in stream[0][0].items()})
    model = place(step, learner())
    [*rounds(model, stream[:at])]
    loaded = from_bytes(to_bytes(model))
    assert str(loaded) == str(model)
    assert [*rounds(loaded, stream[at:])] == [*rounds(model, stream[at:])]
    assert to_bytes(core(loaded)) == to_bytes(core(model))  # weights and draws of the learner


def core(model):
    """The learner."""
    _, model = pipelines.parted(model)
    return pipelines.parted(getattr(model, "classifier", model))[1]


def through(thing):
    """A step or a statistic, from what a file holds of it."""
    node = json.dumps(encoded(pipelines.written(thing, "steps.x"), ""))
    return pipelines.remade(json.loads(node, object_hook=decoded), "steps.x")


@pytest.mark.parametrize("name", STATISTICS)
@settings(max_examples=20, deadline=None)
@given(
    values=st.lists(
        st.floats(-1e6, 1e6).flatmap(lambda value: st.sampled_from([value, np.float64(value)]))
        | st.sampled_from([-0.0, 0.0, 0, 1, -7, True, np.float32(0.1), np.int64(3)]),
        max_size=30,
    ),
    at=st.integers(0, 30),
)
def test_each_statistic_goes_on(name, values, at):
    with contextlib.suppress(ZeroDivisionError):  # of River, and then of both
        goes_on(STATISTICS[name](), values[:at], values[at:])


def goes_on(one, values, rest):
    for value in values:
        one.update(value)
    for other in (through(one), through(copy.deepcopy(one))):
        assert type(other) is type(one)
        assert repr(other.get()) == repr(one.get())
        assert other.name == one.name
    for value in rest:
        one.update(value)
        other.update(value)
        assert repr(other.get()) == repr(one.get())
    assert pipelines.written(other, "") == pipelines.written(one, "")


def test_each_class_of_the_table_is_tried():
    tried = {type(make()) for make in STATISTICS.values()} | {
        Constant,
        stats.Cov,
        utils.SortedWindow,
    }
    tried |= {type(make()) for make, _ in STEPS.values()} | {stats.PearsonCorr}
    assert tried | {extraction.PolynomialExtender} == {*kinds.KINDS}
    assert {type(getattr(make(), name, None)) for make in STATISTICS.values() for name in SLOTS} > {
        *kinds.RUST
    }


SLOTS = [
    name
    for _, names in kinds.KINDS.values()
    for name in names.split()
    if name[0] == "_" and name != "_is_updated"
]


def test_a_pipeline_is_a_file(tmp_path):
    """Two pipelines: one within the sampler, and one that ends in it; names of steps are kept."""
    inner = compose.Pipeline(("scale it", preprocessing.StandardScaler()), ("net", learner()))
    sampler = active.INeurALSampler(inner, budget=0.5, seed=1)
    model = compose.Pipeline(("words of it", compose.Discard("n")), ("asks", sampler))
    sampler.note, stream = 3, stream_of(numeric, 1)
    [*rounds(model, stream)]
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model", device="cpu")
    assert [*loaded.steps] == [*model.steps]
    assert [*loaded["asks"].classifier.steps] == ["scale it", "net"]
    assert loaded["asks"].note == 3
    assert to_bytes(loaded) == to_bytes(model)


def says(path, seed):
    """Print what a loaded model says in the rest of its stream."""
    print([*rounds(load(path), stream_of(mixed, seed)[20:])])


def test_it_goes_on_in_another_process(tmp_path):
    """One that hashes the names in sets otherwise."""
    step, stream = STEPS["TransformerUnion"][0](), stream_of(mixed, 5)
    step.learn_one(stream[0][0])
    model = around(step, learner())
    [*rounds(model, stream[:20])]
    save(model, tmp_path / "model")
    code = f"import test_saved_pipelines; test_saved_pipelines.says({str(tmp_path / 'model')!r}, 5)"
    said = python("-c", code, PYTHONHASHSEED="7").stdout.strip()
    assert said == str([*rounds(model, stream[20:])])


# What a file cannot hold


class Own(preprocessing.StandardScaler):
    pass


def noted(step):
    step.note = 1
    return step


def after_nan():
    step = preprocessing.StandardScaler()
    step.learn_one({"a": math.nan})
    return step


def grouped(n, how=None):
    step = extraction.Agg("v", "by", how or stats.Mean())
    for i in range(n):
        step.learn_one({"v": 1.0, "by": i / 7})
    return step


def windowed():
    how = utils.Rolling(stats.Mean, 1000)
    for i in range(1000):
        how.update(i / 7)
    return how


REFUSED = {
    r"^steps.Agg._groups: 2,001 keys .* use text": lambda: grouped(2001),
    r"^steps.Agg.how must be a statistic that has not learned": lambda: grouped(1, windowed()),
    r"^steps.RobustScaler.q_inf: Expected `int . float`, got `numpy": lambda: (
        preprocessing.RobustScaler(q_inf=np.float32(0.1))
    ),
    r"^steps.type is FuncTransformer(?s:.*)compose.func.FuncTransformer\)": lambda: (
        compose.FuncTransformer(dict)
    ),
    r"^steps.BagOfWords.on is <built-in": lambda: extraction.BagOfWords(on=len),
    r"^steps.TFIDF.tokenizer is <.* Leave this step out": lambda: extraction.TFIDF(
        tokenizer=str.split
    ),
    r"^steps.TFIDF.preprocessor is <": lambda: extraction.TFIDF(preprocessor=str.strip),
    r"^steps.Own is (?s:.*)test_saved_pipelines.Own\)": Own,
    r"^steps.TargetAgg": lambda: extraction.TargetAgg("a", stats.Mean()),
    r"^steps.SelectKBest": lambda: feature_selection.SelectKBest(stats.PearsonCorr(), 2),
    r"^steps.TransformerUnion.transformers.Own": lambda: Own() + preprocessing.MinMaxScaler(),
    r"^steps.StandardScaler must be without attributes of a user, got \['note'\]": lambda: noted(
        preprocessing.StandardScaler()
    ),
    r"^steps.StandardScaler.means.a must be .* not NaN": after_nan,
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_saved_names_its_step(message):
    with pytest.raises(SaveError, match=message):
        to_bytes(alone(REFUSED[message](), small()))


def test_attributes_of_a_pipeline_are_not_lost_in_silence():
    model = noted(alone(preprocessing.StandardScaler(), small()))
    with pytest.raises(SaveError, match=r"the pipeline must be without .* a user, got \['note'\]"):
        to_bytes(model)


def test_what_is_no_model_of_ours_is_refused():
    for model in (preprocessing.StandardScaler() | preprocessing.MinMaxScaler(), object()):
        with pytest.raises(SaveError, match=r"cannot be saved.*at the end of a pipeline"):
            to_bytes(model)
    inner = preprocessing.MinMaxScaler() | small()
    nested = compose.Pipeline(("a", preprocessing.StandardScaler()), ("b", inner))
    with pytest.raises(SaveError, match=r"Pipeline cannot be saved"):
        to_bytes(nested)


# Files that are not what they seem


@pytest.fixture(scope="module")
def opened():
    """The JSON and the arrays of a model with all steps, and its stream."""
    union = compose.TransformerUnion(
        compose.Select("v") | preprocessing.StandardScaler(window_size=5),
        compose.Select("kind") | preprocessing.OneHotEncoder(),
        compose.Select("v") | preprocessing.RobustScaler(),
        extraction.Agg("v", "kind", stats.RollingQuantile(0.5, 4)),
        compose.Select("v", "n") | preprocessing.MinMaxScaler(window_size=5),
        compose.Select("kind") | preprocessing.FeatureHasher(8, seed=1),
        preprocessing.StatImputer(("n", stats.Mean())),
    )
    stream = stream_of(mixed, 1)
    union.learn_one(stream[0][0])
    model = around(union, learner())
    [*rounds(model, stream[:30])]
    return *kept.opened(to_bytes(model)), stream[30:]


UNION = "steps", "TransformerUnion", 1, "transformers"
SCALER = *UNION, "Pipeline", 1, "steps", "StandardScaler"
HOT = *UNION, "Pipeline1", 1, "steps", "OneHotEncoder"
ROBUST = *UNION, "Pipeline2", 1, "steps", "RobustScaler"
AGG = *UNION, "Agg"
HASHER = *UNION, "Pipeline4", 1, "steps", "FeatureHasher"
IN_UNION = "steps.TransformerUnion.transformers"
BAD_BYTES = [{"$bytes": "00" * n} for n in (0, 3, 170, 171)]


def deep(n):
    node = ["Prefixer", {"prefix": "a"}, {}]
    for _ in range(n):
        node = ["TransformerUnion", {"transformers": {"a": node}}, {}]
    return node


FORGED = [
    ((*SCALER, 0), "os.system", "StandardScaler must be a transformer or a statistic"),
    ((*SCALER, 0), "FuncTransformer", "StandardScaler must be a transformer or a statistic"),
    ((*SCALER, 0), "__class__", "StandardScaler must be a transformer or a statistic"),
    ((*SCALER, 0), ["StandardScaler"], "StandardScaler must be a transformer or a statistic"),
    (SCALER, None, "StandardScaler must be a transformer or a statistic"),
    (SCALER, ["Mean", {}, {"n": 1.0, "_mean": 1.0}], "StandardScaler must be a transformer, got"),
    ((*SCALER, 1, "__class__"), 1, "a StandardScaler with all its parameters"),
    ((*SCALER, 1, "with_std"), kept.DROPPED, "a StandardScaler with all its parameters"),
    ((*SCALER, 1, "with_std"), "yes", "with_std: Expected `bool`"),
    ((*SCALER, 1, "window_size"), 2**40, "window_size: Expected `int` <= 100000"),
    ((*SCALER, 2, "__dict__"), {}, "the state of a StandardScaler"),
    ((*SCALER, 2, "transform_one"), 1, "the state of a StandardScaler"),
    ((*SCALER, 2, "counts"), kept.DROPPED, "the state of a StandardScaler"),
    ((*SCALER, 2, "counts"), [1], "StandardScaler.counts must be a dict"),
    ((*SCALER, 2, "counts", "v"), -1, "StandardScaler.counts.v must be a number of times"),
    ((*SCALER, 2, "counts", "v"), 10**400, "StandardScaler.counts.v must be"),
    ((*SCALER, 2, "means", "v"), 1.5, "means.v must be the state of a Rolling"),
    ((*SCALER, 2, "means", "v", "window"), [1.0] * 6, "means.v.window must be a list that fits"),
    ((*SCALER, 2, "means", "v", "window", 0), "x", "means.v must be a number"),
    ((*SCALER, 2, "means", "v", "obj", "n"), math.nan, r"obj.n must be .* not NaN"),
    ((*SCALER, 2, "means", "v", "obj", "n"), "one", "obj.n must be a number"),
    ((*HOT, 2, "values", "kind"), [1, 1], "values.kind: a value is repeated"),
    ((*HOT, 2, "values", "kind"), [[]], "values.kind: value .* cannot be saved"),
    ((*HOT, 2, "_zero_dict", "x"), {}, "_zero_dict.x must be text, bytes, a number or None"),
    *(
        ((*ROBUST, 2, "median", "v", "_quantile"), bad, "_quantile must be")
        for bad in BAD_BYTES[:2]
    ),
    ((*ROBUST, 2, "median", "v", "_quantile"), BAD_BYTES[3], "_quantile must be a state <21dB"),
    (
        (*ROBUST, 2, "median", "v", "_quantile"),
        {"$bytes": "000000000000f87f" * 21 + "0501"},
        "_quantile must be without NaN",
    ),
    (
        (*ROBUST, 2, "median", "v", "_quantile"),
        {"$bytes": "00" * 168 + "0502"},
        "_quantile must be a state <21dB",
    ),
    ((*ROBUST, 2, "median", "v", "_is_updated"), 1, "_is_updated must be true or false"),
    ((*ROBUST, 1, "q_inf"), -1, "q_inf: Expected `int` >= 0"),
    ((*AGG, 1, "how", 0), "Select", "how must be a Select with all"),
    ((*AGG, 1, "how"), deep(0), "how must be a statistic"),
    ((*AGG, 1, "how", 1, "window_size"), 2**62, "how.window_size: Expected `int` <= 100000"),
    ((*AGG, 1, "by"), [1], "Agg.by: Expected `str`"),
    ((*AGG, 2, "_groups"), {"$dict": [[{"$tuple": [[]]}, {}]]}, "no model|cannot be saved"),
    (
        (*AGG, 2, "_groups"),
        {"x": {"_rolling_quantile": {"$bytes": ""}, "_is_updated": True}},
        "_groups.x must be with a number if it is updated",
    ),
    (
        (*AGG, 2, "_groups"),
        {"x": {"_rolling_quantile": {"$bytes": "00" * 40}, "_is_updated": True}},
        "_rolling_quantile must be at most 4 numbers",
    ),
    ((*HASHER, 1, "n_features"), 0, "n_features: Expected `int` >= 1"),
    ((*HASHER, 2, "_seed"), 2**32, "FeatureHasher must be with a seed below"),
    ((*UNION[:2], 1, "transformers"), 3, "transformers: Expected `object`"),
    (UNION[:2], deep(200), "steps.TransformerUnion.transformers.a.transf.* less deep"),
    (("steps",), {"INeurAL": deep(0)}, "steps.INeurAL must be the model"),
    (("steps",), {}, "no model can be made of it"),
    (("steps",), [1], "Expected `object.*steps"),
    (("outer",), {"INeurAL": {"a": 1}}, "steps.INeurAL must be the model"),
]


@pytest.mark.parametrize(("place", "value", "message"), FORGED, ids=lambda part: f"{part!r:.60}")
def test_an_error_names_what_is_wrong(opened, place, value, message):
    document, arrays, _ = opened
    with pytest.raises(LoadError, match=message):
        from_bytes(kept.sealed(kept.changed(document, place, value), arrays))


EMPTY = {"_rolling_quantile": {"$bytes": ""}, "_is_updated": False}
LARGE = {"q": 0.5, "window_size": 100_000}
GROUPS = {"_groups": {f"group {i}": EMPTY for i in range(40_000)}}
COLLIDING = [i * (2**61 - 1) for i in range(1, 60_001)]
BOMBS = {
    "windows": {"on": "a", "by": None, "how": ["RollingQuantile", LARGE, EMPTY]},
    "copies": {
        **{"on": "a", "by": None},
        "how": [
            "RollingQuantile",
            LARGE,
            EMPTY | {"_rolling_quantile": {"$bytes": "00" * 800_000}},
        ],
    },
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_does_not_take_much(opened, kind):
    """Many windows are not filled; what each group would copy is small."""
    document, arrays, _ = opened
    data = kept.sealed(kept.changed(document, AGG, ["Agg", BOMBS[kind], GROUPS]), arrays)
    start = time.thread_time()
    with contextlib.suppress(LoadError):
        from_bytes(data)
    assert time.thread_time() - start < 20  # without the limit on `how` more than a minute


@pytest.mark.parametrize(
    "place", [(*HOT, 2, "values", "kind"), (*SCALER[:-1], "Select", 1, "*keys")]
)
def test_names_that_collide_are_refused_at_once(opened, place):
    document, arrays, _ = opened
    with pytest.raises(LoadError, match="60,000 keys such as"):
        from_bytes(kept.sealed(kept.changed(document, place, COLLIDING), arrays))


def test_steps_without_a_sampler_are_refused(opened):
    document, arrays, _ = opened
    bare = {name: array for name, array in arrays.items() if not name.startswith("sampler")}
    document = {**document, "around": None}
    with pytest.raises(LoadError, match=r"steps must be of a sampler's pipeline"):
        from_bytes(kept.sealed(document, bare))


def test_damage_ends_in_an_error_and_not_in_the_process(opened):
    """Any value anywhere in the steps: it is refused, or what goes wrong later is an exception."""
    document, arrays, stream = opened
    rng, places = random.Random(0), [("steps", *way) for way in kept.walk(document["steps"])]
    n_refused = 0
    for _ in range(600):
        place = rng.choice(places)
        value = rng.choice([*kept.ODD, *BAD_BYTES, {"$bytes": rng.randbytes(170).hex()}])
        try:
            model = from_bytes(kept.sealed(kept.changed(document, place, value), arrays))
        except LoadError:
            n_refused += 1
            continue
        with contextlib.suppress(Exception), np.errstate(all="ignore"):
            [*rounds(model, stream[:3])]
    assert n_refused > 300
