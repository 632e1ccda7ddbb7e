"""Command line: `river-ineural COMMAND`, or `python -m river_ineural COMMAND`."""

from __future__ import annotations

import argparse
import itertools
import platform
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
from river.base.typing import FeatureName

import river_ineural
from river_ineural import INeurAL, NeurONAL
from river_ineural.active import INeurALSampler
from river_ineural.compare import command as compare
from river_ineural.features import jit

Example = tuple[dict[FeatureName, Any], str]


def versions() -> str:
    """The versions that a report of a bug needs, one a line; "-" where a package is missing."""
    names = re.findall(r"(?m)^([\w-]+)", "\n".join(metadata.requires("river-ineural") or ()))
    found = {"Python": platform.python_version(), "system": platform.platform()}
    found["river-ineural"] = river_ineural.__version__
    for name in dict.fromkeys(names):
        try:
            found.setdefault(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            found[name] = "-"
    return "\n".join(f"{name:<16} {version}" for name, version in found.items())


class Versions(argparse.Action):
    """Prints the versions, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> None:
        print(versions())
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line."""

    def error(self, message: str) -> None:  # type: ignore[override]  # it does not return
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def compile_loops(options: argparse.Namespace, command: str) -> str:
    """Let both learners learn a short stream, with few and with many features."""
    stream: list[Example] = [({"x": i % 7, f"x{i % 3}": i / 9}, str(i % 3)) for i in range(30)]
    ids = [[f"word {i * j % 997}" for j in range(5)] for i in range(200)]
    words: list[Example] = [(dict.fromkeys(each, 1), str(i % 2)) for i, each in enumerate(ids)]
    for kind, examples in itertools.product((INeurAL, NeurONAL), (stream, words)):
        model = INeurALSampler(kind(hidden_dim=4, n_steps=2.0, seed=1), seed=1)
        for x, y in examples:
            model.predict_one(x)
            model.learn_one(x, y)
        model.classifier.predict_many(pd.DataFrame([x, x]))  # as a change of the stream scores
    print(f"compiled {jit.notices.n} functions in {jit.notices.spent:.0f} s")
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that was asked for; the status is 0, or 1 with the reason on stderr."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = Parser(prog="river-ineural", description="Neural active learning on streams.")
    parser.add_argument("--version", action="version", version=river_ineural.__version__)
    parser.add_argument(
        "--versions", action=Versions, nargs=0, help="of all packages, for a report"
    )
    commands = parser.add_subparsers(
        required=True, dest="command", metavar="COMMAND", parser_class=Parser
    )
    compare.add(commands)
    compiling = commands.add_parser(
        "compile", help="compile all loops, so that first uses need not"
    )
    compiling.set_defaults(run=compile_loops)
    options, more = parser.parse_known_args(given)
    if more:
        commands.choices[options.command].error(f"unrecognized arguments: {' '.join(more)}")
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
