"""What the parameters of a classifier may be, and the learner that they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from river import base
from river.base.typing import ClfTarget

from river_ineural.classifier.models import Learner
from river_ineural.drift import DriftDetector
from river_ineural.explorers.trust import EXPLORERS, Explorers
from river_ineural.features.constants import CONSTANT
from river_ineural.features.encoder import Encoder
from river_ineural.features.index import FeatureIndex
from river_ineural.features.keys import plain
from river_ineural.features.labels import LabelIndex
from river_ineural.history import History
from river_ineural.learner import Model
from river_ineural.networks.device import available
from river_ineural.networks.layout import Shape
from river_ineural.networks.weights import Networks

SMALLEST, LARGEST = 1e-37, 1e3  # learning rates with which no weight leaves float32, ever
MOST_LAYERS, MOST_CONTEXTS, MOST_STEPS, MOST_EXAMPLES = 1_000, 1 << 16, 1_000, 1_000_000


def check_explorers(name: str, explorers: Any) -> tuple[str, ...]:
    """The names as text; raises unless it is a tuple or a list of known ones, each once."""
    fine = isinstance(explorers, tuple | list) and all(
        isinstance(each, str) and each in EXPLORERS for each in explorers
    )
    if not fine or len(set(explorers)) < len(explorers):
        raise ValueError(
            f"{name} must be a tuple or a list of some of {tuple(EXPLORERS)}, got {explorers!r}."
        )
    return tuple(map(plain, explorers))


def check_detector(name: str, detector: Any) -> Any:
    """The detector; raises unless it can detect a change, or is None."""
    if isinstance(detector, str) and detector == "cusum":
        return "cusum"
    if not (detector is None or isinstance(detector, base.BinaryDriftDetector)):
        raise TypeError(
            f"{name} must be 'cusum', None or one of river.drift.binary, got {detector!r}."
        )
    return detector


def check_classes(name: str, classes: Any) -> tuple[ClfTarget, ...] | None:
    """The labels as plain values; raises unless they are None, or a tuple or a list of labels."""
    if not (classes is None or (isinstance(classes, tuple | list) and classes)):
        raise TypeError(
            f"{name} must be None, or a tuple or a list of at least one label, got {classes!r}."
        )
    return classes and tuple(map(LabelIndex.checked, classes))


def first_learner(given: Any) -> Learner:
    """A learner with the parameters of a classifier, which has learned nothing."""
    like = torch.empty(0, dtype=given._dtype, device=available(given.device))
    of_weights, of_batches, of_explorers = (
        np.random.default_rng(child) for child in np.random.SeedSequence(given.seed).spawn(3)
    )
    layers = given.hidden_dim, given.n_layers
    shape = Shape(0, 0, *layers, "network" in given.explorers, given._outputs)
    networks = Networks(shape, given._recipe, of_weights, like)
    history = History(given.capacity, of_batches, networks.dtype)
    explorers = Explorers({name: EXPLORERS[name](of_explorers) for name in given.explorers})
    encodes, detector = given.categories or given.missing, given.drift_detector
    encoder = Encoder(given.categories, given.missing) if encodes else None
    if detector is not None:
        detector = DriftDetector(None if isinstance(detector, str) else detector.clone())
    return Learner(
        FeatureIndex(given.max_features, CONSTANT, recycles=True, encoder=encoder),
        LabelIndex(given.max_classes, given.classes or ()),
        Model(networks, history, explorers, given.batch_size),
        detector,
    )
