"""Microseconds of an example learned, of a prediction and of a row of a frame on a GPU.

They stand beside those of one CPU thread. A step of a small network is a few dozen kernels of a few
microseconds each, whatever they compute, so a GPU pays from some width on. Both models take turns
in one process, and each call waits until the device is done.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import torch
from common import Row
from speed import examples_of, medians, new_model

from river_ineural import INeurAL, NeurONAL
from river_ineural.network.device import available
from river_ineural.network.threads import single_threaded

SIZES = (  # learner, d, k, hidden_dim
    *((INeurAL, 22, 2, 100), (INeurAL, 784, 2, 100), (INeurAL, 784, 10, 100)),
    *((INeurAL, 784, 10, 800), (NeurONAL, 22, 2, 400), (NeurONAL, 784, 10, 400)),
    *((NeurONAL, 784, 10, 1000), (NeurONAL, 784, 10, 3000)),
)
ROWS = 1000  # of a frame


@single_threaded
def measure(
    kind: type[INeurAL], d: int, k: int, width: int, device: torch.device, n_calls: int
) -> Row:
    """Microseconds of each call on the CPU and on the device; of a frame, those of a row."""
    xs, ys = examples_of(d, k)
    frame = pd.DataFrame([xs[i % 64] for i in range(ROWS)])
    calls: dict[str, Callable[[int], object]] = {}
    for where, at in (("CPU", torch.device("cpu")), ("device", device)):
        model = new_model(k, kind, hidden_dim=width, device=str(at))
        for x, y in zip(xs, ys, strict=True):
            model.learn_one(x, y)

        def learn(i: int, model: INeurAL = model, at: torch.device = at) -> None:
            model.learn_one(xs[i % 64], ys[i % 64])
            if at.type == "cuda":  # a step is launched, and not waited for
                torch.cuda.synchronize(at)

        calls[f"{where} learn_one"] = learn
        calls[f"{where} predict_one"] = lambda i, model=model: model.predict_one(xs[i % 64])  # type: ignore[misc]
        calls[f"{where} predict_many"] = lambda _, model=model: model.predict_many(frame)  # type: ignore[misc]
    found = {
        name: round(each / (ROWS if name.endswith("many") else 1), 2)
        for name, each in medians(calls, n_calls).items()
    }
    return {"learner": kind.__name__, "d": d, "k": k, "hidden_dim": width} | found


def main() -> None:
    """Print the table; with a folder write it there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", help="which one (cuda)")
    parser.add_argument("--calls", type=int, default=100, help="timed calls a cell (100)")
    parser.add_argument("--out", type=Path, help="folder of device.csv")
    given = parser.parse_args()
    device = available(given.device)
    table = pd.DataFrame([measure(*size, device, given.calls) for size in SIZES])
    print(table.to_string(index=False))
    if given.out:
        table.to_csv(given.out / "device.csv", index=False)


if __name__ == "__main__":
    main()
