"""Models of other versions: what is missing in their pickles."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["SCHEMA", "complete", "lacks"]

SCHEMA = 5  # of what a model consists of; one more whenever an older one does not fit any more


def lacks(names: Iterable[str], schema: int | None = None) -> ValueError:
    """The error of a pickle in which something is missing."""
    of = (
        "another version" if schema is None else f"schema {schema}, where this version has {SCHEMA}"
    )
    return ValueError(
        f"this pickle is of {of}, and lacks {', '.join(names)}: load it with the version of "
        "river_ineural that made it, and learn the stream anew with this one, or stay there."
    )


def complete(model: Any, schema: int) -> None:
    """Give a model of another schema the parameters that it lacks, at their defaults.

    Parameters
    ----------
    model
        A River estimator, as unpickled.
    schema
        Of the version that pickled it; where it is this one's there is nothing to do.

    Raises
    ------
    ValueError
        Naming what else it lacks, or, if its version is newer, has too much.
    """
    if schema == SCHEMA:
        return
    given = vars(model)
    parameters = inspect.signature(type(model)).parameters
    for name, parameter in parameters.items():
        if name not in given and parameter.default is not parameter.empty:
            given[name] = parameter.default
    if missing := parameters.keys() - given.keys():
        raise lacks(sorted(missing), schema)
    fresh = type(model)(**{name: given[name] for name in parameters} | on_cpu(parameters))
    if names := list(differences(fresh, model)):
        raise lacks(names, schema)
    if schema > SCHEMA and (names := list(differences(model, fresh))):
        raise ValueError(
            f"this pickle is of schema {schema}, and this version, whose schema is {SCHEMA}, does "
            f"not know {', '.join(names)}: pip install -U river-ineural."
        )


def on_cpu(parameters: Iterable[str]) -> dict[str, str]:
    return {"device": "cpu"} if "device" in parameters else {}


def differences(whole: Any, part: Any, path: str = "") -> Iterator[str]:
    """Attributes of `whole`, and of the objects in it, that `part` lacks."""
    made_anew = getattr(type(whole), "VIEWS", ())
    for name, value in vars(whole).items():
        if name in made_anew:
            continue
        if name not in vars(part):
            yield path + name
        elif type(value).__module__.startswith("river_ineural.") and hasattr(value, "__dict__"):
            other = vars(part)[name]
            if type(other) is type(value) and other is not value:
                yield from differences(value, other, f"{path}{name}.")
