"""What came of a comparison: a table, a figure, and a page that holds both."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from river_ineural.compare.contenders import CONTENDERS
from river_ineural.compare.reading import Table
from river_ineural.compare.running import Outcome

__all__ = ["Report"]

POINTS = 200  # of a curve
INK = "#010203"  # of text and lines in the page's figure: gives way to the page's own colour
INKED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
METADATA = ("Creator", "Date", "Format", "Type")  # none, so that pages are the same
PACKAGES = ("river-ineural", "river", "scikit-learn", "torch")


@dataclass(frozen=True)
class Report:
    """A comparison that was run.

    Parameters
    ----------
    settings
        What was said on the command line or by default, as people read it.
    command
        The command line.
    """

    table: Table
    outcomes: Sequence[Outcome]
    settings: Mapping[str, str]
    command: str

    @property
    def ranked(self) -> list[Outcome]:
        """From the most accurate on; those that failed at the end."""
        return sorted(self.outcomes, key=lambda each: (bool(each.error), -each.accuracy))

    @property
    def baseline(self) -> str:
        """What the commonest class comes to."""
        label, share = self.table.commonest
        return f"{share:.1%} of the labels are {label!r}"

    def cells(self) -> list[tuple[Outcome, list[tuple[str, bool]]]]:
        """A line a contender: what `HEADS` says, and whether it is the best of its column."""
        done = [each for each in self.outcomes if not each.error]
        best = [max((score(each) for each in done), default=None) for score in SCORES]
        lines: list[tuple[Outcome, list[tuple[str, bool]]]] = []
        for each in self.ranked:
            if each.error:
                lines.append((each, [("", False)] * len(HEADS)))
                continue
            scores = [score(each) for score in SCORES]
            cells = [(f"{100 * s:.1f}", s == b) for s, b in zip(scores, best, strict=True)]
            counts = (each.mistakes[-1], each.n_predicted, each.n_labels)
            cells += [(f"{count:,}", False) for count in counts]
            lines.append((each, [*cells, (f"{each.seconds:.1f}", False)]))
        return lines

    def show(self, console: Any) -> None:
        """Print the table with rich; a failure in the place of its numbers."""
        from rich import box
        from rich.markup import escape
        from rich.table import Table as RichTable

        lines = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        lines.add_column("learner", overflow="fold")
        for head in HEADS:
            lines.add_column(head, justify="right", no_wrap=True)
        for each, cells in self.cells():
            shown = [f"[bold]{cell}[/bold]" if best else cell for cell, best in cells]
            name = escape(each.name) + (" [red](failed)[/red]" if each.error else "")
            lines.add_row(name, *shown)
        console.print(lines)
        console.print(f"{self.baseline}.", markup=False, highlight=False, soft_wrap=True)

    def figure(self, ink: str = "black") -> Any:
        """Mistakes, and labels learned, up to each row: a line a contender."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        styles = {contender.name: contender.line for contender in CONTENDERS.values()}
        settings: dict[Any, Any] = dict.fromkeys(INKED, ink) | {"axes.titlesize": "medium"}
        with mpl.rc_context(settings):
            figure = Figure(figsize=(9, 4), layout="constrained")
            for axes, name in zip(figure.subplots(1, 2), ("mistakes", "labels"), strict=True):
                for each in self.ranked:
                    if each.error:
                        continue
                    counts = np.array(getattr(each, name))
                    at = np.unique(np.linspace(0, len(counts) - 1, POINTS).astype(int))
                    axes.plot(at + 1, counts[at], styles[each.name], lw=1.6, label=each.name)
                axes.set(xlabel="row", title=f"{name} up to each row", ylim=(0, None))
                axes.set_xlim(0, len(self.table))
                axes.spines[["top", "right"]].set_visible(False)
                axes.patch.set_visible(False)
            lines = figure.axes[0].get_legend_handles_labels()
            if lines[0]:
                figure.legend(*lines, loc="outside lower center", frameon=False, ncols=2)
        return figure

    def svg(self) -> str:
        """The figure for a page, in the page's own colour of text."""
        import matplotlib as mpl

        out = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "river_ineural"}):
            self.figure(INK).savefig(
                out, format="svg", transparent=True, metadata=dict.fromkeys(METADATA)
            )
        text = out.getvalue()
        return text[text.index("<svg") :].replace(INK, "currentColor")

    def html(self) -> str:
        """A page of one file, light and dark."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("river_ineural.compare", "."),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        return environment.get_template("report.html").render(
            report=self,
            heads=HEADS,
            svg=self.svg(),
            classes=self.classes(),
            spans=[span(column) for column in self.table.columns],
            versions=", ".join(f"{name} {version(name)}" for name in PACKAGES),
        )

    def classes(self) -> str:
        """The labels with their shares, the commonest first."""
        n, shown = len(self.table), Counter(self.table.labels).most_common()
        more = f", and {len(shown) - 10} more" if len(shown) > 10 else ""
        return ", ".join(f"{label} {count / n:.1%}" for label, count in shown[:10]) + more

    def write(self, page: Path | None, figure: Path | None) -> None:
        """Write what has a path."""
        if page is not None:
            page.write_text(self.html(), encoding="utf8")
        if figure is not None:
            self.figure().savefig(figure, dpi=150)


SCORES = attrgetter("accuracy"), attrgetter("macro_f1")
HEADS = ("accuracy %", "F1 %", "mistakes", "rows", "labels", "s")


def span(column: Any) -> str:
    """From where to where values reach, or the commonest of them."""
    values = column.values.dropna()
    if not len(values):
        return ""
    if column.kind == "categories":
        shown = [str(value)[:30] for value in values.value_counts().index[:4]]
        return ", ".join(shown) + (", …" if column.n_distinct > 4 else "")
    if column.kind == "times":
        return f"{values.min():%Y-%m-%d %H:%M} to {values.max():%Y-%m-%d %H:%M}"
    if column.kind == "flags":
        return f"true in {values.mean():.0%}"
    return f"{short(values.min())} to {short(values.max())}, median {short(values.median())}"


def short(number: float) -> str:
    """Of four digits; whole numbers with all of theirs."""
    if math.isclose(number, round(number)) and abs(number) < 1e9:
        return f"{number:,.0f}"
    return f"{number:.4g}"
