"""What was tried to break it: wrong inputs and files, interrupts, forks, threads, kills, clients.

It runs tests of the checkout, some with more cases than usual, and counts what they try. Of a test
that tries several cases all hold or none.
"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from common import RESULTS, Row

TESTS = Path(__file__).parents[2] / "tests"
INPUTS, TABLES, MODELS, BODIES = "examples", "CSV files", "files of models", "bodies of requests"
PERSISTENCE = (
    *("what_cannot_be_saved_says_so", "nothing_but_a_regular_file_is_replaced_or_read"),
    *("a_pickle_is_refused_and_not_run", "bombs_are_refused_at_once", "json_that_is_no_model"),
    *("an_error_names_what_is_wrong", "numbers_that_would_spoil_each_prediction"),
    *("another_schema_is_refused", "a_file_is_not_larger_than_what_is_in_it"),
)
GROUPS = {  # of tests
    "test_robustness.py": INPUTS,
    "test_compare.py::test_what_a_file_holds": TABLES,
    "test_compare.py::test_a_failed_run_says_why_in_one_line": TABLES,
    **{f"test_persistence.py::test_{name}": MODELS for name in PERSISTENCE},
    "test_service.py::test_what_cannot_be_understood_changes_nothing": BODIES,
    "test_service.py::test_what_contradicts_is_refused_and_changes_nothing": BODIES,
}
COUNTED = r"(\d+) cases"
LOST = r"lost +0\n.*twice +0\n(?:.*\n)*.*without kills +True"
PROCESSES = {  # scripts: the group, what they print if all held, and the cases if that is no number
    "heart.py exceptions_at_every_call": ("MemoryErrors", COUNTED, 0),
    "heart.py exceptions_at_every_line": ("interrupts", COUNTED, 0),
    "heart.py exceptions_at_every_line_of_outputs": ("interrupts", COUNTED, 0),
    "heart.py interrupts": ("interrupts", COUNTED, 0),
    "heart.py labels_of_a_sampler": ("interrupts", COUNTED, 0),
    "heart.py a_fork_after_a_frame": ("forks", COUNTED, 0),
    "heart.py forks_while_threads_learn": ("forks", COUNTED, 0),
    "heart.py threads_that_predict": ("calls of eight threads", COUNTED, 0),
    "heart.py threads_that_learn": ("calls of eight threads", COUNTED, 0),
    "heart.py threads_and_a_budget": ("calls of eight threads", COUNTED, 0),
    "kept.py killed 200": ("kills while a model is saved", r"of (\d+) files load", 0),
    "kept.py damaged 3000": (MODELS, "memory grew", 3000),
    "service_load.py 1250 16 5": ("kills of the service", LOST, 5),
    "service_load.py 1000 16 1": ("rounds of 16 clients", LOST, 1000),
}


class Counting:
    """A plugin of pytest that counts cases: examples of Hypothesis, or one a test."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any) -> Generator[None, Any, Any]:
        """Note the cases of a test that was run, or that could not be set up."""
        report = yield
        if report.failed or (report.when == "call" and report.passed):
            tried = re.findall(r"(\d+) passing", getattr(item, "hypothesis_statistics", ""))
            n = sum(map(int, tried)) or 1
            (group,) = {GROUPS[name] for name in GROUPS if name in item.nodeid}
            self.rows.append(counted(group, n, report.passed, report.duration))
        return report


def counted(group: str, n: int, held: bool, seconds: float) -> Row:
    """A row of cases that held, or none of which did."""
    return {"tried": group, "cases": n, "held": n * held, "seconds": seconds}


def in_processes() -> Iterator[Row]:
    """The cases of each script, which has a process of its own."""
    for words, (group, said, n) in PROCESSES.items():
        script, *given = words.split()
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, TESTS / script, *given], capture_output=True, text=True, check=False
        )
        found = None if done.returncode else re.search(said, done.stdout)
        if not found:
            print(f"{words} failed:\n{done.stdout}\n{done.stderr}", file=sys.stderr)
        n = n or (int(found[1]) if found else 1)
        yield counted(group, n, bool(found), time.perf_counter() - start)


def main() -> None:
    """Try all, print the table and write hostile.csv. The exit status is 1 if anything broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the CSV file")
    given = parser.parse_args()
    counting = Counting()
    pytest.main(["-q", "-m", "", *(str(TESTS / name) for name in GROUPS)], plugins=[counting])
    rows = pd.DataFrame([*counting.rows, *in_processes()])
    table = rows.groupby("tried", sort=False).sum().round().astype(int).reset_index()
    print(table.to_string(index=False))
    given.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(given.out / "hostile.csv", index=False)
    sys.exit(int((table["held"] < table["cases"]).any()))


if __name__ == "__main__":
    main()
