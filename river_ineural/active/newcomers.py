"""Classes of which hardly a label has come."""

from __future__ import annotations

from river.base.typing import ClfTarget

__all__ = ["Newcomers"]

LATE = 32  # of a class hardly known: this part of its even share of the labels, or less
PATIENCE = 64  # labels after its first: what is still as rare then may be a slip of the pen
SEVERAL = 2  # new classes, where others may come
FEW = 2  # labels of a class that counts as one of several
SETTLED = 10  # labels a class from which on several new ones are late


class Newcomers:
    """Whether a class has come late and is hardly known, or several have.

    That is while one has at most a 32nd of its even share of the labels, for 64 labels at most. One
    label among a hundred is hardly learned, so that the class is seldom predicted and its examples
    are no close calls; the next of its labels are worth more than those. Where ten labels a class
    have come it is also while two classes or more have one or two labels, for 32 labels at most:
    where two are new there may be others.

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
        ages = [(n, self._n - first) for n, first in self._seen.values()]
        rare = any(n <= most and age < PATIENCE for n, age in ages)
        n_new = sum(n <= FEW and age < PATIENCE // 2 for n, age in ages)
        self.there = rare or (self._n >= SETTLED * len(ages) and n_new >= SEVERAL)
