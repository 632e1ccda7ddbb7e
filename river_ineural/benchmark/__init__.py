"""Measurements of the package: `python -m river_ineural.benchmark`."""
