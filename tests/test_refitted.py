"""What is refitted answers and asks as it would row by row."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from streams import rounds

from river_ineural.active import Budget, INeurALSampler
from river_ineural.compare.refitted import Refitted, numbered


def data(n=250, k=2):
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, 3)) + y[:, None], y


class Counting(LogisticRegression):
    fitted, called = [], []

    def fit(self, x, y):
        self.fitted.append(len(x))
        return super().fit(x, y)

    def predict_proba(self, x):
        self.called.append(len(x))
        return super().predict_proba(x)


@pytest.fixture
def counting(monkeypatch):
    for calls in ("fitted", "called"):
        monkeypatch.setattr(Counting, calls, [])
    return Counting


def decided(rows, y, block):
    """In which the prediction was wrong, and in which a label was asked for, as I-NeurAL does."""
    budget, learner = Budget(0.2, len(rows)), Refitted(Counting, rows, block=block)
    model = INeurALSampler(learner, budget=budget, self_training=False, seed=3)
    labels, asked = np.array([*rounds(model, zip(numbered(y), y.tolist(), strict=True))], float).T
    return labels != y, asked


@pytest.mark.parametrize("block", [7, 10_000])
def test_blocks_answer_as_row_by_row(block, counting):
    x, y = data(k=3)
    (wrong, asked), *others = (decided(x, y, n) for n in (1, block))
    assert np.array_equal((wrong, asked), *others)
    assert len(y) - 5 < len(counting.called) < 2 * len(y) - 5
    assert 40 < asked.sum() <= 50
    assert wrong.mean() < 0.5


def test_it_is_fitted_whenever_labels_have_grown_by_a_twentieth(counting):
    """From the first two classes on; what was answered ahead is dropped then."""
    x, y = data(421)
    y[:6] = 0
    y[6] = 1
    learner = Refitted(Counting, x)
    assert learner.scores_one({"row": 0}) == {}
    for row, label in enumerate(y[:400].tolist()):
        learner.learn_one({"row": row}, label)
    expected = [7]
    for n in range(8, 401):
        if n >= 1.05 * expected[-1]:
            expected.append(n)
    assert counting.fitted == expected
    assert learner.n_fits == len(expected)
    before = learner.scores_one({"row": 9})
    assert learner.scores_one({"row": 10}).keys() == before.keys()
    for row in range(400, 421):
        learner.learn_one({"row": row}, 1)
    assert learner.scores_one({"row": 9}) != before
    assert counting.called == [256, 256]
