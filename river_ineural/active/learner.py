"""The protocol of a classifier that a sampler can decide for, and how to find it."""

from __future__ import annotations

import functools
from typing import Any, Protocol

from river.base.typing import ClfTarget, FeatureName

__all__ = ["ChangingLearner", "Learner", "check_learner", "find_learner"]


class Learner(Protocol):
    """A classifier whose scores `INeurALSampler` can use.

    `INeurAL` is one, and so is any other River classifier with these members. Brackets say what
    they are in I-NeurAL. Scores estimate P(y | x), so a gap of 1 between the top two means
    certainty.
    """

    n_layers: int
    """The depth of the networks [L], which `Width` gets."""

    @property
    def known_labels(self) -> tuple[ClfTarget, ...]:
        """The labels known so far."""
        ...

    def check_one(
        self, x: dict[FeatureName, Any], y: Any = ..., w: float = ...
    ) -> dict[FeatureName, Any]:
        """x, or a copy that is faster to score and to learn; the learner does not change.

        Raises TypeError or ValueError if x, y or w would be refused.
        """
        ...

    def scores_one(self, x: dict[FeatureName, Any]) -> dict[ClfTarget, float]:
        """The score of each known label [f1 + f2]; the learner does not change."""
        ...

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget, pseudo_label: bool = ...) -> None:
        """Learn a label, or with `pseudo_label` the learner's own prediction.

        It must accept every x that `check_one` has accepted.
        """
        ...

    def debug_one(self, x: dict[FeatureName, Any]) -> str:
        """A text that explains the scores of x."""
        ...


class ChangingLearner(Learner, Protocol):
    """Optional members of a `Learner`."""

    changing: bool
    """Whether it recovers from a change: the labels held back may then be asked for."""

    warning: bool
    """Whether labels point to a change, but not clearly enough."""

    takes_pseudo_labels: bool
    """Whether it learns pseudo-labels."""

    temporal_dependence: bool
    """Whether the next label is mostly the last one, so that only random asks show a change."""

    n_labels: int
    """Labels stored so far. A label whose learning is interrupted counts once it is stored."""

    n_drifts: int
    """Changes detected so far; one less when the last one is refuted."""

    unseen_labels: tuple[ClfTarget, ...]
    """Known labels without a learned example: they are searched for at random."""

    def explained_one(
        self, x: dict[FeatureName, Any]
    ) -> tuple[dict[ClfTarget, float], dict[str, float]]:
        """`scores_one`, and what each part of the learner added to the gap, by name."""
        ...


MEMBERS = ("n_layers", "known_labels", "check_one", "scores_one", "learn_one", "debug_one")


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


def check_learner(name: str, classifier: Any) -> None:
    """Raise a TypeError that names what is missing, unless there is a `Learner` inside."""
    learner, pipelines = find_learner(classifier)
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
