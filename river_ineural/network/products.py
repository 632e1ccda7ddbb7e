"""Products of matrices for compiled loops."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from river_ineural.network.loops import loop, reentering

__all__ = ["product"]

Array = NDArray[Any]

NARROW = 4  # columns up to which loops are faster than any library's product
SMALL = 2**18  # multiplications up to which OpenBLAS, which NumPy's product calls, wakes no threads


def by_torch(a: Array, b: Array, out: Array) -> None:
    """Out = a b on the threads that PyTorch may use."""
    torch.mm(torch.from_numpy(a), torch.from_numpy(b), out=torch.from_numpy(out))


@reentering
def large_product(a: Array, b: Array, out: Array) -> None:
    """`by_torch` from a loop: some microseconds more."""
    with numba.objmode():
        by_torch(a, b, out)


@loop
def product(a: Array, b: Array, out: Array) -> None:
    """Out (M, N) = a (M, K) times b (K, N), which are contiguous, or transposed.

    Small ones are BLAS's, through SciPy. PyTorch's are faster where they are large (a third on a
    processor with AVX-512), and only its number of threads can be set.
    """
    zero = out.dtype.type(0)
    if b.shape[1] <= NARROW:
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                total = zero
                for q in range(a.shape[1]):
                    total += a[i, q] * b[q, j]
                out[i, j] = total
    elif a.shape[0] * a.shape[1] * b.shape[1] <= SMALL:
        np.dot(a, b, out)
    else:
        large_product(a, b, out)
