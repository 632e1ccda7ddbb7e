"""Regret against seconds: steps spent where labels arrive, beside a fixed number an example."""

from __future__ import annotations

import csv
import statistics
import time
from pathlib import Path

from river_ineural.active import INeurALSampler
from river_ineural.benchmark import cells
from river_ineural.benchmark.contenders import X
from river_ineural.classifier import INeurAL

__all__ = ["run"]

STREAMS = ("phishing", "ijcnn", "mnist")
FIXED = (0.25, 0.5, 1, 2, 4)  # steps after every example learned
POLICIES = {f"{n:g} an example": (n, n) for n in FIXED} | {
    f"{label:g} a label, {pseudo:g} a pseudo-label": (label, pseudo)
    for label, pseudo in ((4, 0), (4, 0.25), (4, 0.5), (4, 1), (4, 2), (8, 1))
}
BUDGET = 0.03


def regret(stream: str, steps: tuple[float, float], seed: int) -> int:
    """Mistakes over the stream in an order that the seed permutes."""
    x, y = cells.STREAMS[stream](seed=seed).arrays()
    model = INeurALSampler(
        INeurAL(n_steps=steps[0], pseudo_label_steps=steps[1], seed=seed),
        budget=BUDGET,
        horizon=len(y),
        seed=seed,
    )
    wrong, names = 0, range(x.shape[1])
    for values, label in zip(x, y.tolist(), strict=True):
        row: X = dict(zip(names, values.tolist(), strict=True))
        predicted, ask = model.predict_one(row)
        wrong += predicted != label
        if ask:
            model.learn_one(row, label)
    return wrong


def run(n_seeds: int, folder: Path | None = None) -> None:
    """Print a row a stream and policy; with a folder write them to policy.csv there."""
    rows = []
    for name in STREAMS:
        for policy, steps in POLICIES.items():
            start = time.process_time()
            regrets = [regret(name, steps, seed) for seed in range(n_seeds)]
            seconds = (time.process_time() - start) / n_seeds
            row = {
                "stream": name,
                "policy": policy,
                "regret": round(statistics.mean(regrets), 1),
                "deviation": round(statistics.stdev(regrets), 1) if n_seeds > 1 else 0.0,
                "seconds": round(seconds, 2),
            }
            rows.append(row)
            print("{stream:<10}{policy:<32}{regret:>8}{deviation:>8}{seconds:>8}".format(**row))
    if folder is not None:
        with (folder / "policy.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
