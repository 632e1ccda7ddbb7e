"""R_T, **R**_T and N_T of the paper where P(y | x) is known, for the print and the defaults."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import torch
from common import Row, in_processes, markdown, of, options, rows_of, spread, write
from drawing import colours, draw
from numpy.typing import NDArray

from river_ineural import INeurAL, paper
from river_ineural.active import TheoreticalWidth
from river_ineural.compare.refitted import WithoutAudits
from river_ineural.datasets import KnownPosterior

Floats = NDArray[np.float64]
Run = tuple[str, str, int, int]  # stream, learner, T and seed

COLUMNS = (
    *("stream", "learner", "seed", "rounds", "returned", "latest", "regret", "fresh_regret"),
    *("labels", "fresh_labels", "late_regret", "late_labels", "all_until"),
)
STREAMS: dict[str, dict[str, Any]] = {
    "hard margin, k = 2": {"margin": 0.9},
    "hard margin, k = 4": {"margin": 0.9, "n_classes": 4},
    "no margin, k = 2": {},
}
PARTS = (20, 10, 4, 2, 1)  # the numbers of rounds T are those shares of the largest
EVERY, FRESH = 10, 100  # once in so many rounds, so many fresh points
FRESH_AT_THE_END = 20_000  # for R_T
R, SUM, LABELS = r"\(R_T\)", r"\(\mathbf R_T\)", r"\(\mathbf N_T\)"
SHOWN = {"returned": (R, 4), "regret": (SUM, 1), "labels": (LABELS, 0)}  # and their digits
SYMBOLS = {"returned": "$R_T$", "regret": r"$\mathbf{R}_T$", "labels": r"$\mathbf{N}_T$"}


def printed(**settings: Any) -> Callable[[int, int, int], Any]:
    """Algorithms 1 and 2 as printed, with γ = 2, for the theorems want more than 1."""
    return lambda k, rounds, seed: paper.INeurAL(
        tuple(range(k)), rounds, gamma=2.0, seed=seed, **settings
    )


def defaults(k: int, rounds: int, seed: int) -> Any:
    """Those of this package, which no theorem covers, with the width of the analysis and γ = 1.

    Without a budget and audits: a constant width above the margin would ask for ever.
    """
    width = TheoreticalWidth(horizon=rounds)
    return WithoutAudits(INeurAL(seed=seed), gamma=1.0, width=width, seed=seed)


LEARNERS: dict[str, Callable[[int, int, int], Any]] = {
    "print, the theorems' rate": printed(),
    "print, rate 0.5": printed(lr=0.5),
    "defaults": defaults,
}


def known_labels(classifier: Any) -> tuple[int, ...]:
    """The labels that a classifier can predict."""
    printed = isinstance(classifier, paper.Networks)
    return tuple(classifier.classes if printed else classifier.known_labels)


def predicted(classifier: Any, x: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Of each point (n, d) the class of the highest score, and how far the next one is below."""
    if isinstance(classifier, paper.Networks):
        k, points = len(classifier.classes), torch.as_tensor(x).to(classifier.e)
        repeated = points.repeat_interleave(k, dim=0), classifier.e.repeat(len(x), 1)
        scores = classifier.f(classifier.contexts(*repeated)).view(len(x), k).numpy()
    else:
        known = list(known_labels(classifier))
        scores = np.full((len(x), max(2, 1 + max(known))), -np.inf)
        names = [f"x{j}" for j in range(x.shape[1])]
        scores[:, known] = classifier._state.scores_of_many(names, x)
    runner_up, top = np.sort(scores, axis=1)[:, -2:].T
    return scores.argmax(1), top - runner_up


def threshold_of(model: Any, t: int, k: int) -> float:
    """2γβ_t: in round t the labels of gaps below it are asked for."""
    if isinstance(model, paper.INeurAL):
        return 2 * model.gamma * model.beta(t)
    return float(2 * model.gamma * model.width(t, k, model.classifier.n_layers))


def population(
    classifier: Any, x: Floats, posteriors: Floats, threshold: float = 0.0
) -> tuple[float, float]:
    """What a classifier loses on points with known P(y | x), and the share it would ask for.

    Lost is P(y = Bayes class | x) - P(y = predicted class | x) in the mean, of which the Bayes
    classifier has none. Before any class is known nothing is predicted, and all are asked for.
    """
    best = posteriors.max(1)
    labels = known_labels(classifier)
    if not labels:
        return float(best.mean()), 1.0
    top, gap = predicted(classifier, x)
    asked = gap < threshold if len(labels) > 1 else np.ones(len(x))
    return float((best - posteriors[np.arange(len(x)), top]).mean()), float(asked.mean())


def run_one(cell: Run) -> Row:
    """T rounds: R_T, **R**_T and N_T.

    R_T is that of what is returned after T rounds, over fresh points; `latest` is that of what
    predicts in round T. **R**_T and N_T are sums over rounds t of expectations for the weights
    θ_{t-1} that predict in round t. As those do not depend on x_t, the sums at the points x_t of
    the stream, `regret` and `labels`, have the same expectation. `fresh_regret` and `fresh_labels`
    are estimates by fresh points in one round, drawn uniformly, of every ten.
    """
    name, learner, rounds, seed = cell
    torch.set_num_threads(1)
    stream = KnownPosterior(rounds, seed=seed, **STREAMS[name])
    model = LEARNERS[learner](stream.n_classes, rounds, seed)
    if isinstance(model, paper.INeurAL):
        model.initialize(*(f"x{j}" for j in range(stream.n_features)))  # θ_0, before any example
    rng = np.random.default_rng([seed, 2])
    starts = np.arange(0, rounds, EVERY)
    lengths = np.minimum(EVERY, rounds - starts)
    stands_for = dict(zip((starts + rng.integers(lengths)).tolist(), lengths.tolist(), strict=True))
    points, chosen = np.empty((rounds, stream.n_features)), np.full(rounds, -1)
    asks = np.zeros(rounds, bool)
    fresh, latest = np.zeros(2), 0.0
    for t, (x, y) in enumerate(stream):
        if t in stands_for:
            threshold = threshold_of(model, t + 1, stream.n_classes)
            found = population(model.classifier, *stream.draw(FRESH, rng), threshold)
            fresh += stands_for[t] * np.array(found)
        if t + 1 == rounds:
            latest, _ = population(model.classifier, *stream.draw(FRESH_AT_THE_END, rng))
        label, asks[t] = model.predict_one(x)
        points[t] = list(x.values())
        chosen[t] = -1 if label is None else label  # as where no class is known yet
        if asks[t]:
            model.learn_one(x, y)
    # Line 28 of the print. The defaults have no such line and return what predicts.
    classifier = model.returned() if hasattr(model, "returned") else model.classifier
    returned, _ = population(classifier, *stream.draw(FRESH_AT_THE_END, rng))
    posteriors = stream.posteriors(points)
    regret = posteriors.max(1) - posteriors[np.arange(rounds), chosen] * (chosen >= 0)
    late = slice(rounds // 2, None)
    numbers = (
        *(round(returned, 5), round(latest, 5), round(float(regret.sum()), 2)),
        *(round(fresh[0], 2), int(asks.sum()), round(fresh[1], 1)),
        *(round(float(regret[late].sum()), 2), int(asks[late].sum())),
        rounds if asks.all() else int(asks.argmin()),
    )
    return dict(zip(COLUMNS, (name, learner, seed, rounds, *numbers), strict=True))


def table(rows: pd.DataFrame) -> str:
    """Of each stream R_T, **R**_T and N_T of each learner, a column a T."""
    lengths, parts = sorted(rows["rounds"].unique()), []
    for name in rows["stream"].unique():
        lines = []
        for learner in rows["learner"].unique():
            for i, (column, (symbol, digits)) in enumerate(SHOWN.items()):
                where = {"stream": name, "learner": learner}
                found = [of(rows, column, rounds=n, **where) for n in lengths]
                cells = [spread(each, digits) for each in found]
                lines.append(["" if i else learner, symbol, *cells])
        shown = markdown(["", "T", *(f"{n:,}" for n in lengths)], lines)
        parts.append(f"**{name}**\n\n{shown}\n")
    return "\n".join(parts)


def agreement(rows: pd.DataFrame) -> str:
    """Of the largest T: the sums at the points of the stream and those by fresh ones."""
    most = rows["rounds"].max()
    columns = {"regret": 1, "fresh_regret": 1, "late_regret": 1}
    columns |= dict.fromkeys(("labels", "fresh_labels", "late_labels", "all_until"), 0)
    both = "at fresh points", "after T/2"
    heads = [f"T = {most:,}", "", SUM, *both, LABELS, *both, "all asked for up to", f"{R}, latest"]
    lines = []
    for name, learner in itertools.product(rows["stream"].unique(), rows["learner"].unique()):
        where = {"stream": name, "learner": learner, "rounds": most}
        found = {**columns, "latest": 4}.items()
        cells = [spread(of(rows, column, **where), digits) for column, digits in found]
        lines.append([name, learner, *cells])
    return markdown(heads, lines)


def draw_curves(rows: pd.DataFrame, folder: Path) -> None:
    """Draw theory-{light,dark}.svg: a column a stream, a row each for R_T, **R**_T and N_T."""
    lengths = sorted(rows["rounds"].unique())
    panels = list(itertools.product(SYMBOLS, rows["stream"].unique()))

    def paint(axes: Any) -> None:
        for panel, (column, name) in zip(axes.flat, panels, strict=False):
            for learner, colour in colours(rows["learner"].unique()).items():
                where = {"stream": name, "learner": learner}
                found = [of(rows, column, rounds=n, **where) for n in lengths]
                ends = [[*map(bound, found)] for bound in (min, max)]
                means = [*map(statistics.mean, found)]
                panel.plot(lengths, means, "o-", ms=3, color=colour, label=learner)
                panel.fill_between(lengths, *ends, color=colour, alpha=0.2, lw=0)
            panel.set(title=name, xlabel="T", ylabel=SYMBOLS[column], xscale="log")
            if column == "returned":  # which may be 0
                panel.set_yscale("symlog", linthresh=1e-3)
                panel.set_ylim(0, 1)
            else:
                panel.set_yscale("log")
            panel.minorticks_off()

    draw(folder / "theory", len(panels), paint)


def main() -> None:
    """Run what theory.csv does not hold yet, print the tables and draw the figure."""
    parser = options(__doc__, 5, streams=STREAMS, learners=LEARNERS)
    parser.set_defaults(rounds=20_000)
    given = parser.parse_args()
    path = given.out / "theory.csv"
    lengths = dict.fromkeys(max(1, given.rounds // part) for part in PARTS)
    named = given.streams or STREAMS, given.learners or LEARNERS
    cells = [
        (name, learner, length, seed)
        for seed in range(given.seeds)
        for name, learner, length in itertools.product(*named, lengths)
    ]
    rows: list[Row] = [*rows_of(path)]
    done = {(r["stream"], r["learner"], int(r["rounds"]), int(r["seed"])) for r in rows}
    for row in in_processes(run_one, [cell for cell in cells if cell not in done], given.jobs):
        rows.append(row)
        write(path, COLUMNS, rows)
    found = pd.read_csv(path)
    print(table(found), agreement(found), sep="\n")
    if given.assets:
        draw_curves(found, given.assets)


if __name__ == "__main__":
    main()
