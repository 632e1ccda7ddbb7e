"""The command `compare`: its options and its run."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the subcommands of a parser."""
    command: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="learners side by side on a file of yours",
        description="Predict each row of a file in turn, ask for some labels, and compare "
        "learners that all may ask for as many: a table, and a page with a figure.",
        usage="river-ineural compare FILE --target COLUMN [OPTION ...]",
        epilog="example: river-ineural compare data.csv --target y --time t --delay 1d",
    )
    say = command.add_argument
    say("file", type=Path, help="CSV with a header, may be compressed; parquet; ARFF")
    say("--target", required=True, metavar="COLUMN", help="of the labels")
    say("--time", metavar="COLUMN", help="to sort by; default: order of the file")
    say("--delay", help="until a label comes: 1d or 12h with --time, else a number of rows")
    say("--budget", default="5%", help="labels: 5%%, or 150 (default 5%%)")
    say(
        "--horizon",
        action=argparse.BooleanOptionalAction,
        help="whether learners know the number of rows; no value (default: only without --time)",
    )
    say("--models", nargs="+", metavar="NAME", help="default: six; a wrong one lists all")
    say("--categories", nargs="+", default=[], metavar="COLUMN", help="numbers that are codes")
    say("--drop", nargs="+", default=[], metavar="COLUMN", help="columns to learn nothing from")
    say("--separator", dest="sep", help="between cells (default: guessed)")
    say("--encoding", help="of the text, as cp1252 or utf-16 (default: guessed)")
    say("--decimal", help="mark in numbers (default: guessed)")
    say("--thousands", help="mark between thousands (default: none)")
    say("--date-format", metavar="FORMAT", help="of times, as '%%d.%%m.%%Y' (default: ISO 8601)")
    say("--seed", type=int, default=0, help="of the learners (default 0)")
    say("--seeds", type=int, default=1, metavar="N", help="run N seeds, from --seed on (default 1)")
    say("--report", type=Path, help="page to write (default: FILE-compare.html here)")
    command.set_defaults(run=run)


def page_of(file: Path) -> Path:
    """The page of a file, in this folder: data-compare.html of data.csv.gz."""
    name = re.sub(r"(\.\w+)?(\.(gz|zip|bz2|xz))?$", "", file.name)
    return Path(f"{name}-compare.html")


def run(options: argparse.Namespace, line: str) -> str:
    """Run the comparison; returns why contenders failed, or an empty text if none failed."""
    try:
        from river_ineural.compare import contenders, reading, reporting, running, verdict
        from river_ineural.compare.giveaways import giveaways
    except ModuleNotFoundError as error:
        raise ValueError(
            f"compare needs {error.name}: pip install -e '.[compare]' in a checkout"
        ) from None
    for name, least in (("seeds", 1), ("seed", 0)):
        if (value := getattr(options, name)) < least:
            raise ValueError(f"--{name} must be at least {least}, got {value}")
    models, known = [*dict.fromkeys(options.models or contenders.DEFAULT)], contenders.CONTENDERS
    for name in models:
        if name not in known:
            raise ValueError(f"no model {name!r}: there are {', '.join(known)}")
    page = options.report or page_of(options.file)
    if not page.parent.is_dir():  # checked before anything is run
        raise ValueError(f"{page} cannot be written: there is no folder {page.parent}")
    if page.is_dir():
        raise ValueError(f"--report {page} is a folder: say the name of a file")
    if page.exists() and page.samefile(options.file):
        raise ValueError(f"--report {page} is the file to read: say another name")
    csv = {name: getattr(options, name) for name in ("sep", "encoding", "decimal", "thousands")}
    columns = options.target, options.time, options.drop, options.categories
    table = reading.read_table(options.file, *columns, options.date_format, **csv)
    delay = running.parse_delay(options.delay, table) if options.delay else None
    if options.horizon is None:
        options.horizon = not options.time  # in time order later rows may differ
    budget = running.parse_budget(options.budget, len(table), options.horizon)
    seeds = range(options.seed, options.seed + options.seeds)
    notes = [*table.notes, *giveaways(table)]
    runs = f"{len(table):,} rows; learners: {len(models)}; runs of each: {len(seeds)}"
    sys.stderr.writelines(f"{note}\n" for note in [*notes, runs])  # a log shows no progress
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Only one class was seen")  # the file has at least two
        warnings.filterwarnings("ignore", "The number of unique classes")  # of few labels
        warnings.filterwarnings("ignore", "the first 10 strings of column")  # of --categories
        outcomes = [
            running.mean_of(
                [running.run(known[name], table, budget, delay, seed) for seed in seeds]
            )
            for name in models
        ]
    failures = [f"{each.name} failed: {each.error}" for each in outcomes if each.error]
    if len(failures) < len(outcomes):
        said = f"{verdict.verdict(outcomes)} {verdict.no_better(outcomes, table.labels)}".strip()
        print(f"{reporting.text_table(outcomes)}\n")
        written = reporting.page(table, outcomes, options, line, said, notes)
        page.write_text(written, encoding="utf8")
        label, share = next(iter(table.shares.items()))
        always = f"{share:.1%} of the labels are {label!r}."
        said = textwrap.fill(said, 76, break_on_hyphens=False)
        print("\n".join(filter(None, (said, always, reporting.REST, f"Page: {page}"))))
    return "; ".join(failures)
