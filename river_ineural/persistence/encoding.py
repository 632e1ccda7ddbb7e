"""The bytes of a file: JSON of plain values in one array, and the arrays of a model beside it.

JSON has no tuples, bytes or NumPy numbers, and its keys are text. A value that JSON lacks becomes
an object with one key, a "$" and the name of its class:

    {"$tuple": [1, 2]}  {"$dict": [[3, "c"]]}  {"$bytes": "00ff"}  {"$int64": 3}
    {"$Budget": {"limit": 0.25, "horizon": null, "burst": 3}}
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import safetensors.numpy
from river.drift import binary
from zlib_ng import zlib_ng

from river_ineural.active import Budget, ConstantWidth, TheoreticalWidth
from river_ineural.features.keys import LARGEST, SCALARS, TIMES, Unkept, check_keys
from river_ineural.persistence.parts import Arrays, LoadError

# The limits of a model (`features.keys`) and of questions keep its JSON within these.
MOST_BYTES = 96 << 20
MOST_ITEMS = 2_000_000  # commas, brackets and braces
MOST_HEADER = 1 << 20  # bytes of names and shapes of arrays
DOCUMENT = "document"  # the array that holds the JSON
BEGINNING = b'{"__metadata__":{"river_ineural":"'  # start of the header
AT = 8 + len(BEGINNING)  # position of the checksum, 8 digits


class SaveError(TypeError):
    """A model holds something that a file cannot store; the message says what, and what to do."""


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
    check_keys([key for key, _ in pairs if type(key) not in TIMES], "key")  # hashed with a secret
    return dict(pairs)


OBJECTS = [  # classes whose objects may be parameters
    *(Budget, ConstantWidth, TheoreticalWidth),
    *(binary.DDM, binary.EDDM, binary.FHDDM, binary.HDDMA, binary.HDDMW),
]
TAGS: dict[str, tuple[Any, Any, Any]] = {  # class, encoder and decoder
    "$tuple": (tuple, list, tuple),
    "$dict": (dict, lambda value: [*map(list, value.items())], mapping),
    "$bytes": (bytes, bytes.hex, bytes.fromhex),
    # Values that a step of a pipeline takes, in examples of questions.
    **{f"${kind.__name__}": (kind, kind.isoformat, kind.fromisoformat) for kind in TIMES},
    "$unkept": (Unkept, lambda _: None, lambda _: Unkept()),
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
    if isinstance(value, Mapping) and kind not in TAG_OF:
        return encoded(dict(value), path)
    if kind in TAG_OF:
        return {TAG_OF[kind]: encoded(TAGS[TAG_OF[kind]][1](value), path)}
    names = ", ".join(each.__name__ for each in OBJECTS)
    raise SaveError(
        f"{path} is {value!r:.80}, which a file cannot hold: of objects only {names} "
        "(persistence.encoding.OBJECTS)"
    )


def decoded(node: dict[str, Any]) -> Any:
    """Decode a JSON object whose parts are decoded already."""
    tag = next(iter(node), "")
    if not tag.startswith("$"):
        return node
    ((tag, content),) = node.items()
    return TAGS[tag][2](content)


def checksum(data: bytes) -> bytes:
    """CRC-32 of all bytes except those of the checksum itself."""
    every = memoryview(data)
    return b"%08x" % zlib_ng.crc32(every[AT + 8 :], zlib_ng.crc32(every[:AT]))


def within_limits(text: bytes, n_items: int = MOST_ITEMS) -> bytes:
    """Return the JSON; raise LoadError if reading it would take much time or memory."""
    n = sum(map(text.count, (b",", b"[", b"{")))
    if len(text) > MOST_BYTES or n > n_items:
        raise LoadError(f"names, labels and counts take {len(text):,} bytes and {n:,} items")
    return text


def pack(document: Any, arrays: Arrays) -> bytes:
    """The bytes of a file; `unpack` reverses this."""
    text = within_limits(json.dumps(encoded(document, "")).encode())
    arrays = {path: np.asarray(array, order="C") for path, array in arrays.items()}  # C order only
    arrays[DOCUMENT] = np.frombuffer(text, np.uint8)
    data = safetensors.numpy.save(arrays, {"river_ineural": 8 * "0"})
    return b"".join([data[:AT], checksum(data), memoryview(data)[AT + 8 :]])


def unpack(file: BinaryIO) -> tuple[Any, Arrays]:
    """The arguments given to `pack`; LoadError if the bytes of the file are not from `pack`."""
    start = file.read(AT)
    if start[8:] != BEGINNING or int.from_bytes(start[:8], "little") > MOST_HEADER:
        advice = ": it begins as a pickle does, and pickle.load runs whatever code is in one"
        raise LoadError("not a file of river_ineural.save" + advice * start.startswith(b"\x80"))
    data = start + file.read()
    if checksum(data) != data[AT : AT + 8]:
        raise LoadError("it is damaged: the checksum differs. Load an earlier copy")
    arrays = safetensors.numpy.load(data)
    text = within_limits(arrays.pop(DOCUMENT).tobytes())
    return json.loads(text, object_hook=decoded), arrays
