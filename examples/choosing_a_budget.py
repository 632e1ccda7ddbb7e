"""The same budget as a total, with a horizon, and as a rate: labels and mistakes of each.

The streams have two classes, and one label in ten is wrong. In the second stream the classes trade
places half-way. Run the script from the root of a checkout with the `benchmark` extra. It prints
the table of docs/choosing-a-budget.md, writes its rows to budgets.csv in the benchmarks' results,
and draws docs/assets/budgets-{light,dark}.svg.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from river_ineural import INeurAL, active
from river_ineural.active import Budget
from river_ineural.datasets import KnownPosterior

sys.path.append(str(Path(__file__).parent / "benchmarks"))  # for its modules of tables and figures
from common import RESULTS, markdown, of, spread
from drawing import draw

FIGURE, ROWS = Path("docs/assets/budgets"), RESULTS / "budgets.csv"
ROUNDS, SHARE, SEEDS, STRETCHES = 6_000, 0.05, 5, 40


def budgets(rounds: int) -> dict[str, Budget]:
    """The budgets by their names in the table."""
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
    """Whether each round was wrong, and whether it asked, (2, rounds)."""
    model = active.INeurALSampler(INeurAL(seed=seed), budget=budget, seed=seed)
    found = np.zeros((2, rounds), bool)
    for t, (x, y) in enumerate(KnownPosterior(margin=0.8, seed=seed).take(rounds)):
        y = bool(y) != (t >= flip)
        label, ask = model.predict_one(x)
        found[:, t] = label != y, ask
        if ask:
            model.learn_one(x, y)
    return found


def measured(found: np.ndarray[Any, Any]) -> dict[str, int]:
    """Labels of one run in the first 150 rounds and in each half, and mistakes in each half."""
    wrong, asked = found
    half = len(wrong) // 2
    return {
        "early": int(asked[:150].sum()),
        "asked before": int(asked[:half].sum()),
        "asked after": int(asked[half:].sum()),
        "wrong before": int(wrong[:half].sum()),
        "wrong after": int(wrong[half:].sum()),
    }


def main(
    figure: Path = FIGURE, results: Path = ROWS, rounds: int = ROUNDS, seeds: int = SEEDS
) -> None:
    """Run every budget on both streams, write the rows, print the table, draw the second stream."""
    flips = {"steady": rounds, "changes": rounds // 2}
    runs = {
        (name, stream): np.array([run(budget, rounds, flip, seed) for seed in range(seeds)])
        for name, budget in budgets(rounds).items()
        for stream, flip in flips.items()
    }
    rows: list[dict[str, Any]] = [
        {"budget": name, "stream": stream, "seed": seed} | measured(each)
        for (name, stream), found in runs.items()
        for seed, each in enumerate(found)
    ]
    pd.DataFrame(rows).to_csv(results, index=False)
    print(table(pd.read_csv(results)))

    def paint(axes: Any) -> None:
        ends = np.linspace(0, rounds, STRETCHES + 1)[1:]
        left, right = axes.flat
        for i, name in enumerate(budgets(rounds)):
            wrong, asked = runs[name, "changes"].mean(axis=0)
            accuracy = 100 * (1 - wrong.reshape(STRETCHES, -1).mean(axis=1))
            if name != "no limit":
                left.plot(ends, asked.cumsum()[ends.astype(int) - 1], f"C{i}", label=name)
            right.plot(ends, accuracy, f"C{i}", lw=1.2, label=name)
        left.set(xlabel="round", ylabel="labels asked for")
        right.set(xlabel="round", ylabel="accuracy (%)")

    draw(figure, 2, paint, height=2.8)


def table(rows: pd.DataFrame) -> str:
    """Markdown: labels asked for and mistakes ± deviation on both streams, a line per budget."""
    rows = rows.assign(
        asked=rows["asked before"] + rows["asked after"],
        wrong=rows["wrong before"] + rows["wrong after"],
    )
    lines = []
    for name in rows["budget"].unique():
        cells = [name]
        for stream in ("steady", "changes"):
            where = {"budget": name, "stream": stream}
            cells.append(f"{statistics.mean(of(rows, 'asked', **where)):,.0f}")
            cells.append(spread(of(rows, "wrong", **where)))
        lines.append(cells)
    heads = ("budget", "asked", "mistakes", "asked, with a change", "mistakes, with a change")
    return markdown(heads, lines)


if __name__ == "__main__":
    main()
