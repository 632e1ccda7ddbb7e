"""I-NeurAL as the paper prints it, and as its experiments run it, each in one line.

The defaults of `INeurAL` and `INeurALSampler` depart from the paper, each time for a measured
reason (docs/deviations.md). Here every parameter has the paper's value. From here to the defaults
leads `python -m river_ineural.benchmark ladder`, one change at a time.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from river.base.typing import ClfTarget

from river_ineural.active.ineural import INeurALSampler
from river_ineural.active.width import TheoreticalWidth
from river_ineural.classifier import INeurAL
from river_ineural.inputs.validation import check_integer, check_real
from river_ineural.learning.training import SMALLEST, Training

__all__ = ["GAMMAS", "experiments", "printed", "theorem_rate"]

GAMMAS = (1, 2, 5, 6, 7, 10)  # the grid of the appendix

AS_PRINTED = Training(
    optimizer="sgd",
    max_norm=math.inf,
    exploration="scores",
    exploration_share=1.0,
    pseudo_label_exploration=True,
    pseudo_label_steps=1.0,
    late_class_steps=1.0,
    init_scale=1.0,
    labelled_share=None,
    batches="separate",
    n_iterates=None,
)


def theorem_rate(rounds: int, hidden_dim: int = 100, kappa_nu: float = 1.0) -> float:
    """The learning rate of the theorems, η1 = η2 = κν / (√T m).

    Parameters
    ----------
    rounds
        T, at least 1.
    hidden_dim
        m, at least 1.
    kappa_nu
        The constant κν, above 0, which the theorems leave open.

    Returns
    -------
    A float above 0.

    Examples
    --------
    >>> theorem_rate(10_000)
    0.0001

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022,
    the two theorems of "Regret Analysis".
    """
    check_integer("rounds", rounds, least=1)
    check_integer("hidden_dim", hidden_dim, least=1)
    check_real("kappa_nu", kappa_nu, least=SMALLEST)
    return kappa_nu / (math.sqrt(rounds) * hidden_dim)


def printed(
    classes: tuple[ClfTarget, ...],
    rounds: int,
    gamma: float = 2.0,
    lr: float | None = None,
    exploration_lr: float | None = None,
    hidden_dim: int = 100,
    n_layers: int = 2,
    batch_size: int = 64,
    delta: float = 0.1,
    seed: int | None = None,
    **training: Any,
) -> INeurALSampler:
    """Algorithms 1 and 2 as printed.

    In round t the top class of f1 + f2 is predicted, with weights drawn uniformly from all iterates
    so far, those of before the first step included. Its label is asked for when

        f(î) - f(i°) < 2γβ_t,   β_t = √(2/t) + 3L/√(2t) + √(2 log(Tk/δ)/t)

    and otherwise î is learned as if it were the label. Then each network takes one step of SGD from
    where it stands, on b contexts drawn uniformly without replacement from all so far.
    `sampler.classifier.returned()` is what the algorithm returns (line 28).

    Where the print leaves something open:

    - while fewer than b contexts are there, all are taken; the divisor stays b;
    - φ of a context in the history is taken, as the definition of the DC embedding has it, of
      the weights θ1 that predict in this round;
    - where all units of f1 are off its gradient is 0, and so is that half of φ;
    - iterates are all kept while they hold at most 100,000,000 numbers, and from then on a
      reservoir stands for them: each draw is uniform over all iterates either way, but draws of
      different rounds are not independent then.

    Parameters
    ----------
    classes
        All labels, in the order of the paper's classes 1 … k, at least two.
    rounds
        T, at least 1. From then on the oldest example makes room in the history.
    gamma
        γ, at least 0; above 1 in the theorems.
    lr, exploration_lr
        η1 and η2, above 0. None: that of the theorems, `theorem_rate`; η1 for η2.
    hidden_dim, n_layers, batch_size
        m, L and b.
    delta
        δ, in (0, 1).
    seed
        Seed of the weights and of all draws, at least 0. None: different every time.
    training
        Further fields of `Training`, e.g. `optimizer="adam"`.

    Returns
    -------
    A sampler that takes examples of unit norm; others are an error. `Normalizer` of River makes
    them so.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_ineural import paper

    >>> classes = False, True
    >>> learner = paper.printed(classes=classes, rounds=300, lr=0.5, seed=1)
    >>> model = preprocessing.Normalizer() | learner
    >>> stream = datasets.Phishing().take(300)
    >>> accuracy = evaluate.progressive_val_score(
    ...     stream, model, metrics.Accuracy()
    ... )
    >>> learner.n_queries  # β_t is wider than any gap so far
    300

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022,
    Algorithms 1 and 2.
    """
    if not (isinstance(classes, tuple) and len(classes) > 1):
        raise ValueError(f"classes must be a tuple of at least two labels, got {classes!r}.")
    if lr is None:
        lr = theorem_rate(rounds, hidden_dim)
    settings = replace(
        AS_PRINTED, exploration_lr=lr if exploration_lr is None else exploration_lr, **training
    )
    classifier = INeurAL(
        drift_detector=None,
        hidden_dim=hidden_dim,
        n_layers=n_layers,
        lr=lr,
        batch_size=batch_size,
        n_steps=1,
        adversarial_radius=0.0,
        capacity=max(2, rounds),
        center=False,
        scale=False,
        ranks=False,
        pieces=False,
        forest=False,
        relevance=False,
        normalize="assumed",
        iterate="uniform",
        training=settings,
        classes=classes,
        seed=seed,
    )
    return INeurALSampler(
        classifier,
        gamma=gamma,
        width=TheoreticalWidth(delta=delta, horizon=rounds),
        thrift=0.0,
        confidence=0.0,
        exploration=0.0,
        audits=0.0,
        seed=seed,
    )


def experiments(
    classes: tuple[ClfTarget, ...],
    rounds: int,
    gamma: float = 6.0,
    budget: float | int = 0.03,
    seed: int | None = None,
) -> INeurALSampler:
    """What the paper's experiments say they ran: `printed`, but for Adam and a hard cap.

    Two layers, width 100, batches of 64, Adam with rate 0.001, β_t with c1 = c2 = 1 and δ = 0.1
    (appendix, "Implementation Details"; c3 = 1). When the budget is spent nothing is asked for, and
    all predictions are learned.

    Parameters
    ----------
    classes, rounds, seed
        As in `printed`.
    gamma
        γ, at least 0; the paper takes the best of `GAMMAS`.
    budget
        As in `INeurALSampler`, with `rounds` as its horizon.

    Returns
    -------
    A sampler that takes examples of unit norm; others are an error.

    Raises
    ------
    TypeError, ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from river_ineural import paper

    >>> learner = paper.experiments(
    ...     classes=(False, True), rounds=1250, budget=0.1, seed=1
    ... )
    >>> model = preprocessing.Normalizer() | learner
    >>> stream, accuracy = datasets.Phishing(), metrics.Accuracy()
    >>> _ = evaluate.progressive_val_score(stream, model, accuracy)
    >>> learner.n_queries
    125

    References
    ----------
    Ban, Zhang, Tong, Banerjee, He: Improved Algorithms for Neural Active Learning. NeurIPS 2022,
    appendix, "Further Details in Experiments".
    """
    sampler = printed(*(classes, rounds, gamma), lr=1e-3, seed=seed, optimizer="adam", beta2=0.999)
    sampler.budget, sampler.horizon = budget, rounds
    return sampler
