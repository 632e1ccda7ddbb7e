"""Checked numbers from a pandas, polars or other eager data frame."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries
from numpy.typing import NDArray
from river.base.typing import ClfTarget, FeatureName
from river.utils import dataframe
from scipy import sparse  # type: ignore[import-untyped]

from river_ineural.inputs.encoder import Encoder, is_missing
from river_ineural.inputs.features import FeatureIndex
from river_ineural.inputs.labels import LabelIndex
from river_ineural.inputs.validation import check_weight
from river_ineural.inputs.values import LARGEST, checked

__all__ = ["Frame"]

CATEGORIES = (nw.Categorical, nw.Enum)
LONG = (nw.Int128, nw.UInt128)  # NumPy lacks these types


class Frame:
    """A data frame of finite numbers; converts results to the same kind of frame.

    The encoder encodes other values row by row, as in dicts. Raises ValueError with the name of the
    column if it holds anything but finite numbers up to 1e15, or if two columns share their name.
    """

    def __init__(self, X: IntoDataFrame, encoder: Encoder | None = None) -> None:
        try:
            self.frame = dataframe.into_frame(X)
        except DuplicateError as error:
            raise ValueError(
                f"columns of X have the same name, rename or drop them first: {error}"
            ) from None
        self.names: list[Any] = self.frame.columns
        self.made = None if encoder is None else Made(encoder, len(self.frame))
        values = frame_values(self.frame, self.made)
        self.values = np.ascontiguousarray(values)  # (rows, columns), NaN where there is no number

    def __len__(self) -> int:
        return len(self.values)

    def read(self, features: FeatureIndex) -> tuple[list[Any], NDArray[np.float64]]:
        """The names and values (rows, names) of all rows, to be learned."""
        names, values = next(self.parts(features.columns, max(1, len(self))))
        features.check(names)
        return names, values

    def parts(
        self, known: Collection[FeatureName], size: int
    ) -> Iterator[tuple[list[Any], NDArray[np.float64]]]:
        """Yield names and values (B, names): all rows at once, or `size` rows with an encoder.

        With an encoder, a name not in `known` is included only if a row of the part has its number.
        """
        if self.made is None:
            yield self.names, self.values
            return
        for start in range(0, max(1, len(self)), size):
            values = self.values[start : start + size]
            numbers = np.atleast_1d(np.isfinite(values).any(axis=0))
            kept = [j for j, name in enumerate(self.names) if numbers[j] or name in known]
            made, ones = self.made.part(slice(start, start + size))
            yield [*(self.names[j] for j in kept), *made], np.hstack([values[:, kept], ones])

    def labels(self, y: IntoSeries) -> list[ClfTarget]:
        """Checked labels, one per row."""
        labels = [LabelIndex.checked(label) for label in dataframe.into_series(y).to_list()]
        self._check_length("y", len(labels))
        return labels

    def weights(self, w: IntoSeries | None) -> NDArray[np.float64]:
        """Checked weights, one per row; all 1 if w is None."""
        if w is None:
            return np.ones(len(self.values))
        try:
            weights = np.array(dataframe.into_series(w).to_list(), np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"w must be a series of numbers, got {w!r}.") from None
        self._check_length("w", len(weights))
        for weight in weights:
            check_weight(weight)
        return weights

    def _check_length(self, name: str, length: int) -> None:
        if length != len(self.values):
            raise ValueError(f"X has {len(self.values)} rows, {name} {length}.")

    def native_labels(self, labels: list[ClfTarget], indices: Iterable[int | None]) -> IntoSeries:
        """A series of labels, of the same kind and index as the frame."""
        chosen = [None if index is None else labels[index] for index in indices]
        return dataframe.to_native_series(chosen, name=None, like=self.frame)

    def native_columns(self, labels: list[ClfTarget], values: NDArray[np.float64]) -> IntoDataFrame:
        """A frame of the same kind and index, one column per label: values (rows, labels)."""
        named: dict[str, ClfTarget] = {}
        for label in [] if self.frame.implementation.is_pandas_like() else labels:
            other = named.setdefault(str(label), label)
            if other is not label:
                raise ValueError(
                    f"labels {other!r} and {label!r} would share the column {str(label)!r} of a "
                    "frame whose columns are named by strings: give a pandas frame, or learn "
                    "labels of one type."
                )
        columns = dict(zip(labels, values.T, strict=True))
        return dataframe.to_native_frame(columns, like=self.frame)


class Made:
    """The features that an encoder makes from a frame, and the rows in which each is 1."""

    def __init__(self, encoder: Encoder, n_rows: int) -> None:
        self.encoder = encoder
        self.n_rows = n_rows
        self.names: dict[str, int] = {}
        self.columns: list[Any] = []  # source column of each feature
        self.rows: list[int] = []
        self.ids: list[int] = []

    def of(self, name: Any, value: Any, row: int) -> bool:
        """Encode a value of column `name`; False if it must be a number instead."""
        made = self.encoder.made(name, value)
        if made is None:
            return False
        number = self.names.setdefault(made, len(self.names))
        if number == len(self.columns):
            self.columns.append(name)
        elif self.columns[number] != name:
            raise ValueError(f"column {name!r} reads like another one: rename it first.")
        self.rows.append(row)
        self.ids.append(number)
        return True

    def accounts_for(self, name: Any, values: NDArray[np.float64]) -> bool:
        """Encode each NaN of a column (rows,); False if that fails or a value is beyond 1e15."""
        gaps = np.isnan(values)
        if not (gaps | (np.abs(values) <= LARGEST)).all():
            return False
        return name in self.columns or all(
            self.of(name, math.nan, row) for row in np.flatnonzero(gaps).tolist()
        )

    def part(self, rows: slice) -> tuple[list[str], NDArray[np.float64]]:
        """The names of the features of some rows, and (B, names) with a 1 where a row has one."""
        ones, names = self._sparse
        there = np.unique(ones[rows].indices)
        return [names[number] for number in there], ones[rows][:, there].toarray()

    @functools.cached_property
    def _sparse(self) -> tuple[Any, list[str]]:
        """All rows as a sparse array (rows, names), and the names."""
        ones = np.ones(len(self.rows)), (self.rows, self.ids)
        return sparse.csr_array(ones, shape=(self.n_rows, len(self.names))), list(self.names)


def frame_values(frame: nw.DataFrame[Any], made: Made | None) -> NDArray[np.float64]:
    """The values of a frame, shape (rows, columns); NaN where a value was encoded."""
    if not frame.columns:
        raise ValueError("X has no column: give at least one feature.")
    names, plain = frame.columns, [_is_plain(type(dtype)) for dtype in frame.schema.values()]
    if made is not None:
        made.encoder.check(names)
    if all(plain):
        values = dataframe.to_numpy(frame)
    else:
        values = np.empty(frame.shape)
        if any(plain):
            values[:, plain] = dataframe.to_numpy(frame[:, np.flatnonzero(plain).tolist()])
        for i in np.flatnonzero(~np.array(plain)):
            values[:, i] = _checked_column(names[i], frame[:, int(i)], made)
    fine = (np.abs(values) <= LARGEST).all(axis=0)  # False for NaN and inf as well
    for i in np.flatnonzero(~fine):
        if made is None or not made.accounts_for(names[i], values[:, i]):
            _checked(names[i], values[:, i][~(np.abs(values[:, i]) <= LARGEST)][0])
    return values


@functools.cache  # comparing types takes as long as reading a column of pixels
def _is_plain(kind: type[nw.dtypes.DType]) -> bool:
    """Whether columns of this type are arrays of real numbers, apart from missing values."""
    return issubclass(kind, nw.Boolean) or (
        kind.is_numeric() and not issubclass(kind, (nw.Decimal, *LONG))
    )


def _checked_column(name: Any, column: nw.Series[Any], made: Made | None) -> NDArray[np.float64]:
    """The values of a column that is not plain, as real numbers; NaN where a value was encoded."""
    dtype = column.dtype  # narwhals computes it at each access
    if dtype in LONG:
        column = column.cast(nw.Float64)
    if dtype not in CATEGORIES:
        values = column.to_numpy()
        if values.ndim == 1 and values.dtype.kind in "biuf":  # such as sparse columns of pandas
            return values.astype(np.float64)
    found = []
    for row, value in enumerate(column.to_list()):
        if made is not None and made.of(name, value, row):
            found.append(math.nan)
            continue
        if dtype in CATEGORIES and not isinstance(value, str) and not is_missing(value):
            raise ValueError(
                f"column {name!r} holds categories that are not strings ({value!r}): turn it into "
                "strings or into numbers first."
            )
        found.append(_checked(name, value))
    return np.array(found, np.float64)


def _checked(name: Any, value: Any) -> float:
    """A value of a column as a float, by the same rules as a feature of a dict."""
    try:
        return checked(name, value, "column {!r} holds")
    except TypeError as error:
        raise ValueError(str(error)) from None
