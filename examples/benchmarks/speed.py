"""Microseconds of a prediction and of a learned example, beside others in the same process.

The learners are as by default, but for one step an example, and `INeurAL` is timed once without
explorers. The peer is one PyTorch network of the same width, trained by autograd and Adam on the
single example, as wrappers of deep learning for streams do. Contenders take turns, so that a busy
moment of the machine hits all, and medians of calls are shown.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import torch
from common import Row, X
from drawing import colours, draw
from torch import nn

from river_ineural import INeurAL, NeurONAL
from river_ineural.active import INeurALSampler
from river_ineural.learning.scaling import NARROW
from river_ineural.network.threads import single_threaded

SIZES = ((22, 2), (68, 2), (784, 2), (3072, 2), (784, 10), (16, 26))  # d, k
CLASSES, OF_CLASSES = (2, 5, 10, 26, 50, 100), 784  # k, and d, of the time against k
LABEL_SIZES, LABELS = ((22, 2), (68, 2)), (50, 100, 200, 400, 800, 1600, 3200)  # d, k; ends
FRAME_SIZE, FRAME_ROWS = (68, 2), 1000
WARM_UP, TURNS, WIDTH = 30, 5, 100
EARLY, LATE, WINDOW, LONG = 1_000, 100_000, 500, 1_000  # rounds of a long stream
COLUMNS = (
    *("learn_one", "peer learn_one", "predict_one", "peer predict_one", "predict_proba_one"),
    *("NeurONAL learn_one", "NeurONAL predict_one"),
    *("f1 alone learn_one", "f1 alone predict_one"),
)


class Peer:
    """One network, one example at a time, by autograd and `torch.optim.Adam`."""

    def __init__(self, d: int, k: int) -> None:
        self.network = nn.Sequential(nn.Linear(d, WIDTH), nn.ReLU(), nn.Linear(WIDTH, k))
        self.optimizer = torch.optim.Adam(self.network.parameters())
        self.loss = nn.CrossEntropyLoss()

    def predict_one(self, x: X) -> int:
        """The class of the highest output."""
        with torch.inference_mode():
            return int(self.network(torch.tensor([list(x.values())])).argmax())

    def learn_one(self, x: X, y: int) -> None:
        """One step on the example."""
        self.optimizer.zero_grad()
        loss = self.loss(self.network(torch.tensor([list(x.values())])), torch.tensor([y]))
        loss.backward()
        self.optimizer.step()


def medians(calls: dict[str, Callable[[int], object]], n_calls: int) -> dict[str, float]:
    """Median microseconds of each call(i), taken in turns after warming up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS):
        for name, call in calls.items():
            for i in range(WARM_UP if turn == 0 else 0):
                call(i)
            for i in range(max(1, n_calls // TURNS)):
                start = time.perf_counter()
                call(i)
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) * 1e6 for name, each in times.items()}


def examples_of(d: int, k: int) -> tuple[list[X], list[int]]:
    """64 feature dicts and labels."""
    rng = np.random.default_rng(0)
    names = [f"feature {j}" for j in range(d)]
    rows = rng.normal(size=(64, d)).tolist()
    return [dict(zip(names, row, strict=True)) for row in rows], rng.integers(0, k, 64).tolist()


def new_model(k: int, kind: type[INeurAL] = INeurAL, **settings: Any) -> INeurAL:
    """A model that takes one step of the floor's size an example, unless told otherwise."""
    usual: dict[str, Any] = {"hidden_dim": WIDTH, "explorers": ("network",), "capacity": 512}
    return kind(n_steps=1, classes=tuple(range(k)), seed=0, **usual | settings)


def lasting_model(d: int, k: int) -> INeurAL:
    """One with a history as full as after a long stream, where there is a forest.

    A forest grows slower by then.
    """
    if d > NARROW:
        return new_model(k)
    model = new_model(k, capacity=8192, explorers=("network", "forest"))
    rng = np.random.default_rng(1)
    model.n_steps = 0
    x = pd.DataFrame(rng.normal(size=(8192, d))).rename(columns="feature {}".format)
    model.learn_many(x, pd.Series(rng.integers(0, k, 8192)))
    model.n_steps = 1
    return model


@single_threaded
def measure(d: int, k: int, n_calls: int) -> dict[str, float]:
    """Microseconds of each contender at one size."""
    xs, ys = examples_of(d, k)
    models = {"": lasting_model(d, k), "NeurONAL ": new_model(k, NeurONAL)}
    models["f1 alone "] = new_model(k, explorers=())
    calls: dict[str, Callable[[int], object]] = {}
    for name, model in [*models.items(), ("peer ", Peer(d, k))]:
        for x, y in zip(xs * 6, ys * 6, strict=True):  # so that its memory is warm
            model.learn_one(x, y)
        calls |= {
            f"{name}learn_one": lambda i, m=model: m.learn_one(xs[i % 64], ys[i % 64]),
            f"{name}predict_one": lambda i, m=model: m.predict_one(xs[i % 64]),
        }
    calls["predict_proba_one"] = lambda i: models[""].predict_proba_one(xs[i % 64])
    found = medians(calls, n_calls)
    return {name: round(found[name], 1) for name in COLUMNS}


@single_threaded
def measure_labels() -> list[Row]:
    """Mean milliseconds of a given label, while few are held, without a forest and with it."""
    rows: list[Row] = []
    for d, k in LABEL_SIZES:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(LABELS[-1], d))
        y = (x[:, 0] > 0) ^ (x[:, 1] + 0.5 * rng.normal(size=len(x)) > 0)
        times = np.zeros((2, len(x)))
        for spent, explorers in zip(times, (("network",), ("network", "forest")), strict=True):
            model = INeurAL(explorers=explorers, classes=tuple(range(k)), seed=0)
            for t, (row, label) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
                start = time.perf_counter()
                model.learn_one(dict(enumerate(row)), int(label))
                spent[t] = 1e3 * (time.perf_counter() - start)
        for start_at, end in itertools.pairwise((WARM_UP, *LABELS)):
            without, beside = times[:, start_at:end].mean(axis=1).round(2)
            rows.append(
                {"d": d, "from": start_at + 1, "to": end, "without": without, "with": beside}
            )
    return rows


@single_threaded
def measure_frame(n_calls: int) -> float:
    """Rows a second of `predict_many` over those of `predict_one`."""
    d, k = FRAME_SIZE
    xs, ys = examples_of(d, k)
    model = new_model(k)
    for x, y in zip(xs, ys, strict=True):
        model.learn_one(x, y)
    frame = pd.DataFrame([xs[i % 64] for i in range(FRAME_ROWS)])
    one: Callable[[int], object] = lambda i: model.predict_one(xs[i % 64])  # noqa: E731
    found = medians({"frame": lambda _: model.predict_many(frame), "one": one}, n_calls)
    return found["one"] * FRAME_ROWS / found["frame"]


@single_threaded
def measure_classes(n_calls: int) -> list[Row]:
    """Microseconds of a round, a prediction and an example learned, of both learners against k."""
    rows = []
    for k in CLASSES:
        xs, ys = examples_of(OF_CLASSES, k)
        models = {kind.__name__: new_model(k, kind) for kind in (INeurAL, NeurONAL)}

        def call(i: int, model: INeurAL, xs: list[X] = xs, ys: list[int] = ys) -> None:
            model.predict_one(xs[i % 64])
            model.learn_one(xs[i % 64], ys[i % 64])

        found = medians({n: lambda i, m=m: call(i, m) for n, m in models.items()}, n_calls)  # type: ignore[misc]
        rows.append({"k": k} | {name: round(each, 1) for name, each in found.items()})
    return rows


def measure_growth() -> dict[str, float]:
    """Time and memory of a late round over an early one, and the longest round over the median.

    A round is `predict_one`, and `learn_one` for one in ten; all others are learned as
    pseudo-labels where the model is sure. Early and late are medians of the means of ten rounds, so
    that each holds as many steps.
    """
    xs, ys = examples_of(22, 2)
    model = INeurALSampler(INeurAL(seed=0, capacity=512), gamma=0.0, seed=0)
    times, memory = np.empty(LATE + WINDOW), {}
    for t in range(LATE + WINDOW):
        start = time.perf_counter()
        model.predict_one(xs[t % 64])
        if t % 10 == 0:
            model.learn_one(xs[t % 64], ys[t % 64])
        times[t] = time.perf_counter() - start
        if t in (EARLY, LATE):
            memory[t] = model._raw_memory_usage
    around = (times[t - WINDOW : t + WINDOW].reshape(-1, 10).mean(1) for t in (EARLY, LATE))
    early, last = map(np.median, around)
    steady = times[EARLY // 2 :]
    longest = steady[: len(steady) // LONG * LONG].reshape(-1, LONG).max(1)
    return {
        "time of a late round": last / early,
        "memory at a late round": memory[LATE] / memory[EARLY],
        f"longest of {LONG:,} rounds, median of windows": np.median(longest) / np.median(steady),
        "longest of all rounds": steady.max() / np.median(steady),
    }


def draw_lines(
    path: Path, at: Sequence[Any], rows: pd.DataFrame, names: Sequence[str], **axes: Any
) -> None:
    """Draw PATH-{light,dark}.svg, a line for each of some columns."""

    def paint(panels: Any) -> None:
        panel = panels[0, 0]
        for name, colour in colours(names).items():
            style = "o--" if "predict" in name else "o-"
            panel.plot(at, rows[name], style, markersize=4, color=colour, label=name)
        panel.set(yscale="log", **axes)

    draw(path, 1, paint, panel=(7, 3.8))


def main() -> None:
    """Print the tables; with a folder write them there, and two figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=500, help="timed calls a cell (500)")
    parser.add_argument("--out", type=Path, help="folder of the CSV files and figures")
    given = parser.parse_args()
    times = pd.DataFrame([{"d": d, "k": k} | measure(d, k, given.calls) for d, k in SIZES])
    classes = pd.DataFrame(measure_classes(max(10, given.calls // 20)))
    ratios: dict[str, float] = {}
    for kind in ("INeurAL", "NeurONAL"):
        name = f"a round of {kind}, k = {CLASSES[3]} over {CLASSES[0]}, d = {OF_CLASSES}"
        ratios[name] = classes[kind][3] / classes[kind][0]
    frames = f"rows a second, predict_many over predict_one, d, k = {FRAME_SIZE}"
    ratios |= {frames: measure_frame(given.calls), **measure_growth()}
    others = pd.DataFrame({"ratio": ratios.keys(), "value": ratios.values()}).round(2)
    tables = {"speed": times, "speed-labels": pd.DataFrame(measure_labels())}
    tables |= {"speed-classes": classes, "speed-ratios": others}
    for name, each in tables.items():
        print(each.to_string(index=False), end="\n\n")
        if given.out:
            each.to_csv(given.out / f"{name}.csv", index=False)
    if given.out:
        sizes = [f"{d}, {k}" for d, k in SIZES]
        draw_lines(
            given.out / "speed", sizes, times, COLUMNS, xlabel="d, k", ylabel="microseconds a call"
        )
        of_k = {"xlabel": "k", "xscale": "log", "ylabel": "microseconds a round"}
        draw_lines(given.out / "speed-classes", CLASSES, classes, ("INeurAL", "NeurONAL"), **of_k)


if __name__ == "__main__":
    main()
