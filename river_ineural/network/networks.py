"""What the learners' networks have in common: f1, f2 and an embedding between them.

`contexts` has a context a class (I-NeurAL), `outputs` an output a class (NeurONAL). How they are
trained, kept, averaged and moved is the same, and knows no more of them than this.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Protocol, Self

import numpy as np
from torch import Tensor

from river_ineural.network.phases import Buffer

__all__ = ["Activations", "Shape", "Single", "Weights"]


class Shape(Protocol):
    """What fixes the size of the two networks."""

    @property
    def n_classes(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def hidden_dim(self) -> int: ...

    @property
    def n_layers(self) -> int: ...

    @property
    def explores(self) -> bool:
        """Whether there is an f2."""
        ...

    @property
    def n_parameters(self) -> int:
        """Of both networks together."""
        ...

    def weights(self, flat: Tensor) -> Weights:
        """Views of flat parameters."""
        ...

    def activations(self, n_examples: int, like: Tensor) -> Activations:
        """Buffers of a pass."""
        ...

    def single(self, dtype: np.dtype[Any]) -> Single | None:
        """Loops for one example, where they are faster than matrix products."""
        ...

    def _replace(self, *, n_classes: int = ..., n_features: int = ...) -> Self: ...


class Weights(Protocol):
    """Both networks: views of one flat tensor, first the weights of f1, then those of f2."""

    flat: Tensor
    networks: tuple[Tensor, Tensor]

    @property
    def shape(self) -> Shape: ...

    @property
    def first_layers(self) -> list[Tensor]:
        """Each (m, blocks, d), with a column a feature; a block a class, or one."""
        ...

    @property
    def deep(self) -> list[Tensor]:
        """Layers of the same size whatever the classes and features are."""
        ...

    @property
    def by_class(self) -> list[Tensor]:
        """Layers with a row a class."""
        ...

    def silence(self, n_known: int) -> None:
        """Let f2 say 0 of classes, of which so many were there before."""
        ...

    def exploit(self, columns: Tensor, a: Any, exploring: bool = True) -> None:
        """f1 of every class: columns (d, B) are the examples x."""
        ...

    def explore(self, a: Any) -> None:
        """f2 of the embedding of every example, after `exploit` with `exploring`."""
        ...

    def adversary(self, a: Any, direction: Tensor) -> None:
        """Gradient (B, d) at x of the sum of f1 over the classes, each times its sign in error1."""
        ...

    def gradients(
        self, x: Tensor, targets: Buffer, weight: Buffer, a: Any, g: Any, exploring: bool = True
    ) -> bool:
        """Gradient of Σ weight·(r - f)²/2 of f1, and with `exploring` of f2, after `explore`.

        Parameters
        ----------
        x
            (B, d), the examples that `exploit` had as columns.
        targets
            r1 and r2, (B, 2, k), as phases take them.
        weight
            In both losses, (B, 2, k), likewise: of each context or output, with the 1/b of means.
        g
            Written: views of one flat gradient.
        exploring
            Whether f2 is to learn too; otherwise `explore` need not have run.

        Returns
        -------
        Whether the errors are finite; where they are not, no gradient is written.
        """
        ...


class RawActivations(Protocol):
    """Class by class, n = k·B numbers."""

    @property
    def f1(self) -> Buffer: ...

    @property
    def error1(self) -> Buffer: ...


class Activations(Protocol):
    """Buffers of one pass over B examples."""

    phases: ModuleType
    n_contexts: int  # k·B
    f1_by_class: Tensor  # (B, k)
    scores_by_class: Tensor  # (B, k)

    @property
    def raw(self) -> RawActivations: ...


class Single(Protocol):
    """Loops for one example."""

    def score(self, weights: Any, raw: Any, scaling: Any, exploring: bool) -> Any:
        """f1, and f1 + f2, (2, 1, k) of a raw x (d,); without `exploring` f1 twice."""
        ...
