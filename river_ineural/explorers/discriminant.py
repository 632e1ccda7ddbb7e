"""Discriminants as an explorer: where planes or ellipsoids part classes, few labels do."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from river_ineural.features.constants import CLOSEST, CONSTANT, FARTHEST, NARROW, ROUNDING
from river_ineural.features.jit import allocating, inlined
from river_ineural.features.scaling import Scaling
from river_ineural.history import History
from river_ineural.networks.threads import single_threaded

Array = NDArray[Any]
Floats = NDArray[np.floating[Any]]
Fit = tuple[Array, Array, Array]  # see `fit`

EXAMPLES = 768  # of which discriminants are fitted, the latest, at most
OFTEN, SELDOM = 30, 15  # fitted anew when new labels are this part of the examples; if silent
TEMPERATURES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
FADING = 0.99  # of earlier losses, at each that follows
WORST = 9.0  # loss of a label, at most
LABELS = 5.0  # that what is likely of a variance counts as
STEPS, ENOUGH = 5, 0.01  # of logistic regression, at most; part of the loss that ends them
SHARED = 2**14  # k d² above which all classes take the same second derivatives
RIDGE, OF_OFFSET = 1.0, 0.01  # how firmly slopes and offsets are held at 0
ALONE = 2**18  # multiplications up to which OpenBLAS, and so NumPy, takes one thread
SHARES = 2  # row of log shares, after the constants of logistic regression and naive Bayes

NO_FIT = np.zeros((2, 0)), np.zeros((2, 2, 0, 0)), np.zeros((3, 0))  # as `fit` makes them
NO_FORM = np.zeros((2, 0)), np.zeros((2, 0, 0)), np.zeros(0)


class Discriminant:
    """An explorer: logistic regression, or Gaussian naive Bayes.

    The first one parts classes by planes. The second one takes features for normally distributed in
    each class and independent of each other, and parts classes by ellipsoids or the like. With
    standardised features z, means μ_i and variances σ²_i of class i, the log likelihoods are

        l_i = w_iᵀ z + b_i,    or    l_i = -½ Σ_j ((z_j - μ_ij)² / σ²_ij + log σ²_ij)

    Both may be too sure. A temperature T of 1, 2, 4 … 32 makes up for it. Let π_i be the share of
    class i among the n labels of k classes, (n_i + 1) / (n + k), or 0 without a label, and p be f1
    clipped to [0, 1]. The residual r1 - f1 is estimated by

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
    thirtieth of them, or a fifteenth while it is silent. Logistic regression takes Newton's steps
    from the fit before, or after a correction from 0, down the sum of losses at T = 1 and of
    ½ Σ_i (|w_i|² + b_i² / 100): five, or until a whole one takes less than a hundredth off. One
    that goes up is halved. The second derivatives by weights of two different classes are taken for
    0, and those of a class times n / (n - 1) for n classes. With many classes and features, an
    upper bound stands for all.

    So that few labels suffice for naive Bayes, means are drawn to that of all classes, as one label
    there would do, variances within classes to those of all, and variances of a class to those
    within classes, as five labels would do. Above 256 features the explorer is silent.

    References
    ----------
    Ng, Jordan: On discriminative vs. generative classifiers: a comparison of logistic regression
    and naive Bayes. NIPS 2001.
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
        state = {"at": at, "forms": forms, "constants": constants, "n_new": self.n_new}
        return {**state, "losses": self.losses, "gains": self.gains}

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
        if self.n_new * (OFTEN if self.speaks else SELDOM) >= min(history.n_labelled, EXAMPLES):
            self.relearn(history, self.fit)
        else:
            self._choose()

    def relearn(self, history: History, before: Fit = NO_FIT) -> None:
        """Fit both forms anew, logistic regression from the fit before."""
        self.fit, self.n_new = NO_FIT, 0
        if history.n_features - CONSTANT <= NARROW:
            rows = history.labelled(EXAMPLES)
            x, classes, w, _ = history.examples(rows[history.weight[rows] > 0])
            self.fit = fit(x[:, : history.n_features], classes, w, history.targets.shape[2], before)
        self._choose()

    def renewed(self) -> Self:
        """One without a fit, which is trusted as this one is; this one stays as it is."""
        other = type(self)()
        other.losses, other.gains = self.losses.copy(), self.gains.copy()
        return other


@single_threaded
def fit(x: Array, classes: Array, w: Array, k: int, before: Fit = NO_FIT) -> Fit:
    """Both discriminants of k classes, fitted to raw x (n, d) of these classes (n,).

    Parameters
    ----------
    w
        Weights (n,), all above 0.
    before
        The fit from which logistic regression goes on; from `NO_FIT` it begins at 0.

    Returns
    -------
    at
        The mean and 1 / deviation of each column, (2, d); 0 of what never varied.
    forms, constants
        The coefficients of z² and of z, (2, 2, k, d), of logistic regression and naive Bayes, and
        the constants of both and the log shares of classes, (3, k), of which that of a class
        without examples is -inf.

    All are empty, as `NO_FIT`, if there are not two classes, or no column that varies.
    """
    if len({*classes.tolist()}) < 2:
        return NO_FIT
    n, d = x.shape
    share = w * (n / w.sum())  # weights, of which the mean is 1
    each = np.eye(k)[classes] * share[:, None]
    counts, mean = each.sum(axis=0), product(each.T, x).sum(axis=0) / n
    apart = x - mean
    squares = product(each.T, apart**2)  # (k, d)
    spread = np.sqrt(squares.sum(axis=0) / n)
    varies = spread > np.maximum(ROUNDING * abs(mean), CLOSEST)
    if not varies.any():
        return NO_FIT
    scale = np.divide(1.0, spread, out=np.zeros(d), where=varies)  # z = (x - mean) scale
    size = counts[:, None]
    means = product(each.T, apart) * scale / np.where(size > 0, size, 1.0)  # of z
    squares = squares * scale**2 - size * means**2  # within each class
    means *= size / (size + 1)
    within = (squares.sum(axis=0) + LABELS) / (n + LABELS)
    variances = (squares + LABELS * within) / (size + LABELS)
    squared, plain = -0.5 * varies / variances, means / variances
    constant = -0.5 * (means * plain + varies * np.log(variances)).sum(axis=1)
    log_shares = np.where(counts > 0, np.log((counts + 1) / (n + k)), -np.inf)
    z = np.ones((d + 1, n))
    np.multiply(apart.T, scale[:, None], out=z[:d])
    slopes = logistic(z, each.T, log_shares, moved(before, mean, spread, k))
    forms = np.array([(np.zeros((k, d)), slopes[:, :d]), (squared, plain)])
    at = np.array([mean * varies, scale])
    return at, forms, np.array([slopes[:, d], constant, log_shares])


def product(a: Array, b: Array) -> Array:
    """a b on one thread: large ones by PyTorch, for which NumPy would wake all threads."""
    if a.size * b.shape[-1] <= ALONE:
        small: Array = a @ b
        return small
    large: Array = torch.matmul(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    return large


def moved(fit: Fit, mean: Array, spread: Array, k: int) -> Array:
    """Slopes and offsets (k, d + 1) of the logistic regression of a fit, for other z."""
    (center, scale), forms, constants = fit
    known, d = constants.shape[1], len(scale)
    slopes, found = forms[0, 1] * scale, np.zeros((k, len(mean) + 1))
    found[:known, :d] = slopes * spread[:d]
    found[:known, -1] = constants[0] + slopes @ (mean[:d] - center)
    return found.clip(-FARTHEST, FARTHEST)


def logistic(z: Array, each: Array, log_shares: Array, start: Array) -> Array:
    """Slopes and offsets (k, d) of logistic regression on z (d, n), whose last row is 1.

    `each` (k, n) has the weight of each example in the row of its class. Log shares (k,) are added
    to what slopes and offsets give. Steps go from `start` (k, d), or from 0 if that is no worse.
    """
    (k, d), w, ridge = start.shape, each.sum(axis=0), np.full(len(z), RIDGE)
    ridge[-1] = OF_OFFSET

    def predicted(slopes: Array) -> tuple[Array, float]:
        """Probabilities s (k, n), and the loss."""
        s = product(slopes, z) + log_shares[:, None]
        s = np.exp(s - s.max(axis=0))
        s /= s.sum(axis=0)
        own = np.maximum((s * each).sum(axis=0) / w, 1e-300)
        return s, float(0.5 * (ridge * slopes**2).sum() - w @ np.log(own))

    # Second derivatives are diag(s) - s sᵀ. If all s of n classes are equal, n / (n - 1) times
    # diag(s (1 - s)) is just above these, and 2 times it is above them for any s.
    n_classes = max(2, int((log_shares > -np.inf).sum()))
    shared = n_classes == 2 or k * d * d > SHARED
    factor = 2 if shared else n_classes / (n_classes - 1)
    best, (s, least) = start, predicted(start)
    of_none = w.sum() * np.log(np.exp(log_shares).sum()) - w @ log_shares[each.argmax(axis=0)]
    if not least < of_none:
        best = np.zeros((k, d))
        s, least = predicted(best)
    step, part = best, 1.0
    for _ in range(STEPS):
        if part == 1:
            first = product(s * w - each, z.T) + ridge * best
            bends = factor * w * s * (1 - s)
            if shared:
                half = z * np.sqrt(bends.max(axis=0))
                step = np.linalg.solve(product(half, half.T) + np.diag(ridge), first.T).T
            else:
                half = z * np.sqrt(bends)[:, None]
                second = product(half, half.transpose(0, 2, 1)) + np.diag(ridge)
                step = np.linalg.solve(second, first[..., None])[..., 0]
        found = best - part * step
        s_found, loss = predicted(found)
        if not loss < least:
            part /= 2
            continue
        enough = part == 1 and least - loss < ENOUGH * least
        best, s, least, part = found, s_found, loss, 1.0
        if enough:
            break
    return best


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
