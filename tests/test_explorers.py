"""Explorers: how much they are trusted, and what adding one takes."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from streams import blobs, small

from river_ineural import INeurAL, NeurONAL
from river_ineural.active import INeurALSampler
from river_ineural.learning import explorers as module
from river_ineural.learning.explorers import EXPLORERS, Explorers

BOTH = pytest.mark.parametrize("kind", [INeurAL, NeurONAL])
SUBSETS = [names for n in range(3) for names in itertools.permutations(EXPLORERS, n)]


def toy(trust, prior):
    """An explorer that says a part of f1."""

    class Toy:
        TRUST, PRIOR = trust, prior

        def __init__(self, part=0.5):
            self.part, self.n_learned = part, 0

        def estimate(self, x, f1, f2):
            return self.part * f1

        def learn(self, history, scaling, features, n):
            self.n_learned += n

        def renewed(self):
            return type(self)(self.part)

    return Toy


@given(
    priors=st.lists(st.tuples(st.floats(0, 1), st.floats(0.05, 5)), min_size=1, max_size=3),
    n_classes=st.integers(2, 4),
    sizes=st.lists(st.integers(1, 4), max_size=8),
    seed=st.integers(0, 2**32),
)
def test_trust_is_a_weighted_least_squares_solution(priors, n_classes, sizes, seed):
    """Solved at once over all labels; those of weight 0 tell nothing, and it stays in [0, 1]."""
    rng = np.random.default_rng(seed)
    tested = Explorers({str(i): toy(*each)() for i, each in enumerate(priors)})
    told = []
    for size in sizes:
        said = rng.normal(size=(len(priors), size, n_classes))
        residuals = rng.normal(size=(size, n_classes)) + said.mean(axis=0)
        w = rng.integers(0, 3, size).astype(float)
        tested.weigh(residuals, said, w)
        told += [(said[:, row].T, residuals[row]) for row in np.flatnonzero(w)]
    first, weights = np.transpose(priors)
    rows, wanted = [np.diag(weights**0.5)], [weights**0.5 * first]
    for age, (each, residual) in enumerate(reversed(told)):
        rows.append(0.99 ** (age / 2) * each)
        wanted.append(0.99 ** (age / 2) * residual)
    (solution, *_) = np.linalg.lstsq(np.concatenate(rows), np.concatenate(wanted), rcond=None)
    assert tested.trust == pytest.approx(np.clip(solution, 0, 1).tolist(), abs=1e-9)


@BOTH
@pytest.mark.parametrize("names", SUBSETS, ids=str)
def test_any_of_them_will_do(kind, names):
    """f is f1 and what each adds; the blobs are told apart."""
    model, right = kind(hidden_dim=16, explorers=names, seed=1), 0
    for i, (x, y) in enumerate(blobs(90, n_classes=3)):
        right += i >= 45 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert right > 35
    assert tuple(model.trust) == names
    assert all(0 <= each <= 1 for each in model.trust.values())
    f1, added = model._seen(x)
    assert tuple(added) == names
    assert list(model.scores_one(x).values()) == pytest.approx(sum(added.values(), f1)[0].tolist())


@BOTH
@pytest.mark.parametrize("wrong", [("oracle",), ("network", "network"), ["network"], "network"])
def test_unknown_explorers_are_refused(kind, wrong):
    """By a message that lists those there are."""
    with pytest.raises(ValueError, match=r"explorers must be .*'network', 'forest'"):
        kind(explorers=wrong)


def test_a_third_explorer_needs_no_more_than_the_protocol(monkeypatch):
    """It is estimated, weighed, taught and renewed like the others."""
    monkeypatch.setitem(module.EXPLORERS, "toy", toy(0.25, 1.0))
    model = INeurAL(hidden_dim=8, seed=1)
    state = model._state
    state.explorers = Explorers(state.explorers.parts | {"toy": EXPLORERS["toy"]()})
    assert model.trust["toy"] == 0.25
    stream = blobs(120, noise=0.3)
    for i, (x, y) in enumerate(stream):
        model.learn_one(x, y if i < 70 else 1 - y)
        if model.n_drifts:
            break
    assert list(model.trust) == ["network", "forest", "toy"]
    assert 0 <= model.trust["toy"] <= 1 != model.trust["toy"] / 0.25
    f1, added = model._seen(x)
    np.testing.assert_allclose(added["toy"], model.trust["toy"] * 0.5 * f1)
    assert model.n_drifts == 1
    former = model._state.trial.former.explorers.parts["toy"]
    assert model._state.explorers.parts["toy"] is not former
    assert former.n_learned == i + 1


@BOTH
@pytest.mark.parametrize("n_layers", [2, 3])
def test_f2_says_0_before_it_has_learned(kind, n_layers):
    """Also of a class that has just appeared, where it has an output of its own."""
    model = kind(hidden_dim=8, n_layers=n_layers, n_steps=0, explorers=("network",), seed=1)

    def networks(x):
        state = model._state
        return state.trainer.score(state.vectors(x, np.array([list(x.values())])), state.scaling)

    for i, (x, y) in enumerate(blobs(9, n_classes=3)):
        model.learn_one(x, y)
        f1, f2 = networks(x)
        assert f1.any() or i == 0  # one example alone is its own mean
        assert not f2.any()
    model.n_steps = 8
    model.learn_one(x, y)
    assert networks(x)[1].any()


@BOTH
def test_what_explorers_added_to_the_gap_is_told_with_the_decision(kind):
    sampler = INeurALSampler(small(kind), budget=0.5, horizon=60, seed=1)
    for x, y in blobs(60, n_features=4, n_classes=3, seed=1):
        labels = sampler.classifier.known_labels
        if len(labels) > 1:
            f1, added = sampler.classifier._seen(x)
            ranked = np.argsort(-sum(added.values(), f1)[0])
        label, ask = sampler.predict_one(x)
        decision = sampler.last_decision
        if len(labels) > 1:
            top, second = ranked[:2]
            assert label == labels[top]
            own = f1[0, top] - f1[0, second]
            assert own + sum(decision.added.values()) == pytest.approx(decision.gap, abs=1e-5)
        if ask:
            sampler.learn_one(x, y)
    assert decision.added.keys() == sampler.classifier.trust.keys() == EXPLORERS.keys()
