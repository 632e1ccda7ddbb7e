"""Streams that change: River's generators, and data sets that are changed on their way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.datasets import synth
from river.datasets.base import SyntheticDataset

from river_ineural.datasets import FOLDER, KnownPosterior

__all__ = ["FLIPS", "PANEL", "STILL", "STREAMS", "Source", "Stream", "there"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GENERATED, CHANGED, ORDERED, FLIPPED = 10_000, 8_000, 20_000, 20_000  # rounds, where there are such


@dataclass(frozen=True)
class Stream:
    """Examples in their order.

    Parameters
    ----------
    x, y
        (n, d), and (n,) of classes 0, 1, …
    changes
        Rounds from which on something is different, as far as they are known; of a gradual change
        where it begins and where it ends.
    """

    x: Floats
    y: Integers
    changes: tuple[int, ...] = ()


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
    """Of these names, or all, those whose stream can be made; says which are left out."""
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


def steady(make: Callable[[int], SyntheticDataset], seed: int) -> Stream:
    """A generator that changes of its own accord, a little in every round."""
    return Stream(*generated(make(seed), GENERATED))


def abrupt(make: Variant, variants: Sequence[int], seed: int) -> Stream:
    """One variant after another, each for the same number of rounds."""
    n = GENERATED // len(variants)
    parts = [generated(make(v, seed + 17 * i), n) for i, v in enumerate(variants)]
    x, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Stream(x, y, tuple(range(n, len(y), n)))


def gradual(make: Variant, variants: tuple[int, int], seed: int) -> Stream:
    """From one variant to another: in the middle both are equally likely, 500 rounds away 88 %."""
    middle, width = GENERATED // 2, 1_000
    before, after = (make(v, seed + i) for i, v in enumerate(variants))
    stream = synth.ConceptDriftStream(before, after, seed=seed, position=middle, width=width)
    return Stream(*generated(stream, GENERATED), (middle - width // 2, middle + width // 2))


def flip(margin: float, seed: int) -> Stream:
    """Two classes that trade places half-way; the margin is that of `KnownPosterior`."""
    known = KnownPosterior(n_samples=FLIPPED, n_features=10, margin=margin, seed=seed)
    x, y = generated(known, FLIPPED)
    half = FLIPPED // 2
    return Stream(x, np.concatenate([y[:half], 1 - y[half:]]), (half,))


def path(file: str) -> Path:
    """Of a file, X (n, d) and y (n,), in the folder that RIVER_INEURAL_DATA names."""
    return Path(os.environ[FOLDER]) / f"{file}.npz"


def rows(file: str, n: int, seed: int | None) -> tuple[Floats, Integers]:
    """n rows at most, in an order that the seed draws, or in the order of the file."""
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
    """Classes 0 and 1 trade places half-way, the others stay."""
    on, changes = once(len(y), seed)
    return Stream(x, np.where(on & (y < 2), 1 - y, y), changes)


def permuted(x: Floats, y: Integers, seed: int) -> Stream:
    """Features trade places half-way."""
    on, changes = once(len(y), seed)
    order = np.random.default_rng(seed + 9).permutation(x.shape[1])
    return Stream(np.where(on[:, None], x[:, order], x), y, changes)


def arriving(x: Floats, y: Integers, seed: int) -> Stream:
    """Classes come two by two, at equal distances; those that are there are equally likely."""
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
    """As it is."""
    return Stream(x, y)


def shuffled(file: str, change: Change, n: int = CHANGED) -> Source:
    """Rows in an order that the seed draws, then the change."""
    return Source(lambda seed: change(*rows(file, n, seed), seed), file)


def ordered(file: str) -> Source:
    """Rows in the order in which they were recorded, for every seed."""
    return Source(lambda seed: Stream(*rows(file, ORDERED, None)), file)


def sea(variant: int, seed: int) -> SyntheticDataset:
    return synth.SEA(variant=variant, noise=0.1, seed=seed)


def agrawal(variant: int, seed: int) -> SyntheticDataset:
    return synth.Agrawal(classification_function=variant, seed=seed)


def stagger(variant: int, seed: int) -> SyntheticDataset:
    return synth.STAGGER(classification_function=variant, seed=seed)


def sine(variant: int, seed: int) -> SyntheticDataset:
    return synth.Sine(classification_function=variant, seed=seed)


def mixed(variant: int, seed: int) -> SyntheticDataset:
    return synth.Mixed(classification_function=variant, seed=seed)


def led(variant: int, seed: int) -> SyntheticDataset:
    return synth.LEDDrift(
        seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=variant
    )


def hyperplane(seed: int) -> SyntheticDataset:
    return synth.Hyperplane(seed=seed, n_features=10, n_drift_features=5, mag_change=0.001)


def rbf(seed: int) -> SyntheticDataset:
    settings: dict[str, Any] = {"n_classes": 3, "n_features": 10, "n_centroids": 20}
    settings |= {"change_speed": 0.0005, "n_drift_centroids": 20}
    return synth.RandomRBFDrift(seed_model=seed, seed_sample=seed + 1, **settings)


PANEL = {
    "sea abrupt": Source(partial(abrupt, sea, (0, 1, 2, 3))),
    "agrawal abrupt": Source(partial(abrupt, agrawal, (0, 3, 6))),
    "agrawal gradual": Source(partial(gradual, agrawal, (2, 4))),
    "stagger": Source(partial(abrupt, stagger, (0, 1, 2))),
    "sine": Source(partial(abrupt, sine, (0, 1, 2, 3))),
    "mixed": Source(partial(abrupt, mixed, (0, 1, 0))),
    "mixed gradual": Source(partial(gradual, mixed, (0, 1))),
    "led drift": Source(partial(abrupt, led, (0, 3, 7))),
    "hyperplane": Source(partial(steady, hyperplane)),
    "rbf drift": Source(partial(steady, rbf)),
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
FLIPS = {
    "label flip": Source(partial(flip, 1.0)),
    "label flip, noisy": Source(partial(flip, 0.8)),
}
STILL = {
    name: shuffled(name, still, GENERATED)
    for name in ("phishing", "ijcnn", "magic", "spambase", "htru2", "robot", "mnist")
}
STREAMS = PANEL | FLIPS | STILL
