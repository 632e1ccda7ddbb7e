"""What came of a comparison: a table, a figure, and a page that holds both."""

from __future__ import annotations

import io
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import matplotlib as mpl
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure
from rich import box
from rich.table import Table as Lines
from rich.text import Text

from river_ineural.compare.reading import Column, Table
from river_ineural.compare.running import Outcome

__all__ = ["Report"]

HEADS = ("accuracy %", "F1 %", "mistakes", "rows", "labels", "s")
REST = "The other learners ask at random for labels that they would not use."
POINTS = 200  # of a curve
BLACK = "#000000"  # in a figure; the page puts its own colour of text there
METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))  # none, so that pages are the same
PACKAGES = ("river-ineural", "river", "scikit-learn", "torch")


@dataclass(frozen=True)
class Report:
    """A comparison that was run."""

    table: Table
    outcomes: Sequence[Outcome]
    options: Namespace  # of the command
    command: str  # line

    @property
    def ranked(self) -> list[Outcome]:
        """From the most accurate on; those that failed at the end."""
        return sorted(self.outcomes, key=lambda each: (bool(each.error), -each.accuracy))

    @property
    def below(self) -> str:
        """What stands under the table, in lines."""
        label, share = next(iter(self.table.shares.items()))
        return f"{share:.1%} of the labels are {label!r}.\n{REST}"

    def show(self, console: Any) -> None:
        """Print the table with rich."""
        lines = Lines(box=box.SIMPLE_HEAD, pad_edge=False)
        lines.add_column("learner", overflow="fold")
        for head in HEADS:
            lines.add_column(head, justify="right", no_wrap=True)
        for each in self.ranked:
            lines.add_row(Text(each.name + " (failed)" * bool(each.error)), *each.cells)
        console.print(lines)

    def figure(self) -> Any:
        """Mistakes, and labels learned, up to each row: a line a contender."""
        figure = Figure(figsize=(9, 4), layout="constrained")
        for axes, name in zip(figure.subplots(1, 2), ("mistakes", "labels"), strict=True):
            for each in (each for each in self.ranked if not each.error):
                counts = np.array(getattr(each, name))
                at = np.unique(np.linspace(0, len(counts) - 1, POINTS).astype(int))
                axes.plot(at + 1, counts[at], lw=1.6, label=each.name)
            axes.set(xlabel="row", ylim=(0, None), xlim=(0, len(self.table)))
            axes.set_title(f"{name} up to each row", fontsize="medium")
            axes.spines[["top", "right"]].set_visible(False)
            axes.patch.set_visible(False)
        lines = axes.get_legend_handles_labels()
        figure.legend(*lines, loc="outside lower center", ncols=2, frameon=False)
        return figure

    def svg(self) -> str:
        """The figure for a page, in the page's own colour of text."""
        out = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "river_ineural"}):
            self.figure().savefig(out, format="svg", transparent=True, metadata=METADATA)
        return out.getvalue().partition("<svg")[2].replace(BLACK, "currentColor")

    def html(self) -> str:
        """A page of one file, light and dark."""
        loader = PackageLoader("river_ineural.compare", ".")
        pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
        versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
        return pages.get_template("report.html").render(
            report=self, table=self.table, heads=HEADS, span=span, versions=versions
        )


def span(column: Column) -> str:
    """The commonest values of a category, else from where to where values reach."""
    values = column.values.dropna()
    if column.kind == "categories":
        return ", ".join(str(value)[:30] for value in values.value_counts().index[:4])
    form = "%Y-%m-%d %H:%M" if column.kind == "times" else ",.7g"
    return (
        " to ".join(f"{end:{form}}" for end in (values.min(), values.max())) if len(values) else ""
    )
