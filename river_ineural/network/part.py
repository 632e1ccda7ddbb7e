"""Networks restricted to some columns, for examples that have few of many features."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.network.layout import Shape

__all__ = ["Part"]


class Part:
    """The positions of the weights of some columns, and of all deep and output layers.

    These weights in sequence are those of smaller networks without the other features. So the same
    passes score and learn, at a cost that depends on the features present.

    Parameters
    ----------
    shape
        Shape of the whole networks.
    columns
        Columns (T,) of the first layers.
    exploring
        Whether f2 is included.
    """

    def __init__(self, shape: Shape, columns: NDArray[np.int64], exploring: bool) -> None:
        self.whole = shape
        self.shape = shape._replace(n_features=len(columns), explores=exploring)
        places, of_columns, start = [], [], 0
        for i, size in enumerate(shape._replace(explores=exploring).parts):
            if i == 0 or (i == 3 and not shape.outputs):  # a first layer, one column per feature
                rows = np.arange(start, start + size, shape.n_features)
                places.append((rows[:, None] + columns).ravel())
                of_columns.append(places[-1])
            else:
                places.append(np.arange(start, start + size))
            start += size
        self.places = torch.from_numpy(np.concatenate(places))
        self.of_columns = torch.from_numpy(np.concatenate(of_columns))

    def of(self, flat: Tensor) -> Tensor:
        """A copy of these weights, taken from flat weights."""
        return flat.index_select(0, self.places.to(flat.device))

    def put(self, weights: Tensor, flat: Tensor) -> None:
        """Write these weights back into flat weights."""
        flat.scatter_(0, self.places.to(flat.device), weights)
