"""What a column of text holds: numbers, flags, times or categories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from river_ineural.inputs.values import GAPS, LARGEST

__all__ = ["Column", "Kind", "as_times", "fit", "parts_of_times", "read_column"]

Kind = Literal["numbers", "flags", "times", "categories"]

FLAGS = {"true": 1.0, "false": 0.0}
NEARLY_ALL = 0.9  # of the cells that are not empty have to be numbers in a column of numbers
MANY, OFTEN = 100, 0.5  # categories, and their share of the rows, from which on they are ids
FORMATS = (  # of times that are not written as ISO 8601 has them
    *("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"),
    *("%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p"),
    *("%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %I:%M:%S %p"),
    *("%H:%M", "%H:%M:%S"),
)
DAY, YEAR = pd.Timedelta("1D"), pd.Timedelta("366D")
EPOCH = pd.Timestamp(0, tz="UTC")


@dataclass(frozen=True)
class Column:
    """What was found in a column.

    Parameters
    ----------
    values
        float64 of numbers and flags, NaN where one is missing; times in UTC, NaT where one is
        missing; text of categories, None where one is missing.
    note
        What a reader should know; empty if there is nothing.
    use
        Whether anything can be learned from it.
    """

    name: str
    kind: Kind
    values: pd.Series[Any]
    note: str = ""
    use: bool = True

    @property
    def n_missing(self) -> int:
        """Cells without a value."""
        return int(self.values.isna().sum())

    @property
    def n_distinct(self) -> int:
        """Different values."""
        return int(self.values.nunique())


def read_column(name: str, text: pd.Series[str], category: bool = False) -> Column:
    """What a column of text holds.

    A column is of flags if all cells are true or false, of numbers if nine of ten are, of times if
    all are; else its text are categories. Cells that are empty or read ?, -, NA, N/A, NaN, None or
    null are missing among numbers, flags and times; in categories only empty ones are.

    Parameters
    ----------
    category
        Whether it is one whatever its text looks like.

    Raises
    ------
    ValueError
        If a number is infinite, or beyond 1e15.

    Examples
    --------
    >>> import pandas as pd  # type: ignore[import-untyped]
    >>> [read_column("a", pd.Series(cells)).kind for cells in (
    ...     ["1", "2.5", "?"], ["true", "False", ""], ["2024-02-29", "2024-03-01"], ["x", "y"]
    ... )]
    ['numbers', 'flags', 'times', 'categories']
    """
    text = text.str.strip()
    lower = text.str.lower()
    given = ~lower.isin(GAPS)
    if not category and given.any():
        if lower[given].isin(list(FLAGS)).all():
            return fit(Column(name, "flags", lower.map(FLAGS)))
        numbers = pd.to_numeric(text.where(given), errors="coerce").astype(np.float64)
        n_other = int((given & numbers.isna()).sum())
        if n_other <= (1 - NEARLY_ALL) * int(given.sum()):
            return fit(Column(name, "numbers", numbers, others(text, numbers)))
        if n_other == int(given.sum()) and (times := as_times(text.where(given))) is not None:
            return fit(Column(name, "times", times))
    return fit(Column(name, "categories", text.where(text != "", None).astype(object)))


def others(text: pd.Series[str], numbers: pd.Series[float]) -> str:
    """A note of the cells that are no number and taken as missing; empty if there are none."""
    odd = text[numbers.isna() & ~text.str.lower().isin(GAPS)]
    if not len(odd):
        return ""
    return f"{len(odd):,} cells are no numbers, as {odd.iloc[0]!r}: taken as missing"


def fit(column: Column) -> Column:
    """A column, not to be used if it tells nothing: one value, or another text in most rows.

    Raises
    ------
    ValueError
        If a number is infinite, or beyond 1e15.
    """
    if column.kind == "numbers":
        far = column.values[column.values.abs() > LARGEST]
        if len(far):
            raise ValueError(
                f"column {column.name!r} has {far.iloc[0]:g}, beyond ±{LARGEST:g}: write numbers "
                f"of another unit, or leave it out with --drop {column.name!r}"
            )
    n, rows = column.n_distinct, len(column.values)
    if n == 0:
        note = "left out: empty"
    elif n == 1 and not column.n_missing:
        note = f"left out: always {column.values.iloc[0]}"
    elif column.kind == "numbers" and rows > MANY and counts(column.values):
        note = "left out: larger in each row, as counters are"
    elif column.kind == "categories" and n > max(MANY, OFTEN * rows):
        note = f"left out: {n:,} different texts in {rows:,} rows, as ids have"
    else:
        return column
    return replace(column, note=note, use=False)


def counts(numbers: pd.Series[float]) -> bool:
    """Whether each is larger than the one before."""
    return bool(numbers.notna().all() and (numbers.diff().iloc[1:] > 0).all())


def as_times(text: pd.Series[str]) -> pd.Series[pd.Timestamp] | None:
    """Times in UTC, where all cells that are there are times; else None.

    Raises
    ------
    ValueError
        If days and months cannot be told apart.
    """
    there = text.notna()
    iso = pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True)
    if iso[there].notna().all():
        return iso
    found = {}
    for pattern in FORMATS:
        times = pd.to_datetime(text, errors="coerce", format=pattern, utc=True)
        if times[there].notna().all():
            found[pattern] = times
    if len(found) > 1:
        raise ValueError(
            f"column {text.name!r}: {text[there].iloc[0]!r} is a day and a month or a month and a "
            "day: write times as 2024-12-31 23:59"
        )
    return next(iter(found.values()), None)


def parts_of_times(column: Column) -> Iterator[tuple[str, pd.Series[float]]]:
    """What learners get of times: day of the week (Monday is 0) and hour; the month where there is
    more than a year; days since 1970 where rows are in another order than these times.

    Days that only grow are left out: what is learned of them never comes again. So are parts that
    are always the same.
    """
    values, times = column.values, column.values.dt
    parts = {
        "weekday": times.day_of_week,
        "hour": times.hour + times.minute / 60 + times.second / 3600,
    }
    if values.max() - values.min() > YEAR:
        parts["month"] = times.month
    if not values.dropna().is_monotonic_increasing:
        parts["days"] = (values - EPOCH) / DAY
    for part, numbers in parts.items():
        if numbers.nunique() > 1:
            yield f"{column.name} ({part})", numbers.astype(np.float64)
