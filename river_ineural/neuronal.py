"""NeurONAL: one pass for all classes."""

from __future__ import annotations

from river_ineural.classifier import INeurAL
from river_ineural.network import outputs

__all__ = ["NeurONAL"]


class NeurONAL(INeurAL):
    """Draft."""

    _form = outputs.Shape
