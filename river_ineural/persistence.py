"""A model in one file: all that it needs to go on as if nothing had happened, and no code."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import platform
import secrets
import stat
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

import torch

import river_ineural
from river_ineural.inputs.versions import SCHEMA
from river_ineural.network.device import available
from river_ineural.storage.checks import Scope, State
from river_ineural.storage.classes import (
    DETECTORS,
    KNOWN,
    LEARNERS,
    SAMPLERS,
    class_of,
    name_of,
    take,
    verify,
)
from river_ineural.storage.container import Arrays, pack, unpack
from river_ineural.storage.errors import LoadError, SaveError
from river_ineural.storage.values import Reference, Stored, Writer, read, replaced

__all__ = ["LoadError", "SaveError", "from_bytes", "load", "save", "to_bytes"]

Document = dict[str, Any]

MODELS = {**LEARNERS, **SAMPLERS}
PACKAGES = ("numpy", "torch", "river")
STALE = 3600.0  # seconds after which a temporary file is of a process that was killed


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one safetensors file, from which `load` goes on as if nothing had happened.

    A kill at any moment leaves the former file or the new one, whole: what is written goes to a
    temporary file in the same folder, and onto the disk, before it takes the former one's place.
    Other threads may go on using the model; they wait while it is copied.

    Parameters
    ----------
    model
        An `INeurAL`, or a sampler of `active` around one.
    path
        Of the file, whose name may be anything; ".safetensors" is usual.

    Raises
    ------
    SaveError
        A TypeError: the model holds something that a file without code cannot hold, as a pipeline
        does; the message says what, and what to do.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from river_ineural import INeurAL, load, save

    >>> model = INeurAL(seed=1)
    >>> model.learn_one({"length": 4.0}, "short")
    >>> model.learn_one({"length": 9.0}, "long")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.safetensors")
    ...     loaded = load(Path(folder) / "model.safetensors")
    >>> loaded.scores_one({"length": 5.0}) == model.scores_one({"length": 5.0})
    True
    """
    write(Path(os.path.realpath(path)), to_bytes(model))


def load(path: str | os.PathLike[str], device: str | None = None) -> Any:
    """The model that `save` wrote.

    No code of the file is run, and nothing that it names is imported but classes of a closed list.
    All of it is checked before anything is built.

    Parameters
    ----------
    path
        Of the file.
    device
        "cpu", "cuda" or "cuda:N". None: the one that it was saved from, or where that is not there
        the CPU, with a warning.

    Returns
    -------
    A model of the class that was saved. On the same kind of machine its decisions, weights and
    draws are those of the saved one to the bit; on another device to rounding.

    Raises
    ------
    LoadError
        A ValueError: the file is damaged, of another schema, or none of ours.
    OSError
        If the file cannot be read.
    ValueError
        If the device is not there.
    """
    with open(path, "rb", buffering=0) as file:
        try:
            return from_file(file, device)
        except LoadError as error:
            raise LoadError(f"{os.fspath(path)}: {error}") from error


def to_bytes(model: Any) -> bytes:
    """What `save` writes, for stores that are no folder.

    Takes and raises what `save` does.

    Examples
    --------
    >>> from river_ineural import INeurAL, persistence

    >>> persistence.from_bytes(persistence.to_bytes(INeurAL(seed=1))).seed
    1
    """
    check_model(model)
    with held(model):
        writer = Writer(take)
        writer.write(model, "model")
        document = {
            "schema": SCHEMA,
            "class": type(model).__name__,
            "versions": versions(),
            "objects": writer.objects,
        }
        verified(document, dict(writer.arrays), SaveError)
        return pack(document, writer.arrays)


def from_bytes(data: bytes, device: str | None = None) -> Any:
    """The model of which `to_bytes` made these bytes.

    Takes, returns and raises what `load` does.
    """
    return from_file(io.BytesIO(data), device)


def from_file(file: BinaryIO, device: str | None) -> Any:
    """The model in an open file, which is read where it stands."""
    if device is not None:
        available(device)
    try:
        document, arrays = unpack(file)
        check_version(document)
        return built(verified(document, arrays, LoadError), device)
    except LoadError:
        raise
    except Exception as error:  # what no check has thought of
        raise LoadError(f"no model can be made of it ({type(error).__name__}: {error})") from error


@functools.cache  # reading what is installed would take longer than a small model
def versions() -> dict[str, str]:
    """Of what makes a file."""
    found = {"river_ineural": river_ineural.__version__, "python": platform.python_version()}
    return found | {name: metadata.version(name) for name in PACKAGES}


def check_model(model: Any) -> None:
    """Raise SaveError unless it is a learner, or a sampler around one."""
    from river import compose

    kind = type(model)
    if isinstance(model, compose.Pipeline):
        raise SaveError(
            "a pipeline has steps of others, whose code a file cannot hold: save its last step, "
            "save(model[-1], path), and pickle the other steps if you trust where they will lie."
        )
    if name_of(model) not in MODELS:
        raise SaveError(
            f"{kind.__module__}.{kind.__qualname__} cannot be saved: {', '.join(MODELS)} can. "
            "Pickle it, if you trust where it will lie."
        )
    inner = getattr(model, "classifier", model)
    if inner is not model and name_of(inner) not in LEARNERS:
        raise SaveError(
            f"this {kind.__name__} is around {type(inner).__qualname__}, whose code a file cannot "
            f"hold; it can hold one around {' or '.join(LEARNERS)}. Save that, of a pipeline "
            "save(model.classifier[-1], path), and pickle the rest if you trust where it will lie."
        )
    detector = getattr(inner, "drift_detector", None)
    if not (detector is None or isinstance(detector, str) or type(detector).__name__ in DETECTORS):
        raise SaveError(
            f"drift_detector is a {type(detector).__qualname__}, whose code a file cannot hold: it "
            f"can hold 'surprise', None, and of river.drift.binary {', '.join(DETECTORS)}."
        )


@contextlib.contextmanager
def held(model: Any) -> Iterator[None]:
    """Nobody else changes the model: the locks in the order in which rounds take them."""
    with model._lock, getattr(model, "classifier", model)._lock:
        yield


def check_version(document: Document) -> None:
    """Raise LoadError unless a file is of this version's schema."""
    schema, made = document.get("schema"), document.get("versions")
    if type(schema) is not int or schema != SCHEMA:
        by = made.get("river_ineural") if isinstance(made, dict) else None
        raise LoadError(
            f"it is of schema {schema!r:.80}, and river_ineural {river_ineural.__version__} reads "
            f"schema {SCHEMA}: load it with the version that made it ({by}), or learn the stream "
            "anew"
        )


def verified(
    document: Document, arrays: Arrays, error: type[LoadError | SaveError]
) -> list[tuple[str, State]]:
    """The objects of a document, after all checks; their attributes with `Reference` and `Stored`.

    Raises
    ------
    `error`, naming what is not as it has to be.
    """
    try:
        return read_objects(document, arrays)
    except LoadError as wrong:
        if error is LoadError:
            raise
        raise error(f"{wrong}, which a file cannot hold") from wrong


def read_objects(document: Document, arrays: Arrays) -> list[tuple[str, State]]:
    name, parts = document.get("class"), document.get("objects")
    if name not in MODELS:
        raise LoadError(f"its class is {name!r:.80}, not one of {', '.join(MODELS)}")
    if type(parts) is not list or not parts:
        raise LoadError("it lists no objects")
    left, objects = dict(arrays), list[tuple[str, State]]()
    for i, part in enumerate(parts):
        kind = part.get("class") if type(part) is dict else None
        if kind not in KNOWN or type(part.get("state")) is not dict:
            raise LoadError(f"object {i} is of class {kind!r:.80}, which is none of ours")
        state = {
            key: read(node, f"{kind}.{key}", left, len(objects))
            for key, node in part["state"].items()
        }
        objects.append((kind, state))
    scope = Scope(objects, verify)
    if objects[-1][0] != name:
        raise LoadError(f"its last object is of class {objects[-1][0]}, not {name}")
    verify(len(objects) - 1, name, scope)
    if left or len(scope.reached) < len(objects):
        unused = [*left, *(objects[i][0] for i in range(len(objects)) if i not in scope.reached)]
        raise LoadError(f"nothing refers to {', '.join(unused)[:80]}")
    return objects


def built(objects: list[tuple[str, State]], device: str | None) -> Any:
    """The last of some objects that have been checked."""
    made: list[Any] = []

    def part(stands: Reference | Stored) -> Any:
        if isinstance(stands, Reference):
            return made[stands.at]
        return torch.from_numpy(stands.array) if stands.tensor else stands.array

    for name, state in objects:
        attributes = {key: replaced(value, part) for key, value in state.items()}
        if name in LEARNERS and device is not None:
            attributes["device"] = device
        made.append(KNOWN[name].make(class_of(name), attributes))
    return made[-1]


def write(path: Path, data: bytes) -> None:
    """Put the bytes into a file at once: whole, and on the disk."""
    temporary = path.with_name(f".river_ineural.{secrets.token_hex(8)}.tmp")
    clear(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists() and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the new name is on the disk when the folder is
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def clear(folder: Path) -> None:
    """Remove what processes left that were killed while they wrote."""
    for entry in folder.glob(".river_ineural.*.tmp"):
        with contextlib.suppress(OSError):  # another process was quicker
            if time.time() - entry.stat().st_mtime > STALE:
                entry.unlink()
