"""INeurAL: the two networks behind River's protocol."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from river import base
from river.base.typing import ClfTarget

from river_ineural.inputs.encoder import Encoder
from river_ineural.inputs.features import FeatureIndex
from river_ineural.inputs.labels import LabelIndex
from river_ineural.inputs.parameters import Fixed, Live, renamed
from river_ineural.inputs.validation import check_seed, choice, integer, real
from river_ineural.learning.adversary import Adversary
from river_ineural.learning.change import Watch
from river_ineural.learning.forest import Forest
from river_ineural.learning.history import History
from river_ineural.learning.iterates import Iterates
from river_ineural.learning.optimizer import Optimizer
from river_ineural.learning.ranking import Ranking
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.learning.state import State
from river_ineural.learning.tensors import lasting
from river_ineural.learning.trainer import Trainer
from river_ineural.learning.training import SMALLEST, Training
from river_ineural.network import contexts
from river_ineural.network.device import available
from river_ineural.network.networks import Shape
from river_ineural.protocol import NeuralClassifier

__all__ = ["INeurAL"]

MOVED = {
    name: f"INeurAL(training=Training({name}=...))"
    for name in (
        *("optimizer", "exploration_lr", "exploration_share"),
        *("pseudo_label_steps", "init_scale", "labelled_share"),
    )
}


def check_training(name: str, training: Any) -> None:
    """Raise unless it is one, or None."""
    if not (training is None or isinstance(training, Training)):
        raise TypeError(f"{name} must be None or a Training, got {training!r}.")


def check_detector(name: str, detector: Any) -> None:
    """Raise unless it can tell of a change, or is turned off."""
    if isinstance(detector, str) and detector == "surprise":
        return
    if not (detector is None or isinstance(detector, base.BinaryDriftDetector)):
        raise TypeError(
            f"{name} must be 'surprise', None or one of river.drift.binary, got {detector!r}."
        )


def check_classes(name: str, classes: Any) -> None:
    """Raise unless they are None or a tuple of labels."""
    if not (classes is None or (isinstance(classes, tuple) and classes)):
        raise TypeError(f"{name} must be None or a non-empty tuple of labels, got {classes!r}.")


class INeurAL(NeuralClassifier):
    """Neural classifier with an exploitation network and, if wanted, an exploration network.

    The exploitation network f1 estimates P(y = i | x) for each class i. In the paper an exploration
    network f2 estimates what f1 gets wrong, r1 - f1, from the derivative-context embedding φ of f1
    (its input gradient and its input), and a class is scored, and the top one predicted, by

        f(x_i) = f1(x_i; θ1) + f2(φ(x_i); θ2)        (Algorithm 1, line 6)

    By default there is no f2, f = f1: it has made no difference in any form that was tried, and was
    a third of the work (docs/deviations.md, 9). `Training(exploration="scores")` is the paper's.

    Beside it stands a random forest of the given labels, whose votes v correct f by ω (v - f1), an
    estimate of the residual r1 - f1 as f2 is one (docs/deviations.md, 9).

    Each example learned enters a bounded history as its k contexts with reward r1 (1 for its class,
    else 0) and residual r2 = r1 - f1, taken before it is learned. Then the networks take mini-batch
    steps from where they stand (Algorithm 2). Classes and features may appear at any time. Features
    absent from x are 0. Strings and missing values can be features (`categories`, `missing`).

    On its own the classifier learns from every label it is given. Wrapped in
    `river_ineural.active.INeurALSampler` it chooses the labels.

    Parameters
    ----------
    hidden_dim
        Width m of each network, at least 1.
    n_layers
        Depth L of each network, at least 2.
    lr
        Learning rate η1 of f1, above 0.
    batch_size
        Contexts b a step, at least 1. They are drawn as whole examples, ⌈b/2⌉ of them also where
        there are more classes than two: ⌈b/k⌉ would be too few to learn from.
    n_steps
        Steps after each example whose label was given, at least 0. A fraction of a step is carried
        over to the next example. May be set later on, as `lr` and `adversarial_radius`.
    adversarial_radius
        How far at most, at least 0, the examples of a batch are moved to where f1 errs, in units of
        their norm; 0 turns adversarial training off. The radius used starts at a third of that and
        shrinks, down to a fifteenth, while more than 1 % of the given labels drawn are missed. With
        room for up to 256 features cross-validation finds out whether they may be moved as far, a
        third as far, or not at all.
    capacity
        Examples in the history, at least 2. A quarter of them can be pseudo-labelled ones, which
        never push out an example whose label was given.
    center
        Whether to subtract the running mean of the examples learned.
    scale
        Whether to divide each feature by the fourth root of the running mean of the fourth power of
        its distance from that mean, and a feature of two values by twice their distance, so that
        its unit does not matter.
    ranks
        Whether half of a feature is its rank, where its values lie far out or in clumps. Not with
        more than 256 features.
    pieces
        Whether features can be taken apart into six linear pieces each, in columns of their own,
        where cross-validation finds that better: no gain beside a forest. Not with more than 256.
    forest
        Whether a random forest of the given labels has the part in the scores that its word proves
        to be worth: `learning.forest.Forest`. Not with more than 256 features.
    relevance
        Whether to enlarge features, up to four times each, that f1 has found to matter, and to
        shrink the others: by the fourth root of the mean square of f1's input gradient. Not with
        more than 256 features.
    normalize
        Whether to scale each example to unit norm, after those, as the paper assumes. A
        constant, the root mean square of the norms so far, goes in front of it first, so that the
        direction keeps what unit norm would forget. "assumed": neither is done, and an example
        that does not come with unit norm is an error.
    iterate
        "average" predicts with an exponential average of the weights over some 50 steps
        (`Training(n_averaged=50)`), which forgets the noise of single batches; "last" with the
        current weights; "uniform" with weights drawn, each time something is learned, uniformly
        from all iterates so far, the initial weights among them (Algorithm 2, line 8); a reservoir
        of 8 (`Training(n_iterates=8)`) stands for them.
    training
        How they are trained, and whether there is an f2, a `Training`; None for its defaults. It
        has what the paper's algorithm sets otherwise.
    drift_detector
        How the labels that are given tell that the stream has changed. "surprise" weighs each
        mistake by how sure the model was: `learning.change.Surprise`. One of `river.drift.binary`
        is told the mistakes of which it was sure. After an alarm the networks learn anew, from the
        labels since and from what the older ones are still worth. None: never.
    classes
        Labels known beforehand, as a non-empty tuple. Others may still appear.
    categories
        Whether a string is a category: a feature of its own, named `"job=clerk"`, which is 1 in
        examples that have it. Each counts for `max_features`. Otherwise a string is an error.
    missing
        Whether None, NaN and the NA of pandas are missing values: a feature of its own, named
        `"age missing"`, is 1, and the median among the latest 255 labelled examples stands for the
        number. Otherwise they are errors. A feature that is not in x at all is 0 either way.
    max_features
        At most this many features are held. From then on those not learned for longest make room
        for new ones, with one warning; a single x with more is an error.
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
    >>> accuracy = evaluate.progressive_val_score(
    ...     stream, model, metrics.Accuracy()
    ... )
    >>> round(accuracy.get(), 1)
    0.9

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022.
    """

    _dtype = torch.float32
    _form: Callable[[int, int, int, int, bool], Shape] = contexts.Shape  # of the networks

    default_training = Training()

    hidden_dim = Fixed[int](integer(1))
    n_layers = Fixed[int](integer(2))
    lr = Live[float](real(SMALLEST), lambda model, lr: model._state.trainer.change(lr=lr))
    batch_size = Fixed[int](integer(1))
    n_steps = Live[float](real(0))
    adversarial_radius = Live[float](
        real(0), lambda model, radius: model._state.trainer.change(radius=radius)
    )
    capacity = Fixed[int](integer(2))
    center = Fixed[bool](choice(True, False))
    scale = Fixed[bool](choice(True, False))
    ranks = Fixed[bool](choice(True, False))
    pieces = Fixed[bool](choice(True, False))
    forest = Fixed[bool](choice(True, False))
    relevance = Fixed[bool](choice(True, False))
    normalize = Fixed[bool | str](choice(True, False, "assumed"))
    iterate = Fixed[str](choice("average", "last", "uniform"))
    training = Fixed[Training | None](check_training)
    drift_detector = Fixed[base.BinaryDriftDetector | str | None](check_detector)
    classes = Fixed[tuple[ClfTarget, ...] | None](check_classes)
    categories = Fixed[bool](choice(True, False))
    missing = Fixed[bool](choice(True, False))
    max_features = Fixed[int](integer(1))
    max_classes = Fixed[int](integer(2))
    device = Fixed[str](advice="`to` moves the model")
    seed = Fixed[int | None](lambda name, seed: check_seed(seed))

    @renamed(MOVED)
    def __init__(
        self,
        hidden_dim: int = 100,
        n_layers: int = 2,
        lr: float = 1.4e-3,
        batch_size: int = 64,
        n_steps: float = 8.0,
        adversarial_radius: float = 0.15,
        capacity: int = 8192,
        center: bool = True,
        scale: bool = True,
        ranks: bool = True,
        pieces: bool = False,
        forest: bool = True,
        relevance: bool = True,
        normalize: bool | str = True,
        iterate: str = "average",
        training: Training | None = None,
        drift_detector: base.BinaryDriftDetector | str | None = "surprise",
        classes: tuple[ClfTarget, ...] | None = None,
        categories: bool = False,
        missing: bool = False,
        max_features: int = 10_000,
        max_classes: int = 100,
        device: str = "cpu",
        seed: int | None = None,
    ) -> None:
        self.hidden_dim = hidden_dim
        self.n_layers = n_layers
        self.lr = lr
        self.batch_size = batch_size
        self.n_steps = n_steps
        self.adversarial_radius = adversarial_radius
        self.capacity = capacity
        self.center = center
        self.scale = scale
        self.ranks = ranks
        self.pieces = pieces
        self.forest = forest
        self.relevance = relevance
        self.normalize = normalize
        self.iterate = iterate
        self.training = training
        self.drift_detector = drift_detector
        self.classes = classes
        self.categories = categories
        self.missing = missing
        self.max_features = max_features
        self.max_classes = max_classes
        self.device = device
        self.seed = seed
        super().__init__(self._first_state())

    @lasting
    def _first_state(self) -> State:
        """Of a model that has learned nothing."""
        like = torch.empty(0, dtype=self._dtype, device=available(self.device))
        of_weights, of_batches, of_result, of_sample, of_folds, of_trees = (
            np.random.default_rng(child) for child in np.random.SeedSequence(self.seed).spawn(6)
        )
        training = self.training or self.default_training
        normalize = self.normalize is True
        unit_norm = self.normalize == "assumed"
        takes_apart = self.pieces and not unit_norm
        ranking = Ranking(self.ranks, takes_apart, of_sample, like)
        shape = self._form(0, 0, self.hidden_dim, self.n_layers, training.explores)
        trainer = Trainer(
            shape,
            training,
            self.lr,
            self.batch_size,
            Optimizer(training, like.new_zeros(shape.n_parameters)),
            Iterates(self.iterate, training.n_iterates, training.n_averaged, of_result),
            Adversary(self.adversarial_radius, like),
            0 if normalize else CONSTANT,
            of_weights,
            of_folds,
            like,
        )
        encoding = self.categories or self.missing
        if encoding and unit_norm:
            raise ValueError(
                "normalize='assumed' takes x as it is: encode strings and missing values in front "
                "of Normalizer(), without categories and missing."
            )
        return State(
            FeatureIndex(
                *(self.max_features, CONSTANT),
                recycles=True,
                unit_norm=unit_norm,
                encoder=Encoder(self.categories, self.missing) if encoding else None,
            ),
            LabelIndex(self.max_classes, self.classes or ()),
            Scaling(self.center, self.scale, normalize, self.relevance, ranking, like),
            History(self.capacity, training.labelled_share, of_batches, like),
            trainer,
            self._first_watch(),
            takes_apart,
            Forest(of_trees, trainer.dtype) if self.forest else None,
        )

    def _first_watch(self) -> Watch | None:
        if self.drift_detector is None:
            return None
        detector = self.drift_detector
        return Watch(None if isinstance(detector, str) else detector.clone())

    @property
    def n_drifts(self) -> int:
        """Changes of the stream that were noticed, and not taken back."""
        watch = self._state.watch
        return watch.n_drifts if watch else 0

    @property
    def changing(self) -> bool:
        """Whether a change was noticed just now, and labels say the most."""
        return self._state.trial is not None

    def returned(self) -> Self:
        """A copy that predicts with what the algorithm returns (Algorithm 1, line 28).

        Those are weights drawn uniformly from all that have predicted, one a round: an example
        learned ends a round.

        Raises
        ------
        ValueError
            Unless `iterate` is "uniform".
        """
        if self.iterate != "uniform":
            raise ValueError(
                f"iterate={self.iterate!r} predicts with what is learned last, and returns that: "
                "use the model as it is, or iterate='uniform'."
            )
        result = copy.deepcopy(self)
        result._state.trainer.conclude()
        return result

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "n_steps", "adversarial_radius"}
