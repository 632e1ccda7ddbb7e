"""The paper's tables and figures: mistakes and accuracy on its six streams, or on any others.

regret: mistakes of I-NeurAL at 3 % of the labels (Table 1). baselines: mistakes of the paper's
other methods at their best settings. accuracy: accuracy on rows held back after 10,000 rounds
(Tables 3 to 6). multiclass: mistakes on the original classes. sensitivity: mistakes by γ and
confidence width. cited.csv has the results of the paper and of its released code on these rows.
"""

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from common import COUNTED, MACHINE, Cell, Row, X, best, by_stream, chosen, markdown, of
from drawing import band, colours, draw, thinned
from learners import (
    BASELINES,
    LEARNERS,
    OUTPUTS,
    OWN,
    RETRAINED,
    RIVER,
    SENSITIVITY,
    SETTLED,
    new,
)

from river_ineural.active import Budget
from river_ineural.datasets import CIFAR10, IJCNN, MNIST, Fashion, Letter, PhishingWebsites
from river_ineural.paper import GAMMAS

KINDS = (PhishingWebsites, IJCNN, Letter, Fashion, MNIST, CIFAR10)
STREAMS = {kind.name: kind for kind in KINDS}
NAMES = (*LEARNERS, *RIVER)
COLUMNS = (*COUNTED, "accuracy", "curve", *MACHINE)
CITED = pd.read_csv(common.RESULTS / "cited.csv")
METHODS = ("Random", "Margin", "NeuAL-NTK-F", "NeuAL-NTK-D", "ALPS")
PAPER, RELEASED = "the paper", "released code"  # sources in cited.csv
WIDTHS = ("constant width", "theoretical width")
STYLES = ("-", "--", ":", "-.")  # of lines by budget


def load(cell: Cell) -> tuple[Iterator[X], list[Any]]:
    """Examples and their labels, shuffled by the seed.

    A stream of the paper is given by its name, any other as `module:name`, which is imported and
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

    Examples after the rounds are held back. `accuracy` is the percentage of them that the
    classifier predicts correctly in the end.
    """
    xs, ys = load(cell)
    n = min(cell.rounds or len(ys), len(ys))
    model: Any = new(cell.learner, cell.budget, n, cell.seed, len(set(ys)))
    row = common.follow(model, itertools.islice(xs, n), ys[:n])
    assert row["queries"] <= (Budget(cell.budget, n).total or 0)
    held_back = zip(ys[n:], xs, strict=True) if hasattr(model, "classifier") else ()
    right = [model.classifier.predict_one(x) == y for y, x in held_back]
    return row | {"accuracy": round(100 * float(np.mean(right)), 3) if right else ""}


def cited(value: str, budget: float, method: str, source: str = PAPER) -> Any:
    """The cited values of a method, a series by stream; empty if there are none."""
    at = {"source": source, "value": value, "budget": budget, "method": method}
    return chosen(CITED, **at)[[*STREAMS]].max().dropna()


def figures(found: Any, streams: Sequence[str], digits: int = 0) -> list[str]:
    """Numbers as cells of a table, which are empty for streams without a number."""
    return [f"{found[s]:,.{digits}f}" if s in found else "" for s in streams]


def ordered(rows: pd.DataFrame) -> list[str]:
    """The streams of the rows, each once; the paper's streams come first, in its order."""
    found = dict.fromkeys(rows["stream"])
    return sorted(found, key=lambda name: [*STREAMS, *found].index(name))


def ranked(rows: pd.DataFrame) -> list[str]:
    """The methods of the rows, each once; the paper's methods come first, in its order."""
    found = sorted(set(rows["learner"]))
    return sorted(found, key=lambda name: [*METHODS, *found].index(name))


def beside_cited(rows: pd.DataFrame, column: str, *sources: str) -> str:
    """A table of each method at one budget: the values of these sources, and those run here."""
    streams, budget, lines = ordered(rows), rows["budget"].iloc[0], []
    for method in ranked(rows):
        for source in sources:
            said = cited(column, budget, method, source)
            if any(shown := figures(said, streams, 2 if column == "accuracy" else 0)):
                lines.append([method, source, *shown])
        lines.append([method, "here", *by_stream(rows, streams, column, learner=method)])
    return markdown(["method", "", *streams], lines)


def regret_table(rows: pd.DataFrame) -> str:
    """Mistakes in the paper, of its released code, and of each learner here."""
    streams = ordered(rows)
    lines = {
        "the paper": figures(cited("regret", 0.03, OWN), streams),
        "its released code, on these rows": figures(cited("regret", 0.03, OWN, RELEASED), streams),
    }
    for learner in rows["learner"].unique():
        name = "**here**" if learner == OWN else learner
        lines[name] = by_stream(rows, streams, learner=learner)
    return markdown(["", *streams], ([name, *cells] for name, cells in lines.items()))


def multiclass_table(rows: pd.DataFrame) -> str:
    """Mistakes of each method at its best setting, at each budget."""
    rows = best(rows)
    streams = ordered(rows)
    lines = [
        [f"{budget:.0%}", method, *by_stream(here, streams, learner=method)]
        for budget, here in rows.groupby("budget")
        for method in ranked(here)
    ]
    return markdown(["labels", "method", *streams], lines)


def sensitivity_table(rows: pd.DataFrame) -> str:
    """Mistakes, a line per width and γ, a column per stream."""
    streams, lines = ordered(rows), []
    for width, gamma in itertools.product(WIDTHS, GAMMAS):
        found = by_stream(rows, streams, learner=f"{width}, γ = {gamma}")
        lines.append([width.split()[0], f"{gamma}", *found])
    return markdown(["width", "γ", *streams], lines)


def draw_curves(rows: pd.DataFrame, path: Path, across: Any = (), log: bool = False) -> None:
    """Draw mistakes against rounds, mean and range over seeds, a panel per stream.

    `across` holds horizontal lines: for each a label, a style and the heights by stream.
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


def draw_sensitivity(rows: pd.DataFrame, folder: Path) -> None:
    """Draw mistakes against γ, mean and range over seeds, and against rounds, mean over seeds.

    The first row of the second figure is the paper's Figure 2.
    """
    streams = ordered(rows)
    panels = list(itertools.product(WIDTHS, streams))

    def against_gamma(axes: Any) -> None:
        for panel, stream in zip(axes.flat, streams, strict=False):
            for width in WIDTHS:
                found = [of(rows, stream=stream, learner=f"{width}, γ = {g}") for g in GAMMAS]
                band(panel, GAMMAS, found, label=width)
            panel.set(title=stream, xlabel="γ", ylabel="regret", ylim=(0, None))

    def against_rounds(axes: Any) -> None:
        for panel, (width, stream) in zip(axes.flat, panels, strict=False):
            for gamma in GAMMAS:
                learner = f"{width}, γ = {gamma}"
                each = rows[(rows["stream"] == stream) & (rows["learner"] == learner)]
                found = common.curves(each).mean(0)
                rounds = np.linspace(0, each["rounds"].iloc[0], len(found) + 1)[1:]
                panel.plot(thinned(rounds), thinned(found), lw=1.2, label=f"γ = {gamma}")
            panel.set(title=f"{stream}, {width}", xlabel="round", ylabel="mistakes")

    draw(folder / "sensitivity", len(streams), against_gamma)
    draw(folder / "sensitivity-curves", len(panels), against_rounds)


def draw_regret(rows: pd.DataFrame, folder: Path) -> None:
    """Draw regret-{light,dark}.svg, with horizontal lines at the cited mistakes."""
    across = [
        ("the paper's I-NeurAL, in the end", "--", cited("regret", 0.03, OWN)),
        ("its released code, in the end", ":", cited("regret", 0.03, OWN, RELEASED)),
    ]
    draw_curves(rows, folder / "regret", across)


def draw_baselines(rows: pd.DataFrame, folder: Path) -> None:
    """Draw baselines-{light,dark}.svg, with I-NeurAL from regret.csv."""
    regret = common.read(common.RESULTS / "regret.csv")
    regret = regret[regret["stream"].isin(rows["stream"])]
    draw_curves(pd.concat([best(rows), regret]), folder / "baselines", log=True)


@dataclass(frozen=True)
class Experiment:
    """The default runs for a file of rows, and its table and figure."""

    table: Callable[[pd.DataFrame], str]
    learners: Sequence[str]
    draw: Callable[[pd.DataFrame, Path], None] = lambda rows, folder: None
    budgets: Sequence[float] = (0.03,)
    streams: Sequence[str] = (*STREAMS,)
    multiclass: bool = False
    rounds: int | None = None


EXPERIMENTS = {
    "regret": Experiment(regret_table, [OWN], draw_regret),
    "baselines": Experiment(
        lambda rows: beside_cited(best(rows), "regret", PAPER, RELEASED),
        [*BASELINES],
        draw_baselines,
    ),
    "accuracy": Experiment(
        lambda rows: beside_cited(best(rows).drop(columns="setting"), "accuracy", PAPER),
        [OWN, *SETTLED],
        budgets=(0.03, 0.1, 0.2, 0.5),
        rounds=10_000,
    ),
    "multiclass": Experiment(
        multiclass_table,
        [OWN, OUTPUTS, *RETRAINED],
        lambda rows, folder: draw_curves(best(rows), folder / "multiclass"),
        budgets=(0.03, 0.1),
        streams=("letter", "fashion", "mnist", "cifar10"),
        multiclass=True,
    ),
    "sensitivity": Experiment(
        sensitivity_table,
        [*SENSITIVITY],
        draw_sensitivity,
        streams=("phishing", "mnist"),
    ),
}


def main() -> None:
    """Run the missing cells, print a table for each share of the labels and draw the figure."""
    usual = {name: each.budgets for name, each in EXPERIMENTS.items()}
    given = common.options(usual, __doc__, 5, streams=None, learners=NAMES)
    own = EXPERIMENTS[given.name]
    given.streams, given.rounds = given.streams or own.streams, given.rounds or own.rounds
    rows = common.run(given, COLUMNS, measure, own.learners, multiclass=own.multiclass)
    for budget, each in rows.groupby("budget"):
        print(f"{100 * budget:g} % of the labels\n\n{own.table(each)}\n")
    if given.assets:
        own.draw(rows, given.assets)


if __name__ == "__main__":
    main()
