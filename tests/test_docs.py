"""Numbers of docs/results.md, made again from the rows in results/."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from river_ineural.benchmark.cells import read
from river_ineural.benchmark.tables import PAPER, SIX

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
PAGE = (ROOT / "docs" / "results.md").read_text()

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="rows are in a checkout only")


def section(title):
    """Text under a heading."""
    _, _, rest = PAGE.partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def by_stream(path, value, **wanted):
    """Values of a file's rows by stream, in the order of seeds."""
    rows = [row for row in read(path) if wanted.items() <= row.items()]
    rows.sort(key=lambda row: int(row["seed"]))
    return {s: [float(row[value]) for row in rows if row["stream"] == s] for s in SIX}


def test_cells_at_or_above_the_paper():
    """Tables 3 to 6: at the paper's lengths first, then with 10,000 rounds for phishing."""

    def ahead(paths):
        for (value, budget), figures in PAPER.items():
            for stream, figure in zip(SIX, figures, strict=True):
                if value == "accuracy":
                    found = by_stream(paths(stream), value, learner="I-NeurAL", budget=budget)[
                        stream
                    ]
                    yield statistics.mean(found) >= figure

    long, short = RESULTS / "accuracy.csv", RESULTS / "accuracy-2000.csv"
    stated = sum(ahead(lambda stream: short if stream == "phishing" else long))
    text = " ".join(section("Accuracy on rows held back (Tables 3 to 6)").split())
    assert f"the mean is at or above the paper in {stated} of 24" in text
    assert f"10,000 rounds for phishing as well it is {sum(ahead(lambda _: long))} of 24" in text
