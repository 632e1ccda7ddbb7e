"""Numbers that were typed into README and pages, and which may have been.

A figure is taken from rows by `{{ name }}` (examples/benchmarks/figures.py), or in README, which no
hook fills, written before its name, `0.88<!-- tabular.over_forest -->`, and compared here. A number
may be typed in code and what code prints, in formulas, links, figures, headings and versions, and
where ALLOWED says so. `python docs/typed.py [PAGE ...]` lists all others, and exits with 1.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.append(str(ROOT / "examples" / "benchmarks"))

# Where a number stands for itself.
FREE = re.compile(
    r"\A---\n.*?^---$"  # front matter
    r"|^ *(```+).*?^ *\1 *$"  # blocks of code and what they print
    r"|`[^`]+`"
    r"|\\\[.*?\\\]|\\\(.*?\\\)"  # formulas
    r"|\]\([^)]*\)|<[^>]*>|https?://\S+"  # where a link leads to, tags, comments
    r"|\{\{.*?\}\}|\{[^}\n]*\}"  # figures, attributes
    r"|^#.*?$|^:::.*?$|^ *--8<--.*?$"
    r"|\b(?:d|k|m|n|w|T|γ|β\d?|δ|η\d?|t|b|L|p|q|seed) ?[=<>≥≤] ?[\d.,]*\d"  # parameters
    r"|\b(?:Python|River|PyTorch|PyTorch from|torch|scikit-learn|scikit-activeml|deep-river|CUDA"
    r"|Label Studio|version|Version|made with) \d[\d.]*(?:(?:, | or | to )\d[\d.]*)*"
    r"|\b(?:[Tt]ables?|[Ff]igures?|[Ll]ines?|[Aa]lgorithms?|Theorems?|Definitions?|CRC|float|int)"
    r"[ -]?\d+(?:(?:, | and | to )\d+)*"
    r"|\b(?:19|20)\d\d\b"  # years
    r"|^ *\d+\. ",  # items of a list
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?: ?%)?(?![\w])")
NAMED = re.compile(r"([-−]?\d[\d,]*(?:\.\d+)?)<!-- ([\w-]+\.\w+)(.*?) -->")


def section(*names: str) -> str:
    """A pattern of sections of a page, which have no results."""
    return rf"(?s)^## (?:{'|'.join(names)})$.*?(?=^## |\Z)"


GUIDES = (
    "choosing-a-budget getting-started how-many-classes in-production late-labels "
    "many-keys troubleshooting why-did-it-ask your-own-csv"
)
COUNT = r"(?<![\d.,])\d[\d,]*(?![\d.]*\d)(?! ?%)"  # no ratio and no percentage
ANY_BUT_PERCENT = r"\d[\d,.]*(?![\d,.]*\d)(?! ?%)"
# Which numbers are no results, by page: why, and the words around them, as a pattern.
ALLOWED: dict[str, dict[str, str]] = {
    "*": {
        "the shares of labels that the comparisons give to all": r"(?<![\d.,])(?:3|5|10) %",
        "names of classes, and of what counts as right": r"(?<![\w.,])[01]\b(?![.,]?\d| %)",
    },
    "how-it-decides": {"constants of the algorithm, and lines of its print": ANY_BUT_PERCENT},
    "deviations": {"constants of both algorithms": ANY_BUT_PERCENT},
    "the-paper": {"constants of the print, and of the test beside it": ANY_BUT_PERCENT},
    "streams-that-change": {
        "constants of the detector": section("How a change is noticed", "The warning zone"),
        "constants of the recovery": section("What happens after an alarm"),
        "constants of ageing": section("When older labels have aged"),
        "constants of the last label": section("Temporal dependence", "What it is worth"),
        "what the streams are": section("The panel"),
        "what the lasting streams are": r"40 classes|up to 100 rows",
        "how the table is made": r"1,500 rounds after",
    },
    "README": {
        "streams of a mean; the licence": r"On (?:29|13) |3-Clause",
        "what a budget allows": r"125 labels|1,250 rows|most\n187",
    },
    **{
        page: {"parameters, limits and examples": rf"{COUNT}|0\.05|Write 0\.1|127\.0\.0\.1"}
        for page in GUIDES.split()
    },
    "results": {
        "sizes of the streams": section(r"Streams \(Table 2\)"),
        "lengths of the runs": r"(?:10|2),000(?= rows| rounds|,|\.)|/1,055,?",
        "a learning rate": r"rate(?: of)? 0\.5",
    },
    "performance": {
        "parameters and limits": r"100 hidden|256 features|25,000,000 weights",
    },
    "experiments": {"how the table is read": r"numbers below 2"},
}


def wrong_in(path: Path) -> list[str]:
    """What is typed on a page and may not be, with its line; and figures that do not agree."""
    from figures import text

    page = path.read_text()
    found = []
    for typed, name, given in NAMED.findall(page):
        made = text(name, **dict(re.findall(r'(\w+)="?([^"]+?)"?(?: |$)', given)))
        if made != typed:
            found.append(f"{typed} is written, {name} is {made}")
    page = NAMED.sub("", page)
    allowed = [*ALLOWED["*"].values(), *ALLOWED.get(path.stem, {}).values()]
    for pattern in (*(re.compile(each, re.MULTILINE) for each in allowed), FREE):
        page = pattern.sub(lambda cut: re.sub(r"[^\n]", "_", cut[0]), page)
    for n, line in enumerate(page.splitlines(), 1):
        found += [f"line {n}: {each[0]}" for each in NUMBER.finditer(line)]
    return found


def main(names: list[str]) -> int:
    """Print what is wrong on each page; 1 if there is anything."""
    pages = [Path(name) for name in names] or [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    found = {path: wrong_in(path) for path in pages}
    for path, wrong in found.items():
        for each in wrong:
            print(f"{path.resolve().relative_to(ROOT)}: {each}")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
