"""River's protocol for a classifier that has a `State`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from river import base
from river.base.typing import ClfTarget, FeatureName

from river_ineural.inputs.features import Checked
from river_ineural.inputs.validation import ONE, SCHEMA, check_schema, check_weight
from river_ineural.learning.adaptation import learn
from river_ineural.learning.rescaling import rescaled, unit_change
from river_ineural.learning.state import State
from river_ineural.network.device import available
from river_ineural.network.locks import Order, lock
from river_ineural.network.scores import nearest_distribution, parts, probabilities, table
from river_ineural.network.threads import single_threaded

if TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

    from river_ineural.inputs.frames import Frame

__all__ = ["NeuralClassifier"]

Floats = NDArray[np.floating[Any]]
Scores = dict[ClfTarget, float]

UNKNOWN = object()  # stands for a missing argument y


def return_to_device(model: NeuralClassifier) -> None:
    """Move a model from the CPU to its device; if that is missing, warn and stay on the CPU."""
    try:
        model.to(model.device)
    except ValueError:
        said = f"device {model.device!r} is not available here: loaded on the CPU."
        warnings.warn(said, stacklevel=3)
        model.__dict__["device"] = "cpu"


class NeuralClassifier(base.MiniBatchClassifier):
    """A classifier that holds a `State`, and learns one example at a time or frames.

    Each access to the state holds a lock, which no copy and no pickle contains.
    """

    n_steps: float
    device: str
    _state: State
    _multiclass = True

    def __init__(self, state: State) -> None:
        self._lock = lock(Order.LEARNER)
        self._state = state

    def _unit_test_skips(self) -> set[str]:
        # A frame is one batch: residuals are taken before any of its rows is learned.
        return {"check_learn_many_matches_learn_one"}

    @property
    def known_labels(self) -> tuple[ClfTarget, ...]:
        """The labels known so far, in the order of the scores."""
        return tuple(self._state.labels.labels)

    @property
    def n_labels(self) -> int:
        """Labels stored so far, without pseudo-labels."""
        return self._state.n_labels

    @property
    def unseen_labels(self) -> tuple[ClfTarget, ...]:
        """Known labels that no labelled example in the history has."""
        with self._lock:
            seen = self._state.history.classes()
            return tuple(label for i, label in enumerate(self.known_labels) if i not in seen)

    @property
    def takes_pseudo_labels(self) -> bool:
        """Whether it learns pseudo-labels: not where examples have few of many features (words)."""
        return not self._state.scaling.sparse

    def check_one(
        self, x: dict[FeatureName, Any], y: Any = UNKNOWN, w: float = ONE
    ) -> dict[FeatureName, Any]:
        """Raise what `learn_one` would raise, or without y a prediction; the model does not change.

        Returns an encoded copy of x, which is not checked again.
        """
        check_weight(w)
        with self._lock:
            checked = Checked(*self._state.features.read(x))
            if y is not UNKNOWN:
                self._state.check(x, y)
        return checked

    def learn_one(
        self, x: dict[FeatureName, Any], y: ClfTarget, pseudo_label: bool = False, w: float = ONE
    ) -> None:
        """Store one example and train (Algorithm 1, lines 13 to 26; Algorithm 2).

        Parameters
        ----------
        x
            Features: finite numbers by name. Names not seen before get weights of their own.
        y
            Label: bool, str or int. A class not seen before gets weights of its own.
        pseudo_label
            Whether `y` is the model's own prediction. Such examples never replace labelled ones,
            and their new feature names are ignored.
        w
            Weight of the example in the loss, in [0, 1e6].

        Raises
        ------
        TypeError, ValueError
            If x, y or w is not as above; the model is as it was.
        """
        check_weight(w)
        with self._lock:
            names, values = self._state.features.read(x)
            label = self._state.labels.checked(y)
            self._learn(names, values[None], [label], np.array([w]), pseudo_label)

    @single_threaded
    def _learn(
        self,
        names: Iterable[FeatureName],
        values: NDArray[np.float64],
        labels: list[ClfTarget],
        w: NDArray[np.float64],
        pseudo_label: bool,
    ) -> None:
        """Store rewards and residuals, then train: values (B, names), w (B,)."""
        n_known = len(self._state.labels)
        if pseudo_label and self._state.trainer.n_features:  # its new names are ignored
            state = self._state.grown([], values[:, :0], labels)
        else:
            state = self._state.grown(names, values, labels)
        index = state.labels.index
        classes = [index[label] for label in labels if label in index]
        if len(classes) < len(labels):  # beyond max_classes
            values, w = (part[[label in index for label in labels]] for part in (values, w))
        arrival = state.arrival(state.vectors(names, values), classes, pseudo_label)
        self._state = state  # nothing can fail from here on that would leave a part behind
        if classes:
            after = learn(state, arrival, w, self.n_steps, n_known)
            change = unit_change(state, values)
            self._state = rescaled(after, change) if change else after
        else:
            state.settle()  # a saved model has no weights that wait to be written

    @single_threaded
    def _explained(self, x: Mapping[FeatureName, Any]) -> tuple[Floats, dict[str, Floats], Scores]:
        """f1, and what each explorer adds, (1, k) each; the scores. The caller holds the lock."""
        names, values = self._state.features.read(x)
        f1, added = self._state.explained(names, values[None])
        scores = dict(zip(self._state.labels.labels, sum(added, f1)[0].tolist(), strict=True))
        return f1, dict(zip(self._state.explorers.parts, added, strict=True)), scores

    @property
    def trust(self) -> dict[str, float]:
        """The trust in each explorer now, in [0, 1], by its name."""
        return self._state.explorers.trusted

    def scores_one(self, x: dict[FeatureName, Any]) -> dict[ClfTarget, float]:
        """The score of each label: an estimate of P(y | x), not confined to [0, 1].

        It is f1 and what explorers add (Algorithm 1, line 6). Empty before a class is known.

        Parameters
        ----------
        x
            Features: finite numbers by name. Names never learned are ignored.

        Raises
        ------
        TypeError, ValueError
            If a feature is not a finite number.
        """
        with self._lock:
            return self._explained(x)[2]

    def explained_one(self, x: dict[FeatureName, Any]) -> tuple[Scores, dict[str, float]]:
        """`scores_one`, and by name what each explorer added to the gap of the top two classes."""
        with self._lock:
            _, added, scores = self._explained(x)
            return scores, parts([*scores.values()], added)

    def predict_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> ClfTarget | None:
        """The label of the highest score (Algorithm 1, line 8); None before a class is known.

        Takes and raises what `scores_one` does.
        """
        scores = self.scores_one(x, **kwargs)
        return max(scores, key=scores.__getitem__) if scores else None

    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """Probability of each label: the distribution nearest to the scores.

        Takes and raises what `scores_one` does. Each is at least 0.001 (0.1 / k for more than 100
        classes); empty before a class is known.
        """
        return nearest_distribution(self.scores_one(x, **kwargs))

    def debug_one(self, x: dict[FeatureName, Any]) -> str:
        """A table of f1, what each explorer adds and the score by class; the gap; the trust."""
        with self._lock:
            return table(*self._explained(x), self.trust)

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: IntoSeries | None = None) -> None:
        """Learn a frame as one batch.

        All residuals are taken in one pass, with the weights and statistics from before the frame.
        Then both networks take `n_steps` steps for each row.

        Parameters
        ----------
        X
            Frame of finite numbers, of pandas, polars or another library that narwhals reads.
        y, w
            Series of labels, and of weights in [0, 1e6], one a row; None weighs all 1.

        Raises
        ------
        TypeError, ValueError
            Naming the column, label or length that is wrong; the model is as it was.
        """
        from river_ineural.inputs.frames import Frame  # narwhals

        frame = Frame(X, self._state.features.encoder)
        labels, weights = frame.labels(y), frame.weights(w)
        if labels:
            with self._lock:
                names, values = frame.read(self._state.features)
                self._learn(names, values, labels, weights, pseudo_label=False)

    @single_threaded
    def _score_many(self, X: IntoDataFrame) -> tuple[Frame, list[ClfTarget], NDArray[np.float64]]:
        """Labels, and scores (B, k). On one thread, because a fork after several threads hangs."""
        from river_ineural.inputs.frames import Frame  # narwhals

        frame = Frame(X, self._state.features.encoder)
        with self._lock:
            return frame, self._state.labels.labels, self._state.scores_of_frame(frame)

    def predict_many(self, X: IntoDataFrame) -> IntoSeries:
        """`predict_one` of every row, in one pass of matrix products.

        Takes a frame, and raises, as `learn_many` does. Returns a series of the same kind and
        index; it holds None before a class is known.
        """
        frame, labels, scores = self._score_many(X)
        top = scores.argmax(axis=1) if labels else [None] * len(scores)
        return frame.native_labels(labels, top)

    def predict_proba_many(self, X: IntoDataFrame) -> IntoDataFrame:
        """`predict_proba_one` of every row, in one pass of matrix products.

        Takes a frame, and raises, as `learn_many` does. Returns one of the same kind and index, a
        float64 column a class, which polars names `str(label)`.
        """
        frame, labels, scores = self._score_many(X)
        return frame.native_columns(labels, probabilities(scores))

    def to(self, device: str) -> Self:
        """Move the model to a device, in place, and return it; ValueError if it is not there."""
        with self._lock:
            self.__dict__.update(_state=self._state.to(available(device)), device=device)
        return self

    def _copied(self, memo: dict[int, Any]) -> dict[str, Any]:
        """A copy of all but the lock, made while no thread learns, with tensors on the CPU."""
        with self._lock:
            return copy.deepcopy({**self.__dict__, "_lock": None}, memo)

    def __getstate__(self) -> dict[str, Any]:
        return {"schema": SCHEMA} | self._copied({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self._copied(memo), _lock=lock(Order.LEARNER))
        other._state = other._state.to(self._state.trainer.flat.device)
        return other

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_schema(state.pop("schema", None))
        self.__dict__.update(state, _lock=lock(Order.LEARNER))  # its parts are on the CPU
        return_to_device(self)
