"""The paper's six streams, and figures of it and of its authors' released code in cited.csv.

Other methods are there at their best settings; the code was run on the same rows as here.
"""

import importlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from common import COUNTED, MACHINE, Cell, Row, X
from drawing import band, colours, draw, thinned
from learners import LEARNERS, RIVER, new

from river_ineural.active import Budget
from river_ineural.datasets import CIFAR10, IJCNN, MNIST, Fashion, Letter, PhishingWebsites

KINDS = (PhishingWebsites, IJCNN, Letter, Fashion, MNIST, CIFAR10)
STREAMS = {kind.name: kind for kind in KINDS}
NAMES = (*LEARNERS, *RIVER)
COLUMNS = (*COUNTED, "accuracy", "curve", *MACHINE)
CITED = pd.read_csv(common.RESULTS / "cited.csv")
METHODS = ("Random", "Margin", "NeuAL-NTK-F", "NeuAL-NTK-D", "ALPS")
STYLES = ("-", "--", ":", "-.")  # of lines, by budget


def load(cell: Cell) -> tuple[Iterator[X], list[Any]]:
    """Examples and their labels, in an order that the seed draws.

    A stream of the paper has its name. Any other that can be imported is `module:name`, which is
    called without arguments.
    """
    if cell.stream in STREAMS:
        x, y = STREAMS[cell.stream](multiclass=cell.multiclass, seed=cell.seed).arrays()
        return common.examples(x), y.tolist()
    module, _, name = cell.stream.partition(":")
    pairs = list(getattr(importlib.import_module(module), name)())
    order = np.random.default_rng(cell.seed).permutation(len(pairs))
    return (pairs[i][0] for i in order), [pairs[i][1] for i in order]


def measure(cell: Cell) -> Row:
    """Mistakes over the rounds.

    Examples after the rounds are held back: `accuracy` is the share of them, in per cent, that the
    classifier gets right in the end.
    """
    xs, ys = load(cell)
    n = min(cell.rounds or len(ys), len(ys))
    model: Any = new(cell.learner, cell.budget, n, cell.seed, len(set(ys)))
    row = common.follow(model, itertools.islice(xs, n), ys[:n])
    assert row["queries"] <= (Budget(cell.budget, n).total or 0)
    held_back = zip(ys[n:], xs, strict=True) if hasattr(model, "classifier") else ()
    right = [model.classifier.predict_one(x) == y for y, x in held_back]
    return row | {"accuracy": round(100 * float(np.mean(right)), 3) if right else ""}


def run(
    name: str,
    what: str | None,
    usual: tuple[Sequence[float], Sequence[str], Sequence[str]],
    multiclass: bool = False,
    rounds: int | None = None,
) -> tuple[pd.DataFrame, Path | None]:
    """Run what is missing of NAME.csv, at the usual budgets, streams and learners or other ones.

    It returns all rows of the file, and the folder of the figures if there is to be one.
    """
    budgets, streams, learners = usual
    given = common.options(name, what, 5, *budgets, streams=None, learners=NAMES)
    given.streams, given.rounds = given.streams or streams, given.rounds or rounds
    return common.run(given, COLUMNS, measure, learners, multiclass=multiclass), given.assets


def cited(value: str, budget: float, method: str, source: str = "the paper") -> Any:
    """What is said of a method, a series by stream; empty if there is nothing."""
    at = {"source": source, "value": value, "budget": budget, "method": method}
    return common.chosen(CITED, **at)[[*STREAMS]].max().dropna()


def figures(found: Any, streams: Sequence[str], digits: int = 0) -> list[str]:
    """Figures as cells of a table. They are empty for streams of which nothing is said."""
    return [f"{found[s]:,.{digits}f}" if s in found else "" for s in streams]


def beside_cited(rows: pd.DataFrame, column: str, sources: Sequence[str]) -> str:
    """A table of each method at one budget: what these sources say, and what was run here."""
    streams, budget, lines = ordered(rows), rows["budget"].iloc[0], []
    for method in ranked(rows):
        for source in sources:
            if len(said := cited(column, budget, method, source)):
                shown = figures(said, streams, 2 if column == "accuracy" else 0)
                lines.append([method, source, *shown])
        lines.append([method, "here", *common.by_stream(rows, streams, column, learner=method)])
    return common.markdown(["method", "", *streams], lines)


def ordered(rows: pd.DataFrame) -> list[str]:
    """The streams of rows, each once, those of the paper first and in its order."""
    found = dict.fromkeys(rows["stream"])
    return sorted(found, key=lambda name: [*STREAMS, *found].index(name))


def ranked(rows: pd.DataFrame) -> list[str]:
    """The methods of rows, each once, those of the paper first and in its order."""
    found = sorted(set(rows["learner"]))
    return sorted(found, key=lambda name: [*METHODS, *found].index(name))


def draw_curves(rows: pd.DataFrame, path: Path, across: Any = (), log: bool = False) -> None:
    """Draw mistakes against rounds, mean and range over seeds: a panel a stream.

    `across` are lines across the panels: for each a label, a style and a height by stream.
    """
    budgets, streams = sorted(rows["budget"].unique()), ordered(rows)
    several = len(budgets) > 1
    names = rows["learner"] + [f", {budget:.0%}" if several else "" for budget in rows["budget"]]
    rows = rows.assign(label=names)
    colour = colours(names.unique())

    def paint(axes: Any) -> None:
        for panel, stream in zip(axes.flat, streams, strict=False):
            here = rows[rows["stream"] == stream]
            for label in colour:
                if not len(each := here[here["label"] == label]):
                    continue
                found = common.curves(each)
                rounds = np.linspace(0, each["rounds"].iloc[0], found.shape[1] + 1)[1:]
                rounds, found = thinned(rounds), thinned(found)
                style = STYLES[budgets.index(each["budget"].iloc[0]) % len(STYLES)]
                band(panel, rounds, found.T, style, color=colour[label], label=label)
            for label, style, heights in across:
                if stream in heights:
                    panel.axhline(heights[stream], color="gray", lw=1, ls=style, label=label)
            panel.set(title=stream, xlabel="round", ylabel="mistakes")
            if log:
                panel.set_yscale("log")
                panel.minorticks_off()

    draw(path, len(streams), paint)
