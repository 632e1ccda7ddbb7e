"""One safetensors file: arrays, and one metadata key that holds JSON."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from river_ineural.storage.errors import LoadError, SaveError

__all__ = ["Arrays", "DTYPES", "pack", "unpack"]

Arrays = Mapping[str, NDArray[Any]]

KEY = "river_ineural"  # of the metadata
MOST = 32 << 20  # characters of JSON: parsed it takes some twenty times as much memory
CHUNK = 1 << 19  # bytes that the cache of a processor holds
CHECKSUM = '{"checksum":"%08x",'  # how the JSON begins
NAMES = {  # of dtypes, in safetensors
    f"{letter}{8 * size}": np.dtype(f"{letter.lower()}{size}")
    for letter, sizes in (("F", (2, 4, 8)), ("I", (1, 2, 4, 8)), ("U", (1, 2, 4, 8)))
    for size in sizes
} | {"BOOL": np.dtype("?")}
CODES = {dtype: name for name, dtype in NAMES.items()}
DTYPES = frozenset(CODES)


def crc(
    text: str, arrays: Arrays, parts: Callable[[str], Iterable[memoryview]] | None = None
) -> int:
    """CRC-32 of the JSON, its checksum being 0, and of names, shapes, dtypes and bytes.

    Parameters
    ----------
    parts
        The bytes of an array, by its name, as they become known; None: they are there.
    """
    found = zlib_ng.crc32(text.encode())
    for name, array in sorted(arrays.items()):
        found = zlib_ng.crc32(f"{name} {array.dtype.name} {array.shape}".encode(), found)
        for part in parts(name) if parts else (octets(array),):
            found = zlib_ng.crc32(part, found)
    return found


def octets(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, where they lie."""
    return array.reshape(-1).view(np.uint8).data


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
    return joined(text, arrays)


def joined(text: str, arrays: Arrays) -> bytes:
    """The safetensors format, in which the bytes of an array are copied once.

    The length of the header in eight bytes; the header, JSON, as long as a multiple of eight; the
    arrays, those of larger numbers first, so that each begins at a multiple of its numbers' size.
    """
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": {KEY: text}}
    end = 0
    for name in names:
        array, begin = arrays[name], end
        end += array.nbytes
        spec = {"dtype": CODES[array.dtype], "shape": array.shape, "data_offsets": (begin, end)}
        header[name] = spec
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    parts = (octets(arrays[name]) for name in names)
    return b"".join([len(head).to_bytes(8, "little"), head, *parts])


def unpack(file: BinaryIO) -> tuple[dict[str, Any], Arrays]:
    """What `pack` was given, in memory of its own.

    Raises
    ------
    LoadError
        If the file is not of the bytes that it made.
    """
    size, head = file.seek(0, os.SEEK_END), b""
    file.seek(0)
    try:
        head = file.read(8)
        start = 8 + int.from_bytes(head, "little")
        if start > size:
            raise ValueError(f"{start:,} bytes are expected, and {size:,} are there")
        header = json.loads(file.read(start - 8))
        metadata = header.pop("__metadata__", None)
        arrays, places = room(header, size - start)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise LoadError(f"not a whole safetensors file ({error}){advice(head)}") from error
    except RecursionError as error:
        raise LoadError("not a safetensors file: its header is too deep") from error
    if not isinstance(metadata, dict) or set(metadata) != {KEY}:
        raise LoadError("a safetensors file, but none that river_ineural.save wrote")
    text = metadata[KEY]
    signed, length = text[: len(CHECKSUM % 0)], len(CHECKSUM % 0)
    if len(text) > MOST:
        raise LoadError(f"its JSON has {len(text):,} characters, more than {MOST:,}")

    def read(name: str) -> Iterator[memoryview]:
        file.seek(start + places[name])
        return filled(file, octets(arrays[name]))

    if signed != CHECKSUM % crc(CHECKSUM % 0 + text[length:], arrays, read):
        raise LoadError("it is damaged: the checksum differs. Load an earlier copy")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"its metadata is not JSON ({error})") from error
    del document["checksum"]
    return document, arrays


def room(header: dict[str, Any], size: int) -> tuple[Arrays, dict[str, int]]:
    """Arrays for the tensors of a header, not filled yet, and where the bytes of each begin.

    Raises
    ------
    ValueError, TypeError, LookupError
        Unless they follow each other and take `size` bytes in all.
    """
    specs, at = dict[str, tuple[np.dtype[Any], list[int], int]](), 0
    for name, spec in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (begin, end) = NAMES[spec["dtype"]], spec["shape"], spec["data_offsets"]
        if any(type(length) is not int or length < 0 for length in (*shape, begin, end)):
            raise ValueError(f"tensor {name} has sizes that are none")
        if end - begin != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"tensor {name} of shape {shape} has {end - begin:,} bytes")
        if begin != at:
            raise ValueError(f"tensor {name} does not follow the one before it")
        specs[name], at = (dtype, shape, begin), end
    if at != size:
        raise ValueError(f"{at:,} bytes of tensors are expected, and {size:,} are there")
    arrays = {name: np.empty(shape, dtype) for name, (dtype, shape, _) in specs.items()}
    return arrays, {name: begin for name, (_, _, begin) in specs.items()}


def filled(file: BinaryIO, octets: memoryview) -> Iterator[memoryview]:
    """Fill these bytes from a file, part by part: each is still in the cache when it is given.

    Raises
    ------
    LoadError
        If the file ends before.
    """
    while octets:
        n = file.readinto(octets[:CHUNK])  # type: ignore[attr-defined]  # of every binary file
        if not n:
            raise LoadError("it ends before its last tensor: something else is writing it")
        yield octets[:n]
        octets = octets[n:]


def advice(data: bytes) -> str:
    """What the bytes may be instead."""
    if data[:1] == b"\x80":
        return ". It begins as a pickle does: pickle.load runs whatever code is in it"
    return ""


assert sys.byteorder == "little", "safetensors is, and arrays here are taken as they lie"
