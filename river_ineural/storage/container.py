"""One safetensors file: arrays, and one metadata key that holds JSON."""

from __future__ import annotations

import json
import math
import sys
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from river_ineural.storage.errors import LoadError, SaveError

__all__ = ["Arrays", "DTYPES", "pack", "unpack"]

Arrays = Mapping[str, NDArray[Any]]

KEY = "river_ineural"  # of the metadata; safetensors writes several keys in any order
MOST = 32 << 20  # characters of JSON: parsed it takes some twenty times as much memory
CHECKSUM = '{"checksum":"%08x",'  # how the JSON begins
NAMES = {  # of dtypes, in safetensors
    f"{letter}{8 * size}": np.dtype(f"{letter.lower()}{size}")
    for letter, sizes in (("F", (2, 4, 8)), ("I", (1, 2, 4, 8)), ("U", (1, 2, 4, 8)))
    for size in sizes
} | {"BOOL": np.dtype("?")}
DTYPES = frozenset(NAMES.values())


def crc(text: str, arrays: Arrays) -> int:
    """CRC-32 of the JSON, its checksum being 0, and of names, shapes, dtypes and bytes."""
    found = zlib.crc32(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        found = zlib.crc32(f"{name} {array.dtype.name} {array.shape}".encode(), found)
        found = zlib.crc32(array.reshape(-1).view(np.uint8).data, found)
    return found


def pack(document: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a file.

    Raises
    ------
    SaveError
        If the JSON is too long.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    unsigned = CHECKSUM % 0 + json.dumps(document, allow_nan=False, separators=(",", ":"))[1:]
    if len(unsigned) > MOST:
        raise SaveError(
            f"names, labels and counts take {len(unsigned):,} bytes, more than {MOST:,}"
        )
    text = CHECKSUM % crc(unsigned, arrays) + unsigned[len(CHECKSUM % 0) :]
    return safetensors.numpy.save(dict(arrays), {KEY: text})


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """What `pack` was given.

    Raises
    ------
    LoadError
        If these are not the bytes that it made.
    """
    try:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        metadata = header.pop("__metadata__", None)
        arrays = views(header, data, 8 + length)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise LoadError(f"not a whole safetensors file ({error}){advice(data)}") from error
    except RecursionError as error:
        raise LoadError("not a safetensors file: its header is too deep") from error
    if not isinstance(metadata, dict) or set(metadata) != {KEY}:
        raise LoadError("a safetensors file, but none that river_ineural.save wrote")
    text = metadata[KEY]
    start, length = text[: len(CHECKSUM % 0)], len(CHECKSUM % 0)
    if len(text) > MOST:
        raise LoadError(f"its JSON has {len(text):,} characters, more than {MOST:,}")
    if start != CHECKSUM % crc(CHECKSUM % 0 + text[length:], arrays):
        raise LoadError("it is damaged: the checksum differs. Load an earlier copy")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"its metadata is not JSON ({error})") from error
    del document["checksum"]
    return document, arrays


def views(header: dict[str, Any], data: bytes, start: int) -> Arrays:
    """Tensors where they lie in a file, from `start` on; `safetensors.numpy.load` copies them.

    Raises
    ------
    ValueError, TypeError, LookupError
        Unless they follow each other to the end of the file.
    """
    arrays, at = dict[str, NDArray[Any]](), 0
    for name, spec in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (begin, end) = NAMES[spec["dtype"]], spec["shape"], spec["data_offsets"]
        if any(type(size) is not int or size < 0 for size in (*shape, begin, end)):
            raise ValueError(f"tensor {name} has sizes that are none")
        count = math.prod(shape)
        if end - begin != count * dtype.itemsize or end > len(data) - start:
            raise ValueError(f"tensor {name} of shape {shape} has {end - begin:,} bytes")
        if begin != at:
            raise ValueError(f"tensor {name} does not follow the one before it")
        arrays[name] = np.frombuffer(data, dtype, count, start + begin).reshape(shape)
        at = end
    if start + at != len(data):
        raise ValueError(f"{start + at:,} bytes are expected, and {len(data):,} are there")
    return arrays


def advice(data: bytes) -> str:
    """What the bytes may be instead."""
    if data[:1] == b"\x80":
        return ". It begins as a pickle does: pickle.load runs whatever code is in it"
    return ""


assert sys.byteorder == "little", "safetensors is, and arrays here are taken as they lie"
