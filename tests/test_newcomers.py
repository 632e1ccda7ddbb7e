"""Classes of which hardly a label has come."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from river_ineural.active.newcomers import LATE, PATIENCE, Newcomers


@example([*[1] * 100, 0, *[1] * 2 * PATIENCE])  # what stays as rare is no newcomer
@given(st.lists(st.integers(0, 3), max_size=100))
def test_it_is_told_from_all_labels(labels):
    newcomers = Newcomers()
    for n, label in enumerate(labels, start=1):
        newcomers.see(label)
        seen = labels[:n]
        late = [y for y in set(seen) if seen.count(y) * LATE * len(set(seen)) <= n]
        assert newcomers.there == any(n - 1 - seen.index(y) < PATIENCE for y in late)
