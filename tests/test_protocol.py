"""What lies between deciding and learning: other learners, River's wrappers, live parameters."""

import contextlib
import copy
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from river import active as river_active
from river import (
    base,
    compat,
    compose,
    drift,
    ensemble,
    evaluate,
    feature_extraction,
    feature_selection,
    imblearn,
    linear_model,
    metrics,
    preprocessing,
    tree,
)
from streams import Scored, blobs, dump, learned, raises_and_keeps, small, told, waits_its_turn

from river_ineural import INeurAL, NeurONAL, active, paper
from river_ineural.active.pipelines import find_learner
from river_ineural.baselines import RetrainedNetwork

STREAM = blobs(120, n_features=4, n_classes=2, seed=1)
X = STREAM[0][0]


def test_a_gap_that_is_no_number_never_asks():
    """Nor at random after a silence; one class alone still does, and -inf is no runner-up."""
    for scores in (0.5,), (0.5, -math.inf), (0.5, math.nan), (math.inf, math.inf):
        asks = scores[-1] in (0.5, -math.inf)
        model = active.INeurALSampler(Scored(*scores), seed=1)
        assert any(model.predict_one(X)[1] for _ in range(100)) == asks


NESTED = drift.DriftRetrainingClassifier(preprocessing.StandardScaler() | small())


@pytest.mark.parametrize(
    ("classifier", "said"),
    [
        (linear_model.LogisticRegression(), "LogisticRegression has no n_layers, known_labels, ch"),
        (preprocessing.StandardScaler() | RetrainedNetwork(), "RetrainedNetwork has no n_layers"),
        (small() | preprocessing.StandardScaler(), "put the classifier last"),
        (preprocessing.MinMaxScaler() | NESTED, "pipeline within a pipeline"),
        (INeurAL, r"must be a model, got its class: give INeurAL\(\)"),
    ],
)
def test_what_is_missing_is_said(classifier, said):
    with pytest.raises(TypeError, match=said):
        active.INeurALSampler(classifier)


def test_a_classifier_without_probabilities_is_named():
    voting = ensemble.VotingClassifier([linear_model.LogisticRegression(), small()])
    for kind in (active.RandomSampler, active.MarginSampler):
        with pytest.raises(TypeError, match="VotingClassifier gives no probabilities"):
            kind(voting, seed=1).predict_one({"a": 1.0})


class Replaces(base.BinaryDriftAndWarningDetector):
    """Warns after 20 labels, and finds a drift after 30."""

    def __init__(self):
        super().__init__()
        self.n = 0

    def update(self, x):
        self.n += 1
        self._warning_detected = 20 <= self.n < 30
        self._drift_detected = self.n == 30


EVEN = {0: 0.5, 1: 0.5}
WRAPPERS = {
    "drift": lambda model: drift.DriftRetrainingClassifier(model, Replaces()),
    "under": lambda model: imblearn.RandomUnderSampler(model, desired_dist=EVEN, seed=1),
    "over": lambda model: imblearn.RandomOverSampler(model, desired_dist=EVEN, seed=1),
    "hard": lambda model: imblearn.HardSamplingClassifier(model, size=20, p=0.1, seed=1),
}


@pytest.mark.parametrize("scaled", [False, True], ids=["alone", "pipeline"])
@pytest.mark.parametrize("name", WRAPPERS)
def test_river_s_wrappers_of_one_learner(name, scaled):
    """Around a learner, or a pipeline that ends in one: predicts, asks, learns, teaches itself.
    The wrapper sees the labels that are given, and no pseudo-label.
    """
    inner = preprocessing.StandardScaler() | small() if scaled else small()
    wrapper, seen = WRAPPERS[name](inner), []
    learn = wrapper.learn_one
    wrapper.learn_one = lambda x, y, **given: (seen.append(y), learn(x, y, **given))
    model = active.INeurALSampler(wrapper, budget=60, seed=1)
    score = evaluate.progressive_val_score(STREAM * 3, model, metrics.Accuracy())
    learner, pipelines = find_learner(model.classifier)
    assert isinstance(learner, INeurAL)
    assert len(pipelines) == scaled
    assert len(seen) == model.n_queries <= 60
    assert model.n_pseudo_labels > 10
    assert dump(learner).history.n_labelled > 0
    assert score.get() > 0.8
    if name == "drift":  # the sampler decides by what predicts now
        assert wrapper.model is not inner
        assert learner is (wrapper.model[-1] if scaled else wrapper.model)
    assert model.clone().predict_one(X) == (None, True)
    inner = pipelines[0] if scaled else learner
    for x, w in (({**X, "f1": None}, 1.0), (X, -1.0)):
        with raises_and_keeps(inner, None):  # a scaler that saw a NaN returns NaN ever after
            model.learn_one(x, 1, w=w)


@pytest.mark.parametrize("inner", [small, tree.HoeffdingTreeClassifier])
def test_labels_that_a_wrapper_discards_are_not_told_of_as_one_class(inner):
    """The sampler was given both classes, so it does not say that only one was seen."""
    kind = active.INeurALSampler if inner is small else active.MarginSampler
    shares = {0: 1e-9, 1: 1 - 1e-9}
    wrapped = kind(imblearn.RandomUnderSampler(inner(), shares, seed=1), budget=60, seed=1)
    assert told(lambda: [wrapped.learn_one(x, y) for x, y in STREAM[:30]]) == []
    assert told(lambda: [wrapped.predict_one(x) for x, _ in STREAM[:30]]) == []
    assert len(wrapped.classifier.predict_proba_one(X)) == 1
    alone = kind(inner(), budget=60, seed=1)
    (message,) = told(lambda: [(alone.predict_one(x), alone.learn_one(x, 1)) for x, _ in STREAM])
    assert message.startswith("Only one class was seen in 10 labels")


def test_rows_that_were_learned_sorted_by_class_are_told_of():
    """Each class passed for a change, so the last one alone was left: others had been seen."""
    rows = sorted(blobs(900, n_classes=3, seed=1), key=lambda row: row[1])
    model = active.INeurALSampler(INeurAL(hidden_dim=8, seed=1), budget=0.05, seed=1)
    for x, y in rows:
        model.learn_one(x, y)
    (message,) = told(lambda: [model.predict_one(x) for x, _ in rows[:300]])
    assert message.startswith("All labels since the stream has changed are of one class")
    assert "learn_many" in message


def test_an_entropy_sampler_of_river_asks_if_the_classes_are_named():
    for classes, asks in ((None, {False}), ((0, 1, 2), {True})):
        model = river_active.EntropySampler(small(classes=classes), discount_factor=1e-9, seed=1)
        assert {model.predict_one(x)[1] for x, _ in STREAM} == asks


@pytest.mark.parametrize("around", [lambda model: model, lambda model: Cold() | model])
@pytest.mark.parametrize(
    "kind",
    [
        lambda: active.INeurALSampler(small(), seed=1),
        lambda: active.RandomSampler(small(), seed=1),
        lambda: paper.INeurAL((0, 1, 2), 10, lr=0.1, seed=1),
    ],
    ids=["ineural", "random", "paper"],
)
def test_what_takes_a_sampler_for_a_classifier_is_refused(kind, around):
    """Its pairs would be taken for labels."""
    model = around(kind())
    for made in (
        *(ensemble.VotingClassifier([model] * 2, use_probabilities=each) for each in (True, False)),
        *(ensemble.BaggingClassifier(model, n_models=2), drift.DriftRetrainingClassifier(model)),
        river_active.EntropySampler(model),
    ):
        with pytest.raises(TypeError, match=r"^river\..* would take .* for a label"):
            made.predict_one(X)
        with pytest.raises(TypeError, match=r"^river\..* would take .* for a label"):
            learned(made, STREAM)
    converted = compat.convert_river_to_sklearn(kind())
    with pytest.raises(TypeError, match=r"^river\.compat"):
        converted.fit(FRAME.to_numpy(), SERIES.to_numpy())
    with pytest.raises(TypeError, match=r"^river\.compat"):
        converted.predict(FRAME.to_numpy())


class Cold(base.Transformer):
    """Makes NaN of features it has not learned."""

    def __init__(self):
        self.learned = set()

    def learn_one(self, x):
        self.learned |= x.keys()

    def transform_one(self, x):
        return {i: value if i in self.learned else math.nan for i, value in x.items()}


def test_a_refused_x_teaches_no_step():
    """But a value that only a step that has not learned it makes bad is let through."""
    model = active.INeurALSampler(Cold() | small(), seed=1)
    for x, y in STREAM[:10]:
        model.predict_one(x)
        model.learn_one(x, y)
    for name, bad in itertools.product(("f1", "new"), (math.nan, math.inf, "text")):
        with raises_and_keeps(model, f"feature '{name}'"):
            model.predict_one({**X, name: bad})
    model.predict_one({**X, "not learned": 5.0})
    assert "not learned" in model.classifier["Cold"].learned


@pytest.mark.parametrize("bad", [math.nan, -math.inf, np.float32("nan")])
def test_a_scaler_learns_no_value_that_it_hides_before_it_is_refused(bad):
    """The first of a stream, and the first of a feature that comes late."""
    models = [active.INeurALSampler(preprocessing.StandardScaler() | small(), seed=1) for _ in "ab"]
    late = [({**x, "late": x["f1"]}, y) for x, y in STREAM[10:20]]
    for name, rows in (("f0", STREAM[:10]), ("late", late)):
        with pytest.raises(ValueError, match=f"feature '{name}'"):
            models[0].predict_one({**X, name: bad})
        said = [[learned_after(model, x, y) for x, y in rows] for model in models]
        assert said[0] == said[1]
    assert models[0].n_rounds == 20


WIDE = {"hidden_dim": 4, "missing": True, "seed": 1}
KEEPS_NAN = {
    "a scaler": preprocessing.StandardScaler,
    "one that then says 0": preprocessing.AdaptiveStandardScaler,
    "one that then drops it": feature_selection.VarianceThreshold,
    "behind one that hides it": lambda: preprocessing.StandardScaler() | preprocessing.Binarizer(),
}


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1.7e308])
@pytest.mark.parametrize("way", ["a round", "a warm start", "another sampler"])
@pytest.mark.parametrize("step", KEEPS_NAN)
def test_a_number_that_steps_would_learn_for_good_is_refused_by_its_name(step, way, bad):
    """Where the classifier takes missing values, nothing else would refuse it."""
    kind = active.RandomSampler if way == "another sampler" else active.INeurALSampler
    model = kind(KEEPS_NAN[step]() | INeurAL(**WIDE), seed=1)
    for x, y in STREAM[:10]:
        learned_after(model, x, y)
    given = {**X, "f1": bad}
    with raises_and_keeps(model, "feature 'f1'"):
        model.predict_one(given) if way == "a round" else model.learn_one(given, 1)


def test_a_number_that_no_step_keeps_is_missing_once():
    for filler in preprocessing.StatImputer(), preprocessing.MinMaxScaler():
        model = active.INeurALSampler(filler | INeurAL(**WIDE), seed=1)
        for _ in range(3):
            model.predict_one({**X, "f1": math.nan})
        model.predict_one(X)
        assert all(map(math.isfinite, model.classifier.transform_one(X).values()))


@pytest.mark.parametrize("kind", [active.INeurALSampler, active.RandomSampler])
def test_a_nan_of_a_text_is_left_to_the_step_that_reads_it(kind):
    codes = compose.FuncTransformer(lambda x: {"c": len(x["c"]) if x["c"] == x["c"] else -1})
    model = kind(codes | preprocessing.StandardScaler() | small(), seed=1)
    for text in ("a", "bc", math.nan, "def"):
        model.predict_one({"c": text})
        model.learn_one({"c": text}, int(text == "a"))
    assert model.classifier[-1].n_labels == 4


@pytest.mark.parametrize("outer", [drift.DriftRetrainingClassifier, None])
def test_what_is_tried_teaches_no_step(outer):
    """Neither a step of a pipeline within another, nor one within a wrapper, which learns late."""
    inner = preprocessing.StandardScaler() | INeurAL(**WIDE)
    whole = compose.Pipeline(preprocessing.OrdinalEncoder(), outer(inner) if outer else inner)
    models = [active.RandomSampler(whole, seed=1)]
    if outer:
        models.append(active.INeurALSampler(outer(inner.clone()), seed=1))
    for model in models:
        for x, y in STREAM[:5]:
            learned_after(model, x, y)
        scaler = find_learner(model.classifier)[1][-1]["StandardScaler"]
        before = copy.deepcopy(scaler.counts)
        with contextlib.suppress(ValueError):  # of the encoder that comes first
            model.learn_one({**X, "f1": math.nan}, 1)
        assert all(n - before[name] in (0, 1) for name, n in scaler.counts.items())
        if outer and len(find_learner(model.classifier)[1]) == 1:
            assert scaler.counts == before


def test_what_a_step_makes_too_large_spoils_no_later_example():
    """Under a name that x has not."""
    half = compose.FuncTransformer(lambda x: {"half": x["f0"] / 2})
    model = active.INeurALSampler(half | preprocessing.StandardScaler() | small(), seed=1)
    learned_after(model, *STREAM[10])
    with raises_and_keeps(model.classifier["StandardScaler"], "feature 'half'"):
        model.predict_one({"f0": 1.7e308})
    for x, y in STREAM[:9]:
        learned_after(model, x, y)
    assert model.n_rounds == 10


@pytest.mark.parametrize("words", [feature_extraction.BagOfWords(), feature_extraction.TFIDF()])
def test_text_goes_through_any_step(words):
    model = active.INeurALSampler(words | small(), seed=1)
    for text, y in (("free money", 1), ("see you", 0)):
        model.learn_one(text, y)
        model.learn_one(text, y, asked=False)
        assert model.predict_one(text)[0] == y
    assert model.classifier[-1].n_labels == 4


def learned_after(model, x, y):
    decision = model.decide_one(x)
    model.learn_one(x, y)
    return decision


def test_a_string_that_a_cold_encoder_takes_is_taken():
    """And one that no step encodes is refused, by its name, before any step has learned."""
    encoder = compose.SelectType(str) | preprocessing.OneHotEncoder()
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    for steps in (encoder + numbers, preprocessing.OneHotEncoder()):
        active.INeurALSampler(steps | small(), seed=1).predict_one({"kind": "a", "size": 1.0})
    scaler = compose.Select("size") | preprocessing.StandardScaler()
    both = active.INeurALSampler((scaler + compose.Select("kind")) | small(), seed=1)
    both.predict_one({"size": 1.0, "kind": 2.0})  # the first call makes River's plan of it
    with raises_and_keeps(both, "feature 'kind' is 'a'"):
        both.predict_one({"size": 1.0, "kind": "a"})
    both.predict_one({"size": 3.0, "kind": 2.0})
    with raises_and_keeps(both, None):
        both.predict_one({"size": None, "kind": 2.0})


@pytest.mark.parametrize("change", [{"lr": 1e-30}, {"n_steps": 0}], ids=str)
@pytest.mark.parametrize("mutate", [True, False])
def test_a_parameter_set_later_counts(change, mutate):
    model, moved = learned(small(), STREAM[:20]), []
    networks, ((name, value),) = dump(model).networks, change.items()
    of_f1 = networks.block[0, : networks.shape.n_of_f1]
    for example in STREAM[20:22]:
        before = of_f1.clone()
        model.learn_one(*example)
        moved.append(not before.equal(of_f1))
        model.mutate(change) if mutate else setattr(model, name, value)
    assert moved == [True, False]
    with pytest.raises(ValueError, match=name):
        setattr(model, name, -1.0)
    assert getattr(model, name) == value


OTHERS = {"hidden_dim": 5, "n_layers": 3, "batch_size": 4, "capacity": 9, "explorers": ()}
OTHERS |= {"seed": 3, "max_features": 3, "classes": (1, 2), "device": "cpu"}


@pytest.mark.parametrize(("name", "value"), OTHERS.items())
def test_other_parameters_say_what_to_do(name, value):
    model = small()
    with pytest.raises(AttributeError, match=f"{name} is fixed when INeurAL is made"):
        setattr(model, name, value)
    with pytest.raises(ValueError, match="mutable"):
        model.mutate({name: value})
    assert getattr(model.clone({name: value}), name) == value


def test_parameters_of_neuronal_are_those_of_ineural_with_other_defaults():
    ours, theirs = (kind(seed=1)._get_params() for kind in (NeurONAL, INeurAL))
    assert list(ours) == list(theirs)
    differ = {name for name in ours if ours[name] != theirs[name]}
    assert differ == {"hidden_dim", "lr", "batch_size"}


def test_a_sampler_s_parameters_count_from_when_they_are_set():
    model = active.INeurALSampler(small(), gamma=1e6, budget=3, seed=1)
    asks = [model.predict_one(x)[1] for x, _ in STREAM[:6]]
    model.budget = 5
    asks += [model.predict_one(x)[1] for x, _ in STREAM[:6]]
    model.mutate({"budget": 0.5, "horizon": 20})
    asks += [model.predict_one(x)[1] for x, _ in STREAM[:9]]
    assert [i for i, ask in enumerate(asks) if ask] == [0, 1, 2, 6, 7, 12, 13, 14, 15, 16]
    bucket = active.Budget(0.05, burst=30)
    model.mutate({"budget": bucket, "horizon": None})
    assert (model.budget, model.horizon) == (bucket, None)
    for horizon in (40, 80):
        model.mutate({"budget": active.Budget(0.5, horizon=horizon), "horizon": horizon})
        assert model._budget_manager.left == horizon / 2 - model.n_queries
    model.mutate({"horizon": 100, "budget": 0.5})
    assert (model.budget, model.horizon) == (0.5, 100)
    with pytest.raises(ValueError, match="leave the horizon to the Budget"):
        model.mutate({"gamma": 3.0, "budget": bucket, "horizon": 20})
    assert (model.budget, model.horizon, model.gamma) == (0.5, 100, 1e6)
    with pytest.raises(ValueError, match="budget"):
        model.budget = 1.5
    with pytest.raises(AttributeError, match="seed is fixed"):
        model.seed = 3
    with pytest.raises(TypeError, match="classifier"):
        model.classifier = linear_model.LogisticRegression()
    random = active.RandomSampler(linear_model.SoftmaxRegression(), p=0.3, seed=1)
    assert 20 < sum(random.predict_one(x)[1] for x, _ in STREAM) < 52
    random.p = 1.0
    assert all(random.predict_one(x)[1] for x, _ in STREAM)


@pytest.mark.usefixtures("by_both")
def test_too_large_a_rate_ends_in_no_nan(recwarn):
    model = active.INeurALSampler(small(lr=1e3), budget=100, seed=1)
    for x, y in STREAM[:50]:
        probabilities, ask = model.predict_proba_one(x)
        if probabilities:
            assert sum(probabilities.values()) == pytest.approx(1, abs=1e-9)
        if ask:
            model.learn_one(x, y)
    assert len(recwarn) <= 1
    state = dump(model.classifier)
    assert state.networks.block.isfinite().all()
    assert np.isfinite(state.explorers.a).all()
    assert np.isfinite(state.explorers.b).all()


@pytest.mark.filterwarnings("error")
def test_a_heavy_example_passes():
    model = INeurAL(hidden_dim=32, capacity=40, seed=1)
    for i, (x, y) in enumerate(STREAM * 4):
        model.learn_one(x, y, w=1e6 if i == 30 else 1.0)
    assert np.mean([model.predict_one(x) == y for x, y in STREAM]) > 0.9


FRAME, SERIES = pd.DataFrame([x for x, _ in STREAM[:3]]), pd.Series([y for _, y in STREAM[:3]])
TURNS = {  # the first five are those of samplers too
    "learn_one": lambda model: model.learn_one(*STREAM[0]),
    "predict_one": lambda model: model.predict_one(X),
    "predict_proba_one": lambda model: model.predict_proba_one(X),
    "debug_one": lambda model: model.debug_one(X),
    "pickle": pickle.dumps,
    "check_one": lambda model: model.check_one(*STREAM[0]),
    "scores_one": lambda model: model.scores_one(X),
    "learn_many": lambda model: model.learn_many(FRAME, SERIES),
    "predict_many": lambda model: model.predict_many(FRAME),
    "to": lambda model: model.to("cpu"),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("name", TURNS)
def test_a_call_waits_for_its_turn(name):
    kinds = [lambda model: model]
    kinds += [active.INeurALSampler] * (name in [*TURNS][:5])
    kinds += [active.RandomSampler] * (name in [*TURNS][:5] and name != "debug_one")
    for kind in kinds:
        model = learned(kind(small()), STREAM[:5])
        TURNS[name](model)  # whatever the first call loads and compiles
        assert waits_its_turn(TURNS[name], model, model._lock), kind
