"""Locks of models, which no fork copies while another thread holds them."""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from enum import IntEnum
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Lock", "Order", "lock"]

Lock = AbstractContextManager[Any]


class Order(IntEnum):
    """A thread that holds a lock waits only for locks of a later kind."""

    SAMPLER = 0
    PIPELINES = 1
    LEARNER = 2


class Locks:
    """All locks there are, which are held during a fork by the thread that forks.

    A child has a copy of each lock, and only the thread that forked: a lock that another thread
    held would be held for ever, and what that thread was changing would be half changed. So a fork
    waits until no other thread is in a call of a model, as Python's `logging` does with its lock.
    """

    def __init__(self) -> None:
        self.order: WeakKeyDictionary[Any, Order] = WeakKeyDictionary()
        self.guard = threading.RLock()  # held while the set of locks must stay as it is
        self.held: list[Any] = []  # and the guard, by the thread that forks
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.acquire, after_in_parent=self.release, after_in_child=self.release
            )

    def made(self, order: Order) -> Lock:
        """A new one."""
        lock = threading.RLock()
        with self.guard:
            self.order[lock] = order
        return lock

    def acquire(self) -> None:
        """Hold all; while one is waited for another may be made, and then it begins anew."""
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
        """After the fork, in both processes."""
        held, self.held = self.held, []
        for lock in reversed(held):
            lock.release()


lock = Locks().made
