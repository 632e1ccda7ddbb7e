"""Parquet and ARFF files as the text of a CSV file, which pandas then reads."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

__all__ = ["as_csv", "declared"]

ATTRIBUTE = re.compile(r"(?im)^\s*@attribute\s+('[^']*'|\"[^\"]*\"|[^\s{]+)\s*(.*)$")
DATA = re.compile(r"(?im)^\s*@data.*$")


def as_csv(path: Path) -> str | None:
    """The text of a file; None for CSV files.

    The end of the file's name tells the format: `.parquet` or `.arff`. ValueError is raised if the
    file cannot be read.
    """
    kinds = {".parquet": of_parquet, ".arff": of_arff}
    return kinds[kind](path) if (kind := path.suffix.lower()) in kinds else None


def declared(path: Path) -> list[str]:
    """The columns that a file declares as categories."""
    if path.suffix.lower() != ".arff":
        return []
    text = path.read_text("utf8", "replace")  # `as_csv` refuses what is not UTF-8
    return [name for name, kind in attributes(text) if kind.startswith("{")]


def attributes(text: str) -> list[tuple[str, str]]:
    """Name and type of the columns of an ARFF file."""
    found = ATTRIBUTE.findall(DATA.split(text, maxsplit=1)[0])
    return [(name.strip("'\""), kind) for name, kind in found]


def of_parquet(path: Path) -> str:
    """Each row of the file as a line; durations in seconds, lists and bytes as missing."""
    try:
        import polars
    except ModuleNotFoundError:
        raise ValueError("a parquet file needs polars: pip install polars") from None
    try:
        frame = polars.read_parquet(path.read_bytes())
        for name, kind in frame.schema.items():
            if kind == polars.Duration:
                frame = frame.with_columns(polars.col(name).dt.total_microseconds() / 1e6)
            elif kind.is_nested() or kind in (polars.Binary, polars.Object):
                frame = frame.with_columns(polars.lit(None).alias(name))  # so it is left out
        return frame.write_csv()
    except polars.exceptions.PolarsError as error:
        raise ValueError(" ".join(str(error).split())) from None


def of_arff(path: Path) -> str:
    """Attributes become the header; rows stay as they are, with `?` for a missing value."""
    text = path.read_text("utf8")
    found, data = attributes(text), DATA.split(text, maxsplit=1)[1:]
    if not (found and data):
        raise ValueError("it has no @attribute or no @data")
    lines = [line.strip() for line in data[0].splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    if lines and lines[0].startswith("{"):
        raise ValueError("sparse rows, as {0 1, 3 2}, are not read")
    quote = '"' if sum(map(str.count, lines, len(lines) * ['"'])) else "'"
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(name for name, _ in found)
    rows.writerows(csv.reader(lines, quotechar=quote, skipinitialspace=True, escapechar="\\"))
    return file.getvalue()
