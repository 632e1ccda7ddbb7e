"""The loops over the values of an example."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from river_ineural.network.loops import loop

__all__ = ["follow", "scatter", "within"]

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


@loop
def follow(
    values: Array, columns: Array, recent: Array, most: float, far: float, steady: int
) -> bool:
    """Move what is known of the latest values by rows (B, n) of columns (n,), and say whether some
    features have stayed within a range far below their usual one for `steady` changes.

    `recent` (6, d) holds, by column: the latest value; how often it has changed, at most `most`
    times; the mean square of these changes; how many of the latest changes in a row had a square
    below `far` times that mean; and of the values after these changes the mean, and the sum of
    squares of the distance from it. A value that is repeated tells nothing of units.
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
