"""Microseconds per prediction and per learned example, compared with others in one process.

The learners have default settings, except for one step per example. `INeurAL` is also timed without
explorers. The peer is one PyTorch network of the same width, trained by autograd and Adam on each
single example. With `--device` a GPU is compared with one CPU thread. Contenders take turns, so
that a busy moment of the machine affects all. Times are medians of calls.
"""

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
from sklearn.neural_network import MLPClassifier  # type: ignore[import-untyped]
from torch import nn

from river_ineural import INeurAL, NeurONAL
from river_ineural.active import INeurALSampler
from river_ineural.networks.device import available
from river_ineural.networks.threads import single_threaded

SIZES = ((22, 2), (68, 2), (784, 2), (3072, 2), (784, 10), (16, 26))  # d, k
CLASSES, OF_CLASSES = (2, 5, 10, 26, 50, 100), 784  # k and d of the times by k
LABEL_SIZES, LABELS = ((22, 2), (68, 2)), (50, 100, 200, 400, 800, 1600, 3200)  # d, k; span ends
FRAME_SIZE, FRAME_ROWS = (68, 2), 1000
WARM_UP, TURNS, WIDTH = 30, 5, 100
EARLY, LATE, WINDOW, LONG = 1_000, 100_000, 500, 1_000  # rounds of a long stream
ON_DEVICES: tuple[tuple[type[INeurAL | NeurONAL], int, int, int], ...] = (  # and hidden_dim
    *((INeurAL, 22, 2, 100), (INeurAL, 784, 2, 100), (INeurAL, 784, 10, 100)),
    *((INeurAL, 784, 10, 800), (NeurONAL, 22, 2, 400), (NeurONAL, 784, 10, 400)),
    *((NeurONAL, 784, 10, 1000), (NeurONAL, 784, 10, 3000)),
)
Calls = dict[str, Callable[[int], object]]


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


def medians(calls: Calls, n_calls: int) -> dict[str, float]:
    """Median microseconds of each call(i); the calls take turns after a warm-up."""
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


def new_model(
    k: int, kind: type[INeurAL | NeurONAL] = INeurAL, **settings: Any
) -> INeurAL | NeurONAL:
    """A model with one step per example, and by default without a forest."""
    usual: dict[str, Any] = {"hidden_dim": WIDTH, "explorers": ("network",), "capacity": 512}
    return kind(n_steps=1, classes=tuple(range(k)), seed=0, **usual | settings)


def lasting_model(d: int, k: int) -> INeurAL | NeurONAL:
    """A model with a history as full as after a long stream, when the forest grows more slowly."""
    model = new_model(k, capacity=8192, explorers=("network", "forest"))
    rng = np.random.default_rng(1)
    model.n_steps = 0
    x = pd.DataFrame(rng.normal(size=(8192, d))).rename(columns="feature {}".format)
    model.learn_many(x, pd.Series(rng.integers(0, k, 8192)))
    model.n_steps = 1
    return model


def calls_of(name: str, model: Any, xs: list[X], ys: list[int], turns: int = 1) -> Calls:
    """Calls that predict and learn an example, after `turns` passes over all examples."""
    for x, y in zip(xs * turns, ys * turns, strict=True):
        model.learn_one(x, y)

    def learn(i: int) -> None:
        model.learn_one(xs[i % 64], ys[i % 64])
        if getattr(model, "device", "cpu") != "cpu":  # steps on a device are asynchronous
            torch.cuda.synchronize()

    return {
        f"{name}learn_one": learn,
        f"{name}predict_one": lambda i: model.predict_one(xs[i % 64]),
    }


@single_threaded
def measure(d: int, k: int, n_calls: int) -> Row:
    """Microseconds of each contender at one size."""
    data = examples_of(d, k)
    models: dict[str, Any] = {"": lasting_model(d, k), "peer ": Peer(d, k)}
    models |= {"NeurONAL ": new_model(k, NeurONAL), "f1 alone ": new_model(k, explorers=())}
    calls: Calls = {}
    for name, model in models.items():
        calls |= calls_of(name, model, *data, turns=6)  # warms up the memory of the model
    calls["predict_proba_one"] = lambda i: models[""].predict_proba_one(data[0][i % 64])
    times = medians(calls, n_calls)
    return {"d": d, "k": k} | {name: round(time, 1) for name, time in times.items()}


@single_threaded
def measure_device(
    kind: type[INeurAL | NeurONAL], d: int, k: int, width: int, device: str, n_calls: int
) -> Row:
    """Microseconds of each call on the CPU and on the device; for a frame, per row."""
    xs, ys = examples_of(d, k)
    frame = pd.DataFrame([xs[i % 64] for i in range(FRAME_ROWS)])
    row: Row = {"learner": kind.__name__, "d": d, "k": k, "hidden_dim": width}
    calls: Calls = {}
    for where, at in (("CPU", "cpu"), ("device", device)):
        model = new_model(k, kind, hidden_dim=width, device=at)
        calls |= calls_of(f"{where} ", model, xs, ys)
        calls[f"{where} predict_many"] = lambda _, model=model: model.predict_many(frame)  # type: ignore[misc]
    for name, each in medians(calls, n_calls).items():
        row[name] = round(each / (FRAME_ROWS if name.endswith("many") else 1), 2)
    return row


@single_threaded
def measure_labels() -> list[Row]:
    """Mean milliseconds to learn a given label while few are stored, without and with a forest."""
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
        for first, end in itertools.pairwise((WARM_UP, *LABELS)):
            without, beside = times[:, first:end].mean(axis=1).round(2)
            rows.append({"d": d, "from": first + 1, "to": end, "without": without, "with": beside})
    return rows


@single_threaded
def measure_classes(n_calls: int) -> list[Row]:
    """Microseconds of a prediction plus a learned example by k, for both learners."""
    rows: list[Row] = []
    for k in CLASSES:
        calls: Calls = {}
        data = examples_of(OF_CLASSES, k)
        for kind in (INeurAL, NeurONAL):
            calls |= calls_of(f"{kind.__name__} ", new_model(k, kind), *data)
        times = pd.Series(medians(calls, n_calls))
        rounds = times.groupby(times.index.str.split().str[0]).sum()
        rows.append({"k": k} | rounds.round(1).to_dict())
    return rows


@single_threaded
def measure_frames(n_calls: int) -> list[Row]:
    """Rows per second of a frame, with each row learned about once, and for `MLPClassifier`."""
    xs, ys = examples_of(*FRAME_SIZE)
    frame = pd.DataFrame([xs[i % 64] for i in range(FRAME_ROWS)])
    y = pd.Series([ys[i % 64] for i in range(FRAME_ROWS)])
    peer = MLPClassifier((WIDTH,), random_state=0)
    calls: Calls = {
        "MLPClassifier,learn_many": lambda _: peer.partial_fit(frame, y, classes=[0, 1]),
        "MLPClassifier,predict_many": lambda _: peer.predict(frame),
    }
    for kind in (INeurAL, NeurONAL):
        model = new_model(FRAME_SIZE[1], kind)
        model.n_steps = 2 / model.batch_size  # a batch has half as many examples
        calls[f"{kind.__name__},learn_many"] = lambda _, m=model: m.learn_many(frame, y)  # type: ignore[misc]
        calls[f"{kind.__name__},predict_many"] = lambda _, m=model: m.predict_many(frame)  # type: ignore[misc]
    times = pd.Series(medians(calls, n_calls))
    rates = (1e6 * FRAME_ROWS / times).round(-2)
    rates.index = pd.MultiIndex.from_tuples(name.split(",") for name in rates.index)
    return rates.unstack(sort=False).rename_axis("learner").reset_index().to_dict("records")  # type: ignore[no-any-return]


def measure_growth() -> dict[str, float]:
    """Time and memory of a late round over an early one, and the longest round over the median.

    One round in ten learns a label. The others learn a pseudo-label if the model is sure. Times are
    medians of means over ten rounds, so that each mean has equally many steps.
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
        "time of a late round over an early one": last / early,
        "memory at a late round over an early one": memory[LATE] / memory[EARLY],
        f"longest of {LONG:,} rounds over the median": np.median(longest) / np.median(steady),
        "longest of all rounds over the median": steady.max() / np.median(steady),
    }


def tables(n_calls: int) -> dict[str, pd.DataFrame]:
    """All tables except that of a GPU, by file name."""
    classes = pd.DataFrame(measure_classes(max(10, n_calls // 20)))
    ratios = {
        f"a round of {kind}, k = 26 over 2, d = {OF_CLASSES}": classes[kind][3] / classes[kind][0]
        for kind in ("INeurAL", "NeurONAL")
    }
    frame = measure_device(INeurAL, *FRAME_SIZE, WIDTH, "cpu", n_calls)
    ratios[f"rows a second, predict_many over predict_one, d, k = {FRAME_SIZE}"] = (
        frame["CPU predict_one"] / frame["CPU predict_many"]
    )
    ratios |= measure_growth()
    return {
        "speed": pd.DataFrame([measure(d, k, n_calls) for d, k in SIZES]),
        "speed-labels": pd.DataFrame(measure_labels()),
        "speed-classes": classes,
        "speed-frames": pd.DataFrame(measure_frames(max(10, n_calls // 20))),
        "speed-ratios": pd.DataFrame(ratios.items(), columns=["ratio", "value"]).round(2),
    }


def draw_lines(path: Path, at: Sequence[Any], rows: pd.DataFrame, **axes: Any) -> None:
    """Draw PATH-{light,dark}.svg, with a line for each column of times."""

    def paint(panels: Any) -> None:
        for name, colour in colours(rows.columns.drop(["d", "k"], errors="ignore")).items():
            style = "^:" if "proba" in name else "s--" if "predict" in name else "o-"
            panels[0, 0].plot(at, rows[name], style, markersize=4, color=colour, label=name)
        panels[0, 0].set(yscale="log", **axes)

    draw(path, 1, paint, height=3.4)


def main() -> None:
    """Print the tables; with `--out`, also write them and draw two figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=500, help="timed calls a cell (500)")
    parser.add_argument("--device", help="time this device, such as cuda, and nothing else")
    parser.add_argument("--out", type=Path, help="folder of the CSV files and figures")
    given = parser.parse_args()
    if given.device:
        device = str(available(given.device))
        rows = [measure_device(*size, device, given.calls) for size in ON_DEVICES]
        found = {"device": pd.DataFrame(rows)}
    else:
        found = tables(given.calls)
    for name, each in found.items():
        print(each.to_string(index=False), end="\n\n")
        if given.out:
            each.to_csv(given.out / f"{name}.csv", index=False)
    if given.out and not given.device:
        at = {"xlabel": "d, k", "ylabel": "microseconds a call"}
        draw_lines(given.out / "speed", [f"{d}, {k}" for d, k in SIZES], found["speed"], **at)
        at = {"xlabel": "k", "xscale": "log", "ylabel": "microseconds a round"}
        draw_lines(given.out / "speed-classes", CLASSES, found["speed-classes"], **at)


if __name__ == "__main__":
    main()
