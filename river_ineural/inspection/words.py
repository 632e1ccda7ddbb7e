"""Decisions in words: one decision, counts by reason, and a progress line for long streams."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

from river_ineural.active.base import BudgetedSampler
from river_ineural.active.decision import REASONS, Decision, Reason
from river_ineural.active.pipelines import find_learner

MEANING: dict[Reason, str] = {
    "few classes": "asked: fewer than two classes have labels",
    "gap": "asked: a close call",
    "random": "asked: at random, or surer than labels have confirmed",
    "warning": "asked: labels point to a change of the stream",
    "change": "asked: the stream is changing",
    "none": "not asked: nothing spoke for it",
    "budget": "not asked: wanted, but the budget did not allow it",
}


EVERY = 0.1  # seconds between two lines of `progress`


class Text(str):
    """A text that a notebook and Python's prompt show as it reads."""

    __slots__ = ()
    __repr__ = str.__str__


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


def reasons(model: Any) -> Text:
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
    >>> inspection.reasons(model)  # doctest: +ELLIPSIS
    reason         rounds   share  what it means
    few classes ...
    """
    counts = sampler_of(model).n_by_reason
    n = max(1, sum(counts.values()))
    lines = [f"{'reason':<12}{'rounds':>9}{'share':>8}  what it means"]
    lines += [
        f"{reason:<12}{counts[reason]:>9,}{counts[reason] / n:>8.1%}  {MEANING[reason]}"
        for reason in REASONS
    ]
    return Text("\n".join(lines))


def line(sampler: BudgetedSampler, total: int | None, step: Any) -> str:
    """The progress line after a step."""
    of = f" of {total:,}" if total else ""
    parts = [f"{sampler.n_rounds:,}{of} rounds", *map(str, metrics_of(step).values())]
    if sampler.accuracy.n_labels:
        _, low, high, _ = sampler.accuracy
        parts.append(f"{low:.0%} to {high:.0%} right")
    parts.append(f"{sampler.n_queries:,} asked")
    if decision := sampler.last_decision:
        left = f"{decision.budget_left:,.0f} left" if decision.budget_left < math.inf else ""
        parts += [*filter(None, [left]), f"last: {decision.reason}"]
    return " · ".join(parts)


def progress(
    steps: Iterable[Any], model: Any, total: int | None = None, file: TextIO | None = None
) -> Iterator[Any]:
    """Yield the steps of `evaluate.iter_progressive_val_score`, and show a line while they run.

    The line shows rounds, metrics, labels asked for and left, `accuracy`, and the reason of the
    latest decision; the last one shows seconds too. Only a terminal or a notebook shows more.

    Parameters
    ----------
    steps
        The result of `iter_progressive_val_score`, or any other iterable that runs the model.
    model
        A sampler of `active`, or a pipeline that ends in one.
    total
        Rounds of the stream, if known. None: the sampler's horizon, if it has one.
    file
        An open text file to write to. None: standard output.

    Raises
    ------
    TypeError
        If the model has no sampler of `active`.

    Examples
    --------
    >>> import io
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL, active, inspection
    >>> model = active.INeurALSampler(INeurAL(seed=1), budget=0.1, horizon=200)
    >>> stream, metric = datasets.Phishing().take(200), metrics.Accuracy()
    >>> steps = evaluate.iter_progressive_val_score(
    ...     stream, model, metric, step=10
    ... )
    >>> file = io.StringIO()
    >>> len(list(inspection.progress(steps, model, file=file)))
    20
    >>> file.getvalue().startswith("200 of 200 rounds")
    True
    """
    sampler, out = sampler_of(model), file or sys.stdout
    total = total or sampler.horizon or getattr(sampler.budget, "horizon", None)
    over = out.isatty() or (file is None and "ipykernel" in sys.modules)
    width = shutil.get_terminal_size().columns - 1 if out.isatty() else 120

    def shown() -> Iterator[Any]:
        start = latest = time.monotonic()
        step = None
        try:
            for step in steps:
                if over and (now := time.monotonic()) - latest >= EVERY:
                    out.write(f"\r{line(sampler, total, step)[:width]:{width}}")
                    out.flush()
                    latest = now
                yield step
        finally:
            text = f"{line(sampler, total, step)} · {time.monotonic() - start:.0f} s"
            out.write(f"\r{text[:width]:{width}}\n" if over else f"{text}\n")

    return shown()
