"""The steps of a pipeline in a file: River's transformers and statistics, without code.

An object is `[class, parameters, state]` in a file, and `kinds` lists what each may hold. A class
that is there is made anew from its parameters. What its constructor makes says of what type each
part of the state must be. So no function and no type of a container comes from a file.
"""

from __future__ import annotations

import struct
from collections import Counter, deque
from typing import Any

import numpy as np
from msgspec import convert
from river import base, compose, stats, utils

from river_ineural.persistence.encoding import SaveError
from river_ineural.persistence.kinds import (
    HOLDS,
    KINDS,
    PLAIN,
    READERS,
    RUST,
    TYPES,
    number,
    scalar,
    several,
)
from river_ineural.persistence.parts import LoadError, need

BY_NAME = {kind.__name__: kind for kind in KINDS}
NAME_OF = {kind: name for name, kind in TYPES.items()}
LONGEST = 2_000  # characters of the path of a step: steps are not deep in others
DERIVED = {"processing_steps", "window_size_value", "q"}  # attributes that follow from parameters


def parted(model: Any) -> tuple[Any, Any]:
    """A pipeline and its last step; None and the model, if it is no pipeline."""
    pipeline = type(model) is compose.Pipeline and len(model)
    return (model, model[-1]) if pipeline else (None, model)


def steps_of(pipeline: Any) -> dict[str, Any] | None:
    """The steps of a pipeline as plain values, with None in the place of the last one."""
    if pipeline is None:
        return None
    refuse_notes(pipeline, {"steps"}, "the pipeline")
    *steps, last = pipeline.steps
    return {name: written(pipeline[name], f"steps.{name}") for name in steps} | {last: None}


def joined(steps: Any, model: Any) -> Any:
    """The pipeline of these steps, with the model as the last one; the model, if there are none."""
    if steps is None:
        return model
    *_, last = steps
    need(steps[last] is None, f"steps.{last}", "the model", steps[last])
    others = transformers({name: steps[name] for name in steps if name != last}, "steps")
    return compose.Pipeline(*others.items(), (last, model))


def written(value: Any, path: str, whole: bool = True) -> Any:
    """The plain values in an object: of River's class, parameters and state, or the state alone."""
    kind = type(value)
    if kind in KINDS:
        parameters, learned = given(value, path), KINDS[kind][1].split()
        state = {name: written(getattr(value, name), f"{path}.{name}", False) for name in learned}
        if kind is utils.Rolling:
            state["window"] = [part for (part,), _ in value.window]
        if not whole:
            return state
        need(len(path) < LONGEST, f"{path:.80}", "less deep", kind.__name__)
        plain = {name: written(part, f"{path}.{name}") for name, part in parameters.items()}
        return [kind.__name__, plain, state]
    if kind in RUST:
        data = value.__getstate__()
        n = int.from_bytes(data[:8], "little")
        return data if RUST[kind] else data[16 + 8 * n : 16 + 16 * n]
    if isinstance(value, dict):
        several([*value], path)
        return {key: written(part, f"{path}.{key}", whole) for key, part in value.items()}
    if isinstance(value, set):
        return several([*value], path)
    if isinstance(value, list | tuple | deque):
        parts = [written(part, f"{path}.{i}", whole) for i, part in enumerate(value)]
        return tuple(parts) if kind is tuple else parts
    if isinstance(value, type) and value in NAME_OF:
        return NAME_OF[value]
    if kind in PLAIN:
        return scalar(value, path)
    raise SaveError(
        f"{path} is {value!r:.80} ({kind.__module__}.{kind.__qualname__}), which a file without "
        "code cannot hold. Leave this step out, and do what it does before predict_one and "
        "learn_one; or pickle the model, if you trust where it will lie."
    )


def given(thing: Any, path: str) -> dict[str, Any]:
    """The parameters of an object of River."""
    forms, learned = KINDS[type(thing)]
    if type(thing) is stats.RollingIQR:  # which has them nowhere else
        return dict(zip(forms, thing._rolling_iqr.__getnewargs__(), strict=True))
    known = {*(name.lstrip("*") for name in forms), *learned.split(), *DERIVED}
    refuse_notes(thing, known, path)
    return {name: getattr(thing, name.lstrip("*")) for name in forms}


def refuse_notes(thing: Any, known: set[str], path: str) -> None:
    """Raise if a user has added attributes to an object of River, where no file keeps them."""
    odd = [name for name in vars(thing).keys() - known if name[0] != "_"]
    need(not odd, path, "without attributes of a user", odd)


def remade(node: Any, path: str) -> Any:
    """A new object from class, parameters and state."""
    known = type(node) is list and len(node) == 3 and type(node[0]) is str and node[0] in BY_NAME
    need(known, path, "a transformer or a statistic of River, as it was saved", node)
    need(len(path) < LONGEST, f"{path:.80}", "less deep", node[0])
    (name, parameters, state), kind = node, BY_NAME[node[0]]
    forms, at = KINDS[kind][0], path
    parts: dict[str, Any] = {}
    fine = type(parameters) is dict and parameters.keys() == forms.keys()
    need(fine, path, f"a {name} with all its parameters", parameters)
    try:
        for key, form in forms.items():
            at, value = f"{path}.{key}", parameters[key]
            parts[key] = READER_OF[form](value, at) if type(form) is str else convert(value, form)
        at = path
        thing = new(kind, parts)
    except LoadError:
        raise
    except Exception as error:  # of msgspec or of the constructor
        raise LoadError(f"{at:.200}: {error}") from error
    return filled(thing, state, path)


def new(kind: Any, parts: dict[str, Any]) -> Any:
    """A new object of River from its parameters."""
    if kind in HOLDS:  # whose constructor would copy the steps without their learned state
        thing = kind()
        getattr(thing, HOLDS[kind]).update(parts[HOLDS[kind]])
        return thing
    if kind is utils.Rolling:
        thing = kind(stats.Mean, parts["window_size"])
        thing.obj = parts["obj"]
        return thing
    named = {name: part for name, part in parts.items() if not name.startswith("*")}
    return kind(*(each for name in parts.keys() - named for each in parts[name]), **named)


def filled(thing: Any, value: Any, path: str) -> Any:
    """A learned value, in a new object; or as it is, if it is plain and of the type of `thing`."""
    kind = type(thing)
    if kind in KINDS:
        names = KINDS[kind][1].split()
        fine = type(value) is dict and value.keys() == {*names}
        need(fine, path, f"the state of a {kind.__name__}", value)
        for name in names:
            setattr(thing, name, filled(getattr(thing, name), value[name], f"{path}.{name}"))
        fine = value.get("_is_updated") is not True or value[names[0]]
        need(fine, path, "with a number if it is updated", value)
        need(getattr(thing, "_seed", 0) < 2**32, path, "with a seed below 2**32", value)
        if kind is utils.SortedWindow:
            fine = thing.data == sorted(number(part, path) for part in thing.unsorted_window)
            need(fine, path, "a window with the same numbers sorted", value)
        if kind is utils.Rolling:
            each: Any = (((number(part, path),), {}) for part in thing.window)
            thing.window = deque(each, thing.window.maxlen)
        return thing
    if kind in RUST:
        return compiled(thing, value, path)
    if isinstance(thing, dict):
        need(type(value) is dict, path, "a dict", value)
        several([*value], path)
        make: Any = int if kind is Counter else getattr(thing, "default_factory", None)
        need(make or not thing or thing.keys() == value.keys(), path, "of other names", [*value])
        if make:
            thing.clear()
        for key, part in value.items():
            thing[key] = filled(make() if make else thing.get(key), part, f"{path}.{key}")
        return thing
    if kind is set:
        return {*several(value, path)}
    if kind in (deque, list):
        most = thing.maxlen if kind is deque else len(value)
        need(type(value) is list and len(value) <= most, path, "a list that fits", value)
        parts = [scalar(part, path) for part in value]
        return deque(parts, most) if kind is deque else parts
    if kind is int:
        need(isinstance(value, int | np.integer) and value >= 0, path, "a number of times", value)
    if kind is bool:
        need(type(value) is bool, path, "true or false", value)
    return number(value, path) if kind is float else scalar(value, path)


def compiled(thing: Any, value: Any, path: str) -> Any:
    """A compiled statistic with this state: one that it cannot have would end the process."""
    need(type(value) is bytes, path, "bytes", value)
    form, data = RUST[type(thing)], thing.__getstate__()
    if form:
        fine = len(value) == struct.calcsize(form)
        found = struct.unpack(form, value) if fine else ()
        need(fine and struct.pack(form, *found) == value, path, f"a state {form}", value)
    else:
        rest = data[16 + 16 * int.from_bytes(data[:8], "little") :]
        n, odd = divmod(len(value), 8)
        most = int.from_bytes(rest[:8], "little")
        need(n <= most and not odd, path, f"at most {most} numbers", value)
        found = tuple(np.frombuffer(value))
        size = n.to_bytes(8, "little")
        value = b"".join([size, np.sort(found).tobytes(), size, value, rest])
    need(all(part == part for part in found), path, "without NaN", value)
    thing.__setstate__(value)
    return thing


def statistic(value: Any, path: str) -> Any:
    thing = remade(value, path)
    need(isinstance(thing, stats.base.Univariate | utils.Rolling), path, "a statistic", value)
    return thing


def pattern(value: Any, path: str) -> Any:
    """A statistic of which an `Agg` makes a copy for each group."""
    need(len(repr(value)) < LONGEST, path, "a statistic that has not learned", value)
    return statistic(value, path)


def imputers(value: Any, path: str) -> Any:
    """Pairs of a name and a statistic, or a value that never changes."""
    pairs = convert(value, tuple[tuple[Any, Any], ...])
    several([name for name, _ in pairs], path)
    return [
        (name, (statistic if type(part) is list else scalar)(part, f"{path}.{name}"))
        for name, part in pairs
    ]


def transformers(value: Any, path: str) -> Any:
    """Transformers by the names of their steps."""
    things = {}
    for name, part in convert(value, dict[str, Any]).items():
        thing = things[name] = remade(part, f"{path}.{name}")
        fine = isinstance(thing, base.Transformer | compose.Pipeline)
        need(fine, f"{path}.{name}", "a transformer", part)
    return things


OBJECTS = imputers, pattern, statistic, transformers
READER_OF = {reader.__name__: reader for reader in (*READERS, *OBJECTS)}
