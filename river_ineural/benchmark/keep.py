"""Seconds and bytes of keeping a model: `save` and `load` beside pickle and joblib.

Each way takes its turn several times, into files of one folder; the least time counts, for others
use the machine too. `save` writes durably, the others as they usually do, and once more as `save`
does: into a temporary file, synchronised, renamed.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]  # comes with scikit-learn
import numpy as np

from river_ineural.benchmark.cells import write
from river_ineural.classifier import INeurAL
from river_ineural.persistence import from_bytes, load, save, to_bytes
from river_ineural.persistence import write as write_durably

__all__ = ["parts", "run"]

SIZES = {  # d, k, labels learned, of how many in the history
    "a full history": (784, 2, 6144, 2048),
    "50 labels": (784, 10, 50, 0),
    "few features": (10, 2, 500, 500),
}


def model_of(d: int, k: int, n_labelled: int, n_pseudo: int) -> INeurAL:
    """A model that has learned so many examples, in frames: what it has learned is no matter."""
    import pandas as pd  # type: ignore[import-untyped]

    rng = np.random.default_rng(0)
    model = INeurAL(n_steps=0.01, classes=tuple(range(k)), drift_detector=None, seed=0)
    names = [f"feature {j}" for j in range(d)]
    for start in range(0, n_labelled, 1024):
        n = min(1024, n_labelled - start)
        frame = pd.DataFrame(rng.normal(size=(n, d)), columns=names)
        model.learn_many(frame, pd.Series(rng.integers(0, k, n)))
    for _ in range(n_pseudo):
        x: dict[Any, Any] = dict(zip(names, rng.normal(size=d).tolist(), strict=True))
        model.learn_one(x, 0, pseudo_label=True)
    return model


def pickled(model: Any, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(model, file, protocol=pickle.HIGHEST_PROTOCOL)


def unpickled(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)


def pickled_durably(model: Any, path: Path) -> None:
    write_durably(path, pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL))


def to_memory(model: Any, path: Path) -> None:
    path.write_bytes(b"")
    memory[path] = to_bytes(model)


def pickled_to_memory(model: Any, path: Path) -> None:
    path.write_bytes(b"")
    memory[path] = pickle.dumps(model, protocol=pickle.HIGHEST_PROTOCOL)


memory: dict[Path, bytes] = {}
Way = tuple[Callable[[Any, Path], object], Callable[[Path], Any]]
WAYS: dict[str, Way] = {
    "save": (save, load),
    "pickle, as durably": (pickled_durably, unpickled),
    "pickle": (pickled, unpickled),
    "joblib": (joblib.dump, joblib.load),
    "to_bytes": (to_memory, lambda path: from_bytes(memory[path])),
    "pickle.dumps": (pickled_to_memory, lambda path: pickle.loads(memory[path])),
}


def timed(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(model: INeurAL, turns: int) -> list[dict[str, Any]]:
    """Least seconds and bytes of each way."""
    least = {way: [np.inf, np.inf, 0.0] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(turns):
            for way, (put, get) in WAYS.items():
                path = Path(folder) / f"{way} {turn % 2}"
                found = timed(lambda: put(model, path)), timed(lambda: get(path))  # noqa: B023
                size = len(memory[path]) if path in memory else os.path.getsize(path)
                least[way] = [*map(min, least[way][:2], found), size]
        memory.clear()
    return [
        {"way": way, "save": round(put, 4), "load": round(get, 4), "bytes": int(size)}
        for way, (put, get, size) in least.items()
    ]


def parts(model: INeurAL) -> dict[str, int]:
    """Bytes of what a model has learned, and of the room that is in no file."""
    state = model._state
    trainer, history = state.trainer, state.history
    used = trainer.shape._replace(n_features=trainer.n_features).n_parameters
    row = 4 * (trainer.n_features + 2 * trainer.shape.n_classes + 1)
    in_memory = sum(4 * tensor.numel() for tensor in (history.x, history.targets, history.weight))
    weights = 4 * used
    return {
        "weights": weights,
        "averaged weights": weights,
        "optimiser": weights * len(trainer.optimizer.moments),
        "rows in use": row * len(history),
        "room for rows, not written": in_memory - row * len(history),
    }


def run(turns: int, folder: Path) -> None:
    """Print both tables, and write keep.csv and keep-parts.csv."""
    rows, sizes = [], []
    for what, size in SIZES.items():
        model = model_of(*size)
        at = {"model": what, "d": size[0], "k": size[1]}
        for row in measure(model, turns):
            rows.append(at | row)
            print(
                f"{what:<16}{row['way']:<20}{row['save']:>9.4f} s{row['load']:>9.4f} s"
                f"{row['bytes']:>12,}",
                flush=True,
            )
        found = parts(model)
        found |= {"file": len(to_bytes(model))}
        for part, n in found.items():
            print(f"{what:<16}{part:<40}{n:>12,}")
            sizes.append(at | {"part": part, "bytes": n})
    write(folder / "keep.csv", rows)
    write(folder / "keep-parts.csv", sizes)
