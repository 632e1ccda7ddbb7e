"""Read a table of a file with pandas as a stream of examples in order."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from lzma import LZMAError
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd  # type: ignore[import-untyped]
from pandas.api.types import is_numeric_dtype  # type: ignore[import-untyped]
from river.base.typing import FeatureName

from river_ineural.compare.columns import read_column, why_useless
from river_ineural.compare.formats import as_csv, declared
from river_ineural.compare.guessing import guessed, padded
from river_ineural.compare.times import parts_of_times, sorted_times
from river_ineural.features.encoder import MISSING as MISSING_FLAG
from river_ineural.features.labels import read_as

MISSING = ["?", "-"]  # in features, in addition to the missing values of pandas
NO_LABEL = "", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"  # not "none"
FRACTION = re.compile(r"[+-]?\d*[.,]\d+(e[+-]?\d+)?", re.IGNORECASE)  # hardly a column's name
DAMAGED = EOFError, OSError, LZMAError, BadZipFile, zlib.error
MOST_CLASSES = 100  # the default limit of `INeurAL`
SORTED = 5  # labels a class from which rows are not sorted by chance
APART = 1 / 3  # of the changes from label to label by chance: with fewer, labels stand together
QUANTITY = 20  # different numbers that may be classes without a remark


@dataclass(frozen=True)
class Table:
    """The rows in order, as learners get them."""

    features: pd.DataFrame  # numbers as float64, categories as text; NaN if missing
    labels: tuple[str, ...]
    time: pd.Series[Any] | None  # sort key of the rows: times or numbers, never decreasing
    notes: tuple[str, ...]  # remarks on the file for the reader

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
        """The sort key of each row, times in nanoseconds; None without a time column."""
        return None if self.time is None else [getattr(t, "value", t) for t in self.time]

    @property
    def shares(self) -> pd.Series[float]:
        """The relative frequency of each label, the most frequent first."""
        return pd.Series(self.labels).value_counts(normalize=True)

    def examples(self) -> Iterator[dict[FeatureName, Any]]:
        """Feature dicts of floats and text; None where a value is missing."""
        return examples_of(self.features)


def read_table(
    path: Path,
    target: str,
    time: str | None = None,
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    date_format: str | None = None,
    **csv: Any,
) -> Table:
    """Read a CSV file with a header, compressed if its name says so (.gz, .zip, .bz2, .xz), or a
    parquet or ARFF file.

    `csv` holds parameters of `pandas.read_csv`: encoding, sep, decimal and thousands. The first
    three are guessed if they are None. Rows without a label are left out, and the others sorted by
    `time`. Input that cannot be read raises a ValueError that says where and what to do.
    """
    categories = [*categories, *declared(path)]
    cells, notes = read_cells(path, target, categories, **csv)
    codes = padded(path, cells.attrs) if cells.attrs["sep"] else {}
    for wanted in (target, *drop, *categories, *([time] if time else [])):
        if wanted not in cells:
            raise ValueError(
                f"no column {wanted!r} in {path.name}: there are {list(cells)}, unless --separator "
                "says another separator, or --encoding how text is written, as utf-16"
            )
    if target in drop:
        raise ValueError(f"--drop {target!r} is the column of the labels, which --target names")
    missing = cells[target].isin(NO_LABEL)
    for label, n in cells[target][missing].value_counts().items():
        notes.append(f"{n:,} rows are left out, because {label!r} is not a label")
    if missing.all():
        raise ValueError(f"column {target!r} has no label in any of {len(cells):,} rows")
    cells, at = cells[~missing], None
    if time:
        at = sorted_times(cells[time], date_format)
        cells = cells.loc[at.index]
        if is_numeric_dtype(at):  # numbers that only grow are no feature
            drop = [*drop, time]
    labels = cells.pop(target)
    alike: Any = read_as
    first: dict[Any, str] = {}
    if numbers := pd.to_numeric(labels, errors="coerce").notna().all():
        labels, alike = labels.str.replace(r"\.0*$", "", regex=True), Decimal  # 1.0 is 1
    for label in labels.unique():
        if (other := first.setdefault(alike(label), label)) != label:
            which = "two classes of one number" if numbers else "two classes: write them alike"
            notes.append(f"labels {other!r} and {label!r} are {which}")
    if not 2 <= (n := labels.nunique()) <= MOST_CLASSES:
        raise ValueError(
            f"the values of column {target!r} are {n:,} classes in {len(labels):,} rows: compare "
            f"predicts at least 2 and at most {MOST_CLASSES} classes, and no quantities"
            f"{''.join(f'; {note}' for note in notes if 'is not a label' in note)}"
        )
    by_chance = len(labels) * (1 - (labels.value_counts(normalize=True) ** 2).sum())
    runs = (labels != labels.shift()).sum()
    if not time and len(labels) > SORTED * n and runs <= max(n, APART * by_chance):
        notes.append(
            f"rows are sorted by label, at least in part, in {runs:,} runs of one label, so the "
            "last one tells the next: shuffle them, unless they are in the order of time"
        )
    if n > QUANTITY and numbers:
        notes.append(f"{target}: {n} numbers become {n} classes; of a quantity make a few ranges")
    features, of_columns = read_features(
        cells.drop(columns={*drop}), path.name, categories, date_format, codes
    )
    return Table(features, tuple(labels), at, (*notes, *of_columns))


def read_features(
    cells: pd.DataFrame,
    file: str,
    categories: Sequence[str] = (),
    date_format: str | None = None,
    codes: Mapping[Any, str] | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """The features of all rows, as `Table` has them, and notes on columns for the reader.

    `codes` has a cell of each column that may hold codes.
    """
    features: dict[str, pd.Series[Any]] = {}
    notes: list[str] = []
    for name, column in cells.items():
        values, note = read_column(column, date_format, name in categories, cells.attrs)
        useless = "" if note.startswith("left out") else why_useless(values)
        if not useless and values.dtype == float and (code := (codes or {}).get(name)):
            notes.append(f"{name}: if {code} is a code and no number, say --categories {name}")
        notes += [f"{name}: {each}" for each in (useless, note) if each]
        if not useless and not note.startswith("left out"):
            times = isinstance(values.dtype, pd.DatetimeTZDtype)
            values = values.rename(name := feature_of(name))
            found = dict(parts_of_times(values)) if times else {name: values}
            if twice := found.keys() & features.keys():
                raise ValueError(
                    f"{file} has the feature {min(twice)!r} already when column {column.name!r} "
                    f"gives it: rename that column, or say --drop {column.name!r}"
                )
            features |= found
            if not found:
                notes.append(f"{name}: left out: its times only grow, or are all the same")
    if not features:
        why = "; ".join(notes) or "there is no other, or all were dropped"
        raise ValueError(f"no column of {file} is left to learn from: {why}")
    return pd.DataFrame(features).reset_index(drop=True), notes


def feature_of(column: str) -> str:
    """The name of a column as a feature, which is none that `Encoder` makes."""
    return column.replace("=", ":") + "'" * column.endswith(MISSING_FLAG)


def examples_of(features: pd.DataFrame) -> Iterator[dict[FeatureName, Any]]:
    """Feature dicts of floats and text; None where a value is missing."""
    frame = features.astype(object).where(features.notna(), None)
    return (dict(zip(frame, row, strict=True)) for row in frame.itertuples(False, None))


def read_cells(
    path: Path,
    target: str | None = None,
    categories: Sequence[str] = (),
    as_written: bool = False,
    **csv: Any,
) -> tuple[pd.DataFrame, list[str]]:
    """Read the cells, with labels and categories as text; returns them and notes on guesses.

    `as_written` leaves the text of all cells as it is.
    """
    how: dict[str, Any] = {"skipinitialspace": True, **csv}
    kinds: dict[str, Any] = {
        "na_values": MISSING,
        "converters": {target: str.strip} if target else {},
        "dtype": dict.fromkeys({*categories} - {target}, str),
    }
    if as_written:
        kinds = {"dtype": str, "keep_default_na": False}
    source: Any = path
    try:
        if text := as_csv(path):
            how, source, notes = {"skipinitialspace": True}, io.StringIO(text), []
        else:
            notes = guessed(path, how)
        given = {**how, "thousands": None}  # pandas would make a number of 12.03.2024
        cells = pd.read_csv(source, low_memory=False, **kinds, **given)  # one dtype for a column
        if not isinstance(cells.index, pd.RangeIndex):  # pandas took cells as row names
            raise ValueError("rows have more cells than the header")
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path.name} is empty: its first line must name the columns") from None
    except DAMAGED as error:
        if isinstance(error, OSError) and error.filename:
            raise
        raise ValueError(f"{path.name} cannot be read, as it is damaged: {error}") from None
    except (LookupError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError) and not how.get("encoding"):  # not UTF-8
            csv["encoding"] = "cp1252"
            cells, notes = read_cells(path, target, categories, as_written, **csv)
            return cells, ["guessed --encoding 'cp1252'", *notes]
        said = f"{path.name} cannot be read: {' '.join(str(error).split())}"
        if source is path and path.suffix.lower() != ".parquet":
            said += (
                " (line 1 is the header; --separator says what stands between cells; cells that "
                "have it belong in quotes; --encoding says how text is written, as cp1252 or "
                "utf-16)"
            )
        raise ValueError(said) from None
    if not len(cells):
        raise ValueError(f"{path.name} has no row below its header")
    names = dict(zip(cells, header_of(source, given), strict=True))
    renamed = [(name, was) for name, was in names.items() if was and name != was]
    notes += [f"a second column {was!r} is called {name!r}" for name, was in renamed]
    cells.attrs = {mark: how.get(mark) for mark in ("sep", "encoding", "decimal", "thousands")}
    values = [name for name in names.values() if FRACTION.fullmatch(name.strip())]
    if 2 * len(values) >= len(names):
        notes.append(f"line 1 is the header, though {values[0]!r} is no name: put one above it")
    if [*names.values()].count(target) > 1:
        raise ValueError(
            f"{path.name} has two columns {target!r}, and either may hold the labels: rename one"
        )
    if as_written:
        cells.attrs["names"] = names  # of a table that is read on, each operation would copy them
        return cells, notes
    empty = cells.isna() | (cells == "")
    ends = [name for name in cells if not names[name] and empty[name].all()]
    return cells.drop(columns=ends), notes  # without those that separators at line ends make


def header_of(source: Any, how: Mapping[str, Any]) -> list[str]:
    """The names as they are written; pandas has names of its own for empty and for equal ones."""
    if isinstance(source, io.StringIO):
        source.seek(0)
    first = pd.read_csv(source, header=None, nrows=1, dtype=str, keep_default_na=False, **how)
    return [*first.iloc[0]]
