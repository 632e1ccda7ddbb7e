"""Asking at random, and asking where the top two probabilities are close."""

from __future__ import annotations

from typing import Any

from river import base
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.base import BudgetedSampler
from river_ineural.active.budget import Budget
from river_ineural.active.decision import AT_RANDOM, UNWANTED, Wanted
from river_ineural.active.query import gap
from river_ineural.features.parameters import Live
from river_ineural.features.validation import real

__all__ = ["MarginSampler", "RandomSampler"]


class RandomSampler(BudgetedSampler):
    """Ask with a fixed probability until the budget is spent.

    Parameters
    ----------
    classifier
        Any River classifier with `predict_proba_one`.
    p
        Probability of asking, in [0, 1].
    budget
        Share of the stream (float in [0, 1]) or number of labels (int) that may be asked for, or a
        `Budget`. With a `horizon` a share is a hard cap of ⌊budget · horizon⌋ labels. Without one
        any w rounds take at most budget · w + max(20, ⌊2,500 · budget⌋) labels, most of them early.
        At 0.1 a stream of 1,250 rounds takes 375 labels at most. None: no limit; 0.0: no label.
    horizon
        Rounds in the stream, at least 1, if known.
    seed
        Seed of the draws, at least 0. None: different every time.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics
    >>> from river import preprocessing
    >>> from river_ineural import active

    >>> scaler = preprocessing.StandardScaler()
    >>> classifier = scaler | linear_model.LogisticRegression()
    >>> model = active.RandomSampler(classifier, p=0.2, budget=100, seed=1)
    >>> stream, accuracy = datasets.Phishing(), metrics.Accuracy()
    >>> evaluate.progressive_val_score(stream, model, accuracy)
    Accuracy: 88.88%
    >>> model.n_queries
    100
    """

    p = Live[float](real(0, 1))

    def __init__(
        self,
        classifier: base.Classifier,
        p: float = 0.1,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed)
        self.p = p

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        return AT_RANDOM if self._rng.random() < self.p else UNWANTED


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
