"""One way through a model, by which it is written, checked and read.

It goes part by part beside the template: a model of the same parameters and sizes that has learned
nothing. Each leaf has the path, the class, the shape and the dtype of a leaf of the template, and
its value too, unless `ranges` has a line for it. So a class is described once, by itself; here
stands what no template knows.
"""

from __future__ import annotations

import functools
import inspect
import random
from collections import deque
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct, convert
from river.drift.binary.hddm_w import SampleInfo

from river_ineural.active.base import BudgetedSampler
from river_ineural.active.budget import Budget
from river_ineural.active.decision import REASONS, Reason
from river_ineural.inputs.labels import LabelIndex
from river_ineural.inputs.versions import SCHEMA
from river_ineural.learning.forest import NODES, TREES
from river_ineural.learning.scaling import CONSTANT
from river_ineural.protocol import NeuralClassifier
from river_ineural.storage.values import Arrays, LoadError, decode, encode, put

__all__ = ["Document", "Walk", "need", "parameters"]

Count = Annotated[int, Meta(ge=0)]
Level = Annotated[float, Meta(ge=0)]
Number = Annotated[float, Meta(ge=-1e300)]  # not NaN
Share = Annotated[float, Meta(ge=0, le=1)]
COUNTS = """State.n_dropped FeatureIndex.now Scaling.n Average.n_steps Watch.n_drifts Watch.n
Surprise.n Trial.n_since Trial.n_judged Account.n_rounds Account.n_asked Account._since Newcomers._n
BudgetedSampler._n_drifts BudgetedSampler._n_labels INeurALSampler._n_learned
INeurALSampler._last_ask INeurALSampler.n_pseudo_labels"""
FLAGS = """FeatureIndex._warned LabelIndex._warned Trainer.warned Trial.confirmed Newcomers.there
BudgetedSampler._warned"""
FINITE = ("flat", "explorers.a", "explorers.b", "radius")  # how paths of such tensors end
LENGTHS = {"History": 0, "Forest": 1, "Pending": 0}  # axis of their tensors that a file gives
MODEL = NeuralClassifier | BudgetedSampler
OF_RIVER = bool | int | float | None | list[bool | int | float]  # attributes of its detectors


class Document(Struct):
    """All of a file but its tensors."""

    schema: int
    versions: dict[str, str]
    model: Any  # class and parameters
    names: Any  # of features
    labels: Any
    n_features: Count  # columns in use
    room: Count  # columns that there is room for
    on_trial: bool
    notes: dict[str, list[str]] = {}  # what its user has set on a model, by path
    same: dict[str, str] = {}  # path of the same part
    leaves: dict[str, Any] = {}


def labels(found: Any) -> None:
    """Raise unless they can be labels, or labels and counts of them."""
    for label in found or ():
        LabelIndex.checked(label)
    convert(found, list[Any] | dict[Any, tuple[Count, Count]] | None)


@functools.cache
def ranges(k: int) -> dict[str, Any]:
    """What leaves may be that change, where there are k classes: types, or checks that raise."""
    of_class, of_sum = (Annotated[int, Meta(ge=least, lt=max(k, 1))] for least in (0, -2))
    due = Annotated[float, Meta(ge=0, le=1e6)]
    return dict.fromkeys(COUNTS.split(), Count) | {
        **dict.fromkeys(FLAGS.split(), bool),
        "Generator.state": generator,
        "History.added": tuple[Count, Count],
        "Trainer.lr": Annotated[float, Meta(gt=0, le=1e30)],
        **{"Trainer.steps_due": due, "Trainer.explorations_due": due},
        "Explorers.trust": tuple[Share, ...],
        "Forest.oldest": Annotated[int, Meta(ge=0, lt=TREES)],
        "Forest.due": Annotated[float, Meta(ge=0, le=TREES)],
        "Watch.shares": tuple[Share, Share, Share, Share],
        "Watch.counts": Annotated[list[Annotated[int, Meta(ge=1)]], Meta(min_length=4)],
        "Watch.n_of_class": dict[of_class, Count],  # type: ignore[valid-type]
        "Watch.recent": list[tuple[of_class, float, of_class]],  # type: ignore[valid-type]
        "Watch.held": list[tuple[Annotated[int, Meta(ge=0, le=3)], bool]],
        "Surprise.sums": dict[of_sum, Level],  # type: ignore[valid-type]
        "Surprise.since": dict[of_sum, Count],  # type: ignore[valid-type]
        "Trial.turned": dict[of_class, dict[of_class, Level]],  # type: ignore[valid-type]
        **{"Trial.ratio": Number, "Trial.ahead": int, "Reach.gap": Annotated[float, Meta(ge=1)]},
        **{"Account.left": Number, "Account._missing": Level},
        "BudgetedSampler._last": tuple[bool, Reason, float, float, Level, dict[str, float]] | None,
        "BudgetedSampler.n_by_reason": Annotated[
            dict[Reason, Count], Meta(min_length=len(REASONS))
        ],
        "BudgetedSampler.drifts": list[Count],
        **{"INeurALSampler._unseen": labels, "Newcomers._seen": labels},
    }


def rule(kind: type, key: str, like: Any, k: int) -> Any:
    """What an attribute may be; None for one that is of the template's value, or has parts."""
    if kind.__module__.startswith("river."):
        return None if is_part(like) else OF_RIVER
    names = (f"{base.__name__}.{key}" for base in kind.__mro__)
    return next((ranges(k)[name] for name in names if name in ranges(k)), None)


def need(fine: Any, path: str, wanted: str, found: Any) -> None:
    """Raise LoadError unless it is fine."""
    if not fine:
        raise LoadError(f"{path or 'a part'} must be {wanted}, got {found!r:.80}")


def is_part(value: Any) -> bool:
    """Whether a value is an object that has parts of its own."""
    ours = type(value).__module__.startswith(("river_ineural.", "river."))
    generator = isinstance(value, np.random.Generator | random.Random)
    return generator or (ours and not isinstance(value, tuple | Budget))


def generator(state: dict[str, Any]) -> np.random.Generator:
    """NumPy's, of its state; what is none, it refuses."""
    bits: Any = np.random.PCG64(0)
    bits.state = state
    return np.random.Generator(bits)


def within(path: str, key: str) -> str:
    """The path of an attribute; those of what a learner has learned begin with their own name."""
    return f"{path}.{key}" if path and key != "_state" else key.removeprefix("_state")


@functools.cache
def parameters(kind: Any) -> list[str]:
    """Names of a constructor's."""
    return list(inspect.signature(kind).parameters)


def fields(part: Any) -> dict[str, Any]:
    """What there is to save of a part, by name."""
    if isinstance(part, np.random.Generator):
        return {"state": part.bit_generator.state}
    if isinstance(part, random.Random):
        _, words, spare = part.getstate()
        return {"words": np.array(words, np.uint32), "spare": spare}
    if isinstance(part, MODEL):
        given = {"_lock", *parameters(type(part))} - {"classifier"}
        return {key: value for key, value in vars(part).items() if key not in given}
    state = dict(part.__getstate__() or {})  # it may be the part's own
    if isinstance(part, SampleInfo):  # whose average is compiled code, which gives its value
        state["_ewma"] = state["_ewma"].get()
    return state


def made(like: Any, state: dict[str, Any]) -> Any:
    """A part of the class of its template."""
    if isinstance(like, np.random.Generator):
        return generator(state["state"])
    kind: Any = type(like)
    part = kind.__new__(kind)
    if isinstance(like, random.Random):
        part.setstate((3, tuple(state["words"].tolist()), state["spare"]))
        return part
    if isinstance(like, MODEL):
        given = {key: getattr(like, key) for key in parameters(kind)}
        state = {"schema": SCHEMA, **given, **state}
    if isinstance(like, SampleInfo):
        average = type(like._ewma)(like._ewma.fading_factor)
        if state["_is_init"]:  # an average of one value goes on as one of many does
            average.update(state["_ewma"])
        state["_ewma"] = average
    (part.__setstate__ if hasattr(part, "__setstate__") else part.__dict__.update)(state)
    return part


class Walk:
    """The way through a model beside its template, or where a model is to be made, of that alone.

    Parameters
    ----------
    document, arrays
        Of a file: what is written goes into them, what is read is taken out.
    k, used
        Classes, and columns in use.
    writes
        Whether the file is written; else it is read.
    """

    def __init__(self, document: Document, arrays: Arrays, k: int, used: int, writes: bool) -> None:
        self.document, self.arrays, self.writes = document, arrays, writes
        self.k, self.used = k, used
        self.parts: dict[str, Any] = {}  # by path

    def part(self, part: Any, like: Any, path: str) -> Any:
        """The part, or if it is read what is made like the template; it may be there already."""
        same = self.document.same
        if self.writes:
            same.update((path, other) for other, known in self.parts.items() if known is part)
        if path in same:
            found = self.parts.get(same[path])
            need(type(found) is type(like), path, f"a {type(like).__name__}", same[path])
            return found
        state = self.state(part, like, path)
        self.parts[path] = part if self.writes else made(like, state)
        return self.parts[path]

    def state(self, part: Any, like: Any, path: str) -> dict[str, Any]:
        """The attributes of a part, checked."""
        kind, known = type(like), fields(like)
        found = fields(part) if self.writes else known
        if more := sorted(found.keys() - known.keys()):
            self.document.notes[path] = more
        state = {}
        for key, each in known.items():
            allowed, axis = rule(kind, key, each, self.k), LENGTHS.get(kind.__name__)
            state[key] = self.value(found[key], each, within(path, key), allowed, axis)
        for key in self.document.notes.get(path, ()):
            there = f"{path}.{key}"
            fine = isinstance(like, MODEL) and key.isidentifier() and not hasattr(like, key)
            need(fine, there, "an attribute of no other use", key)
            state[key] = self.leaf(found.get(key), None, there, Any)
        self.fit(kind.__name__, state, path)
        return state

    def value(
        self, value: Any, like: Any, path: str, allowed: Any = None, axis: int | None = None
    ) -> Any:
        """A leaf or a part, or those that a list or a dict holds."""
        if allowed is None and type(value) is type(like):
            if is_part(like):
                return self.part(value, like, path)
            if type(like) is dict and value.keys() == like.keys():
                return {key: self.value(value[key], like[key], f"{path}.{key}") for key in like}
            if type(like) is list and len(value) == len(like):
                pairs = enumerate(zip(value, like, strict=True))
                return [self.value(*pair, f"{path}.{i}") for i, pair in pairs]
        return self.leaf(value, like, path, allowed, axis)

    def leaf(self, value: Any, like: Any, path: str, allowed: Any, axis: int | None = None) -> Any:
        """A leaf that is checked: the given one, which is written, or that of the file."""
        if isinstance(value, deque):
            value = [*value]
        tensor = allowed is None and isinstance(like, np.ndarray)
        there: dict[str, Any] = self.arrays if tensor else self.document.leaves
        if not self.writes:
            need(path in there or not (tensor or allowed), path, "in the file", "nothing")
            value = there.pop(path, like)
            value = value if tensor else decode(value, path, self.arrays)
        elif tensor:
            put(self.arrays, path, value)
        elif allowed:
            there[path] = encode(value, path, self.arrays)
        if allowed:
            try:
                allowed(value) if inspect.isfunction(allowed) else convert(value, allowed)
            except Exception as error:
                raise LoadError(f"{path} is {value!r:.80}: {error}") from error
            return deque(value, like.maxlen) if isinstance(like, deque) else value
        if not tensor:
            same = type(value) is type(like) and value == like
            need(same, path, f"as in a new model, {like!r:.80}", value)
            return like
        shape = [*like.shape]
        if axis is not None and value.ndim == len(shape) and not shape[axis]:
            shape[axis] = value.shape[axis]
        if (value.dtype, value.shape) != (like.dtype, tuple(shape)):
            raise LoadError(
                f"tensor {path} must be {like.dtype} of shape {tuple(shape)}, got {value.dtype} "
                f"of shape {value.shape}"
            )
        need(
            not path.endswith(FINITE) or np.isfinite(value).all(), f"tensor {path}", "finite", value
        )
        return value

    def fit(self, kind: str, state: dict[str, Any], path: str) -> None:
        """Raise unless what a part holds fits together."""
        if kind in LENGTHS and kind != "Forest":
            lengths = {len(part) for part in state.values() if isinstance(part, np.ndarray)}
            rows = min(lengths)
            if kind == "History":
                rows = sum(map(min, state["capacities"], state["added"]))
            need(lengths == {rows}, path, f"tensors of {rows} rows", lengths)
        elif kind == "Surprise":
            fine = state["sums"].keys() == state["since"].keys()
            need(fine, path, "sums that began at some label each", state["since"])
        elif kind == "Trial":
            most = state["former"].history.n_labelled
            need(state["n_since"] <= most, f"{path}.n_since", f"at most {most}", state["n_since"])
        elif kind == "Explorers":
            a, n = state["a"], len(state["parts"])
            fine = (
                np.array_equal(a, a.T) and (np.linalg.eigvalsh(a) >= -1e-6 * (1 + a.trace())).all()
            )
            need(fine, f"tensor {path}.a", "symmetric, with no negative eigenvalue", a)
            need(len(state["trust"]) == n, f"{path}.trust", f"of {n}", state["trust"])
        elif (
            kind == "Forest"
        ):  # each node leads on to later ones, by features in use, or to a class
            feature, child = state["feature"], state["child"]
            n, nodes = feature.shape[1], np.arange(feature.shape[1])
            same = feature.shape == child.shape == state["threshold"].shape and n <= NODES
            need(same, path, f"tensors of up to {NODES} nodes", child.shape)
            on = (feature >= CONSTANT) & (feature < self.used) & (child > nodes) & (child < n - 1)
            to = (feature == -1) & (child >= -1) & (child < self.k)
            need(
                np.where(feature >= 0, on, to).all(),
                path,
                "trees of features and classes in use",
                child,
            )
