"""What a sampler decided in a round, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

__all__ = ["AUDIT", "Decision", "FEW_CLASSES", "REASONS", "Reason", "UNWANTED", "Wanted"]

Reason = Literal["few classes", "gap", "audit", "warning", "change", "none", "budget"]
REASONS: tuple[Reason, ...] = get_args(Reason)

Wanted = tuple[Reason, float, float]
"""Why a label is wanted, "none" if it is not; the gap and the threshold, NaN if there is none."""

AUDIT: Wanted = ("audit", math.nan, math.nan)
FEW_CLASSES: Wanted = ("few classes", math.nan, math.nan)
UNWANTED: Wanted = ("none", math.nan, math.nan)


class Decision(NamedTuple):
    """What a sampler decided in a round, and why.

    Parameters
    ----------
    asked
        Whether the label was asked for.
    reason
        Why: "few classes", fewer than two are known; "gap", it is below the threshold; "change",
        the same while the learner is in the middle of a change, or at random then; "warning",
        labels point to a change, and more of them settle it; "audit", at random, or where the gap
        is larger than any that labels have borne out. Why not: "none", nothing spoke for it;
        "budget", it was wanted, but the budget did not allow it.
    gap, threshold
        Asked for is what has a gap below the threshold; NaN where there is none.
    budget_left
        Labels that may be asked for at once after this round; inf without a limit.
    trust
        How far the learner believes each of its explorers by now, in [0, 1], by name; empty if it
        has none.
    added
        What each explorer added to the gap in that round, by name. All classes are in `debug_one`.

    Examples
    --------
    >>> from river import linear_model
    >>> from river_ineural import active

    >>> classifier = linear_model.LogisticRegression()
    >>> model = active.RandomSampler(classifier, p=1.0, budget=1, seed=1)
    >>> for _ in range(2):
    ...     _ = model.predict_one({"a": 1.0})
    ...     decision = model.last_decision
    ...     print(decision.asked, decision.reason, decision.budget_left)
    True audit 0
    False budget 0
    >>> model.n_by_reason["audit"], model.n_by_reason["budget"]
    (1, 1)
    """

    asked: bool
    reason: Reason
    gap: float
    threshold: float
    budget_left: float
    trust: Mapping[str, float] = {}
    added: Mapping[str, float] = {}
