"""Plain values as JSON, and with arrays in one safetensors file; and back.

None, bool, int, float, str and lists are JSON as Python writes it, with NaN, Infinity and integers
of any size. All else is a JSON object of one key, its kind:

    {"tuple": [...]}  {"dict": [[key, value], ...]}  {"bytes": hex}  {"int64": 3}
    {"array": name of a tensor}

The JSON is metadata of the file, behind a CRC-32 of all bytes but its own.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from river_ineural.inputs.keys import LARGEST, SCALARS, check_keys

__all__ = ["Arrays", "LoadError", "SaveError", "decode", "encode", "pack", "put", "unpack"]

Arrays = dict[str, NDArray[Any]]

# A file holds at most so much, and a model with more is not saved: see also `inputs.keys`
MOST_BYTES = 16 << 20  # of the header, in which is all but the tensors
MOST_ITEMS = 300_000  # commas, brackets and braces of the header
DEEPEST = 24  # lists, tuples and dicts within each other

KEY = "river_ineural"  # of the metadata
BEGINNING = b'{"__metadata__":{"%s":"' % KEY.encode()  # of the header
AT = 8 + len(BEGINNING)  # of the checksum, in 8 digits


class LoadError(ValueError):
    """These bytes are no model that this version can load; the message says why."""


class SaveError(TypeError):
    """A model holds something that a file cannot hold; the message says what, and what to do."""


def mapping(pairs: Any) -> dict[Any, Any]:
    check_keys([key for key, _ in pairs], "key")
    return dict(pairs)


PLAIN = (type(None), bool, int, float, str)
TAGS: dict[str, tuple[type, Any, Any]] = {
    "tuple": (tuple, list, tuple),
    "dict": (dict, lambda value: [*map(list, value.items())], mapping),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
} | {name: (kind, lambda value: value.item(), kind) for name, kind in SCALARS.items()}
TAG = {kind: tag for tag, (kind, _, _) in TAGS.items()}


def put(arrays: Arrays, path: str, array: NDArray[Any]) -> None:
    """Put an array among those of a file."""
    if array.dtype.type not in TAG or array.dtype.kind == "U":
        raise SaveError(f"{path} is an array of {array.dtype}, which a file cannot hold")
    if path in arrays:
        raise SaveError(f"{path} is there twice: give one of the two another name")
    arrays[path] = np.asarray(array, order="C")  # safetensors would take others as they lie


def encode(value: Any, path: str, arrays: Arrays, depth: int = 0) -> Any:
    """A value as JSON, its arrays being put among `arrays`.

    Raises
    ------
    SaveError
        Naming the path of what cannot be written.
    """
    kind = type(value)
    if depth > DEEPEST:
        raise SaveError(f"{path} is more than {DEEPEST} levels deep, or holds itself")
    if kind in PLAIN and not (kind is int and abs(value) > LARGEST):
        return value
    if kind is list:
        return [encode(part, f"{path}.{i}", arrays, depth + 1) for i, part in enumerate(value)]
    if kind is np.ndarray:
        put(arrays, path, value)
        return {"array": path}
    if kind not in TAG:
        said = "an integer beyond 1e300" if kind is int else " ".join(repr(value).split())
        raise SaveError(
            f"{path} is {said:.80} ({kind.__module__}.{kind.__qualname__}), which a file cannot "
            "hold"
        )
    tag = TAG[kind]
    return {tag: encode(TAGS[tag][1](value), path, arrays, depth + 1)}


def decode(node: Any, path: str, arrays: Arrays, depth: int = 0) -> Any:
    """The value of JSON, whose arrays are taken out of `arrays`.

    Raises
    ------
    LoadError
        Naming the path where something else stands than what `encode` writes.
    """
    kind = type(node)
    if depth > 2 * DEEPEST or (kind is int and abs(node) > LARGEST):
        raise LoadError(f"{path:.80} is too deep, or too large an integer")
    if kind is list:
        return [decode(part, path, arrays, depth + 1) for part in node]
    if kind is not dict:
        return node
    try:
        ((tag, content),) = node.items()
        if tag == "array":
            return arrays.pop(content)
        return TAGS[tag][2](decode(content, path, arrays, depth + 1))
    except LoadError:
        raise
    except (LookupError, OverflowError, TypeError, ValueError) as error:
        raise LoadError(f"{path} is {node!r:.80}, which stands for nothing ({error})") from error


def checksum(data: bytes) -> bytes:
    """CRC-32 of all bytes but its own."""
    every = memoryview(data)
    return b"%08x" % zlib_ng.crc32(every[AT + 8 :], zlib_ng.crc32(every[:AT]))


def checked(header: bytes) -> bytes:
    """A header itself, if it is within the limits."""
    n = sum(map(header.count, (b",", b"[", b"{")))
    if len(header) > MOST_BYTES or n > MOST_ITEMS:
        raise LoadError(
            f"names, labels and counts take {len(header):,} bytes and {n:,} items of the header, "
            f"where {MOST_BYTES:,} and {MOST_ITEMS:,} are the most"
        )
    return header


def pack(document: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file, of which `unpack` gives back the same."""
    text = json.dumps(document, separators=(",", ":"))
    data = safetensors.numpy.save(arrays, {KEY: 8 * "0" + text})
    checked(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return b"".join([data[:AT], checksum(data), memoryview(data)[AT + 8 :]])


def unpack(file: BinaryIO) -> tuple[dict[str, Any], Arrays]:
    """What `pack` was given.

    Raises
    ------
    LoadError
        If the file is not of the bytes that it made.
    """
    head = file.read(8)
    header = checked(file.read(min(int.from_bytes(head, "little"), MOST_BYTES + 1)))
    if not header.startswith(BEGINNING):
        advice = ": it begins as a pickle does, and pickle.load runs whatever code is in one"
        raise LoadError("not a file of river_ineural.save" + advice * head.startswith(b"\x80"))
    file.seek(0)
    data = file.read()
    if checksum(data) != data[AT : AT + 8]:
        raise LoadError("it is damaged: the checksum differs. Load an earlier copy")
    text = json.loads(header)["__metadata__"][KEY][8:]
    return json.loads(text), safetensors.numpy.load(data)
