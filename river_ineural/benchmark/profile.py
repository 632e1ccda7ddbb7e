"""Where the time of a round goes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from river_ineural.benchmark.speed import SIZES, WARM_UP, examples, new_model
from river_ineural.network.threads import single_threaded

__all__ = ["run"]


class Stopwatch:
    """Times calls of methods by name; each timer itself takes about 0.2 µs."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def watch(self, owner: Any, method: str, name: str) -> None:
        """Put a timer around a method of one object, or a function of one module."""
        function: Callable[..., Any] = getattr(owner, method)
        times = self.times.setdefault(name, [])

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            result = function(*args, **kwargs)
            times.append(time.perf_counter() - start)
            return result

        setattr(owner, method, timed)


@single_threaded
def profile(n_features: int, n_classes: int, n_calls: int) -> dict[str, float]:
    """Median microseconds of each part of a `learn_one` of one step, and of a `predict_one`."""
    xs, ys = examples(n_features, n_classes)
    model, stopwatch = new_model(n_classes), Stopwatch()
    for i in range(384):
        model.learn_one(xs[i % 64], ys[i % 64])
    state = model._state
    trainer, features = state.trainer, state.features
    for owner, method, name in (
        (model, "predict_one", "predict_one"),
        (model, "learn_one", "learn_one"),
        (features, "values", "  values of the dict"),
        (features, "place", "  their columns"),
        (trainer, "score", "  f1 and f2 of the example"),
        (state.scaling, "update", "  mean"),
        (state.history, "add", "  into the history"),
        (trainer, "step", "  a step"),
        (state.history, "rows", "    draw"),
    ):
        stopwatch.watch(owner, method, name)
    for i in range(WARM_UP + n_calls):
        model.predict_one(xs[i % 64])
        model.learn_one(xs[i % 64], ys[i % 64])
    return {
        name: statistics.median(times[WARM_UP:]) * 1e6 for name, times in stopwatch.times.items()
    }


def run(n_calls: int) -> None:
    """Print a column of medians for each size."""
    columns = [profile(d, k, n_calls) for d, k in SIZES]
    print(f"{'microseconds, d, k =':<26}" + "".join(f"{f'{d}, {k}':>10}" for d, k in SIZES))
    for name in columns[0]:
        print(f"{name:<26}" + "".join(f"{column[name]:>10.1f}" for column in columns))
