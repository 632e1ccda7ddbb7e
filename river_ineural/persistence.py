"""A model in one file: all that it needs to go on as if nothing had happened, and no code."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import platform
import secrets
import stat
from collections.abc import Iterator
from importlib import metadata
from typing import Any, BinaryIO

from msgspec import convert

import river_ineural
from river_ineural.inputs.versions import SCHEMA
from river_ineural.network.device import available
from river_ineural.storage.template import (
    DETECTORS,
    LEARNERS,
    MODELS,
    SAMPLERS,
    VALUES,
    Node,
    Sizes,
    fields,
    need,
    parameters,
    template,
)
from river_ineural.storage.values import LoadError, SaveError, decode, encode, pack, unpack
from river_ineural.storage.walk import Loader, Saver

__all__ = [
    "LoadError",
    "SAMPLERS",
    "SaveError",
    "from_bytes",
    "of_kind",
    "load",
    "save",
    "to_bytes",
]

PACKAGES = ("numpy", "torch", "river")
Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def save(model: Any, path: Path) -> None:
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
    name = destination(path)
    write(name, to_bytes(model))


def load(path: Path, device: str | None = None) -> Any:
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
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:  # which does not wait for the end of a pipe
        try:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise LoadError("it is not a regular file")
            return from_file(file, device)
        except LoadError as error:
            raise LoadError(f"{os.fsdecode(path)}: {error}") from error


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
        try:
            like = blank(model)
        except (TypeError, ValueError) as error:
            raise SaveError(f"{error}, which a file cannot hold") from error
        saver = Saver(getattr(like, "classifier", like)._state.trainer.shape.n_classes)
        node = written(saver, model, like)
        try:
            restored(Loader(like, dict(saver.arrays), makes=False, known=saver.known), node, like)
        except LoadError as error:
            raise SaveError(f"{error}, which a file cannot hold") from error
        document = {"schema": SCHEMA, "versions": versions(), "model": node}
        return pack(document, saver.arrays)


def from_bytes(data: bytes, device: str | None = None) -> Any:
    """The model of which `to_bytes` made these bytes.

    Takes, returns and raises what `load` does.
    """
    return from_file(io.BytesIO(data), device)


def from_file(file: BinaryIO, device: str | None) -> Any:
    """The model in an open file, which is read where it stands."""
    if device is not None:
        available(device)
    document, arrays = unpack(file)
    check_version(document)
    try:
        node = convert(document.get("model"), Node)
        like = template_of(node, arrays, MODELS)
        model = restored(Loader(like, arrays, makes=True), node, like, device)
    except LoadError:
        raise
    except Exception as error:  # what no check has thought of
        raise LoadError(f"no model can be made of it ({type(error).__name__}: {error})") from error
    if arrays:
        raise LoadError(f"nothing refers to {', '.join(arrays):.80}")
    return model


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
    if not of_kind(model, MODELS):
        raise SaveError(
            f"{kind.__module__}.{kind.__qualname__} cannot be saved: {', '.join(MODELS)} can. "
            "Pickle it, if you trust where it will lie."
        )
    inner = getattr(model, "classifier", model)
    if inner is not model and not of_kind(inner, LEARNERS):
        raise SaveError(
            f"this {kind.__name__} is around {type(inner).__qualname__}, whose code a file cannot "
            f"hold; it can hold one around {' or '.join(LEARNERS)}. Save that, of a pipeline "
            "save(model.classifier[-1], path), and pickle the rest if you trust where it will lie."
        )
    detector = getattr(inner, "drift_detector", None)
    if not (detector is None or isinstance(detector, str) or of_kind(detector, VALUES)):
        raise SaveError(
            f"drift_detector is a {type(detector).__qualname__}, whose code a file cannot hold: it "
            f"can hold 'surprise', None, and of river.drift.binary {', '.join(DETECTORS)}."
        )


@contextlib.contextmanager
def held(model: Any) -> Iterator[None]:
    """Nobody else changes the model: the locks in the order in which rounds take them."""
    with model._lock, getattr(model, "classifier", model)._lock:
        yield


def of_kind(value: Any, kinds: dict[str, Any]) -> bool:
    """Whether its class is one of these, and not only named so."""
    return kinds.get(type(value).__name__) is type(value)


def check_version(document: Any) -> None:
    """Raise LoadError unless a file is of this version's schema."""
    schema = document.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        by = document["versions"].get("river_ineural") if "versions" in document else None
        raise LoadError(
            f"it is of schema {schema!r:.80}, and river_ineural {river_ineural.__version__} reads "
            f"schema {SCHEMA}: load it with the version that made it ({by}), or learn the stream "
            "anew"
        )


def sizes_of(learner: Any, arrays: dict[str, Any] | None = None) -> Sizes:
    """How large is what a learner has learned; as JSON, with `arrays` of the file."""
    state = learner._state
    names, labels = state.features.names, state.labels.labels
    if arrays is not None:
        names, labels = encode(names, "names", arrays), encode(labels, "labels", arrays)
    n_features, room = state.trainer.n_features, state.trainer.shape.n_features
    return Sizes(names, labels, n_features, room, state.trial is not None)


def blank(model: Any) -> Any:
    """The template of a model."""
    kind: Any = type(model)
    given = {key: getattr(model, key) for key in parameters(kind)}
    if "classifier" in given:
        return kind(**given | {"classifier": blank(model.classifier)})
    sizes, trainer = sizes_of(model), model._state.trainer
    weights = trainer.shape._replace(n_features=sizes.n_features).n_parameters
    return template(kind, given, sizes, weights)


def template_of(node: Node, arrays: dict[str, Any], kinds: dict[str, Any]) -> Any:
    """The template of what is in a file."""
    if node.kind not in kinds:
        raise LoadError(f"its class is {node.kind!r:.80}, not one of {', '.join(kinds)}")
    kind = kinds[node.kind]
    given = {key: parameter_of(part, key) for key, part in node.parameters.items()}
    if missing := set(parameters(kind)) - given.keys() - {"classifier"}:
        raise LoadError(f"{node.kind} lacks its parameter {min(missing)}")
    if node.classifier is not None:
        return kind(template_of(node.classifier, arrays, LEARNERS), **given)
    if node.sizes is None or "trainer.flat" not in arrays:
        raise LoadError(f"{node.kind} lacks its sizes, or the tensor trainer.flat")
    sizes = node.sizes
    sizes.names, sizes.labels = (
        decode(found, "sizes", {}) for found in (sizes.names, sizes.labels)
    )
    return template(kind, given, sizes, arrays["trainer.flat"].size)


def parameter(value: Any, key: str) -> Any:
    """A parameter as JSON."""
    if not of_kind(value, VALUES):
        return encode(value, key, {})
    kind: Any = type(value)
    given = {each: encode(getattr(value, each), key, {}) for each in parameters(kind)}
    return {"object": [kind.__name__, given]}


def parameter_of(node: Any, key: str) -> Any:
    """A parameter, made by its constructor if it is an object."""
    if type(node) is not dict or "object" not in node:
        return decode(node, key, {})
    name, given = node["object"]
    return VALUES[name](**{each: decode(part, key, {}) for each, part in given.items()})


def written(saver: Saver, model: Any, like: Any) -> Node:
    """A learner or a sampler as it is in a file."""
    inner = getattr(model, "classifier", None)
    kind: Any = type(model)
    given = {key: getattr(model, key) for key in parameters(kind) if key != "classifier"}
    notes = fields(model).keys() - fields(like).keys()
    return Node(
        kind.__name__,
        {key: parameter(value, key) for key, value in given.items()},
        saver.state(model, like, ""),
        {key: encode(vars(model)[key], key, saver.arrays) for key in sorted(notes)},
        inner and written(saver, inner, like.classifier),
        None if inner else sizes_of(model, saver.arrays),
    )


def restored(loader: Loader, node: Node, like: Any, device: str | None = None) -> Any:
    """The model of a file, all that is in it being checked."""
    kind: Any = type(like)
    arrays = loader.arrays
    state = loader.state(node.state, like, "")
    notes = {key: decode(part, key, arrays) for key, part in node.notes.items()}
    for key in notes:
        need(
            key.isidentifier() and not hasattr(like, key), key, "an attribute of no other use", key
        )
    given = {key: getattr(like, key) for key in parameters(kind)}
    if node.classifier is None:
        given["device"] = device or node.parameters["device"]
    else:
        given["classifier"] = restored(loader, node.classifier, like.classifier, device)
    if not loader.makes:
        return None
    model = object.__new__(kind)
    model.__setstate__({"schema": SCHEMA, **given, **state, **notes})
    return model


def destination(path: Path) -> str:
    """The name of a file that is regular or new: of a link, that of what it points at.

    Raises
    ------
    OSError
        If something else is there.
    """
    name = os.fsdecode(path)
    if not os.path.basename(name):
        raise FileNotFoundError(errno.ENOENT, "This is no name of a file", name)
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise OSError(errno.EINVAL, "There is something that is no regular file", name)
    return os.path.realpath(name)


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Put the bytes into a file at once: whole, and on the disk."""
    folder = os.path.dirname(os.path.abspath(path))
    temporary = os.path.join(folder, f".river_ineural.{secrets.token_hex(16)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if os.path.exists(path) and hasattr(os, "fchmod"):
                before = os.stat(path)
                with contextlib.suppress(PermissionError):  # who may not give files away keeps them
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # a folder that cannot be read, or a system without
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # the new name is on the disk when the folder is
        finally:
            os.close(descriptor)
