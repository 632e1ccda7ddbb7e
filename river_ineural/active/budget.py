"""How many labels may be asked for."""

from __future__ import annotations

from dataclasses import dataclass

from river_ineural.inputs.validation import check_integer, check_real

__all__ = ["Budget"]


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
