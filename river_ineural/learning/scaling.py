"""Online centring, scaling and unit norm of raw vectors, on the device of the networks."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.pieces import Pieces
from river_ineural.learning.ranking import Ranking
from river_ineural.learning.tensors import Tensors, lasting
from river_ineural.network import phases
from river_ineural.network.eager import more_than_rounding
from river_ineural.network.growth import Columns
from river_ineural.network.phases import Buffer, Encoding, raw

__all__ = ["CONSTANT", "RawScaling", "Scaling"]

MEMORY = 20_000  # examples that the statistics are of, the older the less
CONSTANT = 1  # columns before those of the features: one, which is 0 in raw vectors


class RawScaling(NamedTuple):
    """What phases take of `Scaling`."""

    reference: Buffer  # (d,) float64
    moments: Buffer  # (4, d) float64
    scaling: Buffer  # (3, d)
    relevance: Buffer  # (2, d) float64
    n_steps: Buffer  # (1,) float64


class Scaling(Tensors):
    """Centre, scale each feature, then scale to unit norm (the paper assumes ‖x‖ = 1).

    With the mean of the examples learned so far, and q the fourth root of the mean fourth power of
    their distance from it, feature by feature, z = (x - mean) / q. A feature that has not varied
    is not scaled. The fourth power lies between the standard deviation, with which rare values of
    a mostly constant feature dwarf all others, and the range, which one outlier sets. A feature
    of two values, a flag, is divided by twice its range where there is a mean: one category is many
    flags, and rare ones would outweigh the numbers. From 20,000 examples on, older ones count less
    and less: features that move are followed.

    Unit norm alone would forget how far an example is from the mean. So a constant s, the root
    mean square of that distance, is put in front of the example first:

        (s, z) / ‖(s, z)‖,    s² = Σ variance / q²

    It also serves the first layers, which have no bias, as one.

    Features are not equally relevant. z_j is multiplied by a_j = (g_j / mean g)^(1/4), within
    [1/4, 4], where g_j is the mean square of f1's input gradient at that feature, at the unscaled
    z_j, over the last 50 steps or so: of the direction in which f1 of the class falls behind the
    best other, of norm 1. So steps are larger for weights of features on which f1 relies already,
    and distances between examples are those that it has found to matter (the diagonal of the
    average gradient outer product; Radhakrishnan et al., Science 2024). s² is then
    Σ variance · a² / q². Where there is room for more than 256 features all count alike: few labels
    do not tell so many apart, and mnist made a tenth to a fifth more mistakes.

    The history stores raw examples, so
    old ones are scaled by the statistics of today.

    Raw vectors hold what a feature is beyond its reference, its first value, subtracted in float64:
    a time in seconds, 1.7e9 and its changes, would be rounded to hundreds of them in float32. So
    the statistics here are of that difference, and a feature that is absent, which is 0, is minus
    the reference.

    Parameters
    ----------
    center, scale, normalize, relevance
        Which of these to do. Without `center` the mean is 0, without `normalize` the constant.
    like
        A tensor of the dtype and device to work in.
    """

    TENSORS = ("reference", "moments", "scaling", "relevance", "n_steps")
    VIEWS = ("raw", "encoding", "phases", "subtracted", "absent")

    def __init__(
        self,
        center: bool,
        scale: bool,
        normalize: bool,
        relevance: bool,
        ranking: Ranking,
        like: Tensor,
    ) -> None:
        self.center = center
        self.scale = scale
        self.normalize = normalize
        self.relevance_wanted = relevance
        self.ranking = ranking
        self.n = 0
        # The mean, and the sums of the second, third and fourth powers of the distance from it
        self.reference = like.new_zeros(0, dtype=torch.float64)
        self.moments = like.new_zeros(4, 0, dtype=torch.float64)
        # The mean, the constant's negative in front; a / q, or half of it; whether it is ranked
        self.scaling = like.new_zeros(3, 0)
        self.relevance = like.new_zeros(2, 0, dtype=torch.float64)  # the mean of g², and a
        self.n_steps = like.new_zeros(1, dtype=torch.float64)  # that g² is the mean of
        self.bind()

    def bind(self) -> None:
        self.raw = RawScaling(*(raw(getattr(self, name)) for name in self.TENSORS))
        self.encoding = Encoding(self.raw.scaling, *self.ranking.raw[:2])
        # For examples that arrive, on the CPU: what is subtracted, and what an absent feature is
        self.subtracted = self.reference.cpu().numpy()
        self.absent = (-self.reference).to(self.scaling.dtype).cpu().numpy()
        self.phases = phases.of(self.moments)

    def widened(self, n_features: int, columns: Columns, first: NDArray[np.float64]) -> Scaling:
        """These statistics with features that have been 0 in every example so far.

        This object stays as it is.

        Parameters
        ----------
        n_features
            That there is room for.
        columns
            Of the features that appear.
        first
            Their first values, which become their references.
        """
        known = len(self.reference)
        reference = self.reference.new_zeros(n_features)
        moments = self.moments.new_zeros(4, n_features)
        scaling = self.scaling.new_zeros(3, n_features)
        relevance = self.relevance.new_zeros(2, n_features)
        scaling[1] = relevance[1] = 1
        reference[:known] = self.reference
        moments[:, :known], scaling[:, :known] = self.moments, self.scaling
        relevance[:, :known] = self.relevance
        n_steps = self.n_steps.clone()
        n_known = (self.relevance[0] > 0).sum().clamp_min(1)
        relevance[0, columns] = self.relevance[0].sum() / n_known  # as relevant as any other
        relevance[1, columns] = 1
        if n_features > self.ranking.most:
            relevance[0], relevance[1], n_steps[0] = 0, 1, 0
        reference[columns] = torch.from_numpy(first).to(reference.device)
        moments[:, columns], scaling[1, columns], scaling[2, columns] = 0, 1, 0
        moments[0, columns] = -reference[columns]
        scaling[0, columns] = -reference[columns].to(scaling.dtype)
        absent = (-reference).to(scaling.dtype).cpu().numpy()
        return self.twin(
            ranking=self.ranking.widened(n_features, columns, absent),
            reference=reference,
            moments=moments,
            scaling=scaling,
            relevance=relevance,
            n_steps=n_steps,
        )

    def rearranged(self, kept: NDArray[np.int64], pieces: Pieces | None) -> Scaling:
        """These statistics of some columns, and of pieces after them: those of the sample.

        This object stays as it is.
        """
        n_more = len(pieces) if pieces else 0
        names = ("reference", "moments", "scaling")
        parts = {name: getattr(self, name)[..., kept] for name in names}
        parts |= {"relevance": self.relevance.new_zeros(2, len(kept))}
        parts |= {"n_steps": torch.zeros_like(self.n_steps)}
        other = self.twin(**parts, ranking=self.ranking.rearranged(kept, n_more))
        n, first = len(kept), np.zeros(n_more)
        other = other.widened(n + n_more, slice(n, n + n_more), first)
        if pieces:
            sample = other.ranking.seen()
            pieces.fill(sample)
            x = torch.from_numpy(sample[:, pieces.columns]).to(self.moments)
            mean = x.mean(dim=0) * self.center
            powers = [(x - mean).pow(power).mean(dim=0) * self.n for power in (2, 3, 4)]
            other.moments[:, pieces.columns] = torch.stack([mean, *powers])
            other._survey()
        other._weigh()
        return other

    def faded(self, n: int) -> Scaling:
        """These statistics as if they were of n examples, or as many as they are of.

        They follow those that come. This object stays as it is.
        """
        parts = {name: getattr(self, name).clone() for name in self.TENSORS}
        other = self.twin(**parts, ranking=self.ranking.faded())
        other._count_as(min(n, self.n))
        return other

    def _count_as(self, n: int) -> None:
        """Let the statistics be as if they were of n examples."""
        self.moments[1:] *= n / max(1, self.n)
        self.n = n

    def update(self, rows: NDArray[np.floating[Any]]) -> None:
        """Let rows (B, d) move the statistics."""
        x: Any = rows
        if isinstance(self.raw.moments, Tensor):
            x = torch.from_numpy(rows).to(self.moments.device)
        self.ranking.see(rows, self.n)
        if self.n + len(rows) > MEMORY:  # older ones fade, so that what moves is followed
            self._count_as(max(0, MEMORY - len(rows)))
        self.phases.observe(x, self.n, self.center, self.raw.moments)
        self.n += len(rows)
        if self.ranking.due(self.n):
            self._survey()
        self._weigh()

    def _survey(self) -> None:
        """See anew where ranks say more."""
        self.ranking.survey((self.moments[3] / self.n).clamp_min(0).pow(0.25).cpu().numpy())

    def _weigh(self) -> None:
        """Let scaling follow the statistics."""
        raw, shares = self.raw, self.ranking.raw[2]
        self.phases.weigh(
            *(self.n, self.center, self.scale, self.normalize, raw.reference, raw.moments),
            *(shares, raw.relevance, raw.n_steps, raw.scaling),
        )

    @lasting
    def on(self, device: torch.device) -> Self:
        """The same on a device; this object stays as it is."""
        moved = {name: getattr(self, name).to(device) for name in self.TENSORS}
        return self.twin(**moved, ranking=self.ranking.on(device))

    @property
    def narrow(self) -> bool:
        """Whether there is room for so few features that what each is like can be found out."""
        return self.scaling.shape[1] <= self.ranking.most

    def varies(self) -> NDArray[np.bool_]:
        """Which columns are more than a constant and its rounding, (d,)."""
        mean, square = self.moments[:2]
        deviation = (square / max(1, self.n)).sqrt()
        varies: NDArray[np.bool_] = (
            more_than_rounding(deviation, mean, self.reference).cpu().numpy()
        )
        return varies

    @property
    def heeds(self) -> bool:
        """Whether features are enlarged."""
        return self.relevance_wanted and self.narrow

    @lasting
    def heedless(self) -> Scaling:
        """One of the same statistics to which all features are alike; this one stays as it is."""
        parts = {name: torch.zeros_like(getattr(self, name)) for name in ("relevance", "n_steps")}
        other = self.twin(**parts, scaling=self.scaling.clone(), relevance_wanted=False)
        other._weigh()
        return other

    def heed(self, direction: Buffer) -> None:
        """Let the directions (B, d) in which f1 errs most easily say what is relevant."""
        self.phases.heed(direction, CONSTANT, self.raw.relevance, self.raw.n_steps)

    def __call__(self, x: Tensor) -> Tensor:
        """Standardise the rows of x (B, d) in place."""
        self.phases.standardize(raw(x), self.encoding, self.normalize, raw(x))
        return x
