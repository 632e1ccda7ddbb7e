"""Rescaling what a model holds of a feature that has come in smaller units."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from river_ineural.learning.tensors import outside_inference_mode

if TYPE_CHECKING:
    from river_ineural.learning.state import State, Values
    from river_ineural.learning.units import UnitChange

__all__ = ["rescaled", "unit_change"]


def unit_change(state: State, values: Values) -> UnitChange | None:
    """Count an example that is learned now: values (B, names) of the names placed last.

    Returns
    -------
    The features whose units have shrunk, or None.
    """
    state.features.touch()
    return state.scaling.units.update(values, state.features.found)


@outside_inference_mode
def rescaled(state: State, change: UnitChange) -> State:
    """The state with new references and statistics of these features, and new explorers.

    The given state stays as it is.
    """
    state.settle()
    scaling, rise = state.scaling.renewed(change)
    recovery = state.recovery and state.recovery.map(lambda each: rescaled(each, change))
    state = replace(state, scaling=scaling, recovery=recovery)
    if not rise.any():
        return state
    x, columns = state.history.x.clone(), torch.from_numpy(change.columns)
    for rows in state.history.filled:
        raw = x[rows][:, columns].double() + torch.from_numpy(rise)
        x[rows, columns] = raw.to(x.dtype)
    history, explorers = state.history.replaced(x=x), state.explorers.renewed()
    if history.n_labelled:
        explorers.learn(history, scaling, state.features, history.n_labelled, pseudo_label=False)
    return replace(state, history=history, explorers=explorers)
