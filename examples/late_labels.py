"""Labels that arrive late, and a stream that begins with one class.

The first stream is River's Phishing with 10 % of the labels, each some rounds late. The second has
two classes and 3 % of the labels. Its second class, one example in twenty, first appears after 200
rounds. Run the script from the root of a checkout. It prints two tables.
"""

from __future__ import annotations

import statistics
import warnings
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
from river import datasets

from river_ineural import INeurAL, active

SEEDS = range(8)

Examples = list[tuple[dict[Any, Any], Any]]


def predictions(model: active.BudgetedSampler, examples: Examples, delay: int) -> list[Any]:
    """The prediction of each round; a label asked for is learned `delay` rounds later."""
    waiting: deque[tuple[int, dict[Any, Any], Any]] = deque()
    predicted = []
    for t, (x, y) in enumerate(examples):
        while waiting and waiting[0][0] <= t:
            _, asked, label = waiting.popleft()
            model.learn_one(asked, label)
        label, ask = model.predict_one(x)
        predicted.append(label)
        if ask:
            waiting.append((t + 1 + delay, x, y))
    return predicted


def one_class_first(seed: int, rounds: int = 5_000, d: int = 10) -> Examples:
    """Positives occur from round 200 on, three deviations away in each of three features."""
    rng = np.random.default_rng(seed)
    examples: Examples = []
    for t in range(rounds):
        y = int(t >= 200 and rng.random() < 0.05)
        x = rng.normal(size=d)
        x[:3] += 3 * y
        examples.append(({f"f{j}": value for j, value in enumerate(x.tolist())}, y))
    return examples


def shown(values: Iterable[float]) -> str:
    """Mean and deviation, in per cent."""
    shares = [100 * value for value in values]
    return f"{statistics.mean(shares):.1f} ± {statistics.stdev(shares):.1f}"


def main() -> None:
    """Print both tables."""
    phishing: Examples = list(datasets.Phishing())
    print("| delay | accuracy from the first possible answer on |\n| --- | --- |")
    for delay in (0, 50, 125, 200, 400):
        found = []
        for seed in SEEDS:
            model = active.INeurALSampler(
                INeurAL(seed=seed), budget=0.1, horizon=len(phishing), seed=seed
            )
            rounds = zip(predictions(model, phishing, delay), phishing, strict=True)
            right = [label == y for label, (_, y) in list(rounds)[delay + 1 :]]
            found.append(statistics.mean(right))
        print(f"| {delay} | {shown(found)} |", flush=True)
    print("\n| classes | F1 of the positives |\n| --- | --- |")
    for name, classes in (("not given", None), ("given", (0, 1))):
        found = []
        for seed in SEEDS:
            examples = one_class_first(seed)
            learner = INeurAL(classes=classes, seed=seed)
            model = active.INeurALSampler(learner, budget=0.03, horizon=len(examples), seed=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about a single class
                answers = predictions(model, examples, delay=0)
            pairs = [(p == 1, y == 1) for p, (_, y) in zip(answers, examples, strict=True)]
            hits = sum(p and y for p, y in pairs)
            found.append(2 * hits / max(1, sum(p + y for p, y in pairs)))
        print(f"| {name} | {shown(found)} |", flush=True)


if __name__ == "__main__":
    main()
