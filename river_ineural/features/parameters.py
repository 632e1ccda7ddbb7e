"""Constructor parameters: a value is checked, converted and applied, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from river_ineural.features.keys import plain
from river_ineural.features.validation import Check

T = TypeVar("T")


class Fixed(Generic[T]):
    """A parameter that cannot be set after construction; `advice` says what to do instead.

    `check` gets the parameter's name and value. It returns the value to keep, or raises.
    """

    def __init__(
        self,
        check: Check = lambda name, value: plain(value),
        advice: str = "clone({{{name!r}: {value!r}}}) makes another model with it",
    ) -> None:
        self.check = check
        self.advice = advice

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    # Without `__get__`, Python reads the value from the instance's dictionary, at no cost.
    if TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type) -> T: ...

    def __set__(self, instance: Any, value: T) -> None:
        if self.name in instance.__dict__:
            advice = self.advice.format(name=self.name, value=value)
            raise AttributeError(
                f"{self.name} is fixed when {type(instance).__name__} is made: {advice}."
            )
        instance.__dict__[self.name] = self.check(self.name, value)


class Live(Fixed[T]):
    """A parameter that can be set at any time; `apply` then gets the object and the value."""

    def __init__(
        self, check: Check, apply: Callable[[Any, T], None] = lambda instance, value: None
    ) -> None:
        super().__init__(check)
        self.apply = apply

    def __set__(self, instance: Any, value: T) -> None:
        value = self.check(self.name, value)
        if self.name in instance.__dict__:
            self.apply(instance, value)
        instance.__dict__[self.name] = value
