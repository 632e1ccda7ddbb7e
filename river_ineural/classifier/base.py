"""River's methods of a classifier that holds a `Learner`, and its parameters."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from river import base
from river.base.typing import ClfTarget, FeatureName

import river_ineural.classifier.settings as of
from river_ineural.classifier.locks import Locked, Order, lock
from river_ineural.classifier.models import Learner
from river_ineural.features.index import Checked
from river_ineural.features.parameters import Fixed, Live
from river_ineural.features.validation import (
    ONE,
    check_integer,
    check_seed,
    check_weight,
    choice,
    integer,
    real,
)
from river_ineural.learner import Added, Said
from river_ineural.networks.device import available
from river_ineural.networks.scores import nearest_distribution, probabilities, table
from river_ineural.networks.weights import Recipe

if TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

    from river_ineural.features.frames import Column, Frame

Scores = dict[ClfTarget, float]

ON_TIME = 0  # of a label: no example was learned between
# How late the label is that a sampler hands on now; ensembles and filters hand on no argument.
LATE: ContextVar[int] = ContextVar("LATE", default=ON_TIME)
UNKNOWN = object()  # stands for a missing argument y
USUAL = frozenset((bool, int, str))  # types of labels
UNWEIGHTED = np.ones(1)


class NeuralClassifier(Locked, base.MiniBatchClassifier):
    """A classifier that learns one example at a time, or frames; its parameters are in `INeurAL`.

    Each access to the learner holds a lock, which no copy and no pickle contains.
    """

    _dtype: ClassVar[torch.dtype] = torch.float32
    _outputs: ClassVar[bool] = False  # of the networks: one output per class, no contexts
    _recipe: ClassVar[Recipe]
    _multiclass = True
    _order = Order.LEARNER

    hidden_dim = Fixed[int](integer(1))
    n_layers = Fixed[int](integer(2, of.MOST_LAYERS))
    lr = Live[float](real(of.SMALLEST, of.LARGEST))
    batch_size = Fixed[int](integer(1, of.MOST_CONTEXTS))
    n_steps = Live[float](real(0, of.MOST_STEPS))
    capacity = Fixed[int](integer(2, of.MOST_EXAMPLES))
    explorers = Fixed[tuple[str, ...]](of.check_explorers)
    drift_detector = Fixed[base.BinaryDriftDetector | str | None](of.check_detector)
    classes = Fixed[tuple[ClfTarget, ...] | None](of.check_classes)
    categories = Fixed[bool](choice(True, False))
    missing = Fixed[bool](choice(True, False))
    max_features = Fixed[int](integer(1))
    max_classes = Fixed[int](integer(2))
    device = Fixed[str](advice="`to` moves the model")
    seed = Fixed[int | None](lambda _, seed: check_seed(seed))

    def __init__(self, given: dict[str, Any]) -> None:
        given["explorers"] = given["explorers"] or ()  # [] of `_get_params`
        for name in given.keys() - {"self", "__class__"}:  # the locals of a constructor
            setattr(self, name, given[name])
        self._lock = lock(self._order)
        self._learner = of.first_learner(self)

    @property
    def known_labels(self) -> tuple[ClfTarget, ...]:
        """The labels known so far, in the order of the scores."""
        return tuple(self._learner.labels.labels)

    @property
    def n_labels(self) -> int:
        """Labels stored so far, without pseudo-labels."""
        return self._learner.n_labels

    @property
    def scores_before(self) -> Scores:
        """The scores of the example whose label was stored last, from before it was learned."""
        return by_label(self._learner, self._learner.scores_before)

    @property
    def unseen_labels(self) -> tuple[ClfTarget, ...]:
        """Known labels that no labelled example in the history has."""
        with self._lock:
            seen = self._learner.model.history.classes()
            return tuple(y for i, y in enumerate(self._learner.labels.labels) if i not in seen)

    @property
    def takes_pseudo_labels(self) -> bool:
        """Whether it learns pseudo-labels: not where examples have few of many features (words)."""
        return not self._learner.model.scaling.sparse

    @property
    def n_drifts(self) -> int:
        """Changes of the stream that were detected and not refuted."""
        detector = self._learner.detector
        return detector.n_drifts if detector else 0

    @property
    def changing(self) -> bool:
        """Whether the model recovers from a change, so that labels are worth most."""
        return self._learner.recovery is not None

    @property
    def temporal_dependence(self) -> bool:
        """Whether labels depend on the last one before, as the explorer "last_label" detects it."""
        last = self._learner.model.explorers.last_label
        return last is not None and last.dependent

    @property
    def warning(self) -> bool:
        """Whether labels point to a change, but not clearly enough."""
        detector = self._learner.detector
        return detector is not None and detector.warning_detected

    @property
    def trust(self) -> dict[str, float]:
        """The trust in each explorer now, in [0, 1], by its name."""
        return self._learner.model.explorers.trusted

    def check_one(
        self, x: dict[FeatureName, Any], y: Any = UNKNOWN, w: float = ONE
    ) -> dict[FeatureName, Any]:
        """Raise what `learn_one` would raise, of x alone without y; the model does not change.

        Returns an encoded copy of x, which is not checked again.
        """
        check_weight(w)
        with self._lock:
            features = self._learner.features
            example, values = features.read(x)
            names = tuple(example)
            features.n_with(names)  # raises if a new name cannot be learned
            if y is not UNKNOWN:
                self._learner.check(names, y)
        checked = Checked(example)
        checked.names, checked.array = names, values
        return checked

    def learn_one(
        self,
        x: dict[FeatureName, Any],
        y: ClfTarget,
        pseudo_label: bool = False,
        w: float = ONE,
        late: int = ON_TIME,
    ) -> None:
        """Store one example and train (Algorithm 1, lines 14 to 26; Algorithm 2).

        An example that is learned again at once, as by River's oversamplers, teaches each time. But
        only the first time tells of trust, changes and the last label, unless one is predicted
        between.

        Parameters
        ----------
        x
            Features: finite numbers by name. Names not seen before get weights of their own.
        y
            Label: bool, str, int or float. A class not seen before gets weights of its own.
        pseudo_label
            Whether `y` is the model's own prediction. Such examples never replace labelled ones,
            and their new feature names are ignored. They are learned six at a time, or fewer before
            a label or a new class.
        w
            Weight of the example in the losses, in [0, 1e6], and in the trust in explorers, there
            over the median weight and at most 10. Trees, which part their examples fully, hardly
            know of it. The detector of changes knows only whether it is 0.
        late
            Examples learned between this one and its label, at least 0. If classes end sooner, the
            last label says nothing of the next. A sampler counts them for labels that it asks for.

        Raises
        ------
        TypeError, ValueError
            If x, y, w or late is not as above; the model is as it was.
        """
        check_weight(w)
        late = LATE.get() if late is ON_TIME else check_integer("late", late, 0)
        with self._lock:
            learner, index = self._learner, self._learner.labels.index
            names, values = learner.features.read(x)
            if type(y) not in USUAL or y not in index:
                y = learner.labels.checked(y)
            weights = UNWEIGHTED if w is ONE else np.array([w], float)
            if pseudo_label:
                learner.learn_pseudo_label(tuple(names), values, y, weights, self.lr)
            else:
                learner.learn(names, values, [y], weights, self.n_steps, self.lr, late)

    def correct_one(self, number: int, y: ClfTarget | None) -> None:
        """Correct a label that was learned: its example is learned once more with y.

        The residual is taken from f1 as it was before the example was learned first. What else the
        old label has changed, such as the trust in explorers, fades.

        Parameters
        ----------
        number
            Which label: `n_labels` as it was when the label had just been learned.
        y
            The label; None lets the example no longer count.

        Raises
        ------
        LookupError
            If the history does not hold the example.
        TypeError, ValueError
            If y is no label; the model is as it was.

        Examples
        --------
        >>> from river_ineural import INeurAL
        >>> model = INeurAL(seed=1)
        >>> model.learn_one({"size": 4.0}, "smal")
        >>> model.correct_one(model.n_labels, "small")
        >>> model.known_labels, model.unseen_labels
        (('smal', 'small'), ('smal',))
        """
        with self._lock:
            y = y if y is None else self._learner.labels.checked(y)
            self._learner.correct(number, y, self.n_steps, self.lr)

    def _said(self, x: dict[FeatureName, Any]) -> Said:
        """What the model says of x; the caller holds the lock."""
        names, values = self._learner.features.read(x)
        return self._learner.score_one(names, values)

    def scores_one(self, x: dict[FeatureName, Any]) -> Scores:
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
            return by_label(self._learner, self._said(x).scores[0])

    def explained_one(self, x: dict[FeatureName, Any]) -> tuple[Scores, Mapping[str, list[float]]]:
        """`scores_one`, and by name what each explorer added to each score."""
        with self._lock:
            learner, said = self._learner, self._said(x)
            return by_label(learner, said.scores[0]), Added(learner.model.explorers.names, said)

    # Without **kwargs, as River's own classifiers: a pipeline keeps what only its steps take.
    def predict_one(  # type: ignore[override]
        self, x: dict[FeatureName, Any]
    ) -> ClfTarget | None:
        """The label of the highest score (Algorithm 1, line 8); None before a class is known.

        Takes and raises what `scores_one` does.
        """
        scores = self.scores_one(x)
        return max(scores, key=scores.__getitem__) if scores else None

    def predict_proba_one(self, x: dict[FeatureName, Any]) -> Scores:  # type: ignore[override]
        """Probability of each label: the distribution nearest to the scores.

        Takes and raises what `scores_one` does. Each is at least 0.001 (0.1 / k for more than 100
        classes); empty before a class is known.
        """
        return nearest_distribution(self.scores_one(x))

    def debug_one(self, x: dict[FeatureName, Any]) -> str:
        """A table of f1, what each explorer adds and the score by class; the gap; the trust."""
        with self._lock:
            learner, said = self._learner, self._said(x)
            added = Added(learner.model.explorers.names, said)
            parts = {"f1": said.f1[0].tolist(), **added}
            return table(parts, by_label(learner, said.scores[0]), self.trust)

    def learn_many(self, X: IntoDataFrame, y: Column, w: Column | None = None) -> None:
        """Learn a frame as one batch.

        All residuals are taken in one pass, with the weights and statistics from before the frame.
        Then both networks take `n_steps` steps for each row.

        Parameters
        ----------
        X
            Frame of finite numbers, of pandas, polars or another library that narwhals reads.
        y, w
            Labels, and weights in [0, 1e6] or None: series, lists or arrays, matched by position.

        Raises
        ------
        TypeError, ValueError
            Naming the column, label or length that is wrong; the model is as it was.
        """
        from river_ineural.features.frames import Frame  # narwhals

        frame = Frame(X, self._learner.features)
        labels, weights = frame.labels(y), frame.weights(w)
        if labels:
            with self._lock:
                names, values = frame.read()
                self._learner.learn(names, values, labels, weights, self.n_steps, self.lr)

    def _score_many(self, X: IntoDataFrame) -> tuple[Frame, list[ClfTarget], NDArray[np.float64]]:
        """The frame, the labels, and scores (B, k)."""
        from river_ineural.features.frames import Frame  # narwhals

        frame = Frame(X, self._learner.features)
        with self._lock:
            learner = self._learner
            scores = [learner.score(*part).scores for part in frame.parts()]
            return frame, [*learner.labels.labels], np.concatenate(scores).astype(np.float64)

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
        where = available(device)
        with self._lock:
            self._learner.to(where)
            self.__dict__["device"] = device
        return self

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        if new_params and new_params.get("explorers") == ():
            new_params = new_params | {"explorers": []}
        fixed = (new_params or {}).keys() - self._mutable_attributes
        for name in sorted(fixed) if include_attributes else ():
            raise ValueError(f"{name} is fixed: leave it out, or clone without attributes.")
        return super().clone(new_params, include_attributes)

    def _get_params(self) -> dict[str, Any]:
        """With an empty list for an empty tuple, of which River would look at the first item."""
        params = super()._get_params()
        return params if params.get("explorers", True) else params | {"explorers": []}

    def _unit_test_skips(self) -> set[str]:
        return {"check_learn_many_matches_learn_one"}  # a frame is one batch

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = super().__deepcopy__(memo)  # whose tensors are on the CPU
        other._learner.to(self._learner.model.networks.block.device)
        return other

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        return_to_device(self)


def by_label(learner: Learner, scores: NDArray[np.floating[Any]]) -> Scores:
    """Scores (k,) by label; those of classes that were not known yet are left out."""
    return dict(zip(learner.labels.labels, scores.tolist(), strict=False))


def return_to_device(model: NeuralClassifier) -> None:
    """Move a model from the CPU to its device; if that is missing, warn and stay on the CPU."""
    try:
        model.to(model.device)
    except ValueError:
        said = f"device {model.device!r} is not available here: loaded on the CPU."
        warnings.warn(said, stacklevel=3)
        model.__dict__["device"] = "cpu"
