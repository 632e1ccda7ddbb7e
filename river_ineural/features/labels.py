"""Map labels to class indices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from river.base.typing import ClfTarget

from river_ineural.features.encoder import is_missing
from river_ineural.features.keys import KINDS, MOST_CLASSES, OF_LABEL, check_key, check_keys, plain
from river_ineural.features.validation import check_integer, warn

LABELS = KINDS - {type(None), bytes}
QUANTITY = 20  # fractions that are hardly classes


class LabelIndex:
    """Class indices of at most `max_classes` labels: `classes` first, then others as seen."""

    def __init__(self, max_classes: int, classes: Iterable[ClfTarget] = ()) -> None:
        self.max_classes = check_integer("max_classes", max_classes, 2, MOST_CLASSES)
        self._warned = False
        self.labels: list[ClfTarget] = []
        named = list(dict.fromkeys(self.checked(label) for label in classes))
        self._warn_of_alike(named)
        self.labels = named
        if len(self.labels) > max_classes:
            raise ValueError(
                f"classes has {len(self.labels)} labels, more than max_classes={max_classes}: "
                "raise max_classes."
            )
        self.index: dict[ClfTarget, int] = {label: i for i, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    @staticmethod
    def checked(y: Any) -> ClfTarget:
        """`y`, which must be a bool, a str or a finite number that a file can hold; else raises."""
        y = plain(y)
        if type(y) not in LABELS:
            advice = "drop the example or label it" if is_missing(y) else "give its name as text"
            kind = type(y).__name__
            raise TypeError(f"label {y!r} ({kind}) must be a bool, a str or a number: {advice}.")
        if isinstance(y, int | str):
            check_key(y, "label", OF_LABEL)
        if isinstance(y, float | np.floating) and not math.isfinite(y):
            raise ValueError(f"label {y!r} is not finite: drop the example or label it.")
        return y  # type: ignore[no-any-return]

    def new(self, labels: Iterable[ClfTarget]) -> list[ClfTarget]:
        """The new ones of these labels, up to the cap; the index changes by `add` alone."""
        if new := self._within(labels):
            check_keys(self.labels + new, "label")
            self._warn_of_alike(new)
            before, after = map(n_fractions, (self.labels, self.labels + new))
            if before < QUANTITY <= after:
                warn(
                    f"{after} labels are different fractions, such as {new[-1]!r}, and each is a "
                    "class: a quantity needs a regressor, or ranges of it as classes."
                )
        return new

    def _within(self, labels: Iterable[ClfTarget]) -> list[ClfTarget]:
        new = list(dict.fromkeys(label for label in labels if label not in self.index))
        room = self.max_classes - len(self.labels)
        if len(new) > room and not self._warned:
            self._warned = True
            warn(f"max_classes={self.max_classes} reached: examples of new classes are ignored.")
        return new[:room]

    def kept(self, labels: list[ClfTarget]) -> list[bool]:
        """Which of these labels have a class, or get one: none beyond the cap."""
        new = {*self._within(labels)}
        return [label in self.index or label in new for label in labels]

    def add(self, new: Iterable[ClfTarget]) -> None:
        """Give new labels the next classes."""
        for label in new:
            self.index[label] = len(self.labels)
            self.labels.append(label)

    def learn(self, labels: Iterable[ClfTarget]) -> None:
        """Give new ones of these labels the next classes, up to the cap."""
        self.add(self.new(labels))

    def _warn_of_alike(self, new: list[ClfTarget]) -> None:
        """Warn if a new label reads like another one, as 1 and "1" do: they are two classes."""
        read = {read_as(label): label for label in self.labels}
        for label in new:
            other = read.setdefault(read_as(label), label)
            if other != label:
                warn(
                    f"labels {other!r} ({type(other).__name__}) and {label!r} "
                    f"({type(label).__name__}) are two classes: make one type of all labels, e.g. "
                    "with str(), and write them alike."
                )


def n_fractions(labels: list[ClfTarget]) -> int:
    """How many labels are numbers, but no whole ones."""
    return sum(isinstance(label, float) and label % 1 != 0 for label in labels)


def read_as(label: ClfTarget) -> str:
    """What a reader takes two labels for."""
    return str(label).strip().casefold()
