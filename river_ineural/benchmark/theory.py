"""R_T, **R**_T and N_T of the paper where P(y | x) is known, for the print and the defaults."""

from __future__ import annotations

import itertools
import multiprocessing
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from river_ineural import paper
from river_ineural.active import INeurALSampler
from river_ineural.active.width import TheoreticalWidth
from river_ineural.benchmark.cells import read, write
from river_ineural.benchmark.drawing import colours, draw
from river_ineural.classifier import INeurAL
from river_ineural.compare.refitted import WithoutAudits
from river_ineural.datasets.synthetic import KnownPosterior

__all__ = ["LEARNERS", "STREAMS", "run", "run_one"]

Floats = NDArray[np.float64]

STREAMS: dict[str, dict[str, Any]] = {
    "hard margin, k = 2": {"margin": 0.9},
    "hard margin, k = 4": {"margin": 0.9, "n_classes": 4},
    "no margin, k = 2": {},
}
PARTS = (20, 10, 4, 2, 1)  # the numbers of rounds T are those shares of the largest
EVERY, FRESH = 10, 100  # once in so many rounds, so many fresh points
FRESH_AT_THE_END = 20_000  # for R_T
GAMMA = 2.0  # of the print: the theorems want more than 1
SHOWN = {  # columns, what they are, and how they are written
    "returned": (r"\(R_T\)", ".4f"),
    "regret": (r"\(\mathbf R_T\)", ",.1f"),
    "labels": (r"\(\mathbf N_T\)", ",.0f"),
}


def printed(**settings: Any) -> Callable[[int, int, int], paper.INeurAL]:
    """Algorithms 1 and 2 as printed: k, T and a seed → the learner."""
    return lambda k, rounds, seed: paper.INeurAL(
        tuple(range(k)), rounds, gamma=GAMMA, seed=seed, **settings
    )


def defaults(k: int, rounds: int, seed: int) -> INeurALSampler:
    """Those of this package, which no theorem covers, with the width of the analysis and γ = 1.

    Without a budget and audits: a constant width above the margin would ask for ever.
    """
    width = TheoreticalWidth(horizon=rounds)
    return WithoutAudits(INeurAL(seed=seed), gamma=1.0, width=width, seed=seed)


LEARNERS: dict[str, Callable[[int, int, int], paper.INeurAL | INeurALSampler]] = {
    "print, the theorems' rate": printed(),
    "print, rate 0.5": printed(lr=0.5),
    "defaults": defaults,
}


def names_of(d: int) -> list[str]:
    """Those of the features of `KnownPosterior`."""
    return [f"x{j}" for j in range(d)]


def predicted(classifier: Any, x: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Of each point (n, d) the class of the highest score, and how far the next one is below."""
    if isinstance(classifier, paper.Networks):
        k, points = len(classifier.classes), torch.as_tensor(x).to(classifier.e)
        contexts = classifier.contexts(
            points.repeat_interleave(k, dim=0), classifier.e.repeat(len(x), 1)
        )
        scores = classifier.f(contexts).view(len(x), k).numpy()
    else:
        scores = np.full((len(x), max(2, 1 + max(classifier.known_labels))), -np.inf)
        known = list(classifier.known_labels)
        scores[:, known] = classifier._state.scores_of_many(names_of(x.shape[1]), x)
    runner_up, top = np.sort(scores, axis=1)[:, -2:].T
    return scores.argmax(1), top - runner_up


def known_labels(classifier: Any) -> tuple[Any, ...]:
    """The labels that a classifier can predict."""
    printed = isinstance(classifier, paper.Networks)
    labels: tuple[Any, ...] = classifier.classes if printed else classifier.known_labels
    return labels


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


def run_one(name: str, learner: str, rounds: int, seed: int) -> dict[str, Any]:
    """T rounds: R_T, **R**_T and N_T.

    R_T is that of what is returned after T rounds, over fresh points; `latest` is that of what
    predicts in round T. **R**_T and N_T are sums over rounds t of expectations for the weights
    θ_{t-1} that predict in round t. As those do not depend on x_t, the sums at the points x_t of
    the stream, `regret` (the paper's conditional regret) and `labels`, have the same expectation.
    `fresh_regret` and `fresh_labels` are estimates by fresh points in one round, drawn uniformly,
    of every ten, which stands for the ten.
    """
    torch.set_num_threads(1)
    stream = KnownPosterior(rounds, seed=seed, **STREAMS[name])
    model: Any = LEARNERS[learner](stream.n_classes, rounds, seed)
    if isinstance(model, paper.INeurAL):
        model.initialize(*names_of(stream.n_features))  # θ_0, before it sees an example
    rng = np.random.default_rng([seed, 2])
    starts = np.arange(0, rounds, EVERY)
    lengths = np.minimum(EVERY, rounds - starts)
    stands_for = dict(zip((starts + rng.integers(lengths)).tolist(), lengths.tolist(), strict=True))
    points, labels, asks = [], [], []
    fresh_regret, fresh_labels, latest = 0.0, 0.0, 0.0
    for t, (x, y) in enumerate(stream):
        if t in stands_for:
            threshold = threshold_of(model, t + 1, stream.n_classes)
            lost, asked = population(model.classifier, *stream.draw(FRESH, rng), threshold)
            fresh_regret += stands_for[t] * lost
            fresh_labels += stands_for[t] * asked
        if t + 1 == rounds:
            latest, _ = population(model.classifier, *stream.draw(FRESH_AT_THE_END, rng))
        label, ask = model.predict_one(x)
        points.append(list(x.values()))
        labels.append(-1 if label is None else label)  # as where no class is known yet
        asks.append(ask)
        if ask:
            model.learn_one(x, y)
    # Line 28; the defaults have no such line and return what predicts.
    classifier = model.returned() if hasattr(model, "returned") else model.classifier
    returned, _ = population(classifier, *stream.draw(FRESH_AT_THE_END, rng))
    posteriors = stream.posteriors(np.array(points))
    chosen = np.array(labels)
    regret = posteriors.max(1) - posteriors[np.arange(rounds), chosen] * (chosen >= 0)
    half = rounds // 2
    row = {"stream": name, "learner": learner, "seed": seed, "rounds": rounds}
    row |= {"returned": round(returned, 5), "latest": round(latest, 5)}
    row |= {"regret": round(float(regret.sum()), 2), "fresh_regret": round(fresh_regret, 2)}
    row |= {"labels": sum(asks), "fresh_labels": round(fresh_labels, 1)}
    row |= {"late_regret": round(float(regret[half:].sum()), 2), "late_labels": sum(asks[half:])}
    return row | {"all_until": asks.index(False) if False in asks else rounds}


def run(n_seeds: int, n_jobs: int, rounds: int, results: Path, assets: Path | None) -> None:
    """Run what theory.csv does not hold yet, print what it says then, and draw it."""
    path, cells = results / "theory.csv", runs(n_seeds, rounds)
    done = {key(row): row for row in map(typed, read(path))}
    missing = [cell for cell in cells if cell not in done]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=spawn) as pool:
        for future in as_completed([pool.submit(run_one, *cell) for cell in missing]):
            row = future.result()
            done[key(row)] = row
            write(path, [*done.values()])
    rows = [done[cell] for cell in cells]
    print(table(rows))
    print()
    print(agreement(rows))
    if assets is not None:
        draw_curves(rows, assets)


def runs(n_seeds: int, rounds: int) -> list[tuple[str, str, int, int]]:
    """A run for each stream, learner, T and seed: T enters β_t and the theorems' rate."""
    lengths = [max(1, rounds // part) for part in PARTS]
    return [
        (name, learner, length, seed)
        for seed in range(n_seeds)
        for name in STREAMS
        for learner in LEARNERS
        for length in dict.fromkeys(lengths)
    ]


def key(row: dict[str, Any]) -> tuple[str, str, int, int]:
    """The run that a row is of."""
    return row["stream"], row["learner"], row["rounds"], row["seed"]


def typed(row: dict[str, str]) -> dict[str, Any]:
    """A row of the file with its numbers."""
    return {
        name: text
        if name in ("stream", "learner")
        else int(text)
        if text.isdigit()
        else float(text)
        for name, text in row.items()
    }


def of_seeds(rows: list[dict[str, Any]], column: str, **where: Any) -> list[float]:
    """The values of a column, one a seed, of a stream, a learner and a T."""
    return [row[column] for row in rows if where.items() <= row.items()]


def spread(values: list[float], shown: str) -> str:
    """Mean ± deviation, of one value nothing but itself."""
    deviation = f" ± {statistics.stdev(values):{shown}}" if len(values) > 1 else ""
    return f"{statistics.mean(values):{shown}}{deviation}"


def each_once(rows: list[dict[str, Any]], column: str) -> list[Any]:
    """Values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[column] for row in rows))


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: of each stream R_T, **R**_T and N_T of each learner, a column a T."""
    lengths = sorted(each_once(rows, "rounds"))
    lines = []
    for name in each_once(rows, "stream"):
        lines += [f"**{name}**", "", "| | T | " + " | ".join(f"{n:,}" for n in lengths) + " |"]
        lines.append("| --- " * (2 + len(lengths)) + "|")
        for learner in each_once(rows, "learner"):
            for i, (column, (symbol, shown)) in enumerate(SHOWN.items()):
                where = {"stream": name, "learner": learner}
                found = [of_seeds(rows, column, rounds=n, **where) for n in lengths]
                cells = ["" if i else learner, symbol, *(spread(each, shown) for each in found)]
                lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def agreement(rows: list[dict[str, Any]]) -> str:
    """Markdown, of the largest T: the sums at the points of the stream and those by fresh ones."""
    most = max(row["rounds"] for row in rows)
    lines = [
        f"| T = {most:,} | | {SHOWN['regret'][0]} | at fresh points | after T/2 "
        f"| {SHOWN['labels'][0]} | at fresh points | after T/2 | all asked for up to "
        f"| {SHOWN['returned'][0]}, latest |",
        "| --- " * 10 + "|",
    ]
    columns = {"regret": ",.1f", "fresh_regret": ",.1f", "late_regret": ",.1f", "labels": ",.0f"}
    columns |= dict.fromkeys(("fresh_labels", "late_labels", "all_until"), ",.0f")
    columns |= {"latest": ".4f"}
    for name in each_once(rows, "stream"):
        for learner in each_once(rows, "learner"):
            where = {"stream": name, "learner": learner, "rounds": most}
            found = [spread(of_seeds(rows, each, **where), columns[each]) for each in columns]
            lines.append(f"| {' | '.join([name, learner, *found])} |")
    return "\n".join(lines)


def draw_curves(rows: list[dict[str, Any]], folder: Path) -> None:
    """theory-{light,dark}.svg: a column a stream, a row each for R_T, **R**_T and N_T."""
    lengths = sorted(each_once(rows, "rounds"))
    symbols = {"returned": "$R_T$", "regret": r"$\mathbf{R}_T$", "labels": r"$\mathbf{N}_T$"}
    panels = list(itertools.product(symbols, each_once(rows, "stream")))

    def paint(axes: Any) -> None:
        for panel, (column, name) in zip(axes.flat, panels, strict=False):
            for learner, colour in colours(each_once(rows, "learner")).items():
                where = {"stream": name, "learner": learner}
                found = [of_seeds(rows, column, rounds=n, **where) for n in lengths]
                ends = [[*map(bound, found)] for bound in (min, max)]
                means = [*map(statistics.mean, found)]
                panel.plot(lengths, means, "o-", ms=3, color=colour, label=learner)
                panel.fill_between(lengths, *ends, color=colour, alpha=0.2, lw=0)
            panel.set(title=name, xlabel="T", ylabel=symbols[column], xscale="log")
            if column == "returned":  # which may be 0
                panel.set_yscale("symlog", linthresh=1e-3)
                panel.set_ylim(0, 1)
            else:
                panel.set_yscale("log")
            panel.minorticks_off()

    draw(folder / "theory", len(panels), paint)
