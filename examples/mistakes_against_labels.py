"""The figure of the README: mistakes on River's Phishing stream against labels paid for.

Run it from the root of a checkout; it needs the `benchmark` extra and writes
docs/assets/mistakes-{light,dark}.svg.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
from river import datasets, linear_model, preprocessing
from river.active.base import ActiveLearningClassifier
from river.base.typing import ClfTarget, FeatureName

from river_ineural import INeurAL, active

ASSETS = Path("docs/assets")
STREAM: list[tuple[dict[FeatureName, float], ClfTarget]] = list(datasets.Phishing())
BUDGETS = (25, 50, 75, 125, 250, 500)
SEEDS = range(5)

LEARNERS: dict[str, Callable[[int, int], ActiveLearningClassifier]] = {
    "I-NeurAL": lambda budget, seed: active.INeurALSampler(
        INeurAL(seed=seed), budget=budget, seed=seed
    ),
    "INeurAL, labels at random": lambda budget, seed: active.RandomSampler(
        INeurAL(seed=seed), p=budget / len(STREAM), budget=budget, seed=seed
    ),
    "logistic regression, small margins": lambda budget, seed: active.MarginSampler(
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),  # type: ignore[arg-type]
        threshold=0.6,
        budget=budget,
        seed=seed,
    ),
}


def mistakes(model: ActiveLearningClassifier) -> int:
    """Wrong predictions over the stream, labels learned where asked for."""
    wrong = 0
    for x, y in STREAM:
        label, ask = model.predict_one(x)  # type: ignore[no-untyped-call]
        wrong += label != y
        if ask:
            model.learn_one(x, y)  # type: ignore[no-untyped-call]
    return wrong


def main() -> None:
    """Run everything, then draw it twice."""
    results = {
        name: [[mistakes(make(budget, seed)) for seed in SEEDS] for budget in BUDGETS]
        for name, make in LEARNERS.items()
    }
    for name, by_budget in results.items():
        means = [sum(runs) / len(runs) for runs in by_budget]
        print(f"{name:<36}", *(f"{mean:8.1f}" for mean in means))
    for theme, style in (("light", "default"), ("dark", "dark_background")):
        with plt.style.context(style):
            figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
            for name, by_budget in results.items():
                means = [sum(runs) / len(runs) for runs in by_budget]
                (line,) = axes.plot(BUDGETS, means, marker="o", label=name)
                low, high = [min(runs) for runs in by_budget], [max(runs) for runs in by_budget]
                axes.fill_between(BUDGETS, low, high, color=line.get_color(), alpha=0.2, lw=0)
            axes.set(xlabel="labels that may be asked for", ylabel="mistakes in 1,250 rounds")
            axes.set_xscale("log")
            axes.set_xticks(BUDGETS, [str(budget) for budget in BUDGETS])
            axes.minorticks_off()
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False)
            figure.savefig(
                ASSETS / f"mistakes-{theme}.svg", transparent=True, metadata={"Date": None}
            )
            plt.close(figure)


if __name__ == "__main__":
    main()
