"""The forest beside f1: what it corrects, how far it is believed, and what bounds it."""

import numpy as np
import pytest
from streams import dump

from river_ineural import INeurAL
from river_ineural.explorers import trees
from river_ineural.explorers.forest import MOST_ANEW, NODES, POWER, SELDOM, TREES


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
    monkeypatch.setattr(trees, "grow", lambda *given: grown.append(grow(*given)) or grown[-1])
    steady = {"n_steps": 0, "capacity": 4000, "drift_detector": None, "seed": 1}
    model, counts = INeurAL(hidden_dim=4, **steady), []
    rng = np.random.default_rng(0)
    for x, _ in corners(2500):
        before = len(grown)
        model.learn_one(x, int(rng.integers(2)))  # labels at random make the largest trees
        counts.append(sum(n for n, _ in grown[before:]))
    assert counts[10:MOST_ANEW] == [TREES] * (MOST_ANEW - 10)
    due = max(SELDOM, TREES * (MOST_ANEW / 2100) ** POWER)
    assert SELDOM * 400 - 1 <= sum(counts[-400:]) <= due * 400 + 1
    forest = forest_of(model)
    assert forest.feature.shape == (TREES, NODES)
    assert (forest.feature >= 0).any(axis=0).sum() < NODES


def test_of_many_features_it_finds_the_few_that_count():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(250, 300)).tolist()
    stream = [(dict(enumerate(row)), (row[0] > 0) != (row[1] > 0.5)) for row in rows]
    few = {"batch_size": 8, "n_steps": 2.0}
    alone, _ = wrong(stream, explorers=(), **few)
    beside, trust = wrong(stream, **few)
    assert beside < 0.8 * alone
    assert trust > 0.7


@pytest.mark.parametrize(("of", "grows"), [("words", False), (4096, True), (4097, False)])
def test_there_is_none_of_words_nor_of_too_many_features(of, grows):
    rng, model = np.random.default_rng(0), INeurAL(hidden_dim=2, n_steps=0, capacity=64, seed=1)
    for _ in range(30):
        given = rng.choice(4097, 20, replace=False) if of == "words" else range(of)
        model.learn_one({f"f{j}": float(rng.random()) for j in given}, int(rng.integers(2)))
    trees_before = forest_of(model).child.copy()
    for _ in range(10):
        model.learn_one({f"f{j}": 1.0 for j in given}, int(rng.integers(2)))
    if not grows:
        assert (forest_of(model).child == trees_before).all()
    assert forest_of(model).stale.all() != grows


def test_a_leaf_of_equal_examples_votes_by_their_shares():
    """A quarter of those with "a" are of class 1, and none of the others."""
    model = INeurAL(hidden_dim=4, n_steps=0, seed=1)
    for i in range(160):
        model.learn_one({"a": float(i % 2)}, int(i % 8 == 1))
    columns = dump(model).networks.shape.n_features
    x = np.zeros((2, columns))
    x[1, -1] = 1.0
    shares = forest_of(model).estimate(x, np.zeros((2, 2), np.float32))
    assert shares[0].tolist() == [1.0, 0.0]
    assert 0.15 < shares[1, 1] < 0.35
    assert shares[1].sum() == pytest.approx(1)


def test_trees_do_not_ask_the_feature_that_has_taken_the_column_of_another():
    """Its values were 0 in all examples that trees have seen, whatever they are now."""
    rng, model = np.random.default_rng(0), INeurAL(hidden_dim=4, n_steps=0, max_features=4, seed=1)
    for _ in range(100):
        x = {name: float(rng.normal()) for name in "abcd"}
        model.learn_one(x, "high" if x["a"] > 0 else "low")
    rest = {name: float(rng.normal()) for name in "bcd"}
    model.learn_one(rest, "low")
    held, f1 = dump(model), np.zeros((2, 2))
    x = np.zeros((2, held.networks.shape.n_features))
    x[1, held.features.columns["a"]] = 9.0
    before = forest_of(model).estimate(x, f1)
    assert before[0, 0] < before[1, 0]
    with pytest.warns(UserWarning, match="make room"):
        model._learner.grow((*rest, "new"), np.ones((1, 4)), ["low"])
    assert "a" not in held.features.columns
    assert forest_of(model).stale.sum() > TREES / 2
    assert (forest_of(model).estimate(x, f1) == before[0]).all()
