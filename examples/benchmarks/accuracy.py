"""Accuracy on rows held back after 10,000 rounds, at four budgets (Tables 3 to 6)."""

import pandas as pd  # type: ignore[import-untyped]
from common import by_stream, markdown
from learners import OWN, SETTLED
from paper_streams import STREAMS, best, cited, figures, ordered, ranked, run


def table(rows: pd.DataFrame) -> str:
    """Accuracy of each method at each budget, below what the paper prints."""
    rows = best(rows)
    streams, lines = ordered(rows), []
    for budget in sorted(rows["budget"].unique()):
        for method in ranked(rows):
            if printed := cited("accuracy", budget, method):
                shown = figures(printed, streams, 2)
                lines.append([f"{budget:.0%}", f"{method}, the paper", *shown])
            found = by_stream(rows, streams, "accuracy", budget=budget, learner=method)
            lines.append([f"{budget:.0%}", method, *found])
    return markdown(["labels", "method", *streams], lines)


def main() -> None:
    """Run what is missing and print the table."""
    usual = (0.03, 0.1, 0.2, 0.5), [*STREAMS], [OWN, *SETTLED]
    rows, _ = run("accuracy", __doc__, usual, rounds=10_000)
    print(table(rows))


if __name__ == "__main__":
    main()
