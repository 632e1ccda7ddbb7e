"""How figures look: light and dark, one colour a method, small files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

__all__ = ["both", "colours", "draw", "thinned"]

# Hues that can be told apart, for a light page and for a dark one.
PALETTES = {
    "light": (
        *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"),
        *("#e377c2", "#7f7f7f", "#a3a41d", "#17a2b8", "#222222", "#b8860b"),
    ),
    "dark": (
        *("#6cb4ee", "#ffa657", "#7bd17b", "#ff7b72", "#bfa2e6", "#c9a79c"),
        *("#f2a8dc", "#bdbdbd", "#d9da6b", "#6fdbe8", "#f5f5f5", "#e6c35c"),
    ),
}
STYLES = {"light": "default", "dark": "dark_background"}
METHODS = (  # the same colour on every figure; what has none here takes those left over
    *("I-NeurAL", "Margin", "random forest, refitted", "logistic regression, refitted"),
    *("ALPS", "NeuAL-NTK-F", "NeuAL-NTK-D", "Random", "gradient boosting, refitted"),
    *("NeurONAL", "River's best learner", "peer"),
)
SAME = {
    "defaults": "I-NeurAL",
    "learn_one": "I-NeurAL",
    "predict_one": "I-NeurAL",
    "predict_proba_one": "I-NeurAL",
    "INeurAL": "I-NeurAL",
    "INeurAL, labels at random": "Random",
    "NeurONAL learn_one": "NeurONAL",
    "NeurONAL predict_one": "NeurONAL",
    "logistic regression, MarginSampler": "Margin",
    "peer learn_one": "peer",
    "peer predict_one": "peer",
}
POINTS = 40  # of a line or an edge; a figure of a page is at most 150 kB

NUMBER = re.compile(r"-?\d+\.\d+")
OUTLINE = re.compile(r'(?<= d=")[^"]+')


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour of the style, "C0" to "C11", for each name: that of its method, if it has one."""
    names = list(names)
    methods = {name: SAME.get(name, name.partition(", ")[0]) for name in names}
    methods |= {name: name for name in names if name in METHODS}
    taken = [METHODS.index(method) for method in methods.values() if method in METHODS]
    left = iter(i for i in range(len(METHODS)) if i not in taken)
    others: dict[str, int] = {}
    for name, method in methods.items():
        if method not in METHODS:
            others[name] = next(left, len(METHODS) - 1)
    return {
        name: f"C{METHODS.index(method) if method in METHODS else others[name]}"
        for name, method in methods.items()
    }


def thinned(values: NDArray[Any]) -> NDArray[Any]:
    """At most `POINTS` of the values along the last axis, evenly, the last one among them."""
    n = values.shape[-1]
    step = math.ceil(n / POINTS)
    return values[..., (n - 1) % step :: step]


def compact(svg: str) -> str:
    """The same drawing with outlines to a tenth of a point, each in one line."""

    def outline(found: re.Match[str]) -> str:
        rounded = NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), found[0])
        straight = not set(rounded) & {"C", "Q"}  # after M numbers alone go on straight
        return " ".join(rounded.replace("L", " ").split() if straight else rounded.split())

    return OUTLINE.sub(outline, svg)


def both(path: Path, make: Callable[[], Any]) -> None:
    """PATH-{light,dark}.svg, the same file for the same figure.

    Parameters
    ----------
    make
        Returns a figure, in the colours "C0" to "C11"; called once in each style.
    """
    from cycler import cycler
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    for theme, palette in PALETTES.items():
        own = {"svg.hashsalt": "river_ineural", "axes.prop_cycle": cycler(color=palette)}
        with plt.style.context([STYLES[theme], own]):
            figure = make()
            file = path.with_name(f"{path.name}-{theme}.svg")
            figure.savefig(file, transparent=True, metadata={"Date": None})
            file.write_text(compact(file.read_text()))
            plt.close(figure)


def draw(
    path: Path,
    n_panels: int,
    paint: Callable[[Any], None],
    panel: tuple[float, float] = (3.2, 2.6),
) -> None:
    """PATH-{light,dark}.svg of so many panels, their legend below them.

    Parameters
    ----------
    paint
        Draws on the axes of the panels, an array (rows, columns).
    panel
        Width and height of one, in inches.
    """
    from matplotlib import pyplot as plt

    n_columns = 2 if n_panels == 4 else min(3, n_panels)
    n_rows = -(-n_panels // n_columns)
    width = panel[0] * n_columns

    def make() -> Any:
        figure, axes = plt.subplots(
            *(n_rows, n_columns),
            figsize=(width, panel[1] * n_rows),
            layout="constrained",
            squeeze=False,
        )
        paint(axes)
        for each in axes.flat:
            each.set_visible(each.has_data())
            each.spines[["top", "right"]].set_visible(False)
        handles: dict[str, Any] = {}  # by label: each once for all panels, below them
        for each in axes.flat:
            handles |= dict(zip(*each.get_legend_handles_labels()[::-1], strict=True))
        if handles:
            figure.legend(
                *(handles.values(), handles.keys()),
                loc="outside lower center",
                frameon=False,
                fontsize=8,
                ncols=max(
                    1, min(3, len(handles), int(width / (0.5 + 0.07 * max(map(len, handles)))))
                ),
            )
        return figure

    both(path, make)
