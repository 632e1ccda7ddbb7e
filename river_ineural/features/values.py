"""Convert a value of an example to a number, or raise an error that says how to convert it."""

from __future__ import annotations

import datetime as dt
import math
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from river.base.typing import FeatureName

from river_ineural.features.encoder import is_missing

LARGEST = 1e15  # the squared norm of 10,000 such values still fits float32
GAPS = frozenset(("", "?", "-", "na", "n/a", "nan", "none", "null"))  # missing values in files
TIMES = (dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64)  # a datetime is a date


def advice(name: FeatureName, value: Any) -> str:
    """What to do with a value that is not a number."""
    if is_missing(value):
        return (
            "INeurAL(missing=True) takes missing values; or replace it first, with "
            f"river.preprocessing.StatImputer(({name!r}, river.stats.Mean())) in front, for which "
            "None is missing and NaN is not, and a feature that x lacks is a KeyError; a scaler in "
            "front that makes NaN of its first example, as MinMaxScaler does, can be left out, for "
            "INeurAL scales"
        )
    if isinstance(value, TIMES):
        return "make numbers of it first, as its hour or its seconds since a fixed time"
    if not isinstance(value, str):
        return "make numbers of it first"
    if value.strip().lower() in GAPS:
        return (
            "if that is a missing value, make None of it, which INeurAL(missing=True) takes; in "
            f"river.stream.iter_csv with converters={{{name!r}: lambda text: float(text) "
            f"if text != {value!r} else None}}"
        )
    if reads_as_number(value):
        return (
            f"convert it first, in river.stream.iter_csv with converters={{{name!r}: float}}; if "
            "it is no quantity, INeurAL(categories=True) makes a category of each text"
        )
    return (
        "INeurAL(categories=True) takes text, or encode it first, e.g. with "
        "river.preprocessing.OneHotEncoder; if it holds a number, convert it first, in "
        f"river.stream.iter_csv with converters={{{name!r}: float}}; if it holds a time, "
        "datetime.fromisoformat(text).timestamp() are its seconds since 1970"
    )


def reads_as_number(text: str) -> bool:
    """Whether a text of a file is that of a number, or of a missing one."""
    try:
        float(text)
    except ValueError:
        return text.strip().lower() in GAPS
    return True


def checked(name: FeatureName, value: Any, where: str = "feature {!r} is") -> float:
    """The value of a feature as a float; errors begin with `where`, filled with its name."""
    where = where.format(name)
    number = isinstance(value, numbers.Real | np.bool_ | Decimal)
    if not number or isinstance(value, np.timedelta64):  # an integer type in NumPy
        kind = type(value).__name__
        raise TypeError(f"{where} {value!r} ({kind}), not a number: {advice(name, value)}.")
    try:
        real = float(value)
    except OverflowError:  # an int beyond float64
        real = math.inf
    except ValueError:  # a signaling NaN
        real = math.nan
    if math.isnan(real):
        raise ValueError(f"{where} {value}: {advice(name, math.nan)}.")
    if abs(real) > LARGEST:
        raise ValueError(
            f"{where} {real}, beyond ±{LARGEST:g}: scale it first, e.g. with "
            "river.preprocessing.StandardScaler, and replace infinite values by the largest that "
            "can be."
        )
    return real
