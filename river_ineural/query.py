"""When to ask: gap, widths of the confidence interval, budgets. Nothing here knows a model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from river_ineural.validation import check_integer, check_real

__all__ = ["Budget", "ConstantWidth", "TheoreticalWidth", "Width", "gap"]


def gap(scores: Iterable[float]) -> float:
    """f(î) - f(i°): top score minus runner-up (Algorithm 1, lines 8, 9 and 11); 0 for one class.

    Examples
    --------
    >>> gap([0.25, 1.0, -0.5])
    0.75
    """
    top, runner_up = -math.inf, -math.inf
    for score in scores:
        if score > top:
            top, runner_up = score, top
        elif score > runner_up:
            runner_up = score
    return top - runner_up if runner_up > -math.inf else 0.0


class Width(Protocol):
    """Half-width β_t of the confidence interval of a score."""

    def __call__(self, t: int, n_classes: int, n_layers: int) -> float:
        """β_t at round t ≥ 1 for k classes and networks of depth L."""
        ...


@dataclass(frozen=True)
class ConstantWidth:
    """The same β at every round, so that 2γβ is a fixed threshold on the gap.

    Parameters
    ----------
    beta
        β, at least 0.

    Examples
    --------
    >>> ConstantWidth()(t=1000, n_classes=2, n_layers=2)
    0.08
    """

    beta: float = 0.08

    def __post_init__(self) -> None:
        check_real("beta", self.beta, least=0)

    def __call__(self, t: int, n_classes: int, n_layers: int) -> float:
        return self.beta


@dataclass(frozen=True)
class TheoreticalWidth:
    """The width that the paper's analysis gives (Algorithm 1, line 11).

        β_t = √(2 c1 / t) + c2 · 3L / √(2t) + √(2 log(c3 · T · k / δ) / t)

    With an unknown horizon T is replaced by t(t + 1): Σ_t 1/(t(t + 1)) = 1, so the confidence δ
    still covers all rounds together.

    Parameters
    ----------
    delta
        Confidence level δ, in (0, 1).
    horizon
        Number of rounds T, at least 1; None if unknown.
    c1, c2
        Constants, at least 0.
    c3
        Constant, at least 1, so that the logarithm is positive.

    Examples
    --------
    With c1 = c2 = c3 = 1 the width exceeds 1/2, more than any gap needs, for over 400 rounds:

    >>> width = TheoreticalWidth(horizon=12_000)
    >>> round(width(t=1, n_classes=2, n_layers=2), 2), round(width(449, 2, 2), 2)
    (10.63, 0.5)
    """

    delta: float = 0.1
    horizon: int | None = None
    c1: float = 1.0
    c2: float = 1.0
    c3: float = 1.0

    def __post_init__(self) -> None:
        check_real("delta", self.delta, least=0, most=1)
        if self.delta in (0, 1):
            raise ValueError(f"delta must be strictly between 0 and 1, got {self.delta}.")
        if self.horizon is not None:
            check_integer("horizon", self.horizon, least=1)
        check_real("c1", self.c1, least=0)
        check_real("c2", self.c2, least=0)
        check_real("c3", self.c3, least=1)

    def __call__(self, t: int, n_classes: int, n_layers: int) -> float:
        rounds = t * (t + 1) if self.horizon is None else self.horizon
        confidence = 2 * math.log(self.c3 * rounds * n_classes / self.delta)
        return (
            math.sqrt(2 * self.c1 / t)
            + self.c2 * 3 * n_layers / math.sqrt(2 * t)
            + math.sqrt(confidence / t)
        )


@dataclass(frozen=True)
class Budget:
    """How many labels may be asked for by a given round.

    Parameters
    ----------
    limit
        None: no limit. An int: that many labels in all, at least 0. A float in [0, 1]: a share of
        the stream, which is a hard cap of ⌊limit · horizon⌋ labels if the horizon is known, else
        never more than limit · t + `burst` by round t.
    horizon
        Rounds in the stream, at least 1; None if unknown.
    burst
        Labels that may be asked for ahead of a share of an unknown number of rounds, at least 0.
        Labels pay most early on.

    Examples
    --------
    >>> Budget(0.03, horizon=12_000).allows(n_rounds=500, n_queries=359)
    True
    >>> Budget(0.03, horizon=12_000).allows(n_rounds=500, n_queries=360)
    False
    """

    limit: float | int | None = None
    horizon: int | None = None
    burst: int = 20

    def __post_init__(self) -> None:
        if isinstance(self.limit, float):
            check_real("budget", self.limit, least=0, most=1)
        elif self.limit is not None:
            check_integer("budget", self.limit, least=0)
        if self.horizon is not None:
            check_integer("horizon", self.horizon, least=1)
        check_integer("burst", self.burst, least=0)

    @property
    def total(self) -> int | None:
        """Labels in all; None where that is not known."""
        if not isinstance(self.limit, float):
            return self.limit
        if self.horizon is None:
            return None
        return int(self.limit * self.horizon + 1e-9)  # 0.29 · 100 is 28.999…

    def left(self, n_rounds: int, n_queries: int) -> float:
        """Share still to be asked for at round `n_rounds`, in [0, 1], `n_queries` being asked.

        Of the labels in all where their number is known, else of the `burst` that may be asked for
        ahead of their share of the rounds. 1 without a limit.

        Examples
        --------
        >>> Budget(0.03, horizon=12_000).left(n_rounds=200, n_queries=90)
        0.75
        >>> Budget(0.03).left(n_rounds=200, n_queries=16)  # 6 are the share, 20 the burst
        0.5
        """
        if self.limit is None:
            return 1.0
        if self.total is None:
            ahead = self.limit * n_rounds + self.burst - n_queries
            return min(1.0, max(0.0, ahead / max(1, self.burst)))
        return max(0.0, 1 - n_queries / self.total) if self.total else 0.0

    def allows(self, n_rounds: int, n_queries: int) -> bool:
        """Whether one more label may be asked for at round `n_rounds`, `n_queries` being asked."""
        if self.total is not None:
            return n_queries < self.total
        if self.limit is None:
            return True
        return n_queries + 1 <= self.limit * n_rounds + self.burst
