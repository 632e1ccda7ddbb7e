"""The network of the paper's baselines, and how it is trained: in epochs at each label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from river import base
from river.base.typing import ClfTarget, FeatureName
from torch import Tensor, nn

from river_ineural.features.index import FeatureIndex
from river_ineural.features.labels import LabelIndex
from river_ineural.features.parameters import Fixed, Live
from river_ineural.features.standardizing import place
from river_ineural.features.validation import check_integer, check_seed, integer, real
from river_ineural.networks.threads import single_threaded

Floats = NDArray[np.floating[Any]]


class Stored:
    """The newest examples, each a vector and integers; a new one takes the place of the oldest."""

    def __init__(self, capacity: int) -> None:
        self.capacity = check_integer("capacity", capacity, least=1)
        self.n_added = 0
        self.examples: list[tuple[Floats, tuple[int, ...]]] = []

    def __len__(self) -> int:
        return len(self.examples)

    def add(self, vector: Floats, *targets: int) -> None:
        """Store a vector of all known features."""
        row = self.n_added % self.capacity
        self.examples[row : row + 1] = [(vector, targets)]
        self.n_added += 1

    def tensors(self) -> tuple[Tensor, ...]:
        """The vectors (n, d), 0 for features that came later, then each target (n,)."""
        vectors, targets = zip(*self.examples, strict=True)
        x = np.zeros((len(vectors), max(map(len, vectors))), np.float32)
        for row, vector in zip(x, vectors, strict=True):
            row[: len(vector)] = vector
        return torch.from_numpy(x), *map(torch.tensor, zip(*targets, strict=True))


class TrainedInEpochs:
    """A model trained in epochs of Adam; `RetrainedNetwork` describes the parameters."""

    lr = Live[float](real(1e-37))
    batch_size = Live[int](integer(1))
    n_epochs = Live[int](integer(1))
    tolerance = Live[float](real(0))

    def __init__(self, lr: float, batch_size: int, n_epochs: int, tolerance: float) -> None:
        self.lr = lr
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.tolerance = tolerance

    @single_threaded
    def train_epochs(
        self,
        weights: list[Tensor],
        loss: Callable[[list[Tensor], Tensor], Tensor],
        n_examples: int,
        rng: np.random.Generator,
    ) -> None:
        """Train the weights in place with a new Adam until the losses of an epoch are small.
        `loss(weights, rows)` is the mean loss of the examples with the indices `rows`.
        """
        trained = [part.detach().requires_grad_() for part in weights]  # shares their memory
        adam = torch.optim.Adam(trained, self.lr, fused=True)
        for _ in range(self.n_epochs):
            total = 0.0
            for rows in torch.split(torch.from_numpy(rng.permutation(n_examples)), self.batch_size):
                adam.zero_grad()
                found = loss(trained, rows)
                torch.autograd.backward(found)
                adam.step()
                total += found.item()
            if total <= self.tolerance * n_examples:
                break


class Cached:
    """Caches the result for the latest x; the cache is not pickled."""

    latest: tuple[dict[FeatureName, Any], Any] | None = None  # x and the result for it

    def __getstate__(self) -> dict[str, Any]:
        computed = ("latest", "weights")
        return {name: part for name, part in self.__dict__.items() if name not in computed}


def placed(
    features: FeatureIndex, x: Any, values: NDArray[np.float64], n_predicted: int = 0
) -> Floats:
    """Checked values of x as a float32 vector of all known features; see `look_up`."""
    columns = features.look_up(x, n_predicted)
    x = np.empty((1, len(features)))
    place(values[None], columns, x)
    vector: Floats = x[0].astype(np.float32)
    return vector


class RetrainedNetwork(TrainedInEpochs, base.Classifier):
    """Network with one hidden layer, trained in epochs over all examples so far at each label.

    This is the classification model of the paper's methods Random and Margin. With the ReLU
    function h, it predicts

        P(y | x) = softmax(V h(W x + a) + b)

    Each label starts up to `n_epochs` epochs of Adam on the cross-entropy over all stored examples,
    from the current weights and with a new state of Adam. x is not scaled here: scale it before.

    Parameters
    ----------
    hidden_dim, batch_size, n_epochs
        Width, examples per step, and maximum number of epochs per label; each at least 1.
    lr
        Learning rate of Adam, above 0.
    tolerance
        Training ends when the sum of the batch losses of an epoch is at most `tolerance` times the
        number of examples; at least 0.
    capacity
        Maximum number of stored examples, at least 1; a new one replaces the oldest.
    max_features, max_classes
        Maximum numbers, at least 1 and 2; later ones are ignored, with one warning.
    seed
        Seed of the initial weights and of the order of the examples, at least 0. None: different
        every time.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import active, baselines
    >>> network = baselines.RetrainedNetwork(seed=1)
    >>> model = active.RandomSampler(network, p=0.1, seed=1)  # "Random"
    >>> stream, accuracy = datasets.Phishing(), metrics.Accuracy()
    >>> _ = evaluate.progressive_val_score(stream, model, accuracy)
    >>> accuracy.get() > 0.75
    True

    References
    ----------
    Ban et al.: Improved Algorithms for Neural Active Learning. NeurIPS 2022, "Experiments".
    """

    _multiclass = True
    hidden_dim, capacity = Fixed[int](), Fixed[int]()
    max_features, max_classes = Fixed[int](), Fixed[int]()
    seed = Fixed[int | None]()

    def __init__(
        self,
        hidden_dim: int = 100,
        lr: float = 1e-3,
        batch_size: int = 64,
        n_epochs: int = 10,
        tolerance: float = 1e-3,
        capacity: int = 10_000,
        max_features: int = 10_000,
        max_classes: int = 100,
        seed: int | None = None,
    ) -> None:
        super().__init__(lr, batch_size, n_epochs, tolerance)
        self.hidden_dim = check_integer("hidden_dim", hidden_dim, least=1)
        self._stored = Stored(capacity)
        self.capacity = self._stored.capacity
        self.seed = check_seed(seed)
        self._rng = np.random.default_rng(self.seed)
        self._features, self._labels = FeatureIndex(max_features), LabelIndex(max_classes)
        self.max_features = self._features.max_features
        self.max_classes = self._labels.max_classes
        self._weights: list[Tensor] = []  # W (m, d), a (m,), V (k, m), b (k,)

    def __getstate__(self) -> dict[str, Any]:
        """The state with weights as arrays, because equal arrays have equal pickles."""
        return {**self.__dict__, "_weights": [part.numpy() for part in self._weights]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._weights = [torch.from_numpy(part.copy()) for part in state["_weights"]]

    def _grow(self) -> None:
        """Draw the missing weights from U(-1/√inputs, 1/√inputs), as PyTorch does."""
        m, d, k = self.hidden_dim, len(self._features), len(self._labels)
        shapes = [(m, d), (m,), (k, m), (k,)]
        if shapes == [tuple(part.shape) for part in self._weights]:
            return
        grown = []
        for i, shape in enumerate(shapes):
            bound = 1 / max(1, d if i < 2 else m) ** 0.5
            part = torch.from_numpy(self._rng.uniform(-bound, bound, shape)).float()
            if self._weights:
                known = self._weights[i]
                part[tuple(slice(n) for n in known.shape)] = known
            grown.append(part)
        self._weights = grown

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget) -> None:
        """Store the example and train on all stored ones; an invalid example changes nothing."""
        if self._store(x, y):
            self._train()

    @torch.inference_mode(False)  # gradients are needed in any mode of the caller
    def _store(self, x: dict[FeatureName, Any], y: ClfTarget) -> bool:
        """Store the example; returns False if there is no room for its class."""
        values, label = self._features.values(x), self._labels.checked(y)
        self._labels.learn([label])
        index = self._labels.index.get(label)
        if index is None:
            return False
        self._features.learn(x)
        self._grow()
        self._stored.add(placed(self._features, x, values), index)
        return True

    @torch.inference_mode(False)
    def _train(self) -> None:
        inputs, classes = self._stored.tensors()

        def loss(weights: list[Tensor], rows: Tensor) -> Tensor:
            return nn.functional.cross_entropy(logits(weights, inputs[rows]), classes[rows])

        self.train_epochs(self._weights, loss, len(classes), self._rng)

    @single_threaded
    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """Probability of each label; empty before a class is known."""
        values = self._features.values(x)
        if not len(self._labels):
            return {}
        vector = torch.from_numpy(placed(self._features, x, values, 1))
        row = logits(self._weights, vector).double().softmax(0).tolist()
        return dict(zip(self._labels.labels, row, strict=True))


def logits(weights: list[Tensor], x: Tensor) -> Tensor:
    """V h(W x + a) + b."""
    first, first_bias, last, last_bias = weights
    hidden = nn.functional.linear(x, first, first_bias).relu()
    return nn.functional.linear(hidden, last, last_bias)
