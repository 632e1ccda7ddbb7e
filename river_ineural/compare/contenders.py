"""What is compared: our learners, River's, and those of scikit-learn that are fitted again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from river import base, compose, preprocessing, stats
from river.base.typing import FeatureName
from sklearn.compose import ColumnTransformer  # type: ignore[import-untyped]
from sklearn.impute import SimpleImputer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # type: ignore[import-untyped]

from river_ineural.active import Budget, BudgetedSampler, INeurALSampler
from river_ineural.classifier import INeurAL
from river_ineural.compare.reading import Table
from river_ineural.compare.refitted import REFITTED, Refitted, WithRest, numbered
from river_ineural.compare.streaming import (
    MarginAndRest,
    adaptive_forest,
    at_random,
    hoeffding,
    regression,
)
from river_ineural.neuronal import NeurONAL

__all__ = ["CONTENDERS", "DEFAULT", "Contender"]

X = dict[FeatureName, Any]
Sampler = Callable[[Table, Budget, int], BudgetedSampler]
MISSING = "missing"  # the text of a category that is
MOST_CATEGORIES = 250  # of a column, for scikit-learn; the rarest share one


@dataclass(frozen=True)
class Contender:
    """A learner that asks for labels."""

    name: str  # as people read it
    line: str  # color and style of its line in a figure, as matplotlib has them
    sampler: Sampler
    examples: Callable[[Table], Iterator[X]] = Table.examples  # the rows as it gets them


def of_ours(kind: type[INeurAL]) -> Sampler:
    """I-NeurAL's decision around one of ours, which encodes categories and gaps itself."""

    def make(table: Table, budget: Budget, seed: int) -> BudgetedSampler:
        gaps = bool(table.features.isna().any(axis=None))
        learner = kind(categories=bool(table.categories), missing=gaps, seed=seed)
        return INeurALSampler(learner, budget=budget, seed=seed)

    return make


def filled(table: Table) -> Any:
    """Gaps take the mean of a number so far; of a category they are one of their own."""
    numbers = [(name, stats.Mean()) for name in table.numbers]
    categories = [(name, MISSING) for name in table.categories]
    return preprocessing.StatImputer(*numbers, *categories)  # type: ignore[no-untyped-call]


def encoded(table: Table) -> Any:
    """Numbers in units of their standard deviation, categories one by one."""
    parts = []
    if table.numbers:
        parts.append(compose.Select(*table.numbers) | preprocessing.StandardScaler())
    if table.categories:
        one_hot = preprocessing.OneHotEncoder(drop_zeros=True)
        parts.append(compose.Select(*table.categories) | one_hot)
    return filled(table) | (parts[0] + parts[1] if len(parts) > 1 else parts[0])


def of_river(
    key: str,
    name: str,
    color: str,
    classifier: Callable[[int, int], base.Classifier],
    transformer: Callable[[Table], Any] = filled,
) -> dict[str, Contender]:
    """A learner of River's, of k classes and a seed, that asks by margin, and at random.

    Its transformer learns from each row, asked for or not.
    """

    def examples(table: Table) -> Iterator[X]:
        steps = transformer(table)
        for x in table.examples():
            steps.learn_one(x)
            yield steps.transform_one(x)

    def contender(how: str, style: str, ask: Callable[..., BudgetedSampler]) -> Contender:
        def make(table: Table, budget: Budget, seed: int) -> BudgetedSampler:
            return ask(classifier(len(table.shares), seed), budget=budget, seed=seed)

        return Contender(f"River: {name}, {how}", color + style, make, examples)

    return {
        f"river-{key}": contender("margin", "-", MarginAndRest),
        f"river-{key}-random": contender("random", "--", at_random),
    }


def of_scikit_learn(
    name: str, color: str, classifier: Callable[[int], Any], numbers: Any = "passthrough"
) -> Contender:
    """A classifier, fitted again as its labels grow, that asks as I-NeurAL does.

    A category is a column; one that the labels so far have not shown is none of them.
    """

    def make(table: Table, seed: int) -> Any:
        one_hot = OneHotEncoder(handle_unknown="ignore", max_categories=MOST_CATEGORIES)
        kinds = [("numbers", numbers, table.numbers), ("text", one_hot, list(table.categories))]
        return make_pipeline(ColumnTransformer(kinds, sparse_threshold=0), classifier(seed))

    def sampler(table: Table, budget: Budget, seed: int) -> BudgetedSampler:
        learner = Refitted(lambda: make(table, seed), table.features)
        return WithRest(learner, budget=budget, self_training=False, seed=seed)

    return Contender(
        f"scikit-learn: {name}", f"{color}-", sampler, lambda table: numbered(len(table))
    )


# Gaps of numbers at the median, and flagged; in units of their standard deviation.
MEDIAN = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
SCALED = make_pipeline(MEDIAN, StandardScaler())
CONTENDERS = {
    "ineural": Contender("I-NeurAL", "C0-", of_ours(INeurAL)),
    "neuronal": Contender("NeurONAL", "C9-", of_ours(NeurONAL)),
    **of_river("logistic", "logistic regression", "C1", lambda k, seed: regression(k), encoded),
    **of_river("forest", "adaptive forest", "C4", adaptive_forest),
    **of_river("tree", "Hoeffding tree", "C5", hoeffding),
    "sklearn-forest": of_scikit_learn("random forest", "C2", REFITTED["random forest, refitted"]),
    "sklearn-boosting": of_scikit_learn(
        "gradient boosting", "C8", REFITTED["gradient boosting, refitted"]
    ),
    "sklearn-logistic": of_scikit_learn(
        *("logistic regression", "C3", lambda seed: LogisticRegression(max_iter=1_000), SCALED)
    ),
}
DEFAULT = (
    *("ineural", "river-logistic", "river-forest", "river-forest-random"),
    *("sklearn-forest", "sklearn-logistic"),
)
