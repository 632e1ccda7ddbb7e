"""State held in tensors: pickled as arrays, moved between devices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Tensors", "outside_inference_mode", "tensor_of", "uncounted_bytes"]

P = ParamSpec("P")
R = TypeVar("R")


def outside_inference_mode(function: Callable[P, R]) -> Callable[P, R]:
    """Run `function` outside of `torch.inference_mode`, whatever mode the caller is in.

    Tensors that are made in inference mode must not be written to outside of it.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with torch.inference_mode(False):
            return function(*args, **kwargs)

    return wrapper


class Tensors:
    """An object whose state is tensors, or lists of them, and plain values.

    A pickle holds the tensors as arrays, so the CPU can read a model from a GPU. It does not hold
    views of the tensors: `bind` makes them anew.
    """

    TENSORS: ClassVar[tuple[str, ...]]  # attributes that are tensors or lists of tensors
    VIEWS: ClassVar[tuple[str, ...]] = ()  # attributes that `bind` makes

    def bind(self) -> None:
        """Make the views of the tensors."""

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in self.VIEWS}
        for name in self.TENSORS:
            state[name] = each(state[name], lambda tensor: tensor.cpu().numpy())
        return state

    @outside_inference_mode
    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in self.TENSORS:
            setattr(self, name, each(state[name], tensor_of))
        self.bind()

    @outside_inference_mode
    def to(self, device: torch.device) -> Self:
        """The same state on a device; this object stays as it is."""
        return self.replaced(
            **{
                name: each(getattr(self, name), lambda part: part.to(device))
                for name in self.TENSORS
            }
        )

    def shallow_copy(self) -> Self:
        """An object with the same attributes; `copy.copy` would copy the tensors to arrays."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def replaced(self, **parts: Any) -> Self:
        """The same state with some attributes replaced; this object stays as it is."""
        other = self.shallow_copy()
        other.__dict__.update(parts)
        other.bind()
        return other


def each(part: Any, function: Any) -> Any:
    """`function` of a tensor, or of each one in a list."""
    return [function(item) for item in part] if isinstance(part, list) else function(part)


def tensor_of(array: NDArray[Any]) -> Tensor:
    """A tensor that shares the memory of an array, or of a copy of it if it is a view.

    `load` and `deepcopy` make arrays with memory of their own, and `copy.copy` hands on views.
    """
    return torch.from_numpy(array if array.flags.owndata else array.copy())


def uncounted_bytes(parts: list[Any]) -> int:
    """Bytes of torch in objects of this package, less those of NumPy views of them.

    River counts the views and not the tensors.
    """
    storages: dict[int, int] = {}
    views: dict[int, int] = {}
    pending = list(parts)
    while pending:
        part = pending.pop()
        if isinstance(part, Tensor):
            storage = part.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        elif isinstance(part, np.ndarray):
            views[id(part)] = 0 if part.flags.owndata else part.nbytes
        elif isinstance(part, list | tuple):
            pending += part
        elif type(part).__module__.startswith("river_ineural."):
            pending += vars(part).values()
    return max(0, sum(storages.values()) - sum(views.values()))
