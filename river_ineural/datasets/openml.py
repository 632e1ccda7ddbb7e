"""Data sets fetched from OpenML, a fixed sample of each kept as a NumPy file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ADVICE", "Decoded", "fetch"]

ADVICE = 'pip install -e ".[data]" in a checkout, for scikit-learn, which fetches from OpenML'

Decoded = tuple[NDArray[Any], NDArray[np.int64]]


def fetch(
    number: int, decode: Callable[[Any, Any], Decoded], n_rows: int, path: Path, verbose: bool
) -> None:
    """Fetch a data set and save a fixed sample of its rows, X (rows, features) and y (rows,).

    scikit-learn compares what arrives with the MD5 checksum that OpenML holds of it. The file
    appears under its name when it is whole, so processes may do this side by side.

    Parameters
    ----------
    number
        Of the data set, on OpenML.
    decode
        Raw features and original labels from the data and the target that scikit-learn gives.
    n_rows
        Rows of the sample.
    path
        Of the file.
    verbose
        Whether to show a bar with the bytes that have arrived.

    Raises
    ------
    ImportError
        Without scikit-learn and rich.
    OSError, ValueError
        If OpenML cannot be reached, or what arrives fails its checksum.
    """
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
    from rich.text import Text
    from sklearn.datasets import fetch_openml  # type: ignore[import-untyped]

    class Arrived(ProgressColumn):
        """Bytes in a folder."""

        def render(self, task: Task) -> Text:
            return Text(f"{n_bytes(task.fields['folder']) / 1e6:,.1f} MB")

    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        columns = ("{task.description}", BarColumn(), Arrived(), TimeElapsedColumn())
        with Progress(*columns, disable=not verbose) as progress:
            progress.add_task(f"{path.name} from OpenML", total=None, folder=Path(folder))
            found = fetch_openml(data_id=number, as_frame="auto", parser="auto", data_home=folder)
        x, y = decode(found.data, found.target)
        rows = np.random.default_rng(0).permutation(len(x))[:n_rows]
        whole = Path(folder) / path.name
        np.savez_compressed(whole, X=x[rows], y=y[rows])
        whole.replace(path)


def n_bytes(folder: Path) -> int:
    """Size of all files in a folder, which may come and go meanwhile."""
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            continue
    return total
