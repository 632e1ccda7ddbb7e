"""Command line: `python -m river_ineural.benchmark speed`."""

from __future__ import annotations

import argparse
from pathlib import Path

from river_ineural.benchmark import speed


def main() -> None:
    """Run the benchmark that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m river_ineural.benchmark")
    commands = parser.add_subparsers(required=True, metavar="command")
    command = commands.add_parser("speed", help="microseconds a prediction and a learned example")
    command.add_argument("--calls", type=int, default=200, help="timed calls a cell (default 200)")
    command.add_argument("--csv", type=Path, help="append the rows to this file")
    command.set_defaults(
        run=lambda arguments: speed.run(n_calls=arguments.calls, csv_path=arguments.csv)
    )
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
