"""Classes that appear late."""

from hypothesis import example, given
from hypothesis import strategies as st

from river_ineural.active.late_classes import FEW, PATIENCE, RARE, SETTLED, SEVERAL, LateClasses


@example([*[1] * 100, 0, *[1] * 2 * PATIENCE])  # a class that stays as rare is not late
@example([*[1] * 40, 0, 2, 2, *[1] * PATIENCE])  # two that have come together
@given(st.lists(st.integers(0, 3), max_size=100))
def test_it_is_told_from_all_labels(labels):
    late_classes = LateClasses()
    for n, label in enumerate(labels, start=1):
        late_classes.update(label)
        seen = labels[:n]
        late = [y for y in set(seen) if seen.count(y) * RARE * len(set(seen)) <= n]
        age = {y: n - 1 - seen.index(y) for y in seen}
        new = [y for y in age if seen.count(y) <= FEW and age[y] < PATIENCE // 2]
        several = n >= SETTLED * len(age) and len(new) >= SEVERAL
        assert late_classes.present == (several or any(age[y] < PATIENCE for y in late))
