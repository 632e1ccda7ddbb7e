"""The figure of the README: mistakes on River's Phishing stream against labels paid for.

Run it from the root of a checkout; it needs the `benchmark` extra, writes
docs/assets/mistakes-{light,dark}.svg and prints what they show.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from river import active as river_active
from river import datasets, linear_model, preprocessing
from river.active.base import ActiveLearningClassifier
from river.base import Classifier
from river.base.typing import ClfTarget, FeatureName

from river_ineural import INeurAL, active

sys.path.append(str(Path(__file__).parent / "benchmarks"))  # where the figures' style is
from drawing import colours, draw

ASSETS = Path("docs/assets")
STREAM: list[tuple[dict[FeatureName, float], ClfTarget]] = list(datasets.Phishing())
BUDGETS = (25, 50, 75, 125, 250, 500)
SEEDS = range(5)
DISCOUNTS = (3, 10, 30, 100, 300, 1000)  # River's EntropySampler takes no budget


def logistic() -> Classifier:
    """Logistic regression on standardised features."""
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()  # type: ignore[return-value]


# How each learner is made from a setting and a seed, and the settings: budgets, or discounts.
LEARNERS: dict[str, tuple[Callable[[int, int], ActiveLearningClassifier], tuple[int, ...]]] = {
    "I-NeurAL": (
        lambda budget, seed: active.INeurALSampler(INeurAL(seed=seed), budget=budget, seed=seed),
        BUDGETS,
    ),
    "INeurAL, labels at random": (
        lambda budget, seed: active.RandomSampler(
            INeurAL(seed=seed), p=budget / len(STREAM), budget=budget, seed=seed
        ),
        BUDGETS,
    ),
    "logistic regression, MarginSampler": (
        lambda budget, seed: active.MarginSampler(
            logistic(), threshold=0.6, budget=budget, seed=seed
        ),
        BUDGETS,
    ),
    "logistic regression, River's EntropySampler": (
        lambda discount, seed: river_active.EntropySampler(
            logistic(), discount_factor=discount, seed=seed
        ),
        DISCOUNTS,
    ),
}


def run(model: ActiveLearningClassifier) -> tuple[int, int]:
    """Labels learned, where asked for, and wrong predictions over the stream."""
    labels = wrong = 0
    for x, y in STREAM:
        label, ask = model.predict_one(x)  # type: ignore[no-untyped-call]
        wrong += label != y
        if ask:
            labels += 1
            model.learn_one(x, y)  # type: ignore[no-untyped-call]
    return labels, wrong


def main() -> None:
    """Run everything, print it, and draw it."""
    curves: dict[str, list[tuple[float, float, int, int]]] = {}
    print(f"{'':<45}{'labels':>8}{'mistakes':>10}{'least':>7}{'most':>6}")
    for name, (make, settings) in LEARNERS.items():
        curves[name] = []
        for setting in settings:
            labels, wrong = zip(*(run(make(setting, seed)) for seed in SEEDS), strict=True)
            point = (statistics.mean(labels), statistics.mean(wrong), min(wrong), max(wrong))
            curves[name].append(point)
            print(f"{name:<45}{point[0]:>8.1f}{point[1]:>10.1f}{point[2]:>7}{point[3]:>6}")
    colour = colours(curves)

    def paint(axes: Any) -> None:
        (panel,) = axes.flat
        for name, points in curves.items():
            labels, means, low, high = zip(*sorted(points), strict=True)
            panel.plot(labels, means, "o-", ms=4, color=colour[name], label=name)
            panel.fill_between(labels, low, high, color=colour[name], alpha=0.2, lw=0)
        panel.set(xlabel="labels asked for", ylabel=f"mistakes in {len(STREAM):,} rounds")
        panel.set_ylim(bottom=0)
        panel.set_xscale("log")
        panel.set_xticks(BUDGETS, [str(budget) for budget in BUDGETS])
        panel.minorticks_off()

    draw(ASSETS / "mistakes", 1, paint, panel=(7.0, 3.8))


if __name__ == "__main__":
    main()
