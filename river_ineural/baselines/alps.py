"""ALPS: fixed hypotheses, a version space of them, and thresholds for asking (requesters)."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from river import base
from river.base.typing import ClfTarget, FeatureName
from torch import Tensor

from river_ineural.active import Budget, BudgetedSampler
from river_ineural.active.decision import UNWANTED, Wanted, by_chance
from river_ineural.active.query import gap
from river_ineural.baselines.network import Cached, RetrainedNetwork, Stored, placed
from river_ineural.features.index import FeatureIndex
from river_ineural.features.labels import LabelIndex
from river_ineural.features.parameters import Fixed
from river_ineural.features.validation import check_integer, check_real, check_seed
from river_ineural.networks.threads import single_threaded

REQUESTERS = (0.1, 0.25, 0.5, 0.75, 0.9)  # possible thresholds on the leader's margin
LEAST = 1e-3  # lower bound of a probability in the log loss


class VersionSpace(Cached, base.Classifier):
    """Hypotheses with their total losses; a hypothesis close to the least loss is consistent.

    Each hypothesis is a `RetrainedNetwork` with its own seed, and is trained once. After that,
    learning an example only adds to the losses:

        L_h += -log P_h(y | x),    consistent: L_h ≤ min L + slack · √n

    n is the number of examples learned after the training.
    """

    def __init__(
        self,
        network: Callable[..., RetrainedNetwork],
        n_hypotheses: int,
        n_pretraining: int,
        slack: float,
        seed: int | None,
    ) -> None:
        n_hypotheses = check_integer("n_hypotheses", n_hypotheses, least=1)
        self.n_pretraining = check_integer("n_pretraining", n_pretraining, least=2)
        self.slack = check_real("slack", slack, least=0)
        seeds = np.random.default_rng(check_seed(seed)).integers(2**31, size=n_hypotheses).tolist()
        self.hypotheses = [network(seed=each) for each in seeds]
        self.waiting: deque[tuple[dict[FeatureName, Any], ClfTarget]]
        self.waiting = deque(maxlen=self.n_pretraining)
        self.ready = False
        self.losses = np.zeros(n_hypotheses)
        self.n = 0

    @property
    def labels(self) -> list[ClfTarget]:
        """The labels that the hypotheses know, in the column order of `probabilities`."""
        return self.hypotheses[0]._labels.labels

    @property
    def features(self) -> FeatureIndex:
        """The features that the hypotheses know."""
        return self.hypotheses[0]._features

    @functools.cached_property
    def weights(self) -> list[Tensor]:
        """The weights of all hypotheses, stacked."""
        parts = zip(*(hypothesis._weights for hypothesis in self.hypotheses), strict=True)
        return [torch.stack(part) for part in parts]

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget) -> None:
        """Collect an example for pre-training; after pre-training, add to the losses."""
        self.features.values(x)
        LabelIndex.checked(y)
        if not self.ready:
            self.waiting.append((dict(x), y))
            if len(self.waiting) == self.n_pretraining and len({y for _, y in self.waiting}) > 1:
                self.pretrain(self.waiting)
            return
        self.n += 1
        found = self.probabilities(x)[:, self.labels.index(y)] if y in self.labels else 0.0
        self.losses -= np.log(np.maximum(found, LEAST))

    def pretrain(self, examples: Iterable[tuple[dict[FeatureName, Any], ClfTarget]]) -> None:
        """Train every hypothesis on the examples; afterwards the hypotheses are fixed."""
        examples = list(examples)
        for hypothesis in self.hypotheses:
            for x, y in examples:
                hypothesis._store(x, y)
            hypothesis._train()
            hypothesis._stored = Stored(hypothesis.capacity)
        self.latest = None
        self.__dict__.pop("weights", None)
        self.waiting.clear()
        self.ready = True

    @single_threaded
    def probabilities(self, x: dict[FeatureName, Any]) -> NDArray[np.float64]:
        """Class probabilities (n_hypotheses, n_classes), cached for the latest x."""
        if self.latest is None or self.latest[0] != x:
            vector = torch.from_numpy(placed(self.features, x, self.features.values(x), 1))
            first, first_bias, last, last_bias = self.weights
            hidden = (first @ vector + first_bias).relu()
            logits = torch.einsum("hkm,hm->hk", last, hidden) + last_bias
            self.latest = dict(x), logits.double().softmax(1).numpy()
        return self.latest[1]

    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """Probabilities by the hypothesis of least loss; uniform before pre-training."""
        self.features.values(x)
        if not self.ready:
            known = dict.fromkeys(y for _, y in self.waiting)
            return {y: 1 / len(known) for y in known}
        leader = self.probabilities(x)[self.losses.argmin()]
        return dict(zip(self.labels, leader.tolist(), strict=True))

    def agreed(self, x: dict[FeatureName, Any]) -> ClfTarget | None:
        """The class that all consistent hypotheses predict; None if they disagree."""
        within = self.losses <= self.losses.min() + self.slack * math.sqrt(self.n)
        predicted = np.unique(self.probabilities(x)[within].argmax(1))
        return self.labels[predicted[0]] if len(predicted) == 1 else None


class ALPS(BudgetedSampler):
    """ALPS: ask where the consistent hypotheses disagree and the leader's margin is small.

    The sampler asks for the first `n_pretraining` labels and trains the hypotheses on them. After
    that the hypotheses are fixed. In each later round the leader, the hypothesis of least loss,
    predicts. Where all consistent hypotheses agree, their class is learned as a pseudo-label. Where
    they disagree, the label is asked for if the leader's margin is below the threshold s: the least
    of (0.1, 0.25, 0.5, 0.75, 0.9) that is reliable on the labels learned since pre-training,

        mistakes of the leader at margins ≥ s, plus 1
            ≤ requester_slack · √(labels at margins ≥ s)

    or 0.9 while none is reliable. Labels and pseudo-labels add to the losses of all hypotheses.

    Parameters
    ----------
    n_hypotheses
        Number of hypotheses, at least 1.
    n_pretraining
        Labels for pre-training, at least 2; more are asked for while the last `n_pretraining` are
        of one class. They count against the budget. `pretrain` takes other examples instead.
    slack, requester_slack
        Slack of the consistent hypotheses and of the thresholds, each at least 0.
    hidden_dim, lr, batch_size, n_epochs, tolerance
        Parameters of each hypothesis, as in `RetrainedNetwork`.
    budget, horizon
        As in `active.RandomSampler`.
    max_features
        Maximum number of features, at least 1; later ones are ignored, with one warning.
    seed
        Seed of the hypotheses, at least 0. None: different every time.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import baselines
    >>> model = baselines.ALPS(
    ...     n_hypotheses=3, n_pretraining=50, budget=100, seed=1
    ... )
    >>> stream = datasets.Phishing().take(300)
    >>> _ = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    >>> 50 < model.n_queries <= 100
    True

    References
    ----------
    DeSalvo, Gentile, Thune: Online Active Learning with Surrogate Loss Functions. NeurIPS 2021.
    """

    classifier: VersionSpace
    n_hypotheses, n_pretraining, hidden_dim = Fixed[int](), Fixed[int](), Fixed[int]()
    batch_size, n_epochs, max_features = Fixed[int](), Fixed[int](), Fixed[int]()
    slack, requester_slack = Fixed[float](), Fixed[float]()
    lr, tolerance = Fixed[float](), Fixed[float]()
    _unit_test_params = base.Classifier._unit_test_params  # every parameter has a default

    def __init__(
        self,
        n_hypotheses: int = 20,
        n_pretraining: int = 300,
        slack: float = 0.5,
        requester_slack: float = 0.5,
        hidden_dim: int = 100,
        lr: float = 1e-3,
        batch_size: int = 64,
        n_epochs: int = 100,
        tolerance: float = 1e-3,
        budget: Budget | float | int | None = None,
        horizon: int | None = None,
        max_features: int = 10_000,
        seed: int | None = None,
    ) -> None:
        self.requester_slack = check_real("requester_slack", requester_slack, least=0)
        settings = hidden_dim, lr, batch_size, n_epochs, tolerance
        network = functools.partial(RetrainedNetwork, *settings, max_features=max_features)
        classifier = VersionSpace(network, n_hypotheses, n_pretraining, slack, seed)
        super().__init__(classifier, budget, horizon, seed)
        first = classifier.hypotheses[0]
        self.n_hypotheses, self.n_pretraining = len(classifier.hypotheses), classifier.n_pretraining
        self.slack, self.hidden_dim, self.lr = classifier.slack, first.hidden_dim, first.lr
        self.batch_size, self.n_epochs = first.batch_size, first.n_epochs
        self.tolerance, self.max_features = first.tolerance, first.max_features
        self._at_least = np.zeros(len(REQUESTERS), int)  # labels at margins ≥ s
        self._missed = np.zeros(len(REQUESTERS), int)  # of these, the leader's mistakes

    def pretrain(self, examples: Iterable[tuple[dict[FeatureName, Any], ClfTarget]]) -> None:
        """Train the hypotheses on labelled examples that do not count against the budget."""
        self.classifier.pretrain(examples)

    @property
    def requester(self) -> float:
        """The threshold s that is used now."""
        reliable = self._missed + 1 <= self.requester_slack * np.sqrt(self._at_least)
        return REQUESTERS[int(reliable.argmax())] if reliable.any() else REQUESTERS[-1]

    def _wanted(self, x: dict[FeatureName, Any], y_pred: dict[ClfTarget, float]) -> Wanted:
        if not self.classifier.ready:
            return by_chance(True, 1.0)
        agreed = self.classifier.agreed(x)
        if agreed is not None:
            self.classifier.learn_one(x, agreed)  # the pseudo-label
            return UNWANTED
        margin, requester = gap(y_pred.values()), self.requester
        asks = margin < requester
        return "gap" if asks else "none", margin, requester, float(asks)

    def _learn(self, model: Any, x: Any, y: ClfTarget, kwargs: Any, query: int | None) -> None:
        """Learn a label: update the losses and the reliability of each threshold."""
        leader = self.classifier.predict_proba_one(x) if self.classifier.ready else {}
        super()._learn(model, x, y, kwargs, query)
        if leader:
            beyond = gap(leader.values()) >= np.array(REQUESTERS)
            self._at_least += beyond
            self._missed += beyond & (max(leader, key=leader.__getitem__) != y)

    def _unit_test_skips(self) -> set[str]:
        return {"check_predict_proba_one_binary"}  # the check does not expect a pair
