"""A CSV file as a stream of examples, in their order."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from river.base.typing import FeatureName

from river_ineural.compare import columns as of
from river_ineural.compare.columns import Column, to_numbers
from river_ineural.inputs.values import GAPS

__all__ = ["Table", "read_table"]

MOST_CLASSES = 100  # that `INeurAL` knows by default
NO_LABEL = GAPS - {"-", "none"}  # which are classes, of + and - or of kinds of defects
BOMS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


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
    decimal = found["decimal"] = given.get("decimal") or of.guess_decimal(text)
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
    check_labels(labels)
    columns = tuple(
        at if at and name == time else of.read_column(name, text[name], name in categories, decimal)
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
    same = to_numbers(texts, decimal).fillna(texts.mask(lower.isin(list(of.FLAGS)), lower))
    first = texts.groupby(same).transform("first")
    return {text: name for text, name in zip(texts, first, strict=True) if name != text}


def time_column(name: str, text: pd.Series[str], decimal: str) -> Column:
    """The column to sort by, sorted: every cell of it is a time or a number."""
    kind, values = "numbers", to_numbers(text, decimal)
    if values.isna().any():
        kind, values = "times", of.as_times(name, text)
    if values is None:
        line = pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True).isna().idxmax()
        raise ValueError(
            f"column {name!r} is to tell the time, and {text[line]!r} in line {line} is none like "
            "the others: write times as 2024-12-31 23:59, or numbers, in every row"
        )
    values, note = values.sort_values(kind="stable"), "left out: rows are sorted by it"
    if kind == "numbers":  # that only grow
        return Column(name, kind, values, note, use=False)
    return of.checked(name, kind, values)


def check_labels(labels: pd.Series[str]) -> None:
    """Raise ValueError if labels are not those of a few classes."""
    n, where = labels.nunique(), f"in {len(labels):,} rows"
    if n > MOST_CLASSES:
        raise ValueError(
            f"column {labels.name!r} has {n:,} different values {where}, more than {MOST_CLASSES} "
            "classes: compare predicts classes, not numbers"
        )
    if n < 2:
        raise ValueError(
            f"column {labels.name!r} has {'one' if n else 'no'} value {where}: two classes are the "
            "least to compare on"
        )


def as_features(columns: Sequence[Column]) -> dict[str, pd.Series[Any]]:
    """What learners get, by names that are none of those that `INeurAL` makes of others."""
    features: dict[str, Any] = {}
    for column in (column for column in columns if column.use):
        times = column.kind == "times"
        parts = of.parts_of_times(column) if times else [(column.name, column.values)]
        for name, values in parts:
            name = name.replace("=", "_").replace(" missing", "_missing")
            if name in features:
                raise ValueError(f"two columns come to the feature {name!r}: rename one of them")
            features[name] = values.reset_index(drop=True)
    return features
