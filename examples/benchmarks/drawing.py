"""The style of figures: light and dark versions, one colour for each method, and small files."""

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray

STYLES = {"light": "default", "dark": "dark_background"}  # base of light.mplstyle, dark.mplstyle
METHODS = (  # The same colour in every figure; any other name takes an unused colour.
    *("I-NeurAL", "Margin", "random forest, refitted", "logistic regression, refitted"),
    *("ALPS", "NeuAL-NTK-F", "NeuAL-NTK-D", "Random", "gradient boosting, refitted"),
    *("NeurONAL", "River's best learner", "peer"),
)
SAME = {
    **dict.fromkeys(("defaults", "learn_one", "predict_one", "predict_proba_one"), "I-NeurAL"),
    "INeurAL": "I-NeurAL",
    **dict.fromkeys(("NeurONAL learn_one", "NeurONAL predict_one"), "NeurONAL"),
    **dict.fromkeys(("peer learn_one", "peer predict_one"), "peer"),
}
POINTS = 40  # per line or edge, because a figure of a page has at most 150 kB

NUMBER = re.compile(r"-?\d+\.\d+")
OUTLINE = re.compile(r'(?<= d=")[^"]+')


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour of the style, "C0" to "C11", for each name: the colour of its method, if any."""
    methods = {}
    for name in names:
        method = name if name in METHODS else SAME.get(name, name.partition(", ")[0])
        methods[name] = METHODS.index(method) if method in METHODS else None
    left = iter(i for i in range(len(METHODS)) if i not in methods.values())
    return {
        name: f"C{next(left, len(METHODS) - 1) if number is None else number}"
        for name, number in methods.items()
    }


def thinned(values: NDArray[Any]) -> NDArray[Any]:
    """At most 40 values along the last axis, evenly spaced, including the last value."""
    n = values.shape[-1]
    step = math.ceil(n / POINTS)
    return values[..., (n - 1) % step :: step]


def band(panel: Any, at: Any, found: Iterable[Any], style: str = "o-", **line: Any) -> None:
    """Draw a line of the means, and a band of the ranges, of the runs at each point."""
    means, lowest, highest = zip(*((np.mean(v), min(v), max(v)) for v in found), strict=True)
    (drawn,) = panel.plot(at, means, style, **line)
    panel.fill_between(at, lowest, highest, color=drawn.get_color(), alpha=0.2, lw=0)


def compact(svg: str) -> str:
    """The same drawing with outlines rounded to a tenth of a point, each on one line."""

    def outline(found: re.Match[str]) -> str:
        rounded = NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), found[0])
        straight = not set(rounded) & {"C", "Q"}  # after M, bare numbers are lines
        return " ".join(rounded.replace("L", " ").split() if straight else rounded.split())

    return OUTLINE.sub(outline, svg)


def both(path: Path, make: Callable[[], Any]) -> None:
    """Write PATH-light.svg and PATH-dark.svg of the figure that `make` returns in each style."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for theme, below in STYLES.items():
        with plt.style.context([below, Path(__file__).with_name(f"{theme}.mplstyle")]):
            figure = make()
            file = path.with_name(f"{path.name}-{theme}.svg")
            figure.savefig(file, metadata={"Date": None})
            file.write_text(compact(file.read_text()))
            plt.close(figure)


def draw(
    path: Path, n_panels: int, paint: Callable[[Any], None], panel: tuple[float, float] = (3.2, 2.6)
) -> None:
    """Write PATH-light.svg and PATH-dark.svg with `n_panels` panels and one legend below them.

    `paint` draws on an array (rows, columns) of axes; `panel` is the size of a panel in inches.
    """
    n_columns = 2 if n_panels == 4 else min(3, n_panels)
    n_rows = -(-n_panels // n_columns)
    width = panel[0] * n_columns

    def make() -> Any:
        size = (width, panel[1] * n_rows)
        figure, axes = plt.subplots(
            n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
        )
        paint(axes)
        handles: dict[str, Any] = {}  # by label, each once for all panels
        for each in axes.flat:
            each.set_visible(each.has_data())
            handles |= dict(zip(*each.get_legend_handles_labels()[::-1], strict=True))
        if handles:
            fitting = int(width / (0.5 + 0.07 * max(map(len, handles))))
            own: dict[str, Any] = {"frameon": False, "fontsize": 8}
            own["ncols"] = max(1, min(3, len(handles), fitting))
            figure.legend(handles.values(), handles.keys(), loc="outside lower center", **own)
        return figure

    both(path, make)
