"""Adversarial training: the examples of a batch, moved to where f1 errs."""

from __future__ import annotations

from torch import Tensor

from river_ineural.learning.batch import Batch
from river_ineural.learning.scaling import CONSTANT
from river_ineural.learning.tensors import Tensors
from river_ineural.network.contexts import Activations, Weights, adversary, exploit
from river_ineural.network.phases import raw

__all__ = ["Adversary"]

FIRST_RADIUS = 1 / 3  # of the largest


class Adversary(Tensors):
    """The radius by which examples are moved, controlled by the labels that are missed.

    Parameters
    ----------
    most
        The largest radius; 0 moves nothing.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("radius",)
    VIEWS = ("raw",)

    def __init__(self, most: float, like: Tensor) -> None:
        self.most = most
        self.radius = like.new_tensor(most * FIRST_RADIUS)
        self.bind()

    def bind(self) -> None:
        self.raw = raw(self.radius.view(1))

    def aim(self, batch: Batch, w: Weights, a: Activations, n_labelled: int) -> None:
        """Find in which direction f1 of the class of each x of the batch falls behind.

        Against the gradient of f1(its class) - f1(the best other). The radius shrinks by a step in
        which too many given labels are missed, and grows otherwise.

        Parameters
        ----------
        n_labelled
            Rows of the history before it have a label that was given.
        """
        b, sign = batch.raw, a.raw.error1
        exploit(w, batch.columns, a, exploring=False)
        a.phases.oppose(a.raw.f1, b.targets, b.rows, n_labelled, self.most, sign, self.raw)
        adversary(w, sign, a, batch.direction)

    def move(self, batch: Batch, a: Activations) -> None:
        """Move each x of the batch by the radius in the direction found."""
        a.phases.perturb(batch.raw.direction, self.raw, CONSTANT, batch.raw.x)
