"""Mistakes at 3 % of the labels of the paper's other methods, each at its best setting."""

import pandas as pd  # type: ignore[import-untyped]
from common import RESULTS, markdown, of, read, spread
from learners import BASELINES
from paper_streams import STREAMS, best, cited, draw_curves, figures, ordered, ranked, run


def shown(rows: pd.DataFrame, stream: str, method: str) -> str:
    """Mean ± deviation at the best setting, which stands in brackets if there are several."""
    found = rows[(rows["stream"] == stream) & (rows["learner"] == method)]
    setting = found["setting"].iloc[0] if len(found) else ""
    return spread(of(found)) + (f" ({setting})" if setting else "")


def table(rows: pd.DataFrame, budget: float = 0.03) -> str:
    """A line each for the paper, its released code and what was run here."""
    rows = best(rows[rows["budget"] == budget])
    streams, lines = ordered(rows), []
    for method in ranked(rows):
        own = [
            [source, *figures(cited("regret", budget, method, source), streams)]
            for source in ("the paper", "released code")
            if cited("regret", budget, method, source)
        ]
        own.append(["here", *(shown(rows, s, method) for s in streams)])
        lines += [["" if i else method, *each] for i, each in enumerate(own)]
    return markdown(["method", "", *streams], lines)


def main() -> None:
    """Run what is missing, print the table and draw the figure, with I-NeurAL of regret.csv."""
    rows, assets = run("baselines", __doc__, ((0.03,), [*STREAMS], [*BASELINES]))
    for budget in sorted(rows["budget"].unique()):
        print(f"{budget:.0%} of the labels\n\n{table(rows, budget)}\n")
    if assets:
        regret = read(RESULTS / "regret.csv")
        regret = regret[regret["stream"].isin(rows["stream"])]
        draw_curves(pd.concat([best(rows), regret]), assets / "baselines", log=True)


if __name__ == "__main__":
    main()
