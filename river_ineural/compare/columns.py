"""What a column of text holds: numbers, flags, times or categories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd  # type: ignore[import-untyped]

from river_ineural.inputs.values import GAPS, LARGEST

__all__ = ["Column", "as_times", "guess_decimal", "parts_of_times", "read_column", "to_numbers"]

FLAGS = {"true": 1.0, "false": 0.0}
NEARLY_ALL = 0.9  # of the cells that are not empty are numbers in a column of numbers
MANY, OFTEN = 100, 0.5  # categories, and their share of the rows, from which on they are ids
# Times that are not written as ISO 8601 has them. pandas' own guess takes 1.2.3 for a day.
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p")
DAYS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
FORMATS = ("%H:%M", "%H:%M:%S", *(f"{day}{clock}" for day in DAYS for clock in CLOCKS))
# Numbers by their decimal mark; the other mark, a space or an apostrophe is one of thousands.
# pandas' `thousands` would read the day 01.02.2024 as a million.
NUMBERS = {
    mark: re.compile(
        rf"[+-]?(?=\d|[{mark}]\d)(?:[1-9]\d{{0,2}}(?:[{other}\s']\d{{3}})+|\d*)"
        rf"(?:[{mark}]\d*)?(?:[eE][+-]?\d+)?"
    )
    for mark, other in (".,", ",.")
}


@dataclass(frozen=True)
class Column:
    """What was found in a column."""

    name: str
    kind: str  # numbers, flags, times or categories
    values: pd.Series[Any]  # float64, times in UTC, or text; NaN, NaT or None where one is missing
    note: str = ""  # what a reader should know
    use: bool = True  # whether anything can be learned from it


def guess_decimal(text: pd.DataFrame) -> str:
    """The only mark with which all numbers can be read, in cells of text by their lines."""
    found: dict[str, str] = {}
    for name, cells in text.items():
        given = cells[~cells.str.lower().isin(GAPS)]
        point, comma = (given.str.fullmatch(pattern) for pattern in NUMBERS.values())
        if (point | comma).mean() < NEARLY_ALL:
            continue
        either = point & comma & given.str.contains(",")
        for mark, which in ((".", point & ~comma), (",", comma & ~point), ("either", either)):
            for line, cell in given[which][:1].items():
                found.setdefault(mark, f"{cell!r} in line {line}, column {name!r}")
    if "." in found and "," in found:
        raise ValueError(
            f"{found['.']}, has a decimal point, and {found[',']}, a decimal comma: write all "
            "numbers in one way, or say --decimal . or --decimal ,"
        )
    if [*found] == ["either"]:
        raise ValueError(
            f"{found['either']}, may be a thousand or a fraction: say --decimal . or --decimal ,"
        )
    return "," if "," in found else "."


def to_numbers(text: pd.Series[str], decimal: str = ".") -> pd.Series[float]:
    """Numbers, NaN where a cell is none."""
    good = ~text.str.contains(r"[.,\s']") | text.str.fullmatch(NUMBERS[decimal])
    other = "." if decimal == "," else ","
    plain = text.where(good).str.replace(rf"[{other}\s']", "", regex=True)
    return pd.to_numeric(plain.str.replace(decimal, "."), errors="coerce").astype(float)


def read_column(
    name: str, text: pd.Series[str], category: bool = False, decimal: str = "."
) -> Column:
    """What a column of text, by lines, holds.

    It is of flags if all cells are true or false, of numbers if nine of ten are, of times if all
    are; else, or if it is said to be a `category`, of categories. Cells that are empty or read ?,
    -, NA, N/A, NaN, None or null are missing, but in categories only empty ones are.

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
    given = text[~lower.isin(GAPS)]
    if not category and len(given):
        if lower[given.index].isin(list(FLAGS)).all():
            return checked(Column(name, "flags", lower.map(FLAGS)))
        numbers = to_numbers(given, decimal)
        odd = given[numbers.isna()]
        if len(odd) <= (1 - NEARLY_ALL) * len(given):
            shown = [f"{cell!r} in line {line}: taken as missing" for line, cell in odd.items()]
            note = f"{len(odd):,} cells are no numbers, as {shown[0]}" if shown else ""
            return checked(Column(name, "numbers", numbers.reindex(text.index), note))
        if len(odd) == len(given) and (times := as_times(name, given)) is not None:
            return checked(Column(name, "times", times.reindex(text.index)))
    return checked(Column(name, "categories", text.where(text != "", None).astype(object)))


def checked(column: Column) -> Column:
    """A column, not to be used if it tells nothing: one value, or another text in most rows."""
    values, n, rows = column.values, column.values.nunique(), len(column.values)
    full, numbers = values.notna().all(), column.kind == "numbers"
    for line, far in values[values.abs() > LARGEST][:1].items() if numbers else ():
        raise ValueError(
            f"column {column.name!r} has {far:g} in line {line}, beyond ±{LARGEST:g}: write "
            f"numbers of another unit, or leave it out with --drop {column.name!r}"
        )
    if n == 0:
        note = "left out: empty"
    elif n == 1 and full:
        note = f"left out: always {values.iloc[0]}"
    elif numbers and full and rows > MANY and (values.diff()[1:] > 0).all():
        note = "left out: larger in each row, as counters are"
    elif column.kind == "categories" and n > max(MANY, OFTEN * rows):
        note = f"left out: {n:,} different texts in {rows:,} rows, as ids have"
    else:
        return column
    return replace(column, note=note, use=False)


def as_times(name: str, text: pd.Series[str]) -> pd.Series[pd.Timestamp] | None:
    """Times in UTC, where all cells are times; else None."""
    read = (
        pd.to_datetime(text, errors="coerce", format=each, utc=True)
        for each in ("ISO8601", *FORMATS)
    )
    found = [times for times in read if times.notna().all()]
    if len(found) > 1:
        raise ValueError(
            f"column {name!r}: {text.iloc[0]!r} in line {text.index[0]} is a day and a month or a "
            "month and a day: write times as 2024-12-31 23:59"
        )
    return found[0] if found else None


def parts_of_times(column: Column) -> Iterator[tuple[str, pd.Series[float]]]:
    """What learners get of times, but for parts that are always the same.

    Days that only grow are left out: what is learned of them never comes again.
    """
    values, times = column.values, column.values.dt
    hour = times.hour + times.minute / 60 + times.second / 3600
    parts = {"weekday": times.day_of_week, "hour": hour}  # Monday is 0
    if values.max() - values.min() > pd.Timedelta("366D"):
        parts["month"] = times.month
    if not values.dropna().is_monotonic_increasing:
        parts["days"] = (values - pd.Timestamp(0, tz="UTC")) / pd.Timedelta("1D")
    for part, numbers in parts.items():
        if numbers.nunique() > 1:
            yield f"{column.name} ({part})", numbers.astype(float)
