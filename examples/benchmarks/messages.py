"""Mistakes and time on 5,574 text messages, whose vocabulary grows to 9,000 words."""

import csv
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common
import pandas as pd  # type: ignore[import-untyped]
from common import Cell, Row, markdown, of, spread
from learners import OWN
from river import linear_model, naive_bayes
from river.feature_extraction import BagOfWords
from river.preprocessing import FeatureHasher

from river_ineural import INeurAL
from river_ineural.active import Budget, INeurALSampler
from river_ineural.compare.contenders import at_random
from river_ineural.datasets import FOLDER

HASHED, MESSAGES = f"{OWN}, 1,024 columns", "messages"
OURS: dict[str, Callable[[int], Any]] = {
    OWN: lambda seed: BagOfWords() | INeurAL(seed=seed),
    HASHED: lambda seed: BagOfWords() | FeatureHasher(1024, seed=seed) | INeurAL(seed=seed),
}
OTHERS: dict[str, Callable[[int], Any]] = {
    "naive Bayes": lambda seed: BagOfWords() | naive_bayes.MultinomialNB(),  # type: ignore[no-untyped-call]
    "logistic regression": lambda seed: BagOfWords() | linear_model.LogisticRegression(),
}
LEARNERS = OURS | OTHERS
COLUMNS = (*common.COUNTED, "microseconds", "missed", *common.MACHINE, "river")


class Noting:
    """A sampler that records its predictions."""

    def __init__(self, model: Any) -> None:
        self.model, self.learn_one = model, model.learn_one
        self.said: list[Any] = []

    def predict_one(self, x: str) -> tuple[Any, bool]:
        """The prediction, and whether to learn the label."""
        label, ask = self.model.predict_one(x)
        self.said.append(label)
        return label, ask


def measure(cell: Cell) -> Row:
    """Mistakes, missed spam, labels and time of one learner."""
    with (Path(os.environ[FOLDER]) / "sms.csv").open(encoding="utf8") as file:
        read = [(row["text"], row["label"] == "spam") for row in csv.DictReader(file)]
    random.Random(cell.seed).shuffle(read)
    texts, labels = zip(*read[: cell.rounds], strict=True)
    sampler: Any = INeurALSampler if cell.learner in OURS else at_random
    made = LEARNERS[cell.learner](cell.seed)
    model = Noting(sampler(made, budget=Budget(cell.budget), seed=cell.seed))
    row = common.follow(model, texts, labels)
    missed = sum(spam and said is not True for spam, said in zip(labels, model.said, strict=True))
    return row | {"missed": missed}


def table(rows: pd.DataFrame) -> str:
    """Mistakes, missed spam, labels and microseconds per round of each learner."""
    columns = "regret", "missed", "queries", "microseconds"
    lines = [
        [name, *(spread(of(rows, column, learner=name)) for column in columns)] for name in LEARNERS
    ]
    return markdown(["learner", "mistakes", "missed spam", "labels", "µs a round"], lines)


def main() -> None:
    """Run the missing cells and print the table."""
    given = common.options({"messages": [0.05]}, __doc__, 5, learners=LEARNERS)
    given.streams = [MESSAGES]
    print(table(common.run(given, COLUMNS, measure, LEARNERS)))


if __name__ == "__main__":
    main()
