"""Gaussian discriminants as an explorer: where planes or ellipsoids part classes, few labels do."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from river_ineural.features.constants import CONSTANT, FARTHEST, NARROW, ROUNDING
from river_ineural.features.jit import allocating, inlined
from river_ineural.features.scaling import Scaling
from river_ineural.history import History

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]

EXAMPLES = 768  # of which discriminants are fitted, the latest, at most
OFTEN = 30  # they are fitted anew when new labels are this part of their examples
TEMPERATURES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
FADING = 0.99  # of earlier losses, at each that follows
WORST = 9.0  # loss of a label, at most
LABELS = 5.0  # that what is likely of a variance counts as
LINEAR, NAIVE = range(2)  # forms
SQUARED, PLAIN = range(2)  # coefficients of a form: of z² and of z
SHARES = 2  # row of log shares, after the constants of both forms

NO_FIT = np.zeros((2, 0)), np.zeros((2, 2, 0, 0)), np.zeros((3, 0))  # as `fit` makes them
NO_FORM = np.zeros((2, 0)), np.zeros((2, 0, 0)), np.zeros(0)


class Discriminant:
    """An explorer: Fisher's linear discriminant, or Gaussian naive Bayes.

    Both take the examples of a class for normally distributed. The first one lets all classes share
    a covariance Σ, and parts them by planes. The second one takes features for independent of each
    other, with variances of each class, and parts classes by ellipsoids or the like. With
    standardised features z, means μ_i and variances σ²_i of class i, the log likelihoods are

        l_i = μ_iᵀ Σ⁻¹ z - ½ μ_iᵀ Σ⁻¹ μ_i,    or    l_i = -½ Σ_j ((z_j - μ_ij)² / σ²_ij + log σ²_ij)

    Real examples are not normal, so both are too sure. A temperature T of 1, 2, 4 … 32 makes up for
    it. Let π_i be the share of class i among the n labels of k classes, (n_i + 1) / (n + k), or 0
    without a label, and p be f1 clipped to [0, 1]. The residual r1 - f1 is estimated by

        s(x) - p(x),    s_i ∝ π_i exp(l_i / T),    Σ_i s_i = 1

    Form and T are those of the least loss -log s_y of given labels y, each predicted before it is
    learned. Losses fade by 0.99 at each label, and one is at most 9.

    Networks and trees learn such a boundary slowly; elsewhere they are better from the start. So
    the explorer is silent until it has predicted labels better than the others together. With r the
    reward, f the scores less what this explorer adds, clipped, and g = |r - f|² - |r - s|², each
    label moves

        gain ← 0.99 gain + g,    square ← 0.99 square + g²

    and it speaks while gain > √square. Without this rule some streams had a tenth more mistakes;
    with it they have the same ones as without the explorer.

    It is fitted to the latest 768 labelled examples, with their weights, anew when new labels are a
    thirtieth of them. So that few suffice, means are drawn to that of all classes, as one label
    there would do. Variances within classes are drawn to those of all, and variances of a class to
    those within classes, as five labels would do. Correlations, with these variances, are
    divided by 1 + (d + 5) / (2 n + d + 5) for n examples of d features that vary. Above 256
    features it is silent.

    References
    ----------
    Friedman: Regularized discriminant analysis. Journal of the American Statistical Association,
    1989.
    """

    TRUST: ClassVar[float] = 0.0
    PRIOR: ClassVar[float] = 5.0

    def __init__(self) -> None:
        self.losses = np.zeros((2, len(TEMPERATURES)))
        self.gains = np.zeros(2)  # gain and square
        self.n_new = 0  # labels since the fit
        self.fit = NO_FIT
        self._choose()

    def __getstate__(self) -> dict[str, Any]:
        """What the rest follows from."""
        at, forms, constants = self.fit
        state = {"at": at.copy(), "forms": forms, "constants": constants, "n_new": self.n_new}
        return {**state, "losses": self.losses.copy(), "gains": self.gains.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fit = state["at"].copy(), state["forms"], state["constants"]
        self.losses, self.gains = state["losses"].copy(), state["gains"].copy()
        self.n_new = state["n_new"]
        self._choose()

    def _choose(self) -> None:
        """Take form and temperature of the least loss."""
        at, forms, constants = self.fit
        form, i = divmod(int(self.losses.argmin()), len(TEMPERATURES))
        t = TEMPERATURES[i]
        self.form = at, forms[form] / t, constants[form] / t + constants[SHARES]

    @property
    def fitted(self) -> bool:
        """Whether there is a fit."""
        return len(self.form[2]) > 0

    @property
    def speaks(self) -> bool:
        """Whether it has predicted labels better than the others together."""
        gain, square = self.gains.tolist()
        return bool(gain > square**0.5)

    def estimate(self, x: Floats, f1: Floats) -> Floats:
        """s - p of each class: raw x (B, d), f1 (B, k) → (B, k); 0 before there is a fit."""
        found = np.zeros_like(f1)
        posterior(x, f1, *self.form, found)
        return found

    def forget(self, columns: NDArray[np.int64]) -> None:
        """Let these columns, which get new features, count as at their means until the next fit."""
        at = self.fit[0]
        at[:, columns[columns < at.shape[1]]] = 0

    def learn(self, history: History, scaling: Scaling, n: int) -> None:
        """Judge both forms by n more labels, and fit them anew if these are enough."""
        x, classes, w, _ = history.examples(history.labelled(min(n, EXAMPLES)))
        judge(x, classes, w, *self.fit, TEMPERATURES, self.losses)
        self.n_new += n
        if self.n_new * OFTEN >= min(history.n_labelled, EXAMPLES):
            self.relearn(history)
        else:
            self._choose()

    def relearn(self, history: History) -> None:
        """Fit both forms anew."""
        self.n_new, self.fit = 0, NO_FIT
        if history.n_features - CONSTANT <= NARROW:
            rows = history.labelled(EXAMPLES)
            x, classes, w, _ = history.examples(rows[history.weight[rows] > 0])
            self.fit = fit(x[:, : history.n_features], classes, w, history.targets.shape[2])
        self._choose()

    def count_pseudo_label(self) -> None:
        """Do nothing: discriminants are of given labels."""

    def renewed(self) -> Self:
        """One without a fit, which is trusted as this one is; this one stays as it is."""
        other = type(self)()
        other.losses, other.gains = self.losses.copy(), self.gains.copy()
        return other


def fit(x: Array, classes: Array, w: Array, k: int) -> tuple[Array, Array, Array]:
    """Both discriminants of k classes, fitted to raw x (n, d) of these classes (n,).

    Parameters
    ----------
    w
        Weights (n,), all above 0.

    Returns
    -------
    at
        The mean and 1 / deviation of each column, (2, d); 0 of what never varied.
    forms, constants
        The coefficients of z² and of z, (2, 2, k, d), and the constants of both forms and the log
        shares of classes, (3, k), of which that of a class without examples is -inf. They are of no
        class if all examples are of one class, or none of the columns varies.
    """
    n, d = x.shape
    if not n:
        return NO_FIT
    share = w * (n / w.sum())  # weights, of which the mean is 1
    each = np.eye(k)[classes] * share[:, None]
    counts, mean = each.sum(axis=0), share @ x / n
    apart = x - mean
    squares = each.T @ apart**2  # (k, d)
    spread = np.sqrt(squares.sum(axis=0) / n)
    varies = spread > ROUNDING * abs(mean)
    if (counts > 0).sum() < 2 or not varies.any():
        return NO_FIT
    scale = np.divide(1.0, spread, out=np.zeros(d), where=varies)  # z = (x - mean) scale
    size, m = counts[:, None], int(varies.sum())
    means = each.T @ apart * scale / np.where(size > 0, size, 1.0)  # of z
    squares = squares * scale**2 - size * means**2  # within each class
    apart *= np.sqrt(share)[:, None]
    apart *= scale
    products = apart.T @ apart - (size * means).T @ means  # within classes
    means *= size / (size + 1)
    within = (squares.sum(axis=0) + LABELS) / (n + LABELS)
    variances = (squares + LABELS * within) / (size + LABELS)
    kept, deviation = 1 - 0.5 * (m + LABELS) / (n + m + LABELS), np.sqrt(within)  # 1 - λ
    correlations = products * (kept / (n + LABELS)) / deviation / deviation[:, None]
    correlations.flat[:: d + 1] = 1.0
    plain = np.linalg.solve(correlations, (means / deviation).T).T / deviation  # Σ⁻¹ μ of each
    naive = -0.5 * varies / variances, means / variances
    forms = np.array([(np.zeros((k, d)), plain), naive])
    constants = np.empty((3, k))
    constants[LINEAR] = -0.5 * (means * plain).sum(axis=1)
    constants[NAIVE] = -0.5 * (means * naive[PLAIN] + varies * np.log(variances)).sum(axis=1)
    constants[SHARES] = np.where(counts > 0, np.log((counts + 1) / (n + k)), -np.inf)
    return np.array([mean * varies, scale]), forms, constants


@inlined
def likelihood(x: Array, at: Array, form: Array, constant: float) -> float:
    """Σ_j (a_j z_j² + b_j z_j) and a constant, of a raw x with the form (a, b), (2, d)."""
    total = 0.0
    for j in range(at.shape[1]):
        z = max(-FARTHEST, min(FARTHEST, (x[j] - at[0, j]) * at[1, j]))
        total += z * (form[0, j] * z + form[1, j])
    return total + constant


@inlined
def posterior(x: Array, f1: Array, at: Array, form: Array, constants: Array, found: Array) -> None:
    """Write s - p of raw x (B, d) into `found`, which is 0 before, (B, k) as f1.

    The form (2, k', d') and the constants (k',) are of the first k' classes and d' features.
    """
    k = len(constants)
    if k == 0:
        return
    scores = np.empty(k)  # in float64: a value far out adds much to all of them
    for i in range(len(x)):
        most, total = -np.inf, 0.0
        for c in range(k):
            scores[c] = likelihood(x[i], at, form[:, c], constants[c])
            most = max(most, scores[c])
        for c in range(k):
            found[i, c] = np.exp(scores[c] - most)
        for c in range(k):
            total += found[i, c]
        for c in range(found.shape[1]):
            p = max(0.0, min(1.0, f1[i, c]))
            found[i, c] = found[i, c] / total - p


@allocating
def judge(
    x: Array,
    classes: Array,
    w: Array,
    at: Array,
    forms: Array,
    constants: Array,
    temperatures: Array,
    losses: Array,
) -> None:
    """Move the losses (2, n) of both forms at n temperatures by labels of raw x (B, d)."""
    k = constants.shape[1]
    if k == 0:
        return
    scores = np.empty(k)
    for i in range(len(x)):
        if not w[i] > 0:
            continue
        for kind in range(2):
            for c in range(k):
                scores[c] = likelihood(x[i], at, forms[kind, :, c], constants[kind, c])
            for t in range(len(temperatures)):
                loss, most, total = WORST, -np.inf, 0.0
                for c in range(k):
                    most = max(most, scores[c] / temperatures[t] + constants[SHARES, c])
                for c in range(k):
                    total += np.exp(scores[c] / temperatures[t] + constants[SHARES, c] - most)
                if classes[i] < k:
                    own = scores[classes[i]] / temperatures[t] + constants[SHARES, classes[i]]
                    loss = min(WORST, most + np.log(total) - own)
                losses[kind, t] = FADING * losses[kind, t] + loss
