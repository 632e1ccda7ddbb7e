"""Numbers and tables of the docs, by name: `{{ FILE.NAME key=value ... }}` in a page.

FILE is a file of rows, results/FILE.csv. A key is an option of the figure, or a column
that selects the rows with this value. `docs/hooks/fill.py` fills in the pages.
"""

import importlib
import inspect
import re
import shlex
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from statistics import StatisticsError, fmean
from typing import Any

import account
import boundaries
import changes
import common
import companions
import estimates
import foreign
import labels
import messages
import pandas as pd  # type: ignore[import-untyped]
import rounds
import tabular
import theory
from changing import LASTING, PANEL
from common import RESULTS, geometric, markdown, of, ratios, spread
from learners import ACTIVEMLS, BEST, MOAS, OWN, QUERIES, WITHOUT, WITHOUT_PLANES
from paper_streams import EXPERIMENTS, PAPER, RELEASED, STREAMS, cited

ROOT = Path(__file__).parents[2]
FOLDERS = (RESULTS, ROOT / "docs" / "assets")  # the second has the files of speed.py
BOOSTING = "gradient boosting, refitted"
OF_RATIOS = {"tabular": tabular.STREAMS, "changes": PANEL}  # streams of the mean ratios
USUAL = {  # defaults of columns
    **{"tabular": {"budget": "0.05"}, "boundaries": {"budget": "0.05"}},
    "baselines": {"budget": "0.03"},
}
LEFT_OUT = {
    **{"f2": "f1 and forest", "the forest": "f1 and f2"},
    **{"the discriminant": WITHOUT_PLANES, "the last label": WITHOUT},
}
Figure = Callable[..., str]


@cache
def rows_of(file: str) -> pd.DataFrame:
    """The rows of a file that did not fail."""
    for folder in FOLDERS:
        if (path := folder / f"{file}.csv").exists():
            rows = common.read(path)
            rows.attrs["file"] = file
            return rows
    raise ValueError(f"There is no {file}.csv.")


def chosen(file: str, where: dict[str, str]) -> pd.DataFrame:
    """The rows that have these values."""
    rows = rows_of(file)
    for column, value in (USUAL.get(file, {}) | where).items():
        if column not in rows:
            raise ValueError(f"{file}.csv has no column {column}.")
        rows = rows[rows[column].astype(str) == value]
        if not len(rows):
            raise ValueError(f"No row of {file}.csv has {column} = {value}.")
    return rows


# Figures for any file


def number(values: Any, digits: str) -> str:
    """A number as text, with the given number of decimals."""
    return f"{values:,.{int(digits)}f}"


def means(kind: str) -> Figure:
    """The mean, min or max over the streams of a column's mean over the seeds."""

    def figure(rows: pd.DataFrame, column: str = "regret", digits: str = "0") -> str:
        return number(rows.groupby("stream")[column].mean().agg(kind), digits)

    return figure


def count(rows: pd.DataFrame, column: str = "seed") -> str:
    """The number of different values of a column."""
    return f"{rows[column].nunique():,}"


def table(rows: pd.DataFrame, columns: str = "", heads: str = "", digits: str = "0") -> str:
    """A table of the rows, or of some of their columns (separated by semicolons)."""
    names = columns.split(";") if columns else list(rows.columns)

    def shown(value: Any) -> str:
        if isinstance(value, str):
            return value
        return "" if pd.isna(value) else number(value, digits if isinstance(value, float) else "0")

    lines = rows[names].map(shown).to_numpy().tolist()
    return markdown(heads.split(";") if heads else names, lines)


# Ratios of mistakes


def compared(rows: pd.DataFrame, under: str, over: str) -> "pd.Series[float]":
    """Mean mistakes of one learner over those of another on each stream of the file."""
    file = rows.attrs["file"]
    streams = [stream for stream in OF_RATIOS[file] if stream in {*rows["stream"]}]
    found = ratios(common.best(rows), over, under, streams)
    if missing := [stream for stream in streams if stream not in found]:
        raise ValueError(f"{file}.csv lacks {over} or {under} on {missing[0]}.")
    return found


def of_ratios(make: Callable[[Any], Any]) -> Figure:
    """A figure that `make` computes from the ratios of `compared`."""

    def figure(rows: pd.DataFrame, under: str, over: str = OWN, digits: str = "2") -> str:
        made = make(compared(rows, under, over))
        return number(made, digits) if isinstance(made, float) else str(made)

    return figure


def without(rows: pd.DataFrame, under: str, stream: str, over: str = OWN) -> str:
    """The geometric mean of the ratios of `compared`, without one stream."""
    return number(geometric(compared(rows, under, over).drop(stream)), "2")


def on_other_seeds(rows: pd.DataFrame) -> str:
    """`changes.over_river` on the streams and seeds of these rows, and on its own seeds."""
    streams = [stream for stream in PANEL if stream in {*rows["stream"]} - {"luxembourg"}]
    each = (ratios(common.best(one), OWN, BEST, streams) for one in (rows, rows_of("changes")))
    return " instead of ".join(number(geometric(found), "2") for found in each)


def of_parts(rows: pd.DataFrame) -> str:
    """Mistakes without f2 over those with f2, with the forest and without, a line per stream."""
    both = [compared(rows, *pair) for pair in ((OWN, "f1 and forest"), ("f1 and f2", "f1 alone"))]
    lines = [[stream, *(f"{each[stream]:.2f}" for each in both)] for stream in both[0].index]
    lines.append(["geometric mean", *(f"{geometric(each):.3f}" for each in both)])
    return markdown(("stream", "beside the forest", "without a forest"), lines)


def of_explorers(rows: pd.DataFrame) -> str:
    """Mistakes without an explorer over those with all: geometric means, of how many streams."""
    foreigners, changing = rows_of("foreign"), common.chosen(rows_of("changes"), budget=0.05)
    groups = {
        "tables": (rows, tabular.STREAMS),
        "streams that change": (changing, PANEL),
        "labels that depend on those before": (changing, LASTING),
        "foreign tables": (common.chosen(foreigners, budget=0.05), foreign.STREAMS),
        "foreign tables, 30 labels": (common.chosen(foreigners, budget=30.0), foreign.STREAMS),
    }
    lines = []
    for name, (each, streams) in groups.items():
        found = [ratios(each, without, OWN, streams) for without in LEFT_OUT.values()]
        lines.append([name, *(f"{geometric(r):.3f} ({len(r)})" if len(r) else "" for r in found)])
    return markdown(("on", *(f"without {part}" for part in LEFT_OUT)), lines)


def of_queries(rows: pd.DataFrame) -> str:
    """Mistakes with other queries over those of I-NeurAL, a line per stream."""
    over = {name: compared(rows, OWN, name) for name in QUERIES}
    lines = [[s, *(f"{each[s]:.2f}" for each in over.values())] for s in tabular.STREAMS]
    lines.append(["geometric mean", *(f"{geometric(each):.2f}" for each in over.values())])
    return markdown(("stream", *over), lines)


def over_cited(rows: pd.DataFrame, source: str = RELEASED) -> str:
    """Mean mistakes over cited mistakes, as a geometric mean over the paper's streams."""
    own = common.chosen(rows, learner=OWN).groupby("stream")["regret"].mean()
    return number(geometric((own / cited("regret", 0.03, OWN, source))[[*STREAMS]]), "2")


def by_stream(rows: pd.DataFrame) -> str:
    """Table 1, a line per stream: mistakes cited and here, and the ratio to the released code."""
    paper, code = (cited("regret", 0.03, OWN, s) for s in (PAPER, RELEASED))
    lines = []
    for s in STREAMS:
        own = of(rows, stream=s, learner=OWN)
        over = f"{fmean(own) / code[s]:.2f}"
        lines.append([s, f"{paper[s]:,.0f}", f"{code[s]:,.0f}", spread(own), over])
    heads = ("stream", "the paper", "released code", "here", "here over released code")
    return markdown(heads, lines)


def late(rows: pd.DataFrame) -> str:
    """Milliseconds to learn a given label, by the number of labels before it."""
    lines = []
    for span, each in rows.groupby(["from", "to"], sort=False):
        cells = each.set_index("d")[["without", "with"]].loc[[22, 68]].to_numpy().ravel()
        lines.append([f"{span[0]:,} to {span[1]:,}", *(f"{value:.1f}" for value in cells)])
    heads = [f"d = {d}, {how}" for d in (22, 68) for how in ("no forest", "forest")]
    return markdown(("labels", *heads), lines)


def over_best(rows: pd.DataFrame, labels: str = "100", kind: str = "mean") -> str:
    """Mistakes over those of the best rival on foreign tables: the mean, or the worst table's."""
    found = foreign.over_best(rows, float(labels))
    return number(geometric(found) if kind == "mean" else found.max(), "2")


def budgets(rows: pd.DataFrame) -> str:
    """The table of examples/choosing_a_budget.py."""
    sys.path.append(str(ROOT / "examples"))
    return str(importlib.import_module("choosing_a_budget").table(rows))


ratio = of_ratios(geometric)
ANY: dict[str, Figure] = {
    **{"mean": means("mean"), "least": means("min"), "most": means("max"), "count": count},
    **{"table": table, "ratio": ratio, "without": without, "highest": of_ratios(max)},
    "worst": of_ratios(lambda found: found.idxmax()),  # the stream of the highest ratio
    "losses": of_ratios(lambda found: (found > 1).sum()),  # number of streams with ratios above 1
}
RIVALS = {
    "river": BEST,
    "forest": tabular.FOREST,
    "boosting": BOOSTING,
    "logistic": boundaries.LOGISTIC,
    "activeml": ACTIVEMLS,
}
FIGURES: dict[str, Figure] = {
    **{f"{name}.table": each.table for name, each in EXPERIMENTS.items()},
    **{
        f"{file.__name__}.table": file.table
        for file in (account, boundaries, estimates, labels, messages, rounds, theory)
    },
    **{f"tabular.over_{name}": partial(ratio, under=rival) for name, rival in RIVALS.items()},
    "tabular.mistakes": tabular.mistakes,
    "tabular.summaries": tabular.summaries,
    "tabular.seconds": tabular.seconds,
    "foreign.table": foreign.mistakes,
    "foreign.over_best": over_best,
    "tabular.of_parts": of_parts,
    "tabular.of_explorers": of_explorers,
    "tabular.of_queries": of_queries,
    "changes.panel": changes.panel,
    "changes.flips": changes.flips,
    "changes.standing": changes.standing,
    "changes.relabelled": changes.relabelled,
    "changes.together": changes.together,
    # One run of River's best asked for only six labels of luxembourg, and made 978 mistakes.
    "changes.over_river": partial(without, under=BEST, stream="luxembourg"),
    "changes-from-100.over_river": on_other_seeds,
    "changes.over_moa": lambda rows: number(
        geometric(ratios(common.best(rows), OWN, MOAS, PANEL)), "2"
    ),
    "estimates.audit": estimates.cost,
    "regret.by_stream": by_stream,
    "regret.over_released": over_cited,
    "regret.over_paper": partial(over_cited, source=PAPER),
    "theory.agreement": theory.agreement,
    "speed-labels.table": late,
    "budgets.table": budgets,
    "rounds.calls": rounds.calls,
    "companions.by_stream": companions.by_stream,
    "companions.least_fixed": companions.least_fixed,
    "labels.percent_river": lambda rows: number(5 * labels.saving(rows, BEST), "1"),
}


def text(name: str, **given: str) -> str:
    """The figure of that name as Markdown."""
    file, _, kind = name.partition(".")
    make = FIGURES.get(name) or ANY.get(kind)
    if make is None:
        known = ", ".join([*FIGURES, *(f"FILE.{any_}" for any_ in ANY)])
        raise ValueError(f"There is no figure {name}. There are: {known}")
    own = inspect.signature(make).parameters
    rows = chosen(file, {key: value for key, value in given.items() if key not in own})
    try:
        made = make(rows, **{key: value for key, value in given.items() if key in own})
    except (KeyError, TypeError, IndexError, StatisticsError) as error:
        raise ValueError(f"Rows of {file}.csv are missing: {error!r}") from error
    if not made or re.search(r"\bnan\b|No ratios", made):
        raise ValueError(f"Rows of {file}.csv are missing.")
    return made


WANTED = re.compile(r"\{\{ *([\w-]+\.\w+)(.*?) *\}\}")


def filled(page: str) -> str:
    """A page with each `{{ name }}` replaced by the figure."""

    def figure(found: re.Match[str]) -> str:
        try:
            return text(found[1], **dict(word.split("=", 1) for word in shlex.split(found[2])))
        except ValueError as error:
            raise ValueError(f"{found[0]}: {error}") from error

    return WANTED.sub(figure, page)
