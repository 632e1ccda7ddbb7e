"""One run of a learner over a stream, and many of them side by side, resumable."""

from __future__ import annotations

import csv
import importlib
import itertools
import multiprocessing
import os
import platform
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
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

__all__ = ["STREAMS", "Cell", "read", "run_cell", "run_cells", "write"]

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


def run_cell(cell: Cell) -> dict[str, Any]:
    """Mistakes over the rounds (the regret), labels asked for, seconds, and the curve.

    Examples after the rounds are held back: `accuracy` is the share of them, in per cent, that the
    classifier gets right in the end. A failure is a result too: its text is in `error`.
    """
    torch.set_num_threads(1)  # in a process of its own
    row: dict[str, Any] = {**asdict(cell), "error": ""}
    try:
        n_examples, stream = load(cell)
        n = n_examples if cell.rounds is None else min(cell.rounds, n_examples)
        limits = {"budget": cell.budget, "horizon": n, "seed": cell.seed}
        model, wrong, curve = LEARNERS[cell.learner](limits), 0, []
        start = time.process_time()
        for t, (x, y) in enumerate(itertools.islice(stream, n)):
            predicted, ask = model.predict_one(x)
            wrong += predicted != y
            if ask:
                model.learn_one(x, y)
            if (t + 1) * POINTS // n > t * POINTS // n:
                curve.append(wrong)
        assert model.n_queries <= (Budget(cell.budget, n).total or 0)
        row |= {"rounds": n, "regret": wrong, "queries": model.n_queries}
        row |= {"seconds": round(time.process_time() - start, 2)}
        right = [model.classifier.predict_one(x) == y for x, y in stream]
        row |= {"accuracy": round(100 * float(np.mean(right)), 3) if right else ""}
        row |= {"curve": " ".join(map(str, curve))}
    except Exception as error:  # kept as a row
        row |= dict.fromkeys(("regret", "queries", "seconds", "accuracy", "curve"), "")
        row["error"] = f"{type(error).__name__}: {error}"
    row |= {"machine": processor(), "cpus": os.cpu_count()}
    row |= {"python": platform.python_version(), "torch": torch.__version__}
    row |= {"numpy": np.__version__}
    return row


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def read(path: Path) -> list[dict[str, str]]:
    """Rows of a file of results; a last line that was cut off in writing is left out."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if None not in row.values()]


def key(row: dict[str, Any]) -> tuple[str, ...]:
    """What makes two cells the same."""
    return tuple(str(row[name]) for name in ("stream", "learner", "budget", "seed", "multiclass"))


def run_cells(cells: list[Cell], path: Path, n_jobs: int) -> None:
    """Run the cells that the file does not hold yet, and append each as it is done."""
    rows: list[dict[str, Any]] = [row for row in read(path) if not row["error"]]
    done = {key(row) for row in rows}
    missing = [cell for cell in cells if key(asdict(cell)) not in done]
    if rows:
        write(path, rows)  # without a line cut off and without failures, which are tried again
    spawn = multiprocessing.get_context("spawn")  # no state of this process, no thread of torch's
    with ProcessPoolExecutor(n_jobs, mp_context=spawn) as pool, Progress() as progress:
        done_so_far = len(cells) - len(missing)
        task = progress.add_task(path.name, total=len(cells), completed=done_so_far)
        for future in as_completed([pool.submit(run_cell, cell) for cell in missing]):
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
