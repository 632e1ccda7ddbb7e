"""What is read of a sampler's decisions: in words, over time, and while it runs."""

import io
import itertools
import math
import sys
from functools import partial

import pytest
from river import datasets, evaluate, linear_model, metrics, preprocessing, utils
from streams import small

from river_ineural import INeurAL, active, inspection
from river_ineural.active import query
from river_ineural.active.decision import REASONS
from river_ineural.datasets import KnownPosterior
from river_ineural.inspection import words

STREAM = list(datasets.Phishing().take(300))


@pytest.fixture
def model():
    """A sampler that learns fast."""
    return active.INeurALSampler(small(n_steps=1), budget=30, seed=1)


def run(model, stream=STREAM, metric=None, **options):
    metric = metric or metrics.Accuracy()
    return evaluate.iter_progressive_val_score(stream, model, metric, **options)


def recorded(model, steps, *size):
    """A recorder that looks after each step."""
    recorder = inspection.Recorder(model, *size)
    for step in steps:
        recorder.record(step)
    return recorder


@pytest.mark.parametrize("size", [2, 5, 64, 1_000])
def test_points_stay_few_and_exact(model, size):
    """Those kept are those of a recorder that keeps all, at even distances, the latest too."""
    whole, few = inspection.Recorder(model, 10_000), inspection.Recorder(model, size)
    for step in run(model):
        whole.record(step)
        few.record(step)
        assert len(few.points) <= 2 * size
        assert few.points[-1] == whole.points[-1]
        if len(whole.points) >= 2 * size:
            assert len(few.points) >= size
    assert len(whole.points) == 300
    kept = [whole.points.index(point) for point in few.points]
    assert len({b - a for a, b in itertools.pairwise(kept[:-1])}) <= 1
    last = few.points[-1]
    assert (last.round, last.asked) == (model.n_rounds, model.n_queries)
    assert last.by_reason == model.n_by_reason
    assert sum(last.by_reason.values()) == 300
    assert last.left == 30 - model.n_queries


@pytest.mark.parametrize(
    ("metric", "names"),
    [
        (metrics.F1(), {"F1"}),
        (metrics.Accuracy() + metrics.F1(), {"Accuracy", "F1"}),
        (utils.Rolling(metrics.Accuracy, window_size=50), {"Accuracy, last 50"}),
        (metrics.LogLoss(), {"LogLoss"}),
    ],
    ids=["one", "two", "of a window", "of probabilities"],
)
def test_any_metric_can_be_fed_late_labels_too(model, metric, names):
    recorder = recorded(model, run(model, metric=metric, delay=20, step=7))
    for point in recorder.points:
        assert point.metrics.keys() == names
        assert all(math.isfinite(value) for value in point.metrics.values())
        if "Accuracy" in names and point.answers:
            assert point.right / point.answers == point.metrics["Accuracy"]
    assert point.round == 300
    frame = recorder.frame()
    told = ["value", "low", "high"]
    assert frame.columns.tolist() == ["round", "asked", "left", *REASONS, *told, *point.metrics]
    assert (*frame[told].iloc[-1], model.accuracy.n_labels) == model.accuracy
    assert frame["gap"].tolist() == [point.by_reason["gap"] for point in recorder.points]


def test_a_report_of_many_numbers_is_left_out(model):
    recorder = inspection.Recorder(model)
    recorder.record({"Report": metrics.ClassificationReport(), "Accuracy": metrics.Accuracy()})
    assert [*recorder.points[0].metrics] == ["Accuracy"]


def test_what_is_no_sampler_and_what_is_no_step_are_refused(model):
    progress = partial(inspection.progress, [])
    for use in (inspection.Recorder, inspection.reasons, progress):
        with pytest.raises(TypeError, match="model must be an INeurALSampler"):
            use(preprocessing.StandardScaler() | INeurAL())
    recorder = inspection.Recorder(model)
    with pytest.raises(TypeError, match="step must be what iter_progressive_val_score yields"):
        recorder.record(metrics.Accuracy())
    assert recorder.points == []
    with pytest.raises(ValueError, match="seen no round"):
        inspection.plot(recorder)


def test_every_decision_has_its_words(model, monkeypatch):
    model.budget, seen = 0.1, {}
    assert inspection.explain(model.last_decision) == "no round yet"
    for x, y in changed(900, 500):
        if model.predict_one(x)[1]:
            model.learn_one(x, y)
        seen[model.last_decision.reason] = model.last_decision
    model.budget = 1
    monkeypatch.setattr(query, "BUDGET_EXPONENT", 0.0)
    model._levels = lambda *given: (False, 0.0, math.inf, math.inf)
    model.predict_one(x)
    seen[model.last_decision.reason] = model.last_decision
    assert set(seen) == {*REASONS}
    for reason, decision in seen.items():
        words = inspection.explain(decision)
        assert words.startswith("asked: " if decision.asked else "not asked: "), reason
        assert f"{decision.budget_left:,.0f} label" in words
        if not math.isnan(decision.threshold):
            gap, threshold = decision.gap, decision.threshold
            assert f"the gap is {gap:.3f} and the threshold {threshold:.3f}" in words
            assert all(f"the {name} {t:.2f}" in words for name, t in decision.trust.items())
    unlimited = seen["gap"]._replace(budget_left=math.inf, trust={})
    assert inspection.explain(unlimited).endswith("; no limit")


def test_trust_and_reasons_are_told(model):
    recorded(model, run(model))
    trust = model.last_decision.trust
    assert trust == model.classifier.trust
    assert list(trust) == ["network", "forest", "discriminant", "last_label"]
    assert all(0 <= value <= 1 for value in trust.values())
    head, *rows, _, told, _ = model.debug_one(STREAM[0][0]).splitlines()
    assert head.split() == ["class", "f1", *trust, "score"]
    for row in rows:
        _, *parts, score = row.split()
        assert sum(map(float, parts)) == pytest.approx(float(score), abs=2e-5)
    assert told == "trust: " + ", ".join(f"{name} {value:.3f}" for name, value in trust.items())
    lines = inspection.reasons(model).splitlines()[1:]
    counts = {line[:12].strip(): int(line[12:21].replace(",", "")) for line in lines}
    assert counts == model.n_by_reason
    asked = sum(counts[line[:12].strip()] for line in lines if "  asked: " in line)
    assert asked == model.n_queries


def changed(n, flip):
    for t, (x, y) in enumerate(KnownPosterior(margin=1.0, seed=1).take(n)):
        yield x, bool(y) != (t >= flip)


def drawn_asks(panel):
    return sum(bar.get_height() / 100 * bar.get_width() for bar in panel.patches)


def test_a_plot_shows_what_was_recorded():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    model = active.INeurALSampler(INeurAL(seed=1), budget=0.1, seed=1)
    seen = recorded(model, run(model, changed(1_600, 800), step=2), 100)
    assert len(model.drifts) >= 1
    above, asked, left = inspection.plot(seen, figure).axes
    assert [panel.get_ylabel() for panel in figure.axes] == ["accuracy", "asked (%)", "labels left"]
    assert drawn_asks(asked) == pytest.approx(model.n_queries)
    so_far, recent = (line.get_ydata() for line in above.get_lines()[:2])
    assert so_far[-1] == seen.points[-1].metrics["Accuracy"]
    assert ((recent >= 0) & (recent <= 1)).all()
    rounds = above.get_lines()[1].get_xdata()
    assert 800 <= rounds[1 + recent[1:].argmin()] <= 1_100  # where the labels changed
    for panel in figure.axes:
        dotted = [line.get_xdata()[0] for line in panel.get_lines() if line.get_linestyle() == ":"]
        assert dotted == [*seen.drifts] == model.drifts
    assert left.get_lines()[0].get_ydata()[-1] == seen.points[-1].left


def test_any_sampler_is_plotted_from_where_the_recorder_began(monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    sampler = active.MarginSampler(linear_model.LogisticRegression(), threshold=1.0, budget=120)
    model = preprocessing.StandardScaler() | sampler
    for _ in run(model, STREAM[:100]):
        pass
    recorder = recorded(model, ({} for _ in run(model, STREAM[100:], step=3)))
    assert (sampler.n_queries, sampler.last_decision.trust) == (120, {})
    assert len(inspection.reasons(model).splitlines()) == 1 + len(REASONS)
    figure = inspection.plot(recorder)
    asked, _ = figure.axes
    assert plt.fignum_exists(figure.number)
    plt.close(figure)
    assert asked.get_xlim() == (100, 300)
    assert "refused by the budget" in asked.get_legend_handles_labels()[1]
    assert drawn_asks(asked) == pytest.approx(300 - 100)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_hands_on_the_steps_and_says_how_it_stands(model, monkeypatch):
    """In one line, written anew; it needs no further package."""
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr(words, "EVERY", 0)
    monkeypatch.setenv("COLUMNS", "141")
    file = Terminal()
    steps = [step["Step"] for step in inspection.progress(run(model, step=10), model, 300, file)]
    assert steps == [*range(10, 301, 10)]
    *_, before, last = file.getvalue().split("\r")
    assert before.startswith("300 of 300 rounds · Accuracy: ")
    assert "Prediction" not in before
    reason = model.last_decision.reason
    assert f"{model.n_queries} asked · {30 - model.n_queries} left · last: {reason}" in before
    assert last == f"{before.rstrip()} · 0 s".ljust(140) + "\n"
    assert file.getvalue().count("\r") == 31
    steps = inspection.progress(run(model), model, file=file)
    next(steps)
    steps.close()
    assert [file.getvalue()[-1], file.getvalue().count("\n")] == ["\n", 2]


def test_progress_writes_one_line_into_a_file_and_many_in_a_notebook(model, monkeypatch, capsys):
    for _ in inspection.progress(run(model, STREAM[:20]), model):
        pass
    assert capsys.readouterr().out.count("rounds") == 1
    monkeypatch.setattr(words, "EVERY", 0)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    for _ in inspection.progress(run(model, STREAM[20:40]), model):
        pass
    out = capsys.readouterr().out
    assert (out.count("rounds"), out.count("\r"), out[-1]) == (21, 21, "\n")


def test_a_notebook_shows_few_lines_and_no_markup_of_others(model):
    """Names of classes, features and explorers come from data."""
    odd = "<script>&"
    recorder = recorded(model, run(model, STREAM[:60]))
    decision = model.last_decision._replace(trust={odd: 0.5}, reason=odd)
    recorder.points[-1].metrics[odd] = 0.123456
    budget = active.Budget(0.05)
    for thing, said in (
        (model, ["INeurALSampler", "<td>INeurAL</td>", "30 labels", f"in {model.n_rounds} rounds"]),
        (decision, ["Decision", "threshold", "nan" if math.isnan(decision.gap) else "0."]),
        (recorder, ["Recorder", "<td>60</td>", "<td>0.123</td>"]),
        (active.MarginSampler(model.classifier), ["MarginSampler", "any number of labels"]),
        (budget, ["at most 125 labels at once, then 5 in 100 rounds: at most 174 in 1,000 rounds"]),
    ):
        shown = thing._repr_html_()
        assert all(each in shown for each in said), shown
        assert "script>" not in shown.replace("&lt;script&gt;&amp;", "")
        assert shown.count("<tr>") <= 10
    assert str(active.Budget(60)) == "60 labels"
    assert str(active.Budget(0.05, 1_250)) == "62 labels in 1,250 rounds"
    assert repr(inspection.reasons(model)) == str(inspection.reasons(model))


def test_a_plot_is_drawn_once_in_a_notebook(model, monkeypatch):
    """Its backend draws what a cell returns, and all open figures."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    recorder = recorded(model, run(model, STREAM[:20]))
    for backend in ("inline", "module://matplotlib_inline.backend_inline"):
        monkeypatch.setattr(plt, "get_backend", lambda backend=backend: backend)
        figure = inspection.plot(recorder)
        assert not plt.fignum_exists(figure.number)
        figure.savefig(io.BytesIO())
