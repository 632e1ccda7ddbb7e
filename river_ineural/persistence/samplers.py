"""What a file holds of a sampler, and of the examples of its questions."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, convert

from river_ineural.active.decision import REASONS, Reason
from river_ineural.active.questions import MOST, RECENT, Answered, Questions
from river_ineural.persistence.encoding import decoded, encoded, within_limits
from river_ineural.persistence.parts import (
    PARTS,
    Arrays,
    Class,
    Count,
    Level,
    Number,
    Part,
    Positive,
    Sizes,
    need,
    taken,
)

MOST_ITEMS = 4_000_000  # of the JSON of questions: see `Questions`
Parts = Annotated[dict[str, list[float]], Meta(max_length=100)]
Last = tuple[dict[Any, float], bool, Reason, float, float, Level, Parts, Class, Class]


class OfBudgetManager(Part):
    n_rounds: Count
    n_asked: Count
    left: Number
    _since: Count
    _missing: Level


class OfQuestions(Part):
    """All of it is JSON in an array of its own, for examples may have many values."""

    waiting: tuple[tuple[Positive, Reason, float, Any, list[Any]], ...] = ()
    settled: tuple[tuple[Positive, Count, Any], ...] = ()
    recent: tuple[Any, ...] = ()
    forgotten: Count = 0
    n_heard: Count = 0
    n_unmatched: Count = 0
    n_alike: Count = 0
    told: bool = False

    @classmethod
    def written(cls, thing: Questions, path: str, arrays: Arrays) -> dict[str, Any]:
        """Nothing of its own: all is in the array."""
        found = {name: getattr(thing, name) for name in cls.__struct_fields__}
        found["waiting"] = [
            [query, each.reason, each.gap, each.x, [each.example] * (each.example is not each.x)]
            for query, each in thing.waiting.items()
        ]
        found["settled"] = [[query, *each] for query, each in thing.settled.items()]
        found["recent"] = [*thing.recent]
        text = json.dumps(encoded(found, path)).encode()
        arrays[path] = np.frombuffer(within_limits(text, MOST_ITEMS), np.uint8)
        return {}

    def fill(self, thing: Questions, path: str, arrays: Arrays, sizes: Sizes) -> None:
        array = taken(arrays, path, ["u1", "bytes"], dict(sizes))
        text = within_limits(array.tobytes(), MOST_ITEMS)
        part = convert(json.loads(text, object_hook=decoded), OfQuestions)
        queries = [each[0] for each in part.waiting]
        few = max(len(queries), len(part.settled)) <= MOST and len(part.recent) <= RECENT
        need(few and queries == sorted({*queries}), path, "of few questions in order", queries)
        for query, reason, gap, x, example in part.waiting:
            thing.put(query, reason, gap, x, example[0] if example else x)
        for query, number, label in part.settled:
            need(query not in thing.waiting, path, "waiting or settled", query)
            thing.settled[query] = Answered(number, label)
        thing.recent.extend(part.recent)
        for name in self.__struct_fields__[3:]:
            setattr(thing, name, getattr(part, name))


class OfSampler(Part):
    _budget_manager: OfBudgetManager
    _questions: OfQuestions
    _rng: tuple[int, tuple[int, ...], float | None]
    _last: Last | None
    n_by_reason: Annotated[dict[Reason, Count], Meta(min_length=len(REASONS))]
    drifts: list[Count]
    _n_drifts: Count
    _n_labels: Count


class OfINeurALSampler(OfSampler):
    _n_learned: Count
    _last_ask: Count
    _confirmed_gap: Annotated[float, Meta(ge=1)]
    _seen: dict[Any, tuple[Count, Count]]
    _n_heard: Count
    _late: bool
    _unseen: list[Any] | None
    n_pseudo_labels: Count


class OfMarginSampler(OfSampler):
    _theta: Annotated[float, Meta(ge=0.01, le=1.01)]


PARTS.update(
    {
        "BudgetManager": OfBudgetManager,
        "Questions": OfQuestions,
        "RandomSampler": OfSampler,
        "MarginSampler": OfMarginSampler,
        "INeurALSampler": OfINeurALSampler,
    }
)
