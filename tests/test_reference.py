"""The package against the slow reference twin, everything compared after every round."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import reference_forest
import torch
from reference import Piece, ReferenceClassifier, ReferenceSampler, flatten
from reference_outputs import ReferenceOutputs
from streams import blobs, shifting

from river_ineural import INeurAL, NeurONAL, Training
from river_ineural.active import Budget, ConstantWidth, INeurALSampler, TheoreticalWidth
from river_ineural.learning import encoding
from river_ineural.learning import forest as forests
from river_ineural.network.scores import gap

LR = {"adam": (3e-3, 1e-3), "sgd": (0.3, 0.1)}  # η1, η2
DIRECT = {"hidden_dim": 16, "batch_size": 6}  # n < m contexts in a training batch
FOLD = {"hidden_dim": 8, "batch_size": 16}  # n >= m of them: the other order of the product


FOLD_STEPS = 6


@pytest.fixture(autouse=True)
def few_steps_in_folds(monkeypatch):
    """The twin is slow."""
    monkeypatch.setattr(encoding, "RADIUS_STEPS", FOLD_STEPS)


class Float64(INeurAL):
    """In float64, so that Adam, which divides by tiny second moments, cannot amplify rounding."""

    _dtype = torch.float64


class Outputs64(NeurONAL):
    """The same."""

    _dtype = torch.float64


TWINS = {Float64: ReferenceClassifier, INeurAL: ReferenceClassifier, Outputs64: ReferenceOutputs}


def pair(
    kind=Float64,
    optimizer="adam",
    n_layers=2,
    iterate="average",
    sizes=DIRECT,
    n_steps=1,
    seed=3,
    changed=None,
    **others,
):
    """A package classifier and its twin, which notices no change. The small history makes both
    rings wrap around.
    """
    settings = dict(
        n_layers=n_layers,
        lr=LR[optimizer][0],
        n_steps=n_steps,
        adversarial_radius=0.3,
        capacity=40,
        iterate=iterate,
        pieces=False,  # `test_pieces_agree` has them
        seed=seed,
        **sizes,
    )
    settings |= others
    training = {
        "exploration": "self-training",
        "residuals": "given",
        "exploration_lr": LR[optimizer][1],
        "optimizer": optimizer,
        "pseudo_label_steps": 0.75,
        "exploration_share": 0.6,
        "init_scale": 0.5,
        "labelled_share": 0.5,
    }
    training |= changed or {}
    encodes = settings.pop("encodes", False)
    settings.setdefault("forest", False)  # `test_trees_agree` has one
    of_model = {"categories": encodes, "missing": encodes, "drift_detector": None}
    model = kind(**settings, **of_model, training=Training(**training))
    more = {"encodes": encodes, "fold_steps": encoding.RADIUS_STEPS, "sure": encoding.SURE}
    return model, TWINS[kind](**settings, **training, **more)


def assert_near(actual, expected, tolerance, what):
    actual = torch.as_tensor(actual, dtype=torch.float64)
    expected = torch.as_tensor(expected, dtype=torch.float64)
    assert actual.shape == expected.shape, what
    if actual.numel():
        error = ((actual - expected).abs() / (1 + expected.abs())).max().item()
        assert error <= tolerance, f"{what} differ by {error:.2g}"


def assert_same_state(model, twin, tolerance):
    """Labels, mean, history and weights of both agree."""
    d, k = len(twin.features), len(twin.labels)
    columns = model._state.features.columns
    at = {name: 1 + i for i, name in enumerate(twin.features) if not isinstance(name, Piece)}
    assert columns == at
    assert model._state.labels.labels == twin.labels
    if not twin.seen:
        return
    reference = model._state.scaling.reference[1 : 1 + d]
    means = model._state.scaling.moments[0, 1 : 1 + d] + reference
    assert_near(means, twin.mean, tolerance, "means")
    shift, inverse, ranked = model._state.scaling.scaling
    assert_near(1 / inverse[1 : 1 + d], twin.scale, tolerance, "scales")
    assert_near(-shift[0], twin.rms, tolerance, "rms")
    assert ranked[1 : 1 + d].bool().tolist() == [name in twin.quantiles for name in twin.features]
    adversary = model._state.trainer.adversary
    assert_near(adversary.radius, twin.radius, tolerance, "radii")
    assert_near(adversary.most, twin.most, tolerance, "largest radii")
    history = model._state.history
    for rows, ring in zip(history.filled, twin.rings, strict=True):
        assert rows.stop - rows.start == len(ring)
        if ring:
            padding = [[0.0] * (k - len(example["reward"])) for example in ring]
            x = torch.stack([twin.raw(example["x"]) for example in ring])
            reward, residual = (
                [e[name] + zeros for e, zeros in zip(ring, padding, strict=True)]
                for name in ("reward", "residual")
            )
            assert_near(history.x[rows, 1 : 1 + d] + reference, x, tolerance, "stored examples")
            assert not history.x[rows, 1 + d :].any()
            assert not history.x[rows, 0].any()
            assert_near(history.targets[rows, 0], reward, tolerance, "stored rewards")
            assert_near(history.targets[rows, 1], residual, tolerance, "stored residuals")
            weight = [example["weight"] for example in ring]
            assert_near(history.weight[rows], weight, tolerance, "stored weights")
    served = twin.served or (twin.theta1, twin.theta2)
    trainer = model._state.trainer
    for weights, expected in (
        (trainer.weights, (twin.theta1, twin.theta2)),
        (trainer.predicting, served),
    ):
        for actual, theta, name in zip(twin.dense(weights), expected, ("θ1", "θ2"), strict=True):
            assert_near(flatten(actual), flatten(theta), tolerance, name)


def run_side_by_side(model, twin, stream, tolerance, *, delay=0, w=None, **decision):
    """Algorithm 1 on both; labels asked for arrive `delay` rounds later. Returns the twin."""
    settings = {"gamma": 2.5, "budget": 0.4, "horizon": len(stream), "confidence": 0.25}
    settings |= {"exploration": 0.05, "audits": 0.25, "seed": 5, **decision}
    width = settings.pop("width", ConstantWidth(0.05))
    sampler = INeurALSampler(model, width=width, **settings)
    reference = ReferenceSampler(twin, width=width, **settings)
    waiting = []
    for t, (x, y) in enumerate(stream):
        before = model.scores_one(x)
        label, ask = sampler.predict_one(x)
        expected_label, expected_ask, scores, expected_gap = reference.round(x)
        assert_near(list(before.values()), scores, tolerance, f"round {t}: scores")
        assert_near(gap(before.values()), expected_gap, tolerance, f"round {t}: gaps")
        assert (label, ask) == (expected_label, expected_ask), f"round {t}"
        if ask:
            waiting.append((t + delay, x, y))
        while waiting and waiting[0][0] <= t:
            _, x, y = waiting.pop(0)
            weights = {} if w is None else {"w": w[t % len(w)]}
            sampler.learn_one(x, y, **weights)
            reference.told(x, y)
            twin.learn(x, y, **weights)
            assert_near([sampler._reach.gap], [reference.reach], tolerance, f"round {t}: reach")
        reference.n_waiting = len(waiting)
        assert sampler.n_pending == len(waiting)
        assert_same_state(model, twin, tolerance)
        assert sampler.n_queries == reference.n_queries
        assert sampler.n_pseudo_labels == reference.n_pseudo_labels
    return reference


def assert_told_something(reference, n_classes, n_features):
    """The run went through every branch, so that its agreement means something."""
    twin = reference.classifier
    assert len(twin.labels) == n_classes
    assert len(twin.features) == n_features
    assert reference.n_queries > 30 == twin.capacities[0], "the labelled ring never wrapped"
    assert reference.n_pseudo_labels > 10 == twin.capacities[1], "the pseudo ring never wrapped"


@pytest.mark.parametrize("sizes", [DIRECT, FOLD], ids=["direct", "fold"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("n_layers", [2, 3])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_every_round_agrees(n_classes, n_layers, optimizer, sizes):
    """Scores, gap, decision, label, history and weights agree for 300 rounds in which classes and
    features appear and vanish.
    """
    model, twin = pair(optimizer=optimizer, n_layers=n_layers, sizes=sizes)
    reference = run_side_by_side(model, twin, shifting(300, 7, n_classes), 1e-8)
    assert_told_something(reference, n_classes, 7)
    n_contexts = -(-model.batch_size // min(n_classes, 2)) * n_classes
    assert (n_contexts >= model.hidden_dim) == (sizes is FOLD)


@pytest.mark.usefixtures("by_torch")
@pytest.mark.parametrize(
    ("n_layers", "sizes", "optimizer"),
    [(2, DIRECT, "adam"), (3, DIRECT, "sgd"), (2, FOLD, "sgd"), (3, FOLD, "adam")],
    ids=["direct-adam", "deep-direct-sgd", "fold-sgd", "deep-fold-adam"],
)
def test_every_round_agrees_by_torch(n_layers, sizes, optimizer):
    """The same with the phases that run on a GPU."""
    model, twin = pair(optimizer=optimizer, n_layers=n_layers, sizes=sizes)
    reference = run_side_by_side(model, twin, shifting(300, 7, 3), 1e-8)
    assert_told_something(reference, 3, 7)
    assert model._state.trainer.single is None


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("n_layers", [2, 3])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_every_round_of_an_output_a_class_agrees(n_classes, n_layers, optimizer):
    """NeurONAL beside its twin, whose embedding is the paper's."""
    model, twin = pair(Outputs64, optimizer=optimizer, n_layers=n_layers)
    reference = run_side_by_side(model, twin, shifting(300, 7, n_classes), 1e-8, gamma=8.0)
    assert_told_something(reference, n_classes, 7)


@pytest.mark.usefixtures("by_torch")
@pytest.mark.parametrize("n_layers", [2, 3])
def test_every_round_of_an_output_a_class_agrees_by_torch(n_layers):
    """The same with the phases that run on a GPU."""
    model, twin = pair(Outputs64, n_layers=n_layers, changed={"exploration": "scores"})
    run_side_by_side(model, twin, shifting(300, 7, 3), 1e-8)
    assert model._state.trainer.single is None


@pytest.mark.parametrize("kind", [Float64, Outputs64])
@pytest.mark.parametrize(
    "settings",
    [
        {"iterate": "uniform"},
        {"changed": {"exploration": "scores"}},
        {"changed": {"residuals": "all", "balance": 0.5}},
        {"changed": {"n_averaged": 8}},
        {"changed": {"residuals": "given", "labelled_share": None}},
        {"normalize": False, "adversarial_radius": 0.0},
    ],
    ids=lambda settings: ", ".join(settings.get("changed", settings)),
)
def test_other_parameters_of_both_learners_agree(kind, settings):
    """Those of which one has another default, and what the first layer's columns depend on."""
    model, twin = pair(kind, **settings)
    reference = run_side_by_side(model, twin, shifting(300, 7, 3), 1e-8)
    assert reference.n_pseudo_labels > 10


@pytest.mark.parametrize("form", ["by_loops", "by_torch"])
@pytest.mark.parametrize("kind", [Float64, Outputs64])
def test_without_exploration_agrees(kind, form, request):
    """There is no f2; what f1 is sure of is learned."""
    if form == "by_torch":
        request.getfixturevalue("by_torch")
    model, twin = pair(kind, changed={"exploration": "none"})
    reference = run_side_by_side(model, twin, shifting(200, 7, 3), 1e-8, confidence=0.1)
    assert reference.n_pseudo_labels > 10
    assert twin.explorations_due == 0
    assert not model._state.trainer.weights.networks[1].numel()


def test_uniform_iterate_agrees():
    """The same with a served iterate drawn from all so far."""
    model, twin = pair(iterate="uniform")
    run_side_by_side(model, twin, shifting(200, 7, 3), 1e-8)
    assert len(twin.omega) == 8 < twin.n_steps
    assert twin.served[0][0] is not twin.theta1[0]


@pytest.mark.parametrize(
    "settings",
    [
        {"center": False},
        {"scale": False},
        {"ranks": False},
        {"relevance": False},
        {"normalize": False},
        {"center": False, "scale": False, "normalize": False},
        {"adversarial_radius": 0.0},
        {"adversarial_radius": 0.0, "relevance": False},
        {"changed": {"init_scale": 1.0}},
        {"changed": {"pseudo_label_exploration": True}},
        {"changed": {"labelled_share": None}},
    ],
    ids=lambda settings: ", ".join(f"{name}" for name in settings.get("changed", settings)),
)
def test_other_parameters_agree(settings):
    """The same with what is on by default off, one by one."""
    model, twin = pair(**settings)
    reference = run_side_by_side(model, twin, shifting(300, 7, 3), 1e-8)
    assert reference.n_pseudo_labels > 10
    assert twin.explorations_due != 0


@pytest.mark.parametrize("form", ["by_loops", "by_torch"])
def test_ranks_and_relevance_agree(form, request):
    """The same with features whose values lie far out or in clumps, one of them irrelevant."""
    if form == "by_torch":
        request.getfixturevalue("by_torch")
    rng = np.random.default_rng(0)
    stream = []
    for x, label in shifting(320, 7, 3):
        clumped = {name: math.exp(2 * value) for name, value in x.items()}
        clumped["f0"] = round(2 * x.get("f0", 0.0)) ** 5
        stream.append((clumped | {"noise": rng.normal()}, label))
    model, twin = pair(n_steps=2.0)
    run_side_by_side(model, twin, stream, 1e-8)
    assert 2 < len(twin.quantiles) < len(twin.features)
    assert len(twin.sample) == 256 < len(twin.seen)
    assert twin.factors["noise"] < 1 < max(twin.factors.values())


def test_radii_by_cross_validation_agree(monkeypatch):
    """The same with labels drawn at random, which bear no radius out, in folds of 60 steps."""
    monkeypatch.setattr(encoding, "RADIUS_STEPS", 60)
    rng = np.random.default_rng(1)
    stream = [(x, int(rng.integers(3))) for x, _ in shifting(150, 7, 3)]
    model, twin = pair()
    run_side_by_side(model, twin, stream, 1e-8)
    assert twin.most < twin.limit
    assert model._state.trainer.adversary.most == twin.most


def in_strips(n, n_features=3, seed=0):
    """Classes that take turns along one feature; another one appears halfway."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        x = {f"f{j}": value for j, value in enumerate(rng.uniform(-2, 2, n_features).tolist())}
        if t >= n // 2:
            x["late"] = rng.normal()
        yield x, math.floor(2 * x["f0"]) % 2


@pytest.fixture
def soon(monkeypatch):
    """Features are taken apart, and put together again, on less evidence."""
    monkeypatch.setattr(encoding, "SURE", 1.0)


@pytest.mark.parametrize("kind", [Float64, Outputs64])
def test_pieces_agree(kind, soon):
    """The same where features are taken apart, and put together again for labels at random."""
    model, twin = pair(kind, n_steps=3.25, capacity=160, lr=1e-2, pieces=True)
    rng, encodings = np.random.default_rng(0), []
    stream = [*in_strips(150), *((x, int(rng.integers(2))) for x, _ in in_strips(110, seed=1))]
    for x, y in stream:
        model.learn_one(x, y)
        twin.learn(x, y)
        assert_same_state(model, twin, 1e-8)
        n_pieces = sum(isinstance(name, Piece) for name in twin.features)
        assert n_pieces == len(model._state.pieces or ())
        encodings += [n_pieces] if encodings[-1:] != [n_pieces] else []
    assert encodings[0] == encodings[-1] == 0 < 18 <= max(encodings)
    assert len(model._state.features) == len(twin.features)


def test_pieces_agree_by_torch(by_torch, soon):
    """The same with the phases that serve other devices, in fewer rounds."""
    model, twin = pair(Outputs64, n_steps=3.25, capacity=200, lr=1e-2, pieces=True)
    for x, y in itertools.islice(in_strips(150), 70):
        model.learn_one(x, y)
        twin.learn(x, y)
        assert_same_state(model, twin, 1e-8)
    assert len(model._state.pieces) == sum(isinstance(name, Piece) for name in twin.features)


@pytest.mark.parametrize("kind", [Float64, Outputs64])
@pytest.mark.parametrize("pieces", [False, True])
def test_trees_agree(kind, pieces, soon, monkeypatch):
    """The same with trees beside f1: they and their part are equal after every label.

    Weights are 0, 1 and 2, the ring wraps around, a feature and a class come late, features are
    taken apart, trees are of few examples and few nodes, and sometimes none is due.
    """
    for name, number in {"TREES": 5, "FEW": 6, "EXAMPLES": 20, "NODES": 9, "DRAWS": 7}.items():
        monkeypatch.setattr(forests, name, number)
        monkeypatch.setattr(reference_forest, name, number)
    model, twin = pair(kind, n_steps=1.25, lr=1e-2, pieces=pieces, forest=True)
    parts, grown = set(), []
    for i, (x, y) in enumerate(in_strips(70)):
        y = 2 if i > 40 and x["f1"] > 0.5 else y
        pseudo_label, w = i % 7 == 3, (1, 1, 2, 0)[i % 4]
        model.learn_one(x, y, pseudo_label=pseudo_label, w=w)
        twin.learn(x, y, pseudo_label=pseudo_label, w=w)
        assert_same_state(model, twin, 1e-8)
        assert_near(list(model.scores_one(x).values()), twin.scores(x), 1e-8, "scores")
        forest = model._state.forest
        assert forest.part == pytest.approx(twin.forest.part, abs=1e-9)
        assert forest.due == pytest.approx(twin.forest.due, abs=1e-9)
        parts.add(forest.part)
        grown.append(forest.oldest)
    assert len(model._state.labels) == 3
    assert len(parts) > 20
    assert any(one == other for one, other in itertools.pairwise(grown[-20:]))


@pytest.mark.parametrize("delay", [0, 7])
def test_gaps_above_1_agree(delay):
    """The same where examples lie farther and farther out, some of them of the other class."""
    rng, stream = np.random.default_rng(0), []
    for t in range(400):
        y, scale = int(rng.integers(2)), 1 + t / 50
        x = {"a": (2 * y - 1) * scale + rng.normal(), "b": scale * rng.normal()}
        stream.append((x, y ^ int(t > 200 and rng.random() < 0.2)))
    model, twin = pair(iterate="last", n_steps=3, lr=1e-3, scale=False, normalize=False)
    reference = run_side_by_side(model, twin, stream, 1e-8, delay=delay, budget=0.3)
    assert reference.n_far > 5


@pytest.mark.parametrize("budget", [{"budget": 0.75}, {"budget": Budget(0.75, burst=60)}])
def test_a_class_that_comes_late_agrees(budget):
    """The same where another class comes after a hundred labels of two."""
    rng = np.random.default_rng(0)
    stream = []
    for t in range(240):
        y = int(rng.integers(3)) if t > 180 else int(rng.integers(2))
        stream.append(({"a": y + rng.normal(), "b": rng.normal()}, y))
    horizon = None if isinstance(budget["budget"], Budget) else len(stream)
    model, twin = pair()
    reference = run_side_by_side(model, twin, stream, 1e-8, **budget, horizon=horizon)
    assert reference.n_hardly > 0


@pytest.mark.parametrize("form", ["by_loops", "by_torch"])
def test_categories_and_gaps_agree(form, request):
    """The same with strings, one of them in a column of numbers, and with values missing."""
    if form == "by_torch":
        request.getfixturevalue("by_torch")
    rng = np.random.default_rng(0)
    stream = []
    for x, label in shifting(300, 2, 3):
        x = {name: None if rng.random() < 0.2 else value for name, value in x.items()}
        if x.get("f0") is not None and x["f0"] > 1:
            x["f0"] = "high"
        stream.append((x | {"job": ["clerk", math.nan][rng.integers(2)]}, label))
    model, twin = pair(encodes=True)
    reference = run_side_by_side(model, twin, stream, 1e-8)
    assert reference.n_queries > 30
    made = {"job=clerk", "job missing", "f0=high", "f0 missing", "f1 missing"}
    assert set(twin.features) == made | {"f0", "f1"}


def test_last_iterate_agrees():
    """The same with the current weights predicting, where an average does by default."""
    model, twin = pair(iterate="last")
    run_side_by_side(model, twin, shifting(300, 7, 3), 1e-8)
    assert twin.served is None
    model, twin = pair()
    run_side_by_side(model, twin, shifting(300, 7, 3), 1e-8)
    assert twin.n_steps > 2 * twin.window
    assert twin.served[0][0] is not twin.theta1[0]


def test_sample_weights_agree():
    """The same with weights, a weight of 0 among them."""
    model, twin = pair()
    run_side_by_side(model, twin, shifting(200, 7, 3), 1e-8, w=[2.0, 0.5, 0.0, 1.0])
    assert {example["weight"] for example in twin.rings[0]} == {2.0, 0.5, 0.0, 1.0}


def test_delayed_labels_agree():
    """The same with labels 7 rounds late: their residual is of the round they arrive."""
    model, twin = pair()
    run_side_by_side(model, twin, shifting(200, 7, 3), 1e-8, delay=7)


def test_theoretical_width_agrees():
    """The same with the width that the paper prints, with constants so small that it counts."""
    model, twin = pair()
    width = TheoreticalWidth(horizon=300, c1=0.01, c2=0.01)
    reference = run_side_by_side(
        model, twin, shifting(300, 7, 3), 1e-8, width=width, gamma=0.3, exploration=0.0, budget=1.0
    )
    assert 20 < reference.n_queries < 300


def test_share_of_an_unknown_horizon_agrees():
    """The same with a burst of labels that rounds refill: the fewer are left, the closer a call."""
    model, twin = pair()
    budget = Budget(0.1, burst=20)
    reference = run_side_by_side(
        model, twin, shifting(300, 7, 3), 1e-8, budget=budget, horizon=None
    )
    assert 20 < reference.n_queries < 50


def test_several_steps_a_round_agree():
    """`n_steps` steps after each label, fractions carried over."""
    model, twin = pair(n_steps=2.5)
    run_side_by_side(model, twin, shifting(100, 5, 3), 1e-8)


@pytest.mark.parametrize("kind", [Float64, Outputs64])
def test_learn_many_agrees(kind):
    """A frame is one batch: residuals under the weights before it, then steps for each row."""
    model, twin = pair(kind, sizes=FOLD)
    stream = blobs(300, n_features=5, n_classes=3)
    weights = np.random.default_rng(0).uniform(0, 2, len(stream))
    for start in range(0, len(stream), 25):
        rows = slice(start, start + 25)
        xs, ys = (list(part) for part in zip(*stream[rows], strict=True))
        if start < 100:  # the last features appear later
            xs = [{name: x[name] for name in ("f0", "f3")} for x in xs]
        model.learn_many(pd.DataFrame(xs), pd.Series(ys), pd.Series(weights[rows]))
        twin.learn_many(xs, ys, weights[rows].tolist())
        assert_same_state(model, twin, 1e-8)
        x, _ = stream[start]
        assert_near(list(model.scores_one(x).values()), twin.scores(x), 1e-8, "scores")


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("sizes", [DIRECT, FOLD], ids=["direct", "fold"])
def test_float32_agrees_at_first(sizes, optimizer):
    """What users run: as above, within float32's rounding and what the optimiser makes of it."""
    model, twin = pair(INeurAL, optimizer=optimizer, sizes=sizes)
    run_side_by_side(model, twin, shifting(60, 7, 3), 2e-3)
