"""A line in the terminal while a long stream runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from river_ineural.active.base import BudgetedSampler
from river_ineural.inspection.words import metrics_of, sampler_of

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["progress"]


def line(sampler: BudgetedSampler, total: int | None, step: Any) -> str:
    """How it stands after a step."""
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
    """Yield the steps of `evaluate.iter_progressive_val_score`, and write a line in the terminal.

    The line tells rounds, metrics, labels asked for and left, the reason of the latest decision,
    and the time. Where there is no terminal it is written once, at the end.

    Parameters
    ----------
    steps
        What `iter_progressive_val_score` returns, or anything else that runs the model.
    model
        A sampler of `active`, or a pipeline that ends in one.
    total
        Rounds of the stream, if known. None: the sampler's horizon, if it has one.
    console
        Of rich, to write to. None: the terminal.

    Raises
    ------
    TypeError
        If there is no such sampler in the model.
    ModuleNotFoundError
        Without rich, which the extra `inspection` brings.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL, active, inspection
    >>> model = active.INeurALSampler(INeurAL(seed=1), budget=0.1, horizon=200)
    >>> stream, metric = datasets.Phishing().take(200), metrics.Accuracy()
    >>> steps = evaluate.iter_progressive_val_score(stream, model, metric, step=10)
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
