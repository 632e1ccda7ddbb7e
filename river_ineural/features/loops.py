"""Compiled loops over the values of an example."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from river_ineural.features.jit import loop

__all__ = ["follow", "scatter", "within"]

Array = NDArray[Any]


@loop
def within(values: Array, limit: float) -> bool:
    """Whether all values are numbers of magnitude at most `limit`."""
    every = True
    for value in values:
        every &= abs(value) <= limit
    return every


@loop
def scatter(values: Array, columns: Array, placed: Array) -> None:
    """Write values (B, n) into columns (n,) of placed (B, d), except column -1.

    Raises
    ------
    IndexError
        If a column is beyond `placed`; then nothing is written.
    """
    last = -1
    for j in range(len(columns)):
        last = max(last, columns[j])
    if last >= placed.shape[1]:
        raise IndexError("a feature has no column")
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if columns[j] >= 0:
                placed[i, columns[j]] = values[i, j]


@loop
def follow(
    values: Array, columns: Array, recent: Array, most: float, far: float, steady: int
) -> bool:
    """Update `recent` with values (B, n) of columns (n,), and return whether a feature has made
    `steady` small changes in a row: its values then stay in a much smaller range than usual.

    `recent` (6, d) holds for each column: the latest value; the number of its changes, at most
    `most`; the mean square of these changes; the number of latest changes in a row that were small,
    with a square below `far` times that mean; and the mean of the values after these small changes,
    with the sum of their squared distances from it. Repeated values are skipped.
    """
    due = False
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            c, value = columns[j], values[i, j]
            if c < 0 or not abs(value - recent[0, c]) > 0:
                continue
            square = (value - recent[0, c]) ** 2
            recent[0, c] = value
            if recent[1, c] and square < far * recent[2, c]:
                recent[3, c] += 1
                distance = value - recent[4, c]
                recent[4, c] += distance / recent[3, c]
                recent[5, c] += distance * (value - recent[4, c])
                due |= recent[3, c] >= steady
            else:
                recent[3:, c] = 0
            recent[1, c] = min(recent[1, c] + 1, most)
            recent[2, c] += (square - recent[2, c]) / recent[1, c]
    return due
