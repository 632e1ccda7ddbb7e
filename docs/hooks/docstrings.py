"""Docstrings as the parser of NumPy's style understands them, for the pages of the API.

The docstrings here say what is returned in sentences, without the type, which the signature has.
The parser would take each of their lines for a type. Of parameters that share a description it
would give each the type and the default of the first.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SENTENCES = re.compile(r"(?m)^(Returns\n-------\n)(\S.*(?:\n\S.*)*)(?=\n\n|\n?\Z)")
PARAMETERS = re.compile(r"(?ms)^Parameters\n-{10}\n.*?(?=^\S[^\n]*\n-{3,}$|\Z)")
SHARED = re.compile(r"(?m)^(\w+(?:, \w+)+)\n((?: {4}.*(?:\n|\Z)|\n(?= {4}))+)")


def described_alone(found: re.Match[str]) -> str:
    """The parameters of a shared description, each with a copy of it."""
    return "".join(f"{name}\n{found[2].rstrip()}\n" for name in found[1].split(", "))


class Docstrings(griffe.Extension):
    """Rewrites sections before they are parsed."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Griffe calls this with each class."""
        self._part_parameters(cls)

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Griffe calls this with each function and method."""
        self._part_parameters(func)
        if func.docstring is None or func.returns is None:
            return

        def described(found: re.Match[str]) -> str:
            return f"{found[1]}{func.returns}\n    " + found[2].replace("\n", "\n    ")

        func.docstring.value = SENTENCES.sub(described, func.docstring.value)

    def _part_parameters(self, owner: griffe.Class | griffe.Function) -> None:
        if owner.docstring is not None:
            owner.docstring.value = PARAMETERS.sub(
                lambda section: SHARED.sub(described_alone, section[0]), owner.docstring.value
            )
