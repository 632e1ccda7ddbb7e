"""Which form of the phases serves a tensor.

A phase is the arithmetic between two matrix products. Each has two forms with one signature:
`compiled`, loops over arrays of the CPU's memory, and `eager`, calls of PyTorch on tensors of any
device. Numba is imported when the first model is made, not with the package.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Buffer", "compiles", "of", "raw"]

Buffer = NDArray[np.floating] | Tensor  # what phases take: an array, or a tensor, of one memory


def of(tensor: Tensor) -> ModuleType:
    """The phases for its device."""
    if tensor.device.type == "cpu":
        from river_ineural.network import compiled

        return compiled
    from river_ineural.network import eager

    return eager


def compiles(tensor: Tensor) -> bool:
    """Whether its phases are compiled loops, which take arrays."""
    return of(tensor).__name__.endswith("compiled")


def raw(tensor: Tensor) -> Buffer:
    """`tensor` as the phases of its device take it: on the CPU as an array of the same memory."""
    return tensor.numpy() if compiles(tensor) else tensor
