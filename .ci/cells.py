"""Run small cells of the experiments in one process: `cells.py FILE PART`.

Each line of FILE is a command line of a script of examples/benchmarks/. Every other line is run,
from line PART on.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import shlex
import sys
from pathlib import Path

BENCHMARKS = Path("examples/benchmarks")


def main(file: str, part: str) -> None:
    sys.path.insert(0, str(BENCHMARKS))
    for line in Path(file).read_text().splitlines()[int(part) :: 2]:
        script, *given = shlex.split(line)
        sys.argv = [script, *given]
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(BENCHMARKS / script), run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
