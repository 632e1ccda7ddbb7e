"""Examples that draw figures of pages run, small, and print and write what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from river_ineural.active import Budget

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

RESULTS = EXAMPLES / "benchmarks" / "results"

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="benchmarks are in a checkout only")


def example(name):
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_why_did_it_ask(tmp_path, capsys):
    example("why_did_it_ask").main(tmp_path / "decisions", rounds=600)
    printed = capsys.readouterr().out
    assert "round 1: asked: fewer than two classes are known" in printed
    assert "few classes" in printed.partition("reason  ")[2]
    for theme in ("light", "dark"):
        assert (tmp_path / f"decisions-{theme}.svg").stat().st_size > 10_000


def test_choosing_a_budget(tmp_path, capsys):
    module = example("choosing_a_budget")
    module.main(tmp_path / "budgets", tmp_path / "budgets.csv", rounds=400, seeds=2)
    rows = pd.read_csv(tmp_path / "budgets.csv")
    assert capsys.readouterr().out == module.table(rows) + "\n"
    budgets = module.budgets(400)
    assert len(rows) == 2 * 2 * len(budgets)
    for _, row in rows.iterrows():
        asked, budget = int(row["asked before"]) + int(row["asked after"]), budgets[row["budget"]]
        most = budget.total
        if isinstance(budget.limit, float) and budget.bucket is not None:
            most = budget.limit * 400 + budget.bucket
        assert asked <= (400 if most is None else most)
        assert int(row["early"]) <= asked
    assert budgets["20 labels"] == Budget(20)


def test_the_page_of_budgets_shows_the_rows():
    """Its table, and the numbers of its text."""
    module = example("choosing_a_budget")
    page = (ROOT / "docs" / "choosing-a-budget.md").read_text()
    table = pd.read_csv(RESULTS / "budgets.csv")
    assert module.table(table) in page
    rows = table.to_dict("records")
    text = " ".join(page.split())

    def mean(budget, column, stream="changes"):
        own = [row for row in rows if (row["budget"], row["stream"]) == (budget, stream)]
        return sum(int(row[column]) for row in own) / len(own)

    rate, total, told = "5 %, no horizon", "300 labels", "5 %, right horizon"
    before, after = mean(rate, "asked before"), mean(rate, "asked after")
    assert f"asked for {before:.0f} by round 3,000, and asks for {after:.0f} more" in text
    left = 300 - mean(total, "asked before"), 300 - mean(told, "asked before")
    assert (
        f"Of a total {left[0]:.0f} labels are left by then, with the horizon {left[1]:.0f}" in text
    )
    short = "5 %, half the horizon"
    assert f"{mean(short, 'asked before'):.0f} of 150 labels are gone half way" in text
    early = [mean(b, "early") for b in module.budgets(6_000) if not b.endswith("burst of 20")]
    assert f"the others ask for {min(early):.0f} and more in the first 150 rounds" in text
    wrong = [int(r["wrong after"]) for r in rows if (r["budget"], r["stream"]) == (told, "changes")]
    assert len(wrong) == 5
    assert sum(each >= 1_500 for each in wrong) == 3
