"""What all active learners here share: predictions are pairs, and frames are read row by row."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from river.active.base import ActiveLearningClassifier
from river.base.typing import ClfTarget, FeatureName

from river_ineural.active.pipelines import check_caller, check_debugging, check_rows
from river_ineural.features.labels import LabelIndex
from river_ineural.networks.threads import uninterrupted

if TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

    from river_ineural.features.frames import Column

Round = tuple[dict[ClfTarget, float], ClfTarget | None, bool]


class Pairs(ActiveLearningClassifier):
    """An active learner that predicts pairs: a label or probabilities, and whether to ask.

    A subclass decides a round in `_round`.
    """

    _last: Any = None  # the latest decision
    _lock: AbstractContextManager[Any] = nullcontext()  # of one that threads may share

    def predict_proba_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[dict[ClfTarget, float], bool]:
        """Probability of each class, and whether to ask for the label.

        This is a round, and so is `predict_one`; `decide_one` returns both in one.

        Returns
        -------
        Probability by label, float64, empty before a class is known; True to ask.

        Raises
        ------
        TypeError, ValueError
            If the classifier refuses x; it is no round then.
        """
        check_debugging()
        scores, _, ask = self._turn(x, kwargs)
        return self._probabilities(scores), ask

    def predict_one(  # type: ignore[override]  # River's active learners return a pair
        self, x: dict[FeatureName, Any], **kwargs: Any
    ) -> tuple[ClfTarget | None, bool]:
        """The label predicted for x, None before one is known, and whether to ask for it.

        This is a round, and so is `predict_proba_one`; `decide_one` returns both in one.
        """
        _, label, ask = self._turn(x, kwargs)
        return label, ask

    def _turn(self, x: dict[FeatureName, Any], kwargs: dict[str, Any]) -> Round:
        """Decide a round, while no other thread does, unless the caller takes pairs for labels."""
        with self._lock, uninterrupted():  # a label that is spent is one that a question waits for
            if self._last is None:
                check_caller()
            return self._round(x, kwargs)

    def _round(self, x: dict[FeatureName, Any], kwargs: dict[str, Any]) -> Round:
        """Decide a round: the scores, the label of the highest, and whether to ask."""
        raise NotImplementedError

    def _probabilities(self, scores: dict[ClfTarget, float]) -> dict[ClfTarget, float]:
        """The probabilities that belong to the scores of a round."""
        return dict(scores)

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
            If the classifier refuses a row. It then decides none; or those before, if it has no
            `check_one`, or a step of a pipeline must have learned them to see it.
        """
        from river_ineural.features.frames import dicts, native, opened

        frame = opened(X)
        rows, labels, asks = dicts(frame), [], []
        with self._lock:
            check_rows(self.classifier, rows, [{}] * len(rows))
            for x in rows:
                _, label, ask = self._turn(x, kwargs)
                labels.append(label)
                asks.append(ask)
        return native(labels, frame), native(np.array(asks, np.bool_), frame)

    def learn_many(self, X: IntoDataFrame, y: Column, **kwargs: Any) -> None:
        """Learn the labels of a frame row by row, as by `learn_one`: each may answer a question.

        Takes a frame, and raises, as `predict_many` does. y is a series with a label for each row,
        and so may be a weight `w`.
        """
        from river_ineural.features.frames import column, dicts, opened

        frame = opened(X)
        rows, labels = dicts(frame), column("y", y, frame)
        given = [{"y": LabelIndex.checked(label)} for label in labels]
        if (w := kwargs.pop("w", None)) is not None:
            weights = [w] * len(rows) if isinstance(w, Real) else column("w", w, frame)
            given = [of_row | {"w": each} for of_row, each in zip(given, weights, strict=True)]
        with self._lock:
            check_rows(self.classifier, rows, given)
            learn: Any = self.learn_one
            for x, of_row in zip(rows, given, strict=True):
                learn(x, **of_row, **kwargs)
