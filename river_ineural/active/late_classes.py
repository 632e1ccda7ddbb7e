"""Classes that have appeared late and have few labels."""

from __future__ import annotations

from river.base.typing import ClfTarget

__all__ = ["LateClasses"]

RARE = 32  # a late class has at most this part of its even share of the labels
PATIENCE = 64  # labels after its first; a class that is still rare then may be a typing error
SEVERAL = 2  # new classes after which more may come
FEW = 2  # labels of a class that counts as new
SETTLED = 10  # labels a class, on average, from which on several new classes are late


class LateClasses:
    """Whether a class has appeared late and still has few labels.

    This holds in two cases. In the first, one class has at most 1/32 of its even share of the
    labels, and its first label came at most 64 labels ago. A class with one label among a hundred
    is hardly learned. It is seldom predicted, so its examples do not look like close calls, and its
    next labels are worth more than those of close calls. In the second case at least ten labels a
    class have come, and at least two classes have one or two labels, the first of them at most 32
    labels ago: where two classes are new, more may come.

    Examples
    --------
    >>> late_classes = LateClasses()
    >>> for label in ["a"] * 100:
    ...     late_classes.update(label)
    >>> late_classes.present
    False
    >>> late_classes.update("b")
    >>> late_classes.present
    True
    >>> late_classes.update("b")
    >>> late_classes.present
    False
    """

    def __init__(self) -> None:
        self.present = False
        self._n = 0
        self._seen: dict[ClfTarget, tuple[int, int]] = {}  # labels, and the number of the first

    def update(self, label: ClfTarget) -> None:
        """Count a label that was learned."""
        self._n += 1
        n, first = self._seen.get(label, (0, self._n))
        self._seen[label] = n + 1, first
        most = self._n / (RARE * len(self._seen))
        ages = [(n, self._n - first) for n, first in self._seen.values()]
        rare = any(n <= most and age < PATIENCE for n, age in ages)
        n_new = sum(n <= FEW and age < PATIENCE // 2 for n, age in ages)
        self.present = rare or (self._n >= SETTLED * len(ages) and n_new >= SEVERAL)
