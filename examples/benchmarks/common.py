"""Shared by the benchmarks: cells, their rows in CSV files, runs in processes, and tables."""

import argparse
import itertools
import multiprocessing
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import torch
from learners import method_of
from numpy.typing import NDArray
from river.base.typing import FeatureName

RESULTS = Path(__file__).parent / "results"
POINTS = 100  # points of a curve
CELL = ("stream", "learner", "budget", "seed", "multiclass")  # columns that identify a cell
COUNTED = (*CELL, "rounds", "error", "regret", "queries", "seconds")
MACHINE = ("machine", "cpus", "python", "torch", "numpy")
TEXTS = ("error", "curve", "asks", "changes", "drifts")  # columns of text

X = dict[FeatureName, Any]
Row = dict[str, Any]
Measure = Callable[["Cell"], Row]


@dataclass(frozen=True)
class Cell:
    """A run of a learner on a stream, with at most ⌊budget · rounds⌋ labels."""

    stream: str
    learner: str
    budget: float
    seed: int
    multiclass: bool = False
    rounds: int | None = None  # None: the whole stream


def options(
    usual: Mapping[str, Sequence[float]], what: str | None, seeds: int, **names: Any
) -> argparse.Namespace:
    """Parse the command line of a benchmark; `path` of the result is the file of its rows.

    `usual` maps the names of the benchmark's files to their default shares of the labels. If there
    are several files, the first argument chooses one. Runs with `--rounds`, or from another seed on
    by `--first`, have their own file. `names` maps each further argument, such as `learners`, to
    its values, or to None for any value.
    """
    parser = argparse.ArgumentParser(description=what)
    parser.set_defaults(name=next(iter(usual)), budgets=None)
    if len(usual) > 1:
        parser.add_argument("name", choices=[*usual], help="of the table")
    for each, known in names.items():
        parser.add_argument(f"--{each}", nargs="+", choices=known and [*known], metavar="NAME")
    if any(usual.values()):
        parser.add_argument("--budgets", nargs="+", type=float, help="shares of the labels")
    parser.add_argument("--seeds", type=int, default=seeds, help=f"runs a cell ({seeds})")
    parser.add_argument("--first", type=int, default=0, help="seed (0), into NAME-from-FIRST.csv")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--rounds", type=int, help="of each stream, into NAME-ROUNDS.csv")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the CSV file")
    parser.add_argument("--assets", type=Path, help="draw the figure into this folder")
    given = parser.parse_args()
    given.budgets = given.budgets or usual[given.name]
    parts = given.rounds and f"-{given.rounds}", given.first and f"-from-{given.first}"
    given.path = given.out / f"{given.name}{''.join(filter(None, parts))}.csv"
    return given


def follow(model: Any, xs: Iterable[X], ys: Sequence[Any]) -> Row:
    """Predict each example in turn and learn the labels that are asked for.

    The row has mistakes (the regret), labels asked for, seconds, microseconds per round, and the
    mistakes and labels after each hundredth of the rounds.
    """
    wrong, asked = np.zeros((2, len(ys)), bool)
    start = time.process_time()
    for t, (y, x) in enumerate(zip(ys, xs, strict=False)):
        predicted, asked[t] = model.predict_one(x)
        wrong[t] = predicted != y
        if asked[t]:
            model.learn_one(x, y)
    seconds = time.process_time() - start
    row: Row = {"rounds": len(ys), "regret": int(wrong.sum()), "queries": int(asked.sum())}
    row |= {"seconds": round(seconds, 2), "microseconds": round(1e6 * seconds / len(ys), 1)}
    return row | {"curve": cumulative(wrong), "asks": cumulative(asked)}


def examples(x: NDArray[Any]) -> Iterator[X]:
    """Rows (n, d) as dicts."""
    names = [str(j) for j in range(x.shape[1])]
    return (dict(zip(names, values, strict=True)) for values in x.tolist())


def cumulative(happened: NDArray[np.bool_]) -> str:
    """Cumulative counts of an event after each hundredth of the rounds, as text."""
    ends = [-(-i * len(happened) // POINTS) for i in range(1, POINTS + 1)]
    return " ".join(map(str, np.cumsum(happened)[np.array(ends) - 1]))


def curves(rows: pd.DataFrame, column: str = "curve") -> NDArray[np.int64]:
    """The numbers in a column of `cumulative` texts, (rows, points)."""
    return np.array([[*map(int, text.split())] for text in rows[column]])


def run(
    given: argparse.Namespace,
    columns: Sequence[str],
    measure: Measure,
    learners: Iterable[str],
    skip: Callable[[Cell], bool] = lambda cell: False,
    **more: Any,
) -> pd.DataFrame:
    """Run the cells given by the options that the file lacks; returns all rows of the file.

    `learners` are the default learners; `more` sets further fields of the cells.
    """
    at = {"rounds": given.rounds, **more}
    seeds = range(given.first, given.first + given.seeds)
    chosen = itertools.product(seeds, given.budgets, given.streams, given.learners or learners)
    cells = [Cell(stream, learner, budget, seed, **at) for seed, budget, stream, learner in chosen]
    run_cells([c for c in cells if not skip(c)], given.path, columns, measure, given.jobs)
    return read(given.path)


def run_cells(
    cells: Sequence[Cell],
    path: Path,
    columns: Sequence[str],
    measure: Measure,
    jobs: int = 1,
    names: Sequence[str] = CELL,
) -> None:
    """Run the cells that the file does not hold yet, and add the row of each when it is done.

    `names` are the columns that identify a cell. Cells that failed are run again.
    """
    wanted = {key(asdict(cell), names): cell for cell in cells}
    rows = [row for row in rows_of(path) if not row.get("error") or key(row, names) not in wanted]
    done = {key(row, names) for row in rows}
    missing = [cell for name, cell in wanted.items() if name not in done]
    for row in in_processes(partial(row_of, measure), missing, jobs):
        if row["error"] and "error" not in columns:
            raise RuntimeError(row["error"])
        rows.append(row)
        write(path, columns, rows)
        said = f"{row.get('regret', '')} mistakes", row["error"]
        print(*key(row, names[:4]), *said, sep="  ", flush=True)


def in_processes(function: Callable[[Any], Row], items: Iterable[Any], jobs: int) -> Iterator[Row]:
    """Yield the rows in the order of completion; a single job runs in this process."""
    if jobs == 1:
        yield from map(function, items)
        return
    spawn = multiprocessing.get_context("spawn")  # the processes share no state and no thread
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        for future in as_completed([pool.submit(function, item) for item in items]):
            yield future.result()


def key(row: Mapping[str, Any], names: Sequence[str] = CELL) -> tuple[str, ...]:
    """The values that identify a cell, as text."""
    return tuple(str(row[name]) for name in names)


def row_of(measure: Measure, cell: Cell) -> Row:
    """The row of a cell. A failure is a row too, and its `error` says why."""
    torch.set_num_threads(1)
    row: Row = asdict(cell) | {"error": ""}
    try:
        row |= measure(cell)
    except Exception as error:  # a failure is a result; the other cells still run
        row["error"] = f"{type(error).__name__}: {error}"
    return row | setting()


def setting() -> Row:
    """Hardware and versions of a run."""
    packages = {"torch": "torch", "numpy": "numpy", "river": "river", "sklearn": "scikit-learn"}
    row = {"machine": processor(), "cpus": os.cpu_count(), "python": platform.python_version()}
    return row | {name: version(package) for name, package in packages.items()}


def processor() -> str:
    """The name of the processor, as far as the system gives it."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def rows_of(path: Path) -> list[Row]:
    """Rows of a file as text; empty if there is no file."""
    if not path.exists():
        return []
    return list(pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"))


def write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Replace the file in one step, so that a killed run leaves the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    pd.DataFrame(rows, columns=columns, dtype=object).to_csv(part, index=False)
    part.replace(path)


def read(path: Path) -> pd.DataFrame:
    """Rows of a file that did not fail; numeric columns are numbers."""
    if not path.exists():
        return pd.DataFrame(columns=COUNTED)
    rows = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str))
    return rows[rows["error"].isna()] if "error" in rows else rows


def chosen(rows: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """The rows where columns have these values."""
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


def of(rows: pd.DataFrame, column: str = "regret", **where: Any) -> list[float]:
    """The values of a column, one per seed, in the rows where other columns have these values."""
    return [float(value) for value in chosen(rows, **where)[column]]


def best(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of each method's setting with the least mean regret, by stream and budget.

    In the result `learner` is the method, and `setting` is a column.
    """
    names = rows["learner"].map(method_of)
    rows = rows.assign(learner=names.str[0], setting=names.str[1])
    columns = ["stream", "budget", "learner", "setting"]
    means = rows.groupby(columns)["regret"].mean()
    least = means.groupby(columns[:3]).idxmin()
    return rows[pd.MultiIndex.from_frame(rows[columns]).isin(least.tolist())]


def by_stream(
    rows: pd.DataFrame, streams: Iterable[str], column: str = "regret", **where: Any
) -> list[str]:
    """Mean ± standard deviation of a column, a cell per stream, in the rows with these values.

    A setting chosen by `best` follows in brackets.
    """
    digits, cells = 2 if column == "accuracy" else 0, []
    for stream in streams:
        found = chosen(rows, stream=stream, **where)
        settings = "".join(found.get("setting", pd.Series(dtype=str)).unique())
        shown = spread([*found[column]], digits)
        cells.append(f"{shown} ({settings})" if settings else shown)
    return cells


def ratios(rows: pd.DataFrame, over: str, under: str, streams: Iterable[str]) -> "pd.Series[float]":
    """Mean mistakes of one learner over those of another by stream, on the seeds of both."""
    rows = rows[rows["learner"].isin([over, under])]
    found = rows.pivot_table(
        values="regret", index=["stream", "seed"], columns="learner", observed=True
    )
    means = found.reindex(columns=[over, under]).dropna().groupby("stream").mean()
    return (means[over] / means[under]).reindex([*streams]).dropna()


def geometric(ratios: Any) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Mean ± standard deviation; the mean of one run alone; empty where nothing was run."""
    if not values:
        return ""
    deviation = f" ± {statistics.stdev(values):,.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):,.{digits}f}{deviation}"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    top = "|" + "".join(f" {head} |" if head else " |" for head in heads)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([top, "| --- " * len(heads) + "|", *lines])
