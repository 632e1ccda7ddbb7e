"""Features that appear by thousands: a sign that names hold what should be values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from river.base.typing import FeatureName

from river_ineural.inputs.encoder import EQUALS, Encoder

__all__ = ["MANY", "Flood", "likely_cause"]

MANY, WITHIN = 5_000, 100  # new names, and learned examples


class Flood(NamedTuple):
    """How many names were new of late; 5,000 within 100 learned examples are a flood.

    It is in no file and no pickle: a model that is loaded counts anew.
    """

    recent: tuple[tuple[int, int], ...] = ()  # examples learned before, and new names
    told: bool = False  # there was a flood: one warning is enough

    def after(
        self,
        now: int,
        new: Sequence[FeatureName],
        known: Sequence[FeatureName],
        encoder: Encoder | None,
    ) -> Flood:
        """With the names that get a column by an example, before which `now` were learned.

        Those of the first example do not count, however many they are, but for categories: a wide
        table has all its columns from the start.
        """
        if self.told:
            return self
        n = len(new)
        if not known:
            n = sum(column_of(name, encoder) is not None for name in new)
        recent = (*(each for each in self.recent if each[0] > now - WITHIN), (now, n))
        return Flood(recent, sum(count for _, count in recent) >= MANY)


def column_of(name: FeatureName, encoder: Encoder | None) -> str | None:
    """The column of whose categories a feature is one; None if it is none."""
    if encoder is None or not encoder.categories:
        return None
    column, equals, _ = str(name).partition(EQUALS)
    return column if equals else None


def stem_of(name: FeatureName) -> str:
    """A name without its numbers and what follows its last separator: user_1a2b is user_…"""
    return re.sub(r"(?<=[_=:])[^_=:]+$", "…", re.sub(r"\d+", "…", str(name)))


def likely_cause(names: Sequence[FeatureName], encoder: Encoder | None) -> str:
    """The text of the warning, by what at least half of the names have in common."""
    columns = Counter(column_of(name, encoder) for name in names)
    stems = Counter(map(stem_of, names))
    ((column, of_column),), ((stem, alike),) = columns.most_common(1), stems.most_common(1)
    if column is not None and 2 * of_column >= len(names):
        cause = (
            f"{of_column:,} are values of {column!r}. If it is an id, a name, free text or a time "
            "as text, leave it out, e.g. with river.compose.Discard, or make a number of it"
        )
    elif 2 * alike >= len(names):
        cause = (
            f"{alike:,} have names like {stem!r}. If they hold ids, times or counters, make these "
            "the value of one feature, or leave them out"
        )
    else:
        cause = (
            "names may hold what should be values. If they are words or keys without end, bring "
            "them down to a fixed number, e.g. with river.preprocessing.FeatureHasher in front"
        )
    return (
        f"{MANY:,} new features or more within {WITHIN} learned examples, each of which makes the "
        f"networks larger: {cause}."
    )
