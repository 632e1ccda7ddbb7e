"""Buffers: of a batch from the history, of a pass over other rows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from river_ineural.network.networks import Shape
from river_ineural.network.phases import Buffer, raw

__all__ = ["Batch", "Forward", "RawBatch", "batch_examples"]

COUNTED = 2  # contexts of an example, at most, that count towards those of a batch


def batch_examples(batch_size: int, n_classes: int) -> int:
    """Examples in a batch of so many contexts: as many for more classes as for two."""
    return -(-batch_size // min(max(n_classes, 1), COUNTED))


class RawBatch(NamedTuple):
    """What phases take of `Batch`."""

    x: Buffer
    rows: Buffer
    direction: Buffer
    targets: Buffer
    weight: Buffer


class Batch:
    """Buffers of a batch drawn from the history."""

    def __init__(self, shape: Shape, n_examples: int, like: Tensor) -> None:
        k, d = shape.n_classes, shape.n_features
        self.x = like.new_empty(n_examples, d)  # standardised
        self.columns = self.x.t()
        self.rows = torch.zeros(n_examples, dtype=torch.int64, device=like.device)
        self.direction = like.new_empty(n_examples, d)  # in which f1 errs most easily
        self.targets = like.new_empty(n_examples, 2, k)
        self.weight = like.new_empty(n_examples, 2, k)
        tensors = (self.x, self.rows, self.direction, self.targets, self.weight)
        self.raw = RawBatch(*map(raw, tensors))


class Forward:
    """Buffers of a pass over rows that are not in the history."""

    def __init__(self, shape: Shape, n_examples: int, like: Tensor) -> None:
        k, d = shape.n_classes, shape.n_features
        self.sent, self.x = like.new_empty(n_examples, d), like.new_empty(n_examples, d)
        self.activations = shape.activations(n_examples, like)
        self.found = like.new_empty(2, n_examples, k)  # f1, scores
