"""Adversarial training: moving the examples of a batch to where f1 errs."""

from __future__ import annotations

from typing import Self

from torch import Tensor

from river_ineural.learning.tensors import Tensors

__all__ = ["Adversary"]

LARGEST = 0.15  # of the radius, in units of the norm of an example, which is 1
FIRST = LARGEST / 3


class Adversary(Tensors):
    """The radius by which examples are moved, controlled by the error rate at given labels.

    The radius shrinks in a step in which f1 is wrong at more than 1 % of the given labels drawn,
    down to a fifteenth of its largest value. Otherwise it grows.

    Parameters
    ----------
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("radius",)

    def __init__(self, like: Tensor) -> None:
        self.radius = like.new_full((), FIRST)

    def renewed(self) -> Self:
        """For networks that learn anew; this object stays as it is."""
        return type(self)(self.radius)
