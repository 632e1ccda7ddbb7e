"""A figure of what a recorder has seen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from river_ineural.active.decision import Reason
from river_ineural.inspection.recorder import Point, Recorder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["plot"]

STRETCHES = 40  # that the rounds are divided into
ALONG = 2  # stretches that an accuracy is taken over
COLOURS: dict[Reason, str] = {  # of the style that is set
    "few classes": "C4",
    "gap": "C0",
    "random": "C1",
    "warning": "C5",
    "change": "C3",
    "budget": "lightgray",
}


def chosen(points: list[Point]) -> list[Point]:
    """At most `STRETCHES` + 1 of the points, evenly over the rounds, both ends among them."""
    rounds = np.array([point.round for point in points])
    ends = np.linspace(rounds[0], rounds[-1], STRETCHES + 1)
    return [points[i] for i in np.unique(np.abs(rounds[:, None] - ends).argmin(axis=0))]


def plot(recorder: Recorder, figure: Figure | SubFigure | None = None) -> Figure | SubFigure:
    """Metrics, labels asked for by their reason, and the budget, over the rounds.

    A panel is for what was asked, others for metrics and a limit if there are any. Dotted lines
    stand where the learner noticed a change. A thick line is the accuracy over a twentieth of the
    rounds. Returns the figure.

    Parameters
    ----------
    recorder
        That has seen a round.
    figure
        To draw in, empty. None: a new one, of `matplotlib.pyplot`.

    Raises
    ------
    ValueError
        If the recorder has seen no round.
    ModuleNotFoundError
        Without matplotlib, which the extra `inspection` brings.

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
    panel.set_ylabel(names[0].lower() if len(names) == 1 else "metrics")
    panel.legend(frameon=False, fontsize=8)


def draw_asks(panel: Axes, points: list[Point]) -> None:
    """In each stretch the share of the rounds that asked, and that were refused."""
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
        panel.legend(frameon=False, fontsize=8)


def draw_left(panel: Axes, points: list[Point]) -> None:
    panel.plot(column(points, "round"), column(points, "left"), color="C2")
    panel.set(ylabel="labels left", ylim=(0, None))
