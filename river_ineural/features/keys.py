"""Names and labels that a file can hold."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

LARGEST = 10**300  # largest integer key: it fits float64
MOST = 2_000  # most keys whose hashes an attacker could make equal
FEW = 1 << 20  # integers below this are too few for such an attack

NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 str_"
SCALARS: dict[str, Any] = {name: getattr(np, name) for name in NAMES.split()}
KINDS = frozenset((type(None), bool, int, float, str, bytes, *SCALARS.values()))

PLAIN: dict[type, Any] = {int: int.__int__, float: float.__float__, str: str.__str__}


def plain(key: Any) -> Any:
    """The key as Python's own int, float, str or tuple, if it is of a subclass, as `IntEnum` is."""
    if type(key) in KINDS:
        return key
    if isinstance(key, tuple):
        return tuple(map(plain, key))
    return next((of(key) for kind, of in PLAIN.items() if isinstance(key, kind)), key)


def check_key(key: Any, what: str = "name") -> None:
    """Raise TypeError unless a file can hold the key, the name of a feature or a label."""
    kind = type(key)
    if kind is tuple:
        for part in key:
            check_key(part, what)
        return
    if kind is int and abs(key) > LARGEST:
        raise TypeError(f"{what} is an integer beyond 1e300: use text.")
    if kind not in KINDS:
        raise TypeError(
            f"{what} {key!r:.80} ({kind.__name__}) cannot be saved: use text or a number."
        )
    if key != key:
        raise TypeError(f"{what} is NaN, which is another one each time: use text or a number.")


def check_keys(keys: Collection[Any], what: str = "name") -> None:
    """Raise unless a file can hold all keys, and all keys differ.

    Python hashes text with a secret, but numbers without one. The author of a file could choose
    numbers that all collide in a dict, which would then take minutes to fill.
    """
    if not {*map(type, keys)} <= {str}:
        for key in keys:
            check_key(key, what)
        n = sum(not _secret(key) for key in keys)
        if n > MOST:
            raise ValueError(
                f"{n:,} keys such as this {what} are neither text nor integers below {FEW:,}, "
                f"more than {MOST:,}: use text."
            )
    if len(set(keys)) < len(keys):
        raise ValueError(f"a {what} is repeated.")


def _secret(key: Any) -> bool:
    """Whether an attacker cannot make many keys of this kind with one hash, which slow a dict."""
    if type(key) is tuple:
        return all(isinstance(part, str | bytes) for part in key)
    return key is None or isinstance(key, str | bytes) or (isinstance(key, int) and abs(key) < FEW)
