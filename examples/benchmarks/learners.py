"""The learners that the benchmarks compare, by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import of_activeml
import of_moa
from numpy.typing import NDArray
from river import compose, forest, neighbors, preprocessing, tree
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
from river_ineural.active.decision import Wanted
from river_ineural.baselines import ALPS, NeuALNTKD, NeuALNTKF, RetrainedNetwork
from river_ineural.compare.contenders import at_random, regression
from river_ineural.compare.refitted import Refitted

Run = BudgetedSampler | compose.Pipeline
Make = Callable[..., Run]  # arguments: budget, horizon, seed
FIXED = 0.5  # margin below which River's and MOA's learners ask


def ineural(kind: type[INeurAL | NeurONAL] = INeurAL, **settings: Any) -> Make:
    """I-NeurAL with some settings of the classifier."""
    return lambda seed, **limits: INeurALSampler(kind(seed=seed, **settings), seed=seed, **limits)


def wide(gamma: float, theoretical: bool = False) -> Make:
    """I-NeurAL with the given γ, and with the constant or the theoretical width."""

    def make(horizon: int, seed: int, **limits: Any) -> BudgetedSampler:
        width = TheoreticalWidth(horizon=horizon) if theoretical else None
        own: dict[str, Any] = {"gamma": gamma, "width": width, "horizon": horizon, "seed": seed}
        return INeurALSampler(INeurAL(seed=seed), **own, **limits)

    return make


def printed(horizon: int, **limits: Any) -> compose.Pipeline:
    """`paper.INeurAL` on two classes, with x scaled to norm 1, as in the paper's experiments."""
    learner = paper.INeurAL((0, 1), horizon, optimizer="adam", lr=1e-3, gamma=6.0, **limits)
    return compose.Pipeline(preprocessing.Normalizer(), learner)  # type: ignore[no-untyped-call]


def random(budget: float, seed: int, **limits: Any) -> BudgetedSampler:
    """Random asks with a probability that spends the budget: 0.1 at 3 %, as the released code."""
    p = max(0.1, min(1.0, 1.1 * budget))
    return RandomSampler(RetrainedNetwork(seed=seed), p=p, budget=budget, seed=seed, **limits)


def margin(threshold: float, seed: int, **limits: Any) -> BudgetedSampler:
    """Margin asks if the margin is below a threshold."""
    return MarginSampler(RetrainedNetwork(seed=seed), threshold=threshold, seed=seed, **limits)


def alps(budget: float, horizon: int, **settings: Any) -> BudgetedSampler:
    """ALPS uses half of its budget for pre-training, so that all labels count."""
    n = max(2, int(budget * horizon / 2))
    return ALPS(n_pretraining=n, budget=budget, horizon=horizon, **settings)


def neighbours(budget: float, horizon: int | None, seed: int) -> BudgetedSampler:
    """Classify by the three nearest labelled examples, and ask at random."""
    model: Any = preprocessing.StandardScaler() | neighbors.KNNClassifier(n_neighbors=3)
    return at_random(model, budget=Budget(budget, horizon), seed=seed)


def behind(sampler: Any) -> tuple[bool, float]:
    """Whether to ask at random, and how probable that was: if fewer labels were asked for than at
    an even pace, labels left / rounds left. So the whole budget is spent in the end.
    """
    total, n = sampler.budget.total, sampler.budget.horizon
    left, to_come = total - sampler.n_queries, n - sampler.n_rounds + 1
    if left * n <= total * to_come:
        return False, 0.0
    return bool(sampler._rng.random() * to_come < left), min(1.0, left / to_come)


class MarginAndRest(MarginSampler):
    """Asks below a fixed margin, and spends labels that would stay unused on random rows."""

    def _wanted(self, x: Any, y_pred: dict[Any, float]) -> Wanted:
        wanted = super()._wanted(x, y_pred)
        if wanted[0] != "none":
            return wanted
        asks, p = behind(self)
        return "random" if asks else "none", wanted[1], wanted[2], p


class EntropyAndRest(MarginAndRest):
    """Asks where the entropy of the probabilities is high, and spends other labels at random."""

    def _wanted(self, x: Any, y_pred: dict[Any, float]) -> Wanted:
        if len(y_pred) < 2:
            return super()._wanted(x, y_pred)
        p = np.array([*y_pred.values()])
        certainty = 1 + float((p * np.log(p)).sum() / np.log(len(p)))
        return super()._wanted(x, {"sure": certainty, "unsure": 0.0})


# The grids are those of the paper's "Further Details in Experiments".
SLACKS = (0.1, 0.25, 0.5, 0.75, 0.9)
RETRAINED: dict[str, Make] = {
    "Random": random,
    **{f"Margin {each}": partial(margin, each) for each in (0.3, 0.5, 0.7, 0.9, 0.95)},
}
BASELINES: dict[str, Make] = {
    **RETRAINED,
    **{f"NeuAL-NTK-F {g}": partial(NeuALNTKF, gamma=g) for g in (0.1, 0.3, 0.5, 0.8, 1.0)},
    **{f"NeuAL-NTK-D {g}": partial(NeuALNTKD, gamma=g) for g in (0.1, 0.3, 0.5, 0.8, 1.0)},
    **{f"ALPS {a}, {b}": partial(alps, slack=a, requester_slack=b) for a in SLACKS for b in SLACKS},
}
# The setting of each method that is best at 3 % on most streams (`results/baselines.csv`).
SETTLED = ("Random", "Margin 0.95", "NeuAL-NTK-F 0.8", "NeuAL-NTK-D 0.1", "ALPS 0.5, 0.5")
SENSITIVITY: dict[str, Make] = {
    **{f"constant width, γ = {gamma}": wide(gamma) for gamma in paper.GAMMAS},
    **{f"theoretical width, γ = {gamma}": wide(gamma, theoretical=True) for gamma in paper.GAMMAS},
}
CERTAINTY = 0.19  # of the probabilities 3/4 and 1/4, whose margin is FIXED
OWN, OUTPUTS, BEST, MOAS = "I-NeurAL", "NeurONAL", "River's best learner", "MOA's best learner"
ACTIVEMLS = "random forest, refitted, scikit-activeml asks"
NEIGHBOURS, WITHOUT = "nearest neighbours", "without the last label"
WITHOUT_PLANES = "without the discriminant"
PARTS: dict[str, Make] = {
    "f1 and forest": ineural(explorers=("forest",)),
    "f1 and f2": ineural(explorers=("network",)),
    "f1 alone": ineural(explorers=()),
}
LEARNERS: dict[str, Make] = {
    OWN: ineural(),
    OUTPUTS: ineural(NeurONAL),
    **BASELINES,
    **SENSITIVITY,
    **PARTS,
    NEIGHBOURS: neighbours,
    WITHOUT: ineural(explorers=("network", "forest", "discriminant")),
    WITHOUT_PLANES: ineural(explorers=("network", "forest", "last_label")),
    "the print": printed,
    "the print, no f2": partial(printed, explores=False),
}


OF_RIVER: dict[str, Callable[[int, int], Any]] = {  # arguments: number of classes, seed
    "logistic regression": lambda k, seed: preprocessing.StandardScaler() | regression(k, seed),
    "Hoeffding adaptive tree": lambda k, seed: tree.HoeffdingAdaptiveTreeClassifier(seed=seed),
    "adaptive random forest": lambda k, seed: forest.ARFClassifier(seed=seed),
}
OF_MOA: dict[str, Callable[[int, int], Any]] = {
    "MOA's adaptive random forest": partial(of_moa.Moa, "AdaptiveRandomForestClassifier"),
    "MOA's streaming random patches": partial(of_moa.Moa, "StreamingRandomPatches"),
    "MOA's SAM-kNN": partial(of_moa.Moa, "SAMkNN"),
}
CLASSIFIERS = OF_RIVER | OF_MOA | {OWN: lambda k, seed: INeurAL(seed=seed)}
REST = "by margin, the rest at random"  # so that all learners ask for as many labels
Asks = Callable[..., BudgetedSampler]
BY_MARGIN = partial(MarginSampler, threshold=FIXED)
AND_REST = partial(MarginAndRest, threshold=FIXED)
WAYS: dict[str, Asks] = {"at random": at_random, "by margin": BY_MARGIN, REST: AND_REST}
VARIABLE: dict[str, Asks] = {"by variable uncertainty": of_moa.VariableUncertainty}
RIVER = {f"{name}, {how}": (name, ask) for name in OF_RIVER for how, ask in WAYS.items()}
MOA = {f"{name}, {how}": (name, ask) for name in OF_MOA for how, ask in (WAYS | VARIABLE).items()}
STREAMING = RIVER | (MOA if of_moa.THERE else {})  # learners of other libraries that can run here
QUERIES: dict[str, tuple[str, Asks]] = {  # of the classifier of I-NeurAL
    "no pseudo-labels": (OWN, partial(INeurALSampler, self_training=False)),
    "by margin": (OWN, AND_REST),
    "by entropy": (OWN, partial(EntropyAndRest, threshold=CERTAINTY)),
    "at random": (OWN, at_random),
}
ASKING = RIVER | MOA | QUERIES


def method_of(name: str) -> tuple[str, str]:
    """The method of a learner and its setting ("": none); River's learners are one method."""
    if name in RIVER:
        return BEST, name
    if name in MOA:
        return MOAS, name.removeprefix("MOA's ")
    if name in ACTIVEML:
        return ACTIVEMLS, ACTIVEML[name]
    method, _, setting = name.partition(" ") if name in BASELINES else (name, "", "")
    return method, setting


def new(name: str, budget: float, horizon: int | None, seed: int, n_classes: int) -> Run:
    """A new learner by name. It knows the length of the stream unless the horizon is None."""
    if name in ASKING:
        classifier, ask = ASKING[name]
        model = CLASSIFIERS[classifier](n_classes, seed)
        return ask(model, budget=Budget(budget, horizon), seed=seed)
    return LEARNERS[name](budget=budget, horizon=horizon, seed=seed)


class WithoutRandomAsks(INeurALSampler):
    """Asks as I-NeurAL does, below a gap that shrinks with the budget left, but never at random."""

    _reserves = False

    def _asks_at_random(self, margin: float, share: float, only: bool) -> tuple[bool, float]:
        return False, 0.0


REFITTED: dict[str, Callable[[int], Any]] = {  # argument: seed; scikit-learn's defaults
    "random forest, refitted": lambda seed: RandomForestClassifier(random_state=seed),
    "gradient boosting, refitted": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "logistic regression, refitted": lambda seed: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=1_000)
    ),
}


ACTIVEML = {  # strategies of scikit-activeml around the forest
    f"{ACTIVEMLS} by {words}": strategy
    for words, strategy in (
        ("split", "Split"),
        ("variable uncertainty", "VariableUncertainty"),
    )
}


def refitted(name: str, rows: NDArray[Any], share: float, seed: int) -> Any:
    """A classifier refitted as by hand, which asks for a share of the rows.

    It asks as I-NeurAL does, or by a strategy of scikit-activeml.
    """
    strategy = ACTIVEML.get(name)
    kind = "random forest, refitted" if strategy else name
    learner = Refitted(partial(REFITTED[kind], seed), rows)
    if strategy:
        return of_activeml.Queried(strategy, learner, share, seed)
    budget = Budget(share, len(rows))
    return WithoutRandomAsks(learner, budget=budget, self_training=False, seed=seed)
