"""Progressive validation of each contender, by River, with the same budget."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from river import evaluate, metrics

from river_ineural.active import Budget
from river_ineural.compare.contenders import Contender
from river_ineural.compare.reading import Table

__all__ = ["Outcome", "parse_budget", "parse_delay", "run"]

LEAST = 2  # labels


@dataclass
class Outcome:
    """What came of a contender; accuracy and F1 are in [0, 1]."""

    name: str
    accuracy: float = 0.0
    macro_f1: float = 0.0
    n_predicted: int = 0  # rows that count: before it knows a label it predicts nothing
    mistakes: list[int] = field(default_factory=list)  # up to each row
    labels: list[int] = field(default_factory=list)  # that came and were learned, up to each row
    n_labels: int = 0  # that it asked for
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)  # its warnings
    error: str = ""  # why it failed

    @property
    def cells(self) -> list[str]:
        """In a table: accuracy and F1 in per cent, counts and seconds; none if it failed."""
        scores = [f"{100 * score:.1f}" for score in (self.accuracy, self.macro_f1)]
        counts = [f"{n:,}" for n in (*self.mistakes[-1:], self.n_predicted, self.n_labels)]
        return [] if self.error else [*scores, *counts, f"{self.seconds:.1f}"]


def parse_budget(text: str, n: int) -> Budget:
    """Labels of n rows: "5%" and "0.05" are a share of them, "150" is a number.

    Examples
    --------
    >>> [parse_budget(text, 3_000).total for text in ("5%", "0.05", "150")]
    [150, 150, 150]
    """
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        budget = Budget(int(text) if text.isdigit() else share, n)
    except ValueError:
        raise ValueError(
            f"--budget {text!r} is none: write 5% or 0.05 for a share of the rows, at most all of "
            "them, or 150 for so many labels"
        ) from None
    if (total := budget.total or 0) < LEAST:
        raise ValueError(
            f"--budget {text!r} of {n:,} rows is {total} labels: {LEAST} are the least to tell two "
            "classes apart"
        )
    return budget


def parse_delay(text: str | None, table: Table) -> float | None:
    """How much later than its row a label comes, in the unit of the table's moments, or in rows."""
    if text is None:
        return None
    delay = -1.0
    with contextlib.suppress(ValueError):
        if table.time is None:
            delay = int(text)
        elif table.time.kind == "numbers":
            delay = float(text)
        elif not text.isdigit():
            delay = pd.Timedelta(text).value
    if not 0 <= delay < float("inf"):
        raise ValueError(
            f"--delay {text!r} is none: write 1d, 12h or 30min with --time COLUMN, a number if "
            "that column has numbers, or without --time a number of rows"
        )
    return delay


def run(
    contender: Contender,
    table: Table,
    budget: Budget,
    delay: Any = None,  # as of `parse_delay`; None: a label is there before the next row
    seed: int = 0,
    tick: Callable[[], object] = lambda: None,  # called after each row whose label has come
) -> Outcome:
    """Predict each row in turn, and learn the labels asked for when they come.

    A failure is an outcome too.
    """
    outcome, start = Outcome(contender.name), time.perf_counter()
    # Numbers, as River's regression wants 0 and 1 of two classes.
    codes, _ = pd.factorize(pd.Series(table.labels))
    moments = iter(table.moments or ())
    accuracy, f1 = metrics.Accuracy(), metrics.MacroF1()  # type: ignore[no-untyped-call]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = contender.sampler(table, budget, seed)
            for step in evaluate.iter_progressive_val_score(
                zip(contender.examples(table), codes.tolist(), strict=True),
                model,
                accuracy + f1,
                moment=(lambda x: next(moments)) if delay is not None and table.time else None,
                delay=delay,
            ):
                cm = accuracy.cm
                outcome.mistakes.append(round(cm.n_samples - cm.total_true_positives))
                outcome.labels.append(step["Samples used"])
                tick()
            outcome.n_predicted, outcome.n_labels = round(accuracy.cm.n_samples), model.n_queries
            if not outcome.n_predicted:
                raise ValueError("it predicted nothing, as no label came before the last row")
            outcome.accuracy = accuracy.get()  # type: ignore[no-untyped-call]
            outcome.macro_f1 = f1.get()  # type: ignore[no-untyped-call]
        except Exception as error:  # a result of its own: the others are run all the same
            outcome.error = " ".join(f"{type(error).__name__}: {error}".split())
    mine = [str(each.message) for each in told if issubclass(each.category, UserWarning)]
    outcome.notes = list(dict.fromkeys(mine))
    outcome.seconds = time.perf_counter() - start
    return outcome
