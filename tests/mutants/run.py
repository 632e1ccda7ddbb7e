"""Break the package in known ways, one after the other: the tests named for each have to fail.

python tests/mutants/run.py [WORD ...]   all of mutants.toml, or those with these words

A mutant names a function, as `History.add`, or a constant, as `LABELLED_SHARE`, and a part of the
path of its file only if there are several. `old`, which is once in the source of it, becomes `new`.
All mutants are looked up, whichever are run.
"""

from __future__ import annotations

import ast
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "river_ineural"
COPIED = PACKAGE, "tests", "examples"
SKIPPED = shutil.ignore_patterns("mutants", "__pycache__")
LONGEST = 900  # seconds; what hangs has been noticed


def definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """The functions and constants of a module and of its classes, by kind and qualified name."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield f"function {prefix}{node.name}", node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each for target in targets for each in ast.walk(target)]
            yield from ((f"constant {prefix}{n.id}", node) for n in names if hasattr(n, "id"))


@functools.cache
def places() -> dict[str, list[tuple[Path, ast.stmt]]]:
    """The files and nodes of all definitions of the package."""
    found = defaultdict(list)
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        for name, node in definitions(ast.parse(path.read_text("utf8")).body):
            found[name].append((path.relative_to(ROOT), node))
    return found


def changed(mutant: dict) -> tuple[str, Path, str]:
    """What is changed, its file, and the text of that."""
    (name,) = (f"{kind} {mutant[kind]}" for kind in ("function", "constant") if kind in mutant)
    found = [each for each in places()[name] if mutant.get("file", "") in str(each[0])]
    if len(found) != 1:
        raise SystemExit(f"{name} is there {len(found)} times: {mutant['breaks']}")
    ((path, node),) = found
    decorators = getattr(node, "decorator_list", [])
    lines = (ROOT / path).read_text("utf8").splitlines(keepends=True)
    at = slice(min(each.lineno for each in (node, *decorators)) - 1, node.end_lineno)
    if (source := "".join(lines[at])).count(mutant["old"]) != 1:
        raise SystemExit(f"not once in {name}: {mutant['old']}")
    lines[at] = source.replace(mutant["old"], mutant["new"])
    return name, path, "".join(lines)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess:
    """Python in the copy, which is what it imports."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    told = {"capture_output": True, "text": True, "timeout": LONGEST}
    return subprocess.run([sys.executable, *command], cwd=folder, env=environment, **told)


def killed(path: Path, text: str, tests: list[str]) -> bool:
    """Whether one of the tests fails with this text in a file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for each in COPIED:
            shutil.copytree(ROOT / each, folder / each, ignore=SKIPPED)
        shutil.copy(ROOT / "pyproject.toml", folder)
        (folder / path).write_text(text, "utf8")
        where = run(folder, "-c", f"import {PACKAGE}; print({PACKAGE}.__path__[0])").stdout
        assert where.startswith(str(folder)), where
        try:
            told = run(folder, "-m", "pytest", "-xqpno:cacheprovider", "-m", "", *tests)
        except subprocess.TimeoutExpired:
            return True
        if told.returncode > 1:  # no test ran
            raise SystemExit(told.stdout + told.stderr)
        return told.returncode != 0


def main(*words: str) -> None:
    mutants = tomllib.loads((Path(__file__).parent / "mutants.toml").read_text("utf8"))["mutant"]
    chosen, n = [], 0
    for mutant in mutants:
        name, *how = changed(mutant)
        told = f"{name.partition(' ')[2]}: {mutant['breaks']}"
        chosen += [(told, *how, mutant["tests"])] * all(word in told for word in words)
    for told, *how in chosen:
        start, dies = time.monotonic(), killed(*how)
        n += dies
        seconds = time.monotonic() - start
        print("killed  " if dies else "SURVIVED", f"{told} ({seconds:.0f} s)", flush=True)
    print(f"{n} of {len(chosen)} killed")


if __name__ == "__main__":
    main(*sys.argv[1:])
