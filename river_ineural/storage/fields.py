"""Attributes of each class, and how the shapes of what they hold fit each other.

Letters for shapes: k classes; d columns that there is room for, `used` of them in use; m hidden
units; `weights` of both networks on the columns in use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from river.base.typing import ClfTarget

from river_ineural.learning.adversary import CHOICE
from river_ineural.learning.iterates import EVERY
from river_ineural.learning.pieces import MOST_PIECES
from river_ineural.learning.ranking import KNOTS, MOST, SAMPLE
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
    a_text,
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
# Their constructors check what they are given.
TRAINING: Fields = dict.fromkeys(
    (
        *("optimizer", "beta2", "max_norm", "exploration", "exploration_lr", "exploration_share"),
        *("pseudo_label_exploration", "pseudo_label_steps", "late_class_steps", "init_scale"),
        *("labelled_share", "residuals", "balance", "batches", "n_iterates", "n_averaged"),
    ),
    anything,
)

# What a learner has learned

ENCODER: Fields = {"categories": a_flag, "missing": a_flag}
FEATURES: Fields = {
    "encoder": optional(an_object("Encoder")),
    "unit_norm": a_flag,
    "max_features": an_integer(1),
    "first_column": an_integer(CONSTANT, CONSTANT),
    "recycles": a_flag,
    "names": a_list(a_name),
    "reserved": a_tuple(an_integer(CONSTANT, "columns"), an_integer()),
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
    n_reserved = reserved(state, where)
    return scope.within(columns=CONSTANT + len(state["names"]) + n_reserved)


def reserved(state: State, where: str) -> int:
    """Columns of no name, and that the names are names."""
    distinct(state, "names", where, a_name)
    found: Any = state.get("reserved")
    fine = type(found) is tuple and len(found) == 2 and all(map(is_integer, found))
    need(fine and min(found) >= 0, f"{where}.reserved", "two integers from 0", found)
    return int(found[1])


LABELS: Fields = {"max_classes": an_integer(2), "labels": a_list(a_label), "_warned": a_flag}

SCALING: Fields = {
    **dict.fromkeys(("center", "scale", "normalize", "relevance_wanted"), a_flag),
    "ranking": an_object("Ranking"),
    "n": an_integer(),
    "reference": an_array("float64", "d"),
    "moments": an_array("float64", 4, "d"),
    "scaling": an_array("float", 3, "d"),
    "relevance": an_array("float64", 2, "d"),
    "n_steps": an_array("float64", 1),
}
RANKING: Fields = {
    **dict.fromkeys(("ranks", "wanted"), a_flag),
    "most": an_integer(MOST, MOST + MOST_PIECES),
    "rng": a_generator,
    "sample": an_array("float", "n_sampled", "ranked"),
    "n_sampled": an_integer(0, SAMPLE),
    "n_since": an_integer(),
    "knots": an_array("float", "d", "knots"),
    "heights": an_array("float", "d", "knots"),
    "shares": an_array("float64", 2, "d"),
}


def of_ranking(state: State, where: str, scope: Scope) -> Scope:
    d = int(scope.sizes["d"])
    ranks = bool(state["wanted"]) and d <= size(state["most"], f"{where}.most")
    return scope.within(
        n_sampled=size(state["n_sampled"], f"{where}.n_sampled"),
        ranked=d if ranks else 0,
        knots=KNOTS if ranks or d == 0 else 0,
    )


HISTORY: Fields = {
    "capacities": a_tuple(an_integer(1), an_integer()),
    "labelled_share": optional(a_number(0, 1)),
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


OPTIMIZER: Fields = {
    "kind": a_text("adam", "sgd"),
    "parameter": a_number(0),
    "moments": a_list(an_array("float", "weights"), "n_moments"),
    "n_updates": an_array("float32", 2),
}


def of_optimizer(state: State, where: str, scope: Scope) -> Scope:
    return scope.within(n_moments=2 if state["kind"] == "adam" else 0)


ITERATES: Fields = {
    "kind": a_text("average", "last", "uniform"),
    "n_kept": optional(an_integer(1)),
    "n_averaged": an_integer(EVERY),
    "rng": a_generator,
    "kept": a_list(an_array("float", "weights")),
    "returned": a_list(an_array("float", "weights")),
    "n_rounds": an_integer(),
    "n_steps": an_integer(),
    "served": an_integer(0, "last_kept"),
}


def of_iterates(state: State, where: str, scope: Scope) -> Scope:
    kept = state["kept"]
    need(type(kept) is list, f"{where}.kept", "a list", kept)
    if scope.sizes["used"] and state["kind"] != "last":
        need(len(kept) > 0, f"{where}.kept", "a list that is not empty", kept)
    return scope.within(last_kept=max(1, len(kept)) - 1)


ADVERSARY: Fields = {
    "limit": a_number(0),
    "radius": an_array("float"),
    "chosen": an_integer(0, len(CHOICE) - 1),
}
PIECES: Fields = {
    "first": an_integer(CONSTANT, "used"),
    "sources": an_array("int64", "pieces"),
    **dict.fromkeys(("lower", "upper"), an_array("float", "pieces")),
}


def of_pieces(state: State, where: str, scope: Scope) -> Scope:
    """They are in the columns that no name has, and of columns that have one."""
    n, first = int(scope.sizes["reserved"]), state.get("first")
    need(first == scope.sizes["reserved_from"], f"{where}.first", "where columns are free", first)
    for key in ("sources", "lower", "upper"):
        PIECES[key](state.get(key), f"{where}.{key}", scope.within(pieces=n))
    sources, lower, upper = (state[key].array for key in ("sources", "lower", "upper"))
    fine = (sources >= CONSTANT) & (sources < first) & (lower < upper)
    need(bool(fine.all()), where, "of columns before them, and of some width", state)
    return scope.within(pieces=n)


TRAINER: Fields = {
    "shape": an_object(*SHAPES),
    "training": an_object("Training"),
    "lr": a_number(0),
    "batch_size": an_integer(1, MOST_EXAMPLES),
    "optimizer": an_object("Optimizer"),
    "iterates": an_object("Iterates"),
    "adversary": an_object("Adversary"),
    "n_blank": an_integer(0, CONSTANT),
    "rng": a_generator,
    "of_folds": a_generator,
    "n_until": an_integer(-(1 << 62)),
    "n_features": an_integer(0, "d"),
    "steps_due": a_number(0, 1e9),
    "explorations_due": a_number(0, 1e9),
    "pending": a_list(an_object("Fresh")),
    "warned": a_flag,
    "dtype": lambda value, where, scope: need(
        value is np.float32 or value is np.float64, where, "a dtype", value
    ),
    "flat": an_array("float", "weights"),
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


SURPRISE: Fields = {"sums": a_list(a_number(0), 2), "lengths": a_list(an_integer(), 2)}
a_class = an_integer(0, "last_class")
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
    "watch": optional(an_object("Watch")),
    "takes_apart": a_flag,
    "forest": optional(an_object("Forest")),
    "pieces": lambda value, where, scope: (
        an_object("Pieces") if scope.sizes["reserved"] else nothing
    )(value, where, scope),
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
    n_reserved = reserved(features, f"{where}.features")
    n_features = len(features["names"]) + n_reserved
    k, d, known = shape.n_classes, shape.n_features, len(labels) if used else 0
    need(k == known, f"{where}.trainer.shape", f"of {known} classes", k)
    columns = CONSTANT + n_features if n_features or used else 0
    need(used == columns, f"{where}.trainer.n_features", str(columns), used)
    need(used <= d <= used + used // 4, f"{where}.trainer.shape", f"room for {used} columns", d)
    weights, place = shape._replace(n_features=used).n_parameters, f"{where}.trainer.shape"
    need(weights <= MOST_WEIGHTS, place, f"of {MOST_WEIGHTS:,} weights", shape)
    training = scope.look(trainer.get("training"), f"{where}.trainer.training", "Training")
    explores = shape.explores or training.get("exploration") == "none"
    need(explores, place, "of an f2, which counts", shape)
    return scope.within(
        **{"k": k, "d": d, "used": used, "m": shape.hidden_dim, "weights": weights},
        **{"reserved": n_reserved, "reserved_from": features["reserved"][0]},
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
    return scope
