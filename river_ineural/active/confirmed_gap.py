"""The largest gap at which labels have confirmed the model."""

from __future__ import annotations

__all__ = ["ConfirmedGap"]

SURE = 1.0  # the gap of the probabilities 1 and 0
STEP = 0.1  # a gap that is larger than the confirmed one by more than this is not confirmed
MEMORY = 1024  # labels that the budget adds while the confirmed gap falls back towards 1


class ConfirmedGap:
    """The largest gap at which a label has confirmed the prediction, at least 1.

    Scores estimate probabilities, so the model never learns a gap above 1. A network reaches such a
    gap where features lie beyond those of the labelled examples, or where its own pseudo-labels
    have pushed it. It may still be right, and on many streams it is. So labels have to confirm
    large gaps step by step: a gap that exceeds the confirmed one by more than 0.1 is asked about. A
    wrong prediction at a gap above 1 takes the confirmed gap back to 1. The confirmed gap also
    falls by 1/1024 of its distance from 1 with each label that the budget adds, because streams
    change.

    Examples
    --------
    >>> confirmed = ConfirmedGap()
    >>> [confirmed.exceeded_by(gap) for gap in (0.9, 1.05, 1.3)]
    [False, False, True]
    >>> confirmed.update(1.3, correct=True)
    >>> confirmed.exceeded_by(1.3), confirmed.exceeded_by(1.5)
    (False, True)
    >>> confirmed.update(1.5, correct=False)
    >>> confirmed.exceeded_by(1.3)
    True
    """

    def __init__(self) -> None:
        self.gap = SURE

    def exceeded_by(self, gap: float) -> bool:
        """Whether labels have not yet confirmed a gap as large as this."""
        return gap > self.gap + STEP

    def update(self, gap: float, correct: bool) -> None:
        """Learn from a label whether the prediction was correct at this gap."""
        if gap > SURE:
            self.gap = max(self.gap, gap) if correct else SURE

    def fade(self, rate: float) -> None:
        """Let a round pass, in which the budget has added `rate` labels."""
        if self.gap > SURE:
            self.gap += (SURE - self.gap) * rate / MEMORY
