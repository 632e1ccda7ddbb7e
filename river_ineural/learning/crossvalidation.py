"""Settings that a stream chooses itself: by labels that were given and not yet learned."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_ineural.learning.history import Drawn, History
from river_ineural.learning.scaling import Scaling

if TYPE_CHECKING:
    from river_ineural.learning.trainer import Trainer

__all__ = ["FIRST", "Candidate", "better", "errors"]

FIRST = 32  # given labels until the first choice; until the next, as many as there are
FOLDS = 2
MOST_ROWS = 1024  # the latest labels, which bounds the work


class Candidate(NamedTuple):
    """How examples can be encoded, and how far be moved."""

    trainer: Trainer
    history: History
    scaling: Scaling
    radius: float


def errors(
    candidates: Sequence[Candidate], n_steps: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Squared errors of f1 on given labels that it has not learned, by how it learned.

        w · Σ_i (r1_i - f1(x_i))²

    There are two folds of the labels, each predicted by a network that has learned the other one,
    from new initial weights and in the same batches whatever the candidate. Nothing that is given
    changes but the generator.

    Parameters
    ----------
    candidates
        Whose histories hold the same examples.
    n_steps
        Steps that each takes.

    Returns
    -------
    Of each candidate and label (candidates, labels); inf where an error is not finite.
    """
    rows = rng.permutation(candidates[0].history.labelled()[-MOST_ROWS:])
    found = np.full((len(candidates), len(rows)), math.inf)
    for fold in range(FOLDS):
        held, of_held = rows[fold::FOLDS], slice(fold, None, FOLDS)
        learned = np.concatenate([rows[i::FOLDS] for i in range(FOLDS) if i != fold])
        for i, (trainer, history, scaling, radius) in enumerate(candidates):
            x, classes, w = history.stored(held)
            plain = scaling.heedless()  # nothing that is tried here says which features matter
            tried = trainer.tried(radius)
            batches = Drawn(history, learned, copy.deepcopy(rng))
            for _ in range(round(n_steps)):
                tried.step(batches, plain, exploring=False)
            error = tried.exploitation(x, plain).astype(np.float64)
            error[np.arange(len(held)), classes] -= 1  # f1 - r1
            square = w * np.square(error).sum(axis=1)
            found[i, of_held] = np.where(np.isfinite(square), square, math.inf)
    return found


def better(errors: NDArray[np.float64], usual: int, by: float = 1.0) -> int:
    """The row of the least sum, if it is below that of the usual one by so many standard errors.

    Examples
    --------
    >>> better(np.array([[0.1, 0.2, 0.3], [0.0, 0.1, 0.1]]), usual=0)
    1
    >>> better(np.array([[0.1, 0.2, 0.3], [0.4, 0.0, 0.0]]), usual=0)
    0
    """
    best = int(errors.sum(axis=1).argmin())
    if not np.isfinite(errors[usual]).all():
        return best
    gain = errors[usual] - errors[best]
    return best if gain.mean() * math.sqrt(len(gain)) > by * gain.std() else usual
