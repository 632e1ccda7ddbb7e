"""How sure of itself a model has been, and right."""

from __future__ import annotations

__all__ = ["Reach"]

SURE = 1.0  # the gap of the probabilities 1 and 0
STEP = 0.1  # by which a gap has to be larger than what is borne out
MEMORY = 1024  # labels of the rate over which what is borne out fades


class Reach:
    """The largest gap at which a label has borne a prediction out, at least 1.

    Scores estimate probabilities, so that a gap above 1 is none that was learned: a network comes
    to it where features lie beyond those of the labels given, or where it has been pushed by its
    own pseudo-labels. It may be right there, and on many streams is. So being that sure has to be
    borne out, step by step: what is more than 0.1 beyond is asked for. A label that contradicts
    takes it back to 1, and it fades, for a stream moves: by 1/1024 for each label that the budget
    adds.

    Examples
    --------
    >>> reach = Reach()
    >>> [reach.short_of(gap) for gap in (0.9, 1.05, 1.3)]
    [False, False, True]
    >>> reach.told(1.3, right=True)
    >>> reach.short_of(1.3), reach.short_of(1.5)
    (False, True)
    >>> reach.told(1.5, right=False)
    >>> reach.short_of(1.3)
    True
    """

    def __init__(self) -> None:
        self.gap = SURE

    def short_of(self, gap: float) -> bool:
        """Whether a gap is beyond what is borne out."""
        return gap > self.gap + STEP

    def told(self, gap: float, right: bool) -> None:
        """Take in the label of an example, predicted with that gap before it was learned."""
        if gap > SURE:
            self.gap = max(self.gap, gap) if right else SURE

    def fade(self, rate: float) -> None:
        """A round has passed, in which so many labels came to be had."""
        if self.gap > SURE:
            self.gap += (SURE - self.gap) * rate / MEMORY
