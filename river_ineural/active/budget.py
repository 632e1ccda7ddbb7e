"""How many labels may be asked for, and counting them."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from river_ineural.features.validation import check_integer, check_real, warn

BURST_ROUNDS = 2_500  # whose labels a bucket holds
LEAST_BURST = 20  # labels pay most early on


@dataclass(frozen=True)
class Budget:
    """How many labels may be asked for: in all, or as a share of a stream.

    A share of an unknown number of rounds is a token bucket: it is full at first, each round adds
    `limit` labels to it, up to `burst`, and each label asked for takes one. So in any w rounds in
    a row at most limit · w + burst are asked for, and what is not used is not saved up beyond
    `burst`.

    Parameters
    ----------
    limit
        None: no limit. An int: that many labels in all, at least 0. A float in [0, 1]: a share of
        the stream, which is a hard cap of ⌊limit · horizon⌋ labels if the horizon is known, else
        the rate of a bucket.
    horizon
        Rounds in the stream, at least 1; None if unknown.
    burst
        Depth of the bucket in labels, at least 1; only for a share without a horizon. None: the
        labels of 2,500 rounds, ⌊2,500 · limit⌋, but at least 20, and 0 where the limit is 0.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or `burst` is given where there is no bucket.

    Examples
    --------
    >>> Budget(0.03, horizon=12_000).total, Budget(60).total, Budget(0.03).total
    (360, 60, None)
    >>> Budget(0.03).bucket, Budget(0.001).bucket, Budget(0.0).bucket
    (75, 20, 0)
    >>> str(Budget(0.05)).partition(":")[0]
    'at most 125 labels at once, then 5 in 100 rounds'
    """

    limit: float | int | None = None
    horizon: int | None = None
    burst: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", checked_limit(self.limit))
        for name in ("horizon", "burst"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_integer(name, value, least=1))
        share = isinstance(self.limit, float) and self.horizon is None
        if self.burst is not None and not share:
            raise ValueError(
                f"burst is for a share (float) without a horizon, got {self.burst} with "
                f"budget {self.limit!r} and horizon {self.horizon!r}."
            )

    @property
    def total(self) -> int | None:
        """Labels in all; None where that is not known."""
        if not isinstance(self.limit, float):
            return self.limit
        if self.horizon is None:
            return None
        return floor(Fraction(self.limit) * self.horizon)

    @property
    def bucket(self) -> int | None:
        """Depth of the bucket, in labels; None where there is none."""
        if not isinstance(self.limit, float) or self.horizon is not None:
            return None
        if self.burst is not None:
            return self.burst
        return max(LEAST_BURST, floor(self.limit * BURST_ROUNDS)) if self.limit else 0

    @property
    def rate(self) -> float | None:
        """Labels a round, in [0, 1]; None where that is not known.

        Examples
        --------
        >>> Budget(0.03).rate, Budget(60, horizon=1_200).rate, Budget(60).rate
        (0.03, 0.05, None)
        """
        if isinstance(self.limit, float):
            return self.limit
        if self.limit is None or self.horizon is None:
            return None
        return min(1.0, self.limit / self.horizon)

    def __str__(self) -> str:
        """What it allows, in words."""
        if self.bucket is not None and self.rate is not None:
            later = f"then {100 * self.rate:g} in 100 rounds: at most {self.most(1_000):,} in 1,000"
            return f"at most {self.bucket:,} labels at once, {later} rounds"
        rounds = f" in {self.horizon:,} rounds" if self.horizon else ""
        return f"{'any number of' if self.total is None else f'{self.total:,}'} labels{rounds}"

    _repr_html_ = __str__

    def most(self, n_rounds: int) -> int:
        """The most labels that a stream of n rounds can take, one a round.

        For a total this is min(n, total), and for a bucket min(n, ⌊burst + limit · (n - 1)⌋). A
        bucket of one label holds no fraction beyond it, and allows 1 + ⌊(n - 1) / ⌈1 / limit⌉⌋.
        `n_rounds` is an integer of at least 0; anything else raises TypeError or ValueError.

        Examples
        --------
        >>> Budget(0.05).most(1_250), Budget(60).most(20)
        (187, 20)
        >>> Budget(0.05, horizon=1_250).most(1_250)
        62
        """
        check_integer("n_rounds", n_rounds, least=0)
        bucket, rate = self.bucket, self.rate
        if bucket is None or rate is None:
            return n_rounds if self.total is None else min(n_rounds, self.total)
        later = max(0, n_rounds - 1)
        if bucket == 1 and rate:
            return min(n_rounds, 1 + later // math.ceil(1 / rate - 1e-9))
        return min(n_rounds, int(bucket + rate * later))  # in floats, as `BudgetManager` adds


def checked_limit(limit: Any) -> float | int | None:
    """None, a share or a number of labels; what raises says how to write what was meant."""
    if limit is None:
        return None
    if isinstance(limit, numbers.Real) and not isinstance(limit, numbers.Integral):
        limit = limit if isinstance(limit, float) else check_real("budget", limit)
        if 1 < limit < math.inf:
            ways = []
            if limit > 100 or limit.is_integer():
                ways.append(f"{limit:.0f} for so many labels")
            if limit <= 100:
                ways.append(f"{round(limit / 100, 12)!r} for {limit:g} % of the rounds")
            raise ValueError(
                f"budget must be at most 1.0 as a float, a share of the rounds, got {limit!r}: "
                f"write {', '.join(ways)}."
            )
        return check_real("budget", limit, least=0, most=1)
    if isinstance(limit, bool) or not isinstance(limit, numbers.Integral):
        raise TypeError(
            "budget must be None for no limit, a share of the rounds such as 0.1, a number of "
            f"labels such as 100, or a Budget, got {limit!r}."
        )
    return check_integer("budget", limit, least=0)


def floor(labels: float | Fraction) -> int:
    """⌊labels⌋, but for rounding: 0.29 · 100 is 28.999…"""
    return int(labels + Fraction(1, 10**9))


def combined(budget: Budget | float | int | None, horizon: int | None) -> Budget:
    """What a sampler's `budget` and `horizon` say together.

    Raises
    ------
    TypeError, ValueError
        If one is out of its range, or the two name different horizons.
    """
    if not isinstance(budget, Budget):
        budget = Budget(budget, horizon)
    elif horizon not in (None, budget.horizon):
        raise ValueError(
            f"horizon is {horizon} where budget is {budget!r}: "
            "leave the horizon to the Budget, or write the same in both."
        )
    if budget.limit and budget.total == 0:
        warn(
            f"budget={budget.limit} of {budget.horizon:,} rounds is no label, and none is asked "
            "for: write 20 for so many."
        )
    return budget


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
    """

    def __init__(self, budget: Budget) -> None:
        self.n_rounds = 0
        self.n_asked = 0
        self._full(budget)

    def _full(self, budget: Budget) -> None:
        self.budget = budget
        self.rate, self.bucket = budget.rate, budget.bucket
        total = math.inf if budget.total is None else budget.total
        self.size = float(total if self.bucket is None else self.bucket)  # when full
        self._since = self.n_rounds  # when the bucket was last full
        self._missing = 0.0  # labels asked for since then
        self._count()

    def _count(self) -> None:
        if self.bucket is None or self.rate is None:
            self.left = max(0.0, self.size - self.n_asked)  # a total may have been lowered
        else:
            self.left = self.bucket + self.rate * (self.n_rounds - self._since) - self._missing

    def change(self, budget: Budget) -> None:
        """Go on with another budget.

        Earlier queries count against a new total. A new bucket takes over what the old one held, up
        to its own depth. After a total, or no limit, it holds what it would hold now if it had been
        full at the start only.
        """
        if repr(budget) == repr(self.budget):  # 1 is not 1.0
            return
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
        if self.rate is not None and self.bucket is not None:
            self._count()
            if self.left >= self.bucket:
                self._since, self._missing, self.left = self.n_rounds, 0.0, self.size

    def spend(self) -> None:
        """Count a label that is asked for."""
        self.n_asked += 1
        self._missing += 1
        self.left -= 1

    def give_back(self, query: int, later: list[int] | None) -> None:
        """Count the label that was asked for in round `query` as if it had not been.

        Of a bucket, what it would have held beyond its depth in a round since then is lost. `later`
        are the rounds of the labels asked for since, in order; if it is None, nothing is known, and
        the whole label is lost.
        """
        self.n_asked -= 1
        if self.bucket is not None and self.rate is not None and later is not None:
            start, now = max(query, self._since), self.n_rounds
            later = [each for each in later if each >= start]
            n = len(later)  # of which n - i were asked for from the i-th on
            rounds = (0, start), *enumerate(later), (n, now)
            most = max(self.left + n - i - self.rate * (now - each) for i, each in rounds)
            self._missing -= min(1.0, max(0.0, self.bucket - most))
        self._count()


def whole_labels(labels: float) -> float:
    """⌊labels⌋, at least 0; inf is inf."""
    return labels if labels == math.inf else max(0, int(labels))
