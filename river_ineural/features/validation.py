"""Checks of parameters and pickles: each error names the parameter and what it must be.

A check returns the value to keep: numbers of NumPy and others become those of Python.
"""

from __future__ import annotations

import math
import numbers
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from river_ineural.features.keys import LARGEST

Check = Callable[[str, Any], Any]  # gets a parameter's name and value, returns the value to keep

SCHEMA = 1  # of the contents of pickles and files; from the first release on, changes raise it
ONE = 1.0  # the usual weight, which needs no check
PACKAGE = str(Path(__file__).parents[1])
MOST = 2**53  # largest integer: float64 holds all up to it
HEAVIEST = 1e6  # largest weight of an example: keeps squared gradients within float32


def check_integer(name: str, value: Any, least: int, most: int = MOST) -> int:
    """`value` as an int; raises unless it is an integer in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r:.80}.")
    number = int(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {max(number, -MOST)}.")
    if number > most:
        raise ValueError(f"{name} must be at most {most:,}.")
    return number


def check_real(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """`value` as a float; raises unless it is a finite number in [least, most]."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r:.80}.")
    try:
        real = float(value)
    except OverflowError:  # an int or a fraction beyond float64
        real = math.inf
    if not (math.isfinite(real) and least <= real <= most):
        raise ValueError(f"{name} must be finite and in [{least:g}, {most:g}], got {real}.")
    return real


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    """The one of `choices` that `value` equals; raises if there is none."""
    try:
        return choices[choices.index(value)]
    except (TypeError, ValueError):  # or it does not compare, as an array
        raise ValueError(f"{name} must be one of {choices}, got {value!r}.") from None


def check_seed(seed: Any) -> int | None:
    """`seed` as an int; raises unless it is None or an integer of at least 0."""
    return None if seed is None else check_integer("seed", seed, least=0, most=LARGEST)


def integer(least: int, most: int = MOST) -> Check:
    """`check_integer` with these bounds."""
    return lambda name, value: check_integer(name, value, least, most)


def real(least: float = -math.inf, most: float = math.inf) -> Check:
    """`check_real` with these bounds."""
    return lambda name, value: check_real(name, value, least, most)


def choice(*choices: Any) -> Check:
    """`check_choice` with these choices."""
    return lambda name, value: check_choice(name, value, choices)


def optional(check: Check) -> Check:
    """None, or what `check` accepts."""
    return lambda name, value: None if value is None else check(name, value)


def check_weight(w: float) -> None:
    """Raise unless w is a valid weight of an example."""
    if w is not ONE:
        check_real("w", w, least=0, most=HEAVIEST)


def check_schema(schema: object) -> None:
    """Raise ValueError unless a pickle has the schema of this version."""
    if schema != SCHEMA:
        raise ValueError(
            f"this pickle is of schema {schema}, where this version has {SCHEMA}: load it with the "
            "version of river_ineural that made it, or learn the stream anew."
        )


def warn(text: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of this package that has led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
