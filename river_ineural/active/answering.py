"""How a sampler learns labels: with the features of a question, by its name, or in frames."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from river.active.base import ActiveLearningClassifier
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.accuracy import Accuracy
from river_ineural.active.budget import BudgetManager
from river_ineural.active.pipelines import check_caller, find_learner, last_step, learn_steps
from river_ineural.active.questions import Answered, Question, Questions
from river_ineural.classifier.locks import Lock
from river_ineural.features.keys import KINDS, plain
from river_ineural.features.validation import warn
from river_ineural.networks.threads import uninterrupted

if TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

__all__ = ["Answering", "accepted"]

MOST_DRIFTS = 1_000  # rounds that `drifts` holds


class Answering(ActiveLearningClassifier):
    """The part of `BudgetedSampler` that learns labels."""

    drifts: list[int]
    _lock: Lock
    _questions: Questions
    _accuracy: Accuracy
    _budget_manager: BudgetManager
    _n_labels: int
    _n_drifts: int

    def queries(self) -> list[Question]:
        """The questions that wait for their labels, the oldest first."""
        with self._lock:
            self._questions.count(self._budget_manager.n_rounds)
            waiting = self._questions.waiting.items()
            return [Question(query, query, each.reason, each.gap) for query, each in waiting]

    def answer(self, query: int, y: ClfTarget, **kwargs: Any) -> None:
        """Learn the label of a question, whose example was kept as the classifier saw it.

        If the question has another label already, y corrects it. The example then has the new label
        in the history of the learner, which learns it once more. The same label again changes
        nothing. Only an `INeurAL` or a `NeurONAL` has a history, in which later labels replace the
        oldest ones. It must be the classifier itself or the last step of a pipeline.

        Parameters
        ----------
        query
            The name of the question: `Decision.query`.
        y
            The label.
        kwargs
            Go to the classifier with the first label: a weight `w` if it takes one.

        Raises
        ------
        LookupError
            If no question has this name; if it is too old, or was withdrawn; or if a label cannot
            be corrected, because its example is in no history. Nothing has changed then.
        TypeError, ValueError
            If the classifier refuses y; nothing has changed then.

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
            y = y if type(y) in KINDS else plain(y)
            found = self._questions.get(query, self._budget_manager.n_rounds)
            if not isinstance(found, Answered):
                self._learn(self._answering, found.example, y, kwargs, query)
            elif found.label != y:
                self._correct(query, found, y)

    def withdraw(self, query: int) -> None:
        """Take a question back, as if it had not been asked: the budget gets its label back.

        If it was answered, its example no longer counts in the history that `answer` describes.
        What else the label has changed, such as the trust in explorers, fades.

        Parameters
        ----------
        query
            The name of the question: `Decision.query`.

        Raises
        ------
        LookupError
            If no question has this name; if it is too old, or was withdrawn before; or if it was
            answered, and its example is in no history. Nothing has changed then.

        Examples
        --------
        >>> from river_ineural import INeurAL, active
        >>> model = active.INeurALSampler(INeurAL(seed=1), budget=9, seed=1)
        >>> query = model.decide_one({"size": 4.0}).query
        >>> model.n_queries, model.n_pending
        (1, 1)
        >>> model.withdraw(query)
        >>> model.n_queries, model.n_pending
        (0, 0)
        """
        with self._lock, uninterrupted():
            found = self._questions.get(query, self._budget_manager.n_rounds)
            if isinstance(found, Answered):
                self._correct(query, found, None)
            self._questions.settle(query, Answered(0, None))
            self._accuracy.label(query, None)
            self._budget_manager.give_back()

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget, **kwargs: Any) -> None:
        """Learn a label; `kwargs` go to the classifier, a weight `w` if it takes one.

        The label answers the oldest question of equal features. Else it answers the one whose
        features it resembles, if that is clear, or none. `answer` needs no features. Ctrl-C takes
        effect after this call, so that the classifier and the sampler agree.
        """
        with self._lock, uninterrupted():
            if not self._n_labels:
                check_caller()
            y = y if type(y) in KINDS else plain(y)
            waited = bool(self._questions.waiting)
            query, alike = self._questions.find(x, self._budget_manager.n_rounds)
            self._learn(self.classifier, x, y, kwargs, query)
            if waited:
                self._questions.heard(query, alike)
            if query is None and (complaint := self._questions.complaint()):
                warn(complaint)

    def predict_many(self, X: IntoDataFrame, **kwargs: Any) -> tuple[IntoSeries, IntoSeries]:
        """Decide the rows of a frame in their order; each is a round, as by `predict_one`.

        Parameters
        ----------
        X
            Frame of pandas, polars or another library that narwhals reads.

        Returns
        -------
        Two series of the same kind and index: the predicted labels, and whether to ask for the true
        ones, as bool.

        Raises
        ------
        TypeError, ValueError
            If the classifier refuses a row. It then decides none, or, if it is a pipeline or has no
            `check_one`, those before.
        """
        from river.utils import dataframe

        from river_ineural.features.frames import dicts, opened

        frame = opened(X)
        with self._lock:
            rows = self._checked(dicts(frame))
            decide: Any = self.predict_one
            pairs = [decide(x, **kwargs) for x in rows]
        series = partial(dataframe.to_native_series, name=None, like=frame)
        return series([label for label, _ in pairs]), series([ask for _, ask in pairs])

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, **kwargs: Any) -> None:
        """Learn the labels of a frame row by row, as by `learn_one`: each may answer a question.

        Takes a frame, and raises, as `predict_many` does. y is a series with a label for each row.
        """
        from river_ineural.features.frames import checked_labels, dicts, opened

        frame = opened(X)
        labels = checked_labels(y, len(frame))
        with self._lock:
            for x, label in zip(self._checked(dicts(frame), labels), labels, strict=True):
                self.learn_one(x, label, **kwargs)

    def _checked(self, rows: list[Any], labels: list[ClfTarget] | None = None) -> list[Any]:
        """The rows, after a classifier that can check them, and their labels, has done so."""
        if hasattr(self.classifier, "check_one"):
            for i, x in enumerate(rows):
                self.classifier.check_one(x, **({"y": labels[i]} if labels else {}))
        return rows

    @property
    def _answering(self) -> Any:
        """What learns the examples of questions; here all steps of a pipeline learn with labels."""
        return self.classifier

    def _learn(self, model: Any, x: Any, y: ClfTarget, kwargs: Any, query: int | None) -> None:
        """Let a model, which is the classifier or its last step, learn the label of a question."""
        n_before = getattr(find_learner(self.classifier)[0], "n_labels", None)
        learn_steps(model, x, y, accepted(model, kwargs))
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
        self._note_drifts(learner)

    def _correct(self, query: int, answered: Answered, y: ClfTarget | None) -> None:
        """Give the example of an answered question another label; None: let it no longer count."""
        learner, _ = find_learner(self.classifier)
        if not (answered.number and hasattr(learner, "correct_one")):
            raise LookupError(
                f"Question {query} has the label {answered.label!r} for good: its example is in no "
                "history from which it could be learned anew."
            )
        learner.correct_one(answered.number, y)
        self._questions.settle(query, Answered(answered.number, y))
        self._accuracy.label(query, y)

    def _note_drifts(self, learner: Any) -> None:
        """Record changes that the learner has detected, and drop those that it has refuted."""
        n = getattr(learner, "n_drifts", 0)
        if n != self._n_drifts:
            if n > self._n_drifts:
                self.drifts.append(self._budget_manager.n_rounds)
                del self.drifts[:-MOST_DRIFTS]
            else:
                del self.drifts[-1:]
            self._n_drifts = n


def accepted(model: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments without a weight, if the model takes none."""
    if "w" not in kwargs:
        return kwargs
    parameters = inspect.signature(model.learn_one).parameters.values()
    if any(p.name == "w" or p.kind is p.VAR_KEYWORD for p in parameters):
        return kwargs
    return {name: value for name, value in kwargs.items() if name != "w"}
