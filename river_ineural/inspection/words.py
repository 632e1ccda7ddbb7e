"""Decisions in words: one, and how many of each kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from river_ineural.active.base import BudgetedSampler
from river_ineural.active.decision import REASONS, Decision, Reason
from river_ineural.active.learner import route

__all__ = ["explain", "metrics_of", "reasons", "sampler_of"]

MEANING: dict[Reason, str] = {
    "few classes": "asked: fewer than two classes are known",
    "gap": "asked: a close call",
    "audit": "asked: at random, or surer than labels have confirmed",
    "warning": "asked: labels point to a change of the stream",
    "change": "asked: the stream is changing",
    "none": "not asked: nothing spoke for it",
    "budget": "not asked: wanted, but the budget did not allow it",
}


def sampler_of(model: Any) -> BudgetedSampler:
    """The sampler that a model is, or that is the last step of a pipeline."""
    sampler, _ = route(model)
    if not isinstance(sampler, BudgetedSampler):
        raise TypeError(
            f"model must be an INeurALSampler, RandomSampler or MarginSampler, or a pipeline that "
            f"ends in one, got {model!r}."
        )
    return sampler


def metrics_of(step: Any) -> dict[str, Any]:
    """The metrics of a step by name; other parts of it may be mappings, which have a `get` too."""
    items = step.items() if isinstance(step, Mapping) else ()
    found = {name: part for name, part in items if not isinstance(part, Mapping)}
    return {name: part for name, part in found.items() if callable(getattr(part, "get", None))}


def explain(decision: Decision | None) -> str:
    """A decision in a sentence, without a line break: `sampler.last_decision`, or any other.

    Examples
    --------
    >>> from river_ineural.active import Decision
    >>> explain(Decision(True, "audit", float("nan"), float("nan"), 9))
    'asked: at random, or surer than labels have confirmed; 9 labels left'
    >>> forest = {"forest": 0.8}, {"forest": -0.2}
    >>> decision = Decision(True, "gap", 0.125, 0.5, 9, *forest)
    >>> print(explain(decision).replace("; ", "\\n"))
    asked: a close call
    the gap is 0.125 and the threshold 0.500
    9 labels left
    trust in the forest 0.80, which adds -0.200 to the gap
    """
    if decision is None:
        return "no round yet"
    _, reason, gap, threshold, left, trust, added = decision
    parts = [MEANING[reason]]
    if not math.isnan(threshold):
        parts.append(f"the gap is {gap:.3f} and the threshold {threshold:.3f}")
    labels = "label" if left == 1 else "labels"
    parts.append("no limit" if left == math.inf else f"{left:,.0f} {labels} left")
    if trust and not math.isnan(threshold):
        each = (
            f"the {name} {value:.2f}, which adds {added.get(name, 0.0):.3f} to the gap"
            for name, value in trust.items()
        )
        parts.append(f"trust in {', in '.join(each)}")
    return "; ".join(parts)


def reasons(model: Any) -> str:
    """A table of all rounds by the reason of their decision, a line each, with what it means.

    The model is a sampler of `active`, or a pipeline that ends in one; all else is a TypeError. The
    numbers are those of `n_by_reason`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL, active, inspection
    >>> model = active.INeurALSampler(INeurAL(seed=1), budget=30, seed=1)
    >>> stream = datasets.Phishing().take(300)
    >>> _ = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    >>> print(inspection.reasons(model).splitlines()[0])
    reason         rounds   share  what it means
    """
    counts = sampler_of(model).n_by_reason
    n = max(1, sum(counts.values()))
    lines = [f"{'reason':<12}{'rounds':>9}{'share':>8}  what it means"]
    lines += [
        f"{reason:<12}{counts[reason]:>9,}{counts[reason] / n:>8.1%}  {MEANING[reason]}"
        for reason in REASONS
    ]
    return "\n".join(lines)
