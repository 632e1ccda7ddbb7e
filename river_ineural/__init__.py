"""I-NeurAL, improved neural active learning (Ban et al., NeurIPS 2022), for River."""

from __future__ import annotations

import importlib
from types import ModuleType

from river_ineural import active
from river_ineural.classifier import INeurAL
from river_ineural.learning.training import Training

__all__ = ["INeurAL", "Training", "active", "baselines", "datasets", "paper"]

__version__ = "0.1.0"


def __getattr__(name: str) -> ModuleType:
    """What few need comes when it is asked for."""
    if name in ("baselines", "datasets", "paper"):
        return importlib.import_module(f"river_ineural.{name}")
    raise AttributeError(f"module 'river_ineural' has no attribute {name!r}")
