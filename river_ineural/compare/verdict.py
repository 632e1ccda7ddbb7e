"""What a comparison says in a sentence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from river_ineural.compare.running import Outcome

__all__ = ["no_better", "verdict"]

SURE = 2.0  # standard errors from which a difference is not taken for chance
EARLY = 0.1  # least share of the rows that makes a start of its own
ONE_SEED = " That is of one seed; --seeds 5 tells whether it lasts."


def z_of(differences: Any) -> float:
    """The sum in its standard errors; infinite where each of two or more is the same."""
    values = np.asarray(differences, float)
    if len(values) < 2 or not values.any():
        return 0.0
    error = values.std(ddof=1) * math.sqrt(len(values))
    return float(values.sum() / error) if error else math.copysign(math.inf, values.sum())


def lead(one: Outcome, other: Outcome, n: int | None = None) -> float:
    """By how many standard errors one makes fewer mistakes than another in the first n rows.

    The error is that of the rows, or of the seeds if that is larger.
    """
    rows = np.diff(other.mistakes[:n], prepend=0) - np.diff(one.mistakes[:n], prepend=0)
    found = z_of(rows)
    if n is None and len(one.totals) > 1:
        seeds = z_of(np.subtract(other.totals, one.totals))
        found = min(found, seeds) if found > 0 else max(found, seeds)
    return found


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Which learner to take, in one or two sentences; empty for fewer than two learners."""
    ran = sorted((each for each in outcomes if not each.error), key=lambda each: each.mistakes[-1])
    if len(ran) < 2:
        return ""
    best, second = ran[:2]
    one = "" if len(best.totals) > 1 else ONE_SEED
    alike = [best, *(each for each in ran[1:] if lead(best, each) < SURE)]
    asked = [round(each.row["labels"]) for each in alike]
    least, n = min(asked), max(asked)
    labels = f"With {f'{least:,} to ' * (least < n)}{n:,} label{'s' * (n != 1)}"
    if alike[1:]:
        *others, last = [each.name for each in alike]
        names = f"{', '.join(others)} and {last}"
        return f"{labels} the differences between {names} may be chance: take the simplest.{one}"
    ratio = best.mistakes[-1] / second.mistakes[-1]
    said = f"{labels} take {best.name}: it makes {ratio:.2f} times the mistakes of {second.name}."
    ahead = [np.subtract(best.mistakes, each.mistakes) for each in ran[1:]]
    early = max(range(len(ahead)), key=lambda i: ahead[i].max())
    until, rival = int(ahead[early].argmax()) + 1, ran[1 + early]
    if until >= EARLY * len(best.mistakes) and lead(rival, best, until) >= SURE:
        some = rival.mistakes[until - 1] / best.mistakes[until - 1]
        said += (
            f" Up to {best.labels[until - 1]:,.0f} labels, in row {until:,}, take {rival.name}: "
        )
        said += f"it made {some:.2f} times the mistakes of {best.name}."
    return said + one


def no_better(outcomes: Sequence[Outcome], labels: Sequence[str]) -> str:
    """What to say where no learner is surely better than the commonest label; else nothing."""
    commonest = Counter(labels).most_common(1)[0][0]
    mistakes = np.cumsum(np.array(labels) != commonest).tolist()
    always = Outcome("", mistakes, totals=mistakes[-1:])
    if any(lead(each, always) >= SURE for each in outcomes if not each.error):
        return ""
    return f"Always saying {commonest!r} may be as right as any of them."
