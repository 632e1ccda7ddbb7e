"""How a file holds a model: by one `Part` for each of its objects, with types and limits.

A field of a part is the attribute of that name. A string in `ARRAYS` is the type and shape of an
array: numbers, names of sizes, or other names, each of which has the same value within a part; "w"
is the type of weights, and "!" says that all is finite. All else, as parameters and what follows
from them, is made anew by the constructor.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray
from river.drift.binary.hddm_w import SampleInfo

from river_ineural.active import BudgetedSampler
from river_ineural.explorers.trust import Explorers

Arrays = dict[str, NDArray[Any]]
Sizes = dict[str, Any]
PARTS: dict[str, type[Part]] = {}  # by the name of the class of an object

Count = Annotated[int, Meta(ge=0, le=2**62)]
Positive = Annotated[int, Meta(ge=1, le=2**62)]
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Class = Annotated[int, Meta(ge=0, le=2**31)]
Level = Annotated[float, Meta(ge=0)]
Finite = Annotated[float, Meta(ge=0, le=1e300)]
Number = Annotated[float, Meta(ge=-1e300)]  # not NaN
Share = Annotated[float, Meta(ge=0, le=1)]
Due = Annotated[float, Meta(ge=0, le=1e6)]
Plain = bool | Integer | float | None | list[bool | Integer | float]
OfRiver = dict[str, Plain | dict[str, Plain | dict[str, Plain]]]  # a detector with its statistics
MOST = Meta(max_length=100_000)
Strings = Annotated[dict[str, Annotated[list[Count], Meta(min_length=2, max_length=2)]], MOST]


class LoadError(ValueError):
    """The bytes are not a model that this version can load; the message says why."""


def need(fine: Any, path: str, wanted: str, found: Any) -> None:
    """Raise LoadError unless `fine` is true."""
    if not fine:
        raise LoadError(f"{path or 'a part'} must be {wanted}, got {found!r:.80}")


class Part(Struct, forbid_unknown_fields=True):
    """What learning changes in one object."""

    ARRAYS: ClassVar[dict[str, str]] = {}

    def fill(self, thing: Any, path: str, arrays: Arrays, sizes: Sizes) -> None:
        """Set all this on a new object; raise LoadError unless it fits, and is consistent."""
        state, sides = attributes(thing) | sizes.get(type(thing).__name__, {}), dict(sizes)
        for name in self.__struct_fields__:
            at, before, value = f"{path}.{name}", state.get(name), getattr(self, name)
            kind = type(value) if isinstance(value, Part) else None
            fits = PARTS.get(type(before).__name__) is kind
            need(fits, at, "as its model's parameters say", value)
            if isinstance(value, Part):
                value.fill(before, at, arrays, sizes)
            elif isinstance(value, list) and value and isinstance(value[0], Part):
                for i, each in enumerate(value):
                    each.fill(before[i], f"{at}.{i}", arrays, sizes)
            else:
                state[name] = restored(before, value, at)
        for name, wanted in self.ARRAYS.items():
            state[name] = taken(arrays, f"{path}.{name}", wanted.split(), sides)
        self.check(state, path, sizes)
        if hasattr(thing, "__setstate__") and not isinstance(thing, BudgetedSampler):
            thing.__setstate__(state)
        else:
            vars(thing).update({name: state[name] for name in vars(thing).keys() & state})

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        """Raise LoadError unless attributes fit each other and the sizes."""


def attributes(thing: Any) -> dict[str, Any]:
    """The attributes of an object as a copy would have them."""
    if isinstance(thing, BudgetedSampler):  # whose state would hold a copy of the classifier
        return dict(vars(thing))
    state = dict(thing.__getstate__() or {})
    return state | thing.by_name if isinstance(thing, Explorers) else state


def plain(value: Any, path: str, arrays: Arrays) -> Any:
    """The value, or the plain values in an object; adds its arrays by their paths."""
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, deque):
        return [*value]
    if isinstance(value, list):
        return [plain(each, f"{path}.{i}", arrays) for i, each in enumerate(value)]
    part = PARTS.get(type(value).__name__)
    if not (part or type(value).__module__.startswith("river.")):
        return value
    if written := getattr(part, "written", None):
        return written(value, path, arrays)
    state = attributes(value)
    if isinstance(value, SampleInfo):  # its average is a compiled object
        state["_ewma"] = value.ewma
    arrays |= {f"{path}.{name}": state[name] for name in (part.ARRAYS if part else ())}
    names = part.__struct_fields__ if part else state
    return {name: plain(state.get(name), f"{path}.{name}", arrays) for name in names}


def restored(thing: Any, value: Any, path: str) -> Any:
    """The value as `plain` was given it: in a new object, unless it is plain itself."""
    if isinstance(thing, np.random.Generator):
        thing.bit_generator.state = value
    elif isinstance(thing, random.Random):
        thing.setstate(value)
    elif isinstance(thing, deque):
        thing.extend(value)
    elif not type(thing).__module__.startswith("river."):
        return value
    else:
        state = attributes(thing)
        need(value.keys() == state.keys(), path, "as in River", value)
        if isinstance(thing, SampleInfo):
            if value["_is_init"]:  # one update restores the compiled average
                thing._ewma.update(value["_ewma"])
            del state["_ewma"]
        for name, each in state.items():
            at, part = f"{path}.{name}", value[name]
            kinds = isinstance(part, dict), isinstance(part, list)
            fine = kinds == (hasattr(each, "__dict__"), isinstance(each, deque))
            need(fine, at, "as in River", part)
            thing.__dict__[name] = restored(each, part, at)
    return thing


def taken(arrays: Arrays, path: str, wanted: list[str], sides: Sizes) -> NDArray[Any]:
    """Take an array out of those of a file; its sides have these names."""
    need(path in arrays, f"tensor {path}", "in the file", "nothing")
    value, (kind, *names) = arrays.pop(path), wanted
    finite, kind = kind.endswith("!"), sides["dtype"] if kind[0] == "w" else kind.rstrip("!")
    pairs: Any = itertools.zip_longest(names, value.shape[: len(names)], fillvalue=0)
    shape = tuple(int(n) if n.isdigit() else sides.setdefault(n, size) for n, size in pairs)
    if (value.dtype, value.shape) != (np.dtype(kind), shape):
        said = f"{np.dtype(kind)} of shape {shape}, got {value.dtype} of shape {value.shape}"
        raise LoadError(f"tensor {path} must be {said}")
    need(not finite or np.isfinite(value).all(), f"tensor {path}", "finite", value)
    return value
