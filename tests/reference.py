"""I-NeurAL with the package's defaults and parameters: slow, dense, by automatic differentiation.

The twin of what the paper prints, and of nothing else, is `printed.py`.

Nothing is shared with the package but the draws of its random generators, made here in the same
order, which also give the initial values of weights that appear. Everything is float64.

Contexts x_{t,i} are really built in R^{kd}, first layers are dense matrices, the input gradient of
the derivative-context embedding and the gradients of both losses come from torch.autograd, and the
optimisers are written out. Where it departs from the paper it does so as docs/deviations.md says.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch
from reference_forest import ReferenceForest

from river_ineural.active import Budget

TINY = 1e-12  # a zero vector is left zero when it is scaled to a norm


def vector(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def contexts(x, k):
    """x_{t,1} … x_{t,k}, the rows of a (k, kd) matrix ("Problem Definition")."""
    return torch.block_diag(*[x.unsqueeze(0)] * k)


def network(z, theta):
    """W_L σ(W_{L-1} … σ(W_1 z)) of every row z ("Proposed Algorithms")."""
    for matrix in theta[:-1]:
        z = torch.relu(z @ matrix.T)
    return z @ theta[-1]


def embedding(x, theta1):
    """φ(x_{t,i}) of every row x_{t,i} (DC embedding)."""
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(network(x, theta1).sum(), x)
    norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True).clamp_min(TINY)
    return torch.cat([gradient / (math.sqrt(2) * norm), x.detach() / math.sqrt(2)], dim=1)


def loss_gradient(z, target, weight, theta):
    """∇_θ of Σ weight · (target - f(z; θ))² / 2 / b, b being the number of rows (Algorithm 2)."""
    theta = [matrix.clone().requires_grad_() for matrix in theta]
    loss = (weight * (target - network(z, theta)) ** 2 / 2).sum() / len(z)
    return torch.autograd.grad(loss, theta)


class SGD:
    """θ ← θ - η g (Algorithm 2, lines 3 and 6)."""

    def __init__(self, lr):
        self.lr = lr

    def grow(self, embed):
        pass

    def update(self, theta, gradient):
        return [p - self.lr * g for p, g in zip(theta, gradient, strict=True)]


class Adam:
    """Algorithm 1 of Kingma & Ba (2015)."""

    def __init__(self, lr, beta1=0.9, beta2=0.99, epsilon=1e-8):
        self.lr, self.beta1, self.beta2, self.epsilon = lr, beta1, beta2, epsilon
        self.t = 0
        self.m = self.v = None

    def grow(self, embed):
        self.m, self.v = embed(self.m), embed(self.v)

    def update(self, theta, gradient):
        self.t += 1
        updated = []
        for i, (p, g) in enumerate(zip(theta, gradient, strict=True)):
            self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * g
            self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * g**2
            m_hat = self.m[i] / (1 - self.beta1**self.t)
            v_hat = self.v[i] / (1 - self.beta2**self.t)
            updated.append(p - self.lr * m_hat / (v_hat.sqrt() + self.epsilon))
        return updated


class ReferenceClassifier:
    """Both networks, both histories and Algorithm 2."""

    n_kept = 8  # iterates in the reservoir for Ω_t
    every = 8  # steps from one iterate of an average to the next, once there are enough

    def __init__(
        self,
        hidden_dim,
        n_layers,
        lr,
        exploration_lr,
        optimizer,
        batch_size,
        n_steps,
        pseudo_label_steps,
        exploration_share,
        adversarial_radius,
        init_scale,
        capacity,
        labelled_share,
        iterate,
        seed,
        center=True,
        scale=True,
        ranks=True,
        pieces=True,
        relevance=True,
        normalize=True,
        pseudo_label_exploration=False,
        fold_steps=100,
        sure=3.0,
        encodes=False,
        exploration="none",
        residuals="all",
        balance=0.0,
        n_averaged=50,
        forest=False,
    ):
        self.encodes, self.window = encodes, n_averaged
        self.center, self.scaled, self.heeds, self.unit = center, scale, relevance, normalize
        self.ranks, self.takes_apart = ranks, pieces
        self.pseudo_label_exploration = pseudo_label_exploration
        self.exploration, self.residuals, self.balance = exploration, residuals, balance
        self.m, self.depth, self.init_scale = hidden_dim, n_layers, init_scale
        self.batch_size = batch_size
        self.limit = self.most = adversarial_radius
        self.radius, self.n_until = self.limit / 3, 32
        self.fold_steps, self.sure = fold_steps, sure
        self.exploration_share, self.explorations_due = exploration_share, 0.0
        self.steps_each, self.n_steps_taken = (n_steps, pseudo_label_steps), 0
        self.n_learned = [0, 0]
        self.labelled_share, self.iterate = labelled_share, iterate
        self.of_weights, self.of_batches, _, self.of_sample, self.of_folds, of_trees = (
            np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(6)
        )
        self.forest = ReferenceForest(of_trees) if forest else None
        self.features, self.labels = [], []
        self.mean, self.scale, self.rms = 0.0, 1.0, 0.0
        self.seen = []  # every raw example ever learned, for the mean and the scale
        self.rows, self.n_named = [], 0  # the same as vectors
        self.sample, self.n_since, self.quantiles = [], 0, {}  # for ranks, by feature
        self.squares, self.n_heeded = {}, 0  # mean square of f1's gradient, by feature
        self.factors = {}  # by which features are enlarged
        self.carried = 0.0  # part of a step
        n_pseudo = max(1, capacity // 4) if labelled_share is not None else 0
        self.rings = [[], []]  # examples as dicts: labelled, pseudo-labelled
        self.capacities = [capacity - n_pseudo, n_pseudo]
        self.n_added = [0, 0]
        self.theta1 = self.theta2 = None
        self.make = {"adam": Adam, "sgd": SGD}[optimizer]
        self.lr = lr
        self.optimizer1, self.optimizer2 = self.make(lr), self.make(exploration_lr)
        self.omega, self.served = [], None
        self.i_served = self.n_steps = 0

    # What is one small edit when the package's training policy changes

    def steps_after(self, arrived, pseudo_label):
        """How many mini-batch steps follow the arrival of some examples: of a class that has at
        most a 32nd of its even share of the labels ten times as many as of others.
        """
        for example in arrived:
            label = example["reward"].index(1.0)
            alike = sum(given["reward"].index(1.0) == label for given in self.rings[0])
            late = len(self.rings[0]) >= 32 * len(self.labels) * alike and not pseudo_label
            self.n_learned[pseudo_label] += 10 if late else 1
        labelled, pseudo = self.n_learned
        due = self.carried + labelled * self.steps_each[0] + pseudo * self.steps_each[1]
        n = math.floor(due + 1e-9) - self.n_steps_taken
        self.n_steps_taken += n
        return n

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
                held = sorted(example["x"].get(name, 0.0) for example in self.rings[0])
                plain[name] = held[(len(held) - 1) // 2] if held else 0.0
        return plain

    def raw(self, x):
        """A feature dict as a vector: absent features are 0, features never learned left out."""
        return vector([value_of(x, name) for name in self.features])

    def update_statistics(self):
        """Mean and scale of all raw examples learned so far; what never varied keeps its scale."""
        if self.seen:
            if self.n_named != len(self.features):
                self.rows, self.n_named = [], len(self.features)
            self.rows += [self.raw(x) for x in self.seen[len(self.rows) :]]
            raw = torch.stack(self.rows)
            self.mean = raw.mean(0) if self.center else torch.zeros_like(raw[0])
            varies = (raw != (raw[0] if self.center else 0)).any(0)
            self.spread = (raw - self.mean).pow(4).mean(0).pow(0.25)
            two = [self.center and len(set(values)) == 2 for values in raw.T.tolist()]
            divisor = torch.where(torch.tensor(two), 2 * (raw.amax(0) - raw.amin(0)), self.spread)
            q = torch.where(varies & self.scaled, divisor, 1.0)
            factor = vector([self.factors.get(name, 1.0) for name in self.features])
            by_rank = [self.quantiles.get(name) for name in self.features]
            self.scale = q / factor * vector([2.0 if ranks else 1.0 for ranks in by_rank])
            if self.unit:
                larger = vector([ranks["larger"] if ranks else 1.0 for ranks in by_rank])
                z = factor * (raw - self.mean) / q
                self.rms = (z.square() * larger).sum(1).mean().sqrt()

    def sample_rows(self, xs):
        """A reservoir of 256, in which later examples replace others with probability 256 / n."""
        for i, x in enumerate(xs):
            if len(self.sample) < 256:
                self.sample.append(x)
                continue
            slot = int(self.of_sample.random() * max(256, len(self.seen) + 1 + i))
            if slot < 256:
                self.sample[slot] = x
        self.n_since += len(xs)

    def survey(self, due=False):
        """Ranks of the features whose correlation with their rank is below 0.95."""
        n = len(self.seen)
        if not self.ranks or not (due or (n >= 16 and self.n_since >= min(n / 4, 500))):
            return
        self.n_since, self.quantiles = 0, {}
        raw = np.array([self.raw(x).tolist() for x in self.sample])
        for name, values, q in zip(self.features, raw.T, self.spread.tolist(), strict=True):
            if not np.ptp(values):
                continue
            below = values < values[:, None]  # of each row's value
            f = (below.mean(axis=1) + 1 - below.mean(axis=0)) / 2 - 0.5
            if np.corrcoef(values, f)[0, 1] >= 0.95:
                continue
            r = np.array(f) / np.mean(np.power(f, 4)) ** 0.25
            z = (values - values.mean()) / q
            order = np.argsort(values)
            chosen = order[[round(i * (len(values) - 1) / 15) for i in range(16)]]
            self.quantiles[name] = {
                "knots": values[chosen],
                "heights": q * r[chosen],
                "larger": np.mean(((z + r) / 2) ** 2) / np.mean(z**2),
            }

    def normalized(self, raw):
        """Centred and scaled, the rms distance from the mean put in front, then of unit norm."""
        heights = [
            np.interp(value, ranks["knots"], ranks["heights"]) if ranks else 0.0
            for value, ranks in zip(
                raw.tolist(), map(self.quantiles.get, self.features), strict=True
            )
        ]
        scaled = torch.cat([vector([self.rms]), (raw + vector(heights) - self.mean) / self.scale])
        if not self.unit:
            return scaled
        return scaled / torch.linalg.vector_norm(scaled).clamp_min(TINY)

    # Algorithm 1, lines 5 to 7

    def scores(self, x):
        """By which classes are predicted: f1 + f2, or f1, under the weights that predict."""
        return self.scored(x, exploring=self.exploration == "scores")

    def explored(self, x):
        """By which what is predicted may be learned."""
        return self.scored(x, exploring=self.exploration != "none")

    def scored(self, x, exploring):
        if self.theta1 is None:
            return [0.0] * len(self.labels)
        x = self.encoded(x)
        theta1, theta2 = self.served or (self.theta1, self.theta2)
        row = self.normalized(self.raw(x))
        f1 = self.f1(row, theta1)
        scores = f1 + self.f2(row, theta1, theta2) if exploring else f1
        if self.forest:
            scores = scores + vector(self.forest.corrections(self.named(x), f1.tolist()))
        return scores.tolist()

    def named(self, x):
        """What trees compare: the features that have names, by name."""
        return {name: value_of(x, name) for name in self.named_features()}

    def named_features(self):
        return [name for name in self.features if not isinstance(name, Piece)]

    def f1(self, row, theta1):
        """f1 of each class, of a normalised example."""
        return network(contexts(row, len(self.labels)), theta1)

    def f2(self, row, theta1, theta2):
        """f2 of each class."""
        return network(embedding(contexts(row, len(self.labels)), theta1), theta2)

    # Algorithm 1, lines 14 to 26

    def learn(self, x, y, pseudo_label=False, w=1.0):
        self.learn_many([x], [y], [w], pseudo_label)

    def learn_many(self, xs, ys, ws, pseudo_label=False):
        xs = [self.encoded(x) for x in xs]
        self.grow({name for x in xs for name in x}, ys)
        k = len(self.labels)
        theta1, _ = self.served or (self.theta1, self.theta2)
        arrived = []
        for x, y, w in zip(xs, ys, ws, strict=True):
            f1 = self.f1(self.normalized(self.raw(x)), theta1)
            reward = [1.0 if i == self.labels.index(y) else 0.0 for i in range(k)]
            residual = [r - f for r, f in zip(reward, f1.tolist(), strict=True)]
            arrived.append({"x": x, "reward": reward, "residual": residual, "weight": w})
            if self.forest and not pseudo_label:
                self.forest.weigh(self.named(x), f1.tolist(), residual, w)
        self.sample_rows(xs)
        self.seen += xs
        if self.n_heeded >= 50:
            mean = sum(self.squares.values()) / len(self.squares)
            self.factors = {
                name: min(max((square / mean) ** 0.25, 1 / 4), 4)
                for name, square in self.squares.items()
            }
        self.update_statistics()
        self.survey()
        self.update_statistics()
        ring = int(pseudo_label and self.labelled_share is not None)
        for example in arrived:
            if len(self.rings[ring]) < self.capacities[ring]:
                self.rings[ring].append(example)
            else:
                self.rings[ring][self.n_added[ring] % self.capacities[ring]] = example
            self.n_added[ring] += 1
        if self.forest and not pseudo_label:
            start = self.n_added[0] % len(self.rings[0])  # the oldest
            held = [*self.rings[0][start:], *self.rings[0][:start]]
            examples = [(self.named(e["x"]), e["reward"].index(1), e["weight"]) for e in held]
            varied = [
                name
                for name in self.named_features()
                if len({value_of(x, name) for x in self.seen}) > 1
            ]
            n_tries = min(16, max(1, len(self.named_features()) // 2))
            self.forest.learn(examples, varied, n_tries, k, len(arrived))
        for _ in range(self.steps_after(arrived, pseudo_label)):
            explores = self.pseudo_label_exploration or not pseudo_label
            if explores and self.exploration != "none":
                self.explorations_due += self.exploration_share
            exploring = self.explorations_due >= 1
            self.explorations_due -= exploring
            self.step(exploring)
        self.draw_iterate()
        if not pseudo_label and k > 1:
            self.n_until -= len(arrived)
            if self.n_until <= 0:
                if self.limit:
                    self.choose_radius()
                if self.takes_apart:
                    self.choose_encoding()
                self.n_until = len(self.rings[0])

    # Cross-validation

    def choose_radius(self):
        """The largest radius is 0, a third of the limit or the limit: that of the least error."""
        rows, plain = self.folded(), self.heedless()
        errors = {
            radius: plain.errors(rows, radius, self.fold_steps)
            for radius in (0, self.limit / 3, self.limit)
        }
        best = min(errors, key=lambda radius: sum(errors[radius].values()))
        if gain(errors[self.most], errors[best]) > 1:
            self.most = best

    def choose_encoding(self):
        """Features are taken apart, or put together again, where the error is the less for it."""
        names = [name for name in self.features if not isinstance(name, Piece)]
        pieces = self.pieces_of(names)
        others = [self.encoded_as(names)] if len(names) < len(self.features) else []
        others += [self.encoded_as(names + pieces)] if pieces else []
        n = self.steps_each[0] * len(self.rings[0])
        rows, every = self.folded(), [self.heedless(), *others]
        errors = [one.errors(rows, self.most, round(min(1000, n / 2))) for one in every]
        best = min(range(len(every)), key=lambda i: sum(errors[i].values()))
        if gain(errors[0], errors[best]) > self.sure:
            self.__dict__.update(every[best].__dict__)
            self.learn_anew(min(1000, n))

    def pieces_of(self, names):
        """Between each two of seven quantiles of what has been sampled of each feature."""
        sample, found = [self.raw(x).tolist() for x in self.sample], []
        for name, values in zip(self.features, np.array(sample).T, strict=True):
            n = len(values)
            at = {sorted(values)[round(i * (n - 1) / 6)] for i in range(7)}
            if name in names and len(at) > 2:
                found += [Piece(name, *ends) for ends in itertools.pairwise(sorted(at))]
        return found

    def encoded_as(self, features):
        """This with other features, of which none is known to matter."""
        other = self.heedless()
        other.features, other.n_named = features, 0
        other.squares, other.n_heeded = {}, 0
        assert len(self.seen) <= 256  # all that was seen is in the sample
        other.update_statistics()
        if any(isinstance(name, Piece) for name in features):
            other.survey(due=True)
        other.update_statistics()
        return other

    def heedless(self):
        """This with no feature enlarged."""
        other = copy.copy(self)
        other.factors = {}
        other.update_statistics()
        return other

    def learn_anew(self, n_steps):
        """New networks, by steps on what the histories hold."""
        k, d = len(self.labels), 1 + len(self.features)
        self.theta1, self.theta2 = self.initial(self.of_weights)
        embed1, embed2 = self.widened(self.of_weights, 0, 0, k, d)
        self.theta1, self.theta2 = embed1(self.theta1), embed2(self.theta2)
        for network, theta in ("optimizer1", self.theta1), ("optimizer2", self.theta2):
            optimizer = self.make(getattr(self, network).lr)
            if isinstance(optimizer, Adam):
                optimizer.m, optimizer.v = ([torch.zeros_like(p) for p in theta] for _ in range(2))
            setattr(self, network, optimizer)
        self.omega = [(self.theta1, self.theta2)]
        self.i_served, self.served = 0, None if self.iterate == "last" else self.omega[0]
        self.radius, self.explorations_due, self.n_steps = self.most / 3, 0.0, 0
        self.n_learned, self.n_steps_taken = [0, 0], 0
        self.carried = n_steps - math.floor(n_steps)
        for _ in range(math.floor(n_steps)):
            self.explorations_due += self.exploration_share * (self.exploration != "none")
            exploring = self.explorations_due >= 1
            self.explorations_due -= exploring
            self.step(exploring)
        self.draw_iterate()

    def folded(self):
        """The rows of the given labels, every other one of a fold."""
        n = len(self.rings[0])
        oldest_first = np.arange(max(0, self.n_added[0] - n), self.n_added[0])
        return self.of_folds.permutation(oldest_first % self.capacities[0])

    def errors(self, rows, radius, n_steps):
        """Squared error of each row, by a network that has learned the other fold."""
        k, given = len(self.labels), self.rings[0]
        x = torch.stack([self.normalized(self.raw(example["x"])) for example in given])
        reward = torch.stack([vector(e["reward"] + [0.0] * (k - len(e["reward"]))) for e in given])
        weight = vector([example["weight"] for example in given])
        errors = {}
        for held, learned in (rows[::2], rows[1::2]), (rows[1::2], rows[::2]):
            part = x[learned], reward[learned], weight[learned]
            theta = self.learned_from(*part, radius, n_steps)
            for row in held:
                f1 = self.f1(x[row], theta)
                errors[row] = (weight[row] * (reward[row] - f1).square().sum()).item()
        return errors

    def learned_from(self, x, reward, weight, radius, n_steps):
        """An average of θ1 over steps from new initial weights, the examples moved by a radius."""
        k, (d,) = len(self.labels), x[0].shape
        rng, draws = copy.deepcopy(self.of_weights), copy.deepcopy(self.of_folds)
        theta, _ = self.initial(rng)
        theta = self.widened(rng, 0, 0, k, d)[0](theta)
        average, optimizer = theta, self.make(self.lr)
        if isinstance(optimizer, Adam):
            optimizer.m, optimizer.v = ([torch.zeros_like(p) for p in theta] for _ in range(2))
        n_drawn = math.ceil(self.batch_size / min(k, 2))
        for n in range(1, n_steps + 1):
            batch = (draws.random(n_drawn) * len(x)).astype(int)
            rows = [
                x[i]
                - (
                    radius * self.direction(x[i], int(reward[i].argmax()), theta)[0]
                    if radius
                    else 0
                )
                for i in batch
            ]
            repeated, target = weight[batch].repeat_interleave(k), reward[batch].view(-1)
            gradient = self.gradient1(rows, target, self.balanced(repeated, target), theta)
            theta = optimizer.update(theta, gradient)
            if n <= self.window or not n % self.every:
                share = 1 / n if n <= self.window else self.every / self.window
                average = [
                    (1 - share) * past + share * now
                    for past, now in zip(average, theta, strict=True)
                ]
        return average

    # Algorithm 2

    def draw(self, n):
        """n examples uniformly, with replacement, a fixed share from each non-empty ring."""
        labelled, pseudo = self.rings
        draws = self.of_batches.random(n)
        n_labelled = n if not pseudo else round(self.labelled_share * n)
        if not labelled:
            n_labelled = 0
        chosen = [labelled] * n_labelled + [pseudo] * (n - n_labelled)
        return [ring[int(u * len(ring))] for u, ring in zip(draws, chosen, strict=True)]

    def lead(self, row, label, theta1):
        """f1 of the label minus the best of the others."""
        f1 = self.f1(row, theta1)
        return f1[label] - torch.cat([f1[:label], f1[label + 1 :]]).max()

    def direction(self, row, label, theta1):
        """In which f1 of the label falls behind the least, of norm 1; and its norm."""
        at = row.clone().requires_grad_()
        (direction,) = torch.autograd.grad(self.lead(at, label, theta1), at)
        direction[0] = 0  # the constant stays
        norm = torch.linalg.vector_norm(direction).clamp_min(TINY)
        return direction / norm, norm

    def moved(self, batch):
        """Each example of the batch, normalised, moved to where f1 of its class falls behind."""
        rows = [self.normalized(self.raw(example["x"])) for example in batch]
        if len(self.labels) == 1 or not (self.most or self.heeds):
            return rows
        labels = [example["reward"].index(1.0) for example in batch]
        missed = [
            self.lead(row, label, self.theta1).item() <= 0
            for row, label, example in zip(rows, labels, batch, strict=True)
            if any(example is given for given in self.rings[0])
        ]
        if missed:
            self.radius *= math.exp(0.2 * (0.01 - sum(missed) / len(missed)))
            self.radius = min(max(self.radius, self.most / 15), self.most)
        relevant = []
        for row, label in zip(rows, labels, strict=True):
            direction, norm = self.direction(row, label, self.theta1)
            if self.most:
                row -= self.radius * direction
            if norm > 1e-6:
                relevant.append(direction[1:].square())
        if relevant and self.heeds:
            self.heed(torch.stack(relevant).mean(0).tolist())
        return rows

    def heed(self, squares):
        """The mean squares of directions, in units of features before they were enlarged."""
        self.n_heeded += 1
        share = max(0.02, 1 / self.n_heeded)
        for name, square in zip(self.features, squares, strict=True):
            square *= self.factors.get(name, 1.0) ** 2
            past = self.squares.get(name, 0.0)
            self.squares[name] = past + share * (square - past)

    def step(self, exploring):
        k = len(self.labels)
        batch = self.draw(math.ceil(self.batch_size / min(k, 2)))
        reward, residual = (  # of a class unknown when the example arrived: 0
            vector([number for e in batch for number in e[name] + [0.0] * (k - len(e[name]))])
            for name in ("reward", "residual")
        )
        weight = vector([example["weight"] for example in batch for _ in range(k)])
        weight = self.balanced(weight, reward)
        explored = weight.clone().view(len(batch), k)
        for row, example in enumerate(batch):
            if self.residuals == "given" and not any(example is other for other in self.rings[0]):
                explored[row] = 0
        rows = self.moved(batch)
        gradient1 = self.gradient1(rows, reward, weight, self.theta1)
        if exploring:
            gradient2 = self.gradient2(rows, residual, explored.flatten())
        self.theta1 = self.optimizer1.update(self.theta1, gradient1)
        if exploring:
            self.theta2 = self.optimizer2.update(self.theta2, gradient2)
        self.n_steps += 1
        if self.iterate == "uniform":
            self.add_iterate()
        if self.iterate == "average" and (
            self.n_steps <= self.window or not self.n_steps % self.every
        ):
            share = 1 / self.n_steps if self.n_steps <= self.window else self.every / self.window
            self.served = tuple(
                [(1 - share) * past + share * now for past, now in zip(average, theta, strict=True)]
                for average, theta in zip(self.served, (self.theta1, self.theta2), strict=True)
            )
            self.omega = [self.served]

    def balanced(self, weight, reward):
        """Weights (B·k,), more at the class of an example."""
        more = max(1, len(self.labels) - 1) ** self.balance
        return torch.where(reward == 1, weight * more, weight)

    def gradient1(self, rows, reward, weight, theta1):
        """Of the loss of f1 over a batch of normalised examples; numbers (B·k,)."""
        x = torch.cat([contexts(row, len(self.labels)) for row in rows])
        return loss_gradient(x, reward, weight, theta1)

    def gradient2(self, rows, residual, weight):
        """Of the loss of f2."""
        x = torch.cat([contexts(row, len(self.labels)) for row in rows])
        return loss_gradient(embedding(x, self.theta1), residual, weight, self.theta2)

    def dense(self, weights):
        """(θ1, θ2) in this twin's layout from the package's `Weights`."""
        return dense(weights, 1 + len(self.features))

    def add_iterate(self):
        """Algorithm 2, line 7: Ω as a reservoir."""
        if len(self.omega) < self.n_kept:
            self.omega.append((self.theta1, self.theta2))
            return
        slot = int(self.of_weights.integers(self.n_steps + 1))
        if slot < self.n_kept:
            self.omega[slot] = (self.theta1, self.theta2)

    def draw_iterate(self):
        """Line 8: a uniform draw from Ω."""
        if self.iterate == "uniform":
            self.i_served = int(self.of_weights.integers(len(self.omega)))
            self.served = self.omega[self.i_served]

    # Initial weights, drawn in the order in which the package draws

    def initial(self, rng):
        """Both networks, without first layers: hidden ones N(0, 2/m), the output's N(0, 1/m)."""
        m = self.m
        n = self.n_networks
        hidden = torch.from_numpy(rng.normal(0, math.sqrt(2 / m), (n, self.depth - 2, m, m)))
        output = torch.from_numpy(rng.normal(0, math.sqrt(1 / m), (n, m)))
        both = [[torch.zeros(m, 0).double(), *hidden[i], output[i]] for i in range(n)]
        return *both, *[[]] * (2 - n)

    @property
    def n_networks(self):
        """Without exploration there is no f2."""
        return 1 if self.exploration == "none" else 2

    def fresh_first_layers(self, rng, k_new, d_new, k, d):
        """Blocks of first layers (m, 1, k_new, d_new), where those of k classes and d features are
        known already: N(0, 2/m) times `init_scale`.
        """
        m, fresh = self.m, []

        def normal(*shape):
            drawn = torch.from_numpy(rng.normal(0, math.sqrt(2 / m), shape))
            return drawn * self.init_scale

        for _ in ("f1 on x", "f2 on x / √2", "f2 on the gradient")[: 2 * self.n_networks - 1]:
            first = torch.zeros(m, k_new, d_new).double()
            first[:, :k, d:] = normal(m, k, d_new - d)
            first[:, k:] = normal(m, k_new - k, d_new)
            if not self.unit:
                first[:, :, 0] = 0  # of the constant, which is 0 then
            fresh.append(first.view(m, 1, k_new, d_new))
        return fresh

    # Classes and features that appear

    def grow(self, names, ys):
        """Room for new features and classes; weights from N(0, 2/m), output layers N(0, 1/m)."""
        d, k = len(self.features), len(self.labels)
        self.features += sorted(names - set(self.features))
        if self.squares:
            typical = sum(self.squares.values()) / len(self.squares)
            self.squares |= dict.fromkeys(self.features[d:], typical)
        for y in ys:
            if y not in self.labels:
                self.labels.append(y)
        d, d_new, k_new = 1 + d, 1 + len(self.features), len(self.labels)
        if (d, k) == (d_new, k_new) and self.theta1 is not None:
            return
        self.update_statistics()
        started = self.theta1 is not None
        if not started:
            self.theta1, self.theta2 = self.initial(self.of_weights)
        known = (k, d) if started else (0, 0)
        embed1, embed2 = self.widened(self.of_weights, *known, k_new, d_new)
        self.theta1, self.theta2 = embed1(self.theta1), embed2(self.theta2)
        if started:
            self.optimizer1.grow(lambda theta: embed1(theta, scale=0))
            self.optimizer2.grow(lambda theta: embed2(theta, scale=0))
        elif isinstance(self.optimizer1, Adam):
            for adam, theta in (self.optimizer1, self.theta1), (self.optimizer2, self.theta2):
                adam.m = [torch.zeros_like(p) for p in theta]
                adam.v = [torch.zeros_like(p) for p in theta]
        self.omega = [(embed1(past1), embed2(past2)) for past1, past2 in self.omega]
        if self.iterate != "last" and not self.omega:
            self.omega = [(self.theta1, self.theta2)]
        if self.omega:
            self.served = self.omega[self.i_served]

    def widened(self, rng, k, d, k_new, d_new):
        """What puts weights of k classes and d columns, of f1 and of f2, inside new ones."""
        m, fresh = self.m, self.fresh_first_layers(rng, k_new, d_new, k, d)

        def embed(matrix, new):
            """A first layer (m, kd) or (m, 2kd) inside a larger one with new entries from `new`."""
            larger = new.clone()
            larger[:, :, :k, :d] = matrix.view(m, -1, k, d) if k * d else 0
            return larger.view(m, -1)

        new1, *of_f2 = fresh

        def embed1(theta, scale=1):
            return [embed(theta[0], scale * new1), *theta[1:]]

        def embed2(theta, scale=1):
            if not of_f2:
                return []
            new2 = torch.cat([of_f2[1], of_f2[0]], dim=1)
            return [embed(theta[0], scale * new2), *theta[1:]]

        return embed1, embed2


class ReferenceSampler:
    """The query decision and the pseudo-labels of Algorithm 1."""

    def __init__(
        self, classifier, gamma, width, budget, horizon, confidence, exploration, audits, seed
    ):
        self.classifier = classifier
        self.gamma, self.width, self.confidence = gamma, width, confidence
        self.budget, self.horizon = budget, horizon
        self.exploration, self.audits, self.rng = exploration, audits, random.Random(seed)
        self.t = self.n_queries = self.n_pseudo_labels = self.last_ask = 0
        self.n_labels = self.n_waiting = 0  # told by whoever learns
        self.predicted, self.heard, self.reach = [], [], 1.0
        self.n_far = self.n_hardly = 0
        if isinstance(budget, Budget):
            self.budget, self.bucket, self.depth = budget.limit, budget.burst, budget.burst

    def round(self, x):
        """Lines 4 to 12 and 18 to 26: predicted label, whether to ask, scores, gap."""
        self.t += 1
        labels, scores = self.classifier.labels, self.classifier.scores(x)
        order = sorted(range(len(labels)), key=lambda i: -scores[i])
        top = labels[order[0]] if labels else None
        gap = scores[order[0]] - scores[order[1]] if len(labels) > 1 else 0.0
        if self.horizon is None:  # a bucket, refilled round by round; a fifth is held back
            may = self.bucket = min(self.depth, self.bucket + Fraction(repr(self.budget)))
            left, rate = (may / self.depth - 0.2) / 0.8, self.budget
        else:  # a twentieth is held back at the start, nothing in the end
            total = math.floor(self.budget * self.horizon)
            may, rate = total - self.n_queries, self.budget
            left = (may / total - 0.05 * max(0, 1 - self.t / self.horizon)) / 0.95
        if self.hardly_known():
            left, self.n_hardly = 1, self.n_hardly + 1
        left = min(1, max(0, left))
        threshold = left**0.75 * 2 * self.gamma
        threshold *= self.width(self.t, max(2, len(labels)), self.classifier.depth)
        if self.n_waiting:
            threshold *= (self.n_labels + 10) / (self.n_labels + 10 + self.n_waiting)
        chance = 0.0
        if self.audits and self.horizon is None:
            chance = rate * max(self.audits, left)
        elif self.audits:
            chance = rate * self.audits / 5
        elif self.exploration and self.t - self.last_ask >= 1 / self.exploration:
            chance = self.exploration
        if len(labels) > 1:  # more audits where a class is predicted that seldom is
            self.predicted.append(top)
            ages = range(len(self.predicted) - 1, -1, -1)
            weights = [(1 - 1 / 500) ** age for age in ages]
            of_top = sum(
                w for w, label in zip(weights, self.predicted, strict=True) if label == top
            )
            rarity = max(1, sum(weights) / (len(labels) * of_top))
            chance *= rarity
            if self.horizon is None and len(labels) == 2:
                threshold *= min(3, math.sqrt(rarity))
        if len(labels) > 1:
            self.reach -= (self.reach - 1) * rate / 1024
        if len(labels) < 2:
            wanted = self.n_queries < 10  # then the more rarely the more were asked for
            wanted = wanted or self.rng.random() < max(rate, 10 / self.n_queries)
        elif gap < threshold:
            wanted = True
        else:
            wanted = self.audits > 0 and gap > self.reach + 0.1
            if wanted and self.n_waiting:
                wanted = self.rng.random() < 1 / (1 + self.n_waiting)
            self.n_far += wanted
            wanted = wanted or (chance > 0 and self.rng.random() < chance)
        ask = wanted and may >= 1
        if self.horizon is None:
            self.bucket -= ask
        self.n_queries += ask
        self.last_ask = self.t if ask else self.last_ask
        sure = self.classifier.explored(x)
        may_learn = len(labels) > 1 and labels[sure.index(max(sure))] == top
        may_learn = may_learn and sorted(sure)[-1] - sorted(sure)[-2] >= self.confidence
        may_learn = may_learn and gap >= self.confidence / 2
        if not ask and may_learn:
            self.classifier.learn(x, top, pseudo_label=True)
            self.n_pseudo_labels += 1
        return top, ask, scores, gap

    def told(self, x, y):
        """How sure the classifier, which has not learned it yet, was of a label, and right."""
        self.n_labels += 1
        scores, labels = self.classifier.scores(x), self.classifier.labels
        if len(labels) > 1:
            order = sorted(range(len(labels)), key=lambda i: -scores[i])
            gap = scores[order[0]] - scores[order[1]]
            if gap > 1:
                self.reach = max(self.reach, gap) if labels[order[0]] == y else 1.0
        self.heard.append(y)

    def hardly_known(self):
        """Whether a class has a 32nd of its even share of the labels, 64 labels after its first."""
        known, n = set(self.heard), len(self.heard)
        late = {y for y in known if 32 * self.heard.count(y) * len(known) <= n}
        return any(n - 1 - self.heard.index(y) < 64 for y in late)


class Piece(NamedTuple):
    """What a feature has of the way from `lower` to `upper`."""

    of: str
    lower: float
    upper: float


def value_of(x, name):
    """The value of a feature, or of a piece of one."""
    if not isinstance(name, Piece):
        return float(x.get(name, 0))
    along = (float(x.get(name.of, 0)) - name.lower) / (name.upper - name.lower)
    return min(1.0, max(0.0, along))


def gain(usual, other):
    """By how many standard errors some errors, by row, are less than the usual ones."""
    gains = [usual[row] - other[row] for row in usual]
    mean = sum(gains) / len(gains)
    spread = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / len(gains))
    return mean / (spread / math.sqrt(len(gains))) if spread else 0.0


def flatten(theta):
    """All numbers of a list of matrices."""
    return torch.cat([torch.zeros(0).double(), *(matrix.reshape(-1) for matrix in theta)])


def dense(weights, d):
    """(θ1, θ2) in the paper's layout from the package's `Weights`, whose blocks have room for more
    than the d features in use.
    """

    def first(blocks):  # (m, k, room) → (m, kd)
        return blocks[..., :d].reshape(len(blocks), -1)

    context, gradient = weights.context, weights.gradient
    theta1 = [first(context[0]), *weights.hidden1, weights.output1]
    if not weights.shape.explores:
        return theta1, []
    theta2 = [
        torch.cat([first(gradient[0]), first(context[1])], dim=1),
        *weights.hidden2,
        weights.output2,
    ]
    return theta1, theta2
