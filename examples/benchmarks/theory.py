"""R_T, **R**_T and N_T of the paper if P(y | x) is known, for `paper.INeurAL` and the defaults."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import torch
from common import Cell, Row, markdown, of, options, read, run_cells, spread
from drawing import band, colours, draw
from learners import WithoutRandomAsks
from numpy.typing import NDArray

from river_ineural import INeurAL, paper
from river_ineural.active import TheoreticalWidth
from river_ineural.datasets import KnownPosterior

Floats = NDArray[np.float64]

COLUMNS = (
    *("stream", "learner", "seed", "rounds", "returned", "latest", "regret", "fresh_regret"),
    *("labels", "fresh_labels", "late_regret", "late_labels", "all_until"),
)
STREAMS: dict[str, dict[str, Any]] = {
    "hard margin, k = 2": {"margin": 0.9},
    "hard margin, k = 4": {"margin": 0.9, "n_classes": 4},
    "no margin, k = 2": {},
}
PARTS = (20, 10, 4, 2, 1)  # each number of rounds T is the largest divided by one of these
EVERY, FRESH = 10, 100  # rounds per estimate, fresh points of an estimate
FRESH_AT_THE_END = 20_000  # fresh points for R_T
R, SUM, LABELS = r"\(R_T\)", r"\(\mathbf R_T\)", r"\(\mathbf N_T\)"
SHOWN = {"returned": (R, 4), "regret": (SUM, 1), "labels": (LABELS, 0)}  # symbols and digits
SYMBOLS = {"returned": "$R_T$", "regret": r"$\mathbf{R}_T$", "labels": r"$\mathbf{N}_T$"}


RATES = {"print, the theorems' rate": None, "print, rate 0.5": 0.5}
LEARNERS = (*RATES, "defaults")


def new(learner: str, k: int, rounds: int, seed: int) -> Any:
    """Algorithms 1 and 2 as printed with γ = 2 (the theorems need γ > 1), or the defaults.

    No theorem covers the defaults of this package. Here they use the theoretical width, γ = 1, no
    budget and no random asks. A constant width above the margin would ask for every label.
    """
    if learner in RATES:
        lr = RATES[learner]
        return paper.INeurAL(tuple(range(k)), rounds, gamma=2.0, lr=lr, seed=seed)
    width = TheoreticalWidth(horizon=rounds)
    return WithoutRandomAsks(INeurAL(seed=seed), gamma=1.0, width=width, seed=seed)


def scores_of(classifier: Any, x: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The classes that a classifier can predict, and their scores at each point (n, d)."""
    if not isinstance(classifier, paper.Networks):
        names = [f"x{j}" for j in range(x.shape[1])]
        known = np.array(classifier.known_labels, int)
        return known, classifier._learner.score(names, x).scores.astype(float)
    k, points = len(classifier.classes), torch.as_tensor(x).to(classifier.e)
    repeated = points.repeat_interleave(k, dim=0), classifier.e.repeat(len(x), 1)
    scores = classifier.f(classifier.contexts(*repeated)).view(len(x), k).numpy()
    return np.array(classifier.classes), scores


def threshold_of(model: Any, t: int, k: int) -> float:
    """2γβ_t: in round t the label is asked for if the gap is below this threshold."""
    printed = isinstance(model, paper.INeurAL)
    beta = model.beta(t) if printed else model.width(t, k, model.classifier.n_layers)
    return float(2 * model.gamma * beta)


def population(
    classifier: Any, x: Floats, posteriors: Floats, threshold: float = 0.0
) -> tuple[float, float]:
    """Mean loss of a classifier on points with known P(y | x), and the share it would ask for.

    The loss is P(y = Bayes class | x) - P(y = predicted class | x), which is 0 for the Bayes
    classifier. Before any class is known nothing is predicted, and all labels are asked for.
    """
    best = posteriors.max(1)
    labels, scores = scores_of(classifier, x)
    if not len(labels):
        return float(best.mean()), 1.0
    lost = best - posteriors[np.arange(len(x)), labels[scores.argmax(1)]]
    if len(labels) == 1:
        return float(lost.mean()), 1.0
    runner_up, top = np.sort(scores, axis=1)[:, -2:].T
    return float(lost.mean()), float((top - runner_up < threshold).mean())


def measure(cell: Cell) -> Row:
    """Run T rounds. On fresh points, `returned` is R_T, and `latest` the loss of the last weights.

    **R**_T and N_T are sums over rounds t of expectations for the weights θ_{t-1} that predict in
    round t. These weights do not depend on x_t, so the sums at the points x_t of the stream,
    `regret` and `labels`, have the same expectation. `fresh_regret` and `fresh_labels` are
    estimates on fresh points in one round of every ten, drawn uniformly.
    """
    name, learner, rounds, seed = cell.stream, cell.learner, cell.rounds or 0, cell.seed
    stream = KnownPosterior(rounds, seed=seed, **STREAMS[name])
    model = new(learner, stream.n_classes, rounds, seed)
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
        chosen[t] = -1 if label is None else label  # None before a class is known
        if asks[t]:
            model.learn_one(x, y)
    # Line 28 of Algorithm 1. The defaults have no such line and return their classifier.
    classifier = model.returned() if hasattr(model, "returned") else model.classifier
    returned, _ = population(classifier, *stream.draw(FRESH_AT_THE_END, rng))
    posteriors = stream.posteriors(points)
    regret = posteriors.max(1) - posteriors[np.arange(rounds), chosen] * (chosen >= 0)
    late = slice(rounds // 2, None)
    numbers = (
        *(round(returned, 5), round(latest, 5), round(float(regret.sum()), 2)),
        *(round(float(fresh[0]), 2), int(asks.sum()), round(float(fresh[1]), 1)),
        *(round(float(regret[late].sum()), 2), int(asks[late].sum())),
        rounds if asks.all() else int(asks.argmin()),
    )
    return dict(zip(COLUMNS, (name, learner, seed, rounds, *numbers), strict=True))


def table(rows: pd.DataFrame) -> str:
    """R_T, **R**_T and N_T of each learner on each stream, a column per T."""
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


AGREE = {  # heads, columns and their digits
    SUM: {"regret": 1, "fresh_regret": 1, "late_regret": 1, "latest": 4},
    LABELS: dict.fromkeys(("labels", "fresh_labels", "late_labels", "all_until"), 0),
}


def agreement(rows: pd.DataFrame) -> str:
    """For the largest T: the sums at the points of the stream, and those at fresh points."""
    most, tables = rows["rounds"].max(), []
    for symbol, columns in AGREE.items():
        last = f"{R}, latest" if "latest" in columns else "all asked for up to"
        heads = [f"T = {most:,}", "", symbol, "at fresh points", "after T/2", last]
        lines = []
        for name, learner in itertools.product(rows["stream"].unique(), rows["learner"].unique()):
            where = {"stream": name, "learner": learner, "rounds": most}
            found = [spread(of(rows, column, **where), n) for column, n in columns.items()]
            lines.append([name, learner, *found])
        tables.append(markdown(heads, lines))
    return "\n\n".join(tables)


def draw_curves(rows: pd.DataFrame, folder: Path) -> None:
    """Draw theory-{light,dark}.svg: a column per stream, a row each for R_T, **R**_T and N_T."""
    lengths = sorted(rows["rounds"].unique())
    panels = list(itertools.product(SYMBOLS, rows["stream"].unique()))

    def paint(axes: Any) -> None:
        for panel, (column, name) in zip(axes.flat, panels, strict=False):
            for learner, colour in colours(rows["learner"].unique()).items():
                where = {"stream": name, "learner": learner}
                found = [of(rows, column, rounds=n, **where) for n in lengths]
                band(panel, lengths, found, ms=3, color=colour, label=learner)
            panel.set(title=name, xlabel="T", ylabel=SYMBOLS[column], xscale="log")
            panel.yaxis.label.set_size(11.5)  # whose index is smaller
            if column == "returned":  # R_T may be 0
                panel.set_yscale("symlog", linthresh=1e-3)
                panel.set_ylim(0, 1)
            else:
                panel.set_yscale("log")
            panel.minorticks_off()

    draw(folder / "theory", len(panels), paint)


def main() -> None:
    """Run the cells that theory.csv lacks, print the tables and draw the figure."""
    given = options({"theory": []}, __doc__, 5, streams=STREAMS, learners=LEARNERS)
    largest, path = given.rounds or 20_000, given.out / "theory.csv"
    lengths = [max(1, largest // part) for part in PARTS]
    named = given.streams or STREAMS, given.learners or LEARNERS, dict.fromkeys(lengths)
    cells = [
        Cell(stream, learner, 1.0, seed, rounds=n)
        for seed in range(given.seeds)
        for stream, learner, n in itertools.product(*named)
    ]
    run_cells(cells, path, COLUMNS, measure, given.jobs, names=COLUMNS[:4])
    found = read(path)
    print(table(found), agreement(found), sep="\n")
    if given.assets:
        draw_curves(found, given.assets)


if __name__ == "__main__":
    main()
