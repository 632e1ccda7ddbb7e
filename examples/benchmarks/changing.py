"""Streams that change: River's generators, and data sets with artificial changes."""

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
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

from river_ineural.datasets import FOLDER, KnownPosterior

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GENERATED, CHANGED, ORDERED, FLIPPED = 10_000, 8_000, 20_000, 20_000  # most rounds of each kind


@dataclass(frozen=True)
class Stream:
    """Examples x (n, d), their classes y (n,) in 0, 1, …, and the rounds of known changes.

    A gradual change has two rounds: where it begins and where it ends.
    """

    x: Floats
    y: Integers
    changes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Source:
    """Makes a stream for each seed; `file` is its data file, None if the stream is generated."""

    make: Callable[[int], Stream]
    file: str | None = None


def there(streams: Mapping[str, Source], names: Iterable[str] | None) -> list[str]:
    """The given names (None: all) whose data file exists. It prints which are left out."""
    found = []
    for name in names or streams:
        file = streams[name].file
        if file is None or (FOLDER in os.environ and path(file).is_file()):
            found.append(name)
        else:
            print(f"{name}: left out, there is no {file}.npz")
    return found


Variant = Callable[[int, int], SyntheticDataset]  # arguments: variant, seed
Change = Callable[[Floats, Integers, int], Stream]  # arguments: x, y, seed
When = tuple[NDArray[np.bool_], tuple[int, ...]]  # which rounds are changed; rounds of changes


def generated(stream: SyntheticDataset, n: int) -> tuple[Floats, Integers]:
    """The first n examples of a generator, as arrays."""
    examples = list(stream.take(n))
    x = np.array([[float(value) for value in x.values()] for x, _ in examples])
    return x, np.array([int(y) for _, y in examples])


def steady(make: Callable[[int], SyntheticDataset], seed: int) -> Stream:
    """A generator that changes by itself, a little in every round."""
    return Stream(*generated(make(seed), GENERATED))


def abrupt(make: Variant, variants: Sequence[int], seed: int) -> Stream:
    """One variant after another, each for the same number of rounds."""
    n = GENERATED // len(variants)
    parts = [generated(make(v, seed + 17 * i), n) for i, v in enumerate(variants)]
    x, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Stream(x, y, tuple(range(n, len(y), n)))


def gradual(make: Variant, variants: tuple[int, int], seed: int) -> Stream:
    """From one variant to the second, which has 50 % in the middle and 88 % 500 rounds later."""
    middle, width = GENERATED // 2, 1_000
    before, after = (make(v, seed + i) for i, v in enumerate(variants))
    stream = synth.ConceptDriftStream(before, after, seed=seed, position=middle, width=width)
    return Stream(*generated(stream, GENERATED), (middle - width // 2, middle + width // 2))


def flip(margin: float, seed: int) -> Stream:
    """Two classes that trade places half-way. The margin is that of `KnownPosterior`."""
    known = KnownPosterior(n_samples=FLIPPED, n_features=10, margin=margin, seed=seed)
    x, y = generated(known, FLIPPED)
    half = FLIPPED // 2
    return Stream(x, np.concatenate([y[:half], 1 - y[half:]]), (half,))


def path(file: str) -> Path:
    """Path of a file with X (n, d) and y (n,) in the folder $RIVER_INEURAL_DATA."""
    return Path(os.environ[FOLDER]) / f"{file}.npz"


def rows(file: str, n: int, seed: int | None) -> tuple[Floats, Integers]:
    """At most n rows of a file, shuffled by the seed; None keeps the order of the file."""
    with np.load(path(file)) as arrays:
        x, y = arrays["X"], np.unique(arrays["y"], return_inverse=True)[1]
    order = np.arange(len(y)) if seed is None else np.random.default_rng(seed).permutation(len(y))
    return x[order[:n]].astype(np.float64), y[order[:n]]


def once(n: int, seed: int) -> When:
    """Changed in the second half."""
    return np.arange(n) >= n // 2, (n // 2,)


def more_and_more(n: int, seed: int) -> When:
    """Changed with growing probability from 40 % to 60 % of the rounds, and always after that."""
    likely = np.clip((np.arange(n) - 0.4 * n) / (0.2 * n), 0, 1)
    return np.random.default_rng(seed + 5).random(n) < likely, (int(0.4 * n), int(0.6 * n))


def back_and_forth(n: int, seed: int) -> When:
    """Changed in the second and the fourth quarter."""
    return np.arange(n) * 4 // n % 2 == 1, tuple(-(-i * n // 4) for i in (1, 2, 3))


def rotated(schedule: Callable[[int, int], When], x: Floats, y: Integers, seed: int) -> Stream:
    """Each class takes the name of the next class in the rounds given by the schedule."""
    on, changes = schedule(len(y), seed)
    return Stream(x, np.where(on, (y + 1) % (y.max() + 1), y), changes)


def swapped(x: Floats, y: Integers, seed: int) -> Stream:
    """Classes 0 and 1 trade places half-way, and the others stay."""
    on, changes = once(len(y), seed)
    return Stream(x, np.where(on & (y < 2), 1 - y, y), changes)


def permuted(x: Floats, y: Integers, seed: int) -> Stream:
    """The features are permuted half-way."""
    on, changes = once(len(y), seed)
    order = np.random.default_rng(seed + 9).permutation(x.shape[1])
    return Stream(np.where(on[:, None], x[:, order], x), y, changes)


def arriving(x: Floats, y: Integers, seed: int) -> Stream:
    """Classes appear in pairs, at equal intervals. The classes present are equally likely."""
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
    """Nothing changes."""
    return Stream(x, y)


def relabelled(kind: str, x: Floats, y: Integers, seed: int) -> Stream:
    """Half-way all classes are renamed, or all become a new class or class 0, or one is renamed."""
    on, changes = once(len(y), seed)
    k = int(y.max()) + 1
    new = {"renamed": y + k, "one": y * 0 + k, "gone": y * 0, "half": np.where(y == 0, k, y)}[kind]
    return Stream(x, np.where(on, new, y), changes)


def clustered(k: int, x: Floats, y: Integers, seed: int) -> Stream:
    """The classes are k clusters of the rows (k-means on standardised features)."""
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    return Stream(x, KMeans(k, n_init=1, random_state=0).fit_predict(scaled).astype(np.int64))


def halved(k: int, x: Floats, y: Integers, seed: int) -> Stream:
    """Half of the classes appear half-way; the classes are those of y, or k clusters if k > 0."""
    y = clustered(k, x, y, seed).y if k else y
    n_classes = int(y.max()) + 1
    late = np.random.default_rng(seed + 2).permutation(n_classes)[: n_classes // 2]
    is_late = np.isin(y, late)
    early = np.flatnonzero(~is_late)
    first, rest = np.split(early, [len(y) // 2])
    rest = np.random.default_rng(seed + 3).permutation([*rest, *np.flatnonzero(is_late)])
    order = np.concatenate([first, rest])
    return Stream(x[order], y[order], (len(first),))


def one_by_one(x: Floats, y: Integers, seed: int) -> Stream:
    """40 classes (clusters of the rows), one after the other, with at most 100 rows each."""
    y = clustered(40, x, y, seed).y
    classes = np.random.default_rng(seed + 2).permutation(40)
    parts = [np.flatnonzero(y == c)[:100] for c in classes]
    order, ends = np.concatenate(parts), np.cumsum([len(part) for part in parts])
    return Stream(x[order], y[order], tuple(ends[:-1].tolist()))


def lasting(x: Floats, y: Integers, seed: int) -> Stream:
    """The class of a row is that of the row before. One time in fifty it is drawn at random."""
    rng, n_classes = np.random.default_rng(seed + 2), int(y.max()) + 1
    left = [np.flatnonzero(y == c).tolist() for c in range(n_classes)]
    order, now = [], int(y[0])
    while left[now]:
        order.append(left[now].pop())
        now = int(rng.integers(n_classes)) if rng.random() < 0.02 else now
    return Stream(x[order], y[order])


def shuffled(file: str, change: Change = still, n: int = CHANGED) -> Source:
    """Rows shuffled by the seed, with the change."""
    return Source(lambda seed: change(*rows(file, n, seed), seed), file)


def ordered(file: str) -> Source:
    """Rows in the order in which they were recorded, for every seed."""
    return Source(lambda seed: Stream(*rows(file, ORDERED, None)), file)


def variants(kind: Any, parameter: str = "classification_function", **settings: Any) -> Variant:
    """A River generator whose variants are the values of a parameter."""
    return lambda variant, seed: kind(**{parameter: variant}, seed=seed, **settings)


def rbf(seed: int) -> SyntheticDataset:
    """A generator of three classes whose centroids move."""
    settings: dict[str, Any] = {"n_classes": 3, "n_features": 10, "n_centroids": 20}
    settings |= {"change_speed": 0.0005, "n_drift_centroids": 20}
    return synth.RandomRBFDrift(seed_model=seed, seed_sample=seed + 1, **settings)


SEA, AGRAWAL = variants(synth.SEA, "variant", noise=0.1), variants(synth.Agrawal)
STAGGER, SINE, MIXED = variants(synth.STAGGER), variants(synth.Sine), variants(synth.Mixed)
LED = variants(synth.LEDDrift, "n_drift_features", noise_percentage=0.1, irrelevant_features=True)
HYPERPLANE = partial(synth.Hyperplane, n_features=10, n_drift_features=5, mag_change=0.001)
PANEL = {
    "sea abrupt": Source(partial(abrupt, SEA, (0, 1, 2, 3))),
    "agrawal abrupt": Source(partial(abrupt, AGRAWAL, (0, 3, 6))),
    "agrawal gradual": Source(partial(gradual, AGRAWAL, (2, 4))),
    "stagger": Source(partial(abrupt, STAGGER, (0, 1, 2))),
    "sine": Source(partial(abrupt, SINE, (0, 1, 2, 3))),
    "mixed": Source(partial(abrupt, MIXED, (0, 1, 0))),
    "mixed gradual": Source(partial(gradual, MIXED, (0, 1))),
    "led drift": Source(partial(abrupt, LED, (0, 3, 7))),
    "hyperplane": Source(partial(steady, lambda seed: HYPERPLANE(seed=seed))),
    "rbf drift": Source(partial(steady, rbf)),
    "phishing once": shuffled("phishing", partial(rotated, once)),
    "phishing back": shuffled("phishing", partial(rotated, back_and_forth)),
    "magic once": shuffled("magic", partial(rotated, once)),
    "magic gradual": shuffled("magic", partial(rotated, more_and_more)),
    "mnist once": shuffled("mnist", partial(rotated, once)),
    "robot back": shuffled("robot", partial(rotated, back_and_forth)),
    "fashion10 gradual": shuffled("fashion_10", partial(rotated, more_and_more)),
    "htru2 back": shuffled("htru2", partial(rotated, back_and_forth)),
    "spambase once": shuffled("spambase", partial(rotated, once)),
    "fashion10 two swap": shuffled("fashion_10", swapped),
    "phishing permuted": shuffled("phishing", permuted),
    "ijcnn permuted": shuffled("ijcnn", permuted),
    "mnist arriving": shuffled("mnist", arriving, 12_000),  # enough rows of each class
    "robot arriving": shuffled("robot", arriving, 12_000),
    **{name: ordered(name) for name in ("luxembourg", "weather", "sea", "bank", "occupancy")},
}
FLIPS = {
    "label flip": Source(partial(flip, 1.0)),
    "label flip, noisy": Source(partial(flip, 0.8)),
}
STILL = {
    name: shuffled(name, n=GENERATED)
    for name in ("phishing", "ijcnn", "magic", "spambase", "htru2", "robot", "mnist")
}
RENAMED = {
    f"{file} {kind}": shuffled(file, partial(relabelled, kind))
    for file in ("magic", "spambase", "robot", "mnist")
    for kind in ("renamed", "one", "gone", "half")
}
HALVED = {
    f"{file}, {k or 'all'} classes": shuffled(file, partial(halved, k))
    for file, k in (("mnist", 0), ("robot", 0), ("magic", 26))
}
LASTING = {
    **{f"{file} in order": shuffled(file, one_by_one) for file in ("magic", "ijcnn", "robot")},
    **{f"{file} lasting": shuffled(file, lasting) for file in ("magic", "phishing", "spambase")},
}
STREAMS = PANEL | FLIPS | STILL | RENAMED | HALVED | LASTING
