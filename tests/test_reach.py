"""Gaps above 1, which labels have to bear out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_budget import X, scored

from river_ineural.active import INeurALSampler
from river_ineural.active.reach import STEP, SURE, Reach

FAR, RIGHT, WRONG = (-0.2, 1.2), 1, 0


def asked(model, n):
    """Rounds of n in which the label was asked for."""
    return [t for t in range(n) if model.predict_one(X)[1]]


class Settled(INeurALSampler):
    """Asks at random for nothing."""

    def _audits(self, margin):
        return self._reach.short_of(margin) and self._first_of_few()


def model_of(*scores, **settings):
    """Nothing else asks: audits at random are all but impossible."""
    return scored(
        *scores, **{"gamma": 0.0, "budget": 0.1, "horizon": 10**6, "kind": Settled, **settings}
    )


def test_a_gap_far_above_1_is_asked_for_until_it_is_borne_out():
    model = model_of(*FAR)
    assert model.predict_one(X)[1]
    assert model.last_decision.reason == "audit"
    model.learn_one(X, RIGHT)
    assert asked(model, 500) == []
    model.classifier.scores = (-0.3, 1.3)
    assert asked(model, 1) == [0]


def test_being_wrong_takes_it_back():
    model = model_of(*FAR)
    model.learn_one(X, RIGHT)  # of no round: a warm start bears out too
    assert asked(model, 100) == []
    model.learn_one(X, WRONG)
    for _ in range(3):
        assert asked(model, 1) == [0]
        model.learn_one(X, WRONG)


def test_what_was_borne_out_fades():
    """1.4 falls to 1.3 when a fourth of 0.4 has gone: in 1024 ln(4/3) labels of the rate."""
    model = model_of(*FAR)
    model.learn_one(X, RIGHT)
    (first, *_) = asked(model, 3000)
    assert first == pytest.approx(1024 * math.log(4 / 3) / 0.1, abs=2)


@pytest.mark.parametrize("scores", [(0.0, 1.0), (0.0, 1.0 + STEP), (math.nan, 1.0)])
def test_usual_gaps_need_no_proof(scores):
    assert asked(model_of(*scores), 300) == []


def test_while_labels_are_on_their_way_it_is_asked_for_more_and_more_seldom():
    """With n on their way 1/(1 + n) of the rounds ask: about √(2 · 800) = 40 of 800."""
    n = len(asked(model_of(*FAR, budget=None, horizon=None), 800))
    assert 20 <= n <= 60


@given(st.lists(st.tuples(st.floats(0, 5), st.booleans(), st.floats(0, 1))))
def test_it_is_never_below_1_nor_beyond_what_was_right(told):
    reach, highest = Reach(), SURE
    for gap, right, rate in told:
        reach.told(gap, right)
        highest = max(highest, gap) if right else highest
        assert SURE <= reach.gap <= highest
        assert right or gap <= SURE or reach.gap == SURE
        before = reach.gap
        reach.fade(rate)
        assert SURE <= reach.gap <= before
