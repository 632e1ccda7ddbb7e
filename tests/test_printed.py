"""The algorithm as printed against its twin, everything compared after every round."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch
from printed import Printed, adam, sgd
from river import datasets, evaluate, metrics, preprocessing
from river.active.base import ActiveLearningClassifier
from streams import assert_near, rounds

from river_ineural import paper

ROUNDS, DIM, WIDTH, BATCH = 300, 5, 12, 16
ETA = {"sgd": 0.3, "adam": 3e-3}
PRINTED = {"gamma": 0.1, "delta": 0.1, "rounds": ROUNDS, "batch_size": BATCH}


def stream(k, n=ROUNDS):
    """Unit vectors with k classes, of which the first is likeliest."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 1.0, (k, DIM))
    for label in rng.integers(0, k, n).tolist():
        x = centres[label] + rng.normal(0, 0.3, DIM)
        x /= np.linalg.norm(x)
        yield {f"f{j}": value for j, value in enumerate(x.tolist())}, label


def learner(k=2, seed=4, **settings):
    return paper.INeurAL(
        tuple(range(k)), **{"lr": 0.3, "hidden_dim": WIDTH, "seed": seed, **PRINTED, **settings}
    )


def matrices(theta):
    """The weights of both networks as the twin has them: two lists, the last of each a vector."""
    theta = [w.clone() for w in theta]
    depth = len(theta) // 2
    return [[*part[:-1], part[-1].flatten()] for part in (theta[:depth], theta[depth:])]


def pair(k, n_layers, optimizer, monkeypatch):
    """The print in float64, and its twin with the same θ_0 and generators."""
    monkeypatch.setattr(paper.Networks, "_dtype", torch.float64)
    eta1 = ETA[optimizer]
    own = {"lr": eta1, "exploration_lr": eta1 / 2, "n_layers": n_layers, "optimizer": optimizer}
    model = learner(k, **own)
    model.initialize(*(f"f{j}" for j in range(DIM)))
    make = {"sgd": sgd, "adam": adam}[optimizer]
    twin = Printed(
        matrices(model.classifier.theta),
        *(k, ROUNDS, PRINTED["gamma"], PRINTED["delta"], BATCH, make(eta1), make(eta1 / 2)),
        *map(copy.deepcopy, (model._subsets, model._draws, model._returns)),
    )
    return model, twin


def assert_same_weights(theta, expected, what):
    for network, its_twin in zip(matrices(theta), expected, strict=True):
        for actual, own in zip(network, its_twin, strict=True):
            assert_near(actual, own, 1e-8, what)


def run_side_by_side(model, twin, examples):
    """Algorithm 1 on both. Returns how many labels were asked for."""
    for t, (x, y) in enumerate(examples):
        before = model.classifier.scores_one(x)
        label, ask = model.predict_one(x)
        scores, top, query = twin.observe(torch.tensor(list(x.values()), dtype=torch.float64))
        assert_near(list(before.values()), scores, 1e-8, f"round {t}: scores")
        assert (label, ask) == (top, query), f"round {t}: decisions differ"
        if ask:
            model.learn_one(x, y)
        twin.learn(y if query else top)

        assert model.drawn == twin.drawn, "iterates"
        assert len(model.omega) == len(twin.omega) == t + 2, "iterates"
        assert_same_weights(model.hat.theta, twin.hat, f"round {t}: θ̂")
        assert_same_weights(model.omega[-1], twin.omega[-1], f"round {t}: the last of Ω")
        assert_same_weights(model.classifier.theta, twin.theta, f"round {t}: θ")
        own_x, rewards, residuals = model.history[-1]
        assert len(model.history) * twin.k == len(twin.h1) == len(twin.h2)
        contexts, reward = zip(*twin.h1[-twin.k :], strict=True)
        _, residual = zip(*twin.h2[-twin.k :], strict=True)
        assert_near(
            model.classifier.contexts(own_x, model.classifier.e), torch.stack(contexts), 1e-8, ""
        )
        assert_near(rewards, torch.stack(reward), 1e-8, "rewards")
        assert_near(residuals, torch.stack(residual), 1e-8, "residuals")
    assert model.n_queries == twin.n_queries
    assert model.n_rounds == twin.t
    assert_same_weights(model.returned().theta, twin.returned(), "what is returned")
    return twin.n_queries


@pytest.mark.parametrize(
    ("k", "n_layers", "optimizer"), [(2, 2, "sgd"), (2, 3, "adam"), (5, 2, "adam"), (5, 3, "sgd")]
)
def test_every_round_is_as_printed(k, n_layers, optimizer, monkeypatch):
    model, twin = pair(k, n_layers, optimizer, monkeypatch)
    n_queries = run_side_by_side(model, twin, stream(k))
    assert 20 < n_queries < ROUNDS - 20  # both branches
    assert len({tuple(theta[0][0].flatten().tolist()) for theta in twin.served}) > 50


def test_initial_weights_have_the_variances_of_the_paper():
    model = learner(hidden_dim=200, n_layers=3)
    model.initialize(*range(50))
    for f, inputs in (model.classifier.f1, 100), (model.classifier.f2, 200):
        first, second, last = f.parameters()
        assert [w.shape for w in (first, second, last)] == [(200, inputs), (200, 200), (1, 200)]
        for w, variance in (first, 0.01), (second, 0.01), (last, 0.005):
            assert w.var().item() == pytest.approx(variance, rel=5 / math.sqrt(w.numel() / 2))


def f1_of(model, x):
    networks = model.classifier
    return networks.f1(networks.contexts(torch.tensor([*x.values()]), networks.e)).detach()


def test_a_full_omega_is_a_reservoir(monkeypatch):
    """Room for 5 iterates: each of 31 is kept as often as the others, and one of them predicts."""
    counts, examples, n_runs = np.zeros(31), list(stream(2, n=30)), 16

    def key(theta):
        return tuple(torch.cat([w.flatten() for w in theta]).tolist())

    for seed in range(n_runs):
        model = learner(seed=seed, hidden_dim=2, batch_size=2, lr=0.1)
        model.initialize(*examples[0][0])
        monkeypatch.setattr(paper, "MOST_KEPT", 5 * sum(w.numel() for w in model.hat.theta))
        every = [key(model.omega[0])]
        for example in examples:
            list(rounds(model, [example]))
            every.append(key(model.hat.theta))
            assert len(model.omega) == min(5, len(every))
        for theta in model.omega:
            counts[every.index(key(theta))] += 1
        assert key(model.classifier.theta) == key(model.omega[model.drawn])
    assert abs(counts[:15].sum() - counts[16:].sum()) < 4 * math.sqrt(n_runs * 5)


def test_returned_is_what_predicted_in_some_round():
    """θ_0 after one round; and it neither learns nor changes when the learner does."""
    model = learner()
    with pytest.raises(ValueError, match="call predict_one"):
        model.returned()
    assert model.classifier.predict_one({"f0": 1.0}) is None
    first, *rest = stream(2, n=20)
    model.initialize(*first[0])
    theta0 = [w.clone() for w in model.classifier.theta]
    list(rounds(model, [first]))
    result = model.returned()
    list(rounds(model, rest))
    assert all(map(torch.equal, result.theta, theta0))
    assert result.predict_one(first[0]) in (0, 1)
    with pytest.raises(TypeError, match="fixed"):
        result.learn_one(*first)


def test_a_late_label_has_the_residual_of_the_weights_that_predict_by_then():
    model = learner()
    (x, y), *others = stream(2, n=10)
    _, ask = model.predict_one(x)
    assert ask
    list(rounds(model, others))
    f1 = f1_of(model, x)
    model.learn_one(x, y)
    reward = torch.eye(2)[y]
    torch.testing.assert_close(model.history[-1][1], reward)
    torch.testing.assert_close(model.history[-1][2], reward - f1)
    assert len(model.history) == model.n_rounds == 10


def test_without_f2_the_score_is_f1():
    model = learner(explores=False)
    assert list(rounds(model, stream(2))) != list(rounds(learner(), stream(2)))
    assert len(model.classifier.theta) == len(model.hat.theta) == 2
    x, _ = next(stream(2))
    assert list(model.classifier.scores_one(x).values()) == f1_of(model, x).tolist()


@pytest.mark.parametrize(("budget", "cap"), [(0, 0), (7, 7), (0.05, 15), (1.0, None), (None, None)])
def test_a_budget_is_a_cap(budget, cap):
    model = learner(budget=budget)
    decisions = list(rounds(model, stream(2, n=100)))
    asked = [ask for _, ask in decisions]
    uncapped = [ask for _, ask in rounds(learner(), stream(2, n=100))]
    if cap is None:
        assert asked == uncapped
    else:
        assert sum(asked) == model.n_queries == cap
        assert asked[: cap + 1] == [*uncapped[:cap], False]  # the first are asked for
    assert len(model.history) == model.n_rounds == 100
    for (label, ask), (_, r1, _) in zip(decisions, model.history, strict=True):
        assert ask or int(r1.argmax()) == label


@pytest.mark.parametrize(
    ("x", "error", "match"),
    [
        ({"a": 0.5}, ValueError, r"norm 0\.5, .*preprocessing\.Normalizer\(\)"),
        ({"a": 0.6, "b": 0.9}, ValueError, "Normalizer"),
        ({}, ValueError, "norm 0"),
        ({"a": math.nan, "b": 1.0}, ValueError, "norm nan"),
        ({"a": 0.6, "b": "0.8"}, TypeError, "numbers only"),
        ({"a": 0.6, "b": None}, TypeError, "numbers only"),
        ([0.6, 0.8], TypeError, "dict"),
        ({"a": 0.6, "c": 0.8}, ValueError, "feature 'c'"),
    ],
)
def test_an_example_that_is_refused_changes_nothing(x, error, match):
    """Be it the first or a later one; a new feature is one only later on."""
    model = learner()
    if match != "feature 'c'":
        with pytest.raises(error, match=match):
            model.predict_one(x)
        assert model.classifier.features == ()
    model.predict_one({"a": 0.6, "b": -0.8004})  # 1 but for rounding
    for call in (lambda: model.predict_one(x), lambda: model.learn_one(x, 1)):
        with pytest.raises(error, match=match):
            call()
    assert (model.n_rounds, len(model.history)) == (1, 0)
    score = model.classifier.scores_one
    assert score({"b": 1.0}) == score({"a": 0.0, "b": 1.0})  # what is left out is 0
    with pytest.raises(ValueError, match="y=2 is none of classes"):
        model.learn_one({"a": 1.0}, 2)


def test_river_evaluates_it_behind_a_normaliser():
    model = paper.INeurAL((False, True), 200, gamma=0.1, lr=0.5, seed=3)
    whole, examples = preprocessing.Normalizer() | model, datasets.Phishing().take(200)
    assert isinstance(model, ActiveLearningClassifier)
    *_, last = evaluate.iter_progressive_val_score(examples, whole, metrics.Accuracy(), step=50)
    assert 0 < model.n_queries == last["Samples used"] < 200
    assert len(model.history) == model.n_rounds == 200
    assert last["Accuracy"].get() > 0.6


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_gpu_has_the_weights_and_the_decisions_of_the_cpu(optimizer, cuda, monkeypatch):
    monkeypatch.setattr(paper.Networks, "_dtype", torch.float64)
    here, there = (
        learner(device=device, optimizer=optimizer, lr=ETA[optimizer]) for device in ("cpu", cuda)
    )
    decisions = [list(rounds(each, stream(2, n=100))) for each in (here, there)]
    assert decisions[0] == decisions[1]
    for own, other in zip(here.hat.theta, there.hat.theta, strict=True):
        assert other.device.type == "cuda"
        torch.testing.assert_close(own, other.cpu())


def test_f2_has_the_rate_of_f1_unless_told():
    for given, rates in (
        ({}, [0.01] * 2),
        ({"lr": 0.5}, [0.5] * 2),
        ({"exploration_lr": 0.1}, [0.01, 0.1]),
    ):
        model = paper.INeurAL((0, 1), 100, hidden_dim=10, **given)
        model.initialize("a")
        assert [step.param_groups[0]["lr"] for step in model.steps] == rates


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("n", [0, 8])
def test_a_copy_goes_on_as_the_original(optimizer, n):
    """With the state of its optimizers."""
    model, rows = learner(optimizer=optimizer), [*stream(2, 16)]
    for x, y in rows[:n]:
        if model.predict_one(x)[1]:
            model.learn_one(x, y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        twin = copy.deepcopy(model)
        for x, y in rows[n : n + 8]:
            assert other.classifier.scores_one(x) == twin.classifier.scores_one(x)
            _, ask = told = other.predict_one(x)
            assert told == twin.predict_one(x)
            if ask:
                other.learn_one(x, y)
                twin.learn_one(x, y)
