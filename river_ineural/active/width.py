"""β_t: how wide the confidence interval of a score is."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Protocol

from river_ineural.features.validation import check_integer, check_real


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
        object.__setattr__(self, "beta", check_real("beta", self.beta, least=0))

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
    >>> [round(width(t=t, n_classes=2, n_layers=2), 2) for t in (1, 449)]
    [10.63, 0.5]
    """

    delta: float = 0.1
    horizon: int | None = None
    c1: float = 1.0
    c2: float = 1.0
    c3: float = 1.0

    def __post_init__(self) -> None:
        if self.horizon is not None:
            object.__setattr__(self, "horizon", check_integer("horizon", self.horizon, least=1))
        for name, *bounds in ("delta", 0, 1), ("c1", 0), ("c2", 0), ("c3", 1):
            object.__setattr__(self, name, check_real(name, getattr(self, name), *bounds))
        if self.delta in (0, 1):
            raise ValueError(f"delta must be strictly between 0 and 1, got {self.delta}.")

    def __call__(self, t: int, n_classes: int, n_layers: int) -> float:
        rounds = t * (t + 1) if self.horizon is None else self.horizon
        confidence = 2 * math.log(self.c3 * rounds * n_classes / self.delta)
        return (
            math.sqrt(2 * self.c1 / t)
            + self.c2 * 3 * n_layers / math.sqrt(2 * t)
            + math.sqrt(confidence / t)
        )


DEFAULT = ConstantWidth()


def beta_of(width: Width | None, t: int, n_classes: int, n_layers: int) -> float:
    """β_t of a width, by default `ConstantWidth`; TypeError if it returns no number."""
    if width is None:
        return DEFAULT.beta
    beta = width(t, max(2, n_classes), n_layers)
    if not isinstance(beta, numbers.Real) or beta != beta:
        raise TypeError(f"width must return a number, and {width!r} returns {beta!r}.")
    return float(beta)
