"""Classes of which hardly a label has come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from river_ineural.active.newcomers import LATE, PATIENCE, Newcomers


def test_what_stays_as_rare_is_no_newcomer():
    newcomers = Newcomers()
    for label in [*[1] * 100, 0]:
        newcomers.see(label)
    there = []
    for _ in range(2 * PATIENCE):
        newcomers.see(1)
        there.append(newcomers.there)
    assert there == [True] * (PATIENCE - 1) + [False] * (PATIENCE + 1)


@given(st.lists(st.integers(0, 3), max_size=300))
def test_it_is_told_from_all_labels(labels):
    newcomers = Newcomers()
    for label in labels:
        newcomers.see(label)
    n, known = len(labels), set(labels)
    late = [y for y in known if labels.count(y) * LATE * len(known) <= n]
    assert newcomers.there == any(n - 1 - labels.index(y) < PATIENCE for y in late)
