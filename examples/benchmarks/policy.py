"""When and why labels are asked for: a figure of three streams of 4,000 rounds."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from drawing import draw

from river_ineural import INeurAL, active
from river_ineural.datasets import KnownPosterior

ROUNDS, EACH = 4_000, 100  # rounds of a stream, rounds of a bar
SHOWN = {
    "few classes": "few classes",
    "gap": "close call",
    "random": "at random, or surer than ever",
    "warning": "warning",
    "change": "in a change",
}
Examples = list[tuple[dict[Any, float], Any]]


def streams() -> dict[str, Examples]:
    """Two classes in ten dimensions, the same two trading places, and eight classes in turn."""
    steady = list(KnownPosterior(margin=1.0, seed=1).take(ROUNDS))
    turned = [(x, 1 - y if t >= ROUNDS // 2 else y) for t, (x, y) in enumerate(steady)]
    rng = np.random.default_rng(1)
    centres = 2 * rng.normal(size=(8, 10)).repeat(ROUNDS // 8, axis=0)
    points = centres + rng.normal(size=centres.shape)
    in_turn = [(dict(enumerate(x)), 8 * t // ROUNDS) for t, x in enumerate(points.tolist())]
    return {
        "nothing changes": steady,
        "classes trade places half-way": turned,
        "classes come in turn": in_turn,
    }


def asked(stream: Examples) -> tuple[dict[str, list[int]], int]:
    """Labels asked for in each hundred rounds by reason, with a budget of 5 %, and the mistakes."""
    model, wrong = active.INeurALSampler(INeurAL(seed=1), budget=0.05, seed=1), 0
    counts = {reason: [0] * (ROUNDS // EACH) for reason in SHOWN}
    for t, (x, y) in enumerate(stream):
        label, ask = model.predict_one(x)
        wrong += label != y
        if ask and (decision := model.last_decision):
            counts[decision.reason][t // EACH] += 1
            model.learn_one(x, y)
    return counts, wrong


def main() -> None:
    """Print the labels by reason, and draw policy-{light,dark}.svg."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assets", type=Path, help="draw the figure into this folder")
    given = parser.parse_args()
    found = {name: asked(stream) for name, stream in streams().items()}
    for name, (counts, wrong) in found.items():
        labels = ", ".join(f"{reason} {sum(each)}" for reason, each in counts.items() if any(each))
        print(f"{name}: {wrong} mistakes; {labels}")

    def paint(axes: Any) -> None:
        starts = np.arange(0, ROUNDS, EACH)
        for panel, (name, (counts, _)) in zip(axes.flat, found.items(), strict=True):
            below = np.zeros(len(starts))
            for i, (reason, each) in enumerate(counts.items()):
                label = SHOWN[reason]
                panel.bar(starts, each, EACH, below, align="edge", color=f"C{i}", label=label)
                below += each
            panel.set(title=name, xlabel="round", ylabel=f"labels in {EACH} rounds", ylim=(0, 60))

    if given.assets:
        draw(given.assets / "policy", len(found), paint)


if __name__ == "__main__":
    main()
