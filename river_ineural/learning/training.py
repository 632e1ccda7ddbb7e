"""What the paper's algorithm sets otherwise than the defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from river_ineural.inputs.validation import check_choice, check_integer, check_real

__all__ = ["SMALLEST", "Training"]

SMALLEST = 1e-37  # learning rate that float32 can hold


@dataclass(frozen=True)
class Training:
    """How f1 and f2 are trained, where the defaults depart from Algorithm 2.

    Each of these was chosen once, for all streams: docs/deviations.md gives the reasons, and
    docs/experiments.md what other values gave. The paper's values restore its algorithm.

    Parameters
    ----------
    optimizer
        "adam" (as in the paper's experiments) or "sgd" (Algorithm 2 as printed; wants a larger
        `lr`, about 0.5).
    beta2
        Of Adam, in [0, 1): how much of the mean of squared gradients is kept at a step.
    max_norm
        Of SGD, above 0: longer gradients are shortened to it. `math.inf`: none is.
    exploration
        Where f2 counts. "scores": f1 + f2 predicts, decides what is asked for and what the model
        teaches itself (Algorithm 1, lines 6, 8, 11 and 18). "self-training": f1 predicts and
        decides what is asked for; what f1 + f2 is sure of as well is learned as a pseudo-label.
        "none": there is no f2, neither trained nor asked.
    exploration_lr
        Learning rate η2 of f2, above 0. The residuals that f2 learns are those of f1 as it was; f2
        has to be slow not to repeat corrections that f1 has made by now.
    exploration_share
        Share of the steps after a given label, in [0, 1], in which f2 takes part.
    pseudo_label_exploration
        Whether f2 takes part in as many of those after a pseudo-label.
    pseudo_label_steps
        Steps after each pseudo-labelled example, at least 0; a fraction of a step is carried over
        to the next example.
    late_class_steps
        How many times the usual steps, at least 0, follow a given label whose class has at most a
        32nd of its even share of the labels held: one example among so many would hardly be
        learned.
    init_scale
        Factor, at least 0, on the paper's initial weights of the first layers; 1 is the paper's.
    labelled_share
        Share of each batch, in [0, 1], that is drawn from the examples whose label was given, when
        the history holds both kinds; a quarter of it is then for pseudo-labelled ones. None: the
        history keeps both in one ring, and draws are uniform over it.
    residuals
        Which ones f2 learns: "all", or those of "given" labels, where these have a ring of their
        own. Those of pseudo-labels say but that f1 should have been surer.
    balance
        Power, in [0, 1], of k - 1 by which the error at the class of an example weighs more than
        each of those at the k - 1 others, in both networks; 0: they weigh the same. f1 estimates
        P(y = i | x) then, and else what grows with it.
    batches
        "shared": one batch, of whole examples, serves both networks, so that f2's embedding comes
        from the pass of f1 that is needed anyway. "separate": each network has a batch of its own,
        a uniform subset of b contexts, and φ is of the weights that predict (Algorithm 2 as
        printed).
    n_iterates
        Of `iterate="uniform"`: weights that stand for all iterates so far, at least 1. None: all
        iterates, while they hold at most 100,000,000 numbers.
    n_averaged
        Of `iterate="average"`: steps that the average spans, at least 8.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from river_ineural import INeurAL, Training

    >>> training = Training(optimizer="sgd", exploration_lr=0.005)
    >>> model = INeurAL(lr=0.5, training=training)
    >>> model.training.optimizer
    'sgd'

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022,
    Algorithm 2.
    """

    optimizer: str = "adam"
    beta2: float = 0.99
    max_norm: float = 4.0
    exploration: str = "none"
    exploration_lr: float = 1e-6
    exploration_share: float = 0.25
    pseudo_label_exploration: bool = False
    pseudo_label_steps: float = 0.35
    late_class_steps: float = 10.0
    init_scale: float = 0.3
    labelled_share: float | None = 0.7
    residuals: str = "all"
    balance: float = 0.0
    batches: str = "shared"
    n_iterates: int | None = 8
    n_averaged: int = 50

    def __post_init__(self) -> None:
        check_choice("optimizer", self.optimizer, ("adam", "sgd"))
        check_real("beta2", self.beta2, least=0, most=1)
        if self.beta2 == 1:
            raise ValueError("beta2 must be below 1, got 1.")
        if self.max_norm != math.inf:
            check_real("max_norm", self.max_norm, least=SMALLEST)
        check_choice("exploration", self.exploration, ("scores", "self-training", "none"))
        check_real("exploration_lr", self.exploration_lr, least=SMALLEST)
        check_real("exploration_share", self.exploration_share, least=0, most=1)
        check_real("pseudo_label_steps", self.pseudo_label_steps, least=0)
        check_real("late_class_steps", self.late_class_steps, least=0)
        check_real("init_scale", self.init_scale, least=0)
        check_choice("pseudo_label_exploration", self.pseudo_label_exploration, (True, False))
        if self.labelled_share is not None:
            check_real("labelled_share", self.labelled_share, least=0, most=1)
        check_choice("residuals", self.residuals, ("all", "given"))
        check_real("balance", self.balance, least=0, most=1)
        check_choice("batches", self.batches, ("shared", "separate"))
        if self.n_iterates is not None:
            check_integer("n_iterates", self.n_iterates, least=1)
        check_integer("n_averaged", self.n_averaged, least=8)

    @property
    def explores(self) -> bool:
        """Whether f2 counts anywhere."""
        return self.exploration != "none"

    @property
    def explored_scores(self) -> bool:
        """Whether f1 + f2 predicts; else f1 alone."""
        return self.exploration == "scores"

    def __setstate__(self, state: dict[str, Any]) -> None:
        before_one_could_choose = {"exploration": "scores", "n_averaged": 50}
        self.__dict__.update(before_one_could_choose | state)
