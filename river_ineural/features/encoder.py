"""Encoding of strings and missing values as separate features."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from river.base.typing import FeatureName

from river_ineural.features.keys import plain

EQUALS, MISSING = "=", " missing"  # parts of the names of encoded features
LONGEST = 200  # most characters of a value that enter the name


def is_missing(value: Any) -> bool:
    """Whether the value is None, NaN, or the NA or NaT of pandas; pandas is not imported."""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType")


class Encoder:
    """Encode each value that is not a number as a feature that is 1 where the value occurs.

        {"age": 31, "job": "clerk"}  →  {"age": 31, "job": nan, "job=clerk": 1}
        {"age": None}                →  {"age": nan, "age missing": 1}

    The original feature becomes NaN, an unknown number. So a column can hold both numbers and
    strings, such as ages and "?". No other feature may have a name like that of an encoded one.

    `categories` says whether strings are encoded, `missing` whether missing values are.
    """

    def __init__(self, categories: bool, missing: bool) -> None:
        self.categories = categories
        self.missing = missing

    def made(self, name: FeatureName, value: Any) -> str | None:
        """The name of the feature that encodes a value; None if the value must be a number."""
        name = plain(name)
        if isinstance(value, str):
            if not self.categories:
                return None
            value = plain(value)
            if len(value) > LONGEST:  # names are stored, so their length is bounded
                digest = hashlib.blake2b(value.encode("utf8", "surrogatepass"), digest_size=8)
                value = f"{value[:LONGEST]}… {digest.hexdigest()}"
            return f"{name}{EQUALS}{value}"
        return f"{name}{MISSING}" if self.missing and is_missing(value) else None

    def source(self, name: FeatureName) -> str | None:
        """The feature whose values this name encodes; None if it encodes none."""
        if isinstance(name, str):
            column, equals, _ = name.partition(EQUALS)
            if equals and self.categories:
                return column
            if self.missing and name.endswith(MISSING):
                return name
        return None

    def split(self, x: Mapping[FeatureName, Any]) -> tuple[dict[FeatureName, Any], dict[str, Any]]:
        """The values that must be numbers, and the encoded rest; raises if names collide."""
        self.check(x)
        numbers: dict[FeatureName, Any] = {}
        found: dict[Any, Any] = {}
        for name, value in x.items():
            made = self.made(name, value)
            if made is None:
                numbers[name] = value
                continue
            if made in found:
                raise ValueError(f"feature {name!r} reads like another one of x: rename it.")
            found[name], found[made] = math.nan, 1.0
        return numbers, found

    def check(self, names: Iterable[FeatureName]) -> None:
        """Raise ValueError if a name looks like that of an encoded feature."""
        for name in (name for name in names if isinstance(name, str)):
            if self.categories and EQUALS in name:
                raise ValueError(
                    f"feature {name!r} has a {EQUALS!r} in its name, as categories have that "
                    "INeurAL(categories=True) makes features of: rename it."
                )
            if self.missing and name.endswith(MISSING):
                raise ValueError(
                    f"the name of feature {name!r} ends as those do that INeurAL(missing=True) "
                    "gives to missing values: rename it."
                )
