"""What all samplers share: rounds, decisions, pending labels, a budget and a lock."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from typing import Any

from river import base
from river.active.base import ActiveLearningClassifier
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.budget import Budget, BudgetManager, combined, whole_labels
from river_ineural.active.decision import FEW_CLASSES, REASONS, UNWANTED, Decision, Reason, Wanted
from river_ineural.active.pending import Pending
from river_ineural.active.pipelines import check_caller, find_learner, learn_steps, n_learned
from river_ineural.active.query import FIRST, few_classes
from river_ineural.classifier.locks import Order, lock
from river_ineural.features.parameters import Fixed, Live, Mutable
from river_ineural.features.validation import SCHEMA, check_schema, check_seed, warn
from river_ineural.networks.threads import uninterrupted

__all__ = ["BudgetedSampler"]

MOST_DRIFTS = 1_000  # rounds that `drifts` holds


def check_classifier(name: str, classifier: Any) -> Any:
    """The classifier; raises unless it is one of River."""
    if not isinstance(classifier, base.Classifier):
        raise TypeError(f"{name} must be a River classifier, got {classifier!r}.")
    return classifier


class BudgetedSampler(Mutable, ActiveLearningClassifier):
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
        lambda _, budget: budget if isinstance(budget, Budget) else Budget(budget).limit,
        lambda model, budget: model._limit(budget, model.horizon),
    )
    horizon = Live[int | None](
        lambda _, horizon: Budget(None, horizon).horizon,
        lambda model, horizon: model._limit(model.budget, horizon),
    )
    seed = Fixed[int | None](lambda _, seed: check_seed(seed))

    def __init__(
        self,
        classifier: base.Classifier,
        budget: Budget | float | int | None,
        horizon: int | None,
        seed: int | None,
    ) -> None:
        super().__init__(classifier, seed=check_seed(seed))
        self.budget = budget
        self.horizon = horizon
        self._last: tuple[Any, ...] | None = None  # the latest decision, from which it is made
        self.n_by_reason: dict[Reason, int] = dict.fromkeys(REASONS, 0)
        self.drifts: list[int] = []
        self._n_drifts = 0  # of the learner, at the last look
        self._budget_manager = BudgetManager(combined(self.budget, self.horizon))
        self._pending = Pending()
        self._n_labels = 0  # learned in all, asked for or not
        self._warned = False
        self._lock = lock(Order.SAMPLER)

    def _limit(self, budget: Budget | float | int | None, horizon: int | None) -> None:
        with self._lock:
            manager = copy.copy(self._budget_manager)
            manager.change(combined(budget, horizon))
            self._budget_manager = manager

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
        ask, reason, gap, threshold, left, added, top, second = self._last
        # Made here, so that a round whose decision is not read costs nothing.
        trust = dict(getattr(find_learner(self.classifier)[0], "trust", {}))
        parts = {name: each[top] - each[second] for name, each in added.items() if top != second}
        return Decision(ask, reason, gap, threshold, whole_labels(left), trust, parts)

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
        self,
        x: dict[FeatureName, Any],
        wanted: Wanted,
        added: dict[str, list[float]] | None = None,
        top: int = 0,
        second: int = 0,
    ) -> bool:
        """Whether a wanted label is asked for: if the budget allows it, it counts from now on.

        `added` is what explorers added to the scores, of which classes `top` and `second` are first
        and second.
        """
        (reason, gap, threshold), manager = wanted, self._budget_manager
        ask = False
        if reason != "none":
            if manager.left >= 1:
                ask = True
                manager.spend()
                self._pending.add(x, manager.n_rounds)
            else:
                reason = "budget"
        self.n_by_reason[reason] += 1
        self._last = ask, reason, gap, threshold, manager.left, added or {}, top, second
        return ask

    def _of_few_classes(self, n_classes: int) -> Wanted:
        """Which labels are wanted while fewer than two classes have a label."""
        if self._budget_manager.budget.limit is not None and n_classes:
            self._warn_once(
                f"Only one class was seen in {self._n_labels} labels: labels are asked for more "
                "rarely until another appears. INeurAL(classes=...) names the classes beforehand."
            )
        return FEW_CLASSES if few_classes(self._budget_manager, self._rng.random) else UNWANTED

    def _warn_once(self, text: str) -> None:
        """Warn once, after the first ten labels, that a class has no label yet.

        A wrapper such as River's `RandomUnderSampler` may have discarded those that came.
        """
        n = self._n_labels
        if n >= FIRST and not self._warned and n_learned(self.classifier, n) >= n:
            self._warned = True
            warn(text)

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
            if not self.n_rounds:
                check_caller()
            y_pred = self.classifier.predict_proba_one(x, **kwargs)
            return y_pred, self._ask_for_label(x, y_pred)

    def predict_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[ClfTarget | None, bool]:
        """The label predicted for x, None before one is known, and whether to ask for it."""
        y_pred, ask = self.predict_proba_one(x, **kwargs)
        return (max(y_pred, key=y_pred.__getitem__) if y_pred else None), ask

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget, **kwargs: Any) -> None:
        """Learn a label; `kwargs` go to the classifier, a weight `w` if it takes one.

        Ctrl-C takes effect after it, so that the classifier and the sampler agree.
        """
        with self._lock, uninterrupted():
            check_caller()
            learn_steps(self.classifier, x, y, self._accepted(kwargs))
            self._count(x, find_learner(self.classifier)[0])

    def _count(self, x: dict[FeatureName, Any], learner: Any) -> None:
        """Count the label of x, which was learned."""
        self._n_labels += 1
        self._pending.remove(self._pending.find(x))
        self._note_drifts(learner)

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
