"""The classes whose objects a file can hold, and what their attributes have to be.

An attribute that is not described here is saved all the same, if it is of a kind that `values`
knows. A class is added by a line in `KNOWN`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from river_ineural.active.base import BudgetedSampler
from river_ineural.inputs.parameters import Fixed
from river_ineural.inputs.versions import SCHEMA
from river_ineural.protocol import NeuralClassifier
from river_ineural.storage import asking, fields, trees
from river_ineural.storage.checks import Check, Scope, State, an_object, need, plain
from river_ineural.storage.errors import LoadError, SaveError
from river_ineural.storage.values import Reference

__all__ = [
    "DETECTORS",
    "KNOWN",
    "LEARNERS",
    "SAMPLERS",
    "Known",
    "class_of",
    "name_of",
    "take",
    "verify",
]


@dataclasses.dataclass(frozen=True)
class Known:
    """A class whose objects a file can hold.

    Parameters
    ----------
    module
        Where it is defined: nothing else is ever imported for a file.
    described
        What its attributes have to be, by name.
    sizes
        Letters for shapes in what it holds, from its attributes; raises LoadError if those do not
        fit each other.
    take
        Attributes of an object.
    make
        An object of a class, from its attributes.
    """

    module: str
    described: Mapping[str, Check]
    sizes: Callable[[State, str, Scope], Scope] | None = None
    take: Callable[[Any], State] = lambda value: value.__getstate__()
    make: Callable[[type, State], Any] = lambda kind, state: restored(kind, state)


def restored(kind: type, state: State) -> Any:
    """As `pickle` does it."""
    value: Any = object.__new__(kind)
    if hasattr(kind, "__setstate__"):
        value.__setstate__(state)
    else:
        value.__dict__.update(state)
    return value


def constructed(kind: type, state: State) -> Any:
    """By its constructor, which checks."""
    return kind(**state)


def unlocked(value: Any) -> State:
    """All but the lock, nothing being copied."""
    return {name: part for name, part in vars(value).items() if name != "_lock"}


def parameters(kind: type) -> list[str]:
    """Names of a constructor's."""
    return list(inspect.signature(kind).parameters)


def checked(kind: type, state: State) -> Any:
    """An estimator, whose parameters its class checks."""
    of_kind = vars_of(kind)
    for name in parameters(kind):
        if name not in state:
            raise LoadError(f"{kind.__name__} lacks its parameter {name}")
        parameter = of_kind[name]
        if isinstance(parameter, Fixed):
            parameter.check(name, state[name])
    return restored(kind, {"schema": SCHEMA, **state})


def vars_of(kind: type) -> dict[str, Any]:
    """Attributes of a class, inherited ones included."""
    return {name: part for base in reversed(kind.__mro__) for name, part in vars(base).items()}


def detector(kind: type, state: State) -> Any:
    """One of River's, if this version of River has the same attributes."""
    value = kind(**{name: state[name] for name in parameters(kind) if name in state})
    if vars(value).keys() != state.keys():
        differ = ", ".join(sorted(vars(value).keys() ^ state.keys()))
        raise LoadError(
            f"{kind.__name__} of River has other attributes than when it was saved ({differ}): "
            "install the version of River that the file names"
        )
    value.__dict__.update(state)
    return value


def sample_info(value: Any) -> State:
    """Of HDDMW. What has been averaged is in compiled code, which gives the average."""
    rest = {name: part for name, part in vars(value).items() if name != "_ewma"}
    return rest | {"fading_factor": value._ewma.fading_factor, "mean": value._ewma.get()}


def of_sample_info(kind: type, state: State) -> Any:
    """An average of one value is that value, and goes on as one of many does."""
    value = kind(state.pop("fading_factor"))
    mean = state.pop("mean")
    if state["_is_init"]:
        value._ewma.update(mean)
    value.__dict__.update(state)
    return value


def generator(value: np.random.Generator) -> State:
    """The state of NumPy's default generator, which is the only one used here."""
    state: Mapping[str, Any] = value.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise SaveError(f"a generator of {state['bit_generator']} cannot be saved: use a PCG64")
    flat = {name: part for name, part in state.items() if name not in ("state", "bit_generator")}
    return flat | dict(state["state"])


def of_generator(kind: type, state: State) -> np.random.Generator:
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": state["state"], "inc": state["inc"]},
        "has_uint32": state["has_uint32"],
        "uinteger": state["uinteger"],
    }
    return np.random.Generator(bits)


def mersenne(value: random.Random) -> State:
    _, words, spare = value.getstate()
    return {"words": np.array(words, np.uint32), "spare": spare}


def of_mersenne(kind: type, state: State) -> random.Random:
    value = random.Random(0)
    value.setstate((3, tuple(state["words"].tolist()), state["spare"]))
    return value


def value_object(module: str, described: Mapping[str, Check], sizes: Any = None) -> Known:
    """A frozen dataclass."""
    return Known(module, described, sizes, lambda value: dict(vars(value)), constructed)


def tuple_object(module: str, described: Mapping[str, Check], **rest: Any) -> Known:
    """A named tuple."""
    return Known(module, described, take=lambda value: value._asdict(), make=constructed, **rest)


def of_river(module: str) -> Known:
    return Known(f"river.{module}", {}, take=lambda value: dict(vars(value)), make=detector)


def estimator(module: str, described: Mapping[str, Check], sizes: Any = None) -> Known:
    return Known(f"river_ineural.{module}", described, sizes, take=unlocked, make=checked)


def of_detector(value: Any, where: str, scope: Scope) -> None:
    """Values, and the statistics that River's detectors are made of."""
    if isinstance(value, Reference):
        scope.look(value, where, *DETECTORS, "Mean", "Var", "SampleInfo")
        if value.at not in scope.reached:
            scope.verify(value.at, where, scope)
    else:
        plain(value, where, scope)


LEARNERS = {
    "INeurAL": estimator("classifier", fields.LEARNER, fields.of_learner),
    "NeurONAL": estimator(
        "neuronal", fields.LEARNER, functools.partial(fields.of_learner, form="OutputShape")
    ),
}
AROUND: Mapping[str, Check] = {"classifier": an_object(*LEARNERS)}
SAMPLERS = {
    "INeurALSampler": estimator("active.ineural", {**AROUND, **asking.INEURAL_SAMPLER}),
    "RandomSampler": estimator("active.random", {**AROUND, **asking.SAMPLER}),
    "MarginSampler": estimator("active.margin", {**AROUND, **asking.SAMPLER}),
}
DETECTORS = {
    "DDM": of_river("drift.binary.ddm"),
    "EDDM": of_river("drift.binary.eddm"),
    "FHDDM": of_river("drift.binary.fhddm"),
    "HDDMA": of_river("drift.binary.hddm_a"),
    "HDDMW": of_river("drift.binary.hddm_w"),
}
WATCH = {**fields.WATCH, **dict.fromkeys(("detector", "river"), of_detector)}
KNOWN: dict[str, Known] = {
    **LEARNERS,
    **SAMPLERS,
    **DETECTORS,
    "Mean": of_river("stats.mean"),
    "Var": of_river("stats.var"),
    "SampleInfo": Known(
        "river.drift.binary.hddm_w", fields.SAMPLE_INFO, take=sample_info, make=of_sample_info
    ),
    "Generator": Known("numpy.random", fields.GENERATOR, take=generator, make=of_generator),
    "Random": Known("random", fields.MERSENNE, take=mersenne, make=of_mersenne),
    "Account": Known("river_ineural.active.account", asking.ACCOUNT),
    "Pending": Known("river_ineural.active.pending", asking.PENDING, asking.of_pending),
    "Reach": Known("river_ineural.active.reach", asking.REACH),
    "Newcomers": Known("river_ineural.active.newcomers", asking.NEWCOMERS),
    "Budget": value_object("river_ineural.active.budget", asking.BUDGET),
    "ConstantWidth": value_object("river_ineural.active.width", asking.CONSTANT_WIDTH),
    "TheoreticalWidth": value_object("river_ineural.active.width", asking.THEORETICAL_WIDTH),
    "NeurONALWidth": value_object("river_ineural.active.width", asking.NEURONAL_WIDTH),
    "State": Known("river_ineural.learning.state", fields.STATE, fields.of_state),
    "FeatureIndex": Known("river_ineural.inputs.features", fields.FEATURES, fields.of_features),
    "Encoder": Known("river_ineural.inputs.encoder", fields.ENCODER),
    "LabelIndex": Known("river_ineural.inputs.labels", fields.LABELS),
    "Scaling": Known("river_ineural.learning.scaling", fields.SCALING),
    "History": Known("river_ineural.learning.history", fields.HISTORY, fields.of_history),
    "Trainer": Known("river_ineural.learning.trainer", fields.TRAINER),
    "Recipe": tuple_object("river_ineural.learning.steps", fields.RECIPE),
    "Optimizer": Known("river_ineural.learning.optimizer", fields.OPTIMIZER),
    "Average": Known("river_ineural.learning.average", fields.AVERAGE),
    "Adversary": Known("river_ineural.learning.adversary", fields.ADVERSARY),
    "Explorers": Known("river_ineural.learning.explorers", fields.EXPLORERS, fields.of_explorers),
    "ExplorationNetwork": Known(
        "river_ineural.learning.explorers", {}, take=lambda value: dict(vars(value))
    ),
    "Forest": Known("river_ineural.learning.forest", trees.FOREST, trees.of_forest),
    "Shape": tuple_object("river_ineural.network.contexts", fields.SHAPE),
    "OutputShape": tuple_object("river_ineural.network.outputs", fields.SHAPE),
    "Fresh": tuple_object("river_ineural.network.growth", fields.FRESH, sizes=fields.of_fresh),
    "Watch": Known("river_ineural.learning.change", WATCH),
    "Surprise": Known("river_ineural.learning.change", fields.SURPRISE, fields.of_surprise),
    "Trial": Known("river_ineural.learning.change", fields.TRIAL, fields.of_trial),
}


def class_of(name: str) -> type:
    """The class of that name."""
    kind: type = getattr(importlib.import_module(KNOWN[name].module), name)
    return kind


def name_of(value: Any) -> str | None:
    """The name of an object's class; None if that is not known, or but its name is."""
    kind = type(value)  # whose module may be given as one that passes it on
    known = kind.__name__ in KNOWN and class_of(kind.__name__) is kind
    return kind.__name__ if known else None


def take(value: Any, path: str) -> tuple[str, State] | None:
    """Class name and attributes of an object; None if its class is not known."""
    name = name_of(value)
    return None if name is None else (name, KNOWN[name].take(value))


def verify(index: int, where: str, scope: Scope) -> None:
    """Raise LoadError unless an object of the file has the attributes that it has to have."""
    name, state = scope.objects[index]
    known = KNOWN[name]
    scope.reached.add(index)
    missing = known.described.keys() - state.keys()
    if missing:
        raise LoadError(f"{where} ({name}) lacks {', '.join(sorted(missing))}")
    if known.sizes:
        scope = known.sizes(state, where, scope)
    kind = class_of(name)
    allowed = parameters(kind) if issubclass(kind, NeuralClassifier | BudgetedSampler) else []
    for key, value in state.items():
        place = f"{where}.{key}"
        if key in known.described:
            known.described[key](value, place, scope)
        elif name in DETECTORS or name in ("Mean", "Var"):
            of_detector(value, place, scope)
        else:
            fine = key.isidentifier() and (key in allowed or not hasattr(kind, key))
            need(fine, place, "an attribute of no other use", value)
            detects = key == "drift_detector" and isinstance(value, Reference)
            (of_detector if detects else plain)(value, place, scope)
