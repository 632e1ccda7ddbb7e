"""What each practical choice gives on River's Phishing stream with at most 125 labels.

Every row changes one default. Prints the table of docs/experiments.md.
"""

from __future__ import annotations

import platform
import statistics
from typing import Any

import torch
from river import datasets

from river_ineural import INeurAL, Training, active

STREAM = list(datasets.Phishing())
SEEDS = range(10)
CHOICES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "defaults": ({}, {}),
    "with f2": ({"training": Training(exploration="scores")}, {}),
    "with f2, η2 = η1 / 14": (
        {"training": Training(exploration="scores", exploration_lr=1e-4)},
        {},
    ),
    "with f2, η2 = η1": (
        {"training": Training(exploration="scores", exploration_lr=1.4e-3)},
        {},
    ),
    "with f2, η2 = η1, in every step after a label": (
        {"training": Training(exploration="scores", exploration_lr=1.4e-3, exploration_share=1.0)},
        {},
    ),
    "the paper's initial weights": ({"training": Training(init_scale=1.0)}, {}),
    "no centring": ({"center": False}, {}),
    "no scaling": ({"scale": False}, {}),
    "neither centring, scaling nor unit norm": (
        {"center": False, "scale": False, "normalize": False},
        {},
    ),
    "plain SGD, η1 = 0.5": ({"lr": 0.5, "training": Training(optimizer="sgd")}, {}),
    "the last iterate": ({"iterate": "last"}, {}),
    "iterate drawn uniformly": ({"iterate": "uniform"}, {}),
    "η1 = 0.003": ({"lr": 3e-3}, {}),
    "no adversarial training": ({"adversarial_radius": 0.0}, {}),
    "twice the adversarial radius": ({"adversarial_radius": 0.3}, {}),
    "one step after every example": (
        {"n_steps": 1, "training": Training(pseudo_label_steps=1)},
        {},
    ),
    "twelve steps a label, none a pseudo-label": (
        {"n_steps": 12, "training": Training(pseudo_label_steps=0)},
        {},
    ),
    "three layers": ({"n_layers": 3}, {}),
    "no pseudo-labels": ({}, {"self_training": False}),
    "pseudo-label everything not asked for": ({}, {"confidence": 0.0}),
    "γ = 2": ({}, {"gamma": 2.0}),
    "γ = 10": ({}, {"gamma": 10.0}),
    "theoretical width, γ = 1": (
        {},
        {"gamma": 1.0, "width": active.TheoreticalWidth(horizon=len(STREAM))},
    ),
    "never at random": ({}, {"exploration": 0.0}),
}


def mistakes(classifier: dict[str, Any], sampler: dict[str, Any], seed: int) -> int:
    """Wrong predictions in one run."""
    model = active.INeurALSampler(
        INeurAL(seed=seed, **classifier),
        **{"budget": 0.1, "horizon": len(STREAM), "seed": seed, **sampler},
    )
    wrong = 0
    for x, y in STREAM:
        label, ask = model.predict_one(x)
        wrong += label != y
        if ask:
            model.learn_one(x, y)
    return wrong


def main() -> None:
    """Print one row a choice."""
    print("| choice | mistakes | deviation | least | most |\n| --- | --- | --- | --- | --- |")
    for name, (classifier, sampler) in CHOICES.items():
        runs = [mistakes(classifier, sampler, seed) for seed in SEEDS]
        mean, deviation = statistics.mean(runs), statistics.stdev(runs)
        print(f"| {name} | {mean:.1f} | {deviation:.1f} | {min(runs)} | {max(runs)} |", flush=True)
    print(f"\nPython {platform.python_version()}, torch {torch.__version__}, CPU, one thread.")


if __name__ == "__main__":
    main()
