"""Seconds and bytes of keeping a model: `save` and `load` beside pickle and joblib.

Each way takes turns with files of one folder, and the least time counts, for others use the machine
too. `save` writes durably, pickle also as durably: into a temporary file, synchronised, renamed.
"""

import argparse
import itertools
import pickle
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]  # comes with scikit-learn
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from common import RESULTS, Row

from river_ineural import INeurAL, load, save
from river_ineural.persistence import from_bytes, to_bytes
from river_ineural.persistence import write as write_durably

SIZES = {  # features, classes, labels, pseudo-labels
    "a full history": (784, 2, 6144, 2048),
    "50 labels": (784, 10, 50, 0),
    "few features": (10, 2, 500, 500),
}


def model_of(d: int, k: int, n_labelled: int, n_pseudo: int) -> INeurAL:
    """A model that has learned so many examples. What it has learned does not matter."""
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


Way = tuple[Callable[[Any, Path], Any], Callable[[Any], Any]]
PICKLED = partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL)


def unpickled(path: Path) -> Any:
    """What pickle wrote."""
    return pickle.loads(path.read_bytes())


WAYS: dict[str, Way] = {  # into a file and from it
    "save": (save, load),
    "pickle, as durably": (lambda model, path: write_durably(path, PICKLED(model)), unpickled),
    "pickle": (lambda model, path: path.write_bytes(PICKLED(model)), unpickled),
    "joblib": (joblib.dump, joblib.load),
}
IN_MEMORY: dict[str, Way] = {  # into bytes and from them
    "to_bytes": (lambda model, path: to_bytes(model), from_bytes),
    "pickle.dumps": (lambda model, path: PICKLED(model), pickle.loads),
}


def measure(model: INeurAL, turns: int) -> list[Row]:
    """Least seconds and bytes of each way."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for turn, (way, (put, get)) in itertools.product(range(turns), (WAYS | IN_MEMORY).items()):
            path = Path(folder) / f"{way} {turn % 2}"
            start = time.perf_counter()
            made = put(model, path)
            middle = time.perf_counter()
            get(made if way in IN_MEMORY else path)
            row = {"way": way, "save": middle - start, "load": time.perf_counter() - middle}
            found.append(row | {"bytes": len(made) if way in IN_MEMORY else path.stat().st_size})
    least = pd.DataFrame(found).groupby("way", sort=False).min().round(4).reset_index()
    return list(least.to_dict("records"))


def main() -> None:
    """Print the table, and write keep.csv."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7, help="of each way (7)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the CSV file")
    given = parser.parse_args()
    rows = []
    for what, size in SIZES.items():
        at = {"model": what, "d": size[0], "k": size[1]}
        rows += [at | row for row in measure(model_of(*size), given.turns)]
    table = pd.DataFrame(rows)
    print(table.to_string(index=False))
    given.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(given.out / "keep.csv", index=False)


if __name__ == "__main__":
    main()
