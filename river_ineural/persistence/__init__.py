"""Save a model in one file, which holds its whole state and no code, and load it."""

from __future__ import annotations

import contextlib
import copy
import errno
import io
import os
import secrets
import stat
from typing import Any, BinaryIO, Literal

import numpy as np
from msgspec import Struct, convert

import river_ineural
import river_ineural.persistence.samplers  # which adds to PARTS
from river_ineural import INeurAL, NeurONAL, active
from river_ineural.classifier.base import return_to_device
from river_ineural.features.constants import CONSTANT
from river_ineural.features.keys import OF_LABEL, OF_NAMES, check_keys
from river_ineural.features.labels import LabelIndex
from river_ineural.features.validation import SCHEMA
from river_ineural.networks.device import available
from river_ineural.networks.layout import Shape
from river_ineural.networks.weights import MOST_WEIGHTS
from river_ineural.persistence.encoding import SaveError, given, made, pack, unpack
from river_ineural.persistence.learners import OfLearner
from river_ineural.persistence.parts import (
    PARTS,
    Arrays,
    Count,
    LoadError,
    Part,
    need,
    plain,
)
from river_ineural.persistence.pipelines import joined, parted, steps_of
from river_ineural.recovery import Former, Recovery

__all__ = ["LoadError", "SaveError", "from_bytes", "load", "save", "to_bytes", "write"]

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

LEARNERS: dict[str, Any] = {kind.__name__: kind for kind in (INeurAL, NeurONAL)}
KINDS = (active.INeurALSampler, active.RandomSampler, active.MarginSampler)
SAMPLERS: dict[str, Any] = {kind.__name__: kind for kind in KINDS}
Around = Literal["INeurALSampler", "RandomSampler", "MarginSampler"]
OWN = {"_lock", "_learner", "_warned", "classifier"}  # attributes that are not of a user


class Document(Struct):
    """The contents of a file except its arrays."""

    kind: Literal["INeurAL", "NeurONAL"]
    parameters: dict[str, Any]
    learner: OfLearner
    names: list[Any]  # of features
    labels: list[Any]
    room: Count  # columns that the networks have room for
    around: tuple[Around, dict[str, Any], Any] | None  # a sampler: class, parameters, part
    notes: dict[str, dict[str, Any]]  # attributes that a user set, by class
    made_by: str  # version of this package
    steps: dict[str, Any] | None = None  # of the pipeline that ends in the learner
    outer: dict[str, Any] | None = None  # of the one that ends in the sampler


def save(model: Any, path: Path) -> None:
    """Write a model to one safetensors file; a loaded model continues as if nothing had happened.

    If the process is killed at any moment, either the old file or the new one is there, complete.
    Other threads that use the model wait while it is copied.

    Parameters
    ----------
    model
        An `INeurAL` or a `NeurONAL`, a pipeline of River's transformers that ends in one, or a
        sampler of `active` around either; or a pipeline that ends in such a sampler.
    path
        Path of the file. Any name is allowed; ".safetensors" is usual.

    Raises
    ------
    SaveError, OSError
        If the model is or holds something that a file without code cannot store, such as a
        function of yours; or if the file cannot be written.

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
    outer, model = parted(model)
    inner, learner = parted(getattr(model, "classifier", model))
    for each, kinds in ((model, LEARNERS | SAMPLERS), (learner, LEARNERS)):
        if type(each) not in kinds.values():
            raise SaveError(
                f"a {type(each).__module__}.{type(each).__qualname__} cannot be saved, for a file "
                f"holds no code but of {', '.join(kinds)}, alone or at the end of a pipeline. "
                "Pickle it if you trust where it will lie."
            )
    try:
        with model._lock, learner._lock:  # in the same order as rounds acquire them
            document, arrays = written(model, learner)
            document |= {"steps": steps_of(inner), "outer": steps_of(outer)}
            data = pack(document, arrays)
        from_bytes(data, "cpu")  # what could not be loaded is not saved
        return data
    except (ValueError, RecursionError) as error:
        raise SaveError(f"{error}, which a file cannot hold") from error


def written(model: Any, learner: Any) -> tuple[dict[str, Any], Arrays]:
    """The document and the arrays of a model, without the steps before it."""
    arrays, inner, notes, around = Arrays(), learner._learner, {}, None
    part = plain(inner, "learner", arrays)
    if model is not learner:
        parameters = given(model)
        del parameters["classifier"]
        around = type(model).__name__, parameters, plain(model, "sampler", arrays)
    for each in (learner, model):
        kind = type(each).__name__
        known = {*OWN, *given(each), *PARTS.get(kind, Part).__struct_fields__}
        notes[kind] = {name: note for name, note in vars(each).items() if name not in known}
    document = {"kind": type(learner).__name__, "parameters": given(learner), "learner": part}
    document |= {"names": inner.features.names, "labels": inner.labels.labels}
    document |= {"room": inner.model.networks.shape.n_features, "around": around, "notes": notes}
    return {"schema": SCHEMA, "made_by": river_ineural.__version__, **document}, arrays


def sizes_of(document: Document, kind: Any, n_weights: int) -> dict[str, Any]:
    """The sides of arrays by name; by class, attributes that follow from the document."""
    given, names, room = document.parameters, document.names, document.room
    used = CONSTANT + len(names) if room else 0
    check_keys(names, most=OF_NAMES // given["max_features"])
    check_keys(document.labels, "label", OF_LABEL)
    k = len(LabelIndex(given["max_classes"], document.labels)) if used else 0
    fine = used <= room <= used + used // 4 and (room or not names)
    need(fine, "room", f"that of {len(names)} names", room)
    layers = given["hidden_dim"], given["n_layers"]
    shape = Shape(k, room, *layers, "network" in given["explorers"], kind._outputs)
    wanted = shape._replace(n_features=used).n_parameters
    # Compare the number of weights with that in the file before a model is made.
    need(wanted == n_weights <= MOST_WEIGHTS, "networks.block", f"{wanted:,} weights", n_weights)
    return {
        **{"k": shape.n_classes, "used": used, "room": room, "n_weights": n_weights},
        "n_named": CONSTANT + len(names),
        "dtype": np.float32 if kind._dtype.itemsize == 4 else np.float64,
        "Networks": {"shape": shape, "n_features": used},
        "History": {"room": room, "n_features": used},
        "FeatureIndex": {"names": names},
    }


def read(found: Any, arrays: Arrays, device: str | None) -> Any:
    """The model that was written, on `device`; None is the device that it was written from."""
    if type(found["schema"]) is not int or found["schema"] != SCHEMA:
        raise LoadError(
            f"it is of schema {found['schema']!r:.80}, and river_ineural "
            f"{river_ineural.__version__} reads schema {SCHEMA}: load it with the version that "
            f"made it ({found['made_by']:.80}), or learn the stream anew"
        )
    document = convert(found, Document)
    parameters, part = document.parameters, document.learner
    device = device or str(parameters["device"])
    need(device.partition(":")[0] in ("cpu", "cuda"), "device", "'cpu', 'cuda' or 'cuda:N'", device)
    kind, block = LEARNERS[document.kind], arrays["learner.model.networks.block"]
    sizes = sizes_of(document, kind, block.shape[-1])
    model = learner = made(kind, parameters | {"device": "cpu"})
    inner = learner._learner
    inner.labels = LabelIndex(learner.max_classes, document.labels)
    if part.recovery and inner.detector:
        inner.recovery = Recovery(inner.detector, 0)
        inner.snapshot, inner.incumbent = (copy.deepcopy(inner.model) for _ in range(2))
    inner.formers = [Former(copy.deepcopy(inner.model)) for _ in part.formers]
    part.fill(inner, "learner", arrays, sizes)
    if document.around:
        name, parameters, fields = document.around
        model = made(SAMPLERS[name], parameters | {"classifier": joined(document.steps, learner)})
        convert(fields, PARTS[name]).fill(model, "sampler", arrays, sizes)
    need(not arrays, "the file", "without other tensors", [*arrays])
    for each in dict.fromkeys((learner, model)):  # one without a sampler
        for key, note in document.notes[type(each).__name__].items():
            need(not hasattr(each, key), "notes", "of a user", key)
            each.__dict__[key] = note
    learner.__dict__["device"] = device
    return_to_device(learner)
    fine = document.around or document.steps is None
    need(fine, "steps", "of a sampler's pipeline", "no sampler")
    return joined(document.outer, model)


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
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "There is no such folder", folder)
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
