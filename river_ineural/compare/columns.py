"""What a column of a table holds: numbers, times, text, or nothing to learn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pandas.api.types import is_numeric_dtype  # type: ignore[import-untyped]

from river_ineural.compare.guessing import (
    NEARLY_ALL,
    SIGNS,
    without_signs,
    without_thousands,
    without_unit,
)
from river_ineural.compare.times import COMPACT, DATE, FORMATS, to_times
from river_ineural.features.values import LARGEST

__all__ = ["read_column", "why_useless"]

MARKED = r"[+-]?\d+[.,:/' ]\d"  # start of numbers and times that pandas read as text
MANY, OFTEN = 100, 0.5  # a column is ids if the number and share of its texts are larger
FEW = 20  # rows above which a column is ids, or whole numbers a counter, if each has another value
OF_DAYS = 19_000_101, 21_001_231  # numbers that may be days


def read_column(
    cells: pd.Series[Any], date_format: str | None, category: bool, marks: Mapping[Any, Any]
) -> tuple[pd.Series[Any], str]:
    """The values of a column that pandas has read, and a note for the reader. Values are float64 if
    nine of ten cells are numbers or booleans, times if so many are, else text, as a category is. In
    numbers are `marks`, "decimal" and "thousands".
    """
    given, note = cells.dropna().infer_objects(), ""
    text = given.astype(str).str.strip()
    if category:
        return text.reindex(cells.index), note
    typed = is_numeric_dtype(given)
    if date_format and len(text):
        times = to_times(given if typed else text, date_format)
        if times.notna().all():
            return times.reindex(cells.index), note
    bare, signs, dots = text, set[str](), False
    if not typed:
        signs = {*text.str.cat()} & {*SIGNS}
        bare, unit = without_unit(without_signs(text))
        signs |= {unit} - {""}
        point = marks.get("decimal") or "."
        mark = marks.get("thousands") or ("." if point == "," else "")
        plain = without_thousands(bare, mark, point) if mark else bare
        dots = plain is not bare and marks.get("thousands") is None
        bare = plain.str.replace(point, ".", regex=False)
    numbers = pd.to_numeric(given if typed else bare, errors="coerce").astype(float)
    large = int(((numbers.abs() > LARGEST) & np.isfinite(numbers)).sum())
    ids = not (text.duplicated().any() or text.str.contains("[.eE]").any())
    if large >= max(1.0, NEARLY_ALL * len(given)) and not ids:
        note = f"read as text: numbers such as {text.iloc[0]} are beyond 10¹⁵: use a larger unit"
        return text.reindex(cells.index), note
    numbers = numbers.where(numbers.abs() <= LARGEST)
    odd = text[numbers.isna()]
    if len(given) - len(odd) >= NEARLY_ALL * len(given):
        if signs or dots:
            without = [*sorted(signs), *(["dots between thousands"] * dots)]
            note = f"read without {' and '.join(without)}"
        if len(odd):
            note += ", and " * bool(note)
            note += f"{len(odd):,} cells such as {odd.iloc[0]!r} are not numbers, so missing"
        if typed and len(given) and not date_format and given.between(*OF_DAYS).all():
            numbers = days if (days := to_times(given, COMPACT)).notna().all() else numbers
            note = f"guessed --date-format {COMPACT!r}" if numbers is days else note
        return numbers.reindex(cells.index), note
    times = to_times(text, None)
    none = text[times.isna()]
    if len(text) - len(none) >= NEARLY_ALL * len(text):  # as of numbers
        if len(none):
            note = f"{len(none):,} cells such as {none.iloc[0]!r} are not times, so missing"
        elif text.str.fullmatch(r"\d{4}-\d\d").all():
            note = f"read as months: --categories {given.name} reads text"
        return times.reindex(cells.index), note
    if text.str.fullmatch(DATE).all():
        some = [form for form in FORMATS if to_times(text.iloc[:MANY], form).notna().all()]
        fits = {form: each for form in some if (each := to_times(text, form)).notna().all()}
        form, found = next(iter(fits.items()), ("", none))
        if fits and all(found.equals(each) for each in fits.values()):  # two may fit days of May
            return found.reindex(cells.index), f"guessed --date-format {form!r}"
        cell, why = none.iloc[0], "is a time: write all alike and say --date-format, as '%d/%m/%Y'"
        if date_format:
            cell = text[to_times(text, date_format).isna()].iloc[0]
            why = f"is not written as --date-format {date_format!r}, or not of 1678 to 2261"
        elif len(none) < len(text):
            why = f"is not written as {text[times.notna()].iloc[0]!r}, or not of 1678 to 2261"
        return pd.Series(np.nan, cells.index), f"left out: {cell!r} {why}"
    odd = bare[numbers.isna()]
    if odd.str.match(MARKED).mean() >= NEARLY_ALL:
        raise ValueError(
            f"column {given.name!r} holds {text[odd.index[0]]!r}: say --decimal, --thousands or "
            f"--date-format, or --categories {given.name} if it is text"
        )
    if 0 < 2 * len(odd) < len(given):
        cell = text[odd.index[0]]
        note = f"read as text: {len(odd):,} cells such as {cell!r} are not numbers: make them empty"
    return text.reindex(cells.index), note


def why_useless(values: pd.Series[Any]) -> str:
    """Why a column is left out: it looks like a counter or like ids. Empty if it is kept."""
    n, rows = values.nunique(), len(values)
    if not n:
        return "left out: it is empty"
    if is_numeric_dtype(values) and n == len(given := values.dropna()) > FEW:
        whole = bool((given % 1 == 0).all())
        if given.is_monotonic_increasing and (whole or n > MANY):
            return "left out: larger in each row, as counters are"
        if given.is_monotonic_decreasing and whole:
            return "left out: smaller in each row, as counters are"
    if values.dtype == object and (n == rows > FEW or n > max(MANY, OFTEN * rows)):
        return f"left out: {n:,} different texts in {rows:,} rows, as ids have"
    return ""
