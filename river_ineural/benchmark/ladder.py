"""From the algorithm as printed to the defaults, one change at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from river import preprocessing

from river_ineural.active import BudgetedSampler, INeurALSampler
from river_ineural.active.width import TheoreticalWidth
from river_ineural.classifier import INeurAL
from river_ineural.learning.training import Training
from river_ineural.paper import theorem_rate

__all__ = ["RUNGS", "Rung", "learner", "parameters"]

THEOREM = "theorem's"  # in place of a rate that depends on the number of rounds
CLASSES = (0, 1)  # of the paper's streams


@dataclass(frozen=True)
class Rung:
    """One change: what it sets, in the classifier, its `Training` and the sampler."""

    name: str
    why: str
    classifier: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    sampler: dict[str, Any] = field(default_factory=dict)

    @property
    def parameter(self) -> str:
        """The parameters as a user writes them."""
        shown = [
            f"{name}={value!r}" for name, value in (*self.classifier.items(), *self.sampler.items())
        ]
        if self.training:
            inner = ", ".join(f"{name}={value!r}" for name, value in self.training.items())
            shown.append(f"Training({inner})")
        return ", ".join(shown)


RUNGS = (
    Rung(
        "as printed",
        "Algorithms 1 and 2, SGD with the theorems' rate, but for the cap of the experiments",
        classifier={
            "hidden_dim": 100,
            "n_layers": 2,
            "lr": THEOREM,
            "batch_size": 64,
            "n_steps": 1.0,
            "adversarial_radius": 0.0,
            "capacity": 12_000,
            "center": False,
            "scale": False,
            "ranks": False,
            "pieces": False,
            "forest": False,
            "relevance": False,
            "normalize": "assumed",
            "iterate": "uniform",
            "drift_detector": None,
            "classes": CLASSES,
        },
        training={
            "optimizer": "sgd",
            "beta2": 0.999,
            "max_norm": math.inf,
            "exploration": "scores",
            "exploration_lr": THEOREM,
            "exploration_share": 1.0,
            "pseudo_label_exploration": True,
            "pseudo_label_steps": 1.0,
            "late_class_steps": 1.0,
            "init_scale": 1.0,
            "labelled_share": None,
            "batches": "separate",
            "n_iterates": None,
        },
        sampler={
            "gamma": 6.0,
            "width": TheoreticalWidth,
            "thrift": 0.0,
            "confidence": 0.0,
            "exploration": 0.0,
            "audits": 0.0,
        },
    ),
    Rung(
        "a larger rate",
        "the theorems' rate is for widths far beyond 100",
        classifier={"lr": 0.5},
        training={"exploration_lr": 0.5},
    ),
    Rung(
        "Adam",
        "what the paper's experiments use: its `experiments`",
        classifier={"lr": 1e-3},
        training={"optimizer": "adam", "exploration_lr": 1e-3},
    ),
    Rung(
        "the last iterate predicts",
        "a draw from all is often one from before most labels were learned",
        classifier={"iterate": "last"},
    ),
    Rung(
        "one batch of whole examples",
        "half of the work: one pass serves both networks",
        training={"batches": "shared"},
    ),
    Rung(
        "a constant width",
        "β_t of the first rounds is beyond any gap: the budget goes to whatever comes first",
        sampler={"width": None},
    ),
    Rung(
        "a threshold that shrinks",
        "late labels go to the closest calls",
        sampler={"thrift": 0.75},
    ),
    Rung(
        "pseudo-labels only when sure",
        "guesses that are not sure are often wrong",
        sampler={"confidence": 0.6},
    ),
    Rung(
        "labels and pseudo-labels apart",
        "97 of 100 examples are pseudo-labelled: they crowd out the labels that were paid for",
        training={"labelled_share": 0.7},
    ),
    Rung(
        "a bounded history",
        "memory does not grow with the stream",
        classifier={"capacity": 8192},
    ),
    Rung(
        "a constant in front",
        "unit norm keeps how long x is; and a network without biases gets one",
        classifier={"normalize": True},
    ),
    Rung("centring", "directions differ more from the mean than from 0", {"center": True}),
    Rung("scaling", "a feature's unit does not matter; these streams have one", {"scale": True}),
    Rung(
        "a slower exploration network",
        "its residuals are of f1 as it was: a fast f2 repeats corrections that f1 has made",
        training={"exploration_lr": 1e-6},
    ),
    Rung(
        "f2 learns from labels alone",
        "the residual of a pseudo-label says nothing about the class",
        training={"pseudo_label_exploration": False},
    ),
    Rung(
        "eight steps a label",
        "labels are few, and each is worth more than one step",
        classifier={"n_steps": 8.0},
    ),
    Rung("f2 in a quarter of them", "less work", training={"exploration_share": 0.25}),
    Rung(
        "a third of a step a pseudo-label",
        "less work, and the labels count for more",
        training={"pseudo_label_steps": 0.35},
    ),
    Rung(
        "η1 and β2",
        "larger steps, and a second moment that forgets faster, for few labels",
        classifier={"lr": 1.4e-3},
        training={"beta2": 0.99},
    ),
    Rung(
        "smaller first layers",
        "what is learned is soon larger than what was drawn",
        training={"init_scale": 0.3},
    ),
    Rung(
        "adversarial training",
        "a margin around the few labels there are",
        classifier={"adversarial_radius": 0.15},
    ),
    Rung(
        "an average of iterates predicts",
        "the noise of single batches is forgotten",
        classifier={"iterate": "average"},
    ),
    Rung(
        "audits",
        "a network that is sure of a wrong answer asks again",
        sampler={"exploration": 0.02, "audits": 0.25},
    ),
    Rung(
        "noticing changes",
        "what a stream that has changed made wrong is forgotten",
        classifier={"drift_detector": "surprise"},
    ),
    Rung(
        "ranks",
        "of values that lie far out or in clumps distances say little",
        classifier={"ranks": True},
    ),
    Rung(
        "relevance",
        "features on which f1 relies are enlarged: the others say less",
        classifier={"relevance": True},
    ),
    Rung(
        "linear pieces",
        "f1 can bend what it makes of a feature where labels held back ask for it",
        classifier={"pieces": True},
    ),
    Rung(
        "no exploration network",
        "it changed nothing by then, for a third of the time and two thirds of the weights",
        training={"exploration": "none"},
    ),
    Rung(
        "a forest beside",
        "trees see where rows were labelled by comparing numbers, and no pieces are needed then",
        classifier={"forest": True, "pieces": False},
    ),
    Rung(
        "the defaults",
        "classes appear, some late; SGD's longest step and the number of iterates do not count",
        classifier={"classes": None},
        training={"late_class_steps": 10.0, "max_norm": 4.0, "n_iterates": 8},
    ),
)


def parameters(rung: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """All that is set up to a rung: in the classifier, its `Training`, the sampler."""
    classifier: dict[str, Any] = {}
    training: dict[str, Any] = {}
    sampler: dict[str, Any] = {}
    for each in RUNGS[: rung + 1]:
        classifier |= each.classifier
        training |= each.training
        sampler |= each.sampler
    return classifier, training, sampler


def learner(rung: int, limits: dict[str, Any]) -> BudgetedSampler:
    """What stands on a rung, for a budget, a horizon and a seed."""
    classifier, training, sampler = parameters(rung)
    rate = theorem_rate(limits["horizon"], classifier["hidden_dim"])
    for settings, name in (classifier, "lr"), (training, "exploration_lr"):
        settings[name] = rate if settings[name] is THEOREM else settings[name]
    if sampler["width"] is TheoreticalWidth:
        sampler["width"] = TheoreticalWidth(horizon=limits["horizon"])
    model: Any = INeurAL(training=Training(**training), seed=limits["seed"], **classifier)
    if classifier["normalize"] == "assumed":
        model = preprocessing.Normalizer() | model  # type: ignore[no-untyped-call]
    return INeurALSampler(model, **sampler, **limits)
