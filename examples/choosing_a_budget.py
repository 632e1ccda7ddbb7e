"""The same labels as a total, with a horizon, and as a rate: what each costs.

Two classes whose labels are wrong one time in ten; in the second stream they trade places half way.
Run it from the root of a checkout; it needs the `benchmark` extra, prints the table of
docs/choosing-a-budget.md and writes its figure, docs/assets/budgets-{light,dark}.svg.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np

from river_ineural import INeurAL, active
from river_ineural.active import Budget
from river_ineural.benchmark.drawing import draw
from river_ineural.datasets import KnownPosterior

FIGURE = Path("docs/assets/budgets")
ROUNDS, SHARE, SEEDS, STRETCHES = 6_000, 0.05, 5, 40


def budgets(rounds: int) -> dict[str, Budget]:
    """By what is written in the table."""
    n = int(SHARE * rounds)
    return {
        f"{n} labels": Budget(n),
        "5 %, right horizon": Budget(SHARE, rounds),
        "5 %, half the horizon": Budget(SHARE, rounds // 2),
        "5 %, twice the horizon": Budget(SHARE, rounds * 2),
        "5 %, no horizon": Budget(SHARE),
        "5 %, no horizon, burst of 20": Budget(SHARE, burst=20),
        "no limit": Budget(None),
    }


def run(budget: Budget, rounds: int, flip: int, seed: int) -> np.ndarray[Any, Any]:
    """Wrong or not, and asked or not, of each round (2, rounds)."""
    model = active.INeurALSampler(INeurAL(seed=seed), budget=budget, seed=seed)
    found = np.zeros((2, rounds), bool)
    for t, (x, y) in enumerate(KnownPosterior(margin=0.8, seed=seed).take(rounds)):
        y = bool(y) != (t >= flip)
        label, ask = model.predict_one(x)
        found[:, t] = label != y, ask
        if ask:
            model.learn_one(x, y)
    return found


def main(figure: Path = FIGURE, rounds: int = ROUNDS, seeds: int = SEEDS) -> None:
    """Run every budget on both streams, print the table, and draw the second."""
    runs = {
        (name, flip): np.array([run(budget, rounds, flip, seed) for seed in range(seeds)])
        for name, budget in budgets(rounds).items()
        for flip in (rounds, rounds // 2)
    }
    heads = ("asked", "mistakes") * 2
    print(f"| budget | {' | '.join(heads)} |\n{'| --- ' * (1 + len(heads))}|")
    for name in budgets(rounds):
        cells = []
        for flip in (rounds, rounds // 2):
            wrong, asked = runs[name, flip].sum(axis=2).T.tolist()
            cells.append(f"{statistics.mean(asked):,.0f}")
            deviation = statistics.stdev(wrong) if seeds > 1 else 0
            cells.append(f"{statistics.mean(wrong):,.0f} ± {deviation:,.0f}")
        print(f"| {name} | {' | '.join(cells)} |")

    def paint(axes: Any) -> None:
        ends = np.linspace(0, rounds, STRETCHES + 1)[1:]
        left, right = axes.flat
        for i, name in enumerate(budgets(rounds)):
            wrong, asked = runs[name, rounds // 2].mean(axis=0)
            accuracy = 100 * (1 - wrong.reshape(STRETCHES, -1).mean(axis=1))
            if name != "no limit":
                left.plot(ends, asked.cumsum()[ends.astype(int) - 1], f"C{i}", label=name)
            right.plot(ends, accuracy, f"C{i}", lw=1.2, label=name)
        left.set(xlabel="round", ylabel="labels asked for")
        right.set(xlabel="round", ylabel="accuracy (%)")

    draw(figure, 2, paint, panel=(4.6, 3.0))


if __name__ == "__main__":
    main()
