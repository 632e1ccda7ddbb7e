"""Names and values as a small table, which a notebook shows."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from river_ineural.active.budget import BudgetManager, whole_labels


def html_table(title: str, rows: Mapping[str, Any]) -> str:
    """A table of HTML with a caption and a row for each name, all text escaped."""
    cells = {name: f"{each:.3g}" if type(each) is float else each for name, each in rows.items()}
    lines = (
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(cell))}</td></tr>"
        for name, cell in cells.items()
    )
    return f"<table><caption>{html.escape(title)}</caption>{''.join(lines)}</table>"


def of_sampler(sampler: Any, manager: BudgetManager) -> str:
    """A sampler, what it has asked for, and what is left."""
    rows = {
        "classifier": type(sampler.classifier).__name__,
        "budget": manager.budget,
        "asked": f"{manager.n_asked:,} labels in {manager.n_rounds:,} rounds",
        "left": whole_labels(manager.left),
        "reasons": {reason: n for reason, n in sampler.n_by_reason.items() if n},
    }
    return html_table(type(sampler).__name__, rows)
