"""What is in examples/: rows, streams, learners and figures of benchmarks are what they say."""

import importlib
import re
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import river.datasets
from streams import module_of

from river_ineural import datasets
from river_ineural.active import Budget
from river_ineural.compare.refitted import numbered
from river_ineural.explorers.trust import EXPLORERS

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
if not (EXAMPLES / "benchmarks").is_dir():
    pytest.skip("benchmarks are in a checkout only", allow_module_level=True)
pytest.importorskip("matplotlib", reason="needs the extra benchmark")
pytest.importorskip("sklearn", reason="needs the extra benchmark")

NAMES = "changes changing common figures foreign labels late learners paper_streams tabular theory"
(
    changes,
    changing,
    common,
    figures,
    foreign,
    labels,
    late,
    learners,
    paper_streams,
    tabular,
    theory,
) = map(importlib.import_module, NAMES.split())
companions = importlib.import_module("companions")
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
GENERATED = [name for name, source in changing.STREAMS.items() if source.file is None]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of 800 rows in the places of some data sets', labels in words of their own."""
    rng = np.random.default_rng(0)
    for name, labels in (("robot", (1, 3, 5, 7)), ("fashion_10", range(3)), ("ijcnn", (-1, 1))):
        y = np.resize(labels, 800)
        np.savez(tmp_path / f"{name}.npz", X=rng.normal(size=(800, 5)) + y[:, None], y=y)
    np.savez(tmp_path / "weather.npz", X=np.arange(20.0).reshape(10, 2), y=np.arange(10) % 2)
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    return tmp_path


def cells(n, learner="I-NeurAL"):
    return [common.Cell("s", learner, 0.05, seed) for seed in range(n)]


def test_a_row_that_is_there_is_not_run_again_and_a_failure_is_a_row_that_is(tmp_path):
    """What other cells wrote stays as it was, to the letter."""
    path, made, broken = tmp_path / "rows.csv", [], {1}

    def measure(cell):
        made.append(cell.seed)
        if cell.seed in broken:
            raise ValueError("it broke")
        return {"rounds": 7, "regret": 3, "queries": 2, "seconds": 0.10, "curve": "1 2"}

    columns = (*common.COUNTED, "curve", *common.MACHINE)
    common.run_cells(cells(2), path, columns, measure)
    assert made == [0, 1]
    good, bad = common.rows_of(path)
    assert (good["error"], good["regret"], good["seconds"]) == ("", "3", "0.1")
    assert (bad["error"], bad["regret"]) == ("ValueError: it broke", "")
    assert list(good) == list(columns)
    assert all(good[name] == bad[name] != "" for name in common.MACHINE)
    assert common.read(path)["seed"].tolist() == [0]

    before = path.read_text().splitlines()
    broken.clear()
    common.run_cells([*cells(3), *cells(1, "f1 alone")], path, columns, measure)
    assert made == [0, 1, 1, 2, 0]
    assert path.read_text().splitlines()[:2] == before[:2]
    assert common.read(path)["seed"].tolist() == [0, 1, 2, 0]


@pytest.mark.slow
def test_a_command_prints_its_table_and_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    words = ["--streams", "Bananas", "bank", "--learners", "I-NeurAL", "f1 and forest"]
    words += ["--seeds", "1", "--budgets", "0.1", "--rounds", "120", "--out", str(tmp_path)]
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    printed = []
    for jobs in ("2", "1"):
        monkeypatch.setattr(sys, "argv", ["tabular.py", *words, "--jobs", jobs])
        tabular.main()
        printed.append(capsys.readouterr().out)
    assert printed[0].count("mistakes  ") == 2
    assert printed[1].count("mistakes  ") == 0
    rows = common.read(tmp_path / "tabular-120.csv")
    assert set(rows["learner"]) == {"I-NeurAL", "f1 and forest"}
    for text in printed:
        assert "bank: left out, there is no bank.npz" in text
        assert tabular.mistakes(rows) in text


@pytest.mark.parametrize(
    ("script", "stream"),
    [
        *[(tabular, "Bananas"), (foreign, "iris"), (changes, "mixed gradual")],
        (paper_streams, "river.datasets:Phishing"),
    ],
)
def test_the_same_seed_makes_the_same_row(script, stream):
    rows = [
        common.row_of(script.measure, common.Cell(stream, "I-NeurAL", 0.05, seed, rounds=150))
        for seed in (1, 1, 2)
    ]
    for row in rows:
        assert row["error"] == ""
        assert set(script.COLUMNS) <= row.keys()
        row.pop("seconds")
        row.pop("microseconds")
        row.pop("row_by_row", 0)
    assert rows[0] == rows[1]
    assert rows[0]["curve"] != rows[2]["curve"]


def test_a_margin_that_adapts_spends_its_budget_around_each_companion():
    """By the rows, on each stream and with each seed, and to the end; a fixed one stops early."""
    rows = common.read(common.RESULTS / "companions.csv")
    rows["spent"] = rows["queries"] / rows["most"]
    assert len(rows) == 3 * 3 * len(companions.CLASSIFIERS) * len(companions.STREAMS) == 450
    fixed = rows["learner"].str.endswith("threshold 0.5")
    assert rows[~fixed]["spent"].between(0.9, 1).all()
    assert (rows[~fixed]["asked_late"] > 0).all()
    assert rows[fixed]["spent"].min() < 0.05
    learner = "Hoeffding tree, with a horizon"
    row = companions.measure(common.Cell("Phishing", learner, 0.05, 1))
    (kept,) = common.chosen(rows, stream="Phishing", learner=learner, seed=1).to_dict("records")
    assert (row["queries"], row["most"], row["regret"]) == (62, 62, kept["regret"])


class Recorder:
    """It predicts 1, asks every third round, and keeps what it learns."""

    def __init__(self):
        self.rounds, self.learned = 0, []
        self.classifier = SimpleNamespace(predict_one=lambda x: 1)

    def predict_one(self, x):
        self.rounds += 1
        return 1, self.rounds % 3 == 0

    def learn_one(self, x, y):
        self.learned.append((x, y))


def test_a_row_counts_mistakes_and_labels_and_what_is_held_back_is_not_learned(monkeypatch):
    model, asked = Recorder(), []
    monkeypatch.setattr(paper_streams, "new", lambda *given: asked.append(given) or model)
    cell = common.Cell("river.datasets:Phishing", "recorder", 0.5, 3, rounds=250)
    row = common.row_of(paper_streams.measure, cell)
    xs, ys = paper_streams.load(cell)
    xs, wrong = list(xs), np.array(ys) != 1
    assert asked == [("recorder", 0.5, 250, 3, 2)]
    assert model.learned == list(zip(xs, ys, strict=True))[2:250:3]
    assert (row["error"], row["rounds"], row["queries"]) == ("", 250, 83)
    assert row["regret"] == wrong[:250].sum()
    curve = [int(n) for n in row["curve"].split()]
    assert curve == [wrong[: -(-5 * i // 2)].sum() for i in range(1, 101)]
    assert row["accuracy"] == round(100 * (1 - wrong[250:].mean()), 3)
    greedy = common.row_of(paper_streams.measure, common.Cell(cell.stream, "recorder", 0.1, 3))
    assert greedy["error"].startswith("AssertionError")  # it asked for more than its budget


@pytest.mark.parametrize("name", GENERATED)
def test_a_seed_says_all_of_a_generated_stream(name):
    stream, again, other = (changing.STREAMS[name].make(seed) for seed in (1, 1, 2))
    n = len(stream.y)
    assert n in ((20_000,) if name in changing.FLIPS else (9_999, 10_000))
    assert np.isfinite(stream.x).all()
    assert np.array_equal(np.unique(stream.y), np.arange(stream.y.max() + 1))
    assert all(0 < change < n for change in stream.changes)
    assert np.array_equal(stream.x, again.x)
    assert np.array_equal(stream.y, again.y)
    assert not np.array_equal(stream.x, other.x)


def test_generated_streams_change_where_they_say():
    """The second variant of `Mixed` has the labels of the first the other way round."""
    stream = changing.PANEL["mixed"].make(3)
    boolean, other, x, y = stream.x.T
    votes = boolean + other + (y < 0.5 + 0.3 * np.sin(3 * np.pi * x))
    parts = np.split((votes < 2) == stream.y, stream.changes)
    assert stream.changes == (3333, 6666)
    assert [len(np.unique(part)) for part in parts] == [1, 1, 1]
    assert parts[0][0] == parts[2][0] != parts[1][0]

    stream = changing.FLIPS["label flip"].make(0)
    known = datasets.KnownPosterior(n_features=10, margin=1.0, seed=0)
    before = known.posteriors(stream.x).argmax(1) == stream.y
    assert stream.changes == (10_000,)
    assert (before[:10_000].mean(), before[10_000:].mean()) == (1, 0)


def test_labels_are_renamed_half_way():
    y = np.arange(600) % 3
    for kind, after in (
        *(("renamed", [3, 4, 5]), ("one", [3])),
        *(("gone", [0]), ("half", [1, 2, 3])),
    ):
        stream = changing.relabelled(kind, np.zeros((600, 2)), y, seed=0)
        assert np.array_equal(stream.y[:300], y[:300])
        assert (sorted({*stream.y[300:].tolist()}), stream.changes) == (after, (300,))


@pytest.mark.usefixtures("folder")
def test_data_sets_are_changed_where_they_say():
    plain, stream = changing.STILL["robot"].make(1), changing.PANEL["robot arriving"].make(1)
    assert stream.changes == (200,)
    assert set(stream.y[:200]) == {0, 1}
    assert set(stream.y[200:230]) == {0, 1, 2, 3}
    assert {tuple(row) for row in stream.x} == {tuple(row) for row in plain.x}
    for schedule, starts in (
        (changing.once, (400,)),
        (changing.back_and_forth, (200, 400, 600)),
        (changing.more_and_more, (320, 480)),
    ):
        stream = changing.rotated(schedule, plain.x, plain.y, 1)
        further = (stream.y - plain.y) % 4
        means = [part.mean() for part in np.split(further, starts)]
        assert (stream.changes, set(further)) == (starts, {0, 1})
        if schedule is changing.more_and_more:
            assert 0.4 < means.pop(1) < 0.6
        assert means == [0, 1, 0, 1][: len(means)]

    plain, stream = changing.STILL["ijcnn"].make(1), changing.PANEL["ijcnn permuted"].make(1)
    assert np.array_equal(stream.x[:400], plain.x[:400])
    assert not np.array_equal(stream.x[400:], plain.x[400:])
    assert {tuple(column) for column in stream.x[400:].T} == {tuple(c) for c in plain.x[400:].T}

    for seed in (0, 1):  # as they were recorded
        assert changing.PANEL["weather"].make(seed).x[:, 0].tolist() == [*range(0, 20, 2)]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "name", {re.sub(r"[\d.]+", "", n): n for n in paper_streams.NAMES}.values()
)
def test_every_learner_runs_within_its_budget(name):
    stream = changing.STILL["ijcnn"].make(2)
    model = learners.new(name, 0.4, 40, 2, 2)
    row = common.follow(model, common.examples(stream.x[:40]), stream.y[:40].tolist())
    assert 0 < row["queries"] <= 16


@pytest.mark.skipif(not learners.of_activeml.THERE, reason="needs the extra activeml")
@pytest.mark.parametrize("name", learners.ACTIVEML)
def test_a_strategy_of_scikit_activeml_keeps_to_a_share_and_learns(name):
    x = np.random.default_rng(1).normal(size=(400, 3))
    y = (x[:, 0] > 0).astype(int).tolist()
    model = learners.refitted(name, x, 0.1, seed=1)
    row = common.follow(model, numbered(x), y)
    assert 10 < row["queries"] <= 60
    assert row["regret"] < 100


@pytest.mark.skipif(not learners.of_moa.THERE, reason="needs the extra moa, and Java")
@pytest.mark.parametrize("name", [n for n in learners.MOA if n.endswith("uncertainty")])
def test_a_learner_of_moa_keeps_its_budget_and_learns(name):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    model = learners.new(name, 0.2, 400, 2, 2)
    row = common.follow(
        model, common.examples(rng.normal(size=(400, 3)) + 3 * y[:, None]), y.tolist()
    )
    assert 40 < row["queries"] <= 80
    assert row["regret"] < 120


def test_learners_are_what_their_names_say():
    made = {name: learners.new(name, 0.05, 1000, 3, 2) for name in learners.LEARNERS}
    names = "I-NeurAL", "f1 and f2", "f1 and forest", "f1 alone"
    explorers = [{*made[name].classifier.explorers} for name in names]
    assert explorers == [{*EXPLORERS}, {"network"}, {"forest"}, set()]
    for name, model in made.items():
        if name.startswith("Margin"):
            assert name == f"Margin {model.threshold}"
        elif name.startswith("NeuAL"):
            assert name == f"NeuAL-NTK-{type(model).__name__[-1]} {model.gamma}"


def rows(*found):
    return pd.DataFrame(found, columns=["stream", "learner", "regret"]).assign(budget=0.03)


def test_of_each_method_the_setting_of_least_mean_mistakes_is_shown():
    worse = [("phishing", "Margin 0.9", n) for n in (24, 22)]
    least = [("phishing", "Margin 0.5", n) for n in (10, 30)] + [("ijcnn", "Margin 0.9", 50)]
    found = common.best(rows(*worse, *least))
    said = found["learner"] + " " + found["setting"]
    assert list(zip(found["stream"], said, found["regret"], strict=True)) == least


def test_ratios_are_of_means_of_the_seeds_of_both_and_their_mean_is_geometric():
    of_a = ("a", "x", 1), ("a", "x", 3), ("a", "x", 90), ("a", "y", 5), ("a", "y", 3)
    found = rows(*of_a, ("b", "x", 6), ("b", "y", 3)).assign(seed=[0, 1, 2, 0, 1, 0, 0])
    ratios = common.ratios(found, "x", "y", ["a", "b"])
    assert ratios.to_dict() == {"a": 0.5, "b": 2.0}
    said = "The geometric mean of all 2 ratios is 1.000, the largest 2.00 (b)."
    assert changes.summary(ratios) == said


def test_foreign_tables_reach_rivals_as_numbers():
    mixed = pd.DataFrame({"age": [1.0, np.nan, 4.0, 9.0], "job": ["a", None, "b", "a"]})
    found = foreign.one_hot(mixed)  # age, age missing, a, b, job missing
    wanted = [[1, 0, 1, 0, 0], [4, 1, 0, 0, 1], [4, 0, 0, 1, 0], [9, 0, 1, 0, 0]]
    assert found.tolist() == wanted
    numbers = [foreign.one_hot(foreign.table("iris", seed).features) for seed in (0, 0, 1)]
    assert (numbers[0] == numbers[1]).all()
    assert (numbers[0] != numbers[2]).any()
    assert {foreign.table("iris", seed).labels.count("2") for seed in (0, 1)} == {50}


def test_a_foreign_table_is_measured_by_the_rival_that_is_best_on_average():
    """On the seeds that all have run."""
    made = {"I-NeurAL": (10, 20, 90), foreign.RIVALS[0]: (10, 50, 1)}
    made |= dict.fromkeys(foreign.RIVALS[1:], (22, 18))
    each = [(name, seed, n) for name, all_ in made.items() for seed, n in enumerate(all_)]
    found = rows(*(("iris", name, n) for name, _, n in each))
    found = found.assign(budget=15.0, seed=[seed for _, seed, _ in each])
    assert foreign.over_best(found, 15.0).to_dict() == {"iris": 0.75}
    assert "| iris |  |  |  |  |  | 0.75 |  |" in foreign.mistakes(found)


def test_labels_of_a_foreign_table_are_counted_or_a_share():
    for budget, most in ((0.1, 15), (30.0, 30)):
        for learner in ("I-NeurAL", *foreign.RIVALS[1:]):
            row = foreign.measure(common.Cell("iris", learner, budget, 1))
            assert 0.4 * most < row["queries"] <= most
            assert row["commonest"] == 100


@pytest.mark.parametrize("learner", theory.LEARNERS)
def test_theory_adds_up(learner, monkeypatch):
    """Without noise a mistake loses 1; both estimates agree; a seed says all."""
    monkeypatch.setitem(theory.STREAMS, "no noise", {"margin": 1.0})
    cell = common.Cell("no noise", learner, 1.0, 1, rounds=250)
    row = theory.measure(cell)
    assert row["regret"] == int(row["regret"])
    assert 0 < row["regret"] < 250
    assert row["fresh_regret"] == pytest.approx(row["regret"], abs=30)
    assert row["fresh_labels"] == pytest.approx(row["labels"], abs=15)
    assert list(row) == list(theory.COLUMNS)
    assert theory.measure(cell) == row


# Figures of the pages are made of the rows, and none is typed


@pytest.mark.parametrize("page", PAGES)
def test_each_figure_of_a_page_is_in_the_rows(page):
    """The best of a table are looked for among as many rows and columns as it has."""
    filled = figures.filled((DOCS / page).read_text())
    assert "{{" not in filled
    for columns, table in re.findall(r"<!-- best: .*? in (.*?) of .*?-->\n+((?:\|.*\n)+)", filled):
        lines = [line.count("|") - 1 for line in table.splitlines()]
        assert len({*lines}) == 1
        most = lines[0] if columns.startswith("columns") else len(lines) - 2
        assert max(map(int, re.findall(r"\d+", columns))) <= most


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("tabular.nothing", "no figure tabular.nothing"),
        ("nothing.mean", "no nothing.csv"),
        ("tabular.over_forest budget=0.07", "No row of tabular.csv has budget = 0.07"),
        ("tabular.over_forest color=red", "tabular.csv has no column color"),
        ('tabular.ratio under="nobody"', "tabular.csv lacks I-NeurAL or nobody on magic"),
        ("regret.by_stream stream=mnist", "Rows of regret.csv are missing"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_it(wanted, said):
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        figures.filled(f"a {{{{ {wanted} }}}} b")
    assert wanted in str(error.value)


def test_constants_that_a_page_names_are_in_the_code():
    source = "\n".join(path.read_text() for path in ROOT.glob("river_ineural/**/*.py"))
    constants = re.findall(r"`([A-Z][A-Z_]+)`", (DOCS / "deviations.md").read_text())
    assert len(constants) > 20
    assert not [n for n in constants if not re.search(rf"^ *(?:\w+, )*{n}\b.* = ", source, re.M)]


def test_labels_needed_are_read_off_between_two_shares():
    found = [("I-NeurAL", 0.01, 40), ("I-NeurAL", 0.04, 20), (tabular.FOREST, 0.05, 30)]
    rows = [{"stream": "sea", "learner": n, "budget": b, "regret": r} for n, b, r in found]
    rows = pd.DataFrame(rows)
    assert labels.needed(rows, "sea", tabular.FOREST) == (pytest.approx(0.02), "")
    assert labels.needed(rows.replace(30, 50), "sea", tabular.FOREST) == (0.01, "<")
    assert labels.needed(rows.replace(30, 10), "sea", tabular.FOREST) == (0.04, ">")


def test_a_typed_number_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# 1 of 2\n\n0.5 as `0.5` and \\(0.5\\) in 2022; 42 % worse. {{ regret.mean digits=1 }}\n"
        "0.99<!-- tabular.over_forest --> of 10 % of the labels\n```text\n77\n```\n"
    )
    made = figures.text("tabular.over_forest")
    wrong = [f"0.99 is written, tabular.over_forest is {made}", "line 3: 0.5", "line 3: 42 %"]
    typed = module_of(DOCS / "typed.py")  # the script that looks for them
    assert typed.wrong_in(page) == wrong
    guide = tmp_path / "deviations.md"  # where constants may be typed, but no results
    guide.write_text("At most 1,024 of 0.5, and 42 % or 3.5 %.")
    assert typed.wrong_in(guide) == ["line 1: 42 %", "line 1: 3.5 %"]


def test_late_labels_come_by_features_and_by_name():
    """Each way of both tables, on a few rows: no question waits once its label was given."""
    rows = list(river.datasets.Phishing().take(150))
    for run in [*(partial(way, late=50) for way in late.WAYS.values()), *late.WRONG.values()]:
        model, accuracies = run(rows, 1)
        assert all(each.round >= 100 for each in model.queries())
        assert model.n_queries <= 7
        assert min(accuracies) > 0.4


# Examples that draw figures of pages run, small, and print and write what they say


def test_why_did_it_ask(tmp_path, capsys):
    module_of(EXAMPLES / "why_did_it_ask.py").main(tmp_path / "decisions", rounds=600)
    printed = capsys.readouterr().out
    assert "round 1: asked: fewer than two classes have labels" in printed
    assert "few classes" in printed.partition("reason  ")[2]
    for theme in ("light", "dark"):
        assert (tmp_path / f"decisions-{theme}.svg").stat().st_size > 10_000


def test_choosing_a_budget(tmp_path, capsys):
    module = module_of(EXAMPLES / "choosing_a_budget.py")
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
    table = pd.read_csv(EXAMPLES / "benchmarks" / "results" / "budgets.csv")
    table["wrong"] = table["wrong before"] + table["wrong after"]
    wrong = table.groupby(["stream", "budget"])["wrong"].mean()
    asked = table.groupby(["stream", "budget"])[["asked before", "asked after"]].mean()
    steady, changes = wrong["steady"], wrong["changes"]
    rate, burst, short = "5 %, no horizon", "5 %, no horizon, burst of 20", "5 %, half the horizon"
    more = ["no limit", "5 %, twice the horizon"]  # which ask for more labels than were meant
    totals = ["300 labels", "5 %, right horizon"]
    assert steady.idxmax() == burst  # the kind hardly matters, but for few labels at the start
    assert steady.drop(burst).max() < 1.1 * steady.drop(burst).min()
    assert changes.drop(more).idxmin() == rate  # what to take where the stream may change
    assert (
        asked.loc["changes"].loc[more].sum(axis=1).min()
        > 1.3 * asked.loc["changes"].loc[rate].sum()
    )
    assert (asked.loc["changes"].loc[totals, "asked before"] > 0.75 * 300).all()
    assert changes.idxmax() == short
    assert asked.loc["changes"].loc[short, "asked before"] > 0.95 * 150
