"""Command line: `python -m river_ineural.benchmark speed` or `profile`."""

from __future__ import annotations

import argparse
from pathlib import Path

from river_ineural.benchmark import profile, speed


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
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
