"""What lies between deciding and learning: other learners, River's wrappers, live parameters."""

from __future__ import annotations

import copy
import math
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from river import base, compose, drift, evaluate, imblearn, linear_model, metrics, preprocessing
from streams import blobs

from river_ineural import INeurAL, active
from river_ineural.active.learner import route
from river_ineural.baselines import RetrainedNetwork

STREAM = blobs(120, n_features=4, n_classes=2, seed=1)


def small(**settings):
    return INeurAL(**{"hidden_dim": 8, "batch_size": 8, "seed": 1, **settings})


class Centroids(base.Classifier):
    """A learner of the tests' own: the nearer a class's mean, the higher its score."""

    n_layers = 2

    def __init__(self):
        self.sums, self.counts, self.n_pseudo = {}, {}, 0

    @property
    def _multiclass(self):
        return True

    @property
    def known_labels(self):
        return tuple(self.counts)

    def check_one(self, x, y=None, w=1.0):
        if not all(math.isfinite(value) for value in x.values()):
            raise ValueError("a feature is not finite")
        return x

    def scores_one(self, x):
        near = {
            y: -sum((x[i] - total[i] / self.counts[y]) ** 2 for i in x)
            for y, total in self.sums.items()
        }
        return {y: 1 + value / 10 for y, value in near.items()}

    def predict_proba_one(self, x, **kwargs):
        return self.scores_one(x)

    def learn_one(self, x, y, pseudo_label=False, w=1.0):
        self.n_pseudo += pseudo_label
        self.counts[y] = self.counts.get(y, 0) + 1
        total = self.sums.setdefault(y, dict.fromkeys(x, 0.0))
        for i, value in x.items():
            total[i] += value

    def debug_one(self, x):
        return f"scores: {self.scores_one(x)}"


def test_another_learner_decides_and_learns():
    """Whatever has the protocol's members: asks by its gap, pseudo-labels, budget."""
    learner = Centroids()
    model = active.INeurALSampler(learner, gamma=1.0, budget=30, seed=1)
    right = []
    for x, y in STREAM:
        gap = 0.0
        if len(learner.known_labels) == 2:
            low, high = sorted(learner.scores_one(x).values())
            gap = high - low
        left = 1 - model.n_queries / 30
        label, ask = model.predict_one(x)
        assert ask >= (gap < 2 * 0.08 * left**0.75 and model.n_queries < 30)
        right.append(label == y)
        if ask:
            model.learn_one(x, y)
    assert np.mean(right[60:]) > 0.9
    assert 0 < model.n_queries <= 30
    assert learner.n_pseudo == model.n_pseudo_labels > 20
    assert "threshold" in model.debug_one(STREAM[0][0])
    with pytest.raises(ValueError, match="not finite"):
        model.predict_one({"f0": math.nan})


def test_what_is_missing_is_said():
    """By name; nested where it is not looked into."""
    with pytest.raises(TypeError, match="LogisticRegression has no n_layers, known_labels, check"):
        active.INeurALSampler(linear_model.LogisticRegression())
    with pytest.raises(TypeError, match="RetrainedNetwork has no n_layers"):
        active.INeurALSampler(preprocessing.StandardScaler() | RetrainedNetwork())
    inner = drift.DriftRetrainingClassifier(preprocessing.StandardScaler() | small())
    with pytest.raises(TypeError, match="pipeline within a pipeline"):
        active.INeurALSampler(compose.Pipeline(preprocessing.MinMaxScaler(), inner))


EVEN = {0: 0.5, 1: 0.5}
WRAPPERS = {
    "drift": lambda model: drift.DriftRetrainingClassifier(model, drift.binary.DDM()),
    "under": lambda model: imblearn.RandomUnderSampler(model, desired_dist=EVEN, seed=1),
    "over": lambda model: imblearn.RandomOverSampler(model, desired_dist=EVEN, seed=1),
    "hard": lambda model: imblearn.HardSamplingClassifier(model, size=20, p=0.1, seed=1),
}


@pytest.mark.parametrize("scaled", [False, True], ids=["alone", "pipeline"])
@pytest.mark.parametrize("name", WRAPPERS)
def test_river_s_wrappers_of_one_learner(name, scaled):
    """Around a learner, or a pipeline that ends in one: predicts, asks, learns, teaches itself."""
    inner = preprocessing.StandardScaler() | small() if scaled else small()
    wrapper = WRAPPERS[name](inner)
    model = active.INeurALSampler(wrapper, budget=60, seed=1)
    score = evaluate.progressive_val_score(STREAM * 3, model, metrics.Accuracy())
    learner, pipelines = route(model.classifier)
    assert isinstance(learner, INeurAL)
    assert len(pipelines) == scaled
    assert model.n_queries <= 60
    assert learner._state.history.n_labelled > 0
    assert score.get() > 0.8
    x = STREAM[0][0]
    assert model.clone().predict_one(x) == (None, True)
    before = pickle.dumps(learner)
    with pytest.raises((TypeError, ValueError)):
        model.learn_one({**x, "f1": None}, 1)
    assert pickle.dumps(learner) == before


def test_a_wrapper_may_put_another_model_in_the_place_of_its_own():
    """After a drift the sampler decides by what predicts now."""

    class Replaced(base.BinaryDriftAndWarningDetector):
        """Warns after 20 labels, and finds a drift after 30."""

        def __init__(self):
            super().__init__()
            self.n = 0

        def update(self, x):
            self.n += 1
            self._warning_detected = 20 <= self.n < 30
            self._drift_detected = self.n == 30

    wrapper = drift.DriftRetrainingClassifier(small(), Replaced())
    first = wrapper.model
    model = active.INeurALSampler(wrapper, gamma=1e3, seed=1)
    for x, y in STREAM:
        model.predict_one(x)
        model.learn_one(x, y)
    assert wrapper.model is not first
    assert route(wrapper)[0] is wrapper.model
    assert wrapper.model._state.history.n_labelled > first._state.history.n_labelled


def test_an_imbalanced_wrapper_sees_the_labels_that_are_given():
    """And no pseudo-label: those are the learner's own."""
    seen = []

    class Counting(imblearn.RandomUnderSampler):
        def learn_one(self, x, y, **kwargs):
            seen.append(y)
            super().learn_one(x, y, **kwargs)

    wrapper = Counting(small(), desired_dist={0: 0.5, 1: 0.5}, seed=1)
    model = active.INeurALSampler(wrapper, budget=40, seed=1)
    for x, y in STREAM * 2:
        if model.predict_one(x)[1]:
            model.learn_one(x, y)
    assert model.n_pseudo_labels > 10
    assert len(seen) == model.n_queries


# Pipelines


class Cold(base.Transformer):
    """Makes NaN of features it has not learned."""

    def __init__(self):
        self.learned = set()

    def learn_one(self, x):
        self.learned |= x.keys()

    def transform_one(self, x):
        return {i: value if i in self.learned else math.nan for i, value in x.items()}


def test_a_refused_x_copies_no_learner(monkeypatch):
    """Where a step that has not learned makes a good x bad, that step is tried on a copy."""
    model = active.INeurALSampler(Cold() | small(), seed=1)
    for x, y in STREAM[:10]:
        model.predict_one(x)
        model.learn_one(x, y)
    copied = []
    usual = copy.deepcopy
    monkeypatch.setattr(copy, "deepcopy", lambda part, *memo: (copied.append(part), usual(part))[1])
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="feature 'f1'"):
            model.predict_one({**STREAM[0][0], "f1": bad})
    assert copied == []
    model.predict_one({**STREAM[0][0], "not learned": 5.0})
    assert len(copied) == 1
    assert not any(isinstance(step, INeurAL) for step in copied[0])
    assert "not learned" in model.classifier["Cold"].learned


def test_a_string_that_a_cold_encoder_takes_is_taken():
    """And one that no step encodes is refused, by its name, before any step has learned."""
    encoder = compose.SelectType(str) | preprocessing.OneHotEncoder()
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    model = active.INeurALSampler((encoder + numbers) | small(), seed=1)
    model.predict_one({"kind": "a", "size": 1.0})
    plain = active.INeurALSampler(preprocessing.OneHotEncoder() | small(), seed=1)
    plain.predict_one({"kind": "a"})
    scaler = compose.Select("size") | preprocessing.StandardScaler()
    both = active.INeurALSampler((scaler + compose.Select("kind")) | small(), seed=1)
    for _ in range(2):  # the first call makes River's plan of the pipeline
        before = pickle.dumps(both)
        with pytest.raises(TypeError, match="feature 'kind' is 'a'"):
            both.predict_one({"size": 1.0, "kind": "a"})
    assert pickle.dumps(both) == before


# Parameters that are set later on


def test_a_learning_rate_set_later_counts():
    """lr = almost nothing: the weights stand still from then on; likewise by River's `mutate`."""
    for change in (
        lambda model: setattr(model, "lr", 1e-30),
        lambda model: model.mutate({"lr": 1e-30}),
        lambda model: model.mutate({"n_steps": 0}),
    ):
        model = small()
        for x, y in STREAM[:20]:
            model.learn_one(x, y)
        before = model._state.trainer.weights.networks[0].clone()
        model.learn_one(*STREAM[20])
        assert not before.equal(model._state.trainer.weights.networks[0])
        change(model)
        before = model._state.trainer.weights.networks[0].clone()
        model.learn_one(*STREAM[21])
        assert before.equal(model._state.trainer.weights.networks[0])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("hidden_dim", 5), ("n_layers", 3), ("batch_size", 4), ("capacity", 9)),
        *(("explorers", ()), ("seed", 3)),
        *(("max_features", 3), ("classes", (1, 2)), ("device", "cpu")),
    ],
)
def test_other_parameters_say_what_to_do(name, value):
    """Where it is a clone, what the message says works."""
    model = small()
    with pytest.raises(AttributeError, match=f"{name} is fixed when INeurAL is made"):
        setattr(model, name, value)
    with pytest.raises(ValueError, match="mutable"):
        model.mutate({name: value})
    assert getattr(model.clone({name: value}), name) == value


def test_bad_values_set_later_are_refused():
    model = small()
    for name in ("lr", "n_steps"):
        with pytest.raises(ValueError, match=name):
            setattr(model, name, -1.0)
        assert getattr(model, name) > 0


def test_a_sampler_s_parameters_count_from_when_they_are_set():
    """Its budget, first of all."""
    model = active.INeurALSampler(small(), gamma=1e6, budget=3, seed=1)
    asks = [model.predict_one(x)[1] for x, _ in STREAM[:6]]
    model.budget = 5
    asks += [model.predict_one(x)[1] for x, _ in STREAM[:6]]
    model.mutate({"budget": 0.5, "horizon": 20})
    asks += [model.predict_one(x)[1] for x, _ in STREAM[:9]]
    assert [i for i, ask in enumerate(asks) if ask] == [0, 1, 2, 6, 7, 12, 13, 14, 15, 16]
    for name, bad in (("budget", 1.5), ("horizon", 0), ("gamma", -1), ("width", 3)):
        with pytest.raises((TypeError, ValueError), match=name):
            setattr(model, name, bad)
    with pytest.raises(AttributeError, match="seed is fixed"):
        model.seed = 3
    with pytest.raises(TypeError, match="classifier"):
        model.classifier = linear_model.LogisticRegression()
    random = active.RandomSampler(linear_model.SoftmaxRegression(), p=0.0, seed=1)
    assert not any(random.predict_one(x)[1] for x, _ in STREAM)
    random.p = 1.0
    assert all(random.predict_one(x)[1] for x, _ in STREAM)


# Steps that are not finite


@pytest.mark.parametrize("lr", [1e3, 1e30])
@pytest.mark.parametrize("kind", ["compiled", "eager"])
def test_too_large_a_rate_ends_in_no_nan(lr, kind, request):
    """Weights stay finite, probabilities a distribution, and at most one warning is given."""
    if kind == "eager":
        request.getfixturevalue("by_torch")
    model = active.INeurALSampler(small(lr=lr), budget=100, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for x, y in STREAM:
            probabilities, ask = model.predict_proba_one(x)
            if probabilities:
                assert sum(probabilities.values()) == pytest.approx(1, abs=1e-9)
            if ask:
                model.learn_one(x, y)
    assert len(caught) <= 1
    if lr > 1e20:
        assert "not finite and was not taken" in str(caught[0].message)
        assert model.n_queries < 20  # scores that are no numbers ask for nothing
    trainer = model.classifier._state.trainer
    for flat in (trainer.flat, *trainer.optimizer.moments, trainer.average.flat):
        assert flat.isfinite().all()
    explorers = model.classifier._state.explorers
    assert np.isfinite(explorers.a).all()
    assert np.isfinite(explorers.b).all()


def test_a_heavy_example_passes():
    """A weight of a million: it learns on, and is good again."""
    model = INeurAL(hidden_dim=32, capacity=40, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i, (x, y) in enumerate(STREAM * 4):
            model.learn_one(x, y, w=1e6 if i == 30 else 1.0)
    assert np.mean([model.predict_one(x) == y for x, y in STREAM]) > 0.9


def test_a_gap_that_is_no_number_never_asks():
    """Nor at random after a silence; one class alone still does."""
    learner = Centroids()
    model = active.INeurALSampler(learner, seed=1)
    x = STREAM[0][0]
    assert model.predict_one(x)[1]
    learner.learn_one(x, 0)
    assert model.predict_one(x)[1]
    learner.learn_one(x, 1)
    learner.sums[1]["f0"] = math.nan
    assert not any(model.predict_one(x)[1] for _ in range(100))


def test_a_classifier_s_predictions_take_no_more_than_x():
    model = small()
    for call in (model.predict_one, model.predict_proba_one):
        with pytest.raises(TypeError, match="surplus"):
            call(STREAM[0][0], surplus=1)


# Turns of threads

FRAME = pd.DataFrame([x for x, _ in STREAM[:3]])
SERIES = pd.Series([y for _, y in STREAM[:3]])
TURNS = {
    "learn_one": lambda model: model.learn_one(*STREAM[0]),
    "check_one": lambda model: model.check_one(*STREAM[0]),
    "scores_one": lambda model: model.scores_one(STREAM[0][0]),
    "predict_one": lambda model: model.predict_one(STREAM[0][0]),
    "predict_proba_one": lambda model: model.predict_proba_one(STREAM[0][0]),
    "debug_one": lambda model: model.debug_one(STREAM[0][0]),
    "learn_many": lambda model: model.learn_many(FRAME, SERIES),
    "predict_many": lambda model: model.predict_many(FRAME),
    "to": lambda model: model.to("cpu"),
    "pickle": pickle.dumps,
    "deepcopy": copy.deepcopy,
}
OF_SAMPLERS = "learn_one", "predict_one", "predict_proba_one", "debug_one", "pickle"
WAITING = [
    *(("classifier", name) for name in TURNS),
    *(("sampler", name) for name in OF_SAMPLERS),
    *(("other sampler", name) for name in OF_SAMPLERS if name != "debug_one"),
]


@pytest.mark.parametrize(("kind", "name"), WAITING, ids=map(": ".join, WAITING))
def test_a_call_waits_for_its_turn(kind, name):
    """Whatever reads or changes a model does so once no other thread holds its lock."""
    model = small()
    if kind != "classifier":
        wrap = active.INeurALSampler if kind == "sampler" else active.RandomSampler
        model = wrap(model, seed=1)
    for x, y in STREAM[:5]:
        model.learn_one(x, y)
    TURNS[name](model)  # whatever the first call loads and compiles
    thread = threading.Thread(target=TURNS[name], args=(model,))
    with model._lock:
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(60)
    assert not thread.is_alive()
