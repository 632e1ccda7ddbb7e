"""What a sampler counts: rounds, labels, and how right it is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from river.base.typing import ClfTarget

from river_ineural.active.accuracy import Accuracy, ClassEstimate, Estimate
from river_ineural.active.budget import BudgetManager
from river_ineural.active.pipelines import n_drifts
from river_ineural.active.questions import Question, Questions
from river_ineural.features.validation import check_integer


class Counts:
    """The part of `BudgetedSampler` that counts rounds and labels, and says how right it is."""

    classifier: Any
    _accuracy: Accuracy
    _budget_manager: BudgetManager
    _questions: Questions
    _lock: AbstractContextManager[Any]

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

    def queries(self) -> list[Question]:
        """The questions that wait for their labels, the oldest first."""
        with self._lock:
            self._questions.count(self._budget_manager.n_rounds)
            waiting = self._questions.waiting.items()
            return [Question(query, query, each.reason, each.gap) for query, each in waiting]

    @property
    def n_drifts(self) -> int:
        """Changes of the stream that the learner has detected; 0 if it has no detector."""
        return n_drifts(self.classifier)

    @property
    def accuracy(self) -> Estimate:
        """The accuracy of all rounds, estimated from the labels asked for, with a 95 % interval.

        It is the share of right predictions, each made before its label came. Rounds without a
        prediction do not count, nor do labels that were not asked for. Asks are mostly close calls,
        so the share of right answers among them is too low. Each ask has a known probability,
        though, from which the estimate corrects this: see `active.accuracy.Accuracy`.

        Examples
        --------
        >>> from river import datasets, linear_model, preprocessing
        >>> from river_ineural import active

        >>> scaler = preprocessing.StandardScaler()
        >>> classifier = scaler | linear_model.LogisticRegression()
        >>> model = active.MarginSampler(classifier, budget=0.1, seed=1)
        >>> right = 0
        >>> for x, y in datasets.Phishing():
        ...     label, ask = model.predict_one(x)
        ...     right += label == y
        ...     if ask:
        ...         model.learn_one(x, y)
        >>> print(f"{right / 1250:.1%} are right, estimated: {model.accuracy}")
        89.4% are right, estimated: 87.3% (80.1% to 92.0%, 348 labels)
        """
        return self.accuracy_since(None)

    def accuracy_since(self, rounds: int | None) -> Estimate:
        """`accuracy` of the latest `rounds`, at least 1, to a twentieth; None: of all."""
        if rounds is not None:
            rounds = check_integer("rounds", rounds, least=1)
        with self._lock:
            return self._accuracy.estimate(rounds)

    def accuracy_of_class(self, label: ClfTarget) -> ClassEstimate:
        """Precision and recall of a class over all rounds, as `accuracy`.

        Raises ValueError if the labels asked for have fewer than ten of the class, or fewer than
        ten where it was predicted.
        """
        with self._lock:
            return self._accuracy.of_class(label)
