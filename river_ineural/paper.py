"""Algorithms 1 and 2 of I-NeurAL as printed in the paper, to be read next to the PDF.

The fast learner, `river_ineural.INeurAL`, shares no learning code with this module and departs from
the paper (docs/deviations.md). "Line 6" refers to Algorithm 1, "line 2.6" to Algorithm 2.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from river import base
from river.base.typing import ClfTarget, FeatureName
from torch import Tensor, nn

from river_ineural.active.budget import Budget
from river_ineural.active.pairs import Pairs, Round
from river_ineural.active.pipelines import check_caller
from river_ineural.features.validation import check_choice, check_integer, check_real, check_seed

__all__ = ["GAMMAS", "INeurAL", "Networks", "theorem_rate"]

GAMMAS = (1, 2, 5, 6, 7, 10)  # the grid of the appendix
ROUNDING = 1e-3  # largest accepted difference of a norm from 1
SMALLEST = 1e-300  # what has to be above 0 is at least this
MOST_KEPT = 100_000_000  # limit of the numbers in all iterates: 0.4 GB
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
X = dict[FeatureName, Any]


class Networks(base.Classifier):
    """f1 and f2 with weights θ = (θ1, θ2), for x of norm 1; `INeurAL` trains and returns them."""

    _dtype = torch.float32

    def __init__(self, classes: tuple[ClfTarget, ...], m: int, depth: int, explores: bool) -> None:
        self.classes, self.m, self.depth, self.explores = classes, m, depth, explores
        self.features: tuple[FeatureName, ...] = ()  # their order in x_t; empty without weights

    def initialize(self, features: tuple[FeatureName, ...], seed: int, device: str) -> None:
        """Draw θ_0: W_1 … W_{L-1} from N(0, 2/m), W_L from N(0, 1/m)."""
        generator = torch.Generator().manual_seed(seed)

        def network(inputs: int) -> nn.Sequential:  # W_L σ(W_{L-1} … σ(W_1 x))
            sizes = itertools.pairwise([inputs, *[self.m] * (self.depth - 1), 1])
            layers = [nn.Linear(*size, False, "meta", self._dtype) for size in sizes]
            for w in layers:
                nn.init.normal_(w.to_empty(device="cpu").weight, 0, (2 / self.m) ** 0.5, generator)
            layers[-1].weight.data /= math.sqrt(2)
            modules = [f for w in layers for f in (w, nn.ReLU())]
            return nn.Sequential(*modules[:-1], nn.Flatten(0)).to(device)

        self.features, kd = features, len(self.classes) * len(features)
        self.f1 = network(kd)
        self.f2 = network(2 * kd) if self.explores else nn.Sequential()
        self.e = torch.eye(len(self.classes), dtype=self._dtype, device=device)  # e_1 … e_k

    @property
    def theta(self) -> list[Tensor]:
        """(θ1, θ2): the weight matrices themselves, not copies."""
        return [w.detach() for f in (self.f1, self.f2) for w in f.parameters()]

    def take(self, theta: list[Tensor]) -> Networks:
        """Set the weights, and return self."""
        for own, given in zip(self.theta, theta, strict=True):
            own.copy_(given)
        return self

    def contexts(self, x: Tensor, e: Tensor) -> Tensor:
        """x_{t,i} = e_i ⊗ x_t = (0, …, x_t, …, 0), (n, kd): one row for each row of e (n, k)."""
        return (e[:, :, None] * x[..., None, :]).flatten(1)

    def phi(self, contexts: Tensor) -> Tensor:
        """φ(x_{t,i}) = (∇f1 / (√2 ‖∇f1‖), x_{t,i} / √2), with ∇ = ∂/∂x_{t,i}: (n, 2kd)."""
        contexts = contexts.detach().requires_grad_()
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(self.f1(contexts).sum(), contexts)
        unit = nn.functional.normalize(slope, eps=torch.finfo(slope.dtype).tiny)  # 0 stays 0
        return torch.cat([unit, contexts.detach()], 1) / math.sqrt(2)

    def f(self, contexts: Tensor) -> Tensor:
        """f(x_{t,i}; θ) = f1(x_{t,i}; θ1) + f2(φ(x_{t,i}); θ2): (n,)."""
        with torch.no_grad():
            f1: Tensor = self.f1(contexts)
            return f1 + self.f2(self.phi(contexts)) if self.explores else f1

    def scores_one(self, x: X) -> dict[ClfTarget, float]:
        """f(x_{t,i}; θ) by label; empty before there are weights."""
        if not self.features:
            return {}
        contexts = self.contexts(unit_vector(x, self.features).to(self.e), self.e)  # line 4
        return dict(zip(self.classes, self.f(contexts).tolist(), strict=True))  # lines 5 to 7

    def predict_one(self, x: X, **kwargs: Any) -> ClfTarget | None:
        """The label of the highest score; None before there are weights."""
        scores = self.scores_one(x)
        return max(scores, key=scores.__getitem__, default=None)

    def learn_one(self, x: X, y: ClfTarget) -> None:
        """Raise a TypeError: only `INeurAL` learns."""
        raise TypeError("Networks are fixed: the paper.INeurAL that holds them learns.")


class INeurAL(Pairs):
    """I-NeurAL as printed (Ban et al., NeurIPS 2022), for T rounds on examples x_t of norm 1.

    Each call of `predict_one` is a round t. It predicts the class î of the highest f = f1 + f2, by
    weights drawn from all iterates so far. i° is the second class. The label is asked for if

        f(x_{t,î}) - f(x_{t,i°}) < 2γβ_t
        β_t = √(2/t) + 3L/√(2t) + √(2 log(Tk/δ)/t)

    Otherwise î is learned at once as if it were the label. `learn_one` learns a label asked for.

    The paper leaves some details open. With fewer than b contexts, all are taken, and the divisor
    stays b. φ of a stored context uses the θ1 that predicts in this round. Its gradient half is 0
    where all units of f1 are off. Beyond 100,000,000 numbers the kept iterates are a uniform sample
    (reservoir sampling). The first x_t defines all features.

    Parameters
    ----------
    classes
        All labels, a tuple of at least two, in the order of the paper's 1 … k.
    rounds, hidden_dim, batch_size, n_layers
        T, the width m and the batch size b, each at least 1; the depth L, at least 2.
    gamma, delta
        γ, at least 0, and above 1 in the theorems; δ, in (0, 1).
    lr, exploration_lr
        Learning rates η1 and η2, above 0. None: η1 is `theorem_rate`, η2 is η1.
    optimizer
        "sgd" as printed, or "adam" as in the experiments.
    budget
        Maximum of labels: a share of T (float; 0.03 in the paper's experiments), a number (int), or
        None for no limit. When the budget is spent, all predictions are learned.
    explores
        Whether f2 is used. If not, f = f1.
    device, seed
        A PyTorch device; a random seed, at least 0, or None: different every time.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, x does not have norm 1, or y is not in `classes`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_ineural import paper
    >>> learner = paper.INeurAL((False, True), 100, lr=0.5, budget=0.3, seed=1)
    >>> model = preprocessing.Normalizer() | learner
    >>> stream = datasets.Phishing().take(100)
    >>> _ = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
    >>> learner.n_rounds, learner.n_queries
    (100, 30)
    """

    def __init__(
        self, classes: tuple[ClfTarget, ...], rounds: int, gamma: float = 2.0,
        lr: float | None = None, exploration_lr: float | None = None, hidden_dim: int = 100,
        n_layers: int = 2, batch_size: int = 64, delta: float = 0.1, optimizer: str = "sgd",
        budget: float | int | None = None, explores: bool = True, device: str = "cpu",
        seed: int | None = None,
    ) -> None:  # fmt: skip
        self.classes, self.rounds, self.gamma, self.delta = classes, rounds, gamma, delta
        self.lr, self.exploration_lr, self.optimizer = lr, exploration_lr, optimizer
        self.hidden_dim, self.n_layers, self.batch_size = hidden_dim, n_layers, batch_size
        self.budget, self.explores, self.device, self.seed = budget, explores, device, seed
        check_parameters(self)
        self.classifier: Networks  # it predicts with θ_{t-1}
        networks = Networks(classes, self.hidden_dim, self.n_layers, self.explores)
        super().__init__(networks, self.seed)
        most = Budget(self.budget, self.rounds).total
        self.most = math.inf if most is None else most  # maximum of labels
        self.n_rounds = self.n_queries = self.drawn = 0
        self.history: list[tuple[Tensor, Tensor, Tensor]] = []  # line 2: each x_t with its r_t
        self._seeds = np.random.SeedSequence(self.seed).spawn(4)
        self._subsets, self._draws, self._returns = map(np.random.default_rng, self._seeds[1:])

    def initialize(self, *features: FeatureName) -> None:
        """Line 1, for examples with these features; otherwise the first example does it."""
        self.classifier.initialize(features, int(self._seeds[0].generate_state(1)[0]), self.device)
        self.hat = copy.deepcopy(self.classifier)  # θ̂, which is trained
        self.omega = [[w.clone() for w in self.hat.theta]]  # Ω_0
        lr, make = self.lr or theorem_rate(self.rounds, self.hidden_dim), OPTIMIZERS[self.optimizer]
        self.steps = [make(self.hat.f1.parameters(), lr)]
        if self.explores:
            self.steps += [make(self.hat.f2.parameters(), self.exploration_lr or lr)]

    def beta(self, t: int) -> float:
        """β_t of line 11 with c1 = c2 = c3 = 1."""
        log = math.log(self.rounds * len(self.classes) / self.delta)
        return math.sqrt(2 / t) + 3 * self.n_layers / math.sqrt(2 * t) + math.sqrt(2 * log / t)

    def _ask_for_label(self, x: Any, y_pred: dict[ClfTarget, float]) -> bool:
        top, second = sorted(y_pred.values(), reverse=True)[:2]  # lines 8 and 9
        wanted = abs(top - second) < 2 * self.gamma * self.beta(self.n_rounds)  # line 11
        return wanted and self.n_queries < self.most

    def _round(self, x: X, kwargs: dict[str, Any]) -> Round:
        vector = self._vector(x)
        scores = self.classifier.scores_one(x)  # lines 4 to 7
        self.n_rounds += 1  # line 3
        if self._returns.random() * self.n_rounds < 1:
            self._returned = self.omega[self.drawn]  # line 28 for T = t: each θ has chance 1/t
        label = max(scores, key=scores.__getitem__)  # line 8
        self.n_queries += (ask := self._ask_for_label(x, scores))
        if not ask:
            self._learn(vector, label)  # lines 18 to 26
        return scores, label, ask  # lines 10, 12 and 13

    def learn_one(self, x: X, y: ClfTarget) -> None:  # type: ignore[override]
        """Learn the label that was asked for."""
        if not self.history:
            check_caller()
        if y not in self.classes:
            raise ValueError(f"y={y!r} is none of classes={self.classes}: name all classes there.")
        self._learn(self._vector(x), y)  # lines 14 to 17 and 24 to 26

    def _vector(self, x: X) -> Tensor:
        vector = unit_vector(x, self.classifier.features or x)
        if not self.classifier.features:
            self.initialize(*x)
        return vector.to(self.classifier.e)

    def _learn(self, x: Tensor, label: ClfTarget) -> None:
        now, hat, e = self.classifier, self.hat, self.classifier.e
        r1 = e[self.classes.index(label)]  # lines 15 and 20
        r2 = r1 - now.f1(now.contexts(x, e)).detach()  # lines 16 and 21
        self.history.append((x, r1, r2))  # lines 24 and 25
        contexts, r1 = self._subset(1)  # line 2.2
        self._descend(0, (r1 - hat.f1(contexts)) ** 2 / 2)  # lines 2.1 and 2.3
        if self.explores:
            contexts, r2 = self._subset(2)  # line 2.5
            self._descend(1, (r2 - hat.f2(now.phi(contexts))) ** 2 / 2)  # lines 2.4 and 2.6
        theta = [w.clone() for w in hat.theta]  # line 2.7
        if (len(self.omega) + 1) * sum(w.numel() for w in theta) <= MOST_KEPT:
            self.omega.append(theta)
        elif (slot := int(self._draws.integers(len(self.history) + 1))) < len(self.omega):
            self.omega[slot] = theta  # keeps each iterate with the same probability
        self.drawn = int(self._draws.integers(len(self.omega)))  # line 2.8
        now.take(self.omega[self.drawn])

    def _subset(self, which: int) -> tuple[Tensor, Tensor]:
        """b contexts, drawn uniformly from all contexts so far, with their r1 or r2."""
        n, k = len(self.history) * len(self.classes), len(self.classes)
        drawn = self._subsets.choice(n, min(self.batch_size, n), replace=False)
        rows, e = [self.history[j] for j in drawn // k], self.classifier.e[drawn % k]
        x, r = (torch.stack([row[part] for row in rows]) for part in (0, which))
        return self.classifier.contexts(x, e), (r * e).sum(1)

    def _descend(self, network: int, losses: Tensor) -> None:
        self.steps[network].zero_grad()
        torch.autograd.backward(losses.sum() / self.batch_size)
        self.steps[network].step()

    def returned(self) -> Networks:
        """Line 28: networks with weights drawn uniformly from the θ_0 … θ_{T-1} that predicted."""
        if not self.n_rounds:
            raise ValueError("There is nothing to return before the first round: call predict_one.")
        return copy.deepcopy(self.classifier).take(self._returned)


def check_parameters(model: INeurAL) -> None:
    """Make numbers of Python of the parameters; raise unless they are in their ranges."""
    classes = model.classes
    hashable = isinstance(classes, tuple) and all(isinstance(each, Hashable) for each in classes)
    if not (hashable and len(set(classes)) == len(classes) > 1):
        text = f"classes must be a tuple of at least two different labels, got {classes!r}."
        raise ValueError(text)
    for name, least in {"rounds": 1, "hidden_dim": 1, "n_layers": 2, "batch_size": 1}.items():
        setattr(model, name, check_integer(name, getattr(model, name), least))
    model.gamma = check_real("gamma", model.gamma, least=0)
    model.delta = check_real("delta", model.delta, SMALLEST)
    if model.delta >= 1:
        raise ValueError(f"delta must be below 1, got {model.delta}.")
    for name in ("lr", "exploration_lr"):
        if getattr(model, name) is not None:
            setattr(model, name, check_real(name, getattr(model, name), SMALLEST))
    model.optimizer = check_choice("optimizer", model.optimizer, (*OPTIMIZERS,))
    model.explores = check_choice("explores", model.explores, (True, False))
    model.seed = check_seed(model.seed)
    model.budget = Budget(model.budget, model.rounds).limit
    try:
        torch.ones(1, device=model.device).item()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        text = f"device={model.device!r} is not there: name one that this torch sees, as 'cpu'."
        raise ValueError(text) from error


def theorem_rate(rounds: int, hidden_dim: int = 100, kappa_nu: float = 1.0) -> float:
    """The learning rate of the theorems, η1 = η2 = κν / (√T m); "Regret Analysis" of the paper.

    Parameters
    ----------
    rounds, hidden_dim
        T and m, at least 1.
    kappa_nu
        The constant κν, above 0, which the theorems do not specify.

    Examples
    --------
    >>> theorem_rate(10_000)
    0.0001
    """
    rounds = check_integer("rounds", rounds, least=1)
    hidden_dim = check_integer("hidden_dim", hidden_dim, least=1)
    return check_real("kappa_nu", kappa_nu, SMALLEST) / (math.sqrt(rounds) * hidden_dim)


def unit_vector(x: X, features: Iterable[FeatureName]) -> Tensor:
    """The values (d,) of an example of norm 1, in the order of `features`; 0 if absent.

    Raises if x has another feature, a value that is not a number, or another norm.
    """
    if not isinstance(x, Mapping):
        raise TypeError(f"x must be a dict of features, got {type(x).__name__}.")
    known = dict.fromkeys(features)
    if not known.keys() >= x.keys():
        new = next(name for name in x if name not in known)
        raise ValueError(
            f"x has the feature {new!r}, which the first example had not, and the paper has one d: "
            "give all features in the first example, as 0 where they are absent."
        )
    try:
        vector = torch.tensor([x.get(name, 0.0) for name in known], dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"x must hold numbers only, got {dict(x)!r}: encode the others.") from error
    norm = vector.norm().item()
    if not 1 - ROUNDING <= norm <= 1 + ROUNDING:  # fails for NaN as well
        advice = "put river.preprocessing.Normalizer() in front."
        raise ValueError(f"x has norm {norm:.6g}, but the paper assumes 1: {advice}")
    return vector
