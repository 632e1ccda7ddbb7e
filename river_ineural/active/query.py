"""The query rule of I-NeurAL's sampler, as plain functions: Algorithm 1, lines 8, 9 and 11."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable

from river_ineural.active.budget import BudgetManager
from river_ineural.active.decision import NOT_ASKED, Reason, Wanted

FIRST = 10  # labels that are always asked for while fewer than two classes are known
PSEUDO_LABEL_GAP = 0.6  # from which a prediction is learned as a pseudo-label
MOST_FOR_AUDITS = 5.0  # labels of a bucket that are left to random rounds of an `audit`
BUDGET_EXPONENT = 0.75  # of the share of the budget that is left, in the threshold

# Shares of the labels that are held back unless the stream changes.
HELD_BUCKET = 0.2
HELD_TOTAL = 0.05  # for each class but one at the start; it falls to 0 over the rounds
MOST_HELD = 0.15
HELD_DEPENDENT = 0.5  # of a total, while labels depend on the ones before
# While only one class has a label: four fifths, but at least so many labels may be spent to find a
# second class, as far as a half allows it.
HELD_FOR_SECOND, LEAST_FOR_SECOND, TO_FIND_SECOND = 0.8, 0.5, 20.0

EVENLY = 0.3  # share of a total that `pace` spends evenly; it spends the others early

RANDOM_SHARE = 0.25  # probability of a random ask, as a share of the rate of the budget
RANDOM_SHARE_OF_TOTAL = 0.14  # the same, of a large total with a horizon
RANDOM_AFTER_CHANGE = 0.4  # the same once the stream has changed, for it may change again
FEW_LABELS = 200  # a total of so many has half that share, for the first labels teach most
RANDOM_DEPENDENT = 0.05  # the same of a total, while labels depend on the ones before
RANDOM_AFTER_SILENCE = 0.02  # probability of a random ask without a rate, after 50 silent rounds
RANDOM_IN_CHANGE = 0.25  # probability of a random ask while the model recovers from a change

SURE = 1.0  # the gap of the probabilities 1 and 0
STEP = 0.1  # a gap that is larger than the confirmed one by more than this is not confirmed
MEMORY = 1024  # labels that the budget adds while the confirmed gap falls back towards 1

RARE = 32  # a late class has at most this part of its even share of the labels
PATIENCE = 64  # labels after its first; a class that is still rare then may be a typing error
SEVERAL = 2  # new classes after which more may come
FEW = 2  # labels of a class that counts as new
SETTLED = 10  # labels a class, on average, from which on several new classes are late


def top_two(scores: list[float]) -> tuple[int, int, float]:
    """The first class with the highest score î, the runner-up i°, and their gap (lines 8 and 9).

    Without a runner-up i° is î and the gap is 0. The gap is NaN if a score is NaN, or if two scores
    are inf.

    Examples
    --------
    >>> top_two([0.25, 1.0, -0.5])
    (1, 0, 0.75)
    """
    top = second = 0
    best, runner_up = -math.inf, -math.inf
    for i, score in enumerate(scores):
        if score > best:
            top, best, second, runner_up = i, score, top, best
        elif score > runner_up:
            second, runner_up = i, score
        elif score != score:
            return max(range(len(scores)), key=scores.__getitem__), top, math.nan
    return top, second, best - runner_up if runner_up > -math.inf else 0.0


def gap(scores: Iterable[float]) -> float:
    """f(î) - f(i°): top score minus runner-up; 0 for one class.

    NaN if a score is NaN, or if two scores are inf.

    Examples
    --------
    >>> gap([0.25, 1.0, -0.5])
    0.75
    """
    return top_two([*scores])[2]


def threshold(two_gamma_beta: float, n_labels: int, n_pending: int) -> float:
    """The gap below which a label is asked for while the budget is full (line 11).

        2γβ_t · (labels + 10) / (labels + 10 + pending)

    Later it is this times (share of the budget left)^(3/4), with the share as by `share`.

    Parameters
    ----------
    n_labels, n_pending
        Labels learned; labels asked for that have not come yet.
    """
    n_learned = n_labels + FIRST  # more, so that a model without labels asks
    return two_gamma_beta * n_learned / (n_learned + n_pending)


def random_share(manager: BudgetManager, dependent: bool, changed: bool) -> float:
    """Share of the labels that are asked for at random where the gap is wide, if a rate is known.

    It is 0.25 of a rate. Of a total of N labels with a horizon it is 0.14 · N / (N + 200), and
    0.4 · N / (N + 200) once the stream has `changed` and the learner has recovered: until then
    labels decide whether it has. But it is 0.05 while labels depend on the ones before: new classes
    then need the others.
    """
    if manager.bucket is not None:
        return RANDOM_SHARE
    if dependent:
        return RANDOM_DEPENDENT
    of_many = RANDOM_AFTER_CHANGE if changed else RANDOM_SHARE_OF_TOTAL
    return of_many / (1 + FEW_LABELS / max(1.0, manager.size))


def kept(manager: BudgetManager, part: float) -> float:
    """Labels that are kept for the random asks of the rounds to come; 0 without a horizon.

        part · rate · rounds to come

    Nothing else may take them, not even a change, but a late class. Otherwise nobody would see the
    next change, or know how right the model is after the last label.
    """
    horizon, rate = manager.budget.horizon, manager.rate
    if horizon is None or rate is None:
        return 0.0
    return part * rate * max(0, horizon - manager.n_rounds)


def share(
    manager: BudgetManager,
    reserve: bool,
    n_classes: int = 2,
    dependent: bool = False,
    part: float = 0.0,
) -> float:
    """Share of the bucket or of the total that is left, in [0, 1]; 1 without a limit.

        max(0, (left - held) / (1 - held at the start))

    Parameters
    ----------
    reserve
        Whether a part is held back for a change of the stream. Of a bucket this is a fifth. Of a
        total with a horizon it is at first a twentieth for each class but one, three twentieths at
        most, and it falls in proportion to the rounds left. Of a total without a horizon nothing is
        held back.
    n_classes
        Known classes, at least 2. The more there are, the likelier it is that others come late.
    dependent
        Whether labels depend on the ones before. Half of a total is then held back.
    part
        What is `kept` of a total for random asks: at least this is held back.
    """
    if manager.size == math.inf:
        return 1.0
    left = manager.left / manager.size if manager.size else 0.0
    if reserve:
        if manager.bucket is not None:
            left = (left - HELD_BUCKET) / (1 - HELD_BUCKET)
        elif manager.budget.horizon is not None:
            held = HELD_DEPENDENT if dependent else min(MOST_HELD, HELD_TOTAL * (n_classes - 1))
            held = max(held, part)
            to_come = 1 - manager.n_rounds / manager.budget.horizon
            left = (left - held * max(0.0, to_come)) / (1 - held) if held < 1 else 0.0
    return min(1.0, max(0.0, left))


def pace(manager: BudgetManager) -> tuple[float, bool]:
    """Labels a round that spend a budget in time, in [0, 1]; and whether some would be left over.

        rate + left / 2                     without a horizon
        0.3 · total / horizon + early / 2   with one

    Here left is a share of the bucket or of the total. With a horizon three tenths of the labels
    are spent evenly, and early is the share left of the others. Labels would be left over if a
    larger share of them than of the rounds is left (the pace is then at least labels left / rounds
    left), or more than half without a horizon. Without a limit the pace is 1/2.
    """
    if manager.size == math.inf:
        return 0.5, False
    left, horizon = share(manager, reserve=False), manager.budget.horizon
    if horizon is None:
        return min(1.0, (manager.rate or 0.0) + left / 2), left > 0.5
    to_come = max(1, horizon - manager.n_rounds + 1)
    early = (left - EVENLY * to_come / horizon) / (1 - EVENLY)
    p, behind = EVENLY * manager.size / horizon + early / 2, left * horizon > to_come
    if behind:
        p = max(p, left * manager.size / to_come)
    return min(1.0, max(0.0, p)), behind


def few_classes(
    manager: BudgetManager, n_learned: int, n_pending: int, one: bool, random: Callable[[], float]
) -> tuple[bool, float]:
    """Whether to ask while fewer than two classes have a label, and how probable that was.

    Without a limit always. Otherwise the first ten labels are asked for, and then fewer the more
    were. Once ten labels have come and are of one class, four fifths of the budget are held back
    for the labels of a second one, which teach far more: all but twenty labels of fewer than 100,
    but at least a half. Before it is a fifth, because labels may have been lost. What is held back
    is not touched of a bucket. Of a total it is spread over the rounds left with a horizon; without
    one each question takes a smaller part of it.

    Parameters
    ----------
    n_learned, n_pending
        Labels that the learner has learned, and that are pending: one that has replaced another
        needs its first ten, too.
    one
        Whether one class has a label.
    """
    n, rate, horizon = manager.n_asked, manager.rate or 0.0, manager.budget.horizon
    if manager.budget.limit is None or min(n, n_learned + n_pending) < FIRST:
        return True, 1.0
    p, left = max(rate, FIRST / n), share(manager, reserve=False)
    held = HELD_BUCKET
    if one and n_learned >= FIRST:
        most = 1 - TO_FIND_SECOND / max(1.0, manager.size)
        held = min(HELD_FOR_SECOND, max(LEAST_FOR_SECOND, most))
    if manager.bucket is not None:
        p *= left > held
    elif not horizon:
        p *= min(1.0, left / held) ** 3
    elif left <= held:
        p = min(1.0, manager.left / max(1, horizon - manager.n_rounds + 1))
    return random() < p, p


def random_ask(
    manager: BudgetManager,
    share: float,
    unconfirmed: bool,
    n_pending: int,
    n_silent: int,
    searching: bool,
    random: Callable[[], float],
) -> tuple[bool, float]:
    """Whether to ask where the gap is wide and nothing points to a change, and how probable it was.

    Parameters
    ----------
    share
        Of the labels that are asked for at random, if a rate is known.
    unconfirmed
        Whether the gap is larger than labels have confirmed. The more labels are pending, the less
        often such a gap is asked about: the first of them may confirm it.
    n_silent
        Rounds since the last ask.
    searching
        Whether a named class has no label yet.
    """
    p, first = 0.0, 1 / (1 + n_pending) if unconfirmed else 0.0
    asks = unconfirmed and (not n_pending or random() * (1 + n_pending) < 1)
    if manager.rate:
        p = manager.rate * (1.0 if searching else share)
        if (horizon := manager.budget.horizon) is not None:  # so that labels last until then
            p = min(p, manager.left / max(1, horizon - manager.n_rounds + 1))
    elif n_silent * RANDOM_AFTER_SILENCE >= 1:
        p = RANDOM_AFTER_SILENCE
    asks = asks or (p > 0 and random() < p)
    return asks, first + (1 - first) * p


def audited(
    manager: BudgetManager, audit: float, wanted: Wanted, random: Callable[[], float]
) -> tuple[Reason, float]:
    """Why a label is wanted, and how probable that was, where a share of the budget goes to random
    rounds. Without a rate it is a share of `pace`.

    That share of the total, or with a horizon what is `kept` for it, is left to these rounds; of a
    bucket, which is filled again, it is at most five labels. Others may take it only where they ask
    by chance though the gap is wide.
    """
    reason, gap, threshold, p = wanted
    held = audit * manager.size if manager.size < math.inf else 0.0
    if manager.bucket is not None:
        held = min(held, MOST_FOR_AUDITS)
    elif manager.budget.horizon is not None:
        held = kept(manager, audit)
    if manager.left < 1 + int(held) and not (p < 1 and gap >= threshold):
        reason, p = "none" if reason == "none" else "budget", 0.0
    share = audit * (pace(manager)[0] if manager.rate is None else manager.rate)
    if random() < share and reason in NOT_ASKED:
        reason = "random"
    return reason, p + (1 - p) * share


def confirmed_gap(confirmed: float, gap: float, correct: bool) -> float:
    """The largest gap at which a label has confirmed the prediction, at least 1, after one more.

    Scores estimate probabilities, so the model never learns a gap above 1. A network reaches such a
    gap where features lie beyond those of the labelled examples, or where its own pseudo-labels
    have pushed it. It may still be right, and on many streams it is. So labels have to confirm
    large gaps step by step: a gap that exceeds the confirmed one by more than 0.1 is asked about. A
    wrong prediction at a gap above 1 takes the confirmed gap back to 1.

    Examples
    --------
    >>> confirmed_gap(1.0, 1.3, correct=True), confirmed_gap(1.3, 1.5, correct=False)
    (1.3, 1.0)
    """
    if not SURE < gap < math.inf:
        return confirmed
    return max(confirmed, gap) if correct else SURE


def faded_gap(confirmed: float, rate: float | None) -> float:
    """The confirmed gap after a round: it falls by 1/1024 of its distance from 1 with each label
    that the budget adds, because streams change.
    """
    if confirmed <= SURE:
        return confirmed
    return confirmed + (SURE - confirmed) * (rate or RANDOM_AFTER_SILENCE) / MEMORY


def some_class_is_late(seen: Collection[tuple[int, int]], n: int) -> bool:
    """Whether a class has appeared late and still has few of the n labels.

    This holds in two cases. In the first, one class has at most 1/32 of its even share of the
    labels, and its first label came at most 64 labels ago. A class with one label among a hundred
    is hardly learned. It is seldom predicted, so its examples do not look like close calls, and its
    next labels are worth more than those of close calls. In the second case at least ten labels a
    class have come, and at least two classes have one or two labels, the first of them at most 32
    labels ago: where two classes are new, more may come.

    Parameters
    ----------
    seen
        Of each class, its labels and the number of the first of them.

    Examples
    --------
    >>> [some_class_is_late(seen, 101) for seen in ([(101, 1)], [(100, 1), (1, 101)])]
    [False, True]
    >>> some_class_is_late([(100, 1), (2, 101)], 102)
    False
    """
    most, n_new, rare = n / (RARE * max(1, len(seen))), 0, False
    for count, first in seen:
        age = n - first
        rare |= count <= most and age < PATIENCE
        n_new += count <= FEW and age < PATIENCE // 2
    return rare or (n >= SETTLED * len(seen) and n_new >= SEVERAL)
