"""Time of an example learned, of a prediction and of a frame on a GPU, beside one CPU thread.

A step of a small network is a few dozen kernels of a few microseconds each, whatever they compute;
they are launched together (`network.capture`). So a GPU pays from some width on, which the table
shows. Both models take turns in one process; each call waits until the device is done.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pandas as pd  # type: ignore[import-untyped]
import torch

from river_ineural.benchmark.cells import write
from river_ineural.benchmark.contenders import X
from river_ineural.benchmark.speed import examples, medians, new_model
from river_ineural.classifier import INeurAL
from river_ineural.network.device import available
from river_ineural.network.threads import single_threaded
from river_ineural.neuronal import NeurONAL

__all__ = ["run"]

SIZES = (  # learner, d, k, hidden_dim
    (INeurAL, 22, 2, 100),
    (INeurAL, 784, 2, 100),
    (INeurAL, 784, 10, 100),
    (INeurAL, 784, 10, 800),
    (NeurONAL, 22, 2, 400),
    (NeurONAL, 784, 10, 400),
    (NeurONAL, 784, 10, 1000),
    (NeurONAL, 784, 10, 3000),
)
FRAME_ROWS = 1000
CALLS = ("learn_one", "predict_one", "predict_many")


def name_of(device: torch.device) -> str:
    """What the device calls itself."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return platform.processor() or platform.machine()


def timed(
    model: INeurAL, xs: list[X], ys: list[int], frame: pd.DataFrame
) -> dict[str, Callable[[int], object]]:
    """Calls of one model, each until its device is done."""
    device = model._state.trainer.flat.device

    def learn(i: int) -> None:
        model.learn_one(xs[i % 64], ys[i % 64])
        if device.type == "cuda":  # a step is launched, and not waited for
            torch.cuda.synchronize(device)

    def predict(i: int) -> object:
        return model.predict_one(xs[i % 64])

    def predict_frame(_: int) -> object:
        return model.predict_many(frame)

    return dict(zip(CALLS, (learn, predict, predict_frame), strict=True))


@single_threaded
def measure(
    kind: type[INeurAL], d: int, k: int, width: int, device: torch.device, n_calls: int
) -> dict[str, Any]:
    """Microseconds of each call on the CPU and on the device; of a frame, a row."""
    xs, ys = examples(d, k)
    frame = pd.DataFrame([xs[i % 64] for i in range(FRAME_ROWS)])

    calls: dict[str, Callable[[int], object]] = {}
    for where, at in (("CPU", torch.device("cpu")), ("device", device)):
        model = new_model(k, kind, hidden_dim=width, device=str(at))
        for x, y in zip(xs, ys, strict=True):
            model.learn_one(x, y)

        calls |= {f"{where} {name}": call for name, call in timed(model, xs, ys, frame).items()}
    found = medians(calls, n_calls)
    row: dict[str, Any] = {"learner": kind.__name__, "d": d, "k": k, "hidden_dim": width}
    for name, time in found.items():
        rows = FRAME_ROWS if name.endswith("many") else 1
        row[name] = round(time / rows, 2)
    return row


def run(device: str, n_calls: int, folder: Path | None = None) -> None:
    """Print the table; with a folder write it there."""
    where = available(device)
    print(
        f"{name_of(where)}; torch {torch.__version__}, Numba {numba.__version__}, "
        f"Python {platform.python_version()}; the CPU on one thread; microseconds"
    )
    heads = [f"{place} {call}" for call in CALLS for place in ("CPU", "device")]
    print(f"{'learner':<10}{'d':>6}{'k':>4}{'m':>6}" + "".join(f"{name:>21}" for name in heads))
    rows = []
    for kind, d, k, width in SIZES:
        row = measure(kind, d, k, width, where, n_calls)
        print(
            f"{kind.__name__:<10}{d:>6}{k:>4}{width:>6}"
            + "".join(f"{row[name]:>21,.1f}" for name in heads),
            flush=True,
        )
        rows.append(row)
    if folder is not None:
        write(folder / "device.csv", rows)
