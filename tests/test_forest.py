"""The forest beside f1: what it corrects, how far it is believed, and what bounds it."""

import contextlib
import itertools

import numpy as np
import pytest
from kept import opened, sealed
from streams import dump, learned, small

from river_ineural import INeurAL
from river_ineural.explorers import trees
from river_ineural.explorers.forest import FEW, NODES, POWER, SELDOM, TREES
from river_ineural.persistence import LoadError, from_bytes, to_bytes


def corners(n):
    """A class that three thresholds decide, as a program would."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        x = {f"f{j}": value for j, value in enumerate(rng.uniform(-1, 1, 6).tolist())}
        yield x, x["f0"] > 0.3 and (x["f1"] > -0.2 or x["f2"] > 0.5)


def slopes(n):
    """A class on either side of a slope."""
    return [(x, sum(x.values()) > 0) for x, _ in corners(n)]


def forest_of(model):
    return dump(model).explorers.by_name["forest"]


def wrong(stream, **settings):
    model = INeurAL(**{"hidden_dim": 32, "seed": 1, **settings})
    mistakes = 0
    for x, y in stream:
        mistakes += model.predict_one(x) != y
        model.learn_one(x, y)
    return mistakes, model.trust.get("forest")


@pytest.mark.parametrize(
    ("stream", "ratio", "least", "most"), [(corners, 0.75, 0.7, 1.0), (slopes, 1.25, 0.0, 0.35)]
)
def test_it_is_believed_where_thresholds_part_the_classes_and_not_where_a_slope_does(
    stream, ratio, least, most
):
    alone, _ = wrong(stream(400), explorers=())
    beside, trust = wrong(stream(400))
    assert beside <= ratio * alone
    assert least <= trust <= most


def test_work_and_memory_are_bounded(monkeypatch):
    """Fewer and fewer trees are grown a label; what is kept does not grow with the stream."""
    grown = []
    grow = trees.grow
    monkeypatch.setattr(trees, "grow", lambda *parts: (grown.append(len(parts[6])), grow(*parts)))
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


def test_the_oldest_trees_are_replaced():
    model, stream = INeurAL(hidden_dim=4, n_steps=0, drift_detector=None, seed=1), corners(220)
    for x, y in itertools.islice(stream, 180):
        model.learn_one(x, y)
    forest, seen = forest_of(model), set()
    for x, y in stream:
        before, oldest = forest.child.copy(), forest.oldest
        model.learn_one(x, not y)  # so that each tree becomes another
        due = (forest.oldest - oldest) % TREES
        changed = set(np.flatnonzero((forest.child != before).any(axis=1)).tolist())
        assert 0 < due < TREES
        assert changed == {(oldest + i) % TREES for i in range(due)}
        seen |= changed
    assert len(seen) == TREES


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
    arrays[f"learner.model.explorers.forest.{place[0]}"][0, place[1]] = value
    data = sealed(document, arrays)
    with contextlib.nullcontext() if fine else pytest.raises(LoadError):
        from_bytes(data)
