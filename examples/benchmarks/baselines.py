"""Mistakes at 3 % of the labels of the paper's other methods, each at its best setting."""

import pandas as pd  # type: ignore[import-untyped]
from common import RESULTS, best, read
from learners import BASELINES
from paper_streams import STREAMS, beside_cited, draw_curves, run


def table(rows: pd.DataFrame) -> str:
    """Mistakes of each method, below those of the paper and of its released code."""
    return beside_cited(best(rows), "regret", ["the paper", "released code"])


def main() -> None:
    """Run what is missing, print the tables and draw the figure, with I-NeurAL of regret.csv."""
    rows, assets = run("baselines", __doc__, ((0.03,), [*STREAMS], [*BASELINES]))
    for budget, each in rows.groupby("budget"):
        print(f"{budget:.0%} of the labels\n\n{table(each)}\n")
    if assets:
        regret = read(RESULTS / "regret.csv")
        regret = regret[regret["stream"].isin(rows["stream"])]
        draw_curves(pd.concat([best(rows), regret]), assets / "baselines", log=True)


if __name__ == "__main__":
    main()
