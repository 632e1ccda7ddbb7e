"""What a model is checked against: one of its parameters and sizes that has learned nothing."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from river.drift import binary

from river_ineural.active.budget import Budget
from river_ineural.active.ineural import INeurALSampler
from river_ineural.active.margin import MarginSampler
from river_ineural.active.random import RandomSampler
from river_ineural.active.width import ConstantWidth, TheoreticalWidth
from river_ineural.classifier import INeurAL
from river_ineural.inputs.keys import check_keys
from river_ineural.learning.average import Average
from river_ineural.learning.change import Trial
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.scaling import CONSTANT
from river_ineural.learning.trainer import MOST_WEIGHTS
from river_ineural.neuronal import NeurONAL
from river_ineural.storage.values import LoadError, SaveError, decode, encode
from river_ineural.storage.walk import Document, need, parameters

__all__ = ["LEARNERS", "MODELS", "SAMPLERS", "described", "of_kind", "template"]

Kinds = dict[str, Any]
LEARNERS: Kinds = {kind.__name__: kind for kind in (INeurAL, NeurONAL)}
SAMPLERS: Kinds = {kind.__name__: kind for kind in (INeurALSampler, RandomSampler, MarginSampler)}
MODELS = LEARNERS | SAMPLERS
VALUES: Kinds = {  # that other parameters may be
    kind.__name__: kind for kind in (Budget, ConstantWidth, TheoreticalWidth)
} | {name: getattr(binary, name) for name in ("DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW")}
KINDS = {"model": MODELS, "classifier": LEARNERS}


def of_kind(value: Any, kinds: Kinds) -> bool:
    """Whether its class is one of these, and not only named so."""
    return kinds.get(type(value).__name__) is type(value)


def described(value: Any, key: str = "model") -> Any:
    """A parameter as JSON: an object is its class and its parameters."""
    kind: Any = type(value)
    kinds = KINDS.get(key, VALUES)
    if of_kind(value, kinds):
        given = {each: described(getattr(value, each), each) for each in parameters(kind)}
        return {"object": [kind.__name__, given]}
    try:
        return encode(value, key, {})
    except SaveError as error:
        raise SaveError(f"{error}: of classes it can hold {', '.join(kinds)}") from error


def template(document: Document, weights: int, node: Any, key: str = "model") -> Any:
    """What was described, a learner being of the sizes of the document, and on the CPU."""
    if type(node) is not dict or "object" not in node:
        return decode(node, key, {})
    (name, given), kinds = node["object"], KINDS.get(key, VALUES)
    if name not in kinds:
        raise LoadError(f"its {key} is {name!r:.80}, not one of {', '.join(kinds)}")
    kind = kinds[name]
    if odd := given.keys() ^ {*parameters(kind)}:
        raise LoadError(f"{name} lacks its parameter {min(odd)}, or has none of that name")
    given = {each: template(document, weights, part, each) for each, part in given.items()}
    return sized(kind, given, document, weights) if name in LEARNERS else kind(**given)


def sized(kind: Any, given: dict[str, Any], document: Document, weights: int) -> Any:
    """A learner that has learned nothing.

    Before it is made, its weights are compared with those in the file.
    """
    names, labels = (decode(each, "names", {}) for each in (document.names, document.labels))
    used, room = document.n_features, document.room
    check_keys(names)
    check_keys(labels, "label")
    k = len(labels) if used else 0
    form = given["hidden_dim"], given["n_layers"], "network" in given["explorers"]
    needed = kind._form(k, used, *form).n_parameters
    need(needed == weights <= MOST_WEIGHTS, "trainer.flat", f"{needed:,} weights", weights)
    fine = used == CONSTANT + len(names) or not (used or names)
    need(fine and used <= room <= used + used // 4, "room", "columns of the names", (used, room))
    device = str(given["device"])
    need(device.partition(":")[0] in ("cpu", "cuda"), "device", "'cpu', 'cuda' or 'cuda:N'", device)
    like = kind(**given | {"device": "cpu"})
    like.__dict__["device"] = device
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
    like._state = replace(state, trial=Trial(state, state, 0)) if document.on_trial else state
    return like
