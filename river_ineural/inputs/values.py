"""One value of an example as a number, or an error that says how to make one of it."""

from __future__ import annotations

import datetime as dt
import math
import numbers
import sys
from decimal import Decimal
from typing import Any

import numpy as np
from river.base.typing import FeatureName

from river_ineural.inputs.encoder import is_missing

__all__ = ["LARGEST", "checked"]

LARGEST = 1e15  # a squared norm over 10,000 such values still fits float32
GAPS = frozenset(("", "?", "-", "na", "n/a", "nan", "none", "null"))  # as files write them
TIMES: tuple[tuple[type, str], ...] = (  # a datetime is a date, so it stands before
    (dt.datetime, "value.timestamp() are its seconds since 1970, value.hour its hour"),
    (dt.date, "value.toordinal() counts its days"),
    (dt.time, "value.hour + value.minute / 60 are its hours"),
    (dt.timedelta, "value.total_seconds() are its seconds"),
    (np.datetime64, "value.astype('datetime64[s]').astype(float) are its seconds since 1970"),
    (np.timedelta64, "value / np.timedelta64(1, 's') are its seconds"),
)


def of_missing(name: FeatureName) -> str:
    """What to do with a value that is missing."""
    return (
        "INeurAL(missing=True) takes missing values; or replace it first, with "
        f"river.preprocessing.StatImputer(({name!r}, river.stats.Mean())) in front, for which None "
        "is missing and NaN is not, and a feature that x lacks is a KeyError"
    )


def of_text(name: FeatureName, text: str) -> str:
    """What to do with text, by what it looks like."""
    if text.strip().lower() in GAPS:
        return (
            "if that is a missing value, make None of it, which INeurAL(missing=True) takes; in "
            f"river.stream.iter_csv with converters={{{name!r}: lambda text: float(text) "
            f"if text != {text!r} else None}}"
        )
    try:
        float(text)
    except ValueError:
        pass
    else:
        return (
            "convert it first with float(), in river.stream.iter_csv with "
            f"converters={{{name!r}: float}}; or, if it is a code that counts nothing, let "
            "INeurAL(categories=True) take it as text"
        )
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return (
            "if it is a category, INeurAL(categories=True) takes it, or encode it first, e.g. with "
            "river.preprocessing.OneHotEncoder; if it holds a number, convert it first"
        )
    return (
        "if it is a time, datetime.fromisoformat(text).timestamp() are its seconds since 1970; "
        "in river.stream.iter_csv such a function belongs into converters"
    )


def checked(name: FeatureName, value: Any) -> float:
    """The value of one feature as a float.

    Raises
    ------
    TypeError, ValueError
        Naming the feature, if it is not a finite number up to 1e15 in magnitude.
    """
    number = isinstance(value, numbers.Real | np.bool_ | Decimal)
    if not number or isinstance(value, np.timedelta64):  # which NumPy takes for an integer
        what = f"feature {name!r} is {value!r} ({type(value).__name__}), not a number"
        if is_missing(value):
            raise TypeError(f"{what}: {of_missing(name)}.")
        if isinstance(value, str):
            raise TypeError(f"{what}: {of_text(name, value)}.")
        for kind, advice in TIMES:
            if isinstance(value, kind):
                raise TypeError(f"{what}: make numbers of it first, {advice}.")
        raise TypeError(f"{what}: make numbers of it first.")
    try:
        real = float(value)
    except OverflowError:  # an int beyond float64
        real = sys.float_info.max  # fails the check below whatever its sign
    if math.isnan(real):
        raise ValueError(f"feature {name!r} is {value}: {of_missing(name)}.")
    if math.isinf(real):
        raise ValueError(
            f"feature {name!r} is {value}: replace infinite values first, e.g. by the largest "
            "that can be."
        )
    if abs(real) > LARGEST:
        raise ValueError(
            f"feature {name!r} is {real}, beyond ±{LARGEST:g}: scale it first, "
            "e.g. with river.preprocessing.StandardScaler."
        )
    return real
