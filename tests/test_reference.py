"""The package against the slow reference twin, everything compared after every round."""

import math

import numpy as np
import pandas as pd
import pytest
import reference_forest
from reference import ReferenceClassifier, ReferenceSampler
from reference_outputs import ReferenceOutputs
from streams import Float64, Outputs64, assert_near, blobs, dump, moving, shifting

from river_ineural import NeurONAL
from river_ineural.active import Budget, ConstantWidth, INeurALSampler, TheoreticalWidth
from river_ineural.explorers import forest
from river_ineural.networks.layout import Weights

DIRECT = {"hidden_dim": 16, "batch_size": 6}  # n < m contexts in a training batch
FOLD = {"hidden_dim": 8, "batch_size": 16}  # n >= m of them: the other order of the product
BOTH = pytest.mark.parametrize("kind", [Float64, Outputs64], ids=["INeurAL", "NeurONAL"])


def pair(kind=Float64, encodes=False, **settings):
    """A package classifier and its twin; what is not said is the package's default."""
    model = kind(seed=3, categories=encodes, missing=encodes, **settings)
    twin = ReferenceOutputs if isinstance(model, NeurONAL) else ReferenceClassifier
    return model, twin(model, encodes)


def quick(kind=Float64, **settings):
    """A pair that learns fast and little; the small history makes both rings wrap around."""
    usual = {"lr": 1e-2, "n_steps": 2, "capacity": 40, "explorers": ("network",), **DIRECT}
    return pair(kind, **{**usual, **settings})


def assert_same_state(model, twin, tolerance):
    """All that both have learned, the models of a recovery too."""
    state = dump(model)
    assert state.features.columns == {name: 1 + i for i, name in enumerate(twin.features)}
    assert state.labels == twin.labels
    assert list(model.trust) == list(twin.explorers)
    assert_near(list(model.trust.values()), twin.trust, tolerance, "trust")
    if twin.detector:
        detector = twin.detector
        assert (model.n_drifts, model.changing) == (detector.n_drifts, twin.recovery is not None)
        assert model.warning == detector.warning_detected
        sums = detector.sums()
        cusum = state.detector.cusum
        assert cusum.since == {kind: start for kind, (_, start) in sums.items()}
        found = [cusum.sums[kind] for kind in sums]
        assert_near(found, [best for best, _ in sums.values()], tolerance, "sums of the detector")
        assert_near(state.detector.error_rates, detector.error_rates, tolerance, "error rates")
        found = state.detector.surprise_rates
        assert_near(found, detector.surprise_rates, tolerance, "rates of surprises")
        assert (state.detector.counts, state.detector.n_of_class) == (
            detector.counts,
            detector.n_of_class,
        )
    assert_same_model(state, twin, tolerance)
    assert_near(state.evidence, [each.evidence for each in twin.formers], tolerance, "evidence")
    for former, its_twin in zip(state.formers, twin.formers, strict=True):
        assert_same_model(former, its_twin, tolerance)
    if twin.recovery:
        recovery, other, k = state.recovery, twin.recovery, len(twin.labels)
        for name in ("n_since", "n_after", "n_told", "lead"):
            assert getattr(recovery, name) == getattr(other, name), name
        assert_near(recovery.log_ratio, other.ratios[-1], tolerance, "evidence of a change")
        becomes, worth = zip(*map(other.fate, range(k)), strict=True)
        found = recovery.old_labels(k)
        assert tuple(found[0]) == becomes
        assert_near(found[1], worth, tolerance, "worth of old labels")
        assert recovery.detector.n_drifts == other.incumbent.detector.n_drifts
        assert not recovery.detector.warning_detected
        trust = state.incumbent.explorers.trust
        assert_near(trust, other.incumbent.trust, tolerance, "trust of the incumbent")
        assert_same_model(state.incumbent, other.incumbent, tolerance)


def assert_same_model(state, twin, tolerance):
    """Statistics, history and weights of one model."""
    d, k = len(twin.features), len(twin.labels)
    if not twin.seen:
        return
    assert_near(state.scaling.moments[0, 1 : 1 + d], twin.mean, tolerance, "means")
    shift, inverse, squashed = state.scaling.scaling
    assert_near(1 / inverse[1 : 1 + d], twin.scale, tolerance, "scales")
    assert_near(-shift[0], twin.rms, tolerance, "rms")
    assert squashed[1 : 1 + d].astype(bool).tolist() == twin.squashed.tolist()
    assert_near(state.networks.radius, twin.radius, tolerance, "radii")
    found = state.ageing.excess, state.ageing.variance
    assert_near(found, twin.ageing_sums(), tolerance, "ageing")
    for rows, ring in zip(state.history.filled, twin.rings, strict=True):
        assert rows.stop - rows.start == len(ring)
        if ring:
            x = state.history.x[rows]
            expected = twin.raw([example["x"] for example in ring])
            assert_near(x[:, 1 : 1 + d], expected, tolerance, "x")
            assert not x[:, 0].any()
            assert not x[:, 1 + d :].any()
            for i, name in enumerate(("reward", "residual")):
                padded = [e[name] + [0.0] * (k - len(e[name])) for e in ring]
                assert_near(state.history.targets[rows, i], padded, tolerance, f"{name}s")
            weights = [e["weight"] for e in ring]
            assert_near(state.history.weight[rows], weights, tolerance, "stored weights")
    networks = state.networks
    for row, expected in zip(
        networks.block, ((twin.theta1, twin.theta2), twin.average), strict=False
    ):
        weights = Weights(row, networks.shape)
        for actual, theta, name in zip(twin.dense(weights), expected, ("θ1", "θ2"), strict=True):
            for own, other in zip(actual, theta, strict=True):
                assert_near(own, other, tolerance, name)


def run_side_by_side(model, twin, stream, tolerance, *, delay=0, w=None, **decision):
    """Algorithm 1 on both; labels asked for arrive `delay` rounds later. Returns the twin."""
    settings = {"gamma": 6.0, "budget": 0.4, "horizon": len(stream), "seed": 5, **decision}
    width = settings.pop("width", None)
    sampler = INeurALSampler(model, width=width, **settings)
    reference = ReferenceSampler(twin, width=width or ConstantWidth(0.08), **settings)
    waiting, reference.trust = [], []
    for t, (x, y) in enumerate(stream):
        before, added = model.explained_one(x)
        if last := dump(model).explorers.last_label:
            last.predicted = twin.predicted  # this was a look
        if before:
            _, estimates, _ = twin.parts(twin.encoded(x))
            for name, trust, estimate in zip(added, twin.trust, estimates, strict=True):
                assert_near(added[name], trust * np.array(estimate), tolerance, name)
        label, ask = sampler.predict_one(x)
        expected_label, expected_ask, scores = reference.round(x)
        assert_near(list(before.values()), scores, tolerance, f"round {t}: scores")
        assert (label, ask) == (expected_label, expected_ask), f"round {t}"
        decision = sampler.last_decision
        assert decision.reason == reference.reasons[-1], f"round {t}"
        if len(scores) > 1:
            top, second = np.argsort(-np.array(scores), kind="stable")[:2]
            parts = {name: each[top] - each[second] for name, each in added.items()}
            assert decision.added == parts, f"round {t}"
        if reference.threshold is not None:
            assert_near([decision.threshold], [reference.threshold], tolerance, f"round {t}: 2γβ")
        assert sampler.n_pseudo_labels == reference.n_pseudo_labels
        if ask:
            waiting.append((t + delay, x, y))
        while waiting and waiting[0][0] <= t:
            _, x, y = waiting.pop(0)
            weights = {} if w is None else {"w": w[t % len(w)]}
            sampler.learn_one(x, y, **weights)
            learned = (reference.n_labels + reference.n_pseudo_labels) / (t + 1)
            late = math.ceil(delay * min(1.0, learned))  # rounds, as learned examples
            twin.learn(x, y, late=late, **weights)
            reference.told(y)
            assert_near(
                [sampler._confirmed_gap],
                [reference.confirmed_gap],
                tolerance,
                f"round {t}: confirmed gap",
            )
        reference.n_waiting = len(waiting)
        assert sampler.n_pending == len(waiting)
        assert sampler.n_queries == reference.n_queries
        assert_same_state(model, twin, tolerance)
        reference.trust.append(twin.trust)
    return reference


def turning(n_before, n_after, seed=1):
    """Blobs whose labels are turned round once; a feature and a class come before that."""
    stream = blobs(n_before + n_after, n_features=4, n_classes=3, seed=seed)
    for t, (x, y) in enumerate(stream):
        if t < n_before // 3:
            del x["f3"]
        y = y % 2 if t < n_before // 2 else y
        yield x, f"class {y if t < n_before else (y + 1) % 3}"


BOTH_SAMPLERS = [(Float64, 0.9, 190), (Outputs64, 0.6, None)]


@pytest.fixture
def few_trees(monkeypatch):
    """The twin takes long for each."""
    for module in (forest, reference_forest):
        monkeypatch.setattr(module, "TREES", 12)


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(
    ("kind", "budget", "horizon", "delay"),
    [*((*each, 0) for each in BOTH_SAMPLERS), *((Float64, 0.9, None, delay) for delay in (3, 30))],
)
def test_where_labels_hang_together_every_round_agrees(kind, budget, horizon, delay):
    """The last label counts, and a known length's labels are kept for the rounds to come.

    It does not count where classes mostly end before their labels come.
    """
    stream = [
        (x, (t if t < 9 else t // 20) % 3)
        for t, (x, _) in enumerate(blobs(110, n_features=2, noise=3.0, seed=2))
    ]
    model, twin = pair(kind, hidden_dim=4, n_steps=2.0)
    settings = {"budget": budget / 2, "horizon": horizon, "delay": delay}
    trust = run_side_by_side(model, twin, stream, 1e-6, **settings).trust
    assert model.temporal_dependence == (delay < 30)
    assert (max(of_last for *_, of_last in trust) > 0.2) == (delay < 30)


@pytest.mark.usefixtures("few_trees")
def test_a_forest_of_a_full_history_agrees():
    """A tree is also due if it holds an example that a new label has pushed out."""
    settings = {"explorers": ("forest",), "drift_detector": None, "capacity": 100, "hidden_dim": 4}
    stream, every = list(shifting(130, 4, 2)), {"budget": 1.0, "gamma": 1e6, "horizon": None}
    run_side_by_side(*pair(Float64, **settings), stream, 1e-6, **every)


@BOTH
def test_every_round_agrees_with_plain_defaults(kind):
    """Narrower than by default, and all trees."""
    run_side_by_side(*pair(kind, hidden_dim=8), shifting(36, 4, 3), 1e-6, budget=0.9)


@pytest.mark.slow
@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize(("kind", "budget", "horizon"), BOTH_SAMPLERS)
def test_every_round_agrees_through_a_change(kind, budget, horizon):
    """Defaults, with as large a budget as it takes: a horizon, or a bucket."""
    stream = list(turning(84, 100))
    model, twin = pair(kind, hidden_dim=8)
    reference = run_side_by_side(model, twin, stream, 1e-6, budget=budget, horizon=horizon)
    assert (len(twin.features), len(twin.labels)) == (4, 3)
    assert (model.n_drifts, model.changing) == (1, False)
    assert {"few classes", "gap", "change", "none"} <= set(reference.reasons)
    assert {"warning", "random"} & set(reference.reasons)
    assert reference.n_pseudo_labels > 0
    network, forest, *_, of_last = (max(each) for each in zip(*reference.trust, strict=True))
    assert min(network, forest) > 0.1
    assert of_last < 0.05  # labels come in no order


@pytest.mark.usefixtures("few_trees")
@BOTH
def test_former_models_return_as_the_twin_s(kind):
    """When the labels are again what they were before the last three changes; they come in runs."""
    settings, every = {"hidden_dim": 8, "n_steps": 4.0}, {"budget": 1.0, "gamma": 1e6}
    examples = blobs(280, n_features=4, n_classes=3, noise=0.5, seed=4)[:275]
    stream = [(x, t // 10, (y + t // 70) % 3) for t, (x, y) in enumerate(examples)]
    stream = [(x, y) for x, _, y in sorted(stream, key=lambda each: each[1:])]
    model, twin = pair(kind, **settings)
    twin = run_side_by_side(model, twin, stream, 1e-6, horizon=None, **every).classifier
    assert (model.n_drifts, model.changing) == (3, False)
    assert len(twin.formers) >= 2


@pytest.mark.usefixtures("few_trees")
@BOTH
def test_older_labels_age_as_the_twin_s(kind):
    """Intervals of two classes move all the time, and no alarm is raised."""
    stream = moving(170, 85, seed=1)
    model, twin = pair(kind, hidden_dim=8, n_steps=2.0)
    every = {"budget": 1.0, "gamma": 1e6, "horizon": None}
    run_side_by_side(model, twin, stream, 1e-6, **every)
    assert model.n_drifts == 0
    assert len(twin.held()) < len(stream) / 2


@BOTH
def test_discriminants_agree(kind):
    """On planes, where units differ and one feature is constant; classes then trade places.

    Labels have weights, and the history is soon full.
    """
    rng = np.random.default_rng(5)
    normal, xs = rng.normal(size=6), rng.normal(size=(200, 6))
    units = 10.0 ** np.arange(-3, 3)
    stream = [
        (dict(zip("abcdefg", [*(x * units).tolist(), 7.0], strict=True)), int(x @ normal > 0))
        for x in xs
    ]
    stream = [(x, 2 if t % 9 == 4 else y if t < 110 else 1 - y) for t, (x, y) in enumerate(stream)]
    model, twin = quick(kind, explorers=("discriminant",), capacity=100, hidden_dim=4)
    every = {"budget": 1.0, "gamma": 1e6, "horizon": None}
    w = [(1.0, 0.5, 3.0, 0.0, 1.0)[t % 5] for t in range(len(stream))]
    reference = run_side_by_side(model, twin, stream, 1e-6, w=w, **every)
    own, twin = dump(model).explorers.discriminant, reference.classifier.discriminant
    assert_near(own.losses, twin.losses, 1e-6, "losses")
    fading = 0.99 ** np.arange(len(twin.gains))[::-1]
    gains = fading @ twin.gains, fading @ np.square(twin.gains)
    assert_near(own.gains, gains, 1e-6, "gain and square")
    assert model.n_drifts
    assert max(trust[0] for trust in reference.trust) > 0.2


@pytest.mark.parametrize(
    ("kind", "sizes", "n_layers", "n_classes"),
    [
        (Float64, DIRECT, 2, 5),
        (Float64, DIRECT, 4, 3),
        (Float64, FOLD, 2, 2),
        (Float64, FOLD, 3, 5),
        (Outputs64, FOLD, 2, 5),
        (Outputs64, FOLD, 3, 2),
    ],
)
def test_sizes_agree(kind, sizes, n_layers, n_classes):
    model, twin = quick(kind, n_layers=n_layers, **sizes)
    reference = run_side_by_side(model, twin, shifting(120 + 40 * n_classes, 7, n_classes), 1e-6)
    twin = reference.classifier
    assert (len(twin.labels), len(twin.features)) == (n_classes, 7)
    assert reference.n_queries > 30 == twin.capacities[0], "the labelled ring never wrapped"
    assert reference.n_pseudo_labels > 10 == twin.capacities[1], "the pseudo ring never wrapped"


@BOTH
@pytest.mark.usefixtures("by_torch")
def test_modules_agree(kind):
    """The other form of the networks, whose steps `test_networks` compares in all sizes."""
    run_side_by_side(*quick(kind, n_layers=3), shifting(60, 7, 3), 1e-6)


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("explorers", [(), ("forest",), ("forest", "network")])
@BOTH
def test_other_explorers_agree(kind, explorers):
    """Without f2 there is none, and nothing in its place; trees are of the rows still held."""
    model, twin = quick(kind, explorers=explorers, drift_detector=None)
    run_side_by_side(model, twin, shifting(70, 5, 3), 1e-6)
    assert dump(model).networks.shape.explores == ("network" in explorers)


@BOTH
def test_many_features_agree(kind):
    """Trees try more of them, nothing is squashed, and examples that are moved to where f1 errs."""
    stream = [
        (dict([*x.items()][: 258 + 5 * (t > 20)]), y)
        for t, (x, y) in enumerate(blobs(50, n_features=263, n_classes=3, noise=1.0))
    ]
    model, twin = quick(kind, hidden_dim=4, n_steps=2, explorers=("network", "forest"))
    reference = run_side_by_side(model, twin, stream, 1e-6)
    assert reference.n_pseudo_labels > 0  # in whose examples no mistake is counted
    assert twin.wide
    assert twin.radius != 0.05
    assert model.trust["forest"] != 0.5


@BOTH
def test_few_of_many_features_agree(kind):
    """Examples have a few words each; those that are not there are left out of every pass."""
    rng, stream = np.random.default_rng(0), []
    for t in range(60):
        words = rng.integers(0, 300 + 10 * t, size=8 if t else 200)
        y = int(rng.integers(3))
        stream.append(({f"w{word}": 1.0 for word in words} | {f"of {y}": 1.0 + rng.random()}, y))
    model, twin = quick(kind, hidden_dim=4, n_layers=3, explorers=("network",))
    assert not dump(model).scaling.sparse
    run_side_by_side(model, twin, stream, 1e-6, budget=0.8)
    assert twin.sparse
    assert dump(model).scaling.sparse


@BOTH
def test_few_of_many_features_agree_by_torch(kind, by_torch):
    """The same without loops, where all rows of the block are copied."""
    test_few_of_many_features_agree(kind)


@BOTH
def test_gaps_above_1_agree(kind):
    """The same where examples lie farther and farther out, some of them of the other class."""
    rng, stream = np.random.default_rng(0), []
    for t in range(240):
        y, scale = int(rng.integers(2)), 1 + t / 10
        x = {"a": (2 * y - 1) * scale + rng.normal(), "b": scale * rng.normal()}
        stream.append((x, y ^ int(t > 40 and rng.random() < 0.5)))
    model, twin = quick(kind, n_steps=3)
    reference = run_side_by_side(model, twin, stream, 1e-6, delay=3, budget=0.5, seed=0)
    assert "random" in reference.reasons
    assert reference.n_refuted > 0


def test_a_class_that_comes_late_agrees():
    """The same where another class comes after a hundred labels of two, with a bucket."""
    rng, stream = np.random.default_rng(0), []
    for t in range(240):
        y = int(rng.integers(3)) if t > 180 else int(rng.integers(2))
        stream.append(({"a": y + rng.normal(), "b": rng.normal()}, y))
    budget = Budget(0.75, burst=60)
    reference = run_side_by_side(*quick(), stream, 1e-6, budget=budget, horizon=None)
    assert reference.n_hardly > 0


def test_categories_and_gaps_agree():
    rng, stream = np.random.default_rng(0), []
    for x, label in shifting(240, 2, 3):
        x = {name: None if rng.random() < 0.2 else value for name, value in x.items()}
        if x.get("f0") is not None and x["f0"] > 1:
            x["f0"] = "high"
        stream.append((x | {"job": ["clerk", math.nan][rng.integers(2)]}, label))
    model, twin = quick(encodes=True)
    reference = run_side_by_side(model, twin, stream, 1e-6, budget=0.4, seed=0)
    assert reference.n_queries > 30
    assert reference.n_kept > 0, "no round was left to random asks"
    made = {"job=clerk", "job missing", "f0=high", "f0 missing", "f1 missing"}
    assert set(twin.features) == made | {"f0", "f1"}


@pytest.mark.usefixtures("few_trees")
def test_sample_weights_and_late_labels_agree():
    """A label that is 7 rounds late has the residual of the round in which it arrives."""
    model, twin = quick(explorers=("network", "forest"), n_steps=2.5)
    run_side_by_side(model, twin, shifting(120, 7, 3), 1e-6, w=[2.0, 0.5, 0.0, 1.0], delay=7)
    assert {example["weight"] for example in twin.rings[0]} == {2.0, 0.5, 0.0, 1.0}


def test_theoretical_width_agrees():
    """The same with the width that the paper prints, with constants so small that it counts."""
    model, twin = quick()
    width = TheoreticalWidth(horizon=120, c1=0.01, c2=0.01)
    stream = shifting(120, 7, 3)
    reference = run_side_by_side(model, twin, stream, 1e-6, width=width, gamma=0.3, budget=1.0)
    assert 20 < reference.n_queries < 120


@BOTH
def test_an_alarm_that_is_taken_back_agrees(kind):
    model, twin = quick(kind, n_steps=4, capacity=1000, **FOLD)
    drifts = []
    for t, (x, y) in enumerate(blobs(150, n_classes=3, noise=0.3)):
        y = (y + 1) % 3 if 90 <= t < 96 else y
        model.learn_one(x, y)
        twin.learn(x, y)
        assert_same_state(model, twin, 1e-6)
        drifts.append((model.n_drifts, model.changing))
    assert (1, True) in drifts
    assert drifts[-1] == (0, False)


@BOTH
def test_learn_many_agrees(kind):
    """Residuals are under the weights before a frame; an alarm may be in the middle of one."""
    model, twin = quick(kind, n_steps=4, capacity=1000, **FOLD)
    stream = list(turning(150, 75))
    weights = np.random.default_rng(0).uniform(0, 2, len(stream))
    for start in range(0, len(stream), 15):
        rows = slice(start, start + 15)
        xs, ys = (list(part) for part in zip(*stream[rows], strict=True))
        names = set.intersection(*map(set, xs))
        xs = [{name: x[name] for name in sorted(names)} for x in xs]
        model.learn_many(pd.DataFrame(xs), pd.Series(ys), pd.Series(weights[rows]))
        twin.learn_many(xs, ys, weights[rows].tolist())
        assert_same_state(model, twin, 1e-6)
        assert_near(list(model.scores_one(xs[0]).values()), twin.scores(xs[0]), 1e-6, "scores")
    assert model.n_drifts


@BOTH
@pytest.mark.usefixtures("few_trees")
def test_examples_that_are_learned_several_times_agree(kind):
    """In a row, in a frame, or with a prediction between, after which they are of the stream."""
    model, twin = pair(kind, hidden_dim=4, n_steps=1.0)
    stream = list(turning(60, 30))
    stream[35:35] = [(stream[30][0], y) for _, y in stream[20:24]]  # rows that were there before
    for t, (x, y) in enumerate(stream):
        weight = [1.0, 0.0, 0.5, 40.0][t % 4]
        for _ in range(1 + t % 4):
            if t % 3 == 0:
                found = list(model.scores_one(x).values())
                assert_near(found, twin.scores(x)[: len(found)], 1e-6, f"round {t}: scores")
            model.learn_one(x, y, w=weight)
            twin.learn(x, y, w=weight)
            assert_same_state(model, twin, 1e-6)
        if t % 10 == 9:
            if t % 20 == 9:
                model.predict_one(x)
                twin.scores(x)
            rows = {"X": pd.DataFrame([x] * 3), "y": [y] * 3, "w": [1.0, 0.0, 1.0]}
            model.learn_many(**rows)
            twin.learn_many([x] * 3, rows["y"], rows["w"])
            assert_same_state(model, twin, 1e-6)


def contrary(n_features):
    """Five points in turn, each with another class than the last time: what is learned misleads."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, n_features))
    for t in range(40):
        x = points[t % 5] + 0.1 * rng.normal(size=n_features)
        yield {f"f{j}": value for j, value in enumerate(x.tolist())}, t // 5 % 2


STREAMS = {"few": shifting(40, 7, 3), "misled": [*contrary(3)], "many": [*contrary(260)]}


@BOTH
@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("name", STREAMS)
def test_float32_agrees_at_first(kind, name):
    model, twin = quick(kind.__base__, hidden_dim=4, explorers=("network", "forest"))
    reference = run_side_by_side(model, twin, STREAMS[name], 2e-3, budget=0.9)
    assert twin.wide == (name == "many")
    if name == "misled" and kind is Float64:
        of_f2 = [trust for trust, _ in reference.trust]
        assert (0.0, True) in zip(of_f2[1:], np.greater(of_f2, 0), strict=False)  # 0, not negative
