"""Checked numbers from a pandas, polars or other eager data frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.typing import IntoSeries
from numpy.typing import NDArray
from river.base.typing import ClfTarget
from river.utils import dataframe

from river_ineural.encoding import LARGEST

__all__ = ["frame_values", "to_native_labels"]


def frame_values(frame: nw.DataFrame[Any]) -> NDArray[np.float64]:
    """The values of a frame, shape (rows, columns).

    Raises
    ------
    ValueError
        Naming the column that holds something else than finite numbers up to 1e15 in magnitude.
    """
    if not frame.columns:
        raise ValueError("X has no column: give at least one feature.")
    try:
        values = dataframe.to_numpy(frame)
    except (TypeError, ValueError):
        bad = next(name for name in frame.columns if not _is_numeric(frame, name))
        raise ValueError(
            f"column {bad!r} holds values that are not numbers: encode it first."
        ) from None
    fine = (np.abs(values) <= LARGEST).all(axis=0)  # False for NaN and inf as well
    strings = [dtype == nw.String for dtype in frame.schema.values()]
    fine &= ~np.array(strings)
    if not fine.all():
        bad = frame.columns[int(np.argmin(fine))]
        raise ValueError(
            f"column {bad!r} holds a value that is missing, infinite, beyond ±{LARGEST:g} or not "
            "a number: impute, encode or scale it first."
        )
    return values


def _is_numeric(frame: nw.DataFrame[Any], name: str) -> bool:
    try:
        dataframe.to_numpy(frame.select(nw.col(name)))
    except (TypeError, ValueError):
        return False
    return True


def to_native_labels(
    labels: list[ClfTarget], indices: Iterable[int | None], like: nw.DataFrame[Any]
) -> IntoSeries:
    """A series of labels, of the kind and index of the frame `like`."""
    chosen = [None if index is None else labels[index] for index in indices]
    return dataframe.to_native_series(chosen, name=None, like=like)
