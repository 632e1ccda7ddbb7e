"""Bounded history: one ring for labels paid for, one for pseudo-labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.learning.tensors import Tensors, outside_inference_mode, tensor_of
from river_ineural.network.growth import Columns

__all__ = ["History"]

Floats = NDArray[np.floating[Any]]

LABELLED_SHARE = 0.7  # of each batch, when examples of both kinds are there


class History(Tensors):
    """H1 and H2 of Algorithm 1 in one bounded store of examples, each with all its k contexts.

    Most arrivals may be pseudo-labelled, so a single first-in-first-out store would drop the labels
    that were paid for. Here a pseudo-label can only replace an older pseudo-label.

    Parameters
    ----------
    capacity
        Rows in all, at least 2; a quarter of them (at least 1) belong to pseudo-labelled examples.
    rng
        Generator of the draws, owned by this history.
    """

    TENSORS = ("x", "targets", "weight")
    VIEWS = ("raw", "loops")

    def __init__(self, capacity: int, rng: np.random.Generator, like: Tensor) -> None:
        n_pseudo = max(1, capacity // 4)
        self.capacities = (capacity - n_pseudo, n_pseudo)  # labelled rows first, then pseudo rows
        self.rng = rng
        self.added = [0, 0]  # examples ever added to each ring
        self.x = like.new_empty(capacity, 0)  # raw
        self.targets = like.new_empty(capacity, 2, 0)  # reward r1, residual r2
        self.weight = like.new_empty(capacity)
        self.bind()

    def bind(self) -> None:
        from river_ineural.learning import rings  # compiled, which an import is not to wait for

        self.loops = rings
        self.raw = self.x.numpy(), self.targets.numpy(), self.weight.numpy()

    def __len__(self) -> int:
        return self.n_labelled + self.n_pseudo_labelled

    @property
    def n_labelled(self) -> int:
        """Labelled examples held now."""
        return min(self.added[0], self.capacities[0])

    @property
    def n_pseudo_labelled(self) -> int:
        """Pseudo-labelled examples held now."""
        return min(self.added[1], self.capacities[1])

    def __getstate__(self) -> dict[str, Any]:
        """Rows in use only, which makes a copy small."""
        state = super().__getstate__()
        labelled, pseudo = self.filled
        for name in self.TENSORS:
            whole = state[name]
            state[name] = (
                whole[: pseudo.stop]
                if labelled.stop == pseudo.start
                else np.concatenate([whole[labelled], whole[pseudo]])
            )
        return state

    @outside_inference_mode
    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = {name: state.pop(name) for name in self.TENSORS}
        self.__dict__.update(state)
        labelled, pseudo = self.filled
        for name, rows in parts.items():
            if len(rows) < sum(self.capacities):
                whole = np.empty((sum(self.capacities), *rows.shape[1:]), rows.dtype)
                whole[labelled], whole[pseudo] = np.split(rows, [self.n_labelled])
                rows = whole
            setattr(self, name, tensor_of(rows))
        self.bind()

    @property
    def filled(self) -> tuple[slice, slice]:
        """Rows in use: labelled, pseudo-labelled."""
        start = self.capacities[0]
        return slice(0, self.n_labelled), slice(start, start + self.n_pseudo_labelled)

    def resized(self, n_features: int, n_classes: int) -> History:
        """This history with wider examples, which are 0 in new columns and new classes.

        `put` writes the values of new features. This history stays as it is, and both share the
        generator.
        """
        if (n_features, n_classes) == (self.x.shape[1], self.targets.shape[2]):
            return self
        x = self.x.new_empty(len(self.x), n_features)
        targets = self.targets.new_empty(len(self.x), 2, n_classes)
        for rows in self.filled:
            x[rows] = torch.nn.functional.pad(self.x[rows], (0, n_features - self.x.shape[1]))
            targets[rows] = torch.nn.functional.pad(
                self.targets[rows], (0, n_classes - self.targets.shape[2])
            )
        return self.replaced(x=x, targets=targets)

    def emptied(self) -> History:
        """An empty history of the same size and capacity; this one stays as it is."""
        parts = {name: torch.empty_like(getattr(self, name)) for name in self.TENSORS}
        return self.replaced(**parts, added=[0, 0])

    def labelled(self) -> NDArray[np.int64]:
        """Rows of the labelled examples, the oldest first."""
        n, capacity = self.added[0], self.capacities[0]
        return np.arange(n) if n <= capacity else np.arange(n - capacity, n) % capacity

    def classes(self) -> set[int]:
        """The classes of the labelled examples."""
        rows = self.labelled()
        return {*self.targets[rows, 0].argmax(1).tolist()} if len(rows) else set()

    def stored(
        self, rows: NDArray[np.int64]
    ) -> tuple[Floats, NDArray[np.int64], NDArray[np.float64]]:
        """Raw x (B, d), class (B,) and weight (B,) of some rows."""
        x, targets, weight = (part[rows] for part in self.raw)
        return x, targets[:, 0].argmax(axis=1), weight.astype(np.float64)

    def values(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Raw values of some features of some examples, (rows, columns)."""
        x: Floats = self.raw[0][np.ix_(rows, columns)]
        return x

    def put(self, columns: Columns, values: Floats) -> None:
        """Write values (d,) into some columns of every stored example."""
        for rows in self.filled:
            self.raw[0][rows][:, columns] = values[columns]

    def add(self, x: Floats, targets: Floats, weight: Floats, pseudo_label: bool) -> None:
        """Store x (B, d), targets (B, 2, k) and weight (B,) over the oldest of their ring."""
        ring = int(pseudo_label)
        capacity, first, n = self.capacities[ring], ring * self.capacities[0], self.added[ring]
        self.loops.put(self.raw, (x, targets, weight), first, capacity, n)
        self.added[ring] += len(x)

    def rows(self, n: int) -> NDArray[np.int64]:
        """Draw n rows uniformly from each ring, with replacement."""
        held = self.n_labelled, self.n_pseudo_labelled
        draws = self.rng.random(n)
        found: NDArray[np.int64] = self.loops.drawn(
            draws, self._split(n), *held, self.capacities[0]
        )
        return found

    def _split(self, n: int) -> int:
        """The number of n draws that are from the ring of labelled examples."""
        if not self.n_pseudo_labelled:
            return n
        return round(LABELLED_SHARE * n) if self.n_labelled else 0
