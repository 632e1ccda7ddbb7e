"""Locks of models; a fork never copies a lock while another thread holds it."""

from __future__ import annotations

import copy
import inspect
import os
import threading
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import Any, ClassVar, Self, cast
from weakref import WeakKeyDictionary

from river_ineural.features.parameters import Live
from river_ineural.features.validation import SCHEMA, check_schema

Lock = AbstractContextManager[Any]


class Order(IntEnum):
    """A thread that holds a lock waits only for locks of a later kind."""

    SAMPLER = 0
    PIPELINES = 1
    LEARNER = 2


class Locks:
    """All locks of models; during a fork, the thread that forks holds all of them.

    A child process has a copy of each lock, but only the thread that forked. A lock held by another
    thread would stay held, and the data that this thread was changing would be half changed. So a
    fork waits until no other thread is in a call of a model. Python's `logging` does the same.
    """

    def __init__(self) -> None:
        self.order: WeakKeyDictionary[Any, Order] = WeakKeyDictionary()
        self.guard = threading.RLock()  # held while the set of locks must not change
        self.held: list[Any] = []  # locks, and the guard, held by the thread that forks
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.acquire, after_in_parent=self.release, after_in_child=self.release
            )

    def made(self, order: Order) -> Lock:
        """A new lock."""
        lock = threading.RLock()
        with self.guard:
            self.order[lock] = order
        return lock

    def acquire(self) -> None:
        """Acquire all locks; start again if a new lock was made while waiting for one."""
        while True:
            with self.guard:
                known = sorted(self.order.items(), key=lambda item: item[1])
            taken = []
            try:
                for lock, _ in known:
                    lock.acquire()
                    taken.append(lock)
                self.guard.acquire()
                taken.append(self.guard)
                if {*self.order} <= {*taken}:
                    self.held, taken = taken, []
                    return
            finally:
                for lock in taken:
                    lock.release()

    def release(self) -> None:
        """Release all locks after the fork, in both processes."""
        held, self.held = self.held, []
        for lock in reversed(held):
            lock.release()


lock = Locks().made


class Locked:
    """A model whose calls take turns; a copy has a lock of its own, and no file holds one."""

    _order: ClassVar[Order]
    _lock: Lock

    @property
    def _mutable_attributes(self) -> set[str]:
        kinds = type(self).__mro__
        return {name for kind in kinds for name, part in vars(kind).items() if type(part) is Live}

    def mutate(self, new_attrs: dict[str, Any]) -> None:
        """Set parameters by name, all or none; a dict sets parameters of the model inside."""
        with self._lock:
            before = dict(self.__dict__)
            try:
                given = self._set_together(new_attrs)
                inner = {name: part for name, part in given.items() if isinstance(part, dict)}
                # A classifier comes last, for questions forget what was learned by the one before.
                names = sorted(given, key=lambda name: name == "classifier")
                super().mutate({name: {} if name in inner else given[name] for name in names})  # type: ignore[misc]
                for name, attributes in inner.items():
                    getattr(self, name).mutate(attributes)
            except Exception:
                self.__dict__.update(before)
                raise

    def _set_together(self, given: dict[str, Any]) -> dict[str, Any]:
        """Set parameters that are checked together; returns the others."""
        return given

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """A model with the same parameters, or these, that has learned nothing.

        With `include_attributes` it has copies of all other attributes, too.
        """
        other = super().clone(new_params)  # type: ignore[misc]
        if include_attributes:
            given = {*inspect.signature(type(self)).parameters, "_lock"}
            with self._lock:
                rest = {name: part for name, part in vars(self).items() if name not in given}
                other.__dict__.update(copy.deepcopy(rest))
        return cast(Self, other)

    def _copied(self, memo: dict[int, Any]) -> dict[str, Any]:
        """A copy of all but the lock, made while no thread learns."""
        with self._lock:
            return copy.deepcopy({**self.__dict__, "_lock": None}, memo)

    def __getstate__(self) -> dict[str, Any]:
        return {"schema": SCHEMA} | self._copied({})

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_schema(state.pop("schema", None))
        self.__dict__.update(state, _lock=lock(self._order))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self._copied(memo), _lock=lock(self._order))
        return other
