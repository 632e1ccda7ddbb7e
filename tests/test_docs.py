"""Numbers of docs/results.md, made again from the rows in results/."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest

from river_ineural.benchmark.cells import read
from river_ineural.benchmark.tables import PAPER, RELEASED, SIX, spread

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
PAGE = (ROOT / "docs" / "results.md").read_text()

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="rows are in a checkout only")


def section(title):
    """Text under a heading."""
    _, _, rest = PAGE.partition(f"\n## {title}\n")
    assert rest, title
    return rest.partition("\n## ")[0]


def lines(text):
    """Cells of the rows of all tables by their first cell, without marks of boldness."""
    rows = [line.replace("*", "").split("|")[1:-1] for line in text.splitlines() if "|" in line]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def by_stream(path, value, **wanted):
    """Values of a file's rows by stream, in the order of seeds."""
    rows = [row for row in read(path) if wanted.items() <= row.items()]
    rows.sort(key=lambda row: int(row["seed"]))
    return {s: [float(row[value]) for row in rows if row["stream"] == s] for s in SIX}


def test_table_1():
    """Mean ± deviation of 20 seeds, the first five, and what stands beside them."""
    table = lines(section("Regret at 3 % of the labels (Table 1)"))
    found = by_stream(RESULTS / "regret.csv", "regret").values()
    assert {len(values) for values in found} == {20}
    assert table["here"] == [spread(values, "{:,.0f}") for values in found]
    first = [statistics.mean(values[:5]) for values in found]
    assert table["the first 5 seeds"] == [f"{mean:,.0f}" for mean in first]
    worst = [max(values) / statistics.median(values) for values in found]
    assert table["worst of 20 seeds over their median"] == [f"{ratio:.2f}" for ratio in worst]
    paper, released = PAPER["regret", "0.03"], RELEASED["regret", "0.03"]
    assert table["the paper"] == [f"{figure:,}" for figure in paper]
    assert table["its released code, on these rows"] == [f"{figure:,}" for figure in released]
    ratios = [statistics.mean(values) / r for values, r in zip(found, released, strict=True)]
    assert table["here over released code"] == [f"{ratio:.2f}" for ratio in ratios]
    text = " ".join(section("Regret at 3 % of the labels (Table 1)").split())
    assert f"the last line is {math.prod(ratios) ** (1 / 6):.3f}" in text
    ratios = [mean / r for mean, r in zip(first, released, strict=True)]
    assert f"the first five seeds {math.prod(ratios) ** (1 / 6):.3f}" in text


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


def test_parts_left_out():
    """Mean ± deviation of five seeds of each line."""
    table = lines(section("Parts left out"))
    named = {
        "I-NeurAL": "all parts",
        "with f2": r"with \(f_2\), as the paper has it",
        "f2 teaches": r"\(f_2\) says what may be learned",
        "one ring": "one ring for labels and pseudo-labels",
    }
    learners = dict.fromkeys(row["learner"] for row in read(RESULTS / "ablation.csv"))
    for learner in learners:
        found = by_stream(RESULTS / "ablation.csv", "regret", learner=learner)
        shown = [spread(values, "{:,.0f}") for values in found.values() if values]
        assert table[named.get(learner, learner)] == shown, learner
    assert len(table) == len(learners) + 2  # the heading, and what is under it
