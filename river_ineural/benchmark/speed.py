"""Time of one prediction and one learned example, beside a floor and a peer in the same process.

The floor is the matrix products that one step of both networks cannot avoid, on operands allocated
beforehand, and one fused Adam call a network. The peer is one PyTorch network of the same width,
trained by autograd and Adam on the single example, as wrappers of deep learning for streams do.
"""

from __future__ import annotations

import csv
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from river.base.typing import FeatureName
from torch import nn

from river_ineural.classifier import INeurAL
from river_ineural.threads import single_threaded
from river_ineural.training import adam_step

__all__ = ["run"]

SIZES = ((22, 2), (68, 2), (784, 2), (3072, 2), (784, 10), (16, 26))  # d, k
WIDTH, CONTEXTS = 100, 64
WARM_UP = 30  # calls before timing
X = dict[FeatureName, Any]


class Peer:
    """One network, one example at a time, by autograd and `torch.optim.Adam`."""

    def __init__(self, n_features: int, n_classes: int) -> None:
        self.network = nn.Sequential(
            nn.Linear(n_features, WIDTH), nn.ReLU(), nn.Linear(WIDTH, n_classes)
        )
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


class Floor:
    """The unavoidable part of a step of both networks, for d inputs and k classes."""

    def __init__(self, d: int, k: int) -> None:
        m, b = WIDTH, -(-CONTEXTS // k)
        n = b * k
        generator = torch.Generator().manual_seed(0)

        def random(*size: int) -> torch.Tensor:
            return torch.randn(size, generator=generator)

        self.x, self.by_context, self.products = (
            random(b, d),
            random(2 * m * k, d),
            random(b, 2 * m * k),
        )
        self.context_gradient = random(2 * m * k, d)
        self.first, self.half, self.half_gradient = (random(m, k * d) for _ in range(3))
        self.delta, self.input_gradient, self.hidden = random(n, m), random(n, k * d), random(n, m)
        self.output, self.scores = random(m), random(n)
        self.parameters = [random(m * k * d + m), random(2 * m * k * d + m)]
        self.adam = [
            [p, random(len(p)), torch.zeros_like(p), torch.zeros_like(p), torch.ones(())]
            for p in self.parameters
        ]

    def step(self) -> None:
        """The products, and one fused Adam call a network."""
        torch.mm(self.x, self.by_context.t(), out=self.products)  # both first layers
        torch.mm(self.delta, self.first, out=self.input_gradient)  # of f1
        torch.mm(self.input_gradient, self.half.t(), out=self.hidden)  # into f2
        for _ in range(2):
            torch.mv(self.hidden, self.output, out=self.scores)  # last layers
            torch.mv(self.hidden.t(), self.scores, out=self.output)  # and their gradients
        torch.mm(self.delta.t(), self.input_gradient, out=self.half_gradient)
        torch.mm(self.products.t(), self.x, out=self.context_gradient)
        for parameters, gradient, mean, square, n_updates in self.adam:
            adam_step(parameters, gradient, mean, square, n_updates, lr=1e-3)


def median_microseconds(call: Callable[[int], object], n_calls: int) -> float:
    """Median time of `call(i)` after warming up."""
    for i in range(WARM_UP):
        call(i)
    times = []
    for i in range(n_calls):
        start = time.perf_counter()
        call(i)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def new_model(n_features: int, n_classes: int) -> INeurAL:
    """A model that takes one step of the floor's size an example."""
    return INeurAL(
        hidden_dim=WIDTH,
        batch_size=CONTEXTS,
        n_steps=1,
        capacity=512,
        classes=tuple(range(n_classes)),
        seed=0,
    )


@single_threaded
def measure(n_features: int, n_classes: int, n_calls: int) -> dict[str, float]:
    """Microseconds of each contender at one size."""
    rng = np.random.default_rng(0)
    names: list[FeatureName] = [f"feature {j}" for j in range(n_features)]
    xs: list[X] = [
        dict(zip(names, row, strict=True)) for row in rng.normal(size=(64, n_features)).tolist()
    ]
    ys = rng.integers(0, n_classes, 64).tolist()
    model = new_model(n_features, n_classes)
    for x, y in zip(xs * 6, ys * 6, strict=True):  # fill the history, so that its memory is warm
        model.learn_one(x, y)
    peer, floor = Peer(n_features, n_classes), Floor(n_features, n_classes)
    return {
        "floor": median_microseconds(lambda _: floor.step(), n_calls),
        "learn_one": median_microseconds(
            lambda i: model.learn_one(xs[i % 64], ys[i % 64]), n_calls
        ),
        "peer learn_one": median_microseconds(
            lambda i: peer.learn_one(xs[i % 64], ys[i % 64]), n_calls
        ),
        "predict_one": median_microseconds(lambda i: model.predict_one(xs[i % 64]), n_calls),
        "peer predict_one": median_microseconds(lambda i: peer.predict_one(xs[i % 64]), n_calls),
    }


def run(n_calls: int, csv_path: Path | None = None) -> None:
    """Print the table, and append it to a CSV file if one is given."""
    columns = ["floor", "learn_one", "peer learn_one", "predict_one", "peer predict_one"]
    print(
        f"torch {torch.__version__}, Python {platform.python_version()}, one thread, microseconds"
    )
    print(
        f"{'d':>5}{'k':>4}" + "".join(f"{name:>18}" for name in columns) + f"{'learn / floor':>16}"
    )
    rows = []
    for d, k in SIZES:
        times = measure(d, k, n_calls)
        print(
            f"{d:>5}{k:>4}"
            + "".join(f"{times[name]:>18.0f}" for name in columns)
            + f"{times['learn_one'] / times['floor']:>16.2f}",
            flush=True,
        )
        rows.append({"torch": torch.__version__, "d": d, "k": k, **times})
    if csv_path is not None:
        is_new = not csv_path.exists()
        with csv_path.open("a", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            if is_new:
                writer.writeheader()
            writer.writerows(rows)
