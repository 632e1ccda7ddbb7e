"""The functions of the query rule, by hand."""

from hypothesis import example, given
from hypothesis import strategies as st

from river_ineural.active.query import (
    FEW,
    PATIENCE,
    RARE,
    SETTLED,
    SEVERAL,
    some_class_is_late,
    top_two,
)


@example([*[1] * 100, 0, *[1] * 2 * PATIENCE])  # a class that stays as rare is not late
@example([*[1] * 40, 0, 2, 2, *[1] * PATIENCE])  # two that have come together
@given(st.lists(st.integers(0, 3), max_size=100))
def test_a_late_class_is_told_from_all_labels(labels):
    seen = {}
    for n, label in enumerate(labels, start=1):
        count, first = seen.get(label, (0, n))
        seen[label] = count + 1, first
        until = labels[:n]
        late = [y for y in set(until) if until.count(y) * RARE * len(set(until)) <= n]
        age = {y: n - 1 - until.index(y) for y in until}
        new = [y for y in age if until.count(y) <= FEW and age[y] < PATIENCE // 2]
        several = n >= SETTLED * len(age) and len(new) >= SEVERAL
        found = some_class_is_late(seen.values(), n)
        assert found == (several or any(age[y] < PATIENCE for y in late))


@given(st.lists(st.floats(-1e3, 1e3), max_size=6))
def test_the_top_two_are_those_of_sorting(scores):
    """Of equal scores the first is the top; without a runner-up the gap is 0."""
    top, second, gap = top_two(scores)
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    if len(scores) < 2:
        assert (top, second, gap) == (0, 0, 0.0)
    else:
        assert (top, second) == tuple(order[:2])
        assert gap == scores[top] - scores[second]
