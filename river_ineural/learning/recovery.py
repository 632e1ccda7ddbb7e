"""Given labels tell of a change; after one, what is learned anew, and from which labels."""

from __future__ import annotations

from dataclasses import replace

from river_ineural.learning.arrival import Arrival
from river_ineural.learning.change import Trial
from river_ineural.learning.state import State, Values
from river_ineural.learning.tensors import lasting

__all__ = ["learned"]

FOLLOWED = 50  # examples that the statistics count as after a change, so that they follow it
MOST_STEPS = 1000  # of networks that learn anew from what the history holds
WORTHLESS = 0.4  # old labels that weigh no more are dropped
FEW = 16  # labels after an alarm from which all classes are believed to have become one


def learned(state: State, arrival: Arrival, w: Values, n_steps: float, n_known: int) -> State:
    """Learn examples, and see by labels that are given whether the stream has changed.

    Parameters
    ----------
    n_known
        Classes that were known before.

    Returns
    -------
    The same state; at an alarm, and while it is tried whether there was a change, perhaps another.
    """
    if arrival.estimates is None or state.watch is None:
        state.learn(arrival, w, n_steps)
        return state
    trial = state.trial
    ongoing = trial.ongoing.arrival(arrival.x, arrival.classes) if trial else None
    state.learn(arrival, w, n_steps)
    since = watched(state, arrival, ongoing, n_known) if n_known > 1 else 0
    if since:
        return alarmed(state, since, n_steps)
    if not trial or not ongoing:
        return state
    trial.ongoing.learn(ongoing, w, n_steps)
    return tried(state, len(w), n_steps)


def watched(state: State, arrival: Arrival, ongoing: Arrival | None, n_known: int) -> int:
    """Let given labels, predicted before they were learned, tell of a change.

    Parameters
    ----------
    ongoing
        The same as the state that is kept during a trial sees it.

    Returns
    -------
    0, or at an alarm the number of labels since the change.
    """
    assert state.watch is not None
    since = 0
    for scores, label in arrival.judged(n_known):
        since = since or state.watch.see(scores, label)
    if not state.trial or not ongoing:
        return since
    former = state.trial.former.arrival(arrival.x, arrival.classes)
    for scores, label in former.judged(n_known):
        state.trial.see(scores, label)
    state.trial.compare(arrival.right(n_known), ongoing.right(n_known))
    return 0


def alarmed(state: State, since: int, n_steps: float) -> State:
    """After a change so many labels ago: networks that learn anew, the former ones on trial.

    The given state stays as it is, as the former one.
    """
    assert state.watch is not None
    watch = state.watch.successor()
    trial = Trial.begun(state, min(since, state.history.n_labelled))
    scaling = state.scaling.faded(FOLLOWED)
    return judged(replace(state, watch=watch, scaling=scaling), trial, n_steps)


def tried(state: State, n: int, n_steps: float) -> State:
    """After n more labels in a trial: what it has come to."""
    trial, watch = state.trial, state.watch
    assert trial is not None
    assert watch is not None
    trial.n_judged += n
    if trial.refuted:
        return trial.ongoing
    if trial.due(n):
        state = judged(state, trial, n_steps)
    if trial.over:
        watch.calm()
        state = replace(state, trial=None)
    return state


@lasting
def judged(state: State, trial: Trial[State], n_steps: float) -> State:
    """Networks anew, from the labels since the change and from what older ones are worth."""
    older, newer = trial.former.history, state.history
    rows = older.labelled()
    n_old = len(rows) - trial.n_since
    x, classes, w = older.stored(rows[:n_old])
    parts = [older.stored(rows[n_old:])]
    if trial.n_judged:
        parts.append(newer.stored(newer.labelled()[-trial.n_judged :]))
    becomes, worth = trial.fates(len(state.labels))
    kept = worth[classes] * w > WORTHLESS
    one = trial.n_judged >= FEW
    if one or len({*becomes[classes[kept]], *(label for _, new, _ in parts for label in new)}) > 1:
        classes, w = becomes[classes], w * worth[classes]
        x, classes, w = x[kept], classes[kept], w[kept]
    parts.insert(0, (x, classes, w))  # as they were, if too few labels say that one class is left
    anew = replace(
        state,
        history=newer.emptied(),
        trainer=state.trainer.renewed(),
        explorers=state.explorers.renewed(),
        trial=trial,
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
