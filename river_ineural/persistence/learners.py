"""What a file holds of a learner: the parts of its networks, history, explorers and detector."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta, field

from river_ineural.classifier.pseudo_labels import TOGETHER
from river_ineural.explorers.forest import NODES
from river_ineural.features.constants import CLOSEST, CONSTANT
from river_ineural.features.validation import HEAVIEST
from river_ineural.features.values import LARGEST
from river_ineural.features.watch import MOST_REFUSED
from river_ineural.persistence.parts import (
    PARTS,
    Class,
    Count,
    Due,
    Finite,
    Integer,
    Level,
    Number,
    OfRiver,
    Part,
    Positive,
    Share,
    Sizes,
    Strings,
    need,
)
from river_ineural.recovery import KEPT

OfFifty = Annotated[float, Meta(ge=0, le=50.1)]  # a sum that fades by a fiftieth
Kind = Annotated[int, Meta(ge=-3)]  # of change: a class, or one of `drift`
FOUR = Meta(min_length=4, max_length=4)  # one number per kind of label


class OfNetworks(Part):
    ARRAYS: ClassVar[dict[str, str]] = {
        "block": "w! 4 n_weights",
        "n_updates": "f4! 2",
        "radius": "w!",
    }
    rng: dict[str, Any]
    n_steps: Count

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        n = np.asarray(state["n_updates"])
        need((n >= 0).all(), f"tensor {path}.n_updates", "no negative number", n)


class OfHistory(Part):
    ARRAYS: ClassVar[dict[str, str]] = {
        **{"x": "f8 rows used", "targets": "w rows 2 k", "weight": "w rows", "given": "w rows"},
        "number": "i8 rows",
    }
    rng: dict[str, Any]
    added: Annotated[list[Count], Meta(min_length=2, max_length=2)]

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        rows, n = sum(map(min, state["capacities"], self.added)), len(state["weight"])
        need(n == rows, path, f"tensors of {rows} rows", n)


class OfScaling(Part):
    ARRAYS: ClassVar[dict[str, str]] = {
        "moments": "f8 4 room",
        "scaling": "f8 3 room",
        "recent": "f8 6 room",
    }
    n: Count
    n_there: Level
    narrow: bool
    sparse: bool


class OfForest(Part):
    ARRAYS: ClassVar[dict[str, str]] = {
        "feature": "i2 64 nodes",
        "threshold": "f8 64 nodes",
        "child": "i4 64 nodes",
        "stale": "? 64",
    }
    rng: dict[str, Any]
    seed: Count
    oldest: Annotated[int, Meta(ge=0, lt=64)]
    due: Annotated[float, Meta(ge=0, le=64)]

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        """A node leads to later nodes by a feature in use or the constant, or is a leaf."""
        feature, child, last = state["feature"], state["child"], state["child"].shape[1] - 1
        on = (feature >= 0) & (feature < sizes["used"])
        on &= (child > np.arange(last + 1)) & (child < last)
        share = state["threshold"]
        to = (feature == -1) & (child >= -1) & (child < sizes["k"]) & (share >= 0) & (share <= 1)
        fine = last < NODES and np.where(feature >= 0, on, to).all()
        need(fine, path, "trees of features and classes in use", child)


class OfDiscriminant(Part):
    ARRAYS: ClassVar[dict[str, str]] = {
        **{"at": "f8! 2 d", "forms": "f8! 2 2 classes d", "constants": "f8 3 classes"},
        **{"losses": "f8! 2 6", "gains": "f8! 2"},
    }
    n_new: Count

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        """Fitted to some of the classes and columns in use, and within what a fit can reach."""
        (*_, k, d), constants = state["forms"].shape, state["constants"]
        fine = k <= sizes["k"] and d <= sizes["used"] and (not k or d)
        need(fine, path, "of classes and features in use", state["forms"])
        mean, scale = state["at"]
        near = (abs(mean) < 2 * LARGEST).all()  # a mean can be above each value by rounding
        fine = near and ((scale >= 0) & (scale <= 1 / CLOSEST)).all()
        need(fine, f"tensor {path}.at", "means and inverse deviations", state["at"])
        shares = np.exp(constants[2])
        near = (abs(state["forms"]) < 1e9).all() and (abs(constants[:2]) < 1e12).all()
        fine = near and (not k or 0 < shares.sum() < 1 + 1e-9)
        need(fine, f"tensor {path}.constants", "log likelihoods, and shares of classes", constants)
        need(state["gains"][1] >= 0, f"tensor {path}.gains", "a gain and a square", state["gains"])


class OfLastLabel(Part):
    last: Annotated[int, Meta(ge=-1)]
    counts: dict[Class, OfFifty]
    age: Count
    predicted: Count
    excess: Number
    variance: OfFifty
    dependent: bool
    changes: OfFifty
    examples: Finite
    predictions: Finite

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        counts, at = self.counts or {-1: 1.0}, f"{path}.counts"
        need(max(counts) < max(1, sizes["k"]), at, "of classes", counts)
        need(counts.get(self.last, 0.0) >= 1, at, "of the last label too", counts)
        need(self.changes <= self.examples, f"{path}.changes", "at most the examples", self.changes)


class OfExplorers(Part):
    ARRAYS: ClassVar[dict[str, str]] = {"a": "f8! n n", "b": "f8! n"}
    predicted: bool = False
    forest: OfForest | None = None
    discriminant: OfDiscriminant | None = None
    last_label: OfLastLabel | None = None

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        a, n = state["a"], len(state["by_name"])
        need(len(a) == n, f"tensor {path}.a", f"of {n} explorers", a)
        least = np.linalg.eigvalsh(a).min(initial=0)
        fine = np.array_equal(a, a.T) and least >= -1e-6 * (1 + a.trace())
        need(fine, f"tensor {path}.a", "symmetric, with no negative eigenvalue", a)


class OfAgeing(Part):
    excess: Annotated[float, Meta(ge=-100.1, le=100.1)]  # a sum that fades by a hundredth
    variance: Annotated[float, Meta(ge=0, le=100.1)]


class OfModel(Part):
    networks: OfNetworks
    history: OfHistory
    scaling: OfScaling
    explorers: OfExplorers
    ageing: OfAgeing
    steps_due: Due
    explorations_due: Due


class OfCusum(Part):
    n: Count
    warning_detected: bool
    sums: dict[Kind, Level]
    since: dict[Kind, Count]

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        need(self.sums.keys() == self.since.keys(), path, "sums with a start each", self.since)


class OfDriftDetector(Part):
    n_drifts: Count
    warning_detected: bool
    n: Count
    n_of_class: dict[Class, Count]
    error_rates: Annotated[list[Share], FOUR]
    surprise_rates: Annotated[list[Share], FOUR]
    counts: Annotated[list[Positive], FOUR]
    recent: list[tuple[Class, float, Class]]
    held_back: list[tuple[Annotated[int, Meta(ge=0, lt=4)], bool, bool]]
    cusum: OfCusum
    river: OfRiver | None

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        most, n = max(self.n_of_class, default=0), sizes["k"]
        need(most < max(n, 1), f"{path}.n_of_class", f"of {n} classes", self.n_of_class)
        fine = (self.river is None) == (state["binary"] is None)
        need(fine, f"{path}.river", "as drift_detector says", self.river)


class OfRecovery(Part):
    detector: OfDriftDetector
    n_since: Count
    n_after: Count
    n_told: Count
    confusion: dict[Class, dict[Class, Level]]
    log_ratio: Number
    confirmed: bool
    lead: Integer

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        classes = {*self.confusion}.union(*self.confusion.values())
        need(max(classes, default=0) < sizes["k"], f"{path}.confusion", "of classes", classes)


class OfFeatureIndex(Part):
    ARRAYS: ClassVar[dict[str, str]] = {"touched": "i8 n_named"}
    now: Count
    strings: Strings = field(default_factory=dict)
    refused: Annotated[list[Count], Meta(max_length=MOST_REFUSED)] = field(default_factory=list)


class OfPseudoLabels(Part):
    ARRAYS: ClassVar[dict[str, str]] = {
        **{"values": "f8 v", "columns": "i8 v", "n_values": "i8 n"},
        **{"classes": "i8 n", "w": "f8 n"},
    }

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        n, counts = len(state["w"]), state["n_values"]
        fine = counts.min(initial=0) >= 0 and counts.max(initial=0) <= len(state["values"])
        fine = n < TOGETHER and fine and counts.sum() == len(state["values"])
        need(fine, path, f"of fewer than {TOGETHER} examples, each with its values", counts)
        values = state["values"][~np.isnan(state["values"])]  # of a missing one
        for name, array, least, most in (
            ("values", values, -LARGEST, LARGEST),
            ("columns", state["columns"][state["columns"] != -1], CONSTANT, sizes["used"] - 1),
            ("classes", state["classes"], 0, sizes["k"] - 1),
            ("w", state["w"], 0, HEAVIEST),
        ):
            fine = ((array >= least) & (array <= most)).all()
            need(fine, f"tensor {path}.{name}", f"from {least} to {most}", array)


class OfFormer(Part):
    model: OfModel
    evidence: Level


class OfLearner(Part):
    features: OfFeatureIndex
    model: OfModel
    pseudo_labels: OfPseudoLabels
    n_labels: Count
    detector: OfDriftDetector | None = None
    recovery: OfRecovery | None = None
    snapshot: OfModel | None = None
    incumbent: OfModel | None = None
    formers: Annotated[list[OfFormer], Meta(max_length=KEPT)] = field(default_factory=list)

    def check(self, state: dict[str, Any], path: str, sizes: Sizes) -> None:
        need(self.detector or not self.formers, f"{path}.formers", "none", self.formers)
        if self.recovery:
            most, since = state["snapshot"].history.n_labelled, self.recovery.n_since
            need(since <= most, f"{path}.recovery.n_since", f"at most {most}", since)


of_here = [kind for kind in Part.__subclasses__() if kind.__module__ == __name__]
PARTS.update({kind.__name__.removeprefix("Of"): kind for kind in of_here})
