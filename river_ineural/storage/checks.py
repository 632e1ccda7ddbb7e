"""What values have to be before anything is built of them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from river_ineural.storage.errors import LoadError
from river_ineural.storage.values import Reference, Stored

__all__ = [
    *(
        "Check",
        "Scope",
        "State",
        "a_flag",
        "a_label",
        "a_list",
        "a_mapping",
        "a_name",
        "a_number",
        "a_real",
    ),
    *("a_queue", "a_text", "a_tuple", "an_array", "an_integer", "an_object", "optional", "plain"),
    *("a_generator", "is_integer", "need", "nothing"),
]

State = dict[str, Any]  # attributes by name, as `values.read` gives them


class Check(Protocol):
    """Raises LoadError, naming where, unless a value is what it has to be."""

    def __call__(self, value: Any, where: str, scope: Scope) -> None: ...


@dataclass(frozen=True)
class Scope:
    """Where a value is looked at.

    Parameters
    ----------
    objects
        Class name and attributes of each object of the file.
    verify
        Checks an object of the file: its index, where it stands, and this scope.
    sizes
        What the letters mean that shapes are written in.
    reached
        Objects looked at so far.
    """

    objects: list[tuple[str, State]]
    verify: Callable[[int, str, Scope], None]
    sizes: Mapping[str, int | str] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)

    def within(self, **sizes: int | str) -> Scope:
        """The same with more letters known."""
        return replace(self, sizes={**self.sizes, **sizes})

    def look(self, value: Any, where: str, *names: str) -> State:
        """The attributes of an object of one of these classes, not checked yet."""
        if isinstance(value, Reference) and self.objects[value.at][0] in names:
            return self.objects[value.at][1]
        raise wrong(where, f"of class {' or '.join(names)}", value)


def wrong(where: str, wanted: str, value: Any) -> LoadError:
    return LoadError(f"{where} must be {wanted}, got {value!r:.80}")


def need(fine: bool, where: str, wanted: str, value: Any) -> None:
    """Raise LoadError unless it is fine."""
    if not fine:
        raise wrong(where, wanted, value)


def is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def nothing(value: Any, where: str, scope: Scope) -> None:
    need(value is None, where, "None", value)


def a_flag(value: Any, where: str, scope: Scope) -> None:
    need(isinstance(value, bool | np.bool_), where, "true or false", value)


def an_integer(least: int = 0, most: int | str | None = None) -> Check:
    """From `least` to `most`, a number or a letter of the scope's."""

    def check(value: Any, where: str, scope: Scope) -> None:
        limit = scope.sizes[most] if isinstance(most, str) else most
        upwards = f"an integer from {least}" + ("" if limit is None else f" to {limit}")
        fine = is_integer(value) and value >= least and (limit is None or value <= limit)
        need(fine, where, upwards, value)

    return check


def a_number(least: float = -math.inf, most: float = math.inf) -> Check:
    """In [least, most]; not NaN."""

    def check(value: Any, where: str, scope: Scope) -> None:
        fine = (is_integer(value) or isinstance(value, float | np.floating)) and (
            least <= value <= most
        )
        need(fine, where, f"a number in [{least:g}, {most:g}]", value)

    return check


def a_real(value: Any, where: str, scope: Scope) -> None:
    """A number, or NaN where there is none."""
    need(is_integer(value) or isinstance(value, float | np.floating), where, "a number", value)


def a_text(*choices: str) -> Check:
    def check(value: Any, where: str, scope: Scope) -> None:
        need(isinstance(value, str) and value in choices, where, f"one of {choices}", value)

    return check


def a_name(value: Any, where: str, scope: Scope) -> None:
    """Of a feature."""
    kinds = bool | int | float | str | bytes | np.generic | None
    if type(value) is tuple:
        for i, part in enumerate(value):
            a_name(part, f"{where}.{i}", scope)
    else:
        fine = isinstance(value, kinds) and value == value  # not NaN
        need(fine, where, "a number, text, None or a tuple of these", value)


def a_label(value: Any, where: str, scope: Scope) -> None:
    fine = isinstance(value, bool | int | float | str | np.generic) and value == value
    need(fine, where, "a bool, a str, an int or a float", value)


def optional(check: Check) -> Check:
    """None, or what another check wants."""

    def either(value: Any, where: str, scope: Scope) -> None:
        if value is not None:
            check(value, where, scope)

    return either


def all_of(items: Collection[Any], check: Check, where: str, scope: Scope) -> None:
    if check in (a_name, a_label) and {*map(type, items)} <= {str, int}:
        return  # thousands of names need no call each
    for i, item in enumerate(items):
        check(item, f"{where}.{i}", scope)


def a_list(check: Check, n: int | str | None = None) -> Check:
    """Of n items."""

    def listed(value: Any, where: str, scope: Scope) -> None:
        need(type(value) is list, where, "a list", value)
        items: list[Any] = value
        length: Any = scope.sizes[n] if isinstance(n, str) else n
        need(length in (None, len(items)), where, f"a list of {length}", value)
        all_of(items, check, where, scope)

    return listed


def a_tuple(*checks: Check, kind: type[list[Any]] | type[tuple[Any, ...]] = tuple) -> Check:
    """Of items that differ; or a list of such."""

    def items(value: Any, where: str, scope: Scope) -> None:
        fine = isinstance(value, kind) and len(value) == len(checks)
        need(fine, where, f"a {kind.__name__} of {len(checks)}", value)
        for i, (item, check) in enumerate(zip(value, checks, strict=True)):
            check(item, f"{where}.{i}", scope)

    return items


def a_queue(check: Check) -> Check:
    def items(value: Any, where: str, scope: Scope) -> None:
        need(type(value) is deque, where, "a deque", value)
        all_of(value, check, where, scope)

    return items


def a_mapping(key: Check, item: Check) -> Check:
    def pairs(value: Any, where: str, scope: Scope) -> None:
        need(type(value) is dict, where, "a dict", value)
        all_of(value, key, f"keys of {where}", scope)
        all_of(value.values(), item, where, scope)

    return pairs


def an_array(dtype: str, *shape: int | str, tensor: bool = False, finite: bool = False) -> Check:
    """Of a dtype and a shape; "float" is the dtype that the networks work in."""

    def check(value: Any, where: str, scope: Scope) -> None:
        need(isinstance(value, Stored) and value.tensor == tensor, where, "a tensor", value)
        sizes = tuple(scope.sizes[size] if isinstance(size, str) else size for size in shape)
        named = scope.sizes["float"] if dtype == "float" else dtype
        found = value.array
        fine = (found.dtype.name, found.shape) == (named, sizes)
        if not fine:
            raise LoadError(
                f"tensor {value.name} must be {named} of shape {sizes}, got {found.dtype.name} "
                f"of shape {found.shape}"
            )
        fine = not finite or bool(np.isfinite(found).all())
        need(fine, f"tensor {value.name}", "finite", found)

    return check


def an_object(*names: str) -> Check:
    """Of one of these classes."""

    def check(value: Any, where: str, scope: Scope) -> None:
        scope.look(value, where, *names)
        scope.verify(value.at, where, scope)

    return check


a_generator = an_object("Generator")
SIMPLE = (
    *("Generator", "Random", "Budget"),
    *("ConstantWidth", "NeurONALWidth", "TheoreticalWidth"),
)


def plain(value: Any, where: str, scope: Scope) -> None:
    """Anything that consists of values, arrays and objects that consist of values."""
    if isinstance(value, Reference):
        scope.look(value, where, *SIMPLE)
        if value.at not in scope.reached:
            scope.verify(value.at, where, scope)
    elif type(value) in (list, tuple, deque):
        all_of(value, plain, where, scope)
    elif type(value) is dict:
        all_of(value.values(), plain, where, scope)
