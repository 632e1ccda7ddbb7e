"""Loops compiled by Numba at their first call, and kept on disk."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

__all__ = ["inlined", "loop", "reentering"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums in any order and fused multiplications, so that loops vectorise; NaN and infinity are kept. A
# loop that sums must not store into an array as well: whether it is vectorised, and so the order of
# the sum, would depend on where the arrays lie, which no seed fixes.
REORDER = {"reassoc", "contract", "arcp", "nsz"}
PATIENCE = 1.5  # seconds of compilation after which it is said on a terminal


def loop(function: Function) -> Function:
    """Compile a function at its first call.

    What is compiled is kept on disk, beside the package or in the user's cache folder, for the next
    process. Where neither can be written, or NUMBA_CACHE_DIR be, each process compiles anew.
    """

    options = {"fastmath": REORDER, "error_model": "numpy", "nogil": True}
    return compiled(function, **options, no_cfunc_wrapper=True)  # none that C would call


def reentering(function: Function) -> Function:
    """Compile, for loops to call, a function that holds Python's lock while Python runs in it."""
    return compiled(function)


def compiled(function: Function, **options: Any) -> Function:
    """Kept on disk, where there is a place for it."""
    made: Function
    try:
        made = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no place for a cache
        notices.no_cache()
        made = numba.njit(**options)(function)
    return made


def inlined(function: Function) -> Function:
    """A part of loops, compiled with each of them and never on its own."""
    return numba.njit(inline="always", fastmath=REORDER)(function)  # type: ignore[return-value]


class Notices(event.Listener):
    """What a user is told of compilation: once that it takes a while, once that it is not kept."""

    def __init__(self) -> None:
        self.spent = self.started = 0.0
        self.depth = 0
        self.told = self.warned = False

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled, perhaps within another."""
        if self.depth == 0:
            self.started = time.perf_counter()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        """Tell, on a terminal, as soon as it has taken long."""
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.perf_counter() - self.started
        ours = event.data["dispatcher"].py_func.__module__.startswith("river_ineural.")
        if ours and not self.told and self.spent > PATIENCE and sys.stderr.isatty():
            self.told = True
            print(
                "river_ineural: compiling its loops for this processor; some seconds, the first "
                "time only.",
                file=sys.stderr,
            )

    def no_cache(self) -> None:
        """Warn once that nothing can be kept."""
        if not self.warned:
            self.warned = True
            warnings.warn(
                "Numba finds no folder to keep compiled loops in: each process compiles them anew, "
                "some seconds. Set NUMBA_CACHE_DIR to a folder that can be written.",
                stacklevel=3,
            )


notices = Notices()
event.register("numba:compile", notices)  # type: ignore[no-untyped-call]
