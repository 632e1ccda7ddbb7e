"""A model stays whole whatever interrupts, overloads or misfeeds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import river_ineural


def in_a_process(name, **environment):
    """Run a function of `heart` in a process of its own, which must end well."""
    folder = Path(__file__).parent
    path = os.pathsep.join([str(Path(river_ineural.__file__).parents[1]), str(folder)])
    result = subprocess.run(
        [sys.executable, "-W", "error", str(folder / "heart.py"), name],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "what",
    [
        "exceptions_at_every_call",
        "exceptions_at_every_line",
        "exceptions_at_every_line_of_outputs",
        "interrupts",
        "threads_that_predict",
        "threads_that_learn",
        "threads_and_a_budget",
        "a_fork_after_a_frame",
        "forks_while_threads_learn",
        "modes_of_torch",
        "nowhere_to_cache",
        "a_light_import",
        "compilation_is_told",
    ],
)
def test_it_stays_whole(what):
    """Each function of `heart` says what is done to it."""
    in_a_process(what)
