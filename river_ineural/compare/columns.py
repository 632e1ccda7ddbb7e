"""What a column of text holds: numbers, flags, times or categories."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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
FORMATS = ("ISO8601", "%H:%M", "%H:%M:%S", *(day + clock for day in DAYS for clock in CLOCKS))


@dataclass(frozen=True)
class Column:
    """What was found in a column."""

    name: str
    kind: str  # numbers, flags, times or categories
    values: pd.Series[Any]  # float64, times in UTC, or text; NaN, NaT or None where one is missing
    note: str = ""  # what a reader should know
    use: bool = True  # whether anything can be learned from it


def to_numbers(text: pd.Series[str], decimal: str = ".") -> pd.Series[float]:
    """Numbers, NaN where a cell is none.

    Groups of three digits may be parted by the other mark, a space or an apostrophe. `thousands` of
    pandas takes any groups, so that the day 01.02.2024 would be a million.
    """
    other = "." if decimal == "," else ","
    groups = rf"^[+-]?[1-9]\d{{0,2}}(?:[{other}\s']\d{{3}})+(?=$|[{decimal}eE])"
    plain = text.str.replace(groups, lambda found: re.sub(r"[.,\s']", "", found[0]), regex=True)
    plain = plain.str.translate(str.maketrans({other: "?", decimal: "."}))
    return pd.to_numeric(plain, errors="coerce").astype(float)


def guess_decimal(text: pd.DataFrame) -> str:
    """The only mark with which all numbers can be read, in cells of text by their lines."""
    cells = text.stack()
    cells = cells[~cells.str.lower().isin(GAPS)]
    point, comma = (to_numbers(cells, mark).notna() for mark in ".,")
    of_numbers = (point | comma).groupby(level=1).transform("mean") >= NEARLY_ALL
    kinds = {"point": point & ~comma, "comma": comma & ~point}
    kinds["either"] = point & comma & cells.str.contains(",")
    found = {
        kind: f"{cell!r} in line {line}, column {name!r}"
        for kind, those in kinds.items()
        for (line, name), cell in cells[those & of_numbers][:1].items()
    }
    if "point" in found and "comma" in found:
        raise ValueError(
            f"{found['point']}, has a decimal point, and {found['comma']}, a decimal comma: write "
            "all numbers in one way, or say --decimal . or --decimal ,"
        )
    if [*found] == ["either"]:
        raise ValueError(
            f"{found['either']}, may be a thousand or a fraction: say --decimal . or --decimal ,"
        )
    return "," if "comma" in found else "."


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
            return checked(name, "flags", lower.map(FLAGS))
        numbers = to_numbers(given, decimal)
        odd = given[numbers.isna()]
        if len(odd) <= (1 - NEARLY_ALL) * len(given):
            shown = [f"{cell!r} in line {line}: taken as missing" for line, cell in odd.items()]
            note = f"{len(odd):,} cells are no numbers, as {shown[0]}" if shown else ""
            return checked(name, "numbers", numbers.reindex(text.index), note)
        if len(odd) == len(given) and (times := as_times(name, given)) is not None:
            return checked(name, "times", times.reindex(text.index))
    return checked(name, "categories", text.where(text != "", None).astype(object))


def checked(name: str, kind: str, values: pd.Series[Any], note: str = "") -> Column:
    """A column, not to be used if it tells nothing: one value, or another text in most rows."""
    n, rows, full = values.nunique(), len(values), values.notna().all()
    for line, far in values[values.abs() > LARGEST][:1].items() if kind == "numbers" else ():
        raise ValueError(
            f"column {name!r} has {far:g} in line {line}, beyond ±{LARGEST:g}: write numbers of "
            f"another unit, or leave it out with --drop {name!r}"
        )
    useless = ""
    if n == 0:
        useless = "left out: empty"
    elif n == 1 and full:
        useless = f"left out: always {values.iloc[0]}"
    elif kind == "numbers" and n == rows > MANY and values.is_monotonic_increasing:
        useless = "left out: larger in each row, as counters are"
    elif kind == "categories" and n > max(MANY, OFTEN * rows):
        useless = f"left out: {n:,} different texts in {rows:,} rows, as ids have"
    return Column(name, kind, values, useless or note, not useless)


def as_times(name: str, text: pd.Series[str]) -> pd.Series[pd.Timestamp] | None:
    """Times in UTC, where all cells are times; else None."""
    read = (pd.to_datetime(text, errors="coerce", format=each, utc=True) for each in FORMATS)
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
