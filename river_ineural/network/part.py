"""Networks at some of their columns: an example has few of many features."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from river_ineural.network.layout import Shape

__all__ = ["Part"]


class Part:
    """Where the weights of some columns lie, all deep layers and outputs among them.

    Put one after the other they are the weights of networks of their own, which have no other
    feature: so the same passes score and learn at a price that follows what is there.

    Parameters
    ----------
    shape
        Of the whole networks.
    columns
        (T,), of the first layers.
    exploring
        Whether f2 takes part.
    """

    def __init__(self, shape: Shape, columns: NDArray[np.int64], exploring: bool) -> None:
        self.whole = shape
        self.shape = shape._replace(n_features=len(columns), explores=exploring)
        places, of_columns, start = [], [], 0
        for i, size in enumerate(shape._replace(explores=exploring).parts):
            if i == 0 or (i == 3 and not shape.outputs):  # a first layer, with a column a feature
                rows = np.arange(start, start + size, shape.n_features)
                places.append((rows[:, None] + columns).ravel())
                of_columns.append(places[-1])
            else:
                places.append(np.arange(start, start + size))
            start += size
        self.places = torch.from_numpy(np.concatenate(places))
        self.of_columns = torch.from_numpy(np.concatenate(of_columns))

    def of(self, flat: Tensor) -> Tensor:
        """These of flat weights, a copy."""
        return flat.index_select(0, self.places.to(flat.device))

    def put(self, weights: Tensor, flat: Tensor) -> None:
        """Write them back."""
        flat.scatter_(0, self.places.to(flat.device), weights)
