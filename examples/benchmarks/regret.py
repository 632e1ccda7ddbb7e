"""Mistakes at 3 % of the labels on the paper's six streams (Table 1), or on any others."""

import pandas as pd  # type: ignore[import-untyped]
from common import by_stream, markdown
from learners import OWN
from paper_streams import STREAMS, cited, draw_curves, figures, ordered, run

PAPER = cited("regret", 0.03, OWN)
RELEASED = cited("regret", 0.03, OWN, "released code")
ACROSS = [("the paper's I-NeurAL, in the end", "--", PAPER)]
ACROSS += [("its released code, in the end", ":", RELEASED)]


def table(rows: pd.DataFrame) -> str:
    """Mistakes of each learner at each budget, below those of the paper and its released code."""
    streams = ordered(rows)
    lines = [["the paper", *figures(PAPER, streams)]]
    lines += [["its released code, on these rows", *figures(RELEASED, streams)]]
    for budget, learner in dict.fromkeys(zip(rows["budget"], rows["learner"], strict=True)):
        name = "**here**" if (learner, budget) == (OWN, 0.03) else f"{learner}, {budget:.0%}"
        lines.append([name, *by_stream(rows, streams, budget=budget, learner=learner)])
    return markdown(["", *streams], lines)


def main() -> None:
    """Run what is missing, print the table and draw the figure."""
    rows, assets = run("regret", __doc__, ((0.03,), [*STREAMS], [OWN]))
    print(table(rows))
    if assets:
        draw_curves(rows, assets / "regret", ACROSS)


if __name__ == "__main__":
    main()
