"""Convert a model to values and tensors by path, and back.

Both directions walk through the model part by part, together with a template: a new model with the
same parameters. The file holds what learning changes (see `parts`); the template has the rest.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections import ChainMap, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct, ValidationError, convert, structs

import river_ineural
from river_ineural import INeurAL, NeurONAL, active
from river_ineural.active.decision import REASONS, Reason
from river_ineural.inputs.keys import check_keys
from river_ineural.inputs.labels import LabelIndex
from river_ineural.inputs.validation import SCHEMA
from river_ineural.learning.forest import NODES
from river_ineural.learning.recovery import Recovery
from river_ineural.learning.scaling import CONSTANT
from river_ineural.learning.trainer import MOST_WEIGHTS
from river_ineural.protocol import return_to_device
from river_ineural.storage.values import Arrays, LoadError, encoded, fields, fill, given, made, need

__all__ = ["LEARNERS", "SAMPLERS", "read", "written"]

LEARNERS: dict[str, Any] = {kind.__name__: kind for kind in (INeurAL, NeurONAL)}
KINDS = (active.INeurALSampler, active.RandomSampler, active.MarginSampler)
SAMPLERS: dict[str, Any] = {kind.__name__: kind for kind in KINDS}

Count = Annotated[int, Meta(ge=0, le=2**62)]
Positive = Annotated[int, Meta(ge=1, le=2**62)]
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Level = Annotated[float, Meta(ge=0)]
Finite = Annotated[float, Meta(ge=0, le=1e300)]
OfFifty = Annotated[float, Meta(ge=0, le=50.1)]  # a sum that fades by a fiftieth
Number = Annotated[float, Meta(ge=-1e300)]  # not NaN
Share = Annotated[float, Meta(ge=0, le=1)]
FOUR = Meta(min_length=4, max_length=4)  # one number per kind of label
Due = Annotated[float, Meta(ge=0, le=1e6)]
Of64 = Annotated[int, Meta(ge=0, lt=64)]
Last = tuple[bool, Reason, float, float, Level, dict[str, float]]
ByReason = Annotated[dict[Reason, Count], Meta(min_length=len(REASONS))]
OfRiver = bool | Integer | float | None | list[bool | Integer | float]  # in River's detectors
AS_NEW = "as in a new model, or described in storage.model.parts"
FINITE = ("flat", "explorers.a", "explorers.b", "radius")  # endings of the paths of finite tensors


@functools.cache
def parts(k: int) -> dict[str, dict[str, Any]]:
    """The attributes that change during learning, by the class of a part, for k classes.

    A string is the shape of a tensor: numbers, names of sizes, and other names, each of which has
    the same value in all tensors of a part. Any other entry is the type of a plain value.
    """
    found: dict[str, dict[str, Any]] = {}

    def part(kind: str, **fields: Any) -> None:
        found.setdefault(kind, {}).update(fields)

    a_dict: Any = dict
    label: Any = Annotated[int, Meta(ge=0, lt=max(k, 1))]
    key: Any = Annotated[int, Meta(ge=-2, lt=max(k, 1))]
    part("Generator", state=dict)
    part("Random", state=tuple)
    part("FeatureIndex", touched="n_named", now=Count, _warned=bool)
    part("LabelIndex", _warned=bool)
    part("Scaling", n=Count, n_there=Level, reference="room", moments="4 room", scaling="3 room")
    part("Units", recent="6 room")
    part("History", added=tuple[Count, Count])
    part("History", x="rows n_features", targets="rows 2 k", weight="rows")
    part("Trainer", flat="n_weights", warned=bool)
    part("Trainer", lr=Annotated[float, Meta(gt=0, le=1e30)], steps_due=Due, explorations_due=Due)
    part("Optimizer", moments="n_weights", n_updates="2")
    part("Average", flat="n_weights", n_steps=Count)
    part("Adversary", radius="")
    part("Explorers", a="n n", b="n", trust=tuple[Share, ...])
    part("Forest", feature="64 nodes", threshold="64 nodes", child="64 nodes", oldest=Of64)
    part("Forest", due=Annotated[float, Meta(ge=0, le=64)])
    part("LastLabel", last=Annotated[int, Meta(ge=-1, lt=max(k, 1))], counts=a_dict[label, OfFifty])
    part("LastLabel", age=Count, excess=Number, variance=OfFifty)
    part("LastLabel", changes=OfFifty, examples=Finite)
    part("DriftDetector", n_drifts=Count, n=Count, n_of_class=a_dict[label, Count])
    part("DriftDetector", error_rates=Annotated[list[Share], FOUR])
    part("DriftDetector", counts=Annotated[list[Positive], FOUR])
    part("DriftDetector", recent=list[tuple[label, float, label]])
    part("DriftDetector", held_back=list[tuple[Annotated[int, Meta(ge=0, lt=4)], bool]])
    part("Cusum", n=Count, sums=a_dict[key, Level], since=a_dict[key, Count])
    part("State", n_dropped=Count)
    part("Recovery", n_since=Count, n_after=Count, confusion=a_dict[label, a_dict[label, Level]])
    part("Recovery", log_ratio=Number, confirmed=bool, lead=Integer)
    part("BudgetManager", n_rounds=Count, n_asked=Count, left=Number, _since=Count, _missing=Level)
    part("Pending", rounds="asked", keys="asked")
    part("ConfirmedGap", gap=Annotated[float, Meta(ge=1)])
    part("LateClasses", present=bool, _n=Count, _seen=dict[Any, tuple[Count, Count]])
    part("BudgetedSampler", _last=Last | None, n_by_reason=ByReason, drifts=list[Count])
    part("BudgetedSampler", _n_drifts=Count, _n_labels=Count, _warned=bool)
    part("INeurALSampler", _n_learned=Count, _last_ask=Count, n_pseudo_labels=Count)
    part("INeurALSampler", _unseen=list[Any] | None)
    return found


def check(kind: str, state: dict[str, Any], sizes: dict[str, Any], path: str) -> None:
    """Raise LoadError unless the attributes of a part are consistent."""
    if kind == "History":
        rows, n = sum(map(min, state["capacities"], state["added"])), len(state["weight"])
        need(n == rows, path, f"tensors of {rows} rows", n)
    elif kind == "Cusum":
        fine = state["sums"].keys() == state["since"].keys()
        need(fine, path, "sums that began at some label each", state["since"])
    elif kind == "Recovery":
        most = state["snapshot"].history.n_labelled
        need(state["n_since"] <= most, f"{path}.n_since", f"at most {most}", state["n_since"])
    elif kind == "Explorers":
        a, n = state["a"], len(state["parts"])
        need(len(a) == len(state["trust"]) == n, f"{path}.trust", f"of {n}", state["trust"])
        least = np.linalg.eigvalsh(a).min(initial=0)
        fine = np.array_equal(a, a.T) and least >= -1e-6 * (1 + a.trace())
        need(fine, f"tensor {path}.a", "symmetric, with no negative eigenvalue", a)
    elif kind == "LastLabel":
        counts, changes = state["counts"] or {-1: 1.0}, state["changes"]
        fine = counts.get(state["last"], 0.0) >= 1
        need(fine, f"{path}.counts", "of the last label too", state["counts"])
        fine = changes <= state["examples"]
        need(fine, f"{path}.changes", "at most the examples", changes)
    elif kind == "Forest":  # a node leads to later nodes by a feature in use, or is a leaf
        feature, child, last = state["feature"], state["child"], state["child"].shape[1] - 1
        on = (feature >= CONSTANT) & (feature < sizes["n_features"])
        on &= (child > np.arange(last + 1)) & (child < last)
        to = (feature == -1) & (child >= -1) & (child < sizes["k"])
        fine = last < NODES and np.where(feature >= 0, on, to).all()
        need(fine, path, "trees of features and classes in use", child)


class Document(Struct):
    """The contents of a file except its tensors."""

    learner: tuple[str, dict[str, Any]]  # class and parameters
    sampler: tuple[str, dict[str, Any]] | None
    names: list[Any]  # names of features
    labels: list[Any]
    n_features: Count  # columns in use
    room: Count  # columns allocated
    changing: bool  # whether the learner is recovering from a change
    values: dict[str, Any] = {}  # by path; for a part that occurs again, its first path
    notes: dict[str, dict[str, Any]] = {}  # attributes that a user set on learner and sampler
    schema: int = SCHEMA
    made_by: str = river_ineural.__version__


@dataclass
class Walk:
    """A walk through a model and its template, or, when reading, through the template alone.

    Writing adds to `values` and `arrays`; reading removes from them. `sizes` holds the sides of
    tensors by their names in `parts`, and, by class, attributes derived from the document.
    """

    values: dict[str, Any]
    arrays: Arrays
    sizes: dict[str, Any]
    writes: bool
    known: dict[str, Any] = field(default_factory=dict)  # parts by path

    def part(self, part: Any, like: Any, path: str = "") -> Any:
        """Write a part, or fill the template's; return that part, or the same part met before."""
        if self.writes:
            twice = [other for other, known in self.known.items() if known is part]
            self.values.update((path, other) for other in twice)
        if path in self.values:
            same = self.values[path] if self.writes else self.values.pop(path)
            need(type(self.known.get(same)) is type(like), path, f"a {type(like).__name__}", same)
            return self.known[same]
        wanted, found, kinds = fields(like) or {}, fields(part) or {}, self.kinds(like)
        if isinstance(part, active.BudgetedSampler):
            found = {key: found[key] for key in wanted}  # without attributes set by a user
        odd = wanted.keys() ^ found.keys()
        need(not odd, path, "without attributes of its own", odd)
        wanted.update(self.sizes.get(type(like).__name__, {}))
        sides, state = dict(self.sizes), {}
        for key, each in wanted.items():
            at, kind = f"{path}.{key}" if path else key, kinds.get(key)
            if isinstance(kind, str):
                state[key] = self.tensor(found[key], each, at, kind.split(), sides)
            elif kind is not None:
                state[key] = self.value(found[key], each, at, kind)
            elif fields(each) is not None:
                state[key] = self.part(found[key], each, at)
            else:
                same = type(found[key]) is type(each) and found[key] == each
                need(same or not self.writes, at, f"{each!r:.80}, {AS_NEW}", found[key])
                state[key] = each
        check(type(like).__name__, state, self.sizes, path)
        if not self.writes:
            fill(like, state)
        self.known[path] = part if self.writes else like
        return self.known[path]

    def kinds(self, like: Any) -> Mapping[str, Any]:
        """The attributes of a part that change; for a detector of River, all its plain values."""
        if type(like).__module__.startswith("river."):
            return {key: OfRiver for key, each in (fields(like) or {}).items() if not fields(each)}
        known = parts(self.sizes["k"])
        return ChainMap(*(known.get(base.__name__, {}) for base in type(like).__mro__))

    def stored(self, where: dict[str, Any], path: str, value: Any) -> Any:
        """Write and return a value, or return the value that is read at its path."""
        if self.writes:
            where[path] = value
        need(path in where, path, "in the file", "nothing")
        return value if self.writes else where.pop(path)

    def value(self, value: Any, like: Any, path: str, kind: Any) -> Any:
        """Write or read a plain value, and check its type."""
        value = self.stored(self.values, path, [*value] if isinstance(value, deque) else value)
        try:
            convert(value, kind)
        except ValidationError as error:
            raise LoadError(f"{path} is {value!r:.80}: {error}") from error
        return deque(value, like.maxlen) if isinstance(like, deque) else value

    def tensor(
        self, value: Any, like: Any, path: str, names: list[str], sides: dict[str, Any]
    ) -> Any:
        """Write or read a tensor, or a list of tensors, whose sides have these names."""
        if isinstance(like, list):
            pairs = enumerate(zip(value, like, strict=True))
            return [self.tensor(*pair, f"{path}.{i}", names, sides) for i, pair in pairs]
        value = self.stored(self.arrays, path, value)
        found: Any = itertools.zip_longest(names, value.shape[: len(names)], fillvalue=0)
        shape = tuple(int(n) if n.isdigit() else sides.setdefault(n, size) for n, size in found)
        if (value.dtype, value.shape) != (like.dtype, shape):
            said = f"{like.dtype} of shape {shape}, got {value.dtype} of shape {value.shape}"
            raise LoadError(f"tensor {path} must be {said}")
        fine = not path.endswith(FINITE) or np.isfinite(value).all()
        need(fine, f"tensor {path}", "finite", value)
        return value


def template(document: Document, n_weights: int) -> tuple[Any, Any, dict[str, Any]]:
    """A new sampler or None, its learner on the CPU, and the sizes of the learned tensors."""
    (name, of_learner), names = document.learner, document.names
    used, room = document.n_features, document.room
    need(name in LEARNERS, "learner", f"one of {', '.join(LEARNERS)}", name)
    check_keys(names)
    check_keys(document.labels, "label")
    labels = LabelIndex(of_learner["max_classes"], document.labels).labels
    fine = used == CONSTANT + len(names) or not (used or names)
    need(fine and used <= room <= used + used // 4, "room", "columns of the names", (used, room))
    form = [of_learner["hidden_dim"], of_learner["n_layers"], "network" in of_learner["explorers"]]
    shape = LEARNERS[name]._form(len(labels) if used else 0, room, *form)
    wanted = shape._replace(n_features=used).n_parameters
    # Compare the number of weights with that in the file before a model is made.
    need(wanted == n_weights <= MOST_WEIGHTS, "trainer.flat", f"{wanted:,} weights", n_weights)
    sizes: dict[str, Any] = {"k": shape.n_classes, "room": room, "n_features": used}
    sizes |= {"n_named": CONSTANT + len(names), "n_weights": n_weights}
    sizes |= {"FeatureIndex": {"names": names}, "LabelIndex": {"labels": labels}}
    sizes |= {"Trainer": {"shape": shape, "n_features": used}}
    learner = made(LEARNERS[name], of_learner | {"device": "cpu"})
    if document.changing:
        snapshot, incumbent = (copy.deepcopy(learner._state) for _ in range(2))
        learner._state = replace(learner._state, recovery=Recovery(snapshot, incumbent, 0))
    if document.sampler is None:
        return None, learner, sizes
    name, of_sampler = document.sampler
    need(name in SAMPLERS, "sampler", f"one of {', '.join(SAMPLERS)}", name)
    return made(SAMPLERS[name], of_sampler | {"classifier": learner}), learner, sizes


def written(model: Any, learner: Any) -> tuple[dict[str, Any], Arrays]:
    """The `Document` and the tensors of a model, with the same checks as when they are read."""
    state, trainer, arrays = learner._state, learner._state.trainer, Arrays()
    state.settle()
    document = Document(
        learner=(type(learner).__name__, given(learner)),
        sampler=None if model is learner else (type(model).__name__, given(model)),
        names=state.features.names,
        labels=state.labels.labels,
        n_features=trainer.n_features,
        room=trainer.shape.n_features,
        changing=state.recovery is not None,
    )
    if document.sampler:
        del document.sampler[1]["classifier"]
    for part, name in ((document.learner, "learner"), (document.sampler, "sampler")):
        if part:
            encoded(part[1], name)  # check it before the template is made
    n_weights = trainer.shape._replace(n_features=trainer.n_features).n_parameters
    sampler, like, sizes = template(document, n_weights)
    for name, part, new in (("learner", learner, like), ("sampler", model, sampler)):
        if new:
            document.notes[name] = {key: vars(part)[key] for key in vars(part).keys() - vars(new)}
    encoded(document.notes, "notes")
    walk = Walk(document.values, arrays, sizes, writes=True)
    walk.part(state, like._state)
    if sampler:
        walk.part(model, sampler, "sampler")
    return structs.asdict(document), arrays


def read(found: Any, arrays: Arrays, device: str | None) -> Any:
    """The model that was written, on `device`; None is the device that it was written from."""
    if type(found["schema"]) is not int or found["schema"] != SCHEMA:
        raise LoadError(
            f"it is of schema {found['schema']!r:.80}, and river_ineural "
            f"{river_ineural.__version__} reads schema {SCHEMA}: load it with the version that "
            f"made it ({found['made_by']:.80}), or learn the stream anew"
        )
    document = convert(found, Document)
    device = device or str(document.learner[1]["device"])
    need(device.partition(":")[0] in ("cpu", "cuda"), "device", "'cpu', 'cuda' or 'cuda:N'", device)
    flat = arrays.get("trainer.flat", np.empty(0))
    sampler, learner, sizes = template(document, flat.size)
    walk = Walk(document.values, arrays, sizes, writes=False)
    walk.part(learner._state, learner._state)
    if sampler:
        walk.part(sampler, sampler, "sampler")
    if left := [*arrays, *document.values]:
        raise LoadError(f"nothing refers to {', '.join(left):.80}")
    for name, part in (("learner", learner), ("sampler", sampler)):
        for key, note in document.notes.get(name, {}).items():
            need(part and not hasattr(part, key), f"notes.{name}", "of a user", key)
            part.__dict__[key] = note
    learner.__dict__["device"] = device
    return_to_device(learner)
    return sampler or learner
