"""What all samplers share: rounds, decisions, questions, a budget and a lock."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

from river import base
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.accuracy import Accuracy, Estimating
from river_ineural.active.answering import Answering
from river_ineural.active.budget import Budget, BudgetManager, combined, whole_labels
from river_ineural.active.decision import REASONS, Decision, Reason, Wanted, by_chance
from river_ineural.active.html import html_table
from river_ineural.active.pipelines import check_caller, find_learner, n_learned, no_sampler
from river_ineural.active.query import FIRST, few_classes, pace
from river_ineural.active.query import gap as gap_of
from river_ineural.active.questions import Questions
from river_ineural.classifier.locks import Order, lock, with_attributes
from river_ineural.features.parameters import Fixed, Live, Mutable
from river_ineural.features.validation import (
    SCHEMA,
    check_schema,
    check_seed,
    real,
    warn,
)

__all__ = ["BudgetedSampler"]


def check_classifier(name: str, classifier: Any) -> Any:
    """The classifier; raises unless it is one of River."""
    if not isinstance(classifier, base.Classifier):
        raise TypeError(f"{name} must be a River classifier, got {classifier!r}.")
    no_sampler(name, classifier)
    return classifier


class BudgetedSampler(Mutable, Estimating, Answering):
    """An active learner that counts its rounds and its queries against a budget.

    Each call of `predict_one` or `predict_proba_one` is a round. A label counts when it is asked
    for, whether or not it ever arrives. Other labels may be learned, and cost nothing. Threads take
    turns.

    A label that was asked for is a question, whose name is `Decision.query`. `answer` learns its
    label and may correct it later. A question is kept for 5,000 rounds, and at most 10,000 of them
    are in 64 MB.

    A subclass decides in `_wanted` which labels it wants, and why.

    Attributes
    ----------
    n_by_reason
        Rounds by the reason of their decision.
    drifts
        Rounds in which the learner detected a change of the stream; the last 1,000.
    """

    classifier = Live[Any](check_classifier, lambda model, _: model._questions.unlink())
    budget = Live[Budget | float | int | None](
        lambda _, budget: budget if isinstance(budget, Budget) else Budget(budget).limit,
        lambda model, budget: model._limit(budget, model.horizon),
    )
    horizon = Live[int | None](
        lambda _, horizon: Budget(None, horizon).horizon,
        lambda model, horizon: model._limit(model.budget, horizon),
    )
    audit = Live[float](real(0, 1))
    seed = Fixed[int | None](lambda _, seed: check_seed(seed))

    def __init__(
        self,
        classifier: base.Classifier,
        budget: Budget | float | int | None,
        horizon: int | None,
        seed: int | None,
        audit: float = 0.0,
    ) -> None:
        super().__init__(classifier, seed=check_seed(seed))
        self.audit = audit
        self.budget = budget
        self.horizon = horizon
        self._last: tuple[Any, ...] | None = None  # the latest decision, from which it is made
        self.n_by_reason: dict[Reason, int] = dict.fromkeys(REASONS, 0)
        self.drifts: list[int] = []
        self._n_drifts = 0  # of the learner, at the last look
        self._budget_manager = BudgetManager(combined(self.budget, self.horizon))
        self._questions = Questions()
        self._accuracy = Accuracy()
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
            return self._questions.count(self.n_rounds)

    @property
    def last_decision(self) -> Decision | None:
        """The decision of the last round and its reason; None before the first round."""
        with self._lock:
            if self._last is None:
                return None
            # Made here, so that a round whose decision is not read costs nothing.
            scores, ask, reason, gap, threshold, left, added, top, second = self._last
            label = max(scores, key=scores.__getitem__) if scores else None
            trust = dict(getattr(find_learner(self.classifier)[0], "trust", {}))
            if top == second:
                added = {}
            parts = {name: each[top] - each[second] for name, each in added.items()}
            said = label, self._probabilities(scores), ask, reason, gap, threshold
            return Decision(*said, whole_labels(left), trust, parts, self.n_rounds if ask else None)

    def _probabilities(self, scores: dict[ClfTarget, float]) -> dict[ClfTarget, float]:
        """The probabilities that belong to the scores of a round."""
        return dict(scores)

    def _repr_html_(self) -> str:
        rows = {
            "classifier": type(self.classifier).__name__,
            "budget": self._budget_manager.budget,
            "asked": f"{self.n_queries:,} labels in {self.n_rounds:,} rounds",
            "left": whole_labels(self._budget_manager.left),
            "reasons": {reason: n for reason, n in self.n_by_reason.items() if n},
        }
        return html_table(type(self).__name__, rows)

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
        return self._decide(x, x, y_pred, self._wanted(x, y_pred))

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        """Why the label is wanted, the gap, the threshold, and the probability of wanting it."""
        raise NotImplementedError

    def _decide(
        self,
        x: dict[FeatureName, Any],
        example: dict[FeatureName, Any],
        scores: dict[ClfTarget, float],
        wanted: Wanted,
        added: dict[str, list[float]] | None = None,
        top: int = 0,
        second: int = 0,
    ) -> bool:
        """Whether a wanted label is asked for: if the budget allows it, it counts from now on.

        `example` is x as `_answering` sees it. `added` is what explorers added to the scores, of
        which classes `top` and `second` are first and second.
        """
        manager, ask = self._budget_manager, False
        reason, gap, threshold, p = self._audited(wanted) if self.audit else wanted
        if manager.left < 1:
            p = 0.0
        if reason != "none":
            if manager.left >= 1:
                ask = True
                manager.spend()
                self._questions.add(x, example, manager.n_rounds, reason, gap)
            else:
                reason = "budget"
        label = max(scores, key=scores.__getitem__) if scores else None
        margin = gap if gap == gap or len(scores) < 2 else gap_of(scores.values())
        beyond = p < 1 and margin >= threshold  # False without a threshold
        self._accuracy.round(manager.n_rounds, label, margin, p, ask, beyond)
        self.n_by_reason[reason] += 1
        self._last = scores, ask, reason, gap, threshold, manager.left, added or {}, top, second
        return ask

    def _audited(self, wanted: Wanted) -> Wanted:
        """The same, or a random ask by `audit` where the label was not wanted."""
        (reason, gap, threshold, p), manager = wanted, self._budget_manager
        share = min(1.0, self.audit * (pace(manager)[0] if manager.rate is None else manager.rate))
        if self._rng.random() < share and reason == "none":
            reason = "random"
        return reason, gap, threshold, p + (1 - p) * share

    def _of_few_classes(self, n_classes: int) -> Wanted:
        """Which labels are wanted while fewer than two classes have a label."""
        if self._budget_manager.budget.limit is not None and n_classes:
            self._warn_once(
                f"Only one class was seen in {self._n_labels} labels: labels are asked for more "
                "rarely until another appears. INeurAL(classes=...) names the classes beforehand."
            )
        return by_chance(*few_classes(self._budget_manager, self._rng.random), "few classes")

    def _warn_once(self, text: str) -> None:
        """Warn once, after the first ten labels, that a class has no label yet.

        A wrapper such as River's `RandomUnderSampler` may have discarded those that came.
        """
        n = self._n_labels
        if n >= FIRST and not self._warned and n_learned(self.classifier, n) >= n:
            self._warned = True
            warn(text)

    def predict_proba_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[dict[ClfTarget, float], bool]:
        """Probability of each class, and whether to ask for the label.

        This is a round, and so is `predict_one`; `decide_one` returns both in one.
        """
        with self._lock:
            if not self.n_rounds:
                check_caller()
            y_pred = self.classifier.predict_proba_one(x, **kwargs)
            return y_pred, self._ask_for_label(x, y_pred)

    def predict_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[ClfTarget | None, bool]:
        """The label predicted for x, None before one is known, and whether to ask for it.

        This is a round, and so is `predict_proba_one`; `decide_one` returns both in one.
        """
        y_pred, ask = self.predict_proba_one(x, **kwargs)
        return (max(y_pred, key=y_pred.__getitem__) if y_pred else None), ask

    def decide_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> Decision:
        """Decide one round, and say all about it: the prediction, the question, and the reason.

        `predict_one` and `predict_proba_one` are a round each, so call one of the three for a row.

        Parameters
        ----------
        x
            Features, as the classifier takes them.

        Returns
        -------
        The decision. Its `query` is the name of the question; None if it asks for no label.

        Raises
        ------
        TypeError, ValueError
            If the classifier refuses x; it is no round then.

        Examples
        --------
        >>> from river import linear_model
        >>> from river_ineural import active

        >>> classifier = linear_model.LogisticRegression()
        >>> model = active.RandomSampler(classifier, p=1.0, seed=1)
        >>> decision = model.decide_one({"a": 1.0})
        >>> decision.query, model.queries()
        (1, [Question(query=1, round=1, reason='random', gap=nan)])
        >>> model.answer(decision.query, True)
        >>> model.queries()
        []
        """
        with self._lock:
            self.predict_one(x, **kwargs)
            decision = self.last_decision
            assert decision is not None
            return decision

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """A sampler with the same parameters, or these, and if asked for with all its counts."""
        model = super().clone(new_params)
        if include_attributes:
            with_attributes(model, self)
            model._questions.unlink()  # its learner has learned nothing
            model._limit(model.budget, model.horizon)
        return model

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
