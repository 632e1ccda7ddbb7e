"""What a file holds of a model: one `Part` for each of its objects, with types and limits.

A field of a part is the attribute of that name. A string in `ARRAYS` is the type and shape of an
array: numbers, names of sizes, or other names, each of which has the same value within a part; "w"
is the type of weights, and "!" says that all is finite. All else, as parameters and what follows
from them, is made anew by the constructor.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray
from river.drift.binary.hddm_w import SampleInfo

from river_ineural.active import BudgetedSampler
from river_ineural.classifier.pseudo_labels import TOGETHER
from river_ineural.explorers.forest import NODES
from river_ineural.explorers.trust import Explorers
from river_ineural.features.constants import CONSTANT
from river_ineural.features.validation import HEAVIEST
from river_ineural.features.values import LARGEST
from river_ineural.recovery import KEPT

Arrays = dict[str, NDArray[Any]]
Sizes = dict[str, Any]

Count = Annotated[int, Meta(ge=0, le=2**62)]
Positive = Annotated[int, Meta(ge=1, le=2**62)]
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Class = Annotated[int, Meta(ge=0, le=2**31)]
Level = Annotated[float, Meta(ge=0)]
Finite = Annotated[float, Meta(ge=0, le=1e300)]
OfFifty = Annotated[float, Meta(ge=0, le=50.1)]  # a sum that fades by a fiftieth
Number = Annotated[float, Meta(ge=-1e300)]  # not NaN
Share = Annotated[float, Meta(ge=0, le=1)]
Due = Annotated[float, Meta(ge=0, le=1e6)]
Plain = bool | Integer | float | None | list[bool | Integer | float]
OfRiver = dict[str, Plain | dict[str, Plain | dict[str, Plain]]]  # a detector with its statistics
MOST = Meta(max_length=100_000)
Strings = Annotated[dict[str, Annotated[list[Count], Meta(min_length=2, max_length=2)]], MOST]
Kind = Annotated[int, Meta(ge=-2)]  # of change: a class, or one of `drift`
FOUR = Meta(min_length=4, max_length=4)  # one number per kind of label


class LoadError(ValueError):
    """The bytes are not a model that this version can load; the message says why."""


def need(fine: Any, path: str, wanted: str, found: Any) -> None:
    """Raise LoadError unless `fine` is true."""
    if not fine:
        raise LoadError(f"{path or 'a part'} must be {wanted}, got {found!r:.80}")


class Part(Struct, forbid_unknown_fields=True):
    """What learning changes in one object."""

    ARRAYS: ClassVar[dict[str, str]] = {}

    def fill(self, thing: Any, path: str, arrays: Arrays, sizes: Sizes) -> None:
        """Set all this on a new object; raise LoadError unless it fits, and is consistent."""
        state, sides = attributes(thing) | sizes.get(type(thing).__name__, {}), dict(sizes)
        for name in self.__struct_fields__:
            at, before, value = f"{path}.{name}", state.get(name), getattr(self, name)
            kind = type(value) if isinstance(value, Part) else None
            fits = PARTS.get(type(before).__name__) is kind
            need(fits, at, "as its model's parameters say", value)
            if isinstance(value, Part):
                value.fill(before, at, arrays, sizes)
            elif isinstance(value, list) and value and isinstance(value[0], Part):
                for i, each in enumerate(value):
                    each.fill(before[i], f"{at}.{i}", arrays, sizes)
            else:
                state[name] = restored(before, value, at)
        for name, wanted in self.ARRAYS.items():
            state[name] = taken(arrays, f"{path}.{name}", wanted.split(), sides)
        self.check(state, path, sizes)
        if hasattr(thing, "__setstate__") and not isinstance(thing, BudgetedSampler):
            thing.__setstate__(state)
        else:
            vars(thing).update({name: state[name] for name in vars(thing).keys() & state})

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        """Raise LoadError unless attributes fit each other and the sizes."""


def attributes(thing: Any) -> dict[str, Any]:
    """The attributes of an object as a copy would have them."""
    if isinstance(thing, BudgetedSampler):  # whose state would hold a copy of the classifier
        return dict(vars(thing))
    state = dict(thing.__getstate__() or {})
    return state | thing.by_name if isinstance(thing, Explorers) else state


def plain(value: Any, path: str, arrays: Arrays) -> Any:
    """The value, or the plain values in an object; adds its arrays by their paths."""
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, deque):
        return [*value]
    if isinstance(value, list):
        return [plain(each, f"{path}.{i}", arrays) for i, each in enumerate(value)]
    part = PARTS.get(type(value).__name__)
    if not (part or type(value).__module__.startswith("river.")):
        return value
    if written := getattr(part, "written", None):
        return written(value, path, arrays)
    state = attributes(value)
    if isinstance(value, SampleInfo):  # its average is a compiled object
        state["_ewma"] = value.ewma
    arrays |= {f"{path}.{name}": state[name] for name in (part.ARRAYS if part else ())}
    names = part.__struct_fields__ if part else state
    return {name: plain(state.get(name), f"{path}.{name}", arrays) for name in names}


def restored(thing: Any, value: Any, path: str) -> Any:
    """The value as `plain` was given it: in a new object, unless it is plain itself."""
    if isinstance(thing, np.random.Generator):
        thing.bit_generator.state = value
    elif isinstance(thing, random.Random):
        thing.setstate(value)
    elif isinstance(thing, deque):
        thing.extend(value)
    elif not type(thing).__module__.startswith("river."):
        return value
    else:
        state = attributes(thing)
        need(value.keys() == state.keys(), path, "as in River", value)
        if isinstance(thing, SampleInfo):
            if value["_is_init"]:  # one update restores the compiled average
                thing._ewma.update(value["_ewma"])
            del state["_ewma"]
        for name, each in state.items():
            at, part = f"{path}.{name}", value[name]
            kinds = isinstance(part, dict), isinstance(part, list)
            fine = kinds == (hasattr(each, "__dict__"), isinstance(each, deque))
            need(fine, at, "as in River", part)
            thing.__dict__[name] = restored(each, part, at)
    return thing


def taken(arrays: Arrays, path: str, wanted: list[str], sides: Sizes) -> NDArray[Any]:
    """Take an array out of those of a file; its sides have these names."""
    need(path in arrays, f"tensor {path}", "in the file", "nothing")
    value, (kind, *names) = arrays.pop(path), wanted
    finite, kind = kind.endswith("!"), sides["dtype"] if kind[0] == "w" else kind.rstrip("!")
    pairs: Any = itertools.zip_longest(names, value.shape[: len(names)], fillvalue=0)
    shape = tuple(int(n) if n.isdigit() else sides.setdefault(n, size) for n, size in pairs)
    if (value.dtype, value.shape) != (np.dtype(kind), shape):
        said = f"{np.dtype(kind)} of shape {shape}, got {value.dtype} of shape {value.shape}"
        raise LoadError(f"tensor {path} must be {said}")
    need(not finite or np.isfinite(value).all(), f"tensor {path}", "finite", value)
    return value


class OfNetworks(Part):
    ARRAYS = {"block": "w! 4 n_weights", "n_updates": "f4! 2", "radius": "w!"}
    rng: dict[str, Any]
    n_steps: Count

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        n = np.asarray(state["n_updates"])
        need((n >= 0).all(), f"tensor {path}.n_updates", "no negative number", n)


class OfHistory(Part):
    ARRAYS = {
        **{"x": "f8 rows used", "targets": "w rows 2 k", "weight": "w rows", "given": "w rows"},
        "number": "i8 rows",
    }
    rng: dict[str, Any]
    added: Annotated[list[Count], Meta(min_length=2, max_length=2)]

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        rows, n = sum(map(min, state["capacities"], self.added)), len(state["weight"])
        need(n == rows, path, f"tensors of {rows} rows", n)


class OfScaling(Part):
    ARRAYS = {"moments": "f8 4 room", "scaling": "f8 3 room", "recent": "f8 6 room"}
    n: Count
    n_there: Level
    narrow: bool
    sparse: bool


class OfForest(Part):
    ARRAYS = {
        "feature": "i2 64 nodes",
        "threshold": "f8 64 nodes",
        "child": "i4 64 nodes",
        "stale": "? 64",
    }
    rng: dict[str, Any]
    seed: Count
    oldest: Annotated[int, Meta(ge=0, lt=64)]
    due: Annotated[float, Meta(ge=0, le=64)]

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        """A node leads to later nodes by a feature in use or the constant, or is a leaf."""
        feature, child, last = state["feature"], state["child"], state["child"].shape[1] - 1
        on = (feature >= 0) & (feature < sizes["used"])
        on &= (child > np.arange(last + 1)) & (child < last)
        share = state["threshold"]
        to = (feature == -1) & (child >= -1) & (child < sizes["k"]) & (share >= 0) & (share <= 1)
        fine = last < NODES and np.where(feature >= 0, on, to).all()
        need(fine, path, "trees of features and classes in use", child)


class OfLastLabel(Part):
    last: Annotated[int, Meta(ge=-1)]
    counts: dict[Class, OfFifty]
    age: Count
    excess: Number
    variance: OfFifty
    dependent: bool
    changes: OfFifty
    examples: Finite

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        counts, at = self.counts or {-1: 1.0}, f"{path}.counts"
        need(max(counts) < max(1, sizes["k"]), at, "of classes", counts)
        need(counts.get(self.last, 0.0) >= 1, at, "of the last label too", counts)
        need(self.changes <= self.examples, f"{path}.changes", "at most the examples", self.changes)


class OfExplorers(Part):
    ARRAYS = {"a": "f8! n n", "b": "f8! n"}
    forest: OfForest | None = None
    last_label: OfLastLabel | None = None

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        a, n = state["a"], len(state["by_name"])
        need(len(a) == n, f"tensor {path}.a", f"of {n} explorers", a)
        least = np.linalg.eigvalsh(a).min(initial=0)
        fine = np.array_equal(a, a.T) and least >= -1e-6 * (1 + a.trace())
        need(fine, f"tensor {path}.a", "symmetric, with no negative eigenvalue", a)


class OfModel(Part):
    networks: OfNetworks
    history: OfHistory
    scaling: OfScaling
    explorers: OfExplorers
    steps_due: Due
    explorations_due: Due


class OfCusum(Part):
    n: Count
    warning_detected: bool
    sums: dict[Kind, Level]
    since: dict[Kind, Count]

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        need(self.sums.keys() == self.since.keys(), path, "sums with a start each", self.since)


class OfDriftDetector(Part):
    n_drifts: Count
    warning_detected: bool
    n: Count
    n_of_class: dict[Class, Count]
    error_rates: Annotated[list[Share], FOUR]
    counts: Annotated[list[Positive], FOUR]
    recent: list[tuple[Class, float, Class]]
    held_back: list[tuple[Annotated[int, Meta(ge=0, lt=4)], bool]]
    cusum: OfCusum
    river: OfRiver | None

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        most, n = max(self.n_of_class, default=0), sizes["k"]
        need(most < max(n, 1), f"{path}.n_of_class", f"of {n} classes", self.n_of_class)
        fine = (self.river is None) == (state["binary"] is None)
        need(fine, f"{path}.river", "as drift_detector says", self.river)


class OfRecovery(Part):
    detector: OfDriftDetector
    n_since: Count
    n_after: Count
    n_told: Count
    confusion: dict[Class, dict[Class, Level]]
    log_ratio: Number
    confirmed: bool
    lead: Integer

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        classes = {*self.confusion}.union(*self.confusion.values())
        need(max(classes, default=0) < sizes["k"], f"{path}.confusion", "of classes", classes)


class OfFeatureIndex(Part):
    ARRAYS = {"touched": "i8 n_named"}
    now: Count
    strings: Strings = {}


class OfPseudoLabels(Part):
    ARRAYS = {"values": "f8 v", "columns": "i8 v", "n_values": "i8 n"}
    ARRAYS |= {"classes": "i8 n", "w": "f8 n"}

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        n, counts = len(state["w"]), state["n_values"]
        fine = counts.min(initial=0) >= 0 and counts.max(initial=0) <= len(state["values"])
        fine = n < TOGETHER and fine and counts.sum() == len(state["values"])
        need(fine, path, f"of fewer than {TOGETHER} examples, each with its values", counts)
        values = state["values"][~np.isnan(state["values"])]  # of a missing one
        for name, array, least, most in (
            ("values", values, -LARGEST, LARGEST),
            ("columns", state["columns"][state["columns"] != -1], CONSTANT, sizes["used"] - 1),
            ("classes", state["classes"], 0, sizes["k"] - 1),
            ("w", state["w"], 0, HEAVIEST),
        ):
            fine = ((array >= least) & (array <= most)).all()
            need(fine, f"tensor {path}.{name}", f"from {least} to {most}", array)


class OfFormer(Part):
    model: OfModel
    evidence: Level


class OfLearner(Part):
    features: OfFeatureIndex
    model: OfModel
    pseudo_labels: OfPseudoLabels
    n_labels: Count
    detector: OfDriftDetector | None = None
    recovery: OfRecovery | None = None
    snapshot: OfModel | None = None
    incumbent: OfModel | None = None
    formers: Annotated[list[OfFormer], Meta(max_length=KEPT)] = []

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        need(self.detector or not self.formers, f"{path}.formers", "none", self.formers)
        if self.recovery:
            most, since = state["snapshot"].history.n_labelled, self.recovery.n_since
            need(since <= most, f"{path}.recovery.n_since", f"at most {most}", since)


PARTS = {kind.__name__.removeprefix("Of"): kind for kind in Part.__subclasses__()}
