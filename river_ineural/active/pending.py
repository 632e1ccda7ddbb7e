"""Labels that were asked for and have not come yet."""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from river_ineural.features.encoder import is_missing

__all__ = ["MOST", "PATIENCE", "Pending"]

PATIENCE = 5_000  # rounds after which a label is no longer expected
MOST = 10_000  # pending labels, at most

UNNAMED = 0  # key of every x that has no hash
TEXT, NUMBERS = frozenset((str,)), frozenset((float, int, bool))


@functools.lru_cache(maxsize=1 << 14)
def digest(text: str) -> int:
    """A hash of 64 bits of a text, the same in every process, which `hash` is not."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest())


def stable_hash(part: Hashable) -> int:
    """A hash of a name or a value; the same in every process for numbers, text and tuples."""
    if isinstance(part, str):
        return digest(part)
    if isinstance(part, tuple):
        return hash(tuple(map(stable_hash, part)))
    return 0 if is_missing(part) else hash(part)  # Python hashes NaN by its identity


def key_of(x: Any) -> int:
    """A key of x: equal for equal features in any order, or for equal text or another value."""
    try:
        if not isinstance(x, Mapping):  # the first step of a pipeline may take text
            whole = tuple(x) if isinstance(x, list) else x
            by_object = type(whole).__hash__ is object.__hash__  # another one for each copy
            return UNNAMED if by_object else hash((stable_hash(whole),))
        names = map(digest if TEXT.issuperset(map(type, x)) else stable_hash, x)
        values: Iterable[Any] = x.values()
        if not NUMBERS.issuperset(map(type, values)) or (total := sum(values, 0.0)) != total:
            values = map(stable_hash, values)
        return hash(frozenset(zip(names, values, strict=True)))
    except (TypeError, OverflowError):  # no hash, or an int beyond float64
        return UNNAMED


class Pending:
    """Rounds whose label was asked for and has not been learned.

    They are found by a hash of x. A round counts for 5,000 rounds, and the latest 10,000 count.

    Examples
    --------
    >>> pending = Pending()
    >>> pending.add({"a": 1.0, "b": 2.0}, 1)
    >>> pending.count(1)
    1
    >>> pending.remove(pending.find({"b": 2.0, "a": 1.0}))
    >>> pending.count(1)
    0
    """

    def __init__(self) -> None:
        self.rounds: OrderedDict[int, int] = OrderedDict()  # the key of each
        self._by_key: dict[int, list[int]] = {}  # by key, the oldest first

    def add(self, x: Any, now: int) -> None:
        """Expect the label of x, asked for in round `now`, the latest so far."""
        key = key_of(x)
        self.rounds[now] = key
        self._by_key.setdefault(key, []).append(now)
        if len(self.rounds) > MOST:
            self._forget_oldest()

    def find(self, x: Any) -> int | None:
        """The oldest pending round of x; None if there is none."""
        if not self.rounds:
            return None
        rounds = self._by_key.get(key_of(x)) or self._by_key.get(UNNAMED)
        return rounds[0] if rounds else None

    def count(self, now: int) -> int:
        """The number of pending labels in round `now`."""
        keys = self.rounds
        while keys and next(iter(keys)) < now - PATIENCE:
            self._forget_oldest()
        return len(keys)

    def _forget_oldest(self) -> None:
        self.remove(next(iter(self.rounds)))

    def remove(self, asked: int | None) -> None:
        """End the wait for the label of a round; a second call changes nothing."""
        if asked is not None and asked in self.rounds:
            key = self.rounds[asked]
            rounds = self._by_key.get(key, [])
            if rounds and rounds[0] == asked:
                del rounds[0]
            if not rounds:
                self._by_key.pop(key, None)
            del self.rounds[asked]

    def __getstate__(self) -> dict[str, Any]:
        """Rounds and keys as arrays, from which the rest follows."""
        parts = {"rounds": self.rounds, "keys": self.rounds.values()}
        return {name: np.array([*part], np.int64) for name, part in parts.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        for now, key in zip(state["rounds"].tolist(), state["keys"].tolist(), strict=True):
            self.rounds[now] = key
            self._by_key.setdefault(key, []).append(now)
