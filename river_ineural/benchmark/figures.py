"""Figures of the experiments, light and dark, from their rows."""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from river_ineural.benchmark.cells import read
from river_ineural.benchmark.cited import PAPER, RELEASED
from river_ineural.benchmark.drawing import colours, draw, thinned
from river_ineural.benchmark.tables import SIX, best, ordered

__all__ = [
    *("ablation", "curves", "run", "sensitivity", "sensitivity_curves"),
]

STYLES = ("-", "--", ":", "-.")  # of lines, by budget
CITED = {
    "the paper's I-NeurAL, in the end": PAPER["regret", "0.03"],
    "its released code, in the end": RELEASED["regret", "0.03"],
}

Rows = dict[tuple[str, str], list[dict[str, str]]]  # by stream and learner


def by_stream(found: list[dict[str, str]]) -> Rows:
    """Rows that did not fail; the name of a learner says its budget where there are several."""
    found = [row for row in found if not row["error"]]
    several = len({row["budget"] for row in found}) > 1
    rows: Rows = defaultdict(list)
    for row in found:
        budget = f", {float(row['budget']):.0%}" if several else ""
        rows[row["stream"], row["learner"] + budget].append(row)
    return rows


def streams_of(rows: Rows) -> list[str]:
    """Each stream once, in the order of the tables."""
    return ordered(stream for stream, _ in rows)


def curves(path: Path, folder: Path) -> None:
    """Mistakes against rounds, mean and range over seeds: a panel a stream.

    Of the settings of the paper's methods the best is shown, and beside the baselines I-NeurAL.
    Where the paper and its released code make so many mistakes in the end, a line says how many.
    """
    found = read(path)
    if path.stem in ("baselines", "multiclass"):
        found = best(found)
    if path.stem == "baselines":
        shown = {row["stream"] for row in found}
        regret = read(path.with_name("regret.csv"))
        found += [row for row in regret if row["stream"] in shown]
    rows = by_stream(found)
    streams = streams_of(rows)
    colour = colours(dict.fromkeys(learner for _, learner in rows))
    budgets = sorted({row["budget"] for row in found}, key=float)

    def paint(axes: Any) -> None:
        for panel, stream in zip(axes.flat, streams, strict=False):
            for learner in colour:
                if not (each := rows.get((stream, learner))):
                    continue
                runs = np.array([[int(n) for n in row["curve"].split()] for row in each])
                rounds = np.linspace(0, int(each[0]["rounds"]), runs.shape[1] + 1)[1:]
                rounds, runs = thinned(rounds), thinned(runs)
                style = STYLES[budgets.index(each[0]["budget"]) % len(STYLES)]
                panel.plot(rounds, runs.mean(0), style, color=colour[learner], label=learner)
                panel.fill_between(
                    *(rounds, runs.min(0), runs.max(0)),
                    **{"color": colour[learner], "alpha": 0.2, "lw": 0},
                )
            if path.stem == "regret" and stream in SIX:
                for style, (name, figures) in zip(("--", ":"), CITED.items(), strict=True):
                    panel.axhline(
                        figures[SIX.index(stream)], color="gray", lw=1, ls=style, label=name
                    )
            panel.set(title=stream, xlabel="round", ylabel="mistakes")
            if path.stem == "baselines":
                panel.set_yscale("log")  # NeuAL-NTK-F makes ten times as many as the others
                panel.minorticks_off()

    draw(folder / path.stem, len(streams), paint)


def sensitivity(path: Path, folder: Path) -> None:
    """Regret against γ, mean and range over seeds: a panel a stream, a line a width."""
    rows = by_stream(read(path))
    streams = streams_of(rows)

    def paint(axes: Any) -> None:
        for panel, stream in zip(axes.flat, streams, strict=False):
            lines: dict[str, list[tuple[float, list[int]]]] = defaultdict(list)
            for (of, learner), each in rows.items():
                if of == stream:
                    width, _, gamma = learner.partition(", γ = ")
                    lines[width].append((float(gamma), [int(row["regret"]) for row in each]))
            for width, points in lines.items():
                gammas, regrets = zip(*sorted(points), strict=True)
                (line,) = panel.plot(gammas, [*map(statistics.mean, regrets)], "o-", label=width)
                panel.fill_between(
                    *(gammas, [*map(min, regrets)], [*map(max, regrets)]),
                    **{"color": line.get_color(), "alpha": 0.2, "lw": 0},
                )
            panel.set(title=stream, xlabel="γ", ylabel="regret", ylim=(0, None))

    draw(folder / "sensitivity", len(streams), paint)


def sensitivity_curves(path: Path, folder: Path) -> None:
    """Mistakes against rounds, mean over seeds: a row of panels a width, a line for each γ.

    The first row is the paper's Figure 2.
    """
    rows = by_stream(read(path))
    streams = streams_of(rows)
    widths = list(dict.fromkeys(learner.partition(", γ = ")[0] for _, learner in rows))
    panels = [(width, stream) for width in widths for stream in streams]

    def paint(axes: Any) -> None:
        for panel, (width, stream) in zip(axes.flat, panels, strict=False):
            found = {
                float(learner.partition(", γ = ")[2]): each
                for (of, learner), each in rows.items()
                if of == stream and learner.startswith(width)
            }
            for gamma in sorted(found):
                runs = np.array([[int(n) for n in row["curve"].split()] for row in found[gamma]])
                rounds = np.linspace(0, int(found[gamma][0]["rounds"]), runs.shape[1] + 1)[1:]
                panel.plot(
                    *(thinned(rounds), thinned(runs.mean(0))), lw=1.2, label=f"γ = {gamma:g}"
                )
            panel.set(title=f"{stream}, {width}", xlabel="round", ylabel="mistakes")

    draw(folder / "sensitivity-curves", len(panels), paint)


def ablation(path: Path, folder: Path) -> None:
    """Regret over that with all parts, mean and deviation over seeds: a panel a stream."""
    rows = by_stream(read(path))
    streams = streams_of(rows)
    learners = list(dict.fromkeys(learner for _, learner in rows if learner != "I-NeurAL"))[::-1]

    def paint(axes: Any) -> None:
        for panel, stream in zip(axes.flat, streams, strict=False):
            found = {
                learner: [int(row["regret"]) for row in rows[stream, learner]]
                for learner in ("I-NeurAL", *learners)
            }
            whole = statistics.mean(found["I-NeurAL"])
            ratios = [statistics.mean(found[learner]) / whole for learner in learners]
            spreads = [statistics.pstdev(found[learner]) / whole for learner in learners]
            panel.barh(learners, ratios, xerr=spreads, ecolor="gray")
            panel.axvline(1, color="gray", lw=0.8)
            panel.set(title=stream, xlabel="regret over that with all parts")
        for panel in axes[:, 1:].flat:
            panel.set(yticklabels=[])

    draw(folder / "ablation", len(streams), paint, panel=(3.2, 0.6 + 0.2 * len(learners)))


FIGURES = {
    **dict.fromkeys(("regret", "compare", "multiclass", "baselines"), curves),
    **{"sensitivity": sensitivity, "sensitivity-curves": sensitivity_curves},
    "ablation": ablation,
}


def run(results: Path, folder: Path) -> None:
    """Every figure whose rows are there."""
    for name, make in FIGURES.items():
        if (path := results / f"{name.removesuffix('-curves')}.csv").exists():
            make(path, folder)
            print(f"{folder}/{name}-{{light,dark}}.svg")
