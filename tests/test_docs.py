"""Tables of the pages, made again from the rows by the benchmarks that they name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "examples" / "benchmarks" / "results"
if not RESULTS.is_dir():
    pytest.skip("rows are in a checkout only", allow_module_level=True)
pytest.importorskip("matplotlib", reason="needs the extra benchmark")
pytest.importorskip("sklearn", reason="needs the extra benchmark")

NAMES = "changes common paper_streams tabular theory"
changes, common, paper_streams, tabular, theory = map(importlib.import_module, NAMES.split())
TABULAR = common.read(RESULTS / "tabular.csv")


def page(name):
    return (ROOT / "docs" / f"{name}.md").read_text()


@pytest.mark.parametrize("budget", [0.05, 0.1])
def test_the_page_of_tables_is_that_of_the_rows(budget):
    rows = TABULAR[TABULAR["budget"] == budget]
    assert tabular.mistakes(rows) in page("tabular")
    assert tabular.seconds(rows) in page("tabular")


def test_the_page_of_changes_is_that_of_the_rows():
    rows = common.read(RESULTS / "changes.csv")
    for table in (changes.panel, changes.flips, changes.standing, changes.relabelled):
        assert table(rows) in page("streams-that-change")


@pytest.mark.parametrize(
    "name", ["regret", "baselines", "accuracy", "sensitivity", "multiclass", "theory"]
)
def test_the_tables_of_the_paper_s_experiments_are_those_of_the_rows(name):
    if name == "theory":
        rows = pd.read_csv(RESULTS / "theory.csv")
        assert theory.agreement(rows) in page("results")
    else:
        rows = common.read(RESULTS / f"{name}.csv")
    assert importlib.import_module(name).table(rows) in page("results")


def test_cells_at_or_above_the_paper_are_counted():
    """Tables 3 to 6: at the paper's lengths first, then with 10,000 rounds for phishing."""
    long, short = (common.read(RESULTS / f"{name}.csv") for name in ("accuracy", "accuracy-2000"))

    def ahead(of_phishing):
        for budget in (0.03, 0.1, 0.2, 0.5):
            for stream, figure in paper_streams.cited("accuracy", budget, "I-NeurAL").items():
                rows = of_phishing if stream == "phishing" else long
                where = {"stream": stream, "learner": "I-NeurAL", "budget": budget}
                yield pd.Series(common.of(rows, "accuracy", **where)).mean() >= figure

    text = " ".join(page("results").split())
    assert f"the mean is at or above the paper in {sum(ahead(short))} of 24" in text
    assert f"10,000 rounds for phishing as well it is {sum(ahead(long))} of 24" in text


def test_ratios_of_the_comparison_are_those_of_the_rows():
    text = " ".join(page("compared-with").split())
    rows = TABULAR[TABULAR["budget"] == 0.05]
    found = r"Over (.*?): The geometric mean of 13 ratios is ([\d.]+)"
    means = {name: float(mean) for name, mean in re.findall(found, tabular.mistakes(rows))}
    river = means["River's best"]
    assert f"makes {river:.2f} times as many as the best of six" in text
    assert f"over the forest, is {means['random forest, refitted']:.2f} (" in text
    assert f"boosting ({means['gradient boosting, refitted']:.2f} times" in text
    assert f"regression ({means['logistic regression, refitted']:.2f} times" in text
    over = changes.ratios(rows, "I-NeurAL", tabular.FOREST, tabular.STREAMS)
    assert f"on {('none', 'one', 'two', 'three', 'four')[sum(over > 1)]} of 13 tables" in text
    panel = changes.panel(common.read(RESULTS / "changes.csv"))
    (mean,) = re.findall(r"mean of 29 ratios is ([\d.]+)", panel)
    assert f"on 29 streams that change {mean} times" in text
