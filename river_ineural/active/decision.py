"""The decision of a sampler in a round, and its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self, get_args

from river.base.typing import ClfTarget

from river_ineural.active.budget import whole_labels
from river_ineural.active.html import html_table

Reason = Literal["few classes", "gap", "random", "warning", "change", "none", "budget"]
REASONS: tuple[Reason, ...] = get_args(Reason)
NOT_ASKED: tuple[Reason, ...] = ("none", "budget")

Wanted = tuple[Reason, float, float, float]
"""Why a label is wanted ("none": it is not), the gap and the threshold, NaN if there is none, and
the probability with which a round like this one wants its label: `accuracy` needs it."""

UNWANTED: Wanted = ("none", math.nan, math.nan, 0.0)


def by_chance(asks: bool, p: float, reason: Reason = "random") -> Wanted:
    """A label that is wanted with probability p, without a gap."""
    return reason if asks else "none", math.nan, math.nan, p


class Decision(NamedTuple):
    """The decision of a sampler in one round, and its reason.

    Attributes
    ----------
    label
        The predicted label; None before one is known.
    probabilities
        Probability of each label, float64; empty before one is known.
    asked
        Whether the sampler asked for the label.
    reason
        Why it asked: "few classes" (labels of fewer than two classes are known), "gap" (the gap is
        below the threshold), "random" (at random, or the gap is larger than labels have confirmed),
        "warning" (labels point to a change), "change" (the learner recovers from a change). Why it
        did not ask: "none" (no reason to ask), "budget" (it wanted the label, but the budget did
        not allow it).
    gap
        Difference of the top two scores; NaN if there is none.
    threshold
        The sampler asks if the gap is below this; NaN if there is none.
    budget_left
        Labels that it may ask for at once after this round; inf without a limit.
    trust
        How far the learner trusts each explorer, in [0, 1], by name; empty without explorers.
    added
        What each explorer added to the gap in this round, by name. `debug_one` shows all classes.
    query
        The name of the question, for `answer` and `withdraw`; None if the sampler did not ask.

    Examples
    --------
    >>> from river import linear_model
    >>> from river_ineural import active

    >>> classifier = linear_model.LogisticRegression()
    >>> model = active.RandomSampler(classifier, p=1.0, budget=1, seed=1)
    >>> for _ in range(2):
    ...     decision = model.decide_one({"a": 1.0})
    ...     print(decision.query, decision.reason, decision.budget_left)
    1 random 0
    None budget 0
    >>> model.n_by_reason["random"], model.n_by_reason["budget"]
    (1, 1)
    """

    label: ClfTarget | None
    probabilities: Mapping[ClfTarget, float]
    asked: bool
    reason: Reason
    gap: float
    threshold: float
    budget_left: float
    trust: Mapping[str, float] = {}
    added: Mapping[str, float] = {}
    query: int | None = None

    @classmethod
    def made(
        cls,
        last: tuple[Any, ...],
        probabilities: Mapping[ClfTarget, float],
        trust: Mapping[str, float],
        n_rounds: int,
    ) -> Self:
        """The decision of a round, of what `BudgetedSampler._decide` has kept of it."""
        scores, asked, reason, gap, threshold, left, added, top, second = last
        label = max(scores, key=scores.__getitem__) if scores else None
        found = {name: each[top] - each[second] for name, each in added.items() if top != second}
        said = label, probabilities, asked, reason, gap, threshold
        return cls(*said, whole_labels(left), dict(trust), found, n_rounds if asked else None)

    def _repr_html_(self) -> str:
        return html_table("Decision", self._asdict())
