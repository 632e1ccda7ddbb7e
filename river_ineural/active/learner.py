"""What an active learner asks of the classifier it decides for, and where it finds it."""

from __future__ import annotations

import functools
from typing import Any, Protocol

from river.base.typing import ClfTarget, FeatureName

__all__ = ["ChangingLearner", "Learner", "check_learner", "route"]


class Learner(Protocol):
    """A classifier whose scores `INeurALSampler` can decide by.

    `INeurAL` is one. Any other River classifier is one too that has these members; what they mean
    for I-NeurAL is said in brackets. Scores estimate P(y | x): a gap of 1 between the top two is
    certainty.
    """

    n_layers: int
    """What `Width` gets as the depth of the networks [L]."""

    @property
    def known_labels(self) -> tuple[ClfTarget, ...]:
        """The labels known by now."""
        ...

    def check_one(
        self, x: dict[FeatureName, Any], y: Any = ..., w: float = ...
    ) -> dict[FeatureName, Any]:
        """x, or a copy that is quicker to score and to learn; nothing changes.

        Raises TypeError or ValueError if x, y or w would be refused.
        """
        ...

    def scores_one(self, x: dict[FeatureName, Any]) -> dict[ClfTarget, float]:
        """The score of each known label [f1 + f2]; nothing changes."""
        ...

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget, pseudo_label: bool = ...) -> None:
        """Learn a label, or with `pseudo_label` the learner's own prediction.

        It must not refuse that of an x that `check_one` took.
        """
        ...

    def debug_one(self, x: dict[FeatureName, Any]) -> str:
        """What there is to know about the scores of x, to read."""
        ...


class ChangingLearner(Learner, Protocol):
    """A `Learner` that says more of itself; a learner need not have these members."""

    changing: bool
    """Whether it is in the middle of a change: what the budget holds back may be asked for."""

    warning: bool
    """Whether labels point to a change, not enough for an alarm."""

    takes_pseudo_labels: bool
    """Whether predictions teach it; else none is learned."""

    temporal_dependence: bool
    """Whether the next label is mostly the last one, so that only random asks see a change."""

    n_labels: int
    """Labels stored so far: where learning one is interrupted, it counts from then on."""

    n_drifts: int
    """Changes noticed so far; one less when the last is taken back."""

    unseen_labels: tuple[ClfTarget, ...]
    """Known labels of which no example was learned: they are looked for at random."""

    def explained_one(
        self, x: dict[FeatureName, Any]
    ) -> tuple[dict[ClfTarget, float], dict[str, float]]:
        """`scores_one`, and by name what parts of the learner added to the gap of the top two."""
        ...


MEMBERS = ("n_layers", "known_labels", "check_one", "scores_one", "learn_one", "debug_one")


WRAPPERS = {"DriftRetrainingClassifier", "ClassificationSampler", "HardSamplingClassifier"}


@functools.lru_cache(maxsize=256)
def way_in(kind: type) -> str:
    """How what predicts is found in an object of that class: "" if it predicts itself.

    River's wrappers of one model are those whose predictions are the model's. They are known by
    name, so that nothing is imported for this.
    """
    names = {each.__name__ for each in kind.__mro__ if each.__module__.startswith("river.")}
    if "Pipeline" in names:
        return "last step"
    return "wrapped" if names & WRAPPERS else ""


def route(classifier: Any) -> tuple[Any, list[Any]]:
    """The `Learner` that a classifier is, or has inside, as it is now, and the pipelines on the way
    to it, from the outermost on: a wrapper may put another model in the place of its own.
    """
    pipelines = []
    while way := way_in(type(classifier)):  # type: ignore[arg-type]  # types are hashable
        if way == "last step":
            pipelines.append(classifier)
            classifier = classifier[-1]
        else:
            classifier = classifier._wrapped_model
    return classifier, pipelines


def check_learner(name: str, classifier: Any) -> None:
    """Raise TypeError, saying what is missing, unless there is a `Learner` in it."""
    learner, pipelines = route(classifier)
    missing = [name for name in MEMBERS if not hasattr(learner, name)]
    if missing:
        raise TypeError(
            f"{name} must be an INeurAL, a pipeline that ends in one, or River's "
            f"DriftRetrainingClassifier or an imblearn sampler around one. "
            f"{type(learner).__name__} has no {', '.join(missing)}, which active.Learner asks for."
        )
    if len(pipelines) > 1:
        raise TypeError(
            f"{name} has a pipeline within a pipeline: put the steps of the inner one in the outer."
        )
