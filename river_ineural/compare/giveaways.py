"""Columns that give the label away; alone, so that it needs none of what a comparison needs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pandas.api.types import is_numeric_dtype  # type: ignore[import-untyped]

from river_ineural.compare.reading import Table
from river_ineural.compare.times import column_of

__all__ = ["giveaways"]

BINS = 64  # of the numbers of a column
GIVEN_AWAY = 0.1  # share of the mistakes of the commonest label that one column leaves


def giveaways(table: Table) -> Iterator[str]:
    """A note for each column that alone tells nearly all labels."""
    labels = pd.Series(table.labels)
    base = 1 - table.shares.iloc[0]
    halves = np.arange(len(labels)) % 2 == 0
    told = set[str]()
    for feature, column in table.features.items():
        if (name := column_of(feature)) in told:
            continue
        if is_numeric_dtype(column) and column.nunique() > BINS:
            column = pd.qcut(column, BINS, labels=False, duplicates="drop")
        codes = pd.Series(pd.factorize(column, use_na_sentinel=False)[0])
        wrong = 0
        for half in (halves, ~halves):
            commonest = labels[half].groupby(codes[half]).agg(lambda of: of.mode().iloc[0])
            wrong += int((codes[~half].map(commonest) != labels[~half]).sum())
        if wrong <= GIVEN_AWAY * base * len(labels):
            told.add(name)
            yield (
                f"{name}: this column alone tells {1 - wrong / len(labels):.1%} of the labels. If "
                f"it is known only after the label, leave it out: --drop {name!r}"
            )
