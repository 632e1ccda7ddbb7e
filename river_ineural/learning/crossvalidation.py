"""How far adversarial training may move examples: as far as labels not yet learned bear out."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from river_ineural.learning.history import Drawn, History
from river_ineural.learning.scaling import Scaling

if TYPE_CHECKING:
    from river_ineural.learning.trainer import Trainer

__all__ = ["better", "errors"]

FOLDS = 2
STEPS = 100  # of the networks that are compared
MOST_ROWS = 1024  # the latest labels, which bounds the work


def errors(
    radii: Sequence[float],
    trainer: Trainer,
    history: History,
    scaling: Scaling,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Squared errors of f1 on given labels that it has not learned, by the radius it learned with.

        w · Σ_i (r1_i - f1(x_i))²

    There are two folds of the labels, each predicted by a network that has learned the other one,
    from the same initial weights and in the same batches whatever the radius. Nothing that is given
    changes but the generator.

    Returns
    -------
    Of each radius and label (radii, labels); inf where an error is not finite.
    """
    rows = rng.permutation(history.labelled()[-MOST_ROWS:])
    plain = scaling.heedless()  # nothing that is tried here says which features matter
    found = np.full((len(radii), len(rows)), math.inf)
    for fold in range(FOLDS):
        held, of_held = rows[fold::FOLDS], slice(fold, None, FOLDS)
        learned = np.concatenate([rows[i::FOLDS] for i in range(FOLDS) if i != fold])
        x, classes, w = history.stored(held)
        for i, radius in enumerate(radii):
            tried = trainer.tried(radius)
            batches = Drawn(history, learned, copy.deepcopy(rng))
            for _ in range(STEPS):
                tried.step(batches, plain, exploring=False)
            error = tried.exploitation(x, plain).astype(np.float64)
            error[np.arange(len(held)), classes] -= 1  # f1 - r1
            square = w * np.square(error).sum(axis=1)
            found[i, of_held] = np.where(np.isfinite(square), square, math.inf)
    return found


def better(errors: NDArray[np.float64], usual: int) -> int:
    """The row of the least sum, if it is below that of the usual one by a standard error.

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
    return best if gain.mean() * math.sqrt(len(gain)) > gain.std() else usual
