"""Names and values as a small table, which a notebook shows."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any


def html_table(title: str, rows: Mapping[str, Any]) -> str:
    """A table of HTML with a caption and a row for each name, all text escaped."""
    cells = {name: f"{each:.3g}" if type(each) is float else each for name, each in rows.items()}
    lines = (
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(cell))}</td></tr>"
        for name, cell in cells.items()
    )
    return f"<table><caption>{html.escape(title)}</caption>{''.join(lines)}</table>"
