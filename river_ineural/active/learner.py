"""The protocol of a classifier that `INeurALSampler` can decide for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from river.base.typing import ClfTarget, FeatureName


class Learner(Protocol):
    """A classifier whose scores `INeurALSampler` can use.

    `INeurAL` is one, and so is any other River classifier with these members. Scores estimate
    P(y | x), so a gap of 1 between the top two means certainty.
    """

    n_layers: int
    """The depth L of the networks, which `Width` gets."""

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
        """The score of each known label, f1 + f2 in the paper; the learner learns nothing."""
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
    """Whether the next label is mostly the last one, so that only random asks show a change; False
    if the last one came too late for that."""

    n_labels: int
    """Labels stored so far."""

    scores_before: dict[ClfTarget, float]
    """The scores of the label learned last, from before it was learned."""

    n_drifts: int
    """Changes detected so far; one less when the last one is refuted."""

    def correct_one(self, number: int, y: ClfTarget | None) -> None:
        """Learn the example of the n-th label once more, with another label or, None, without one.

        Raises LookupError if the example is no longer there.
        """
        ...

    unseen_labels: tuple[ClfTarget, ...]
    """Known labels without a learned example. If the learner has `classes`, those named there are
    searched for at random, else all.
    """

    def explained_one(
        self, x: dict[FeatureName, Any]
    ) -> tuple[dict[ClfTarget, float], Mapping[str, list[float]]]:
        """`scores_one`, and what each part of the learner added to each score, by name."""
        ...
