"""After a change: what is learned anew, and from which labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from river_ineural.learning.change import Trial
from river_ineural.learning.tensors import lasting

if TYPE_CHECKING:
    from river_ineural.learning.state import State

__all__ = ["judged"]

MOST_STEPS = 1000  # of networks that learn anew from what the history holds
WORTHLESS = 0.4  # old labels that weigh no more are dropped
FEW = 16  # labels after an alarm from which all classes are believed to have become one


@lasting
def judged(state: State, trial: Trial, n_steps: float) -> State:
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
    n = anew.history.n_labelled
    anew.explorers.learn(anew.history, anew.scaling, anew.features, n)
    steps = min(MOST_STEPS, n_steps * n)
    anew.trainer.learn(anew.history, anew.scaling, steps, pseudo_label=False)
    return anew
