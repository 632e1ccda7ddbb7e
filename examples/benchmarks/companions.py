"""Labels that `MarginSampler` asks for around ten classifiers of River, as shares of its budget.

Each classifier runs on each stream with 5 % of the labels: with the horizon, as a rate, and, for
comparison, with the horizon and a threshold that stays at 0.5.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from changing import Source, ordered, shuffled, there
from common import Cell, Row, chosen, markdown
from river import datasets as of_river
from river import (
    ensemble,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    preprocessing,
    tree,
)
from tabular import bundled

from river_ineural.active import Budget, MarginSampler

ROUNDS = 3_000  # of a stream, at most
COLUMNS = (*common.COUNTED, "most", "asked_late", *common.MACHINE, "river")
SCALER = preprocessing.StandardScaler
PHISHING = Source(partial(bundled, of_river.Phishing))
STREAMS = {
    "Phishing": PHISHING,
    **{name: shuffled(name, n=ROUNDS) for name in ("magic", "robot", "ijcnn")},
    "weather": ordered("weather"),
}


def each_class(classifier: Any) -> Any:
    """One binary classifier a class, on scaled features."""
    return SCALER() | multiclass.OneVsRestClassifier(classifier)


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "Hoeffding tree": lambda seed: tree.HoeffdingTreeClassifier(),
    "Hoeffding adaptive tree": lambda seed: tree.HoeffdingAdaptiveTreeClassifier(seed=seed),
    "Gaussian naive Bayes": lambda seed: naive_bayes.GaussianNB(),  # type: ignore[no-untyped-call]
    "Bernoulli naive Bayes": lambda seed: (
        SCALER() | preprocessing.Binarizer() | naive_bayes.BernoulliNB()  # type: ignore[no-untyped-call]
    ),
    "adaptive random forest": lambda seed: forest.ARFClassifier(seed=seed),
    "streaming random patches": lambda seed: ensemble.SRPClassifier(seed=seed),
    "nearest neighbours": lambda seed: SCALER() | neighbors.KNNClassifier(),
    "logistic regression": lambda seed: each_class(linear_model.LogisticRegression()),
    "softmax regression": lambda seed: SCALER() | linear_model.SoftmaxRegression(),
    "perceptron": lambda seed: each_class(linear_model.Perceptron()),
}
WAYS: dict[str, tuple[float | None, bool]] = {  # the threshold, and whether the horizon is known
    "with a horizon": (None, True),
    "as a rate": (None, False),
    "threshold 0.5": (0.5, True),
}
LEARNERS = {f"{name}, {way}": (name, way) for way in WAYS for name in CLASSIFIERS}


def measure(cell: Cell) -> Row:
    """Mistakes and labels of one classifier.

    `most` is the number of labels that the budget allows, and `asked_late` the number of labels
    asked for in the last fifth of the rounds.
    """
    stream = STREAMS[cell.stream].make(cell.seed)
    n = min(cell.rounds or ROUNDS, len(stream.y))
    name, way = LEARNERS[cell.learner]
    threshold, known = WAYS[way]
    budget = Budget(cell.budget, n if known else None)
    model = MarginSampler(CLASSIFIERS[name](cell.seed), threshold, budget, seed=cell.seed)
    row = common.follow(model, common.examples(stream.x[:n]), stream.y[:n].tolist())
    asks = np.array(row["asks"].split(), int)
    return row | {"most": budget.most(n), "asked_late": int(asks[-1] - asks[-21])}


def table(rows: pd.DataFrame) -> str:
    """Labels asked for, as % of those allowed: the least and the most over streams and seeds."""
    rows = rows.assign(spent=100 * rows["queries"] / rows["most"])
    lines = []
    for name in CLASSIFIERS:
        cells = []
        for way in WAYS:
            spent = chosen(rows, learner=f"{name}, {way}")["spent"]
            cells.append(f"{spent.min():.0f} to {spent.max():.0f}")
        lines.append([name, *cells])
    return markdown(["spent (%)", *WAYS], lines)


def by_stream(rows: pd.DataFrame) -> str:
    """The same, least of the seeds and of both ways of θ that adapts, a column per stream."""
    rows = rows.assign(spent=100 * rows["queries"] / rows["most"])
    ways = [way for way in WAYS if WAYS[way][0] is None]
    lines = []
    for name in CLASSIFIERS:
        own = rows[rows["learner"].isin([f"{name}, {way}" for way in ways])]
        least = own.groupby("stream")["spent"].min()
        lines.append([name, *(f"{least[stream]:.0f}" for stream in STREAMS if stream in least)])
    return markdown(["at least spent (%)", *STREAMS], lines)


def least_fixed(rows: pd.DataFrame) -> str:
    """The least share spent with the threshold that stays, in per cent."""
    fixed = rows[rows["learner"].str.endswith(", threshold 0.5")]
    return f"{(100 * fixed['queries'] / fixed['most']).min():.0f}"


def main() -> None:
    """Run the missing cells and print both tables."""
    given = common.options({"companions": [0.05]}, __doc__, 3, streams=STREAMS, learners=LEARNERS)
    given.streams = there(STREAMS, given.streams)
    rows = common.run(given, COLUMNS, measure, LEARNERS)
    print(table(rows), by_stream(rows), sep="\n\n")


if __name__ == "__main__":
    main()
