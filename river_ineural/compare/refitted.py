"""What somebody would do by hand: a classifier of scikit-learn, fitted anew as the labels grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from river.base.typing import ClfTarget, FeatureName
from sklearn.ensemble import (  # type: ignore[import-untyped]
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

from river_ineural.active import Budget, INeurALSampler
from river_ineural.compare.streaming import behind

__all__ = ["REFITTED", "Refitted", "WithRest", "WithoutAudits", "numbered", "sampler"]

X = dict[FeatureName, Any]

GROWTH = 1.05  # of the labels since the last fit, from which on there is another
BLOCK = 256  # rows whose predictions are made in one call
SINGLE = 100  # rows that the time of an answer is the mean over
ROW = "row"  # the one feature of an example: where in the data it is


REFITTED: dict[str, Callable[[int], Any]] = {  # of a seed; scikit-learn's defaults
    "random forest, refitted": lambda seed: RandomForestClassifier(random_state=seed),
    "gradient boosting, refitted": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "logistic regression, refitted": lambda seed: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1_000)
    ),
}


class Refitted(base.Classifier):
    """An `active.Learner` that is fitted anew whenever its labels have grown by 5 %.

    A forest answers hundreds of rows as fast as one. So rows to come are answered ahead, a block at
    a time, and what is left of a block is dropped at the next fit.

    `make` makes a classifier of scikit-learn; `rows` are all examples in their order, an array
    (n, d) or a pandas frame, of which `{"row": t}` is the one of round t; `block` are rows a call.
    """

    n_layers = 2  # of which the width of `INeurALSampler` makes nothing

    def __init__(self, make: Callable[[], Any], rows: Any, block: int = BLOCK) -> None:
        self.make = make
        self.rows = rows
        self.block = block
        self.model: Any = None
        self.fitted = 0  # labels that it was fitted with
        self.n_fits = 0
        self.known: list[int] = []  # rows whose labels are known, and these
        self.labels: list[ClfTarget] = []
        self.first = 0  # row of the first answer at hand
        self.answers = np.empty((0, 0))

    @property
    def known_labels(self) -> tuple[ClfTarget, ...]:
        """In the order of their first appearance."""
        return tuple(dict.fromkeys(self.labels))

    def check_one(self, x: X, y: Any = None, w: float = 1.0) -> X:
        """x itself: all of them are good."""
        return x

    def scores_one(self, x: X) -> dict[ClfTarget, float]:
        """Probability of each class that was known at the last fit."""
        if self.model is None:
            return dict.fromkeys(self.known_labels, 1.0)
        row = x[ROW]
        if not 0 <= row - self.first < len(self.answers):
            self.first, here = row, some(self.rows, slice(row, row + self.block))
            self.answers = self.model.predict_proba(here)
        labels = self.model.classes_.tolist()
        return dict(zip(labels, self.answers[row - self.first].tolist(), strict=True))

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[ClfTarget, float]:
        """As `scores_one`."""
        return self.scores_one(x)

    def learn_one(self, x: X, y: ClfTarget, pseudo_label: bool = False) -> None:
        """Note a label, and fit if that makes 5 % more than at the last fit, of two classes."""
        self.known.append(x[ROW])
        self.labels.append(y)
        if len(self.labels) >= GROWTH * self.fitted and len(set(self.labels)) > 1:
            self.model = self.make().fit(some(self.rows, self.known), self.labels)
            self.fitted = len(self.labels)
            self.n_fits += 1
            self.answers = self.answers[:0]

    def debug_one(self, x: X) -> str:
        """The scores."""
        return str(self.scores_one(x))

    def seconds_an_answer(self) -> float:
        """Of one row at a time, by the latest fit; 0 before the first."""
        n, start = min(SINGLE, len(self.rows)) if self.model else 0, time.process_time()
        for row in range(n):
            self.model.predict_proba(some(self.rows, slice(row, row + 1)))
        return (time.process_time() - start) / n if n else 0.0


def some(rows: Any, which: slice | list[int]) -> Any:
    """Some rows of an array or a frame."""
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def numbered(n: int) -> Iterator[X]:
    """What `Refitted` takes for its rows, in their order."""
    return ({ROW: row} for row in range(n))


class WithoutAudits(INeurALSampler):
    """Asks as I-NeurAL does, below a gap that shrinks with the budget left, and never at random."""

    def _audits(self, margin: float) -> bool:
        return False


class WithRest(INeurALSampler):
    """Asks below the gap, and at random for the labels that this would leave."""

    def _audits(self, margin: float) -> bool:
        return behind(self)


def sampler(
    name: str, rows: NDArray[np.float64], share: float, seed: int, block: int = BLOCK
) -> INeurALSampler:
    """One of `REFITTED` that asks as I-NeurAL does, for a share of the rows."""
    learner = Refitted(lambda: REFITTED[name](seed), rows, block)
    budget = Budget(share, len(rows))
    return WithoutAudits(learner, budget=budget, self_training=False, seed=seed)
