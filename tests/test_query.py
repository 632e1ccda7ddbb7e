"""The functions of the query rule, by hand."""

from hypothesis import example, given
from hypothesis import strategies as st
from reference import some_class_is_late, top_and_gap

from river_ineural.active import query


@example([*[1] * 100, 0, *[1] * 128])  # a class that stays as rare is not late
@example([*[1] * 40, 0, 2, 2, *[1] * 64])  # two that have come together
@given(st.lists(st.integers(0, 3), max_size=100))
def test_a_late_class_is_told_from_all_labels(labels):
    seen = {}
    for n, label in enumerate(labels, start=1):
        count, first = seen.get(label, (0, n))
        seen[label] = count + 1, first
        assert query.some_class_is_late(seen.values(), n) == some_class_is_late(labels[:n])


@given(st.lists(st.floats(-1e3, 1e3), max_size=6))
def test_the_top_two_are_those_of_sorting(scores):
    """Of equal scores the first is the top; without a runner-up the gap is 0."""
    top, second, gap = query.top_two(scores)
    if len(scores) < 2:
        assert (top, second, gap) == (0, 0, 0.0)
    else:
        assert (top, gap) == top_and_gap(scores)
        assert top != second
        assert scores[top] - scores[second] == gap
