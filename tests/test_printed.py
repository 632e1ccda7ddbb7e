"""The algorithm as printed against its twin, everything compared after every round."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from printed import Printed, adam, sgd
from reference import dense, flatten

from river_ineural import INeurAL, paper

ROUNDS, DIM, WIDTH, BATCH = 300, 5, 12, 16
ETA = {"sgd": 0.3, "adam": 3e-3}


def stream(k, seed=0, rounds=ROUNDS):
    """Unit vectors with k classes, of which the first is likeliest."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 1.0, (k, DIM))
    for label in rng.integers(0, k, rounds).tolist():
        x = centres[label] + rng.normal(0, 0.3, DIM)
        x /= np.linalg.norm(x)
        yield {f"f{j}": value for j, value in enumerate(x.tolist())}, label


def pair(k, n_layers, optimizer, gamma=0.06, monkeypatch=None, rounds=ROUNDS, **settings):
    """`paper.printed` in float64, and its twin with the same θ_0 and the same generators."""
    monkeypatch.setattr(INeurAL, "_dtype", torch.float64)
    sampler = paper.printed(
        tuple(range(k)),
        rounds,
        gamma=gamma,
        lr=ETA[optimizer],
        exploration_lr=ETA[optimizer] / 2,
        hidden_dim=WIDTH,
        n_layers=n_layers,
        batch_size=BATCH,
        seed=4,
        optimizer=optimizer,
        beta2=0.999,
        **settings,
    )
    state = sampler.classifier._state
    first = state.grown([f"f{j}" for j in range(DIM)], np.zeros((1, DIM)), [])
    make = {"sgd": sgd, "adam": adam}[optimizer]
    twin = Printed(
        without_constant(first.trainer.weights),
        *(k, rounds, gamma, 0.1, BATCH),
        *(make(ETA[optimizer]), make(ETA[optimizer] / 2)),
        copy.deepcopy(state.history.rng),
        copy.deepcopy(first.trainer.rng),
        copy.deepcopy(state.trainer.iterates.rng),
    )
    return sampler, twin


def without_constant(weights):
    """(θ1, θ2) of the package's `Weights`, the column in front left out, which has to be 0."""
    theta1, theta2 = dense(weights, 1 + DIM)
    m = len(theta1[0])
    blocks1, blocks2 = theta1[0].view(m, -1, 1 + DIM), theta2[0].view(m, -1, 1 + DIM)
    assert not blocks1[..., 0].any(), "weights of the constant differ by what they are"
    assert not blocks2[..., 0].any(), "weights of the constant differ by what they are"
    first1, first2 = (blocks[..., 1:].reshape(m, -1).clone() for blocks in (blocks1, blocks2))
    return [first1, *(w.clone() for w in theta1[1:])], [first2, *(w.clone() for w in theta2[1:])]


def assert_near(actual, expected, what):
    actual = torch.as_tensor(actual, dtype=torch.float64)
    error = ((actual - expected).abs() / (1 + expected.abs())).max().item()
    assert error <= 1e-8, f"{what} differ by {error:.2g}"


def assert_same_weights(weights, theta, what):
    for actual, expected in zip(without_constant(weights), theta, strict=True):
        assert_near(flatten(actual), flatten(expected), what)


def run_side_by_side(sampler, twin, examples):
    """Algorithm 1 on both. Returns how many labels were asked for."""
    model = sampler.classifier
    for t, (x, y) in enumerate(examples):
        vector = torch.tensor(list(x.values()), dtype=torch.float64)
        before = model.scores_one(x)
        assert len(before) == twin.k, f"round {t}: classes"
        label, ask = sampler.predict_one(x)
        scores, top, query = twin.observe(vector)
        assert_near(list(before.values()), scores, f"round {t}: scores")
        assert (label, ask) == (top, query), f"round {t}"
        if ask:
            sampler.learn_one(x, y)
        twin.learn(y if query else top)

        trainer, history = model._state.trainer, model._state.history
        assert trainer.iterates.served == twin.drawn, "iterates"
        assert len(trainer.iterates.kept) == len(twin.omega) == t + 2, "iterates"
        assert_same_weights(trainer.weights, twin.hat, f"round {t}: θ̂")
        assert_same_weights(trainer.predicting, twin.theta, f"round {t}: θ")
        assert history.filled[0] == slice(0, t + 1), f"round {t}: history"
        shape = (t + 1, twin.k)
        reward = torch.stack([r for _, r in twin.h1]).view(shape)
        residual = torch.stack([r for _, r in twin.h2]).view(shape)
        assert_near(history.targets[: t + 1, 0], reward, "rewards")
        assert_near(history.targets[: t + 1, 1], residual, "residuals")
    stored = model._state.history.x[: t + 1, 1:] + model._state.scaling.reference[1:]
    own = [twin.h1[t * twin.k][0][:DIM] for t in range(twin.t)]
    assert_near(stored, torch.stack(own), "examples")
    assert sampler.n_queries == twin.n_queries
    assert sampler.n_pseudo_labels == twin.t - twin.n_queries
    returned = model.returned()
    assert_same_weights(returned._state.trainer.predicting, twin.returned(), "what is returned")
    return twin.n_queries


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("n_layers", [2, 3])
@pytest.mark.parametrize("k", [2, 5])
def test_every_round_is_as_printed(k, n_layers, optimizer, monkeypatch):
    sampler, twin = pair(k, n_layers, optimizer, monkeypatch=monkeypatch)
    n_queries = run_side_by_side(sampler, twin, stream(k))
    assert 20 < n_queries < ROUNDS - 20  # both branches
    assert len({tuple(flatten(theta[0]).tolist()) for theta in twin.served}) > 50


@pytest.mark.usefixtures("by_torch")
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_every_round_is_as_printed_by_torch(optimizer, monkeypatch):
    """The same with the phases that run on a GPU."""
    sampler, twin = pair(3, 2, optimizer, monkeypatch=monkeypatch, rounds=100)
    run_side_by_side(sampler, twin, stream(3, rounds=100))


@pytest.mark.parametrize("name", ["lr", "exploration_lr"])
def test_a_rate_of_0_is_an_error_not_another_rate(name):
    with pytest.raises(ValueError, match=name):
        paper.printed((0, 1), 10, **{name: 0.0})


def test_f2_has_the_rate_of_f1_unless_told():
    assert paper.printed((0, 1), 10, lr=0.5).classifier.training.exploration_lr == 0.5
    told = paper.printed((0, 1), 10, lr=0.5, exploration_lr=0.1)
    assert told.classifier.training.exploration_lr == 0.1
