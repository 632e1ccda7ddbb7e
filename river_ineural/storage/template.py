"""What a file is checked against: a model that has learned nothing, and ranges of what changes.

The parameters and the sizes of a model make a template. Each leaf of a file has the path, the
class, the shape and the dtype of a leaf of the template, and its value too, unless `ranges` has a
line for it. So a class is described once, by itself; here stands what no template knows.
"""

from __future__ import annotations

import copy
import functools
import inspect
import random
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import torch
from msgspec import Meta, Struct, convert
from river.drift import binary
from river.drift.binary.hddm_w import SampleInfo

from river_ineural.active.budget import Budget
from river_ineural.active.decision import REASONS, Reason
from river_ineural.active.ineural import INeurALSampler
from river_ineural.active.margin import MarginSampler
from river_ineural.active.random import RandomSampler
from river_ineural.active.width import ConstantWidth, NeurONALWidth, TheoreticalWidth
from river_ineural.classifier import MOST_CONTEXTS, MOST_LAYERS, MOST_STEPS, INeurAL
from river_ineural.inputs.keys import check_keys
from river_ineural.inputs.labels import LabelIndex
from river_ineural.learning.average import Average
from river_ineural.learning.change import Trial
from river_ineural.learning.forest import TREES
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import CONSTANT
from river_ineural.learning.trainer import MOST_WEIGHTS, Trainer
from river_ineural.network.growth import Fresh
from river_ineural.neuronal import NeurONAL
from river_ineural.storage.values import LoadError, SaveError

__all__ = [
    *(
        "DETECTORS",
        "FINITE",
        "LEARNERS",
        "LENGTHS",
        "MODELS",
        "Node",
        "SAMPLERS",
        "Sizes",
        "VALUES",
    ),
    *("fields", "is_part", "made", "need", "parameters", "rule", "template"),
]

LEARNERS: dict[str, Any] = {kind.__name__: kind for kind in (INeurAL, NeurONAL)}
SAMPLERS: dict[str, Any] = {
    kind.__name__: kind for kind in (INeurALSampler, RandomSampler, MarginSampler)
}
DETECTORS = ("DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW")
MODELS = LEARNERS | SAMPLERS
VALUES: dict[str, Any] = {  # that parameters may be
    kind.__name__: kind for kind in (Budget, ConstantWidth, NeurONALWidth, TheoreticalWidth)
} | {name: getattr(binary, name) for name in DETECTORS}

Count = Annotated[int, Meta(ge=0)]
Level = Annotated[float, Meta(ge=0)]
Number = Annotated[float, Meta(ge=-1e300)]  # not NaN
Share = Annotated[float, Meta(ge=0, le=1)]
COUNTS = """FeatureIndex.now Scaling.n Average.n_steps Watch.n_drifts Watch.n Surprise.n
Trial.n_since Trial.n_judged Account.n_rounds Account.n_asked Account._since Newcomers._n
BudgetedSampler._n_drifts BudgetedSampler._n_labels INeurALSampler._n_learned
INeurALSampler._last_ask INeurALSampler.n_pseudo_labels"""
FLAGS = """FeatureIndex._warned LabelIndex._warned Trainer.warned Trial.confirmed Newcomers.there
BudgetedSampler._warned"""
FINITE = {"Trainer.flat", "Average.flat", "Explorers.a", "Explorers.b", "Adversary.radius"}
LENGTHS = {"History": 0, "Forest": 1, "Pending": 0}  # axis of their tensors that a file gives
OF_RIVER = bool | int | float | None | list[bool | int | float]  # attributes of its detectors


def labels(found: Any) -> None:
    """Raise unless they can be labels."""
    for label in found or ():
        LabelIndex.checked(label)


def labels_seen(found: Any) -> None:
    labels(found)
    convert([*found.values()], list[tuple[Count, Count]])


@functools.cache
def ranges(k: int) -> dict[str, Any]:
    """What leaves may be that change, where there are k classes: types, or checks that raise."""
    of_class, of_sum = (Annotated[int, Meta(ge=least, lt=max(k, 1))] for least in (0, -2))
    due = Annotated[float, Meta(ge=0, le=1e6)]
    return dict.fromkeys(COUNTS.split(), Count) | {
        **dict.fromkeys(FLAGS.split(), bool),
        "History.added": tuple[Count, Count],
        "Trainer.lr": Annotated[float, Meta(gt=0, le=1e30)],
        **{"Trainer.steps_due": due, "Trainer.explorations_due": due, "Trainer.pending": list},
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
        **{"Account.left": Number, "Account._missing": Level, "Pending.fingerprint": int},
        "BudgetedSampler._last": tuple[bool, Reason, float, float, Level, dict[str, float]] | None,
        "BudgetedSampler.n_by_reason": Annotated[
            dict[Reason, Count], Meta(min_length=len(REASONS))
        ],
        "BudgetedSampler.drifts": list[Count],
        **{"INeurALSampler._unseen": labels, "Newcomers._seen": labels_seen},
    }


class Limits(Struct):
    """Parameters of a file, so that what is made of them stays small."""

    hidden_dim: Annotated[int, Meta(ge=1, le=MOST_WEIGHTS)]
    n_layers: Annotated[int, Meta(ge=2, le=MOST_LAYERS)]
    batch_size: Annotated[int, Meta(ge=1, le=MOST_CONTEXTS)]
    n_steps: Annotated[float, Meta(ge=0, le=MOST_STEPS)]
    explorers: tuple[Literal["network", "forest"], ...]
    device: Annotated[str, Meta(pattern=r"^(cpu|cuda(:\d+)?)$")]


class Node(Struct):
    """A learner or a sampler in a file."""

    kind: str
    parameters: dict[str, Any]
    state: dict[str, Any]
    notes: dict[str, Any]  # what its user has set on it
    classifier: Node | None = None
    sizes: Sizes | None = None


class Sizes(Struct):
    """Of a learner: how large is what it has learned."""

    names: Any  # of features
    labels: Any
    n_features: Count  # columns in use
    room: Count  # columns that there is room for
    on_trial: bool


def is_part(value: Any) -> bool:
    """Whether a value is an object that has parts of its own."""
    ours = type(value).__module__.startswith(("river_ineural.", "river."))
    generator = isinstance(value, np.random.Generator | random.Random)
    return generator or (ours and not isinstance(value, tuple | Budget))


@functools.cache
def parameters(kind: Any) -> list[str]:
    """Names of a constructor's."""
    return list(inspect.signature(kind).parameters)


def fields(part: Any) -> dict[str, Any]:
    """What there is to save of a part, by name."""
    if isinstance(part, np.random.Generator):
        found: Any = part.bit_generator.state
        if found["bit_generator"] != "PCG64":
            raise SaveError(f"a generator of {found['bit_generator']} cannot be saved: use a PCG64")
        words = [
            found["state"][n] >> shift & (1 << 64) - 1
            for n in ("state", "inc")
            for shift in (0, 64)
        ]
        return {"words": np.array([*words, found["has_uint32"], found["uinteger"]], np.uint64)}
    if isinstance(part, random.Random):
        _, words, spare = part.getstate()
        return {"words": np.array(words, np.uint32), "spare": spare}
    kind: Any = type(part)
    if kind.__name__ in MODELS:
        skip = {"_lock", *parameters(kind)}
        return {key: value for key, value in vars(part).items() if key not in skip}
    state: dict[str, Any] = dict(part.__getstate__() or {})  # it may be the part's own
    if isinstance(part, SampleInfo):  # whose average is compiled code, which gives its value
        state["_ewma"] = state["_ewma"].get()
    if isinstance(part, Trainer):
        every = np.arange(part.shape.n_features)
        state["pending"] = [
            [every[columns], *(drawn.numpy() for drawn in layers)]
            for columns, layers in part.pending
        ]
    return state


def made(like: Any, state: dict[str, Any]) -> Any:
    """A part of the class of its template."""
    if isinstance(like, np.random.Generator):
        s, t, i, j, has, spare = map(int, state["words"])
        bits: Any = np.random.PCG64(0)
        pair = {"state": s | t << 64, "inc": i | j << 64}
        bits.state = {"bit_generator": "PCG64", "state": pair, "has_uint32": has, "uinteger": spare}
        return np.random.Generator(bits)
    if isinstance(like, random.Random):
        mersenne = random.Random(0)
        mersenne.setstate((3, tuple(state["words"].tolist()), state["spare"]))
        return mersenne
    if isinstance(like, SampleInfo):
        average = type(like._ewma)(like._ewma.fading_factor)
        if state["_is_init"]:  # an average of one value goes on as one of many does
            average.update(state["_ewma"])
        state["_ewma"] = average
    if isinstance(like, Trainer):
        pending = state["pending"]
        state["pending"] = [Fresh(at, [*map(torch.from_numpy, drawn)]) for at, *drawn in pending]
    part = object.__new__(type(like))
    (part.__setstate__ if hasattr(part, "__setstate__") else part.__dict__.update)(state)
    return part


def template(kind: Any, given: dict[str, Any], sizes: Sizes, weights: int) -> Any:
    """A learner with these parameters and of these sizes, that has learned nothing.

    Before it is made, its weights are compared with those in the file.
    """
    plain = {key: getattr(value, "item", lambda v=value: v)() for key, value in given.items()}
    limits = convert(plain, Limits)
    names, labels, used, room = sizes.names, sizes.labels, sizes.n_features, sizes.room
    check_keys(names)
    check_keys(labels, "label")
    k = len(labels) if used else 0
    form = limits.hidden_dim, limits.n_layers, "network" in limits.explorers
    needed = kind._form(k, used, *form).n_parameters
    need(needed == weights <= MOST_WEIGHTS, "trainer.flat", f"{needed:,} weights", weights)
    fine = used == CONSTANT + len(names) or not (used or names)
    need(fine and used <= room <= used + used // 4, "sizes", "columns of the names", (used, room))
    like = kind(**given | {"device": "cpu"})
    state, old = like._state, like._state.trainer
    features, known = copy.copy(state.features), copy.copy(state.labels)
    features.names, features.touched = names, np.zeros(CONSTANT + len(names), np.int64)
    known.labels = type(known)(known.max_classes, labels).labels
    shape = old.shape._replace(n_classes=k, n_features=room)
    trainer, flat = old.beside(), old.flat.new_zeros(shape.n_parameters)  # without its buffers
    average = Average(old.recipe.span, flat)
    trainer.__dict__.update(shape=shape, n_features=used, flat=flat, average=average)
    trainer.optimizer = Optimizer(flat)
    scaling = state.scaling.widened(room, slice(0, 0), np.empty(0))
    history = state.history.resized(used, k)
    state = replace(state, features=features, labels=known, scaling=scaling, history=history)
    state = replace(state, trainer=trainer)
    like._state = replace(state, trial=Trial(state, state, 0)) if sizes.on_trial else state
    return like


def need(fine: bool, path: str, wanted: str, found: Any) -> None:
    """Raise LoadError unless it is fine."""
    if not fine:
        raise LoadError(f"{path or 'a part'} must be {wanted}, got {found!r:.80}")


def rule(kind: type, key: str, like: Any, k: int) -> Any:
    """What an attribute may be; None for one that is of the template's value, or has parts."""
    return OF_RIVER if of_river(kind) and not is_part(like) else rule_of(kind, key, k)


@functools.cache
def of_river(kind: type) -> bool:
    return kind.__module__.startswith("river.")


@functools.cache
def rule_of(kind: type, key: str, k: int) -> Any:
    names = (f"{base.__name__}.{key}" for base in kind.__mro__)
    return next((ranges(k)[name] for name in names if name in ranges(k)), None)
