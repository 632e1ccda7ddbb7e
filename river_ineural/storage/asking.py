"""Attributes of samplers, and of what they consist of."""

from __future__ import annotations

import numpy as np

from river_ineural.active.decision import REASONS
from river_ineural.learning.explorers import EXPLORERS
from river_ineural.storage.checks import (
    Scope,
    State,
    a_flag,
    a_label,
    a_list,
    a_mapping,
    a_number,
    a_real,
    a_text,
    a_tuple,
    an_array,
    an_integer,
    an_object,
    need,
    optional,
)
from river_ineural.storage.fields import Fields, anything
from river_ineural.storage.values import Stored

BUDGET: Fields = dict.fromkeys(("limit", "horizon", "burst"), anything)
CONSTANT_WIDTH: Fields = {"beta": anything}
THEORETICAL_WIDTH: Fields = dict.fromkeys(("delta", "horizon", "c1", "c2", "c3"), anything)
NEURONAL_WIDTH: Fields = dict.fromkeys(("delta", "horizon", "s"), anything)
ACCOUNT: Fields = {
    **dict.fromkeys(("n_rounds", "n_asked", "_since"), an_integer()),
    **dict.fromkeys(("_size", "_missing"), a_number(0)),
    "left": a_number(),
    "budget": an_object("Budget"),
    "rate": optional(a_number(0, 1)),
    "bucket": optional(a_number(1)),
}
PENDING: Fields = {
    "rounds": an_array("int64", "n_pending"),
    "keys": an_array("int64", "n_pending"),
    "named": an_array("bool", "n_pending"),
    "fingerprint": an_integer(-(1 << 63)),
}


def of_pending(state: State, where: str, scope: Scope) -> Scope:
    rounds = state.get("rounds")
    need(
        isinstance(rounds, Stored) and rounds.array.ndim == 1, f"{where}.rounds", "a tensor", rounds
    )
    assert isinstance(rounds, Stored)
    fine = bool((np.diff(rounds.array) > 0).all())
    need(fine, f"tensor {rounds.name}", "rounds that follow each other", rounds.array)
    return scope.within(n_pending=len(rounds.array))


a_round = an_integer()
REACH: Fields = {"gap": a_number(1)}
NEWCOMERS: Fields = {
    "there": a_flag,
    "_n": a_round,
    "_seen": a_mapping(a_label, a_tuple(a_round, a_round)),
}
SAMPLER: Fields = {
    "_rng": an_object("Random"),
    "_last": optional(
        a_tuple(
            *(a_flag, a_text(*REASONS), a_real, a_real, a_number(0)),
            a_mapping(a_text(*EXPLORERS), a_real),
        )
    ),
    "n_by_reason": a_mapping(a_text(*REASONS), a_round),
    "drifts": a_list(a_round),
    "_n_drifts": a_round,
    "_account": an_object("Account"),
    "_pending": an_object("Pending"),
    "_n_labels": a_round,
    "_warned": a_flag,
}
INEURAL_SAMPLER: Fields = {
    **SAMPLER,
    **dict.fromkeys(("_n_learned", "_last_ask", "n_pseudo_labels"), a_round),
    "_reach": an_object("Reach"),
    "_newcomers": an_object("Newcomers"),
    "_unseen": optional(a_list(a_label)),
}
