"""Gaps above 1, which labels have to bear out: more of it in `test_reference`."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_ineural.active.reach import STEP, SURE, Reach


@pytest.mark.parametrize("gap", [0.5, 1.0, 1.0 + STEP, math.nan])
def test_usual_gaps_need_no_proof(gap):
    assert not Reach().short_of(gap)


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
