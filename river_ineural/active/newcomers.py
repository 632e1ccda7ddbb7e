"""Classes of which hardly a label has come."""

from __future__ import annotations

from river.base.typing import ClfTarget

__all__ = ["Newcomers"]

LATE = 32  # of a class hardly known: this part of its even share of the labels, or less
PATIENCE = 64  # labels after its first: what is still as rare then may be a slip of the pen


class Newcomers:
    """Whether a class has come late and is hardly known.

    That is while it has at most a 32nd of its even share of the labels, for 64 labels at most. One
    label among a hundred is hardly learned, so that the class is seldom predicted and its examples
    are no close calls; the next of its labels are worth more than those.

    Examples
    --------
    >>> newcomers = Newcomers()
    >>> for label in ["a"] * 100:
    ...     newcomers.see(label)
    >>> newcomers.there
    False
    >>> newcomers.see("b")
    >>> newcomers.there
    True
    >>> newcomers.see("b")
    >>> newcomers.there
    False
    """

    def __init__(self) -> None:
        self.there = False
        self._n = 0
        self._seen: dict[ClfTarget, tuple[int, int]] = {}  # labels, and the number of the first

    def see(self, label: ClfTarget) -> None:
        """Note a label that was learned."""
        self._n += 1
        n, first = self._seen.get(label, (0, self._n))
        self._seen[label] = n + 1, first
        most = self._n / (LATE * len(self._seen))
        self.there = any(
            n <= most and self._n - first < PATIENCE for n, first in self._seen.values()
        )
