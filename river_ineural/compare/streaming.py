"""River's learners, as I-NeurAL is compared with them."""

from __future__ import annotations

from typing import Any

from river import base, forest, linear_model, preprocessing, tree
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active import Budget, MarginSampler, RandomSampler
from river_ineural.active.decision import AUDIT, Wanted

__all__ = [
    *("MarginAndRest", "adaptive_forest", "at_random", "behind", "by_margin", "hoeffding"),
    *("linear", "regression"),
]


def regression(k: int) -> base.Classifier:
    """Logistic regression of classes 0 and 1, or softmax regression of more than two."""
    model: base.Classifier = (
        linear_model.LogisticRegression() if k == 2 else linear_model.SoftmaxRegression()
    )
    return model


def linear(k: int, seed: int) -> Any:
    """`regression` of features in units of their standard deviation."""
    return preprocessing.StandardScaler() | regression(k)


def hoeffding(k: int, seed: int) -> base.Classifier:
    """A tree that replaces branches which have become wrong."""
    return tree.HoeffdingAdaptiveTreeClassifier(seed=seed)


def adaptive_forest(k: int, seed: int) -> base.Classifier:
    """Trees that are replaced where a detector finds a change."""
    return forest.ARFClassifier(seed=seed)


def by_margin(classifier: base.Classifier, budget: Budget, seed: int) -> MarginSampler:
    """Asks where the top two probabilities are closer than 0.5."""
    return MarginSampler(classifier, threshold=0.5, budget=budget, seed=seed)


def at_random(classifier: base.Classifier, budget: Budget, seed: int) -> RandomSampler:
    """Asks a little more often than the budget allows, so that it is spent."""
    p = min(1.0, 1.1 * (budget.rate or 0.0))
    return RandomSampler(classifier, p=p, budget=budget, seed=seed)


def behind(sampler: Any) -> bool:
    """Whether to ask at random, since fewer labels were asked for than an even pace allows.

    With the labels left over the rounds left as its probability, so that all are asked for in the
    end: a tree that has become sure of few labels would leave most of them.
    """
    total, n = sampler.budget.total, sampler.budget.horizon
    left, to_come = total - sampler.n_queries, n - sampler.n_rounds + 1
    return bool(left * n > total * to_come and sampler._rng.random() * to_come < left)


class MarginAndRest(MarginSampler):
    """Asks by margin, and at random for the labels that this would leave.

    `budget` is a `Budget` with a horizon.
    """

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        wanted = super()._wanted(x, y_pred)
        return AUDIT if wanted[0] == "none" and behind(self) else wanted
