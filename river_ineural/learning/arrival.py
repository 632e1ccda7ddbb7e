"""Examples with their classes, and their scores from before they are learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrival"]

Floats = NDArray[np.floating[Any]]


class Arrival(NamedTuple):
    """Examples to be learned, and what moves the drift detector and the trust in explorers.

    Parameters
    ----------
    x
        Raw vectors (B, d).
    classes
        The class of each row.
    targets
        Rewards r1 and residuals r1 - f1, (B, 2, k); residuals of pseudo-labels are 0.
    scores
        Scores before learning, (B, k); None for pseudo-labels.
    estimates
        Estimates of the residual by each explorer, (n, B, k); None for pseudo-labels.
    """

    x: Floats
    classes: list[int]
    targets: Floats
    scores: Floats | None
    estimates: Floats | None

    def scored(self, n_known: int) -> Iterator[tuple[NDArray[np.float64], int]]:
        """Scores of the first `n_known` classes, and the class, of each row."""
        assert self.scores is not None
        return zip(self.scores[:, :n_known].astype(np.float64), self.classes, strict=True)

    def right(self, n_known: int) -> list[bool]:
        """For each row, whether its class has the highest of these scores."""
        return [int(scores.argmax()) == label for scores, label in self.scored(n_known)]
