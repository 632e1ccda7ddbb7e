"""NeurONAL: one pass for all classes."""

from __future__ import annotations

import functools

from river import base
from river.base.typing import ClfTarget

from river_ineural.classifier import INeurAL
from river_ineural.learning.steps import Recipe
from river_ineural.network.layout import Shape

__all__ = ["NeurONAL"]


class NeurONAL(INeurAL):
    """Neural classifier whose exploitation and exploration networks have an output a class.

    I-NeurAL gives its networks k contexts of k·d numbers, one a class, so that time grows with k
    and more. Here f1 maps x to k numbers in one pass. The exploration network f2 estimates
    what f1 gets wrong from the end-to-end embedding of f1: the output h1 of its first hidden layer
    and its gradient with respect to its last layer, the whole of norm 1,

        f(x) = f1(x; θ1) + α f2(φ(x); θ2) + ω (v - p) + λ (b - p)
        φ(x) = (h1, vec ∇_{W_L} f1) / ‖(h1, vec ∇_{W_L} f1)‖

    That gradient is the last hidden layer, once a class. All else is as for `INeurAL`: the forest
    whose votes are v, the last label b, the trust α, ω and λ, the residual r - f1 that is taken
    before an example is learned, the bounded history, the methods. Time hardly grows with k
    (docs/how-many-classes.md).

    Deviations from the paper:

    - f2, the forest and the last label are trusted as far as labels confirm them; in the paper
      f = f1 + f2.
    - f estimates rewards, r = 1 for the class, where the paper estimates losses 1 - r and takes the
      least: the same scores but for their sign.
    - The copies of the hidden layer in φ are kept as one, in other axes: the same function and the
      same steps of gradient descent (`network.layout`). Adam's steps differ in those axes.
    - Output layers start as N(0, 1/m) and are not scaled by √m; the paper has N(0, 1/(Km)), which
      an output layer that classes join cannot have. That of f2 starts as 0, first layers a third as
      large.
    - The error at the class of an example weighs √(k - 1) times as much as each of the k - 1
      others: of k outputs one is to be 1, and with few labels a class all k would be learned as 0
      first. So f1 estimates what grows with P(y = i | x), not that itself; for two classes it is
      the same.
    - As for `INeurAL`: Adam, several steps an example, an average of the iterates, two rings of
      history, standardised examples (docs/deviations.md).

    The sampler decides as for `INeurAL`.

    Parameters
    ----------
    hidden_dim
        Width m of both networks, at least 1: wider than those of `INeurAL`, which has m units a
        class.
    lr
        Learning rate η1 of f1, above 0.
    batch_size
        Twice the examples a step, in [1, 65,536]: b contexts of two classes, as for `INeurAL`, and
        twice as many.
    n_layers, n_steps, capacity, explorers
        As for `INeurAL`, with the same defaults.
    drift_detector, classes, categories, missing, max_features, max_classes
        As for `INeurAL`, with the same defaults.
    device, seed
        As for `INeurAL`, with the same defaults.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or the device is not there.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import NeurONAL, active

    >>> model = active.INeurALSampler(NeurONAL(seed=1), budget=60, seed=1)
    >>> stream = datasets.ImageSegments().take(300)
    >>> accuracy = evaluate.progressive_val_score(
    ...     stream, model, metrics.Accuracy()
    ... )
    >>> accuracy.get() > 0.6, model.n_queries <= 60
    (True, True)

    References
    ----------
    Ban, Agarwal, Wu, Zhu, Weldemariam, Tong, He: Neural Active Learning Beyond Bandits. ICLR 2024.
    """

    _form = staticmethod(functools.partial(Shape, outputs=True))

    _recipe = Recipe(exploration_lr=3e-3, exploration_share=0.25, balance=0.5, span=24)

    def __init__(
        self,
        hidden_dim: int = 400,
        n_layers: int = 2,
        lr: float = 3e-3,
        batch_size: int = 128,
        n_steps: float = 8.0,
        capacity: int = 8192,
        explorers: tuple[str, ...] = ("network", "forest", "last_label"),
        drift_detector: base.BinaryDriftDetector | str | None = "cusum",
        classes: tuple[ClfTarget, ...] | None = None,
        categories: bool = False,
        missing: bool = False,
        max_features: int = 10_000,
        max_classes: int = 100,
        device: str = "cpu",
        seed: int | None = None,
    ) -> None:
        super().__init__(
            hidden_dim=hidden_dim,
            n_layers=n_layers,
            lr=lr,
            batch_size=batch_size,
            n_steps=n_steps,
            capacity=capacity,
            explorers=explorers,
            drift_detector=drift_detector,
            classes=classes,
            categories=categories,
            missing=missing,
            max_features=max_features,
            max_classes=max_classes,
            device=device,
            seed=seed,
        )
