"""Learning from a stream that may change: what is detected, retrained and decided."""

from __future__ import annotations

from dataclasses import replace

from river_ineural.learning.arrival import Arrival
from river_ineural.learning.recovery import Recovery
from river_ineural.learning.state import State, Values
from river_ineural.learning.tensors import outside_inference_mode

__all__ = ["learn"]

FOLLOWED = 50  # examples that the statistics count as after a change, so that they follow it
MOST_STEPS = 1000  # of networks that are trained anew from the history
WORTHLESS = 0.4  # old labels that weigh no more are dropped
FEW = 16  # labels after an alarm from which all classes are believed to have become one


def learn(state: State, arrival: Arrival, w: Values, n_steps: float, n_known: int) -> State:
    """Learn examples, and let given labels show whether the stream has changed.

    Parameters
    ----------
    n_known
        Classes that were known before.

    Returns
    -------
    The same state; after an alarm, and while the model recovers, perhaps another.
    """
    if arrival.estimates is None or state.detector is None:
        state.learn(arrival, w, n_steps)
        return state
    recovery = state.recovery
    incumbent = recovery.incumbent.arrival(arrival.x, arrival.classes) if recovery else None
    state.learn(arrival, w, n_steps)
    since = detect(state, arrival, incumbent, n_known) if n_known > 1 else 0
    if since:
        return begin_recovery(state, since, n_steps)
    if not recovery or not incumbent:
        return state
    recovery.incumbent.learn(incumbent, w, n_steps)
    return continue_recovery(state, len(w), n_steps)


def detect(state: State, arrival: Arrival, incumbent: Arrival | None, n_known: int) -> int:
    """Let given labels, predicted before they were learned, show a change.

    Parameters
    ----------
    incumbent
        The same arrival as the incumbent predicts it, during a recovery.

    Returns
    -------
    0, or at an alarm the number of labels since the change.
    """
    assert state.detector is not None
    since = 0
    for scores, label in arrival.scored(n_known):
        since = since or state.detector.update(scores, label)
    if not state.recovery or not incumbent:
        return since
    snapshot = state.recovery.snapshot.arrival(arrival.x, arrival.classes)
    for scores, label in snapshot.scored(n_known):
        state.recovery.update(scores, label)
    state.recovery.compare(arrival.right(n_known), incumbent.right(n_known))
    return 0


def begin_recovery(state: State, since: int, n_steps: float) -> State:
    """After an alarm, for a change so many labels ago: a challenger that is trained anew.

    The given state becomes the snapshot.
    """
    assert state.detector is not None
    detector = state.detector.successor()
    recovery = Recovery.begin(state, min(since, state.history.n_labelled))
    scaling = state.scaling.faded(FOLLOWED)
    return retrained(replace(state, detector=detector, scaling=scaling), recovery, n_steps)


def continue_recovery(state: State, n: int, n_steps: float) -> State:
    """After n more labels: the incumbent, or the challenger, which may be trained anew."""
    recovery, detector = state.recovery, state.detector
    assert recovery is not None
    assert detector is not None
    recovery.n_after += n
    if recovery.refuted:
        return recovery.incumbent
    if recovery.retrains(n):
        state = retrained(state, recovery, n_steps)
    if recovery.over:
        detector.reset()
        state = replace(state, recovery=None)
    return state


@outside_inference_mode
def retrained(state: State, recovery: Recovery[State], n_steps: float) -> State:
    """New networks, trained on the labels since the change and on what old labels are worth."""
    older, newer = recovery.snapshot.history, state.history
    rows = older.labelled()
    n_old = len(rows) - recovery.n_since
    x, classes, w = older.stored(rows[:n_old])
    parts = [older.stored(rows[n_old:])]
    if recovery.n_after:
        parts.append(newer.stored(newer.labelled()[-recovery.n_after :]))
    now, worth = recovery.old_labels(len(state.labels))
    kept = worth[classes] * w > WORTHLESS
    one = recovery.n_after >= FEW
    if one or len({*now[classes[kept]], *(label for _, new, _ in parts for label in new)}) > 1:
        classes, w = now[classes], w * worth[classes]
        x, classes, w = x[kept], classes[kept], w[kept]
    parts.insert(0, (x, classes, w))  # as they were, if too few labels say that one class is left
    anew = replace(
        state,
        history=newer.emptied(),
        trainer=state.trainer.renewed(),
        explorers=state.explorers.renewed(),
        recovery=recovery,
    )
    for x, classes, w in parts:
        targets = anew.arrival(x, classes.tolist()).targets
        anew.history.add(x, targets, w, pseudo_label=False)
    anew.n_dropped = state.n_labels - anew.history.added[0]
    n = anew.history.n_labelled
    anew.explorers.learn(anew.history, anew.scaling, anew.features, n, pseudo_label=False)
    steps = min(MOST_STEPS, n_steps * n)
    anew.trainer.learn(anew.history, anew.scaling, steps, pseudo_label=False)
    return anew
