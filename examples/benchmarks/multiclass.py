"""Mistakes on the original classes of the paper's streams that have more than two."""

import pandas as pd  # type: ignore[import-untyped]
from common import best, by_stream, markdown
from learners import OUTPUTS, OWN, RETRAINED
from paper_streams import draw_curves, ordered, ranked, run

STREAMS = ("letter", "fashion", "mnist", "cifar10")


def table(rows: pd.DataFrame) -> str:
    """Mistakes of each method at its best setting, at each budget."""
    rows = best(rows)
    streams = ordered(rows)
    lines = [
        [f"{budget:.0%}", method, *by_stream(here, streams, learner=method)]
        for budget, here in rows.groupby("budget")
        for method in ranked(here)
    ]
    return markdown(["labels", "method", *streams], lines)


def main() -> None:
    """Run what is missing, print the table and draw the figure."""
    usual = (0.03, 0.1), STREAMS, [OWN, OUTPUTS, *RETRAINED]
    rows, assets = run("multiclass", __doc__, usual, multiclass=True)
    print(table(rows))
    if assets:
        draw_curves(best(rows), assets / "multiclass")


if __name__ == "__main__":
    main()
