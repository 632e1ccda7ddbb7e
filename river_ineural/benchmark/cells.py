"""One run of a learner over a stream, and many of them side by side, resumable."""

from __future__ import annotations

import csv
import importlib
import itertools
import math
import multiprocessing
import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import Progress
from river.base.typing import ClfTarget

from river_ineural import datasets
from river_ineural.active.budget import Budget
from river_ineural.benchmark.contenders import X
from river_ineural.benchmark.learners import LEARNERS

__all__ = [
    *("STREAMS", "Cell", "minutes_needed", "processor", "read", "results"),
    *("run_cell", "run_cells", "setting", "write"),
]

STREAMS = {
    kind.name: kind
    for kind in (
        *(datasets.PhishingWebsites, datasets.IJCNN, datasets.Letter),
        *(datasets.Fashion, datasets.MNIST, datasets.CIFAR10),
    )
}
POINTS = 100  # of the curve of mistakes


@dataclass(frozen=True)
class Cell:
    """What is run: a learner on a stream, at most ⌊budget · rounds⌋ labels."""

    stream: str
    learner: str
    budget: float
    seed: int
    multiclass: bool = False
    rounds: int | None = None  # None: the whole stream


def load(cell: Cell) -> tuple[int, Iterator[tuple[X, ClfTarget]]]:
    """Number of examples, and the examples in an order that the seed permutes.

    A stream of the paper by its name; any other as `module:name`, called without arguments.
    """
    if cell.stream in STREAMS:
        x, y = STREAMS[cell.stream](multiclass=cell.multiclass, seed=cell.seed).arrays()
        names = range(x.shape[1])
        rows: Iterator[X] = (dict(zip(names, values.tolist(), strict=True)) for values in x)
        return len(y), zip(rows, y.tolist(), strict=True)
    module, _, name = cell.stream.partition(":")
    examples = list(getattr(importlib.import_module(module), name)())
    order = np.random.default_rng(cell.seed).permutation(len(examples))
    return len(order), (examples[i] for i in order)


class TooLong(Exception):
    """A cell that would take more minutes than it may."""


def minutes_needed(row: dict[str, Any]) -> int:
    """What a row that was cut off says; 0 for any other."""
    found = re.match(r"TooLong: would take about (\d+) minutes", row["error"])
    return int(found[1]) if found else 0


class Clock:
    """Process time of a run, and what the whole of it would take.

    Parameters
    ----------
    rounds, labels
        Rounds, and labels at most.
    minutes
        It may take so many; None: any number.
    """

    def __init__(self, rounds: int, labels: int, minutes: float | None) -> None:
        self.rounds, self.labels, self.minutes = rounds, labels, minutes
        self.start, self.learning = time.process_time(), 0.0

    @property
    def seconds(self) -> float:
        """Until now."""
        return time.process_time() - self.start

    def expected(self, rounds: int, labels: int) -> float:
        """Seconds of the whole run after so many rounds and labels.

        Labels go on to come as they did. Each costs in proportion to those stored by then, so
        that learning grows with their square; the rest grows with the rounds.
        """
        in_the_end = min(self.labels, labels * self.rounds / rounds)
        learning = self.learning * (in_the_end / labels) ** 2
        return (self.seconds - self.learning) * self.rounds / rounds + learning

    def learned(self, began: float, rounds: int, labels: int) -> None:
        """Count the learning of a label that began then (`seconds`).

        Raises
        ------
        TooLong
            If the time is up, or if twice as much would be needed by what a tenth of it showed.
        """
        now = self.seconds
        self.learning += now - began
        if self.minutes is None or now < 6 * self.minutes:
            return
        expected = max(now, self.expected(rounds, labels))
        if now > 60 * self.minutes or expected > 120 * self.minutes:
            raise TooLong(f"would take about {math.ceil(expected / 60)} minutes")


def run_cell(cell: Cell, minutes: float | None = None) -> dict[str, Any]:
    """Mistakes over the rounds (the regret), labels asked for, seconds, and the curve.

    Examples after the rounds are held back: `accuracy` is the share of them, in per cent, that the
    classifier gets right in the end. A failure is a result too: its text is in `error`. One of more
    than so many minutes of process time is cut off and says how many it would take.
    """
    torch.set_num_threads(1)  # in a process of its own
    row: dict[str, Any] = {**asdict(cell), "error": ""}
    try:
        n_examples, stream = load(cell)
        n = n_examples if cell.rounds is None else min(cell.rounds, n_examples)
        limits = {"budget": cell.budget, "horizon": n, "seed": cell.seed}
        model, wrong, curve = LEARNERS[cell.learner](limits), 0, []
        clock = Clock(n, Budget(cell.budget, n).total or n, minutes)
        for t, (x, y) in enumerate(itertools.islice(stream, n)):
            predicted, ask = model.predict_one(x)
            wrong += predicted != y
            if ask:
                began = clock.seconds
                model.learn_one(x, y)
                clock.learned(began, t + 1, model.n_queries)
            if (t + 1) * POINTS // n > t * POINTS // n:
                curve.append(wrong)
        assert model.n_queries <= (Budget(cell.budget, n).total or 0)
        row |= {"rounds": n, "regret": wrong, "queries": model.n_queries}
        row |= {"seconds": round(clock.seconds, 2)}
        right = [model.classifier.predict_one(x) == y for x, y in stream]
        row |= {"accuracy": round(100 * float(np.mean(right)), 3) if right else ""}
        row |= {"curve": " ".join(map(str, curve))}
    except Exception as error:  # kept as a row
        row |= dict.fromkeys(("regret", "queries", "seconds", "accuracy", "curve"), "")
        row["error"] = f"{type(error).__name__}: {error}"
    return row | setting()


def setting() -> dict[str, Any]:
    """Hardware and versions of a run."""
    return {
        **{"machine": processor(), "cpus": os.cpu_count()},
        **{"python": platform.python_version(), "torch": torch.__version__},
        "numpy": np.__version__,
    }


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def results(name: str, folder: Path, rounds: int | None) -> Path:
    """The file of an experiment's rows; runs of other lengths than its own have another."""
    return folder / (f"{name}.csv" if rounds is None else f"{name}-{rounds}.csv")


def read(path: Path) -> list[dict[str, str]]:
    """Rows of a file of results; a last line that was cut off in writing is left out."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if None not in row.values()]


def key(row: dict[str, Any]) -> tuple[str, ...]:
    """What makes two cells the same."""
    return tuple(str(row[name]) for name in ("stream", "learner", "budget", "seed", "multiclass"))


def run_cells(
    cells: list[Cell],
    path: Path,
    n_jobs: int,
    minutes: float | None = None,
    run: Callable[[Cell], dict[str, Any]] | None = None,
) -> None:
    """Run the cells that the file does not hold yet, and append each as it is done.

    Failures are tried again, but for those cut off that need more minutes than there are now.

    Parameters
    ----------
    run
        Makes the row of a cell. None: `run_cell`, of so many minutes at most.
    """
    rows: list[dict[str, Any]] = [
        row
        for row in read(path)
        if not row["error"] or minutes_needed(row) > (minutes or float("inf"))
    ]
    done = {key(row) for row in rows}
    missing = [cell for cell in cells if key(asdict(cell)) not in done]
    if rows:
        write(path, rows)  # without a line cut off and without what is tried again
    spawn = multiprocessing.get_context("spawn")  # no state of this process, no thread of torch's
    with ProcessPoolExecutor(n_jobs, mp_context=spawn) as pool, Progress() as progress:
        done_so_far = len(cells) - len(missing)
        task = progress.add_task(path.name, total=len(cells), completed=done_so_far)
        run = run or partial(run_cell, minutes=minutes)
        for future in as_completed([pool.submit(run, cell) for cell in missing]):
            row = future.result()
            rows.append(row)
            write(path, rows)
            line = "{stream:<10} {learner:<28}{seed:>4}{regret:>8}{seconds:>8} {error}".format(
                **row
            )
            progress.console.print(line, markup=False, highlight=False)
            progress.advance(task)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """All rows, in one move: a run that is killed leaves the file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)
