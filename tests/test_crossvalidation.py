"""How far examples are moved, by labels held back."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch

from river_ineural import INeurAL
from river_ineural.learning import crossvalidation
from river_ineural.learning.crossvalidation import FIRST
from river_ineural.learning.encoding import candidate, encodings


def examples(n, d, far, seed=0):
    """Classes on the two sides of a plane; `far` of it, or with points all over."""
    rng = np.random.default_rng(seed)
    normal = np.full(d, d**-0.5)
    for _ in range(n):
        x = rng.uniform(-1, 1, d)
        side = 1 if x @ normal > 0 else -1
        x += 3 * side * normal if far else 0
        yield {f"f{j}": value for j, value in enumerate(x.tolist())}, side > 0


def learned(n, d, far, **settings):
    known = {"hidden_dim": 32, "n_steps": 2, "classes": (False, True), "seed": 1}
    model = INeurAL(**(known | settings))
    for x, y in examples(n, d, far):
        model.learn_one(x, y)
    return model


def of_radius(state):
    return candidate(state, 0.0)


def limit_of(model):
    return model._state.trainer.adversary.most


def test_a_boundary_through_the_midst_of_the_examples_allows_no_move():
    assert limit_of(learned(2 * FIRST, 20, far=False)) == 0


def test_classes_far_apart_allow_all():
    assert limit_of(learned(2 * FIRST, 20, far=True)) == 0.15


def test_it_is_chosen_when_labels_have_doubled(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "river_ineural.learning.encoding.errors",
        lambda candidates, n_steps, rng: (
            seen.append((len(candidates), candidates[0].history.n_labelled))
            or np.zeros((len(candidates), 1))
        ),
    )
    learned(5 * FIRST, 3, far=True, n_steps=0, pieces=True)
    radii = [(3, FIRST), (3, 2 * FIRST), (3, 4 * FIRST)]
    encodings = [(2, n) for _, n in radii]
    assert seen == [each for pair in zip(radii, encodings, strict=True) for each in pair]
    seen.clear()
    learned(5 * FIRST, 3, far=True, n_steps=0)
    assert seen == radii
    seen.clear()
    learned(5 * FIRST, 3, far=True, n_steps=0, adversarial_radius=0.0, pieces=True)
    assert seen == encodings
    seen.clear()
    learned(FIRST - 1, 3, far=True, n_steps=0, pieces=True)
    learned(2 * FIRST, 257, far=True, n_steps=0, pieces=True)  # it would take too long
    assert not seen


def test_pseudo_labels_and_a_class_alone_choose_nothing(monkeypatch):
    monkeypatch.setattr("river_ineural.learning.encoding.errors", None)  # calling it would fail
    model = INeurAL(hidden_dim=4, n_steps=0, seed=1)
    for x, _ in examples(FIRST + 1, 3, far=True):
        model.learn_one(x, "only")
    for x, y in examples(FIRST + 1, 3, far=True):
        model.learn_one(x, str(y), pseudo_label=True)


def test_a_new_radius_begins_anew():
    model = learned(2 * FIRST, 20, far=False)
    model.adversarial_radius = 0.3
    assert limit_of(model) == 0.3
    assert model._state.trainer.n_until == FIRST


@pytest.mark.parametrize("iterate", ["average", "uniform"])
def test_nothing_changes_but_the_generator(iterate):
    model = learned(FIRST - 1, 5, far=False, iterate=iterate)
    state = model._state
    before = pickle.dumps(state)
    rng = copy.deepcopy(state.trainer.of_folds)
    candidates = [candidate(state, 0.0), candidate(state, 0.1), *map(of_radius, encodings(state))]
    crossvalidation.errors(candidates, 20, rng)
    assert pickle.dumps(state) == before
    assert rng.bit_generator.state != state.trainer.of_folds.bit_generator.state


def test_errors_are_of_labels_held_back(monkeypatch):
    """Each label is told by networks that never had its row in a batch."""
    model = learned(FIRST - 1, 5, far=False)
    state = model._state
    held, drawn = [], []
    stored, rows = type(state.history).stored, crossvalidation.Drawn.rows
    monkeypatch.setattr(
        type(state.history),
        "stored",
        lambda self, chosen: held.append(set(chosen.tolist())) or stored(self, chosen),
    )
    monkeypatch.setattr(
        crossvalidation.Drawn,
        "rows",
        lambda self, n: drawn.append((len(held), rows(self, n))) or drawn[-1][1],
    )
    rng = np.random.default_rng(0)
    found = crossvalidation.errors([candidate(state, 0.0)], 20, rng)
    assert found.shape == (1, FIRST - 1)
    assert set.union(*held) == set(range(FIRST - 1))
    assert not set.intersection(*held)
    for fold, chosen in drawn:
        assert not held[fold - 1] & set(chosen.tolist())


def test_errors_that_are_not_finite_are_never_chosen():
    errors = np.array([[np.inf, 1.0], [5.0, 5.0], [np.inf, 0.0]])
    assert crossvalidation.better(errors, usual=2) == 1
    assert crossvalidation.better(errors, usual=1) == 1


def test_a_copy_chooses_the_same():
    model = learned(FIRST - 1, 20, far=False)
    other = pickle.loads(pickle.dumps(model))
    for x, y in examples(FIRST, 20, far=False, seed=1):
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert limit_of(model) == limit_of(other)
    assert torch.equal(model._state.trainer.flat, other._state.trainer.flat)
