"""Checked numbers from a pandas, polars or other eager data frame."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries
from numpy.typing import NDArray
from river.base.typing import ClfTarget
from river.utils import dataframe

from river_ineural.inputs.features import LARGEST, FeatureIndex
from river_ineural.inputs.labels import LabelIndex

__all__ = ["Frame"]

ENCODE = "encode it first, e.g. with river.preprocessing.OneHotEncoder"
# Types of columns, types of values in columns of objects, what they are and what to do with them.
NOT_NUMBERS = (
    (
        (nw.Date, nw.Datetime),
        (dt.date, np.datetime64),
        "dates",
        "turn it into numbers first, e.g. seconds since a fixed date",
    ),
    (
        (nw.Duration,),
        (dt.timedelta, np.timedelta64),
        "durations",
        "turn it into numbers first, e.g. seconds",
    ),
    (
        (nw.Time,),
        (dt.time,),
        "times of day",
        "turn it into numbers first, e.g. seconds since midnight",
    ),
    ((nw.Categorical, nw.Enum), (), "categories", ENCODE),
    ((), (str,), "strings", ENCODE),
    ((nw.Binary,), (bytes,), "bytes", "turn it into numbers first"),
    (
        (nw.List, nw.Array, nw.Struct),
        (list, tuple, dict, np.ndarray),
        "lists or structs",
        "make each of their parts a column first",
    ),
    ((), (complex,), "complex numbers", "make their real and imaginary parts columns first"),
)
LONG = (nw.Int128, nw.UInt128)  # NumPy has none


class Frame:
    """A frame of finite numbers, and what is answered in its own kind.

    Raises
    ------
    ValueError
        Naming the column that holds something else than finite numbers up to 1e15 in magnitude, or
        that has the name of another.
    """

    def __init__(self, X: IntoDataFrame) -> None:
        try:
            self.frame = dataframe.into_frame(X)
        except DuplicateError as error:
            raise ValueError(
                f"columns of X have the same name, rename or drop them first: {error}"
            ) from None
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
        """A frame of the same kind and index, a column a label: values (rows, labels).

        Raises
        ------
        ValueError
            Naming two labels that would share a column, where columns are named by strings only.
        """
        if not self.frame.implementation.is_pandas_like():
            named: dict[str, ClfTarget] = {}
            for label in labels:
                other = named.setdefault(str(label), label)
                if other is not label:
                    raise ValueError(
                        f"labels {other!r} and {label!r} would share the column {str(label)!r} of "
                        "a frame whose columns are named by strings: give a pandas frame, or learn "
                        "labels of one type."
                    )
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
    names, plain = frame.columns, [_is_plain(type(dtype)) for dtype in frame.schema.values()]
    if all(plain):
        values = dataframe.to_numpy(frame)
    else:
        values = np.empty(frame.shape)
        if any(plain):
            values[:, plain] = dataframe.to_numpy(frame[:, np.flatnonzero(plain).tolist()])
        for i in np.flatnonzero(~np.array(plain)):
            values[:, i] = _checked_column(names[i], frame[:, int(i)])
    fine = (np.abs(values) <= LARGEST).all(axis=0)  # False for NaN and inf as well
    if not fine.all():
        raise ValueError(_unfit(names[int(np.argmin(fine))]))
    return values


@functools.cache  # a comparison of types takes as long as a column of pixels
def _is_plain(kind: type[nw.dtypes.DType]) -> bool:
    """Whether columns of this type are arrays of real numbers, but for missing values."""
    return issubclass(kind, nw.Boolean) or (
        kind.is_numeric() and not issubclass(kind, (nw.Decimal, *LONG))
    )


def _checked_column(name: Any, column: nw.Series[Any]) -> NDArray[np.float64]:
    """The values of a column that is not plain, if all of them are real numbers all the same."""
    dtype = column.dtype  # which is found anew each time
    for dtypes, _, what, advice in NOT_NUMBERS:
        if dtype in dtypes:
            raise ValueError(f"column {name!r} holds {what}: {advice}.")
    if dtype in LONG:
        column = column.cast(nw.Float64)
    values = column.to_numpy()
    if values.dtype.kind in "biuf":  # pandas' sparse ones, for example
        return values.astype(np.float64)
    return np.array([_checked_value(name, value) for value in column.to_list()], np.float64)


def _checked_value(name: Any, value: Any) -> float:
    """A value of a column of objects: a number where the same feature of a dict is one."""
    try:
        return FeatureIndex.checked(name, value)
    except (TypeError, ValueError):
        for _, types, what, advice in NOT_NUMBERS:
            if isinstance(value, types):
                raise ValueError(f"column {name!r} holds {what} ({value!r}): {advice}.") from None
        raise ValueError(_unfit(name)) from None


def _unfit(name: Any) -> str:
    return (
        f"column {name!r} holds a value that is missing, infinite, beyond ±{LARGEST:g} or not "
        "a number: impute, encode or scale it first."
    )
