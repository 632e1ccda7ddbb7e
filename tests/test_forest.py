"""The forest beside f1: what it corrects, how far it is believed, and what bounds it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from kept import opened, sealed
from streams import learned, small

from river_ineural import INeurAL
from river_ineural.learning import trees
from river_ineural.learning.forest import FEW, NODES, POWER, SELDOM, TREES
from river_ineural.persistence import LoadError, from_bytes, to_bytes


def corners(n, seed=0, n_features=6):
    """A class that three thresholds decide, as a program would."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x = {f"f{j}": value for j, value in enumerate(rng.uniform(-1, 1, n_features).tolist())}
        yield x, x["f0"] > 0.3 and (x["f1"] > -0.2 or x["f2"] > 0.5)


def slopes(n, seed=0, n_features=6):
    """A class on either side of a slope."""
    for x, _ in corners(n, seed, n_features):
        yield x, sum(x.values()) > 0


def forest_of(model):
    return model._state.explorers.parts["forest"]


def wrong(stream, **settings):
    model = INeurAL(**{"hidden_dim": 32, "seed": 1, **settings})
    mistakes = 0
    for x, y in stream:
        mistakes += model.predict_one(x) != y
        model.learn_one(x, y)
    return mistakes, model.trust.get("forest")


# What it is worth


@pytest.mark.parametrize(
    ("stream", "ratio", "least", "most"), [(corners, 0.75, 0.7, 1.0), (slopes, 1.25, 0.0, 0.35)]
)
def test_it_is_believed_where_thresholds_part_the_classes_and_not_where_a_slope_does(
    stream, ratio, least, most
):
    """Mistakes beside f1 are at most a ratio of those of f1 alone, and trust is within bounds."""
    alone, _ = wrong(stream(400), explorers=())
    beside, trust = wrong(stream(400))
    assert beside <= ratio * alone
    assert least <= trust <= most


# What a tree is


def test_a_tree_knows_its_examples():
    """Grown of all, with all features to choose from, it is right at each; at most N nodes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 200))
    classes = rng.integers(0, 3, 200)
    order = x.argsort(axis=1).astype(trees.ROW)
    for n_nodes, all_right in ((NODES, True), (9, False)):
        feature, child = np.full((1, n_nodes), -1, np.int16), np.full((1, n_nodes), -1, np.int32)
        nodes = feature, np.zeros((1, n_nodes)), child
        sample = x, order, classes.astype(trees.ROW), np.ones((1, 200)), np.array([1, 2, 3])
        trees.grow(*sample, 3, rng.random((1, 99)), np.empty((n_nodes, 3)), *nodes)
        (feature,), (threshold,), (child,) = nodes
        said = []
        for example in x.T:
            node = 0
            while feature[node] >= 0:
                node = child[node] + (example[feature[node] - 1] > threshold[node])
            said.append(child[node])
        assert (said == classes).all() == all_right
        assert (np.bincount(said, minlength=3) > 0).sum() > 1


# What bounds it


def test_work_and_memory_are_bounded(monkeypatch):
    """Fewer and fewer trees are grown a label; what is kept does not grow with the stream."""
    grown = []
    grow = trees.grow
    monkeypatch.setattr(trees, "grow", lambda *parts: (grown.append(len(parts[3])), grow(*parts)))
    model, counts = INeurAL(hidden_dim=4, n_steps=0, capacity=4000, seed=1), []
    rng = np.random.default_rng(0)
    for x, _ in corners(2500):
        before = sum(grown)
        model.learn_one(x, int(rng.integers(2)))  # labels at random make the largest trees
        counts.append(sum(grown) - before)
    assert max(counts) == TREES
    assert SELDOM * 400 - 1 <= sum(counts[-400:]) <= TREES * (FEW / 2100) ** POWER * 400 + 1
    forest = forest_of(model)
    assert forest.feature.shape == (TREES, NODES)
    assert (forest.feature >= 0).any(axis=0).sum() < NODES


def test_rounding_is_no_threshold():
    """A feature that is 0.3, or 0.1 + 0.2, is a constant to trees too."""
    model = INeurAL(hidden_dim=4, seed=1)
    for i, (x, _) in enumerate(corners(30)):
        model.learn_one(x | {"same": 0.3 if i % 2 else 0.1 + 0.2}, i % 2)
    column = model._state.features.columns["same"]
    assert not (forest_of(model).feature == column).any()
    assert (forest_of(model).feature > 0).any()


# In a file


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        *(("feature", column, False) for column in (7, 0, -2)),  # of six, in columns 1 to 6
        ("child", 0, False),  # back to the root: the way would never end
        ("child", 10**6, False),
        *(("leaf", label, label in (1, -1)) for label in (1, -1, 2, -2)),  # of two classes, or none
    ],
)
def test_trees_that_lead_nowhere_are_refused(name, value, fine):
    model = learned(small(hidden_dim=16), corners(30))
    document, arrays = opened(to_bytes(model))
    leaf = int(np.flatnonzero(forest_of(model).feature[0] < 0)[0])
    place = ("child", leaf) if name == "leaf" else (name, 0)
    arrays[f"explorers.parts.forest.{place[0]}"][0, place[1]] = value
    data = sealed(document, arrays)
    with contextlib.nullcontext() if fine else pytest.raises(LoadError):
        from_bytes(data)
