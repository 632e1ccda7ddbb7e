"""The command `compare`: what it takes, and what it does."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["add"]

NEEDS = {"rich": "rich", "sklearn": "scikit-learn", "matplotlib": "matplotlib", "jinja2": "jinja2"}
EXAMPLE = "example: river-ineural compare data.csv --target y --time t --delay 1d --budget 5%"


def add(commands: Any) -> None:
    """Add the command to those of a parser."""
    command: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="learners side by side on a CSV file of yours",
        description="Predict each row of a CSV file in turn, ask for some labels, and compare "
        "learners that all may ask for as many: a table, and a page with a figure.",
        epilog=EXAMPLE,
    )
    command.add_argument("file", type=Path, help="CSV with a header; may be compressed")
    command.add_argument("--target", required=True, metavar="COLUMN", help="of the labels")
    command.add_argument("--time", metavar="COLUMN", help="to sort by; default: order of the file")
    command.add_argument(
        "--delay", help="until a label comes: 1d or 12h with --time, else a number of rows"
    )
    command.add_argument("--budget", default="5%", help="labels: 5%%, or 150 (default 5%%)")
    command.add_argument(
        "--models", nargs="+", metavar="NAME", help="default: six; a wrong one lists all"
    )
    command.add_argument(
        "--categories", nargs="+", default=[], metavar="COLUMN", help="numbers that are codes"
    )
    command.add_argument(
        "--drop", nargs="+", default=[], metavar="COLUMN", help="columns to learn nothing from"
    )
    command.add_argument("--sep", default=",", help="between cells (default: a comma)")
    command.add_argument("--seed", type=int, default=0, help="of the learners (default 0)")
    command.add_argument("--report", type=Path, help="page to write (default: FILE-compare.html)")
    command.add_argument("--figure", type=Path, help="write the figure too: .svg, .png or .pdf")
    command.set_defaults(run=run)


def run(options: argparse.Namespace, line: str) -> str:
    """Read, compare, print and write.

    Returns
    -------
    Why a contender failed; empty if none did.
    """
    lacking = [name for module, name in NEEDS.items() if not importlib.util.find_spec(module)]
    if lacking:
        raise ValueError(
            f"compare needs {', '.join(lacking)}: pip install 'river-ineural[compare]'"
        )
    from rich.console import Console
    from rich.progress import Progress

    from river_ineural.compare.contenders import CONTENDERS
    from river_ineural.compare.reading import read_table
    from river_ineural.compare.reporting import Report
    from river_ineural.compare.running import parse_budget, parse_delay
    from river_ineural.compare.running import run as run_one

    console, errors = Console(), Console(stderr=True)
    wanted = chosen(options.models)
    page = options.report or Path(f"{options.file.name.partition('.')[0]}-compare.html")
    writable(page, options.figure)
    table = read_table(
        *(options.file, options.target, options.time, options.drop, options.categories),
        options.sep,
    )
    budget, delay = parse_budget(options.budget, len(table)), parse_delay(options.delay, table)
    for note in notes(table):
        errors.print(note, highlight=False, markup=False, soft_wrap=True)
    outcomes = []
    with Progress(console=errors, transient=True) as progress:
        for name in wanted:
            contender = CONTENDERS[name]
            task = progress.add_task(contender.name, total=len(table))
            outcomes.append(
                run_one(
                    *(contender, table, budget, delay, options.seed),
                    tick=lambda task=task: progress.advance(task),  # type: ignore[misc]
                )
            )
            progress.remove_task(task)
    settings = {
        "rows": f"{len(table):,}",
        "order": f"by {options.time}" if options.time else "as in the file",
        "labels come": f"{options.delay}{'' if options.time else ' rows'} later"
        if options.delay
        else "before the next row",
        "budget": f"{budget.total:,} labels ({options.budget})",
        "seed": str(options.seed),
    }
    report = Report(table, outcomes, settings, line)
    report.show(console)
    report.write(page, options.figure)
    console.print(f"Page: {page}", highlight=False, markup=False, soft_wrap=True)
    for each in outcomes:
        for note in each.notes:
            errors.print(f"{each.name}: {note}", highlight=False, markup=False, soft_wrap=True)
    return "; ".join(f"{each.name} failed: {each.error}" for each in outcomes if each.error)


def chosen(models: Sequence[str] | None) -> list[str]:
    """Names of contenders, each once.

    Raises
    ------
    ValueError
        Naming one that there is not, and those that there are.
    """
    from river_ineural.compare.contenders import CONTENDERS, DEFAULT

    for name in models or ():
        if name not in CONTENDERS:
            raise ValueError(f"no model {name!r}: there are {', '.join(CONTENDERS)}")
    return list(dict.fromkeys(models or DEFAULT))


def writable(page: Path, figure: Path | None) -> None:
    """Raise ValueError if what is to be written cannot be, before anything is run."""
    for path in (page, *([figure] if figure else [])):
        if not path.parent.is_dir():
            raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    if figure is not None and figure.suffix not in (".svg", ".png", ".pdf"):
        raise ValueError(f"--figure {str(figure)!r} must end in .svg, .png or .pdf")


def notes(table: Any) -> list[str]:
    """What a person should know before results."""
    found = [*table.notes]
    found += [f"{column.name}: {column.note}" for column in table.columns if column.note]
    return found
