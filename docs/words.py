"""Words, reading ease and length of sentences of the pages, with the bounds that they keep.

`python docs/words.py` looks at README, CHANGELOG, CONTRIBUTING and all pages; `python docs/words.py
PAGE ...` at some. Words are those of `wc -w`. Reading ease is Flesch's, by textstat, of the prose:
code, tables, formulas and front matter are left out, and `code` in a sentence counts as one word.
It exits with 1 where a bound is broken.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import textstat  # type: ignore[import-untyped]

DOCS = Path(__file__).parent
ROOT = DOCS.parent
MOST_WORDS = 2_000  # of a page
MOST_IN_README = 450
MOST_IN_ALL = 20_500  # of all pages of docs/
LEAST_EASE = 45.0
LONGEST_SENTENCE = 18.0  # words, the mean

LEFT_OUT = re.compile(
    r"\A---\n.*?^---$"  # front matter
    r"|^ *(```+|~~~+).*?^ *\1 *$"  # blocks of code
    r"|<!--.*?-->|<[^>]*>"  # comments and tags of HTML
    r"|^ *\|.*?$"  # tables
    r"|^#.*?$"  # headings, which are no sentences
    r"|^:::.*?(?=^\S|\Z)"  # what mkdocstrings fills in
    r"|^ *--8<--.*?$"  # and what is taken in from another file
    r"|\\\[.*?\\\]"  # formulas
    r"|!\[[^]]*\]\([^)]*\)",  # figures
    re.DOTALL | re.MULTILINE,
)
ONE_WORD = re.compile(r"(`+).+?\1|\\\(.+?\\\)", re.DOTALL)
LINK = re.compile(r"\[([^]]*)\](?:\([^)]*\)|\[[^]]*\])", re.DOTALL)
MARKS = re.compile(r"[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}|\{[^}]*\}")
POINT = re.compile(r"(?<=\d)\.(?=\d)")  # which ends no sentence
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.) +|^\s*(?:!!!|\?\?\?).*$", re.MULTILINE)


def prose(page: str) -> str:
    """The sentences of a page, a paragraph a line; each ends with a full stop."""
    text = LEFT_OUT.sub("", page)
    text = MARKS.sub("", LINK.sub(r"\1", ONE_WORD.sub("code", text)))
    text = POINT.sub("", text)
    paragraphs = re.split(r"\n\s*\n", ITEM.sub("\n\n", text))
    lines = [" ".join(each.split()) for each in paragraphs]
    return "\n".join(f"{line.rstrip(':;,')}." if line[-1] not in ".?!" else line
                     for line in lines if re.search(r"\w", line))  # fmt: skip


def measured(page: str) -> tuple[int, float, float]:
    """Words, reading ease, and mean words of a sentence; a page without prose has full marks."""
    text = prose(page)
    if not text:
        return len(page.split()), 100.0, 0.0
    sentences = [each for each in re.split(r"(?<=[.?!])\s+", text) if re.search(r"\w", each)]
    length = sum(len(each.split()) for each in sentences) / len(sentences)
    return len(page.split()), textstat.flesch_reading_ease(text), length


def main(names: list[str]) -> int:
    """Print a line for each page; 1 if a bound is broken."""
    own = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")]
    pages = [Path(name) for name in names] or [*own, *sorted(DOCS.rglob("*.md"))]
    broken, in_docs = False, 0
    print(f"{'page':<34}{'words':>7}{'ease':>7}{'sentence':>10}")
    for path in pages:
        words, ease, length = measured(path.read_text())
        most = MOST_IN_README if path.name == "README.md" else MOST_WORDS
        wrong = [
            what
            for what, bad in (
                (f"more than {most:,} words", words > most),
                (f"ease below {LEAST_EASE:.0f}", ease < LEAST_EASE),
                (f"sentences above {LONGEST_SENTENCE:.0f} words", length > LONGEST_SENTENCE),
            )
            if bad
        ]
        in_docs += words * (DOCS in path.resolve().parents)
        name = path.resolve().relative_to(ROOT).as_posix()
        print(f"{name:<34}{words:>7,}{ease:>7.1f}{length:>10.1f}  {', '.join(wrong)}".rstrip())
        broken = broken or bool(wrong)
    if not names:
        print(f"{'docs/ in all':<34}{in_docs:>7,}")
        broken = broken or in_docs > MOST_IN_ALL
    return int(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
