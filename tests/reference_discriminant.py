"""The discriminants beside f1, written out example by example."""

import numpy as np

TEMPERATURES = 1, 2, 4, 8, 16, 32


class ReferenceDiscriminant:
    """Logistic regression and Gaussian naive Bayes, whichever predicts labels better."""

    def __init__(self, losses=None):
        self.losses = np.zeros((2, len(TEMPERATURES))) if losses is None else losses
        self.gains = []
        self.n_new, self.shares, self.raw = 0, None, []

    def renewed(self):
        other = ReferenceDiscriminant(self.losses.copy())
        other.gains = list(self.gains)
        return other

    def compare(self, label, f1, others, estimate):
        """With the scores f1 + what others add, on a label."""
        if self.shares is None:
            return
        r = np.eye(len(f1))[label]
        s = np.clip(f1, 0, 1) + estimate
        self.gains.append(((r - np.clip(others, 0, 1)) ** 2 - (r - s) ** 2).sum())

    @property
    def speaks(self):
        fading = 0.99 ** np.arange(len(self.gains))[::-1]
        return fading @ self.gains > np.sqrt(fading @ np.square(self.gains))

    def log_likelihoods(self, x):
        """Of both forms, (2, k), for one example (d,)."""
        z = (x[: len(self.mean)] - self.mean)[self.used] / self.spread[self.used]
        planes = self.coefficients @ np.append(z, 1.0)
        naive = -((z - self.means) ** 2 / self.variances + np.log(self.variances)).sum(1) / 2
        return planes, naive

    def posteriors(self, x, form, temperature):
        odds = self.log_likelihoods(x)[form] / temperature
        s = self.shares * np.exp(odds - odds[self.shares > 0].max())
        return s / s.sum()

    def estimate(self, x, p):
        """s - p of one example."""
        if self.shares is None:
            return [0.0] * len(p)
        form, t = np.unravel_index(self.losses.argmin(), self.losses.shape)
        s = self.posteriors(x, form, TEMPERATURES[t])
        return (np.pad(s, (0, len(p) - len(s))) - p).tolist()

    def learn(self, x, classes, w, k, n):
        """The latest n of stored examples (N, d) are new."""
        x, classes, w = x[-768:], classes[-768:], w[-768:]
        for i in range(max(0, len(x) - n), len(x)):
            if w[i] and self.shares is not None:
                for form in (0, 1):
                    for t, temperature in enumerate(TEMPERATURES):
                        s = self.posteriors(x[i], form, temperature)
                        s = s[classes[i]] if classes[i] < len(s) else 0.0
                        loss = min(9.0, -np.log(max(s, 1e-99)))
                        self.losses[form, t] = 0.99 * self.losses[form, t] + loss
        self.n_new += n
        if (30 if self.speaks else 15) * self.n_new >= len(x):
            self.fit(x, classes, w, k)

    def fit(self, x, classes, w, k):
        self.n_new, self.shares = 0, None
        before, self.raw = self.raw, []
        x, classes, w = x[w > 0], classes[w > 0], w[w > 0]
        if not x.size or x.shape[1] > 256 or len(set(classes)) < 2:
            return
        w, n = w / w.mean(), len(w)
        self.mean = np.average(x, axis=0, weights=w)
        self.spread = np.sqrt(np.average((x - self.mean) ** 2, axis=0, weights=w))
        self.used = self.spread > np.maximum(1e-14 * abs(self.mean), 1e-70)
        if not self.used.any():
            return
        z = ((x - self.mean) / np.where(self.used, self.spread, 1))[:, self.used]
        self.n_columns = x.shape[1] + 1
        d = z.shape[1]
        counts, means, squares = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
        for c in set(classes):
            own, share = z[classes == c], w[classes == c]
            counts[c], mean = share.sum(), np.average(own, axis=0, weights=share)
            means[c] = counts[c] / (counts[c] + 1) * mean
            squares[c] = share @ (own - mean) ** 2
        within = (squares.sum(0) + 5) / (n + 5)
        self.means, self.variances = means, (squares + 5 * within) / (counts[:, None] + 5)
        self.shares = np.where(counts > 0, (counts + 1) / (n + k), 0.0)
        self.regress(z, classes, w, k, before)

    def regress(self, z, classes, w, k, before):
        """From the slopes before, if there were any and they are better than none."""
        spread, none = self.spread[self.used], np.zeros((k, z.shape[1] + 1))
        best, step = none.copy(), None
        for c, (slopes, offset) in enumerate(before):
            slopes = np.pad(slopes, (0, len(self.used) - len(slopes)))
            best[c] = [*(slopes * self.spread)[self.used], offset + slopes @ self.mean]
        least = self.loss(best, z, classes, w)
        if least >= (loss := self.loss(none, z, classes, w)):
            best, least = none, loss
        part = 1.0
        for _ in range(5):
            self.coefficients = best
            step = self.step(z, classes, w) if part == 1 else step
            loss = self.loss(best - part * step, z, classes, w)
            if loss < least:
                gain, whole = least - loss, part == 1
                best, least, part = best - part * step, loss, 1.0
                if whole and gain < 0.01 * (loss + gain):
                    break
            else:
                part /= 2
        self.coefficients = best
        for row in best:
            slopes = np.zeros(len(self.used))
            slopes[self.used] = row[:-1] / spread
            self.raw.append((slopes, row[-1] - slopes @ self.mean))

    def predicted(self, coefficients, row):
        s = self.shares * np.exp(coefficients @ np.append(row, 1.0))
        return s / s.sum()

    def loss(self, coefficients, z, classes, w):
        ridge = (coefficients[:, :-1] ** 2).sum() + 0.01 * (coefficients[:, -1] ** 2).sum()
        likely = [self.predicted(coefficients, row)[c] for row, c in zip(z, classes, strict=True)]
        return ridge / 2 - w @ np.log(likely)

    def step(self, z, classes, w):
        """Of Newton's method, with second derivatives by slopes of a class, or a bound of these."""
        k, d = self.coefficients.shape
        ridge = np.diag([1.0] * (d - 1) + [0.01])
        n_classes = np.count_nonzero(self.shares)
        slopes, curved = self.coefficients @ ridge, np.array([ridge] * k)
        for row, label, weight in zip(z, classes, w, strict=True):
            one, s = np.append(row, 1.0), self.predicted(self.coefficients, row)
            square = weight * np.outer(one, one)
            for c in range(k):
                slopes[c] += weight * (s[c] - (c == label)) * one
                bend = s[c] * (1 - s[c]) * n_classes / (n_classes - 1)
                if k * self.n_columns**2 > 2**14:
                    bend = 2 * max(s * (1 - s))
                curved[c] += bend * square
        return np.array([own @ np.linalg.inv(h) for own, h in zip(slopes, curved, strict=True)])
