"""What all samplers share: rounds, decisions, pending labels, a budget and a lock."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from river import base
from river.active.base import ActiveLearningClassifier
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.budget import Budget, combined
from river_ineural.active.budget_manager import BudgetManager, whole_labels
from river_ineural.active.decision import FEW_CLASSES, REASONS, UNWANTED, Decision, Reason, Wanted
from river_ineural.active.learner import find_learner
from river_ineural.active.pending import Pending
from river_ineural.inputs.parameters import Fixed, Live
from river_ineural.inputs.validation import SCHEMA, check_schema, check_seed
from river_ineural.network.locks import Order, lock

__all__ = ["BudgetedSampler"]

FIRST = 10  # labels that are always asked for while fewer than two classes are known
MOST_DRIFTS = 1_000  # rounds that `drifts` holds


def check_classifier(name: str, classifier: Any) -> None:
    """Raise unless it is a River classifier."""
    if not isinstance(classifier, base.Classifier):
        raise TypeError(f"{name} must be a River classifier, got {classifier!r}.")


def check_budget(name: str, budget: Any) -> None:
    """Raise unless it can be a budget."""
    combined(budget, None)


def check_horizon(name: str, horizon: Any) -> None:
    """Raise unless it is None or a number of rounds."""
    Budget(None, horizon)


class BudgetedSampler(ActiveLearningClassifier):
    """An active learner that counts its rounds and its queries against a budget.

    Each call of `predict_one` or `predict_proba_one` is a round. A label counts when it is asked
    for, whether or not it ever arrives. Other labels may be learned, and cost nothing. Threads take
    turns.

    A subclass decides in `_wanted` which labels it wants, and why.

    Attributes
    ----------
    n_by_reason
        Rounds by the reason of their decision.
    drifts
        Rounds in which the learner detected a change of the stream; the last 1,000.
    """

    classifier = Live[Any](check_classifier)
    budget = Live[Budget | float | int | None](
        check_budget, lambda model, budget: model._limit(budget, model.horizon)
    )
    horizon = Live[int | None](
        check_horizon, lambda model, horizon: model._limit(model.budget, horizon)
    )
    seed = Fixed[int | None](lambda name, seed: check_seed(seed))

    def __init__(
        self,
        classifier: base.Classifier,
        budget: Budget | float | int | None,
        horizon: int | None,
        seed: int | None,
    ) -> None:
        super().__init__(classifier, seed=seed)
        self.budget = budget
        self.horizon = horizon
        self._last: tuple[bool, Reason, float, float, float, dict[str, float]] | None = None
        self.n_by_reason: dict[Reason, int] = dict.fromkeys(REASONS, 0)
        self.drifts: list[int] = []
        self._n_drifts = 0  # of the learner, at the last look
        self._budget_manager = BudgetManager(combined(budget, horizon))
        self._pending = Pending()
        self._n_labels = 0  # learned in all, asked for or not
        self._warned = False
        self._lock = lock(Order.SAMPLER)

    def _limit(self, budget: Budget | float | int | None, horizon: int | None) -> None:
        with self._lock:
            self._budget_manager.change(combined(budget, horizon))

    @property
    def n_rounds(self) -> int:
        """Predictions made so far."""
        return self._budget_manager.n_rounds

    @property
    def n_queries(self) -> int:
        """Labels asked for so far."""
        return self._budget_manager.n_asked

    @property
    def n_pending(self) -> int:
        """Labels asked for within the last 5,000 rounds that have not come yet."""
        with self._lock:
            return self._pending.count(self.n_rounds)

    @property
    def last_decision(self) -> Decision | None:
        """The decision of the last round and its reason; None before the first round."""
        if self._last is None:
            return None
        ask, reason, gap, threshold, left, added = self._last
        # Made here, so that a round whose decision is not read costs nothing.
        trust = dict(getattr(find_learner(self.classifier)[0], "trust", {}))
        return Decision(ask, reason, gap, threshold, whole_labels(left), trust, dict(added))

    @property
    def n_drifts(self) -> int:
        """Changes of the stream that the learner has detected; 0 if it has no detector."""
        learner, _ = find_learner(self.classifier)
        return int(getattr(learner, "n_drifts", 0))

    @property
    def _mutable_attributes(self) -> set[str]:
        kinds = type(self).__mro__
        return {name for kind in kinds for name, part in vars(kind).items() if type(part) is Live}

    def _ask_for_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        self._budget_manager.round()
        return self._decide(x, self._wanted(x, y_pred))

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        """Why the label is wanted, the gap, and the threshold."""
        raise NotImplementedError

    def _decide(
        self, x: dict[FeatureName, Any], wanted: Wanted, added: dict[str, float] | None = None
    ) -> bool:
        """Whether a wanted label is asked for: if the budget allows it, it counts from now on."""
        (reason, gap, threshold), manager = wanted, self._budget_manager
        ask = False
        if reason != "none":
            if ask := manager.allows():
                manager.spend()
                self._pending.add(x, manager.n_rounds)
            else:
                reason = "budget"
        self.n_by_reason[reason] += 1
        self._last = ask, reason, gap, threshold, manager.left, added or {}
        return ask

    def _of_few_classes(self, n_classes: int) -> Wanted:
        """Which labels are wanted while fewer than two classes have a label.

        Without a limit all are. Otherwise the first ten are, and then fewer the more were asked
        for, so that the budget lasts. With a horizon the rate of the budget holds once half of the
        labels are used.
        """
        manager, n = self._budget_manager, self.n_queries
        if manager.budget.limit is not None:
            if n_classes:
                self._warn_once(
                    f"Only one class was seen in {self._n_labels} labels: labels are asked for "
                    "more rarely until another appears. INeurAL(classes=...) names the classes "
                    "beforehand."
                )
            total, rate = manager.budget.total, manager.rate or 0.0
            rarely = FIRST / n if n and not (rate and total and 2 * n >= total) else 0.0
            if n >= FIRST and self._rng.random() >= max(rate, rarely):
                return UNWANTED
        return FEW_CLASSES

    def _warn_once(self, text: str) -> None:
        """Warn once, after the first ten labels, that a class has no label yet."""
        if self._n_labels >= FIRST and not self._warned:
            self._warned = True
            warnings.warn(text, UserWarning, stacklevel=2)

    def _note_drifts(self, learner: Any) -> None:
        """Record changes that the learner has detected, and drop those that it has refuted."""
        n = getattr(learner, "n_drifts", 0)
        if n != self._n_drifts:
            if n > self._n_drifts:
                self.drifts.append(self.n_rounds)
                del self.drifts[:-MOST_DRIFTS]
            else:
                del self.drifts[-1:]
            self._n_drifts = n

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
        with self._lock, self._counting(x):
            self.classifier.learn_one(x, y, **self._accepted(kwargs))

    @contextmanager
    def _counting(self, x: dict[FeatureName, Any], *more: Any) -> Iterator[None]:
        """Count the label of x that the classifier learns in this context.

        After an interrupt it counts if the learner has stored the example.
        """
        learner, _ = find_learner(self.classifier)
        before = getattr(learner, "n_labels", None)
        counts = self._n_labels + 1, self._pending.find(x), *more
        try:
            yield
            self._count(*counts)
        except BaseException:
            if getattr(learner, "n_labels", None) != before:
                self._count(*counts)
            raise

    def _count(self, n_labels: int, asked: int | None) -> None:
        """Count the label of round `asked`, the n-th learned; a second call changes nothing."""
        self._n_labels = n_labels
        self._pending.remove(asked)
        self._note_drifts(find_learner(self.classifier)[0])

    def _accepted(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments without a weight, if the classifier takes none."""
        if "w" not in kwargs:
            return kwargs
        parameters = inspect.signature(self.classifier.learn_one).parameters.values()
        if any(p.name == "w" or p.kind is p.VAR_KEYWORD for p in parameters):
            return kwargs
        return {name: value for name, value in kwargs.items() if name != "w"}

    def __getstate__(self) -> dict[str, Any]:
        """A copy of all but the lock, made while no thread learns."""
        with self._lock:
            state = {name: part for name, part in self.__dict__.items() if name != "_lock"}
            return {"schema": SCHEMA, **copy.deepcopy(state)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_schema(state.pop("schema", None))
        self.__dict__.update(state, _lock=lock(Order.SAMPLER))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model

        yield {"classifier": linear_model.SoftmaxRegression()}
