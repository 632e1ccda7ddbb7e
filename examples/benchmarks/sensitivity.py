"""Mistakes at 3 % of the labels by γ and by the width of the confidence interval."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from common import by_stream, curves, markdown, of
from drawing import band, draw, thinned
from learners import SENSITIVITY
from paper_streams import ordered, run

from river_ineural.paper import GAMMAS

WIDTHS = ("constant width", "theoretical width")


def table(rows: pd.DataFrame) -> str:
    """A line a width and γ, a column a stream."""
    streams, lines = ordered(rows), []
    for width, gamma in itertools.product(WIDTHS, GAMMAS):
        found = by_stream(rows, streams, learner=f"{width}, γ = {gamma}")
        lines.append([width.split()[0], f"{gamma}", *found])
    return markdown(["width", "γ", *streams], lines)


def draw_both(rows: pd.DataFrame, folder: Path) -> None:
    """Draw mistakes against γ, mean and range over seeds, and against rounds, mean over seeds.

    The first row of the second figure is the paper's Figure 2.
    """
    streams = ordered(rows)
    panels = list(itertools.product(WIDTHS, streams))

    def against_gamma(axes: Any) -> None:
        for panel, stream in zip(axes.flat, streams, strict=False):
            for width in WIDTHS:
                found = [of(rows, stream=stream, learner=f"{width}, γ = {g}") for g in GAMMAS]
                band(panel, GAMMAS, found, label=width)
            panel.set(title=stream, xlabel="γ", ylabel="regret", ylim=(0, None))

    def against_rounds(axes: Any) -> None:
        for panel, (width, stream) in zip(axes.flat, panels, strict=False):
            for gamma in GAMMAS:
                learner = f"{width}, γ = {gamma}"
                each = rows[(rows["stream"] == stream) & (rows["learner"] == learner)]
                found = curves(each).mean(0)
                rounds = np.linspace(0, each["rounds"].iloc[0], len(found) + 1)[1:]
                panel.plot(thinned(rounds), thinned(found), lw=1.2, label=f"γ = {gamma}")
            panel.set(title=f"{stream}, {width}", xlabel="round", ylabel="mistakes")

    draw(folder / "sensitivity", len(streams), against_gamma)
    draw(folder / "sensitivity-curves", len(panels), against_rounds)


def main() -> None:
    """Run what is missing, print the table and draw the figures."""
    streams = ("phishing", "mnist", "cifar10")
    rows, assets = run("sensitivity", __doc__, ((0.03,), streams, [*SENSITIVITY]))
    print(table(rows))
    if assets:
        draw_both(rows, assets)


if __name__ == "__main__":
    main()
