"""Checked numbers from a pandas, polars or other eager data frame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries
from numpy.typing import NDArray
from river.base.typing import ClfTarget
from river.utils import dataframe

from river_ineural.inputs.features import LARGEST
from river_ineural.inputs.labels import LabelIndex

__all__ = ["Frame"]


class Frame:
    """A frame of finite numbers, and what is answered in its own kind.

    Raises
    ------
    ValueError
        Naming the column that holds something else than finite numbers up to 1e15 in magnitude.
    """

    def __init__(self, X: IntoDataFrame) -> None:
        self.frame = dataframe.into_frame(X)
        self.names = self.frame.columns
        self.values = np.ascontiguousarray(frame_values(self.frame))  # (rows, columns)

    def labels(self, y: IntoSeries) -> list[ClfTarget]:
        """Checked labels, one a row.

        Raises
        ------
        TypeError, ValueError
            Naming the label, or both lengths.
        """
        labels = [LabelIndex.checked(label) for label in dataframe.into_series(y).to_list()]
        self._check_length("y", len(labels))
        return labels

    def weights(self, w: IntoSeries | None) -> NDArray[np.float64]:
        """Numbers, one a row; all 1 without w."""
        if w is None:
            return np.ones(len(self.values))
        try:
            weights = np.array(dataframe.into_series(w).to_list(), np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"w must be a series of numbers, got {w!r}.") from None
        self._check_length("w", len(weights))
        return weights

    def _check_length(self, name: str, length: int) -> None:
        if length != len(self.values):
            raise ValueError(f"X has {len(self.values)} rows, {name} {length}.")

    def native_labels(self, labels: list[ClfTarget], indices: Iterable[int | None]) -> IntoSeries:
        """A series of labels, of the kind and index of the frame."""
        chosen = [None if index is None else labels[index] for index in indices]
        return dataframe.to_native_series(chosen, name=None, like=self.frame)

    def native_columns(self, labels: list[ClfTarget], values: NDArray[np.float64]) -> IntoDataFrame:
        """A frame of the same kind and index, a column a label: values (rows, labels)."""
        columns = dict(zip(labels, values.T, strict=True))
        return dataframe.to_native_frame(columns, like=self.frame)


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
