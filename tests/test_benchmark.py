"""The benchmark commands run and report what they say."""

from __future__ import annotations

import concurrent.futures
import csv
import dataclasses
import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from river import base

import river_ineural
from river_ineural import INeurAL, NeurONAL, active, datasets
from river_ineural.benchmark import __main__ as command_line
from river_ineural.benchmark import (
    against,
    cells,
    contenders,
    device,
    figures,
    learners,
    profile,
    speed,
    tables,
    theory,
)


def test_speed_prints_and_writes_a_row_a_size(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(speed, "SIZES", ((5, 2), (4, 3)))
    monkeypatch.setattr(speed, "DENSE_SIZE", (5, 3))
    monkeypatch.setattr(speed, "EARLY", 30)
    monkeypatch.setattr(speed, "WINDOW", 20)
    monkeypatch.setattr(speed, "LATE", 200)
    monkeypatch.setattr(speed, "LONG", 50)
    monkeypatch.setattr(speed, "CLASSES", (2, 3, 4, 5))
    monkeypatch.setattr(speed, "OF_CLASSES", 6)
    monkeypatch.setattr(speed, "LABELS", (40, 50))
    speed.run(n_calls=5, folder=tmp_path)
    with (tmp_path / "speed.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["d"], row["k"]) for row in rows] == [("5", "2"), ("4", "3")]
    assert all(float(row[name]) > 0 for row in rows for name in speed.COLUMNS)
    with (tmp_path / "speed-ratios.csv").open() as file:
        ratios = {row["ratio"]: float(row["value"]) for row in csv.DictReader(file)}
    assert ratios["memory at a late round"] == pytest.approx(1, abs=0.05)
    with (tmp_path / "speed-labels.csv").open() as file:
        labels = [(row["d"], row["from"], row["to"]) for row in csv.DictReader(file)]
    assert labels == [(d, *ends) for d in ("22", "68") for ends in (("31", "40"), ("41", "50"))]
    for name in ("speed", "speed-classes"):
        assert (tmp_path / f"{name}-light.svg").stat().st_size > 0
    with (tmp_path / "speed-classes.csv").open() as file:
        assert [row["k"] for row in csv.DictReader(file)] == ["2", "3", "4", "5"]
    assert len(capsys.readouterr().out.splitlines()) == 2 + 2 + len(labels) + len(ratios)


def test_profile_has_a_part_a_line_and_parts_are_within_the_whole(monkeypatch, capsys):
    monkeypatch.setattr(profile, "SIZES", ((5, 2),))
    profile.run(n_calls=20)
    printed = [line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines()[1:]]
    times = {name: float(time) for name, time in printed}
    assert 0 < times["  a step"] < times["learn_one"]
    assert 0 < times["    draw"] < times["  a step"]


def test_dense_contexts_are_the_blocks_written_out():
    """Each context holds one example's numbers in its class's block, and 0 elsewhere."""
    dense = contenders.Dense(3, 4)
    blocks = dense.contexts.view(-1, 4, 3)
    for i, context in enumerate(blocks):
        assert (context.abs().sum(1) > 0).nonzero().flatten().tolist() == [i % 4]
    before = dense.flat.clone()
    dense.step()
    assert (dense.flat != before).float().mean() > 0.9  # both networks moved


@pytest.mark.parametrize(("d", "k"), [(7, 2), (3, 5)])
def test_the_floor_and_the_model_take_a_step_of_the_same_size(d, k):
    """The floor is no floor if its networks or its batch are smaller than the model's."""
    model = speed.new_model(k)
    model.learn_one({f"f{j}": 1.0 for j in range(d)}, 0)
    trainer = model._state.trainer
    assert trainer.shape[:3] == (k, d + 1, speed.WIDTH)
    sizes = [len(part) for part in trainer.weights.networks]
    floor = contenders.Floor(d + 1, k)
    assert trainer.step.activations.n_contexts == floor.n
    assert sizes == [floor.split, len(floor.flat) - floor.split]


@pytest.fixture
def small_ijcnn(tmp_path, monkeypatch):
    """A file in the place of ijcnn's: 60 rows, whose first feature tells the class."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    np.savez(tmp_path / "ijcnn.npz", X=x, y=np.where(x[:, 0] > 0, 1, -1))
    monkeypatch.setattr(datasets.IJCNN, "shape", (60, 4))
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))


@pytest.mark.usefixtures("small_ijcnn")
def test_a_cell_is_the_regret_of_one_run_within_its_budget():
    row = cells.run_cell(cells.Cell("ijcnn", "I-NeurAL", budget=0.5, seed=1))
    assert row["error"] == ""
    assert row["rounds"] == 60
    assert 0 < row["queries"] <= 30
    curve = [int(n) for n in row["curve"].split()]
    assert len(curve) == 60  # a point a round, as there are fewer than 100
    assert curve == sorted(curve)
    assert curve[-1] == row["regret"] < 30  # chance
    assert row["accuracy"] == ""  # nothing is held back
    shorter = cells.run_cell(cells.Cell("ijcnn", "I-NeurAL", budget=0.5, seed=1, rounds=20))
    assert (shorter["rounds"], len(shorter["curve"].split())) == (20, 20)
    assert 50 < shorter["accuracy"] <= 100


class Recorder(active.BudgetedSampler):
    """Predicts 1, asks every third round, and keeps what it learns."""

    def __init__(self, limits):
        super().__init__(self.Always(), limits["budget"], limits["horizon"], limits["seed"])
        self.learned = []

    class Always(base.Classifier):
        def learn_one(self, x, y):
            pass

        def predict_proba_one(self, x):
            return {1: 1.0}

    def _wanted(self, x, y_pred):
        return ("none" if self.n_rounds % 3 else "gap"), math.nan, math.nan

    def learn_one(self, x, y):
        self.learned.append((x, y))


@pytest.mark.usefixtures("small_ijcnn")
def test_a_cell_learns_the_labels_it_asked_for_and_no_other(monkeypatch):
    """Every third of 45 rounds, its mistakes counted in all of them, and none held back learned."""
    models = []

    def make(limits):
        models.append(Recorder(limits))
        return models[-1]

    monkeypatch.setitem(cells.LEARNERS, "recorder", make)
    cell = cells.Cell("ijcnn", "recorder", budget=0.5, seed=3, rounds=45)
    row = cells.run_cell(cell)
    _, stream = cells.load(cell)
    examples = list(stream)
    wrong = [y != 1 for _, y in examples]
    assert row["error"] == ""
    assert models[0].learned == examples[2:45:3]
    assert row["queries"] == models[0].n_queries == 15
    assert row["regret"] == sum(wrong[:45])
    assert row["curve"] == " ".join(map(str, np.cumsum(wrong[:45])))
    assert row["accuracy"] == round(100 * (1 - sum(wrong[45:]) / 15), 3)


@pytest.mark.usefixtures("small_ijcnn")
def test_a_cell_that_asks_for_more_than_its_budget_has_failed(monkeypatch):
    monkeypatch.setitem(
        cells.LEARNERS, "greedy", lambda limits: Recorder(limits | {"budget": None})
    )
    row = cells.run_cell(cells.Cell("ijcnn", "greedy", budget=0.3, seed=3))
    assert row["error"].startswith("AssertionError")
    assert row["regret"] == ""


@pytest.mark.parametrize(
    "change",
    [
        {"stream": "mnist"},
        {"learner": "Random"},
        {"budget": 0.1},
        {"seed": 1},
        {"multiclass": True},
    ],
    ids=str,
)
def test_cells_that_differ_are_not_taken_for_each_other(tmp_path, change):
    """In memory, and as a file of results holds them."""
    cell = cells.Cell("letter", "I-NeurAL", 0.03, 0)
    other = dataclasses.replace(cell, **change)
    path = tmp_path / "regret.csv"
    cells.write(path, [dataclasses.asdict(cell), dataclasses.asdict(other)])
    keys = [cells.key(row) for row in cells.read(path)]
    assert keys == [cells.key(dataclasses.asdict(each)) for each in (cell, other)]
    assert keys[0] != keys[1]


@pytest.mark.usefixtures("small_ijcnn")
def test_cells_are_resumed_and_failures_tried_again(tmp_path, monkeypatch, capsys):
    """What the file holds is not run again, but for failures and a last line cut off."""
    path, n_run = tmp_path / "regret.csv", []

    class Here:
        """A pool that runs in this process."""

        def __init__(self, n_jobs, mp_context):
            assert (n_jobs, mp_context.get_start_method()) == (1, "spawn")

        __enter__ = lambda self: self  # noqa: E731
        __exit__ = lambda self, *args: None  # noqa: E731

        def submit(self, function, cell):
            n_run.append(cell)
            future = concurrent.futures.Future()
            future.set_result(function(cell))
            return future

    monkeypatch.setattr(cells, "ProcessPoolExecutor", Here)
    wanted = [cells.Cell("ijcnn", "I-NeurAL", 0.5, seed) for seed in range(3)]
    cells.run_cells(wanted[:2], path, n_jobs=1)
    assert n_run == wanted[:2]
    cut_off = int(cells.read(path)[-1]["seed"])
    path.write_text("\n".join([*path.read_text().splitlines()[:-1], "ijcnn,I-NeurAL,0.5"]))
    cells.run_cells(wanted, path, n_jobs=1)
    assert {cell.seed for cell in n_run[2:]} == {cut_off, 2}
    assert len(n_run) == 4

    bad = cells.Cell("ijcnn", "nobody", 0.5, 0)
    cells.run_cells([bad], path, n_jobs=1)
    assert "nobody" in cells.read(path)[-1]["error"]
    cells.run_cells([bad], path, n_jobs=1)
    assert n_run[-2:] == [bad, bad]
    assert len(cells.read(path)) == 4
    capsys.readouterr()

    lines = tables.table(path, "regret").splitlines()
    values = [int(row["regret"]) for row in cells.read(path) if not row["error"]]
    assert lines[0] == "| labels | learner | ijcnn |"
    assert (
        lines[2] == f"| 50% | I-NeurAL | {np.mean(values):,.0f} ± {np.std(values, ddof=1):,.0f} |"
    )
    assert lines[-1].startswith("1 runs failed")


def test_an_experiment_runs_from_the_command_line(tmp_path, monkeypatch, capsys):
    """The cells that are said, else the experiment's own, to a file named after them."""
    asked = []
    monkeypatch.setattr(tables, "run_cells", lambda *arguments: asked.append(arguments))
    out = ["--out", str(tmp_path)]
    monkeypatch.setattr(
        "sys.argv", ["benchmark", "regret", "--streams", "ijcnn", "--seeds", "2", *out]
    )
    command_line.main()
    wanted = [cells.Cell("ijcnn", "I-NeurAL", 0.03, seed) for seed in range(2)]
    assert asked.pop() == (wanted, tmp_path / "regret.csv", 1, 20)
    assert capsys.readouterr().out.startswith("| labels | learner")

    settings = ["--learners", "Random", "--budgets", "0.2", "0.4", "--rounds", "40", "--jobs", "3"]
    settings += ["--minutes", "2.5"]
    monkeypatch.setattr("sys.argv", ["benchmark", "multiclass", "--seeds", "1", *settings, *out])
    command_line.main()
    wanted = [
        cells.Cell(stream, "Random", budget, 0, multiclass=True, rounds=40)
        for stream in ("letter", "fashion", "mnist", "cifar10")
        for budget in (0.2, 0.4)
    ]
    assert asked.pop() == (wanted, tmp_path / "multiclass-40.csv", 3, 2.5)
    assert "| labels | method" in capsys.readouterr().out

    monkeypatch.setattr("sys.argv", ["benchmark", "accuracy", "--seeds", "1", *out])
    command_line.main()
    found, path, *_ = asked.pop()
    assert path == tmp_path / "accuracy.csv"
    assert len(found) == 6 * 4 * 6
    assert {cell.rounds for cell in found} == {10_000}


@pytest.mark.usefixtures("small_ijcnn")
@pytest.mark.parametrize("name", learners.LEARNERS)
def test_every_learner_runs(name):
    """Within its budget, a held-back accuracy at the end, no error."""
    row = cells.run_cell(cells.Cell("ijcnn", name, budget=0.4, seed=2, rounds=40))
    assert row["error"] == ""
    assert 0 < row["queries"] <= 16
    assert row["accuracy"] in range(0, 101, 5)  # of 20 rows


def test_learners_are_what_their_names_say():
    """Settings of each, and the budget, horizon and seed that all of them get."""
    limits = {"budget": 0.05, "horizon": 1000, "seed": 3}
    models = {name: make(limits) for name, make in learners.LEARNERS.items()}
    for model in models.values():
        assert (model.budget, model.horizon, model.seed) == (0.05, 1000, 3)
        assert getattr(model.classifier, "seed", 3) == 3
    for threshold in (0.3, 0.5, 0.7, 0.9, 0.95):
        assert models[f"Margin {threshold}"].threshold == threshold
    for gamma in (0.1, 0.3, 0.5, 0.8, 1.0):
        for kind in ("F", "D"):
            model = models[f"NeuAL-NTK-{kind} {gamma}"]
            assert type(model).__name__ == f"NeuALNTK{kind}"
            assert model.gamma == model.classifier.gamma == gamma
    for slacks in itertools.product((0.1, 0.25, 0.5, 0.75, 0.9), repeat=2):
        model = models["ALPS {}, {}".format(*slacks)]
        assert (model.slack, model.requester_slack) == slacks
        assert model.n_pretraining == 25  # half of 50
    for gamma in (1, 2, 5, 6, 7, 10):
        constant, theoretical = (
            models[f"{width} width, γ = {gamma}"] for width in ("constant", "theoretical")
        )
        assert constant.gamma == theoretical.gamma == gamma
        assert constant.width is None
        assert theoretical.width == active.TheoreticalWidth(horizon=1000)
    for name, explorers in (
        ("I-NeurAL", ("network", "forest")),
        ("f1 and f2", ("network",)),
        ("f1 and forest", ("forest",)),
        ("f1 alone", ()),
        ("NeurONAL, f1 and forest", ("forest",)),
    ):
        assert models[name].classifier.explorers == explorers
    assert models["no drift detector"].classifier.drift_detector is None
    assert not models["no pseudo-labels"].self_training
    for name, optimizer, lr, gamma, explores in (
        ("the print", "adam", 1e-3, 6, True),
        ("the print, no f2", "adam", 1e-3, 6, False),
        ("the print, adam, lr=0.01, γ=2", "adam", 1e-2, 2, True),
        ("the print, sgd, lr=0.5, γ=6", "sgd", 0.5, 6, True),
    ):
        own = models[name].learner
        found = own.optimizer, own.lr, own.gamma, own.explores, own.exploration_lr
        assert found == (optimizer, lr, gamma, explores, None)
    for budget, p in ((0.03, 0.1), (0.5, 0.55), (1.0, 1.0)):
        random = learners.LEARNERS["Random"](limits | {"budget": budget})
        assert random.p == pytest.approx(p)


@pytest.mark.usefixtures("small_ijcnn")
def test_figures_show_the_rows_that_are_there(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    names = ["f1 and f2", "f1 alone", "no pseudo-labels"]
    rows = [
        cells.run_cell(cells.Cell("ijcnn", name, 0.5, seed)) for name in names for seed in (0, 1)
    ]
    cells.write(tmp_path / "regret.csv", [row for row in rows if row["learner"] == names[0]])
    other = [row | {"stream": "elsewhere:stream"} for row in rows]
    cells.write(tmp_path / "compare.csv", other)
    assert len(figures.by_stream(cells.read(tmp_path / "compare.csv"))) == 3
    cells.write(tmp_path / "compare.csv", [*other, *(row | {"budget": 0.2} for row in other)])
    assert len(figures.by_stream(cells.read(tmp_path / "compare.csv"))) == 6
    figures.run(tmp_path, tmp_path)
    swept = [
        row | {"learner": f"{width} width, γ = {g}"}
        for row, (width, g) in zip(
            rows, itertools.product(("constant", "theoretical"), (1, 2, 10)), strict=True
        )
    ]
    cells.write(tmp_path / "sensitivity.csv", swept)
    left_out = ["I-NeurAL", "f1 and f2", "f1 alone"]
    parts = [row | {"learner": left_out[i // 2]} for i, row in enumerate(rows)]
    cells.write(tmp_path / "ablation.csv", parts)
    cells.write(tmp_path / "baselines.csv", parts[2:])
    figures.run(tmp_path, tmp_path)
    again = tmp_path / "again"
    figures.run(tmp_path, again)
    for drawn in again.iterdir():
        assert drawn.read_bytes() == (tmp_path / drawn.name).read_bytes()
    names = ("regret", "compare", "sensitivity", "ablation", "baselines")
    for name in (*names, "sensitivity-curves"):
        for theme in ("light", "dark"):
            assert (tmp_path / f"{name}-{theme}.svg").stat().st_size > 1000
    assert len(capsys.readouterr().out.splitlines()) == 2 + 6 + 6
    both = tables.table(tmp_path / "regret.csv", "seconds")
    assert both.count("| 50% |") == 1


def test_of_each_method_the_best_setting_is_shown(tmp_path):
    """Least mean regret, by stream; the paper's figures for its own tasks only."""

    def row(stream, learner, regret, error=""):
        named = {"stream": stream, "learner": learner, "regret": regret, "error": error}
        return named | {"budget": 0.03, "multiclass": False}

    rows = [
        *(row("phishing", "Margin 0.5", regret) for regret in (10, 30)),
        *(row("phishing", "Margin 0.9", regret) for regret in (24, 22)),
        row("phishing", "Margin 0.3", "", error="ValueError: no"),
        row("ijcnn", "Margin 0.9", 50),
        row("ijcnn", "ALPS 0.1, 0.5", 7),
    ]
    path = tmp_path / "baselines.csv"
    cells.write(path, rows)
    found = tables.best(cells.read(path))
    assert [(r["stream"], r["learner"], r["setting"], r["regret"]) for r in found] == [
        *(("phishing", "Margin", "0.5", "10"), ("phishing", "Margin", "0.5", "30")),
        ("ijcnn", "Margin", "0.9", "50"),
        ("ijcnn", "ALPS", "0.1, 0.5", "7"),
    ]
    shown = tables.methods(path)
    assert "| 3% | Margin | 20 ± 14 (0.5) | 50 ± 0 (0.9) |" in shown
    assert "| 3% | Margin, the paper | 704 | 974 |" in shown
    assert "| 3% | Margin, released code | 746 | 898 |" in shown
    assert "| 3% | ALPS |  | 7 ± 0 (0.1, 0.5) |" in shown
    cells.write(path, [each | {"multiclass": True} for each in rows])
    assert "the paper" not in tables.methods(path)


def result(stream, learner="I-NeurAL", **named):
    """A row of a file of results."""
    usual = {"budget": 0.03, "seed": 0, "multiclass": False, "regret": 7, "error": ""}
    return {"stream": stream, "learner": learner, **usual, **named}


def test_the_paper_is_cited_where_it_ran_the_same(tmp_path):
    """Its streams in its order, its budgets, its binary tasks."""
    path = tmp_path / "regret.csv"
    cells.write(path, [result("cifar10"), result("ijcnn"), result("ijcnn", budget=0.1)])
    shown = tables.table(path, "regret").splitlines()
    assert shown[:5] == [
        "| labels | learner | ijcnn | cifar10 |",
        "| --- | --- | --- | --- |",
        "| 3% | the paper's I-NeurAL | 469 | 1,372 |",
        "| 3% | its released code | 548 | 1,537 |",
        "| 3% | I-NeurAL | 7 ± 0 | 7 ± 0 |",
    ]
    assert shown[5] == "| 10% | I-NeurAL | 7 ± 0 |  |"
    for other in ({"stream": "river.datasets:Phishing"}, {"stream": "mnist", "multiclass": True}):
        cells.write(path, [result("ijcnn"), result(**other)])
        assert "paper" not in tables.table(path, "regret")


def test_accuracies_stand_below_the_paper_s_and_missing_ones_name_their_minutes(tmp_path):
    """Of all methods at all budgets, in the paper's order.

    Margin takes 50 s at 3 % and 232 s at 10 %, 2 s more for each step of the square of the per
    cents: 5,032 s at 50 %, where its row on mnist says 47 minutes. Random takes 24 s at 3 %, of
    which it asks for all, NeuAL-NTK-D as long with labels left, and ALPS trains once.
    """
    cut_off = {"accuracy": "", "error": "TooLong: would take about 47 minutes"}
    margin = [
        result("mnist", "Margin 0.95", budget=share, accuracy=90.0, seconds=seconds, queries=1000)
        for share, seconds in ((0.03, 50), (0.1, 232))
    ]
    rows = [
        *(row | {"stream": stream} for row in margin for stream in ("mnist", "cifar10")),
        result("mnist", "I-NeurAL", budget=0.5, accuracy=98.0, seconds=9),
        result("mnist", "Margin 0.95", budget=0.5, seconds="", **cut_off),
        result("mnist", "Margin 0.95", budget=0.5, seed=1, seconds="", accuracy="", error="no"),
        *(
            result("cifar10", "Random", accuracy=91.0 + i, seconds=20 + 4 * i, seed=i)
            for i in (0, 2)
        ),
        result("cifar10", "Random", seed=1, seconds="", **cut_off),
        result("mnist", "NeuAL-NTK-D 0.1", accuracy=93.0, seconds=24, queries=299),
        result("mnist", "ALPS 0.5, 0.5", accuracy=92.0, seconds=24, queries=250),
    ]
    rows = [{"queries": 300} | row | {"rounds": 10_000} for row in rows]
    path = tmp_path / "accuracy.csv"
    cells.write(path, rows)
    assert tables.accuracies(path).splitlines()[2:] == [
        "| 3% | Random, the paper | 87.90 | 86.40 |",
        "| 3% | Random |  | 92.00 ± 1.41 |",
        "| 3% | Margin, the paper | 90.25 | 88.25 |",
        "| 3% | Margin | 90.00 ± 0.00 | 90.00 ± 0.00 |",
        "| 3% | NeuAL-NTK-D, the paper | 90.15 | 84.05 |",
        "| 3% | NeuAL-NTK-D | 93.00 ± 0.00 |  |",
        "| 3% | ALPS, the paper | 86.95 | 85.40 |",
        "| 3% | ALPS | 92.00 ± 0.00 |  |",
        "| 3% | I-NeurAL, the paper | 94.45 | 89.00 |",
        "| 3% | I-NeurAL |  |  |",
        "| 10% | Random, the paper | 90.90 | 89.00 |",
        "| 10% | Random |  | (5 min) |",
        "| 10% | Margin, the paper | 94.40 | 89.45 |",
        "| 10% | Margin | 90.00 ± 0.00 | 90.00 ± 0.00 |",
        "| 10% | NeuAL-NTK-D, the paper | 94.85 | 89.05 |",
        "| 10% | NeuAL-NTK-D | (1 min) |  |",
        "| 10% | ALPS, the paper | 93.00 | 89.35 |",
        "| 10% | ALPS | (2 min) |  |",
        "| 10% | I-NeurAL, the paper | 97.20 | 91.75 |",
        "| 10% | I-NeurAL |  |  |",
        "| 50% | Random, the paper | 96.40 | 90.75 |",
        "| 50% | Random |  | (112 min) |",
        "| 50% | Margin, the paper | 96.20 | 91.25 |",
        "| 50% | Margin | (47 min) | (84 min) |",
        "| 50% | NeuAL-NTK-D, the paper | 97.15 | 90.55 |",
        "| 50% | NeuAL-NTK-D | (1 min) |  |",
        "| 50% | ALPS, the paper | 96.70 | 90.85 |",
        "| 50% | ALPS | (7 min) |  |",
        "| 50% | I-NeurAL, the paper | 97.80 | 92.30 |",
        "| 50% | I-NeurAL | 98.00 ± 0.00 |  |",
    ]


def test_learning_is_taken_to_grow_with_the_square_of_the_labels(monkeypatch):
    """After a tenth of the minutes a cell is cut off that would take twice as many, or at the end.

    200 of 1,000 rounds in 8 s: 6 s to learn 20 of at most 50 labels, and 2 s for the rest.
    """
    now = [100.0]
    monkeypatch.setattr(cells.time, "process_time", lambda: now[0])

    def clock(minutes, labels=50):
        now[0] = 100.0
        made = cells.Clock(rounds=1000, labels=labels, minutes=minutes)
        now[0] = 108.0
        return made

    def learned(clock):
        clock.learned(began=2.0, rounds=200, labels=20)
        return clock.expected(200, 20)

    assert learned(clock(None)) == 2 * 5 + 6 * 2.5**2
    assert learned(clock(None, labels=5000)) == 2 * 5 + 6 * 5**2  # 100 labels at this pace
    learned(clock(1.5))  # not yet a tenth
    learned(clock(0.5))
    with pytest.raises(cells.TooLong, match="about 1 minutes"):
        learned(clock(0.3))
    with pytest.raises(cells.TooLong, match="about 3 minutes"):
        learned(clock(1.3, labels=5000))
    late = clock(1.3, labels=20)
    now[0] = 179.0
    with pytest.raises(cells.TooLong, match="about 2 minutes"):
        learned(late)


@pytest.mark.usefixtures("small_ijcnn")
def test_a_cell_cut_off_is_a_row_and_is_tried_again_with_more_minutes(tmp_path, monkeypatch):
    monkeypatch.setattr(cells.Clock, "expected", lambda *arguments: 60.0 * 46.1)
    row = cells.run_cell(cells.Cell("ijcnn", "Random", 0.5, 0), minutes=1e-9)
    assert row["error"] == "TooLong: would take about 47 minutes"
    assert row["accuracy"] == row["seconds"] == ""
    assert cells.minutes_needed(row) == 47
    assert cells.minutes_needed(row | {"error": "ValueError: 47 minutes"}) == 0
    path, tried = tmp_path / "accuracy.csv", []

    class Pool:
        def __init__(self, *arguments, **named):
            pass

        __enter__ = lambda self: self  # noqa: E731
        __exit__ = lambda self, *args: None  # noqa: E731

        def submit(self, function, cell):
            tried.append(function.keywords["minutes"])
            future = concurrent.futures.Future()
            future.set_result(row)
            return future

    monkeypatch.setattr(cells, "ProcessPoolExecutor", Pool)
    for minutes in (20, 46, 47, None):
        cells.write(path, [row])
        cells.run_cells([cells.Cell("ijcnn", "Random", 0.5, 0)], path, 1, minutes)
        assert len(cells.read(path)) == 1
    assert tried == [47, None]


def test_each_budget_has_a_best_setting_of_its_own(tmp_path):
    path = tmp_path / "multiclass.csv"
    regrets = {(0.03, 0.5): 10, (0.03, 0.9): 20, (0.1, 0.5): 9, (0.1, 0.9): 8}
    rows = [
        result("ijcnn", f"Margin {setting}", budget=budget, regret=regret)
        for (budget, setting), regret in regrets.items()
    ]
    cells.write(path, rows)
    assert tables.methods(path).splitlines()[2:] == [
        "| 3% | Margin, the paper | 974 |",
        "| 3% | Margin, released code | 898 |",
        "| 3% | Margin | 10 ± 0 (0.5) |",
        "| 10% | Margin | 8 ± 0 (0.9) |",
    ]


def test_a_curve_has_a_hundred_points_of_a_longer_run(monkeypatch):
    """And a run of more rounds than there are is one of all; the learner is told how many."""
    horizons = []

    def make(limits):
        horizons.append(limits["horizon"])
        return Recorder(limits)

    monkeypatch.setitem(cells.LEARNERS, "recorder", make)
    cell = cells.Cell("river.datasets:Phishing", "recorder", 0.5, 0, rounds=150)
    assert len(cells.run_cell(cell)["curve"].split()) == 100
    whole = cells.run_cell(dataclasses.replace(cell, rounds=10_000))
    assert (whole["error"], whole["rounds"], whole["queries"]) == ("", 1250, 416)
    assert horizons == [150, 1250]


def test_a_seed_permutes_the_examples_of_any_stream():
    """All of them, each seed in an order of its own."""
    orders = []
    for seed in (0, 0, 1):
        n, stream = cells.load(cells.Cell("river.datasets:ImageSegments", "I-NeurAL", 0.1, seed))
        orders.append([tuple(x.values()) for x, _ in stream])
        assert len(orders[-1]) == n == 2310
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_any_stream_can_be_compared(tmp_path):
    """By module and name, in an order that the seed decides; progressive accuracy in the table."""
    rows = [
        cells.run_cell(cells.Cell("river.datasets:Phishing", "I-NeurAL", 0.1, seed, rounds=150))
        for seed in (0, 1)
    ]
    assert [row["error"] for row in rows] == ["", ""]
    assert rows[0]["curve"] != rows[1]["curve"]
    cells.write(tmp_path / "compare.csv", rows)
    shown = tables.table(tmp_path / "compare.csv", "progressive accuracy")
    mean = np.mean([100 * (1 - row["regret"] / 150) for row in rows])
    assert f"| 10% | I-NeurAL | {mean:.1f} ±" in shown
    failed = cells.run_cell(cells.Cell("river.datasets:Nothing", "I-NeurAL", 0.1, 0))
    assert "Nothing" in failed["error"]


NAME = "no margin, k = 2"  # of theory's streams
COLUMNS = (
    *("stream", "learner", "seed", "rounds", "returned", "latest", "regret", "fresh_regret"),
    *("labels", "fresh_labels", "late_regret", "late_labels", "all_until"),
)


class Sure(base.Classifier):
    """A learner that scores class 0 by 2 above class 1, whatever it learns."""

    n_layers = 2
    known_labels = (0, 1)

    def __init__(self, seed=None, above=2.0):
        self.above = above
        self._state = self

    def check_one(self, x, y=0, w=1.0):
        return x

    def scores_one(self, x):
        return {0: self.above, 1: 0.0}

    def scores_of_many(self, names, x):
        assert names == [f"x{j}" for j in range(10)]
        return np.tile([self.above, 0.0], (len(x), 1))

    def learn_one(self, x, y, pseudo_label=False):
        pass

    def debug_one(self, x):
        return ""


@pytest.fixture
def sure(monkeypatch):
    """`Sure` in place of what theory runs, with the widths that it sets; it returns another."""
    monkeypatch.setattr(theory, "INeurAL", Sure)

    def make(k, rounds, seed):
        model = theory.defaults(k, rounds, seed)
        model.returned = lambda: Sure(above=-2.0)
        return model

    return make


def test_what_is_lost_is_over_fresh_points_and_of_what_is_returned(sure, monkeypatch):
    """Sums are of class 0, which predicts at each round, R_T is of class 1, which is returned."""
    monkeypatch.setitem(theory.LEARNERS, "sure", sure)
    row = theory.run_one(NAME, "sure", 800, seed=4)
    stream = theory.KnownPosterior(800, seed=4, **theory.STREAMS[NAME])
    _, fresh = stream.draw(100_000, np.random.default_rng(9))
    lost = (fresh.max(1, keepdims=True) - fresh).mean(0)  # by always class 0, always class 1
    assert abs(lost[0] - lost[1]) > 0.01
    assert row["latest"] == pytest.approx(lost[0], abs=0.006)  # 3 deviations of 20,000 points
    assert row["returned"] == pytest.approx(lost[1], abs=0.006)
    assert row["fresh_regret"] == pytest.approx(800 * lost[0], rel=0.03)

    own = np.array([list(stream.posterior(x).values()) for x, _ in stream])
    lost_here = own.max(1) - own[:, 0]
    assert row["regret"] == pytest.approx(lost_here.sum(), abs=0.01)
    assert row["late_regret"] == pytest.approx(lost_here[400:].sum(), abs=0.01)
    assert row["regret"] != pytest.approx(row["fresh_regret"], abs=0.1)  # other points


def test_the_bayes_classifier_loses_nothing_and_its_opposite_the_margin():
    stream = theory.KnownPosterior(n_classes=4, margin=0.9, seed=2)
    x, posteriors = stream.draw(500, np.random.default_rng(0))
    bayes = Sure()
    bayes.known_labels = (2, 0, 3, 1)  # in the order that they appeared in
    bayes.scores_of_many = lambda names, x: stream.posteriors(x)[:, [2, 0, 3, 1]]
    assert theory.population(bayes, x, posteriors, 0.89) == (0.0, 0.0)
    assert theory.population(bayes, x, posteriors, 0.91) == (0.0, 1.0)  # the gap is 0.9
    bayes.scores_of_many = lambda names, x: -stream.posteriors(x)[:, [2, 0, 3, 1]]
    assert theory.population(bayes, x, posteriors)[0] == pytest.approx(0.9)
    bayes.known_labels = (3,)  # without a second class all are asked for
    bayes.scores_of_many = lambda names, x: np.ones((len(x), 1))
    of_class_3 = (posteriors.argmax(1) == 3).mean()
    assert theory.population(bayes, x, posteriors) == (pytest.approx(0.9 * (1 - of_class_3)), 1)
    bayes.known_labels = ()  # nor is anything predicted without a first
    assert theory.population(bayes, x, posteriors) == (pytest.approx(0.925), 1.0)


def test_labels_are_counted_where_the_width_of_the_analysis_asks(sure, monkeypatch):
    """Below 2β_t with γ = 1 and never at random, at the points of the stream and at fresh ones.

    β_t = (√2 + 6/√2 + √(2 log(20 T))) / √t for T rounds, two classes, two layers and δ = 0.1.
    """
    monkeypatch.setitem(theory.LEARNERS, "sure", sure)
    counts = []
    for rounds in (400, 800):
        row = theory.run_one(NAME, "sure", rounds, seed=4)
        constant = np.sqrt(2) + 6 / np.sqrt(2) + np.sqrt(2 * np.log(20 * rounds))
        asked = [2 * constant / np.sqrt(t) > 2 for t in range(1, rounds + 1)]
        assert row["labels"] == row["all_until"] == sum(asked)
        assert row["fresh_labels"] == pytest.approx(sum(asked), abs=theory.EVERY)
        assert row["late_labels"] == sum(asked[rounds // 2 :]) == 0
        counts.append(sum(asked))
    assert 80 < counts[0] < counts[1] < 110  # T enters the width


@pytest.mark.parametrize("learner", theory.LEARNERS)
def test_each_number_of_rounds_is_a_run_of_its_own(learner):
    """With its own T in the width, and the print in the theorems' rate; γ as the theorems want."""
    cells = [cell for cell in theory.runs(2, 20_000) if cell[:2] == (NAME, learner)]
    assert len(cells) == len(set(cells)) == 2 * len(theory.PARTS)
    for _, _, rounds, seed in cells:
        model = theory.LEARNERS[learner](2, rounds, seed)
        assert (model.budget, model.seed) == (None, seed)
        if learner == "defaults":
            assert model.width == active.TheoreticalWidth(horizon=rounds)
            assert (model.gamma, model.classifier.seed) == (1.0, seed)
            assert not any(model._audits(gap) for gap in (0.5, 1.0, 9.0) for _ in range(100))
            continue
        assert (model.rounds, model.delta) == (rounds, 0.1)
        assert model.gamma > 1
        assert model.optimizer == "sgd"
        assert model.lr == {"print, rate 0.5": 0.5, "print, the theorems' rate": None}[learner]


@pytest.mark.parametrize("learner", theory.LEARNERS)
def test_theory_adds_up(learner, monkeypatch):
    """Without noise a mistake loses 1; both estimates agree; a seed says all."""
    monkeypatch.setitem(theory.STREAMS, "no noise", {"margin": 1.0})
    row = theory.run_one("no noise", learner, 250, seed=1)
    assert row["regret"] == int(row["regret"])
    assert 0 < row["regret"] < 250
    assert row["fresh_regret"] == pytest.approx(row["regret"], abs=30)
    assert row["fresh_labels"] == pytest.approx(row["labels"], abs=15)
    assert 0 <= row["returned"] <= 1
    assert list(row) == list(COLUMNS)
    assert theory.run_one("no noise", learner, 250, seed=1) == row


def test_runs_that_are_in_the_file_are_not_made_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(theory, "LEARNERS", {"defaults": theory.defaults})
    monkeypatch.setattr(theory, "PARTS", (2, 1))
    made = [dict.fromkeys(COLUMNS, 0.00004) | {"labels": 7} for _ in theory.runs(1, 20)]
    for row, cell in zip(made, theory.runs(1, 20), strict=True):
        row |= dict(zip(("stream", "learner", "rounds", "seed"), cell, strict=True))
    cells.write(tmp_path / "theory.csv", made[::-1])
    monkeypatch.setattr(theory, "run_one", None)
    theory.run(1, 1, 20, tmp_path, None)
    assert r"| defaults | \(R_T\) | 0.0000 | 0.0000 |" in capsys.readouterr().out
    assert [*map(theory.typed, cells.read(tmp_path / "theory.csv"))] == made[::-1]


def test_the_tables_of_theory_by_hand(tmp_path):
    """Of two seeds, 1 and 3 with a mean of 2 and a deviation of √2, times T."""
    rows = [
        {"stream": stream, "learner": learner, "seed": seed, "rounds": rounds}
        | dict.fromkeys(("returned", "latest"), seed / rounds)
        | dict.fromkeys(("regret", "fresh_regret", "late_regret"), seed * rounds / 10)
        | dict.fromkeys(("labels", "fresh_labels", "late_labels", "all_until"), seed * rounds)
        for stream in ("s", "other")
        for learner in ("one", "two")
        for rounds in (10, 1000)
        for seed in (1, 3)
    ]
    assert theory.table(rows).splitlines()[:8] == [
        "**s**",
        "",
        "| | T | 10 | 1,000 |",
        "| --- | --- | --- | --- |",
        r"| one | \(R_T\) | 0.2000 ± 0.1414 | 0.0020 ± 0.0014 |",
        r"|  | \(\mathbf R_T\) | 2.0 ± 1.4 | 200.0 ± 141.4 |",
        r"|  | \(\mathbf N_T\) | 20 ± 14 | 2,000 ± 1,414 |",
        r"| two | \(R_T\) | 0.2000 ± 0.1414 | 0.0020 ± 0.0014 |",
    ]
    sums, labels = " | ".join(["200.0 ± 141.4"] * 3), " | ".join(["2,000 ± 1,414"] * 4)
    assert theory.agreement(rows).splitlines()[2] == (
        f"| s | one | {sums} | {labels} | 0.0020 ± 0.0014 |"
    )
    pytest.importorskip("matplotlib")
    theory.draw_curves(rows, tmp_path)
    assert 1_000 < (tmp_path / "theory-dark.svg").stat().st_size < 150_000


def test_another_checkout_stands_beside_this_one(tmp_path, monkeypatch):
    """Under a name of its own, with classes of its own; calls take turns."""
    root = Path(cells.__file__).parents[2]
    monkeypatch.syspath_prepend(str(tmp_path))
    package = against.under_a_name(root, "copied_ineural", tmp_path)
    assert package.INeurAL.__module__ == "copied_ineural.classifier"
    assert not list(tmp_path.rglob("*.nbi"))  # compiled loops name the package they are of
    for name in [name for name in sys.modules if name.startswith("copied_ineural")]:
        del sys.modules[name]
    turns = []
    calls = {name: lambda i, name=name: turns.append(name) for name in ("mine", "theirs")}
    assert float(against.ratio(calls, 2).split()[0]) > 0
    assert turns[:8] == ["theirs"] * 2 + ["mine"] * 4 + ["theirs"] * 2


@pytest.mark.usefixtures("small_ijcnn")
def test_decisions_of_two_checkouts_are_compared(monkeypatch):
    """The same of the same, other ones of another seed; rows after the rounds are scored."""
    monkeypatch.setattr(against, "ROUNDS", 40)
    one, again, other = (against.decided(river_ineural, "IJCNN", False, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len(one) == 60
    assert sum(ask for _, ask in one[:40]) == 4
    assert all(isinstance(score, float) for row in one[40:] for score in row.values())


def test_a_device_is_timed_beside_the_cpu(tmp_path, monkeypatch, capsys):
    """Where there is no GPU, the CPU beside itself."""
    sizes = ((INeurAL, 5, 2, 4), (NeurONAL, 5, 3, 4))
    monkeypatch.setattr(device, "SIZES", sizes)
    monkeypatch.setattr(device, "FRAME_ROWS", 20)
    device.run("cuda" if torch.cuda.is_available() else "cpu", n_calls=5, folder=tmp_path)
    with (tmp_path / "device.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = [(row["learner"], *map(int, (row["d"], row["k"], row["hidden_dim"]))) for row in rows]
    assert found == [(kind.__name__, *size) for kind, *size in sizes]
    for place in ("CPU", "device"):
        assert all(float(row[f"{place} {call}"]) > 0 for row in rows for call in device.CALLS)
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(sizes)


COMMANDS = (
    *("speed", "profile", "device", "keep", "against", "figures", "theory", "changes", "tabular"),
    *tables.EXPERIMENTS,
)


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=str)
def test_help_is_short(command, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmark", *command, "--help"])
    with pytest.raises(SystemExit) as left:
        command_line.main()
    text = capsys.readouterr().out
    assert left.value.code == 0
    assert len(text.splitlines()) < 45
    assert all(name in text for name in (COMMANDS if not command else ["--help"]))


def test_a_wrong_name_lists_those_that_are_there(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmark", "changes", "--learners", "nobody"])
    with pytest.raises(SystemExit) as left:
        command_line.main()
    assert left.value.code == 2
    assert "I-NeurAL" in capsys.readouterr().err
