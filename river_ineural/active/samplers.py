"""Asking at random, and asking where the top two probabilities are close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.base import BudgetedSampler
from river_ineural.active.budget import Budget
from river_ineural.active.decision import Reason, Wanted, by_chance
from river_ineural.active.query import gap, pace
from river_ineural.features.parameters import Live
from river_ineural.features.validation import optional, real, warn

if TYPE_CHECKING:
    from river_ineural.active.pipelines import Classifier

SCARCE = 2.0  # labels of a bucket below which the budget decides when to ask, not p
STEP = 0.01  # by which the threshold of a margin moves
RANDOM = 0.1  # probability of a random ask, as a share of the pace
SILENT = 1_000  # rounds without a question after which a fixed threshold is spoken of
LEAST_THETA, MOST_THETA = 0.01, 1.01  # a threshold above 1 asks even where a classifier is certain


class RandomSampler(BudgetedSampler):
    """Ask with a fixed probability until the budget is spent.

    Parameters
    ----------
    classifier
        Any River classifier with `predict_proba_one`.
    p
        Probability of asking, in [0, 1].
    budget
        Share of the rounds (float in [0, 1]), number of labels (int, at least 0), or a `Budget`,
        whose `most` tells what it may cost. None: no limit.
    horizon
        Rounds in the stream, at least 1, if known.
    seed
        Seed of the draws, at least 0. None: different every time.
    audit
        Share of the budget, in [0, 1], that is kept for random rounds, for a narrower `accuracy`.

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
    Accuracy: 85.44%
    >>> model.n_queries
    100
    """

    p = Live[float](real(0, 1))

    def __init__(
        self,
        classifier: Classifier,
        p: float = 0.1,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        audit: float = 0.0,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed, audit)
        self.p = p

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        manager, p = self._budget_manager, self.p
        asks = self._rng.random() < p
        if manager.bucket is not None and manager.rate is not None and manager.left < SCARCE:
            p = min(p, manager.rate)  # a label speaks for the rounds before it without budget, too
        return by_chance(asks, p)


class MarginSampler(BudgetedSampler):
    """Ask where the top two probabilities are close, around any classifier, until the stream ends.

    A label is asked for if the difference of the top two probabilities is below a threshold θ,
    which follows the classifier (variable uncertainty):

        θ ← (1 - s) · θ after such an ask, (1 + s) · θ otherwise, with s = 0.01

    So about half of the differences are below θ. Let p be the labels a round that the budget can
    pay for (`query.pace`). A round may ask by θ with probability 2 · p, and only such a round moves
    θ. Else it asks at random: with probability p if labels would be left over, or p/10.

    Parameters
    ----------
    classifier
        Any River classifier with `predict_proba_one`.
    threshold
        None: θ adapts. A number in [0, 1]: θ stays there, every round may ask, and none asks at
        random. Around a classifier that is surer than that, as trees are, it may never ask again.
    budget, horizon
        As in `RandomSampler`. Seven tenths of the labels are spent early, and with a horizon the
        others evenly over its rounds. No limit: about half of the rounds ask.
    seed
        Seed of the draws, at least 0. None: different every time.
    audit
        As in `RandomSampler`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or the classifier is a sampler.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, tree
    >>> from river_ineural import active

    >>> budget = active.Budget(0.1, horizon=1250)
    >>> classifier = tree.HoeffdingTreeClassifier()
    >>> model = active.MarginSampler(classifier, budget=budget, seed=1)
    >>> stream, accuracy = datasets.Phishing(), metrics.Accuracy()
    >>> evaluate.progressive_val_score(stream, model, accuracy)
    Accuracy: 88.39%
    >>> model.n_queries, model.n_rounds
    (125, 1250)

    References
    ----------
    Žliobaitė, Bifet, Pfahringer, Holmes: Active Learning With Drifting Streaming Data. IEEE
    Transactions on Neural Networks and Learning Systems, 2014. There a window of spending holds
    the budget.
    """

    threshold = Live[float | None](optional(real(0, 1)))

    def __init__(
        self,
        classifier: Classifier,
        threshold: float | None = None,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        seed: int | None = None,
        audit: float = 0.0,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed, audit)
        self.threshold = threshold
        self._theta = MOST_THETA  # the threshold that adapts

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        if len(y_pred) < 2:
            return self._of_few_classes(len(y_pred))
        margin, theta = gap(y_pred.values()), self.threshold
        if theta is not None:
            asks = margin < theta
            if not asks:
                self._tell_of_silence(theta)
            return "gap" if asks else "none", margin, theta, float(asks)
        theta, manager, draw = self._theta, self._budget_manager, self._rng.random()
        p, behind = pace(manager)
        spent, may_ask = manager.left < 1, draw < 2 * p
        if may_ask and not spent:
            if margin < theta:
                self._theta = max(LEAST_THETA, theta * (1 - STEP))
            elif margin >= theta:  # not if it is NaN
                self._theta = min(MOST_THETA, theta * (1 + STEP))
        if margin < theta and (may_ask or spent):
            return "gap", margin, theta, min(1.0, 2 * p)
        least = p if behind else RANDOM * p
        reason: Reason = "random" if draw < least else "none"
        return reason, margin, theta, min(1.0, 2 * p) if margin < theta else least

    def _tell_of_silence(self, theta: float) -> None:
        """Warn once of a fixed threshold that no margin is below any more."""
        manager, latest = self._budget_manager, next(reversed(self._accuracy.noted), 0)
        silent = manager.n_rounds - latest >= SILENT and manager.left >= 1
        if silent and "silence" not in self._warned:
            self._warned.add("silence")
            warn(
                f"No margin was below threshold={theta:g} in {SILENT:,} rounds, so no label was "
                "asked for, and `accuracy` only guesses: leave threshold out, and it adapts."
            )
