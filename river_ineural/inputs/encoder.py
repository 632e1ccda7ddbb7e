"""Strings and missing values as features of their own."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from river.base.typing import FeatureName

__all__ = ["Encoder", "is_missing"]

EQUALS, MISSING = "=", " missing"  # in the names that are made
LONGEST = 200  # characters of a value that its name takes over


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, or the NA or NaT of pandas, which need not be imported."""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or type(value).__name__ in ("NAType", "NaTType")


class Encoder:
    """What becomes of values that are no numbers: one feature each, which is 1 where it applies.

        {"age": 31, "job": "clerk"}  →  {"age": 31, "job": nan, "job=clerk": 1}
        {"age": None}                →  {"age": nan, "age missing": 1}

    The number of such a feature is NaN: it is not known. A column that holds both, as ages and "?",
    so has a number in each row. Other features may not have names that look like those made.

    `categories` says whether strings are encoded, `missing` whether missing values are.
    """

    def __init__(self, categories: bool, missing: bool) -> None:
        self.categories = categories
        self.missing = missing

    def made(self, name: FeatureName, value: Any) -> str | None:
        """The name of the feature that a value becomes; None if it has to be a number."""
        if isinstance(value, str):
            if not self.categories:
                return None
            if len(value) > LONGEST:  # names are kept: they must not grow without bound
                digest = hashlib.blake2b(value.encode("utf8", "surrogatepass"), digest_size=8)
                value = f"{value[:LONGEST]}… {digest.hexdigest()}"
            return f"{name}{EQUALS}{value}"
        return f"{name}{MISSING}" if self.missing and is_missing(value) else None

    def split(self, x: Mapping[FeatureName, Any]) -> tuple[dict[FeatureName, Any], dict[str, Any]]:
        """What is or has to be a number, and what is made of the rest; raises if names collide."""
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
        """Raise ValueError if a name is like one that is made."""
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
