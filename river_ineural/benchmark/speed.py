"""Time of one prediction and one learned example, beside others in the same process.

The learners are as by default, but for one step an example, and `INeurAL` is timed once without
explorers. The floor is the matrix products that a step of both networks cannot avoid, on operands
allocated beforehand, and one fused Adam call a network. The peer is one PyTorch network of the same
width, trained by autograd and Adam on the single example, as wrappers of deep learning for streams
do.

Contenders take turns, so that a busy moment of the machine hits all; medians of calls.
"""

from __future__ import annotations

import functools
import itertools
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import torch

from river_ineural.active import INeurALSampler
from river_ineural.benchmark.cells import write
from river_ineural.benchmark.contenders import WIDTH, Dense, Floor, Peer, X
from river_ineural.benchmark.drawing import colours, draw
from river_ineural.classifier import INeurAL
from river_ineural.learning.scaling import NARROW
from river_ineural.network.threads import single_threaded
from river_ineural.neuronal import NeurONAL

__all__ = ["run"]

SIZES = ((22, 2), (68, 2), (784, 2), (3072, 2), (784, 10), (16, 26))  # d, k
DENSE_SIZE = (784, 26)
CLASSES, OF_CLASSES = (2, 5, 10, 26, 50, 100), 784  # k, and d, of the time against k
LABEL_SIZES, LABELS = ((22, 2), (68, 2)), (50, 100, 200, 400, 800, 1600, 3200)  # d, k; ends
FRAME_SIZE, FRAME_ROWS = (68, 2), 1000
WARM_UP, TURNS = 30, 5
STREAM_SIZE, EARLY, LATE, WINDOW, LONG = (22, 2), 1_000, 100_000, 500, 1_000
COLUMNS = (
    *("learn_one", "peer learn_one", "predict_one", "peer predict_one", "predict_proba_one"),
    *("NeurONAL learn_one", "NeurONAL predict_one"),
    *("f1 alone learn_one", "floor", "f1 alone predict_one"),
)
RATIOS = {
    "learn / peer": ("learn_one", "peer learn_one"),
    "predict / peer": ("predict_one", "peer predict_one"),
    "predict_proba / peer": ("predict_proba_one", "peer predict_one"),
    "NeurONAL learn / peer": ("NeurONAL learn_one", "peer learn_one"),
    "NeurONAL predict / peer": ("NeurONAL predict_one", "peer predict_one"),
    "learn / floor": ("learn_one", "floor"),
    "f1 alone: learn / peer": ("f1 alone learn_one", "peer learn_one"),
}


def medians(calls: dict[str, Callable[[int], object]], n_calls: int) -> dict[str, float]:
    """Median microseconds of each call(i), taken in turns after warming up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS):
        for name, call in calls.items():
            if turn == 0:
                for i in range(WARM_UP):
                    call(i)
            for i in range(max(1, n_calls // TURNS)):
                start = time.perf_counter()
                call(i)
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) * 1e6 for name, each in times.items()}


def new_model(
    n_classes: int,
    kind: type[INeurAL] = INeurAL,
    hidden_dim: int = WIDTH,
    device: str = "cpu",
    capacity: int = 512,
    explorers: tuple[str, ...] = ("network",),
) -> INeurAL:
    """A model that takes one step of the floor's size an example; `lasting_model` has trees."""
    return kind(
        hidden_dim=hidden_dim,
        n_steps=1,
        explorers=explorers,
        capacity=capacity,
        classes=tuple(range(n_classes)),
        device=device,
        seed=0,
    )


def examples(n_features: int, n_classes: int) -> tuple[list[X], list[int]]:
    """64 feature dicts and labels."""
    rng = np.random.default_rng(0)
    names = [f"feature {j}" for j in range(n_features)]
    rows = rng.normal(size=(64, n_features)).tolist()
    xs: list[X] = [dict(zip(names, row, strict=True)) for row in rows]
    return xs, rng.integers(0, n_classes, 64).tolist()


def lasting_model(n_features: int, n_classes: int) -> INeurAL:
    """One with a history as full as after a long stream, if it has a forest, which grows slower by
    then.
    """
    if n_features > NARROW:
        return new_model(n_classes)
    both = ("network", "forest")
    model = new_model(n_classes, capacity=8192, explorers=both)
    rng = np.random.default_rng(1)
    model.n_steps = 0
    x = pd.DataFrame(rng.normal(size=(8192, n_features)))
    model.learn_many(
        x.rename(columns="feature {}".format), pd.Series(rng.integers(0, n_classes, 8192))
    )
    model.n_steps = 1
    return model


@single_threaded
def measure_labels() -> list[dict[str, Any]]:
    """Mean milliseconds of a given label, while few are held, without a forest and with it."""
    rows = []
    for d, k in LABEL_SIZES:
        rng = np.random.default_rng(0)
        x = rng.normal(size=(LABELS[-1], d))
        y = (x[:, 0] > 0) ^ (x[:, 1] + 0.5 * rng.normal(size=len(x)) > 0)
        xs: list[X] = [dict(enumerate(row)) for row in x.tolist()]
        times = {}
        for forest in (False, True):
            explorers = ("network", "forest") if forest else ("network",)
            model, spent = INeurAL(explorers=explorers, classes=tuple(range(k)), seed=0), []
            for each, label in zip(xs, y.tolist(), strict=True):
                start = time.perf_counter()
                model.learn_one(each, int(label))
                spent.append(time.perf_counter() - start)
            times[forest] = 1e3 * np.array(spent)
        for start, end in itertools.pairwise((WARM_UP, *LABELS)):
            without, beside = (times[forest][start:end].mean() for forest in (False, True))
            row = {"d": d, "from": start + 1, "to": end}
            rows.append(
                row | {"without": round(float(without), 2), "with": round(float(beside), 2)}
            )
    return rows


@single_threaded
def measure(n_features: int, n_classes: int, n_calls: int) -> dict[str, float]:
    """Microseconds of each contender at one size."""
    xs, ys = examples(n_features, n_classes)
    model, neuronal = lasting_model(n_features, n_classes), new_model(n_classes, NeurONAL)
    alone = new_model(n_classes, explorers=())
    for x, y in zip(xs * 6, ys * 6, strict=True):  # fill the history, so that its memory is warm
        for each in (model, neuronal, alone):
            each.learn_one(x, y)
    peer, floor = Peer(n_features, n_classes), Floor(n_features, n_classes)
    calls: dict[str, Callable[[int], object]] = {
        "floor": lambda _: floor.step(),
        "learn_one": lambda i: model.learn_one(xs[i % 64], ys[i % 64]),
        "peer learn_one": lambda i: peer.learn_one(xs[i % 64], ys[i % 64]),
        "predict_one": lambda i: model.predict_one(xs[i % 64]),
        "predict_proba_one": lambda i: model.predict_proba_one(xs[i % 64]),
        "peer predict_one": lambda i: peer.predict_one(xs[i % 64]),
        "NeurONAL learn_one": lambda i: neuronal.learn_one(xs[i % 64], ys[i % 64]),
        "NeurONAL predict_one": lambda i: neuronal.predict_one(xs[i % 64]),
        "f1 alone learn_one": lambda i: alone.learn_one(xs[i % 64], ys[i % 64]),
        "f1 alone predict_one": lambda i: alone.predict_one(xs[i % 64]),
    }
    return {name: float("nan") for name in COLUMNS} | medians(calls, n_calls)


@single_threaded
def measure_dense(n_calls: int) -> float:
    """Time of a step on written-out contexts over that of a step on blocks."""
    d, k = DENSE_SIZE
    xs, ys = examples(d, k)
    model, dense = new_model(k), Dense(d + 1, k)
    for x, y in zip(xs, ys, strict=True):
        model.learn_one(x, y)
    state, rates = model._state, (model.lr, model._recipe.exploration_lr)
    found = medians(
        {
            "blocks": lambda _: state.trainer.step(state.history, state.scaling, rates, True),
            "dense": lambda _: dense.step(),
        },
        n_calls,
    )
    return found["dense"] / found["blocks"]


@single_threaded
def measure_frame(n_calls: int) -> float:
    """Rows a second of `predict_many` over those of `predict_one`."""
    d, k = FRAME_SIZE
    xs, ys = examples(d, k)
    model = new_model(k)
    for x, y in zip(xs, ys, strict=True):
        model.learn_one(x, y)
    frame = pd.DataFrame([xs[i % 64] for i in range(FRAME_ROWS)])
    found = medians(
        {
            "frame": lambda _: model.predict_many(frame),
            "one": lambda i: model.predict_one(xs[i % 64]),
        },
        n_calls,
    )
    return found["one"] * FRAME_ROWS / found["frame"]


@single_threaded
def measure_classes(n_calls: int) -> list[dict[str, Any]]:
    """Microseconds of a round, a prediction and an example learned, of both learners against k."""
    rows = []
    for k in CLASSES:
        xs, ys = examples(OF_CLASSES, k)
        models = {kind.__name__: new_model(k, kind) for kind in (INeurAL, NeurONAL)}

        def round_of(model: INeurAL, i: int, xs: list[X] = xs, ys: list[int] = ys) -> None:
            model.predict_one(xs[i % 64])
            model.learn_one(xs[i % 64], ys[i % 64])

        calls: dict[str, Callable[[int], object]] = {
            name: functools.partial(round_of, model) for name, model in models.items()
        }
        found = medians(calls, n_calls)
        rows.append({"k": k} | {name: round(time, 1) for name, time in found.items()})
    return rows


def measure_growth(late: int) -> dict[str, float]:
    """Time and memory of a late round over an early one, and the longest round over the median.

    A round is `predict_one`, and `learn_one` for one in ten; all others are learned as
    pseudo-labels where the model is sure. Early and late are medians of the means of ten rounds, so
    that each holds as many steps.
    """
    d, k = STREAM_SIZE
    xs, ys = examples(d, k)
    model = INeurALSampler(
        INeurAL(seed=0, capacity=512),
        gamma=0.0,
        seed=0,
    )
    times, memory = np.empty(late + WINDOW), {}
    for t in range(late + WINDOW):
        x, y = xs[t % 64], ys[t % 64]
        start = time.perf_counter()
        model.predict_one(x)
        if t % 10 == 0:
            model.learn_one(x, y)
        times[t] = time.perf_counter() - start
        if t in (EARLY, late):
            memory[t] = model._raw_memory_usage
    early, last = (
        np.median(times[t - WINDOW : t + WINDOW].reshape(-1, 10).mean(1)) for t in (EARLY, late)
    )
    steady = times[EARLY // 2 :]
    windows = steady[: len(steady) // LONG * LONG].reshape(-1, LONG)
    return {
        "time of a late round": float(last / early),
        "memory at a late round": memory[late] / memory[EARLY],
        f"longest of {LONG:,} rounds, median of windows": float(
            np.median(windows.max(1)) / np.median(steady)
        ),
        "longest of all rounds": float(steady.max() / np.median(steady)),
    }


def run(n_calls: int, folder: Path | None = None) -> None:
    """Print the table and the other ratios; with a folder write them there, and a figure."""
    print(
        f"torch {torch.__version__}, Python {platform.python_version()}, one thread, microseconds"
    )
    heads = [*COLUMNS, *RATIOS]
    print(f"{'d':>5}{'k':>4}" + "".join(f"{name:>18}" for name in heads))
    rows = []
    for d, k in SIZES:
        times = measure(d, k, n_calls)
        ratios = {name: times[top] / times[bottom] for name, (top, bottom) in RATIOS.items()}
        print(
            f"{d:>5}{k:>4}"
            + "".join(f"{times[name]:>18.0f}" for name in COLUMNS)
            + "".join(f"{ratio:>18.2f}" for ratio in ratios.values()),
            flush=True,
        )
        rows.append({"d": d, "k": k} | {name: round(times[name], 1) for name in COLUMNS})
    labels = measure_labels()
    for row in labels:
        print("milliseconds of a label: " + ", ".join(f"{name} {row[name]}" for name in row))
    classes = measure_classes(max(10, n_calls // 20))
    few, many = (next(row for row in classes if row["k"] == k) for k in (CLASSES[0], CLASSES[3]))
    others = {
        **{
            f"a round of {kind}, k = {CLASSES[3]} over {CLASSES[0]}, d = {OF_CLASSES}": many[kind]
            / few[kind]
            for kind in ("INeurAL", "NeurONAL")
        },
        f"dense contexts over blocks, d, k = {DENSE_SIZE}": measure_dense(max(10, n_calls // 10)),
        f"rows a second, predict_many over predict_one, d, k = {FRAME_SIZE}": measure_frame(
            n_calls
        ),
        **measure_growth(LATE),
    }
    for name, ratio in others.items():
        print(f"{name:<66}{ratio:>8.2f}")
    if folder is not None:
        write(folder / "speed.csv", rows)
        write(folder / "speed-classes.csv", classes)
        write(folder / "speed-labels.csv", labels)
        write(
            folder / "speed-ratios.csv",
            [{"ratio": name, "value": round(ratio, 2)} for name, ratio in others.items()],
        )
        draw_speed(folder, rows)
        draw_classes(folder, classes)


def draw_speed(folder: Path, rows: list[dict[str, Any]]) -> None:
    """speed-{light,dark}.svg: microseconds of each contender at each size."""

    def paint(axes: Any) -> None:
        (panel,) = axes.flat
        at = range(len(rows))
        for name, colour in colours(COLUMNS).items():
            style = "o--" if "predict" in name else "o-"
            times = [row[name] for row in rows]
            panel.plot(at, times, style, markersize=4, color=colour, label=name)
        panel.set_xticks(at, [f"{row['d']}, {row['k']}" for row in rows])
        panel.set(xlabel="d, k", ylabel="microseconds a call", yscale="log")

    draw(folder / "speed", 1, paint, panel=(7, 3.8))


def draw_classes(folder: Path, rows: list[dict[str, Any]]) -> None:
    """speed-classes-{light,dark}.svg: microseconds of a round of both learners against k."""

    def paint(axes: Any) -> None:
        (panel,) = axes.flat
        for name, colour in colours(("INeurAL", "NeurONAL")).items():
            panel.plot(
                *([row["k"] for row in rows], [row[name] for row in rows], "o-"),
                **{"markersize": 4, "color": colour, "label": name},
            )
        panel.set(xlabel="k", ylabel="microseconds a round", xscale="log", yscale="log")

    draw(folder / "speed-classes", 1, paint, panel=(7, 3.8))
