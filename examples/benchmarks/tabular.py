"""Mistakes on tabular data, compared with refitted scikit-learn classifiers and with River's."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import of_activeml
import pandas as pd  # type: ignore[import-untyped]
from changing import ORDERED, Source, Stream, ordered, shuffled, there
from common import Cell, Row, best, by_stream, chosen, geometric, markdown, ratios
from drawing import colours, draw
from learners import (
    ACTIVEML,
    ACTIVEMLS,
    BEST,
    MOAS,
    OUTPUTS,
    OWN,
    PARTS,
    QUERIES,
    REFITTED,
    STREAMING,
    WITHOUT_PLANES,
    new,
    refitted,
)
from river import datasets
from river.datasets.base import Dataset

from river_ineural.compare.refitted import numbered

MEASURED = ("row_by_row", "fits", "curve", "asks")
COLUMNS = (*common.COUNTED, *MEASURED, *common.MACHINE, "river", "sklearn")
LEARNERS = (
    *(OWN, OUTPUTS, *PARTS, WITHOUT_PLANES, *QUERIES, *REFITTED, *STREAMING),
    *(ACTIVEML if of_activeml.THERE else ()),
)
OTHERS = (*REFITTED, BEST, MOAS)
SINGLE = 100  # rows whose predictions are timed one by one
FOREST = "random forest, refitted"
OVER = (0.3, 0.5, 1, 2, 5, 10)  # marks on the axis of ratios


def bundled(make: type[Dataset], seed: int) -> Stream:
    """A data set of River, shuffled by the seed."""
    rows = list(make())  # type: ignore[call-arg]
    x = np.array([[float(value) for value in x.values()] for x, _ in rows])
    y = np.unique([str(y) for _, y in rows], return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))
    return Stream(x[order], y[order])


STREAMS: dict[str, Source] = {
    **{name: shuffled(name, n=ORDERED) for name in ("magic", "spambase", "htru2", "robot")},
    **{name: ordered(name) for name in ("occupancy", "bank", "luxembourg", "weather", "sea")},
    **{name: shuffled(name, n=ORDERED) for name in ("phishing", "ijcnn")},
    "ImageSegments": Source(partial(bundled, datasets.ImageSegments)),
    "Bananas": Source(partial(bundled, datasets.Bananas)),
}


def measure(cell: Cell, streams: Mapping[str, Source] = STREAMS) -> Row:
    """Mistakes of a learner that knows the length of the stream.

    `row_by_row` is the time in seconds if each row were predicted on its own. For refitted learners
    it is estimated from the first rows.
    """
    stream = streams[cell.stream].make(cell.seed)
    n = min(cell.rounds or len(stream.y), len(stream.y))
    x, y = stream.x[:n], stream.y[:n].tolist()
    if cell.learner not in (*REFITTED, *ACTIVEML):
        model = new(cell.learner, cell.budget, n, cell.seed, int(stream.y.max()) + 1)
        row = common.follow(model, common.examples(x), y)
        return row | {"row_by_row": row["seconds"], "fits": 0}
    model = refitted(cell.learner, x, cell.budget, cell.seed)
    row = common.follow(model, numbered(x), y)
    by_hand: Any = model.classifier
    start, several = time.process_time(), range(min(SINGLE, n) if by_hand.model else 0)
    for t in several:
        by_hand.model.predict_proba(x[t : t + 1])
    alone = (time.process_time() - start) * n / max(1, len(several))
    return row | {"row_by_row": round(row["seconds"] + alone, 2), "fits": by_hand.n_fits}


def mistakes(rows: pd.DataFrame) -> str:
    """Mistakes of each learner, a line per stream, with the highest ratio first."""
    rows = best(rows)
    others = [name for name in OTHERS if name in {*rows["learner"]}]
    over = pd.DataFrame({name: ratios(rows, OWN, name, STREAMS) for name in others}).max(axis=1)
    lines = []
    over = over.reindex([stream for stream in STREAMS if stream in {*rows["stream"]}])
    for stream, ratio in over.sort_values(ascending=False).items():
        here = chosen(rows, stream=stream)
        cells = (by_stream(here, [stream], learner=name)[0] for name in (OWN, *others))
        shown = "" if np.isnan(ratio) else f"{ratio:.2f}"
        lines.append([stream, f"{here['rounds'].iloc[0]:,.0f}", *cells, shown])
    heads = ("stream", "rounds", OWN, *others, "I-NeurAL over the best other")
    return markdown(heads, lines)


def summaries(rows: pd.DataFrame) -> str:
    """Mistakes of I-NeurAL over those of each other learner, a line per learner."""
    lines = []
    for name in (*OTHERS, ACTIVEMLS):
        if len(found := ratios(best(rows), OWN, name, STREAMS)):
            ends = (f"{found[at]:.2f} ({at})" for at in (found.idxmax(), found.idxmin()))
            more = f"{(found > 1).sum()} of {len(found)}"
            lines.append([name, f"{geometric(found):.2f}", *ends, more])
    heads = ("I-NeurAL over", "geometric mean", "highest", "lowest", "more mistakes on")
    return markdown(heads, lines)


def seconds(rows: pd.DataFrame) -> str:
    """Seconds of a run, and for refitted learners also if each row is predicted on its own."""
    heads = (OWN, *(f"{name}{how}" for name in REFITTED for how in ("", ", row by row")))
    means = rows.groupby(["stream", "learner"])[["seconds", "row_by_row"]].mean().unstack()
    columns = [("seconds", OWN)]
    columns += [(column, name) for name in REFITTED for column in ("seconds", "row_by_row")]
    means = means.reindex(index=[s for s in STREAMS if s in means.index], columns=columns)
    lines = [[s, *("" if v != v else f"{v:,.1f}" for v in row)] for s, *row in means.itertuples()]
    return markdown(("stream", *heads), lines)


def draw_budgets(rows: pd.DataFrame, folder: Path) -> None:
    """Draw tabular-{light,dark}.svg: mistakes over the mean of I-NeurAL's, a panel per budget.

    Points are means over seeds, bars the ranges over seeds.
    """
    rows = best(rows)
    shown = [stream for stream in STREAMS if stream in {*rows["stream"]}]
    budgets = sorted(rows["budget"].unique())
    colour = colours((OWN, *REFITTED, BEST))

    def paint(axes: Any) -> None:
        for panel, budget in zip(axes.flat, budgets, strict=False):
            here = chosen(rows, budget=budget)
            own = chosen(here, learner=OWN).groupby("stream")["regret"].mean()
            for name in colour:
                each = chosen(here, learner=name).groupby("stream")["regret"]
                over = each.agg(["mean", "min", "max"]).div(own, axis=0).reindex(shown)
                at = range(len(shown))
                panel.plot(over["mean"], at, "o", ms=5, color=colour[name], label=name)
                panel.hlines(at, over["min"], over["max"], color=colour[name], alpha=0.5, lw=2)
            panel.axvline(1, color="gray", lw=0.8, zorder=0)
            panel.set_yticks(range(len(shown)), shown)
            panel.invert_yaxis()
            panel.set(title=f"{100 * budget:g} % of the labels", xscale="log")
            panel.set_xticks(OVER, [f"{ratio:g}" for ratio in OVER])
            panel.set_xlabel("mistakes over those of I-NeurAL")
            panel.minorticks_off()

    draw(folder / "tabular", len(budgets), paint, height=3.8)


def main() -> None:
    """Run the missing cells, print the tables and draw the figure."""
    given = common.options({"tabular": [0.05, 0.1]}, __doc__, 3, streams=STREAMS, learners=LEARNERS)
    given.streams = there(STREAMS, given.streams)
    rows = common.run(given, COLUMNS, measure, LEARNERS)
    for budget, each in rows.groupby("budget"):
        tables = mistakes(each), summaries(each), seconds(each)
        print(f"\n{100 * budget:g} % of the labels", *tables, sep="\n\n")
    if given.assets:
        draw_budgets(rows, given.assets)


if __name__ == "__main__":
    main()
