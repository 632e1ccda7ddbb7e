"""The weights to predict with: an average of the iterates, the last, or a uniform draw from all."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from river_ineural.learning.tensors import Tensors, lasting
from river_ineural.network.contexts import Shape
from river_ineural.network.growth import overlay

__all__ = ["N_ITERATES", "Iterates"]

N_ITERATES = 8  # snapshots that stand for all iterates so far
WINDOW, EVERY = 50, 8  # steps that an average of the iterates spans, and from one to the next


class Iterates(Tensors):
    """Ω of Algorithm 2, lines 7 and 8, and what stands for it.

    Parameters
    ----------
    kind
        "average": an average of the last iterates predicts. "last": the current weights.
        "uniform": weights drawn uniformly from all iterates so far.
    """

    TENSORS = ("kept",)

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.kept: list[Tensor] = []
        self.n_rounds = self.n_steps = 0
        self.served = 0  # which of those kept predicts

    def predicting(self, flat: Tensor) -> Tensor:
        """The weights that predict, `flat` being the current ones."""
        return self.kept[self.served] if self.kept else flat

    def grown(self, fresh: Tensor, old: Shape, new: Shape, n_features: int) -> Iterates:
        """The same for more features and classes, whose weights are those of `fresh`.

        This object stays as it is.
        """
        kept = [overlay(fresh.clone(), new, past, old, n_features) for past in self.kept]
        if self.kind == "average" and not kept:
            kept = [fresh.clone()]
        return self.twin(kept=kept)

    def after_step(self, flat: Tensor) -> None:
        """Move the average to the current weights: in equal parts at first, then exponentially."""
        self.n_steps += 1
        if self.kind != "average":
            return
        if self.n_steps <= WINDOW:
            self.kept[0].lerp_(flat, 1 / self.n_steps)
        elif self.n_steps % EVERY == 0:
            self.kept[0].lerp_(flat, EVERY / WINDOW)

    def draw(self, flat: Tensor, rng: np.random.Generator) -> bool:
        """Add the current weights to Ω, and draw from it what predicts (Algorithm 2, 7 and 8).

        Ω is kept as a reservoir: every iterate so far is in it with the same probability, and the
        draw from it is uniform, so the weights that predict are a uniform draw from all iterates.

        Returns
        -------
        Whether others predict now.
        """
        if self.kind != "uniform":
            return False
        self.n_rounds += 1
        if len(self.kept) < N_ITERATES:
            self.kept.append(lasting(flat.clone)())
        else:
            slot = int(rng.integers(self.n_rounds))
            if slot < N_ITERATES:
                self.kept[slot].copy_(flat)
        self.served = int(rng.integers(len(self.kept)))
        return True
