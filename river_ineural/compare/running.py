"""Progressive validation of each contender, by River, with the same budget."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from river import evaluate, metrics
from river.base.typing import FeatureName

from river_ineural.active import Budget
from river_ineural.compare.contenders import Contender
from river_ineural.compare.reading import Table

__all__ = ["Outcome", "parse_budget", "parse_delay", "run"]

X = dict[FeatureName, Any]
SECONDS = {"d": 86_400, "h": 3_600, "min": 60, "s": 1}
LEAST = 2  # labels
Delay = Any  # an int or a float; River's types know no float


@dataclass
class Outcome:
    """What came of a contender.

    Parameters
    ----------
    accuracy, macro_f1
        Of its predictions, as `river.evaluate.progressive_val_score` has them, in [0, 1].
    n_predicted
        Rows that count: before it knows a label it predicts nothing.
    mistakes, labels
        Up to each row: predictions that were wrong, and labels that came and were learned.
    n_labels
        That it asked for.
    seconds
        Of the whole run.
    notes
        Its warnings.
    error
        Why it failed; empty if it did not.
    """

    name: str
    accuracy: float = float("nan")
    macro_f1: float = float("nan")
    n_predicted: int = 0
    mistakes: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    n_labels: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    error: str = ""


class Row(dict[FeatureName, Any]):
    """An example that knows when it was."""

    at: float


def parse_budget(text: str, n: int) -> Budget:
    """Labels of n rows: "5%" and "0.05" are a share of them, "150" is a number.

    Raises
    ------
    ValueError
        If the text is no budget, or one of fewer than two labels.

    Examples
    --------
    >>> [parse_budget(text, 3_000).total for text in ("5%", "0.05", "150")]
    [150, 150, 150]
    """
    number = text.strip()
    try:
        if number.endswith("%"):
            budget = Budget(float(number[:-1]) / 100, n)
        else:
            budget = Budget(int(number) if number.isdigit() else float(number), n)
    except ValueError:
        raise ValueError(
            f"--budget {text!r} is none: write 5% or 0.05 for a share of the rows, at most all of "
            "them, or 150 for so many labels"
        ) from None
    if budget.total is None or budget.total < LEAST:
        raise ValueError(
            f"--budget {text!r} of {n:,} rows is {budget.total} labels: {LEAST} are the least to "
            "tell two classes apart"
        )
    return budget


def parse_delay(text: str | None, table: Table) -> Delay:
    """How much later than its row a label comes, in the unit of the table's moments, or in rows.

    Raises
    ------
    ValueError
        If the text does not fit the table.
    """
    if text is None:
        return None
    kind = "rows" if table.time is None else table.time.kind
    if kind == "times":
        found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(d|h|min|s)", text.strip())
        if found is None:
            raise ValueError(f"--delay {text!r} is no time: write 1d, 12h, 30min or 90s")
        return round(float(found[1]) * SECONDS[found[2]] * 1_000_000_000)  # as moments
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if number < 0 or (kind == "rows" and not number.is_integer()):
        unit = "rows" if kind == "rows" else f"the unit of {table.time and table.time.name!r}"
        hint = "; a time needs --time COLUMN" if kind == "rows" else ""
        raise ValueError(f"--delay {text!r} is no number: write one, in {unit}{hint}")
    return int(number) if kind == "rows" else number


def stream(contender: Contender, table: Table, codes: dict[str, int]) -> Iterator[tuple[X, int]]:
    """Examples and the numbers of their classes."""
    for t, x in enumerate(contender.examples(table)):
        if table.moments is not None:
            x = Row(x)
            x.at = table.moments[t]
        yield x, codes[table.labels[t]]


def run(
    contender: Contender,
    table: Table,
    budget: Budget,
    delay: Delay = None,
    seed: int = 0,
    tick: Callable[[], object] = lambda: None,
) -> Outcome:
    """Predict each row in turn, and learn the labels asked for when they come.

    A failure is an outcome too.

    Parameters
    ----------
    delay
        As of `parse_delay`; None: a label is there before the next row.
    tick
        Called after each row whose label has come.
    """
    outcome, start = Outcome(contender.name), time.perf_counter()
    # Numbers, as River's regression wants 0 and 1 of two classes.
    codes = {label: code for code, label in enumerate(table.classes)}
    accuracy, f1 = metrics.Accuracy(), metrics.MacroF1()  # type: ignore[no-untyped-call]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = contender.sampler(table, budget, seed)
            for step in evaluate.iter_progressive_val_score(
                stream(contender, table, codes),
                model,
                accuracy + f1,
                moment=None if table.moments is None or delay is None else attrgetter("at"),
                delay=delay,
            ):
                cm = accuracy.cm
                outcome.mistakes.append(round(cm.n_samples - cm.total_true_positives))
                outcome.labels.append(step["Samples used"])
                tick()
            outcome.n_predicted = round(accuracy.cm.n_samples)
            if not outcome.n_predicted:
                raise ValueError("it predicted nothing, as no label came before the last row")
            outcome.n_labels = model.n_queries
            outcome.accuracy = accuracy.get()  # type: ignore[no-untyped-call]
            outcome.macro_f1 = f1.get()  # type: ignore[no-untyped-call]
        except Exception as error:  # a result of its own: the others are run all the same
            outcome.error = " ".join(f"{type(error).__name__}: {error}".split())
    mine = [str(each.message) for each in told if issubclass(each.category, UserWarning)]
    outcome.notes = list(dict.fromkeys(mine))
    outcome.seconds = time.perf_counter() - start
    return outcome
