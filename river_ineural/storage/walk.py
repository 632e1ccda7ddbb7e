"""From a model to what its template has not, and back."""

from __future__ import annotations

import inspect
from collections import deque
from typing import Any

import numpy as np
from msgspec import ValidationError, convert

from river_ineural.learning.forest import NODES
from river_ineural.learning.scaling import CONSTANT
from river_ineural.storage.template import (
    FINITE,
    LENGTHS,
    MODELS,
    fields,
    is_part,
    made,
    need,
    rule,
)
from river_ineural.storage.values import LoadError, SaveError, decode, encode, put

__all__ = ["Loader", "Saver"]

Known = dict[int, tuple[Any, dict[str, Any]]]  # parts, so that no id is given twice, and fields


def within(path: str, key: str) -> str:
    """The path of an attribute; those of what a learner has learned begin with their own name."""
    return f"{path}.{key}" if path else key.removeprefix("_state")


def known_fields(like: Any, known: Known) -> dict[str, Any]:
    """`fields` of a part of the template, which are asked for several times."""
    if id(like) not in known:
        known[id(like)] = like, fields(like)
    return known[id(like)][1]


class Saver:
    """Takes from a model what its template has not.

    Parameters
    ----------
    k
        Classes.
    """

    def __init__(self, k: int) -> None:
        self.k = k
        self.arrays: dict[str, Any] = {}
        self.paths: dict[int, str] = {}  # of parts, by id
        self.held: list[Any] = []  # so that no id is given twice
        self.known: Known = {}

    def part(self, part: Any, like: Any, path: str) -> Any:
        """The attributes of a part, or where it is already."""
        if id(part) in self.paths:
            return {"same": self.paths[id(part)]}
        self.paths[id(part)] = path
        self.held.append(part)
        return self.state(part, like, path)

    def state(self, part: Any, like: Any, path: str) -> dict[str, Any]:
        """The attributes of a part that differ from its template's."""
        found, state = fields(part), {}
        for key, each in known_fields(like, self.known).items():
            there = within(path, key)
            node = self.value(found.pop(key), each, there, rule(type(like), key, each, self.k))
            state.update({} if node is None else {key: node})
        if found and type(like).__name__ not in MODELS:
            raise SaveError(f"{path}.{min(found)} is none of a new {type(like).__name__}")
        return state

    def value(self, value: Any, like: Any, path: str, rule: Any) -> Any:
        """A leaf or a part; None for what is in a tensor or as in the template."""
        if rule is not None:
            return encode(list(value) if isinstance(value, deque) else value, path, self.arrays)
        if type(value) is not type(like):
            encode(value, path, {})
            raise SaveError(f"{path} is {value!r:.80}, where a new model has {like!r:.80}")
        if isinstance(like, np.ndarray):
            return put(self.arrays, path, value)
        if type(like) is list:
            pairs = enumerate(zip(value, like, strict=True))
            return [self.value(*pair, f"{path}.{i}", None) for i, pair in pairs]
        if type(like) is dict:
            return {key: self.value(value[key], like[key], within(path, key), None) for key in like}
        if is_part(like):
            return self.part(value, like, path)
        if value != like:
            raise SaveError(
                f"{path} is {value!r:.80}, where a new model has {like!r:.80}: a line in "
                "`persistence.ranges` would let it change"
            )
        return None


class Loader:
    """Checks all that a `Saver` took against the template, and makes a model of it.

    Parameters
    ----------
    arrays
        The tensors; what is read is taken out.
    makes
        Whether to make a model; else only to check.
    known
        What a `Saver` has seen of the template.
    """

    def __init__(
        self, like: Any, arrays: dict[str, Any], makes: bool, known: Known | None = None
    ) -> None:
        self.arrays, self.makes, self.known = arrays, makes, known or {}
        trainer = getattr(like, "classifier", like)._state.trainer
        self.shape, self.used = trainer.shape, trainer.n_features
        self.first_layers = len(trainer.shape.weights(trainer.flat).first_layers)
        self.parts: dict[str, Any] = {}  # by path
        self.labelled: dict[str, int] = {}  # labels of a history, by path

    def part(self, node: Any, like: Any, path: str) -> Any:
        """A part like the template's."""
        need(type(node) is dict, path, "a part", node)
        if node.keys() == {"same"}:
            found = self.parts.get(node["same"])
            need(type(found) is type(like), path, f"the same as a {type(like).__name__}", node)
            return found
        state = self.state(node, like, path)
        self.parts[path] = made(like, state) if self.makes else like
        return self.parts[path]

    def state(self, node: dict[str, Any], like: Any, path: str) -> dict[str, Any]:
        """The checked attributes of a part."""
        kind, known = type(like), known_fields(like, self.known)
        if not node.keys() <= known.keys():
            raise LoadError(
                f"{path} has {', '.join(sorted(node.keys() - known.keys()))}, which a "
                f"{kind.__name__} has not: install the versions that the file names"
            )
        state = {}
        for key, each in known.items():
            check = rule(kind, key, each, self.shape.n_classes)
            axis = LENGTHS.get(kind.__name__)
            state[key] = self.value(node.get(key), each, within(path, key), check, axis)
            if f"{kind.__name__}.{key}" in FINITE:
                fine = bool(np.isfinite(state[key]).all())
                need(fine, f"tensor {within(path, key)}", "finite", state[key])
        if relation := getattr(self, f"of_{kind.__name__.lower()}", None):
            relation(state, path)
        return state

    def value(self, node: Any, like: Any, path: str, check: Any, axis: int | None = None) -> Any:
        """A leaf or a part like the template's."""
        if check is not None:
            value = decode(node, path, self.arrays)
            try:
                check(value) if inspect.isfunction(check) else convert(value, check)
            except (ValidationError, AttributeError, TypeError, ValueError) as error:
                raise LoadError(f"{path} is {value!r:.80}: {error}") from error
            return deque(value, like.maxlen) if isinstance(like, deque) else value
        if isinstance(like, np.ndarray):
            return self.array(like, path, axis)
        if type(like) is list:
            need(type(node) is list and len(node) == len(like), path, f"{len(like)} parts", node)
            pairs = enumerate(zip(node, like, strict=True))
            return [self.value(*pair, f"{path}.{i}", None) for i, pair in pairs]
        if type(like) is dict:
            fine = type(node) is dict and node.keys() == like.keys()
            need(fine, path, f"a dict of {', '.join(map(str, like))}", node)
            return {key: self.value(node[key], like[key], within(path, key), None) for key in like}
        if is_part(like):
            return self.part(node, like, path)
        need(node is None, path, f"as in a new model, {like!r:.80}", node)
        return like

    def array(self, like: Any, path: str, axis: int | None) -> Any:
        """A tensor of the shape and dtype of the template's, but for the length of one axis."""
        if path not in self.arrays:
            raise LoadError(f"tensor {path} is missing")
        array, wanted = self.arrays.pop(path), [*like.shape]
        if axis is not None and array.ndim == len(wanted) > axis and not wanted[axis]:
            wanted[axis] = array.shape[axis]
        if (array.dtype, array.shape) != (like.dtype, tuple(wanted)):
            raise LoadError(
                f"tensor {path} must be {like.dtype} of shape {tuple(wanted)}, got {array.dtype} "
                f"of shape {array.shape}"
            )
        return array

    # How what a part holds has to fit

    def of_history(self, state: dict[str, Any], path: str) -> None:
        rows = sum(map(min, state["capacities"], state["added"]))
        lengths = {len(state[name]) for name in ("x", "targets", "weight")}
        need(lengths == {rows}, path, f"tensors of {rows} rows", lengths)
        self.labelled[path] = min(state["capacities"][0], state["added"][0])

    def of_pending(self, state: dict[str, Any], path: str) -> None:
        lengths = {len(state[name]) for name in ("rounds", "keys", "named")}
        need(len(lengths) == 1, path, "tensors of one length", lengths)

    def of_surprise(self, state: dict[str, Any], path: str) -> None:
        fine = state["sums"].keys() == state["since"].keys()
        need(fine, path, "sums that began at some label each", state["since"])

    def of_trial(self, state: dict[str, Any], path: str) -> None:
        most = self.labelled.get(within(path, "former.history"), 0)
        need(state["n_since"] <= most, f"{path}.n_since", f"at most {most}", state["n_since"])

    def of_explorers(self, state: dict[str, Any], path: str) -> None:
        a, n = state["a"], len(state["parts"])
        fine = np.array_equal(a, a.T) and bool(
            (np.linalg.eigvalsh(a) >= -1e-6 * (1 + a.trace())).all()
        )
        need(fine, f"tensor {path}.a", "symmetric, with no negative eigenvalue", a)
        need(len(state["trust"]) == n, f"{path}.trust", f"of {n}", state["trust"])

    def of_forest(self, state: dict[str, Any], path: str) -> None:
        """From each node the way leads on to later ones, by features in use, to a known class."""
        feature, child = state["feature"], state["child"]
        n = feature.shape[1]
        same = feature.shape == child.shape == state["threshold"].shape and n <= NODES
        need(same, path, f"tensors of up to {NODES} nodes", child.shape)
        sizes = state.get("sizes", np.full(len(child), n))  # nodes in use of each tree
        ends, nodes = sizes[:, None], np.arange(n)
        on = (feature >= CONSTANT) & (feature < self.used) & (child > nodes) & (child < ends - 1)
        to = (feature == -1) & (child >= -1) & (child < self.shape.n_classes)
        fine = bool((np.where(feature >= 0, on, to) | (nodes >= ends)).all())
        fine &= bool(((sizes >= min(n, 1)) & (sizes <= max(n, 1))).all())
        need(fine, path, "trees of features and classes in use", child)

    def of_trainer(self, state: dict[str, Any], path: str) -> None:
        """Weights that are to be written are of columns in use, and of known classes."""
        for at, *drawn in state["pending"]:
            fine = at.dtype == np.int64 and bool(((at >= 0) & (at < self.used)).all())
            fine &= len(drawn) == self.first_layers
            for layer in drawn:
                m, blocks, n = layer.shape
                fine &= (layer.dtype, m, n) == (np.float64, self.shape.hidden_dim, len(at))
                fine &= blocks <= self.shape.n_classes
            need(fine, f"{path}.pending", "weights of columns in use", at)
