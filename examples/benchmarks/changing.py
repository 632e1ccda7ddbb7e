"""Streams that change: River's generators, and data sets that are changed on their way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.datasets import synth
from river.datasets.base import SyntheticDataset

from river_ineural.datasets import FOLDER, KnownPosterior

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GENERATED, CHANGED, ORDERED, FLIPPED = 10_000, 8_000, 20_000, 20_000  # rounds, where there are such


@dataclass(frozen=True)
class Stream:
    """Examples x (n, d) and their classes y (n,) of 0, 1, … in their order.

    Parameters
    ----------
    changes
        Rounds from which on something is different, as far as they are known. A gradual change has
        the round in which it begins and the one in which it ends.
    """

    x: Floats
    y: Integers
    changes: tuple[int, ...] = ()

    @property
    def n_classes(self) -> int:
        """How many classes there are in the whole stream."""
        return int(self.y.max()) + 1


@dataclass(frozen=True)
class Source:
    """A stream for each seed; `file` names what it is made from, None where it is generated."""

    make: Callable[[int], Stream]
    file: str | None = None

    @property
    def there(self) -> bool:
        """Whether its file is in the folder that RIVER_INEURAL_DATA names, if it needs one."""
        return self.file is None or (FOLDER in os.environ and path(self.file).is_file())


def there(streams: Mapping[str, Source], names: Iterable[str] | None) -> list[str]:
    """Of these names, or all, those whose stream can be made. It says which are left out."""
    wanted = list(names or streams)
    for name in wanted:
        if not streams[name].there:
            print(f"{name}: left out, there is no {streams[name].file}.npz")
    return [name for name in wanted if streams[name].there]


Variant = Callable[[int, int], SyntheticDataset]  # of which there are several, and a seed
Change = Callable[[Floats, Integers, int], Stream]  # the last is a seed
Schedule = Callable[[int, int], tuple[NDArray[np.bool_], tuple[int, ...]]]  # rounds, and a seed


def generated(stream: SyntheticDataset, n: int) -> tuple[Floats, Integers]:
    """The first n examples."""
    examples = list(stream.take(n))
    x = np.array([[float(value) for value in x.values()] for x, _ in examples])
    return x, np.array([int(y) for _, y in examples])


def steady(make: Callable[[int], SyntheticDataset]) -> Source:
    """A generator that changes of its own accord, a little in every round."""
    return Source(lambda seed: Stream(*generated(make(seed), GENERATED)))


def abrupt(make: Variant, *variants: int) -> Source:
    """One variant after another, each for the same number of rounds."""

    def stream(seed: int) -> Stream:
        n = GENERATED // len(variants)
        parts = [generated(make(v, seed + 17 * i), n) for i, v in enumerate(variants)]
        x, y = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Stream(x, y, tuple(range(n, len(y), n)))

    return Source(stream)


def gradual(make: Variant, *variants: int) -> Source:
    """From one variant to another: in the middle both are equally likely, 500 rounds away 88 %."""

    def stream(seed: int) -> Stream:
        middle, width = GENERATED // 2, 1_000
        before, after = (make(v, seed + i) for i, v in enumerate(variants))
        both = synth.ConceptDriftStream(before, after, seed=seed, position=middle, width=width)
        return Stream(*generated(both, GENERATED), (middle - width // 2, middle + width // 2))

    return Source(stream)


def flip(margin: float) -> Source:
    """Two classes that trade places half-way. The margin is that of `KnownPosterior`."""

    def stream(seed: int) -> Stream:
        known = KnownPosterior(n_samples=FLIPPED, n_features=10, margin=margin, seed=seed)
        x, y = generated(known, FLIPPED)
        half = FLIPPED // 2
        return Stream(x, np.concatenate([y[:half], 1 - y[half:]]), (half,))

    return Source(stream)


def path(file: str) -> Path:
    """Of a file, X (n, d) and y (n,), in the folder that RIVER_INEURAL_DATA names."""
    return Path(os.environ[FOLDER]) / f"{file}.npz"


def rows(file: str, n: int, seed: int | None) -> tuple[Floats, Integers]:
    """At most n rows, in an order that the seed draws, or in the order of the file."""
    with np.load(path(file)) as arrays:
        x, y = arrays["X"], np.unique(arrays["y"], return_inverse=True)[1]
    order = np.arange(len(y)) if seed is None else np.random.default_rng(seed).permutation(len(y))
    return x[order[:n]].astype(np.float64), y[order[:n]]


def once(n: int, seed: int) -> tuple[NDArray[np.bool_], tuple[int, ...]]:
    """Changed in the second half."""
    return np.arange(n) >= n // 2, (n // 2,)


def more_and_more(n: int, seed: int) -> tuple[NDArray[np.bool_], tuple[int, ...]]:
    """Changed ever more often between 40 % and 60 % of the rounds, and always from then on."""
    likely = np.clip((np.arange(n) - 0.4 * n) / (0.2 * n), 0, 1)
    return np.random.default_rng(seed + 5).random(n) < likely, (int(0.4 * n), int(0.6 * n))


def back_and_forth(n: int, seed: int) -> tuple[NDArray[np.bool_], tuple[int, ...]]:
    """Changed in the second and the fourth quarter."""
    return np.arange(n) * 4 // n % 2 == 1, tuple(-(-i * n // 4) for i in (1, 2, 3))


def rotated(schedule: Schedule) -> Change:
    """Each class takes the name of the next one, in the rounds that the schedule says."""

    def change(x: Floats, y: Integers, seed: int) -> Stream:
        on, changes = schedule(len(y), seed)
        return Stream(x, np.where(on, (y + 1) % (y.max() + 1), y), changes)

    return change


def swapped(x: Floats, y: Integers, seed: int) -> Stream:
    """Classes 0 and 1 trade places half-way, and the others stay."""
    on, changes = once(len(y), seed)
    return Stream(x, np.where(on & (y < 2), 1 - y, y), changes)


def permuted(x: Floats, y: Integers, seed: int) -> Stream:
    """Features trade places half-way."""
    on, changes = once(len(y), seed)
    order = np.random.default_rng(seed + 9).permutation(x.shape[1])
    return Stream(np.where(on[:, None], x[:, order], x), y, changes)


def arriving(x: Floats, y: Integers, seed: int) -> Stream:
    """Classes come two by two, at equal distances. Those that are there are equally likely."""
    k = int(y.max()) + 1
    n = min(CHANGED, len(y))
    rng = np.random.default_rng(seed + 3)
    starts = np.arange(k) // 2 * (n / k)
    left = [np.flatnonzero(y == c).tolist() for c in range(k)]
    order: list[int] = []
    for t in range(n):
        there = [c for c in range(k) if starts[c] <= t and left[c]]
        order.append(left[rng.choice(there)].pop())
    changes = np.ceil(np.unique(starts)[1:]).astype(int)
    return Stream(x[order], y[order], tuple(changes.tolist()))


def still(x: Floats, y: Integers, seed: int) -> Stream:
    """The rows as they are."""
    return Stream(x, y)


def shuffled(file: str, change: Change = still, n: int = CHANGED) -> Source:
    """Rows in an order that the seed draws, then the change."""
    return Source(lambda seed: change(*rows(file, n, seed), seed), file)


def ordered(file: str) -> Source:
    """Rows in the order in which they were recorded, for every seed."""
    return Source(lambda seed: Stream(*rows(file, ORDERED, None)), file)


def sea(variant: int, seed: int) -> SyntheticDataset:
    return synth.SEA(variant=variant, noise=0.1, seed=seed)


def by_function(kind: Any) -> Variant:
    """Variants of a generator are its classification functions."""
    return lambda variant, seed: kind(classification_function=variant, seed=seed)


def led(variant: int, seed: int) -> SyntheticDataset:
    settings: dict[str, Any] = {"noise_percentage": 0.1, "irrelevant_features": True}
    return synth.LEDDrift(seed=seed, n_drift_features=variant, **settings)


def hyperplane(seed: int) -> SyntheticDataset:
    return synth.Hyperplane(seed=seed, n_features=10, n_drift_features=5, mag_change=0.001)


def rbf(seed: int) -> SyntheticDataset:
    settings: dict[str, Any] = {"n_classes": 3, "n_features": 10, "n_centroids": 20}
    settings |= {"change_speed": 0.0005, "n_drift_centroids": 20}
    return synth.RandomRBFDrift(seed_model=seed, seed_sample=seed + 1, **settings)


PANEL = {
    "sea abrupt": abrupt(sea, 0, 1, 2, 3),
    "agrawal abrupt": abrupt(by_function(synth.Agrawal), 0, 3, 6),
    "agrawal gradual": gradual(by_function(synth.Agrawal), 2, 4),
    "stagger": abrupt(by_function(synth.STAGGER), 0, 1, 2),
    "sine": abrupt(by_function(synth.Sine), 0, 1, 2, 3),
    "mixed": abrupt(by_function(synth.Mixed), 0, 1, 0),
    "mixed gradual": gradual(by_function(synth.Mixed), 0, 1),
    "led drift": abrupt(led, 0, 3, 7),
    "hyperplane": steady(hyperplane),
    "rbf drift": steady(rbf),
    "phishing once": shuffled("phishing", rotated(once)),
    "phishing back": shuffled("phishing", rotated(back_and_forth)),
    "magic once": shuffled("magic", rotated(once)),
    "magic gradual": shuffled("magic", rotated(more_and_more)),
    "mnist once": shuffled("mnist", rotated(once)),
    "robot back": shuffled("robot", rotated(back_and_forth)),
    "fashion10 gradual": shuffled("fashion_10", rotated(more_and_more)),
    "htru2 back": shuffled("htru2", rotated(back_and_forth)),
    "spambase once": shuffled("spambase", rotated(once)),
    "fashion10 two swap": shuffled("fashion_10", swapped),
    "phishing permuted": shuffled("phishing", permuted),
    "ijcnn permuted": shuffled("ijcnn", permuted),
    "mnist arriving": shuffled("mnist", arriving, 12_000),  # classes of which enough are left
    "robot arriving": shuffled("robot", arriving, 12_000),
    **{name: ordered(name) for name in ("luxembourg", "weather", "sea", "bank", "occupancy")},
}
FLIPS = {"label flip": flip(1.0), "label flip, noisy": flip(0.8)}
STILL = {
    name: shuffled(name, n=GENERATED)
    for name in ("phishing", "ijcnn", "magic", "spambase", "htru2", "robot", "mnist")
}
STREAMS = PANEL | FLIPS | STILL
