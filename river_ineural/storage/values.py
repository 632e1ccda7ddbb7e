"""Plain values as JSON, and with arrays in one safetensors file; and back.

None, bool, str, finite floats and integers of 64 bits are JSON's own, and a list is a list. All
else is a JSON object of one key, its kind:

    {"float": "inf"}  {"int": "0x1p"}  {"text": hex}  {"bytes": hex}  {"int64": 3}
    {"tuple": [...]}  {"dict": [[key, value], ...]}  {"array": name of a tensor}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec
import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from river_ineural.inputs.keys import LARGEST, SCALARS, check_keys

__all__ = ["Arrays", "LoadError", "SaveError", "decode", "encode", "pack", "put", "unpack"]

Arrays = Mapping[str, NDArray[Any]]

# A file holds at most so much, and a model with more is not saved: see also `inputs.keys`
MOST_BYTES = 16 << 20  # of the header, in which is all but the tensors
MOST_ITEMS = 300_000  # commas, brackets and braces of the header
DEEPEST = 24  # lists, tuples and dicts within each other

KEY = "river_ineural"  # of the metadata
CHECKSUM = '{"checksum":"%08x",'  # how the JSON begins


class LoadError(ValueError):
    """These bytes are no model that this version can load; the message says why."""


class SaveError(TypeError):
    """A model holds something that a file cannot hold; the message says what, and what to do."""


def mapping(pairs: Any) -> dict[Any, Any]:
    check_keys([key for key, _ in pairs], "key")
    return dict(pairs)


def integer(text: str) -> int:
    if len(text) > 255:
        raise ValueError("an integer beyond 1e300")
    return int(text, 16)


TAGS: dict[Any, tuple[type, Any, Any]] = {
    "tuple": (tuple, list, tuple),
    "dict": (dict, lambda value: [*map(list, value.items())], mapping),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "float": (float, repr, {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}.__getitem__),
    "int": (int, hex, integer),
    "text": (  # with halves of surrogate pairs
        str,
        lambda value: value.encode("utf8", "surrogatepass").hex(),
        lambda text: bytes.fromhex(text).decode("utf8", "surrogatepass"),
    ),
} | {name: (kind, lambda value: value.item(), kind) for name, kind in SCALARS.items()}
TAG = {kind: tag for tag, (kind, _, _) in TAGS.items()}


def is_json(value: Any) -> bool:
    """Whether JSON has a form of its own for a value."""
    kind = type(value)
    if kind is str:
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    if kind is float:
        return math.isfinite(value)
    return value is None or kind is bool or (kind is int and -(1 << 63) <= value < 1 << 63)


def put(arrays: dict[str, NDArray[Any]], path: str, array: NDArray[Any]) -> None:
    """Put an array among those of a file."""
    if array.dtype.type not in TAG or array.dtype.kind == "U":
        raise SaveError(f"{path} is an array of {array.dtype}, which a file cannot hold")
    if path in arrays:
        raise SaveError(f"{path} is there twice: give one of the two another name")
    arrays[path] = np.asarray(array, order="C")  # safetensors would take others as they lie


def encode(value: Any, path: str, arrays: dict[str, NDArray[Any]], depth: int = 0) -> Any:
    """A value as JSON, its arrays being put among `arrays`.

    Raises
    ------
    SaveError
        Naming the path of what cannot be written.
    """
    kind = type(value)
    if depth > DEEPEST:
        raise SaveError(f"{path} is more than {DEEPEST} levels deep, or holds itself")
    if is_json(value):
        return value
    if kind is list:
        return [encode(part, f"{path}.{i}", arrays, depth + 1) for i, part in enumerate(value)]
    if kind is np.ndarray:
        put(arrays, path, value)
        return {"array": path}
    if kind is int and abs(value) > LARGEST:
        raise SaveError(f"{path} is an integer beyond 1e300, which a file cannot hold")
    if kind not in TAG:
        said, name = " ".join(repr(value).split()), f"{kind.__module__}.{kind.__qualname__}"
        raise SaveError(f"{path} is {said:.80} ({name}), which a file cannot hold")
    tag = TAG[kind]
    return {tag: encode(TAGS[tag][1](value), path, arrays, depth + 1)}


def decode(node: Any, path: str, arrays: dict[str, NDArray[Any]], depth: int = 0) -> Any:
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
    pairs: Any = node.items() if len(node) == 1 else ((None, None),)
    ((tag, content),) = pairs
    try:
        if tag == "array":
            return arrays.pop(content)
        return TAGS[tag][2](decode(content, path, arrays, depth + 1))
    except LoadError:
        raise
    except (LookupError, OverflowError, TypeError, ValueError) as error:
        raise LoadError(f"{path} is {node!r:.80}, which stands for nothing ({error})") from error


class Header(msgspec.Struct):
    """The metadata, which `safetensors` reads of a file by its name, but not of bytes."""

    metadata: dict[str, str] = msgspec.field(name="__metadata__", default_factory=dict)


def crc(text: str, arrays: Arrays) -> int:
    """CRC-32 of the JSON, its checksum being 0, and of names, shapes, dtypes and bytes."""
    found = zlib_ng.crc32(text.encode())
    for name, array in sorted(arrays.items()):
        found = zlib_ng.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), found)
        found = zlib_ng.crc32(array.reshape(-1).view(np.uint8).data, found)
    return found


def check_limits(header: bytes) -> None:
    n = sum(map(header.count, (b",", b"[", b"{")))
    if len(header) > MOST_BYTES or n > MOST_ITEMS:
        raise ValueError(
            f"names, labels and counts take {len(header):,} bytes and {n:,} items of the header, "
            f"where {MOST_BYTES:,} and {MOST_ITEMS:,} are the most"
        )


def pack(document: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file.

    Raises
    ------
    SaveError
        If it would be beyond the limits.
    """
    unsigned = CHECKSUM % 0 + msgspec.json.encode(document).decode()[1:]
    text = CHECKSUM % crc(unsigned, arrays) + unsigned[len(CHECKSUM % 0) :]
    data = safetensors.numpy.save(dict(arrays), {KEY: text})
    try:
        check_limits(data[8 : 8 + int.from_bytes(data[:8], "little")])
    except ValueError as error:
        raise SaveError(str(error)) from error
    return data


def unpack(file: BinaryIO) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `pack` was given.

    Raises
    ------
    LoadError
        If the file is not of the bytes that it made.
    """
    head = file.read(8)
    try:
        header = file.read(min(int.from_bytes(head, "little"), MOST_BYTES + 1))
        check_limits(header)
        metadata = msgspec.json.decode(header, type=Header).metadata
        file.seek(0)
        arrays = safetensors.numpy.load(file.read() if KEY in metadata else head)
        text, length = metadata[KEY], len(CHECKSUM % 0)
        if text[:length] != CHECKSUM % crc(CHECKSUM % 0 + text[length:], arrays):
            raise LoadError("it is damaged: the checksum differs. Load an earlier copy")
        document: dict[str, Any] = msgspec.json.decode(text)
    except LoadError:
        raise
    except (LookupError, RecursionError, ValueError, safetensors.SafetensorError) as error:
        pickle = ". It begins as a pickle does: pickle.load runs whatever code is in it"
        advice = pickle if head[:1] == b"\x80" else ""
        raise LoadError(f"not a whole file of river_ineural.save ({error}){advice}") from error
    return document, arrays
