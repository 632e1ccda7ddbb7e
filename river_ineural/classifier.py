"""INeurAL: the two networks behind River's protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from river import base
from river.base.typing import ClfTarget

from river_ineural.inputs.encoder import Encoder
from river_ineural.inputs.features import FeatureIndex
from river_ineural.inputs.labels import LabelIndex
from river_ineural.inputs.parameters import Fixed, Live
from river_ineural.inputs.validation import check_seed, choice, integer, real
from river_ineural.learning.drift import DriftDetector
from river_ineural.learning.explorers import EXPLORERS, Explorers
from river_ineural.learning.history import History
from river_ineural.learning.last_label import LastLabel
from river_ineural.learning.scaling import CONSTANT, Scaling
from river_ineural.learning.state import State
from river_ineural.learning.steps import Recipe
from river_ineural.learning.tensors import outside_inference_mode
from river_ineural.learning.trainer import Trainer
from river_ineural.network.device import available
from river_ineural.network.layout import Shape
from river_ineural.protocol import NeuralClassifier

__all__ = ["INeurAL"]

SMALLEST = 1e-37  # learning rate that float32 can hold
MOST_LAYERS, MOST_CONTEXTS, MOST_STEPS = 1_000, 1 << 16, 1e6  # what a file may ask for, too


def check_explorers(name: str, explorers: Any) -> None:
    """Raise unless it is a tuple of known names without repetitions."""
    fine = isinstance(explorers, tuple) and all(
        isinstance(each, str) and each in EXPLORERS for each in explorers
    )
    if not fine or len(set(explorers)) < len(explorers):
        raise ValueError(
            f"{name} must be a tuple of some of {tuple(EXPLORERS)}, got {explorers!r}."
        )


def check_detector(name: str, detector: Any) -> None:
    """Raise unless it can detect a change, or is None."""
    if isinstance(detector, str) and detector == "cusum":
        return
    if not (detector is None or isinstance(detector, base.BinaryDriftDetector)):
        raise TypeError(
            f"{name} must be 'cusum', None or one of river.drift.binary, got {detector!r}."
        )


def check_classes(name: str, classes: Any) -> None:
    """Raise unless they are None or a tuple of labels."""
    if not (classes is None or (isinstance(classes, tuple) and classes)):
        raise TypeError(f"{name} must be None or a non-empty tuple of labels, got {classes!r}.")


class INeurAL(NeuralClassifier):
    """Neural classifier with an exploitation network f1, and explorers that estimate its errors.

    f1 estimates P(y = i | x) for each class i. The exploration network f2 estimates the residual
    r1 - f1 from the derivative-context embedding φ of f1: its input gradient and its input. A
    random forest of the given labels estimates the same residual by its votes v. The last label
    estimates it by the probability b of each class, given that label. The class with the highest
    score is predicted (Algorithm 1, lines 6 and 8):

        f(x_i) = f1(x_i; θ1) + α f2(φ(x_i); θ2) + ω (v_i - p_i) + λ (b_i - p_i)

    p is f1 clipped to [0, 1]. α, ω and λ are the trust in each explorer. They follow by least
    squares from the given labels, each predicted before it is learned
    (`learning.explorers.Explorers`). In the paper α = 1, and f2 is the only explorer.

    Each learned example enters a bounded history as its k contexts with reward r1 (1 for its class,
    else 0) and residual r2 = r1 - f1, taken before it is learned. Then the networks take mini-batch
    steps from their current weights (Algorithm 2). Classes and features may appear at any time. A
    feature that is not in x is 0. Strings and missing values can be features (`categories`,
    `missing`).

    On its own the classifier learns every label it is given. `active.INeurALSampler` around it
    chooses the labels.

    Parameters
    ----------
    hidden_dim
        Width m of each network, at least 1.
    n_layers
        Depth L of each network, in [2, 1,000].
    lr
        Learning rate η1 of f1, above 0.
    batch_size
        Contexts b of each step, in [1, 65,536]. They are drawn as ⌈b/2⌉ whole examples, also with
        more than two classes, where ⌈b/k⌉ would be too few to learn from.
    n_steps
        Steps after each example whose label was given, in [0, 1e6]; half of them if examples have
        few of many features, as of words. A fraction of a step is carried over to the next example.
        `n_steps` and `lr` may be set later on.
    capacity
        Examples in the history, in [2, 1,000,000]. A quarter of it is for pseudo-labelled examples,
        which never replace an example whose label was given.
    explorers
        What estimates the errors of f1: a tuple of some of "network", which is f2, "forest", which
        is not grown above 256 features, and "last_label", which counts where labels depend on the
        ones before. ("network",) is the paper's method, trusted as far as labels confirm it. () is
        f1 alone.
    drift_detector
        How mistakes at given labels show that the stream has changed. "cusum" weights each mistake
        by how sure the model was: `learning.drift.Cusum`. A detector of `river.drift.binary` gets
        the mistakes where the model was sure. After a detected change new networks are trained on
        the labels since it, and on old labels that are still right. None: no detector.
    classes
        Labels known beforehand, as a non-empty tuple. Others may still appear.
    categories
        Whether a string is a category: a feature of its own, named `"job=clerk"`, which is 1 in
        examples that have it. Each counts for `max_features`. Otherwise a string is an error.
    missing
        Whether None, NaN and the NA of pandas are missing values: a feature of its own, named
        `"age missing"`, is 1, and the median among the latest 255 labelled examples replaces the
        number. Otherwise they are errors. A feature that is not in x is 0 either way.
    max_features
        Features that are held, at most. Beyond it new features replace those not learned for
        longest, with one warning. A single x with more is an error.
    max_classes
        Classes, at most; at least 2. Examples of later classes are ignored, with one warning.
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
    _form: Callable[[int, int, int, int, bool], Shape] = Shape  # of the networks

    _recipe = Recipe(exploration_lr=1e-3, exploration_share=0.25, balance=0.0, span=50)

    hidden_dim = Fixed[int](integer(1))
    n_layers = Fixed[int](integer(2, MOST_LAYERS))
    lr = Live[float](real(SMALLEST), lambda model, lr: model._state.trainer.change_rate(lr))
    batch_size = Fixed[int](integer(1, MOST_CONTEXTS))
    n_steps = Live[float](real(0, MOST_STEPS))
    capacity = Fixed[int](integer(2, 1_000_000))
    explorers = Fixed[tuple[str, ...]](check_explorers)
    drift_detector = Fixed[base.BinaryDriftDetector | str | None](check_detector)
    classes = Fixed[tuple[ClfTarget, ...] | None](check_classes)
    categories = Fixed[bool](choice(True, False))
    missing = Fixed[bool](choice(True, False))
    max_features = Fixed[int](integer(1))
    max_classes = Fixed[int](integer(2))
    device = Fixed[str](advice="`to` moves the model")
    seed = Fixed[int | None](lambda name, seed: check_seed(seed))

    def __init__(
        self,
        hidden_dim: int = 100,
        n_layers: int = 2,
        lr: float = 1.4e-3,
        batch_size: int = 64,
        n_steps: float = 8.0,
        capacity: int = 8192,
        explorers: tuple[str, ...] = ("network", "forest", "last_label"),
        drift_detector: base.BinaryDriftDetector | str | None = "cusum",
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
        self.capacity = capacity
        self.explorers = explorers or ()  # an empty list is one of `_get_params`
        self.drift_detector = drift_detector
        self.classes = classes
        self.categories = categories
        self.missing = missing
        self.max_features = max_features
        self.max_classes = max_classes
        self.device = device
        self.seed = seed
        super().__init__(self._first_state())

    @outside_inference_mode
    def _first_state(self) -> State:
        """Of a model that has learned nothing."""
        like = torch.empty(0, dtype=self._dtype, device=available(self.device))
        of_weights, of_batches, of_explorers = (
            np.random.default_rng(child) for child in np.random.SeedSequence(self.seed).spawn(3)
        )
        shape = self._form(0, 0, self.hidden_dim, self.n_layers, "network" in self.explorers)
        trainer = Trainer(shape, self._recipe, self.lr, self.batch_size, of_weights, like)
        given = of_explorers, trainer.dtype
        encoding = self.categories or self.missing
        return State(
            FeatureIndex(
                *(self.max_features, CONSTANT),
                recycles=True,
                encoder=Encoder(self.categories, self.missing) if encoding else None,
            ),
            LabelIndex(self.max_classes, self.classes or ()),
            Scaling(like.cpu()),
            History(self.capacity, of_batches, like.cpu()),
            trainer,
            Explorers({name: EXPLORERS[name](*given) for name in self.explorers}),
            self._first_detector(),
        )

    def _first_detector(self) -> DriftDetector | None:
        if self.drift_detector is None:
            return None
        detector = self.drift_detector
        return DriftDetector(None if isinstance(detector, str) else detector.clone())

    @property
    def n_drifts(self) -> int:
        """Changes of the stream that were detected and not refuted."""
        detector = self._state.detector
        return detector.n_drifts if detector else 0

    @property
    def changing(self) -> bool:
        """Whether the model recovers from a change, so that labels are worth most."""
        return self._state.recovery is not None

    @property
    def temporal_dependence(self) -> bool:
        """Whether labels depend on the ones before, as the explorer "last_label" detects it."""
        last = self._state.explorers.parts.get("last_label")
        return isinstance(last, LastLabel) and last.dependent

    @property
    def warning(self) -> bool:
        """Whether labels point to a change, but not clearly enough."""
        detector = self._state.detector
        return detector is not None and detector.warning_detected

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """A model with the same parameters, or these, that has learned nothing."""
        if new_params and new_params.get("explorers") == ():
            new_params = new_params | {"explorers": []}
        return super().clone(new_params, include_attributes)

    def _get_params(self) -> dict[str, Any]:
        """With an empty list for an empty tuple, of which River would look at the first item."""
        params = super()._get_params()
        return params | {"explorers": params["explorers"] or []}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "n_steps"}
