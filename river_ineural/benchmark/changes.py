"""I-NeurAL beside River's learners on streams that change, at the same share of the labels."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from river import base

from river_ineural.active import Budget, BudgetedSampler
from river_ineural.benchmark.cells import Cell, read, results, run_cells, setting
from river_ineural.benchmark.changing import FLIPS, PANEL, STILL, STREAMS, there
from river_ineural.benchmark.contenders import X
from river_ineural.benchmark.drawing import colours, draw
from river_ineural.benchmark.figures import Rows, by_stream
from river_ineural.benchmark.learners import LEARNERS as NEURAL
from river_ineural.benchmark.learners import Run
from river_ineural.benchmark.tables import spread
from river_ineural.compare.streaming import (
    adaptive_forest,
    at_random,
    by_margin,
    hoeffding,
    linear,
)

__all__ = ["LEARNERS", "flips", "panel", "run", "run_one", "standing"]

SHARE = 0.05  # of the labels
POINTS = 100  # of the curves
AFTER = 1_500  # rounds after a label flip that are left out of the accuracy
DRAWN = (
    *("label flip", "mixed", "agrawal gradual"),
    *("phishing back", "mnist arriving", "magic gradual"),
)

Make = Callable[[int, int, int], Run]  # of k classes, n rounds and a seed
Classifier = Callable[[int, int], base.Classifier]  # of k classes and a seed
Floats = NDArray[np.floating[Any]]


def ours(name: str, told: bool = False) -> Make:
    """One of the benchmark's learners, told how long the stream is or not."""
    return lambda k, n, seed: NEURAL[name](
        {"budget": SHARE, "horizon": n if told else None, "seed": seed}
    )


def of_river(share: float, told: bool) -> dict[str, Make]:
    """River's learners at a share of the labels, told how long the stream is or not."""

    def learner(classifier: Classifier, ask: Callable[..., BudgetedSampler]) -> Make:
        return lambda k, n, seed: ask(classifier(k, seed), Budget(share, n if told else None), seed)

    return {
        f"{name}, {how}": learner(classifier, ask)
        for name, classifier in (
            ("logistic regression", linear),
            ("Hoeffding adaptive tree", hoeffding),
            ("adaptive random forest", adaptive_forest),
        )
        for how, ask in (("at random", at_random), ("by margin", by_margin))
    }


RIVER = of_river(SHARE, told=False)
OWN, TOLD, OUTPUTS = "I-NeurAL", "I-NeurAL, length given", "NeurONAL"
FOREST_ONLY, NETWORK_ONLY, ALONE = "f1 and forest", "f1 and f2", "f1 alone"
PARTS = (FOREST_ONLY, NETWORK_ONLY, ALONE)
LEARNERS: dict[str, Make] = {
    **{name: ours(name) for name in (OWN, OUTPUTS, *PARTS)},
    TOLD: ours(OWN, told=True),
    **RIVER,
}


def learners_of(stream: str) -> tuple[str, ...]:
    """What is compared on a stream; where nothing changes, whether the length is given."""
    return (OWN, OUTPUTS, *PARTS, TOLD) if stream in STILL else (OWN, OUTPUTS, *PARTS, *RIVER)


def run_one(cell: Cell) -> dict[str, Any]:
    """Mistakes (the regret), labels asked for, both cumulative after each hundredth of the rounds.

    `drifts` are the rounds in which the learner noticed a change, where it says so. A failure is a
    result too: its text is in `error`.
    """
    torch.set_num_threads(1)  # in a process of its own
    row: dict[str, Any] = {**asdict(cell), "error": ""}
    columns = ("regret", "queries", "seconds", "changes", "drifts", "curve", "asks")
    try:
        stream = STREAMS[cell.stream].make(cell.seed)
        n = min(cell.rounds or len(stream.y), len(stream.y))
        model = LEARNERS[cell.learner](int(stream.y.max()) + 1, n, cell.seed)
        start = time.process_time()
        wrong, asked = progress(model, examples(stream.x[:n]), stream.y[:n].tolist())
        row |= {"rounds": n, "regret": int(wrong.sum()), "queries": int(asked.sum())}
        row |= {"seconds": round(time.process_time() - start, 2)}
        row |= {"changes": joined(stream.changes), "drifts": joined(getattr(model, "drifts", ()))}
        row |= {"curve": joined(cumulative(wrong)), "asks": joined(cumulative(asked))}
    except Exception as error:  # kept as a row
        row |= dict.fromkeys(columns, "") | {"error": f"{type(error).__name__}: {error}"}
    return row | setting() | {"river": version("river")}


def examples(x: Floats) -> Iterator[X]:
    """Rows (n, d) as dicts."""
    names = [str(j) for j in range(x.shape[1])]
    return (dict(zip(names, values, strict=True)) for values in x.tolist())


def progress(
    model: Run, xs: Iterable[X], ys: list[int]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """In which rounds the prediction was wrong, and in which a label was asked for and learned."""
    wrong, asked = np.zeros(len(ys), bool), np.zeros(len(ys), bool)
    for t, (x, y) in enumerate(zip(xs, ys, strict=True)):
        predicted, asked[t] = model.predict_one(x)
        wrong[t] = predicted != y
        if asked[t]:
            model.learn_one(x, y)
    return wrong, asked


def cumulative(happened: NDArray[np.bool_]) -> list[int]:
    """How often by the end of each hundredth of the rounds."""
    n = len(happened)
    ends = [-(-i * n // POINTS) for i in range(1, POINTS + 1)]
    counts: list[int] = np.cumsum(happened)[np.array(ends) - 1].tolist()
    return counts


def joined(numbers: Iterable[int]) -> str:
    """As a cell of a file."""
    return " ".join(map(str, numbers))


def run(
    n_seeds: int,
    n_jobs: int,
    folder: Path,
    streams: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    rounds: int | None = None,
    assets: Path | None = None,
) -> None:
    """Run what is missing of changes.csv in the folder, print its tables, and draw it.

    Runs of fewer rounds have a file of their own, changes-ROUNDS.csv. Streams whose file is not
    there are left out.
    """
    path = results("changes", folder, rounds)
    wanted = there(STREAMS, streams)
    cells = [
        Cell(stream, learner, SHARE, seed, rounds=rounds)
        for seed in range(n_seeds)
        for stream in wanted
        for learner in learners_of(stream)
        if learner in (learners or LEARNERS)
    ]
    run_cells(cells, path, n_jobs, run=run_one)
    rows = by_stream(read(path))
    print("\n\n".join([panel(rows), flips(rows), standing(rows)]))
    if of_f2 := on_over_off(rows, wanted):
        print(of_f2)
    if assets is not None:
        draw_curves(rows, assets)


def of_each(rows: Rows, stream: str, learner: str, column: str = "regret") -> list[float]:
    """Values of a column, one a seed."""
    return [float(row[column]) for row in rows.get((stream, learner), [])]


def best_of_river(rows: Rows, stream: str) -> str | None:
    """Of River's learners the one of fewest mistakes in the mean over seeds."""
    run = [name for name in RIVER if (stream, name) in rows]
    return min(run, key=lambda name: statistics.mean(of_each(rows, stream, name)), default=None)


def ratio(rows: Rows, stream: str, over: str, under: str) -> float | None:
    """Of the mean mistakes of two learners; None where one was not run."""
    means = [of_each(rows, stream, name) for name in (over, under)]
    return statistics.mean(means[0]) / statistics.mean(means[1]) if all(means) else None


def panel(rows: Rows) -> str:
    """Markdown: mistakes and labels of River's best learner and of I-NeurAL, a line a stream."""
    lines = ["| stream | rounds | River's best | mistakes | labels | I-NeurAL | labels | ratio |"]
    lines.append("| --- " * 8 + "|")
    ratios = {}
    for stream in PANEL:
        if (best := best_of_river(rows, stream)) is None:
            continue
        cells = [stream, f"{int(rows[stream, best][0]['rounds']):,}", best]
        for name in (best, OWN):
            cells.append(spread(of_each(rows, stream, name), "{:,.0f}"))
            labels = of_each(rows, stream, name, "queries")
            cells.append(f"{statistics.mean(labels):,.0f}" if labels else "")
        if found := ratio(rows, stream, OWN, best):
            ratios[stream] = found
        lines.append(f"| {' | '.join([*cells, f'{found:.2f}' if found else ''])} |")
    return "\n".join([*lines, "", summary(ratios)])


def summary(ratios: dict[str, float]) -> str:
    """Their geometric mean and the largest."""
    if not ratios:
        return "No ratios yet."
    mean, worst = statistics.geometric_mean(ratios.values()), max(ratios, key=ratios.__getitem__)
    return (
        f"The geometric mean of {len(ratios)} ratios is {mean:.3f}, "
        f"the largest {ratios[worst]:.2f} ({worst})."
    )


def accuracy_after(row: dict[str, str], rounds: int) -> float | None:
    """In per cent, from so many rounds after the first change on; None if it ends before.

    Between two points of the curve mistakes are taken to be evenly spread.
    """
    n, start = int(row["rounds"]), int(row["changes"].split()[0]) + rounds
    if start >= n:
        return None
    curve = [0, *map(int, row["curve"].split())]
    before = float(np.interp(start, np.linspace(0, n, len(curve)), curve))
    return 100 * (1 - (curve[-1] - before) / (n - start))


def on_over_off(rows: Rows, streams: Iterable[str]) -> str:
    """Sentences: mistakes with f2 over those without, beside a forest and without one."""
    wanted, sentences = list(streams), []
    for over, under in ((OWN, FOREST_ONLY), (NETWORK_ONLY, ALONE)):
        found = {stream: ratio(rows, stream, over, under) for stream in wanted}
        if ratios := {stream: each for stream, each in found.items() if each}:
            sentences.append(f"{over} over {under}: {summary(ratios)}")
    return "\n".join(sentences)


def flips(rows: Rows) -> str:
    """Markdown: accuracy from 1,500 rounds after the flip to the end, a line a learner."""
    lines = [f"| | {' | '.join(FLIPS)} |", "| --- " * (1 + len(FLIPS)) + "|"]
    for learner in (OWN, OUTPUTS, *RIVER):
        cells = []
        for stream in FLIPS:
            found = [accuracy_after(row, AFTER) for row in rows.get((stream, learner), [])]
            cells.append(spread([each for each in found if each is not None], "{:.1f}"))
        if any(cells):
            lines.append(f"| {' | '.join([learner, *cells])} |")
    return "\n".join(lines)


def standing(rows: Rows) -> str:
    """Markdown: mistakes where nothing changes, with the length given and without."""
    lines = ["| stream | length given | not given | ratio |", "| --- " * 4 + "|"]
    ratios = {}
    for stream in STILL:
        if found := ratio(rows, stream, OWN, TOLD):
            ratios[stream] = found
            cells = [spread(of_each(rows, stream, name), "{:,.0f}") for name in (TOLD, OWN)]
            lines.append(f"| {' | '.join([stream, *cells, f'{found:.2f}'])} |")
    return "\n".join([*lines, "", summary(ratios)])


def hundredths(rows: list[dict[str, str]], column: str) -> Floats:
    """In per cent of the rounds of each hundredth, mean over seeds."""
    counts = [np.diff([0, *map(int, row[column].split())]) for row in rows]
    share: Floats = 100 * np.mean(counts, axis=0) * POINTS / int(rows[0]["rounds"])
    return share


def draw_curves(rows: Rows, folder: Path) -> None:
    """changes-{light,dark}.svg: accuracy of I-NeurAL and of River's best, labels asked for below.

    Means over seeds, of the accuracy over a twentieth of the rounds, of the labels over a fiftieth.
    Dotted lines stand where something changes.
    """
    shown = {stream: best for stream in DRAWN if (best := best_of_river(rows, stream))}
    if not shown:
        return

    labels = OWN, "River's best learner"
    colour = colours(labels)

    def paint(axes: Any) -> None:
        panels = zip(axes[::2].flat, axes[1::2].flat, shown.items(), strict=False)
        for above, below, (stream, best) in panels:
            row = rows[stream, best][0]
            ends = np.linspace(0, int(row["rounds"]), POINTS + 1)[1:]
            for name, label in zip((OWN, best), labels, strict=True):
                if not (found := rows.get((stream, name))):
                    continue
                wrong = np.convolve(hundredths(found, "curve"), np.full(5, 1 / 5), "valid")
                above.plot(ends[4::2], 100 - wrong[::2], color=colour[label], lw=1.2, label=label)
                asked = hundredths(found, "asks").reshape(-1, 2).mean(1)
                below.plot(ends[1::2], asked, color=colour[label], lw=0.8)
            for panel in (above, below):
                for change in map(int, row["changes"].split()):
                    panel.axvline(change, color="gray", lw=0.8, ls=":")
                panel.set_xlim(0, ends[-1])
            above.set(title=stream, ylabel="accuracy (%)")
            above.tick_params(labelbottom=False)
            below.set(xlabel="round", ylabel="labels (%)", ylim=(0, None))

    draw(folder / "changes", 6 * -(-len(shown) // 3), paint, panel=(3.2, 1.9))
