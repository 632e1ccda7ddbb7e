"""Questions: examples whose label was asked for, by name, and how a label finds its question."""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from river.base.typing import ClfTarget

from river_ineural.active.decision import Reason
from river_ineural.features.encoder import is_missing
from river_ineural.features.keys import KINDS, OF_TIME, plain, plain_value, size_of

PATIENCE = 5_000  # rounds after which a label is no longer expected
MOST = 10_000  # waiting questions, and answered ones that are remembered, at most
MOST_BYTES = 64 << 20  # of the examples of waiting questions in a file
MOST_RECENT = 1 << 19  # of each of the latest examples
COMPARED = 1_000  # waiting questions that a label is compared with, at most
RECENT = 8  # latest examples that are kept, so that a label is compared with others too
ROUNDED = 1e-6  # largest relative difference of values that are equal but for rounding
CLEAR = 0.6  # the nearest is unmistakable if its distance is below this part of the second's,
CHANCE = 0.1  # and if another example would be so near with at most this probability;
CLEARER, RARER = 0.4, 0.01  # the same once most labels have answered no question
FURTHER = 3.0  # times the usual distance of a label from its question are too far,
SELDOM = 1 / 6  # if more than this part of the labels were so far
KEPT, MOST_FASTER = 0.75, 1.5  # of the usual distance, a geometric mean, at each label
FEW = 5  # labels that show whether features come back as they were
MANY, MOSTLY = 10, 0.8  # labels that answer no question before a warning, and their least part


class Question(NamedTuple):
    """A question that waits for its label: its name, its round, why it was asked, and the gap."""

    query: int
    round: int
    reason: Reason
    gap: float


class Asked(NamedTuple):
    """What is kept of a question that waits."""

    reason: Reason
    gap: float
    x: Any  # as it was given
    example: Any  # as the classifier saw it
    size: float  # in bytes
    named: bool  # whether the caller was told its name, and so has no need to answer by features

    @property
    def passed(self) -> bool:
        """Whether the steps of the classifier's pipeline have learned x and made the example."""
        return self.example is not self.x


class Answered(NamedTuple):
    """What is kept of an answered question, or, with the label None, of a withdrawn one."""

    number: int  # of the label among all that the learner learned; 0 if it has no number
    label: ClfTarget | None


class Questions:
    """Questions by the round in which they were asked, which is their name.

    A question waits for 5,000 rounds. The latest 10,000 wait, and as many of them as 64 MB hold. A
    label that comes with features finds the oldest question of equal features, or else one that
    they resemble, as after rounding: see `_nearest`.

    Examples
    --------
    >>> questions = Questions()
    >>> questions.add({"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0}, 1, "gap", 0.1)
    >>> questions.count(1), questions.find({"b": 2.0, "a": 1.0}, 1)
    (1, (1, 0.0))
    >>> questions.settle(1, Answered(1, "good"))
    >>> questions.count(1)
    0
    """

    def __init__(self) -> None:
        self.waiting: OrderedDict[int, Asked] = OrderedDict()
        self.settled: OrderedDict[int, Answered] = OrderedDict()
        self.recent: deque[Any] = deque(maxlen=RECENT)  # the latest examples, as they were given
        self.forgotten = 0  # the latest question that is neither waiting nor remembered
        # Labels that came with features while some waited; of these, those that answered none, and
        # those whose question had clearly other features; and of these, those far from it.
        self.n_heard = self.n_unmatched = self.n_alike = self.n_far = 0
        self.usual = 0.0  # distance of a label from its question
        self.told = False  # whether a warning has said so
        self._size = 0.0

    def add(self, x: Any, example: Any, now: int, reason: Reason, gap: float) -> None:
        """Ask for the label of x in round `now`, the latest so far."""
        same, x = example is x, copied(x)  # the caller may change it later
        self.put(now, reason, gap, x, x if same else copied(example))
        if self.waiting[now].size <= MOST_RECENT:
            self.recent.append(x)
        while len(self.waiting) > MOST or self._size > MOST_BYTES:
            self._forget_oldest()

    def put(
        self, now: int, reason: Reason, gap: float, x: Any, example: Any, named: bool = False
    ) -> None:
        """Let a question wait; x and the example belong to this object."""
        size = size_of(x, OF_TIME) + (0 if example is x else size_of(example, OF_TIME))
        self.waiting[now] = Asked(reason, gap, x, example, size, named)
        self._size += size

    def name(self, now: int) -> None:
        """Note that the caller is told the name of the question of round `now`, if there is one."""
        if asked := self.waiting.get(now):
            self.waiting[now] = Asked(*asked[:-1], named=True)

    def count(self, now: int) -> int:
        """The number of questions that wait in round `now`."""
        waiting = self.waiting
        while waiting and next(iter(waiting)) < now - PATIENCE:
            self._forget_oldest()
        return len(waiting)

    def _forget_oldest(self) -> None:
        query, asked = self.waiting.popitem(last=False)
        self.forgotten, self._size = max(self.forgotten, query), self._size - asked.size

    def get(self, query: Any, now: int) -> Asked | Answered:
        """What is kept of the question of this name; LookupError says why nothing is."""
        self.count(now)
        known = isinstance(query, Real) and not isinstance(query, bool)
        name: Any = query if known else None  # a list would have no hash
        if found := self.waiting.get(name) or self.settled.get(name):
            if isinstance(found, Answered) and found.label is None:
                raise LookupError(f"Question {query} was withdrawn.")
            return found
        if isinstance(query, int | np.integer) and 0 < query <= self.forgotten:
            raise LookupError(
                f"Question {query} is too old: questions are kept for {PATIENCE:,} rounds, and at "
                f"most {MOST:,} of them in {MOST_BYTES >> 20} MB."
            )
        raise LookupError(
            f"No question has the name {query!r}: `decide_one` returns the name as `query` if it "
            "asks for the label, and `queries()` lists those that wait."
        )

    def settle(self, query: int, answered: Answered) -> None:
        """Remember how a question was settled; it waits no longer."""
        if asked := self.waiting.pop(query, None):
            self._size -= asked.size
        self.settled[int(query)] = answered  # not 1.0 of a column of names
        if len(self.settled) > MOST:
            self.forgotten = max(self.forgotten, self.settled.popitem(last=False)[0])

    def correct(self, query: int, y: ClfTarget | None, learner: Any) -> None:
        """Let the learner correct the label of an answered question; None: its example counts no
        longer. LookupError unless its history holds the example.
        """
        number, label = self.settled[query]
        if not (number and hasattr(learner, "correct_one")):
            raise LookupError(
                f"Question {query} has the label {label!r} for good: its example is in no history "
                "from which it could be learned anew."
            )
        learner.correct_one(number, y)
        self.settled[query] = Answered(number, y)

    def after(self, query: int) -> list[int] | None:
        """The later questions that were not withdrawn, in order; None if some are forgotten."""
        if query <= self.forgotten:
            return None
        answered = (name for name, each in self.settled.items() if each.label is not None)
        return sorted(name for name in (*self.waiting, *answered) if name > query)

    def unlink(self) -> None:
        """Forget what another classifier has learned: the numbers of labels, and its examples."""
        for query, asked in self.waiting.items():
            self._size -= asked.size
            self.put(query, asked.reason, asked.gap, asked.x, asked.x, asked.named)
        for query, answered in self.settled.items():
            self.settled[query] = Answered(0, answered.label)

    def find(self, x: Any, now: int) -> tuple[int | None, float]:
        """The waiting question that a label of x answers, None if there is none, and how far it is;
        0 if its features are the same but for rounding.
        """
        self.count(now)
        x = copied(x)
        query = next((query for query, each in self.waiting.items() if equal(each.x, x)), None)
        if query is None and isinstance(x, Mapping) and self.waiting:
            return self._nearest(x, now)
        return query, 0.0

    def heard(self, query: int | None, distance: float) -> None:
        """Count a label that was learned, while questions waited, with what `find` returned."""
        self.n_heard += 1
        self.n_unmatched += query is None
        if distance:
            self.n_alike += 1
            self.n_far += self.n_alike > FEW and distance > FURTHER * self.usual
            usual = self.usual or distance
            self.usual = min(distance, MOST_FASTER * usual) ** (1 - KEPT) * usual**KEPT

    def complaint(self) -> str | None:
        """What to warn of, once: labels that answer no question while as many questions wait."""
        n, m, n_waiting = self.n_unmatched, self.n_heard, len(self.waiting)
        if self.told or not (MANY <= n <= n_waiting and n >= MOSTLY * m):
            return None
        self.told = True
        said = f"{n} of {m} labels answered no question, while {n_waiting} questions wait."
        if self.forgotten:
            return f"{said} A question waits for {PATIENCE:,} rounds: later labels answer none."
        return (
            f"{said} If they were asked for, their features are not those that were predicted: "
            "learn such a label by the name of its question, which no feature changes: "
            "answer(decide_one(x).query, y)."
        )

    def _nearest(self, x: Mapping[Any, Any], now: int) -> tuple[int | None, float]:
        """The waiting question that x, which equals none, is meant for; None if that is not clear.

        It has the same names, but for values of 0 that only one of both has, and the same values
        that are no numbers. Its numbers are equal but for rounding to float32. Else a scaler may
        have moved since, unless five labels or more, and most of those that found a question, had
        equal features. Each feature is then divided by its deviation among the questions that wait
        and the latest eight. A question whose name the caller was told is not meant: a label that
        nobody asked for may come while it waits. These ways are tried in turn:

        - The question of the latest round, `now`, if it is about as near as the nearest: its label
          comes at once.
        - The distance from the nearest is a part of that from all others, below 0.6, and where n
          features differ below 0.1^(1/n): of examples that have nothing to do with it, one in ten
          is as near. Once five labels, and most of those without an equal question, have answered
          none, these parts are 0.4 and 0.01^(1/n): others are learned, too.
        - The oldest question, if its numbers are all 0, as of a scaler that has learned nothing
          yet, while most labels answer a question.
        - The oldest one that is about as near as the nearest, for most labels come in order. It is
          tried once five labels had changed features, while most of them answer a question. If
          more than a sixth of these were further than three times the usual distance, labels that
          nobody asked for come too, and this one must be nearer.

        Examples
        --------
        >>> questions = Questions()
        >>> for now, value in enumerate([0.1, 0.7, 0.2], 1):
        ...     questions.add({"a": value}, {"a": value}, now, "gap", 0.1)
        >>> [questions.find({"a": value}, 4)[0] for value in (0.69, 0.65)]
        [2, None]
        """
        names = [name for name, value in x.items() if is_number(value)]
        oldest = itertools.islice(self.waiting.items(), COMPARED)
        n_equal = self.n_heard - self.n_unmatched - self.n_alike
        if n_equal >= FEW and n_equal > self.n_alike:  # features come back as they were
            alike = (each for each in oldest if rounded(each[1].x, x, names))
            return next((query for query, each in alike if aligned(each.x, x, names)), None), 0.0
        pairs = [(query, row) for query, each in oldest if (row := aligned(each.x, x, names))]
        if not pairs:
            return None, 0.0
        queries, rows = zip(*pairs, strict=True)
        others = [row for each in self.recent if (row := aligned(each, x, names))]
        found, given = np.array([*rows, *others]), np.array([1.0, *(x[name] for name in names)])
        difference, n = np.abs(found - given), len(queries)
        spread = np.vstack([found, given]).std(axis=0)
        distance = np.linalg.norm(difference / np.where(spread > 0, spread, 1.0), axis=1)
        first = int(distance.argmin())
        second = float(distance[(found != found[first]).any(axis=1)].min(initial=np.inf))
        if first < n and rounded(self.waiting[queries[first]].x, x, names):
            return int(queries[first]), 0.0
        # Believed until five labels, and most of all, have answered none.
        answers = self.n_unmatched < max(FEW, self.n_alike)
        most, chance = (CLEAR, CHANCE) if answers else (CLEARER, RARER)
        n_apart = int((difference[first] > 0).sum())
        part = min(most, chance ** (1 / max(1, n_apart)))
        clear = first < n and second < np.inf and distance[first] < part * second
        unnamed = ~np.array([self.waiting[query].named for query in queries])
        about = unnamed & (distance[:n] * CLEAR <= distance[:n].min())
        likely = about & (np.array(queries) == now)
        if not likely.any():
            zero = answers and not found[0, 1:].any()
            likely = unnamed & (np.arange(n) == (first if clear else 0 if zero else n))
        if not likely.any() and answers and self.n_alike >= FEW:
            often = self.n_far > SELDOM * self.n_alike
            likely = about & (distance[:n] <= (FURTHER * self.usual if often else np.inf))
        chosen = likely.argmax()
        return (int(queries[chosen]), float(distance[chosen])) if likely.any() else (None, 0.0)


def aligned(z: Any, x: Mapping[Any, Any], names: list[Any]) -> list[float] | None:
    """1 and the numbers of z of these names; None unless its other names and values are those of x.

    A value of 0 that only one of both has makes no difference.
    """
    if not isinstance(z, Mapping):
        return None
    if z.keys() != x.keys():
        for name in z.keys() ^ x.keys():
            value = z[name] if name in z else x[name]
            if not is_number(value) or value != 0:
                return None
    if len(names) < len(x):
        for name in x.keys() - {*names}:
            if not (equal(z[name], x[name]) or (is_missing(z[name]) and is_missing(x[name]))):
                return None
    row = [1.0, *(z.get(name, 0.0) for name in names)]
    return row if all(map(is_number, row)) else None


def rounded(z: Any, x: Mapping[Any, Any], names: list[Any]) -> bool:
    """Whether the numbers of x of these names are those of z but for rounding."""
    for name in names:
        value: Any = z.get(name, 0.0) if isinstance(z, Mapping) else None
        if not is_number(value):
            return False
        if abs(value - x[name]) > ROUNDED * max(abs(value), abs(x[name])):
            return False
    return True


def equal(one: Any, other: Any) -> bool:
    """Whether both are equal; those that do not say, as arrays, are not."""
    try:
        return bool(one == other)
    except Exception:  # of any kind
        return False


def is_number(value: Any) -> bool:
    """Whether a value is a number whose square is one, too."""
    if type(value) is float:
        return -1e100 < value < 1e100
    try:
        return isinstance(value, Real) and abs(float(value)) < 1e100
    except OverflowError:
        return False


def copied(x: Any) -> Any:
    """A dict of a mapping, with plain names and values, or a copied list; else x as it is."""
    if isinstance(x, Mapping):
        usual = KINDS.issuperset(map(type, x)) and KINDS.issuperset(map(type, x.values()))
        return dict(x) if usual else {plain(name): plain_value(value) for name, value in x.items()}
    return [*x] if isinstance(x, list) else x
