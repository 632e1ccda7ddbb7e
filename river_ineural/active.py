"""River active learners: which labels to ask for."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, compose, linear_model
from river.active.base import ActiveLearningClassifier
from river.base.typing import ClfTarget, FeatureName

from river_ineural.classifier import INeurAL, check_weight
from river_ineural.query import Budget, ConstantWidth, TheoreticalWidth, Width, gap
from river_ineural.validation import check_choice, check_real, check_seed

__all__ = [
    "BudgetedSampler",
    "ConstantWidth",
    "INeurALSampler",
    "MarginSampler",
    "RandomSampler",
    "TheoreticalWidth",
]


class BudgetedSampler(ActiveLearningClassifier):
    """An active learner that counts its rounds and its queries against a budget.

    Each call of `predict_one` or `predict_proba_one` is a round, and each label asked for counts
    when it is asked for, whether or not it ever arrives. A label that was not asked for may be
    learned at no cost.

    Subclasses say in `_wants_label` which labels they want.
    """

    def __init__(
        self,
        classifier: base.Classifier,
        budget: float | int | None,
        horizon: int | None,
        seed: int | None,
    ) -> None:
        if not isinstance(classifier, base.Classifier):
            raise TypeError(f"classifier must be a River classifier, got {classifier!r}.")
        check_seed(seed)
        super().__init__(classifier, seed=seed)
        self.budget = budget
        self.horizon = horizon
        self._budget = Budget(budget, horizon)
        self.n_rounds = 0
        self.n_queries = 0

    def _ask_for_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        self.n_rounds += 1
        wanted = self._wants_label(x, y_pred)
        ask = wanted and self._budget.allows(self.n_rounds, self.n_queries)
        self.n_queries += ask
        return ask

    def _wants_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        raise NotImplementedError

    def predict_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[ClfTarget | None, bool]:
        """The label predicted for x, None before one is known, and whether to ask for it."""
        y_pred, ask = self.predict_proba_one(x, **kwargs)  # type: ignore[no-untyped-call]
        return (max(y_pred, key=y_pred.__getitem__) if y_pred else None), ask

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget, **kwargs: Any) -> None:
        """Learn a label; `kwargs` go to the classifier, a weight `w` if it takes one."""
        if "w" in kwargs and not self._takes_weights:
            del kwargs["w"]  # as River's evaluation does for such a classifier on its own
        self.classifier.learn_one(x, y, **kwargs)

    @property
    def _takes_weights(self) -> bool:
        parameters = inspect.signature(self.classifier.learn_one).parameters.values()
        return any(p.name == "w" or p.kind is p.VAR_KEYWORD for p in parameters)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": linear_model.SoftmaxRegression()}


class RandomSampler(BudgetedSampler):
    """Ask with a fixed probability until the budget is spent.

    Parameters
    ----------
    classifier
        Any River classifier with `predict_proba_one`.
    p
        Probability of asking, in [0, 1].
    budget
        Share of the stream (float in [0, 1]) or number of labels (int) that may be asked for. With
        a `horizon` a share is a hard cap of ⌊budget · horizon⌋ labels; without, never more than
        budget · t + 20 are asked for by round t. None: no limit.
    horizon
        Rounds in the stream, at least 1, if known.
    seed
        Seed of the draws, at least 0. None: different every time.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from river_ineural import active

    >>> classifier = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> model = active.RandomSampler(classifier, p=0.2, budget=100, seed=1)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.88%
    >>> model.n_queries
    100
    """

    def __init__(
        self,
        classifier: base.Classifier,
        p: float = 0.1,
        budget: float | int | None = None,
        horizon: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed)
        check_real("p", p, least=0, most=1)
        self.p = p

    def _wants_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        return self._rng.random() < self.p


class MarginSampler(BudgetedSampler):
    """Ask when the top two probabilities are close, or fewer than two classes are known.

    Parameters
    ----------
    classifier
        Any River classifier with `predict_proba_one`.
    threshold
        Ask when the difference between the top two probabilities is below it; in [0, 1].
    budget, horizon, seed
        As in `RandomSampler`.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from river_ineural import active

    >>> classifier = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> model = active.MarginSampler(classifier, threshold=0.5)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.68%
    >>> model.n_queries, model.n_rounds
    (598, 1250)
    """

    def __init__(
        self,
        classifier: base.Classifier,
        threshold: float = 0.5,
        budget: float | int | None = None,
        horizon: int | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed)
        check_real("threshold", threshold, least=0, most=1)
        self.threshold = threshold

    def _wants_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        return len(y_pred) < 2 or gap(y_pred.values()) < self.threshold


class INeurALSampler(BudgetedSampler):
    """I-NeurAL: ask when the gap between the top two scores is small, learn from the rest oneself.

    With f = f1 + f2 the scores of the classifier, î the top class and i° the runner-up, the label
    of round t is asked for when (Algorithm 1, line 11)

        f(î) - f(i°) < 2 · γ · β_t · (share of the budget left)^¾

    or fewer than two classes are known, or, after a long silence, at random: a network that has
    become sure of a wrong answer would never ask again. Where the gap reaches `confidence`, î is
    learned as a pseudo-label within the prediction (lines 18 to 23).

    Parameters
    ----------
    classifier
        An `INeurAL`, or a River pipeline that ends in one. The unsupervised steps of a pipeline
        learn from every round, asked or not.
    gamma
        Exploration parameter γ, at least 0; the larger, the more labels are asked for.
    width
        β_t: None for `ConstantWidth(0.08)`, or a `TheoreticalWidth`, or any callable with their
        signature.
    budget
        Share of the stream (float in [0, 1]) or number of labels (int) that may be asked for. With
        a `horizon` a share is a hard cap of ⌊budget · horizon⌋ labels; without, never more than
        budget · t + 20 are asked for by round t. None: no limit.
    horizon
        Rounds in the stream, at least 1, if known.
    confidence
        Gap from which a prediction is learned as a pseudo-label, at least 0. Gaps are about 1 for
        sure predictions.
    exploration
        Probability ε, in [0, 1], of asking at random at a round before which nothing was asked for
        1/ε rounds; 0 turns it off.
    self_training
        Whether to learn pseudo-labels at all.
    seed
        Seed of the random asks, at least 0. The classifier has a seed of its own.

    Attributes
    ----------
    n_rounds, n_queries, n_pseudo_labels
        Predictions made, labels asked for, pseudo-labels learned so far.

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
    >>> accuracy = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    >>> round(accuracy.get(), 1), model.n_queries
    (0.9, 60)

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022.
    """

    def __init__(
        self,
        classifier: base.Classifier,
        gamma: float = 6.0,
        width: Width | None = None,
        budget: float | int | None = None,
        horizon: int | None = None,
        confidence: float = 0.6,
        exploration: float = 0.02,
        self_training: bool = True,
        seed: int | None = None,
    ) -> None:
        super().__init__(classifier, budget, horizon, seed)
        if not isinstance(last_step(classifier), INeurAL):
            raise TypeError(
                f"classifier must be an INeurAL or a pipeline that ends in one, got {classifier}."
            )
        check_real("gamma", gamma, least=0)
        if width is not None and not callable(width):
            raise TypeError(f"width must be None or callable, e.g. ConstantWidth, got {width!r}.")
        check_real("confidence", confidence, least=0)
        check_real("exploration", exploration, least=0, most=1)
        check_choice("self_training", self_training, (True, False))
        self.gamma = gamma
        self.width = width
        self.confidence = confidence
        self.exploration = exploration
        self.self_training = self_training
        self._width = ConstantWidth() if width is None else width
        self._n_learned = 0  # labels learned of examples that were predicted before
        self._last_ask = 0  # round in which a label was last asked for
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
            If x is empty or a feature is not a finite number; nothing has changed then.
        """
        scores, ask = self._round(x, kwargs)
        return INeurAL._probabilities(scores), ask

    def predict_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[ClfTarget | None, bool]:
        """The label predicted for x, and whether to ask for the true one: one round of Algorithm 1.

        Takes and raises what `predict_proba_one` does.
        """
        scores, ask = self._round(x, kwargs)
        return (max(scores, key=scores.__getitem__) if scores else None), ask

    def _round(
        self, x: dict[FeatureName, Any], kwargs: dict[str, Any]
    ) -> tuple[dict[ClfTarget, float], bool]:
        classifier = last_step(self.classifier)
        values = self._checked(x, kwargs)
        if isinstance(self.classifier, compose.Pipeline):
            with compose.learn_during_predict():
                x = self.classifier.transform_one(x, **kwargs)
            values = classifier._features.values(x)
        scores = dict(
            zip(classifier._labels.labels, classifier._score(x, values), strict=True)
        )  # lines 4 to 7
        ask = self._ask_for_label(x, scores)
        if ask:
            self._last_ask = self.n_rounds
        sure = len(scores) > 1 and gap(scores.values()) >= self.confidence
        if self.self_training and sure and not ask:
            top = max(scores, key=scores.__getitem__)  # line 8
            classifier._learn(x, values, top, pseudo_label=True)
            self.n_pseudo_labels += 1
        return scores, ask

    def _threshold(self, t: int) -> float:
        """2γβ_t, times the share of the budget that is left, to the power of 3/4."""
        classifier = last_step(self.classifier)
        n_classes = max(2, len(classifier._labels))
        left: float = self._budget.left(t, self.n_queries) ** 0.75
        return 2 * self.gamma * self._width(t, n_classes, classifier.n_layers) * left

    def _wants_label(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> bool:
        if len(y_pred) < 2 or gap(y_pred.values()) < self._threshold(self.n_rounds):  # line 11
            return True
        silence = self.n_rounds - self._last_ask
        return silence * self.exploration >= 1 and self._rng.random() < self.exploration

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
        last_step(self.classifier)._labels.checked(y)
        check_weight(kwargs.get("w", 1.0))
        self._checked(x, {})
        # Unsupervised steps learned from x when it was predicted. It was not if more examples are
        # learned than were predicted, as in a warm start.
        seen = self._n_learned < self.n_rounds
        with compose.learn_during_predict() if seen else nullcontext():
            self.classifier.learn_one(x, y, **kwargs)
        self._n_learned += seen

    def _checked(self, x: dict[FeatureName, Any], kwargs: dict[str, Any]) -> NDArray[np.float64]:
        """Values of x as the classifier gets them, checked before any step has learned from x."""
        check = last_step(self.classifier)._features.values
        if not isinstance(self.classifier, compose.Pipeline):
            return check(x)  # type: ignore[no-any-return]
        try:
            return check(self.classifier.transform_one(x, **kwargs))  # type: ignore[no-any-return]
        except (TypeError, ValueError):  # x is bad, or a step that has learned nothing made it so
            trial = copy.deepcopy(self.classifier)
            with compose.learn_during_predict():
                return check(trial.transform_one(x, **kwargs))  # type: ignore[no-any-return]

    def debug_one(self, x: dict[FeatureName, Any]) -> str:
        """A table of f1, f2 and score by class, the gap, and the threshold for the next round."""
        classifier = last_step(self.classifier)
        if isinstance(self.classifier, compose.Pipeline):
            x = self.classifier.transform_one(x)
        return f"{classifier.debug_one(x)}\nthreshold: {self._threshold(self.n_rounds + 1):.5f}"

    @property
    def _raw_memory_usage(self) -> int:
        return super()._raw_memory_usage + int(last_step(self.classifier)._tensor_bytes)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": INeurAL()}


def last_step(classifier: base.Classifier) -> Any:
    """The classifier itself, or the last step of a pipeline."""
    while isinstance(classifier, compose.Pipeline):
        classifier = classifier[-1]
    return classifier
