"""Which form of the phases serves a tensor.

A phase is the arithmetic between two matrix products. Each has two forms with one signature:
`compiled`, loops over arrays of the CPU's memory, and `eager`, calls of PyTorch on tensors of any
device. Numba is imported when the first model is made, not with the package.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Buffer", "Encoding", "compiles", "of", "raw"]

Buffer = NDArray[np.floating] | Tensor  # what phases take: an array, or a tensor, of one memory


class Encoding(NamedTuple):
    """From raw to standardised: by distance, and where the third row of scaling says by rank."""

    scaling: Any  # (3, d); each an array, or a tensor, as phases take it
    knots: Any  # (d, Q)
    heights: Any  # (d, Q)


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
