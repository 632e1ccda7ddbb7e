"""NeuAL-NTK-F and NeuAL-NTK-D: upper confidence bounds in the tangent features of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from river import base
from river.base.typing import ClfTarget, FeatureName
from torch import Tensor, nn

from river_ineural.active import Budget, BudgetedSampler
from river_ineural.active.decision import Wanted
from river_ineural.baselines.network import Cached, Stored, TrainedInEpochs, placed
from river_ineural.features.index import FeatureIndex
from river_ineural.features.labels import LabelIndex
from river_ineural.features.parameters import Fixed
from river_ineural.features.validation import check_integer, check_real, check_seed
from river_ineural.networks.scores import probabilities
from river_ineural.networks.threads import single_threaded

Floats = NDArray[np.floating[Any]]

TWO = 2  # classes; the methods are defined only for two


def unit(vector: Floats) -> Floats:
    """The vector scaled to norm 1; a zero vector stays 0."""
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


class TangentUCB(Cached, base.Classifier):
    """Classifier of two classes by an upper confidence bound of the probability of each.

    The network is f(x_i) = v · ReLU(W_i x), where x has norm 1 and W_i is the block of class i. Its
    tangent features are g_i = ∇_θ f(x_i): the hidden units for v, and (v · [unit on]) xᵀ for W_i.
    With Z, the sum of g² over the learned contexts plus λ, the bound and its width are

        U_i = value_i + width_i,    width_i² = γ Σ g_i² / Z

    Z is the diagonal of the paper's matrix. The class with the highest bound is chosen. Only its
    context is learned, with reward 1 if the class is right, else 0.
    """

    def __init__(
        self, hidden_dim: int, gamma: float, ridge: float, max_features: int, seed: int | None
    ) -> None:
        self.hidden_dim = hidden_dim = check_integer("hidden_dim", hidden_dim, least=1)
        self.gamma = check_real("gamma", gamma, least=0)
        self.ridge = ridge = check_real("ridge", ridge, least=1e-6)
        self.features = FeatureIndex(max_features)
        self.rng = np.random.default_rng(check_seed(seed))
        self.labels = LabelIndex(TWO)
        self.first = np.zeros((TWO, hidden_dim, 0), np.float32)  # W
        self.last = self.rng.normal(0, (1 / hidden_dim) ** 0.5, hidden_dim).astype(np.float32)  # v
        self.z_first = np.zeros_like(self.first)
        self.z_last = np.full_like(self.last, ridge)

    def widen(self) -> None:
        """Draw weights from N(0, 2/m) for new features, and set Z to λ for them."""
        new = len(self.features) - self.first.shape[2]
        if new:
            fresh = self.rng.normal(0, (2 / self.hidden_dim) ** 0.5, (*self.first.shape[:2], new))
            self.first = np.concatenate((self.first, fresh.astype(np.float32)), axis=2)
            more = (0, 0), (0, 0), (0, new)
            self.z_first = np.pad(self.z_first, more, constant_values=self.ridge)
            self.latest = None

    def tangent(self, x: Floats) -> tuple[Floats, Floats]:
        """Hidden units and delta, the gradient at their input, (2, m); g = (delta xᵀ, hidden)."""
        products = self.first @ x
        return np.maximum(products, 0), self.last * (products > 0)

    def value(self, x: Floats, hidden: Floats, delta: Floats) -> Floats:
        """The estimate for each class (2,), to which its width is added."""
        raise NotImplementedError

    @single_threaded
    def bounds(self, x: Floats) -> tuple[Floats, Floats]:
        """Upper bounds and widths of the known classes, (k,) each; x has norm 1."""
        hidden, delta = self.tangent(x)
        squares = (delta**2 * ((1 / self.z_first) @ x**2)).sum(1) + hidden**2 @ (1 / self.z_last)
        widths = np.sqrt(self.gamma * squares)
        k = len(self.labels)
        return (self.value(x, hidden, delta) + widths)[:k], widths[:k]

    def bounds_of(self, x: dict[FeatureName, Any]) -> tuple[Floats, Floats]:
        """`bounds` of a feature dict, cached because a round needs them twice."""
        values = self.features.values(x)
        if self.latest is None or self.latest[0] != x:
            self.latest = dict(x), self.bounds(unit(placed(self.features, x, values, 1)))
        return self.latest[1]

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget) -> None:
        """Learn whether the chosen class is right."""
        values, label = self.features.values(x), self.labels.checked(y)
        if label not in self.labels.index and len(self.labels) == TWO:
            raise ValueError(
                f"label {label!r} is a third class: NTK methods are defined for two, "
                f"{self.labels.labels}. Use INeurALSampler, or make the task binary."
            )
        self.features.learn(x)
        self.labels.learn([label])
        self.widen()
        vector = unit(placed(self.features, x, values))
        chosen = int(self.bounds(vector)[0].argmax())
        hidden, delta = self.tangent(vector)
        self.z_first[chosen] += np.outer(delta[chosen] ** 2, vector**2)
        self.z_last += hidden[chosen] ** 2
        self.fit(vector, hidden, delta, chosen, float(chosen == self.labels.index[label]))
        self.latest = None

    def fit(self, x: Floats, hidden: Floats, delta: Floats, chosen: int, reward: float) -> None:
        """Update the value of the chosen class with its reward."""
        raise NotImplementedError

    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """The distribution nearest to the bounds; empty before a class is known."""
        upper, _ = self.bounds_of(x)
        row = probabilities(upper[None].astype(np.float64))[0]
        return dict(zip(self.labels.labels, row.tolist(), strict=True))


class FrozenTangent(TangentUCB):
    """value_i = θ · g_i, with g_i at the initial weights and θ = Z⁻¹ Σ reward · g."""

    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        self.b_first, self.b_last = np.zeros_like(self.first), np.zeros_like(self.last)

    def widen(self) -> None:
        super().widen()
        new = len(self.features) - self.b_first.shape[2]
        self.b_first = np.pad(self.b_first, ((0, 0), (0, 0), (0, new)))

    def value(self, x: Floats, hidden: Floats, delta: Floats) -> Floats:
        by_first: Floats = (delta * ((self.b_first / self.z_first) @ x)).sum(1)
        return by_first + hidden @ (self.b_last / self.z_last)

    def fit(self, x: Floats, hidden: Floats, delta: Floats, chosen: int, reward: float) -> None:
        self.b_first[chosen] += reward * np.outer(delta[chosen], x)
        self.b_last += reward * hidden[chosen]


class TrainedTangent(TrainedInEpochs, TangentUCB):
    """value_i = f(x_i); the network is trained on all chosen contexts and their rewards."""

    def __init__(
        self, settings: tuple[Any, ...], training: tuple[float, int, int, float], capacity: int
    ) -> None:
        TangentUCB.__init__(self, *settings)
        TrainedInEpochs.__init__(self, *training)
        self.stored = Stored(capacity)

    def value(self, x: Floats, hidden: Floats, delta: Floats) -> Floats:
        return hidden @ self.last

    @torch.inference_mode(False)  # gradients are needed in any mode of the caller
    def fit(self, x: Floats, hidden: Floats, delta: Floats, chosen: int, reward: float) -> None:
        self.stored.add(x, chosen, int(reward))
        inputs, classes, rewards = self.stored.tensors()

        def loss(weights: list[Tensor], rows: Tensor) -> Tensor:
            first, last = weights
            of_both = (inputs[rows] @ first.flatten(0, 1).T).view(len(rows), *first.shape[:2])
            hidden = of_both[torch.arange(len(rows)), classes[rows]].relu()
            return nn.functional.mse_loss(hidden @ last, rewards[rows].float())

        weights = [torch.from_numpy(part) for part in (self.first, self.last)]
        self.train_epochs(weights, loss, len(rewards), self.rng)


class TangentSampler(BudgetedSampler):
    """Asks if |U - 1/2| ≤ 2 · width, with the bound and the width of the chosen class."""

    classifier: TangentUCB
    _unit_test_params = base.Classifier._unit_test_params  # every parameter has a default

    hidden_dim, max_features = Fixed[int](), Fixed[int]()
    gamma, ridge = Fixed[float](), Fixed[float]()

    def __init__(self, classifier: TangentUCB, *settings: Any) -> None:
        super().__init__(classifier, *settings)
        self.hidden_dim, self.gamma = classifier.hidden_dim, classifier.gamma
        self.ridge, self.max_features = classifier.ridge, classifier.features.max_features

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        upper, widths = self.classifier.bounds_of(x)
        if len(upper) < TWO:
            return self._of_few_classes(len(upper))
        chosen = upper.argmax()
        gap, threshold = float(abs(upper[chosen] - 0.5)), float(2 * widths[chosen])
        asks = gap <= threshold
        return "gap" if asks else "none", gap, threshold, float(asks)

    def _unit_test_skips(self) -> set[str]:
        return {"check_predict_proba_one_binary"}  # the check does not expect a pair


class NeuALNTKF(TangentSampler):
    """NeuAL-NTK-F: ask where the bound of a frozen tangent model is close to 1/2.

    The class with the higher bound U = θ · g + width is predicted. The label is asked for if
    |U - 1/2| ≤ 2 · width. g is the gradient of the network at its initial weights (see
    `TangentUCB`). The network is never trained. It may be sure, and so ask for no more labels,
    before it is right, as in the example below.

    Parameters
    ----------
    hidden_dim
        Width of the network, at least 1.
    gamma
        Exploration parameter γ, at least 0, which multiplies the squared width.
    ridge
        Regularisation λ, above 0.
    budget, horizon
        As in `active.RandomSampler`.
    max_features
        Maximum number of features, at least 1; later ones are ignored, with one warning.
    seed
        Seed of the weights, at least 0. None: different every time.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or if `learn_one` gets a third class.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import baselines
    >>> model = baselines.NeuALNTKF(budget=100, seed=1)
    >>> stream, metric = datasets.Phishing().take(300), metrics.Accuracy()
    >>> accuracy = evaluate.progressive_val_score(stream, model, metric).get()
    >>> round(accuracy, 1), model.n_queries
    (0.5, 6)

    References
    ----------
    Wang, Awasthi, Dann, Sekhari, Gentile: Neural Active Learning with Performance Guarantees.
    NeurIPS 2021, Algorithm 1.
    """

    def __init__(
        self,
        hidden_dim: int = 100,
        gamma: float = 0.5,
        ridge: float = 1.0,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        max_features: int = 10_000,
        seed: int | None = None,
    ) -> None:
        classifier = FrozenTangent(hidden_dim, gamma, ridge, max_features, seed)
        super().__init__(classifier, budget, horizon, seed)


class NeuALNTKD(TangentSampler):
    """NeuAL-NTK-D: like `NeuALNTKF`, but with a trained network and its current gradient.

    The bound is U = f + width, where f is the output of the network. After each label the network
    is trained for up to `n_epochs` epochs of Adam on the squared error over all chosen contexts.

    Parameters
    ----------
    hidden_dim, gamma, ridge, budget, horizon, max_features, seed
        As in `NeuALNTKF`.
    lr, batch_size, n_epochs, tolerance, capacity
        As in `RetrainedNetwork`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or if `learn_one` gets a third class.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import baselines
    >>> model = baselines.NeuALNTKD(budget=60, seed=1)
    >>> stream, metric = datasets.Phishing().take(300), metrics.Accuracy()
    >>> evaluate.progressive_val_score(stream, model, metric).get() > 0.7
    True

    References
    ----------
    As in `NeuALNTKF`; Algorithm 3.
    """

    lr, tolerance = Fixed[float](), Fixed[float]()
    batch_size, n_epochs, capacity = Fixed[int](), Fixed[int](), Fixed[int]()

    def __init__(
        self,
        hidden_dim: int = 100,
        gamma: float = 0.1,
        ridge: float = 1.0,
        lr: float = 1e-3,
        batch_size: int = 64,
        n_epochs: int = 10,
        tolerance: float = 1e-3,
        capacity: int = 10_000,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        max_features: int = 10_000,
        seed: int | None = None,
    ) -> None:
        settings = hidden_dim, gamma, ridge, max_features, seed
        training = lr, batch_size, n_epochs, tolerance
        learner = TrainedTangent(settings, training, capacity)
        super().__init__(learner, budget, horizon, seed)
        self.lr, self.batch_size, self.n_epochs = learner.lr, learner.batch_size, learner.n_epochs
        self.tolerance, self.capacity = learner.tolerance, learner.stored.capacity
