"""Labels that come 50 rounds late, and labels that are wrong at first: two tables of Phishing.

In the first table a label finds its question by its features or by its name, with a scaler before
the sampler, within it, or nowhere. The second has a tenth of wrong labels, each of which is
corrected after 100 rounds, or never. Both have 5 % of the labels and five orders of the rows, the
first of which is the data set's own.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

from river import datasets, evaluate, metrics, preprocessing

from river_ineural import INeurAL, active

LATE, CORRECTED, END = 50, 100, 400  # rounds; the accuracy at the end is of the last 400
Examples = list[tuple[dict[Any, Any], Any]]
Row = dict[str, float]


def sampler(seed: int, n: int, within: bool = False) -> active.INeurALSampler:
    """A sampler that may ask for 5 % of the labels, around a scaler or a bare learner."""
    learner = INeurAL(seed=seed)
    inner: Any = preprocessing.StandardScaler() | learner if within else learner
    return active.INeurALSampler(inner, budget=0.05, horizon=n, seed=seed)


def by_features(shape: str, stream: Examples, seed: int) -> Row:
    """River's evaluation, which gives labels with their features."""
    model = sampler(seed, len(stream), within=shape == "around a pipeline")
    whole = preprocessing.StandardScaler() | model if shape == "last step" else model
    accuracy: Any = metrics.Accuracy
    score = evaluate.progressive_val_score(stream, whole, accuracy(), delay=LATE)
    return row(model, score.get())


def by_name(
    stream: Examples,
    seed: int,
    within: bool = False,
    wrong: float = 0.0,
    late: int = LATE,
    corrected: bool = True,
) -> Row:
    """Labels by the names of their questions, some wrong at first; corrected 100 rounds later.

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
    found = row(model, mean(right))
    return found | {"accuracy at the end": mean(right[-END:])} if wrong or not late else found


def row(model: active.INeurALSampler, accuracy: float) -> Row:
    """Accuracy, labels asked for, and those of them that wait although they were given."""
    due = [each for each in model.queries() if each.round < model.n_rounds - LATE]
    return {"accuracy": accuracy, "asked": model.n_queries, "waiting too long": len(due)}


TABLES: dict[str, dict[str, Callable[[Examples, int], Row]]] = {
    "labels 50 rounds late": {
        **{
            shape: partial(by_features, shape)
            for shape in ("alone", "around a pipeline", "last step")
        },
        "by name": by_name,
        "by name, around a pipeline": partial(by_name, within=True),
    },
    "a tenth of the labels wrong": {
        "none wrong": partial(by_name, late=0),
        "corrected": partial(by_name, wrong=0.1, late=0),
        "not corrected": partial(by_name, wrong=0.1, late=0, corrected=False),
    },
}


def main() -> None:
    """Print both tables: the mean of the orders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=5)
    given = parser.parse_args()
    rows: Examples = list(datasets.Phishing())
    orders = [rows, *(random.Random(i).sample(rows, len(rows)) for i in range(1, given.orders))]
    for title, ways in TABLES.items():
        for i, (name, run) in enumerate(ways.items()):
            found = [run(stream, seed) for seed, stream in enumerate(orders, 1)]
            if not i:
                print(f"\n| {title} | {' | '.join(found[0])} |\n|{' --- |' * (1 + len(found[0]))}")
            means = (f"{mean(each[key] for each in found):.3f}" for key in found[0])
            print(f"| {name} | {' | '.join(means)} |", flush=True)


if __name__ == "__main__":
    main()
