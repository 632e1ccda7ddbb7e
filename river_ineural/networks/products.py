"""Matrix products for compiled loops."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from river_ineural.features.jit import allocating, reentering
from river_ineural.networks.threads import single_threaded

Array = NDArray[Any]

NARROW = 4  # columns up to which a loop is faster than any library's product
SMALL = 2**18  # multiplications up to which OpenBLAS, called by `np.dot`, wakes no threads
SHORT = 256  # terms of sums up to which a copy that is turned takes less than BLAS loses without
FEW_ROWS = 16  # of a product, which are so many multiplications


# What of a product is turned: no literals of Python, for each of which Numba compiles anew.
NEITHER, LEFT, RIGHT = np.int64(0), np.int64(1), np.int64(2)


@single_threaded
def by_torch(a: Array, b: Array, turned: np.int64, out: Array) -> None:
    """`product` by PyTorch."""
    one, other = torch.from_numpy(a), torch.from_numpy(b)
    one, other = one.T if turned == LEFT else one, other.T if turned == RIGHT else other
    torch.mm(one, other, out=torch.from_numpy(out))


@reentering
def large_product(a: Array, b: Array, turned: np.int64, out: Array) -> None:
    """Call `by_torch` from a loop, which takes some microseconds more."""
    with numba.objmode():
        by_torch(a, b, turned, out)


@allocating
def small_product(a: Array, b: Array, turned: np.int64, out: Array) -> None:
    """`product` by BLAS, so small that it wakes no threads."""
    if turned == LEFT:
        np.dot(a.T, b, out)
    elif turned == RIGHT and (len(a) < FEW_ROWS or b.shape[1] > SHORT):
        np.dot(a, b.T, out)
    else:
        np.dot(a, np.ascontiguousarray(b.T) if turned == RIGHT else b, out)


@allocating
def product(a: Array, b: Array, turned: np.int64, out: Array) -> None:
    """Write out (M, N) = a (M, K) times b (K, N); the turned one is transposed first.

    Products are computed by BLAS, through SciPy, so many rows at once that it wakes no threads. If
    these are few, PyTorch is faster, and its number of threads can be set.
    """
    inner = a.shape[0] if turned == LEFT else a.shape[1]
    at_once = max(1, SMALL // max(1, inner * out.shape[1]))  # rows
    if out.shape[1] <= NARROW and turned == RIGHT:
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                total = out.dtype.type(0)
                for q in range(inner):
                    total += a[i, q] * b[j, q]
                out[i, j] = total
    elif len(out) <= at_once:
        small_product(a, b, turned, out)
    elif at_once < FEW_ROWS:
        large_product(a, b, turned, out)
    else:
        rows = np.ascontiguousarray(a.T) if turned == LEFT else a
        right = RIGHT if turned == RIGHT else NEITHER
        for i in range(0, len(out), at_once):
            small_product(rows[i : i + at_once], b, right, out[i : i + at_once])
