"""NeurONAL: one pass for all classes."""

from __future__ import annotations

from river import base
from river.base.typing import ClfTarget

from river_ineural.classifier.base import NeuralClassifier
from river_ineural.networks.weights import Recipe


class NeurONAL(NeuralClassifier):
    """Neural classifier whose exploitation and exploration networks have an output a class.

    `INeurAL` feeds its networks k contexts of k·d numbers, one a class, so its time grows with k.
    Here f1 maps x to k numbers in one pass. The exploration network f2 estimates the residual from
    the end-to-end embedding of f1: the output h1 of its first hidden layer and its gradient with
    respect to its last layer, scaled to norm 1,

        f(x) = f1(x; θ1) + α f2(φ(x); θ2) + ω (v - p) + ψ (s - p) + λ (b - p)
        φ(x) = (h1, vec ∇_{W_L} f1) / ‖(h1, vec ∇_{W_L} f1)‖

    That gradient is the last hidden layer, once for each class. All else is as in `INeurAL`: the
    votes v of the forest, the discriminant's s, the last label's b, the trust α, ω, ψ and λ,
    residuals from before an example is learned, the bounded history and the methods. Time hardly
    grows with k (docs/how-many-classes.md).

    Deviations from the paper:

    - Explorers are trusted as far as labels confirm them; in the paper f = f1 + f2.
    - f estimates rewards, with r = 1 for the class. The paper estimates losses 1 - r and takes the
      smallest, so its scores have the other sign.
    - The copies of the hidden layer in φ are kept as one copy, in other axes. Function and steps of
      gradient descent are the same (`networks.layout`); Adam's steps differ in those axes.
    - Output layers start as N(0, 1/m) and are not scaled by √m. The paper has N(0, 1/(Km)), which
      is impossible while the number of classes grows. The output layer of f2 starts as 0, and first
      layers start a third as large.
    - The error at the class of an example weighs √(k - 1) times as much as the error at each other
      class. Only one of k outputs should be 1, so with few labels all k would be learned as 0
      first. So f1 estimates a monotone function of P(y = i | x), and P itself for two classes.
    - As in `INeurAL`: Adam, several steps an example, an average of the iterates, two rings of
      history, standardised examples (docs/deviations.md).

    Parameters
    ----------
    hidden_dim
        Width m of both networks, at least 1. The default is larger than that of `INeurAL`, which
        has m units a class.
    lr
        Learning rate η1 of f1, in [1e-37, 1,000].
    batch_size
        Twice the examples of each step, in [1, 65,536].
    n_layers, n_steps, capacity, explorers, drift_detector, classes, categories, missing
        As for `INeurAL`, with the same defaults.
    max_features, max_classes, device, seed
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

    _outputs = True
    _recipe = Recipe(exploration_lr=3e-3, balance=0.5, span=24)

    def __init__(
        self,
        hidden_dim: int = 256,
        n_layers: int = 2,
        lr: float = 3e-3,
        batch_size: int = 128,
        n_steps: float = 4.0,
        capacity: int = 8192,
        explorers: tuple[str, ...] = ("network", "forest", "discriminant", "last_label"),
        drift_detector: base.BinaryDriftDetector | str | None = "cusum",
        classes: tuple[ClfTarget, ...] | None = None,
        categories: bool = False,
        missing: bool = False,
        max_features: int = 10_000,
        max_classes: int = 100,
        device: str = "cpu",
        seed: int | None = None,
    ) -> None:
        super().__init__(locals())
