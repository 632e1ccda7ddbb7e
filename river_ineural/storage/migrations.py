"""What makes of a file of one schema one of the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from river_ineural.learning.history import History
from river_ineural.learning.ranking import MOST
from river_ineural.learning.scaling import CONSTANT
from river_ineural.storage.classes import LEARNERS
from river_ineural.storage.container import Arrays

__all__ = ["MIGRATIONS", "Document", "Migration"]

Document = dict[str, Any]
Migration = Callable[[Document, Arrays], tuple[Document, Arrays]]


def with_encodings(document: Document, arrays: Arrays) -> tuple[Document, Arrays]:
    """A model that takes no features apart goes on as one that is told not to.

    A sampler has not been sure of anything yet.
    """
    parts = document["objects"]
    for part in tuple(parts):
        kind, state = part["class"], part["state"]
        if kind in LEARNERS:
            state["pieces"] = False
        elif kind == "INeurALSampler":
            first = len(parts) - 1  # the sampler is the last, after all that it holds
            nobody = {"there": False, "_n": 0, "_seen": {"dict": []}}
            parts.insert(-1, {"class": "Reach", "state": {"gap": 1.0}})
            parts.insert(-1, {"class": "Newcomers", "state": nobody})
            state |= {"_reach": {"object": first}, "_newcomers": {"object": first + 1}}
        elif kind == "State":
            state |= {"takes_apart": False, "pieces": None}
        elif kind == "FeatureIndex":
            state["reserved"] = {"tuple": [CONSTANT, 0]}
        elif kind == "Ranking":
            state |= {"ranks": state["wanted"], "most": MOST}
        elif kind == "Trainer":  # chose the radius only, which the adversary did itself
            adversary = parts[state["adversary"]["object"]]["state"]
            state |= {"of_folds": adversary.pop("rng"), "n_until": adversary.pop("n_until")}
            del adversary["most"], adversary["controlled"]  # follow from the limit, and the choice
    return document, arrays


def with_a_role_of_exploration(document: Document, arrays: Arrays) -> tuple[Document, Arrays]:
    """f2 counts in all scores, as it did when there was nothing to choose."""
    for part in document["objects"]:
        if part["class"] == "Training":
            part["state"]["exploration"] = "scores"
    return document, arrays


def with_rings_together(document: Document, arrays: Arrays) -> tuple[Document, Arrays]:
    """The rows of both rings of the history are one array, the labelled ones first.

    There is an f2, used or not, and an average is of 50 steps.
    """
    kept = dict(arrays)
    for part in document["objects"]:
        if part["class"] in ("Shape", "OutputShape"):
            part["state"]["explores"] = True
        elif part["class"] in ("Training", "Iterates"):
            part["state"]["n_averaged"] = 50
        elif part["class"] == "History":
            for name in History.TENSORS:
                labelled, pseudo = part["state"][name]
                parts = [kept.pop(ring["array"]) for ring in (labelled, pseudo)]
                kept[labelled["array"]] = np.concatenate(parts)
                part["state"][name] = labelled
    return document, kept


def without_trees(document: Document, arrays: Arrays) -> tuple[Document, Arrays]:
    """A model without a forest goes on as one that is told to have none."""
    for part in document["objects"]:
        if part["class"] in LEARNERS:
            part["state"]["forest"] = False
        elif part["class"] == "State":
            part["state"]["forest"] = None
    return document, arrays


MIGRATIONS: dict[int, Migration] = {
    1: with_encodings,
    2: with_a_role_of_exploration,
    3: with_rings_together,
    4: without_trees,
}
"""What makes of a file of a schema, by its number, one of the next."""
