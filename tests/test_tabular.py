"""What is refitted answers and asks as it would row by row, and tables show what was run."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pytest

from river_ineural import datasets
from river_ineural.benchmark import cells, changes, tabular
from river_ineural.compare.refitted import REFITTED, Refitted, numbered, sampler

ROOT = Path(__file__).parents[1]
FOREST, BOOSTING, LINEAR = REFITTED


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of 300 rows in the places of magic's and sea's."""
    rng = np.random.default_rng(0)
    for name in ("magic", "sea"):
        y = rng.integers(0, 2, 300)
        np.savez(tmp_path / f"{name}.npz", X=rng.normal(size=(300, 3)) + y[:, None], y=y)
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    return tmp_path


def data(n=250, k=2):
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, 3)) + y[:, None], y


class Nearest:
    """A classifier with scikit-learn's methods: how near the mean of each class is."""

    def fit(self, x, y):
        y = np.array(y)
        self.classes_ = np.unique(y)
        self.means = np.array([x[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict_proba(self, x):
        distance = np.square(x[:, None] - self.means).sum(axis=2)
        weight = np.exp(-distance)
        return weight / weight.sum(axis=1, keepdims=True)


class Counting(Nearest):
    fitted, called = [], []

    def fit(self, x, y):
        self.fitted.append((len(x), len(self.called)))
        return super().fit(x, y)

    def predict_proba(self, x):
        self.called.append(len(x))
        return super().predict_proba(x)


@pytest.fixture
def counting(monkeypatch):
    monkeypatch.setattr(Counting, "fitted", [])
    monkeypatch.setattr(Counting, "called", [])
    monkeypatch.setitem(REFITTED, "counting", lambda seed: Counting())
    return Counting


@pytest.mark.parametrize("name", [LINEAR, "counting"])
@pytest.mark.parametrize("block", [7, 10_000])
def test_blocks_answer_as_row_by_row(name, block, counting):
    """The same predictions, asks and fits, in fewer calls."""
    x, y = data(k=3)
    runs = []
    for size in (1, block):
        before = len(counting.called)
        model = sampler(name, x, 0.2, 3, block=size)
        runs.append(changes.progress(model, numbered(len(y)), y.tolist()))
        if name == "counting":
            assert sum(counting.called[before:]) >= len(y) - 5
            calls = len(counting.called) - before
            assert (calls > len(y) - 5) == (size == 1)
    assert all(np.array_equal(*pair) for pair in zip(*runs, strict=True))
    wrong, asked = runs[0]
    assert 40 < asked.sum() <= 50
    assert wrong.mean() < 0.5


def test_it_is_fitted_whenever_labels_have_grown_by_a_twentieth(counting):
    """From the first two classes on; what was answered ahead is dropped then."""
    x, y = data(400)
    y[:6] = 0
    y[6] = 1
    learner = Refitted(Counting, x)
    assert learner.scores_one({"row": 0}) == {}
    for row, label in enumerate(y.tolist()):
        learner.learn_one({"row": row}, label)
    sizes = [n for n, _ in counting.fitted]
    assert sizes[0] == 7
    expected = [7]
    for n in range(8, 401):
        if n >= 1.05 * expected[-1]:
            expected.append(n)
    assert sizes == expected
    assert learner.n_fits == len(sizes)
    before = learner.scores_one({"row": 9})
    assert learner.scores_one({"row": 10}).keys() == before.keys()
    assert counting.called == [256]
    for row in range(21):
        learner.learn_one({"row": row}, 1)
    assert learner.scores_one({"row": 9}) != before
    assert counting.called == [256, 256]


def test_before_it_is_fitted_it_says_what_it_knows():
    learner = Refitted(Nearest, np.ones((3, 2)))
    learner.learn_one({"row": 0}, "a")
    assert learner.scores_one({"row": 1}) == {"a": 1.0}
    assert learner.seconds_an_answer() == 0
    learner.learn_one({"row": 1}, "b")
    assert learner.known_labels == ("a", "b")
    assert learner.scores_one({"row": 2}) == {"a": 0.5, "b": 0.5}


def test_it_asks_below_the_threshold_of_ineural():
    """2γβ (share left)^thrift by I-NeurAL's defaults, a twentieth of the budget held back first."""
    x, y = data(400)
    model = sampler(LINEAR, x, 0.1, 0)
    spared = 0
    for t, (example, label) in enumerate(zip(numbered(400), y.tolist(), strict=True), 1):
        known, asked = len(model.classifier.known_labels), model.n_queries
        _, ask = model.predict_one(example)
        if known > 1:
            left = max(0, ((40 - asked) / 40 - 0.05 * (1 - t / 400)) / 0.95)
            decision = model.last_decision
            assert decision.threshold == pytest.approx(0.96 * left**0.75, abs=1e-9)
            assert ask == (decision.gap < decision.threshold and asked < 40)
            spared += not ask and asked < 40
        if ask:
            model.learn_one(example, label)
    assert spared > 20
    assert model.n_queries > 30


@pytest.mark.parametrize("name", [FOREST, BOOSTING, LINEAR])
def test_scikit_learn_s_classifiers(name):
    """Each fits, answers with probabilities, and depends on nothing but the seed."""
    x, y = data(60)
    first, again = (REFITTED[name](2).fit(x, y).predict_proba(x) for _ in range(2))
    assert first.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(first, again)


def test_bundled_streams_have_all_their_rows():
    for name, n, d, k in (("ImageSegments", 2310, 18, 7), ("Bananas", 5300, 2, 2)):
        stream, other = (tabular.STREAMS[name].make(seed) for seed in (0, 1))
        assert stream.x.shape == (n, d)
        assert set(stream.y) == set(range(k))
        assert not np.array_equal(stream.x, other.x)
        assert np.array_equal(np.sort(stream.x, axis=0), np.sort(other.x, axis=0))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("learner", ["I-NeurAL", LINEAR, "logistic regression, at random"])
def test_a_row_says_what_was_run(learner):
    """Budget and length are those of the cell; answers one by one take longer where refitted."""
    row = tabular.run_one(cells.Cell("magic", learner, 0.1, 1, rounds=150))
    assert row["error"] == ""
    assert row["rounds"] == 150
    assert 0 < row["queries"] <= 15
    assert (len(row["curve"].split()), len(row["asks"].split())) == (100, 100)
    assert int(row["curve"].split()[-1]) == row["regret"]
    if learner == LINEAR:
        assert row["fits"] > 3
        assert row["row_by_row"] > row["seconds"]
    else:
        assert row["row_by_row"] == row["seconds"]
    failed = tabular.run_one(cells.Cell("weather", learner, 0.1, 1))
    assert "weather" in failed["error"]
    assert failed.keys() == row.keys()


def result(stream, learner, regret, seed=0, budget="0.05", seconds=1.0):
    row = {"stream": stream, "learner": learner, "budget": budget, "seed": str(seed), "error": ""}
    row |= {"rounds": "1000", "regret": str(regret), "seconds": str(seconds)}
    return row | {"row_by_row": str(10 * seconds)}


def test_the_tables_by_hand():
    """Each budget for itself; ratios 0.5 and 2 have a geometric mean of 1."""
    tree, lr = "Hoeffding adaptive tree, by margin", "logistic regression, at random"
    found = [
        *(result("magic", "I-NeurAL", n, seed) for seed, n in enumerate((90, 110))),
        *(result("magic", FOREST, n, seed, seconds=2.5) for seed, n in enumerate((150, 250))),
        *(result("magic", LINEAR, 400), result("magic", tree, 300), result("magic", lr, 200)),
        *(result("sea", "I-NeurAL", 200), result("sea", FOREST, 100)),
        result("sea", "I-NeurAL", 7, budget="0.1"),
    ]
    budgets = tabular.at_budgets(found)
    assert list(budgets) == [0.05, 0.1]
    lines = tabular.mistakes(budgets[0.05]).splitlines()
    assert lines[2:4] == [
        f"| magic | 1,000 | 100 ± 14 | 200 ± 71 |  | 400 ± 0 | 200 ± 0 ({lr}) | 0.50 |",
        "| sea | 1,000 | 200 ± 0 | 100 ± 0 |  |  |  | 2.00 |",
    ]
    mean = statistics.geometric_mean([0.5, 2.0])
    assert lines[5] == (
        f"Over {FOREST}: The geometric mean of 2 ratios is {mean:.3f}, the largest 2.00 (sea)."
    )
    assert lines[6] == f"Over {BOOSTING}: No ratios yet."
    assert "| sea | 1,000 | 7 ± 0 |" in tabular.mistakes(budgets[0.1])
    assert tabular.seconds(budgets[0.05]).splitlines()[2:] == [
        "| magic | 1.0 | 2.5 | 25.0 |  |  | 1.0 | 10.0 |",
        "| sea | 1.0 | 1.0 | 10.0 |  |  |  |  |",
    ]


def test_the_figure_has_a_place_for_each_stream(tmp_path):
    pytest.importorskip("matplotlib")
    found = [
        result(stream, learner, 300 + seed, seed, budget)
        for stream in ("magic", "sea")
        for learner in ("I-NeurAL", FOREST, "logistic regression, at random")
        for seed in (0, 1)
        for budget in ("0.05", "0.1")
    ]
    tabular.draw_budgets(found, tmp_path)
    for theme in ("light", "dark"):
        assert 5_000 < (tmp_path / f"tabular-{theme}.svg").stat().st_size < 150_000
    tabular.draw_budgets([], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_runs_from_the_command_line(folder, monkeypatch, capsys):
    """Two streams of which there are files, one of which there is none."""
    from river_ineural.benchmark import __main__ as command_line

    made = []

    def run_cells(wanted, path, n_jobs, run):
        made.extend((cell.stream, cell.learner, cell.budget, cell.seed) for cell in wanted)
        assert run is tabular.run_one
        assert path == folder / "tabular-100.csv"

    monkeypatch.setattr(tabular, "run_cells", run_cells)
    arguments = ["tabular", "--streams", "magic", "bank", "--learners", LINEAR, "I-NeurAL"]
    arguments += ["--seeds", "2", "--rounds", "100", "--out", str(folder)]
    monkeypatch.setattr("sys.argv", ["benchmark", *arguments])
    command_line.main()
    assert "bank: left out, there is no bank.npz" in capsys.readouterr().out
    learners = (LINEAR, "I-NeurAL")
    budgets, seeds = (0.05, 0.1), (0, 1)
    assert made == [("magic", name, b, s) for s in seeds for b in budgets for name in learners]


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="rows are in a checkout only")
def test_the_page_has_the_tables_of_the_rows():
    """As the command prints them, for each budget of which there are rows."""
    page = (ROOT / "docs" / "tabular.md").read_text()
    for rows in tabular.at_budgets(cells.read(ROOT / "results" / "tabular.csv")).values():
        assert tabular.mistakes(rows) in page
        assert tabular.seconds(rows) in page
