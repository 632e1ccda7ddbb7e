"""The results of a comparison: a table, a figure, and a page with both."""

from __future__ import annotations

import io
from argparse import Namespace
from collections.abc import Sequence

import matplotlib as mpl
import pandas as pd  # type: ignore[import-untyped]
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from river_ineural.compare.reading import Table
from river_ineural.compare.running import Outcome

BLACK = "#000000"  # text colour of a figure; the page replaces it by its own
REST = "Labels left unused go to random rows, but for some that are held back."


def results(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """A row for each learner that did not fail (at least one), the most accurate first."""
    rows = {each.name: each.row for each in outcomes if not each.error}
    return pd.DataFrame(rows.values(), rows).sort_values("accuracy %", ascending=False)


def draw(outcomes: Sequence[Outcome]) -> Figure:
    """Draw the mistakes up to each row, with a line for each learner that did not fail."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    curves = pd.DataFrame({each.name: each.mistakes for each in outcomes if not each.error})
    axes = curves[:: len(curves) // 400 + 1].plot(ax=figure.subplots(), xlabel="row")
    axes.set(ylabel="mistakes up to each row", facecolor="none")
    return figure


def page(table: Table, outcomes: Sequence[Outcome], options: Namespace, command: str) -> str:
    """A page in a single file, light and dark, with the results, options and command line."""
    svg = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "legend.frameon": False}):
        draw(outcomes).savefig(svg, format="svg", transparent=True)
    loader = PackageLoader("river_ineural.compare", ".")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    return pages.get_template("report.html").render(
        table=table,
        outcomes=outcomes,
        results=results(outcomes),
        rest=REST,
        svg=svg.getvalue().partition("<svg")[2].replace(BLACK, "currentColor"),
        options=options,
        command=command,
    )
