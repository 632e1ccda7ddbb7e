"""A figure of the points of a recorder."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from river_ineural.active.decision import Reason
from river_ineural.inspection.recorder import Point, Recorder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

STRETCHES = 40  # intervals of rounds
NOT_YET = math.nan, math.nan  # an interval without a label
ALONG = 2  # intervals over which the recent accuracy is taken
COLOURS: dict[Reason, str] = {  # colours of the current Matplotlib style
    "few classes": "C4",
    "gap": "C0",
    "random": "C1",
    "warning": "C5",
    "change": "C3",
    "budget": "lightgray",
}


def chosen(points: list[Point]) -> list[Point]:
    """At most `STRETCHES` + 1 of the points, evenly spaced over the rounds, with both ends."""
    rounds = np.array([point.round for point in points])
    ends = np.linspace(rounds[0], rounds[-1], STRETCHES + 1)
    return [points[i] for i in np.unique(np.abs(rounds[:, None] - ends).argmin(axis=0))]


def plot(recorder: Recorder, figure: Figure | SubFigure | None = None) -> Figure | SubFigure:
    """Plot the metrics, the labels asked for by reason, and the labels left, over the rounds.

    Metrics are drawn only if there are any, and labels left only if the budget has a limit.
    Dotted lines mark changes that the learner detected. The thick line is the accuracy over a
    twentieth of the rounds. The band is the interval of the sampler's `accuracy`. Returns the
    figure.

    Parameters
    ----------
    recorder
        A `Recorder` that has recorded at least one round.
    figure
        An empty figure to draw in. None: a new figure of `matplotlib.pyplot`.

    Raises
    ------
    ValueError
        If the recorder has recorded no round.
    ModuleNotFoundError
        If matplotlib is missing. The extra `inspection` installs it.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL, active, inspection
    >>> model = active.INeurALSampler(INeurAL(seed=1), budget=20, seed=1)
    >>> recorder = inspection.Recorder(model)
    >>> stream, metric = datasets.Phishing().take(100), metrics.Accuracy()
    >>> for step in evaluate.iter_progressive_val_score(stream, model, metric):
    ...     recorder.record(step)
    >>> inspection.plot(recorder).savefig("asked.svg")  # doctest: +SKIP
    """
    if not recorder.points or recorder.points[-1].round == recorder.start.round:
        raise ValueError(
            "There is nothing to plot: the recorder has seen no round. Call recorder.record(step) "
            "in the loop that runs the model."
        )
    if figure is None:
        from matplotlib import pyplot as plt

        figure = plt.figure(figsize=(8, 6), layout="constrained")
        if "inline" in plt.get_backend():  # a notebook shows what a cell returns, and open figures
            plt.close(figure)
    points = chosen([recorder.start, *recorder.points])
    drawn = [(draw_metrics, points)] if points[-1].metrics else []
    drawn.append((draw_asks, points))
    if math.isfinite(points[-1].left):
        drawn.append((draw_left, recorder.points))
    panels = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (draw, seen) in zip(panels, drawn, strict=True):
        draw(panel, seen)
        for drift in recorder.drifts:
            panel.axvline(drift, color="gray", lw=1, ls=":", zorder=0)
    panels[-1].set(xlabel="round", xlim=(points[0].round, points[-1].round))
    return figure


def column(points: list[Point], name: str) -> NDArray[np.float64]:
    return np.array([getattr(point, name) for point in points], np.float64)


def draw_metrics(panel: Axes, points: list[Point]) -> None:
    names, rounds = [*points[-1].metrics], column(points, "round")
    for name in names:
        panel.plot(rounds, [point.metrics.get(name, math.nan) for point in points], label=name)
    if "Accuracy" in names:
        right, answers = column(points, "right"), column(points, "answers")
        told = answers[ALONG:] - answers[:-ALONG]
        recent = (right[ALONG:] - right[:-ALONG]) / np.where(told > 0, told, math.nan)
        panel.plot(rounds[ALONG:], recent, lw=2, label="Accuracy over a twentieth")
        ends = np.array([point.told[1:3] if point.told.n_labels else NOT_YET for point in points])
        label = "Accuracy told by the labels"
        panel.fill_between(rounds, *ends.T, color="gray", alpha=0.25, lw=0, label=label)
    panel.set_ylabel(names[0].lower() if len(names) == 1 else "metrics")
    draw_legend(panel)


def draw_asks(panel: Axes, points: list[Point]) -> None:
    """Draw the share of rounds in each interval that asked, by reason, or that were refused."""
    rounds = column(points, "round")
    width, bottom = np.diff(rounds), np.zeros(len(rounds) - 1)
    for reason, colour in COLOURS.items():
        share = 100 * np.diff([point.by_reason[reason] for point in points]) / width
        if share.any():
            label = "refused by the budget" if reason == "budget" else reason
            panel.bar(rounds[:-1], share, width, bottom, align="edge", label=label, color=colour)
            bottom += share
    panel.set_ylabel("asked (%)")
    if panel.get_legend_handles_labels()[1]:
        draw_legend(panel)


def draw_legend(panel: Axes) -> None:
    """Name the lines above the panel, where they cross nothing."""
    names = panel.get_legend_handles_labels()[1]
    room = 13 * panel.bbox.width / panel.figure.dpi  # letters
    columns = max(1, min(len(names), int(room / (6 + max(map(len, names))))))
    at: Any = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0}
    panel.legend(**at, ncols=columns, frameon=False, fontsize=8)


def draw_left(panel: Axes, points: list[Point]) -> None:
    panel.plot(column(points, "round"), column(points, "left"), color="C2")
    panel.set(ylabel="labels left", ylim=(0, None))
