"""A line in the terminal while a long stream runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from river_ineural.active.base import BudgetedSampler
from river_ineural.inspection.words import ASKED, metrics_of, sampler_of

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["progress"]


class Line:
    """What the line says of a sampler.

    Parameters
    ----------
    sampler
        That runs.
    total
        Rounds of the stream, if known.
    """

    def __init__(self, sampler: BudgetedSampler, total: int | None) -> None:
        self.sampler, self.total = sampler, total
        self.counts = {**sampler.n_by_reason}
        self.last = ""  # the reason of the last ask; several, where more were asked for since

    def look(self, step: Any) -> str:
        """Rounds, metrics, labels asked for and left, and the reason of the last ask."""
        sampler, counts = self.sampler, self.sampler.n_by_reason
        if new := [reason for reason in ASKED if counts[reason] > self.counts[reason]]:
            self.last, self.counts = ", ".join(new), {**counts}
        of = f" of {self.total:,}" if self.total else ""
        parts = [f"{sampler.n_rounds:,}{of} rounds", *map(str, metrics_of(step).values())]
        decision = sampler.last_decision
        left = math.inf if decision is None else decision.budget_left
        rest = f", {left:,.0f} left" if left < math.inf else ""
        parts.append(f"{sampler.n_queries:,} asked{rest}")
        return " · ".join([*parts, *([f"last: {self.last}"] if self.last else [])])


def progress(
    steps: Iterable[Any], model: Any, total: int | None = None, console: Console | None = None
) -> Iterator[Any]:
    """The steps of `evaluate.iter_progressive_val_score`, with a line in the terminal beside them.

    The line tells rounds, the metric, labels asked for and left, the reason of the last ask (of all
    since the step before, if there were several), and the time; it is written anew ten times a
    second, and stays when the stream has ended. Where there is no terminal it is written once, at
    the end. It takes rich, which the extra `inspection` brings.

    Parameters
    ----------
    steps
        What `iter_progressive_val_score` returns, or anything else that runs the model.
    model
        The model that it runs: an `INeurALSampler`, `RandomSampler` or `MarginSampler`, or a
        pipeline that ends in one.
    total
        Rounds of the stream, if known. None: the sampler's horizon, if it has one.
    console
        Of rich, to write to. None: the terminal.

    Returns
    -------
    The steps, as they come.

    Raises
    ------
    TypeError
        If there is no such sampler in the model.
    ModuleNotFoundError
        Without rich.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL, active, inspection

    >>> learner = INeurAL(seed=1)
    >>> model = active.INeurALSampler(learner, budget=0.1, horizon=200)
    >>> steps = evaluate.iter_progressive_val_score(
    ...     datasets.Phishing().take(200), model, metrics.Accuracy(), step=10
    ... )
    >>> console = Console(file=io.StringIO(), width=120)
    >>> len(list(inspection.progress(steps, model, console=console)))
    20
    >>> "200 of 200 rounds" in console.file.getvalue()
    True
    """
    sampler = sampler_of(model)
    horizon = sampler.horizon or getattr(sampler.budget, "horizon", None)
    return _shown(steps, sampler, total or horizon, console)


def _shown(
    steps: Iterable[Any], sampler: BudgetedSampler, total: int | None, console: Console | None
) -> Iterator[Any]:
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    line, text = Line(sampler, total), TextColumn("{task.description}", markup=False)
    with Progress(text, TimeElapsedColumn(), console=console) as live:
        task = live.add_task(line.look(None), total=total)
        for step in steps:
            live.update(task, completed=sampler.n_rounds, description=line.look(step))
            yield step
