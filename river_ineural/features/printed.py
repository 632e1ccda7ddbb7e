"""Checks for the printed algorithm: parameters in their ranges, and examples of norm 1."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import torch
from river.base.typing import FeatureName
from torch import Tensor

from river_ineural.features.validation import check_choice, check_integer, check_real, check_seed

__all__ = ["check_parameters", "check_positive", "theorem_rate", "unit_vector"]

ROUNDING = 1e-3  # largest accepted difference of a norm from 1


def check_positive(name: str, value: Any) -> None:
    """Raise unless `value` is a finite number above 0."""
    check_real(name, value)
    if value < sys.float_info.min:
        raise ValueError(f"{name} must be above 0, got {value}.")


def check_parameters(model: Any) -> None:
    """Raise unless the parameters of a `paper.INeurAL` are in their ranges."""
    classes = model.classes
    hashable = isinstance(classes, tuple) and all(isinstance(each, Hashable) for each in classes)
    if not (hashable and len(set(classes)) == len(classes) > 1):
        raise ValueError(
            f"classes must be a tuple of at least two different labels, got {classes!r}."
        )
    for name, least in {"rounds": 1, "hidden_dim": 1, "n_layers": 2, "batch_size": 1}.items():
        check_integer(name, getattr(model, name), least)
    check_real("gamma", model.gamma, least=0)
    check_positive("delta", model.delta)
    if model.delta >= 1:
        raise ValueError(f"delta must be below 1, got {model.delta}.")
    for name in ("lr", "exploration_lr"):
        check_positive(name, 1.0 if getattr(model, name) is None else getattr(model, name))
    check_choice("optimizer", model.optimizer, ("sgd", "adam"))
    check_choice("explores", model.explores, (True, False))
    check_device(model.device)
    check_seed(model.seed)


def check_device(device: Any) -> None:
    """Raise ValueError unless torch can compute on the device."""
    try:
        torch.ones(1, device=device).item()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={device!r} is not there: name one that this torch sees, as 'cpu' or 'cuda'."
        ) from error


def theorem_rate(rounds: int, hidden_dim: int = 100, kappa_nu: float = 1.0) -> float:
    """The learning rate of the theorems, η1 = η2 = κν / (√T m).

    Parameters
    ----------
    rounds, hidden_dim
        T and m, at least 1.
    kappa_nu
        The constant κν, above 0, which the theorems do not specify.

    Examples
    --------
    >>> theorem_rate(10_000)
    0.0001

    References
    ----------
    Ban et al.: Improved Algorithms for Neural Active Learning. NeurIPS 2022, "Regret Analysis".
    """
    check_integer("rounds", rounds, least=1)
    check_integer("hidden_dim", hidden_dim, least=1)
    check_positive("kappa_nu", kappa_nu)
    return kappa_nu / (math.sqrt(rounds) * hidden_dim)


def unit_vector(x: Mapping[FeatureName, Any], features: Iterable[FeatureName]) -> Tensor:
    """The values (d,) of an example of norm 1, in the order of `features`; 0 if absent.

    Raises if x has another feature, a value that is not a number, or another norm.
    """
    if not isinstance(x, Mapping):
        raise TypeError(f"x must be a dict of features, got {type(x).__name__}.")
    known = dict.fromkeys(features)
    if not known.keys() >= x.keys():
        new = next(name for name in x if name not in known)
        raise ValueError(
            f"x has the feature {new!r}, which the first example had not, and the paper has one d: "
            "give all features in the first example, as 0 where they are absent."
        )
    try:
        vector = torch.tensor([x.get(name, 0.0) for name in known], dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"x must hold numbers only, got {dict(x)!r}: encode the others.") from error
    norm = vector.norm().item()
    if not 1 - ROUNDING <= norm <= 1 + ROUNDING:  # fails for NaN as well
        raise ValueError(
            f"x has norm {norm:.6g}, but the paper assumes 1: "
            "put river.preprocessing.Normalizer() in front."
        )
    return vector
