"""Features taken apart: what lies between two quantiles, as a column of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_PIECES", "Pieces"]

Floats = NDArray[np.floating[Any]]

PIECES = (
    6  # of a feature, at most; with eight a model of seven classes grows to five times its size
)
MOST_PIECES = 256  # of all features


@dataclass(frozen=True, eq=False)
class Pieces:
    """Linear pieces of features, in columns beside them.

        p(x) = min(1, max(0, (x - lower) / (upper - lower)))

    from each of seven quantiles of a feature to the next, so that a first layer can bend what it
    makes of a feature at each of them (Gorishniy, Rubachev & Babenko, On embeddings for numerical
    features in tabular deep learning, NeurIPS 2022). Quantiles that are equal count once; a
    feature of two values is not taken apart.

    Parameters
    ----------
    first
        The first of their columns, which follow each other.
    sources
        (P,), the column of the feature of each.
    lower, upper
        (P,), where it begins and ends, in raw vectors.
    """

    first: int
    sources: NDArray[np.int64]
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def columns(self) -> slice:
        """Where they are."""
        return slice(self.first, self.first + len(self))

    @classmethod
    def of(cls, sample: Floats) -> Pieces | None:
        """Those of the features of a sample (n, d), after its columns; None if there are none."""
        if not len(sample):
            return None
        values = np.sort(sample, axis=0)
        varied = np.flatnonzero(values[0] < values[-1])
        most = min(PIECES, MOST_PIECES // max(1, len(varied)))
        at = np.linspace(0, len(values) - 1, most + 1).round().astype(int)
        sources: list[int] = []
        ends: list[Floats] = []
        for column in varied.tolist():
            quantiles = np.unique(values[at, column])
            if len(quantiles) > 2:
                sources += [column] * (len(quantiles) - 1)
                ends.append(np.stack([quantiles[:-1], quantiles[1:]]))
        if not ends:
            return None
        lower, upper = np.hstack(ends)
        return cls(sample.shape[1], np.array(sources), lower, upper)

    def fill(self, x: Floats) -> None:
        """Write them into rows of x (B, d)."""
        along = (x[:, self.sources] - self.lower) / (self.upper - self.lower)
        x[:, self.columns] = np.clip(along, 0, 1)
