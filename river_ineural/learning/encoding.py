"""How a stream wants its examples: moved how far, features taken apart or not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from river_ineural.learning import trainer
from river_ineural.learning.crossvalidation import FOLDS, Candidate, better, errors
from river_ineural.learning.pieces import Pieces
from river_ineural.learning.scaling import CONSTANT
from river_ineural.learning.tensors import lasting

if TYPE_CHECKING:
    from river_ineural.learning.state import State

__all__ = ["MOST_STEPS", "candidate", "chosen", "encoded", "encodings"]

MOST_STEPS = 1000  # of networks that learn anew from what the history holds
RADIUS_STEPS = 100  # by which radii are compared
SURE = 3.0  # standard errors by which another encoding is to be better: networks learn anew


def chosen(state: State, n: int, n_steps: float, anew: bool = True) -> State:
    """After n given labels, the settings that cross-validation finds better, if that is due.

    That is after 32 labels, and again whenever their number has doubled. How far examples may be
    moved is compared by few steps; another radius has to be better by a standard error. Whether
    features are taken apart into pieces is compared by as many as the labels learned from would be
    followed by, 1,000 at most: pieces learn faster, and after few steps seem better than they are.
    Another encoding has to be better by three. All that where there are few enough features for it
    to cost little.

    Parameters
    ----------
    n_steps
        That follow a label.
    anew
        Whether networks may have to learn anew.

    Returns
    -------
    This state; where features are to be encoded in another way, one whose networks learn anew.
    """
    own, n_labelled = state.trainer, state.history.n_labelled
    adversary = own.adversary
    if own.shape.n_classes < 2:
        return state
    own.n_until -= n
    if own.n_until > 0 or not state.scaling.narrow:
        return state
    if adversary.limit:
        tried = [candidate(state, radius) for radius in adversary.choices]
        found = errors(tried, RADIUS_STEPS, own.of_folds)
        adversary.chosen = better(found, adversary.chosen)
        own.steps.forget()
    best = state
    if anew and (others := encodings(state)):
        tried = [candidate(each, adversary.most) for each in (state, *others)]
        steps = min(MOST_STEPS, n_steps * n_labelled / FOLDS)
        best = (state, *others)[better(errors(tried, steps, own.of_folds), 0, SURE)]
    own.n_until = n_labelled
    if best is not state:
        best.trainer = best.trainer.renewed(n_until=n_labelled)
        steps = min(MOST_STEPS, n_steps * n_labelled)
        best.trainer.learn(best.history, best.scaling, steps, pseudo_label=False)
    return best


def candidate(state: State, radius: float) -> Candidate:
    """How a state encodes, examples being moved so far."""
    return Candidate(state.trainer, state.history, state.scaling, radius)


def encodings(state: State) -> list[State]:
    """States in which features are encoded in another way, whose networks have to learn."""
    if not state.takes_apart:
        return []
    kept = state.features.unreserved
    pieces = Pieces.of(state.scaling.ranking.seen()[:, kept])
    if pieces:
        shape = state.trainer.shape._replace(n_features=len(kept) + len(pieces))
        pieces = pieces if shape.n_parameters <= trainer.MOST_WEIGHTS else None
    others = [None] if state.pieces else []
    return [encoded(state, each) for each in ([*others, pieces] if pieces else others)]


@lasting
def encoded(state: State, pieces: Pieces | None) -> State:
    """A state of the same examples with these pieces; the given one stays as it is.

    Its trainer is to be `renewed`.
    """
    state.settle()
    kept = state.features.unreserved
    features = state.features.reserving(len(pieces) if pieces else 0)
    n, before = CONSTANT + len(features), state.trainer
    anew = before.beside()
    anew.shape, anew.n_features = before.shape._replace(n_features=n), n
    anew.flat = before.flat.new_zeros(anew.shape.n_parameters)
    return replace(
        state,
        features=features,
        scaling=state.scaling.rearranged(kept, pieces),
        history=state.history.rearranged(kept, pieces),
        trainer=anew,
        forest=state.forest and state.forest.rearranged(kept),
        pieces=pieces,
    )
