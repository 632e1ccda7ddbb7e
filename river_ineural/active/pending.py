"""Labels that were asked for and are not there yet."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from river.base.typing import FeatureName

__all__ = ["MOST", "PATIENCE", "Pending"]

PATIENCE = 5_000  # rounds after which a label is no longer expected
MOST = 10_000  # asks that are remembered

UNNAMED = None  # key of every x that has no hash
PROCESS = hash("Another process hashes strings otherwise.")


def key_of(x: dict[FeatureName, Any]) -> int | None:
    """The same for the same features in any order."""
    try:
        return hash(
            frozenset((name, None if is_nan(value) else value) for name, value in x.items())
        )
    except TypeError:
        return UNNAMED


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


class Pending:
    """Rounds whose label was asked for and has not been learned, by their x.

    Only a hash of x is kept. A round counts for `PATIENCE` rounds, and the latest `MOST` count.

    Examples
    --------
    >>> pending = Pending()
    >>> pending.ask({"a": 1.0, "b": 2.0}, 1)
    >>> pending.count(1)
    1
    >>> pending.settle({"b": 2.0, "a": 1.0})
    >>> pending.count(1)
    0
    """

    def __init__(self) -> None:
        self._keys: OrderedDict[int, int | None] = OrderedDict()  # by round
        self._rounds: dict[int | None, list[int]] = {}  # by key, the oldest first
        self._process = PROCESS

    def ask(self, x: dict[FeatureName, Any], now: int) -> None:
        """Expect the label of x, asked for in round `now`, which is later than all before."""
        key = key_of(x)
        self._keys[now] = key
        self._rounds.setdefault(key, []).append(now)
        if len(self._keys) > MOST:
            self._forget_oldest()

    def settle(self, x: dict[FeatureName, Any]) -> None:
        """The label of x is there: of the oldest round with that x, if there is one."""
        if self._keys:
            key = key_of(x)
            rounds = self._rounds.get(key) or self._rounds.get(UNNAMED)
            if rounds:
                self._forget(rounds[0])

    def count(self, now: int) -> int:
        """How many labels are expected in round `now`."""
        keys = self._keys
        while keys and next(iter(keys)) < now - PATIENCE:
            self._forget_oldest()
        return len(keys)

    def _forget_oldest(self) -> None:
        self._forget(next(iter(self._keys)))

    def _forget(self, asked: int) -> None:
        """A round that is the oldest of its key."""
        key = self._keys.pop(asked)
        rounds = self._rounds[key]
        del rounds[0]
        if not rounds:
            del self._rounds[key]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """In another process the hashes are others: any x settles what was asked before."""
        self.__dict__.update(state)
        if self._process != PROCESS:
            self._process = PROCESS
            self._keys = OrderedDict.fromkeys(self._keys, UNNAMED)
            self._rounds = {UNNAMED: list(self._keys)} if self._keys else {}
