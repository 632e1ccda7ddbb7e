"""A model stays whole whatever interrupts, overloads or misfeeds it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import river_ineural

FOLDER, PACKAGE = Path(__file__).parent, Path(river_ineural.__file__).parent


@pytest.mark.parametrize(
    "names",
    [
        "exceptions_at_every_call interrupts labels_of_a_sampler",
        "exceptions_at_every_line exceptions_at_every_line_of_outputs",
        "a_light_import modes_of_torch threads_that_predict threads_that_learn "
        "threads_and_a_budget",
        "a_fork_after_a_frame forks_while_threads_learn",
        "nowhere_to_cache compilation_is_told",
    ],
)
def test_it_stays_whole(names):
    """Functions of `heart`, which say what is done, in a process of their own."""
    path = os.pathsep.join([str(PACKAGE.parent), str(FOLDER)])
    result = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / "heart.py"), *names.split()],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
