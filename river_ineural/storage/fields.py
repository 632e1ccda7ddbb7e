"""Attributes of each class, and how the shapes of what they hold fit each other.

Letters for shapes: k classes; d columns that there is room for, `used` of them in use; m hidden
units; `weights` of both networks on the columns in use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from river.base.typing import ClfTarget

from river_ineural.learning.average import EVERY
from river_ineural.learning.explorers import EXPLORERS as KINDS
from river_ineural.learning.scaling import CONSTANT
from river_ineural.learning.trainer import MOST_WEIGHTS
from river_ineural.network.contexts import Shape
from river_ineural.network.outputs import OutputShape
from river_ineural.storage.checks import (
    Check,
    Scope,
    State,
    a_flag,
    a_generator,
    a_label,
    a_list,
    a_mapping,
    a_name,
    a_number,
    a_queue,
    a_real,
    a_tuple,
    an_array,
    an_integer,
    an_object,
    is_integer,
    need,
    nothing,
    optional,
)
from river_ineural.storage.values import Stored

MOST_LAYERS, MOST_EXAMPLES = 1_000, 1 << 20  # of a model in a file: its buffers stay small

Fields = dict[str, Check]
NOWHERE = Scope([], lambda index, where, scope: None)
anything = optional(lambda value, where, scope: None)

GENERATOR: Fields = {
    "state": an_integer(0, (1 << 128) - 1),
    "inc": an_integer(0, (1 << 128) - 1),
    "has_uint32": an_integer(0, 1),
    "uinteger": an_integer(0, (1 << 32) - 1),
}
MERSENNE: Fields = {"words": an_array("uint32", 625), "spare": optional(a_number())}
SAMPLE_INFO: Fields = {
    "fading_factor": a_number(0, 1),
    "mean": a_number(),
    "_is_init": a_flag,
    "_ibc": a_number(),
    "_lambd_sq": a_number(),
    "_c_lambd_sq": a_number(),
}
SHAPE: Fields = {
    "n_classes": an_integer(),
    "n_features": an_integer(),
    "hidden_dim": an_integer(1),
    "n_layers": an_integer(2, MOST_LAYERS),
    "explores": a_flag,
}
SHAPES: dict[str, type[Shape] | type[OutputShape]] = {"Shape": Shape, "OutputShape": OutputShape}

# What a learner has learned

ENCODER: Fields = {"categories": a_flag, "missing": a_flag}
FEATURES: Fields = {
    "encoder": optional(an_object("Encoder")),
    "max_features": an_integer(1),
    "first_column": an_integer(CONSTANT, CONSTANT),
    "recycles": a_flag,
    "names": a_list(a_name),
    "touched": an_array("int64", "columns"),
    "now": an_integer(),
    "_warned": a_flag,
}


def distinct(state: State, key: str, where: str, check: Check) -> list[Any]:
    """A list of names or labels of which no two are equal."""
    found: list[Any] = state.get(key, [])
    a_list(check)(found, f"{where}.{key}", NOWHERE)
    need(len(set(found)) == len(found), f"{where}.{key}", "a list without repetitions", found)
    return found


def of_features(state: State, where: str, scope: Scope) -> Scope:
    return scope.within(columns=CONSTANT + len(distinct(state, "names", where, a_name)))


LABELS: Fields = {"max_classes": an_integer(2), "labels": a_list(a_label), "_warned": a_flag}

SCALING: Fields = {
    "n": an_integer(),
    "reference": an_array("float64", "d"),
    "moments": an_array("float64", 4, "d"),
    "scaling": an_array("float", 3, "d"),
}
HISTORY: Fields = {
    "capacities": a_tuple(an_integer(1), an_integer()),
    "rng": a_generator,
    "added": a_list(an_integer(), 2),
    **{
        name: an_array("float", "rows", *shape)
        for name, shape in (("x", ("used",)), ("targets", (2, "k")), ("weight", ()))
    },
}


def of_history(state: State, where: str, scope: Scope) -> Scope:
    for key in ("capacities", "added"):
        HISTORY[key](state[key], f"{where}.{key}", scope)
    labelled, pseudo = map(min, state["capacities"], state["added"])
    return scope.within(rows=labelled + pseudo, labelled=labelled)


RECIPE: Fields = {
    **dict.fromkeys(("exploration_lr", "exploration_share", "balance"), a_number(0, 1)),
    "span": an_integer(EVERY),
}
OPTIMIZER: Fields = {
    "moments": a_list(an_array("float", "weights"), 2),
    "n_updates": an_array("float32", 2),
}
AVERAGE: Fields = {
    "span": an_integer(EVERY),
    "flat": an_array("float", "weights", finite=True),
    "n_steps": an_integer(),
}
ADVERSARY: Fields = {"radius": an_array("float", finite=True)}
TRAINER: Fields = {
    "shape": an_object(*SHAPES),
    "recipe": an_object("Recipe"),
    "lr": a_number(0),
    "batch_size": an_integer(1, MOST_EXAMPLES),
    "optimizer": an_object("Optimizer"),
    "average": an_object("Average"),
    "adversary": an_object("Adversary"),
    "rng": a_generator,
    "n_features": an_integer(0, "d"),
    "steps_due": a_number(0, 1e9),
    "explorations_due": a_number(0, 1e9),
    "pending": a_list(an_object("Fresh")),
    "warned": a_flag,
    "dtype": lambda value, where, scope: need(
        value is np.float32 or value is np.float64, where, "a dtype", value
    ),
    "flat": an_array("float", "weights", finite=True),
}


def some_columns(value: Any, where: str, scope: Scope) -> None:
    """Columns in use: a slice, or their numbers."""
    used = scope.sizes["used"]
    if isinstance(value, slice):
        ends = (value.start, value.stop)
        fine = all(is_integer(end) and 0 <= end <= used for end in ends) and value.step is None
        need(fine, where, f"a slice up to {used}", value)
    else:
        an_array("int64", "fresh")(value, where, scope)
        array = value.array
        need(bool(((array >= 0) & (array < used)).all()), where, f"columns below {used}", array)


FRESH: Fields = {
    "columns": some_columns,
    "drawn": a_list(an_array("float64", "m", "drawn", "fresh", tensor=True), "first_layers"),
}


def of_fresh(state: State, where: str, scope: Scope) -> Scope:
    columns, drawn = state.get("columns"), state.get("drawn")
    shape = drawn[0].array.shape if type(drawn) is list and isinstance(drawn[0], Stored) else ()
    need(len(shape) == 3 and shape[1] <= scope.sizes["k"], f"{where}.drawn", "tensors", drawn)
    if isinstance(columns, slice):
        some_columns(columns, f"{where}.columns", scope)
        fresh = len(range(columns.start, columns.stop))
        need(fresh == shape[2], f"{where}.columns", f"{shape[2]} columns", columns)
    return scope.within(drawn=shape[1], fresh=shape[2])


def the_parts(value: Any, where: str, scope: Scope) -> None:
    for name, part in value.items():
        an_object(KINDS[name].__name__)(part, f"{where}.{name}", scope)


def shares(value: Any, where: str, scope: Scope) -> None:
    a_tuple(*[a_number(0, 1)] * int(scope.sizes["explorers"]))(value, where, scope)


EXPLORERS: Fields = {
    "parts": the_parts,
    "a": an_array("float64", "explorers", "explorers", finite=True),
    "b": an_array("float64", "explorers", finite=True),
    "trust": shares,
}


def of_explorers(state: State, where: str, scope: Scope) -> Scope:
    """The sums of squares that trust follows from are those of something."""
    scope = scope.within(explorers=len(names_of(state, where)))
    EXPLORERS["a"](state.get("a"), f"{where}.a", scope)
    a = state["a"].array
    fine = np.array_equal(a, a.T) and bool((np.linalg.eigvalsh(a) >= -1e-6 * (1 + a.trace())).all())
    need(fine, f"{where}.a", "symmetric, with no negative eigenvalue", a)
    return scope


def names_of(state: State, where: str) -> tuple[str, ...]:
    """Of explorers."""
    parts = state.get("parts")
    fine = type(parts) is dict and parts.keys() <= KINDS.keys()
    need(fine, f"{where}.parts", f"some of {', '.join(KINDS)}", parts)
    return tuple(parts or ())


a_class = an_integer(0, "last_class")
a_kind = an_integer(-2, "last_class")
SURPRISE: Fields = {
    "n": an_integer(),
    "sums": a_mapping(a_kind, a_number(0)),
    "since": a_mapping(a_kind, an_integer(0)),
}


def of_surprise(state: State, where: str, scope: Scope) -> Scope:
    """Each sum began at some label."""
    sums, since = state.get("sums"), state.get("since")
    fine = type(sums) is dict and type(since) is dict and sums.keys() == since.keys()
    need(fine, where, "sums that began at some label each", since)
    return scope


WATCH: Fields = {
    "n_drifts": an_integer(),
    "shares": a_list(a_number(0, 1), 4),
    "counts": a_list(an_integer(1), 4),
    "n_of_class": a_mapping(a_class, an_integer()),
    "n": an_integer(),
    "recent": a_queue(a_tuple(a_class, a_real, a_class)),
    "surprise": an_object("Surprise"),
    "held": a_list(a_tuple(an_integer(0, 3), a_flag)),
}
TRIAL: Fields = {
    "former": an_object("State"),
    "ongoing": an_object("State"),
    "n_since": an_integer(0, "labelled"),
    "n_judged": an_integer(),
    "turned": a_mapping(a_class, a_mapping(a_class, a_number(0))),
    "ratio": a_number(),
    "confirmed": a_flag,
    "ahead": an_integer(-(1 << 40)),
}


def of_trial(state: State, where: str, scope: Scope) -> Scope:
    former = scope.look(state.get("former"), f"{where}.former", "State")
    history = scope.look(former.get("history"), f"{where}.former.history", "History")
    return scope.within(
        on_trial=1, labelled=int(of_history(history, where, scope).sizes["labelled"])
    )


STATE: Fields = {
    "features": an_object("FeatureIndex"),
    "labels": an_object("LabelIndex"),
    "scaling": an_object("Scaling"),
    "history": an_object("History"),
    "trainer": an_object("Trainer"),
    "explorers": an_object("Explorers"),
    "watch": optional(an_object("Watch")),
    "trial": lambda value, where, scope: (
        nothing if scope.sizes.get("on_trial") else optional(an_object("Trial"))
    )(value, where, scope),
}


def size(value: Any, where: str) -> int:
    need(is_integer(value) and value >= 0, where, "an integer from 0", value)
    return int(value)


def of_state(state: State, where: str, scope: Scope) -> Scope:
    """Letters for all that is in a state; what fixes them has to fit."""
    trainer = scope.look(state.get("trainer"), f"{where}.trainer", "Trainer")
    found = scope.look(trainer.get("shape"), f"{where}.trainer.shape", *SHAPES)
    for key, check in SHAPE.items():
        check(found.get(key), f"{where}.trainer.shape.{key}", scope)
    form = scope.objects[trainer["shape"].at][0]
    shape = SHAPES[form](**found)
    used = size(trainer.get("n_features"), f"{where}.trainer.n_features")
    labels: list[ClfTarget] = distinct(
        scope.look(state.get("labels"), f"{where}.labels", "LabelIndex"), "labels", where, a_label
    )
    features = scope.look(state.get("features"), f"{where}.features", "FeatureIndex")
    n_features = len(distinct(features, "names", f"{where}.features", a_name))
    k, d, known = shape.n_classes, shape.n_features, len(labels) if used else 0
    need(k == known, f"{where}.trainer.shape", f"of {known} classes", k)
    columns = CONSTANT + n_features if n_features or used else 0
    need(used == columns, f"{where}.trainer.n_features", str(columns), used)
    need(used <= d <= used + used // 4, f"{where}.trainer.shape", f"room for {used} columns", d)
    weights, place = shape._replace(n_features=used).n_parameters, f"{where}.trainer.shape"
    need(weights <= MOST_WEIGHTS, place, f"of {MOST_WEIGHTS:,} weights", shape)
    explorers = scope.look(state.get("explorers"), f"{where}.explorers", "Explorers")
    explores = "network" in names_of(explorers, f"{where}.explorers")
    need(shape.explores == explores, place, "with an f2 if there is an explorer of that", shape)
    return scope.within(
        **{"k": k, "d": d, "used": used, "m": shape.hidden_dim, "weights": weights},
        **{"float": getattr(trainer.get("dtype"), "__name__", ""), "last_class": len(labels) - 1},
        first_layers=3 if form == "Shape" and shape.explores else 1,
    )


def fitting(state: State, key: str, found: Any, where: str) -> None:
    given, wanted = state.get(key), f"{found!r}, as what it has learned"
    need(given == found, f"{where}.{key}", wanted, given)


LEARNER: Fields = {"_state": an_object("State")}


def of_learner(state: State, where: str, scope: Scope, form: str = "Shape") -> Scope:
    """The parameters that fix shapes are those of what has been learned, of the learner's form."""
    inner = scope.look(state.get("_state"), f"{where}._state", "State")
    trainer = scope.look(inner.get("trainer"), f"{where}._state.trainer", "Trainer")
    shape = scope.look(trainer.get("shape"), f"{where}._state.trainer.shape", form)
    history = scope.look(inner.get("history"), f"{where}._state.history", "History")
    for key in ("hidden_dim", "n_layers"):
        fitting(state, key, shape.get(key), where)
    fitting(state, "batch_size", trainer.get("batch_size"), where)
    HISTORY["capacities"](history.get("capacities"), f"{where}._state.history.capacities", scope)
    fitting(state, "capacity", sum(history["capacities"]), where)
    explorers = scope.look(inner.get("explorers"), f"{where}._state.explorers", "Explorers")
    fitting(state, "explorers", names_of(explorers, f"{where}._state.explorers"), where)
    return scope
