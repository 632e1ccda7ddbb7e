"""Accuracy on rows held back after 10,000 rounds, at four budgets (Tables 3 to 6)."""

import pandas as pd  # type: ignore[import-untyped]
from common import best
from learners import OWN, SETTLED
from paper_streams import STREAMS, beside_cited, run


def table(rows: pd.DataFrame) -> str:
    """Accuracy of each method, below what the paper prints."""
    return beside_cited(best(rows).drop(columns="setting"), "accuracy", ["the paper"])


def main() -> None:
    """Run what is missing and print the tables."""
    usual = (0.03, 0.1, 0.2, 0.5), [*STREAMS], [OWN, *SETTLED]
    rows, _ = run("accuracy", __doc__, usual, rounds=10_000)
    for budget, each in rows.groupby("budget"):
        print(f"{budget:.0%} of the labels\n\n{table(each)}\n")


if __name__ == "__main__":
    main()
