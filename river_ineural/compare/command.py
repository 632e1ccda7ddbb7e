"""The command `compare`: what it takes, and what it does."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

__all__ = ["add"]

FIGURES = (".svg", ".png", ".pdf")


def add(commands: Any) -> None:
    """Add the command to those of a parser."""
    command: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="learners side by side on a CSV file of yours",
        description="Predict each row of a CSV file in turn, ask for some labels, and compare "
        "learners that all may ask for as many: a table, and a page with a figure.",
        epilog="example: river-ineural compare data.csv --target y --time t --delay 1d",
    )
    say = command.add_argument
    say("file", type=Path, help="CSV with a header; may be compressed")
    say("--target", required=True, metavar="COLUMN", help="of the labels")
    say("--time", metavar="COLUMN", help="to sort by; default: order of the file")
    say("--delay", help="until a label comes: 1d or 12h with --time, else a number of rows")
    say("--budget", default="5%", help="labels: 5%%, or 150 (default 5%%)")
    say("--models", nargs="+", metavar="NAME", help="default: six; a wrong one lists all")
    say("--categories", nargs="+", default=[], metavar="COLUMN", help="numbers that are codes")
    say("--drop", nargs="+", default=[], metavar="COLUMN", help="columns to learn nothing from")
    say("--separator", help="between cells (default: guessed)")
    say("--encoding", help="of the text, as latin-1 (default: guessed)")
    say("--decimal", choices=[".", ","], help="mark in numbers (default: guessed)")
    say("--seed", type=int, default=0, help="of the learners (default 0)")
    say("--report", type=Path, help="page to write (default: FILE-compare.html)")
    say("--figure", type=Path, help="write the figure too: .svg, .png or .pdf")
    command.set_defaults(run=run)


def run(options: argparse.Namespace, line: str) -> str:
    """Read, compare, print and write.

    Returns
    -------
    Why a contender failed; empty if none did.
    """
    try:
        from rich.console import Console
        from rich.progress import Progress

        from river_ineural.compare.contenders import CONTENDERS, DEFAULT
        from river_ineural.compare.reading import read_table
        from river_ineural.compare.reporting import Report
        from river_ineural.compare.running import parse_budget, parse_delay
        from river_ineural.compare.running import run as run_one
    except ModuleNotFoundError as error:
        raise ValueError(
            f"compare needs {error.name}: pip install -e '.[compare]' in a checkout"
        ) from None
    models = list(dict.fromkeys(options.models or DEFAULT))
    for name in models:
        if name not in CONTENDERS:
            raise ValueError(f"no model {name!r}: there are {', '.join(CONTENDERS)}")
    page = options.report or Path(f"{options.file.name.partition('.')[0]}-compare.html")
    for path in filter(None, (page, options.figure)):  # before anything is run
        if not path.parent.is_dir():
            raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    if options.figure and options.figure.suffix not in FIGURES:
        raise ValueError(f"--figure {str(options.figure)!r} must end in {' or '.join(FIGURES)}")
    table = read_table(
        *(options.file, options.target, options.time, options.drop, options.categories),
        separator=options.separator,
        encoding=options.encoding,
        decimal=options.decimal,
    )
    budget, delay = parse_budget(options.budget, len(table)), parse_delay(options.delay, table)
    notes = [f"{column.name}: {column.note}" for column in table.columns if column.note]
    print(f"{table.name}: {table.written}", *table.notes, *notes, sep="\n", file=sys.stderr)
    outcomes = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for contender in (CONTENDERS[name] for name in models):
            tick = partial(progress.advance, progress.add_task(contender.name, total=len(table)))
            outcomes.append(run_one(contender, table, budget, delay, options.seed, tick))
    report = Report(table, outcomes, options, line)
    report.show(Console())
    page.write_text(report.html(), encoding="utf8")
    if options.figure:
        report.figure().savefig(options.figure, dpi=150)
    print(report.below, f"Page: {page}", sep="\n")
    for each in outcomes:
        print(*(f"{each.name}: {note}\n" for note in each.notes), sep="", end="", file=sys.stderr)
    return "; ".join(f"{each.name} failed: {each.error}" for each in outcomes if each.error)
