"""The loops over the values of an example."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from river_ineural.network.loops import loop

__all__ = ["scatter", "within"]

Array = NDArray[Any]


@loop
def within(values: Array, limit: float) -> bool:
    """Whether all values are numbers of at most that magnitude."""
    every = True
    for value in values:
        every &= abs(value) <= limit
    return every


@loop
def scatter(values: Array, columns: Array, reference: Array, placed: Array) -> None:
    """Values (B, n), less the reference (d,), into columns (n,) of placed (B, d); those of column
    -1 are left out. The difference is taken before it is rounded to the precision of `placed`.

    Raises
    ------
    IndexError
        If a column is not one of placed, before anything is written.
    """
    last = -1
    for j in range(len(columns)):
        last = max(last, columns[j])
    if last >= placed.shape[1] or last >= len(reference):
        raise IndexError("a feature has no column")
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if columns[j] >= 0:
                placed[i, columns[j]] = values[i, j] - reference[columns[j]]
