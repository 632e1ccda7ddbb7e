"""What a call does to its process: threads of torch for small matrices, Ctrl-C held back."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` converts to enums: 13 µs a block
import functools
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")

SIGINT = int(signal.SIGINT)


def single_threaded(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` on one torch thread; the caller's number of threads is restored.

    The products of one round are so small that waking a second thread takes longer than it saves,
    many times longer on a busy machine. Changing the number takes 0.2 µs.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        n = torch.get_num_threads()
        if n == 1:
            return function(*args, **kwargs)
        try:
            torch.set_num_threads(1)
            return function(*args, **kwargs)
        finally:
            torch.set_num_threads(n)

    return wrapper


class uninterrupted:
    """Hold Ctrl-C (SIGINT) back until the block ends, so that it finds no example half learned.

    Only the main thread gets it, so elsewhere this does nothing; nor does it within another such
    block.
    """

    held: tuple[int, FrameType | None] | None  # a signal that has come

    def __enter__(self) -> None:
        self.handler: Any = None
        handler = _signal.getsignal(SIGINT)
        if type(handler) is uninterrupted or not callable(handler):
            return
        self.held = None
        try:
            _signal.signal(SIGINT, self)
        except ValueError:  # not in the main thread
            return
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal: note it."""
        self.held = number, frame

    def __exit__(self, *exception: object) -> None:
        if self.handler is not None:
            _signal.signal(SIGINT, self.handler)
            if self.held:
                self.handler(*self.held)
