"""Algorithms 1 and 2, written from the print alone: what `paper.INeurAL` has to agree with.

The paper's dense layout, contexts built as they are defined, autograd for every gradient, all
iterates kept, all in float64. It has the print's parameters and no others, and names its lines.
The networks, the embedding and Adam are those of the other twin, in `reference.py`.

What is random is given: θ_0, and generators for the subsets, for the draws from Ω, and for what is
returned. Where the print leaves something open, `paper.INeurAL` says what is done.
"""

import math

import torch
from reference import Adam, contexts, embedding, network


def sgd(eta):
    """Algorithm 2, lines 3 and 6: θ - η g."""

    def step(theta, gradients):
        return [w - eta * g for w, g in zip(theta, gradients, strict=True)]

    return step


def adam(eta):
    """With the parameters of Kingma and Ba (2015); the experiments of the paper use it."""
    state = None

    def step(theta, gradients):
        nonlocal state
        state = state or Adam(theta, beta2=0.999)
        return state.update(theta, gradients, eta)

    return step


class Printed:
    """I-NeurAL on x of norm 1 and classes 0 … k - 1, with c1 = c2 = c3 = 1.

    θ1_0 and θ2_0 are lists of matrices (inputs on the right), the last a vector. How the two
    networks step is `sgd` or `adam`.
    """

    def __init__(self, theta0, k, T, gamma, delta, b, step1, step2, subsets, draws, result):
        self.k, self.T, self.gamma, self.delta, self.b = k, T, gamma, delta, b
        self.step1, self.step2 = step1, step2
        self.subsets, self.draws, self.result = subsets, draws, result
        self.hat = self.theta = theta0  # line 1: trained last; of θ_{t-1}, which predict
        self.omega = [theta0]
        self.served = []  # (θ_0, …, θ_{T-1})
        self.h1, self.h2 = [], []  # line 2: contexts with their rewards, with their residuals
        self.t = 0
        self.n_queries = 0

    def f1(self, rows):
        return network(rows, self.theta[0])

    def phi(self, rows):
        """The DC embedding, under θ1_{t-1}."""
        return embedding(rows, self.theta[0])

    def beta(self):
        """Line 11."""
        depth = len(self.theta[0])
        confidence = math.sqrt(2 * math.log(self.T * self.k / self.delta) / self.t)
        return math.sqrt(2 / self.t) + 3 * depth / math.sqrt(2 * self.t) + confidence

    def observe(self, x):
        """Lines 4 to 11: scores, the prediction, whether to query."""
        self.t += 1
        self.x = contexts(x, self.k)  # line 4: x_{t,i}, a row each, (k, kd)
        scores = self.f1(self.x) + network(self.phi(self.x), self.theta[1])  # lines 5 to 7
        top, runner_up = scores.topk(2).indices.tolist()  # lines 8 to 10
        query = bool((scores[top] - scores[runner_up]).abs() < 2 * self.gamma * self.beta())
        self.n_queries += query
        return scores, top, query

    def learn(self, label):
        """Lines 14 to 26, from the label that was observed, or from the prediction."""
        reward = torch.eye(self.k).double()[label]  # lines 15 and 20
        residual = (reward - self.f1(self.x)).detach()  # lines 16 and 21
        self.h1 += list(zip(self.x, reward, strict=True))  # line 24
        self.h2 += list(zip(self.x, residual, strict=True))  # line 25
        self.served.append(self.theta)
        hat1, hat2 = ([w.clone().requires_grad_() for w in theta] for theta in self.hat)

        x, r1 = self.subset(self.h1)  # Algorithm 2, line 2
        loss1 = ((r1 - network(x, hat1)) ** 2 / 2).sum() / self.b  # line 1
        new1 = self.step1(hat1, torch.autograd.grad(loss1, hat1))  # line 3
        x, r2 = self.subset(self.h2)  # line 5
        loss2 = ((r2 - network(self.phi(x), hat2)) ** 2 / 2).sum() / self.b  # line 4
        new2 = self.step2(hat2, torch.autograd.grad(loss2, hat2))  # line 6
        self.hat = [w.detach() for w in new1], [w.detach() for w in new2]
        self.omega.append(self.hat)  # line 7
        self.drawn = int(self.draws.integers(len(self.omega)))
        self.theta = self.omega[self.drawn]  # line 8

    def subset(self, history):
        """b of the contexts so far, drawn uniformly; all, while they are fewer."""
        b = min(self.b, len(history))
        drawn = self.subsets.choice(len(history), b, replace=False)
        rows, values = zip(*(history[i] for i in drawn), strict=True)
        return torch.stack(rows), torch.stack(values)

    def returned(self):
        """Line 28: of the t that took the lead with probability 1/t, the last: uniform over all."""
        leads = [t for t in range(1, self.t + 1) if self.result.random() * t < 1]
        return self.served[leads[-1] - 1]
