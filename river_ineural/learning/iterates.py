"""The weights to predict with: an average of the iterates, the last, or a uniform draw from all."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from river_ineural.learning.tensors import Tensors, lasting
from river_ineural.network.growth import overlay
from river_ineural.network.networks import Shape

__all__ = ["EVERY", "Iterates"]

MOST_KEPT = 100_000_000  # numbers in all iterates kept, where all are to be: 0.4 GB in float32
EVERY = 8  # steps from one iterate that enters the average to the next, once there are enough


class Iterates(Tensors):
    """Ω of Algorithm 2, lines 7 and 8, and what stands for it.

    Parameters
    ----------
    kind
        "average": an average of the last iterates predicts. "last": the current weights.
        "uniform": weights drawn uniformly from all iterates so far, the initial ones included.
    n_kept
        Of "uniform": how many stand for all of them; None: as many as `MOST_KEPT` leaves room for.
    n_averaged
        Of "average": steps that it spans, at least `EVERY`.
    rng
        Generator of the draw that Algorithm 1 returns, owned by this object.
    """

    TENSORS = ("kept", "returned")

    def __init__(
        self, kind: str, n_kept: int | None, n_averaged: int, rng: np.random.Generator
    ) -> None:
        self.kind = kind
        self.n_kept = n_kept
        self.n_averaged = n_averaged
        self.rng = rng
        self.kept: list[Tensor] = []
        self.returned: list[Tensor] = []  # one, from the first round on
        self.n_rounds = self.n_steps = 0
        self.served = 0  # which of those kept predicts

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"n_averaged": 50} | state)  # as it was before one could choose

    def predicting(self, flat: Tensor) -> Tensor:
        """The weights that predict, `flat` being the current ones."""
        return self.kept[self.served] if self.kept else flat

    def grown(self, fresh: Tensor, old: Shape, new: Shape, n_features: int) -> Iterates:
        """The same for more features and classes, whose weights are those of `fresh`.

        This object stays as it is.
        """
        kept, returned = (
            [overlay(fresh.clone(), new, past, old, n_features) for past in part]
            for part in (self.kept, self.returned)
        )
        if self.kind != "last" and not kept:
            kept = [fresh.clone()]  # the initial weights: what is averaged, or Ω_0
        return self.twin(kept=kept, returned=returned)

    def retire(self) -> None:
        """Let what has predicted in this round be what Algorithm 1 returns (line 28), perhaps.

        With probability 1/t it takes the place of that of an earlier round: after any number T of
        rounds each is returned with probability 1/T.
        """
        if self.kind == "uniform":
            self.n_rounds += 1
            if self.rng.random() * self.n_rounds < 1:
                self.returned = [lasting(self.kept[self.served].clone)()]

    def after_step(self, flat: Tensor, rng: np.random.Generator) -> None:
        """Move the average to the current weights, in equal parts at first, then exponentially; or
        add them to Ω (Algorithm 2, line 7).

        Ω is kept as a reservoir: every iterate so far is in it with the same probability.
        """
        self.n_steps += 1
        if self.kind == "average":
            if self.n_steps <= self.n_averaged:
                self.kept[0].lerp_(flat, 1 / self.n_steps)
            elif self.n_steps % EVERY == 0:
                self.kept[0].lerp_(flat, EVERY / self.n_averaged)
        elif self.kind == "uniform":
            n = len(self.kept)
            room = n < self.n_kept if self.n_kept else (n + 1) * flat.numel() <= MOST_KEPT
            if room:
                self.kept.append(lasting(flat.clone)())
                return
            slot = int(rng.integers(self.n_steps + 1))
            if slot < n:
                self.kept[slot].copy_(flat)

    def draw(self, rng: np.random.Generator) -> bool:
        """Draw from Ω what predicts from now on (Algorithm 2, line 8).

        Returns
        -------
        Whether others predict now.
        """
        if self.kind != "uniform":
            return False
        self.served = int(rng.integers(len(self.kept)))
        return True

    def fixed(self) -> Iterates:
        """What predicts for ever with the weights that Algorithm 1 returns after this round."""
        return self.twin(kind="last", kept=self.returned, served=0)
