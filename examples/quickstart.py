"""Two active learners on River's bundled Phishing stream, with River's progressive validation.

Every prediction is scored before its label can be learned, and a label is learned only if the
learner asked for it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from numba.core import event
from river import active as river_active
from river import datasets, evaluate, linear_model, metrics, preprocessing
from river.active.base import ActiveLearningClassifier

from river_ineural import INeurAL, active


@dataclass
class Result:
    """The result of one learner."""

    name: str
    accuracy: float
    labels: int
    seconds: float


def run(name: str, model: ActiveLearningClassifier) -> Result:
    """Run progressive validation, and print a line every 250 rounds."""
    print(f"{name}")
    stream = datasets.Phishing()
    accuracy, labels, start = 0.0, 0, time.perf_counter()
    metric = metrics.Accuracy()  # type: ignore[no-untyped-call]
    for state in evaluate.iter_progressive_val_score(stream, model, metric, step=250):
        accuracy, labels = state["Accuracy"].get(), state["Samples used"]
        print(f"  round {state['Step']:>5}   accuracy {accuracy:7.2%}   labels used {labels:>4}")
    return Result(name, accuracy, labels, time.perf_counter() - start)


def main() -> None:
    """Run both learners and compare them."""
    n_rounds = datasets.Phishing().n_samples
    sampler = active.INeurALSampler(INeurAL(seed=42), budget=0.1, horizon=n_rounds, seed=42)
    logistic = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    entropy = river_active.EntropySampler(logistic, seed=42)  # type: ignore[arg-type]
    compiling: list[float] = []
    with event.install_timer("numba:compile", compiling.append):
        own = run("I-NeurAL, at most 10 % of the labels", sampler)
    results = [own, run("River's EntropySampler around logistic regression", entropy)]
    print(f"\n{'':<52}{'accuracy':>9}{'labels':>8}{'seconds':>9}")
    for r in results:
        print(f"{r.name:<52}{r.accuracy:>9.2%}{r.labels:>8}{r.seconds:>9.2f}")
    print(
        f"\nOf {n_rounds} rounds I-NeurAL asked at {sampler.n_queries} and taught itself from "
        f"{sampler.n_pseudo_labels} confident predictions (pseudo-labels)."
    )
    if sum(compiling) > 0:
        print(f"Compiling took {sum(compiling):.1f} of its seconds, at this first use only.")


if __name__ == "__main__":
    main()
