"""I-NeurAL's own decision, around a classifier whose scores mean something."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from river import base
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.account import Account
from river_ineural.active.base import FIRST, BudgetedSampler
from river_ineural.active.budget import Budget
from river_ineural.active.decision import UNWANTED, Wanted
from river_ineural.active.learner import check_learner, explored, route
from river_ineural.active.newcomers import Newcomers
from river_ineural.active.pipelines import checked, steps_learn, transformed
from river_ineural.active.rarity import Rarity
from river_ineural.active.reach import Reach
from river_ineural.active.width import ConstantWidth, Width
from river_ineural.inputs.parameters import Live
from river_ineural.inputs.validation import choice, real
from river_ineural.network.scores import nearest_distribution, top_and_gap

__all__ = ["INeurALSampler"]

USUAL = ConstantWidth()
INQUIRY = 0.25  # probability of asking in any round in the middle of a change
FEWER = 0.2  # of the audits, where the number of labels is fixed
ALONE = 0.5  # of `confidence`, which f1 has to reach where f1 + f2 says what may be learned
WIDER = 3.0  # times the threshold, at most, where the rare one of two classes is predicted


def check_width(name: str, width: Any) -> None:
    """Raise unless it is None or can be called."""
    if width is not None and not callable(width):
        raise TypeError(f"{name} must be None or callable, e.g. ConstantWidth, got {width!r}.")


class INeurALSampler(BudgetedSampler):
    """I-NeurAL: ask when the gap between the top two scores is small, learn from the rest oneself.

    With f the scores of the classifier (f1 + f2, or of `NeurONAL` f1), î the top class and i° the
    runner-up, the label of round t is asked for when (Algorithm 1, line 11)

        f(î) - f(i°) < 2 · γ · β_t · (share of the budget left)^thrift
                       · (share of labels there)

    of a bucket up to three times as much where the rare one of two classes is predicted; or fewer
    than two classes are known, or the gap is far above 1 and labels have not borne out that the
    model can be so sure (`Reach`), or now and then at random: a network that has become sure of a
    wrong answer would never ask again. The labels there are those learned, out of these and those
    still expected. Where the gap reaches `confidence`, î is learned as a pseudo-label within the
    prediction (lines 18 to 23).

    Parameters
    ----------
    classifier
        An `INeurAL`; a River pipeline that ends in one, whose unsupervised steps learn from every
        round, asked or not; or one of River's wrappers of one model around either,
        `drift.DriftRetrainingClassifier` or those of `imblearn`, which see the labels that are
        given. Any other classifier that is an `active.Learner` may stand for an `INeurAL`.
    gamma
        Exploration parameter γ, at least 0; the larger, the more labels are asked for.
    width
        β_t: None for `ConstantWidth(0.08)`, or a `TheoreticalWidth`, or any callable with their
        signature.
    budget
        Share of the stream (float in [0, 1]) or number of labels (int) that may be asked for, or a
        `Budget`. With a `horizon` a share is a hard cap of ⌊budget · horizon⌋ labels; without, in
        any w rounds at most budget · w + max(20, ⌊2,500 · budget⌋) are asked for. None: no limit.
    horizon
        Rounds in the stream, at least 1, if known.
    thrift
        Exponent of the share of the budget that is left in the threshold, at least 0: the larger,
        the more is kept for the closest calls. 0 leaves the threshold as it is to the last label.
    confidence
        Gap from which a prediction is learned as a pseudo-label, at least 0. Gaps are about 1 for
        sure predictions. Of a learner with two kinds of scores (`active.ExploringLearner`) those by
        which it may teach itself have to reach it for the same class, and the others half of it.
    exploration
        Probability ε, in [0, 1], of asking at random where nothing was asked for in 1/ε rounds and
        there are no audits: no limit, or a number of labels without a horizon. 0 turns it off.
    audits
        Share, in [0, 1], of the labels a round (`Budget.rate`) that are asked for at random where
        nothing else asks; more of what a bucket would not hold, a fifth of it where the number of
        labels is fixed, and more where a class is predicted that seldom is. 0 turns it off, and
        asks of what the model is surer than ever.
    self_training
        Whether to learn pseudo-labels at all.
    seed
        Seed of the random asks, at least 0. The classifier has a seed of its own.

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

    classifier = Live[Any](check_learner)
    gamma = Live[float](real(0))
    width = Live[Width | None](check_width)
    thrift = Live[float](real(0))
    confidence = Live[float](real(0))
    exploration = Live[float](real(0, 1))
    audits = Live[float](real(0, 1))
    self_training = Live[bool](choice(True, False))

    def __init__(
        self,
        classifier: base.Classifier,
        gamma: float = 6.0,
        width: Width | None = None,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        thrift: float = 0.75,
        confidence: float = 0.6,
        exploration: float = 0.02,
        audits: float = 0.25,
        self_training: bool = True,
        seed: int | None = None,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed)
        self.gamma = gamma
        self.width = width
        self.thrift = thrift
        self.confidence = confidence
        self.exploration = exploration
        self.audits = audits
        self.self_training = self_training
        self._n_learned = 0  # labels learned of examples that were predicted before
        self._last_ask = 0  # round in which a label was last asked for
        self._rarity = Rarity()
        self._reach = Reach()
        self._newcomers = Newcomers()
        self.n_pseudo_labels = 0

    def predict_proba_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[dict[ClfTarget, float], bool]:
        """Probability of each class, and whether to ask for the label: one round of Algorithm 1.

        Returns
        -------
        Probability by label, float64, empty before a class is known; True to ask.

        Raises
        ------
        TypeError, ValueError
            If a feature is not a finite number; nothing has changed then.
        """
        scores, _, ask = self._round(x, kwargs)
        return nearest_distribution(scores), ask

    def predict_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[ClfTarget | None, bool]:
        """The label predicted for x, and whether to ask for the true one: one round of Algorithm 1.

        Takes and raises what `predict_proba_one` does.
        """
        _, top, ask = self._round(x, kwargs)
        return top, ask

    def _round(
        self, x: dict[FeatureName, Any], kwargs: dict[str, Any]
    ) -> tuple[dict[ClfTarget, float], ClfTarget | None, bool]:
        with self._lock:
            learner, pipelines = route(self.classifier)
            given = x
            if pipelines:
                known = learner.known_labels  # one that it can learn must do as well
                checked(self.classifier, x, kwargs, **({"y": known[0]} if known else {}))
                with steps_learn(self.classifier):
                    x = transformed(pipelines, x, kwargs)
            x = learner.check_one(x)
            scores, sure = explored(learner, x)  # lines 4 to 7
            top, margin = top_and_gap(scores)  # lines 8 and 9
            if confident := self.self_training and len(scores) > 1:
                guess, certainty = (top, margin) if sure is scores else top_and_gap(sure)
                confident = guess == top and certainty >= self.confidence
                confident = confident and margin >= ALONE * self.confidence
            if confident:
                learner.check_one(x, top)  # it can be learned: else nothing has changed
            self._account.round()
            ask = self._decide(given, self._wants(margin, top, len(scores), learner))
            if ask:
                self._last_ask = self.n_rounds
            elif confident:
                learner.learn_one(x, top, pseudo_label=True)
                self.n_pseudo_labels += 1
                self._note_drifts(learner)
            return scores, top, ask

    def _threshold(self, account: Account, n_classes: int, n_layers: int, share: float) -> float:
        """2γβ_t · share^thrift, and less while labels are on their way: not all is asked for."""
        beta, t = self.width or USUAL, account.n_rounds
        threshold: float = 2 * self.gamma * beta(t, n_classes if n_classes > 2 else 2, n_layers)
        threshold *= share**self.thrift
        if n_pending := self._pending.count(t):
            there = self._n_labels + FIRST  # more, for a model that has none asks for some
            threshold *= there / (there + n_pending)
        return threshold

    def _wants(self, margin: float, top: ClfTarget | None, n_classes: int, learner: Any) -> Wanted:
        """Why a label is wanted where the top two scores are that far apart (line 11).

        Not where that is NaN: a model that is no use does not spend the budget.
        """
        if margin != margin:
            return UNWANTED
        if n_classes < 2 or top is None:
            return self._of_few_classes(n_classes)
        rarity = self._rarity.see(top, n_classes)
        account, changing = self._account, getattr(learner, "changing", False)
        self._reach.fade(account.rate or self.exploration)
        share = 1.0 if self._newcomers.there else account.share(reserve=not changing)
        threshold = self._threshold(account, n_classes, learner.n_layers, share)
        if account.bucket is not None and n_classes == 2:  # rounds fill it again
            threshold *= min(WIDER, math.sqrt(rarity))
        if margin < threshold:
            return "change" if changing else "gap", margin, threshold
        if changing:  # until it is known what of the past still holds
            return "change" if self._rng.random() < INQUIRY else "none", margin, threshold
        if self._reach.short_of(margin) and self.audits and self._first_of_few():
            return "audit", margin, threshold
        p = 0.0
        if self.audits and account.rate:
            if account.bucket is None:  # which no round adds to
                p = account.rate * self.audits * FEWER
            else:  # what it would not hold is for audits as well
                p = account.rate * max(self.audits, share)
        elif (account.n_rounds - self._last_ask) * self.exploration >= 1:  # a silence
            p = self.exploration
        return "audit" if p and self._rng.random() < p * rarity else "none", margin, threshold

    def _first_of_few(self) -> bool:
        """Whether to ask because of a gap beyond what labels have borne out.

        The more labels are on their way, the more seldom: the first of them may settle it.
        """
        n_pending = self._pending.count(self.n_rounds)
        return not n_pending or self._rng.random() * (1 + n_pending) < 1

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        top, margin = top_and_gap(y_pred)
        return self._wants(margin, top, len(y_pred), route(self.classifier)[0])

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget, **kwargs: Any) -> None:
        """Learn the label of an example (Algorithm 1, lines 13 to 17 and 24 to 26).

        Parameters
        ----------
        x
            Features, as they were given to `predict_one`.
        y
            The label.
        kwargs
            Go to the classifier: `w` weighs the example in the loss.
        """
        with self._lock:
            learner, _ = route(self.classifier)
            given = {"y": y, "w": kwargs.get("w", 1.0)}
            scores = learner.scores_one(checked(self.classifier, x, {}, **given))
            # Unsupervised steps learned from x when it was predicted. It was not if more examples
            # are learned than were predicted, as in a warm start.
            seen = self._n_learned < self.n_rounds
            with steps_learn(self.classifier) if seen else nullcontext():
                self.classifier.learn_one(x, y, **self._taken(kwargs))
            self._n_learned += seen
            if len(scores) > 1:
                top, margin = top_and_gap(scores)
                self._reach.told(margin, right=top == y)
            self._learned(x)
            if y in learner.known_labels:
                self._newcomers.see(y)

    def debug_one(self, x: dict[FeatureName, Any]) -> str:
        """What the learner says of its scores, and the threshold for the next round."""
        with self._lock:
            learner, pipelines = route(self.classifier)
            table = learner.debug_one(transformed(pipelines, x, {}))
            ahead = copy.copy(self._account)
            ahead.round()
            share = ahead.share(reserve=not getattr(learner, "changing", False))
            sizes = len(learner.known_labels), learner.n_layers
            return f"{table}\nthreshold: {self._threshold(ahead, *sizes, share):.5f}"

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river_ineural.classifier import INeurAL

        yield {"classifier": INeurAL()}
