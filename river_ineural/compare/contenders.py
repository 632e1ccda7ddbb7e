"""The learners to compare: I-NeurAL, River's, and refitted classifiers of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from river import base, compose, forest, linear_model, preprocessing, stats, tree
from river.base.typing import FeatureName
from sklearn.base import clone  # type: ignore[import-untyped]
from sklearn.compose import ColumnTransformer  # type: ignore[import-untyped]
from sklearn.ensemble import HistGradientBoostingClassifier as Boosting  # type: ignore[import-untyped]
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # type: ignore[import-untyped]

from river_ineural import INeurAL, NeurONAL, active
from river_ineural.active.query import pace
from river_ineural.compare.reading import Table
from river_ineural.compare.refitted import Refitted, numbered

Sampler = Callable[[Table, active.Budget, int], active.BudgetedSampler]


@dataclass(frozen=True)
class Contender:
    """A learner that asks for labels."""

    name: str  # as shown in the table
    sampler: Sampler
    examples: Callable[[Table], Any] = Table.examples  # the rows as the learner gets them


class WithRest(active.INeurALSampler):
    """Asks as I-NeurAL does, and spends labels that would stay unused on random rows."""

    _reserves = False

    def _asks_at_random(self, margin: float, share: float, only: bool) -> tuple[bool, float]:
        p, behind = pace(self._budget_manager)
        return (self._rng.random() < p, p) if behind else (False, 0.0)


def at_random(
    classifier: Any, budget: active.Budget, seed: int, rate: float | None = None
) -> active.RandomSampler:
    """A sampler that asks slightly above a rate (None: that of the budget), to spend the budget."""
    p = min(1.0, 1.1 * ((budget.rate if rate is None else rate) or 0.0))
    return active.RandomSampler(classifier, p=p, budget=budget, seed=seed)


def of_ours(kind: type[INeurAL | NeurONAL]) -> Sampler:
    """An `INeurALSampler` around `kind`, which encodes categories and missing values itself."""
    return lambda table, budget, seed: active.INeurALSampler(
        kind(categories=True, missing=True, seed=seed), budget=budget, seed=seed
    )


def filled(table: Table) -> Any:
    """Replace missing numbers by their mean so far, and missing categories by "missing"."""
    fills: dict[str, Any] = {name: stats.Mean() for name in table.numbers}
    fills |= dict.fromkeys(table.categories, "missing")
    return preprocessing.StatImputer(*fills.items())  # type: ignore[no-untyped-call]


def encoded(table: Table) -> Any:
    """Fill missing values, standardise numbers and one-hot encode categories."""
    steps = (preprocessing.StandardScaler(), preprocessing.OneHotEncoder(drop_zeros=True))
    kinds = zip((table.numbers, table.categories), steps, strict=True)
    parts = [compose.Select(*names) | step for names, step in kinds if names]
    return filled(table) | compose.TransformerUnion(*parts)


def of_river(
    key: str,
    name: str,
    classifier: Callable[[int, int], base.Classifier],
    transformer: Callable[[Table], Any] = filled,
) -> dict[str, Contender]:
    """Two contenders around `classifier(k, seed)` of River: asking by margin, and at random."""

    def examples(table: Table) -> Iterator[dict[FeatureName, Any]]:
        steps = transformer(table)  # they learn from every row, labelled or not
        for x in table.examples():
            steps.learn_one(x)
            yield steps.transform_one(x)

    def by_margin(table: Table, budget: active.Budget, seed: int) -> active.BudgetedSampler:
        model = classifier(len(table.shares), seed)
        return active.MarginSampler(model, budget=budget, seed=seed)

    def randomly(table: Table, budget: active.Budget, seed: int) -> active.BudgetedSampler:
        rate = budget.most(len(table)) / len(table)
        return at_random(classifier(len(table.shares), seed), budget, seed, rate)

    return {
        f"river-{key}": Contender(f"River: {name}, margin", by_margin, examples),
        f"river-{key}-random": Contender(f"River: {name}, random", randomly, examples),
    }


def of_scikit_learn(
    name: str, classifier: Callable[..., Any], numbers: Any = "passthrough"
) -> Contender:
    """A classifier that is refitted as its labels grow, and asks as I-NeurAL does.

    Categories are one-hot encoded, in at most 250 columns each; an unknown category is all zeros.
    """

    def sampler(table: Table, budget: active.Budget, seed: int) -> active.BudgetedSampler:
        one_hot = OneHotEncoder(handle_unknown="ignore", max_categories=250)
        kinds = [("numbers", numbers, table.numbers), ("text", one_hot, list(table.categories))]
        steps = ColumnTransformer(kinds, sparse_threshold=0), classifier(random_state=seed)
        learner = Refitted(lambda: clone(make_pipeline(*steps)), table.features)
        return WithRest(learner, budget=budget, self_training=False, seed=seed)

    return Contender(f"scikit-learn: {name}", sampler, numbered)


def regression(k: int, seed: int) -> base.Classifier:
    """Logistic regression of classes 0 and 1, or softmax regression of more than two."""
    return linear_model.LogisticRegression() if k == 2 else linear_model.SoftmaxRegression()


# Missing numbers become the median, with a flag column. IN_UNITS also standardises numbers.
MEDIAN = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
IN_UNITS = make_pipeline(MEDIAN, StandardScaler())
TREE = tree.HoeffdingAdaptiveTreeClassifier
SOFTMAX = partial(LogisticRegression, max_iter=1_000)
CONTENDERS = {
    "ineural": Contender("I-NeurAL", of_ours(INeurAL)),
    "neuronal": Contender("NeurONAL", of_ours(NeurONAL)),
    **of_river("logistic", "logistic", regression, encoded),
    **of_river("forest", "forest", lambda k, seed: forest.ARFClassifier(seed=seed)),
    **of_river("tree", "Hoeffding tree", lambda k, seed: TREE(seed=seed)),
    "sklearn-forest": of_scikit_learn("random forest", RandomForestClassifier),
    "sklearn-boosting": of_scikit_learn("gradient boosting", Boosting),
    "sklearn-logistic": of_scikit_learn("logistic", SOFTMAX, IN_UNITS),
}
DEFAULT = (
    *("ineural", "river-logistic", "river-forest", "river-forest-random"),
    *("sklearn-forest", "sklearn-logistic"),
)
