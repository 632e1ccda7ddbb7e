"""The decisions of a sampler on a stream whose labels trade places half-way.

Run the script from the root of a checkout with the `benchmark` extra. It prints decisions in words,
and draws docs/assets/decisions-{light,dark}.svg, the figure of docs/why-did-it-ask.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from river import evaluate, metrics
from river.base.typing import ClfTarget, FeatureName

from river_ineural import INeurAL, active, inspection
from river_ineural.datasets import KnownPosterior

sys.path.append(str(Path(__file__).parent / "benchmarks"))  # for the style of the figures
from drawing import both

FIGURE = Path("docs/assets/decisions")


def flipped(rounds: int) -> Iterator[tuple[dict[FeatureName, float], ClfTarget]]:
    """Two classes that trade places half way."""
    for t, (x, y) in enumerate(KnownPosterior(margin=1.0, seed=1).take(rounds)):
        yield x, bool(y) != (t >= rounds // 2)


def main(figure: Path = FIGURE, rounds: int = 4_000) -> None:
    """Run the stream once, print the first decision of each reason, and draw all decisions."""
    model = active.INeurALSampler(INeurAL(seed=1), budget=0.05, seed=1)
    recorder = inspection.Recorder(model)
    accuracy = metrics.Accuracy()  # type: ignore[no-untyped-call]
    told: set[str] = set()
    for step in evaluate.iter_progressive_val_score(flipped(rounds), model, accuracy):
        recorder.record(step)
        decision = model.last_decision
        if decision is not None and decision.reason not in told:
            told.add(decision.reason)
            print(f"round {step['Step']:,}: {inspection.explain(decision)}")
    print(f"\n{inspection.reasons(model)}\n\nchanges noticed in rounds {recorder.drifts}")

    def plotted(width: float) -> Any:
        empty = plt.figure(figsize=(width, 5.4), layout="constrained")
        return inspection.plot(recorder, empty)

    both(figure, plotted)


if __name__ == "__main__":
    main()
