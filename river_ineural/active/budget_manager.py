"""Counting rounds and labels against a budget."""

from __future__ import annotations

import math

from river_ineural.active.budget import Budget

__all__ = ["BudgetManager", "whole_labels"]

# Shares of the labels that are held back unless the stream changes.
HELD_BUCKET = 0.2
HELD_TOTAL = 0.05  # for each class but one at the start; it falls to 0 over the rounds
MOST_HELD = 0.15
HELD_DEPENDENT = 0.5  # of a total, while labels depend on the ones before


class BudgetManager:
    """Counts rounds, and labels asked for, against a budget.

    A token bucket of depth b and rate r was full at round s, and n labels were asked for since. At
    round t it holds b + r · (t - s) - n labels. This is computed anew in each round, so that no
    rounding errors add up.

    Parameters
    ----------
    budget
        A `Budget`.

    Attributes
    ----------
    n_rounds, n_asked
        Rounds started, labels asked for so far.
    rate, bucket
        Those of the budget.
    left
        Labels that may still be asked for now, as a float: those in the bucket, or those left of a
        total; inf without a limit.

    Examples
    --------
    >>> manager, asked = BudgetManager(Budget(0.25, burst=2)), []
    >>> for t in range(1, 11):
    ...     manager.round()
    ...     if manager.allows():
    ...         manager.spend()
    ...         asked.append(t)
    >>> asked
    [1, 2, 5, 9]
    """

    def __init__(self, budget: Budget) -> None:
        self.n_rounds = 0
        self.n_asked = 0
        self._full(budget)

    def _full(self, budget: Budget) -> None:
        self.budget = budget
        self.rate, self.bucket = budget.rate, budget.bucket
        total = math.inf if budget.total is None else budget.total
        self._size: float = total if self.bucket is None else self.bucket
        self._since = self.n_rounds  # when the bucket was last full
        self._missing = 0.0  # labels asked for since then
        self._count()

    def _count(self) -> None:
        if self.bucket is None or self.rate is None:
            self.left = self._size - self.n_asked
        else:
            self.left = self.bucket + self.rate * (self.n_rounds - self._since) - self._missing

    def change(self, budget: Budget) -> None:
        """Go on with another budget.

        Earlier queries count against a new total. A new bucket takes over what the old one held, up
        to its own depth. After a total, or no limit, it holds what it would hold now if it had been
        full at the start only.
        """
        held = None if self.bucket is None else self.left
        self._full(budget)
        if self.bucket is not None and self.rate is not None:
            if held is None:
                held = max(0.0, self.bucket + self.rate * self.n_rounds - self.n_asked)
            self._missing = max(0.0, self.bucket - held)
            self._count()

    def round(self) -> None:
        """Start a round."""
        self.n_rounds += 1
        bucket = self.bucket
        if bucket is not None:
            self._count()
            if self.left >= bucket:
                self._since, self._missing, self.left = self.n_rounds, 0.0, bucket

    @property
    def available(self) -> float:
        """Whole labels that may be asked for at once now; inf without a limit."""
        return whole_labels(self.left)

    def allows(self) -> bool:
        """Whether one more label may be asked for in this round."""
        return self.left >= 1

    def spend(self) -> None:
        """Count a label that is asked for."""
        self.n_asked += 1
        self._missing += 1
        self._count()

    def share(self, reserve: bool, n_classes: int = 2, dependent: bool = False) -> float:
        """Share of the bucket or of the total that is left, in [0, 1]; 1 without a limit.

            max(0, (left - held) / (1 - held at the start))

        Parameters
        ----------
        reserve
            Whether a part is held back for a change of the stream. Of a bucket this is a fifth. Of
            a total with a horizon it is at first a twentieth for each class but one, three
            twentieths at most, and it falls in proportion to the rounds left. Of a total without a
            horizon nothing is held back.
        n_classes
            Known classes, at least 2. The more there are, the likelier it is that others come late.
        dependent
            Whether labels depend on the ones before. Half of a total is then held back.

        Examples
        --------
        >>> manager = BudgetManager(Budget(0.25, burst=10))
        >>> for _ in range(6):
        ...     manager.spend()
        >>> manager.share(reserve=False), round(manager.share(reserve=True), 6)
        (0.4, 0.25)
        """
        if self._size == math.inf:
            return 1.0
        left = self.left / self._size if self._size else 0.0
        if reserve:
            if self.bucket is not None:
                left = (left - HELD_BUCKET) / (1 - HELD_BUCKET)
            elif self.budget.horizon is not None:
                held = HELD_DEPENDENT if dependent else min(MOST_HELD, HELD_TOTAL * (n_classes - 1))
                to_come = 1 - self.n_rounds / self.budget.horizon
                left = (left - held * max(0.0, to_come)) / (1 - held)
        return min(1.0, max(0.0, left))


def whole_labels(labels: float) -> float:
    """⌊labels⌋, at least 0; inf is inf."""
    return labels if labels == math.inf else max(0, int(labels))
