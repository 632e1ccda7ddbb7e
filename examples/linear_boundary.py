"""A linear boundary in many dense features, which networks and trees learn slowly.

The stream is River's Hyperplane without noise, with 10 % of the labels. Logistic regression gets
all labels. Run the script from the root of a checkout. It prints a table.
"""

from __future__ import annotations

import itertools
import statistics
from typing import Any

from river import linear_model, preprocessing
from river.datasets import synth

from river_ineural import INeurAL, active, baselines

ROUNDS, BUDGET, SEEDS = 10_000, 0.1, range(3)


def stream(n_features: int, seed: int) -> synth.Hyperplane:
    """Points uniform in the unit cube; the class is the side of a plane."""
    return synth.Hyperplane(seed=seed, n_features=n_features, noise_percentage=0.0)


def run(model: active.BudgetedSampler, n_features: int, seed: int) -> int:
    """Number of wrong predictions over the stream."""
    wrong = 0
    for x, y in itertools.islice(stream(n_features, seed), ROUNDS):
        label, ask = model.predict_one(x)
        wrong += label != y
        if ask:
            model.learn_one(x, y)
    return wrong


def main() -> None:
    """Print mean and deviation of the mistakes."""
    print("| features | defaults | Margin, 0.9 | logistic regression |")
    print("| --- " * 4 + "|")
    for d in (5, 10, 20, 50):
        cells: list[list[int]] = [[], [], []]
        for seed in SEEDS:
            limits: dict[str, Any] = {"budget": BUDGET, "horizon": ROUNDS, "seed": seed}
            network = baselines.RetrainedNetwork(seed=seed)
            logistic = preprocessing.StandardScaler() | linear_model.LogisticRegression()
            models = (
                active.INeurALSampler(INeurAL(seed=seed), **limits),
                active.MarginSampler(network, threshold=0.9, **limits),
                active.RandomSampler(logistic, p=1.0, seed=seed),  # type: ignore[arg-type]
            )
            for cell, model in zip(cells, models, strict=True):
                cell.append(run(model, d, seed))
        shown = (f"{statistics.mean(c):,.0f} ± {statistics.stdev(c):,.0f}" for c in cells)
        print(f"| {d} | " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    main()
