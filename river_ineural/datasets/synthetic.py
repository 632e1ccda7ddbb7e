"""Streams whose class probabilities are known, to measure regret against the Bayes classifier."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from river.base.typing import FeatureName
from river.datasets import base
from scipy.special import softmax  # type: ignore[import-untyped]

from river_ineural.features.validation import check_integer, check_real

Floats = NDArray[np.float64]


class KnownPosterior(base.SyntheticDataset):
    """Points on a sphere, labelled by a random teacher network, with known P(y | x).

    x is uniform on the unit sphere. A teacher network of 20 ReLU units gives a score to each class.
    The class with the highest score is the Bayes class. With a hard margin ε (the paper's ε-margin
    assumption),

        P(y = Bayes class | x) - P(y = i | x) = ε    for every other class i,

    and points whose two highest scores differ by less than `gap` standard deviations are not drawn.
    Without a margin, P(y | x) is the softmax of the scores times `sharpness`. Two classes may then
    be equally likely.

    Parameters
    ----------
    n_samples
        Length of the stream, at least 1.
    n_features, n_classes
        Dimension d of x and number of classes k, each at least 2.
    margin
        Margin ε, in (0, 1]; 1 means no noise. None: no margin, P(y | x) is the softmax.
    gap, sharpness
        Each at least 0. `gap` is used only with a margin, `sharpness` only without.
    seed
        Seed of the teacher and of the draws, at least 0.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from river_ineural import datasets
    >>> stream = datasets.KnownPosterior(n_classes=3, margin=0.7, seed=1)
    >>> x, y = next(iter(stream))
    >>> posterior = stream.posterior(x)
    >>> sorted(round(p, 2) for p in posterior.values())
    [0.1, 0.1, 0.8]

    References
    ----------
    Ban et al.: Improved Algorithms for Neural Active Learning. NeurIPS 2022, "Regret Analysis".
    """

    def __init__(
        self,
        n_samples: int = 10_000,
        n_features: int = 10,
        n_classes: int = 2,
        margin: float | None = None,
        gap: float = 1.0,
        sharpness: float = 3.0,
        seed: int = 0,
    ) -> None:
        n_samples = check_integer("n_samples", n_samples, least=1)
        n_features = check_integer("n_features", n_features, least=2)
        n_classes = check_integer("n_classes", n_classes, least=2)
        if margin is not None:
            margin = check_real("margin", margin, least=1e-6, most=1)
        gap = check_real("gap", gap, least=0)
        sharpness = check_real("sharpness", sharpness, least=0)
        seed = check_integer("seed", seed, least=0)
        super().__init__(  # type: ignore[no-untyped-call]
            task=base.BINARY_CLF if n_classes == 2 else base.MULTI_CLF,
            n_samples=n_samples,
            n_features=n_features,
            n_classes=n_classes,
        )
        self.margin = margin
        self.gap = gap
        self.sharpness = sharpness
        self.seed = seed
        rng = np.random.default_rng(seed)
        self._first = rng.normal(size=(20, n_features))
        self._last = rng.normal(size=(n_classes, 20))
        self._middle, self._spread = np.zeros(n_classes), np.ones(n_classes)
        scores = self._scores(_sphere(rng, 1_000, n_features))
        self._middle, self._spread = scores.mean(0), scores.std(0)

    def _scores(self, x: Floats) -> Floats:
        """Scores (B, k) in standard deviations, centred so that no class is favoured."""
        scores: Floats = np.maximum(x @ self._first.T, 0) @ self._last.T
        return (scores - self._middle) / self._spread

    def _posteriors(self, scores: Floats) -> Floats:
        """P(y | x) from the scores, both (B, k)."""
        if self.margin is None:
            likely: Floats = softmax(self.sharpness * scores, axis=1)
            return likely
        posteriors = np.full(scores.shape, (1 - self.margin) / self.n_classes)
        posteriors[np.arange(len(scores)), scores.argmax(1)] += self.margin
        return posteriors

    def posterior(self, x: dict[FeatureName, float]) -> dict[int, float]:
        """P(y | x) by label."""
        row = np.array([[x[f"x{j}"] for j in range(len(x))]])
        return dict(enumerate(self.posteriors(row)[0].tolist()))

    def posteriors(self, x: Floats) -> Floats:
        """P(y | x) of points (n, d), in the order of the names x0, x1, …: (n, k)."""
        return self._posteriors(self._scores(x))

    def _block(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Points (B, d) far enough from a class boundary, and their P(y | x), (B, k)."""
        x = _sphere(rng, 256, self.n_features)
        scores = self._scores(x)
        if self.margin is not None:
            runner_up, top = np.sort(scores, axis=1)[:, -2:].T
            far = top - runner_up >= self.gap
            x, scores = x[far], scores[far]
        return x, self._posteriors(scores)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw n new points, at least 1, from the distribution of the stream.

        Returns x (n, d), in the order of the names x0, x1, …, and P(y | x), (n, k).

        Examples
        --------
        >>> import numpy as np
        >>> from river_ineural import datasets
        >>> stream = datasets.KnownPosterior(n_classes=3, margin=0.7, seed=1)
        >>> x, posteriors = stream.draw(5, np.random.default_rng(2))
        >>> x.shape, posteriors.max(1).round(2).tolist()
        ((5, 10), [0.8, 0.8, 0.8, 0.8, 0.8])
        """
        n = check_integer("n", n, least=1)
        blocks, left = [], n
        while left > 0:
            blocks.append(self._block(rng))
            left -= len(blocks[-1][0])
        x, posteriors = (np.concatenate(part)[:n] for part in zip(*blocks, strict=True))
        return x, posteriors

    def __iter__(self) -> Iterator[tuple[dict[FeatureName, float], int]]:
        rng = np.random.default_rng([self.seed, 1])
        names: list[FeatureName] = [f"x{j}" for j in range(self.n_features)]
        left = self.n_samples
        while left > 0:
            x, posteriors = self._block(rng)
            labels = (rng.random((len(x), 1)) > posteriors.cumsum(1)[:, :-1]).sum(1)
            for row, label in zip(x[:left].tolist(), labels.tolist(), strict=False):
                yield dict(zip(names, row, strict=True)), label
            left -= len(x)


def _sphere(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Points on the unit sphere (n, d)."""
    x = rng.normal(size=(n, d))
    unit: Floats = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit
