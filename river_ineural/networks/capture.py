"""CUDA graphs: a function on fixed buffers, captured once and replayed."""

from __future__ import annotations

from collections.abc import Callable

import torch

N_WARM_UP = 3  # calls before the capture, in which libraries allocate their workspaces


class Captured:
    """Call a function; on a GPU, record its kernels once, then launch them all with one call.

    The function must read and write the same memory at every call. It must depend on nothing else:
    no arguments, and no Python numbers that change. If a buffer is replaced, a new `Captured` is
    needed.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.n_calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, function: Callable[[], None]) -> None:
        """Run `function`, which must be the same at every call."""
        if self.device.type != "cuda":
            function()
        elif self.graph is not None:
            self.graph.replay()
        else:
            self._warm_up(function)

    def _warm_up(self, function: Callable[[], None]) -> None:
        """Run `function` on its own stream to warm up; after the last warm-up, record it."""
        current = torch.cuda.current_stream(self.device)
        aside = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        aside.wait_stream(current)
        with torch.cuda.stream(aside):
            function()
        current.wait_stream(aside)
        self.n_calls += 1
        if self.n_calls == N_WARM_UP:
            torch.cuda.synchronize(self.device)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.device(self.device), torch.cuda.graph(graph):
                function()  # recorded, not run
            self.graph = graph
