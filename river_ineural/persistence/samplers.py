"""What a file holds of a sampler, and of the examples of its questions."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

import numpy as np
from msgspec import Meta, convert, field

from river_ineural.active.accuracy import MOST as MOST_NOTED
from river_ineural.active.accuracy import SIZES, Accuracy, Noted
from river_ineural.active.decision import REASONS, Reason
from river_ineural.active.questions import MOST, RECENT, Answered, Questions
from river_ineural.features.keys import as_kept
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
    Share,
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


class Text(Part):
    """What is JSON in an array of its own, for it may have many values."""

    @classmethod
    def put(cls, thing: Any, path: str, arrays: Arrays, **parts: Any) -> dict[str, Any]:
        """Add the array of a thing, in which these parts are made plain; the rest is nothing."""
        found = {name: getattr(thing, name) for name in cls.__struct_fields__} | parts
        text = json.dumps(encoded(found, path)).encode()
        arrays[path] = np.frombuffer(within_limits(text, MOST_ITEMS), np.uint8)
        return {}

    @classmethod
    def take(cls, path: str, arrays: Arrays, sizes: Sizes) -> Self:
        """What `put` has added."""
        array = taken(arrays, path, ["u1", "bytes"], dict(sizes))
        text = within_limits(array.tobytes(), MOST_ITEMS)
        return convert(json.loads(text, object_hook=decoded), cls)


class OfQuestions(Text):
    waiting: tuple[tuple[Positive, Reason, float, bool, Any, list[Any]], ...] = ()
    settled: tuple[tuple[Positive, Count, Any], ...] = ()
    recent: tuple[Any, ...] = ()
    forgotten: Count = 0
    n_heard: Count = 0
    n_unmatched: Count = 0
    n_alike: Count = 0
    told: bool = False
    n_far: Count = 0
    usual: Level = 0.0

    @classmethod
    def written(cls, thing: Questions, path: str, arrays: Arrays) -> dict[str, Any]:
        waiting = [
            [query, reason, gap, named, as_kept(x), [] if example is x else [as_kept(example)]]
            for query, (reason, gap, x, example, _, named) in thing.waiting.items()
        ]
        settled = [[query, *each] for query, each in thing.settled.items()]
        recent = [*map(as_kept, thing.recent)]
        return cls.put(thing, path, arrays, waiting=waiting, settled=settled, recent=recent)

    def fill(self, thing: Questions, path: str, arrays: Arrays, sizes: Sizes) -> None:
        part = self.take(path, arrays, sizes)
        queries = [each[0] for each in part.waiting]
        few = max(len(queries), len(part.settled)) <= MOST and len(part.recent) <= RECENT
        need(few and queries == sorted({*queries}), path, "of few questions in order", queries)
        for query, reason, gap, named, x, example in part.waiting:
            thing.put(query, reason, gap, x, example[0] if example else x, named)
        for query, number, label in part.settled:
            need(query not in thing.waiting, path, "waiting or settled", query)
            thing.settled[query] = Answered(number, label)
        thing.recent.extend(part.recent)
        for name in self.__struct_fields__[3:]:
            setattr(thing, name, getattr(part, name))


Sums = tuple[float, ...]
Three = tuple[float, float, float]


class OfAccuracy(Text):
    weights: Three = (0.0, 0.0, 0.0)
    hessian: tuple[Three, ...] = ()
    near: tuple[Level, Level] = (0.0, 0.0)
    spans: tuple[Positive, ...] = ()
    blocks: tuple[Sums, ...] = ()
    classes: dict[Any, Sums] = field(default_factory=dict)
    noted: tuple[tuple[Positive, Share, Share, Share, Share, bool, Any, Any], ...] = ()

    @classmethod
    def written(cls, thing: Accuracy, path: str, arrays: Arrays) -> dict[str, Any]:
        noted = [[query, *each] for query, each in thing.noted.items()]
        return cls.put(thing, path, arrays, noted=noted)

    def fill(self, thing: Accuracy, path: str, arrays: Arrays, sizes: Sizes) -> None:
        part = self.take(path, arrays, sizes)
        hessian, blocks, classes = np.array(part.hessian), part.blocks, [*part.classes.values()]
        finite = np.isfinite([*part.weights, *hessian.ravel()]).all()
        fine: Any = hessian.shape == (3, 3) and finite and np.linalg.eigvalsh(hessian).min() > 0
        need(fine, path, "of a positive hessian", hessian)
        for sums, size in ((blocks, SIZES[0]), (classes, SIZES[1])):
            fine = all(len(each) == size and np.isfinite(each).all() for each in sums)
            need(fine, path, f"of {size} finite sums each", sums)
        need(len(part.spans) == len(blocks), path, "of a block for each span", part.spans)
        noted = {query: Noted(*each) for query, *each in part.noted}
        fine = [*noted] == sorted(noted)  # beyond the spans too: Ctrl-C may end a round
        need(fine and len(noted) <= MOST_NOTED, path, "of few questions in order", [*noted])
        fine = all(each.label in part.classes and each.p > 0 for each in noted.values())
        need(fine, path, "of questions of known classes", noted)
        thing.weights, thing.hessian = [*part.weights], hessian.tolist()
        thing._look(*part.near)
        thing.spans, thing.blocks = [*part.spans], [[*each] for each in blocks]
        thing.classes = {label: [*each] for label, each in part.classes.items()}
        thing.noted = noted


class OfSampler(Part):
    _budget_manager: OfBudgetManager
    _questions: OfQuestions
    _accuracy: OfAccuracy
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
    _late: bool
    _unseen: list[Any] | None
    n_pseudo_labels: Count


class OfMarginSampler(OfSampler):
    _theta: Annotated[float, Meta(ge=0.01, le=1.01)]


PARTS.update(
    {
        "BudgetManager": OfBudgetManager,
        "Questions": OfQuestions,
        "Accuracy": OfAccuracy,
        "RandomSampler": OfSampler,
        "MarginSampler": OfMarginSampler,
        "INeurALSampler": OfINeurALSampler,
    }
)
