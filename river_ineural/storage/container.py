"""One safetensors file: arrays, and one metadata key that holds JSON."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from river_ineural.storage.errors import LoadError, SaveError

__all__ = ["Arrays", "DTYPES", "pack", "unpack"]

Arrays = Mapping[str, NDArray[Any]]

KEY = "river_ineural"  # of the metadata; safetensors writes several keys in any order
MOST = 32 << 20  # characters of JSON: parsed it takes some twenty times as much memory
CHECKSUM = '{"checksum":"%08x",'  # how the JSON begins
DTYPES = frozenset(
    map(np.dtype, ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"))
)


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
        arrays = safetensors.numpy.load(data)  # checks sizes and offsets before it allocates
        length = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__")
    except (SafetensorError, ValueError, LookupError, RecursionError) as error:
        raise LoadError(f"not a whole safetensors file ({error}){advice(data)}") from error
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


def advice(data: bytes) -> str:
    """What the bytes may be instead."""
    if data[:1] == b"\x80":
        return ". It begins as a pickle does: pickle.load runs whatever code is in it"
    return ""


assert sys.byteorder == "little", "safetensors is, and arrays here are taken as they lie"
