"""Labels that come 50 rounds late, and labels that are wrong at first: two tables of Phishing.

In the first table a label finds its question by its features or by its name. The sampler is alone,
the last step of a pipeline, or around one. The pipeline has a scaler: `MaxAbsScaler`, which stands
still after the first rows, or `StandardScaler`, which makes ever new numbers of the three values
that a feature of Phishing has. Each way is compared with itself without a delay. The second table
has a tenth of wrong labels, each of which is corrected after 100 rounds, or never. Both have 5 % of
the labels and several orders of the rows, the first of which is the data set's own. After ± is the
standard error of a mean, of differences within an order.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable
from functools import partial
from statistics import mean, stdev
from typing import Any, cast

from river import datasets, evaluate, metrics, preprocessing

from river_ineural import INeurAL, active

LATE, CORRECTED, END = 50, 100, 400  # rounds; the accuracy at the end is of the last 400
SCALERS: dict[str, Any] = {
    "MaxAbsScaler": preprocessing.MaxAbsScaler,
    "StandardScaler": preprocessing.StandardScaler,
}
Examples = list[tuple[dict[Any, Any], Any]]
Found = tuple[active.INeurALSampler, list[float]]  # and its accuracy: of all rounds, at the end


def sampler(seed: int, n: int, scaler: Any = None) -> active.INeurALSampler:
    """A sampler that may ask for 5 % of the labels, around a scaler or a bare learner."""
    learner = INeurAL(seed=seed)
    inner: Any = scaler() | learner if scaler else learner
    return active.INeurALSampler(inner, budget=0.05, horizon=n, seed=seed)


def by_features(
    stream: Examples, seed: int, late: int, within: Any = None, before: Any = None
) -> Found:
    """River's evaluation, which gives labels with their features."""
    model, accuracy = sampler(seed, len(stream), within), cast(Any, metrics.Accuracy)()
    whole = before() | model if before else model
    evaluate.progressive_val_score(stream, whole, accuracy, delay=late or None)
    return model, [accuracy.get()]


def by_name(
    stream: Examples,
    seed: int,
    late: int,
    within: Any = None,
    wrong: float = 0.0,
    corrected: bool = True,
) -> Found:
    """Labels by the names of their questions, some wrong at first.

    Rounds before the first label count for nothing, as in River's evaluation.
    """
    model, rng, right = sampler(seed, len(stream), within), random.Random(seed), []
    due: dict[int, list[tuple[int, Any]]] = {}
    for t, (x, y) in enumerate(stream):
        for query, label in due.pop(t, ()):
            model.answer(query, label)
        decision = model.decide_one(x)
        if decision.label is not None:
            right.append(decision.label == y)
        if decision.query is not None:
            bad = rng.random() < wrong
            due.setdefault(t + 1 + late, []).append((decision.query, y != bad))
            if bad and corrected:
                due.setdefault(t + 1 + late + CORRECTED, []).append((decision.query, y))
    return model, [mean(right), mean(right[-END:])]


WAYS: dict[str, Any] = {"alone": by_features, "alone, by name": by_name}
for title, kind in SCALERS.items():
    WAYS[f"{title} before the sampler"] = partial(by_features, before=kind)
    WAYS[f"{title} within it"] = partial(by_features, within=kind)
    WAYS[f"{title} within it, by name"] = partial(by_name, within=kind)
WRONG = {
    "none wrong": partial(by_name, late=0),
    "corrected": partial(by_name, wrong=0.1, late=0),
    "not corrected": partial(by_name, wrong=0.1, late=0, corrected=False),
}


def difference(ours: Iterable[float], theirs: Iterable[float]) -> str:
    """The mean difference of pairs, in points of a hundred, and its standard error."""
    pairs = [100 * (a - b) for a, b in zip(ours, theirs, strict=True)]
    return f"{mean(pairs):+.1f} ± {stdev(pairs) / len(pairs) ** 0.5:.1f}"


def show_late(orders: list[Examples]) -> None:
    """Print the table of late labels, of which those that wait too long found no question."""
    print("| 50 rounds late | accuracy | less than at once | asked | waiting too long |")
    print("| --- | --- | --- | --- | --- |")
    for name, run in WAYS.items():
        found = [run(stream, seed, late=LATE) for seed, stream in enumerate(orders, 1)]
        at_once = [run(stream, seed, late=0)[1][0] for seed, stream in enumerate(orders, 1)]
        late, asked = [each[0] for _, each in found], mean(each.n_queries for each, _ in found)
        waiting = [
            sum(each.round < model.n_rounds - LATE for each in model.queries())
            for model, _ in found
        ]
        cells = f"{mean(late):.3f}", difference(late, at_once), f"{asked:.1f}", str(sum(waiting))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def show_wrong(orders: list[Examples]) -> None:
    """Print the table of wrong labels."""
    print("\n| a tenth wrong | accuracy | less than none wrong | at the end | less |")
    print("| --- | --- | --- | --- | --- |")
    clean: list[Any] = []
    for name, run in WRONG.items():
        rows = [run(stream, seed)[1] for seed, stream in enumerate(orders, 1)]
        found = [*zip(*rows, strict=True)]
        clean = clean or found
        cells = [(f"{mean(a):.3f}", difference(a, b)) for a, b in zip(found, clean, strict=True)]
        print(f"| {name} | {' | '.join(cell for pair in cells for cell in pair)} |", flush=True)


def main() -> None:
    """Print both tables: the mean of the orders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=20)
    given = parser.parse_args()
    rows: Examples = list(datasets.Phishing())
    orders = [rows, *(random.Random(i).sample(rows, len(rows)) for i in range(1, given.orders))]
    show_late(orders)
    show_wrong(orders)


if __name__ == "__main__":
    main()
