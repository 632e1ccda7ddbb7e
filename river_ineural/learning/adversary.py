"""Adversarial training: the examples of a batch, moved to where f1 errs."""

from __future__ import annotations

from typing import Self

from torch import Tensor

from river_ineural.learning.batch import Batch
from river_ineural.learning.scaling import CONSTANT
from river_ineural.learning.tensors import Tensors
from river_ineural.network.networks import Activations, Weights
from river_ineural.network.phases import raw

__all__ = ["Adversary"]

LARGEST = 0.15  # of the radius, in units of the norm of an example, which is 1
FIRST = LARGEST / 3


class Adversary(Tensors):
    """The radius by which examples are moved, controlled by the labels that are missed.

    It shrinks by a step in which more than 1 % of the given labels drawn are missed, down to a
    fifteenth of the largest, and grows otherwise.

    Parameters
    ----------
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("radius",)
    VIEWS = ("raw",)

    def __init__(self, like: Tensor) -> None:
        self.radius = like.new_full((), FIRST)
        self.bind()

    def renewed(self) -> Self:
        """For networks that learn anew; this object stays as it is."""
        other = self.twin(radius=self.radius.clone())
        other.radius.fill_(FIRST)
        return other

    def bind(self) -> None:
        self.raw = raw(self.radius.view(1))

    def move(self, batch: Batch, w: Weights, a: Activations, n_labelled: int) -> None:
        """Move each x of the batch by the radius to where f1 of its class falls behind.

        Against the gradient of f1(its class) - f1(the best other).

        Parameters
        ----------
        n_labelled
            Rows of the history before it have a label that was given.
        """
        b, sign = batch.raw, a.raw.error1
        w.exploit(batch.columns, a, exploring=False)
        a.phases.oppose(a.raw.f1, b.targets, b.rows, n_labelled, LARGEST, sign, self.raw)
        w.adversary(a, batch.direction)
        a.phases.perturb(b.direction, self.raw, CONSTANT, b.x)
