"""I-NeurAL: a context for each class."""

from __future__ import annotations

from river import base
from river.base.typing import ClfTarget

from river_ineural.classifier.base import NeuralClassifier
from river_ineural.networks.weights import Recipe


class INeurAL(NeuralClassifier):
    """Neural classifier with an exploitation network f1, and explorers that estimate its errors.

    f1 estimates P(y = i | x) for each class i. The exploration network f2 estimates the residual
    r1 - f1 from the derivative-context embedding φ of f1: its input gradient and its input. A
    random forest of the given labels estimates the same residual by its votes v, a discriminant by
    its probabilities s, and the last label by the probability b of each class, given that label.
    The class with the highest score is predicted (Algorithm 1, lines 6 and 8):

        f(x_i) = f1(x_i; θ1) + α f2(φ(x_i); θ2)
                 + ω (v_i - p_i) + ψ (s_i - p_i) + λ (b_i - p_i)

    p is f1 clipped to [0, 1]. α, ω, ψ and λ are the trust in each explorer. They follow by least
    squares from the given labels, each predicted before it is learned
    (`explorers.trust.Explorers`). In the paper α = 1, and f2 is the only explorer.

    Each learned example enters a bounded history as its k contexts with reward r1 (1 for its class,
    else 0) and residual r2 = r1 - f1, taken before it is learned. Then the networks take mini-batch
    steps from their current weights (Algorithm 2). Classes and features may appear at any time. A
    feature that is not in x is 0. Strings and missing values can be features (`categories`,
    `missing`).

    On its own the classifier learns every label it is given. `active.INeurALSampler` around it
    chooses the labels.

    Parameters
    ----------
    hidden_dim
        Width m of each network, at least 1.
    n_layers
        Depth L of each network, in [2, 1,000].
    lr
        Learning rate η1 of f1, in [1e-37, 1,000].
    batch_size
        Contexts b of each step, in [1, 65,536]. They are drawn as ⌈b/2⌉ whole examples, also with
        more than two classes, where ⌈b/k⌉ would be too few to learn from.
    n_steps
        Steps after each example whose label was given, in [0, 1,000]; twice as many beyond 256
        features, or half as many if examples have few of them, as of words. A fraction of a step is
        carried over to the next example. `n_steps` and `lr` may be set later on.
    capacity
        Examples in the history, in [2, 1,000,000]. A quarter of it is for pseudo-labelled examples,
        which never replace an example whose label was given.
    explorers
        What estimates the errors of f1: a tuple of some of "network", which is f2, "forest", which
        is grown of up to 4,096 features, but not of words, "discriminant", which counts where it is
        better than all others, up to 256 features, and "last_label", which counts where labels
        depend on the ones before. ("network",) is the paper's method, trusted as far as
        labels confirm it. () is f1 alone.
    drift_detector
        How mistakes at given labels show that the stream has changed. "cusum" weights each mistake
        by how sure the model was: `drift.Cusum`. A detector of `river.drift.binary` gets
        the mistakes where the model was sure. After a detected change new networks are trained on
        the labels since it, and on old labels that are still right. None: no detector.
    classes
        Labels known beforehand, a non-empty tuple or list. Others may still appear.
    categories
        Whether a string is a category: a feature of its own, named `"job=clerk"`, which is 1 in
        examples that have it. Each counts for `max_features`. Otherwise a string is an error.
    missing
        Whether None, NaN and the NA of pandas are missing values: a feature of its own, named
        `"age missing"`, is 1, and the median among the latest 255 labelled examples replaces the
        number. Otherwise they are errors. A feature that is not in x is 0 either way.
    max_features
        Features that are held, in [1, 100,000]. New ones beyond it replace those not learned for
        longest, with one warning. A single x with more is an error.
    max_classes
        Classes, in [2, 2,000]. Examples of later classes are ignored, with one warning.
    device
        "cpu", "cuda" or "cuda:N".
    seed
        Seed of the initial weights and of the batches, at least 0. None: different every time.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range, or the device is not there.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from river_ineural import INeurAL

    >>> model = INeurAL(seed=1)
    >>> stream = datasets.Phishing().take(600)
    >>> accuracy = evaluate.progressive_val_score(
    ...     stream, model, metrics.Accuracy()
    ... )
    >>> round(accuracy.get(), 1)
    0.9

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022.
    """

    _recipe = Recipe(exploration_lr=1e-3, balance=0.0, span=50)

    def __init__(
        self,
        hidden_dim: int = 100,
        n_layers: int = 2,
        lr: float = 1.4e-3,
        batch_size: int = 64,
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
