"""Pseudo-labelled examples that wait until several are learned in one call."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.index import NONE

Values = NDArray[np.float64]
Columns = NDArray[np.int64]
# Values that were given (1, n), their columns (n,), -1 for none; class, and weight (1,).
Example = tuple[Values, Columns, int, Values]

TOGETHER = 6  # that are learned in one call, which takes hardly longer than for one


class PseudoLabels:
    """Pseudo-labelled examples that have not been learned yet, the oldest first."""

    def __init__(self) -> None:
        self.examples: list[Example] = []

    def __getstate__(self) -> dict[str, Any]:
        """All values and columns, one example after the other, and how many each has."""
        values, columns, classes, w = (
            zip(*self.examples, strict=True) if self.examples else [()] * 4
        )
        return {
            "values": np.concatenate([np.empty(0), *(each[0] for each in values)]),
            "columns": np.concatenate([NONE, *columns]),
            "n_values": np.array([*map(len, columns)], np.int64),
            "classes": np.array(classes, np.int64),
            "w": np.concatenate([np.empty(0), *w]),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        ends = [0, *np.cumsum(state["n_values"]).tolist()]
        parts = [slice(*each) for each in itertools.pairwise(ends)]
        # Copied: a pickle's buffers may be read-only, for which Numba would compile anew.
        values, columns, w = (state[name].copy() for name in ("values", "columns", "w"))
        rows = zip(parts, state["classes"].tolist(), w[:, None], strict=True)
        self.examples = [(values[None, at], columns[at], label, w) for at, label, w in rows]

    def spread(self, n_columns: int) -> Values:
        """The values in the columns of each example, (B, n_columns), and NaN elsewhere."""
        found = np.full((len(self.examples), n_columns), np.nan)
        for row, (values, columns, _, _) in zip(found, self.examples, strict=True):
            row[columns[columns >= 0]] = values[0, columns >= 0]
        return found
