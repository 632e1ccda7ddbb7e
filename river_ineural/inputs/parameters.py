"""Constructor parameters that cannot be set in vain: a new value is checked, or refused."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

__all__ = ["Fixed", "Live", "renamed"]

T = TypeVar("T")
P = ParamSpec("P")


class Fixed(Generic[T]):
    """A parameter that is fixed when the object is made.

    Parameters
    ----------
    check
        Raises, given the parameter's name and value, if the value is not one.
    advice
        What to do instead of setting it.
    """

    def __init__(
        self,
        check: Callable[[str, Any], None] = lambda name, value: None,
        advice: str = "clone({{{name!r}: {value!r}}}) makes another model with it",
    ) -> None:
        self.check = check
        self.advice = advice

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    # Only `__set__`: reading finds the value in the object's own dictionary, at no cost.
    if TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type) -> T: ...

    def __set__(self, instance: Any, value: T) -> None:
        if self.name in instance.__dict__:
            advice = self.advice.format(name=self.name, value=value)
            raise AttributeError(
                f"{self.name} is fixed when {type(instance).__name__} is made: {advice}."
            )
        self.check(self.name, value)
        instance.__dict__[self.name] = value


class Live(Fixed[T]):
    """A parameter that may be set at any time, from when on it counts.

    Parameters
    ----------
    check
        As in `Fixed`.
    apply
        Called with the object and the new value when it is set later on.
    """

    def __init__(
        self,
        check: Callable[[str, Any], None],
        apply: Callable[[Any, T], None] = lambda instance, value: None,
    ) -> None:
        super().__init__(check)
        self.apply = apply

    def __set__(self, instance: Any, value: T) -> None:
        self.check(self.name, value)
        if self.name in instance.__dict__:
            self.apply(instance, value)
        instance.__dict__[self.name] = value


def renamed(
    names: Mapping[str, str],
) -> Callable[[Callable[Concatenate[Any, P], None]], Callable[Concatenate[Any, P], None]]:
    """Make a constructor refuse old names of parameters, and say the new ones.

    Parameters
    ----------
    names
        What to write instead, by old name.
    """

    def decorate(init: Callable[Concatenate[Any, P], None]) -> Callable[Concatenate[Any, P], None]:
        @functools.wraps(init)
        def wrapper(self: Any, *args: P.args, **kwargs: P.kwargs) -> None:
            for name in kwargs:
                if name in names:
                    raise TypeError(f"{name} has moved: write {names[name]}.")
            init(self, *args, **kwargs)

        return wrapper  # type: ignore[return-value]  # `self` is positional in both

    return decorate
