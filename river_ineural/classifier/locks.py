"""Locks of models; a fork never copies a lock while another thread holds it."""

from __future__ import annotations

import copy
import inspect
import os
import threading
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

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

T = TypeVar("T", bound=Any)


def with_attributes(clone: T, model: Any) -> T:
    """The clone, after it got copies of all attributes but parameters and the lock."""
    given = {*inspect.signature(type(model)).parameters, "_lock"}
    copied = vars(copy.deepcopy(model)).items()
    clone.__dict__.update({name: part for name, part in copied if name not in given})
    return clone
