"""Loops that Numba compiles at their first call and caches on disk."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums in any order and fused multiplications are allowed, so that loops vectorise; NaN and infinity
# are kept. A loop that sums must not also store into an array: the addresses of arrays, which no
# seed fixes, would decide whether the loop is vectorised, and so the order of the sum.
REORDER = {"reassoc", "contract", "arcp", "nsz"}
OPTIONS = {
    **{"fastmath": REORDER, "error_model": "numpy", "nogil": True},
    "no_cfunc_wrapper": True,  # C never calls it
}
PATIENCE = 1.5  # seconds of compilation before a notice
NOTICE = (
    "compiling its loops for this processor; some seconds, the first time only. "
    "`python -m river_ineural compile` does so beforehand."
)

logger = logging.getLogger("river_ineural")


def loop(function: Function) -> Function:
    """Compile a function, which makes no array, at its first call.

    It does without counts of references to arrays. Numba moves these by atomic operations in each
    call within: 100 ns for six arrays, which is more than a short loop takes.

    A loop that Python calls writes into arrays that it is given, and returns one array at most:
    Numba packs several in Python code, which Ctrl-C would end as a SystemError.

    The compiled code is cached for the next process, next to the package or in the user's cache
    folder. If neither these nor NUMBA_CACHE_DIR can be written, each process compiles again.
    """
    return compiled(function, _nrt=False, **OPTIONS)


def allocating(function: Function) -> Function:
    """Compile a function, as `loop` does, that makes arrays and so counts references to them."""
    return compiled(function, **OPTIONS)


def stamp(folder: Path) -> tuple[int, int]:
    """When the latest of the modules in a folder was written, and the size of all."""
    found = [path.stat() for path in folder.rglob("*.py")]
    return max((each.st_mtime_ns for each in found), default=0), sum(each.st_size for each in found)


STAMP = stamp(Path(__file__).parents[1])


def compiled(function: Function, **options: Any) -> Function:
    """Compile a function; cache it on disk if a folder can be written.

    A function holds what it calls, also of other modules. So it is compiled anew after a change of
    any module: Numba by itself looks at that of the function alone.
    """
    made: Any
    try:
        made = numba.njit(cache=True, **options)(function)
        if (kept := getattr(made._cache, "_cache_file", None)) is not None:
            kept._source_stamp = STAMP
    except RuntimeError:  # no folder for a cache
        notices.no_cache()
        made = numba.njit(**options)(function)
    return cast(Function, made)


def inlined(function: Function) -> Function:
    """Inline a function into each loop that calls it, where it takes less to compile.

    Such a loop keeps to this function's arguments in their order, without *.
    """
    return compiled(function, inline="always", **OPTIONS)


class Notices(event.Listener):
    """Say once that compilation takes a while, log each function, and warn if none is kept."""

    def __init__(self) -> None:
        self.started: dict[Any, float] = {}  # by function that is compiled, perhaps within another
        self.spent = self.until = 0.0  # seconds in all, and the time up to which they are counted
        self.n = 0  # functions of this package
        self.told = self.warned = False

    def on_start(self, event: Any) -> None:
        """The compilation of a function begins, perhaps within that of another."""
        self.started[event.data["dispatcher"]] = time.perf_counter()

    def on_end(self, event: Any) -> None:
        """The compilation ends."""
        function, now = event.data["dispatcher"], time.perf_counter()
        begun = self.started.pop(function, now)  # another listener may have failed at the start
        module = function.py_func.__module__ or ""  # None of what `exec` makes
        if not module.startswith("river_ineural."):
            return
        self.n += 1
        self.spent, self.until = self.spent + now - max(begun, self.until), now
        logger.info("compiled %s.%s in %.1f s", module, function.py_func.__name__, now - begun)
        if self.spent > PATIENCE and not self.told:
            self.told = True
            print(f"river_ineural: {NOTICE}", file=sys.stderr)

    def no_cache(self) -> None:
        """Warn once that compiled code cannot be cached."""
        if not self.warned:
            self.warned = True
            warnings.warn(
                "Numba finds no folder to keep compiled loops in: each process compiles them anew, "
                "some seconds. Set NUMBA_CACHE_DIR to a folder that can be written.",
                stacklevel=3,
            )


notices = Notices()
event.register("numba:compile", notices)  # type: ignore[no-untyped-call]
