"""Figures of pages: light and dark, for wide and for narrow screens, of one line in the page.

A page has `![what it shows](assets/NAME-light.svg#only-light)`. Of this come the dark figure, and
both NAME-narrow-light.svg and NAME-narrow-dark.svg for screens below 45 em. With `{ .narrow }`
behind it the narrow figure is shown on all screens.
"""

from __future__ import annotations

import re
from typing import Any

FIGURE = re.compile(
    r'<img alt="(?P<alt>[^"]*)"(?P<all> class="narrow")? '
    r'src="(?P<path>[^"]*)-light\.svg#only-light"\s*/?>'
)
NARROW = "(max-width: 44.98em)"  # as in extra.css


def picture(alt: str, path: str, scheme: str, narrow: bool) -> str:
    """The figure of a scheme. The browser chooses the file, and the theme hides one scheme."""
    small = f"{path}-narrow-{scheme}.svg"
    shown = small if narrow else f"{path}-{scheme}.svg"
    image = f'<img alt="{alt}" src="{shown}#only-{scheme}">'
    if narrow:
        return f'<picture class="narrow">{image}</picture>'
    return f'<picture><source media="{NARROW}" srcset="{small}">{image}</picture>'


def on_page_content(content: str, **_: Any) -> str:
    """mkdocs calls this with the HTML of each page."""
    return FIGURE.sub(
        lambda found: "".join(
            picture(found["alt"], found["path"], scheme, bool(found["all"]))
            for scheme in ("light", "dark")
        ),
        content,
    )
