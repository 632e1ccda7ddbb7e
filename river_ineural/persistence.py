"""Save a model in one file, which holds its whole state and no code, and load it."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from typing import Any, BinaryIO

from river_ineural.network.device import available
from river_ineural.storage.model import LEARNERS, SAMPLERS, read, written
from river_ineural.storage.values import LoadError, SaveError, pack, unpack

__all__ = ["LoadError", "SaveError", "from_bytes", "load", "save", "to_bytes", "write"]

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def save(model: Any, path: Path) -> None:
    """Write a model to one safetensors file; a loaded model continues as if nothing had happened.

    If the process is killed at any moment, either the old file or the new one is there, complete.
    Other threads that use the model wait while it is copied.

    Parameters
    ----------
    model
        An `INeurAL` or a `NeurONAL`, or a sampler of `active` that wraps one.
    path
        Path of the file. Any name is allowed; ".safetensors" is usual.

    Raises
    ------
    SaveError, OSError
        If the model is or holds something that a file without code cannot store, such as a
        pipeline; or if the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from river_ineural import INeurAL, load, save
    >>> model = INeurAL(seed=1)
    >>> model.learn_one({"length": 4.0}, "short")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.safetensors")
    ...     loaded = load(f"{folder}/model.safetensors")
    >>> loaded.scores_one({"length": 5.0}) == model.scores_one({"length": 5.0})
    True
    """
    write(path, to_bytes(model))


def load(path: Path, device: str | None = None) -> Any:
    """Load the model that `save` wrote. No code from the file is run.

    Parameters
    ----------
    path
        Path of the file.
    device
        "cpu", "cuda" or "cuda:N". None is the device that the model was saved from, or, if that is
        not available, the CPU, with a warning.

    Returns
    -------
    A model of the same class, which continues as the saved one does: with the same bits on the same
    kind of machine, and the same up to rounding on another device.

    Raises
    ------
    LoadError, OSError
        If the file is damaged, of another version, not written by `save`, or cannot be read.
    ValueError
        If the device is not available.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:  # opening a pipe does not block
        try:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise LoadError("it is not a regular file")
            return from_file(file, device)
        except LoadError as error:
            raise LoadError(f"{os.fsdecode(path)}: {error}") from error


def to_bytes(model: Any) -> bytes:
    """The bytes that `save` writes, for storage other than files. Raises SaveError as `save` does.

    Examples
    --------
    >>> from river_ineural import INeurAL, persistence
    >>> persistence.from_bytes(persistence.to_bytes(INeurAL(seed=1))).seed
    1
    """
    learner = getattr(model, "classifier", model)
    for each, kinds in ((model, LEARNERS | SAMPLERS), (learner, LEARNERS)):
        if type(each) not in kinds.values():
            raise SaveError(
                f"a {type(each).__module__}.{type(each).__qualname__} cannot be saved, for a file "
                f"holds no code but of {', '.join(kinds)}. Of a pipeline save the last step, "
                "save(model[-1], path) or save(model.classifier[-1], path); pickle the others if "
                "you trust where they will lie."
            )
    with model._lock, learner._lock:  # in the same order as rounds acquire them
        try:
            return pack(*written(model, learner))
        except (ValueError, RecursionError) as error:
            raise SaveError(f"{error}, which a file cannot hold") from error


def from_bytes(data: bytes, device: str | None = None) -> Any:
    """The model that `to_bytes` converted to these bytes; returns and raises as `load` does."""
    return from_file(io.BytesIO(data), device)


def from_file(file: BinaryIO, device: str | None) -> Any:
    """The model in an open file."""
    if device is not None:
        available(device)
    try:
        return read(*unpack(file), device)
    except LoadError:
        raise
    except Exception as error:  # an error that no check foresaw
        raise LoadError(f"no model can be made of it ({type(error).__name__}: {error})") from error


def write(path: Path, data: bytes) -> None:
    """Write the bytes to a file atomically, and flush them to the disk.

    The bytes go to a temporary file in the same folder. This file then replaces the target, after
    links are resolved. Raises OSError if the target is not a regular file, or if writing fails.
    """
    name, before = os.fsdecode(path), None
    if not os.path.basename(name):
        raise FileNotFoundError(errno.ENOENT, "This is no name of a file", name)
    with contextlib.suppress(FileNotFoundError):
        before = os.stat(name)
    if before and not stat.S_ISREG(before.st_mode):
        raise OSError(errno.EINVAL, "There is something that is no regular file", name)
    name = os.path.realpath(name)
    folder = os.path.dirname(name)
    temporary = os.path.join(folder, f".river_ineural.{secrets.token_hex(16)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if before and hasattr(os, "fchmod"):
                with contextlib.suppress(PermissionError):  # changing the owner may be forbidden
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # unreadable folder, or unsupported by the system
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # flush the new name to the disk
        finally:
            os.close(descriptor)
