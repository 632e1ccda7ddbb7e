"""Tables of pages: columns of numbers are right-aligned, and the best numbers are marked.

Each cell names its column, so that a wide table is shown line by line on a narrow screen.

A comment before a table says which are best, counting rows below the heading and columns from 1;
with several spans each has its own best:

    <!-- best: lowest in columns 4+6 of each row -->
    <!-- best: highest in rows 1-4, 5-8 of each column -->
"""

from __future__ import annotations

import html
import re
import zlib
from typing import Any

TABLE = re.compile(r"(?:<!-- best: (.*?) -->\s*)?(<table>.*?</table>)", re.DOTALL)
ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
CELL = re.compile(r"<(t[hd])([^>]*)>(.*?)</\1>", re.DOTALL)
WANTED = re.compile(r"(lowest|highest) in (rows|columns) ([\d+, -]+) of each (row|column)")
# 0.61, 1,745 ± 68 (0.95), 5 %, -3, ≈ 2 s, 38 min
MOST_COLUMNS, LONG = 4, 80  # of a table that fits a narrow screen; letters of a cell that does not
FOLDED = 40  # cells above which a wide table is folded on a narrow screen
NUMBER = re.compile(
    r"[<>≤≥≈~]?\s*[-−+]?(\d[\d,]*\.?\d*)(?![\d.])(?:\s*(?:%|±|\(|to|(?:µs|ms|s|min|h|kB|MB|GB)\b).*)?"
)


def text(cell: str) -> str:
    """What is read in a cell."""
    return html.unescape(re.sub(r"<[^>]*>", "", cell)).strip()


def number(cell: str) -> float | None:
    """The first number of a cell that is one; None for words."""
    found = NUMBER.fullmatch(text(cell))
    return float(found[1].replace(",", "")) if found else None


def spans(text: str) -> list[list[int]]:
    """From 0: "3-5, 2+6" are [2, 3, 4] and [1, 5]."""
    return [
        [
            at
            for part in span.split("+")
            for at in range(int(part.split("-")[0]) - 1, int(part.split("-")[-1]))
        ]
        for span in text.split(", ")
    ]


def best(wanted: str, rows: list[list[float | None]]) -> set[tuple[int, int]]:
    """Row and column of the cells that a comment asks to mark, in each span apart."""
    found = WANTED.fullmatch(wanted)
    if found is None or found[2] == f"{found[4]}s":
        raise ValueError(f"Not understood: best: {wanted}")
    pick = min if found[1] == "lowest" else max
    marked = set()
    for span in spans(found[3]):
        if found[4] == "row":
            lines = [[(i, j) for j in span] for i in range(len(rows))]
        else:
            lines = [[(i, j) for i in span] for j in range(len(rows[0]))]
        for line in lines:
            values = {at: value for at in line if (value := rows[at[0]][at[1]]) is not None}
            if len({*values.values()}) > 1:
                marked |= {at for at, value in values.items() if value == pick(values.values())}
    return marked


def dressed(found: re.Match[str]) -> str:
    """A table with a class at cells of numbers, and another at the best."""
    table = found[2]
    rows = [[cell[2] for cell in CELL.findall(row)] for row in ROW.findall(table)]
    values = [[number(cell) for cell in row] for row in rows[1:]]
    columns = range(len(rows[0]))
    numeric = {
        j
        for j in columns
        if any(row[j] is not None for row in values)
        and all(
            row[j] is not None or not text(cells[j]).strip("-")
            for cells, row in zip(rows[1:], values, strict=True)
        )
    }
    marked = best(found[1], values) if found[1] else set()
    at_row = iter(range(-1, len(values)))
    heads = [html.escape(text(cell)) for cell in rows[0]]
    longest = max(len(text(cell)) for row in rows for cell in row)
    wide = len(heads) > MOST_COLUMNS or (len(heads) > 2 and longest > LONG)

    def row(found: re.Match[str]) -> str:
        i, at_column = next(at_row), iter(columns)

        def cell(found: re.Match[str]) -> str:
            j = next(at_column)
            names = ["number"] * (j in numeric) + ["best"] * ((i, j) in marked)
            kind = f' class="{" ".join(names)}"' if names else ""
            spread = " ±\u00a0" if wide else "\u00a0±\u00a0"  # stays in one line where it can
            shown = found[3].replace(" ± ", spread)
            if wide and found[1] == "td" and shown:
                kind += f' data-label="{heads[j]}"'
                shown = f"<div>{shown}</div>"  # one element beside the name
            return f"<{found[1]}{found[2]}{kind}>{shown}</{found[1]}>"

        return f"<tr>{CELL.sub(cell, found[1])}</tr>"

    made = ROW.sub(row, table)
    if not wide:
        return made
    made = made.replace("<table>", '<table data-wide="">', 1)
    return folded(made, len(values)) if len(values) * len(heads) > FOLDED else made


def folded(table: str, n_rows: int) -> str:
    """A table that narrow screens show when it is asked for; no script is needed."""
    id = f"table-{zlib.crc32(table.encode())}"
    return (
        f'<div class="folded"><input type="checkbox" id="{id}"><label for="{id}">Show the table of '
        f"{n_rows} rows</label><div>{table}</div></div>"
    )


def on_page_content(content: str, **_: Any) -> str:
    """mkdocs calls this with the HTML of each page."""
    return TABLE.sub(dressed, content)
