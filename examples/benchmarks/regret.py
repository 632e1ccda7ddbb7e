"""Mistakes at 3 % of the labels on the paper's six streams (Table 1), or on any others."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pandas as pd  # type: ignore[import-untyped]
from common import markdown, of, spread
from learners import OWN
from paper_streams import STREAMS, cited, draw_curves, figures, ordered, run

PAPER = cited("regret", 0.03, OWN)
RELEASED = cited("regret", 0.03, OWN, "released code")
ACROSS = (
    ("the paper's I-NeurAL, in the end", "--", PAPER),
    ("its released code, in the end", ":", RELEASED),
)


def of_learner(rows: pd.DataFrame, budget: float, learner: str) -> Iterator[list[str]]:
    """Lines of a learner. I-NeurAL's at 3 % say how far seeds vary."""
    streams = ordered(rows)
    rows = rows[(rows["learner"] == learner) & (rows["budget"] == budget)]
    found = {s: of(rows, stream=s) for s in streams}
    if (learner, budget) != (OWN, 0.03):
        yield [f"{learner}, {budget:.0%}", *map(spread, found.values())]
        return
    there = {s: each for s, each in found.items() if each}
    firsts = {s: statistics.mean(of(rows[rows["seed"] < 5], stream=s)) for s in there}
    worst = {s: max(each) / statistics.median(each) for s, each in there.items()}
    seeds = rows["seed"].nunique()
    yield ["**here**", *map(spread, found.values())]
    yield ["the first 5 seeds", *figures(firsts, streams)]
    yield [f"worst of {seeds} seeds over their median", *figures(worst, streams, 2)]


def table(rows: pd.DataFrame) -> str:
    """Mistakes of each learner at each budget, below those of the paper and its released code."""
    streams = ordered(rows)
    lines = [["the paper", *figures(PAPER, streams)]]
    lines += [["its released code, on these rows", *figures(RELEASED, streams)]]
    for budget, learner in dict.fromkeys(zip(rows["budget"], rows["learner"], strict=True)):
        lines += of_learner(rows, budget, learner)
    return markdown(["", *streams], lines)


def main() -> None:
    """Run what is missing, print the table and draw the figure."""
    rows, assets = run("regret", __doc__, (0.03,), list(STREAMS), [OWN])
    print(table(rows))
    if assets:
        draw_curves(rows, assets / "regret", ACROSS)


if __name__ == "__main__":
    main()
