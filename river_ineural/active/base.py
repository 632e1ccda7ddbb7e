"""What all samplers share: rounds, queries, a budget, a lock."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Iterator
from typing import Any

from river import base
from river.active.base import ActiveLearningClassifier
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.budget import Budget
from river_ineural.inputs.parameters import Fixed, Live
from river_ineural.inputs.validation import check_seed

__all__ = ["BudgetedSampler"]


def check_classifier(name: str, classifier: Any) -> None:
    """Raise unless it is a River classifier."""
    if not isinstance(classifier, base.Classifier):
        raise TypeError(f"{name} must be a River classifier, got {classifier!r}.")


def check_budget(name: str, budget: Any) -> None:
    """Raise unless it can be one."""
    Budget(budget)


def check_horizon(name: str, horizon: Any) -> None:
    """Raise unless it is None or a number of rounds."""
    Budget(None, horizon)


class BudgetedSampler(ActiveLearningClassifier):
    """An active learner that counts its rounds and its queries against a budget.

    Each call of `predict_one` or `predict_proba_one` is a round, and each label asked for counts
    when it is asked for, whether or not it ever arrives. A label that was not asked for may be
    learned at no cost. Threads take turns.

    Subclasses say in `_wants_label` which labels they want.
    """

    classifier = Live[Any](check_classifier)
    budget = Live[float | int | None](
        check_budget, lambda model, budget: model._limit(budget, model.horizon)
    )
    horizon = Live[int | None](
        check_horizon, lambda model, horizon: model._limit(model.budget, horizon)
    )
    seed = Fixed[int | None](lambda name, seed: check_seed(seed))

    def __init__(
        self,
        classifier: base.Classifier,
        budget: float | int | None,
        horizon: int | None,
        seed: int | None,
    ) -> None:
        super().__init__(classifier, seed=seed)
        self.budget = budget
        self.horizon = horizon
        self._limit(budget, horizon)
        self.n_rounds = 0
        self.n_queries = 0
        self._lock = threading.RLock()

    def _limit(self, budget: float | int | None, horizon: int | None) -> None:
        self._budget = Budget(budget, horizon)

    @property
    def _mutable_attributes(self) -> set[str]:
        kinds = type(self).__mro__
        return {name for kind in kinds for name, part in vars(kind).items() if type(part) is Live}

    def _ask_for_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        self.n_rounds += 1
        return self._granted(self._wants_label(x, y_pred))

    def _granted(self, wanted: bool) -> bool:
        """Whether the budget allows a label that is wanted, which then counts."""
        ask = wanted and self._budget.allows(self.n_rounds, self.n_queries)
        self.n_queries += ask
        return ask

    def _wants_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        raise NotImplementedError

    def predict_proba_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[dict[ClfTarget, float], bool]:
        """Probability of each class, and whether to ask for the label."""
        with self._lock:
            y_pred = self.classifier.predict_proba_one(x, **kwargs)
            return y_pred, self._ask_for_label(x, y_pred)

    def predict_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[ClfTarget | None, bool]:
        """The label predicted for x, None before one is known, and whether to ask for it."""
        y_pred, ask = self.predict_proba_one(x, **kwargs)
        return (max(y_pred, key=y_pred.__getitem__) if y_pred else None), ask

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget, **kwargs: Any) -> None:
        """Learn a label; `kwargs` go to the classifier, a weight `w` if it takes one."""
        with self._lock:
            self.classifier.learn_one(x, y, **self._taken(kwargs))

    def _taken(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Without a weight for a classifier that takes none, as in River's evaluation."""
        if "w" not in kwargs:
            return kwargs
        parameters = inspect.signature(self.classifier.learn_one).parameters.values()
        if any(p.name == "w" or p.kind is p.VAR_KEYWORD for p in parameters):
            return kwargs
        return {name: value for name, value in kwargs.items() if name != "w"}

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, copied while nobody learns."""
        with self._lock:
            state = {name: part for name, part in self.__dict__.items() if name != "_lock"}
            return copy.deepcopy(state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model

        yield {"classifier": linear_model.SoftmaxRegression()}
