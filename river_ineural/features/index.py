"""Convert feature dicts to vectors; the order of keys never matters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river.base.typing import FeatureName

from river_ineural.features.encoder import Encoder
from river_ineural.features.keys import MOST_FEATURES, OF_NAMES, check_keys, check_names, plain
from river_ineural.features.validation import check_integer
from river_ineural.features.values import LARGEST, checked
from river_ineural.features.watch import Watch

REAL = frozenset((float, int, bool, np.bool_, *(np.dtype(code).type for code in "bhilqBHILQefd")))
LATEST = np.iinfo(np.int64).max
NONE = np.empty(0, np.int64)


def sorted_names(names: Iterable[FeatureName]) -> list[FeatureName]:
    """Sort the names as text, or, if not all are text, by type name and `repr`."""
    names = list(names)
    if all(isinstance(name, str) for name in names):
        return sorted(names)  # type: ignore[type-var]
    return sorted(names, key=lambda name: (type(name).__name__, repr(name)))


class Checked(dict[FeatureName, Any]):
    """A copy of an example that has been checked, with its names and its values (1, n).

    It must not be changed, because it is not checked again.
    """

    __slots__ = ("array", "names")

    array: NDArray[np.float64]
    names: tuple[FeatureName, ...]


class NewFeatures(NamedTuple):
    """Names without a column, in sorted order, and the columns that they get.

    Columns that are in use already are those of names not learned for longest, which are forgotten.
    """

    names: list[FeatureName]
    columns: NDArray[np.int64]


class FeatureIndex:
    """The columns of the features seen so far, at most `max_features`.

    Columns before `first_column` are reserved. Beyond the cap, new names are ignored; with
    `recycles` they replace the least recently learned names. `encoder` encodes non-numbers.
    """

    def __init__(
        self,
        max_features: int,
        first_column: int = 0,
        recycles: bool = False,
        encoder: Encoder | None = None,
    ) -> None:
        self.encoder = encoder
        self.max_features = check_integer("max_features", max_features, 1, MOST_FEATURES)
        self.first_column = first_column
        self.recycles = recycles
        self.columns: dict[FeatureName, int] = {}
        self.names: list[FeatureName] = []  # in column order
        self.touched = np.zeros(first_column, np.int64)  # example count at its last learning
        self.now = 0
        self.strings: dict[str, list[int]] = {}  # see `Watch`
        self.refused: list[int] = []
        self.watch = Watch(encoder, self.strings, self.refused)
        self._forget()

    def _forget(self) -> None:
        """Forget what was looked up last: names, columns, and whether all have one."""
        self._last: tuple[tuple[FeatureName, ...], NDArray[np.int64], bool] = (), NONE, True
        self._odd: bool | None = None  # whether predictions of these names are; None: look

    def __len__(self) -> int:
        """The number of columns in use, from `first_column` on."""
        return len(self.names)

    def __getstate__(self) -> dict[str, Any]:
        derived = ("columns", "_last", "_odd", "watch")
        return {name: part for name, part in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, touched=state["touched"].copy())
        self.columns = {name: self.first_column + i for i, name in enumerate(self.names)}
        touched = self.touched[self.first_column :]
        latest = np.flatnonzero(touched == touched.max(initial=0)).tolist()
        self.strings = {column: [*counts] for column, counts in self.strings.items()}
        self.refused = [*self.refused]
        known = self.names, [self.names[i] for i in latest]
        self.watch = Watch(self.encoder, self.strings, self.refused, *known)
        self._forget()

    def look_up(self, names: Iterable[FeatureName], n_predicted: int = 0) -> NDArray[np.int64]:
        """The column of each name, -1 where there is none; cached, as a stream repeats its names.

        So many examples with these names are predicted. The array must not be changed.
        """
        names = tuple(names)
        last, columns, _ = self._last
        if names != last:
            found = [self.columns.get(name, -1) for name in names]
            columns = np.array(found, np.int64)
            self._last, self._odd = (names, columns, -1 not in found), None
        if n_predicted and self._odd is not False:
            if self._odd is None:
                self._odd = self.watch.odd(names, self.columns)
            if self._odd or self.watch.run:
                self.watch.predicted(names, self._odd, n_predicted, self.columns)
        return columns

    def learned(self, names: tuple[FeatureName, ...], n: int) -> None:
        """Note that n examples with these names and given labels are learned."""
        self.watch.learned(names, n)
        self._odd = self.watch.odd(self._last[0], self.columns)

    def read(self, x: Mapping[FeatureName, Any]) -> tuple[Any, NDArray[np.float64]]:
        """The names of an example and their checked values (1, n), encoded if it has an encoder.

        Takes and raises the same as `values`. A feature with an encoded value becomes NaN, and is
        returned only if it has a column.
        """
        if type(x) is Checked:
            return x.names, x.array
        if self.encoder is None or not isinstance(x, Mapping):
            return x, self.values(x)[None]
        check_names(x)
        numbers, made = self.encoder.split(x)
        values = self.values(numbers)
        if not made:
            return numbers, values[None]
        made = {name: one for name, one in made.items() if one == one or name in self.columns}
        names = numbers | made
        self.check(names)
        return names, np.concatenate([values, list(made.values())])[None]

    def values(self, x: Mapping[FeatureName, Any]) -> NDArray[np.float64]:
        """The values of `x` in its own key order, float64 (len(x),).

        Raises TypeError or ValueError unless x holds at most `max_features` finite numbers, each at
        most 1e15 in magnitude. The error names the feature.
        """
        if not (type(x) is dict or isinstance(x, Mapping)):
            raise TypeError(f"x must be a dict of features, got {type(x).__name__}.")
        if len(x) > self.max_features:
            self.check(x)
        given = x.values()
        try:
            # The type of the sum shows, in one pass in C, whether all values are Python's numbers.
            # NumPy scalars are recognised by their types, because sums of narrow ones overflow.
            total = sum(given, 0.0) if type(next(iter(given), 0.0)) is float else None
            if type(total) is float or REAL.issuperset(map(type, given)):
                values = np.fromiter(given, np.float64, len(x))
                if values.dot(values) < LARGEST**2:  # so is each square; False for NaN as well
                    return values
        except (TypeError, ValueError, OverflowError, RuntimeWarning):
            pass
        return np.array([checked(name, value) for name, value in x.items()])

    def check(self, names: Collection[FeatureName]) -> None:
        """Raise ValueError if there are more than `max_features` names."""
        if len(names) > self.max_features:
            raise ValueError(
                f"x has {len(names):,} features, more than max_features={self.max_features:,}: "
                "raise max_features or select features first."
            )

    def new(
        self,
        names: Iterable[FeatureName],
        values: NDArray[np.float64] | None = None,
        n_labels: int = 0,
    ) -> NewFeatures | None:
        """The new names, as far as there is room, and their columns; None if there are none.

        A name without any number in values (B, names) gets no column. A string of a column of ids
        among `n_labels` labels gets none. The index changes by `add` alone. Raises TypeError or
        ValueError if a file cannot hold a new name.
        """
        names = tuple(names)
        known = self.look_up(names)
        self.watch.expect_nothing_new()
        if self._last[2]:
            return None
        new = self._new_names(names)
        if values is not None and self.encoder is not None:
            missing = {names[j] for j in np.flatnonzero(np.isnan(values).all(axis=0))}
            new = [name for name in new if name not in missing]
            if not (new := self.watch.without_ids(new, n_labels)):
                return None
        self.watch.check(new, self.columns)
        room = self.max_features - len(self.columns)
        if len(new) > room:
            happens = "names not learned for longest make room for new ones"
            happens = happens if self.recycles else "new features are ignored"
            self.watch.once("most", f"max_features={self.max_features:,} reached: {happens}.")
            new = new if self.recycles else new[:room]
        end, n_more = self.first_column + len(self), min(len(new), room)
        recycled = self._longest_untouched(len(new) - n_more, known)
        return NewFeatures(new, np.array([*range(end, end + n_more), *recycled], np.int64))

    def add(self, new: NewFeatures) -> None:
        """Give the new names their columns."""
        end = self.first_column + len(self)
        n_more = int(np.count_nonzero(new.columns >= end))
        self.touched = np.pad(self.touched, (0, n_more))
        self.names += new.names[:n_more]
        for name, column in zip(new.names, new.columns.tolist(), strict=True):
            old = self.names[column - self.first_column]
            self.watch.count(name, 1)
            if old != name:
                self.watch.count(old, -1)
                del self.columns[old]
                self.names[column - self.first_column] = name
            self.columns[name] = column
        self._forget()

    def learn(self, names: Iterable[FeatureName]) -> None:
        """Give new names of an example their columns, as far as there is room."""
        names = tuple(names)
        if new := self.new(names):
            self.add(new)
        self.learned(names, 1)

    def _new_names(self, names: tuple[FeatureName, ...]) -> list[FeatureName]:
        """The names that have no column; raises if a file cannot hold one.

        The names are sorted, so neither key order nor hashing decides which column a name gets.
        """
        new = sorted_names(plain(name) for name in names if name not in self.columns)
        check_keys(new, "feature name", OF_NAMES // self.max_features)
        if not all(isinstance(name, str) for name in new):
            check_keys([*self.names, *new], "feature name")
        return new

    def _longest_untouched(self, n: int, known: NDArray[np.int64]) -> list[int]:
        """The columns of the n least recently learned names, except these."""
        touched = self.touched.copy()
        touched[: self.first_column] = touched[known[known >= 0]] = LATEST
        return [int(column) for column in np.argsort(touched, kind="stable")[:n]]

    def touch(self, columns: NDArray[np.int64]) -> None:
        """Record that an example with these columns is learned now; -1 stands for none."""
        self.now += 1
        all_known = columns is self._last[1] and self._last[2]  # the columns looked up last
        self.touched[columns if all_known else columns[columns >= 0]] = self.now

    def n_with(self, names: Iterable[FeatureName]) -> int:
        """The number of columns that would be in use with these names."""
        names = tuple(names)
        self.look_up(names)
        if self._last[2]:
            return len(self.names)
        return min(self.max_features, len(self.names) + len(self._new_names(names)))
