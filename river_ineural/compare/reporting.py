"""The results of a comparison: a table, a figure, and a page with both."""

from __future__ import annotations

import io
import re
from argparse import Namespace
from collections.abc import Sequence

import matplotlib as mpl
import pandas as pd  # type: ignore[import-untyped]
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from river_ineural.compare.reading import Table
from river_ineural.compare.running import Outcome

BLACK = "#000000"  # text colour of a figure; the page replaces it by its own
REST = "Labels that would stay unused go to random rows; I-NeurAL holds some back."


def results(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """A row for each learner that did not fail (at least one), the most accurate first."""
    rows = {each.name: each.row for each in outcomes if not each.error}
    return pd.DataFrame(rows.values(), rows).sort_values("accuracy %", ascending=False)


WHOLE = ("told low", "told high", "mistakes", "labels")  # others have one more digit


def shown(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """The results as text, a column with as many digits in each row."""
    found = results(outcomes)
    found = found.apply(lambda column: column.map(f"{{:.{column.name not in WHOLE:d}f}}".format))
    if "told low" in found:
        found["told low"] += "-" + found.pop("told high")
    return found.rename(columns={"told low": "told %"})


def text_table(outcomes: Sequence[Outcome]) -> str:
    """The results for a terminal: the names to the left, the numbers to the right."""
    found = shown(outcomes)
    names = found.index.astype(str)
    found.index = names.str.ljust(names.str.len().max())
    return str(found.to_string())


def draw(outcomes: Sequence[Outcome], narrow: bool = False) -> Figure:
    """Draw the mistakes up to each row, with a line for each learner that did not fail."""
    figure = Figure(figsize=(4.2, 4.4) if narrow else (9, 4), layout="constrained")
    curves = pd.DataFrame({each.name: each.mistakes for each in outcomes if not each.error})
    axes = curves[:: len(curves) // 400 + 1].plot(ax=figure.subplots(), xlabel="row", legend=False)
    axes.set(ylabel="mistakes up to each row", facecolor="none")
    figure.legend(loc="outside lower center", ncols=1 if narrow else 3)
    return figure


def drawn(outcomes: Sequence[Outcome], narrow: bool) -> str:
    """The figure as the attributes and content of an svg element, in the colour of the text."""
    svg = io.StringIO()
    salt = f"compare {narrow}"  # no id of one figure is in the other
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt, "legend.frameon": False}):
        draw(outcomes, narrow).savefig(svg, format="svg", transparent=True)
    text = re.sub('<g id="[^"]*">', "<g>", svg.getvalue())  # which the other figure has too
    return text.partition("<svg")[2].replace(BLACK, "currentColor")


def described(table: Table) -> pd.DataFrame:
    """How many rows know each feature, and its values in a few words."""
    rows = {}
    for name, column in table.features.items():
        some = column.describe()
        if name in table.categories:
            words = f"{some['unique']:,} texts, the commonest {some['top']!r}"
        else:
            words = f"{some['min']:.4g} to {some['max']:.4g}, mean {some['mean']:.4g}"
        rows[name] = {"known in": f"{some['count']:,.0f} rows", "values": words}
    return pd.DataFrame(rows.values(), rows)


def page(
    table: Table,
    outcomes: Sequence[Outcome],
    options: Namespace,
    command: str,
    verdict: str = "",
    notes: Sequence[str] = (),
) -> str:
    """A page in a single file, light and dark, with the results, options and command line."""
    loader = PackageLoader("river_ineural.compare", ".")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    return pages.get_template("report.html").render(
        table=table,
        outcomes=outcomes,
        results=shown(outcomes),
        verdict=verdict,
        notes=notes,
        rest=REST,
        wide=drawn(outcomes, narrow=False),
        narrow=drawn(outcomes, narrow=True),
        features=described(table),
        options=options,
        command=command,
    )
