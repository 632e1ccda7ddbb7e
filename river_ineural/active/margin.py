"""Asking where the top two probabilities are close."""

from __future__ import annotations

from typing import Any

from river import base
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.base import BudgetedSampler
from river_ineural.active.budget import Budget
from river_ineural.active.decision import Wanted
from river_ineural.inputs.parameters import Live
from river_ineural.inputs.validation import real
from river_ineural.network.scores import gap

__all__ = ["MarginSampler"]


class MarginSampler(BudgetedSampler):
    """Ask when the top two probabilities are close, or fewer than two classes are known.

    Parameters
    ----------
    classifier
        Any River classifier with `predict_proba_one`.
    threshold
        Ask when the difference between the top two probabilities is below it; in [0, 1].
    budget, horizon, seed
        As in `RandomSampler`.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics
    >>> from river import preprocessing
    >>> from river_ineural import active

    >>> scaler = preprocessing.StandardScaler()
    >>> classifier = scaler | linear_model.LogisticRegression()
    >>> model = active.MarginSampler(classifier, threshold=0.5)
    >>> stream, accuracy = datasets.Phishing(), metrics.Accuracy()
    >>> evaluate.progressive_val_score(stream, model, accuracy)
    Accuracy: 89.68%
    >>> model.n_queries, model.n_rounds
    (598, 1250)
    """

    threshold = Live[float](real(0, 1))

    def __init__(
        self,
        classifier: base.Classifier,
        threshold: float = 0.5,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed)
        self.threshold = threshold

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        if len(y_pred) < 2:
            return self._of_few_classes(len(y_pred))
        margin = gap(y_pred.values())
        return "gap" if margin < self.threshold else "none", margin, self.threshold
