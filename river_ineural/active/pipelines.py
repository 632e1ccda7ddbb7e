"""Finding the learner inside a classifier, and passing examples through the pipelines around it."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base
from river.active.base import ActiveLearningClassifier
from river.base.typing import FeatureName

from river_ineural.classifier.base import LATE
from river_ineural.classifier.locks import Order, lock
from river_ineural.features.values import LARGEST

if TYPE_CHECKING:
    from river.compose import Pipeline

    Classifier = base.Classifier | Pipeline  # what a sampler goes around

# River stores on the class `Pipeline` whether unsupervised steps learn in predictions.
PIPELINES = lock(Order.PIPELINES)

MEMBERS = ("n_layers", "known_labels", "check_one", "scores_one", "learn_one", "debug_one")

NUMBERS = float, int, np.number
INSIDE = "river_ineural.", "river.compose."
TAKE_LABELS = ("active", "compat", "drift", "ensemble", "imblearn", "model_selection", "multi")
WRAPPERS = {"DriftRetrainingClassifier", "ClassificationSampler", "HardSamplingClassifier"}


@functools.lru_cache(maxsize=256)
def nesting(kind: type) -> str:
    """How to get from an object of this class to the model inside; "" if it is the model itself.

    River's wrappers of one model are recognised by name, so that nothing has to be imported.
    """
    names = {each.__name__ for each in kind.__mro__ if each.__module__.startswith("river.")}
    if "Pipeline" in names:
        return "last step"
    return "wrapped" if names & WRAPPERS else ""


def is_pipeline(classifier: Any) -> bool:
    """Whether it is a pipeline itself, and no wrapper around one."""
    return nesting(type(classifier)) == "last step"  # type: ignore[arg-type]


def find_learner(classifier: Any) -> tuple[Any, list[Any]]:
    """The `Learner` inside a classifier, or the classifier itself, and the pipelines around it.

    The outermost pipeline comes first. Look again in each call: a wrapper may replace its model.
    """
    pipelines = []
    while how := nesting(type(classifier)):  # type: ignore[arg-type]  # types are hashable
        if how == "last step":
            pipelines.append(classifier)
            classifier = classifier[-1]
        else:
            classifier = classifier._wrapped_model
    return classifier, pipelines


def no_sampler(name: str, classifier: Any) -> None:
    """Raise a TypeError if there is a sampler inside: each would ask for labels of its own."""
    if isinstance(found := find_learner(classifier)[0], ActiveLearningClassifier):
        kind = type(found).__name__
        raise TypeError(f"{name} holds a sampler already, {kind}: give the classifier inside it.")


def check_classifier(name: str, classifier: Any) -> Any:
    """The classifier; raises unless it is one of River."""
    if not isinstance(classifier, base.Classifier):
        raise TypeError(f"{name} must be a River classifier, got {classifier!r}.")
    no_sampler(name, classifier)
    return classifier


def filters(classifier: Any) -> bool:
    """Whether an anomaly filter of a pipeline decides which examples are learned."""
    steps = [*classifier.steps.values()] if is_pipeline(classifier) else []
    return any(isinstance(step, base.AnomalyFilter) for step in steps)


def last_step(classifier: Any) -> Any:
    """The last step of a classifier that is a pipeline; another classifier itself."""
    return classifier[-1] if is_pipeline(classifier) else classifier


def check_caller() -> None:
    """Raise in a call by a class of River that would take a pair for a label."""
    frame = inspect.currentframe()
    while frame and (module := frame.f_globals.get("__name__", "")).startswith(INSIDE):
        frame = frame.f_back
    if frame and module.startswith(tuple(map("river.{}".format, TAKE_LABELS))):
        raise TypeError(
            f"{module} would take what a sampler predicts, (label, ask), for a label: give it the "
            "classifier, and put a sampler around the outermost model."
        )


def check_debugging() -> None:
    """Raise in a call by a pipeline's `debug_one`, which would be a round, and ask for labels."""
    frame: Any = inspect.currentframe()
    caller = frame.f_back.f_back  # None in a thread that runs nothing else
    names = caller and (caller.f_code.co_name, caller.f_globals.get("__name__"))
    if names == ("debug_one", "river.compose.pipeline"):
        raise TypeError(
            "debug_one of a pipeline around a sampler would be a round, and may spend a label: "
            "call that of the sampler's classifier."
        )


def n_learned(classifier: Any, n_given: int) -> int:
    """How many labels the learner inside has learned, 0 if a wrapper hides it; else all given."""
    hidden = nesting(type(classifier)) == "wrapped"  # type: ignore[arg-type]
    return int(getattr(find_learner(classifier)[0], "n_labels", 0 if hidden else n_given))


def n_drifts(classifier: Any) -> int:
    """Changes that the learner inside a classifier has detected; 0 if it has no detector."""
    return int(getattr(find_learner(classifier)[0], "n_drifts", 0))


def check_learner(name: str, classifier: Any) -> Any:
    """The classifier; a TypeError names what is missing, unless there is a `Learner` inside."""
    no_sampler(name, classifier)
    if isinstance(classifier, type):
        raise TypeError(f"{name} must be a model, got its class: give {classifier.__name__}().")
    learner, pipelines = find_learner(classifier)
    missing = [name for name in MEMBERS if not hasattr(learner, name)]
    if missing:
        advice = "put the classifier last"
        if isinstance(learner, base.Classifier):
            advice = "put active.MarginSampler around it, which takes any classifier of River"
        raise TypeError(
            f"{name} must be an INeurAL, a pipeline that ends in one, or River's "
            f"DriftRetrainingClassifier or an imblearn sampler around one. "
            f"{type(learner).__name__} has no {', '.join(missing)}, which active.Learner asks for: "
            f"{advice}."
        )
    if len(pipelines) > 1:
        raise TypeError(
            f"{name} has a pipeline within a pipeline: put the steps of the inner one in the outer."
        )
    return classifier


def steps_learn(classifier: Any) -> AbstractContextManager[Any]:
    """A context in which unsupervised steps learn in predictions, and so not in `learn_one`.

    Steps inside a wrapper do not: the wrapper decides which examples its model learns.
    """
    stack = ExitStack()
    if is_pipeline(classifier):
        from river import compose

        stack.enter_context(PIPELINES)
        # Where the caller has entered one already, it would end with this one.
        if not vars(compose.Pipeline)["_LEARN_UNSUPERVISED_DURING_PREDICT"]:
            stack.enter_context(compose.learn_during_predict())
    return stack


def learn_steps(classifier: Any, x: Any, y: Any, kwargs: dict[str, Any], of_steps: bool) -> None:
    """`classifier.learn_one` with the arguments that are `accepted`, but each step of a pipeline
    learns what the one before makes of x, and each learner within how `late` the label is.

    River's `Pipeline` takes a `SupervisedTransformer` that is no `Transformer`, as `SelectKBest`
    is, for a last step, and hands on x as it was. In a union it does not.
    """
    late, kwargs = kwargs.get("late", 0), {name: kwargs[name] for name in kwargs if name != "late"}
    kwargs = accepted(classifier, kwargs, of_steps)
    if is_pipeline(classifier):
        *steps, last = classifier.steps.values()
        odd = [i for i, step in enumerate(steps) if isinstance(step, base.SupervisedTransformer)]
        for i in odd:
            from river.compose import TransformerUnion

            union = TransformerUnion()
            union.transformers["step"], steps[i] = steps[i], union
        classifier = type(classifier)(*steps, last) if odd else classifier
        x = copy.copy(x)  # a step may change it in place
    before = LATE.set(late)
    try:
        classifier.learn_one(x, y, **kwargs)
    finally:
        LATE.reset(before)


def learns_labels(classifier: Any) -> bool:
    """Whether steps of a pipeline before the last one learn labels."""
    steps = [*classifier.steps.values()][:-1] if is_pipeline(classifier) else []
    return any(step._supervised for step in steps)


def accepted(model: Any, kwargs: dict[str, Any], of_steps: bool) -> dict[str, Any]:
    """The arguments without a weight, if the model takes none; and without others that it does not
    take, if they are those of the steps before it.
    """
    optional = {*kwargs} if of_steps else {"w"} & kwargs.keys()
    if not optional:
        return kwargs
    parameters = inspect.signature(model.learn_one).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return kwargs
    odd = optional - parameters.keys()
    return {name: value for name, value in kwargs.items() if name not in odd}


def transformed(
    pipelines: list[Any], x: dict[FeatureName, Any], kwargs: dict[str, Any]
) -> dict[FeatureName, Any]:
    """x as the pipelines hand it to the learner at their end; x itself stays as it is."""
    x = copy.copy(x) if pipelines else x  # River's Renamer renames in place
    for pipeline in pipelines:
        x = pipeline.transform_one(x, **kwargs)
    return x


def checked(
    classifier: Any, x: dict[FeatureName, Any], kwargs: dict[str, Any], **given: Any
) -> tuple[dict[FeatureName, Any], dict[FeatureName, Any]]:
    """x as the pipelines hand it on, and as the learner has checked it; no step learns it.

    A value that is refused only because a step has not learned it yet, such as the NaN of a
    `MinMaxScaler`, is let through.

    Raises
    ------
    TypeError, ValueError
        If x, or a label or a weight given, would be refused.
    """
    learner, pipelines = find_learner(classifier)
    found = transformed(pipelines, x, kwargs)
    try:
        accepted: dict[FeatureName, Any] = learner.check_one(found, **given)
        return found, accepted
    except (TypeError, ValueError):
        if not (is_pipeline(classifier) and isinstance(found, dict)):
            raise
        bad = [name for name, value in found.items() if refused(learner, name, value)]
        if not bad or any(name in x and refused(learner, name, x[name]) for name in bad):
            raise
        return found, found


def check_rows(
    classifier: Any, rows: list[dict[FeatureName, Any]], given: list[dict[str, Any]]
) -> None:
    """Raise if a learner that can check rows, with the label and weight `given`, refuses one."""
    learner, pipelines = find_learner(classifier)
    if hasattr(learner, "check_one"):
        for x, of_row in zip(rows, given, strict=True):
            if not (pipelines and None in [*x.values()]):  # a step may fill it, from rows before
                checked(classifier, x, {}, **of_row)


def prepared(
    learner: Any,
    pipelines: list[Any],
    classifier: Any,
    x: dict[FeatureName, Any],
    kwargs: dict[str, Any],
) -> tuple[dict[FeatureName, Any], dict[FeatureName, Any]]:
    """x as the last step of the first pipeline gets it, or x if there is none around all, and x as
    the learner has checked it. Unsupervised steps of the pipelines have learned x.

    Raises
    ------
    TypeError, ValueError
        If x could not be predicted or learned; no step has learned it then.
    """
    known = learner.known_labels  # x must be fit to be learned, too
    given, found = checked(classifier, x, kwargs, **({"y": known[0]} if known else {}))
    if any(map(learns, [*pipelines[0].steps.values()][:-1])):
        try_steps(pipelines, x, kwargs)
        with steps_learn(classifier):
            given = transformed(pipelines, x, kwargs)
        found = learner.check_one(given)
    return given if is_pipeline(classifier) else x, found


def try_steps(pipelines: list[Any], x: Any, kwargs: dict[str, Any]) -> None:
    """Raise if x has a number that no learner takes, and steps of the first pipeline would learn it
    for good.

    A scaler makes 0 of a feature that has not varied yet, even of NaN. Its mean is NaN from then
    on, and so is the feature, or it is always 0. Whether steps do so is tried with new ones: if
    they told 0 from 5 before this number, they must do so after it.
    """
    if not isinstance(x, Mapping):
        return
    bad = {name: value for name, value in x.items() if not usual(value)}
    if not bad:
        return
    *steps, (_, last) = pipelines[0].steps.items()
    if not (learning := [name for name, step in steps if learns(step)]):
        return
    plain = [dict.fromkeys(bad, float(value)) for value in range(6)]
    seen = *plain, plain[0], plain[-1], bad, plain[0], plain[-1]
    new = type(pipelines[0])(*((name, step.clone()) for name, step in steps), last)
    try:
        with steps_learn(new):
            made = [transformed([new], {**x, **each}, kwargs) for each in seen]
    except Exception:  # of a step that expects text, where NaN is a missing one
        return
    low, high, _, zero, five = made[-5:]
    for name in high:
        told = name in five and usual(five[name]) and five[name] != zero.get(name)
        if high[name] != low.get(name) and not told:
            raise ValueError(
                f"feature {name!r} is not finite, or too large, and {' or '.join(learning)} would "
                "learn that for good. INeurAL scales features itself, so leave a scaler out, or "
                "put StatImputer first."
            )


def check_steps(classifier: Any, x: Any, y: Any, kwargs: dict[str, Any]) -> None:
    """Raise if a learner that can say so would refuse x, y or a weight after steps of a pipeline
    have learned x, or if these would learn it for good.
    """
    learner, pipelines = find_learner(classifier)
    if pipelines and hasattr(learner, "check_one"):
        checked(classifier, x, {}, y=y, w=kwargs.get("w", 1.0))
        try_steps(pipelines, x, {})


def learns(step: Any) -> bool:
    """Whether a transformer may learn from examples; one that does not is applied only once."""
    return getattr(type(step), "learn_one", None) is not base.Transformer.learn_one


def usual(value: Any) -> bool:
    """Whether a value is none of the numbers that no learner takes: NaN, infinite or too large."""
    return not isinstance(value, NUMBERS) or bool(abs(value) <= LARGEST)  # type: ignore[operator]


def refused(learner: Any, name: FeatureName, value: Any) -> bool:
    """Whether the learner refuses this value."""
    try:
        learner.check_one({name: value})
    except (TypeError, ValueError):
        return True
    return False
