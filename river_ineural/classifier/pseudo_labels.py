"""Pseudo-labelled examples that wait until several are learned in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Columns = NDArray[np.int64]

NONE: Columns = np.empty(0, np.int64)
TOGETHER = 6  # that are learned in one call, which takes little longer than one for each


class Example(NamedTuple):
    """A pseudo-labelled example."""

    x: Values  # raw, (1, d)
    values: Values  # that were given, (1, n)
    columns: Columns  # of these, (n,); -1 stands for none
    label: int
    w: Values  # weight, (1,)


class PseudoLabels:
    """Pseudo-labelled examples that have not been learned yet, the oldest first."""

    def __init__(self) -> None:
        self.examples: list[Example] = []

    def __getstate__(self) -> dict[str, Any]:
        """Raw x (B, d), which of its values were given, classes (B,) and weights (B,)."""
        x, values, columns, classes, w = self.batch(self.examples)
        given = np.zeros(x.shape, np.bool_)
        given[:, columns[columns >= 0]] = np.isfinite(values[:, columns >= 0])
        return {"x": x, "given": given, "classes": classes, "w": w}

    def __setstate__(self, state: dict[str, Any]) -> None:
        x, columns = state["x"], np.arange(state["x"].shape[1])
        values = np.where(state["given"], x, np.nan)
        self.examples = [
            Example(x[i : i + 1], values[i : i + 1], columns, label, state["w"][i : i + 1])
            for i, label in enumerate(state["classes"].tolist())
        ]

    @staticmethod
    def batch(examples: list[Example]) -> tuple[Values, Values, Columns, Columns, Values]:
        """Examples as one: x (B, d), values (B, n), their columns (n,), classes (B,), w (B,).

        NaN stands for a value that an example does not have.
        """
        if not examples:
            return np.empty((0, 0)), np.empty((0, 0)), NONE, NONE, np.empty(0)
        xs, values, columns, labels, w = zip(*examples, strict=True)
        x, of = np.concatenate(xs), columns[0]
        if all(each is of for each in columns):
            return x, np.concatenate(values), of, np.array(labels), np.concatenate(w)
        found = np.full(x.shape, np.nan)
        for row, example in zip(found, examples, strict=True):
            there = example.columns >= 0
            row[example.columns[there]] = example.values[0, there]
        return x, found, np.arange(x.shape[1]), np.array(labels), np.concatenate(w)
