"""How right a sampler is: an estimate from the labels that it asked for, each at a known chance."""

from __future__ import annotations

import itertools
import math
import operator
from typing import NamedTuple

from river.base.typing import ClfTarget

from river_ineural.active.bounds import Z, most_of, most_times, solved

MOST = 10_000  # latest questions whose label may come or be corrected
MOST_CLASSES = 1_000  # from which labels that were never predicted are not counted by class
WORTH, LEAST = 7.0, 1.0  # random labels, or wrong ones, that the regression is worth
DOUBTED = 0.7  # part of the likely errors at which random labels say that there may be more
MOST_COUNTS = 2.0  # random labels as which those that weigh more than expected count, at most
MORE = 0.5  # wrong predictions that are added for the lower end of the interval
DOUBT = 2.3  # factor on the variance of the regression, whose labels are of unsure rounds
FIRST, SAME = 16, 24  # rounds in a new block; blocks of one length, then two of them become one
FADING = 0.5 ** (1 / 100)  # of a label in the model of errors, with each label after it
NEAR = 0.5 ** (FIRST / 250)  # of a label among those that limit errors, with each block after it
PRIOR = ((0.0, 4.0), (1.0, 2.0), (0.4, 2.0))  # mean and precision: level, gap, beyond
WIDEST = 0.98  # gap of the regression
SUREST = math.log((1 + WIDEST) / (1 - WIDEST))
FEW = 10  # labels that precision and recall need

# Sums over rounds: how many, of them labelled, and wrong; errors expected in the others, and where
# no label can be asked for; then over labels of random asks, each weighing as the rounds that it
# speaks for: wrong ones, expected errors, those again times the weight, wrong ones times the square
# of it. Of a block also the most errors that are likely without a label. Of a class also the labels
# of it whose prediction was another class, their weights and the squares of these.
ROUNDS, LABELS, WRONG, EXPECTED, CLOSED, FOUND, FORESEEN, SPREAD, SQUARES = range(9)
LIKELY, MISSED, MISSED_FOUND, MISSED_SQUARES = 9, 9, 10, 11
SIZES = (LIKELY + 1, MISSED_SQUARES + 1)  # of a block, and of a class


class Estimate(NamedTuple):
    """A share of rounds, the ends of its 95 % interval, and the labels from which it is estimated.

    `value`, `low` and `high` are in [0, 1]; before the first round they are NaN, 0 and 1.
    """

    value: float
    low: float
    high: float
    n_labels: int

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "unknown, no round was predicted"
        labels = f"{self.n_labels:,} label{'s' * (self.n_labels != 1)}"
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%}, {labels})"


UNKNOWN = Estimate(math.nan, 0.0, 1.0, 0)


class ClassEstimate(NamedTuple):
    """Estimates of the precision and the recall of a class."""

    precision: Estimate
    recall: Estimate


class Noted(NamedTuple):
    """What is kept of a round that asked: the error expected in it, its probability, and so on."""

    error: float
    likely: float
    p: float
    gap: float
    beyond: bool
    label: ClfTarget  # as predicted
    y: ClfTarget | None  # None: no label yet, or none any more


class Accuracy:
    """The accuracy of all rounds, estimated from the labels that were asked for.

    A logistic regression gives the error e that is expected in each round. It knows the gap g, as
    log((1 + g) / (1 - g)), and whether it is beyond the threshold, if there is one.
    It learns from each label and forgets older ones. U rounds have no label, and E of their
    predictions are expected to be wrong. Labels of random asks check this: one that was asked for
    with probability p speaks for w = (1 - p) / p rounds without one. Let s be the mean of w, where
    each round counts as its e, or Σ w² · wrong / (2 Σ w · wrong) if that is larger, so that one
    label does not count as many. Let W = Σ w · wrong / s, and M = Σ w · e / s. Then

        wrong predictions = wrong labels + E · (a + W) / (a + M)
        a = max(7 · E/U, 1)

    So the regression counts as seven random labels, or as those among which it expects a wrong one
    if these are more. The interval is that of a gamma distribution with the shape a + W, as of
    counts: half an error is added for its upper end. Of rounds in which the budget allowed no
    question, but any between two asks of a `RandomSampler`, or whose labels are all still to come,
    the regression alone tells, as if a single error had shown it, and the interval is wider.

    Most labels are of unsure rounds. A model that is sure and wrong would look right until a random
    label finds it. So the larger of two bounds on errors holds. Let E θ be wrong, and v 2.3 times
    the variance that the regression gives to the log odds of an error at the average round without
    a label. The other is the 95 % end of a normal distribution of log θ, its mode and curvature of

        W log θ - M θ - log² θ / 2v

    A label is asked for where the model is less sure, so errors are no likelier without a label: of
    the rounds between, at most as many are wrong as the interval of Wilson (1927) for the latest
    labels allows, where a label counts half as much 250 rounds later. Of a single class this need
    not hold, nor after a change that has made the model sure and wrong: random labels that show
    seven tenths of these errors lift this limit.

    Sums are kept in blocks of rounds, which are the longer the older they are; there are about
    24 · log2(rounds / 400) of them.

    Examples
    --------
    >>> told = Accuracy()
    >>> for now in range(1, 1001):
    ...     told.round(now, "good", 0.9, 0.1, now % 10 == 0)
    ...     if now % 10 == 0:
    ...         told.label(now, "good" if now % 100 else "bad")
    >>> print(told.estimate())
    90.1% (83.6% to 94.6%, 100 labels)
    """

    def __init__(self) -> None:
        self.weights = [mean for mean, _ in PRIOR]
        self.hessian = [[own[1] * (own is other) for other in PRIOR] for own in PRIOR]
        self._look(0.0, 0.0)
        self.spans: list[int] = []  # rounds of each block
        self.blocks: list[list[float]] = []
        self.classes: dict[ClfTarget, list[float]] = {}
        self.noted: dict[int, Noted] = {}

    def round(
        self,
        now: int,
        label: ClfTarget | None,
        gap: float,
        p: float,
        ask: bool,
        beyond: bool = False,
    ) -> None:
        """Count round `now`, which asks, or not, and did so with probability p.

        `beyond` says whether the gap is beyond a threshold below which labels are wanted. A round
        without a prediction counts for nothing.
        """
        if not self.spans or self.spans[-1] >= FIRST:
            self._new_block()
        self.spans[-1] += 1
        if label is None:
            return
        level, slope, far = self.weights
        gap = float(min(WIDEST, max(0.0, gap))) if gap == gap else 0.0
        sure = level + slope * math.log((1 + gap) / (1 - gap)) + (far if beyond else 0.0)
        error = 1 / (1 + math.exp(min(30.0, sure)))
        block, of_class = self.blocks[-1], self.classes.get(label)
        if of_class is None:
            of_class = self.classes[label] = [0.0] * SIZES[1]
        block[ROUNDS] += 1
        block[EXPECTED] += error
        block[LIKELY] += self.likely
        of_class[ROUNDS] += 1
        of_class[EXPECTED] += error
        if p < 1:
            at, part = (SPREAD, error * (1 - p) * (1 - p) / p) if p else (CLOSED, error)
            block[at] += part
            of_class[at] += part
        if ask:
            self.noted[now] = Noted(error, self.likely, p, gap, beyond, label, None)
            if len(self.noted) > MOST:
                del self.noted[next(iter(self.noted))]

    def _look(self, n: float, wrong: float) -> None:
        """Let so many labels be the latest ones, and so many of them wrong."""
        self.near, self.likely = (n, wrong), most_of(wrong, n)

    def _new_block(self) -> None:
        """Begin a block; the two oldest of a length become one where there are too many."""
        spans, blocks, span, end = self.spans, self.blocks, FIRST, len(self.spans)
        while (start := end - SAME) >= 1 and spans[start - 1] == spans[start] == span:
            spans[start - 1 : start + 1] = [2 * span]
            older = blocks.pop(start)
            blocks[start - 1] = [a + b for a, b in zip(blocks[start - 1], older, strict=True)]
            span, end = 2 * span, start
        spans.append(0)
        blocks.append([0.0] * SIZES[0])
        self._look(*(NEAR * each for each in self.near))

    def label(self, query: int, y: ClfTarget | None) -> None:
        """Count the label of a round that asked, in place of an earlier one; None takes it back."""
        noted = self.noted.get(query)
        if noted is None or noted.y == y:
            return
        wrong = bool(noted.label != y)  # perhaps NumPy's
        if noted.y is None:
            self._look(self.near[0] + 1, self.near[1] + wrong)
            self._learn(noted, not wrong)
        else:
            faded = NEAR ** ((sum(self.spans) - query) / FIRST)
            n = max(0.0, self.near[0] - faded * (y is None))
            more = faded * ((y is not None and wrong) - (noted.label != noted.y))
            self._look(n, min(n, max(0.0, self.near[1] + more)))
            self._add(query, noted, noted.y, -1.0)
        if y is not None:
            self._add(query, noted, y, 1.0)
        self.noted[query] = Noted(*noted[:-1], y)

    def _add(self, query: int, noted: Noted, y: ClfTarget, sign: float) -> None:
        error, likely, p, _, _, label, _ = noted
        wrong, w = float(label != y), (1 - p) / p
        block, behind = -1, max(0, sum(self.spans) - query)
        while behind >= self.spans[block]:
            behind -= self.spans[block]
            block -= 1
        self.blocks[block][LIKELY] -= sign * likely
        for sums in (self.blocks[block], self.classes[label]):
            sums[LABELS] += sign
            sums[WRONG] += sign * wrong
            sums[EXPECTED] -= sign * error
            sums[FOUND] += sign * w * wrong
            sums[SQUARES] += sign * w * w * wrong
            sums[FORESEEN] += sign * w * error
        if y not in self.classes and len(self.classes) >= MOST_CLASSES:
            return
        sums = self.classes.setdefault(y, [0.0] * SIZES[1])
        sums[MISSED] += sign * wrong
        sums[MISSED_FOUND] += sign * w * wrong
        sums[MISSED_SQUARES] += sign * w * w * wrong

    def _learn(self, noted: Noted, right: bool) -> None:
        """One step of Newton's method, in which older labels fade and the prior does not."""
        odds = math.log((1 + noted.gap) / (1 - noted.gap))
        x, weights, hessian = (1.0, odds, float(noted.beyond)), self.weights, self.hessian
        sure = sum(weight * each for weight, each in zip(weights, x, strict=True))
        m = 1 / (1 + math.exp(-min(30.0, max(-30.0, sure))))
        slope = []
        for i, (mean, precision) in enumerate(PRIOR):
            kept, row = (1 - FADING) * precision, hessian[i]
            slope.append((m - right) * x[i] + kept * (weights[i] - mean))
            for j in range(len(x)):
                row[j] = FADING * row[j] + m * (1 - m) * x[i] * x[j]
            row[i] += kept
        step = solved(hessian, slope)
        self.weights = [weight - each for weight, each in zip(weights, step, strict=True)]

    def sums(self, rounds: int | None = None) -> list[float]:
        """The sums of the latest rounds; None: of all. Of the oldest block a part may count."""
        total, left = [0.0] * SIZES[0], math.inf if rounds is None else rounds
        for span, block in zip(reversed(self.spans), reversed(self.blocks), strict=True):
            if left <= 0:
                break
            share = min(1.0, left / span) if span else 0.0
            total = [a + share * b for a, b in zip(total, block, strict=True)]
            left -= span
        return total

    def estimate(self, rounds: int | None = None) -> Estimate:
        """The accuracy of the latest rounds; None: of all."""
        sums, n_late = self.sums(rounds), self._n_late()
        late = self.sums(n_late if rounds is None else min(n_late, rounds))
        sums[CLOSED] += late[EXPECTED] - late[CLOSED]
        sums[SPREAD] -= late[SPREAD]
        return self._share_right(sums, max(0.0, sums[LIKELY]))

    def _n_late(self) -> int:
        """The latest rounds, from the first question on after which no label has come."""
        latest = itertools.takewhile(lambda one: one[1].y is None, reversed(self.noted.items()))
        waiting = [query for query, _ in latest]
        return sum(self.spans) + 1 - waiting[-1] if waiting else 0

    def of_class(self, label: ClfTarget) -> ClassEstimate:
        """Precision and recall of a class; ValueError if there are too few labels."""
        of_class = self.classes.get(label, [0.0] * SIZES[1])
        right = of_class[LABELS] - of_class[WRONG]
        true, n_labels = right + of_class[MISSED], min(of_class[LABELS], right + of_class[MISSED])
        if n_labels < FEW:
            raise ValueError(
                f"{label!r} has too few labels: {of_class[LABELS]:.0f} where it was predicted and "
                f"{true:.0f} where it was true, of those asked for; {FEW} of each are needed."
            )
        precision, others = self._share_right(of_class), self.sums()[:LIKELY]
        others = [a - b for a, b in zip(others, of_class, strict=False)]
        part = (of_class[MISSED] + 0.5) / (others[WRONG] + 1)  # of wrong predictions of others
        others[WRONG], others[FOUND] = of_class[MISSED], of_class[MISSED_FOUND]
        others[SQUARES] = of_class[MISSED_SQUARES]
        for each in (EXPECTED, CLOSED, FORESEEN, SPREAD):
            others[each] *= part
        missed, hits = self._wrong_predictions(others), [of_class[ROUNDS] * p for p in precision]

        def share(hit: float, miss: float) -> float:
            return hit / (hit + miss) if hit + miss > 0 else math.nan

        recall = share(hits[0], missed[0])
        # Hits and misses are estimated from labels of different rounds, but by one regression.
        below = math.hypot(recall - share(hits[0], missed[2]), recall - share(hits[1], missed[0]))
        above = math.hypot(recall - share(hits[0], missed[1]), recall - share(hits[2], missed[0]))
        high = min(1.0, max(recall + above, share(hits[2], missed[1])))
        estimate = Estimate(recall, max(0.0, recall - below), high, round(true))
        return ClassEstimate(precision, estimate)

    def _share_right(self, sums: list[float], likely: float = math.inf) -> Estimate:
        """The share of right predictions, given at most so many errors without a label."""
        n = sums[ROUNDS]
        if n <= 0:
            return UNKNOWN
        wrong = self._wrong_predictions(sums, likely)
        value, high, low = (min(1.0, max(0.0, 1 - each / n)) for each in wrong)
        return Estimate(value, low, high, round(sums[LABELS]))

    def _wrong_predictions(
        self, sums: list[float], likely: float = math.inf
    ) -> tuple[float, float, float]:
        """The wrong predictions in the rounds of these sums, and the ends of their interval."""
        unlabelled, expected = sums[ROUNDS] - sums[LABELS], sums[EXPECTED]
        if unlabelled < 1e-6 or expected <= 0:  # of a part of a block it may be below 1
            return sums[WRONG], sums[WRONG], sums[WRONG]
        s = max(1e-9, sums[SPREAD]) / max(1e-9, expected - sums[CLOSED])
        s = max(s, sums[SQUARES] / max(1e-9, sums[FOUND]) / MOST_COUNTS)
        found, foreseen, rate = sums[FOUND] / s, max(0.0, sums[FORESEEN] / s), expected / unlabelled
        own, closed = max(LEAST, WORTH * rate), min(1.0, sums[CLOSED] / expected)
        shape, per = own + found, own + foreseen

        def quantile(shape: float, z: float) -> float:
            """Of wrong predictions without a label: how many there were, by their rate."""
            if shape <= 0:
                return 0.0
            mean = shape / per * expected
            spared = 1 - min(0.98, mean / unlabelled)  # binomial, not Poisson
            spread = spared * (1 / shape + closed * closed + 1 / mean)
            cube = 1 - spread / 9 + z * math.sqrt(spread) / 3  # Wilson and Hilferty, 1931
            return min(unlabelled, mean * max(0.0, cube) ** 3)

        if (mean := min(unlabelled, shape / per * expected)) > DOUBTED * likely:
            likely = math.inf
        low = min(mean, quantile(found + own * found / (found + 1), -Z))
        most = expected * most_times(found, foreseen, self._variance(rate))
        high = max(mean, quantile(shape + MORE, Z), min(unlabelled, most))
        mean, low, high = (sums[WRONG] + min(each, likely) for each in (mean, low, high))
        return mean, low, high

    def _variance(self, rate: float) -> float:
        """Variance of the log of the errors that the regression expects at this rate of them."""
        level, slope, far = self.weights
        rate = min(0.5, max(1e-6, rate))
        odds = (math.log((1 - rate) / rate) - level - far) / max(0.05, slope)
        x = 1.0, min(SUREST, max(0.0, odds)), 1.0
        square = math.fsum(map(operator.mul, x, solved(self.hessian, x)))
        return DOUBT * square * (1 - rate) ** 2
