"""Break the package in known ways, one after the other: the tests named for each have to fail.

python tests/mutants/run.py [WORD ...]   all of mutants.toml, or those with these words
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "river_ineural"
COPIED = PACKAGE, "tests", "examples"
LONGEST = 900  # seconds; what hangs has been noticed


def copied(folder: Path, mutant: dict) -> None:
    """What tests need, with the change."""
    text = (ROOT / PACKAGE / mutant["file"]).read_text("utf8")
    if text.count(mutant["old"]) != 1:
        raise SystemExit(f"not once in {mutant['file']}: {mutant['old']}")
    # Of what is compiled some is inlined elsewhere, and would be taken from before the change.
    stale = ["__pycache__"] if ".loops import" in text else []
    for name in COPIED:
        skip = shutil.ignore_patterns("mutants", *stale)
        shutil.copytree(ROOT / name, folder / name, ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", folder)
    text = text.replace(mutant["old"], mutant["new"])
    (folder / PACKAGE / mutant["file"]).write_text(text, "utf8")


def run(folder: Path, *command: str) -> subprocess.CompletedProcess:
    """Python in the copy, which is what it imports."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )


def killed(mutant: dict) -> bool:
    """Whether a test fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        copied(folder, mutant)
        where = run(folder, "-c", f"import {PACKAGE}; print({PACKAGE}.__path__[0])").stdout
        assert where.startswith(str(folder)), where
        try:
            told = run(folder, "-m", "pytest", "-xqpno:cacheprovider", "-m", "", *mutant["tests"])
        except subprocess.TimeoutExpired:
            return True
        if told.returncode > 1:  # no test ran
            raise SystemExit(told.stdout + told.stderr)
        return told.returncode != 0


def main(*words: str) -> None:
    mutants = tomllib.loads((Path(__file__).parent / "mutants.toml").read_text("utf8"))["mutant"]
    chosen = [m for m in mutants if all(w in f"{m['file']} {m['breaks']}" for w in words)]
    n = 0
    for mutant in chosen:
        start, dies = time.monotonic(), killed(mutant)
        n += dies
        told = f"{mutant['file']}: {mutant['breaks']} ({time.monotonic() - start:.0f} s)"
        print("killed  " if dies else "SURVIVED", told, flush=True)
    print(f"{n} of {len(chosen)} killed")


if __name__ == "__main__":
    main(*sys.argv[1:])
