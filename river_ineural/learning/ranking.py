"""Where a value lies among those of its feature: running quantiles from a sample of the stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.tensors import Tensors
from river_ineural.network.growth import Columns
from river_ineural.network.phases import raw

__all__ = ["Ranking"]

Floats = NDArray[np.floating[Any]]

SAMPLE = 256  # examples in the sample
KNOTS = 16  # quantiles of a feature
FIRST = 16  # examples before the first survey
AGAIN, SELDOM = 0.25, 500  # the next one after so many more of them, at most after so many
ALIKE = 0.95  # correlation of value and rank from which the rank says nothing new
MOST = 256  # features beyond which none is ranked, nor enlarged


class Ranking(Tensors):
    """What the rank of a value adds to the value, feature by feature.

    Where a few values lie far out, or apart in clumps, distances say little of most of the stream,
    and the rank says more. Such a feature, whose correlation with its rank is below 0.95 in a
    sample of the stream, is half its rank and half itself:

        z = ((x - mean) / q + r(x)) / 2,    r(x) = (F(x) - 1/2) / q_F

    F is the share of the sample below x, half of what equals x counted, between 16 quantiles by
    linear interpolation; q_F is to F what q is to x. The sample is of 256 examples drawn
    uniformly from those that the statistics are of (a reservoir), and is surveyed again when they
    have grown by a quarter. Where there is room for more than 256 features none is ranked: looking
    quantiles up would take a quarter of a step, and pixels gain nothing by it.

    Parameters
    ----------
    ranks
        Whether features are ranked at all.
    sampled
        Whether there is a sample all the same.
    rng
        Generator of the draws, owned by this object.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("knots", "heights", "shares")
    VIEWS = ("raw",)

    def __init__(self, ranks: bool, sampled: bool, rng: np.random.Generator, like: Tensor) -> None:
        self.ranks = ranks
        self.wanted = ranks or sampled
        self.most = MOST  # features; pieces of them are more
        self.rng = rng
        self.sample: Floats = like.new_empty(SAMPLE, 0, device="cpu").numpy()  # raw
        self.n_sampled = 0
        self.n_since = 0  # examples since the last survey
        self.knots = like.new_zeros(0, KNOTS)
        self.heights = like.new_zeros(0, KNOTS)  # q · r at the knots
        # What is taken of (x - mean) / q, 1 or 1/2; mean square of z over that of (x - mean) / q
        self.shares = like.new_ones(2, 0, dtype=torch.float64)
        self.bind()

    def bind(self) -> None:
        self.raw = tuple(raw(getattr(self, name)) for name in self.TENSORS)

    def __getstate__(self) -> dict[str, Any]:
        """Rows in use only."""
        return super().__getstate__() | {"sample": self.sample[: self.n_sampled]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        sample = state.pop("sample")
        self.sample = np.empty((SAMPLE, sample.shape[1]), sample.dtype)
        self.sample[: len(sample)] = sample
        super().__setstate__(state)

    def widened(self, n_features: int, columns: Columns, absent: Floats) -> Ranking:
        """This with features that were `absent` (n_features,) so far; it stays as it is itself."""
        known = len(self.knots)
        ranking = self.wanted and n_features <= self.most
        knots, heights = (self.knots.new_zeros(n_features, KNOTS * ranking) for _ in range(2))
        shares = self.shares.new_ones(2, n_features)
        if not ranking:
            sample = self.sample[:, :0]
            return self.twin(sample=sample, knots=knots, heights=heights, shares=shares)
        sample = np.pad(self.sample, ((0, 0), (0, n_features - known)))
        sample[:, columns] = absent[columns]
        knots[:known], heights[:known], shares[:, :known] = self.knots, self.heights, self.shares
        knots[columns], heights[columns], shares[:, columns] = 0, 0, 1
        return self.twin(sample=sample, knots=knots, heights=heights, shares=shares)

    def rearranged(self, kept: NDArray[np.int64], n_more: int) -> Ranking:
        """This of some columns, with room for n more among those that are ranked."""
        # In memory as a copy's is, so that sums round alike
        sample = np.ascontiguousarray(self.sample[:, kept]) if self.serves else self.sample
        parts = {name: getattr(self, name)[kept] for name in ("knots", "heights")}
        parts |= {"sample": sample, "shares": self.shares[:, kept]}
        return self.twin(**parts, most=MOST + n_more)

    def seen(self) -> Floats:
        """The rows sampled so far (n, d)."""
        return self.sample[: self.n_sampled]

    def faded(self) -> Ranking:
        """A copy that is soon surveyed again."""
        parts = {name: getattr(self, name).clone() for name in self.TENSORS}
        return self.twin(**parts, sample=self.sample.copy(), n_since=SELDOM)

    @property
    def serves(self) -> bool:
        """Whether it is wanted, and there are not too many features."""
        return self.wanted and int(self.sample.shape[1]) == self.knots.shape[0]

    def see(self, rows: Floats, n: int) -> None:
        """Let rows (B, d), before which there were n examples, into the sample."""
        if not self.serves:
            return
        first = min(len(rows), SAMPLE - self.n_sampled)
        self.sample[self.n_sampled : self.n_sampled + first] = rows[:first]
        self.n_sampled += first
        self.n_since += len(rows)
        for i, draw in enumerate(self.rng.random(len(rows) - first).tolist(), first):
            slot = int(draw * max(SAMPLE, n + 1 + i))
            if slot < SAMPLE:
                self.sample[slot] = rows[i]

    def due(self, n: int) -> bool:
        """Whether the sample, of n examples, is to be surveyed."""
        return self.serves and self.n_sampled >= FIRST and self.n_since >= min(AGAIN * n, SELDOM)

    def survey(self, spread: NDArray[np.float64]) -> None:
        """Quantiles of the sample, where they say more than values whose q is `spread` (d,)."""
        self.n_since = 0
        n = self.n_sampled
        x = np.sort(self.sample[:n], axis=0).astype(np.float64)
        at = np.arange(n)[:, np.newaxis]
        begins = np.vstack([np.ones_like(x[:1], bool), x[1:] > x[:-1]])  # of equal values
        first = np.maximum.accumulate(np.where(begins, at, 0), axis=0)
        ends = np.vstack([begins[1:], np.ones_like(begins[:1])])
        last = np.minimum.accumulate(np.where(ends, at, n)[::-1], axis=0)[::-1]
        rank = ((first + last + 1) / (2 * n)) - 0.5  # F - 1/2, whose mean is 0
        apart = x - x.mean(axis=0)
        norms = [np.sqrt(np.square(part).mean(axis=0)) for part in (apart, rank)]
        least = np.finfo(float).tiny
        alike = (apart * rank).mean(axis=0) / np.maximum(norms[0] * norms[1], least)
        ranked = (norms[0] > 0) & (alike < ALIKE) & (spread > 0) & self.ranks
        q = np.where(ranked, spread, 1.0)
        r = rank / np.where(ranked, np.mean(rank**4, axis=0) ** 0.25, 1.0)
        z = (apart / q + r) / 2
        both = np.square(z).mean(axis=0) / np.where(ranked, np.square(norms[0] / q), 1.0)
        chosen = np.linspace(0, n - 1, KNOTS).round().astype(int)
        found = {
            "knots": np.where(ranked, x[chosen], 0.0).T,
            "heights": np.where(ranked, q * r[chosen], 0.0).T,
            "shares": np.stack([np.where(ranked, 0.5, 1.0), np.where(ranked, both, 1.0)]),
        }
        for name, values in found.items():
            getattr(self, name).copy_(torch.from_numpy(values))
