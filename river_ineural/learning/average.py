"""The weights that predict: an average of the iterates."""

from __future__ import annotations

from torch import Tensor

from river_ineural.learning.tensors import Tensors
from river_ineural.network.growth import overlay
from river_ineural.network.layout import Shape, Weights
from river_ineural.network.part import Part

__all__ = ["Average"]

EVERY = 8  # steps between two iterates that enter the average, after the first ones


class Average(Tensors):
    """The mean of the first iterates, then an exponential average of the later ones.

    It takes the place of the uniform draw from all iterates (Algorithm 2, line 8).

    Parameters
    ----------
    span
        Steps of the exponential average, at least `EVERY`.
    flat
        The initial weights.
    """

    TENSORS = ("flat",)

    def __init__(self, span: int, flat: Tensor) -> None:
        self.span = span
        self.flat = flat.clone()
        self.n_steps = 0

    def grown(self, fresh: Tensor, old: Shape, new: Shape, n_features: int) -> Average:
        """The same for more features and classes, whose weights are those of `fresh`.

        This object stays as it is.
        """
        flat = fresh.clone()  # of networks that had no weights yet
        return self.replaced(
            flat=overlay(flat, new, self.flat, old, n_features) if n_features else flat
        )

    def after_step(self, flat: Tensor, part: Part | None) -> None:
        """Move the average towards the weights after a step, which has moved all or a part of them.

        The columns of a part are copied: a rare feature moves so seldom that an average of its
        weights would lag behind.
        """
        self.n_steps += 1
        share = 0.0
        if self.n_steps <= self.span:
            share = 1 / self.n_steps
        elif self.n_steps % EVERY == 0:
            share = EVERY / self.span
        if not part:
            if share:
                self.flat.lerp_(flat, share)
            return
        mine, theirs = Weights(self.flat, part.whole), Weights(flat, part.whole)
        for old, new in zip(mine.shared, theirs.shared, strict=True):
            old.lerp_(new, share)
        part.put_columns(flat, self.flat)
