"""Query strategies of scikit-activeml around a refitted classifier (needs the extra `activeml`)."""

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from river.base.typing import ClfTarget

from river_ineural.compare.refitted import ROW, Refitted, X

THERE = find_spec("skactiveml") is not None


@cache
def told() -> Any:
    """A class of classifiers for its strategies that say what they are told, and are not fitted."""
    from skactiveml.base import SkactivemlClassifier

    class Told(SkactivemlClassifier):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            return self

        def predict_proba(self, X: Any) -> Any:
            return self.said

    return Told


class Queried:
    """A classifier that is refitted as by hand, whose labels one of its strategies asks for.

    It keeps to a share of the rounds. Until a label of a second class has come, all are asked for.
    """

    def __init__(self, strategy: str, learner: Refitted, share: float, seed: int) -> None:
        from skactiveml import stream

        self.strategy = getattr(stream, strategy)(budget=share, random_state=seed)
        self.classifier, self.told = learner, told()()

    def predict_one(self, x: X) -> tuple[ClfTarget | None, bool]:
        """The label predicted, and whether to ask for the true one."""
        scores, row = self.classifier.scores_one(x), np.array([[x[ROW]]])
        queried = np.array([0])
        if self.classifier.model is not None:
            self.told.said = np.array([[*scores.values()]])
            queried = self.strategy.query(row, clf=self.told)
        self.strategy.update(row, queried)
        label = max(scores, key=scores.__getitem__) if scores else None
        return label, len(queried) > 0

    def learn_one(self, x: X, y: ClfTarget) -> None:
        """Learn the label."""
        self.classifier.learn_one(x, y)
