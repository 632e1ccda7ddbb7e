"""The classifier of the paper's baselines: a network trained in epochs at each label."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from river import base
from river.base.typing import ClfTarget, FeatureName
from torch import Tensor, nn

from river_ineural.baselines.epochs import Stored, TrainedInEpochs, placed
from river_ineural.features.index import FeatureIndex
from river_ineural.features.labels import LabelIndex
from river_ineural.features.validation import check_integer, check_seed
from river_ineural.networks.threads import single_threaded

__all__ = ["RetrainedNetwork"]


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
        check_integer("hidden_dim", hidden_dim, least=1)
        check_integer("max_features", max_features, least=1)
        check_integer("max_classes", max_classes, least=2)
        check_seed(seed)
        super().__init__(lr, batch_size, n_epochs, tolerance)
        self.hidden_dim = hidden_dim
        self.capacity = capacity
        self.max_features = max_features
        self.max_classes = max_classes
        self.seed = seed
        self._rng = np.random.default_rng(seed)
        self._features = FeatureIndex(max_features)
        self._labels = LabelIndex(max_classes)
        self._stored = Stored(capacity)
        self._weights: list[Tensor] = []  # W (m, d), a (m,), V (k, m), b (k,)

    def __getstate__(self) -> dict[str, Any]:
        """The state with weights as arrays, because equal arrays have equal pickles."""
        return {**self.__dict__, "_weights": [part.numpy() for part in self._weights]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._weights = [torch.from_numpy(part.copy()) for part in state["_weights"]]

    @property
    def _multiclass(self) -> bool:
        return True

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
        vector = torch.from_numpy(placed(self._features, x, values))
        row = logits(self._weights, vector).double().softmax(0).tolist()
        return dict(zip(self._labels.labels, row, strict=True))


def logits(weights: list[Tensor], x: Tensor) -> Tensor:
    """V h(W x + a) + b."""
    first, first_bias, last, last_bias = weights
    hidden = nn.functional.linear(x, first, first_bias).relu()
    return nn.functional.linear(hidden, last, last_bias)
