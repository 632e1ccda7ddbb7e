"""Microseconds per round over whole streams, with equally many labels, in one process.

I-NeurAL asks for its labels; the others learn as many labels, drawn at random. Times are process
times and include garbage collection. A first run of 300 rounds, which compiles, is not counted.
"""

import time
from collections.abc import Iterator
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from changing import ORDERED, shuffled, there
from common import Cell, Row, X, markdown
from learners import CLASSIFIERS, OUTPUTS, OWN, new
from of_moa import THERE
from speed import Peer
from tabular import STREAMS as TABLES

STREAMS = {name: TABLES[name] for name in ("ijcnn", "spambase", "robot", "phishing")}
STREAMS["mnist"] = shuffled("mnist", n=ORDERED)
OURS = (OWN, OUTPUTS, "f1 and f2", "f1 alone")
FOREST = "adaptive random forest"
MOA = f"MOA's {FOREST}"
OTHERS = (FOREST, MOA, "logistic regression", "PyTorch network")
FIRST = 300  # rounds of the first run, which has its own learner
CALLS = tuple(f"{call}_{part}" for call in ("predict", "learn") for part in ("50", "99", "100"))
COLUMNS = (*common.COUNTED, "microseconds", *CALLS, *common.MACHINE, "river")


class Timed:
    """A learner whose calls are timed. If `drawn` is given, it decides which labels to learn."""

    def __init__(self, model: Any, drawn: Iterator[bool] | None = None) -> None:
        self.model = model
        self.drawn = drawn
        self.times: dict[str, list[float]] = {"predict": [], "learn": []}

    def predict_one(self, x: X) -> tuple[Any, bool]:
        """The prediction, and whether to learn the label."""
        start = time.perf_counter()
        said = self.model.predict_one(x)
        self.times["predict"].append(time.perf_counter() - start)
        return said if self.drawn is None else (said, next(self.drawn))

    def learn_one(self, x: X, y: int) -> None:
        """Learn the label."""
        start = time.perf_counter()
        self.model.learn_one(x, y)
        self.times["learn"].append(time.perf_counter() - start)


def timed(cell: Cell, d: int, k: int, n: int) -> Timed:
    """A new learner for n rounds."""
    if cell.learner in OURS:
        return Timed(new(cell.learner, cell.budget, n, cell.seed, k))
    drawn = np.random.default_rng(cell.seed).permutation(n) < cell.budget * n
    classifier = CLASSIFIERS.get(cell.learner)
    model = classifier(k, cell.seed) if classifier else Peer(d, k)
    return Timed(model, iter(drawn.tolist()))


def measure(cell: Cell) -> Row:
    """Mistakes, labels, and times of the calls in microseconds, of one learner on one stream."""
    stream = STREAMS[cell.stream].make(cell.seed)
    n = min(cell.rounds or len(stream.y), len(stream.y))
    examples, y = list(common.examples(stream.x[:n])), stream.y[:n].tolist()
    for rounds in (FIRST, n):
        model = timed(cell, stream.x.shape[1], max(y[:rounds]) + 1, len(y[:rounds]))
        row = common.follow(model, examples, y[:rounds])
    return row | {
        f"{call}_{part}": round(1e6 * float(np.percentile(each, part)), 1)
        for call, each in model.times.items()
        for part in (50, 99, 100)
    }


def table(rows: pd.DataFrame) -> str:
    """Microseconds per round of each learner, medians of the runs, and ratios to River's forest, a
    line per stream.
    """
    rows = rows[rows["stream"].isin(list(STREAMS))]
    medians = {"index": "stream", "columns": "learner", "aggfunc": "median"}
    means = rows.pivot_table(values="microseconds", sort=False, **medians)
    means = means.reindex(columns=[*OURS, *OTHERS])
    over = means[[OWN, OUTPUTS]].div(means[FOREST], axis=0)
    means = means.dropna(axis=1, how="all")
    shown = pd.concat([means.map("{:,.0f}".format), over.map("{:.2f}".format)], axis=1)
    heads = ("stream", *means, f"{OWN} over the forest", f"{OUTPUTS} over it")
    return markdown(heads, shown.replace("nan", "").reset_index().to_numpy().tolist())


def calls(rows: pd.DataFrame) -> str:
    """Percentiles of the calls of I-NeurAL and NeurONAL, in microseconds: medians of the runs."""
    heads = [
        f"{call}, {part}" for call in ("predict", "learn") for part in ("median", "99 %", "most")
    ]
    own = rows[rows["learner"].isin((OWN, OUTPUTS))]
    medians = own.groupby(["stream", "learner"], sort=False)[[*CALLS]].median()
    lines = [[*names, *map("{:,.0f}".format, each)] for names, *each in medians.itertuples()]
    return markdown(("stream", "learner", *heads), lines)


def main() -> None:
    """Run the missing cells and print the tables."""
    learners = [name for name in (*OURS, *OTHERS) if THERE or name != MOA]
    given = common.options({"rounds": [0.05]}, __doc__, 1, streams=STREAMS, learners=learners)
    given.streams = there(STREAMS, given.streams)
    rows = common.run(given, COLUMNS, measure, learners)
    print(table(rows), calls(rows), sep="\n\n")


if __name__ == "__main__":
    main()
