"""Command line: `river-ineural COMMAND`, or `python -m river_ineural COMMAND`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

import river_ineural
from river_ineural.compare import command as compare

__all__ = ["main"]


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line."""

    def error(self, message: str) -> None:  # type: ignore[override]  # it does not return
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that was asked for; the status is 0, or 1 with the reason on stderr."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = Parser(prog="river-ineural", description="Neural active learning on streams.")
    parser.add_argument("--version", action="version", version=river_ineural.__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    compare.add(commands)
    options = parser.parse_args(given)
    try:
        failure = options.run(options, shlex.join(["river-ineural", *given]))
    except KeyboardInterrupt:
        failure = "interrupted"
    except Exception as error:  # one line: what a person can act on
        failure = " ".join(str(error).split())
        if isinstance(error, OSError) and error.filename and error.strerror:
            failure = f"{error.strerror}: {error.filename}"
        if not isinstance(error, OSError | ValueError):  # which say it all
            failure = f"{type(error).__name__}: {failure}"
    if failure:
        print(f"river-ineural: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
