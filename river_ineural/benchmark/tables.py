"""The tables of the paper's experiments: which cells, and what is shown of them."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from river_ineural.benchmark.cells import (
    STREAMS,
    Cell,
    minutes_needed,
    read,
    results,
    run_cells,
)
from river_ineural.benchmark.cited import (
    PAPER,
    PAPER_ACCURACIES,
    PAPER_METHODS,
    RELEASED,
    RELEASED_METHODS,
)
from river_ineural.benchmark.learners import (
    ABLATIONS,
    BASELINES,
    RETRAINED,
    SENSITIVITY,
    SETTLED,
)

__all__ = [
    *("EXPERIMENTS", "Experiment", "accuracies", "best", "methods", "ordered", "run"),
    "table",
]

SIX = tuple(STREAMS)
HELD_BACK_AFTER = 10_000  # rounds; the rest of each stream is held back


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
        learners=("I-NeurAL", *SETTLED),
        budgets=(0.03, 0.1, 0.2, 0.5),
        rounds=HELD_BACK_AFTER,
    ),
    "sensitivity": Experiment(
        "regret by γ and width", streams=("phishing", "mnist", "cifar10"), learners=(*SENSITIVITY,)
    ),
    "ablation": Experiment("regret with parts left out", learners=("I-NeurAL", *ABLATIONS)),
    "multiclass": Experiment(
        "regret on the original classes",
        streams=("letter", "fashion", "mnist", "cifar10"),
        learners=("I-NeurAL", "NeurONAL", *RETRAINED),
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
    minutes: float | None = None,
) -> None:
    """Run what is missing of NAME.csv in the folder, then print its table.

    Runs of other lengths than the experiment's have a file of their own, NAME-ROUNDS.csv.
    """
    experiment = EXPERIMENTS[name]
    path = results(name, folder, rounds)
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
    run_cells(cells, path, n_jobs, minutes)
    held_back = ("accuracy",) if rounds else ()
    for value in dict.fromkeys((*experiment.values, *held_back)):
        print(table(path, value))
    if name in ("baselines", "multiclass"):
        print(methods(path))
    if name == "accuracy":
        print(accuracies(path))


def table(path: Path, value: str) -> str:
    """Markdown: a line a budget and learner, a column a stream, mean ± deviation over seeds."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seeds: set[str] = set()
    failures, binary = 0, True
    for row in read(path):
        if row["error"]:
            failures += 1
            continue
        if value == "accuracy" and not row["accuracy"]:  # nothing was held back
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
    """Of each method, the first word of a baseline's name, the setting of least mean regret."""
    settings: dict[tuple[str, str, str], dict[str, list[dict[str, str]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        if not row["error"]:
            name = row["learner"]
            method, _, setting = name.partition(" ") if name in BASELINES else (name, "", "")
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


def accuracies(path: Path) -> str:
    """Markdown: accuracy of each method on held-back rows at each budget, below the paper's.

    In brackets the minutes that a run would take, where none has ended.
    """
    found: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in read(path):
        method = row["learner"].partition(" ")[0]
        found[method if method in PAPER_METHODS else row["learner"], row["stream"]].append(row)
    streams = ordered(stream for _, stream in found)
    others = dict.fromkeys(method for method, _ in found if method not in PAPER_METHODS)
    methods = [*(each for each in PAPER_METHODS if any(each == m for m, _ in found)), *others]
    lines = heading("method", streams)
    for budget in sorted({row["budget"] for rows in found.values() for row in rows}, key=float):
        for method in methods:
            if figures := PAPER_ACCURACIES.get((budget, method)):
                cells = [f"{figures[SIX.index(stream)]:.2f}" for stream in streams]
                lines.append(line(budget, f"{method}, the paper", cells))
            cells = []
            for stream in streams:
                runs = found[method, stream]
                here = [row for row in runs if row["budget"] == budget]
                ended = [float(row["accuracy"]) for row in here if not row["error"]]
                minutes = max(map(minutes_needed, here), default=0) or by_fewer(runs, budget)
                cells.append(spread(ended, "{:.2f}") or (f"({minutes} min)" if minutes else ""))
            lines.append(line(budget, method, cells))
    return "\n".join(lines)


def by_fewer(rows: list[dict[str, str]], budget: str) -> int:
    """Minutes that a run would take by those with smaller budgets; 0 where there are none.

    The time is taken to grow with the square of the labels, as that of training anew on all of them
    at each; of ALPS, which trains once, in proportion. A run that left some of its budget takes as
    long with a larger one.
    """
    ended = [row for row in rows if not row["error"] and float(row["budget"]) < float(budget)]
    if not ended:
        return 0
    seconds: dict[float, list[float]] = defaultdict(list)
    for row in ended:
        seconds[float(row["budget"])].append(float(row["seconds"]))
    largest = max(ended, key=lambda row: float(row["budget"]))
    once = largest["learner"].startswith("ALPS")
    left = int(largest["queries"]) < int(float(largest["budget"]) * int(largest["rounds"]))
    power = 1 if once else 2
    points = [(share**power, statistics.mean(each)) for share, each in sorted(seconds.items())]
    (first, least), (last, most) = (points[0] if len(points) > 1 else (0.0, 0.0)), points[-1]
    growth = 0.0 if left and not once else max(0.0, (most - least) / (last - first))
    return math.ceil((most + growth * (float(budget) ** power - last)) / 60)


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
