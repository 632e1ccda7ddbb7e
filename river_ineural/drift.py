"""Detecting from the mistakes of a model that the stream has changed."""

from __future__ import annotations

import bisect
import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.base import BinaryDriftDetector

SURE = 0.6  # gap from which a mistake points to a change
GAP_BINS = (0.3, SURE, 0.9)  # what separates the four bins of labels
FIRST_RATES = (0.45, 0.3, 0.15, 0.08)  # error rate of each bin before any label has come
FIRST_SURPRISES = (0.3, 0.2, 0.1, 0.05)  # the same of labels outside the top two classes
FIRST_COUNT = 8  # labels that a first rate counts as
MEMORY = 60  # labels of a bin that its error rate is a mean of
LEAST, MOST = 0.02, 0.6  # an error rate: no single label decides
YOUNG = 10  # labels of a class that may show a change, but not the usual error rate
COMING = 3  # labels a class up to which classes are still coming
FIRST = 30  # labels of a new model before which no change is detected: it is still learning
DRIFT = 6.0  # log likelihood ratio at which a change is detected: it is e⁶ ≈ 400 times as likely
WARNING = DRIFT / 4  # below it the labels held back count as usual ones
ROUNDING = 1e-9  # of a sum that is 0: a mistake and a right label may weigh the same
RECENT = 10  # labels since a change, where a detector does not say how many
LONGEST = 64  # labels that a change can lie back


# Keys of the sums that every label moves; others are of a class.
MODERATE, COMPLETE, SURPRISE = OF_ALL = -1, -2, -3


class Cusum:
    """Cumulative sums of log likelihood ratios of a change (CUSUM).

    Let p be the expected error rate at a label, and q the error rate after a change. The label adds
    log(q / p) to a sum if the model was wrong, and log((1 - q) / (1 - p)) if it was right. A sum
    below 0 starts again at 0 (Page, 1954). Each label moves four sums:

    - little of what was learned still holds, q = p/2 + 0.3;
    - all labels are swapped, q = 1 - p;
    - the labels of the predicted class are swapped, q = 1 - p;
    - little still holds, q = p/2 + 0.3, where only a *surprise* counts as a mistake: a label that
      is neither the top class nor the runner-up.

    So a label counts for much where the model was sure. Where it could not tell two classes from
    each other a mistake counts for nothing, but a third class does. A single class that is renamed
    or gone is detected while the others stay as they were.

    Examples
    --------
    >>> cusum = Cusum()
    >>> [cusum.update(wrong, 0.05, top=0) for wrong in (False, True, True, True)]
    [0, 0, 0, 3]

    References
    ----------
    Page: Continuous inspection schemes. Biometrika, 1954.
    """

    def __init__(self) -> None:
        self.n = 0
        self.sums: dict[int, float] = {}  # those above 0 by more than rounding
        self.since: dict[int, int] = {}  # the number of labels before each of them began
        self.warning_detected = False  # whether labels of all classes together point to a change

    def update(
        self,
        wrong: bool,
        rate: float,
        top: int,
        surprise: bool = False,
        surprise_rate: float = MOST,
    ) -> int:
        """Learn whether the prediction `top` was wrong, where `rate` is the expected error rate,
        and whether the label is a surprise, where `surprise_rate` is the expected rate of these.

        Returns
        -------
        0, or if a change is detected the number of labels since it.
        """
        kinds = (
            (MODERATE, wrong, rate, changed_rate(rate)),
            (COMPLETE, wrong, rate, 1 - rate),
            (top, wrong, rate, 1 - rate),
            (SURPRISE, surprise, surprise_rate, changed_rate(surprise_rate)),
        )
        for kind, found, expected, changed in kinds:
            total = self.sums.get(kind, 0.0) + log_ratio(found, expected, changed)
            if total > ROUNDING:
                self.sums[kind] = total
                self.since.setdefault(kind, self.n)
            elif kind in self.sums:
                del self.sums[kind], self.since[kind]
        self.n += 1
        of_all = [kind for kind in OF_ALL if self.sums.get(kind, 0.0) > WARNING]
        self.warning_detected = bool(of_all)
        largest = max(self.sums, key=self.sums.__getitem__, default=COMPLETE)
        if self.sums.get(largest, 0.0) <= DRIFT:
            return 0
        begun = [self.since[largest]]
        if largest >= 0:  # what began in this class may be a change of all
            begun += [self.since[kind] for kind in of_all]
        return min(LONGEST, self.n - min(begun))


def changed_rate(rate: float) -> float:
    """The error rate where little of what was learned still holds."""
    return 0.5 * rate + 0.3


def log_ratio(wrong: bool, rate: float, changed: float) -> float:
    """Log likelihood ratio of an error rate that has risen to `changed`, if that is higher."""
    changed = max(rate, changed)
    if wrong:
        return math.log(changed / rate)
    return math.log((1 - changed) / (1 - rate))


class DriftDetector:
    """Detects changes of the stream from the mistakes at given labels.

    The expected error rate depends on how sure the model was. Labels fall into four bins, by the
    gap between the top two scores, and each bin has an error rate that follows its labels, and a
    rate of surprises: labels that are neither of the top two. Labels that may belong to a change do
    not move these rates: they are held back until the warning is over.

    Parameters
    ----------
    binary
        None: `Cusum`. Or a binary drift detector of River's, which gets the labels of which the
        model was sure. At half of the other labels the model is wrong anyway.
    """

    def __init__(self, binary: BinaryDriftDetector | None) -> None:
        self.binary = binary
        self.n_drifts = 0
        self.error_rates = list(FIRST_RATES)
        self.surprise_rates = list(FIRST_SURPRISES)
        self.counts = [FIRST_COUNT] * len(FIRST_RATES)
        self.n_of_class: dict[int, int] = {}
        self.n = 0
        self.recent: deque[tuple[int, float, int]] = deque(maxlen=LONGEST)
        self.reset()

    def reset(self) -> None:
        """Forget what points to a change."""
        self.cusum = Cusum()
        self.river = None if self.binary is None else self.binary.clone()
        self.held_back: list[tuple[int, bool, bool]] = []
        self.warning_detected = False  # whether labels point to a change, but not clearly enough

    def successor(self) -> DriftDetector:
        """The detector of the model that takes the place of this one's."""
        other = DriftDetector(self.binary)
        other.n_drifts, other.n_of_class = self.n_drifts + 1, dict(self.n_of_class)
        return other

    def expected_rate(self, gap: float, surprises: bool = False) -> float:
        """The expected error rate at this gap of the top two scores, or that of surprises: a mean
        and a standard error.

        It is confined to [0.02, 0.6].
        """
        index, rates = bin_of(gap), self.surprise_rates if surprises else self.error_rates
        rate, n = rates[index], self.counts[index]
        return min(MOST, max(LEAST, rate + math.sqrt(rate * (1 - rate) / n)))

    def update(self, scores: NDArray[np.float64], label: int) -> int:
        """Learn a label, and the scores (k,) of its example from before it was learned.

        Mistakes at the first labels of a class do not move the error rates. They may still point to
        a change: a class that is renamed comes as a new one.

        Returns
        -------
        0, or if a change is detected the number of labels since it.
        """
        top, gap = top_of(scores)
        wrong = top != label
        surprise = wrong and is_surprise(scores, label)
        n_before = self.n_of_class.get(label, 0)
        young = n_before < YOUNG
        if young:
            self.n_of_class[label] = n_before + 1
            if self.n <= max(FIRST, COMING * len(self.n_of_class)):
                return 0
        self.recent.append((top, gap, label))
        self.n += not young
        if self.n > FIRST and (since := self._labels_since_change(gap, wrong, top, surprise)):
            return since
        if young:
            return 0
        self.held_back.append((bin_of(gap), wrong, surprise))
        if self.n <= FIRST or self.river is not None or not self.cusum.warning_detected:
            for index, *found in self.held_back:
                n = self.counts[index] = min(MEMORY, self.counts[index] + 1)
                for rates, each in zip((self.error_rates, self.surprise_rates), found, strict=True):
                    rates[index] += (each - rates[index]) / n
            self.held_back = []
        return 0

    def note(self, scores: NDArray[np.float64], label: int) -> None:
        """Keep a label that has come with one that raised an alarm, after it."""
        self.recent.append((*top_of(scores), label))

    def _labels_since_change(self, gap: float, wrong: bool, top: int, surprise: bool) -> int:
        """0 if no change is detected."""
        if self.river is None:
            rate, surprise_rate = self.expected_rate(gap), self.expected_rate(gap, surprises=True)
            since = self.cusum.update(wrong, rate, top, surprise, surprise_rate)
            self.warning_detected = self.cusum.warning_detected
            return since
        if gap < SURE:
            return 0
        self.river.update(wrong)
        self.warning_detected = bool(getattr(self.river, "warning_detected", False))
        return RECENT if self.river.drift_detected else 0


def bin_of(gap: float) -> int:
    """Which of the four bins a gap is in; NaN is in the first."""
    return bisect.bisect_right(GAP_BINS, gap) if gap == gap else 0


def is_surprise(scores: NDArray[np.floating[Any]], label: int) -> bool:
    """Whether two of the scores (k,) are higher than that of the label, whose class is known."""
    return label < len(scores) and int(np.count_nonzero(scores > scores[label])) > 1


def top_of(scores: NDArray[np.floating[Any]]) -> tuple[int, float]:
    """The top class, and its gap to the runner-up, of scores (k,); a single class is sure."""
    values = scores.tolist()
    if len(values) < 2:
        return 0, 1.0
    runner_up, best = sorted(values)[-2:]
    return values.index(best), best - runner_up
