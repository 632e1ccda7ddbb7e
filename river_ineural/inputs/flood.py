"""Features that appear by thousands: a sign that names hold what should be values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from river.base.typing import FeatureName

from river_ineural.inputs.encoder import EQUALS, Encoder

__all__ = ["MANY", "WARNING", "Flood"]

MANY, WITHIN = 5_000, 100  # new names, and learned examples
WARNING = (
    f"{MANY:,} new features or more within {WITHIN} learned examples, the latest of which is "
    "{!r}. Each of them makes the networks larger. If names hold ids, times or counters, make "
    "these the value of one feature. Leave a category out that is another in each row, e.g. with "
    "river.compose.Discard. Bring words without end down to a fixed number, e.g. with "
    "river.preprocessing.FeatureHasher in front."
)


class Flood(NamedTuple):
    """How many names were new of late; 5,000 within 100 learned examples are a flood.

    It is in no file and no pickle: a model that is loaded counts anew.
    """

    recent: tuple[tuple[int, int], ...] = ()  # examples learned before, and new names
    told: bool = False  # there was a flood: one warning is enough

    def after(
        self, now: int, new: Sequence[FeatureName], first: bool, encoder: Encoder | None
    ) -> Flood:
        """With the names that get a column by an example, before which `now` were learned.

        Of the first example only categories count: a wide table has all its columns from the start.
        """
        if self.told:
            return self
        n = len(new)
        if first:
            made = encoder is not None and encoder.categories
            n = sum(made and EQUALS in str(name) for name in new)
        recent = (*(each for each in self.recent if each[0] > now - WITHIN), (now, n))
        return Flood(recent, sum(count for _, count in recent) >= MANY)
