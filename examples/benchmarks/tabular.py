"""Mistakes on tables, beside classifiers of scikit-learn that are fitted again, and River's."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from changes import BEST, best_of_river, of_f2, ratios
from changing import ORDERED, Source, Stream, clustered, ordered, shuffled, there
from common import Cell, Row, geometric, markdown, of, spread
from drawing import colours, draw
from learners import OUTPUTS, OWN, PARTS, REFITTED, RIVER, new, refitted
from river import datasets
from river.datasets.base import Dataset

from river_ineural.compare.refitted import numbered

MEASURED = ("row_by_row", "fits", "curve", "asks")
COLUMNS = (*common.COUNTED, *MEASURED, *common.MACHINE, "river", "sklearn")
LEARNERS = (OWN, OUTPUTS, *PARTS, "NeurONAL, f1 and forest", *REFITTED, *RIVER)
SINGLE = 100  # rows whose answers are timed one by one
FOREST = "random forest, refitted"
OVER = (0.3, 0.5, 0.7, 1, 2, 3, 5, 10)  # marks on the axis of ratios


def bundled(make: type[Dataset], seed: int) -> Stream:
    """A data set of River's, in an order that the seed draws."""
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
MANY: dict[str, Source] = {  # of several classes, of which no page has a table
    "mnist": shuffled("mnist", n=ORDERED),
    **{f"magic {k} clusters": shuffled("magic", partial(clustered, k), ORDERED) for k in (7, 26)},
}


def magic() -> Iterator[tuple[common.X, int]]:
    """Rows of MAGIC, for `accuracy.py --streams tabular:magic`."""
    stream = STREAMS["magic"].make(0)
    return zip(common.examples(stream.x), stream.y.tolist(), strict=True)


def measure(cell: Cell) -> Row:
    """Mistakes of a learner that is told how long the stream is.

    `row_by_row` are the seconds if each answer were given on its own: for what is refitted they are
    estimated from some.
    """
    stream = (STREAMS | MANY)[cell.stream].make(cell.seed)
    n = min(cell.rounds or len(stream.y), len(stream.y))
    x, y = stream.x[:n], stream.y[:n].tolist()
    if cell.learner not in REFITTED:
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


def over_rivals(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """On each stream mistakes of ours over those of each other, by name."""
    over = {name: ratios(rows, OWN, name, STREAMS) for name in REFITTED}
    best = {s: name for s in STREAMS if (name := best_of_river(rows, s))}
    found = [ratios(rows, OWN, name, [stream]) for stream, name in best.items()]
    return {**over, BEST: pd.concat(found) if found else pd.Series(dtype=float)}


def mistakes(rows: pd.DataFrame) -> str:
    """Mistakes of each, a line a stream, first those where ours is least ahead of the others."""
    heads = ("stream", "rounds", OWN, *REFITTED, BEST, "I-NeurAL over the best other")
    most = pd.DataFrame(over_rivals(rows)).max(axis=1).sort_values(ascending=False)
    alone = [s for s in STREAMS if s not in most and of(rows, stream=s, learner=OWN)]
    lines = []
    for stream in [*most.index, *alone]:
        best = best_of_river(rows, stream) or ""
        shown = [spread(of(rows, stream=stream, learner=name)) for name in (OWN, *REFITTED)]
        shown += [f"{spread(of(rows, stream=stream, learner=best))} ({best})" if best else ""]
        over = f"{most[stream]:.2f}" if stream in most else ""
        lines.append([stream, f"{of(rows, 'rounds', stream=stream)[0]:,.0f}", *shown, over])
    return markdown(heads, lines)


def summaries(rows: pd.DataFrame) -> str:
    """Mistakes of ours over those of each other, a line each."""
    lines = [
        [
            *(name, f"{geometric(found):.2f}", f"{found.max():.2f} ({found.idxmax()})"),
            *(f"{found.min():.2f} ({found.idxmin()})", f"{(found > 1).sum()} of {len(found)}"),
        ]
        for name, found in over_rivals(rows).items()
        if len(found)
    ]
    heads = ("I-NeurAL over", "geometric mean", "highest", "lowest", "more mistakes on")
    return markdown(heads, lines)


def seconds(rows: pd.DataFrame) -> str:
    """Seconds of a run, and of what is refitted those if each row is answered alone."""
    heads = (OWN, *(f"{name}{how}" for name in REFITTED for how in ("", ", row by row")))
    columns = [(OWN, "seconds")]
    columns += [(name, column) for name in REFITTED for column in ("seconds", "row_by_row")]
    lines = []
    for stream in STREAMS:
        found = [of(rows, column, stream=stream, learner=name) for name, column in columns]
        if any(found):
            lines.append([stream, *(f"{np.mean(each):,.1f}" if each else "" for each in found)])
    return markdown(("stream", *heads), lines)


def draw_budgets(rows: pd.DataFrame, folder: Path) -> None:
    """Draw tabular-{light,dark}.svg: mistakes over the mean of I-NeurAL's, a panel a budget.

    They are means over seeds, with their range.
    """
    shown = [stream for stream in STREAMS if stream in set(rows["stream"])]
    budgets = sorted(rows["budget"].unique())
    colour = colours((OWN, *REFITTED, BEST))

    def paint(axes: Any) -> None:
        for panel, budget in zip(axes.flat, budgets, strict=False):
            here = rows[rows["budget"] == budget]
            for name in colour:
                at, found = [], []
                for i, stream in enumerate(shown):
                    learner = best_of_river(here, stream) if name == BEST else name
                    own, each = (of(here, stream=stream, learner=n) for n in (OWN, learner))
                    if own and each:
                        at.append(i)
                        found.append(np.array(each) / np.mean(own))
                means = np.array([ratio.mean() for ratio in found])
                ends = [[ratio.min() for ratio in found], [ratio.max() for ratio in found]]
                panel.plot(means, at, "o", ms=5, color=colour[name], label=name)
                panel.hlines(at, *ends, color=colour[name], alpha=0.5, lw=2)
            panel.axvline(1, color="gray", lw=0.8, zorder=0)
            panel.set_yticks(range(len(shown)), shown)
            panel.invert_yaxis()
            panel.set(title=f"{100 * budget:g} % of the labels", xscale="log")
            panel.set_xticks(OVER, [f"{ratio:g}" for ratio in OVER])
            panel.set_xlabel("mistakes over those of I-NeurAL")
            panel.minorticks_off()

    if shown:
        draw(folder / "tabular", len(budgets), paint, panel=(7.0, 4.4))


def main() -> None:
    """Run what is missing, print the tables and draw the figure."""
    every = STREAMS | MANY
    given = common.options("tabular", __doc__, 3, 0.05, 0.1, streams=every, learners=LEARNERS)
    given.streams = there(every, given.streams or STREAMS)
    rows = common.run(given, COLUMNS, measure, LEARNERS)
    for budget, each in rows.groupby("budget"):
        tables = mistakes(each), summaries(each), seconds(each), *of_f2(each, STREAMS)
        print(f"\n{100 * budget:g} % of the labels", *tables, sep="\n\n")
    if given.assets:
        draw_budgets(rows, given.assets)


if __name__ == "__main__":
    main()
