"""Attributes of a forest in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from river_ineural.learning.forest import NODES, TREES
from river_ineural.learning.scaling import CONSTANT
from river_ineural.storage.checks import (
    Check,
    Scope,
    State,
    a_generator,
    a_number,
    an_array,
    an_integer,
    need,
)
from river_ineural.storage.values import Stored

__all__ = ["FOREST", "of_forest"]

FOREST: dict[str, Check] = {
    "rng": a_generator,
    "feature": an_array("int16", TREES, "nodes"),
    "threshold": an_array("float", TREES, "nodes"),
    "child": an_array("int32", TREES, "nodes"),
    "oldest": an_integer(0, TREES - 1),
    "due": a_number(0, TREES),
}


def of_forest(state: State, where: str, scope: Scope) -> Scope:
    """From each node the way leads on to later ones, by features in use, to a known class."""
    given: Any = state.get("feature")
    shape = given.array.shape if isinstance(given, Stored) else ()
    need(len(shape) == 2 and shape[1] <= NODES, f"{where}.feature", "nodes of trees", given)
    n = shape[1]
    scope = scope.within(nodes=n)
    for key in ("feature", "child"):
        FOREST[key](state[key], f"{where}.{key}", scope)
    feature, child = given.array, state["child"].array
    split = feature >= 0
    on = (feature >= CONSTANT) & (feature < scope.sizes["used"])
    on &= (child > np.arange(n)) & (child < n - 1)
    to = (feature == -1) & (child >= -1) & (child < scope.sizes["k"])
    need(bool(np.where(split, on, to).all()), where, "trees of features and classes in use", state)
    return scope
