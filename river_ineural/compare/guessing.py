"""What nobody says of a CSV file: its encoding, its separator, and the marks in its numbers."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from pandas.io.common import get_handle  # type: ignore[import-untyped]

__all__ = ["NEARLY_ALL", "SIGNS", "guessed", "padded"]
__all__ += ["without_signs", "without_thousands", "without_unit"]

SEPARATORS = ",;\t|"
NEARLY_ALL = 0.9  # share of cells that are numbers in a column of numbers
COMMAS = r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?\s*"  # a number with a decimal comma
SPACES = "(?<=\\d)[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}](?=\\d{3})"  # of thousands
SIGNS = "$€£¥₹%"  # around numbers, which are read without them


def guessed(path: Path, how: dict[str, Any]) -> list[str]:
    """Guess what is not given of encoding, separator and decimal mark; notes on unusual ones."""
    notes = []
    if not how.get("encoding") and (found := utf_16(path)):
        how["encoding"] = found
        notes.append(f"guessed --encoding {found!r}")
    text = {**how, "dtype": str, "decimal": ".", "on_bad_lines": "skip"}
    if not how.get("sep"):
        heads = {s: pd.read_csv(path, nrows=0, **{**text, "sep": s}) for s in SEPARATORS}
        how["sep"] = max(heads, key=lambda sep: columns_of(heads[sep]))
        if how["sep"] != ",":
            notes.append(f"guessed --separator {how['sep']!r}")
    if not how.get("decimal"):
        cells = pd.read_csv(path, nrows=1000, **{**text, "sep": how["sep"]})
        commas = any(has_decimal_commas(cells[name].dropna()) for name in cells)
        commas |= how["sep"] != "," and has_points_of_thousands(cells)
        how["decimal"] = "," if commas else "."
        notes += ["guessed --decimal ','"] * commas
    return notes


def padded(path: Path, how: Mapping[str, Any]) -> dict[str, str]:
    """Columns whose numbers are filled up with zeros to one length, as codes are: such a cell."""
    kinds: dict[str, Any] = {"dtype": str, "on_bad_lines": "skip", "skipinitialspace": True}
    cells = pd.read_csv(path, nrows=1000, sep=how["sep"], encoding=how["encoding"], **kinds)
    found = {}
    for name in cells:
        text = cells[name].dropna()
        digits = text[text.str.fullmatch(r"\d+")]
        zeros = digits[digits.str.startswith("0")]
        if len(zeros) and digits.str.len().nunique() == 1 and len(digits) >= NEARLY_ALL * len(text):
            found[name] = str(zeros.max())
    return {name: cell for name, cell in found.items() if len(cell) > 1}


def columns_of(head: pd.DataFrame) -> tuple[bool, int]:
    """Whether no name has been cut within its quotes, and how many names there are."""
    return not any('"' in name for name in head), head.shape[1]


def utf_16(path: Path) -> str | None:
    """The kind of UTF-16 of a text, from its mark or from where its zero bytes are; or None."""
    with get_handle(path, "rb", is_text=False, compression="infer") as file:
        start: bytes = file.handle.read(1000)
    if start[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        return "utf-16"
    first, second = start[::2].count(0), start[1::2].count(0)
    if max(first, second) <= max(4 * min(first, second), len(start) / 16):
        if first + second:
            raise ValueError("it is no text, but perhaps a workbook: save it as CSV")
        return None
    return "utf-16-be" if first > second else "utf-16-le"


def without_signs(text: pd.Series[str]) -> pd.Series[str]:
    """Numbers without signs of currency or spaces that keep them in a line; the minus of ASCII."""
    minus = text.str.replace("\N{MINUS SIGN}", "-")
    return minus.str.replace(f"[{SIGNS}]|{SPACES}", "", regex=True).str.strip()


def without_unit(text: pd.Series[str]) -> tuple[pd.Series[str], str]:
    """Numbers without the unit that stands behind all of them, as in 12 kg; and it, or nothing."""
    units = text.str.extract(r"^[+-]?\d+(?:[.,]\d{3})*(?:[.,]\d+)? ?([^\W\d_]+)$")[0]
    if units.isna().any() or units.nunique() != 1:
        return text, ""
    unit = str(units.iloc[0])
    return text.str.removesuffix(unit).str.rstrip(), unit


def without_thousands(text: pd.Series[str], mark: str, point: str) -> pd.Series[str]:
    """Numbers without marks between thousands; the same text if they stand elsewhere, or nowhere.

    So 0.125 and 12.03.2024 keep their points.
    """
    marked, sign = text[text.str.contains(mark, regex=False)], re.escape(mark)
    number = rf"[+-]?[1-9]\d{{0,2}}({sign}\d{{2,3}})*{sign}\d{{3}}({re.escape(point)}\d*)?"
    if not len(marked) or not marked.str.fullmatch(number).all():
        return text
    return text.str.replace(mark, "", regex=False)


def has_decimal_commas(text: pd.Series[str]) -> bool:
    """Whether cells are numbers with decimal commas, which do not separate thousands."""
    text = without_signs(text)
    numbers = text.str.fullmatch(COMMAS).mean()
    commas = text[text.str.contains(",")]
    thousands = commas.str.fullmatch(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*").mean()
    return bool(len(commas) and numbers >= NEARLY_ALL > thousands)


def has_points_of_thousands(cells: pd.DataFrame) -> bool:
    """Whether no point in a number is a decimal one: 16.410 stands beside 894, and not beside 1000.

    All points then have three digits behind them, in all columns.
    """
    found = False
    for name in cells:
        text = without_signs(cells[name].dropna())
        pointed = text[text.str.fullmatch(r"[+-]?\d*\.\d*")]
        if len(pointed):
            whole = text[text.str.fullmatch(r"[+-]?\d+")].str.lstrip("+-").str.len()
            if without_thousands(pointed, ".", ",") is pointed or (whole > 3).any():
                return False
            found |= len(whole) > 0
    return found
