"""What the pipelines around a learner make of an example."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from river.base.typing import FeatureName

from river_ineural.active.learner import route
from river_ineural.inputs.features import REAL
from river_ineural.network.locks import Order, lock

__all__ = ["checked", "steps_learn", "transformed"]

# River keeps on the class of all pipelines whether unsupervised steps learn in predictions.
PIPELINES = lock(Order.PIPELINES)


def steps_learn(classifier: Any) -> AbstractContextManager[Any]:
    """Unsupervised steps learn in predictions, and so not in `learn_one`.

    But for steps inside a wrapper, which gives its model what it sees fit, and only labels.
    """
    _, pipelines = route(classifier)
    stack = ExitStack()
    if pipelines and pipelines[0] is classifier:
        from river import compose

        stack.enter_context(PIPELINES)
        stack.enter_context(compose.learn_during_predict())
    return stack


def transformed(
    pipelines: list[Any], x: dict[FeatureName, Any], kwargs: dict[str, Any]
) -> dict[FeatureName, Any]:
    """x as the learner at the end of the pipelines gets it."""
    for pipeline in pipelines:
        x = pipeline.transform_one(x, **kwargs)
    return x


def checked(
    classifier: Any, x: dict[FeatureName, Any], kwargs: dict[str, Any], **given: Any
) -> Any:
    """x as the learner checked it, before any step has learned.

    Raises
    ------
    TypeError, ValueError
        If x, or a label or a weight given, would be refused.
    """
    learner, pipelines = route(classifier)
    if not pipelines:
        return learner.check_one(x, **given)
    found: dict[FeatureName, Any] | None = None
    try:
        found = transformed(pipelines, x, kwargs)
        accepted = learner.check_one(found, **given)
        if pipelines[0] is not classifier or not replaced(learner, x, found):
            return accepted
    except (TypeError, ValueError):  # x is bad, or a step that has learned nothing made it so
        if pipelines[0] is not classifier or spoiled(learner, x, found):
            raise
    from river import compose

    steps = copy.deepcopy(list(pipelines[0].steps.values())[:-1])
    with PIPELINES, compose.learn_during_predict():
        after = compose.Pipeline(*steps).transform_one(x, **kwargs)
    return learner.check_one(transformed(pipelines[1:], after, {}), **given)


def refused(learner: Any, name: FeatureName, value: Any) -> bool:
    """Whether the learner takes no such value."""
    try:
        learner.check_one({name: value})
    except (TypeError, ValueError):
        return True
    return False


def replaced(learner: Any, x: dict[FeatureName, Any], found: Any) -> bool:
    """Whether a step put a number in place of a value that the learner refuses.

    It may refuse to learn that value: a scaler says 0 of a feature that has not varied, whatever
    comes.
    """
    if not isinstance(found, dict) or not isinstance(x, dict):
        return False
    odd = [name for name, value in x.items() if type(value) not in REAL or value != value]
    return any(name in found and refused(learner, name, x[name]) for name in odd)


def spoiled(learner: Any, x: dict[FeatureName, Any], found: Any) -> bool:
    """Whether all that the learner refuses of an example was bad before any step saw it."""
    if not isinstance(found, dict) or not isinstance(x, dict):
        return False
    bad = [name for name, value in found.items() if refused(learner, name, value)]
    return all(name in x and refused(learner, name, x[name]) for name in bad)
