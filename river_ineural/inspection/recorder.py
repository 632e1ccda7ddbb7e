"""Record the decisions of a sampler over a stream in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from river import utils

from river_ineural.active.accuracy import UNKNOWN, Estimate
from river_ineural.active.decision import REASONS, Reason
from river_ineural.active.html import html_table
from river_ineural.features.validation import check_integer
from river_ineural.inspection.words import metrics_of, sampler_of

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]


class Point(NamedTuple):
    """The state of a sampler and its metrics at one recording.

    Attributes
    ----------
    round, asked
        Predictions made and labels asked for so far.
    left
        Labels that may be asked for at once; inf without a limit, NaN before the first round.
    by_reason
        Number of rounds so far by the reason of their decision.
    metrics
        Values of the metrics by name.
    right, answers
        Correct predictions, and predictions with a label, as counted by the first
        `metrics.Accuracy`; NaN without this metric.
    told
        The sampler's `accuracy`.
    """

    round: int
    asked: int
    left: float
    by_reason: dict[Reason, int]
    metrics: dict[str, float]
    right: float
    answers: float
    told: Estimate = UNKNOWN


class Recorder:
    """Records the state of a sampler repeatedly, and keeps a bounded number of points.

    It keeps every point until there are twice `size`. Then it deletes every second point, and keeps
    half as many from then on. The latest point is always kept. All counts are since the start.

    Parameters
    ----------
    model
        A sampler of `active`, or a pipeline that ends in one.
    size
        `size` to twice `size` points are kept, once so many were recorded; `size` is at least 2.

    Attributes
    ----------
    start, points
        The state of the sampler at the start, and the points kept.
    drifts
        Rounds in which the learner detected a change of the stream; the last 1,000.

    Raises
    ------
    TypeError, ValueError
        If the model has no sampler of `active`, or the size is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL, active, inspection
    >>> model = active.INeurALSampler(INeurAL(seed=1), budget=40, seed=1)
    >>> recorder = inspection.Recorder(model)
    >>> stream = datasets.Phishing().take(400)
    >>> for step in evaluate.iter_progressive_val_score(
    ...     stream, model, metrics.Accuracy(), step=10
    ... ):
    ...     recorder.record(step)
    >>> len(recorder.points), recorder.points[-1].round
    (40, 400)
    """

    def __init__(self, model: Any, size: int = 1_000) -> None:
        self.sampler = sampler_of(model)
        self.size = check_integer("size", size, least=2)
        self.points: list[Point] = []
        self.start = self._point({})._replace(right=0.0, answers=0.0)
        self.drifts: tuple[int, ...] = ()
        self._n_looks = 0
        self._stride = 1  # a point is kept every `_stride` recordings
        self._passing = False  # whether the next point replaces the latest

    def record(self, step: Mapping[str, Any] | None = None) -> None:
        """Record the state of the sampler now.

        `step` is a dict that `evaluate.iter_progressive_val_score` yields, `{"Accuracy": accuracy}`
        in your own loop, or None without a metric. Anything else raises a TypeError.
        """
        if step is not None and not isinstance(step, Mapping):
            raise TypeError(
                f"step must be what iter_progressive_val_score yields, a dict with a metric in it, "
                f"or None, got {step!r}."
            )
        point = self._point(step or {})
        if self._passing:
            self.points[-1] = point
        else:
            self.points.append(point)
        self.drifts = tuple(self.sampler.drifts)
        self._n_looks += 1
        self._passing = self._n_looks % self._stride != 0
        if not self._passing and len(self.points) == 2 * self.size:
            del self.points[::2]
            self._stride *= 2

    def _point(self, step: Mapping[str, Any]) -> Point:
        metrics, right, answers = {}, math.nan, math.nan
        for name, metric in metrics_of(step).items():
            if isinstance(metric, utils.Rolling):
                name = f"{type(metric.obj).__name__}, last {metric.window_size}"
            try:
                metrics[name] = float(metric.get())
            except (NotImplementedError, TypeError):  # a report of many numbers
                continue
            if math.isnan(answers) and type(metric).__name__ == "Accuracy":
                right, answers = metric.cm.total_true_positives, metric.cm.total_weight
        sampler, decision = self.sampler, self.sampler.last_decision
        left = math.nan if decision is None else decision.budget_left
        counts = {**sampler.n_by_reason}
        n, asked = sampler.n_rounds, sampler.n_queries
        return Point(n, asked, left, counts, metrics, right, answers, sampler.accuracy)

    def _repr_html_(self) -> str:
        latest = self.points[-1] if self.points else self.start
        rows = {"rounds": latest.round, "asked": latest.asked, "left": latest.left}
        return html_table("Recorder", {**rows, **latest.metrics, "drifts": len(self.drifts)})

    def frame(self) -> pd.DataFrame:
        """The points as a pandas frame, a row each: reasons, `told`, and metrics have columns."""
        import pandas as pd

        rows = [
            {**point._asdict(), **point.by_reason, **point.told._asdict(), **point.metrics}
            for point in self.points
        ]
        names = dict.fromkeys(name for point in self.points for name in point.metrics)
        ends = ["value", "low", "high"]
        return pd.DataFrame(rows, columns=["round", "asked", "left", *REASONS, *ends, *names])
