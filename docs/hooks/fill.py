"""Fills `{{ name }}` in pages with what examples/benchmarks/figures.py makes of the rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

BENCHMARKS = Path(__file__).parents[2] / "examples" / "benchmarks"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """mkdocs calls this with the Markdown of each page."""
    if "{{" not in markdown:
        return markdown
    if str(BENCHMARKS) not in sys.path:
        sys.path.append(str(BENCHMARKS))
    from figures import filled

    try:
        return str(filled(markdown))
    except ValueError as error:
        raise PluginError(f"{page.file.src_uri}: {error}") from error
