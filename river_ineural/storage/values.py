"""Values of closed kinds as JSON, and back.

None, bool, int, str and finite floats are JSON's own, and a list is a list. Anything else is a JSON
object of one key, its kind:

    {"float": "inf"}  {"bytes": "00ff"}  {"numpy": ["int64", 3]}  {"dtype": "float32"}
    {"tuple": [...]}  {"deque": [maxlen, [...]]}  {"dict": [[key, value], ...]}
    {"slice": [start, stop, step]}  {"array": name}  {"tensor": name}  {"object": index}

Objects of our own classes, and generators, stand in a list; each refers to earlier ones only, so
that what is shared stays shared and nothing can refer to itself.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.storage.container import DTYPES
from river_ineural.storage.errors import LoadError, SaveError

__all__ = ["Reference", "Stored", "Writer", "read", "replaced"]

PLAIN = (type(None), bool, int, str)
SCALARS = {dtype.name: dtype.type for dtype in DTYPES} | {"str": np.str_}
WORKED_IN = {"float32": np.float32, "float64": np.float64}
LONGEST_INTEGER = 10**4000  # Python reads no longer ones
EXTREME = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Reference(NamedTuple):
    """An object that is read earlier than what refers to it."""

    at: int


@dataclass(frozen=True)
class Stored:
    """An array of the file."""

    name: str
    array: NDArray[Any] = field(repr=False)
    tensor: bool


class Writer:
    """Collects arrays and objects while it writes values.

    Parameters
    ----------
    take
        Class name and attributes of an object of a class that can be saved; None for others.
    """

    def __init__(self, take: Callable[[Any, str], tuple[str, dict[str, Any]] | None]) -> None:
        self.take = take
        self.arrays: dict[str, NDArray[Any]] = {}
        self.objects: list[dict[str, Any]] = []
        self.indices: dict[int, int | None] = {}  # by id; None while it is being written
        self.held: list[Any] = []  # so that no id is given twice

    def write(self, value: Any, path: str) -> Any:
        """A value as JSON.

        Raises
        ------
        SaveError
            Naming the path of what cannot be written.
        """
        kind = type(value)
        if kind is int and abs(value) > LONGEST_INTEGER:
            raise SaveError(f"{path} is an integer of more than 4,000 digits")
        if kind in PLAIN:
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is bytes:
            return {"bytes": value.hex()}
        if kind is list:
            return self.items(value, path)
        if kind is tuple:
            return {"tuple": self.items(value, path)}
        if kind is deque:
            return {"deque": [value.maxlen, self.items(value, path)]}
        if kind is dict:
            return {"dict": [self.items(pair, f"{path}[{pair[0]!r}]") for pair in value.items()]}
        if kind is slice:
            return {"slice": self.items((value.start, value.stop, value.step), path)}
        if kind is np.ndarray:
            return {"array": self.array(value, path)}
        if isinstance(value, Tensor):
            return {"tensor": self.array(value.detach().cpu().numpy(), path)}
        if isinstance(value, np.generic) and (name := np.dtype(kind).name) in SCALARS:
            return {"numpy": [name, self.write(value.item(), path)]}
        if isinstance(value, np.str_):
            return {"numpy": ["str", str(value)]}
        if isinstance(value, type) and value in WORKED_IN.values():
            return {"dtype": value.__name__}
        return {"object": self.object(value, path)}

    def items(self, values: Any, path: str) -> list[Any]:
        """Each of some values as JSON."""
        return [self.write(value, f"{path}.{i}") for i, value in enumerate(values)]

    def array(self, array: NDArray[Any], path: str) -> str:
        """The name under which an array is in the file."""
        if array.dtype not in DTYPES:
            raise SaveError(f"{path} is an array of {array.dtype}, which a file cannot hold")
        name = path.rpartition("_state.")[2]  # of a sampler, a learner's are named alike
        if name in self.arrays:
            name = f"{name}#{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def object(self, value: Any, path: str) -> int:
        """The index of an object in the list."""
        if id(value) not in self.indices:
            taken = self.take(value, path)
            if taken is None:
                kind, said = type(value), " ".join(repr(value).split())
                name = f"{kind.__module__}.{kind.__qualname__}"
                raise SaveError(f"{path} is {said:.80} ({name}), which a file cannot hold")
            self.held += value, taken
            self.indices[id(value)] = None
            name, attributes = taken
            names = sorted(attributes)  # so that what is equal is the same to the byte
            state = {key: self.write(attributes[key], f"{path}.{key}") for key in names}
            self.indices[id(value)] = len(self.objects)
            self.objects.append({"class": name, "state": state})
        index = self.indices[id(value)]
        if index is None:
            raise SaveError(f"{path} holds itself")
        return index


def read(node: Any, where: str, arrays: dict[str, NDArray[Any]], n_objects: int) -> Any:
    """A value from JSON, with a `Reference` for each object and a `Stored` for each array.

    Parameters
    ----------
    arrays
        Those that nothing has referred to yet; what is read is taken out.
    n_objects
        Objects that may be referred to.

    Raises
    ------
    LoadError
        Naming where something else stands than what `Writer` writes.
    """
    if type(node) in (*PLAIN, float):
        return node
    if type(node) is list:
        return [read(part, f"{where}.{i}", arrays, n_objects) for i, part in enumerate(node)]
    pairs = node.items() if type(node) is dict and len(node) == 1 else ((None, None),)
    ((tag, content),) = tuple[tuple[Any, Any], ...](pairs)
    kind = type(content)
    if kind is str:
        if tag == "float" and content in EXTREME:
            return EXTREME[content]
        if tag == "dtype" and content in WORKED_IN:
            return WORKED_IN[content]
        if tag == "bytes":
            return bytes.fromhex(content)
        if tag in ("array", "tensor"):
            if content not in arrays:
                raise LoadError(f"{where}: the tensor {content!r} is missing, or named twice")
            return Stored(content, arrays.pop(content), tag == "tensor")
    if kind is int and tag == "object" and 0 <= content < n_objects:
        return Reference(content)
    if kind is list:
        if tag == "numpy" and len(content) == 2 and content[0] in SCALARS:
            return SCALARS[content[0]](read(content[1], where, {}, 0))
        if tag == "deque" and len(content) == 2:
            maxlen, items = read(content, where, arrays, n_objects)
            return deque(items, maxlen)
        if tag in ("tuple", "slice", "dict"):
            items = read(content, where, arrays, n_objects)
            if tag == "tuple":
                return tuple(items)
            if tag == "dict" and all(type(pair) is list and len(pair) == 2 for pair in items):
                return dict(items)
            if tag == "slice" and len(items) == 3:
                return slice(*items)
    raise LoadError(f"{where} is {node!r:.80}, which stands for nothing")


def replaced(value: Any, by: Callable[[Reference | Stored], Any]) -> Any:
    """A value with what stands for objects and arrays replaced."""
    kind = type(value)
    if kind in (Reference, Stored):
        return by(value)
    if kind in (list, tuple):
        return kind(replaced(part, by) for part in value)
    if kind is deque:
        return deque((replaced(part, by) for part in value), value.maxlen)
    if kind is dict:
        return {key: replaced(part, by) for key, part in value.items()}
    return value
