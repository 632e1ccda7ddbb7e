"""Microseconds of a round over whole streams, all learners with as many labels, in one process.

I-NeurAL asks for its labels; the others learn as many, drawn at random. Times are those of the
process, garbage collection included. A first run of 300 rounds, which compiles, is not counted.
"""

import time
from collections.abc import Callable
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from changing import there
from common import Cell, Row, X, markdown, of
from learners import LEARNERS, OUTPUTS, OWN, adaptive_forest, linear
from speed import Peer
from tabular import MANY
from tabular import STREAMS as TABLES

STREAMS = {
    name: (TABLES | MANY)[name] for name in ("ijcnn", "spambase", "robot", "phishing", "mnist")
}
OURS = (OWN, OUTPUTS, "f1 and f2", "f1 alone")
FOREST = "adaptive random forest"
OTHERS: dict[str, Callable[[int, int, int], Any]] = {
    FOREST: lambda d, k, seed: adaptive_forest(k, seed),
    "logistic regression": lambda d, k, seed: linear(k, seed),
    "PyTorch network": lambda d, k, seed: Peer(d, k),
}
FIRST = 300  # rounds before anything is timed, of a learner of its own
CALLS = tuple(f"{call}_{part}" for call in ("predict", "learn") for part in ("50", "99", "100"))
COLUMNS = (*common.COUNTED, "microseconds", *CALLS, *common.MACHINE, "river")


def followed(cell: Cell, examples: list[X], y: list[int], d: int) -> Row:
    """Mistakes, labels, and times of the calls in microseconds."""
    n, k = len(y), max(y) + 1
    ours = cell.learner in OURS
    limits = {"budget": cell.budget, "horizon": n, "seed": cell.seed}
    model: Any = LEARNERS[cell.learner](limits) if ours else OTHERS[cell.learner](d, k, cell.seed)
    drawn = np.random.default_rng(cell.seed).permutation(n) < cell.budget * n
    wrong, times = 0, {"predict": list[float](), "learn": list[float]()}
    began = time.process_time()
    for x, label, asked in zip(examples, y, drawn.tolist(), strict=True):
        start = time.perf_counter()
        said = model.predict_one(x)
        times["predict"].append(time.perf_counter() - start)
        if ours:
            said, asked = said
        wrong += said != label
        if asked:
            start = time.perf_counter()
            model.learn_one(x, label)
            times["learn"].append(time.perf_counter() - start)
    seconds = time.process_time() - began
    calls = {
        f"{call}_{part}": round(1e6 * float(np.percentile(each, part)), 1)
        for call, each in times.items()
        for part in (50, 99, 100)
    }
    row = {"rounds": n, "regret": wrong, "queries": len(times["learn"]), "seconds": seconds}
    return row | calls | {"microseconds": round(1e6 * seconds / n, 1)}


def measure(cell: Cell) -> Row:
    """One learner on one stream."""
    stream = STREAMS[cell.stream].make(cell.seed)
    n = min(cell.rounds or len(stream.y), len(stream.y))
    examples, y = list(common.examples(stream.x[:n])), stream.y[:n].tolist()
    followed(cell, examples[:FIRST], y[:FIRST], stream.x.shape[1])
    return followed(cell, examples, y, stream.x.shape[1])


def table(rows: pd.DataFrame) -> str:
    """Microseconds a round of each, and ours over River's forest, a line a stream."""
    names = (*OURS, *OTHERS)
    lines = []
    for stream in [s for s in STREAMS if s in set(rows["stream"])]:
        found = {name: of(rows, "microseconds", stream=stream, learner=name) for name in names}
        cells = [f"{np.mean(each):,.0f}" if each else "" for each in found.values()]
        over = [
            f"{np.mean(found[name]) / np.mean(found[FOREST]):.2f}" if found[FOREST] else ""
            for name in (OWN, OUTPUTS)
        ]
        lines.append([stream, *cells, *over])
    return markdown(("stream", *names, f"{OWN} over the forest", f"{OUTPUTS} over it"), lines)


def calls(rows: pd.DataFrame) -> str:
    """Percentiles of the calls of ours, in microseconds."""
    heads = [
        f"{call}, {part}" for call in ("predict", "learn") for part in ("median", "99 %", "most")
    ]
    lines = [
        [row["stream"], row["learner"], *(f"{row[name]:,.0f}" for name in CALLS)]
        for row in rows[rows["learner"].isin((OWN, OUTPUTS))].to_dict("records")
    ]
    return markdown(("stream", "learner", *heads), lines)


def main() -> None:
    """Run what is missing and print the tables."""
    given = common.options("rounds", __doc__, 1, 0.05, streams=STREAMS, learners=(*OURS, *OTHERS))
    cells = [
        Cell(stream, learner, budget, seed, rounds=given.rounds)
        for seed in range(given.seeds)
        for stream in there(STREAMS, given.streams)
        for learner in given.learners or (*OURS, *OTHERS)
        for budget in given.budgets
    ]
    common.run_cells(cells, given.path, COLUMNS, measure, given.jobs)
    rows = common.read(given.path)
    print(table(rows), calls(rows), sep="\n\n")


if __name__ == "__main__":
    main()
