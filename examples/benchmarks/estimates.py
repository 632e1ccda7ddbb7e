"""How often the interval of `sampler.accuracy` holds the true accuracy, and how wide it is.

The tables, those of `foreign.py`, the streams that change, and labels that no feature tells, with a
rate of 5 % and with a known horizon. A holdout that takes a tenth of the labels for random rounds,
and learns none of them, stands beside.
"""

import math
import zlib
from dataclasses import dataclass
from functools import partial
from typing import Any

import changing
import common
import foreign
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import tabular
from changing import Source
from common import X, markdown
from numpy.typing import NDArray
from river import preprocessing

from river_ineural import INeurAL
from river_ineural.active import Budget, BudgetedSampler, INeurALSampler, MarginSampler
from river_ineural.active.bounds import most_of
from river_ineural.compare.contenders import at_random, regression

SHARE, LATE, LATEST, AUDIT = 0.05, 200, 2_000, 0.1
HELD = 0.1  # of the labels, for a holdout
WIDE = ("mnist", "fashion")  # streams with hundreds of features, which are left out
STREAMS: dict[str, Source] = tabular.STREAMS | {
    name: each for name, each in changing.PANEL.items() if not name.startswith(WIDE)
}
CHANCE = {f"{share:.0%} at random": share for share in (0.05, 0.15, 0.4)}  # of the rarer class
CHANCES, FEATURES = 2_000, 5  # rows of these streams
TABLES, NOISY, CHANGING = "tables", "noisy tables", "streams that change"
GUESSED = "labels of chance"
OWN, DELAYED, AUDITED = "I-NeurAL", f"I-NeurAL, labels {LATE} late", f"I-NeurAL, audit {AUDIT}"
MARGIN, RANDOM = "logistic regression, by margin", "logistic regression, at random"
OURS = OWN, DELAYED, AUDITED
LEARNERS = (*OURS, MARGIN, RANDOM)
AT = ("half", "end", "latest")
TOLD = ("true", "value", "low", "high", "labels", "naive", "held_low", "held_high")
NAMES = ("stream", "learner", "known", "seed")  # columns that identify a run
COLUMNS = (
    *(*NAMES, "rounds", "error", "regret", "queries"),
    *(f"{at}_{name}" for at in AT for name in TOLD),
    *common.MACHINE,
)


@dataclass(frozen=True)
class Run:
    """A learner on a stream; `known` says whether it knows the number of rounds."""

    stream: str
    learner: str
    known: bool
    seed: int
    rounds: int | None = None  # at most; None: the whole stream


def sampler(run: Run, n: int, n_classes: int) -> BudgetedSampler:
    """A new sampler. Its draws do not depend on those of the stream, or of another stream."""
    budget = Budget(SHARE, n if run.known else None)
    seed = zlib.crc32(f"{run.stream} {run.known} {run.seed}".encode())
    if run.learner in OURS:
        audit = AUDIT if run.learner == AUDITED else 0.0
        encoding = foreign.ENCODING if run.stream in foreign.STREAMS else {}
        learner = INeurAL(seed=run.seed, **encoding)
        return INeurALSampler(learner, budget=budget, seed=seed, audit=audit)
    classifier: Any = preprocessing.StandardScaler() | regression(n_classes, run.seed)
    if run.learner == MARGIN:
        return MarginSampler(classifier, budget=budget, seed=seed)
    return at_random(classifier, budget, seed)


def examples(run: Run) -> tuple[list[X], list[int]]:
    """The examples and their classes; only ours take text and missing values as they are."""
    if run.stream in STREAMS:
        stream = STREAMS[run.stream].make(run.seed)
        return list(common.examples(stream.x)), stream.y.tolist()
    if run.stream in CHANCE:
        rng = np.random.default_rng([run.seed, round(100 * CHANCE[run.stream])])
        x, u = rng.normal(size=(CHANCES, FEATURES)), rng.random(CHANCES)
        return list(common.examples(x)), [int(each < CHANCE[run.stream]) for each in u]
    rows = foreign.table(run.stream, run.seed)
    own = run.learner in OURS
    xs = rows.examples() if own else common.examples(foreign.one_hot(rows.features))
    return list(xs), np.unique(rows.labels, return_inverse=True)[1].tolist()


def measure(run: Run) -> common.Row:
    """The true accuracy and the estimate, half-way, at the end, and of the latest 2,000 rounds."""
    xs, y = examples(run)
    n = min(run.rounds or len(y), len(y))
    model = sampler(run, n, max(y) + 1)
    delay = LATE if run.learner == DELAYED else 0
    right, asked = np.full(n, np.nan), np.zeros(n, bool)
    held = np.random.default_rng(run.seed + 1).random(n) < HELD * SHARE
    due: list[tuple[int, int]] = []  # when, which question
    row: common.Row = {}
    see = partial(seen, model, right, asked, held)
    for t, x in enumerate(xs[:n]):
        while due and due[0][0] <= t:
            model.answer(query := due.pop(0)[1], y[query - 1])
        decision = model.decide_one(x)
        if decision.label is not None:
            right[t] = decision.label == y[t]
        if decision.query is not None:
            asked[t] = True
            due.append((t + delay, decision.query))
            if not delay:
                model.answer(due.pop()[1], y[t])
        if t + 1 == n // 2:
            row |= see("half", 0, t + 1)
    row |= see("end", 0, n)
    if n > LATEST + LATEST // 2:
        row |= see("latest", n - LATEST, n)
    wrong = int(n - np.nansum(right))
    return row | {"rounds": n, "regret": wrong, "queries": model.n_queries}


def seen(
    model: BudgetedSampler,
    right: NDArray[np.float64],
    asked: NDArray[np.bool_],
    held: NDArray[np.bool_],
    at: str,
    start: int,
    stop: int,
) -> common.Row:
    """What is true, and what is estimated, of the rounds from start to stop."""
    told = model.accuracy if start == 0 else model.accuracy_since(stop - start)
    here = slice(start, stop)
    there = ~np.isnan(right[here])
    found, close = right[here][there], right[here][there & asked[here]]
    low, high = wilson(right[here][there & held[here]])
    naive = close.mean() if len(close) else math.nan
    values = (found.mean(), *told, naive, low, high)
    return {f"{at}_{name}": round(float(v), 6) for name, v in zip(TOLD, values, strict=True)}


def wilson(right: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval of a share in random labels."""
    n, k = len(right), float(right.sum())
    return 1 - most_of(n - k, n), most_of(k, n)


def groups(rows: pd.DataFrame) -> Any:
    """The rows by learner, kind of stream, and whether the number of rounds is known."""
    kinds = np.where(rows["stream"].isin([*tabular.STREAMS]), TABLES, CHANGING)
    kinds = np.where(rows["stream"].isin([*foreign.STREAMS]), NOISY, kinds)
    kinds = np.where(rows["stream"].isin([*CHANCE]), GUESSED, kinds)
    budgets = np.where(rows["known"].astype(str) == "True", "horizon", "rate")
    order = pd.Categorical(rows["learner"], LEARNERS)
    named = rows.assign(kind=kinds, budget=budgets, learner=order)
    return named.groupby(["learner", "kind", "budget"], observed=True)


def holding(rows: pd.DataFrame, low: str = "low", high: str = "high") -> list[bool]:
    """Whether each interval holds the truth, of all three kinds of rounds."""
    found: list[bool] = []
    for at in AT:
        here = rows[rows[f"{at}_true"].notna()]
        true = here[f"{at}_true"]
        found += [*((here[f"{at}_{low}"] <= true) & (true <= here[f"{at}_{high}"]))]
    return found


def width(rows: pd.DataFrame, at: str = "end", low: str = "low", high: str = "high") -> float:
    """Half the width of the intervals, on average."""
    return float((rows[f"{at}_{high}"] - rows[f"{at}_{low}"]).mean() / 2)


def table(rows: pd.DataFrame) -> str:
    """Intervals that hold the truth, and half widths at the end and of the latest rounds."""
    lines = []
    for names, each in groups(rows):
        held, out = holding(each), holding(each, "held_low", "held_high")
        cells = [f"{len(held):,}", f"{100 * np.mean(held):.1f}", f"{width(each):.3f}"]
        naive = round((each.end_naive - each.end_true).mean(), 2) + 0.0  # not -0.00
        latest = width(each, "latest")  # NaN where streams are too short
        cells += ["" if math.isnan(latest) else f"{latest:.3f}", f"{naive:.2f}"]
        cells += [f"{100 * np.mean(out):.1f}", f"{width(each, 'end', 'held_low', 'held_high'):.3f}"]
        lines.append([*names, *cells])
    heads = ("learner", "on", "budget", "intervals", "hold the truth (%)", "half width")
    more = ("of the latest 2,000", "naive error", "holdout holds (%)", "its half width")
    return markdown((*heads, *more), lines)


def cost(rows: pd.DataFrame) -> str:
    """What an audit of a tenth costs in mistakes, and what it gains in width, on tables."""
    lines, found = [], dict(list(groups(rows)))
    for budget in ("rate", "horizon"):
        plain, audited = (found[learner, TABLES, budget] for learner in (OWN, AUDITED))
        same = plain.merge(audited[["stream", "seed"]])
        over = common.ratios(pd.concat([same, audited]), AUDITED, OWN, tabular.STREAMS)
        ratio = f"{common.geometric(over):.3f}"
        lines.append([budget, ratio, f"{width(same):.3f}", f"{width(audited):.3f}"])
    return markdown(("budget", "mistakes over those without", "half width without", "with"), lines)


def main() -> None:
    """Run the missing runs, and print the tables."""
    names = [*STREAMS, *foreign.STREAMS, *CHANCE]
    given = common.options({"estimates": []}, __doc__, 5, streams=names, learners=LEARNERS)
    wanted = given.streams or names
    streams = changing.there(STREAMS, [name for name in wanted if name in STREAMS])
    streams += [name for name in wanted if name in {*foreign.STREAMS, *CHANCE}]
    runs = [
        Run(stream, learner, known, seed, given.rounds)
        for seed in range(given.seeds)
        for learner in given.learners or LEARNERS
        for known in (False, True)
        for stream in streams
    ]
    common.run_cells(runs, given.path, COLUMNS, measure, given.jobs, NAMES)  # type: ignore[arg-type]
    rows = common.read(given.path)
    print("", table(rows), cost(rows), sep="\n\n")


if __name__ == "__main__":
    main()
