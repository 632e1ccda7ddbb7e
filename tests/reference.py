"""I-NeurAL with the package's parameters: slow, dense, by automatic differentiation.

The twin of what the paper prints, and of nothing else, is `printed.py`.

Nothing is shared with the package but the draws of its random generators, made here in the same
order, which also give the initial values of weights that appear. Everything is float64.

Contexts x_{t,i} are really built in R^{kd}, first layers are dense matrices, the input gradient of
the derivative-context embedding and the gradients of both losses come from torch.autograd, the
optimiser is written out, statistics are of all examples ever learned, trust is a least squares
solution over all labels ever given, and the sums of the drift detector are over all labels since
it was last calm. Where it departs from the paper it does so as docs/deviations.md says.
"""

import copy
import itertools
import math
import random
from fractions import Fraction

import numpy as np
import torch
from reference_discriminant import ReferenceDiscriminant
from reference_forest import ReferenceForest

from river_ineural.active import Budget

TINY = 1e-12  # a zero vector is left zero when it is scaled to a norm
FIRST_LAYERS = 0.3  # times the paper's initial weights
ALL = torch.tensor(True)  # the columns that are there
RADII = 0.01, 0.05, 0.15  # the least, the first and the largest by which examples are moved
# Trust before labels tell, and its weight
EXPLORERS = {
    **{"network": (0.0, 0.05), "forest": (0.5, 5.0)},
    **{"discriminant": (0.0, 5.0), "last_label": (0.0, 1.0)},
}


def vector(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def contexts(x, k):
    """x_{t,1} … x_{t,k} of every row x, the rows of a (Bk, kd) matrix ("Problem Definition")."""
    x = x.reshape(-1, x.shape[-1])
    return torch.einsum("ij,bd->bijd", torch.eye(k).double(), x).reshape(len(x) * k, -1)


def hidden(z, theta):
    """The last hidden layer of every row z."""
    for matrix in theta[:-1]:
        z = torch.relu(z @ matrix.T)
    return z


def network(z, theta):
    """W_L σ(W_{L-1} … σ(W_1 z)) of every row z ("Proposed Algorithms")."""
    return hidden(z, theta) @ theta[-1]


def embedding(x, theta1):
    """φ(x_{t,i}) of every row x_{t,i} (DC embedding)."""
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(network(x, theta1).sum(), x)
    norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True).clamp_min(TINY)
    return torch.cat([gradient / (math.sqrt(2) * norm), x.detach() / math.sqrt(2)], dim=1)


def loss_gradient(function, target, weight, theta):
    """∇_θ of Σ weight · (target - f(θ))² / 2 / b, b being the outputs (Algorithm 2)."""
    theta = [matrix.clone().requires_grad_() for matrix in theta]
    loss = (weight * (target - function(theta)) ** 2 / 2).mean()
    return torch.autograd.grad(loss, theta)


class Adam:
    """Algorithm 1 of Kingma & Ba (2015)."""

    beta1, epsilon = 0.9, 1e-8

    def __init__(self, theta, beta2=0.99):
        self.beta2, self.t = beta2, 0
        self.m, self.v = ([torch.zeros_like(p) for p in theta] for _ in range(2))

    def grow(self, embed):
        self.m, self.v = embed(self.m, scale=0), embed(self.v, scale=0)

    def update(self, theta, gradient, lr, there=ALL):
        """Where columns of the first layer are not there, nothing is moved."""
        self.t += 1
        updated = []
        for i, (p, g) in enumerate(zip(theta, gradient, strict=True)):
            m = self.beta1 * self.m[i] + (1 - self.beta1) * g
            v = self.beta2 * self.v[i] + (1 - self.beta2) * g**2
            m_hat = m / (1 - self.beta1**self.t)
            v_hat = v / (1 - self.beta2**self.t)
            new = p - lr * m_hat / (v_hat.sqrt() + self.epsilon)
            moves = there if i == 0 else ALL
            self.m[i], self.v[i] = m.where(moves, self.m[i]), v.where(moves, self.v[i])
            updated.append(new.where(moves, p))
        return updated


class ReferenceClassifier:
    """Both networks, both histories and Algorithm 2; explorers, and what follows a change."""

    exploration_lr, balance, span = 1e-3, 0.0, 50

    def __init__(self, of, encodes=False):
        """With the parameters `of` a model of the package's."""
        self.m, self.depth, self.lr, self.encodes = of.hidden_dim, of.n_layers, of.lr, encodes
        self.batch_size, self.n_steps, self.explorers = of.batch_size, of.n_steps, of.explorers
        self.n_networks = 1 + ("network" in of.explorers)
        self.of_weights, self.of_batches, self.of_trees = (
            np.random.default_rng(child) for child in np.random.SeedSequence(of.seed).spawn(3)
        )
        self.features, self.labels, self.room = [], [], 0
        self.seen, self.counts = [], []  # raw examples, and what each counts in the statistics
        self.mean, self.scale, self.squashed, self.rms, self.n_there = 0.0, 1.0, False, 0.0, 0.0
        self.capacities = [of.capacity - max(1, of.capacity // 4), max(1, of.capacity // 4)]
        self.rings, self.n_added = [[], []], [0, 0]  # examples as dicts: given, pseudo-labelled
        self.waiting = []  # pseudo-labels that have not been learned yet
        self.theta1 = None
        self.told = []  # at each label given: what each explorer said, the residual
        self.discriminant = ReferenceDiscriminant()
        self.follow_labels()
        self.forest, self.order, self.lasting = ReferenceForest(self.of_trees), [], False
        self.predictions = []  # between each label and the one before
        self.late = 0  # examples learned between the next label and its example
        self.predicted = 0  # examples since the last label
        self.has_predicted = False  # since a label was learned
        self.n_repeated = 0  # examples that the last label does not count
        self.detector = ReferenceDetector() if of.drift_detector == "cusum" else None
        self.recovery = None
        self.formers, self.evidence = [], 0.0  # and of a former one, that it is the better one
        self.ageing = []  # at each label: whether a newer or an older neighbour told it

    # Encoding

    def encoded(self, x):
        """Strings and missing values as features of their own; the median for their number."""
        if not self.encodes:
            return x
        plain = {}
        for name, value in x.items():
            if isinstance(value, str):
                plain[f"{name}={value}"] = 1.0
            elif value is None or math.isnan(value):
                plain[f"{name} missing"] = 1.0
            else:
                plain[name] = value
                continue
            if name in self.features:
                held = sorted(example["x"].get(name, 0.0) for example in self.held()[-255:])
                plain[name] = held[(len(held) - 1) // 2] if held else 0.0
        return plain

    def raw(self, xs):
        """Feature dicts as rows: absent features are 0, features never learned left out."""
        return vector([[float(x.get(name, 0)) for name in self.features] for x in xs])

    @property
    def wide(self):
        """Whether there is room for more than 256 features: then all but that is otherwise."""
        return self.room > 256

    @property
    def more(self):
        """Times as many steps where there are many features."""
        return 2 if self.wide else 1

    @property
    def sparse(self):
        """Whether examples have less than a sixteenth of many features, those that are not 0."""
        return self.wide and 0 < self.n_there < self.room / 16

    def there(self, xs):
        """Columns (d,) of the constant and, where examples have few features, of theirs only."""
        any_has = (self.raw(xs) != 0).any(0) | (not self.sparse)
        return torch.cat([torch.tensor([True]), any_has])

    def of(self, theta, there):
        """These weights, without what other columns have."""
        first, *others = theta
        return [(first.view(self.m, -1, len(there)) * there).view(first.shape), *others]

    def columns(self, there):
        """The same for the inputs of the first layers of f1 and f2."""
        return there.repeat(len(self.labels)), there.repeat(2 * len(self.labels))

    def update_statistics(self):
        """Of all examples learned so far; what never varied keeps its scale."""
        if not self.seen:
            return
        raw, share = self.raw(self.seen), vector(self.counts) / sum(self.counts)
        self.mean = share @ raw
        self.n_there = share @ (raw != 0).sum(1).double()
        self.varies = (raw != raw[0]).any(0)
        apart = raw - self.mean
        deviation = (share @ apart**2).sqrt()
        flag = vector([len(set(values)) == 2 for values in raw.T.tolist()]).bool()
        self.squashed = self.varies & ~flag & (not self.wide)
        q = torch.where(self.squashed, deviation, (share @ apart**4) ** 0.25)
        q = torch.where(flag, 2 * (raw.amax(0) - raw.amin(0)), q)
        self.scale = torch.where(self.varies, q, 1.0)
        of_normal = torch.where(self.squashed, 0.633, (deviation / self.scale) ** 2)
        self.rms = of_normal.sum().sqrt().item()
        if not self.varies.any() and sum(self.counts) >= 10:
            self.rms = 1.0  # the constant alone learns how frequent classes are

    def normalized(self, xs):
        """Centred, scaled, squashed, the constant put in front, then of unit norm."""
        raw = self.raw(xs)
        z = torch.where(self.sparse & (raw == 0), 0.0, (raw - self.mean) / self.scale)
        z = torch.where(torch.as_tensor(self.squashed), z.asinh(), z)
        rows = torch.cat([torch.full((len(z), 1), self.rms).double(), z], dim=1)
        return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min(TINY)

    # Algorithm 1, lines 5 to 7

    def scores(self, x):
        """f1 and what explorers add, under the weights that predict."""
        if self.theta1 is None:
            return [0.0] * len(self.labels)
        scores = self.parts(self.encoded(x))[2]
        self.predicted += 1
        self.has_predicted = True
        return scores

    def parts(self, x, before=0):
        """f1, the estimates of its residual, the scores; so many rows of its frame come before."""
        rows, (theta1, theta2) = self.normalized([x]), self.average
        f1 = self.f1(rows, theta1)[0].tolist()
        said = []
        for name in self.explorers:
            if name == "network":
                there = self.there([x])
                said.append(self.f2(rows, self.of(theta1, there), theta2)[0].tolist())
            elif name == "forest":
                said.append(self.forest.estimate(self.raw([x])[0].numpy(), f1))
            elif name == "discriminant":
                p = np.clip(f1, 0, 1)
                said.append(self.discriminant.estimate(self.raw([x])[0].numpy(), p))
            else:
                said.append(self.by_last_label([min(1.0, max(0.0, f)) for f in f1], before))
        scores = [
            f + sum(a * e for a, e in zip(self.trust, es, strict=True))
            for f, *es in zip(f1, *said, strict=True)
        ]
        return f1, said, scores

    def f1(self, rows, theta1):
        """f1 of each class, (B, k), of normalised examples."""
        k = len(self.labels)
        return network(contexts(rows, k), theta1).view(-1, k)

    def f2(self, rows, theta1, theta2):
        """f2 of each class."""
        k = len(self.labels)
        return network(embedding(contexts(rows, k), theta1), theta2).view(-1, k)

    # How much explorers are trusted

    def follow_labels(self):
        """Least squares over the labels given, the older the less, and beside the prior."""
        if not self.explorers:
            self.trust = []
            return
        first, weights = np.transpose([EXPLORERS[name] for name in self.explorers])
        rows, wanted = [np.diag(np.sqrt(weights))], [np.sqrt(weights) * first]
        silent = np.array([n == "discriminant" for n in self.explorers])
        silent &= not self.discriminant.speaks
        for age, (said, residual, weight) in enumerate(reversed(self.told)):
            said = np.where(silent[:, None], 0.0, said)
            rows.append(math.sqrt(0.99**age * weight) * said.T)
            wanted.append(math.sqrt(0.99**age * weight) * np.array(residual))
        solution = np.linalg.lstsq(np.concatenate(rows), np.concatenate(wanted))[0]
        self.trust = np.clip(solution, 0, 1).tolist()

    # Algorithm 1, lines 14 to 26

    def learn(self, x, y, pseudo_label=False, w=1.0, late=0):
        self.learn_many([x], [y], [w], pseudo_label, late)

    def learn_many(self, xs, ys, ws, pseudo_label=False, late=0):
        """All are scored, and then learned; then they may tell of a change."""
        if not pseudo_label:
            for state in [self, *([self.recovery.incumbent] if self.recovery else [])]:
                state.late = late
        xs, n_known = [self.encoded(x) for x in xs], len(self.labels)
        if pseudo_label and self.theta1 is not None:
            xs = [{name: x[name] for name in x if name in self.features} for x in xs]
        recovery, predicted = self.recovery, self.has_predicted
        states = [self, recovery.incumbent, recovery.snapshot] if recovery else [self]
        states += self.formers
        if not pseudo_label or ys[0] not in self.labels:
            self.take_in_waiting()
        for state in states:
            state.grow({name for x in xs for name in x}, ys)
        arrived = [
            [state.arrived(*each) for each in zip(xs, ys, ws, range(len(xs)), strict=True)]
            for state in (states[:1] if pseudo_label else states)
        ]
        if not pseudo_label:  # names have been added, labels not
            self.before = self.labels[:n_known], arrived[0][-1]["scores"][:n_known]
            self.has_predicted = False
        for each in () if pseudo_label else arrived:
            anew = self.not_repeated([*self.held(), *each], len(each), predicted)
            anew = anew if len(each) == 1 else [True] * len(each)
            known = [e["weight"] for e in (*self.held(), *each) if e["weight"]]
            usual = np.median(known) if known else 1.0
            for example, is_new in zip(each, anew, strict=True):
                example["tells"] = min(10.0, example["weight"] / usual) if is_new else 0.0
        if pseudo_label:
            self.waiting += arrived[0]
            if len(self.waiting) == 6:
                self.take_in_waiting()
                self.take_steps(0, True)
            return
        if self.detector is None:
            self.take_in(arrived[0], False)
            return
        said = "scores", "scores without the last label"
        known, apart = (  # one of weight 0, or a repetition, tells nothing of a change
            [
                [(e[key][:n_known], e["label"] if e["tells"] > 0 else None) for e in each]
                for each in arrived
            ]
            for key in said
        )
        since = 0
        for scores, label in known[0] if n_known else []:
            if label is not None and since:  # in a frame, after the alarm
                since += 1
                self.detector.recent = [*self.detector.recent, (*told_of(scores), label)][-64:]
            elif label is not None:
                since = self.detector.update(scores, label)
        for former, then in zip(
            self.formers, apart[len(states) - len(self.formers) :], strict=True
        ):
            former.compare(then, known[0])
        if recovery and n_known > 1:
            recovery.update(*apart[:2], known[2])
        self.take_in(arrived[0], False)
        if recovery:
            recovery.incumbent.take_in(arrived[1], False)
        back = max(self.formers, key=lambda former: former.evidence, default=self)
        if back.evidence > 6:
            back.study(recovery.incumbent if recovery else self, recovery, len(xs))
            self.detector.n_drifts += not recovery
            self.use(back, self.detector, recovery.snapshot if recovery else copy.copy(self))
        elif recovery:
            self.try_on([e["tells"] > 0 for e in arrived[0]])
        elif since:
            self.alarm(since)
        elif self.has_aged():
            newest = self.oldest_and_newest()[1]
            self.renew([(e["x"], e["label"], e["weight"]) for e in newest])

    def arrived(self, x, y, w, before=0):
        """An example, and what is said of it before it is learned."""
        f1, said, scores = self.parts(x, before)
        label = self.labels.index(y)
        reward = [float(i == label) for i in range(len(self.labels))]
        residual = [r - f for r, f in zip(reward, f1, strict=True)]
        known = {"x": x, "label": label, "weight": w, "reward": reward, "residual": residual}
        apart = list(scores)
        if "last_label" in self.explorers:
            i = self.explorers.index("last_label")
            apart = [f - self.trust[i] * e for f, e in zip(scores, said[i], strict=True)]
        return {**known, "said": said, "scores": scores, "scores without the last label": apart}

    def take_in_waiting(self):
        """Pseudo-labels; their steps are taken with six of them, or after the next label."""
        waiting, self.waiting = self.waiting, []
        if waiting:
            self.take_in(waiting, True)

    def take_in(self, arrived, pseudo_label):
        """Into statistics, trust, history and trees; then steps."""
        if not (pseudo_label or self.sparse):
            self.ageing += [self.told_by(each) for each in arrived if each["tells"]]
        self.seen += [example["x"] for example in arrived]
        self.counts += [1.0] * len(arrived)
        self.update_statistics()
        for example in arrived:
            if pseudo_label:
                example["residual"] = [0.0] * len(self.labels)
            elif example["tells"]:
                self.told.append((example["said"], example["residual"], example["tells"]))
                self.compare_discriminant(example)
        self.follow_labels()
        self.store(arrived, pseudo_label)
        if pseudo_label:
            self.steps_due += 0.35 * len(arrived) * (0.25 if self.sparse else 1)
        else:
            self.teach_explorers(len(arrived))
            self.take_steps(len(arrived) * self.n_steps, False)

    def store(self, arrived, pseudo_label):
        ring, capacity = self.rings[pseudo_label], self.capacities[pseudo_label]
        for example in arrived:
            if len(ring) < capacity:
                ring.append(example)
            else:
                ring[self.n_added[pseudo_label] % capacity] = example
            self.n_added[pseudo_label] += 1
            example["position"] = sum(self.n_added)

    def not_repeated(self, held, n, predicted):
        """Of the latest n, whether the one before is another, or does not count, or was learned
        before a prediction, which only the first of the n can be, or came before others, too.
        """
        found = []
        for i in range(len(held) - n, len(held)):
            equal = [torch.equal(*(self.raw([e["x"]]) for e in (old, held[i]))) for old in held[:i]]
            same = i > 0 and equal[-1] and held[i - 1]["weight"] > 0
            if same:
                run = list(itertools.takewhile(bool, reversed(equal)))
                same = len(run) < i and not any(equal[: i - len(run)])
            found.append(not same or (predicted and i == len(held) - n))
        return found

    def given(self):
        """Classes of the labels that are stored."""
        return {example["label"] for example in self.rings[0]}

    def held(self):
        """Examples whose labels were given, the oldest first."""
        start = self.n_added[0] % max(1, len(self.rings[0]))
        return [*self.rings[0][start:], *self.rings[0][:start]]

    def teach_explorers(self, n):
        """All but f2, which the steps teach."""
        latest = self.held()[-min(n, 300) :]
        anew = self.not_repeated(self.held(), len(latest), self.predicted > 0)
        told = []
        for example, is_new in zip(latest, anew, strict=True):
            self.n_repeated += not is_new
            if example["weight"] > 0 and is_new:
                told.append((example["label"], example["position"] - self.n_repeated))
        self.order += told
        self.predictions += [self.predicted, *([0] * len(told))][: len(told)]
        self.predicted *= not told
        if told and "last_label" in self.explorers:
            self.lasting = self.hangs_together() and self.lasts(self.late) >= 1 / math.e
        self.late = 0
        self.fit_discriminants(n)
        self.grow_trees(n)

    def hangs_together(self):
        """Whether the next label was the last one more often than by chance."""
        excess = variance = 0.0
        for t in range(1, len(self.order)):
            q = self.share_of_last(t)
            excess = 0.98 * excess + (self.order[t][0] == self.order[t - 1][0]) - q
            variance = 0.98 * variance + q * (1 - q)
        return excess > 3 * math.sqrt(variance)

    def share_of_last(self, n):
        """Of the class of the last of n labels, among them."""
        told = [(0.98 ** (n - 1 - i), label) for i, (label, _) in enumerate(self.order[:n])]
        same = sum(weight for weight, label in told if label == self.order[n - 1][0])
        return same / sum(weight for weight, _ in told)

    def lasts(self, n):
        """The probability that a class lasts for n more examples."""
        changes = examples = 0.0
        for (before, start), (label, end) in itertools.pairwise(self.order):
            changes, examples = 0.98 * changes + (label != before), 0.98 * examples + end - start
        return (1 - (changes + 1) / (examples + 1)) ** n

    def since(self):
        """Examples since the last label: learned, or predicted, as far as those are learned."""
        fading = 0.98 ** np.arange(len(self.order) - 1)[::-1]
        learned = fading @ np.diff([position for _, position in self.order])
        predictions = fading @ self.predictions[1:]
        often = min(1.0, learned / predictions) if predictions else 1.0
        age = sum(self.n_added) - self.n_repeated + len(self.waiting) - self.order[-1][1]
        return max(age, often * self.predicted)

    def by_last_label(self, p, before):
        """Bayes' rule: the class of the last label lasts, or any class comes by its share."""
        if not self.lasting:
            return [0.0] * len(p)
        last, _ = self.order[-1]
        lasts = self.lasts(1 + self.since() + before)
        q = self.share_of_last(len(self.order))
        b = [(p[i] + 0.05) * (lasts * (i == last) / q + 1 - lasts) for i in range(len(p))]
        return [b[i] / sum(b) - p[i] for i in range(len(p))]

    def compare_discriminant(self, example):
        if "discriminant" in self.explorers:
            i, said = self.explorers.index("discriminant"), example["said"]
            f1 = np.array(example["reward"]) - example["residual"]
            added = [a * np.array(e) for a, e in zip(self.trust, said, strict=True)]
            others = f1 + sum(added) - added[i]
            self.discriminant.compare(example["label"], f1, others, np.array(said[i]))

    def fit_discriminants(self, n):
        held = self.held()
        if held and "discriminant" in self.explorers:
            classes, w = (np.array([e[name] for e in held]) for name in ("label", "weight"))
            x = self.raw([e["x"] for e in held]).numpy()
            self.discriminant.learn(x, classes, w, len(self.labels), n)

    def grow_trees(self, n):
        held, k, d = self.held(), len(self.labels), len(self.features)
        if "forest" not in self.explorers:
            return
        if self.wide and self.n_there < 0.4 * (d + 1):
            self.forest.stale = [True] * len(self.forest.stale)
            return
        weights = np.array([np.eye(k)[e["label"]] * e["weight"] for e in held])
        varied = np.flatnonzero(self.varies).tolist()
        x = self.raw([e["x"] for e in held]).numpy()
        tried = min(max(1, d // 2), max(16, round(float(self.n_there)) // 4), 256)
        self.forest.learn(x, weights, varied, tried, n, self.n_added[0])

    # Changes

    def told_by(self, example):
        """1 if of the nearest examples of both parts only the newer one has the label, or -1."""
        if len(self.held()) < 40:
            return 0
        x, label = self.raw([example["x"]])[0], example["label"]
        parts, nearest = self.oldest_and_newest(), []
        for rows in parts:
            counted = [e for e in rows if e["weight"]]
            far = [
                float((((row - x) / self.scale) ** 2).sum())
                for row in self.raw([e["x"] for e in counted])
            ]
            nearest.append(counted[far.index(min(far))]["label"] if counted else None)
        if None in nearest or (nearest[0] == label) == (nearest[1] == label):
            return 0
        for c in nearest:
            counts = [sum(e["label"] == c for e in rows) for rows in parts]
            if max(counts) > 2 * min(counts):
                return 0
        return 1 if nearest[1] == label else -1

    def oldest_and_newest(self):
        """128 each of the latest 768 labelled examples, or halves of fewer than 256."""
        held = self.held()[-768:]
        n = min(128, len(held) // 2)
        return held[:n], held[-n:]

    def has_aged(self):
        excess, variance = self.ageing_sums()
        return excess > 4 * math.sqrt(variance)

    def ageing_sums(self):
        parts = [(0.99**i, s) for i, s in enumerate(reversed(self.ageing))]
        return sum(part * s for part, s in parts), sum(part * s * s for part, s in parts)

    def alarm(self, since):
        """Networks anew; a snapshot, and a copy that goes on learning, are kept."""
        formers, self.formers = self.formers, []
        snapshot = copy.deepcopy(self)
        self.formers = formers
        recent = snapshot.detector.recent[-min(since, len(self.rings[0])) :]
        snapshot.detector.reset()
        self.recovery = ReferenceRecovery(snapshot, copy.deepcopy(snapshot), recent)
        rows = self.held()
        told = [i for i, e in enumerate(rows) if e["weight"]]
        self.recovery.n_since = len(rows) - (told[-since] if since <= len(told) else 0)
        self.detector = self.detector.successor()
        fifty = min(50, sum(self.counts)) / sum(self.counts)
        self.counts = [count * fifty for count in self.counts]
        self.learn_anew()

    def try_on(self, weighted):
        """A recovery after more labels, each with a weight above 0 or not."""
        recovery = self.recovery
        before, recovery.n_told = recovery.n_told, recovery.n_told + sum(weighted)
        recovery.n_after += len(weighted)
        over = recovery.n_told >= 48
        if (over and recovery.lead <= 0 and not recovery.swapped) or recovery.taken_back:
            self.use(recovery.incumbent, recovery.incumbent.detector)
            return
        if any(before < at <= recovery.n_told for at in (4, 8, 16, 32, 48)):
            self.learn_anew()
        if over:
            self.use(self, self.detector, recovery.snapshot)

    def compare(self, then, now):
        """What this former model and the one in use say of labels: is this one better?"""
        for (scores, label), (others, _) in zip(then, now, strict=True):
            right, other = (top_and_gap(each)[0] == label for each in (scores, others))
            if label is not None and right != other:
                self.evidence = max(0.0, self.evidence + math.log(1.6 if right else 0.4))

    def use(self, model, detector, former=None):
        """A model is in use from now on, and another one is kept with the latest former ones."""
        formers = [each for each in self.formers if each is not model] + [former] * bool(former)
        for each in formers:
            each.evidence = 0.0
        detector.reset()
        model.detector, model.formers = detector, formers[-3:]
        model.before, model.recovery, model.has_predicted = self.before, None, False
        self.__dict__ = model.__dict__

    def study(self, other, recovery, n):
        """What this former model does not know: classes, and what came since the alarm or now."""
        held = other.held()
        n = len(held) - (recovery.n_after + n if recovery else n)
        known = {e["label"] for e in self.rings[0] if e["weight"]}
        xs = [e["x"] for e in self.rings[0]]
        new = [e for e in held[:n] if e["label"] not in known and e["weight"] and e["x"] not in xs]
        new += held[n:]
        arrived = [self.arrived(e["x"], self.labels[e["label"]], e["weight"]) for e in new]
        self.store(arrived, False)
        self.teach_explorers(len(new))
        self.take_steps(min(1000, 2 * self.n_steps * len(new)) / self.more, False)

    def learn_anew(self):
        """From the labels since the change, and from what older ones are worth."""
        recovery = self.recovery
        held = recovery.snapshot.held()
        n_old = len(held) - recovery.n_since
        newer = held[n_old:] + (self.held()[-recovery.n_after :] if recovery.n_after else [])
        kept = []
        for example in held[:n_old]:
            becomes, worth = recovery.fate(example["label"])
            if worth * example["weight"] > 0.4:
                kept.append((example["x"], becomes, worth * example["weight"]))
        left = {label for _, label, _ in kept} | {e["label"] for e in newer}
        if len(left) < 2 and recovery.n_told < 16:
            kept = [(e["x"], e["label"], e["weight"]) for e in held[:n_old]]
        self.renew(kept + [(e["x"], e["label"], e["weight"]) for e in newer])

    def renew(self, kept):
        """Learn these examples, their classes and weights alone."""
        self.rings, self.n_added, self.ageing = [[], []], [0, 0], []
        self.start(len(self.labels), 1 + len(self.features))
        self.forest = ReferenceForest(self.forest.rng)
        self.discriminant = self.discriminant.renewed()
        self.order, self.predictions, self.predicted, self.lasting = [], [], 0, False
        self.n_repeated = 0
        self.store([self.arrived(x, self.labels[label], w) for x, label, w in kept], False)
        n = len(self.rings[0])
        self.teach_explorers(n)
        self.take_steps(min(1000, 2 * self.n_steps * n) / self.more, False)

    # Algorithm 2

    def take_steps(self, n, pseudo_label):
        """A fraction is carried over; f2 takes part in a share of those after given labels."""
        self.steps_due += n * self.more * (0.25 if self.sparse else 1)
        while self.steps_due >= 1:
            self.steps_due -= 1
            if self.n_networks > 1 and not pseudo_label:
                self.explorations_due += 0.125 * self.more
            exploring = self.explorations_due >= 1
            self.explorations_due -= exploring
            self.step(exploring)

    def draw(self, n):
        """n examples, a fixed share from each non-empty ring; and which labels were given."""
        given, pseudo = self.rings
        draws = self.of_batches.random(n)
        n_given = (round(0.7 * n) if pseudo else n) if given else 0
        chosen = [given] * n_given + [pseudo] * (n - n_given)
        batch = [ring[int(u * len(ring))] for u, ring in zip(draws, chosen, strict=True)]
        return batch, torch.arange(n) < n_given

    def step(self, exploring):
        k = len(self.labels)
        batch, given = self.draw(math.ceil(self.batch_size / min(k, 2)))
        reward, residual = (  # of a class unknown when the example arrived: 0
            vector([e[name] + [0.0] * (k - len(e[name])) for e in batch])
            for name in ("reward", "residual")
        )
        weight = vector([[example["weight"]] for example in batch])
        weight = weight * torch.where(reward == 1, max(1, k - 1) ** self.balance, 1.0)
        xs = [example["x"] for example in batch]
        rows, there = self.normalized(xs), self.there(xs)
        theta1 = self.of(self.theta1, there)
        columns1, columns2 = self.columns(there)
        if self.wide and k > 1:
            rows = self.moved(rows, batch, given, theta1)
        of_f1 = lambda theta: self.f1(rows, theta)  # noqa: E731
        of_f2 = lambda theta: self.f2(rows, theta1, theta)  # noqa: E731
        gradient1 = loss_gradient(of_f1, reward, weight, self.theta1)
        if exploring:
            gradient2 = loss_gradient(of_f2, residual, weight * given[:, None], self.theta2)
            self.theta2 = self.adam2.update(self.theta2, gradient2, self.exploration_lr, columns2)
        self.theta1 = self.adam1.update(self.theta1, gradient1, self.lr, columns1)
        self.follow(columns1, columns2 & exploring)

    def follow(self, *columns):
        """The average; where examples have few features, their columns are taken as they are."""
        self.n_steps_taken += 1
        share = 8 / self.span if self.n_steps_taken % 8 == 0 else 0.0
        if self.n_steps_taken <= self.span:
            share = 1 / self.n_steps_taken
        followed = []
        for average, theta, there in zip(
            self.average, (self.theta1, self.theta2), columns, strict=True
        ):
            new = [past + share * (now - past) for past, now in zip(average, theta, strict=True)]
            if self.sparse and new and there.dim():
                new[0] = theta[0].where(there, average[0])
            followed.append(new)
        self.average = tuple(followed)

    def moved(self, rows, batch, given, theta1):
        """Each example of the batch, moved to where f1 of its class falls behind."""
        at = rows.clone().requires_grad_()
        leads = []
        for f1, example in zip(self.f1(at, theta1), batch, strict=True):
            label = example["label"]
            leads.append(f1[label] - torch.cat([f1[:label], f1[label + 1 :]]).max())
        leads = torch.stack(leads)
        (direction,) = torch.autograd.grad(leads.sum(), at)
        missed = (leads <= 0)[given].double()
        least, _, most = RADII
        if len(missed):
            self.radius *= math.exp(0.2 * (0.01 - missed.mean().item()))
            self.radius = min(max(self.radius, least), most)
        direction[:, 0] = 0  # the constant stays
        norm = torch.linalg.vector_norm(direction, dim=1, keepdim=True).clamp_min(TINY)
        return rows - self.radius * direction / norm

    # Initial weights, drawn in the order in which the package draws

    def normal(self, *shape, variance):
        """N(0, variance / m)."""
        drawn = self.of_weights.normal(0, math.sqrt(variance / self.m), shape)
        return torch.from_numpy(drawn)

    def start(self, k, d):
        """Networks of k classes and d columns that have learned nothing."""
        self.theta1, self.theta2 = self.initial()
        embed1, embed2 = self.widened(0, 0, k, d)
        self.theta1, self.theta2 = embed1(self.theta1), embed2(self.theta2)
        self.adam1, self.adam2 = Adam(self.theta1), Adam(self.theta2)
        self.average = self.theta1, self.theta2
        self.n_steps_taken, self.steps_due, self.explorations_due = 0, 0.0, 0.0
        self.radius = RADII[1]

    def initial(self):
        """Both networks without first layers: N(0, 2/m), at the output N(0, 1/m) and 0 of f2."""
        m, n = self.m, self.n_networks
        hidden = self.normal(n, self.depth - 2, m, m, variance=2)
        output = self.normal(n, m, variance=1)
        output[1:] = 0
        nothing = torch.zeros(m, 0).double()
        return *([nothing, *hidden[i], output[i]] for i in range(n)), *[[]] * (2 - n)

    def widened(self, k, d, k_new, d_new):
        """What puts weights of k classes and d columns, of f1 and of f2, inside new ones."""
        m, fresh = self.m, []
        for _ in ("f1 on x", "f2 on x / √2", "f2 on the gradient")[: 2 * self.n_networks - 1]:
            first = torch.zeros(m, 1, k_new, d_new).double()
            first[:, 0, :k, d:] = self.normal(m, k, d_new - d, variance=2) * FIRST_LAYERS
            first[:, 0, k:] = self.normal(m, k_new - k, d_new, variance=2) * FIRST_LAYERS
            fresh.append(first)

        def embed(theta, new):
            """A first layer (m, kd) or (m, 2kd) inside a larger one with new entries from `new`."""
            larger = new.clone()
            larger[:, :, :k, :d] = theta[0].view(m, -1, k, d) if k * d else larger[:, :, :k, :d]
            return [larger.view(m, -1), *theta[1:]]

        def embed1(theta, scale=1):
            return embed(theta, scale * fresh[0])

        def embed2(theta, scale=1):
            return embed(theta, scale * torch.cat([fresh[2], fresh[1]], dim=1)) if theta else []

        return embed1, embed2

    def grow(self, names, ys):
        """Classes and features that appear."""
        d, k = 1 + len(self.features), len(self.labels)
        self.features = self.features + sorted(names - set(self.features))
        self.labels = self.labels + [y for y in dict.fromkeys(ys) if y not in self.labels]
        d_new, k_new = 1 + len(self.features), len(self.labels)
        if d_new > self.room:
            self.room = max(d_new, self.room + self.room // 4)
        if self.theta1 is None:
            self.start(k_new, d_new)
        elif (d, k) != (d_new, k_new):
            self.update_statistics()
            embed1, embed2 = self.widened(k, d, k_new, d_new)
            self.theta1, self.theta2 = embed1(self.theta1), embed2(self.theta2)
            self.average = embed1(self.average[0]), embed2(self.average[1])
            self.adam1.grow(embed1)
            self.adam2.grow(embed2)

    def dense(self, weights):
        """(θ1, θ2) in this twin's layout from the package's `Weights`, which have room for more."""

        def first(blocks):  # (m, k, room) → (m, kd)
            return blocks[..., : 1 + len(self.features)].reshape(self.m, -1)

        f1, f2 = weights.f1, weights.f2
        context, *of_f2 = map(first, weights.first_layers)
        theta1 = [context, *f1.hidden, f1.output[0]]
        if not weights.shape.explores:
            return theta1, []
        return theta1, [torch.cat(of_f2[::-1], dim=1), *f2.hidden, f2.output[0]]


class ReferenceDetector:
    """The mistakes to be expected, and whether there are more."""

    def __init__(self):
        self.n_drifts, self.n_of_class, self.n = 0, {}, 0
        self.error_rates, self.counts = [0.45, 0.3, 0.15, 0.08], [8] * 4
        self.surprise_rates = [0.3, 0.2, 0.1, 0.05]
        self.recent = []
        self.reset()

    def reset(self):
        self.evidence, self.back = [], []  # what each label said; labels held back

    def successor(self):
        other = ReferenceDetector()
        other.n_drifts, other.n_of_class = self.n_drifts + 1, dict(self.n_of_class)
        return other

    def sums(self):
        """By kind, -1 to -3 or a class that was said: the largest sum, and where it begins."""
        found = {}
        for kind in {-1, -2, -3, *(top for top, *_ in self.evidence)}:
            best, start, total = 0.0, None, 0.0
            for n, (top, *mistake, third, p3) in reversed(list(enumerate(self.evidence))):
                if kind in (-1, -2, -3, top):
                    wrong, p = (third, p3) if kind == -3 else mistake
                    total += log_ratio(wrong, p, p / 2 + 0.3 if kind in (-1, -3) else 1 - p)
                    if total > best + 1e-9:  # equal sums, but for rounding, begin at the later one
                        best, start = total, n
            if start is not None:
                found[kind] = best, start
        return found

    @property
    def warning_detected(self):
        return any(best > 1.5 for kind, (best, _) in self.sums().items() if kind < 0)

    def expected_rate(self, gap, of=None):
        """A share of mistakes among labels of that kind, and a standard error of it."""
        share, n = (of or self.error_rates)[kind_of(gap)], self.counts[kind_of(gap)]
        return min(0.6, max(0.02, share + math.sqrt(share * (1 - share) / n)))

    def update(self, scores, label):
        """0, or at an alarm the number of labels since the change."""
        young = self.n_of_class.get(label, 0) < 10
        if young:
            self.n_of_class[label] = self.n_of_class.get(label, 0) + 1
            if self.n <= max(30, 3 * len(self.n_of_class)):
                return 0
        top, gap = told_of(scores)
        third = label < len(scores) and sorted(scores)[-2:][0] > scores[label]
        self.recent = [*self.recent, (top, gap, label)][-64:]
        self.n += not young
        if self.n > 30:
            mistake = top != label, self.expected_rate(gap)
            surprise = third, self.expected_rate(gap, self.surprise_rates)
            self.evidence.append((top, *mistake, *surprise))
            sums = self.sums()
            # Of a class and of all, as much may be said: then it is of all.
            worst = max(sums, key=lambda kind: (round(sums[kind][0], 9), kind == -2), default=None)
            if worst is not None and sums[worst][0] > 6:
                starts = [sums[worst][1]]
                if worst >= 0:
                    starts += [each[1] for kind, each in sums.items() if kind < 0 and each[0] > 1.5]
                return min(64, len(self.evidence) - min(starts))
        if young:
            return 0
        self.back.append((kind_of(gap), top != label, third))
        if self.n <= 30 or not self.warning_detected:
            for kind, *found in self.back:
                n = self.counts[kind] = min(60, self.counts[kind] + 1)
                for rates, one in zip((self.error_rates, self.surprise_rates), found, strict=True):
                    rates[kind] += (one - rates[kind]) / n
            self.back = []
        return 0


class ReferenceRecovery:
    """Whether an alarm was one, and what old labels are worth."""

    def __init__(self, snapshot, incumbent, recent):
        self.snapshot, self.incumbent = snapshot, incumbent
        self.said = list(recent)  # (what the snapshot says, its gap, the label) so far
        self.n_since, self.n_after, self.n_told, self.lead = len(recent), 0, 0, 0
        self.ratios = [0.0]  # the sum of evidence after each label

    def update(self, challenger, incumbent, snapshot):
        """Scores and labels as each of the three sees them."""
        for scores, label in snapshot:
            if label is None:
                continue
            top, gap = top_and_gap(scores)
            self.said.append((top, gap, label))
            p = self.snapshot.detector.expected_rate(gap)
            ratio = log_ratio(top != label, p, p / 2 + 0.3)
            self.ratios.append(self.ratios[-1] + ratio)
        counted = slice(max(0, 24 - self.n_told), None)
        told = (
            [each for each in those if each[1] is not None] for those in (challenger, incumbent)
        )
        right = [
            [top_and_gap(scores)[0] == label for scores, label in each[counted]] for each in told
        ]
        self.lead += sum(right[0]) - sum(right[1])

    @property
    def taken_back(self):
        return max(self.ratios) < 3 and self.ratios[-1] <= -3

    @property
    def swapped(self):
        said = {top for top, *_ in self.said}
        fates = [(top, *self.fate(top)) for top in said]
        names = {other for top, other, worth in fates if other != top and worth > 0.4}
        return self.ratios[-1] >= 12 and bool(names & said)

    def fate(self, label):
        """What old labels of a class have become, and what they weigh."""
        row, last = {}, [each for each in self.said if each[0] == label]
        for later, (_, gap, given) in zip(range(len(last) - 1, -1, -1), last, strict=True):
            row[given] = row.get(given, 0.0) + 0.9**later * min(1, gap / 0.6)
        n, same = sum(row.values()), row.get(label, 0.0)
        if not row:
            return label, 0.0
        other = max(row, key=row.get)
        if row[other] > same + 1:
            return other, max(0.0, 2 * row[other] / (n + 1) - 1)
        return label, max(0.0, 2 * (same + 1) / (n + 2) - 1)


def kind_of(gap):
    return sum(gap >= least for least in (0.3, 0.6, 0.9))


def log_ratio(wrong, p, q):
    """What a label says for a share q of mistakes, where that is more than p."""
    q = max(p, q)
    return math.log(q / p) if wrong else math.log((1 - q) / (1 - p))


def told_of(scores):
    """The class of the highest score, and its gap; of one class it is sure."""
    return top_and_gap(scores) if len(scores) > 1 else (0, 1.0)


def top_and_gap(scores):
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    return order[0], scores[order[0]] - scores[order[1]] if len(scores) > 1 else 0.0


class ReferenceSampler:
    """The query decision and the pseudo-labels of Algorithm 1."""

    def __init__(self, classifier, gamma, width, budget, horizon, seed):
        self.classifier, self.gamma, self.width = classifier, gamma, width
        self.budget, self.horizon = budget, horizon
        self.rng = random.Random(f"sampler {seed}")
        self.t = self.n_queries = self.n_pseudo_labels = 0
        self.n_labels = self.n_waiting = 0  # told by whoever learns
        self.heard, self.confirmed_gap, self.reasons, self.n_refuted = [], 1.0, [], 0
        self.n_hardly, self.n_kept, self.threshold, self.unseen = 0, 0, None, None
        if isinstance(budget, Budget):
            self.budget, self.bucket = budget.limit, budget.burst
            self.burst = budget.burst
        elif horizon is None:
            self.bucket = self.burst = max(20, math.floor(2500 * budget))

    def round(self, x):
        """Lines 4 to 12 and 18 to 26: predicted label, whether to ask, scores."""
        self.t, self.threshold = self.t + 1, None
        labels, scores = self.classifier.labels, self.classifier.scores(x)
        top, gap = top_and_gap(scores) if labels else (None, 0.0)
        if self.horizon is None:
            may = self.bucket = min(self.burst, self.bucket + Fraction(repr(self.budget)))
        else:
            may = math.floor(self.budget * self.horizon) - self.n_queries
        if self.unseen is None or self.unseen:  # once all were seen, none is looked for again
            given = self.classifier.given()
            self.unseen = [label for i, label in enumerate(labels) if i not in given]
        reason = self.reason(labels, self.unseen, gap, may)
        if reason != "none" and may < 1:
            reason = "budget"
        ask = reason not in ("none", "budget")
        self.reasons.append(reason)
        self.n_queries += ask
        if self.horizon is None:
            self.bucket -= ask
        if not ask and len(labels) > 1 and gap >= 0.6 and not self.classifier.sparse:
            self.classifier.learn(x, labels[top], pseudo_label=True)
            self.n_pseudo_labels += 1
        return labels[top] if labels else None, ask, scores

    def reason(self, labels, unseen, gap, may):
        """Why a label is wanted."""
        if len(labels) - len(unseen) < 2:  # the more rarely the more were asked for
            few, n = self.n_queries < 10, self.n_queries
            p = max(self.budget, 0 if few else 10 / n)
            size = math.floor(self.budget * self.horizon) if self.horizon else self.burst
            one = len(labels) > len(unseen) and self.n_labels >= 10  # a second one is waited for
            held = min(0.8, max(0.5, (size - 20) / size)) if one else 0.2
            if self.horizon and self.share(may, 2, held_back=False) <= held:
                p = min(1, may / (self.horizon - self.t + 1))
            if self.horizon is None:
                p *= self.share(may, 2, held_back=False) > held
            few = few or self.rng.random() < p
            return "few classes" if few else "none"
        self.confirmed_gap -= (self.confirmed_gap - 1) * self.budget / 1024
        changing = self.classifier.recovery is not None
        share = float(self.share(may, len(labels), held_back=not changing))
        full = 2 * self.gamma * self.width(self.t, len(labels), self.classifier.depth)
        full *= (self.n_labels + 10) / (self.n_labels + 10 + self.n_waiting)
        self.threshold = threshold = full * share**0.75
        rest = self.random_share()
        kept = int(rest * self.budget * max(0, self.horizon - self.t)) if self.horizon else 0
        unasked = "budget" if may < 1 + kept and gap < full else "none"
        if 1 <= may < 1 + kept and not some_class_is_late(self.heard):
            self.n_kept += 1
        else:
            if gap < threshold:
                return "change" if changing else "gap"
            if changing:
                return "change" if self.rng.random() < 0.25 else unasked
            if self.classifier.detector is not None and self.classifier.detector.warning_detected:
                return "warning"
            far = gap > self.confirmed_gap + 0.1
            if far and (not self.n_waiting or self.rng.random() < 1 / (1 + self.n_waiting)):
                return "random"
        chance = self.budget * (1 if unseen else rest)
        if self.horizon is not None:
            chance = min(chance, may / max(1, self.horizon - self.t + 1))
        return "random" if chance and self.rng.random() < chance else unasked

    def random_share(self):
        """Of the labels that are asked for at random."""
        if self.horizon is None:
            return 0.25
        total = math.floor(self.budget * self.horizon)
        detector, recovery = self.classifier.detector, self.classifier.recovery
        changed = detector is not None and detector.n_drifts > 0 and recovery is None
        part = 0.4 if changed else 0.14
        return 0.05 if self.classifier.lasting else part * total / (total + 200)

    def share(self, may, k, held_back):
        """Of the labels that are left."""
        if some_class_is_late(self.heard):
            self.n_hardly += 1
            return 1
        if self.horizon is None:
            left = may / self.burst
            left = (left - 0.2) / 0.8 if held_back else left
        else:
            left = may / math.floor(self.budget * self.horizon)
            to_come = max(0, 1 - self.t / self.horizon)
            held = 0.5 if self.classifier.lasting else min(0.15, 0.05 * (k - 1))
            held = max(held, self.random_share())
            held *= held_back
            left = (left - held * to_come) / (1 - held)
        return min(1, max(0, left))

    def told(self, y):
        """How sure the classifier was of the label that it has just learned, and right."""
        self.n_labels += 1
        labels, scores = self.classifier.before
        if len(labels) > 1:
            top, gap = top_and_gap(scores)
            if gap > 1:
                self.confirmed_gap = max(self.confirmed_gap, gap) if labels[top] == y else 1.0
                self.n_refuted += labels[top] != y
        self.heard.append(y)


def some_class_is_late(labels):
    """Whether a class has a 32nd of its even share of the labels, 64 labels after its first; or two
    of them one or two labels each, 32 labels after, of ten labels a class.
    """
    n, classes = len(labels), set(labels)
    age = {y: n - 1 - labels.index(y) for y in classes}
    late = {y for y in classes if 32 * labels.count(y) * len(classes) <= n}
    new = [y for y in classes if labels.count(y) <= 2 and age[y] < 32]
    return any(age[y] < 64 for y in late) or (n >= 10 * len(classes) and len(new) >= 2)
