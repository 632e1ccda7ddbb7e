"""Passing examples through the pipelines around a learner."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from river import base
from river.base.typing import FeatureName

from river_ineural.active.learner import find_learner
from river_ineural.inputs.features import REAL
from river_ineural.network.locks import Order, lock

__all__ = ["checked", "prepared", "steps_learn", "transformed"]

# River stores on the class `Pipeline` whether unsupervised steps learn in predictions.
PIPELINES = lock(Order.PIPELINES)


def steps_learn(classifier: Any) -> AbstractContextManager[Any]:
    """A context in which unsupervised steps learn in predictions, and so not in `learn_one`.

    Steps inside a wrapper do not: the wrapper decides which examples its model learns.
    """
    _, pipelines = find_learner(classifier)
    stack = ExitStack()
    if pipelines and pipelines[0] is classifier:
        from river import compose

        stack.enter_context(PIPELINES)
        stack.enter_context(compose.learn_during_predict())
    return stack


def transformed(
    pipelines: list[Any], x: dict[FeatureName, Any], kwargs: dict[str, Any]
) -> dict[FeatureName, Any]:
    """x as the pipelines hand it to the learner at their end."""
    for pipeline in pipelines:
        x = pipeline.transform_one(x, **kwargs)
    return x


def checked(
    classifier: Any, x: dict[FeatureName, Any], kwargs: dict[str, Any], **given: Any
) -> Any:
    """x as the learner has checked it, before any step learns.

    Raises
    ------
    TypeError, ValueError
        If x, or a label or a weight given, would be refused.
    """
    learner, pipelines = find_learner(classifier)
    if not pipelines:
        return learner.check_one(x, **given)
    found: dict[FeatureName, Any] | None = None
    try:
        found = transformed(pipelines, x, kwargs)
        accepted = learner.check_one(found, **given)
        if pipelines[0] is not classifier or not replaced(learner, x, found):
            return accepted
    except (TypeError, ValueError):  # x is bad, or a step that has learned nothing spoiled it
        if pipelines[0] is not classifier or spoiled(learner, x, found):
            raise
    from river import compose

    steps = copy.deepcopy(list(pipelines[0].steps.values())[:-1])
    with PIPELINES, compose.learn_during_predict():
        after = compose.Pipeline(*steps).transform_one(x, **kwargs)
    return learner.check_one(transformed(pipelines[1:], after, {}), **given)


def prepared(
    classifier: Any, x: dict[FeatureName, Any], kwargs: dict[str, Any]
) -> tuple[Any, dict[FeatureName, Any]]:
    """The learner, and x as it has checked it; unsupervised steps of a pipeline have learned x.

    Raises
    ------
    TypeError, ValueError
        If x could not be predicted or learned; no step has learned then.
    """
    learner, pipelines = find_learner(classifier)
    if pipelines:
        known = learner.known_labels  # x must be fit to be learned, too
        found = checked(classifier, x, kwargs, **({"y": known[0]} if known else {}))
        if not any(learns(step) for step in list(pipelines[0].steps.values())[:-1]):
            return learner, found
        with steps_learn(classifier):
            x = transformed(pipelines, x, kwargs)
    return learner, learner.check_one(x)


def learns(step: Any) -> bool:
    """Whether a transformer may learn from examples; one that does not is applied only once."""
    return getattr(type(step), "learn_one", None) is not base.Transformer.learn_one


def refused(learner: Any, name: FeatureName, value: Any) -> bool:
    """Whether the learner refuses this value."""
    try:
        learner.check_one({name: value})
    except (TypeError, ValueError):
        return True
    return False


def replaced(learner: Any, x: dict[FeatureName, Any], found: Any) -> bool:
    """Whether a step has replaced a value that the learner would refuse by a number.

    The step itself may refuse to learn that value. A scaler returns 0 for a feature that has not
    varied yet, whatever its value is.
    """
    if not isinstance(found, dict) or not isinstance(x, dict):
        return False
    odd = [name for name, value in x.items() if type(value) not in REAL or value != value]
    return any(name in found and refused(learner, name, x[name]) for name in odd)


def spoiled(learner: Any, x: dict[FeatureName, Any], found: Any) -> bool:
    """Whether all refused values of an example were bad before any step saw them."""
    if not isinstance(found, dict) or not isinstance(x, dict):
        return False
    bad = [name for name, value in found.items() if refused(learner, name, value)]
    return all(name in x and refused(learner, name, x[name]) for name in bad)
