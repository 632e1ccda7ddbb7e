"""I-NeurAL, improved neural active learning (Ban et al., NeurIPS 2022), for River."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from river_ineural import active
from river_ineural.classifier.ineural import INeurAL
from river_ineural.classifier.neuronal import NeurONAL

if TYPE_CHECKING:
    from river_ineural.persistence import load, save

__all__ = [
    "INeurAL",
    "NeurONAL",
    "active",
    "baselines",
    "datasets",
    "inspection",
    "load",
    "paper",
    "save",
]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a module that few need when it is used."""
    if name in ("load", "save"):
        return getattr(importlib.import_module("river_ineural.persistence"), name)
    if name in ("baselines", "datasets", "inspection", "paper"):
        return importlib.import_module(f"river_ineural.{name}")
    raise AttributeError(f"module 'river_ineural' has no attribute {name!r}")
