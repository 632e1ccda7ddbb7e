"""What all tests share: one thread, hypothesis settings, CUDA tests only where there is CUDA."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several workers of pytest share the processors

import hypothesis
import pytest
import torch

from river_ineural.active import query
from river_ineural.networks import weights

# No deadline: the machine may be busy. Derandomised: a failure seen once is seen by everybody.
hypothesis.settings.register_profile(
    "river_ineural",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("river_ineural")


@pytest.fixture
def cuda() -> str:
    """The name of a CUDA device; skips where there is none."""
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device here")
    return "cuda"


@pytest.fixture
def by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled for the CPU is done by the modules that serve other devices."""
    monkeypatch.setattr(weights, "compiles", False)


@pytest.fixture
def no_random_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sampler asks at random."""
    monkeypatch.setattr(query, "random_ask", lambda *given: (False, 0.0))


@pytest.fixture(params=["compiled", "modules"])
def by_both(request: pytest.FixtureRequest) -> None:
    """Once with each form of the networks."""
    if request.param == "modules":
        request.getfixturevalue("by_torch")
