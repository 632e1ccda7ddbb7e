"""Times in the columns of a table: how they are written, sorted, and what learners get of them."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pandas.api.types import is_numeric_dtype  # type: ignore[import-untyped]

__all__ = ["COMPACT", "DATE", "FORMATS", "column_of", "parts_of_times", "sorted_times", "to_times"]

CLOCK = r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?( ?[AaPp][Mm])?"
MONTHS = [*calendar.month_abbr[1:], *calendar.month_name[1:]]
MONTH = f"(?i:{'|'.join(MONTHS)})"
DAY = rf"\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}|\d{{1,2}}[ /-]{MONTH}[ /-]\d{{4}}"
DATE = rf"({DAY}|{MONTH} \d{{1,2}},? \d{{4}})( {CLOCK})?|{CLOCK}"
NUMBERED = "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y-%m-%d"
NAMED = "%d-%b-%Y", "%d/%b/%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"
DAYS = *NUMBERED, *NAMED
CLOCKS = "%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p"
FORMATS = [*DAYS, *(f"{day} {clock}" for day in DAYS for clock in CLOCKS), *CLOCKS]
COMPACT = "%Y%m%d"
PARTS = "weekday", "hour", "month", "days"  # of a time, each a feature


def to_times(cells: pd.Series[Any], date_format: str | None) -> pd.Series[pd.Timestamp]:
    """Times in UTC; NaT where a cell is not a time. Whole numbers may be such as 20241231."""
    if date_format and is_numeric_dtype(cells):
        cells = cells.map("{:.15g}".format, na_action="ignore")
    elif not date_format and not is_numeric_dtype(cells):
        cells = cells.astype(str).str.replace(r" (UTC|GMT)$", "", regex=True)
    return pd.to_datetime(cells, format=date_format or "ISO8601", errors="coerce", utc=True)


def sorted_times(cells: pd.Series[Any], date_format: str | None) -> pd.Series[Any]:
    """Sorted numbers or times. Every cell must be a number or a time."""
    numbers = is_numeric_dtype(cells)
    values = cells.astype(float) if numbers and not date_format else to_times(cells, date_format)
    if numbers and values.isna().any():  # the format may be that of another column
        values = cells.astype(float)
    if (none := cells[values.isna()]).size:
        cell = none.iloc[0]
        has = "an empty cell" if pd.isna(cell) else f"the cell '{cell}', which is no time"
        raise ValueError(
            f"column {cells.name!r} of --time has {has}: "
            "write a number or 2024-12-31 23:59 in every row, or say how times are written with "
            "--date-format, as '%d.%m.%Y %H:%M'"
        )
    return values.sort_values(kind="stable")


def parts_of_times(values: pd.Series[pd.Timestamp]) -> Iterator[tuple[str, pd.Series[float]]]:
    """Weekday (Monday is 0), hour, month and days since 1970; omits parts that never decrease.

    Days that are all the same stay where some are missing, for that may tell the label.
    """
    times = values.dt
    hour = times.hour + times.minute / 60 + times.second / 3600
    days = (values - pd.Timestamp(0, tz="UTC")) / np.timedelta64(1, "D")
    for part, numbers in zip(PARTS, (times.day_of_week, hour, times.month, days), strict=True):
        tells = part == "days" and numbers.hasnans and numbers.nunique() == 1
        if part == "days" and not tells and times.normalize().nunique() == 1:
            continue  # the hour says the same
        if tells or not numbers.dropna().is_monotonic_increasing:
            yield f"{values.name} ({part})", numbers.astype(float)


def column_of(feature: str) -> str:
    """The column from which a feature was made."""
    column, _, part = feature.removesuffix(")").rpartition(" (")
    return column if part in PARTS else feature
