"""Decisions in words: one decision, counts by reason, and a progress line for long streams."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from river_ineural.active.base import BudgetedSampler
from river_ineural.active.decision import REASONS, Decision, Reason
from river_ineural.active.pipelines import find_learner

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["explain", "metrics_of", "progress", "reasons", "sampler_of"]

MEANING: dict[Reason, str] = {
    "few classes": "asked: fewer than two classes are known",
    "gap": "asked: a close call",
    "random": "asked: at random, or surer than labels have confirmed",
    "warning": "asked: labels point to a change of the stream",
    "change": "asked: the stream is changing",
    "none": "not asked: nothing spoke for it",
    "budget": "not asked: wanted, but the budget did not allow it",
}


def sampler_of(model: Any) -> BudgetedSampler:
    """The model itself if it is a sampler, or the sampler at the end of a pipeline."""
    sampler, _ = find_learner(model)
    if not isinstance(sampler, BudgetedSampler):
        raise TypeError(
            f"model must be an INeurALSampler, RandomSampler or MarginSampler, or a pipeline that "
            f"ends in one, got {model!r}."
        )
    return sampler


def metrics_of(step: Any) -> dict[str, Any]:
    """The metrics of a step by name. Mappings are left out, because they have a `get` too."""
    items = step.items() if isinstance(step, Mapping) else ()
    found = {name: part for name, part in items if not isinstance(part, Mapping)}
    return {name: part for name, part in found.items() if callable(getattr(part, "get", None))}


def explain(decision: Decision | None) -> str:
    """Describe a decision, such as `sampler.last_decision`, in one line.

    Examples
    --------
    >>> from river_ineural.active import Decision
    >>> said = 1, {0: 0.4, 1: 0.6}, True
    >>> explain(Decision(*said, "random", float("nan"), float("nan"), 9))
    'asked: at random, or surer than labels have confirmed; 9 labels left'
    >>> forest = {"forest": 0.8}, {"forest": -0.2}
    >>> decision = Decision(*said, "gap", 0.125, 0.5, 9, *forest)
    >>> print(explain(decision).replace("; ", "\\n"))
    asked: a close call
    the gap is 0.125 and the threshold 0.500
    9 labels left
    trust in the forest 0.80, which adds -0.200 to the gap
    """
    if decision is None:
        return "no round yet"
    *_, reason, gap, threshold, left, trust, added, _ = decision
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
    """A table of the number of rounds by reason, with a line for each reason and its meaning.

    The model is a sampler of `active` or a pipeline that ends in one; anything else raises a
    TypeError. The numbers are those of `n_by_reason`.

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


def line(sampler: BudgetedSampler, total: int | None, step: Any) -> str:
    """The progress line after a step."""
    of = f" of {total:,}" if total else ""
    parts = [f"{sampler.n_rounds:,}{of} rounds", *map(str, metrics_of(step).values())]
    parts.append(f"{sampler.n_queries:,} asked")
    if decision := sampler.last_decision:
        left = f"{decision.budget_left:,.0f} left" if decision.budget_left < math.inf else ""
        parts += [*filter(None, [left]), f"last: {decision.reason}"]
    return " · ".join(parts)


def progress(
    steps: Iterable[Any], model: Any, total: int | None = None, console: Console | None = None
) -> Iterator[Any]:
    """Yield the steps of `evaluate.iter_progressive_val_score`, and show a line in the terminal.

    The line shows rounds, metrics, labels asked for and left, the reason of the latest decision,
    and the time. If the output is not a terminal, the line is written once, at the end.

    Parameters
    ----------
    steps
        The result of `iter_progressive_val_score`, or any other iterable that runs the model.
    model
        A sampler of `active`, or a pipeline that ends in one.
    total
        Rounds of the stream, if known. None: the sampler's horizon, if it has one.
    console
        A `rich.console.Console` to write to. None: the terminal.

    Raises
    ------
    TypeError
        If the model has no sampler of `active`.
    ModuleNotFoundError
        If rich is missing. The extra `inspection` installs it.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL, active, inspection
    >>> model = active.INeurALSampler(INeurAL(seed=1), budget=0.1, horizon=200)
    >>> stream, metric = datasets.Phishing().take(200), metrics.Accuracy()
    >>> steps = evaluate.iter_progressive_val_score(
    ...     stream, model, metric, step=10
    ... )
    >>> console = Console(file=io.StringIO(), width=120)
    >>> len(list(inspection.progress(steps, model, console=console)))
    20
    >>> "200 of 200 rounds" in console.file.getvalue()
    True
    """
    sampler = sampler_of(model)
    total = total or sampler.horizon or getattr(sampler.budget, "horizon", None)

    def shown() -> Iterator[Any]:
        from rich.progress import Progress, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        with Progress(text, TimeElapsedColumn(), console=console) as live:
            task = live.add_task(line(sampler, total, None), total=total)
            for step in steps:
                told = line(sampler, total, step)
                live.update(task, completed=sampler.n_rounds, description=told)
                yield step

    return shown()
