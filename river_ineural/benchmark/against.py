"""Two checkouts of the package side by side: decisions, times of a call, time to start.

Both are copied under names of their own and imported into one process, where their calls take
turns. Only names that both have had from the first are used.
"""

from __future__ import annotations

import importlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from river_ineural.benchmark.speed import SIZES, examples
from river_ineural.network.threads import single_threaded

__all__ = ["run"]

PACKAGE = "river_ineural"
STREAMS = (("PhishingWebsites", False), ("IJCNN", False), ("MNIST", False), ("MNIST", True))
ROUNDS, HELD_BACK, SEEDS = 500, 100, 3
TURNS = 60
STARTS, FIRST_LABELS = 5, 3
IMPORT = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
FIRST_LABEL = (
    f"from {PACKAGE} import INeurAL; "
    "INeurAL(seed=0).learn_one(dict.fromkeys(map(str, range(22)), 0.5), 0)"
)


def under_a_name(checkout: Path, name: str, folder: Path) -> ModuleType:
    """The package of a checkout, imported under another name."""
    copy = shutil.copytree(
        checkout / PACKAGE, folder / name, ignore=shutil.ignore_patterns("__pycache__")
    )
    for path in copy.rglob("*.py"):
        path.write_text(path.read_text().replace(PACKAGE, name))
    return importlib.import_module(name)


def decided(package: Any, kind: str, multiclass: bool, seed: int) -> list[Any]:
    """What a sampler with the defaults predicts and asks for, then the scores of further rows."""
    datasets = importlib.import_module(f"{package.__name__}.datasets")
    x, y = getattr(datasets, kind)(multiclass=multiclass, seed=seed).arrays()
    xs = [dict(enumerate(row)) for row in x[: ROUNDS + HELD_BACK].tolist()]
    model = package.active.INeurALSampler(
        package.INeurAL(seed=seed), budget=0.1, horizon=ROUNDS, seed=seed
    )
    found: list[Any] = []
    for row, label in zip(xs[:ROUNDS], y.tolist(), strict=False):
        found.append(model.predict_proba_one(row))
        if found[-1][1]:
            model.learn_one(row, label)
    return found + [model.classifier.scores_one(row) for row in xs[ROUNDS:]]


def ratio(calls: dict[str, Callable[[int], object]], n_calls: int) -> str:
    """Median over turns of the time of the first over that of the second, and microseconds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS):
        for name in list(calls)[:: 1 if turn % 2 else -1]:
            start = time.perf_counter()
            for i in range(n_calls):
                calls[name](i % 64)
            times[name].append((time.perf_counter() - start) / n_calls)
    (_, mine), (_, theirs) = times.items()
    each = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
    return f"{each:.3f} ({min(mine) * 1e6:,.0f} / {min(theirs) * 1e6:,.0f})"


@single_threaded
def timed(packages: list[Any], n_features: int, n_classes: int) -> list[str]:
    """Ratios of learn_one, predict_one and a sampler's round without a label."""
    xs, ys = examples(n_features, n_classes)
    learn: dict[str, Callable[[int], object]] = {}
    predict: dict[str, Callable[[int], object]] = {}
    decide: dict[str, Callable[[int], object]] = {}

    def calls(package: Any) -> None:
        model = package.INeurAL(n_steps=1, capacity=512, classes=tuple(range(n_classes)), seed=0)
        sampler = package.active.INeurALSampler(model, gamma=0.0, self_training=False)
        for x, y in zip(xs * 2, ys * 2, strict=True):
            model.learn_one(x, y)
        learn[package.__name__] = lambda i: model.learn_one(xs[i], ys[i])
        predict[package.__name__] = lambda i: model.predict_one(xs[i])
        decide[package.__name__] = lambda i: sampler.predict_one(xs[i])

    for package in packages:
        calls(package)
    few = max(1, 3_000 // (n_features * n_classes))
    return [ratio(learn, min(few, 30)), ratio(predict, few), ratio(decide, few)]


def seconds(code: str, checkout: Path, **environment: str) -> float:
    """What a process of its own prints."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(checkout), **environment},
        cwd=tempfile.gettempdir(),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(result.stdout)


def started(checkouts: dict[str, Path]) -> None:
    """Print seconds to import and to the first label, nothing compiled before; by turns."""
    least: list[float] = []
    imported: dict[str, list[float]] = {name: [] for name in checkouts}
    labelled: dict[str, list[float]] = {name: [] for name in checkouts}
    for turn in range(STARTS):
        least.append(seconds(IMPORT.format("import river.base, torch"), Path()))
        for name, checkout in checkouts.items():
            imported[name].append(seconds(IMPORT.format(f"import {PACKAGE}"), checkout))
            if turn < FIRST_LABELS:
                with tempfile.TemporaryDirectory() as cache:
                    code = IMPORT.format(FIRST_LABEL)
                    labelled[name].append(seconds(code, checkout, NUMBA_CACHE_DIR=cache))
    base = statistics.median(least)
    for name in checkouts:
        whole, first = statistics.median(imported[name]), statistics.median(labelled[name])
        print(
            f"{name}: import {whole:.2f} s, over torch and River's base {whole / base:.2f}; "
            f"first label {first:.1f} s"
        )


def run(other: Path, this: Path) -> None:
    """Print all of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sys.path.insert(0, name)
        packages = [
            under_a_name(this, "this_ineural", folder),
            under_a_name(other, "other_ineural", folder),
        ]
        print("decisions of 500 rounds, and scores after them, over three seeds")
        for kind, multiclass in STREAMS:
            same = 0
            for seed in range(SEEDS):
                try:
                    one, two = (decided(p, kind, multiclass, seed) for p in packages)
                except FileNotFoundError:
                    continue
                same += one == two
            what = f"{kind}, all classes" if multiclass else kind
            print(f"  {what:<20}{same} of {SEEDS} the same", flush=True)
        print("times, this over the other (microseconds)")
        print(f"{'d':>6}{'k':>4}" + "".join(f"{h:>28}" for h in ("learn", "predict", "round")))
        for d, k in SIZES:
            cells = timed(packages, d, k)
            print(f"{d:>6}{k:>4}" + "".join(f"{cell:>28}" for cell in cells), flush=True)
        sys.path.remove(name)
    started({"this": this, "other": other})
