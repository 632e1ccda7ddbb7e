"""Where the time of a round goes: microseconds a round by part, on the streams of `rounds.py`.

Functions of the package are timed while a sampler follows a stream. The time of a function is its
own, without that of the functions below it. A watch costs about half a microsecond a call; the last
row of a stream has the time without watches.
"""

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from changing import there
from common import Cell, Row, markdown
from drawing import draw
from learners import OUTPUTS, OWN
from rounds import STREAMS as ALL
from rounds import timed

from river_ineural import learner, recovery
from river_ineural.active import INeurALSampler
from river_ineural.classifier.base import NeuralClassifier
from river_ineural.classifier.models import Learner
from river_ineural.drift import DriftDetector
from river_ineural.explorers import trees
from river_ineural.explorers.forest import Forest
from river_ineural.explorers.trust import Explorers
from river_ineural.features.index import FeatureIndex
from river_ineural.features.scaling import Scaling
from river_ineural.history import History
from river_ineural.networks import compiled

STREAMS = {name: each for name, each in ALL.items() if name != "mnist"}  # the tables
GLUE = "Python between them"
PARTS: dict[str, list[tuple[Any, str]]] = {
    "names and values": [(FeatureIndex, "values"), (FeatureIndex, "look_up")],
    "f1, f2 and votes": [(learner, "say")],
    "the decision": [(INeurALSampler, "_wanted_at"), (INeurALSampler, "_decide")],
    "storing": [(History, "add"), (Scaling, "update"), (Learner, "vectors")],
    "steps": [(compiled, "train")],
    "trees": [(trees, "grow")],
    "their examples": [(Forest, "learn")],
    "trust and detector": [(Explorers, "update_trust"), (DriftDetector, "update")],
    GLUE: [
        *((INeurALSampler, "predict_one"), (INeurALSampler, "learn_one")),
        *((NeuralClassifier, "check_one"), (NeuralClassifier, "explained_one")),
        *((Learner, "learn"), (learner.Model, "train"), (recovery.Recovery, "update")),
    ],
}
WHOLE = "a round, without watches"
COLUMNS = (*common.CELL, "rounds", "error", *PARTS, WHOLE, *common.MACHINE)


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Seconds by part while the block runs, each without those of parts called from it."""
    spent, within, before = defaultdict[str, float](float), [0.0], []
    for part, functions in PARTS.items():
        for owner, name in functions:
            function = getattr(owner, name)
            before.append((owner, name, function))

            def timing(*args: Any, _part: str = part, _call: Any = function, **kwargs: Any) -> Any:
                within.append(0.0)
                start = time.perf_counter()
                try:
                    return _call(*args, **kwargs)
                finally:
                    took = time.perf_counter() - start
                    spent[_part] += took - within.pop()
                    within[-1] += took

            setattr(owner, name, timing)
    try:
        yield spent
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


def measure(cell: Cell) -> Row:
    """Microseconds a round by part, and of a whole round without watches."""
    stream = STREAMS[cell.stream].make(cell.seed)
    n = min(cell.rounds or len(stream.y), len(stream.y))
    examples, y = list(common.examples(stream.x[:n])), stream.y[:n].tolist()
    whole = common.follow(timed(cell, stream.x.shape[1], max(y) + 1, n), examples, y)
    with watched() as spent:
        common.follow(timed(cell, stream.x.shape[1], max(y) + 1, n), examples, y)
    found = {part: round(1e6 * spent[part] / n, 1) for part in PARTS}
    return {"rounds": n, **found, WHOLE: whole["microseconds"]}


def table(rows: pd.DataFrame) -> str:
    """A line per part, a column per stream and learner."""
    columns = [*itertools.product(STREAMS, (OWN, OUTPUTS))]
    means = rows.groupby(["stream", "learner"])[[*PARTS, WHOLE]].mean().reindex(columns).dropna()
    heads = [
        stream if learner == OWN else f"{stream}, {learner}" for stream, learner in means.index
    ]
    lines = [[part, *(f"{value:,.1f}" for value in means[part])] for part in means]
    return markdown(("part", *heads), lines)


def paint(rows: pd.DataFrame, axes: Any) -> None:
    """Draw a bar for each stream: the parts of I-NeurAL's rounds, one after the other."""
    own = rows[rows["learner"] == OWN]
    means = own.groupby("stream", sort=False)[[*PARTS]].mean()[::-1]
    left = np.zeros(len(means))
    for i, part in enumerate(PARTS):
        axes[0, 0].barh(means.index, means[part], left=left, color=f"C{i}", label=part)
        left += means[part].to_numpy()
    axes[0, 0].set(xlabel="microseconds a round")


def main() -> None:
    """Run the missing cells, print the table and draw account-{light,dark}.svg."""
    given = common.options(
        {"account": [0.05]}, __doc__, 2, streams=STREAMS, learners=(OWN, OUTPUTS)
    )
    given.streams = there(STREAMS, given.streams)
    rows = common.run(given, COLUMNS, measure, (OWN, OUTPUTS))
    print(table(rows))
    if given.assets:
        draw(given.assets / "account", 1, partial(paint, rows), height=3.6)


if __name__ == "__main__":
    main()
