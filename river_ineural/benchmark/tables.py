"""The tables of the paper's experiments: which cells, and what is shown of them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from river_ineural.benchmark.cells import STREAMS, Cell, read, run_cells
from river_ineural.benchmark.ladder import RUNGS
from river_ineural.benchmark.learners import (
    ABLATIONS,
    BASELINES,
    LADDER,
    POLICIES,
    RETRAINED,
    SENSITIVITY,
)

__all__ = ["EXPERIMENTS", "Experiment", "best", "ladder", "methods", "ordered", "run", "table"]

SIX = tuple(STREAMS)
HELD_BACK_AFTER = 10_000  # rounds; the rest of each stream is held back

# I-NeurAL's line in the paper's Tables 1 and 3 to 6, in the order of SIX
PAPER = {
    ("regret", "0.03"): (689, 469, 2571, 118, 674, 1372),
    ("accuracy", "0.03"): (94.22, 95.75, 77.45, 99.15, 94.45, 89.00),
    ("accuracy", "0.1"): (95.64, 97.90, 83.95, 99.30, 97.20, 91.75),
    ("accuracy", "0.2"): (95.64, 98.35, 84.65, 99.30, 97.95, 91.80),
    ("accuracy", "0.5"): (96.02, 98.75, 86.05, 99.35, 97.80, 92.30),
}
# mean of the authors' released code on the same rows, five seeds (cifar10: two)
RELEASED = {("regret", "0.03"): (691, 548, 2688, 176, 666, 1537)}

# other methods in the paper's Table 1, each at its best setting
PAPER_METHODS: dict[str, tuple[int | None, ...]] = {
    "Random": (1095, 845, 3519, 444, 1599, 1910),
    "Margin": (704, 974, 3164, 247, 1327, 1474),
    "NeuAL-NTK-F": (4898, 2684, 6066, 6001, 6192, 5007),
    "NeuAL-NTK-D": (796, 744, 3410, 742, 1239, 1700),
    "ALPS": (978, 683, 3108, 379, 1433, 1662),
}
# as RELEASED, of three seeds for NeuAL-NTK-F, which was not run on cifar10; ALPS is not in it
RELEASED_METHODS: dict[str, tuple[int | None, ...]] = {
    "Random": (1041, 915, 3657, 317, 1854, 1936),
    "Margin": (746, 898, 4344, 206, 2302, 1555),
    "NeuAL-NTK-F": (5318, 2249, 5960, 6001, 6040, None),
    "NeuAL-NTK-D": (907, 977, 3311, 677, 1305, 3030),
}


@dataclass(frozen=True)
class Experiment:
    """What is run and shown: every learner on every stream at every budget."""

    what: str
    values: tuple[str, ...] = ("regret",)  # of the tables; "accuracy" is on what is held back
    streams: tuple[str, ...] = SIX
    learners: tuple[str, ...] = ("I-NeurAL",)
    budgets: tuple[float, ...] = (0.03,)
    rounds: int | None = None
    multiclass: bool = False


EXPERIMENTS = {
    "regret": Experiment("regret at 3 % of the labels (Table 1)"),
    "accuracy": Experiment(
        "accuracy on held-back rows at four budgets (Tables 3 to 6)",
        values=("accuracy",),
        budgets=(0.03, 0.1, 0.2, 0.5),
        rounds=HELD_BACK_AFTER,
    ),
    "policy": Experiment(
        "regret and seconds by steps after labels and pseudo-labels",
        values=("regret", "seconds"),
        streams=("phishing", "ijcnn", "mnist"),
        learners=(*POLICIES,),
    ),
    "sensitivity": Experiment(
        "regret by γ and width", streams=("phishing", "mnist", "cifar10"), learners=(*SENSITIVITY,)
    ),
    "ablation": Experiment("regret with parts left out", learners=("I-NeurAL", *ABLATIONS)),
    "multiclass": Experiment(
        "regret on the original classes",
        streams=("letter", "fashion", "mnist", "cifar10"),
        learners=("I-NeurAL", *RETRAINED),
        budgets=(0.03, 0.1),
        multiclass=True,
    ),
    "compare": Experiment(
        "accuracy in per cent over any streams, as module:name, by any learners",
        values=("progressive accuracy",),
        streams=("river.datasets:Phishing", "river.datasets:ImageSegments"),
        budgets=(0.1,),
    ),
    "baselines": Experiment("regret of the paper's other methods", learners=(*BASELINES,)),
    "ladder": Experiment(
        "regret from the printed algorithm to the defaults, one change at a time",
        values=(),
        streams=("phishing", "ijcnn", "mnist"),
        learners=(*LADDER,),
    ),
}


def run(
    name: str,
    n_seeds: int,
    n_jobs: int,
    folder: Path,
    streams: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    rounds: int | None = None,
    budgets: Iterable[float] | None = None,
) -> None:
    """Run what is missing of NAME.csv in the folder, then print its table.

    Runs of other lengths than the experiment's have a file of their own, NAME-ROUNDS.csv.
    """
    experiment = EXPERIMENTS[name]
    path = folder / (f"{name}.csv" if rounds is None else f"{name}-{rounds}.csv")
    chosen = product(
        streams or experiment.streams,
        budgets or experiment.budgets,
        learners or experiment.learners,
        range(n_seeds),
    )
    cells = [
        Cell(stream, learner, budget, seed, experiment.multiclass, rounds or experiment.rounds)
        for stream, budget, learner, seed in chosen
    ]
    run_cells(cells, path, n_jobs)
    for value in experiment.values:
        print(table(path, value))
    if name in ("baselines", "multiclass"):
        print(methods(path))
    if name == "ladder":
        print(ladder(path))


def table(path: Path, value: str) -> str:
    """Markdown: a line a budget and learner, a column a stream, mean ± deviation over seeds."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seeds: set[str] = set()
    failures, binary = 0, True
    for row in read(path):
        if row["error"]:
            failures += 1
            continue
        found[row["budget"], row["learner"]][row["stream"]].append(number(row, value))
        seeds.add(row["seed"])
        binary &= row["multiclass"] == "False"
    streams = ordered(stream for columns in found.values() for stream in columns)
    lines = heading("learner", streams)
    shown = {"regret": "{:,.0f}", "accuracy": "{:.2f}"}.get(value, "{:.1f}")

    for budget in dict.fromkeys(budget for budget, _ in found):
        for name, cited in (("the paper's I-NeurAL", PAPER), ("its released code", RELEASED)):
            if (figures := cited.get((value, budget))) and set(streams) <= {*SIX} and binary:
                cells = [shown.format(figures[SIX.index(stream)]) for stream in streams]
                lines.append(line(budget, name, cells))
        for (at, learner), columns in found.items():
            if at == budget:
                cells = [spread(columns[stream], shown) for stream in streams]
                lines.append(line(budget, learner, cells))
    lines.append(f"\nMean ± standard deviation of {value} over up to {len(seeds)} seeds.")
    if failures:
        lines.append(f"\n{failures} runs failed; their rows say why.")
    return "\n".join(lines)


def best(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Of each method, the first word of a learner's name, the setting of least mean regret."""
    settings: dict[tuple[str, str, str], dict[str, list[dict[str, str]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        if not row["error"]:
            method, _, setting = row["learner"].partition(" ")
            named = row | {"learner": method, "setting": setting}
            settings[row["stream"], row["budget"], method][setting].append(named)

    def mean(found: list[dict[str, str]]) -> float:
        return statistics.mean(float(row["regret"]) for row in found)

    return [row for found in settings.values() for row in min(found.values(), key=mean)]


def methods(path: Path) -> str:
    """Markdown: regret of each method at its best setting, and the paper's of its binary tasks."""
    found: dict[tuple[str, str], dict[str, list[dict[str, str]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in best(read(path)):
        found[row["budget"], row["learner"]][row["stream"]].append(row)
    streams = ordered(stream for columns in found.values() for stream in columns)
    lines = heading("method", streams)
    for (budget, method), columns in sorted(found.items()):
        binary = all(row["multiclass"] == "False" for rows in columns.values() for row in rows)
        for name, cited in (("the paper", PAPER_METHODS), ("released code", RELEASED_METHODS)):
            if method in cited and binary and float(budget) == 0.03:
                figures = [cited[method][SIX.index(stream)] for stream in streams]
                cells = [f"{figure:,}" if figure else "" for figure in figures]
                lines.append(line(budget, f"{method}, {name}", cells))
        cells = []
        for stream in streams:
            rows = columns[stream]
            shown = spread([float(row["regret"]) for row in rows], "{:,.0f}")
            cells.append(
                f"{shown} ({rows[0]['setting']})" if rows and rows[0]["setting"] else shown
            )
        lines.append(line(budget, method, cells))
    return "\n".join(lines)


def ladder(path: Path) -> str:
    """Markdown: a line a rung, what it changes and why, regret, seconds a run."""
    rows = [row for row in read(path) if not row["error"]]
    streams = ordered(row["stream"] for row in rows)
    lines = [f"|  | change | parameter | {' | '.join(streams)} | seconds | why |"]
    lines.append("| --- " * (5 + len(streams)) + "|")
    for number, rung in enumerate(RUNGS):
        own = [row for row in rows if row["learner"] == rung.name]
        cells = [
            spread([float(row["regret"]) for row in own if row["stream"] == stream], "{:,.0f}")
            for stream in streams
        ]
        took = f"{statistics.mean(float(row['seconds']) for row in own):.1f}" if own else ""
        parameter = f"`{rung.parameter}`" if number else "`paper.printed`"
        shown = " | ".join((str(number), rung.name, parameter, *cells, took, rung.why))
        lines.append(f"| {shown} |")
    return "\n".join(lines)


def ordered(streams: Iterable[str]) -> list[str]:
    """Each once, those of the paper first and in its order."""
    return sorted(dict.fromkeys(streams), key=lambda s: SIX.index(s) if s in SIX else len(SIX))


def heading(kind: str, streams: list[str]) -> list[str]:
    """The first two lines of a table."""
    return [
        f"| labels | {kind} | " + " | ".join(streams) + " |",
        "| --- " * (2 + len(streams)) + "|",
    ]


def line(budget: str, name: str, cells: list[str]) -> str:
    """A line of a table."""
    return f"| {float(budget):.0%} | {name} | " + " | ".join(cells) + " |"


def number(row: dict[str, str], value: str) -> float:
    """What a table shows of a row."""
    if value == "progressive accuracy":
        return 100 * (1 - int(row["regret"]) / int(row["rounds"]))
    return float(row[value])


def spread(values: list[float], shown: str) -> str:
    """Mean ± deviation; empty where nothing was run."""
    if not values:
        return ""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{shown.format(statistics.mean(values))} ± {shown.format(deviation)}"
