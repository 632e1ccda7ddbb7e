"""What a file holds of a sampler, and of the examples of its questions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from river_ineural.active.decision import REASONS, Reason
from river_ineural.active.questions import (
    MOST,
    MOST_BYTES,
    RECENT,
    Answered,
    Asked,
    Questions,
    key_of,
    size_of,
)
from river_ineural.features.keys import check_keys
from river_ineural.persistence.parts import Class, Count, Level, Number, Part, Sizes, need

__all__ = ["OfINeurALSampler", "OfSampler"]

WHOLE = -1  # size of an example that is no dict, such as a text
MOST_VALUES = MOST_BYTES // 16
Parts = Annotated[dict[str, list[float]], Meta(max_length=100)]
Last = tuple[dict[Any, float], bool, Reason, float, float, Level, Parts, Class, Class]


class OfManager(Part):
    n_rounds: Count
    n_asked: Count
    left: Number
    _since: Count
    _missing: Level


class OfQuestions(Part):
    """Examples are in flat arrays: the names and the values of one after those of another.

    First come those of all questions as they were given, then those that the classifier saw
    otherwise, and then the latest ones.
    """

    ARRAYS: ClassVar[dict[str, str]] = {
        "rounds": "i8 asked",
        "reasons": "i1 asked",
        "gaps": "f8 asked",
        "same": "? asked",  # whether the classifier saw the example as it was given
        "sizes": "i4 examples",
        "at": "i4 values",  # which name
        "values": "f8 values",
        "odd_at": "i4 odd",  # which value is another than its float
        "odd_is": "i4 odd",
        "answered": "i8 answered 2",  # question and label number
    }
    names: list[Any]
    odd: list[Any]
    labels: list[Any]  # of the answered questions
    forgotten: Count
    n_heard: Count
    n_unmatched: Count
    n_alike: Count
    told: bool

    @staticmethod
    def read(thing: Questions) -> dict[str, Any]:
        asked, settled = thing.waiting.values(), thing.settled
        same = [each.example is each.x for each in asked]
        own = [each.example for each, is_same in zip(asked, same, strict=True) if not is_same]
        pairs = [(query, each.number) for query, each in settled.items()]
        return {
            **flat([*(each.x for each in asked), *own, *thing.recent]),
            "rounds": np.array([*thing.waiting], np.int64),
            "reasons": np.array([REASONS.index(each.reason) for each in asked], np.int8),
            "gaps": np.array([each.gap for each in asked], np.float64),
            "same": np.array(same, np.bool_),
            "answered": np.array(pairs, np.int64).reshape(-1, 2),
            "labels": [each.label for each in settled.values()],
            "forgotten": thing.forgotten,
            "n_heard": thing.n_heard,
            "n_unmatched": thing.n_unmatched,
            "n_alike": thing.n_alike,
            "told": thing.told,
        }

    @staticmethod
    def write(thing: Questions, state: dict[str, Any]) -> None:
        examples, same = unflat(state), state["same"].tolist()
        given = [*itertools.islice(examples, len(same))]
        seen = [x if is_same else next(examples) for x, is_same in zip(given, same, strict=True)]
        columns = (state[name].tolist() for name in ("rounds", "reasons", "gaps"))
        for x, example, now, reason, gap in zip(given, seen, *columns, strict=True):
            size = size_of(x) + (0 if example is x else size_of(example))
            thing.put(now, Asked(key_of(x), REASONS[reason], gap, x, example, size))
        thing.recent.extend(examples)
        for (query, number), label in zip(state["answered"].tolist(), state["labels"], strict=True):
            thing.settled[query] = Answered(number, label)
        for name in ("forgotten", "n_heard", "n_unmatched", "n_alike", "told"):
            setattr(thing, name, state[name])

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        """Questions in their order, few enough of them; examples of names and values there are."""
        rounds, answered, own = state["rounds"], state["answered"][:, 0], (~state["same"]).sum()
        lengths, at, n = state["sizes"], state["at"], len(state["values"])
        odd_at, odd_is = state["odd_at"], state["odd_is"]
        check_keys(self.names)
        n_recent = len(lengths) - len(rounds) - own
        few = max(len(rounds), len(answered)) <= MOST and n <= MOST_VALUES
        need(few and 0 <= n_recent <= RECENT, path, "of few questions", (len(rounds), n))
        need((np.diff(rounds) > 0).all(), f"{path}.rounds", "in order", rounds)
        need(
            len({*answered.tolist()} - {*rounds.tolist()}) == len(answered), path, "once", answered
        )
        need(len(self.labels) == len(answered), f"{path}.labels", "one a question", self.labels)
        need(within(state["reasons"], len(REASONS)), f"{path}.reasons", "reasons", rounds)
        fine = (lengths >= WHOLE).all() and abs(lengths.astype(np.int64)).sum() == n
        need(fine, f"{path}.sizes", "those of the values", lengths)
        fine = within(at, len(self.names)) and within(odd_is, len(self.odd)) and within(odd_at, n)
        need(fine and (np.diff(odd_at) > 0).all(), path, "names and values that are there", at)
        starts = (abs(lengths).cumsum() - 1)[lengths == WHOLE]
        need(np.isin(starts, odd_at).all(), f"{path}.odd_at", "of each text", odd_at)


def within(array: Any, end: int) -> bool:
    """Whether all numbers are in [0, end)."""
    return bool(((array >= 0) & (array < end)).all())


def flat(examples: list[Any]) -> dict[str, Any]:
    """Examples as arrays, and lists of their names and of values that are no floats."""
    names: dict[Any, int] = {}
    kinds: dict[Any, int] = {}
    sizes, at, odd_at, odd_is = [], [], [], []
    values: list[float] = []
    odd: list[Any] = []
    for x in examples:
        whole = not isinstance(x, Mapping)
        pairs = [("", x)] if whole else x.items()
        sizes.append(WHOLE if whole else len(pairs))
        for name, value in pairs:
            at.append(names.setdefault(name, len(names)))
            if not isinstance(value, float | np.floating):
                odd_at.append(len(values))
                key = type(value), repr(value)
                if key not in kinds:
                    kinds[key] = len(odd)
                    odd.append(value)
                odd_is.append(kinds[key])
                value = 0.0
            values.append(value)
    found: dict[str, Any] = {
        name: np.array(numbers, np.int32)
        for name, numbers in (("sizes", sizes), ("at", at), ("odd_at", odd_at), ("odd_is", odd_is))
    }
    return {**found, "values": np.array(values, np.float64), "names": [*names], "odd": odd}


def unflat(state: dict[str, Any]) -> Any:
    """Yield the examples that `flat` made arrays of."""
    names, odd, start = state["names"], state["odd"], 0
    values: list[Any] = state["values"].tolist()
    for i, which in zip(state["odd_at"].tolist(), state["odd_is"].tolist(), strict=True):
        values[i] = odd[which]
    at = state["at"].tolist()
    for size in state["sizes"].tolist():
        end = start + abs(size)
        x = {names[i]: value for i, value in zip(at[start:end], values[start:end], strict=True)}
        yield x.popitem()[1] if size == WHOLE else x
        start = end


class OfSampler(Part):
    _budget_manager: OfManager
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
