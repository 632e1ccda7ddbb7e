"""Noticing from its mistakes that what a model learned is true no longer."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from river.base import BinaryDriftDetector

from river_ineural.network.scores import gap as gap_of

__all__ = ["Surprise", "Trial", "Watch"]

SURE = 0.6  # gap from which a mistake says something of change
GAPS = (0.3, SURE, 0.9)  # that part the kinds of labels
EXPECTED = (0.45, 0.3, 0.15, 0.08)  # share of mistakes of each kind, before any is seen
WORTH = 8  # labels that this counts as
MEMORY = 60  # labels of a kind that its share of mistakes is of
LEAST, MOST = 0.02, 0.6  # a share of mistakes: no single label decides
YOUNG = 10  # labels of a class that tell of a change, but not what mistakes are usual
FIRST = 30  # labels of a new model from which no change is told: it is learning
ALARM = 6.0  # log likelihood ratio: a change is e⁶, 400 times as likely
CALM = ALARM / 4  # below it the labels held back count as usual ones
DECIDED = 3.0  # log likelihood ratio that confirms an alarm, or takes it back
COMPARED = 24  # labels after an alarm from which who learned anew is compared with who goes on
ROUNDING = 1e-9  # of a sum that is 0: a mistake and a right label may weigh the same
RECENT = 10  # labels since a change, where a detector does not say how many
FADING = 0.9  # of what labels say of the fate of a class, at each that follows
LONGEST = 64  # labels of which an alarm can be
JUDGED = (4, 8, 16, 32, 48)  # labels after an alarm at which old ones are judged anew


LITTLE, ALL = -1, -2  # keys of the sums that every label moves; others are of a class


class Surprise:
    """CUSUM of log likelihood ratios: a change against the mistakes to be expected.

    Where a mistake was to be expected with probability p, a label adds log(q / p) to a sum if the
    model was wrong, else log((1 - q) / (1 - p)); below 0 the sum starts again (Page, 1954). q is
    what p would be after a change. Each label moves three sums: one for a change after which little
    of what was learned still holds, q = p/2 + 0.3; one for labels that are turned round, q = 1 - p;
    and one for labels of the predicted class alone that are turned round. So the label of an
    example of which the model was sure counts for much, that of one that it could not tell for
    nothing, and a single class that is renamed or gone is noticed among others that stay.

    Examples
    --------
    >>> surprise = Surprise()
    >>> [surprise.update(wrong, 0.05, top=0) for wrong in (False, True, True, True)]
    [0, 0, 0, 3]

    References
    ----------
    Page: Continuous inspection schemes. Biometrika, 1954.
    """

    def __init__(self) -> None:
        self.n = 0
        self.sums: dict[int, float] = {}  # those above 0 by more than rounding
        self.since: dict[int, int] = {}  # the number of labels before each of them began

    @property
    def calm(self) -> bool:
        """Whether nothing in the labels of all classes together points to a change."""
        return all(self.sums.get(kind, 0.0) <= CALM for kind in (LITTLE, ALL))

    def update(self, wrong: bool, expected: float, top: int) -> int:
        """Take in the label of an example of which the model said `top`.

        Returns
        -------
        0, or after an alarm the number of labels since the change.
        """
        turned = 1 - expected
        for kind, changed in ((LITTLE, little_holds(expected)), (ALL, turned), (top, turned)):
            total = self.sums.get(kind, 0.0) + evidence(wrong, expected, changed)
            if total > ROUNDING:
                self.sums[kind] = total
                self.since.setdefault(kind, self.n)
            elif kind in self.sums:
                del self.sums[kind], self.since[kind]
        self.n += 1
        worst = max(self.sums, key=self.sums.__getitem__, default=ALL)
        if self.sums.get(worst, 0.0) <= ALARM:
            return 0
        begun = [self.since[worst]]
        if worst >= 0:  # what began in this class may be of all
            begun += [self.since[kind] for kind in (LITTLE, ALL) if self.sums.get(kind, 0.0) > CALM]
        return self.n - min(begun)


def little_holds(expected: float) -> float:
    """The share of mistakes where little of what was learned still holds."""
    return 0.5 * expected + 0.3


def evidence(wrong: bool, expected: float, changed: float) -> float:
    """Log likelihood ratio of a share of mistakes that has risen, if it can have."""
    changed = max(expected, changed)
    if wrong:
        return math.log(changed / expected)
    return math.log((1 - changed) / (1 - expected))


class Watch:
    """Who looks at the mistakes at labels that are given.

    How many are to be expected depends on how sure the model was. Labels are of four kinds, by the
    gap between the top two scores, and each has a share of mistakes that is followed. Labels that
    may be of a change do not move it: they are held back until it is calm again.

    Parameters
    ----------
    detector
        None: `Surprise`. A binary drift detector of River's is told of the labels of which the
        model was sure, and only of these: of half of the others it says the wrong one anyhow.
    """

    def __init__(self, detector: BinaryDriftDetector | None) -> None:
        self.detector = detector
        self.n_drifts = 0
        self.shares = list(EXPECTED)
        self.counts = [WORTH] * len(EXPECTED)
        self.n_of_class: dict[int, int] = {}
        self.n = 0
        self.recent: deque[tuple[int, float, int]] = deque(maxlen=LONGEST)
        self.calm()

    def calm(self) -> None:
        """Nothing points to a change."""
        self.surprise = Surprise()
        self.river = None if self.detector is None else self.detector.clone()
        self.held: list[tuple[int, bool]] = []

    def successor(self) -> Watch:
        """Who looks at the model that takes the place of this one's."""
        other = Watch(self.detector)
        other.n_drifts, other.n_of_class = self.n_drifts + 1, dict(self.n_of_class)
        return other

    @property
    def warns(self) -> bool:
        """Whether something points to a change, not enough for an alarm."""
        if self.river is not None:
            return bool(getattr(self.river, "warning_detected", False))
        return not self.surprise.calm

    def expected(self, gap: float) -> float:
        """The share of mistakes where the top two scores are so far apart, and a standard error."""
        kind = kind_of(gap)
        share, n = self.shares[kind], self.counts[kind]
        return min(MOST, max(LEAST, share + math.sqrt(share * (1 - share) / n)))

    def see(self, scores: NDArray[np.float64], label: int) -> int:
        """Take in a label, and the scores (k,) of its example before it is learned.

        Mistakes at the first labels of a class are no measure of those to come. They may still be
        the sign of a change: a class that is renamed comes as a new one.

        Returns
        -------
        0, or at an alarm the number of labels since the change.
        """
        top, gap = top_of(scores)
        wrong = top != label
        n_before = self.n_of_class.get(label, 0)
        young = n_before < YOUNG
        if young:
            self.n_of_class[label] = n_before + 1
            if self.n <= max(FIRST, YOUNG * len(self.n_of_class)):  # classes are still coming
                return 0
        self.recent.append((top, gap, label))
        self.n += not young
        if self.n > FIRST and (since := self._told(gap, wrong, top)):
            return since
        if young:
            return 0
        self.held.append((kind_of(gap), wrong))
        if self.n <= FIRST or self.river is not None or self.surprise.calm:
            for kind, mistaken in self.held:
                n = self.counts[kind] = min(MEMORY, self.counts[kind] + 1)
                self.shares[kind] += (mistaken - self.shares[kind]) / n
            self.held = []
        return 0

    def _told(self, gap: float, wrong: bool, top: int) -> int:
        if self.river is None:
            return self.surprise.update(wrong, self.expected(gap), top)
        if gap < SURE:
            return 0
        self.river.update(wrong)
        return RECENT if self.river.drift_detected else 0


def kind_of(gap: float) -> int:
    """Which of the four kinds of labels; a NaN gap is of the first."""
    return sum(gap >= least for least in GAPS)


class Watching(Protocol):
    """What an alarm is about: all that was learned, watched for changes."""

    watch: Watch | None


Learned = TypeVar("Learned", bound=Watching)


@dataclass
class Trial(Generic[Learned]):
    """An alarm: was it one, and what of the old labels still holds?

    What the model said before is kept beside what takes its place, and told of each label. While
    that says what it said before the alarm, the alarm was none, and it comes back (Wald's
    sequential test, `DECIDED` either way). And it tells what became of each class: `turned` counts,
    by what it says, the labels given. Where it is as sure as ever and always wrong in the same way,
    old labels of that class are worth as much as before, under another name; where it is wrong in
    all ways they are worth nothing.

    And a copy of the former state goes on learning, all that it knew kept. In the end the one that
    learned anew stays only if it was right at more of the second half of the labels: a change that
    needs nothing forgotten, or of which labels that follow each other only seemed to tell, is none.

    Parameters
    ----------
    former
        The state before the alarm, with its watch. It grows with the one in use.
    ongoing
        The same, which learns the labels after the alarm.
    n_since
        Labels since the change, until the alarm.
    n_judged
        Labels after the alarm.
    turned
        By class that the former model says, and by label: how many, each weighing how sure the
        model was.
    ratio
        Log likelihood ratio of the change, from labels after the alarm.
    confirmed
        Whether it has been enough.
    ahead
        Labels, of those compared, at which the state that learned anew was right, less those at
        which `ongoing` was.
    """

    former: Learned
    ongoing: Learned
    n_since: int
    n_judged: int = 0
    turned: dict[int, dict[int, float]] = field(default_factory=dict)
    ratio: float = 0.0
    confirmed: bool = False
    ahead: int = 0

    def each(self, function: Callable[[Learned], Learned]) -> Trial[Learned]:
        """The same trial of what a function makes of both states."""
        return replace(self, former=function(self.former), ongoing=function(self.ongoing))

    @classmethod
    def begun(cls, former: Learned, since: int) -> Trial[Learned]:
        """After an alarm, of which the labels since the change tell already."""
        assert former.watch is not None
        recent = list(former.watch.recent)[-since:]
        former.watch.calm()
        trial = cls(former, copy.deepcopy(former), len(recent))
        for top, gap, label in recent:
            trial.count(top, gap, label)
        return trial

    def see(self, scores: NDArray[np.float64], label: int) -> None:
        """Take in a label, and what the former model said of it: scores (k,)."""
        watch = self.former.watch
        assert watch is not None
        top, gap = top_of(scores)
        self.count(top, gap, label)
        expected = watch.expected(gap)
        self.ratio += evidence(top != label, expected, little_holds(expected))
        self.confirmed |= self.ratio >= DECIDED

    def compare(self, anew: list[bool], ongoing: list[bool]) -> None:
        """Note who was right at which of the labels that have come."""
        uncounted = max(0, COMPARED - self.n_judged)
        self.ahead += sum(anew[uncounted:]) - sum(ongoing[uncounted:])

    def count(self, top: int, gap: float, label: int) -> None:
        """Note the label of an example of which the former model said `top`.

        Earlier ones of that class then count for less: a change may have been on its way.
        """
        row = self.turned.setdefault(top, {})
        for earlier in row:
            row[earlier] *= FADING
        row[label] = row.get(label, 0.0) + min(1.0, gap / SURE)

    @property
    def refuted(self) -> bool:
        """Whether the alarm was none, or nothing was to be forgotten."""
        if self.over and self.ahead <= 0:
            return True
        return not self.confirmed and self.ratio <= -DECIDED

    def due(self, n: int) -> bool:
        """Whether old labels are to be judged anew, n labels having come."""
        return any(self.n_judged - n < at <= self.n_judged for at in JUDGED)

    @property
    def over(self) -> bool:
        """Whether nothing is to be decided any more."""
        return self.n_judged >= JUDGED[-1]

    def fates(self, n_classes: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """What old labels of each class have become, and what they weigh.

        Of labels of weight n that were said to be of a class, m are of the commonest: old ones are
        taken for such and weigh 2m/(n + 1) - 1, at least 0. That nothing has changed is believed
        more easily: m and n are then 1 more. A class of which there is no evidence weighs 0.

        Returns
        -------
        Classes (k,), weights in [0, 1) (k,).
        """
        becomes, worth = np.arange(n_classes), np.zeros(n_classes)
        for top, row in self.turned.items():
            n, same = sum(row.values()), row.get(top, 0.0) + 1
            other = max(row, key=row.__getitem__)
            if row[other] > same:
                becomes[top], worth[top] = other, 2 * row[other] / (n + 1) - 1
            else:
                worth[top] = 2 * same / (n + 2) - 1
        return becomes, np.maximum(worth, 0.0)


def top_of(scores: NDArray[np.float64]) -> tuple[int, float]:
    """The top class, and how far it is before the runner-up, of scores (k,), k at least 2."""
    return int(scores.argmax()), gap_of(scores.tolist())
