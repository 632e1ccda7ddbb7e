"""Progressive validation of each contender by River, all with the same budget."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from pandas.api.types import is_numeric_dtype  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import track
from river import evaluate, metrics

from river_ineural.active import Budget
from river_ineural.compare.contenders import Contender
from river_ineural.compare.reading import Table


@dataclass
class Outcome:
    """The result of a contender."""

    name: str
    mistakes: list[int] = field(default_factory=list)  # total up to each row
    row: dict[str, float] = field(default_factory=dict)  # row of the table; empty after a failure
    error: str = ""  # why the contender failed; empty if it did not


def parse_budget(text: str, n: int, horizon: bool = True) -> Budget:
    """Parse a budget for n rows: "5%" and "0.05" are shares of the rows, "150" is a number.

    Without a horizon it is a rate that allows as many labels in n rows, half of them at once.
    """
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        budget = Budget(int(text) if text.isdigit() else share, n)
        total = budget.most(n)
        if horizon or not total:
            return budget
        burst = (total + 1) // 2
        rate = (total - burst) / max(1, n - 1) * (1 + 1e-12)  # no less when it is rounded
        return Budget(min(1.0, rate), burst=burst)
    except ValueError:
        raise ValueError(
            f"--budget {text!r} is none: write 5% or 0.05 for a share of the rows, at most all of "
            "them, or 150 for so many labels"
        ) from None


def parse_delay(text: str, table: Table) -> float:
    """Parse the delay of labels, in the unit of the table's `moments`, or in rows without them."""
    numbers = table.time is None or is_numeric_dtype(table.time)
    try:
        delay = float(text) if numbers else pd.to_timedelta([text])[0].value
        if not 0 <= delay < float("inf") or (text.isdigit() and not numbers):  # "5" would be 5 ns
            raise ValueError
        return delay
    except ValueError:
        raise ValueError(
            f"--delay {text!r} is none: write 1d, 12h or 30min with --time COLUMN, a number if "
            "that column has numbers, or without --time a number of rows"
        ) from None


def run(
    contender: Contender,
    table: Table,
    budget: Budget,
    delay: Any = None,  # from `parse_delay`; None: a label arrives before the next row
    seed: int = 0,
) -> Outcome:
    """Predict each row in turn and learn requested labels as they arrive; records a failure."""
    outcome, start = Outcome(contender.name), time.perf_counter()
    codes, _ = pd.factorize(pd.Series(table.labels))  # River's regression expects 0 and 1
    moments = iter(table.moments or ())
    moment = (lambda x: next(moments)) if delay is not None and table.moments else None
    accuracy, f1 = metrics.Accuracy(), metrics.MacroF1()  # type: ignore[no-untyped-call]
    console = Console(stderr=True)
    shown: Any = {"console": console, "transient": True, "disable": not console.is_terminal}
    try:
        model = contender.sampler(table, budget, seed)
        stream = zip(contender.examples(table), codes.tolist(), strict=True)
        told = track(stream, contender.name, len(table), **shown)
        scores = accuracy + f1
        for _ in evaluate.iter_progressive_val_score(told, model, scores, moment, delay):
            n_predicted = round(accuracy.cm.n_samples)
            outcome.mistakes.append(n_predicted - round(accuracy.cm.total_true_positives))
        if not n_predicted:
            raise ValueError("it predicted nothing, as no label came before the last row")
        outcome.row = {
            "accuracy %": 100 * accuracy.get(),  # type: ignore[no-untyped-call]
            "F1 %": 100 * f1.get(),  # type: ignore[no-untyped-call]
            "mistakes": outcome.mistakes[-1],
            "rows": n_predicted,  # nothing is predicted before a label is known
            "labels": model.n_queries,
            "s": time.perf_counter() - start,
        }
    except Exception as error:  # a failure is a result; the others still run
        outcome.error = " ".join(f"{type(error).__name__}: {error}".split())
    return outcome
