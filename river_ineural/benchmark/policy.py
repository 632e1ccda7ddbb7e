"""Regret against seconds: steps spent where labels arrive, beside a fixed number an example."""

from __future__ import annotations

import csv
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.active import INeurALSampler
from river_ineural.benchmark.contenders import X
from river_ineural.classifier import INeurAL

__all__ = ["run"]

STREAMS = {"phishing": lambda y: y == 1, "ijcnn": lambda y: y == 1, "mnist": lambda y: y % 2 == 1}
FIXED = (0.25, 0.5, 1, 2, 4)  # steps after every example learned
POLICIES = {f"{n:g} an example": (n, n) for n in FIXED} | {
    f"{label:g} a label, {pseudo:g} a pseudo-label": (label, pseudo)
    for label, pseudo in ((4, 0), (4, 0.25), (4, 0.5), (4, 1), (4, 2), (8, 1))
}
BUDGET = 0.03


def load(name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Rows and binary labels of a stream, from the folder that RIVER_INEURAL_DATA names."""
    folder = os.environ.get("RIVER_INEURAL_DATA")
    if folder is None:
        raise SystemExit(f"Set RIVER_INEURAL_DATA to the folder that holds {name}.npz.")
    with np.load(Path(folder) / f"{name}.npz") as file:
        return file["X"], STREAMS[name](file["y"]).astype(np.int64)


def regret(x: NDArray[Any], y: NDArray[np.int64], steps: tuple[float, float], seed: int) -> int:
    """Mistakes over the stream in an order that the seed permutes."""
    model = INeurALSampler(
        INeurAL(n_steps=steps[0], pseudo_label_steps=steps[1], seed=seed),
        budget=BUDGET,
        horizon=len(y),
        seed=seed,
    )
    wrong, names = 0, range(x.shape[1])
    for i in np.random.default_rng(seed).permutation(len(y)):
        row: X = dict(zip(names, x[i].tolist(), strict=True))
        label = int(y[i])
        predicted, ask = model.predict_one(row)
        wrong += predicted != label
        if ask:
            model.learn_one(row, label)
    return wrong


def run(n_seeds: int, folder: Path | None = None) -> None:
    """Print a row a stream and policy; with a folder write them to policy.csv there."""
    rows = []
    for name in STREAMS:
        x, y = load(name)
        for policy, steps in POLICIES.items():
            start = time.process_time()
            regrets = [regret(x, y, steps, seed) for seed in range(n_seeds)]
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
