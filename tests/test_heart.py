"""A model stays whole whatever interrupts, overloads or misfeeds it."""

from pathlib import Path

import pytest
from streams import python


@pytest.mark.slow
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
    python("-W", "error", Path(__file__).with_name("heart.py"), *names.split())
