"""What all samplers share: rounds, decisions, questions, a budget and a lock."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.accuracy import Accuracy
from river_ineural.active.budget import Budget, BudgetManager, combined
from river_ineural.active.counts import Counts
from river_ineural.active.decision import NOT_ASKED, REASONS, Decision, Reason, Wanted, by_chance
from river_ineural.active.html import of_sampler
from river_ineural.active.pairs import Pairs, Round
from river_ineural.active.pipelines import (
    check_caller,
    check_classifier,
    check_steps,
    filters,
    find_learner,
    last_step,
    learn_steps,
    learns_labels,
    n_drifts,
    n_learned,
)
from river_ineural.active.query import FIRST, audited, few_classes
from river_ineural.active.query import gap as gap_of
from river_ineural.active.questions import Answered, Asked, Questions
from river_ineural.classifier.locks import Locked, Order, lock
from river_ineural.features.keys import check_names
from river_ineural.features.labels import LabelIndex
from river_ineural.features.parameters import Fixed, Live
from river_ineural.features.validation import check_integer, check_seed, real, warn
from river_ineural.networks.threads import uninterrupted

if TYPE_CHECKING:
    from river_ineural.active.pipelines import Classifier

MOST_DRIFTS = 1_000  # rounds that `drifts` holds

# The scores of a round, what explorers added to them by name, and their first and second class.
Told = tuple[dict[ClfTarget, float], Mapping[str, list[float]], int, int]


class BudgetedSampler(Locked, Counts, Pairs):
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

    classifier = Live[Any](check_classifier, lambda model, other: model._replaced(other))
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
    _order = Order.SAMPLER

    def __init__(
        self,
        classifier: Classifier,
        budget: Budget | float | int | None,
        horizon: int | None,
        seed: int | None,
        audit: float = 0.0,
    ) -> None:
        super().__init__(classifier, seed=check_seed(seed))  # type: ignore[arg-type]  # a pipeline
        self._rng = generator(self.seed)
        self.audit = audit
        self.budget = budget
        self.horizon = horizon
        self._last: tuple[Any, ...] | None = None  # the latest decision, from which it is made
        self.n_by_reason: dict[Reason, int] = dict.fromkeys(REASONS, 0)
        self.drifts: list[int] = []
        self._n_drifts = n_drifts(classifier)  # at the last look
        self._budget_manager = BudgetManager(combined(self.budget, self.horizon))
        self._questions = Questions()
        self._accuracy = Accuracy()
        self._n_labels = 0  # that this classifier has learned, asked for or not
        self._warned = set[str]()  # of what
        self._lock = lock(self._order)

    def _replaced(self, classifier: Classifier) -> None:
        """Take a classifier that has learned none of the labels so far."""
        with self._lock:
            self._questions.unlink()
            self._n_drifts, self._n_labels = n_drifts(classifier), 0

    def _set_together(self, given: dict[str, Any]) -> dict[str, Any]:
        """Set a budget and a horizon, which are checked together, if both are given."""
        names = "budget", "horizon"
        if not given.keys() >= {*names}:
            return given
        both = {name: getattr(type(self), name).check(name, given[name]) for name in names}
        self._limit(**both)
        self.__dict__.update(both)
        return {name: value for name, value in given.items() if name not in both}

    def _limit(self, budget: Budget | float | int | None, horizon: int | None) -> None:
        with self._lock:
            manager = copy.copy(self._budget_manager)
            manager.change(combined(budget, horizon))
            self._budget_manager = manager

    @property
    def last_decision(self) -> Decision | None:
        """The decision of the last round and its reason; None before the first round."""
        with self._lock:
            if self._last is None:
                return None
            said = self._last, self._probabilities(self._last[0])  # here: it may never be read
            trust = getattr(find_learner(self.classifier)[0], "trust", {})
            return Decision.made(*said, trust, self.n_rounds)

    def _repr_html_(self) -> str:
        return of_sampler(self, self._budget_manager)

    def _round(self, x: dict[FeatureName, Any], kwargs: dict[str, Any]) -> Round:
        check_names(x)
        try:
            scores = self.classifier.predict_proba_one(copy.copy(x), **kwargs)  # see `transformed`
        except NotImplementedError as error:
            kind = type(self.classifier).__name__
            raise TypeError(f"{kind} gives no probabilities, from which this decides.") from error
        label = max(scores, key=scores.__getitem__) if scores else None
        return scores, label, self._ask_for_label(x, scores)

    def _ask_for_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        self._budget_manager.round()
        label = max(y_pred, key=y_pred.__getitem__) if y_pred else None
        wanted = self._wanted(x, y_pred)
        gap = gap_of(y_pred.values()) if wanted[1] != wanted[1] and len(y_pred) > 1 else wanted[1]
        return self._decide(x, x, wanted, label, gap, (y_pred, {}, 0, 0))

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        """Why the label is wanted, the gap, the threshold, and the probability of wanting it."""
        raise NotImplementedError

    def _decide(
        self,
        x: dict[FeatureName, Any],
        example: dict[FeatureName, Any],
        wanted: Wanted,
        label: ClfTarget | None,
        margin: float,
        said: Told,
    ) -> bool:
        """Whether a wanted label is asked for: if the budget allows it, it counts from now on.

        `example` is x as the last step sees it, or x itself; `label` is predicted, by this margin.
        """
        (reason, gap, threshold, p), manager, ask = wanted, self._budget_manager, False
        if self.audit:
            reason, p = audited(manager, self.audit, wanted, self._rng.random)
        if manager.left < 1:
            chance = gap != gap and manager.bucket is not None  # another round's label tells
            p, reason = p * chance, "none" if reason == "none" else "budget"
        elif reason not in NOT_ASKED:
            ask = True
            manager.spend()
            self._questions.add(x, example, manager.n_rounds, reason, gap)
        beyond = p < 1 and margin >= threshold  # False without a threshold
        self._accuracy.round(manager.n_rounds, label, margin, p, ask, beyond)
        self.n_by_reason[reason] += 1
        self._last = said[0], ask, reason, gap, threshold, manager.left, *said[1:]
        return ask

    def _of_few_classes(self, n_classes: int) -> Wanted:
        """Which labels are wanted while fewer than two classes have a label."""
        manager, learner = self._budget_manager, find_learner(self.classifier)[0]
        if manager.budget.limit is not None and n_classes:
            self._warn_once(
                f"Only one class was seen in {self._n_labels} labels: labels are asked for more "
                "rarely until another appears. INeurAL(classes=...) names the classes beforehand."
            )
        n = getattr(learner, "n_labels", self._n_labels)
        few = few_classes(manager, n, self.n_pending, n_classes > 0, self._rng.random)
        return by_chance(*few, "few classes")

    def _warn_once(self, text: str) -> None:
        """Warn once, after the first ten labels, that a class has no label yet.

        A wrapper such as River's `RandomUnderSampler` may have discarded those that came.
        """
        n = self._n_labels
        if n >= FIRST and "classes" not in self._warned and n_learned(self.classifier, n) >= n:
            self._warned.add("classes")
            warn(text)

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
            self._questions.name(self.n_rounds)
            decision = self.last_decision
            assert decision is not None
            return decision

    def answer(self, query: int, y: ClfTarget, **kwargs: Any) -> None:
        """Learn the label of a question, whose example was kept as the classifier saw it.

        If the question has another label already, y corrects it: the learner gives the example y in
        its history, and learns it once more. The same label again changes nothing. Only an
        `INeurAL` or a `NeurONAL` has a history, in which later labels replace the oldest ones. It
        must be the classifier itself or the last step of a pipeline.

        Parameters
        ----------
        query
            The name of the question: `Decision.query`.
        y, kwargs
            The label, and what goes to the classifier with the first one: a weight `w` if it takes
            one. Of a pipeline, what the last step does not take goes to steps that learn labels. An
            anomaly filter in it may keep the example, as the steps then make it, from the last one.

        Raises
        ------
        LookupError
            If no question has this name; if it is too old, or was withdrawn; or if a label cannot
            be corrected, because its example is in no history. Nothing has changed then.
        TypeError, ValueError
            If y is no label, or the classifier refuses it; nothing has changed then.

        Examples
        --------
        >>> from river_ineural import INeurAL, active
        >>> model = active.INeurALSampler(INeurAL(seed=1), seed=1)
        >>> query = model.decide_one({"size": 4.0}).query
        >>> model.answer(query, "smal")
        >>> model.answer(query, "small")
        >>> model.classifier.known_labels, model.classifier.n_labels
        (('smal', 'small'), 1)
        """
        with self._lock, uninterrupted():
            y, kwargs = LabelIndex.checked(y), of_given(kwargs)
            found = self._questions.get(query, self._budget_manager.n_rounds)
            self._questions.told = True  # of names
            if not isinstance(found, Answered):
                model, example = as_predicted(self.classifier, found, found.x)
                self._learn(model, example, y, lateness(self, query) | kwargs, query)
            elif found.label != y:
                self._correct(query, found.label, y)
                tell_of_steps(self.classifier, found.label, self._warned)

    def withdraw(self, query: int) -> None:
        """Take a question back, as if it had not been asked: the budget gets its label back, as far
        as its bucket could have held it since.

        If it was answered, its example no longer counts in the history that `answer` describes.
        What else the label has changed, such as the trust in explorers, fades.

        `query` and the errors are those of `answer`.

        Examples
        --------
        >>> from river_ineural import INeurAL, active
        >>> model = active.INeurALSampler(INeurAL(seed=1), budget=9, seed=1)
        >>> model.withdraw(model.decide_one({"size": 4.0}).query)
        >>> model.n_queries, model.n_pending
        (0, 0)
        """
        with self._lock, uninterrupted():
            found = self._questions.get(query, self._budget_manager.n_rounds)
            if isinstance(found, Answered):
                self._correct(query, found.label, None)
            self._questions.settle(query, Answered(0, None))
            self._budget_manager.give_back(query, self._questions.after(query))
            if isinstance(found, Answered):
                tell_of_steps(self.classifier, found.label, self._warned)

    def learn_one(
        self, x: dict[FeatureName, Any], y: ClfTarget, *, asked: bool = True, **kwargs: Any
    ) -> None:
        """Learn a label; `kwargs` go to the classifier, a weight `w` if it takes one.

        The label answers the oldest question of equal features, and its example is learned as it
        was predicted. Else it answers the one whose features it resembles, if that is clear, or
        none. A label that nobody asked for answers none with `asked=False`. Ctrl-C takes effect
        after this call, so that the classifier and the sampler agree.
        """
        with self._lock, uninterrupted():
            if not self._n_labels:
                check_caller()
            y, kwargs = LabelIndex.checked(y), of_given(kwargs)
            waited, now = asked and bool(self._questions.waiting), self._budget_manager.n_rounds
            query, distance = self._questions.find(x, now) if asked else (None, 0.0)
            same = None if distance else self._questions.waiting.get(query or 0)
            model, example = as_predicted(self.classifier, same, x)
            self._learn(model, example, y, lateness(self, query) | kwargs, query)
            if waited:
                self._questions.heard(query, distance)
            if query is None and (complaint := self._questions.complaint()):
                warn(complaint)

    def _learn(self, model: Any, x: Any, y: ClfTarget, kwargs: Any, query: int | None) -> None:
        """Let a model, which is the classifier or its last step, learn the label of a question."""
        n_before = getattr(find_learner(self.classifier)[0], "n_labels", None)
        if model is self.classifier:
            check_steps(model, x, y, kwargs)
        learn_steps(model, x, y, kwargs, model is not self.classifier)
        self._count(query, y, n_before)

    def _count(self, query: int | None, y: ClfTarget, n_before: int | None) -> None:
        """Count a label that was learned, before which the learner had learned n labels."""
        self._n_labels += 1
        learner, number = find_learner(self.classifier)[0], 0
        if query is not None:
            # A wrapper may leave examples out, learn them twice, or replace the learner.
            if n_before is not None and learner is last_step(self.classifier):
                number = learner.n_labels if learner.n_labels == n_before + 1 else 0
            self._questions.settle(query, Answered(number, y))
            self._accuracy.label(query, y)
        self._note_drifts(learner, n_before)

    def _correct(self, query: int, before: ClfTarget | None, y: ClfTarget | None) -> None:
        """Give the example of an answered question another label; None lets it no longer count."""
        self._questions.correct(query, y, find_learner(self.classifier)[0])
        self._accuracy.label(query, y)

    def _note_drifts(self, learner: Any, n_before: int | None) -> None:
        """Record changes that the learner has detected, and drop those that it has refuted."""
        n, replaced = n_drifts(learner), n_before is not None and learner.n_labels < n_before
        if n != self._n_drifts:
            if n > self._n_drifts:
                self.drifts.append(self._budget_manager.n_rounds)
                del self.drifts[:-MOST_DRIFTS]
            elif not replaced:
                del self.drifts[-1:]
            self._n_drifts = n

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        model = super().clone(new_params, include_attributes)
        if include_attributes:
            model._replaced(model.classifier)  # whose learner has learned nothing
            model._limit(model.budget, model.horizon)
        return model

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model

        yield {"classifier": linear_model.SoftmaxRegression()}


def generator(seed: int | None) -> random.Random:
    """Draws other numbers than `random.Random(seed)`, from which the stream may have been drawn."""
    return random.Random(seed if seed is None else f"sampler {seed}")


def tell_of_steps(classifier: Any, before: ClfTarget | None, warned: set[str]) -> None:
    """Warn once, after all else, if steps have learned a label that does not hold any more."""
    if "steps" not in warned and learns_labels(classifier):
        warned.add("steps")
        warn(
            f"Label {before!r} was corrected or taken back, but a step before the model has "
            "learned it for good: TargetAgg and others that learn labels forget none."
        )


def as_predicted(classifier: Any, asked: Asked | None, x: Any) -> tuple[Any, Any]:
    """The part of a classifier that learns the label of a question with features x, and the example
    as it was when it was predicted: steps that have moved since would make another of it.
    """
    if asked and asked.passed and not (filters(classifier) or learns_labels(classifier)):
        return last_step(classifier), asked.example
    return classifier, x


def lateness(model: BudgetedSampler, query: int | None) -> dict[str, int]:
    """How late the label of a question is, as an argument: how many examples were learned since, if
    these are spread evenly over the rounds.
    """
    now = model._budget_manager.n_rounds
    if (n_rounds := now - int(query or now)) <= 0:
        return {}
    n_learned = model.n_queries - model.n_pending + getattr(model, "n_pseudo_labels", 0)
    return {"late": math.ceil(n_rounds * min(1.0, n_learned / now))}


def of_given(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a label that was given; raises for one of pseudo-labels, or a bad `late`."""
    if "late" in kwargs:
        check_integer("late", kwargs["late"], 0)
    if "pseudo_label" in kwargs:
        raise TypeError("pseudo_label: a sampler learns pseudo-labels by itself, in its rounds.")
    return kwargs
