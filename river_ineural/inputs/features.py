"""Convert feature dicts to vectors; the order of keys never matters."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river.base.typing import FeatureName

from river_ineural.inputs.encoder import EQUALS, Encoder
from river_ineural.inputs.keys import check_keys
from river_ineural.inputs.values import LARGEST, checked
from river_ineural.network.growth import Columns

__all__ = ["REAL", "Checked", "FeatureIndex"]

REAL = frozenset((float, int, bool, np.bool_, *(np.dtype(code).type for code in "bhilqBHILQefd")))
LATEST = np.iinfo(np.int64).max
MANY, WITHIN = 5_000, 100  # warn at so many new names within so many learned examples
WARNING = (
    f"{MANY:,} new features or more within {WITHIN} learned examples, the latest of which is "
    "{!r}. Each of them makes the networks larger. If names hold ids, times or counters, make "
    "these the value of one feature. Leave a category out that is another in each row, e.g. with "
    "river.compose.Discard. Bring words without end down to a fixed number, e.g. with "
    "river.preprocessing.FeatureHasher in front."
)


def sorted_names(names: Iterable[FeatureName]) -> list[FeatureName]:
    """Sort the names as text, or, if not all are text, by type name and `repr`."""
    names = list(names)
    if all(isinstance(name, str) for name in names):
        return sorted(names)  # type: ignore[type-var]
    return sorted(names, key=lambda name: (type(name).__name__, repr(name)))


class Checked(dict[FeatureName, Any]):
    """A copy of an example that has been checked, with its values as an array.

    It must not be changed, because it is not checked again.
    """

    __slots__ = ("array",)

    def __init__(self, x: Mapping[FeatureName, Any], array: NDArray[np.float64]) -> None:
        super().__init__(x)
        self.array = array


class Flood(NamedTuple):
    """Counts of recent new names; 5,000 within 100 learned examples are a flood.

    The counts are not saved in files or pickles: a loaded model starts from 0.
    """

    recent: tuple[tuple[int, int], ...] = ()  # (examples learned before, new names)
    told: bool = False  # whether a flood has occurred: one warning is enough

    def after(
        self, now: int, new: Sequence[FeatureName], first: bool, encoder: Encoder | None
    ) -> Flood:
        """The counts after an example with `new` names; `now` examples were learned before it.

        In the first example only categories count: a wide table has all its columns at the start.
        """
        if self.told:
            return self
        n = len(new)
        if first:
            made = encoder is not None and encoder.categories
            n = sum(made and EQUALS in str(name) for name in new)
        recent = (*(each for each in self.recent if each[0] > now - WITHIN), (now, n))
        return Flood(recent, sum(count for _, count in recent) >= MANY)


class FeatureIndex:
    """The columns of the features seen so far, at most `max_features`.

    Columns before `first_column` are reserved. Beyond the cap, new names are ignored; with
    `recycles` they replace the least recently learned names. `encoder` encodes non-numbers.
    """

    _scatter: ClassVar[Any]
    _within: ClassVar[Any]

    @classmethod
    def _load(cls) -> None:
        """Import Numba with the first model, and not with the package."""
        from river_ineural.inputs import loops

        cls._scatter, cls._within = staticmethod(loops.scatter), staticmethod(loops.within)

    def __init__(
        self,
        max_features: int,
        first_column: int = 0,
        recycles: bool = False,
        encoder: Encoder | None = None,
    ) -> None:
        self._load()
        self.encoder = encoder
        self.max_features = max_features
        self.first_column = first_column
        self.recycles = recycles
        self.columns: dict[FeatureName, int] = {}
        self.names: list[FeatureName] = []  # in column order
        self.touched = np.zeros(first_column, np.int64)  # example count at its last learning
        self.now = 0
        self._warned = False
        self._flood = Flood()
        self._forget_last()

    def _forget_last(self) -> None:
        self._keys: tuple[FeatureName, ...] | None = None  # names of the last x; None: no cache
        self.found = np.empty(0, np.int64)  # columns of these names, -1 where there is none
        self.known = self.found  # of these, the columns; fewer if a name is new

    def __len__(self) -> int:
        """The number of columns in use, from `first_column` on."""
        return len(self.names)

    def __getstate__(self) -> dict[str, Any]:
        cached = ("columns", "_keys", "found", "known", "_flood")
        return {name: part for name, part in self.__dict__.items() if name not in cached}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._load()
        self.__dict__.update(state, touched=state["touched"].copy(), _flood=Flood())
        self.columns = {name: self.first_column + i for i, name in enumerate(self.names)}
        self._forget_last()

    def name(self, column: int) -> FeatureName:
        """The name of the feature in a column."""
        return self.names[column - self.first_column]

    def _look_up(self, names: Iterable[FeatureName]) -> tuple[FeatureName, ...]:
        """Return the names as a tuple, and cache their columns: a stream repeats its names."""
        keys = tuple(names)
        if keys != self._keys:
            self._keys = None  # an interrupt before the last line must not leave wrong columns
            self.found = np.array([self.columns.get(name, -1) for name in keys], np.int64)
            self.known = self.found[self.found >= 0]
            self._keys = keys
        return keys

    def read(
        self, x: Mapping[FeatureName, Any]
    ) -> tuple[Mapping[FeatureName, Any], NDArray[np.float64]]:
        """The names of an example and their checked values, encoded if there is an encoder.

        Takes and raises the same as `values`. A feature with an encoded value becomes NaN, and is
        returned only if it has a column.
        """
        if self.encoder is None or not isinstance(x, Mapping) or type(x) is Checked:
            return x, self.values(x)
        numbers, made = self.encoder.split(x)
        values = self.values(numbers)
        if not made:
            return numbers, values
        made = {name: one for name, one in made.items() if one == one or name in self.columns}
        names = numbers | made
        self.check(names)
        return names, np.concatenate([values, list(made.values())])

    def values(self, x: Mapping[FeatureName, Any]) -> NDArray[np.float64]:
        """The values of `x` in its own key order, float64 (len(x),).

        Raises TypeError or ValueError unless x holds at most `max_features` finite numbers, each at
        most 1e15 in magnitude. The error names the feature.
        """
        if type(x) is Checked:
            return x.array
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features, got {type(x).__name__}.")
        self.check(x)
        given = x.values()
        try:
            # The type of the sum shows, in one pass in C, whether all values are Python's numbers.
            # NumPy scalars are recognised by their types, because sums of narrow ones overflow.
            python = type(next(iter(given), 0.0)) is float and type(sum(given, 0.0)) is float
            if python or REAL.issuperset(map(type, given)):
                buffer = bytearray(8 * len(x))
                struct.pack_into(f"{len(x)}d", buffer, 0, *given)  # takes 1/3 of fromiter's time
                values = np.frombuffer(buffer)
                if self._within(values, LARGEST):
                    return values
        except (TypeError, ValueError, OverflowError, RuntimeWarning, struct.error):
            pass
        return np.array([checked(name, value) for name, value in x.items()])

    def check(self, names: Collection[FeatureName]) -> None:
        """Raise ValueError if there are more than `max_features` names."""
        if len(names) > self.max_features:
            raise ValueError(
                f"x has {len(names):,} features, more than max_features={self.max_features:,}: "
                "raise max_features or select features first."
            )

    def place(
        self,
        names: Iterable[FeatureName],
        values: NDArray[np.float64],
        reference: NDArray[np.float64],
        absent: NDArray[np.floating[Any]],
    ) -> NDArray[np.floating[Any]]:
        """Put values (B, len(names)) minus `reference` (d,) into columns; skip unknown names.

        Returns (B, d) in the dtype of `absent` (d,), the values of absent features.
        """
        self._look_up(names)
        placed = np.empty((len(values), len(absent)), absent.dtype)
        placed[:] = absent
        self._scatter(values, self.found, reference, placed)
        return placed

    def grown(self, names: Iterable[FeatureName]) -> tuple[FeatureIndex, Columns]:
        """An index with columns for the new names, in sorted order, and those columns.

        This index stays as it is; it is returned if no name is new. Raises TypeError or ValueError
        if a file cannot hold a new name.
        """
        names, end = tuple(names), self.first_column + len(self)
        keys = names and self._look_up(names)  # without names, the last ones stay looked up
        if len(self.known) == len(self.found) or not keys:
            return self, slice(end, end)
        new = self._new_names(keys)
        room = self.max_features - len(self.columns)
        if len(new) > room:
            self._warn()
            new = new if self.recycles else new[:room]
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _flood=self._flooded(new))
        other._forget_last()
        other.columns, other.names = dict(self.columns), list(self.names)
        recycled = self._longest_untouched(max(0, len(new) - room))
        n_more = len(new) - len(recycled)
        into = [*range(end, end + n_more), *recycled]
        other.names += new[:n_more]
        other.touched = np.pad(self.touched, (0, n_more))
        for column, name in zip(recycled, new[n_more:], strict=True):
            del other.columns[self.name(column)]
            other.names[column - self.first_column] = name
        other.columns |= dict(zip(new, into, strict=True))
        return other, np.array(into) if recycled else slice(end, end + n_more)

    def _new_names(self, keys: tuple[FeatureName, ...]) -> list[FeatureName]:
        """The names just looked up that have no column; raises if a file cannot hold one.

        The names are sorted, so neither key order nor hashing decides which column a name gets.
        """
        new = sorted_names(name for name in keys if name not in self.columns)
        check_keys(new, "feature name")
        if not all(isinstance(name, str) for name in new):
            check_keys([*self.names, *new], "feature name")
        return new

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            recycled = "names not learned for longest make room for new ones"
            happens = recycled if self.recycles else "new features are ignored"
            warnings.warn(f"max_features={self.max_features:,} reached: {happens}.", stacklevel=7)

    def _flooded(self, new: list[FeatureName]) -> Flood:
        """The counts with these new names; warns if there are too many."""
        flood = self._flood.after(self.now, new, not self.names, self.encoder)
        if flood.told and not self._flood.told:
            self._flood = flood
            warnings.warn(WARNING.format(new[-1]), stacklevel=7)
        return flood

    def _longest_untouched(self, n: int) -> list[int]:
        """The columns of the n least recently learned names, except those just looked up."""
        touched = self.touched.copy()
        touched[: self.first_column] = touched[self.known] = LATEST
        return [int(column) for column in np.argsort(touched, kind="stable")[:n]]

    def touch(self) -> None:
        """Record that an example with the names placed last is learned now."""
        self.now += 1
        self.touched[self.known] = self.now

    def n_with(self, names: Iterable[FeatureName]) -> int:
        """The number of columns that would be in use with these names."""
        keys = self._look_up(names)
        if len(self.known) == len(self.found):
            return len(self)
        return min(self.max_features, len(self.names) + len(self._new_names(keys)))
