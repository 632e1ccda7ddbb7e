"""Names, labels and values that a file can hold, and the limits of a model that follow from it.

They are checked where a value enters: by parameters, by each label, and by the reader of files.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import sys
from collections.abc import Collection, Mapping
from decimal import Decimal
from itertools import repeat
from numbers import Real
from typing import Any

import numpy as np

LARGEST = 10**300  # largest integer key: it fits float64
MOST = 2_000  # most keys whose hashes an attacker could make equal
FEW = 1 << 20  # integers below this are too few for such an attack
MOST_FEATURES, MOST_CLASSES = 100_000, 2_000  # of a model
OF_NAMES = 32 << 20  # bytes of the names of all features
OF_LABEL = 1_600  # bytes of a label
DEEPEST = 20  # tuples, lists and dicts in one another
PART = 20  # bytes that each comma or bracket counts as; a value counts as two

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 str_"
SCALARS: dict[str, Any] = {name: getattr(np, name) for name in NAMES.split()}
KINDS = frozenset((type(None), bool, int, float, str, bytes, *SCALARS.values()))
TIMES: Any = dt.datetime, dt.date, dt.time
OF_TIME = 6 * PART  # bytes
OF_FLOAT = len(repr(-sys.float_info.min))  # of a float at most, which takes a microsecond to write

PLAIN: dict[type, Any] = {int: int.__int__, float: float.__float__, str: str.__str__}


def plain(key: Any) -> Any:
    """The key as Python's own int, float, str or tuple, if it is of a subclass, as `IntEnum` is."""
    if type(key) in KINDS:
        return key
    if isinstance(key, tuple):
        return tuple(map(plain, key))
    return next((of(key) for kind, of in PLAIN.items() if isinstance(key, kind)), key)


def plain_value(value: Any) -> Any:
    """The value of a feature as a file can hold it: numbers of other types become floats."""
    if type(value) not in KINDS:
        value = plain(value)
        if isinstance(value, Real | Decimal):
            try:
                return float(value)
            except (OverflowError, ValueError):  # a signaling NaN, for one
                return math.nan
        if type(value).__name__ in ("NAType", "NaTType"):
            return None
    return value


class Unkept:
    """What a file holds in place of a value that it cannot hold: it equals every such value."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Unkept or size_of(other, depth=1) == math.inf


def size_of(value: Any, odd: float = math.inf, depth: int = 0) -> float:
    """Bytes that a value takes in a file, at most; `odd` for each that a file cannot hold."""
    kind = type(value)
    if kind is float:
        return 2 * PART + OF_FLOAT
    if kind is str and value.isascii() and (value.isalnum() or value.isidentifier()):
        return 2 * PART + 2 + len(value)
    if kind is str or kind is np.str_:
        n_items: int = sum(map(value.count, ",[{"))
        return (2 + n_items) * PART + len(json.dumps(value))
    if kind in KINDS and not (kind is int and abs(value) > LARGEST):
        return 2 * PART + len(repr(value)) * (1 + (kind is bytes))
    if kind in TIMES or kind is Unkept:
        return OF_TIME
    if kind not in (dict, list, tuple) or depth > DEEPEST:
        return odd
    if kind is dict:
        if depth and not {*map(type, value)} <= {str}:
            return odd
        value = [*value, *value.values()]
    return 2 * PART + sum(map(size_of, value, repeat(odd), repeat(depth + 1)))


def as_kept(x: Any, depth: int = 0) -> Any:
    """An example, or the value of a feature, as a file holds it."""
    if type(x) is dict and depth == 0:
        return {name: as_kept(value, 1) for name, value in x.items()}
    return Unkept() if size_of(x, depth=depth) == math.inf else x


def check_key(key: Any, what: str = "name", most: float = math.inf, depth: int = 0) -> None:
    """Raise TypeError or ValueError unless a file can hold the key, the name of a feature or a
    label, in `most` bytes.
    """
    kind = type(key)
    if kind is tuple:
        if depth == DEEPEST:
            raise ValueError(f"{what} has more than {DEEPEST} tuples in one another: use text.")
        for part in key:
            check_key(part, what, depth=depth + 1)
    elif kind is int and abs(key) > LARGEST:
        raise TypeError(f"{what} is an integer beyond 1e300: use text.")
    elif kind not in KINDS:
        raise TypeError(
            f"{what} {key!r:.80} ({kind.__name__}) cannot be saved: use text or a number."
        )
    elif key != key:
        raise TypeError(f"{what} is NaN, which is another one each time: use text or a number.")
    if depth == 0 and most < math.inf and (size := size_of(key)) > most:
        raise ValueError(
            f"{what} {key!r:.40}… takes {size:,} bytes in a file, more than {most:,}: shorten it."
        )


def check_keys(keys: Collection[Any], what: str = "name", most: float = math.inf) -> None:
    """Raise unless a file can hold all keys, each in `most` bytes, and all keys differ.

    Python hashes text with a secret, but numbers without one. The author of a file could choose
    numbers that all collide in a dict, which would then take minutes to fill.
    """
    text = {*map(type, keys)} <= {str}
    if not text or most < math.inf:
        for key in keys:
            check_key(key, what, most)
    if not text:
        n = sum(not _secret(key) for key in keys)
        if n > MOST:
            raise ValueError(
                f"{n:,} keys such as this {what} are neither text nor integers below {FEW:,}, "
                f"more than {MOST:,}: use text."
            )
    if len(set(keys)) < len(keys):
        raise ValueError(f"a {what} is repeated.")


def check_names(x: Any) -> None:
    """Raise TypeError or ValueError unless a file can hold the names in x."""
    if isinstance(x, Mapping) and not {*map(type, x)} <= {str}:
        check_keys([plain(name) for name in x], "feature name")


def _secret(key: Any) -> bool:
    """Whether an attacker cannot make many keys of this kind with one hash, which slow a dict."""
    if type(key) is tuple:
        return all(isinstance(part, str | bytes) for part in key)
    return key is None or isinstance(key, str | bytes) or (isinstance(key, int) and abs(key) < FEW)
