"""The style of figures: light and dark versions, one colour for each method, and small files."""

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import AutoLocator, FuncFormatter, LogFormatter
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
WIDE, NARROW = 7.2, 3.6  # inches; pages show them at 690 and 345 pixels or more
POINTS = 24  # per line or edge, because a figure of a page has at most 150 kB

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
    """At most 24 values along the last axis, evenly spaced, including the last value."""
    n = values.shape[-1]
    step = math.ceil(n / POINTS)
    return values[..., (n - 1) % step :: step]


def band(panel: Any, at: Any, found: Iterable[Any], style: str = "o-", **line: Any) -> None:
    """Draw a line of the means, and a band of the ranges, of the runs at each point."""
    means, lowest, highest = zip(*((np.mean(v), min(v), max(v)) for v in found), strict=True)
    (drawn,) = panel.plot(at, means, style, **line)
    panel.fill_between(at, lowest, highest, color=drawn.get_color(), alpha=0.2, lw=0)


def logarithmic(panel: Any, at: Iterable[float], ticks: Iterable[float], **axes: str) -> None:
    """Make both axes logarithmic, with these marks. The dotted line marks equal mistakes."""
    panel.axhline(1, color="gray", lw=1, ls=":")
    panel.set(xscale="log", yscale="log", **axes)
    panel.set_xticks([*at], [f"{each:,g}" for each in at])
    panel.set_yticks([*ticks], [f"{tick:g}" for tick in ticks])
    panel.minorticks_off()


def compact(svg: str) -> str:
    """The same drawing with outlines rounded to a tenth of a point, each on one line."""

    def outline(found: re.Match[str]) -> str:
        rounded = NUMBER.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), found[0])
        straight = not set(rounded) & {"C", "Q"}  # after M, bare numbers are lines
        return " ".join(rounded.replace("L", " ").split() if straight else rounded.split())

    return OUTLINE.sub(outline, svg)


def both(path: Path, make: Callable[[float], Any]) -> None:
    """Write four files of the figure that `make` returns for a width in inches.

    They are PATH-light.svg and PATH-dark.svg, and PATH-narrow-light.svg and PATH-narrow-dark.svg
    for narrow screens.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for theme, below in STYLES.items():
        with plt.style.context([below, Path(__file__).with_name(f"{theme}.mplstyle")]):
            for width, name in ((WIDE, path.name), (NARROW, f"{path.name}-narrow")):
                figure = make(width)
                file = path.with_name(f"{name}-{theme}.svg")
                figure.savefig(file, metadata={"Date": None})
                file.write_text(compact(file.read_text()))
                plt.close(figure)


def plain_ticks(axis: Any) -> None:
    """Write 1,000 for 10³ on a logarithmic axis: an exponent would be too small to read."""
    if isinstance(axis.get_major_formatter(), LogFormatter):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def draw(path: Path, n_panels: int, paint: Callable[[Any], None], height: float = 2.2) -> None:
    """Write the four files of a figure with `n_panels` panels and one legend below them.

    `paint` draws on an array (rows, columns) of axes, which has one column on narrow screens.
    `height` is that of a panel in inches.
    """

    def make(width: float) -> Any:
        n_columns = 1 if width == NARROW else 2 if n_panels == 4 else min(3, n_panels)
        n_rows = -(-n_panels // n_columns)
        size = (width, height * n_rows)
        figure, axes = plt.subplots(
            n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
        )
        paint(axes)
        handles: dict[str, Any] = {}  # by label, each once for all panels
        for each in axes.flat:
            each.set_visible(each.has_data())
            plain_ticks(each.xaxis)
            plain_ticks(each.yaxis)
            if type(each.xaxis.get_major_locator()) is AutoLocator:
                each.locator_params(axis="x", nbins=4)  # else numbers of rounds touch
            handles |= dict(zip(*each.get_legend_handles_labels()[::-1], strict=True))
        if handles:
            fitting = int(width / (0.5 + 0.07 * max(map(len, handles))))
            columns = max(1, min(3, len(handles), fitting))
            given: Any = {"loc": "outside lower center", "frameon": False, "ncols": columns}
            figure.legend(handles.values(), handles.keys(), **given)
        return figure

    both(path, make)
