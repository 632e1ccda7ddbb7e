"""Examples that draw figures of pages run, small, and print and write what they say."""

from pathlib import Path

import pandas as pd
import pytest
from streams import module_of

from river_ineural.active import Budget

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

RESULTS = EXAMPLES / "benchmarks" / "results"

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="benchmarks are in a checkout only")


def example(name):
    pytest.importorskip("matplotlib")
    return module_of(EXAMPLES / f"{name}.py")


def test_why_did_it_ask(tmp_path, capsys):
    example("why_did_it_ask").main(tmp_path / "decisions", rounds=600)
    printed = capsys.readouterr().out
    assert "round 1: asked: fewer than two classes are known" in printed
    assert "few classes" in printed.partition("reason  ")[2]
    for theme in ("light", "dark"):
        assert (tmp_path / f"decisions-{theme}.svg").stat().st_size > 10_000


def test_choosing_a_budget(tmp_path, capsys):
    module = example("choosing_a_budget")
    module.main(tmp_path / "budgets", tmp_path / "budgets.csv", rounds=400, seeds=1)
    rows = pd.read_csv(tmp_path / "budgets.csv")
    assert capsys.readouterr().out == module.table(rows) + "\n"
    budgets = module.budgets(400)
    assert len(rows) == 2 * len(budgets)
    for _, row in rows.iterrows():
        asked, budget = int(row["asked before"]) + int(row["asked after"]), budgets[row["budget"]]
        most = budget.total
        if isinstance(budget.limit, float) and budget.bucket is not None:
            most = budget.limit * 400 + budget.bucket
        assert asked <= (400 if most is None else most)
        assert int(row["early"]) <= asked
    assert budgets["20 labels"] == Budget(20)


def test_what_the_page_of_budgets_says_is_true_of_the_rows():
    """Its table is made of the rows when the site is built; this is its advice."""
    table = pd.read_csv(RESULTS / "budgets.csv")
    table["wrong"] = table["wrong before"] + table["wrong after"]
    wrong = table.groupby(["stream", "budget"])["wrong"].mean()
    asked = table.groupby(["stream", "budget"])[["asked before", "asked after"]].mean()
    steady, changes = wrong["steady"], wrong["changes"]
    rate, burst, short = "5 %, no horizon", "5 %, no horizon, burst of 20", "5 %, half the horizon"
    totals = ["300 labels", "5 %, right horizon"]
    assert steady.idxmax() == burst  # the kind hardly matters, but for few labels at the start
    assert steady.drop(burst).max() < 1.1 * steady.drop(burst).min()
    assert changes.drop("no limit").idxmin() == rate  # what to take where the stream may change
    assert (asked.loc["changes"].loc[totals, "asked before"] > 0.75 * 300).all()
    assert changes.idxmax() == short
    assert asked.loc["changes"].loc[short, "asked before"] > 0.95 * 150
