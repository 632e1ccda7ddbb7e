"""Mistakes on generated streams, by what parts their classes: planes, ellipsoids, rules and others.

No setting but those of the discriminant was chosen on these streams. Learners know the length.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from changing import Source, Stream, generated
from common import best, by_stream, geometric, markdown, ratios
from learners import BEST, OUTPUTS, OWN, WITHOUT_PLANES
from river.datasets import synth
from river.datasets.base import SyntheticDataset
from sklearn import datasets  # type: ignore[import-untyped]
from tabular import COLUMNS, measure

ROUNDS = 4_000
HYPERPLANE = partial(synth.Hyperplane, n_features=20, noise_percentage=0.0)
LOGISTIC = "logistic regression, refitted"
LEARNERS = (
    *(OWN, WITHOUT_PLANES, OUTPUTS, LOGISTIC),
    *("logistic regression, by margin", "adaptive random forest, by margin"),
)
Rows = tuple[Any, Any]  # x (n, d), classes (n,)
PLANES, ELLIPSOIDS, OTHERS = "planes", "ellipsoids", "rules and others"


def plane(rng: np.random.Generator, noise: float = 0.0, correlated: bool = False) -> Rows:
    """Two classes, parted by a plane through the origin, in 20 dimensions."""
    x, normal = rng.normal(size=(ROUNDS, 20)), rng.normal(size=20)
    if correlated:
        x = x @ rng.normal(size=(20, 20))
    at = x @ normal
    return x, at + noise * at.std() * rng.normal(size=ROUNDS) > 0


def partition(rng: np.random.Generator, k: int) -> Rows:
    """k directions in 20 dimensions; the class is that along which x, with noise, is farthest."""
    x, directions = rng.normal(size=(ROUNDS, 20)), rng.normal(size=(20, k))
    return x, (x @ directions + 0.3 * rng.gumbel(size=(ROUNDS, k))).argmax(axis=1)


def counts(rng: np.random.Generator) -> Rows:
    """Whether ten counts sum to more than ten others."""
    x = rng.poisson(2.0, (ROUNDS, 20))
    return x, x[:, :10].sum(axis=1) > x[:, 10:].sum(axis=1)


def words(rng: np.random.Generator) -> Rows:
    """Twelve words of thirty, whose shares are those of one of four subjects."""
    shares, y = rng.dirichlet(np.ones(30), 4), rng.integers(4, size=ROUNDS)
    return np.array([rng.multinomial(12, shares[c]) for c in y]), y


def normal(rng: np.random.Generator, d: int, k: int) -> Rows:
    """Normal classes, each with a covariance of its own."""
    shapes, means = rng.normal(size=(k, d, d)) / 2, 0.7 * rng.normal(size=(k, d))
    y, z = rng.integers(k, size=ROUNDS), rng.normal(size=(ROUNDS, d))
    return np.einsum("nij,nj->ni", shapes[y], z) + means[y], y


def rules(rng: np.random.Generator) -> Rows:
    """Two rules on three of ten features."""
    x = rng.random((ROUNDS, 10))
    return x, ((x[:, 0] > 0.5) & (x[:, 1] < 0.6)) | (x[:, 2] > 0.8)


def parity(rng: np.random.Generator) -> Rows:
    """Whether two of six features have the same sign."""
    x = rng.normal(size=(ROUNDS, 6))
    return x, (x[:, 0] > 0) == (x[:, 1] > 0)


def drawn(make: Callable[..., Rows], **settings: Any) -> Source:
    """A stream that a function draws from a generator."""

    def stream(seed: int) -> Stream:
        x, y = make(np.random.default_rng(seed), **settings)
        return Stream(np.asarray(x, float), np.asarray(y, int))

    return Source(stream)


def scikit(make: Callable[..., Rows], **settings: Any) -> Source:
    """Examples of a function of scikit-learn, shuffled by the seed."""

    def stream(seed: int) -> Stream:
        x, y = make(n_samples=ROUNDS, random_state=seed, **settings)
        order = np.random.default_rng(seed).permutation(ROUNDS)
        return Stream(np.asarray(x, float)[order], np.unique(y, return_inverse=True)[1][order])

    return Source(stream)


def river(make: Callable[..., SyntheticDataset], n: int = ROUNDS, **settings: Any) -> Source:
    """Examples of a generator of River."""
    return Source(lambda seed: Stream(*generated(make(seed=seed, **settings), n)))


def trees(seed: int) -> SyntheticDataset:
    """A random tree of River."""
    return synth.RandomTree(seed_tree=seed, seed_sample=seed)


def centroids(seed: int) -> SyntheticDataset:
    """Twenty centroids of four classes."""
    settings: dict[str, Any] = {"n_classes": 4, "n_features": 10, "n_centroids": 20}
    return synth.RandomRBF(seed_model=seed, seed_sample=seed, **settings)


SHAPES: dict[str, dict[str, Source]] = {
    PLANES: {
        "plane": drawn(plane),
        "plane, noisy": drawn(plane, noise=0.1),
        "plane, correlated features": drawn(plane, correlated=True),
        "hyperplane, 20 features": river(HYPERPLANE, n=10_000),
        "planes of three classes": drawn(partition, k=3),
        "planes of eight classes": drawn(partition, k=8),
        "sums of counts": drawn(counts),
        "words of four subjects": drawn(words),
        "waveform, noisy": river(synth.Waveform, has_noise=True),
        "LED, noisy": river(synth.LED, noise_percentage=0.1, irrelevant_features=True),
    },
    ELLIPSOIDS: {
        "ball": scikit(datasets.make_hastie_10_2),
        "spheres": scikit(datasets.make_gaussian_quantiles, n_features=10, n_classes=2),
        "three spheres": scikit(datasets.make_gaussian_quantiles, n_features=5, n_classes=3),
        "normal, three classes": drawn(normal, d=8, k=3),
        "normal, 20 features": drawn(normal, d=20, k=2),
        "rings": scikit(datasets.make_circles, noise=0.15, factor=0.6),
        "eight clusters": scikit(datasets.make_blobs, n_features=8, centers=8, cluster_std=4),
    },
    OTHERS: {
        "rules": drawn(rules),
        "parity": drawn(parity),
        "moons": scikit(datasets.make_moons, noise=0.25),
        "clusters of four classes": scikit(
            datasets.make_classification, n_features=20, n_informative=10, n_classes=4
        ),
        "clusters, noisy": scikit(
            datasets.make_classification, n_features=40, n_informative=5, flip_y=0.1
        ),
        "random tree": river(trees),
        "centroids": river(centroids),
        "Agrawal": river(synth.Agrawal, classification_function=4),
        "sine, noisy": river(synth.Sine, has_noise=True),
    },
}
STREAMS = {name: source for group in SHAPES.values() for name, source in group.items()}


def table(rows: pd.DataFrame) -> str:
    """Mistakes, a line per stream, and mistakes without the discriminant over those with it."""
    rows, lines = best(rows), []
    shown = (OWN, WITHOUT_PLANES, OUTPUTS, LOGISTIC, BEST)
    over = ratios(rows, WITHOUT_PLANES, OWN, STREAMS)
    for shape in SHAPES:
        streams = [stream for stream in SHAPES[shape] if stream in over]
        for stream in streams:
            cells = (by_stream(rows, [stream], learner=name)[0] for name in shown)
            lines.append([stream, *cells, f"{over[stream]:.2f}"])
        if streams:
            mean = f"**{geometric(over[streams]):.2f}**"
            lines.append([f"**{shape}**", *("" for _ in shown), mean])
    return markdown(("stream", *shown, "without the discriminant over with it"), lines)


def main() -> None:
    """Run the missing cells, and print the table."""
    usual = {"boundaries": [0.05]}
    given = common.options(usual, __doc__, 5, streams=STREAMS, learners=LEARNERS)
    given.streams = given.streams or STREAMS
    rows = common.run(given, COLUMNS, partial(measure, streams=STREAMS), LEARNERS)
    for budget, each in rows.groupby("budget"):
        print(f"\n{100 * budget:g} % of the labels", table(each), sep="\n\n")


if __name__ == "__main__":
    main()
