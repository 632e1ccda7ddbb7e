"""A scikit-learn classifier that is refitted as the labels grow, as people do by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from typing import Any

import numpy as np
from river import base
from river.base.typing import ClfTarget, FeatureName

X = dict[FeatureName, Any]

GROWTH = 1.05  # factor by which the labels grow from one fit to the next
ROW = "row"  # the only feature of an example: its row number


class Refitted(base.Classifier):
    """An `active.Learner` that is refitted whenever the number of its labels has grown by 5 %.

    `make` returns a new scikit-learn classifier. `rows` holds all examples in order, as an array
    (n, d) or a pandas frame; the example of round t is `{"row": t}`. Rows are predicted ahead, a
    `block` at a time, because a forest predicts hundreds of rows as fast as one.
    """

    n_layers = 2  # for `active.Learner`; the default width does not use it

    def __init__(self, make: Callable[[], Any], rows: Any, block: int = 256) -> None:
        self.make = make
        self.rows = getattr(rows, "iloc", rows)
        self.block = block
        self.model: Any = None
        self.fitted = 0  # number of labels in the last fit
        self.n_fits = 0
        self.labels: dict[int, ClfTarget] = {}  # known labels by row number
        self.first = 0  # row number of the first stored prediction
        self.answers = np.empty((0, 0))

    @property
    def known_labels(self) -> tuple[ClfTarget, ...]:
        """The known labels in the order of their first appearance."""
        return tuple(dict.fromkeys(self.labels.values()))

    def check_one(self, x: X, y: Any = None, w: float = 1.0) -> X:
        """Return x unchanged: every x is valid."""
        return x

    def scores_one(self, x: X) -> dict[ClfTarget, float]:
        """Probability of each class of the last fit; before any fit, 1 for each known label."""
        if self.model is None:
            return dict.fromkeys(self.known_labels, 1.0)
        row = x[ROW]
        if not 0 <= row - self.first < len(self.answers):
            self.first = row
            self.answers = self.model.predict_proba(self.rows[row : row + self.block])
        labels = self.model.classes_.tolist()
        return dict(zip(labels, self.answers[row - self.first].tolist(), strict=True))

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[ClfTarget, float]:
        """The same as `scores_one`."""
        return self.scores_one(x)

    def learn_one(self, x: X, y: ClfTarget, pseudo_label: bool = False) -> None:
        """Store a label; refit if there are 5 % more than at the last fit, and two classes."""
        self.labels[x[ROW]] = y
        if len(self.labels) >= GROWTH * self.fitted and len(set(self.labels.values())) > 1:
            self.model = self.make().fit(self.rows[[*self.labels]], [*self.labels.values()])
            self.fitted = len(self.labels)
            self.n_fits += 1
            self.answers = self.answers[:0]

    def debug_one(self, x: X) -> str:
        return str(self.scores_one(x))


def numbered(rows: Sized) -> Iterator[X]:
    """The examples `{"row": t}` that `Refitted` takes for these rows, in order."""
    return ({ROW: row} for row in range(len(rows)))
