"""Mistakes on changing streams, compared with River's learners at the same share of labels."""

from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from changing import FLIPS, HALVED, LASTING, PANEL, RENAMED, STILL, STREAMS, there
from common import Cell, Row, best, chosen, geometric, markdown, of, ratios, spread
from drawing import colours, draw
from learners import (
    BEST,
    MOA,
    NEIGHBOURS,
    OUTPUTS,
    OWN,
    PARTS,
    REST,
    RIVER,
    STREAMING,
    WITHOUT,
    WITHOUT_PLANES,
    new,
)

COLUMNS = (*common.COUNTED, "changes", "drifts", "curve", "asks", *common.MACHINE, "river")
TOLD = "I-NeurAL, length given"
ADAPTIVE = "adaptive random forest, at random"
BESIDE = (OWN, TOLD, WITHOUT, ADAPTIVE, NEIGHBOURS)  # for streams with temporal dependence
LEARNERS = (OWN, OUTPUTS, *PARTS, TOLD, NEIGHBOURS, WITHOUT, WITHOUT_PLANES)
LEARNERS += tuple(name for name in STREAMING if not name.endswith(REST))
AFTER = 1_500  # rounds after a label flip that are left out of the accuracy
DRAWN = ["label flip", "mixed", "agrawal gradual"]
DRAWN += ["phishing back", "mnist arriving", "magic gradual"]


def measure(cell: Cell) -> Row:
    """Mistakes, the known changes, and the rounds in which the learner detected a change."""
    stream = STREAMS[cell.stream].make(cell.seed)
    n = min(cell.rounds or len(stream.y), len(stream.y))
    name, horizon = (OWN, n) if cell.learner == TOLD else (cell.learner, None)
    model = new(name, cell.budget, horizon, cell.seed, int(stream.y.max()) + 1)
    row = common.follow(model, common.examples(stream.x[:n]), stream.y[:n].tolist())
    noticed = {"changes": stream.changes, "drifts": getattr(model, "drifts", ())}
    return row | {name: " ".join(map(str, rounds)) for name, rounds in noticed.items()}


def summary(found: pd.Series) -> str:
    """The geometric mean and the largest of the ratios, in words."""
    if not len(found):
        return "No ratios yet."
    return (
        f"The geometric mean of all {len(found)} ratios is {geometric(found):.3f}, "
        f"the largest {found.max():.2f} ({found.idxmax()})."
    )


def panel(rows: pd.DataFrame) -> str:
    """Mistakes and labels of River's best learner and of I-NeurAL, a line per stream."""
    heads = ("stream", "rounds", "River's best", "mistakes", "labels", OWN, "labels", "ratio")
    rows, lines = best(rows), []
    found = ratios(rows, OWN, BEST, PANEL)
    for stream, ratio in found.items():
        both = [chosen(rows, stream=stream, learner=name) for name in (BEST, OWN)]
        cells = [stream, f"{both[0]['rounds'].iloc[0]:,.0f}", both[0]["setting"].iloc[0]]
        for each in both:
            cells += [spread(of(each)), f"{each['queries'].mean():,.0f}"]
        lines.append([*cells, f"{ratio:.2f}"])
    return f"{markdown(heads, lines)}\n\n{summary(found)}"


def accuracy_after(row: pd.Series) -> float:
    """Accuracy in per cent from 1,500 rounds after the first change; NaN if the stream ends before.

    Mistakes are interpolated linearly between two points of the curve.
    """
    n, start = row["rounds"], int(row["changes"].split()[0]) + AFTER
    curve = [0, *map(int, row["curve"].split())]
    before = np.interp(start, np.linspace(0, n, len(curve)), curve)
    return float(100 * (1 - (curve[-1] - before) / (n - start))) if start < n else np.nan


def flips(rows: pd.DataFrame) -> str:
    """Accuracy from 1,500 rounds after the flip to the end, a line per learner."""
    rows = rows[rows["stream"].isin(list(FLIPS))]
    rows = rows.assign(accuracy=[accuracy_after(row) for _, row in rows.iterrows()])
    rows = rows.dropna(subset="accuracy")
    lines = [
        [name, *(spread(of(rows, "accuracy", stream=s, learner=name), 1) for s in FLIPS)]
        for name in (OWN, OUTPUTS, *RIVER)
    ]
    return markdown(["", *FLIPS], (line for line in lines if any(line[1:])))


def standing(rows: pd.DataFrame) -> str:
    """Mistakes with the length given and without, on streams without changes and on streams where
    half of the classes appear half-way. The summary is of the streams without changes.
    """
    found = ratios(rows, OWN, TOLD, STILL)
    lines = [
        [stream, *(spread(of(rows, stream=stream, learner=n)) for n in (TOLD, OWN)), f"{ratio:.2f}"]
        for stream, ratio in [*found.items(), *ratios(rows, OWN, TOLD, HALVED).items()]
    ]
    heads = ("stream", "length given", "not given", "ratio")
    return f"{markdown(heads, lines)}\n\n{summary(found)}"


def relabelled(rows: pd.DataFrame) -> str:
    """Mistakes of I-NeurAL around a change of the label names, a line per stream.

    "more": mistakes in the eighth of the stream after the change minus those in the eighth before.
    "last": mistakes in the last twentieth over those in the twentieth before the change.
    """
    lines = []
    for stream in (*RENAMED, *HALVED):
        here = rows[(rows["stream"] == stream) & (rows["learner"] == OWN)]
        if len(here):
            n, curves = here["rounds"].to_numpy(), common.curves(here, "curve") * 1.0
            before, change, after, end = (curves[:, i] for i in (36, 49, 62, -1))
            more = (after - change) - (change - before)
            last = (end - curves[:, -6]).mean() / max(1.0, (change - curves[:, 44]).mean())
            cells = [f"{n[0]:,.0f}", spread(of(here)), spread(more.tolist())]
            lines.append([stream, *cells, f"{last:.2f}"])
    return markdown(("stream", "rounds", "mistakes", "more", "last"), lines)


def together(rows: pd.DataFrame) -> str:
    """Mistakes, and labels in brackets, on streams with temporal dependence of labels."""
    lines = []
    for stream in LASTING:
        found = [chosen(rows, stream=stream, learner=name) for name in BESIDE]
        if all(len(each) for each in found):
            cells = [f"{spread(of(each))} ({each['queries'].mean():,.0f})" for each in found]
            lines.append([stream, *cells])
    return markdown(("stream", OWN, "length given", *BESIDE[2:]), lines)


def hundredths(rows: pd.DataFrame, column: str) -> Any:
    """Events in per cent of the rounds of each hundredth of the stream, mean over seeds."""
    share = np.diff(common.curves(rows, column), prepend=0, axis=1).mean(axis=0)
    return 100 * share * common.POINTS / rows["rounds"].iloc[0]


def draw_curves(rows: pd.DataFrame, folder: Path) -> None:
    """Draw changes-{light,dark}.svg: accuracy of I-NeurAL and of River's best, labels below.

    Means over seeds and 1/20 (accuracy) or 1/50 (labels) of the rounds. Dotted lines are changes.
    """
    rows, colour = best(rows), colours((OWN, BEST))
    shown = [*ratios(rows, OWN, BEST, DRAWN).index]

    def paint(axes: Any) -> None:
        for above, below, stream in zip(axes[::2].flat, axes[1::2].flat, shown, strict=False):
            here = chosen(rows, stream=stream)
            ends = np.linspace(0, here["rounds"].iloc[0], common.POINTS + 1)[1:]
            for name in colour:
                found = chosen(here, learner=name)
                wrong = np.convolve(hundredths(found, "curve"), np.full(5, 1 / 5), "valid")
                above.plot(ends[4::2], 100 - wrong[::2], color=colour[name], lw=1.2, label=name)
                asked = hundredths(found, "asks").reshape(-1, 2).mean(1)
                below.plot(ends[1::2], asked, color=colour[name], lw=0.8)
            for each in (above, below):
                for change in map(int, here["changes"].iloc[0].split()):
                    each.axvline(change, color="gray", lw=0.8, ls=":")
                each.set_xlim(0, ends[-1])
            above.set(title=stream, ylabel="accuracy (%)")
            above.tick_params(labelbottom=False)
            below.set(xlabel="round", ylabel="labels (%)", ylim=(0, None))

    draw(folder / "changes", 6 * -(-len(shown) // 3), paint, height=1.5)


def beside_the_point(cell: Cell) -> bool:
    """Whether to skip a cell because no page of the docs uses it."""
    if cell.stream in LASTING or cell.learner in (NEIGHBOURS, WITHOUT):
        return cell.stream not in LASTING or cell.learner not in BESIDE
    if cell.learner == TOLD:
        return cell.stream not in STILL | HALVED
    if cell.learner in MOA:
        return cell.stream not in PANEL
    return cell.learner in RIVER and cell.stream in STILL


def main() -> None:
    """Run the missing cells, print the tables and draw the figure."""
    given = common.options({"changes": [0.05]}, __doc__, 3, streams=STREAMS, learners=LEARNERS)
    given.streams = there(STREAMS, given.streams)
    rows = common.run(given, COLUMNS, measure, LEARNERS, beside_the_point)
    print(panel(rows), flips(rows), standing(rows), relabelled(rows), together(rows), sep="\n\n")
    if given.assets:
        draw_curves(rows, given.assets)


if __name__ == "__main__":
    main()
