"""Progressive validation of each contender by River, all with the same budget."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
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
    """The result of a contender, or the mean over several seeds."""

    name: str
    mistakes: Sequence[float] = ()  # total up to each row; a row without a prediction is one
    row: dict[str, float] = field(default_factory=dict)  # row of the table; empty after a failure
    error: str = ""  # why the contender failed; empty if it did not
    totals: Sequence[float] = ()  # mistakes of each seed
    labels: Sequence[float] = ()  # asked for by the time that the label of each row comes


def mean_of(runs: Sequence[Outcome]) -> Outcome:
    """The mean of the runs of a contender, with the deviation of its accuracy; or a failure."""
    if failed := [each for each in runs if each.error]:
        return failed[0]
    row = {name: float(np.mean([each.row[name] for each in runs])) for name in runs[0].row}
    if len(runs) > 1:
        spread = float(np.std([each.row["accuracy %"] for each in runs], ddof=1))
        row = {"accuracy %": row.pop("accuracy %"), "±": spread, **row}
    mistakes = np.mean([each.mistakes for each in runs], axis=0).tolist()
    labels = np.mean([each.labels for each in runs], axis=0).tolist()
    totals = [each.mistakes[-1] for each in runs]
    return Outcome(runs[0].name, mistakes, row, totals=totals, labels=labels)


def parse_budget(text: str, n: int, horizon: bool = True) -> Budget:
    """Parse a budget for n rows: "5%" and "0.05" are shares of the rows, "150" is a number.

    Without a horizon it is a rate that allows as many labels in n rows, half of them at once.
    """
    if text.isdecimal() and int(text) > n:
        raise ValueError(f"--budget {text} is too many: there are {n:,} rows")
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        budget = Budget(int(text) if text.isdigit() else share, n)
    except ValueError:
        raise ValueError(
            f"--budget {text!r} is not a budget: write 5% or 0.05 for a share of the rows, at most "
            "all of them, or 150 for so many labels"
        ) from None
    if not (total := budget.most(n)):
        raise ValueError(f"--budget {text!r} of {n:,} rows is no label: write 20 for so many")
    if horizon:
        return budget
    burst = (total + 1) // 2
    rate = (total - burst) / max(1, n - 1) * (1 + 1e-12)  # no less when it is rounded
    return Budget(min(1.0, rate), burst=burst)


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
            f"--delay {text!r} is not a delay: write 1d, 12h or 30min with --time COLUMN, a number "
            "if that column has numbers, or without --time a number of rows"
        ) from None


def run(
    contender: Contender,
    table: Table,
    budget: Budget,
    delay: Any = None,  # from `parse_delay`; None: a label arrives before the next row
    seed: int = 0,
) -> Outcome:
    """Predict each row in turn and learn requested labels as they arrive; records a failure.

    A row that the learner does not predict, since it knows no label yet, is a mistake.
    """
    outcome, start = Outcome(contender.name), time.perf_counter()
    # River's regression expects 0 and 1, and says 0 before any label: that of row 1 is unknown yet.
    codes, _ = pd.factorize(pd.Series(table.labels), sort=True)
    moments = iter(table.moments or ())
    moment = (lambda x: next(moments)) if delay is not None and table.moments else None
    scores = metrics.Accuracy()  # type: ignore[no-untyped-call]
    mistakes, labels = list[int](), list[int]()
    console = Console(stderr=True)
    shown: Any = {"console": console, "transient": True, "disable": not console.is_terminal}
    try:
        model = contender.sampler(table, budget, seed)
        stream = zip(contender.examples(table), codes.tolist(), strict=True)
        shown_rows = track(stream, contender.name, len(table), **shown)
        for _ in evaluate.iter_progressive_val_score(shown_rows, model, scores, moment, delay):
            mistakes.append(len(mistakes) + 1 - round(scores.cm.total_true_positives))
            labels.append(model.n_queries)
        if not scores.cm.n_samples:
            raise ValueError("it predicted nothing, as no label came before the last row")
        outcome.mistakes, outcome.totals, outcome.labels = mistakes, [mistakes[-1]], labels
        told = model.accuracy
        outcome.row = {
            "accuracy %": 100 * (1 - mistakes[-1] / len(table)),
            "told low": 100 * told.low,
            "told high": 100 * told.high,
            "F1 %": 100 * macro_f1(scores.cm, codes),
            "mistakes": mistakes[-1],
            "labels": model.n_queries,
            "s": time.perf_counter() - start,
        }
    except Exception as error:  # a failure is a result; the others still run
        outcome.error = " ".join(f"{type(error).__name__}: {error}".split())
    return outcome


def macro_f1(matrix: Any, codes: Any) -> float:
    """Mean over the classes of 2 · right / (rows of the class + predictions of the class)."""
    rows = Counter(codes.tolist())
    each = [2 * matrix.true_positives(c) / (n + matrix.sum_col[c]) for c, n in rows.items()]
    return float(np.mean(each))
