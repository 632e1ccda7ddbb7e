"""I-NeurAL beside refitted classifiers of scikit-learn, and River's learners, on tables."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from river import datasets
from river.datasets.base import Dataset
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

from river_ineural.benchmark.cells import Cell, read, results, run_cells, setting
from river_ineural.benchmark.changes import (
    OUTPUTS,
    OWN,
    PARTS,
    RIVER,
    best_of_river,
    cumulative,
    examples,
    joined,
    of_each,
    of_river,
    on_over_off,
    progress,
    ratio,
    summary,
)
from river_ineural.benchmark.changing import (
    Change,
    Floats,
    Integers,
    Source,
    Stream,
    ordered,
    shuffled,
    still,
    there,
)
from river_ineural.benchmark.contenders import X
from river_ineural.benchmark.drawing import colours, draw
from river_ineural.benchmark.figures import Rows, by_stream
from river_ineural.benchmark.learners import LEARNERS as NEURAL
from river_ineural.benchmark.learners import Run
from river_ineural.benchmark.tables import spread
from river_ineural.compare.refitted import REFITTED, Refitted, numbered, sampler

__all__ = ["LEARNERS", "STREAMS", "bank", "magic", "mistakes", "run", "run_one", "seconds"]

BUDGETS = (0.05, 0.1)
LEARNERS = (OWN, OUTPUTS, *PARTS, "NeurONAL, f1 and forest", *REFITTED, *RIVER)
WHOLE = 20_000  # rows of the longest file
FOREST = "random forest, refitted"
OVER = (0.3, 0.5, 0.7, 1, 2, 3, 5, 10)  # marks on the axis of ratios


def bundled(make: type[Dataset], seed: int) -> Stream:
    """A data set of River's, in an order that the seed draws."""
    examples = list(make())  # type: ignore[call-arg]
    x = np.array([[float(value) for value in x.values()] for x, _ in examples])
    y = np.unique([str(y) for _, y in examples], return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))
    return Stream(x[order], y[order])


def clustered(k: int) -> Change:
    """Classes are k clusters of the rows (k-means of standardised features)."""

    def change(x: Floats, y: Integers, seed: int) -> Stream:
        scaled = (x - x.mean(axis=0)) / x.std(axis=0)
        clusters = KMeans(k, n_init=1, random_state=0).fit_predict(scaled)
        return Stream(x, clusters.astype(np.int64))

    return change


STREAMS: dict[str, Source] = {
    **{name: shuffled(name, still, WHOLE) for name in ("magic", "spambase", "htru2", "robot")},
    **{name: ordered(name) for name in ("occupancy", "bank", "luxembourg", "weather", "sea")},
    **{name: shuffled(name, still, WHOLE) for name in ("phishing", "ijcnn")},
    "mnist": shuffled("mnist", still, WHOLE),
    "magic 7 clusters": shuffled("magic", clustered(7), WHOLE),
    "magic 26 clusters": shuffled("magic", clustered(26), WHOLE),
    "ImageSegments": Source(partial(bundled, datasets.ImageSegments)),
    "Bananas": Source(partial(bundled, datasets.Bananas)),
}


def magic(name: str = "magic") -> Iterator[tuple[X, int]]:
    """Rows of MAGIC, for `compare --streams river_ineural.benchmark.tabular:magic`."""
    stream = STREAMS[name].make(0)
    return zip(examples(stream.x), stream.y.tolist(), strict=True)


bank = partial(magic, "bank")


def make(cell: Cell, stream: Stream) -> Run:
    """The learner of a cell; each is told how long the stream is."""
    if cell.learner in REFITTED:
        return sampler(cell.learner, stream.x, cell.budget, cell.seed)
    n = len(stream.y)
    if cell.learner in NEURAL:
        limits = {"budget": cell.budget, "horizon": n, "seed": cell.seed}
        return NEURAL[cell.learner](limits)
    learner = of_river(cell.budget, told=True)[cell.learner]
    return learner(int(stream.y.max()) + 1, n, cell.seed)


def run_one(cell: Cell) -> dict[str, Any]:
    """Mistakes (the regret), labels asked for, both cumulative after each hundredth of the rounds.

    `seconds` is of the run, `row_by_row` what it would be if each answer were given on its own: for
    what is refitted that is estimated from some. A failure is a result too: its text is in `error`.
    """
    torch.set_num_threads(1)  # in a process of its own
    row: dict[str, Any] = {**asdict(cell), "error": ""}
    columns = ("regret", "queries", "seconds", "row_by_row", "fits", "curve", "asks")
    try:
        stream = STREAMS[cell.stream].make(cell.seed)
        n = min(cell.rounds or len(stream.y), len(stream.y))
        stream = Stream(stream.x[:n], stream.y[:n])
        model = make(cell, stream)
        start = time.process_time()
        xs = numbered(n) if cell.learner in REFITTED else examples(stream.x)
        wrong, asked = progress(model, xs, stream.y.tolist())
        seconds, fits = time.process_time() - start, 0
        row_by_row = seconds
        if isinstance(model.classifier, Refitted):
            fits = model.classifier.n_fits
            row_by_row += n * model.classifier.seconds_an_answer()
        row |= {"rounds": n, "regret": int(wrong.sum()), "queries": int(asked.sum())}
        row |= {"seconds": round(seconds, 2), "row_by_row": round(row_by_row, 2), "fits": fits}
        row |= {"curve": joined(cumulative(wrong)), "asks": joined(cumulative(asked))}
    except Exception as error:  # kept as a row
        row |= dict.fromkeys(columns, "") | {"error": f"{type(error).__name__}: {error}"}
    return row | setting() | {"river": version("river"), "sklearn": version("scikit-learn")}


def run(
    n_seeds: int,
    n_jobs: int,
    folder: Path,
    streams: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    rounds: int | None = None,
    budgets: Iterable[float] | None = None,
    assets: Path | None = None,
) -> None:
    """Run what is missing of tabular.csv in the folder, print its tables, and draw it.

    Runs of fewer rounds have a file of their own, tabular-ROUNDS.csv. Streams whose file is not
    there are left out.
    """
    path = results("tabular", folder, rounds)
    wanted = there(STREAMS, streams)
    cells = [
        Cell(stream, learner, budget, seed, rounds=rounds)
        for seed in range(n_seeds)
        for budget in budgets or BUDGETS
        for stream in wanted
        for learner in learners or LEARNERS
    ]
    run_cells(cells, path, n_jobs, run=run_one)
    found = read(path)
    for budget, rows in at_budgets(found).items():
        print(f"\n{100 * budget:g} % of the labels\n\n{mistakes(rows)}\n\n{seconds(rows)}")
    if assets is not None:
        draw_budgets(found, assets)


def at_budgets(found: list[dict[str, str]]) -> dict[float, Rows]:
    """Rows by stream and learner, of each budget."""
    budgets = sorted({float(row["budget"]) for row in found})
    return {b: by_stream([row for row in found if float(row["budget"]) == b]) for b in budgets}


def mistakes(rows: Rows) -> str:
    """Markdown: mistakes of each, a line a stream, and what ours are of theirs."""
    heads = ("rounds", OWN, *REFITTED, "River's best", "I-NeurAL over the forest")
    lines = [f"| stream | {' | '.join(heads)} |", "| --- " * (1 + len(heads)) + "|"]
    ratios: dict[str, dict[str, float]] = {name: {} for name in (*REFITTED, "River's best")}
    for stream in STREAMS:
        there = [name for name in LEARNERS if (stream, name) in rows]
        if not there:
            continue
        best = best_of_river(rows, stream)
        cells = [stream, f"{int(rows[stream, there[0]][0]['rounds']):,}"]
        cells += [spread(of_each(rows, stream, name), "{:,.0f}") for name in (OWN, *REFITTED)]
        shown = f"{spread(of_each(rows, stream, best), '{:,.0f}')} ({best})" if best else ""
        for name, learner in (*((name, name) for name in REFITTED), ("River's best", best)):
            if learner and (found := ratio(rows, stream, OWN, learner)):
                ratios[name][stream] = found
        over = ratios[FOREST].get(stream)
        lines.append(f"| {' | '.join([*cells, shown, f'{over:.2f}' if over else ''])} |")
    sentences = [f"Over {name}: {summary(found)}" for name, found in ratios.items()]
    if of_f2 := on_over_off(rows, STREAMS):
        sentences.append(of_f2)
    return "\n".join([*lines, "", *sentences])


def seconds(rows: Rows) -> str:
    """Markdown: seconds of a run, and of what is refitted those if each row is answered alone."""
    heads = (OWN, *(f"{name}{how}" for name in REFITTED for how in ("", ", row by row")))
    lines = [f"| stream | {' | '.join(heads)} |", "| --- " * (1 + len(heads)) + "|"]
    for stream in STREAMS:
        columns = [(OWN, "seconds")]
        columns += [(name, column) for name in REFITTED for column in ("seconds", "row_by_row")]
        found = [of_each(rows, stream, name, column) for name, column in columns]
        if any(found):
            cells = [f"{statistics.mean(each):,.1f}" if each else "" for each in found]
            lines.append(f"| {' | '.join([stream, *cells])} |")
    return "\n".join(lines)


def draw_budgets(found: list[dict[str, str]], folder: Path) -> None:
    """tabular-{light,dark}.svg: mistakes over those of I-NeurAL, a panel a share of labels.

    Over the mean of I-NeurAL's: means over seeds, with their range.
    """
    budgets = at_budgets(found)
    run = {stream for rows in budgets.values() for stream, _ in rows}
    shown = [name for name in STREAMS if name in run]
    if not shown:
        return
    colour = colours((OWN, *REFITTED, "River's best learner"))

    def paint(axes: Any) -> None:
        for panel, (budget, rows) in zip(axes.flat, budgets.items(), strict=False):
            for name in colour:
                at, ratios = [], []
                for i, stream in enumerate(shown):
                    learner = name if name in LEARNERS else best_of_river(rows, stream)
                    own = of_each(rows, stream, OWN)
                    if own and learner and (each := of_each(rows, stream, learner)):
                        at.append(i)
                        ratios.append(np.array(each) / statistics.mean(own))
                means = np.array([ratio.mean() for ratio in ratios])
                ends = [[ratio.min() for ratio in ratios], [ratio.max() for ratio in ratios]]
                panel.plot(means, at, "o", ms=5, color=colour[name], label=name)
                panel.hlines(at, *ends, color=colour[name], alpha=0.5, lw=2)
            panel.axvline(1, color="gray", lw=0.8, zorder=0)
            panel.set_yticks(range(len(shown)), shown)
            panel.invert_yaxis()
            panel.set(title=f"{100 * budget:g} % of the labels", xscale="log")
            panel.set_xticks(OVER, [f"{ratio:g}" for ratio in OVER])
            panel.set_xlabel("mistakes over those of I-NeurAL")
            panel.minorticks_off()

    draw(folder / "tabular", len(budgets), paint, panel=(7.0, 4.4))
