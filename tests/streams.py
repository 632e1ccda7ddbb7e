"""Small seeded streams of (features, label); small learners; a sampler and a learner foreseen."""

import contextlib
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from river import base

import river_ineural
from river_ineural import INeurAL, NeurONAL
from river_ineural.active.pipelines import find_learner


def small(kind=INeurAL, **settings):
    """A learner that has learned nothing and is quick at it."""
    return kind(**{"hidden_dim": 8, "batch_size": 8, "seed": 1, **settings})


class Float64(INeurAL):
    """In float64. Adam adds 1e-8 to what it divides by: rounding of 1e-16 becomes 1e-8 a step."""

    _dtype = torch.float64


class Outputs64(NeurONAL):
    """The same."""

    _dtype = torch.float64


def f1_of(model, x):
    """f1 of each class, (k,)."""
    scores, added = model.explained_one(x)
    return np.array([*scores.values()]) - sum(map(np.array, added.values()))


def assert_near(actual, expected, tolerance, what):
    """Each number, relative to it where it is above 1."""
    actual = torch.as_tensor(actual, dtype=torch.float64)
    expected = torch.as_tensor(expected, dtype=torch.float64)
    assert actual.shape == expected.shape, what
    if actual.numel():
        error = ((actual - expected).abs() / (1 + expected.abs())).max().item()
        assert error <= tolerance, f"{what} differ by {error:.2g}"


def learned(model, stream):
    """A model after the examples of a stream."""
    for x, y in stream:
        model.learn_one(x, y)
    return model


def rounds(model, stream):
    """What is predicted and whether it is asked for; what is asked for is learned."""
    for x, y in stream:
        yield (told := model.predict_one(x))
        if told[1]:
            model.learn_one(x, y)


@contextlib.contextmanager
def raises_and_keeps(model, match, error=(TypeError, ValueError)):
    """`pytest.raises`, and the pickle of the model is the same byte for byte after."""
    before = pickle.dumps(model)
    with pytest.raises(error, match=match):
        yield
    assert pickle.dumps(model) == before


def module_of(path):
    """A script of a checkout."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(*arguments, cwd=None, code=0, **environment):
    """What Python prints in a process of its own, which finds the package and these files."""
    folders = Path(river_ineural.__file__).parents[1], Path(__file__).parent
    environment = {"PYTHONPATH": os.pathsep.join(map(str, folders)), **environment}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def told(call, *given):
    """The warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*given)
    return [str(warning.message) for warning in caught]


def waits_its_turn(call, model, lock):
    """Whether a call waits until no other thread holds a lock, and then is done."""
    thread = threading.Thread(target=call, args=(model,))
    with lock:
        thread.start()
        thread.join(0.1)
        waits = thread.is_alive()
    thread.join(60)
    return waits and not thread.is_alive()


def blobs(n, n_features=6, n_classes=2, seed=0, noise=0.5, priors=None):
    """One Gaussian blob a class around standard normal centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, n_features))
    labels = rng.choice(n_classes, size=n, p=priors)
    points = centres[labels] + noise * rng.normal(size=(n, n_features))
    return [
        ({f"f{j}": float(value) for j, value in enumerate(point)}, int(label))
        for point, label in zip(points, labels, strict=True)
    ]


def shifting(n, n_features, n_classes, seed=0):
    """Blobs whose classes and features appear one by one over the first half, and whose features
    are missing now and then, more of them in the last quarter.
    """
    rng = np.random.default_rng(seed)
    stream = []
    for t, (x, label) in enumerate(blobs(n, n_features, n_classes, seed)):
        shown = min(n_features, 2 + t * 2 * n_features // n)
        known = min(n_classes, 1 + (t + 8) // 8) if t < 16 else min(n_classes, 3 + t * 6 // n)
        missing = 0.1 if t < 3 * n // 4 else 0.4
        names = [name for name in list(x)[:shown] if rng.random() >= missing]
        rng.shuffle(names)
        stream.append(({name: x[name] for name in names or ["f0"]}, f"class {label % known}"))
    return stream


def every_gap(t, n_classes, n_layers):
    """A width within which every gap is."""
    return 1e9


def moving(n, period, seed):
    """Intervals of two classes, which move by their own width in so many rounds."""
    values = np.random.default_rng(seed).uniform(0, 2, (n, 2))
    return [({"a": a, "b": b}, bool((a + i / period) % 2 > 1)) for i, (a, b) in enumerate(values)]


def dump(model):
    """What a classifier, alone or in a sampler or pipeline, has learned; tests look nowhere else.

    `features`, `labels`, `detector`, `recovery` and the pseudo-labels `waiting` are of the learner;
    `networks`, `history`, `scaling` and `explorers` of the model in use; `incumbent` and `snapshot`
    hold the same of the others during a recovery, and each of `formers` of one before a change.
    """
    learner = find_learner(getattr(model, "classifier", model))[0]._learner
    parts = {name: getattr(learner, name) for name in ("features", "detector", "recovery")}
    for name in ("incumbent", "snapshot"):
        other = getattr(learner, name)
        parts[name] = other and SimpleNamespace(**vars(other))
    parts["formers"] = [SimpleNamespace(**vars(each.model)) for each in learner.formers]
    parts["evidence"] = [each.evidence for each in learner.formers]
    parts |= {"labels": learner.labels.labels, "waiting": learner.pseudo_labels.examples}
    return SimpleNamespace(**vars(learner.model), **parts)


class Scored(base.Classifier):
    """An `active.Learner` with those scores, whatever it learns."""

    n_layers = 2

    def __init__(self, *scores):
        self.scores = scores
        self.pseudo_labels = []

    @property
    def known_labels(self):
        return tuple(range(len(self.scores)))

    def check_one(self, x, y=0, w=1.0):
        return x

    def scores_one(self, x):
        return dict(enumerate(self.scores))

    def predict_proba_one(self, x, **kwargs):
        return self.scores_one(x)

    def learn_one(self, x, y, pseudo_label=False):
        if pseudo_label:
            self.pseudo_labels.append(y)

    def debug_one(self, x):
        return ""
