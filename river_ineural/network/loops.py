"""Loops compiled by Numba at their first call, and kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["loop"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums in any order and fused multiplications, so that loops vectorise; NaN and infinity are kept. A
# loop that sums must not store into an array as well: whether it is vectorised, and so the order of
# the sum, would depend on where the arrays lie, which no seed fixes.
REORDER = {"reassoc", "contract", "arcp", "nsz"}


def loop(function: Function) -> Function:
    """Compile a function at its first call."""
    jit = numba.njit(cache=True, fastmath=REORDER, error_model="numpy", nogil=True)
    compiled: Function = jit(function)  # type: ignore[assignment]
    return compiled
