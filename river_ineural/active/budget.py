"""How many labels may be asked for."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

from river_ineural.inputs.validation import check_integer, check_real

__all__ = ["Budget", "combined"]

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
    """

    limit: float | int | None = None
    horizon: int | None = None
    burst: int | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        if isinstance(self.limit, numbers.Integral):  # NumPy's would wrap around below 0
            object.__setattr__(self, "limit", int(self.limit))
        if self.horizon is not None:
            check_integer("horizon", self.horizon, least=1)
        if self.burst is not None:
            check_integer("burst", self.burst, least=1)
            if not isinstance(self.limit, float) or self.horizon is not None:
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
        return floor(self.limit * self.horizon)

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


def check_limit(limit: Any) -> None:
    """Raise unless it is None, a share or a number of labels; say how to write what was meant."""
    if limit is None:
        return
    if isinstance(limit, float):
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
        check_real("budget", limit, least=0, most=1)
        return
    if isinstance(limit, bool) or not isinstance(limit, numbers.Integral):
        raise TypeError(
            "budget must be None for no limit, a share of the rounds such as 0.1, a number of "
            f"labels such as 100, or a Budget, got {limit!r}."
        )
    check_integer("budget", limit, least=0)


def floor(labels: float) -> int:
    """⌊labels⌋, but for rounding: 0.29 · 100 is 28.999…"""
    return int(labels + 1e-9)


def combined(budget: Budget | float | int | None, horizon: int | None) -> Budget:
    """What a sampler's `budget` and `horizon` say together.

    Raises
    ------
    TypeError, ValueError
        If one is out of its range, or the two name different horizons.

    Examples
    --------
    >>> combined(0.1, 200)
    Budget(limit=0.1, horizon=200, burst=None)
    >>> combined(Budget(0.1), 200)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: horizon is 200 where budget is Budget(limit=0.1, ...): leave the horizon ...
    """
    if not isinstance(budget, Budget):
        return Budget(budget, horizon)
    if horizon not in (None, budget.horizon):
        raise ValueError(
            f"horizon is {horizon} where budget is {budget!r}: "
            "leave the horizon to the Budget, or write the same in both."
        )
    return budget
