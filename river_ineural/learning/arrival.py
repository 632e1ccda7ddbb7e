"""Examples with their classes, and what was said of them before they are learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrival"]

Floats = NDArray[np.floating[Any]]


class Arrival(NamedTuple):
    """What is learned, and what tells whether the stream has changed and whom to trust.

    Parameters
    ----------
    x
        Raw vectors (B, d).
    classes
        Of each row.
    targets
        Rewards r1 and residuals r1 - f1, (B, 2, k); of pseudo-labels residuals are 0.
    scores
        By which classes are predicted, (B, k); None of pseudo-labels.
    estimates
        Of the residual, by each explorer, (n, B, k); None of pseudo-labels.
    """

    x: Floats
    classes: list[int]
    targets: Floats
    scores: Floats | None
    estimates: Floats | None

    def known(self, n_known: int) -> Iterator[tuple[NDArray[np.float64], int]]:
        """Scores and class of each row whose class is one of the first `n_known`."""
        assert self.scores is not None
        rows = self.scores[:, :n_known].astype(np.float64)
        for row, label in zip(rows, self.classes, strict=True):
            if label < n_known:
                yield row, label

    def right(self, n_known: int) -> list[bool]:
        """Of each such row, whether its class has the highest score."""
        return [int(scores.argmax()) == label for scores, label in self.known(n_known)]
