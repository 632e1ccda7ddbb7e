"""Parquet and ARFF files as the text of a CSV file, which pandas then reads."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

__all__ = ["as_csv"]

ATTRIBUTE = re.compile(r"(?im)^\s*@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s*(.*)$")
DATA = re.compile(r"(?im)^\s*@data.*$")


def as_csv(path: Path) -> tuple[str, list[str]] | None:
    """The text of a file, and the columns that it declares as categories; None for CSV files.

    The end of the file's name tells the format: `.parquet` or `.arff`. ValueError is raised if the
    file cannot be read.
    """
    if path.suffix == ".parquet":
        return of_parquet(path), []
    return of_arff(path) if path.suffix == ".arff" else None


def of_parquet(path: Path) -> str:
    """Each row of the file as a line."""
    try:
        import polars
    except ModuleNotFoundError:
        raise ValueError("a parquet file needs polars: pip install polars") from None
    try:
        return polars.read_parquet(path).write_csv()
    except polars.exceptions.PolarsError as error:
        raise ValueError(" ".join(str(error).split())) from None


def of_arff(path: Path) -> tuple[str, list[str]]:
    """Attributes become the header; rows stay as they are, with `?` for a missing value."""
    head, *data = DATA.split(path.read_text("utf8"), maxsplit=1)
    found = [(name.strip("'\""), kind) for name, kind in ATTRIBUTE.findall(head)]
    if not (found and data):
        raise ValueError("it has no @attribute or no @data")
    lines = [line.strip() for line in data[0].splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    if lines and lines[0].startswith("{"):
        raise ValueError("sparse rows, as {0 1, 3 2}, are not read")
    quote = '"' if sum(map(str.count, lines, len(lines) * ['"'])) else "'"
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(name for name, _ in found)
    rows.writerows(csv.reader(lines, quotechar=quote, skipinitialspace=True, escapechar="\\"))
    return text.getvalue(), [name for name, kind in found if kind.lstrip().startswith("{")]
