"""A CSV file as a stream of examples, in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from river.base.typing import FeatureName

from river_ineural.compare.columns import Column, as_times, fit, parts_of_times, read_column

__all__ = ["Table", "read_table"]

MOST_CLASSES = 100  # that `INeurAL` knows by default


@dataclass(frozen=True)
class Table:
    """Rows in their order, as learners get them.

    Parameters
    ----------
    name
        Of the file.
    target
        The column of the labels.
    features
        A column a feature: float64 of numbers, NaN where one is missing; text of categories, None
        where one is missing.
    categories
        Those that are categories.
    labels
        One a row.
    moments
        When each row was, never less than before: nanoseconds where the column is of times, its
        numbers where it is of numbers; None without one.
    time
        The column of the moments; None without one.
    columns
        What was found in the file, but for the target.
    notes
        What a reader should know of the rows.
    """

    name: str
    target: str
    features: pd.DataFrame
    categories: tuple[str, ...]
    labels: tuple[str, ...]
    moments: tuple[float, ...] | None
    time: Column | None
    columns: tuple[Column, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Features that are numbers."""
        return tuple(name for name in self.features if name not in self.categories)

    @property
    def gaps(self) -> bool:
        """Whether a value is missing somewhere."""
        return bool(self.features.isna().any(axis=None))

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels in the order of their first appearance."""
        return tuple(dict.fromkeys(self.labels))

    @property
    def commonest(self) -> tuple[str, float]:
        """The commonest label, and its share of the rows."""
        ((label, n),) = Counter(self.labels).most_common(1)
        return label, n / len(self)

    def examples(self) -> Iterator[dict[FeatureName, Any]]:
        """Feature dicts of floats and text; None where a value is missing."""
        names = list(self.features)
        columns = [self.features[name] for name in names]
        values = [column.astype(object).where(column.notna(), None) for column in columns]
        return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))


def read_table(
    path: Path,
    target: str,
    time: str | None = None,
    drop: Sequence[str] = (),
    categories: Sequence[str] = (),
    separator: str = ",",
) -> Table:
    """Read a CSV file with a header.

    Parameters
    ----------
    path
        Of the file; it may be compressed, if its name says so (.gz, .zip, .bz2, .xz).
    target
        The column of the labels. Rows without one are left out.
    time
        The column to sort by, of times or of numbers; None: rows stay in the order of the file.
    drop
        Columns that are no features.
    categories
        Columns that hold categories though they look like something else, as codes do.
    separator
        Between cells.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If there is no such column, nothing to learn from, or no class to tell from another.
    """
    text = read_text(path, separator)
    for wanted in (target, *drop, *categories, *([time] if time else [])):
        if wanted not in text:
            raise ValueError(missing_column(path, wanted, list(text), separator))
    notes = []
    unlabelled = text[target].str.strip() == ""
    if unlabelled.any():
        notes.append(f"{int(unlabelled.sum()):,} rows without a label in {target!r} are left out")
        text = text[~unlabelled].reset_index(drop=True)
    at = None if time is None else time_column(time, text[time])
    if at is not None:
        order = at.values.sort_values(kind="stable").index
        text = text.loc[order].reset_index(drop=True)
        sorted_values = at.values.loc[order].reset_index(drop=True)
        at = replace(at, values=sorted_values)
    labels = tuple(text[target].str.strip())
    check_labels(target, labels)
    names = [name for name in text if name not in (target, *drop)]
    columns = tuple(
        sorted_by(at) if at and name == time else read_column(name, text[name], name in categories)
        for name in names
    )
    features, found = assembled(columns)
    if features.shape[1] == 0:
        raise ValueError(f"no column of {path.name} is left to learn from")
    return Table(
        name=path.name,
        target=target,
        features=features,
        categories=found,
        labels=labels,
        moments=None if at is None else moments(at),
        time=at,
        columns=columns,
        notes=tuple(notes),
    )


def read_text(path: Path, separator: str) -> pd.DataFrame:
    """All cells as text."""
    try:
        text = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, na_filter=False)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except pd.errors.ParserError as error:
        raise ValueError(f"{path} cannot be read: {str(error).strip()}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not of UTF-8: {error.reason} at byte {error.start}") from None
    text.columns = text.columns.str.strip()
    return text


def missing_column(path: Path, wanted: str, names: list[str], separator: str) -> str:
    """What to say where a column is not there."""
    for other, option in ((";", "';'"), ("\t", r"$'\t'"), ("|", "'|'")):
        if len(names) == 1 and other in names[0] and other != separator:
            return f"{path.name} has the one column {names[0]!r}: is its separator --sep {option}?"
    shown = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    return f"no column {wanted!r} in {path.name}: there are {shown}"


def time_column(name: str, text: pd.Series[str]) -> Column:
    """The column to sort by, every cell of which is a time or a number."""
    cells = text.str.strip()
    numbers = pd.to_numeric(cells, errors="coerce")
    if numbers.notna().all():
        return Column(name, "numbers", numbers.astype(float))
    if (times := as_times(cells)) is not None and times.notna().all():
        return Column(name, "times", times)
    wrong = pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True).isna()
    row = int(wrong.idxmax())
    raise ValueError(
        f"column {name!r} is to tell the time, and {cells[row]!r} in row {row + 1} is none like "
        "the others: write times as 2024-12-31 23:59, or numbers, in every row"
    )


def sorted_by(at: Column) -> Column:
    """The column that rows are sorted by: a number is none to learn from, for it only grows."""
    if at.kind == "numbers":
        return replace(at, note="left out: rows are sorted by it", use=False)
    return fit(at)


def moments(at: Column) -> tuple[float, ...]:
    """Of each row; whole nanoseconds of times, so that sums with a delay are exact."""
    if at.kind == "times":
        return tuple(time.value for time in at.values)
    return tuple(at.values.tolist())


def check_labels(target: str, labels: Sequence[str]) -> None:
    """Raise ValueError if labels are not those of a few classes."""
    n = len(set(labels))
    if n > MOST_CLASSES:
        raise ValueError(
            f"column {target!r} has {n:,} different values in {len(labels):,} rows, more than "
            f"{MOST_CLASSES} classes: compare predicts classes, not numbers"
        )
    if n < 2:
        raise ValueError(
            f"column {target!r} has {'one value' if n else 'no value'} in {len(labels):,} rows: "
            "two classes are the least to compare on"
        )


def assembled(columns: Sequence[Column]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A frame of the features, and the names of those that are categories."""
    features: dict[str, Any] = {}
    categories = []
    for column in columns:
        if not column.use:
            continue
        if column.kind == "times":
            features |= {usable(name): part for name, part in parts_of_times(column)}
            continue
        name = usable(column.name)
        features[name] = column.values
        if column.kind == "categories":
            categories.append(name)
    return pd.DataFrame(features), tuple(categories)


def usable(name: str) -> str:
    """A name that cannot be taken for one that `INeurAL` makes of categories and gaps."""
    name = name.replace("=", "_")
    return f"{name.removesuffix(' missing')}_missing" if name.endswith(" missing") else name
