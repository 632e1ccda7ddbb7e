"""What is compared: our learners, River's, and those of scikit-learn that are fitted again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from river import base, compose, preprocessing, stats
from river.base.typing import FeatureName

from river_ineural.active import Budget, BudgetedSampler, INeurALSampler
from river_ineural.classifier import INeurAL
from river_ineural.compare.reading import Table
from river_ineural.compare.refitted import Refitted, around, numbered
from river_ineural.compare.streaming import (
    adaptive_forest,
    at_random,
    by_margin,
    hoeffding,
    regression,
)
from river_ineural.neuronal import NeurONAL

__all__ = ["CONTENDERS", "DEFAULT", "Contender"]

X = dict[FeatureName, Any]
MISSING = "missing"  # the text of a category that is
MOST_CATEGORIES = 250  # of a column, for scikit-learn; the rarest share one


@dataclass(frozen=True)
class Contender:
    """A learner that asks for labels.

    Parameters
    ----------
    name
        As people read it.
    line
        Color and style of its line in a figure, as matplotlib has them.
    sampler
        Makes it, for a table, with a budget and a seed.
    examples
        The rows as it gets them.
    """

    name: str
    line: str
    sampler: Callable[[Table, Budget, int], BudgetedSampler]
    examples: Callable[[Table], Iterator[X]] = Table.examples


def of_ours(kind: type[INeurAL]) -> Callable[[Table, Budget, int], BudgetedSampler]:
    """I-NeurAL's decision around one of ours, which encodes categories and gaps itself."""

    def make(table: Table, budget: Budget, seed: int) -> BudgetedSampler:
        learner = kind(categories=bool(table.categories), missing=table.gaps, seed=seed)
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


def prepared(transformer: Callable[[Table], Any]) -> Callable[[Table], Iterator[X]]:
    """Rows after a transformer of River's that learns from each of them, asked for or not."""

    def examples(table: Table) -> Iterator[X]:
        steps = transformer(table)
        for x in table.examples():
            steps.learn_one(x)
            yield steps.transform_one(x)

    return examples


def of_river(
    key: str,
    name: str,
    color: str,
    classifier: Callable[[int, int], base.Classifier],
    transformer: Callable[[Table], Any] = filled,
) -> dict[str, Contender]:
    """A learner of River's, of k classes and a seed, that asks by margin, and at random.

    One that has become sure, as a tree of few labels, leaves most of its budget by margin.
    """

    def contender(how: str, style: str, ask: Callable[..., BudgetedSampler]) -> Contender:
        def make(table: Table, budget: Budget, seed: int) -> BudgetedSampler:
            return ask(classifier(len(table.classes), seed), budget, seed)

        return Contender(f"River: {name}, {how}", color + style, make, prepared(transformer))

    return {
        f"river-{key}": contender("margin", "-", by_margin),
        f"river-{key}-random": contender("random", "--", at_random),
    }


def of_scikit_learn(name: str, color: str, make: Callable[[Table, int], Any]) -> Contender:
    """A classifier of scikit-learn, fitted again as its labels grow, that asks as I-NeurAL does."""

    def sampler(table: Table, budget: Budget, seed: int) -> BudgetedSampler:
        return around(Refitted(lambda: make(table, seed), table.features), budget, seed)

    return Contender(
        f"scikit-learn: {name}", f"{color}-", sampler, lambda table: numbered(len(table))
    )


def columns(table: Table, numbers: Any, categories: Any) -> Any:
    """Each kind of columns by a transformer of its own."""
    from sklearn.compose import ColumnTransformer  # type: ignore[import-untyped]

    parts = [("numbers", numbers, list(table.numbers))]
    parts.append(("categories", categories, list(table.categories)))
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0)


def one_hot() -> Any:
    """A column a category; those that the labels so far have not shown are none of them."""
    from sklearn.preprocessing import OneHotEncoder  # type: ignore[import-untyped]

    return OneHotEncoder(handle_unknown="ignore", max_categories=MOST_CATEGORIES)


def random_forest(table: Table, seed: int) -> Any:
    """100 trees, scikit-learn's defaults."""
    from sklearn.ensemble import RandomForestClassifier  # type: ignore[import-untyped]
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]

    trees = RandomForestClassifier(random_state=seed)
    return make_pipeline(columns(table, "passthrough", one_hot()), trees)


def logistic_regression(table: Table, seed: int) -> Any:
    """Of numbers in units of their standard deviation, gaps at the median and flagged."""
    from sklearn.impute import SimpleImputer  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    median = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    numbers = make_pipeline(median, StandardScaler())
    return make_pipeline(columns(table, numbers, one_hot()), LogisticRegression(max_iter=1_000))


def gradient_boosting(table: Table, seed: int) -> Any:
    """By histograms, scikit-learn's defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    ordinal = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=float("nan"),
        encoded_missing_value=float("nan"),
        max_categories=MOST_CATEGORIES,
    )
    n = len(table.numbers)
    boosting = HistGradientBoostingClassifier(
        categorical_features=list(range(n, n + len(table.categories))), random_state=seed
    )
    return make_pipeline(columns(table, "passthrough", ordinal), boosting)


CONTENDERS = {
    "ineural": Contender("I-NeurAL", "C0-", of_ours(INeurAL)),
    "neuronal": Contender("NeurONAL", "C9-", of_ours(NeurONAL)),
    **of_river("logistic", "logistic regression", "C1", lambda k, seed: regression(k), encoded),
    **of_river("forest", "adaptive forest", "C4", adaptive_forest),
    **of_river("tree", "Hoeffding tree", "C5", hoeffding),
    "sklearn-forest": of_scikit_learn("random forest", "C2", random_forest),
    "sklearn-boosting": of_scikit_learn("gradient boosting", "C8", gradient_boosting),
    "sklearn-logistic": of_scikit_learn("logistic regression", "C3", logistic_regression),
}
DEFAULT = (
    *("ineural", "river-logistic", "river-forest", "river-forest-random"),
    *("sklearn-forest", "sklearn-logistic"),
)
