"""I-NeurAL's own decision, around a classifier whose scores mean something."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from river.base.typing import ClfTarget, FeatureName

import river_ineural.active.query as rule
from river_ineural.active.base import BudgetedSampler
from river_ineural.active.budget import Budget, BudgetManager
from river_ineural.active.decision import UNWANTED, Reason, Wanted
from river_ineural.active.pairs import Round
from river_ineural.active.pipelines import (
    check_learner,
    checked,
    find_learner,
    is_pipeline,
    last_step,
    learn_steps,
    prepared,
    steps_learn,
    transformed,
    try_steps,
)
from river_ineural.active.width import Width, beta_of
from river_ineural.features.keys import check_names
from river_ineural.features.parameters import Live
from river_ineural.features.validation import choice, real
from river_ineural.networks.scores import nearest_distribution

if TYPE_CHECKING:
    from river_ineural.active.pipelines import Classifier


def check_width(name: str, width: Any) -> Any:
    """The width; raises unless it is None or can be called."""
    if width is not None and not callable(width):
        raise TypeError(f"{name} must be None or callable, e.g. ConstantWidth, got {width!r}.")
    return width


def sought(learner: Any, labels: list[ClfTarget]) -> list[ClfTarget]:
    """Those of these labels that were named beforehand, and are no slips or forgotten ones."""
    known = getattr(learner, "classes", labels) or ()
    return [label for label in labels if label in known]


class INeurALSampler(BudgetedSampler):
    """I-NeurAL: ask when the gap between the top two scores is small, else learn the prediction.

    Let f be the scores of the classifier, explorers included, î the top class and i° the second.
    The label of round t is asked for when (Algorithm 1, line 11)

        f(î) - f(i°) < 2 · γ · β_t · (share of the budget left)^(3/4)
                       · (n + 10) / (n + 10 + labels pending)

    where n labels are learned. A label is also asked for if fewer than two classes are known, if
    labels point to a change of the stream, or if the gap is above 1 and larger than labels have
    confirmed. Some are asked for at random, because a network that is sure of a wrong answer would
    never ask again. If no label is asked for and the gap is at least 0.6, î is learned as a
    pseudo-label (lines 18 to 23), but not where examples have few of many features, as of words.
    The methods are those of `BudgetedSampler`: `predict_one`, `decide_one`, `answer`, `learn_one`
    and others.

    Parameters
    ----------
    classifier
        An `INeurAL`, or a River pipeline that ends in one. The unsupervised steps of a pipeline
        learn from every round. River's `drift.DriftRetrainingClassifier` or a sampler of its
        `imblearn` may go around either, of which `RandomUnderSampler` discards labels that were
        paid for. Any other `active.Learner` may stand for an `INeurAL`.
    gamma
        Exploration parameter γ, at least 0; the larger, the more labels are asked for.
    width
        β_t: None for `ConstantWidth(0.08)`, or a `TheoreticalWidth`, or any callable with their
        signature, with which the sampler cannot be saved.
    budget
        Share of the rounds (float in [0, 1]), number of labels (int, at least 0), or a `Budget`,
        whose `most` tells what it may cost. None: no limit.
    horizon
        Rounds in the stream, at least 1, if known. Most labels are then asked for early, and some
        are kept for random rounds until the end. Leave it out where later rounds may differ, such
        as rows in time order.
    self_training
        Whether to learn pseudo-labels at all.
    seed
        Seed of the random asks, at least 0. The classifier has a seed of its own.
    audit
        As in `RandomSampler`.

    Attributes
    ----------
    n_rounds, n_queries, n_pending, n_pseudo_labels
        Predictions made, labels asked for, labels of those still expected, pseudo-labels learned.
    last_decision, n_by_reason, n_drifts, drifts
        As in `BudgetedSampler`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL, active

    >>> model = active.INeurALSampler(INeurAL(seed=1), budget=60, seed=1)
    >>> stream = datasets.Phishing().take(600)
    >>> accuracy = evaluate.progressive_val_score(
    ...     stream, model, metrics.Accuracy()
    ... )
    >>> round(accuracy.get(), 1), model.n_queries
    (0.9, 60)

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022.
    """

    classifier = Live[Any](check_learner, lambda model, other: model._replaced(other))
    gamma = Live[float](real(0))
    width = Live[Width | None](check_width)
    self_training = Live[bool](choice(True, False))
    _reserves = True  # whether labels of a total are held back for random asks and changes

    def __init__(
        self,
        classifier: Classifier,
        gamma: float = 6.0,
        width: Width | None = None,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        self_training: bool = True,
        seed: int | None = None,
        audit: float = 0.0,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed, audit)
        self.gamma = gamma
        self.width = width
        self.self_training = self_training
        self._n_learned = 0  # learned labels of examples that were predicted before
        self._last_ask = 0  # round in which a label was last asked for
        self._confirmed_gap = rule.SURE  # the largest gap at which a label has confirmed î
        self._seen: dict[ClfTarget, tuple[int, int]] = {}  # labels, and the number of the first
        self._late = False  # whether a class has come late and has few labels
        self._unseen: list[ClfTarget] | None = None  # classes without a label; None: look
        self.n_pseudo_labels = 0

    def _replaced(self, classifier: Classifier) -> None:
        with self._lock:
            super()._replaced(classifier)
            self._unseen, self._n_learned = None, self._budget_manager.n_rounds
            self._seen, self._late = {}, False

    def _round(self, x: dict[FeatureName, Any], kwargs: dict[str, Any]) -> Round:
        """One round of Algorithm 1, lines 3 to 13 and 18."""
        learner, pipelines = find_learner(self.classifier)
        explained = getattr(learner, "explained_one", None)
        if pipelines or explained is None:  # else the learner checks names
            check_names(x)
        if pipelines:  # lines 3 and 4: the x of this round
            given, example = prepared(learner, pipelines, self.classifier, x, kwargs)
        else:
            given, example = x, learner.check_one(x)
        if explained is None:
            scores, added = learner.scores_one(example), {}
        else:
            scores, added = explained(example)  # lines 5 to 7
        labels, (top, second, margin) = [*scores], rule.top_two([*scores.values()])
        k, manager = len(labels), self._budget_manager
        beta = beta_of(self.width, manager.n_rounds + 1, k, learner.n_layers)
        manager.round()
        wanted = self._wanted_at(learner, k, margin, beta)
        label = labels[top] if k else None  # line 10
        ask = self._decide(x, given, wanted, label, margin, (scores, added, top, second))
        if ask:  # lines 12 and 13; the label comes by `learn_one`
            self._last_ask = manager.n_rounds
        elif (
            self.self_training
            and margin >= rule.PSEUDO_LABEL_GAP
            and k - len(self._unseen or ()) > 1  # labels of one class teach one prediction
            and getattr(learner, "takes_pseudo_labels", True)
        ):
            learner.learn_one(example, label, pseudo_label=True)  # line 18: with lines 19 to 26
            self.n_pseudo_labels += 1
        return scores, label, ask

    def _levels(
        self, manager: BudgetManager, learner: Any, k: int, beta: float
    ) -> tuple[bool, float, float, float]:
        """Whether the learner recovers from a change; the share of the labels that are asked for at
        random; the threshold of line 11; and that of a full budget.
        """
        changing, questions = getattr(learner, "changing", False), self._questions
        dependent = manager.bucket is None and getattr(learner, "temporal_dependence", False)
        random = rule.random_share(manager, dependent, self._n_drifts > 0 and not changing)
        now = self._budget_manager.n_rounds  # `manager` may be a round ahead
        n_pending = questions.count(now) if questions.waiting else 0
        n = getattr(learner, "n_labels", self._n_labels) if n_pending else 0  # perhaps without us
        full = rule.threshold(2 * self.gamma * beta, n, n_pending)
        if self._late:  # the labels of a late class are worth a full budget
            return changing, random, full, full
        reserve = not changing and (self._reserves or manager.bucket is not None)
        left = rule.share(manager, reserve, max(2, k), dependent, random + self.audit)
        return changing, random, full * left**rule.BUDGET_EXPONENT, full

    def _wanted_at(self, learner: Any, n_classes: int, margin: float, beta: float) -> Wanted:
        """Why the label is wanted at this gap of the top two scores (line 11).

        None is wanted at a NaN gap: such a model would waste the budget.
        """
        manager = self._budget_manager
        if margin != margin:
            return UNWANTED
        if self._unseen is None:
            self._unseen = list(getattr(learner, "unseen_labels", ()))
        if self._unseen and (names := sought(learner, self._unseen)):
            self._warn_once(f"No label of {names[0]!r} has come: it is looked for at random.")
        if (n_seen := n_classes - len(self._unseen)) < 2:
            if len(self._seen) > 1 and self._n_drifts:
                self._warn_once(
                    "All labels since the stream has changed are of one class. If rows were "
                    "learned sorted by class, shuffle them, or learn them by learn_many."
                )
            return self._of_few_classes(n_seen)
        if self._confirmed_gap > rule.SURE:
            self._confirmed_gap = rule.faded_gap(self._confirmed_gap, manager.rate)
        changing, share, threshold, full = self._levels(manager, learner, n_classes, beta)
        kept = rule.kept(manager, share + self.audit) if self._reserves else 0.0
        spent = manager.left < 1 + int(kept)  # a part of a label keeps none
        only_random = spent and manager.left >= 1 and not self._late
        if margin < threshold and not only_random:
            return "change" if changing else "gap", margin, threshold, 1.0
        reason: Reason
        if changing and not only_random:  # labels decide what old labels are worth
            reason, p = "change", rule.RANDOM_IN_CHANGE
            asks = self._rng.random() < p
        elif not only_random and getattr(learner, "warning", False):  # a sure model sees it last
            return "warning", margin, threshold, 1.0
        else:
            (asks, p), reason = self._asks_at_random(margin, share, only_random), "random"
        if not asks:  # a spent budget lowers the threshold to 0, and is then the reason
            reason = "budget" if spent and margin < full else "none"
        return reason, margin, threshold, p

    def _asks_at_random(self, margin: float, share: float, only: bool) -> tuple[bool, float]:
        """Whether to ask where nothing else asks, and how probably; `only`: whatever the gap."""
        manager = self._budget_manager
        unconfirmed = not only and margin > self._confirmed_gap + rule.STEP
        n_pending = self._questions.count(manager.n_rounds) if unconfirmed else 0
        n_silent, searching = manager.n_rounds - self._last_ask, False
        if self._unseen:
            searching = bool(sought(find_learner(self.classifier)[0], self._unseen))
        random = self._rng.random
        return rule.random_ask(manager, share, unconfirmed, n_pending, n_silent, searching, random)

    def _probabilities(self, scores: dict[ClfTarget, float]) -> dict[ClfTarget, float]:
        return nearest_distribution(scores)

    def _learn(self, model: Any, x: Any, y: ClfTarget, kwargs: Any, query: int | None) -> None:
        """Algorithm 1, lines 13 to 17 and 24 to 26."""
        learner, pipelines = find_learner(self.classifier)
        n_before, scores = getattr(learner, "n_labels", None), {}
        # Unsupervised steps have learned x if it was predicted. It was not if more examples are
        # learned than were predicted, as in a warm start.
        seen = self._n_learned < self._budget_manager.n_rounds
        if asked := self._questions.waiting.get(query or 0):  # of a pipeline that is replaced?
            seen = asked.passed or (seen and last_step(self.classifier) is self.classifier)
        if learner is not model or n_before is None:
            _, example = checked(model, x, {}, y=y, w=kwargs.get("w", 1.0))
            if n_before is None:
                scores = learner.scores_one(example)
            if pipelines and model is self.classifier and not (seen and is_pipeline(model)):
                try_steps(pipelines, x, {})
        with steps_learn(model) if seen else nullcontext():
            learn_steps(model, x, y, kwargs, model is not self.classifier)
        self._n_learned += seen
        learner, _ = find_learner(self.classifier)  # a wrapper may replace its model
        if n_before is not None and learner.n_labels == n_before + 1:
            scores = getattr(learner, "scores_before", {})
        self._count(query, y, n_before)
        self._hear(y, scores, learner)

    def _correct(self, query: int, before: ClfTarget | None, y: ClfTarget | None) -> None:
        super()._correct(query, before, y)
        known = find_learner(self.classifier)[0].known_labels
        for label, n in ((before, -1), (y, 1)):
            if label is not None and label in known:
                count, first = self._seen.get(label, (0, self._n_labels))
                self._seen[label] = count + n, first
        self._seen = {label: each for label, each in self._seen.items() if each[0] > 0}
        if self._unseen or before not in self._seen:  # it may have been the only one of its class
            self._unseen = None
        self._late = rule.some_class_is_late(self._seen.values(), self._n_labels)

    def _hear(self, y: ClfTarget, scores: dict[ClfTarget, float], learner: Any) -> None:
        """Learn from a label whether the prediction was right, and how many each class has."""
        if len(scores) > 1:
            top, _, margin = rule.top_two([*scores.values()])
            right = [*scores][top] == y
            self._confirmed_gap = rule.confirmed_gap(self._confirmed_gap, margin, right)
        if self._unseen:
            self._unseen = None
        if y in learner.known_labels:
            count, first = self._seen.get(y, (0, self._n_labels))
            self._seen[y] = count + 1, first
            self._late = rule.some_class_is_late(self._seen.values(), self._n_labels)

    def debug_one(self, x: dict[FeatureName, Any]) -> str:
        """The learner's explanation of its scores, and the threshold of the next round."""
        with self._lock:
            learner, pipelines = find_learner(self.classifier)
            table = learner.debug_one(transformed(pipelines, x, {}))
            ahead = copy.copy(self._budget_manager)
            ahead.round()
            k = len(learner.known_labels)
            beta = beta_of(self.width, ahead.n_rounds, k, learner.n_layers)
            _, _, threshold, _ = self._levels(ahead, learner, k, beta)
            return f"{table}\nthreshold: {threshold:.5f}"

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_ineural import INeurAL

        yield {"classifier": INeurAL()}
