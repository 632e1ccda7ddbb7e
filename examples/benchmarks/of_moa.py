"""MOA's learners as River classifiers, through CapyMOA (needs the extra `moa`, and Java)."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from river import base
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active import BudgetedSampler
from river_ineural.active.decision import Wanted

THERE = find_spec("capymoa") is not None
WINDOW, STEP = 100, 0.01  # of variable uncertainty


class Moa(base.Classifier):
    """A CapyMOA classifier with default settings, k classes and the first example's features."""

    def __init__(self, kind: str, n_classes: int, seed: int) -> None:
        self.kind, self.n_classes, self.seed = kind, n_classes, seed
        self.model: Any = None

    def instance(self, x: dict[FeatureName, Any], y: int | None = None) -> Any:
        """An example in the format of MOA."""
        from capymoa.core import Instance, LabeledInstance

        values = np.array([*x.values()], float)
        if y is None:
            return Instance.from_array(self.schema, values)
        return LabeledInstance.from_array(self.schema, values, y)

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget) -> None:
        """Learn the label, which is a class index."""
        if self.model is None:
            from capymoa import classifier
            from capymoa.stream import Schema

            classes = {"y": [str(label) for label in range(self.n_classes)]}
            self.schema = Schema.from_custom([*map(str, x), "y"], "y", classes)
            self.model = getattr(classifier, self.kind)(self.schema, random_seed=self.seed + 1)
        self.model.train(self.instance(x, int(y)))

    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """Votes by label; empty before a label is learned."""
        votes = None if self.model is None else self.model.predict_proba(self.instance(x))
        return {} if votes is None else dict(enumerate(votes.tolist()))


class VariableUncertainty(BudgetedSampler):
    """Asks if the top probability is below a threshold, which falls at each ask and else rises.

    Labels are counted over a window (Žliobaitė, Bifet, Pfahringer, Holmes: Active learning with
    drifting streaming data. IEEE Transactions on Neural Networks and Learning Systems, 2014).
    """

    def __init__(self, classifier: base.Classifier, budget: Any, seed: int) -> None:
        super().__init__(classifier, budget, None, seed)
        self.threshold, self.spent = 1.0, 0.0

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        surest, before = max(y_pred.values(), default=0.0), self.threshold
        wanted = surest < before and self.spent < WINDOW * (self._budget_manager.rate or 0.0)
        self.spent += wanted - self.spent / WINDOW
        if wanted:
            self.threshold *= 1 - STEP
        elif surest >= before:
            self.threshold *= 1 + STEP
        return "gap" if wanted else "none", surest, before, float(wanted)
