"""I-NeurAL, improved neural active learning (Ban et al., NeurIPS 2022), for River."""

from __future__ import annotations

from river_ineural import active, datasets
from river_ineural.classifier import INeurAL

__all__ = ["INeurAL", "active", "datasets"]

__version__ = "0.1.0"
