"""How many labels I-NeurAL needs to make as few mistakes as others with 5 % of the labels.

The streams are those of `tabular.py`, whose rows are reused. I-NeurAL runs at several shares of the
labels. It needs the least share at which its mean mistakes are at most those of the other learner.
Between two shares, mistakes are interpolated linearly in the logarithm of the labels.
"""

from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from changing import there
from common import best, chosen, geometric, markdown
from drawing import colours, draw, logarithmic
from learners import BEST, OWN, RIVER
from tabular import COLUMNS, FOREST, STREAMS, measure

BUDGETS, SHARE = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1), 0.05
LEARNERS = (OWN, FOREST, *RIVER)
TICKS = (0.3, 0.5, 0.7, 1, 1.5, 2, 3)


def mistakes(rows: pd.DataFrame, stream: str, learner: str) -> "pd.Series[float]":
    """Mean mistakes by share of the labels; for River, those of the best learner at each share."""
    found = chosen(best(chosen(rows, stream=stream)), learner=learner)
    return found.groupby("budget")["regret"].mean()


def needed(rows: pd.DataFrame, stream: str, rival: str) -> tuple[float, str]:
    """The share of labels that I-NeurAL needs, and "<" or ">" if it is outside the shares run."""
    own, theirs = mistakes(rows, stream, OWN), mistakes(rows, stream, rival)
    if SHARE not in theirs or not len(own):
        return np.nan, ""
    enough = np.flatnonzero(own.to_numpy() <= theirs[SHARE])
    if not len(enough):
        return float(own.index[-1]), ">"
    last = enough[0]
    if last == 0:
        return float(own.index[0]), "<"
    (low, high), ends = own.iloc[[last - 1, last]], np.log(own.index[[last - 1, last]].to_numpy())
    return float(np.exp(ends[0] + (low - theirs[SHARE]) / (low - high) * (ends[1] - ends[0]))), ""


def shares(rows: pd.DataFrame, rival: str) -> dict[str, tuple[float, str]]:
    """The share that I-NeurAL needs on each stream that was run."""
    return {s: each for s in STREAMS if (each := needed(rows, s, rival))[0] > 0}


def saving(rows: pd.DataFrame, rival: str) -> float:
    """Labels of I-NeurAL over those of the rival, as a geometric mean over the streams."""
    values = [each[0] for each in shares(rows, rival).values()]
    return geometric(values) / SHARE


def table(rows: pd.DataFrame) -> str:
    """The share of the labels that I-NeurAL needs by stream, the largest first."""
    both = [shares(rows, rival) for rival in (BEST, FOREST)]
    lines = []
    for stream in sorted(both[0], key=lambda stream: -both[0][stream][0]):
        cells = [each.get(stream, (np.nan, "")) for each in both]
        shown = [f"{bound} {100 * share:.1f} %".strip() for share, bound in cells]
        lines.append([stream, *shown])
    means = [f"{100 * SHARE * saving(rows, rival):.1f} %" for rival in (BEST, FOREST)]
    heads = ("stream", "as few as River's best at 5 %", "as few as the refitted forest at 5 %")
    return markdown(heads, [*lines, ["**geometric mean**", *means]])


def draw_labels(rows: pd.DataFrame, folder: Path) -> None:
    """Draw labels-{light,dark}.svg: mistakes over those of River's best at 5 %, against labels.

    Values are geometric means over the streams. The dotted line marks equal mistakes.
    """
    colour = colours((OWN, FOREST, BEST))

    shown = list(shares(rows, BEST))

    def paint(axes: Any) -> None:
        (panel,) = axes.flat
        for name, each in colour.items():
            found = pd.DataFrame(
                {s: mistakes(rows, s, name) / mistakes(rows, s, BEST)[SHARE] for s in shown}
            )
            means = np.exp(np.log(found).mean(axis=1))
            panel.plot(100 * means.index, means, "o-", ms=4, color=each, label=name)
        names = {"xlabel": "labels asked for (% of the rounds)"}
        names["ylabel"] = "mistakes over those of\nRiver's best with 5 % of the labels"
        logarithmic(panel, [100 * each for each in BUDGETS], TICKS, **names)

    draw(folder / "labels", 1, paint, height=3.4)


def adopt(path: Path) -> None:
    """Copy the rows of `tabular.py` that the file lacks."""
    rows = [*common.rows_of(path), *common.rows_of(common.RESULTS / "tabular.csv")]
    cells = {common.key(row): row for row in reversed(rows)}
    common.write(path, COLUMNS, reversed(cells.values()))


def main() -> None:
    """Run the missing cells, print the table and draw the figure."""
    given = common.options({"labels": BUDGETS}, __doc__, 5, streams=STREAMS, learners=LEARNERS)
    if given.rounds is None:
        adopt(given.path)
    given.streams = there(STREAMS, given.streams)
    rows = common.run(given, COLUMNS, measure, [OWN])
    print(table(rows))
    if given.assets:
        draw_labels(rows, given.assets)


if __name__ == "__main__":
    main()
