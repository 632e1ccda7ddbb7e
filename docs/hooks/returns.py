"""What functions return, on the page of the API: the type is the annotation's, the text a text.

The docstrings here say what is returned in sentences, without the type, which the signature has.
The parser of NumPy's style would take each of their lines for a type.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SENTENCES = re.compile(r"(?m)^(Returns\n-------\n)(\S.*(?:\n\S.*)*)(?=\n\n|\n?\Z)")


class Returns(griffe.Extension):
    """Puts the annotation above the sentences, and these where descriptions stand."""

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Griffe calls this with each function and method."""
        if func.docstring is None or func.returns is None:
            return

        def described(found: re.Match[str]) -> str:
            return f"{found[1]}{func.returns}\n    " + found[2].replace("\n", "\n    ")

        func.docstring.value = SENTENCES.sub(described, func.docstring.value)
