"""How seldom a class is predicted."""

from __future__ import annotations

from river.base.typing import ClfTarget

__all__ = ["Rarity"]

MEMORY = 500  # predictions that a class's share is of, the older the less
KEEP = 1 - 1 / MEMORY


class Rarity:
    """The share f of each class in the last predictions, exponentially weighted.

    A class that is rare and wrongly predicted would hardly ever be audited: most audits fall on
    the commonest one. So they are 1/(k · f) times as likely where one of the k classes is predicted
    that has less than its even share.

    Examples
    --------
    >>> rarity = Rarity()
    >>> [round(rarity.see(label, n_classes=2), 1) for label in "aaaab"]
    [1.0, 1.0, 1.0, 1.0, 2.5]
    """

    def __init__(self) -> None:
        self._n = 0
        self._weight = 0.0  # of all predictions
        self._seen: dict[ClfTarget, tuple[float, int]] = {}  # weight, and as of which prediction

    def see(self, label: ClfTarget, n_classes: int) -> float:
        """Note a prediction; 1/(k · f) of its class, at least 1."""
        self._n = n = self._n + 1
        weight, when = self._seen.get(label, (0.0, 0))
        weight = weight * (KEEP if n - when == 1 else KEEP ** (n - when)) + 1
        self._weight = total = self._weight * KEEP + 1
        self._seen[label] = weight, n
        rarity = total / (n_classes * weight)
        return rarity if rarity > 1 else 1.0
