"""Checked numbers from a pandas, polars or other eager data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries
from numpy.typing import NDArray
from river.base.typing import ClfTarget
from river.utils import dataframe

from river_ineural.features.encoder import Encoder, is_missing
from river_ineural.features.index import FeatureIndex
from river_ineural.features.labels import LabelIndex
from river_ineural.features.validation import check_weight, warn
from river_ineural.features.values import LARGEST, checked

Column = IntoSeries | list[Any] | tuple[Any, ...] | NDArray[Any]  # one value a row
CATEGORIES = (nw.Categorical, nw.Enum)
LONG = (nw.Int128, nw.UInt128)  # NumPy lacks these types
ROWS = 1024  # of a part: bounds its memory


class Frame:
    """A data frame of finite numbers; converts results to the same kind of frame.

    With an encoder its rows are read one by one, like dicts. Raises ValueError with the name of the
    column if it holds anything but finite numbers up to 1e15, or if two columns share their name.
    """

    def __init__(self, X: IntoDataFrame, features: FeatureIndex) -> None:
        self.features, encoder = features, features.encoder
        self.frame = opened(X)
        self.names: list[Any] = self.frame.columns
        check_categories(self.frame)
        self.rows, self.values = [], np.zeros((0, len(self.names)))
        if encoder:
            self.rows = encoded_rows(self.frame, encoder)
        else:
            self.values = np.ascontiguousarray(frame_values(self.frame))  # (rows, columns)

    def __len__(self) -> int:
        return len(self.frame)

    def read(self) -> tuple[list[Any], NDArray[np.float64]]:
        """The names and values (rows, names) of all rows, to be learned."""
        names, values = next(self.parts(len(self)))
        self.features.check(names)
        return names, values

    def parts(self, size: int = ROWS) -> Iterator[tuple[list[Any], NDArray[np.float64]]]:
        """Yield names and values (B, names): all rows at once, or `size` rows with an encoder.

        A feature that a row does not have is 0, and NaN stands for a number that is missing. A name
        without a column or any number is left out.
        """
        if not self.rows:
            yield self.names, self.values
            return
        for start in range(0, len(self.rows), size):
            rows = self.rows[start : start + size]
            numbers = {name for row in rows for name, value in row.items() if value == value}
            every = dict.fromkeys(name for row in rows for name in row)
            kept = (name for name in every if name in numbers or name in self.features.columns)
            at = {name: j for j, name in enumerate(kept)}
            values = np.zeros((len(rows), len(at)))
            for i, row in enumerate(rows):
                for name, value in row.items():
                    if name in at:
                        values[i, at[name]] = value
            yield list(at), values

    def labels(self, y: Column) -> list[ClfTarget]:
        """Checked labels, one per row."""
        return [LabelIndex.checked(label) for label in self._column("y", y)]

    def weights(self, w: Column | None) -> NDArray[np.float64]:
        """Checked weights, one per row; all 1 if w is None."""
        if w is None:
            return np.ones(len(self))
        given = self._column("w", w)
        try:
            weights = np.array(given, np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"w must be a series of numbers, got {w!r}.") from None
        for weight in weights:
            check_weight(weight)
        return weights

    def _column(self, name: str, given: Any) -> list[Any]:
        """One value a row; it is told once that the index is not that of the frame."""
        return column(name, given, self.frame, partial(self.features.watch.once, "index"))

    def native_labels(self, labels: list[ClfTarget], indices: Iterable[int | None]) -> IntoSeries:
        """A series of labels, of the same kind and index as the frame."""
        chosen = [None if index is None else labels[index] for index in indices]
        return native(chosen, self.frame)

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


def check_categories(frame: nw.DataFrame[Any]) -> None:
    """Raise unless all categories of columns are text or missing."""
    for name, dtype in frame.schema.items():
        for value in frame[name].unique().to_list() if dtype in CATEGORIES else ():
            if not isinstance(value, str) and not is_missing(value):
                raise ValueError(
                    f"column {name!r} holds categories that are not strings ({value!r}): turn it "
                    "into strings or into numbers first."
                )


def opened(X: IntoDataFrame) -> nw.DataFrame[Any]:
    """The frame as narwhals reads it; raises unless X is one with columns whose names differ."""
    try:
        frame = dataframe.into_frame(X)
    except TypeError:
        raise TypeError(
            f"X must be a data frame, got {type(X).__name__}: collect() a LazyFrame, and make "
            "a frame of anything else, whose columns are the features."
        ) from None
    except DuplicateError as error:
        raise ValueError(
            f"columns of X have the same name, rename or drop them first: {error}"
        ) from None
    if not frame.columns:
        raise ValueError("X has no column: give at least one feature.")
    return frame


def column(
    name: str, given: Any, frame: nw.DataFrame[Any], tell: Callable[[str], None] = warn
) -> list[Any]:
    """One value a row, of a series, a list, an array or a frame of one column.

    It is told if the index is not that of the frame.
    """
    read = nw.from_native(given, allow_series=True, pass_through=True)
    shape = getattr(read, "shape", (len(read),) if isinstance(read, list | tuple) else None)
    if not shape or shape[1:] not in ((), (1,)):
        raise TypeError(
            f"{name} must be a series, a list, an array or a frame of one column, got "
            f"{type(given).__name__}{f' of shape {shape}' if shape else ''}."
        )
    if shape[0] != len(frame):
        raise ValueError(f"X has {len(frame)} rows, {name} {shape[0]}.")
    if isinstance(read, nw.Series | nw.DataFrame):
        ours, theirs = nw.maybe_get_index(frame), nw.maybe_get_index(read)
        if ours is not None and theirs is not None and not ours.equals(theirs):
            tell(f"the index of {name} is not that of X: rows are matched by their position.")
    read = read[:, 0] if len(shape) > 1 else read
    plain = "to_list" if isinstance(read, nw.Series) else "tolist"
    return [*(getattr(read, plain)() if hasattr(read, plain) else read)]


def dicts(frame: nw.DataFrame[Any]) -> list[dict[Any, Any]]:
    """The rows of a frame as they stand."""
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.iter_rows()]


def native(values: Any, frame: nw.DataFrame[Any]) -> IntoSeries:
    """A series of the same kind and index as the frame."""
    try:
        return dataframe.to_native_series(values, name=None, like=frame)
    except TypeError:  # polars has no other column for labels of several types
        library = nw.get_native_namespace(frame)
        series: IntoSeries = nw.new_series("", values, nw.Object(), backend=library).to_native()
        return series


def encoded_rows(frame: nw.DataFrame[Any], encoder: Encoder) -> list[dict[Any, Any]]:
    """The rows of a frame as `Encoder.split` encodes dicts, in float64, NaN for what it encoded."""
    names, rows = frame.columns, []
    encoder.check(names)
    for given in frame.iter_rows():
        numbers, made = encoder.split(dict(zip(names, given, strict=True)))
        rows.append({name: _checked(name, value) for name, value in numbers.items()} | made)
    return rows


def frame_values(frame: nw.DataFrame[Any]) -> NDArray[np.float64]:
    """The values of a frame, shape (rows, columns)."""
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
    for i in np.flatnonzero(~fine):
        _checked(names[i], values[:, i][~(np.abs(values[:, i]) <= LARGEST)][0])
    return values


def _is_plain(kind: type[nw.dtypes.DType]) -> bool:
    """Whether columns of this type are arrays of real numbers, apart from missing values."""
    return issubclass(kind, nw.Boolean) or (
        kind.is_numeric() and not issubclass(kind, (nw.Decimal, *LONG))
    )


def _checked_column(name: Any, column: nw.Series[Any]) -> NDArray[np.float64]:
    """The values of a column that is not plain, as real numbers."""
    if column.dtype not in (*CATEGORIES, *LONG):
        values = column.to_numpy()
        if values.ndim == 1 and values.dtype.kind in "biuf":  # such as sparse columns of pandas
            return values.astype(np.float64)
    return np.array([_checked(name, value) for value in column.to_list()], np.float64)


def _checked(name: Any, value: Any) -> float:
    """A value of a column as a float, by the same rules as a feature of a dict."""
    try:
        return checked(name, value, "column {!r} holds")
    except TypeError as error:
        raise ValueError(str(error)) from None
