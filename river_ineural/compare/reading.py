"""A CSV file as a stream of examples, in their order."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from river.base.typing import FeatureName

from river_ineural.inputs.values import GAPS, LARGEST

__all__ = ["Column", "Table", "parts_of_times", "read_column", "read_table"]

FLAGS = {"true": 1.0, "false": 0.0}
NEARLY_ALL = 0.9  # of the cells that are not empty are numbers in a column of numbers
MANY, OFTEN = 100, 0.5  # categories, and their share of the rows, from which on they are ids
# Times that are not written as ISO 8601 has them. pandas' own guess takes 1.2.3 for a day.
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p")
DAYS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
FORMATS = ("ISO8601", "%H:%M", "%H:%M:%S", *(day + clock for day in DAYS for clock in CLOCKS))
MOST_CLASSES = 100  # that `INeurAL` knows by default
NO_LABEL = GAPS - {"-", "none"}  # which are classes, of + and - or of kinds of defects
BOMS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


@dataclass(frozen=True)
class Column:
    """What was found in a column."""

    name: str
    kind: str  # numbers, flags, times or categories
    values: pd.Series[Any]  # float64, times in UTC, or text; NaN, NaT or None where one is missing
    note: str = ""  # what a reader should know
    use: bool = True  # whether anything can be learned from it


@dataclass(frozen=True)
class Table:
    """Rows in their order, as learners get them."""

    name: str  # of the file
    target: str
    features: pd.DataFrame  # float64 of numbers and text of categories, NaN or None if missing
    labels: tuple[str, ...]
    time: Column | None  # that the rows are sorted by: times or numbers that never fall
    columns: tuple[Column, ...]  # of the file, but for the target
    written: str  # how the file is written, and what of that was guessed
    notes: tuple[str, ...]  # what a reader should know of the rows

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def categories(self) -> list[str]:
        """Features that are text."""
        return list(self.features.select_dtypes(object))

    @property
    def numbers(self) -> list[str]:
        """Features that are numbers."""
        return list(self.features.select_dtypes(float))

    @property
    def moments(self) -> list[float] | None:
        """Whole nanoseconds of the times, or the numbers, that the rows are sorted by."""
        return [getattr(each, "value", each) for each in self.time.values] if self.time else None

    @property
    def shares(self) -> pd.Series[float]:
        """Of each label, the commonest first."""
        return pd.Series(self.labels).value_counts(normalize=True)

    def examples(self) -> Iterator[dict[FeatureName, Any]]:
        """Feature dicts of floats and text; None where a value is missing."""
        frame = self.features.astype(object).where(self.features.notna(), None)
        return (dict(zip(frame, row, strict=True)) for row in frame.itertuples(False, None))


def read_table(
    path: Path,
    target: str,
    time: str | None = None,
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    **given: str | None,
) -> Table:
    """Read a CSV file with a header, compressed if its name says so (.gz, .zip, .bz2, .xz).

    Rows without a label are left out. Rows are sorted by a column of times or numbers, if there is
    one. What is not `given` of separator, encoding and decimal, or None, is guessed. Whatever
    cannot be understood is a ValueError that says where, and what to do.
    """
    text, found = read_text(path, given.get("separator"), given.get("encoding"))
    for wanted in (target, *drop, *categories, *([time] if time else [])):
        if wanted not in text:
            shown = ", ".join(map(repr, list(text)[:20])) + ", …" * (text.shape[1] > 20)
            raise ValueError(
                f"no column {wanted!r} in {path.name}: there are {shown}, if the separator is "
                f"{found['separator']!r} (--separator says another)"
            )
    text = text.drop(columns={*drop} - {target, time})
    decimal = found["decimal"] = given.get("decimal") or guess_decimal(text)
    written = [f"{k} {v!r}{'' if given.get(k) else ' (guessed)'}" for k, v in found.items()]
    missing, notes = text[target].str.lower().isin(NO_LABEL), []
    if missing.any():
        kinds = ", ".join(map(repr, filter(None, text[target][missing].unique())))
        also = f" (or with {kinds}, which is read as none)" if kinds else ""
        notes.append(f"{missing.sum():,} rows without a label in {target!r}{also} are left out")
        text = text[~missing]
    at = time_column(time, text[time], decimal) if time else None
    if at:
        text = text.loc[at.values.index]
    names = one_name_each(text[target], decimal)
    notes += [f"the label {text!r} is read as {name!r}" for text, name in names.items()]
    labels = text.pop(target).replace(names)
    if not 2 <= (n := labels.nunique()) <= MOST_CLASSES:
        raise ValueError(
            f"column {target!r} has {n:,} different values in {len(labels):,} rows: compare "
            f"predicts classes, at least 2 and at most {MOST_CLASSES}"
        )
    columns = tuple(
        at if at and name == time else read_column(name, text[name], name in categories, decimal)
        for name in text.columns.difference(drop, sort=False)
    )
    features = pd.DataFrame(as_features(columns))
    if features.empty:
        raise ValueError(f"no column of {path.name} is left to learn from")
    return Table(
        path.name, target, features, tuple(labels), at, columns, ", ".join(written), tuple(notes)
    )


def read_text(
    path: Path, separator: str | None, encoding: str | None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """All cells as text, without spaces around them, by their lines; and how it is written."""
    with path.open("rb") as file:
        guesses = ("utf-16",) if file.read(2) in BOMS else ("utf-8-sig", "cp1252")
    how: dict[str, Any] = {"header": None, "dtype": str, "na_filter": False}
    how |= {"skip_blank_lines": False, "skipinitialspace": True}

    def width(mark: str) -> int:
        return int(pd.read_csv(path, sep=mark, encoding=code, nrows=1, **how).shape[1])

    for code in (encoding,) if encoding else guesses:
        try:
            mark = separator or max(",;\t|", key=width)
            cells = pd.read_csv(path, sep=mark, encoding=code, **how)
            break
        except (UnicodeError, LookupError):  # of an encoding that there is not
            continue
        except pd.errors.EmptyDataError:
            raise ValueError(f"{path} is empty, or its first line is") from None
        except pd.errors.ParserError as error:
            raise ValueError(
                f"{path} cannot be read with the separator {mark!r}: {str(error).strip()} (line 1 "
                "is the header; remove what is too much there, put cells that have the separator "
                "in quotes, or say another with --separator)"
            ) from None
    else:
        raise ValueError(f"{path} is not of {code}: say what it is with --encoding, as latin-1")
    breaks = cells.apply(lambda column: column.str.count("\n")).sum(axis=1)
    cells.index += 1 + breaks.cumsum() - breaks
    cells = cells.apply(lambda column: column.str.strip())
    header = [name or f"column {i}" for i, name in enumerate(cells.iloc[0], 1)]
    for i, name in enumerate(header, 1):
        if (first := header.index(name) + 1) < i:
            raise ValueError(
                f"line 1 of {path.name} has the name {name!r} in columns {first} and {i}: give "
                "one of them another name"
            )
    text = cells[1:].set_axis(header, axis=1)
    found = {"encoding": code.removesuffix("-sig"), "separator": mark}
    return text[(text != "").any(axis=1)], found


def one_name_each(labels: pd.Series[str], decimal: str) -> dict[str, str]:
    """Of labels that are the same as a shorter one, as 1.0 and 1, or True and true, that one."""
    texts = pd.Series(sorted(labels.unique(), key=len), dtype=str)
    lower = texts.str.lower()
    same = to_numbers(texts, decimal).fillna(texts.mask(lower.isin([*FLAGS]), lower))
    first = texts.groupby(same).transform("first")
    return {text: name for text, name in zip(texts, first, strict=True) if name != text}


def time_column(name: str, text: pd.Series[str], decimal: str) -> Column:
    """The column to sort by, sorted: every cell of it is a time or a number."""
    kind, values = "numbers", to_numbers(text, decimal)
    if values.isna().any():
        kind, values = "times", as_times(name, text)
    if values is None:
        line = pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True).isna().idxmax()
        raise ValueError(
            f"column {name!r} is to tell the time, and {text[line]!r} in line {line} is none like "
            "the others: write times as 2024-12-31 23:59, or numbers, in every row"
        )
    values = values.sort_values(kind="stable")
    numbers = kind == "numbers"  # that only grow
    note = "left out: rows are sorted by it" if numbers else why_useless(kind, values)
    return Column(name, kind, values, note, not note)


def as_features(columns: Sequence[Column]) -> dict[str, pd.Series[Any]]:
    """What learners get, by names that are none of those that `INeurAL` makes of others."""
    features: dict[str, Any] = {}
    for column in (column for column in columns if column.use):
        parts = parts_of_times(column) if column.kind == "times" else [(column.name, column.values)]
        for name, values in parts:
            name = name.replace("=", "_").replace(" missing", "_missing")
            if name in features:
                raise ValueError(f"two columns come to the feature {name!r}: rename one of them")
            if column.kind == "numbers" and values.abs().max() > LARGEST:
                line = values.abs().idxmax()
                raise ValueError(
                    f"column {column.name!r} has {values[line]:g} in line {line}, beyond "
                    f"±{LARGEST:g}: write numbers of another unit, or leave it out with "
                    f"--drop {column.name!r}"
                )
            features[name] = values.reset_index(drop=True)
    return features


# Columns


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
            f"{found['either']}, may be a thousand or a fraction: say --decimal . or ,"
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
    lower = text.str.lower()
    given = text[~lower.isin(GAPS)]
    numbers = to_numbers(given, decimal)
    odd = given[numbers.isna()]
    kind, values, note = "categories", text.where(text != "", None).astype(object), ""
    if category or given.empty:
        pass
    elif lower[given.index].isin([*FLAGS]).all():
        kind, values = "flags", lower.map(FLAGS)
    elif len(odd) <= (1 - NEARLY_ALL) * len(given):
        kind, values = "numbers", numbers.reindex(text.index)
        for line, cell in odd[:1].items():
            note = (
                f"{len(odd):,} cells are no numbers, as {cell!r} in line {line}: taken as missing"
            )
    elif len(odd) == len(given) and (times := as_times(name, given)) is not None:
        kind, values = "times", times.reindex(text.index)
    useless = why_useless(kind, values)
    return Column(name, kind, values, useless or note, not useless)


def why_useless(kind: str, values: pd.Series[Any]) -> str:
    """Why a column tells nothing: one value, or another in each row. Empty if it may tell some."""
    n, rows = values.nunique(), len(values)
    if n == 0:
        return "left out: empty"
    if n == 1 and values.notna().all():
        return f"left out: always {values.iloc[0]}"
    if kind == "numbers" and n == rows > MANY and values.is_monotonic_increasing:
        return "left out: larger in each row, as counters are"
    if kind == "categories" and n > max(MANY, OFTEN * rows):
        return f"left out: {n:,} different texts in {rows:,} rows, as ids have"
    return ""


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
