"""Table 1 of the paper: regret at 3 % of the labels."""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path

from river_ineural.benchmark.cells import Cell, read, run_cells

__all__ = ["run", "table"]

PAPER = {  # Table 1, I-NeurAL
    "phishing": 689,
    "ijcnn": 469,
    "letter": 2571,
    "fashion": 118,
    "mnist": 674,
    "cifar10": 1372,
}
RELEASED = {  # mean of the authors' released code on the same rows, five seeds (cifar10: two)
    "phishing": 691,
    "ijcnn": 548,
    "letter": 2688,
    "fashion": 176,
    "mnist": 666,
    "cifar10": 1537,
}


def run(
    streams: list[str],
    learners: list[str],
    n_seeds: int,
    n_jobs: int,
    folder: Path,
    budget: float = 0.03,
    rounds: int | None = None,
) -> None:
    """Run what is missing of regret.csv in the folder, then print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "regret.csv"
    cells = [
        Cell(stream, learner, budget, seed, rounds=rounds)
        for stream in streams
        for learner in learners
        for seed in range(n_seeds)
    ]
    run_cells(cells, path, n_jobs)
    print(table(path))


def table(path: Path) -> str:
    """Markdown: a line a learner and stream, beside the figures of others."""
    regrets: dict[tuple[str, str], list[int]] = defaultdict(list)
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    failures = 0
    for row in read(path):
        if row["error"]:
            failures += 1
            continue
        regrets[row["learner"], row["stream"]].append(int(row["regret"]))
        seconds[row["learner"], row["stream"]].append(float(row["seconds"]))
    lines = [
        "| learner | stream | regret | deviation | least | most | seeds | seconds "
        "| paper | released |",
        "| --- " * 10 + "|",
    ]
    for (name, stream), values in sorted(regrets.items()):
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        lines.append(
            f"| {name} | {stream} | {statistics.mean(values):,.0f} | {deviation:.0f} "
            f"| {min(values):,} | {max(values):,} | {len(values)} "
            f"| {statistics.mean(seconds[name, stream]):.1f} "
            f"| {PAPER[stream]:,} | {RELEASED[stream]:,} |"
        )
    if failures:
        lines.append(f"\n{failures} runs failed; their rows say why.")
    return "\n".join(lines)
