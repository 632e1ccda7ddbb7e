"""After a feature came in smaller units: all that a model holds of it, seen from there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from river_ineural.learning.tensors import lasting

if TYPE_CHECKING:
    from river_ineural.learning.state import State, Values
    from river_ineural.learning.units import Shrunk

__all__ = ["in_units", "noted"]


def noted(state: State, values: Values) -> Shrunk | None:
    """Note that an example is learned now: the values (B, names) of the names placed last.

    Returns
    -------
    The features that have shrunk, if there are any.
    """
    state.features.touch()
    return state.scaling.units.noted(values, state.features.found)


@lasting
def in_units(state: State, shrunk: Shrunk) -> State:
    """With other references and statistics of these features, and explorers learned anew.

    The state that is given stays as it is.
    """
    state.settle()
    scaling, rise = state.scaling.renewed(shrunk)
    trial = state.trial and state.trial.each(lambda each: in_units(each, shrunk))
    state = replace(state, scaling=scaling, trial=trial)
    if not rise.any():
        return state
    x, columns = state.history.x.clone(), torch.from_numpy(shrunk.columns)
    for rows in state.history.filled:
        raw = x[rows][:, columns].double() + torch.from_numpy(rise)
        x[rows, columns] = raw.to(x.dtype)
    history, explorers = state.history.twin(x=x), state.explorers.renewed()
    if history.n_labelled:
        explorers.learn(history, scaling, state.features, history.n_labelled, pseudo_label=False)
    return replace(state, history=history, explorers=explorers)
