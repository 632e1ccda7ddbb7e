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

FIRST_RADIUS = 1 / 3  # of the largest
CHOICE = (0, 1 / 3, 1)  # shares of the limit that the largest radius can be


class Adversary(Tensors):
    """The radius by which examples are moved, controlled by the labels that are missed.

    How large it may get is chosen by cross-validation: it can be nothing, a third of the limit, or
    all of it, which it is at first. Where a boundary runs through the midst of the examples, none
    may be moved far; that all labels learned are met tells nothing of it.

    Parameters
    ----------
    limit
        The largest radius that can be chosen; 0 moves nothing.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("radius",)
    VIEWS = ("raw",)

    def __init__(self, limit: float, like: Tensor) -> None:
        self.radius = like.new_zeros(())
        self.free_up_to(limit)
        self.bind()

    def free_up_to(self, limit: float) -> None:
        """Begin anew with another limit."""
        self.limit, self.chosen = limit, len(CHOICE) - 1
        self.radius.fill_(limit * FIRST_RADIUS)

    def renewed(self) -> Self:
        """For networks that learn anew; this object stays as it is."""
        other = self.twin(radius=self.radius.clone())
        other.radius.fill_(self.most * FIRST_RADIUS)
        return other

    def at(self, radius: float) -> Self:
        """One whose radius is this; this object stays as it is."""
        last = len(CHOICE) - 1
        return self.twin(limit=radius, chosen=last, radius=self.radius.new_tensor(radius))

    @property
    def most(self) -> float:
        """The largest radius, until another is chosen."""
        return self.choices[self.chosen]

    @property
    def choices(self) -> list[float]:
        """What the largest radius can be."""
        return [share * self.limit for share in CHOICE]

    def bind(self) -> None:
        self.raw = raw(self.radius.view(1))

    def aim(self, batch: Batch, w: Weights, a: Activations, n_labelled: int) -> None:
        """Find in which direction f1 of the class of each x of the batch falls behind.

        Against the gradient of f1(its class) - f1(the best other). The radius shrinks by a step in
        which too many given labels are missed, and grows otherwise.

        Parameters
        ----------
        n_labelled
            Rows of the history before it have a label that was given; 0 leaves the radius as it is.
        """
        b, sign = batch.raw, a.raw.error1
        w.exploit(batch.columns, a, exploring=False)
        a.phases.oppose(a.raw.f1, b.targets, b.rows, n_labelled, self.most, sign, self.raw)
        w.adversary(a, batch.direction)

    def move(self, batch: Batch, a: Activations) -> None:
        """Move each x of the batch by the radius in the direction found."""
        a.phases.perturb(batch.raw.direction, self.raw, CONSTANT, batch.raw.x)
