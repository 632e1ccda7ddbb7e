"""TeX in pages becomes MathML when the site is built: no script and no other host draws it."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves, inline and in a paragraph of its own.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)

# Browsers know a letter of another alphabet by its own character alone, not by `mathvariant`.
VARIANT = re.compile(r'<(m[in]) mathvariant="(bold|script|double-struck)">(\w)</\1>')
ALPHABETS = {
    "bold": ("MATHEMATICAL BOLD",),
    "script": ("MATHEMATICAL SCRIPT", "SCRIPT"),
    "double-struck": ("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK"),
}
THOUSANDS = re.compile(r"<mn>(\d+)</mn><mrow><mo>&#x0002C;</mo></mrow><mn>(\d{3})</mn>")
TEXT = re.compile(
    r"<mtext>(..+?)</mtext>"
)  # a space to a browser: a minus after it would be a sign
LIMITS = re.compile(r"<msub>(<mo>(?:max|min)</mo>.*?)</msub>", re.DOTALL)


def letter(found: re.Match[str]) -> str:
    """The character of a letter in another alphabet."""
    tag, alphabet, plain = found.groups()
    kind = "DIGIT" if plain.isdigit() else "CAPITAL" if plain.isupper() else "SMALL"
    for prefix in ALPHABETS[alphabet]:
        try:
            name = f"{prefix} {kind} {unicodedata.name(plain).split()[-1]}"
            return f"<{tag}>{unicodedata.lookup(name)}</{tag}>"
        except KeyError:  # some stand in an older block, by a shorter name
            continue
    raise ValueError(f"There is no {plain} in {alphabet}.")


def mathml(tex: str, display: str) -> str:
    """A formula; its TeX stays in it as an annotation.

    Parameters
    ----------
    tex
        As it stands in the page, without delimiters.
    display
        "inline", or "block" for a paragraph of its own.
    """
    tex = tex.strip()
    math: str = VARIANT.sub(letter, convert(tex, display=display))
    math = THOUSANDS.sub(r"<mn>\1,\2</mn>", math)  # TeX's 12{,}000
    math = TEXT.sub(r"<mi>\1</mi>", math)
    math = math.replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')  # a norm
    if display == "block":
        math = LIMITS.sub(r"<munder>\1</munder>", math)
    if "mathvariant" in math:
        raise ValueError(f"A browser would not draw the alphabet of {tex!r}.")
    start, body, end = re.fullmatch("(<math[^>]*>)(.*)(</math>)", math, re.DOTALL).groups()  # type: ignore[union-attr]
    source = f'<annotation encoding="application/x-tex">{html.escape(tex)}</annotation>'
    return f"{start}<semantics>{body}{source}</semantics>{end}"


def on_page_content(content: str, **_: Any) -> str:
    """mkdocs calls this with the HTML of each page."""
    content = INLINE.sub(lambda found: mathml(html.unescape(found[1]), "inline"), content)
    return BLOCK.sub(
        lambda found: f'<div class="equation">{mathml(html.unescape(found[1]), "block")}</div>',
        content,
    )
