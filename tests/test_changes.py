"""Streams change as they claim, and what is run on them is counted and shown as it is."""

from __future__ import annotations

import concurrent.futures
import statistics

import numpy as np
import pytest

from river_ineural import active, datasets
from river_ineural.benchmark import __main__ as command_line
from river_ineural.benchmark import cells, changes, changing
from river_ineural.benchmark.figures import by_stream

FROM_NOTHING = [name for name, source in changing.STREAMS.items() if source.file is None]
LR = "logistic regression, at random"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files of 800 rows in the places of robot's and fashion's, labels in words of their own."""
    rng = np.random.default_rng(0)
    for name, labels in (("robot", (1, 3, 5, 7)), ("fashion_10", range(3)), ("ijcnn", (-1, 1))):
        y = np.resize(labels, 800)
        np.savez(tmp_path / f"{name}.npz", X=rng.normal(size=(800, 5)) + y[:, None], y=y)
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", FROM_NOTHING)
def test_a_seed_says_all_of_a_generated_stream(name):
    stream, again, other = (changing.STREAMS[name].make(seed) for seed in (1, 1, 2))
    n = len(stream.y)
    assert n in ((20_000,) if name in changing.FLIPS else (9_999, 10_000))
    assert stream.x.shape[0] == n
    assert np.isfinite(stream.x).all()
    assert np.array_equal(np.unique(stream.y), np.arange(stream.y.max() + 1))
    assert all(0 < change < n for change in stream.changes)
    assert np.array_equal(stream.x, again.x)
    assert np.array_equal(stream.y, again.y)
    assert not np.array_equal(stream.x, other.x)


def of_the_first_kind(stream):
    """Whether each label of a `Mixed` stream is that of its first variant."""
    boolean, other, x, y = stream.x.T
    votes = boolean + other + (y < 0.5 + 0.3 * np.sin(3 * np.pi * x))
    return (votes < 2) == stream.y


def test_one_variant_follows_another():
    """The second variant of `Mixed` has the labels of the first the other way round."""
    stream = changing.PANEL["mixed"].make(3)
    assert stream.changes == (3333, 6666)
    parts = np.split(of_the_first_kind(stream), stream.changes)
    assert [len(np.unique(part)) for part in parts] == [1, 1, 1]
    assert parts[0][0] == parts[2][0] != parts[1][0]


def test_a_gradual_change_is_half_done_in_the_middle():
    stream = changing.PANEL["mixed gradual"].make(3)
    assert stream.changes == (4500, 5500)
    first = of_the_first_kind(stream)
    first = first if first[0] else ~first
    assert first[:2500].all()
    assert not first[7500:].any()
    assert first[4800:5200].mean() == pytest.approx(0.5, abs=0.12)


def test_labels_flip_half_way():
    stream = changing.FLIPS["label flip"].make(0)
    known = datasets.KnownPosterior(n_features=10, margin=1.0, seed=0)
    before = known.posteriors(stream.x).argmax(1) == stream.y
    assert stream.changes == (10_000,)
    assert before[:10_000].all()
    assert not before[10_000:].any()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("schedule", "starts"),
    [
        (changing.once, (400,)),
        (changing.back_and_forth, (200, 400, 600)),
        (changing.more_and_more, (320, 480)),
    ],
)
def test_rotated_labels_are_one_class_further(schedule, starts):
    plain = changing.STILL["robot"].make(1)
    stream = changing.shuffled("robot", changing.rotated(schedule)).make(1)
    assert np.array_equal(stream.x, plain.x)
    assert stream.changes == starts
    further = (stream.y - plain.y) % 4
    assert set(further) == {0, 1}
    means = [part.mean() for part in np.split(further, starts)]
    if schedule is changing.more_and_more:
        assert 0.4 < means.pop(1) < 0.6
    assert means == [0, 1, 0, 1][: len(means)]


@pytest.mark.usefixtures("folder")
def test_two_of_three_classes_swap():
    plain = changing.shuffled("fashion_10", changing.still).make(1)
    stream = changing.PANEL["fashion10 two swap"].make(1)
    assert stream.changes == (400,)
    assert np.array_equal(stream.y[:400], plain.y[:400])
    assert np.array_equal(stream.y[400:], np.array([1, 0, 2])[plain.y[400:]])


@pytest.mark.usefixtures("folder")
def test_features_trade_places_and_keep_their_values():
    plain = changing.STILL["ijcnn"].make(1)
    stream = changing.PANEL["ijcnn permuted"].make(1)
    assert stream.changes == (400,)
    assert np.array_equal(stream.x[:400], plain.x[:400])
    assert not np.array_equal(stream.x[400:], plain.x[400:])
    assert np.array_equal(np.sort(stream.x, axis=1), np.sort(plain.x, axis=1))
    columns = {tuple(column) for column in plain.x[400:].T}
    assert {tuple(column) for column in stream.x[400:].T} == columns
    assert np.array_equal(stream.y, plain.y)
    assert set(stream.y) == {0, 1}


@pytest.mark.usefixtures("folder")
def test_classes_arrive_two_by_two():
    stream = changing.PANEL["robot arriving"].make(1)
    assert stream.changes == (200,)
    assert set(stream.y[:200]) == {0, 1}
    assert set(stream.y[200:230]) == {0, 1, 2, 3}
    rows = {tuple(row) for row in changing.STILL["robot"].make(1).x}
    assert {tuple(row) for row in stream.x} == rows  # each once
    assert len(stream.y) == 800


def test_recorded_streams_keep_their_order(folder):
    np.savez(folder / "weather.npz", X=np.arange(20.0).reshape(10, 2), y=np.arange(10) % 2)
    for seed in (0, 1):
        stream = changing.PANEL["weather"].make(seed)
        assert stream.x[:, 0].tolist() == [*range(0, 20, 2)]
        assert stream.y.tolist() == [0, 1] * 5


class Regular(active.BudgetedSampler):
    """Predicts 0, asks every third round, and says that it noticed something in round 7."""

    def __init__(self, k, n, seed):
        super().__init__(changes.linear(2, 0), budget=None, horizon=None, seed=None)
        self.k, self.n, self.drifts = k, n, [7]

    def predict_one(self, x):
        self._account.round()
        return 0, self.n_rounds % 3 == 1


@pytest.mark.usefixtures("folder")
def test_a_row_counts_mistakes_and_labels(monkeypatch):
    made = []

    def make(*arguments):
        made.append(arguments)
        return Regular(*arguments)

    monkeypatch.setitem(changes.LEARNERS, "regular", make)
    row = changes.run_one(cells.Cell("ijcnn permuted", "regular", 0.05, 2, rounds=250))
    assert row["error"] == ""
    assert made == [(2, 250, 2)]
    wrong = np.cumsum(changing.PANEL["ijcnn permuted"].make(2).y[:250] != 0)
    assert row["regret"] == wrong[-1]
    assert row["queries"] == 84
    curve, asks = ([int(n) for n in row[name].split()] for name in ("curve", "asks"))
    assert curve == [wrong[-(-5 * i // 2) - 1] for i in range(1, 101)]
    assert (len(asks), asks[0], asks[-1]) == (100, 1, 84)
    assert (row["changes"], row["drifts"]) == ("400", "7")
    failed = changes.run_one(cells.Cell("weather", "regular", 0.05, 2))
    assert "weather" in failed["error"]
    assert failed.keys() == row.keys()


def test_runs_are_kept_and_made_once(folder, monkeypatch, capsys):
    """From the command line, of two streams and a third whose file is not there."""
    made = []

    class Here:
        """A pool that runs in this process."""

        def __init__(self, n_jobs, mp_context):
            pass

        __enter__ = lambda self: self  # noqa: E731
        __exit__ = lambda self, *args: None  # noqa: E731

        def submit(self, function, cell):
            made.append((cell.stream, cell.learner))
            future = concurrent.futures.Future()
            future.set_result(function(cell))
            return future

    monkeypatch.setattr(cells, "ProcessPoolExecutor", Here)
    streams = ("mixed gradual", "robot", "bank")
    arguments = ["changes", "--seeds", "1", "--rounds", "150", "--streams", *streams]
    arguments += ["--learners", LR, "I-NeurAL", "--out", str(folder)]
    monkeypatch.setattr("sys.argv", ["benchmark", *arguments])
    for _ in range(2):
        command_line.main()
        assert "bank: left out, there is no bank.npz" in capsys.readouterr().out
    assert made == [("mixed gradual", "I-NeurAL"), ("mixed gradual", LR), ("robot", "I-NeurAL")]
    rows = cells.read(folder / "changes-150.csv")
    assert [row["error"] for row in rows] == [""] * 3
    assert all(0 < int(row["queries"]) <= 0.05 * 150 + 125 for row in rows)
    assert all(len(row["curve"].split()) == 100 for row in rows)


def result(stream, learner, regret, seed=0, rounds=1000, queries=50, **more):
    """A row with mistakes and labels evenly spread."""
    row = dict(zip(("stream", "learner", "seed"), (stream, learner, str(seed)), strict=True))
    row |= {"rounds": str(rounds), "regret": str(regret), "queries": str(queries)}
    points = range(1, 101)
    row |= {"curve": " ".join(str(regret * i // 100) for i in points)}
    row |= {"asks": " ".join(str(queries * i // 100) for i in points)}
    return row | {"budget": "0.05", "error": "", "changes": ""} | more


def test_the_panel_by_hand():
    """Ratios 0.5 and 2 have a geometric mean of 1; River's best is by its mean over seeds."""
    tree = "Hoeffding adaptive tree, by margin"
    rows = by_stream(
        [
            *(result("sine", LR, regret, seed) for seed, regret in enumerate((100, 300))),
            *(result("sine", tree, regret, seed) for seed, regret in enumerate((50, 400))),
            *(result("sine", "I-NeurAL", regret, seed) for seed, regret in enumerate((90, 110))),
            *(result("mixed", tree, 100), result("mixed", "I-NeurAL", 200, queries=40)),
            *(result("stagger", tree, 7), result("stagger", LR, 0, error="ValueError: no")),
            *(result("phishing", "I-NeurAL", 110), result("ijcnn", "I-NeurAL", 90)),
            *(result(name, "I-NeurAL, length given", 100) for name in ("phishing", "ijcnn")),
        ]
    )
    assert changes.panel(rows).splitlines()[2:] == [
        f"| stagger | 1,000 | {tree} | 7 ± 0 | 50 |  |  |  |",
        f"| sine | 1,000 | {LR} | 200 ± 141 | 50 | 100 ± 14 | 50 | 0.50 |",
        f"| mixed | 1,000 | {tree} | 100 ± 0 | 50 | 200 ± 0 | 40 | 2.00 |",
        "",
        "The geometric mean of 2 ratios is 1.000, the largest 2.00 (mixed).",
    ]
    mean = statistics.geometric_mean([1.1, 0.9])
    assert changes.standing(rows).splitlines()[2:] == [
        "| phishing | 100 ± 0 | 110 ± 0 | 1.10 |",
        "| ijcnn | 100 ± 0 | 90 ± 0 | 0.90 |",
        "",
        f"The geometric mean of 2 ratios is {mean:.3f}, the largest 1.10 (phishing).",
    ]


def test_accuracy_is_from_so_long_after_the_flip():
    """Of 200 mistakes in rounds 11,400 to 11,600 half are taken to be after 11,500."""
    curve = " ".join(["0"] * 57 + ["200"] * 43)
    row = result("label flip", LR, 200, rounds=20_000, changes="10000", curve=curve)
    assert changes.accuracy_after(row, 1_500) == pytest.approx(100 * (1 - 100 / 8_500))
    assert changes.accuracy_after(row | {"rounds": "11000"}, 1_500) is None
    assert changes.flips(by_stream([row])).splitlines() == [
        "| | label flip | label flip, noisy |",
        "| --- | --- | --- |",
        f"| {LR} | 98.8 ± 0.0 |  |",
    ]


def test_the_figure_has_a_place_for_each_stream(tmp_path):
    pytest.importorskip("matplotlib")
    rows = by_stream(
        [
            result(stream, learner, 300, seed, changes="500")
            for stream in changes.DRAWN
            for learner in (LR, "I-NeurAL")
            for seed in (0, 1)
        ]
    )
    changes.draw_curves(rows, tmp_path)
    for theme in ("light", "dark"):
        assert 10_000 < (tmp_path / f"changes-{theme}.svg").stat().st_size < 150_000
    assert [*changes.hundredths(rows["mixed", LR], "asks")[:4]] == [0, 10, 0, 10]
    changes.draw_curves({}, tmp_path / "none")
    assert not (tmp_path / "none").exists()
