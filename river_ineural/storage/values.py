"""Convert plain values to JSON, list the attributes of model parts, and pack the bytes of a file.

JSON has no tuples, bytes or NumPy numbers, and its keys are text. A value that JSON lacks becomes
an object with one key, a "$" and the name of its class:

    {"$tuple": [1, 2]}  {"$dict": [[3, "c"]]}  {"$bytes": "00ff"}  {"$int64": 3}
    {"$Budget": {"limit": 0.25, "horizon": null, "burst": 3}}
"""

from __future__ import annotations

import functools
import inspect
import json
import random
from typing import Any, BinaryIO

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from river.drift import binary
from river.drift.binary.hddm_w import SampleInfo
from zlib_ng import zlib_ng

from river_ineural.active import Budget, BudgetedSampler, ConstantWidth, TheoreticalWidth
from river_ineural.inputs.keys import LARGEST, SCALARS, check_keys

__all__ = [
    "Arrays",
    "LoadError",
    "SaveError",
    "encoded",
    "fields",
    "fill",
    "given",
    "made",
    "need",
    "pack",
    "unpack",
]

Arrays = dict[str, NDArray[Any]]
MOST_BYTES = 16 << 20  # of the header, which holds all but the tensors
MOST_ITEMS = 260_000  # commas, brackets and braces of the header
KEY = "river_ineural"  # metadata key of the checksum and the JSON that follows it
BEGINNING = b'{"__metadata__":{"%s":"' % KEY.encode()  # start of the header
AT = 8 + len(BEGINNING)  # position of the checksum, 8 digits


class LoadError(ValueError):
    """The bytes are not a model that this version can load; the message says why."""


class SaveError(TypeError):
    """A model holds something that a file cannot store; the message says what, and what to do."""


def need(fine: Any, path: str, wanted: str, found: Any) -> None:
    """Raise LoadError unless `fine` is true."""
    if not fine:
        raise LoadError(f"{path or 'a part'} must be {wanted}, got {found!r:.80}")


def given(value: Any) -> dict[str, Any]:
    """The constructor parameters of an object."""
    return {name: getattr(value, name) for name in inspect.signature(type(value)).parameters}


def made(kind: Any, given: dict[str, Any]) -> Any:
    """Make an object from all the parameters of its class."""
    if odd := given.keys() ^ inspect.signature(kind).parameters.keys():
        raise LoadError(f"{kind.__name__} lacks its parameter {min(odd)}, or has none of that name")
    return kind(**given)


def mapping(pairs: list[Any]) -> dict[Any, Any]:
    """Make a dict; raise if its keys may have been chosen to collide."""
    check_keys([key for key, _ in pairs], "key")
    return dict(pairs)


OBJECTS = [  # classes whose objects may be parameters
    *(Budget, ConstantWidth, TheoreticalWidth),
    *(binary.DDM, binary.EDDM, binary.FHDDM, binary.HDDMA, binary.HDDMW),
]
TAGS: dict[str, tuple[Any, Any, Any]] = {  # class, encoder and decoder
    "$tuple": (tuple, list, tuple),
    "$dict": (dict, lambda value: [*map(list, value.items())], mapping),
    "$bytes": (bytes, bytes.hex, bytes.fromhex),
    **{f"${name}": (kind, kind.item, kind) for name, kind in SCALARS.items()},
    **{f"${kind.__name__}": (kind, given, functools.partial(made, kind)) for kind in OBJECTS},
}
TAG_OF = {kind: tag for tag, (kind, _, _) in TAGS.items()}


def encoded(value: Any, path: str) -> Any:
    """Convert a value to JSON; SaveError names the path of a value that cannot be converted."""
    kind = type(value)
    if value is None or kind in (bool, float, str) or (kind is int and abs(value) <= LARGEST):
        return value
    if kind is list:
        return [encoded(part, f"{path}.{i}") for i, part in enumerate(value)]
    if kind is dict and all(type(key) is str and not key.startswith("$") for key in value):
        return {key: encoded(part, f"{path}.{key}") for key, part in value.items()}
    if kind in TAG_OF:
        return {TAG_OF[kind]: encoded(TAGS[TAG_OF[kind]][1](value), path)}
    names = ", ".join(each.__name__ for each in OBJECTS)
    raise SaveError(
        f"{path} is {value!r:.80}, which a file cannot hold: of objects only {names} "
        "(storage.values.OBJECTS)"
    )


def decoded(node: dict[str, Any]) -> Any:
    """Decode a JSON object whose parts are decoded already."""
    tag = next(iter(node), "")
    if not tag.startswith("$"):
        return node
    ((tag, content),) = node.items()
    return TAGS[tag][2](content)


def fields(part: Any) -> dict[str, Any] | None:
    """The attributes that a copy of a part would have; None for a plain value."""
    kind = type(part)
    if kind is dict:
        return dict(part)
    if kind is np.random.Generator:
        return {"state": part.bit_generator.state}
    if kind is random.Random:
        return {"state": part.getstate()}
    ours = kind.__module__.startswith(("river_ineural.", "river."))
    if not ours or isinstance(part, tuple | Budget):
        return None
    if isinstance(part, BudgetedSampler):
        return {key: vars(part)[key] for key in vars(part) if key not in ("_lock", "classifier")}
    state = dict(part.__getstate__() or {})
    if kind is SampleInfo:  # its average is a compiled object: keep the value
        state["_ewma"] = part.ewma
    return state


def fill(part: Any, state: dict[str, Any]) -> None:
    """Set these attributes on a part of a template."""
    if isinstance(part, dict):
        part.update(state)
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = state["state"]
    elif isinstance(part, random.Random):
        part.setstate(state["state"])
    elif hasattr(part, "__setstate__") and not isinstance(part, BudgetedSampler):
        part.__setstate__(state)
    else:
        if isinstance(part, SampleInfo):
            if state["_is_init"]:  # one update restores the compiled average
                part._ewma.update(state["_ewma"])
            state["_ewma"] = part._ewma
        part.__dict__.update(state)


def checksum(data: bytes) -> bytes:
    """CRC-32 of all bytes except those of the checksum itself."""
    every = memoryview(data)
    return b"%08x" % zlib_ng.crc32(every[AT + 8 :], zlib_ng.crc32(every[:AT]))


def within_limits(header: bytes) -> bytes:
    """Return the header; raise LoadError if reading it would take much time or memory."""
    n = sum(map(header.count, (b",", b"[", b"{")))
    if len(header) > MOST_BYTES or n > MOST_ITEMS:
        raise LoadError(f"names, labels and counts take {len(header):,} bytes and {n:,} items")
    return header


def pack(document: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file; `unpack` reverses this."""
    text = json.dumps({key: encoded(value, key) for key, value in document.items()})
    arrays = {path: np.asarray(array, order="C") for path, array in arrays.items()}  # C order only
    data = safetensors.numpy.save(arrays, {KEY: 8 * "0" + text})
    within_limits(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return b"".join([data[:AT], checksum(data), memoryview(data)[AT + 8 :]])


def unpack(file: BinaryIO) -> tuple[Any, Arrays]:
    """The arguments given to `pack`; LoadError if the bytes of the file are not from `pack`."""
    head = file.read(8)
    header = within_limits(file.read(min(int.from_bytes(head, "little"), MOST_BYTES + 1)))
    if not header.startswith(BEGINNING):
        advice = ": it begins as a pickle does, and pickle.load runs whatever code is in one"
        raise LoadError("not a file of river_ineural.save" + advice * head.startswith(b"\x80"))
    file.seek(0)
    data = file.read()
    if checksum(data) != data[AT : AT + 8]:
        raise LoadError("it is damaged: the checksum differs. Load an earlier copy")
    text = json.loads(header)["__metadata__"][KEY][8:]
    return json.loads(text, object_hook=decoded), safetensors.numpy.load(data)
