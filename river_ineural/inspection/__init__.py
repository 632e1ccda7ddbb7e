"""Inspect the decisions of a sampler: in words, over time, and while a long stream runs."""

from river_ineural.inspection.plots import plot
from river_ineural.inspection.recorder import Point, Recorder
from river_ineural.inspection.words import explain, progress, reasons

__all__ = ["Point", "Recorder", "explain", "plot", "progress", "reasons"]
