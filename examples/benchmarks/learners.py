"""The learners that the benchmarks compare, by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy.typing import NDArray
from river import base, compose, forest, preprocessing, tree
from sklearn.ensemble import (  # type: ignore[import-untyped]
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

from river_ineural import INeurAL, NeurONAL, paper
from river_ineural.active import (
    Budget,
    BudgetedSampler,
    INeurALSampler,
    MarginSampler,
    RandomSampler,
    TheoreticalWidth,
)
from river_ineural.baselines import ALPS, NeuALNTKD, NeuALNTKF, RetrainedNetwork
from river_ineural.compare.contenders import MarginAndRest, at_random, regression
from river_ineural.compare.refitted import Refitted

Limits = dict[str, Any]  # budget, horizon, seed
Run = BudgetedSampler | compose.Pipeline
Make = Callable[[Limits], Run]


def ineural(kind: type[INeurAL] = INeurAL, **settings: Any) -> Make:
    """I-NeurAL with some settings of the classifier."""
    return lambda limits: INeurALSampler(kind(seed=limits["seed"], **settings), **limits)


def sampling(**settings: Any) -> Make:
    """I-NeurAL with some settings of the sampler."""
    return lambda limits: INeurALSampler(INeurAL(seed=limits["seed"]), **settings, **limits)


def theoretical(gamma: float) -> Make:
    """I-NeurAL with the width of the analysis."""
    return lambda own: sampling(width=TheoreticalWidth(horizon=own["horizon"]), gamma=gamma)(own)


def printed(**settings: Any) -> Make:
    """The print on two classes, of examples with norm 1, as the paper's experiments run it."""

    def make(limits: Limits) -> compose.Pipeline:
        chosen = {"optimizer": "adam", "lr": 1e-3, "gamma": 6.0, **settings}
        horizon, budget, seed = limits["horizon"], limits["budget"], limits["seed"]
        learner = paper.INeurAL((0, 1), horizon, budget=budget, seed=seed, **chosen)
        return compose.Pipeline(preprocessing.Normalizer(), learner)  # type: ignore[no-untyped-call]

    return make


def random(limits: Limits) -> BudgetedSampler:
    """It asks with a probability that spends the budget: 0.1 at 3 %, as the released code."""
    p = max(0.1, min(1.0, 1.1 * limits["budget"]))
    return RandomSampler(RetrainedNetwork(seed=limits["seed"]), p=p, **limits)


def margin(threshold: float) -> Make:
    """It asks below a margin."""
    return lambda limits: MarginSampler(
        RetrainedNetwork(seed=limits["seed"]), threshold=threshold, **limits
    )


def ntk(kind: type[NeuALNTKF] | type[NeuALNTKD], gamma: float) -> Make:
    """An NTK baseline with a γ."""
    return lambda limits: kind(gamma=gamma, **limits)


def alps(slack: float, requester_slack: float) -> Make:
    """Half of its budget is for pre-training, so that all labels count."""

    def make(limits: Limits) -> BudgetedSampler:
        n = max(2, int(limits["budget"] * limits["horizon"] / 2))
        return ALPS(n_pretraining=n, slack=slack, requester_slack=requester_slack, **limits)

    return make


# The grids are those of the paper's "Further Details in Experiments".
SLACKS = (0.1, 0.25, 0.5, 0.75, 0.9)
RETRAINED: dict[str, Make] = {
    "Random": random,
    **{f"Margin {threshold}": margin(threshold) for threshold in (0.3, 0.5, 0.7, 0.9, 0.95)},
}
BASELINES: dict[str, Make] = {
    **RETRAINED,
    **{f"NeuAL-NTK-F {gamma}": ntk(NeuALNTKF, gamma) for gamma in (0.1, 0.3, 0.5, 0.8, 1.0)},
    **{f"NeuAL-NTK-D {gamma}": ntk(NeuALNTKD, gamma) for gamma in (0.1, 0.3, 0.5, 0.8, 1.0)},
    **{f"ALPS {a}, {b}": alps(a, b) for a in SLACKS for b in SLACKS},
}
# Of each the setting that is best at 3 % on most streams (`results/baselines.csv`).
SETTLED = ("Random", "Margin 0.95", "NeuAL-NTK-F 0.8", "NeuAL-NTK-D 0.1", "ALPS 0.5, 0.5")
SENSITIVITY: dict[str, Make] = {
    **{f"constant width, γ = {gamma}": sampling(gamma=gamma) for gamma in paper.GAMMAS},
    **{f"theoretical width, γ = {gamma}": theoretical(gamma) for gamma in paper.GAMMAS},
}
OWN, OUTPUTS = "I-NeurAL", "NeurONAL"
PARTS: dict[str, Make] = {
    "f1 and forest": ineural(explorers=("forest",)),
    "f1 and f2": ineural(explorers=("network",)),
    "f1 alone": ineural(explorers=()),
}
LEARNERS: dict[str, Make] = {
    OWN: ineural(),
    OUTPUTS: ineural(NeurONAL),
    "NeurONAL, f1 and forest": ineural(NeurONAL, explorers=("forest",)),
    **BASELINES,
    **SENSITIVITY,
    **PARTS,
    "no pseudo-labels": sampling(self_training=False),
    "no drift detector": ineural(drift_detector=None),
    "the print": printed(),
    "the print, no f2": printed(explores=False),
    **{
        f"the print, {optimizer}, lr={lr:g}, γ={gamma:g}": printed(
            optimizer=optimizer, lr=lr, gamma=gamma
        )
        for optimizer, lr in (("adam", 1e-3), ("adam", 1e-2), ("sgd", 0.1), ("sgd", 0.5))
        for gamma in (2.0, 6.0)
    },
}


def linear(k: int, seed: int) -> Any:
    """Logistic regression of features in units of their standard deviation."""
    return preprocessing.StandardScaler() | regression(k, seed)


def adaptive_forest(k: int, seed: int) -> base.Classifier:
    """Trees that are replaced where a detector finds a change."""
    return forest.ARFClassifier(seed=seed)


def hoeffding(k: int, seed: int) -> base.Classifier:
    """A tree that replaces branches which have become wrong."""
    return tree.HoeffdingAdaptiveTreeClassifier(seed=seed)


REST = "by margin, the rest at random"  # so that it asks for as many labels as the others
RIVER: dict[str, tuple[Callable[[int, int], Any], Callable[..., BudgetedSampler]]] = {
    f"{name}, {how}": (classifier, ask)
    for name, classifier in (
        ("logistic regression", linear),
        ("Hoeffding adaptive tree", hoeffding),
        ("adaptive random forest", adaptive_forest),
    )
    for how, ask in (("at random", at_random), ("by margin", MarginSampler), (REST, MarginAndRest))
}


def new(name: str, budget: float, horizon: int | None, seed: int, n_classes: int) -> Run:
    """The learner of a name, which is told how long the stream is unless the horizon is None."""
    if name in RIVER:
        classifier, ask = RIVER[name]
        return ask(classifier(n_classes, seed), budget=Budget(budget, horizon), seed=seed)
    return LEARNERS[name]({"budget": budget, "horizon": horizon, "seed": seed})


class WithoutAudits(INeurALSampler):
    """Asks as I-NeurAL does, below a gap that shrinks with the budget left, and never at random."""

    def _audits(self, margin: float) -> bool:
        return False


REFITTED: dict[str, Callable[[int], Any]] = {  # of a seed; scikit-learn's defaults
    "random forest, refitted": lambda seed: RandomForestClassifier(random_state=seed),
    "gradient boosting, refitted": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "logistic regression, refitted": lambda seed: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1_000)
    ),
}


def refitted(name: str, rows: NDArray[Any], share: float, seed: int) -> INeurALSampler:
    """What somebody would do by hand, that asks as I-NeurAL does for a share of the rows."""
    learner = Refitted(partial(REFITTED[name], seed), rows)
    budget = Budget(share, len(rows))
    return WithoutAudits(learner, budget=budget, self_training=False, seed=seed)
