"""Command line: `python -m river_ineural.benchmark COMMAND`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from river_ineural.benchmark import (
    against,
    changes,
    changing,
    device,
    figures,
    keep,
    profile,
    speed,
    tables,
    tabular,
    theory,
)
from river_ineural.benchmark.learners import LEARNERS


def names_of(known: Iterable[str]) -> dict[str, Any]:
    """An argument of some of these names, which a wrong one lists, and `--help` does not."""
    text = "default: all; a wrong one lists them"
    return {"nargs": "+", "choices": known, "metavar": "NAME", "help": text}


def main() -> None:
    """Run the benchmark that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m river_ineural.benchmark")
    commands = parser.add_subparsers(required=True, metavar="command")
    command = commands.add_parser("speed", help="microseconds a prediction and a learned example")
    command.add_argument("--calls", type=int, default=500, help="timed calls a cell (default 500)")
    command.add_argument("--out", type=Path, help="write the tables and a figure to this folder")
    command.set_defaults(run=lambda a: speed.run(n_calls=a.calls, folder=a.out))
    command = commands.add_parser("profile", help="where the time of a round goes")
    command.add_argument("--calls", type=int, default=500, help="timed calls a size (default 500)")
    command.set_defaults(run=lambda a: profile.run(n_calls=a.calls))
    command = commands.add_parser("device", help="microseconds on a GPU, beside the CPU's")
    command.add_argument("--device", default="cuda", help="which one (default cuda)")
    command.add_argument("--calls", type=int, default=100, help="timed calls a cell (default 100)")
    command.add_argument("--out", type=Path, help="write the table to this folder")
    command.set_defaults(run=lambda a: device.run(a.device, a.calls, a.out))
    command = commands.add_parser("keep", help="seconds and bytes of save and load, and pickle's")
    command.add_argument("--turns", type=int, default=7, help="of each way (default 7)")
    command.add_argument("--out", type=Path, default=Path("results"), help="folder of the CSVs")
    command.set_defaults(run=lambda a: keep.run(a.turns, a.out))
    command = commands.add_parser("against", help="decisions and times beside another checkout")
    command.add_argument("other", type=Path, help="root of the other checkout")
    command.add_argument("--this", type=Path, default=Path(), help="of this one (default: here)")
    command.set_defaults(run=lambda a: against.run(a.other.resolve(), a.this.resolve()))
    command = commands.add_parser("figures", help="regret curves and policies, from the results")
    command.add_argument("--results", type=Path, default=Path("results"), help="folder of the CSVs")
    command.add_argument("--out", type=Path, default=Path("docs/assets"), help="of the figures")
    command.set_defaults(run=lambda a: figures.run(a.results, a.out))
    command = commands.add_parser(
        "theory", help="R_T, and sums of regret and labels, P(y | x) known"
    )
    command.add_argument("--seeds", type=int, default=5, help="runs a stream (default 5)")
    command.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    command.add_argument("--rounds", type=int, default=20_000, help="largest T (default 20,000)")
    command.add_argument("--out", type=Path, default=Path("results"), help="folder of theory.csv")
    command.add_argument("--assets", type=Path, help="draw the figure in this folder")
    command.set_defaults(run=lambda a: theory.run(a.seeds, a.jobs, a.rounds, a.out, a.assets))
    command = commands.add_parser("changes", help="mistakes on streams that change")
    command.add_argument("--streams", **names_of(changing.STREAMS))
    command.add_argument("--learners", **names_of(changes.LEARNERS))
    command.add_argument("--seeds", type=int, default=3, help="runs a cell (default 3)")
    command.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    command.add_argument("--rounds", type=int, help="of each stream, to changes-ROUNDS.csv")
    command.add_argument("--out", type=Path, default=Path("results"), help="folder of the CSV")
    command.add_argument("--assets", type=Path, help="draw the figure in this folder")
    command.set_defaults(
        run=lambda a: changes.run(
            *(a.seeds, a.jobs, a.out, a.streams, a.learners, a.rounds, a.assets)
        )
    )
    command = commands.add_parser("tabular", help="mistakes on tables, beside refitted classifiers")
    command.add_argument("--streams", **names_of(tabular.STREAMS))
    command.add_argument("--learners", **names_of(tabular.LEARNERS))
    command.add_argument("--seeds", type=int, default=3, help="runs a cell (default 3)")
    command.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    command.add_argument("--budgets", nargs="+", type=float, help="default: 0.05 0.1")
    command.add_argument("--rounds", type=int, help="of each stream, to tabular-ROUNDS.csv")
    command.add_argument("--out", type=Path, default=Path("results"), help="folder of the CSV")
    command.add_argument("--assets", type=Path, help="draw the figure in this folder")
    command.set_defaults(
        run=lambda a: tabular.run(
            *(a.seeds, a.jobs, a.out, a.streams, a.learners, a.rounds, a.budgets, a.assets)
        )
    )
    for name, experiment in tables.EXPERIMENTS.items():
        command = commands.add_parser(name, help=experiment.what.replace("%", "%%"))
        usual = " ".join(experiment.streams)
        command.add_argument("--streams", nargs="+", help=f"default: {usual}")
        command.add_argument("--learners", **names_of(LEARNERS))
        command.add_argument("--seeds", type=int, default=5, help="runs a cell (default 5)")
        command.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
        command.add_argument("--budgets", nargs="+", type=float, help="shares of the stream")
        command.add_argument("--rounds", type=int, help="of each stream, to COMMAND-ROUNDS.csv")
        command.add_argument(
            "--minutes", type=float, default=20, help="a cell at most (default 20)"
        )
        command.add_argument("--out", type=Path, default=Path("results"), help="folder of the CSV")
        command.set_defaults(
            run=lambda a, name=name: tables.run(
                *(name, a.seeds, a.jobs, a.out, a.streams, a.learners),
                *(a.rounds, a.budgets, a.minutes),
            )
        )
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
