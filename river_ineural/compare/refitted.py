"""What somebody would do by hand: a classifier of scikit-learn, fitted anew as the labels grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from typing import Any

import numpy as np
from river import base
from river.base.typing import ClfTarget, FeatureName

__all__ = ["Refitted", "numbered"]

X = dict[FeatureName, Any]

GROWTH = 1.05  # of the labels since the last fit, from which on there is another
ROW = "row"  # the one feature of an example: where in the data it is


class Refitted(base.Classifier):
    """An `active.Learner` that is fitted anew whenever its labels have grown by 5 %.

    `make` makes a classifier of scikit-learn; `rows` are all examples in their order, an array
    (n, d) or a pandas frame, of which `{"row": t}` is the one of round t. Rows are answered ahead,
    a `block` at a time: a forest answers hundreds as fast as one.
    """

    n_layers = 2  # of which the width of `INeurALSampler` makes nothing

    def __init__(self, make: Callable[[], Any], rows: Any, block: int = 256) -> None:
        self.make = make
        self.rows = getattr(rows, "iloc", rows)
        self.block = block
        self.model: Any = None
        self.fitted = 0  # labels that it was fitted with
        self.n_fits = 0
        self.labels: dict[int, ClfTarget] = {}  # that are known, by their rows
        self.first = 0  # row of the first answer at hand
        self.answers = np.empty((0, 0))

    @property
    def known_labels(self) -> tuple[ClfTarget, ...]:
        """In the order of their first appearance."""
        return tuple(dict.fromkeys(self.labels.values()))

    def check_one(self, x: X, y: Any = None, w: float = 1.0) -> X:
        """x itself: all of them are good."""
        return x

    def scores_one(self, x: X) -> dict[ClfTarget, float]:
        """Probability of each class that was known at the last fit."""
        if self.model is None:
            return dict.fromkeys(self.known_labels, 1.0)
        row = x[ROW]
        if not 0 <= row - self.first < len(self.answers):
            self.first = row
            self.answers = self.model.predict_proba(self.rows[row : row + self.block])
        labels = self.model.classes_.tolist()
        return dict(zip(labels, self.answers[row - self.first].tolist(), strict=True))

    def predict_proba_one(self, x: X, **kwargs: Any) -> dict[ClfTarget, float]:
        """As `scores_one`."""
        return self.scores_one(x)

    def learn_one(self, x: X, y: ClfTarget, pseudo_label: bool = False) -> None:
        """Note a label, and fit if that makes 5 % more than at the last fit, of two classes."""
        self.labels[x[ROW]] = y
        if len(self.labels) >= GROWTH * self.fitted and len(set(self.labels.values())) > 1:
            self.model = self.make().fit(self.rows[[*self.labels]], [*self.labels.values()])
            self.fitted = len(self.labels)
            self.n_fits += 1
            self.answers = self.answers[:0]

    def debug_one(self, x: X) -> str:
        return str(self.scores_one(x))


def numbered(rows: Sized) -> Iterator[X]:
    """What `Refitted` takes for these rows, in their order."""
    return ({ROW: row} for row in range(len(rows)))
