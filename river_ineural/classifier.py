"""INeurAL: the two networks behind River's protocol."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import torch
from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries
from numpy.typing import NDArray
from river import base
from river.base.typing import ClfTarget, FeatureName
from river.utils import dataframe
from torch import Tensor

from river_ineural.encoding import FeatureIndex, LabelIndex
from river_ineural.frames import frame_values, to_native_labels
from river_ineural.history import History
from river_ineural.networks import Shape
from river_ineural.normalization import CONSTANT, Normalizer
from river_ineural.probability import probabilities
from river_ineural.query import gap
from river_ineural.threads import single_threaded
from river_ineural.training import Trainer
from river_ineural.validation import check_choice, check_integer, check_real, check_seed

__all__ = ["INeurAL"]

SMALLEST = 1e-37  # learning rate that float32 can hold
HEAVIEST = 1e6  # weight of an example: keeps squared gradients within float32
ROWS_A_PASS = 1024  # of a frame: bounds the memory of its pass


class INeurAL(base.MiniBatchClassifier):
    """Neural classifier with an exploitation and an exploration network.

    The exploitation network f1 estimates P(y = i | x) for each class i. The exploration network f2
    estimates what f1 gets wrong, r1 - f1, from the derivative-context embedding φ of f1 (its input
    gradient and its input). A class is scored, and the top one predicted, by

        f(x_i) = f1(x_i; θ1) + f2(φ(x_i); θ2)        (Algorithm 1, line 6)

    Each example learned enters a bounded history as its k contexts with reward r1 (1 for its class,
    else 0) and residual r2 = r1 - f1, taken before the example is learned. Then both networks take
    mini-batch steps from where they stand (Algorithm 2). Classes and features may appear at any
    time. Features that are absent from x are 0.

    On its own the classifier learns from every label it is given. Wrapped in
    `river_ineural.active.INeurALSampler` it chooses the labels.

    Parameters
    ----------
    hidden_dim
        Width m of both networks, at least 1.
    n_layers
        Depth L of both networks, at least 2.
    lr
        Learning rate η1 of f1, above 0.
    exploration_lr
        Learning rate η2 of f2, above 0. The residuals that f2 learns are those of f1 as it was; f2
        has to be slow not to repeat corrections that f1 has made by now.
    optimizer
        "adam" (as in the paper's experiments) or "sgd" (Algorithm 2 as printed; wants a larger
        `lr`, about 0.5).
    batch_size
        Contexts b a step, at least 1. They are drawn as whole examples, ⌈b/2⌉ of them also where
        there are more classes than two: ⌈b/k⌉ would be too few to learn from.
    n_steps
        Steps after each example whose label was given, at least 0. A fraction of a step is carried
        over to the next example.
    pseudo_label_steps
        Steps of f1 after each pseudo-labelled example, at least 0, likewise. f2 takes none then.
    exploration_share
        Share of the former steps, in [0, 1], in which f2 takes part.
    adversarial_radius
        How far at most, at least 0, the examples of a batch are moved to where f1 errs, in units of
        their norm; 0 turns adversarial training off. The radius used starts at a third of that and
        shrinks, down to a fifteenth, while more than 1 % of the given labels drawn are missed.
    init_scale
        Factor, at least 0, on the paper's initial weights of the first layers; 1 is the paper's.
    capacity
        Examples in the history, at least 2. A quarter of them can be pseudo-labelled ones, which
        never push out an example whose label was given.
    labelled_share
        Share of each batch, in [0, 1], that is drawn from the examples whose label was given, when
        the history holds both kinds.
    center
        Whether to subtract the running mean of the examples learned.
    scale
        Whether to divide each feature by the fourth root of the running mean of the fourth power of
        its distance from that mean, so that its unit does not matter.
    normalize
        Whether to scale each example to unit norm, after those, as the paper assumes. A
        constant, the root mean square of the norms so far, goes in front of it first, so that the
        direction keeps what unit norm would forget.
    iterate
        "average" predicts with an exponential average of the weights over some 50 steps, which
        forgets the noise of single batches; "last" with the current weights; "uniform" with weights
        drawn, each time something is learned, uniformly from all iterates so far (Algorithm 2, line
        8), of which a reservoir of 8 is kept.
    classes
        Labels known beforehand, as a non-empty tuple. Others may still appear.
    max_features
        At most this many features are learned. Later ones are ignored, with one warning; a single x
        with more is an error.
    max_classes
        At most this many classes, at least 2. Examples of later ones are ignored, with one warning.
    device
        "cpu", "cuda" or "cuda:N".
    seed
        Seed of the initial weights and of the batches, at least 0. None: different every time.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or the device is not there.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL

    >>> model = INeurAL(seed=1)
    >>> stream = datasets.Phishing().take(600)
    >>> accuracy = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    >>> round(accuracy.get(), 1)
    0.9

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022.
    """

    _dtype = torch.float32

    def __init__(
        self,
        hidden_dim: int = 100,
        n_layers: int = 2,
        lr: float = 1.4e-3,
        exploration_lr: float = 1e-6,
        optimizer: str = "adam",
        batch_size: int = 64,
        n_steps: float = 8.0,
        pseudo_label_steps: float = 0.35,
        exploration_share: float = 0.25,
        adversarial_radius: float = 0.15,
        init_scale: float = 0.3,
        capacity: int = 8192,
        labelled_share: float = 0.7,
        center: bool = True,
        scale: bool = True,
        normalize: bool = True,
        iterate: str = "average",
        classes: tuple[ClfTarget, ...] | None = None,
        max_features: int = 10_000,
        max_classes: int = 100,
        device: str = "cpu",
        seed: int | None = None,
    ) -> None:
        check_integer("hidden_dim", hidden_dim, least=1)
        check_integer("n_layers", n_layers, least=2)
        check_real("lr", lr, least=SMALLEST)
        check_real("exploration_lr", exploration_lr, least=SMALLEST)
        check_choice("optimizer", optimizer, ("adam", "sgd"))
        check_integer("batch_size", batch_size, least=1)
        check_real("n_steps", n_steps, least=0)
        check_real("pseudo_label_steps", pseudo_label_steps, least=0)
        check_real("exploration_share", exploration_share, least=0, most=1)
        check_real("adversarial_radius", adversarial_radius, least=0)
        check_real("init_scale", init_scale, least=0)
        check_integer("capacity", capacity, least=2)
        check_real("labelled_share", labelled_share, least=0, most=1)
        check_choice("center", center, (True, False))
        check_choice("scale", scale, (True, False))
        check_choice("normalize", normalize, (True, False))
        check_choice("iterate", iterate, ("average", "last", "uniform"))
        check_integer("max_features", max_features, least=1)
        check_integer("max_classes", max_classes, least=2)
        if not (classes is None or (isinstance(classes, tuple) and classes)):
            raise TypeError(
                f"classes must be None or a non-empty tuple of labels, got {classes!r}."
            )
        check_seed(seed)
        self.hidden_dim = hidden_dim
        self.n_layers = n_layers
        self.lr = lr
        self.exploration_lr = exploration_lr
        self.optimizer = optimizer
        self.batch_size = batch_size
        self.n_steps = n_steps
        self.pseudo_label_steps = pseudo_label_steps
        self.exploration_share = exploration_share
        self.adversarial_radius = adversarial_radius
        self.init_scale = init_scale
        self.capacity = capacity
        self.labelled_share = labelled_share
        self.center = center
        self.scale = scale
        self.normalize = normalize
        self.iterate = iterate
        self.classes = classes
        self.max_features = max_features
        self.max_classes = max_classes
        self.device = device
        self.seed = seed

        like = torch.empty(0, dtype=self._dtype, device=available(device))
        of_weights, of_batches = (
            np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2)
        )
        self._steps_due = self._exploration_due = 0.0
        self._features = FeatureIndex(max_features, first_column=CONSTANT)
        self._labels = LabelIndex(max_classes, classes or ())
        self._normalizer = Normalizer(center, scale, normalize, like)
        self._history = History(capacity, labelled_share, of_batches, like)
        self._trainer = Trainer(
            Shape(0, 0, hidden_dim, n_layers),
            lr=lr,
            exploration_lr=exploration_lr,
            optimizer=optimizer,
            init_scale=init_scale,
            batch_size=batch_size,
            adversarial_radius=adversarial_radius,
            iterate=iterate,
            rng=of_weights,
            like=like,
        )

    @property
    def _multiclass(self) -> bool:
        return True

    def _unit_test_skips(self) -> set[str]:
        # A frame is one batch: each residual is taken before any of its rows is learned, where row
        # by row it is taken after the rows before it.
        return {"check_learn_many_matches_learn_one"}

    def learn_one(
        self,
        x: dict[FeatureName, Any],
        y: ClfTarget,
        pseudo_label: bool = False,
        w: float = 1.0,
    ) -> None:
        """Store one example and train (Algorithm 1, lines 13 to 26; Algorithm 2).

        Parameters
        ----------
        x
            Features: finite numbers by name. Names not seen before get weights of their own.
        y
            Label: bool, str or int. A class not seen before gets weights of its own.
        pseudo_label
            Whether `y` is the model's own guess. Such examples are kept apart: they can neither
            push out examples whose label was given nor crowd them out of the batches.
        w
            Weight of the example in the loss, in [0, 1e6].

        Raises
        ------
        TypeError, ValueError
            If x, y or w is not as above; the model is as it was.
        """
        check_weight(w)
        self._learn(x, self._features.values(x), self._labels.checked(y), pseudo_label, w)

    def _learn(
        self,
        x: Mapping[FeatureName, Any],
        values: NDArray[np.float64],
        label: ClfTarget,
        pseudo_label: bool,
        w: float = 1.0,
    ) -> None:
        """Learn an example that has been checked, `values` being `FeatureIndex.values(x)`."""
        self._remember(x, values[None], [label], np.array([w]), pseudo_label)

    @single_threaded
    def _remember(
        self,
        names: Iterable[FeatureName],
        values: NDArray[np.float64],
        labels: list[ClfTarget],
        w: NDArray[np.float64],
        pseudo_label: bool,
    ) -> None:
        """Rewards and residuals into the history, then train: values (B, names), w (B,)."""
        self._features.grow(names)
        indices = [self._labels.add(label) for label in labels]
        self._fit()
        known = [row for row, index in enumerate(indices) if index is not None]
        if not known:
            return
        if len(known) < len(labels):
            values, w = values[known], w[known]
        x = self._vectors(names, values)
        targets = np.zeros((len(x), 2, len(self._labels)), x.dtype)
        reward, residual = targets[:, 0], targets[:, 1]  # r1, r2, (B, k)
        for row, index in enumerate(index for index in indices if index is not None):
            reward[row, index] = 1  # lines 15 and 20
        for part in passes(len(x)):  # lines 16 and 21
            f1 = self._trainer.exploitation(x[part], self._normalizer)
            np.subtract(reward[part], f1, out=residual[part])
        self._normalizer.update(x)
        self._history.add(x, targets, w, pseudo_label)  # lines 24 and 25
        self._steps_due += len(x) * (self.pseudo_label_steps if pseudo_label else self.n_steps)
        while self._steps_due >= 1:  # line 26
            self._steps_due -= 1
            if not pseudo_label:
                self._exploration_due += self.exploration_share
            exploring = self._exploration_due >= 1
            self._exploration_due -= exploring
            self._trainer.step(self._history, self._normalizer, exploring)
        self._trainer.draw_iterate()

    def _fit(self) -> None:
        """Make room everywhere for the features and classes known by now."""
        trainer, n_classes = self._trainer, len(self._labels)
        n_features = CONSTANT + len(self._features)
        if (n_features, n_classes) != (trainer.n_features, trainer.shape.n_classes):
            trainer.grow(n_features, n_classes)
            self._history.resize(trainer.shape.n_features, n_classes)
            self._normalizer.widen(trainer.shape.n_features)

    def _vectors(
        self, names: Iterable[FeatureName], values: NDArray[np.float64]
    ) -> NDArray[np.floating[Any]]:
        """Raw vectors (B, d) of checked values (B, names)."""
        dtype = np.float32 if self._dtype is torch.float32 else np.float64
        return self._features.place(names, values, self._trainer.shape.n_features, dtype)

    def _f1_and_scores(
        self, names: Iterable[FeatureName], values: NDArray[np.float64]
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """f1, and f1 + f2, of each class (Algorithm 1, lines 5 to 7): values (B, names) → (B, k).

        All 0 before anything is learned.
        """
        if not self._trainer.n_features:
            nothing = np.zeros((len(values), len(self._labels)))
            return nothing, nothing
        return self._trainer.scores(self._vectors(names, values), self._normalizer)

    @single_threaded
    def _score(self, names: Iterable[FeatureName], values: NDArray[np.float64]) -> list[float]:
        """f1 + f2 of each class for checked values (names,)."""
        _, scores = self._f1_and_scores(names, values[None])
        return scores[0].tolist()  # type: ignore[no-any-return]

    def scores_one(self, x: dict[FeatureName, Any]) -> dict[ClfTarget, float]:
        """The score f1 + f2 of each class: an estimate of P(y | x), not confined to [0, 1].

        Parameters
        ----------
        x
            Features: finite numbers by name. Names never learned are ignored.

        Returns
        -------
        Score by label; empty before a class is known.

        Raises
        ------
        TypeError, ValueError
            If x is empty or a feature is not a finite number.
        """
        scores = self._score(x, self._features.values(x))
        return dict(zip(self._labels.labels, scores, strict=True))

    def predict_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> ClfTarget | None:
        """The label of the highest score (Algorithm 1, line 8); None before a class is known.

        Takes and raises what `scores_one` does.
        """
        scores = self.scores_one(x, **kwargs)
        return max(scores, key=scores.__getitem__) if scores else None

    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """Probability of each class: the distribution nearest to the scores.

        Takes and raises what `scores_one` does.

        Returns
        -------
        Probability by label, each at least 0.001, summing to 1; empty before a class is known.
        """
        return self._probabilities(self.scores_one(x, **kwargs))

    @staticmethod
    def _probabilities(scores: dict[ClfTarget, float]) -> dict[ClfTarget, float]:
        row = probabilities(np.array([list(scores.values())]))[0]
        return dict(zip(scores, row.tolist(), strict=True))

    def debug_one(self, x: dict[FeatureName, Any]) -> str:
        """A table of f1, f2 and score by class, and the gap between the top two scores."""
        f1, scores = (row[0] for row in self._f1_and_scores(x, self._features.values(x)[None]))
        lines = [f"{'class':<16}{'f1':>10}{'f2':>10}{'score':>10}"]
        lines += (
            f"{label!s:<16}{exploitation:>10.5f}{score - exploitation:>10.5f}{score:>10.5f}"
            for label, exploitation, score in zip(self._labels.labels, f1, scores, strict=True)
        )
        return "\n".join([*lines, f"gap: {gap(scores.tolist()):.5f}"])

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: IntoSeries | None = None) -> None:
        """Learn a frame as one batch.

        All rows are encoded and get their residuals in one pass, under the weights and the mean
        before the frame; then both networks take `n_steps` steps for each row. `learn_one` row by
        row takes as many, but each residual after the rows before it.

        Parameters
        ----------
        X
            Frame of finite numbers: pandas, polars or any other that narwhals reads.
        y
            Series of labels, one a row.
        w
            Series of weights in [0, 1e6], one a row; None weighs all 1.

        Raises
        ------
        TypeError, ValueError
            Naming the column, label or length that is wrong; the model is as it was.
        """
        frame = dataframe.into_frame(X)
        values = frame_values(frame)
        self._features.check(frame.columns)
        labels = [self._labels.checked(label) for label in dataframe.into_series(y).to_list()]
        weights = np.ones(len(values))
        if w is not None:
            try:
                weights = np.array(dataframe.into_series(w).to_list(), np.float64)
            except (TypeError, ValueError):
                raise TypeError(f"w must be a series of numbers, got {w!r}.") from None
        if not len(labels) == len(weights) == len(values):
            raise ValueError(f"X has {len(values)} rows, y {len(labels)} and w {len(weights)}.")
        for weight in weights:
            check_weight(weight)
        if labels:
            self._remember(frame.columns, values, labels, weights, pseudo_label=False)

    def _score_many(self, names: list[str], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores (B, k) of checked values (B, names)."""
        scores = [self._f1_and_scores(names, values[part])[1] for part in passes(len(values))]
        return np.concatenate(scores).astype(np.float64)

    def predict_many(self, X: IntoDataFrame) -> IntoSeries:
        """`predict_one` of every row, in one pass of matrix products.

        Parameters
        ----------
        X
            Frame of finite numbers: pandas, polars or any other that narwhals reads.

        Returns
        -------
        Series of labels of the same kind and index; None in it before a class is known.

        Raises
        ------
        ValueError
            Naming the column that holds something else than finite numbers.
        """
        frame = dataframe.into_frame(X)
        scores = self._score_many(frame.columns, frame_values(frame))
        top = scores.argmax(axis=1) if len(self._labels) else [None] * len(frame)
        return to_native_labels(self._labels.labels, top, frame)

    def predict_proba_many(self, X: IntoDataFrame) -> IntoDataFrame:
        """`predict_proba_one` of every row, in one pass of matrix products.

        Takes and raises what `predict_many` does.

        Returns
        -------
        Frame of the same kind and index, a float64 column a class; polars names it `str(label)`.
        """
        frame = dataframe.into_frame(X)
        scores = self._score_many(frame.columns, frame_values(frame))
        columns = dict(zip(self._labels.labels, probabilities(scores).T, strict=True))
        return dataframe.to_native_frame(columns, like=frame)

    def to(self, device: str) -> Self:
        """Move the model to a device, in place, and return it.

        Raises
        ------
        ValueError
            If the device is not there; the model is as it was.
        """
        where = available(device)
        for part in (self._normalizer, self._history, self._trainer):
            part.to(where)
        self.device = device
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # parts come back on the CPU
        try:
            self.to(self.device)
        except ValueError:
            warnings.warn(
                f"device {self.device!r} is not available here: loaded on the CPU.", stacklevel=2
            )
            self.device = "cpu"

    @property
    def _raw_memory_usage(self) -> int:
        return int(super()._raw_memory_usage) + self._tensor_bytes

    @property
    def _tensor_bytes(self) -> int:
        """Bytes of torch, which River does not count, less those of views, which it repeats."""
        storages: dict[int, int] = {}
        views: dict[int, int] = {}
        pending: list[Any] = [self._normalizer, self._history, self._trainer]
        while pending:
            part = pending.pop()
            if isinstance(part, Tensor):
                storage = part.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
            elif isinstance(part, np.ndarray):
                views[id(part)] = 0 if part.flags.owndata else part.nbytes
            elif isinstance(part, list | tuple):
                pending += part
            elif isinstance(part, SimpleNamespace) or type(part).__module__.startswith(__package__):
                pending += vars(part).values()
        return sum(storages.values()) - sum(views.values())


def check_weight(w: float) -> None:
    """Raise unless w can weigh an example."""
    check_real("w", w, least=0, most=HEAVIEST)


def passes(n_rows: int) -> list[slice]:
    """Parts of a frame that bound the memory of a pass; one of no rows for an empty frame."""
    return [slice(i, i + ROWS_A_PASS) for i in range(0, max(1, n_rows), ROWS_A_PASS)]


def available(device: str) -> torch.device:
    """The torch device of that name.

    Raises
    ------
    ValueError
        If it is not "cpu", "cuda" or "cuda:N", or not there.
    """
    try:
        where = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device={device!r} must be 'cpu', 'cuda' or 'cuda:N'.") from error
    if where.type not in ("cpu", "cuda"):
        raise ValueError(f"device={device!r} must be 'cpu', 'cuda' or 'cuda:N'.")
    if where.type == "cuda" and (where.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"device={device!r} is not available: torch {torch.__version__} sees "
            f"{torch.cuda.device_count()} CUDA devices. Use device='cpu' or install a CUDA build."
        )
    return where
