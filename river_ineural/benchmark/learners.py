"""The learners that the experiments compare, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from river import base, compose, preprocessing
from river.base.typing import ClfTarget, FeatureName

from river_ineural import paper
from river_ineural.active import BudgetedSampler, INeurALSampler, MarginSampler, RandomSampler
from river_ineural.active.width import TheoreticalWidth
from river_ineural.baselines import ALPS, NeuALNTKD, NeuALNTKF, RetrainedNetwork
from river_ineural.classifier import INeurAL
from river_ineural.compare.refitted import logistic_regression
from river_ineural.learning.average import EVERY
from river_ineural.neuronal import NeurONAL

__all__ = [
    *("ABLATIONS", "BASELINES", "LEARNERS", "LOGISTIC", "PRINT", "PRINT_TUNING", "RETRAINED"),
    *("SENSITIVITY", "SETTLED", "OfUnitNorm", "Run"),
]

Limits = dict[str, Any]  # budget, horizon, seed


class OfUnitNorm:
    """`paper.INeurAL` with River's `Normalizer` in front, as a run uses a learner.

    Parameters
    ----------
    learner
        Is given examples of norm 1.
    """

    def __init__(self, learner: paper.INeurAL) -> None:
        self.learner = learner
        self.pipeline = self.behind(learner)
        self.budget, self.horizon, self.seed = learner.budget, learner.rounds, learner.seed

    @staticmethod
    def behind(last: Any) -> compose.Pipeline:
        """The normaliser with something behind it."""
        normalizer = preprocessing.Normalizer()  # type: ignore[no-untyped-call]
        return compose.Pipeline(normalizer, last)

    @property
    def n_queries(self) -> int:
        """Labels asked for so far."""
        return self.learner.n_queries

    @property
    def classifier(self) -> compose.Pipeline:
        """What predicts without a round."""
        return self.behind(self.learner.classifier)

    def predict_one(self, x: dict[FeatureName, Any]) -> tuple[ClfTarget, bool]:
        """A round."""
        label, ask = self.pipeline.predict_one(x)
        return label, ask

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget) -> None:
        """Learn a label that was asked for."""
        self.pipeline.learn_one(x, y)


Run = BudgetedSampler | OfUnitNorm
Make = Callable[[Limits], Run]


class LastIterate(INeurAL):
    """Predicts by the weights of the latest eighth step, not by an average."""

    _recipe = INeurAL._recipe._replace(span=EVERY)


class OfRandomLabels(base.Classifier):
    """Logistic regression of scikit-learn, fitted anew to all its labels.

    It is fitted when they have grown by 5 %, or when some are new and 50 predictions brought none.
    """

    def __init__(self) -> None:
        self.xs: list[list[float]] = []
        self.ys: list[ClfTarget] = []
        self.model: Any = None
        self.fitted = self.since = 0  # labels at the last fit, predictions since the last label

    def learn_one(self, x: dict[FeatureName, Any], y: ClfTarget) -> None:
        """Store a label."""
        self.xs.append([*x.values()])
        self.ys.append(y)
        self.since = 0

    def predict_proba_one(self, x: dict[FeatureName, Any], **kwargs: Any) -> dict[ClfTarget, float]:
        """By the last fit."""
        self.since += 1
        n = len(self.ys)
        if (n >= 1.05 * self.fitted or self.since > 50) and n > self.fitted and len({*self.ys}) > 1:
            self.model = logistic_regression(0).fit(np.array(self.xs), self.ys)
            self.fitted = n
        if self.model is None:
            return dict.fromkeys(self.ys, 1.0)
        (found,) = self.model.predict_proba([[*x.values()]])
        return dict(zip(self.model.classes_.tolist(), found.tolist(), strict=True))


def ineural(kind: type[INeurAL] = INeurAL, **settings: Any) -> Make:
    """I-NeurAL with some settings of the classifier."""
    return lambda limits: INeurALSampler(kind(seed=limits["seed"], **settings), **limits)


def sampling(theoretical: bool = False, **settings: Any) -> Make:
    """I-NeurAL with some settings of the sampler."""

    def make(limits: Limits) -> BudgetedSampler:
        width = TheoreticalWidth(horizon=limits["horizon"]) if theoretical else None
        return INeurALSampler(INeurAL(seed=limits["seed"]), width=width, **settings, **limits)

    return make


def printed(**settings: Any) -> Make:
    """The print on two classes, as the paper's experiments run it unless told otherwise."""

    def make(limits: Limits) -> OfUnitNorm:
        chosen = {"optimizer": "adam", "lr": 1e-3, "gamma": 6.0, **settings}
        learner = paper.INeurAL(
            (0, 1), limits["horizon"], budget=limits["budget"], seed=limits["seed"], **chosen
        )
        return OfUnitNorm(learner)

    return make


def random(limits: Limits) -> BudgetedSampler:
    """Asks with a probability that spends the budget: 0.1 at 3 %, as the released code."""
    p = max(0.1, min(1.0, 1.1 * limits["budget"]))
    return RandomSampler(RetrainedNetwork(seed=limits["seed"]), p=p, **limits)


def logistic(limits: Limits) -> BudgetedSampler:
    """Asks at random, so that the budget is spent."""
    return RandomSampler(OfRandomLabels(), p=min(1.0, 1.1 * limits["budget"]), **limits)


def margin(threshold: float) -> Make:
    """Asks below a margin."""
    return lambda limits: MarginSampler(
        RetrainedNetwork(seed=limits["seed"]), threshold=threshold, **limits
    )


def ntk(kind: type[NeuALNTKF] | type[NeuALNTKD], gamma: float) -> Make:
    """NTK baseline with a γ."""
    return lambda limits: kind(gamma=gamma, **limits)


def alps(slack: float, requester_slack: float) -> Make:
    """Half of its budget is for pre-training, so that all labels count."""

    def make(limits: Limits) -> BudgetedSampler:
        n = max(2, int(limits["budget"] * limits["horizon"] / 2))
        return ALPS(n_pretraining=n, slack=slack, requester_slack=requester_slack, **limits)

    return make


# The grids are those of the paper's "Further Details in Experiments".
RETRAINED: dict[str, Make] = {
    "Random": random,
    **{f"Margin {threshold}": margin(threshold) for threshold in (0.3, 0.5, 0.7, 0.9, 0.95)},
}
BASELINES = RETRAINED | {
    f"{name} {gamma}": ntk(kind, gamma)
    for name, kind in (("NeuAL-NTK-F", NeuALNTKF), ("NeuAL-NTK-D", NeuALNTKD))
    for gamma in (0.1, 0.3, 0.5, 0.8, 1.0)
}
SLACKS = (0.1, 0.25, 0.5, 0.75, 0.9)
BASELINES |= {f"ALPS {a}, {b}": alps(a, b) for a in SLACKS for b in SLACKS}
# Of each the setting that is best at 3 % on most streams (`results/baselines.csv`).
SETTLED = ("Random", "Margin 0.95", "NeuAL-NTK-F 0.8", "NeuAL-NTK-D 0.1", "ALPS 0.5, 0.5")
SENSITIVITY: dict[str, Make] = {
    **{f"constant width, γ = {gamma}": sampling(gamma=gamma) for gamma in paper.GAMMAS},
    **{f"theoretical width, γ = {gamma}": sampling(True, gamma=gamma) for gamma in paper.GAMMAS},
}
ABLATIONS: dict[str, Make] = {
    "f1 and f2": ineural(explorers=("network",)),
    "f1 and forest": ineural(explorers=("forest",)),
    "f1 alone": ineural(explorers=()),
    "no pseudo-labels": sampling(self_training=False),
    "no drift detector": ineural(drift_detector=None),
    "last iterate": ineural(LastIterate),
}
LOGISTIC = "logistic regression, random labels"
PRINT: dict[str, Make] = {"the print": printed(), "the print, no f2": printed(explores=False)}
PRINT_TUNING: dict[str, Make] = {
    f"the print, {optimizer}, lr={lr:g}, γ={gamma:g}": printed(
        optimizer=optimizer, lr=lr, gamma=gamma
    )
    for optimizer, rates in {"adam": (1e-3, 1e-2), "sgd": (0.1, 0.5)}.items()
    for lr in rates
    for gamma in (2.0, 6.0)
}
LEARNERS: dict[str, Make] = {
    "I-NeurAL": ineural(),
    "NeurONAL": ineural(NeurONAL),
    "NeurONAL, f1 and forest": ineural(NeurONAL, explorers=("forest",)),
    LOGISTIC: logistic,
    **BASELINES,
    **SENSITIVITY,
    **ABLATIONS,
    **PRINT,
    **PRINT_TUNING,
}
