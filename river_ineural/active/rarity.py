"""How seldom a class is predicted."""

from __future__ import annotations

from river.base.typing import ClfTarget

__all__ = ["Rarity"]

MEMORY = 500  # predictions that a class's share is of, the older the less


class Rarity:
    """The share f of each class in the last predictions, exponentially weighted.

    A class that is rare and wrongly predicted would hardly ever be audited: most audits fall on
    the commonest one. So they are 1/(k · f) times as likely where one of the k classes is predicted
    that has less than its even share.

    Examples
    --------
    >>> rarity = Rarity()
    >>> for label in "aaaaaaaab":
    ...     rarity.see(label)
    >>> round(rarity.of("b", n_classes=2), 1), rarity.of("a", n_classes=2)
    (4.5, 1.0)
    """

    def __init__(self) -> None:
        self._n = 0
        self._weight = 0.0  # of all predictions
        self._seen: dict[ClfTarget, tuple[float, int]] = {}  # weight, and as of which prediction

    def see(self, label: ClfTarget) -> None:
        """Note a prediction."""
        self._n += 1
        keep = 1 - 1 / MEMORY
        weight, when = self._seen.get(label, (0.0, 0))
        self._seen[label] = weight * keep ** (self._n - when) + 1, self._n
        self._weight = self._weight * keep + 1

    def of(self, label: ClfTarget, n_classes: int) -> float:
        """1/(k · f) of the class predicted last, at least 1."""
        weight, _ = self._seen[label]
        return max(1.0, self._weight / (n_classes * weight))
