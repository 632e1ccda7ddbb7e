"""Explorers: how much they are trusted, and what adding one takes."""

import numpy as np
from streams import blobs, dump, f1_of

from river_ineural import INeurAL
from river_ineural.explorers.trust import EXPLORERS


class Toy:
    """An explorer that says a half of f1."""

    TRUST, PRIOR = 0.25, 1.0

    def __init__(self):
        self.n_learned = 0

    def estimate(self, x, f1):
        return 0.5 * f1

    def learn(self, history, scaling, n):
        self.n_learned += n

    def count_pseudo_label(self):
        pass

    def renewed(self):
        return type(self)()


def test_a_fourth_explorer_needs_no_more_than_the_protocol(monkeypatch):
    monkeypatch.setitem(EXPLORERS, "toy", lambda rng: Toy())
    names = "network", "forest", "last_label", "toy"
    model = INeurAL(hidden_dim=8, explorers=names, seed=1)
    assert model.trust["toy"] == 0.25
    stream = blobs(120, noise=0.3)
    for i, (x, y) in enumerate(stream):
        model.learn_one(x, y if i < 70 else 1 - y)
        if model.n_drifts:
            break
    assert (*model.trust,) == names
    assert 0 <= model.trust["toy"] <= 1 != model.trust["toy"] / 0.25
    _, added = model.explained_one(x)
    f1 = f1_of(model, x)
    assert (*added,) == names
    assert "another" not in added
    np.testing.assert_allclose(added["toy"], model.trust["toy"] * 0.5 * f1, atol=1e-6)
    assert model.n_drifts == 1
    snapshot = dump(model).snapshot.explorers.by_name["toy"]
    assert dump(model).explorers.by_name["toy"] is not snapshot
    assert snapshot.n_learned == i + 1
