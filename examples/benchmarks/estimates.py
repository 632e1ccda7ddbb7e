"""How often the interval of `sampler.accuracy` holds the true accuracy, and how wide it is.

The tables and the streams that change, with a rate of 5 % and with a known horizon. A holdout that
takes a tenth of the labels for random rounds, and learns none of them, stands beside.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import changing
import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import tabular
from changing import Source
from common import chosen, markdown
from numpy.typing import NDArray
from river import preprocessing

from river_ineural import INeurAL
from river_ineural.active import Budget, BudgetedSampler, INeurALSampler, MarginSampler
from river_ineural.compare.contenders import at_random, regression

SHARE, LATE, LATEST, AUDIT = 0.05, 200, 2_000, 0.1
HELD = 0.1  # of the labels, for a holdout
WIDE = ("mnist", "fashion")  # streams with hundreds of features, which are left out
STREAMS: dict[str, Source] = tabular.STREAMS | {
    name: each for name, each in changing.PANEL.items() if not name.startswith(WIDE)
}
OWN, DELAYED, AUDITED = "I-NeurAL", f"I-NeurAL, labels {LATE} late", f"I-NeurAL, audit {AUDIT}"
MARGIN, RANDOM = "logistic regression, by margin", "logistic regression, at random"
LEARNERS = (OWN, DELAYED, AUDITED, MARGIN, RANDOM)
AT = ("half", "end", "latest")
TOLD = ("true", "value", "low", "high", "labels", "naive", "held_low", "held_high")
NAMES = ("stream", "learner", "known", "seed")  # columns that identify a run
COLUMNS = (
    *(*NAMES, "rounds", "error", "regret", "queries", "seconds"),
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
    if run.learner in (OWN, DELAYED, AUDITED):
        audit = AUDIT if run.learner == AUDITED else 0.0
        return INeurALSampler(INeurAL(seed=run.seed), budget=budget, seed=seed, audit=audit)
    classifier: Any = preprocessing.StandardScaler() | regression(n_classes, run.seed)
    if run.learner == MARGIN:
        return MarginSampler(classifier, budget=budget, seed=seed)
    return at_random(classifier, budget, seed)


def measure(run: Run) -> common.Row:
    """The true accuracy and the estimate, half-way, at the end, and of the latest 2,000 rounds."""
    stream = STREAMS[run.stream].make(run.seed)
    n = min(run.rounds or len(stream.y), len(stream.y))
    y, model = stream.y[:n].tolist(), sampler(run, n, int(stream.y.max()) + 1)
    delay = LATE if run.learner == DELAYED else 0
    right, asked = np.full(n, np.nan), np.zeros(n, bool)
    held = np.random.default_rng(run.seed + 1).random(n) < HELD * SHARE
    due: list[tuple[int, int]] = []  # when, which question
    row: common.Row = {}
    see = partial(seen, model, right, asked, held)
    for t, x in enumerate(common.examples(stream.x[:n])):
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
    return {f"{at}_{name}": round(float(v), 5) for name, v in zip(TOLD, values, strict=True)}


def wilson(right: NDArray[np.float64], z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share in random labels."""
    n = len(right)
    if not n:
        return 0.0, 1.0
    p, least = right.mean(), z * z / n
    half = z * math.sqrt(p * (1 - p) / n + least / (4 * n))
    return (p + least / 2 - half) / (1 + least), (p + least / 2 + half) / (1 + least)


def summary(rows: pd.DataFrame, at: Sequence[str] = AT) -> dict[str, float]:
    """Of these rows: runs, intervals that hold the truth, and half widths and errors on average."""
    held, wide, off, naive, out, out_wide = ([] for _ in range(6))
    for each in at:
        here = rows[rows[f"{each}_true"].notna()]
        true, value, low, high, _, share, *ends = (here[f"{each}_{name}"] for name in TOLD)
        held += [*((low <= true + 1e-9) & (true <= high + 1e-9))]
        wide += [*((high - low) / 2)]
        off += [*(value - true)]
        naive += [*(share - true).dropna()]
        out += [*((ends[0] <= true) & (true <= ends[1]))]
        out_wide += [*((ends[1] - ends[0]) / 2)]
    means = (float(np.mean(each)) for each in (held, wide, off, naive, out, out_wide))
    names = ("held", "width", "bias", "naive", "holdout", "holdout width")
    return {"intervals": len(held), **dict(zip(names, means, strict=True))}


def groups(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with a column `kind`: tables, or streams that change."""
    kinds = np.where(rows["stream"].isin([*tabular.STREAMS]), "tables", "changing")
    return rows.assign(kind=kinds)


def table(rows: pd.DataFrame) -> str:
    """A line for each learner, kind of stream and budget, and when the estimate was read."""
    lines = []
    for (learner, kind, known), each in groups(rows).groupby(["learner", "kind", "known"]):
        for at in AT:
            if not each[f"{at}_true"].notna().any():
                continue
            found = summary(each, [at])
            cells = [f"{found['held']:.1%}", *(f"{found[n]:.3f}" for n in ("width", "bias"))]
            cells += [f"{found['naive']:.2f}", f"{found['holdout']:.1%}"]
            budget = "horizon" if known else "rate"
            who = (str(learner), str(kind), budget, at, f"{found['intervals']:.0f}")
            lines.append([*who, *cells, f"{found['holdout width']:.3f}"])
    heads = ("learner", "streams", "budget", "rounds", "intervals", "hold the truth")
    more = ("half width", "error", "naive error", "holdout holds", "half width")
    return markdown((*heads, *more), lines)


def cost(rows: pd.DataFrame) -> str:
    """What an audit costs in mistakes, and what it gains in width, by budget, on the tables."""
    lines = []
    for known, each in chosen(groups(rows), kind="tables").groupby("known"):
        over = common.ratios(each, AUDITED, OWN, tabular.STREAMS)
        if len(over):
            wide = [summary(chosen(each, learner=name), ["end"]) for name in (OWN, AUDITED)]
            cells = (f"{found['width']:.3f}" for found in wide)
            ratio = f"{common.geometric(over):.3f}"
            lines.append(["horizon" if known else "rate", ratio, *cells])
    return markdown(("budget", "mistakes over those without", "width without", "with"), lines)


def main() -> None:
    """Run the missing runs, and print the tables."""
    given = common.options({"estimates": []}, __doc__, 5, streams=STREAMS, learners=LEARNERS)
    streams = changing.there(STREAMS, given.streams)
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
