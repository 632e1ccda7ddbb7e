"""Columns that give the label away; alone, so that it needs none of what a comparison needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pandas.api.types import is_numeric_dtype  # type: ignore[import-untyped]

from river_ineural.compare.reading import Table
from river_ineural.compare.times import column_of

__all__ = ["giveaways"]

BINS, ROWS = 64, 10  # of the numbers of a column, and mean rows of a bin
GIVEN_AWAY = 0.1  # share of the mistakes of the commonest label that one column leaves


def giveaways(table: Table) -> Iterator[str]:
    """A note for each column that alone tells nearly all labels."""
    labels = pd.Series(table.labels)
    base = 1 - table.shares.iloc[0]
    bins = min(BINS, max(2, len(labels) // ROWS))
    told = set[str]()
    for feature, column in table.features.items():
        if (name := column_of(feature)) in told:
            continue
        if is_numeric_dtype(column) and column.nunique() > bins:
            column = pd.qcut(column, bins, labels=False, duplicates="drop")
        wrong = mistakes(column, labels)
        if column.hasnans:  # filled for one class alone it tells that, whatever its values are
            wrong = min(wrong, mistakes(column.isna(), labels))
        if wrong <= GIVEN_AWAY * base * len(labels):
            told.add(name)
            yield (
                f"{name}: this column alone tells {1 - wrong / len(labels):.1%} of the labels. If "
                f"it is known only after the label, leave it out: --drop {name!r}"
            )


def mistakes(values: pd.Series[Any], labels: pd.Series[str]) -> int:
    """Mistakes of the commonest label of each value: half of its rows by the other half."""
    codes, _ = pd.factorize(values, use_na_sentinel=False)
    classes, known = pd.factorize(labels, sort=True)  # of equally common ones the first
    half, wrong = pd.Series(codes).groupby(codes).cumcount().to_numpy() % 2 == 0, 0
    for one, other in ((half, ~half), (~half, half)):
        pairs, counts = np.unique(codes[one] * len(known) + classes[one], return_counts=True)
        pairs = pairs[np.lexsort((-pairs, counts))]  # the commonest label of each value last
        commonest = np.full(codes.max() + 1, -1)
        commonest[pairs // len(known)] = pairs % len(known)  # the last one stays
        wrong += int((commonest[codes[other]] != classes[other]).sum())
    return wrong
