"""Population regret and number of labels against T, where P(y | x) is known."""

from __future__ import annotations

import multiprocessing
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

from river_ineural.active import INeurALSampler
from river_ineural.active.width import TheoreticalWidth
from river_ineural.benchmark.cells import write
from river_ineural.benchmark.figures import draw
from river_ineural.classifier import INeurAL
from river_ineural.datasets.synthetic import KnownPosterior

__all__ = ["STREAMS", "run", "run_one"]

STREAMS: dict[str, dict[str, Any]] = {
    "hard margin, k = 2": {"margin": 0.9},
    "hard margin, k = 4": {"margin": 0.9, "n_classes": 4},
    "no margin, k = 2": {},
}
POINTS = 20  # of each curve


def run_one(name: str, rounds: int, seed: int) -> list[dict[str, Any]]:
    """Cumulative regret, mistakes and labels at `POINTS` times.

    With the width of the paper's analysis, γ = 1, no budget and no random asks: a constant width
    above the margin would ask for ever.
    The regret of a round is P(y = Bayes class | x) - P(y = predicted class | x).
    """
    torch.set_num_threads(1)
    stream = KnownPosterior(rounds, seed=seed, **STREAMS[name])
    model = INeurALSampler(
        INeurAL(seed=seed),
        gamma=1.0,
        width=TheoreticalWidth(horizon=rounds),
        exploration=0.0,
        seed=seed,
    )
    regret, bayes_mistakes, mistakes, rows = 0.0, 0, 0, []
    for t, (x, y) in enumerate(stream):
        posterior = stream.posterior(x)
        label, ask = model.predict_one(x)
        best = max(posterior, key=posterior.__getitem__)
        regret += posterior[best] - posterior.get(label, 0.0)  # type: ignore[arg-type]
        mistakes += label != y
        bayes_mistakes += best != y
        if ask:
            model.learn_one(x, y)
        if (t + 1) * POINTS // rounds > t * POINTS // rounds:
            row = {"stream": name, "seed": seed, "rounds": t + 1, "regret": round(regret, 3)}
            row |= {"labels": model.n_queries, "mistakes": mistakes}
            rows.append(row | {"bayes_mistakes": bayes_mistakes})
    return rows


def run(n_seeds: int, n_jobs: int, rounds: int, results: Path, assets: Path | None) -> None:
    """Write theory.csv, print what it says, and draw it."""
    cells = [(name, rounds, seed) for name in STREAMS for seed in range(n_seeds)]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=spawn) as pool:
        rows = [row for each in pool.map(run_one, *zip(*cells, strict=True)) for row in each]
    write(results / "theory.csv", rows)
    print(table(rows))
    if assets is not None:
        draw_curves(rows, assets)


def mean(rows: list[dict[str, Any]], stream: str, point: int, column: str) -> float:
    """Mean over seeds at the point-th time."""
    times = sorted({row["rounds"] for row in rows})
    found: float = statistics.mean(
        row[column] for row in rows if row["stream"] == stream and row["rounds"] == times[point]
    )
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: what the bounds of the paper are about."""
    lines = [
        "| stream | labels by T/2 | by T | growth | regret by T/2 | by T | a round, last tenth |",
        "| --- " * 7 + "|",
    ]
    for name in dict.fromkeys(row["stream"] for row in rows):
        half, whole = (mean(rows, name, point, "labels") for point in (POINTS // 2 - 1, -1))
        before, after = (mean(rows, name, point, "regret") for point in (POINTS // 2 - 1, -1))
        tenth = after - mean(rows, name, -1 - POINTS // 10, "regret")
        rounds = max(row["rounds"] for row in rows)
        lines.append(
            f"| {name} | {half:,.0f} | {whole:,.0f} | {whole / half - 1:.1%} | {before:,.1f} "
            f"| {after:,.1f} | {10 * tenth / rounds:.4f} |"
        )
    return "\n".join(lines)


def draw_curves(rows: list[dict[str, Any]], folder: Path) -> None:
    """theory-{light,dark}.svg: labels and regret against T."""
    times = sorted({row["rounds"] for row in rows})

    def paint(axes: Any) -> None:
        for panel, column in zip(axes.flat, ("labels", "regret"), strict=True):
            for name in STREAMS:
                values = [mean(rows, name, point, column) for point in range(len(times))]
                panel.plot(times, values, label=name)
            panel.set(xlabel="rounds", ylabel=column)

    draw(folder / "theory", 2, paint)
