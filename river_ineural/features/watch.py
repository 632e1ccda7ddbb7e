"""Warnings about the names of features, each of which is said once."""

from __future__ import annotations

import zlib
from collections import Counter, deque
from collections.abc import Collection, Iterable
from typing import Any

from river.base.typing import FeatureName

from river_ineural.features.constants import CLOSEST
from river_ineural.features.encoder import EQUALS, Encoder
from river_ineural.features.validation import warn
from river_ineural.features.values import reads_as_number

LEAST_LABELS = 10  # before that, names are not compared
RUN, LONG_RUN, LONGEST = 20, 100, 1_000  # odd predictions in a row that are told of
OF_KINDS = (
    "have numbers in column {0!r}, which had text in labels, or text where labels had numbers. "
    "Give both the same: pandas makes numbers of codes, unless dtype={{{0!r}: str}} says not to."
)
UNITS = "It counts as constant: give its logarithm, or other units."
ID = 0.9  # share of new strings in a column of ids
LEAST_STRINGS = 10  # of a column, before it is looked whether they read as numbers
FEW_STRINGS, MANY_STRINGS = 12, 100  # of a column, before it can be one of ids, and is told of
MOST_REFUSED = 1_000  # latest strings without a feature that are remembered
REMEDY = (
    "Give predictions and labels the same names. JSON makes strings of all names. A pipeline of "
    "River that has SelectKBest, TargetAgg or another step that learns labels teaches its last "
    "step all features: put it into an active sampler, or put such steps into a TransformerUnion."
)
MANY, RECENT = 5_000, 100  # warn at so many new names within so many labels
FLOOD = (
    f"{MANY:,} new features or more within {RECENT} learned examples, the latest of which is "
    "{!r}. Each of them makes the networks larger. If names hold ids, times or counters, make "
    "these the value of one feature. Bring words without end down to a fixed number, e.g. with "
    "river.preprocessing.FeatureHasher in front."
)
OF_NUMBERS = (
    "the first {n} strings of column {column!r} read as numbers, as {text!r} does, and each is a "
    "category of its own. If it is a quantity, make numbers of them, in river.stream.iter_csv with "
    "converters={{{column!r}: float}}, and None of one that is missing."
)
ALIKE = 100  # labels after which features that do not vary are told of
OF_CONSTANTS = (
    f"no feature has varied in {ALIKE} labels, so all predictions are alike. Look at what comes "
    "before the model: a step may drop the features, as river.compose.SelectType drops other types."
)
OF_ID = (
    "column {column!r} has a new string in {n_new:,} of {n_strings:,} labels, as an id has. Only "
    "its first ones are features. Leave it out, e.g. with river.compose.Discard({column!r}) in "
    "front."
)


class Watch:
    """Compares the names of predictions with those of labels, and counts strings of columns.

    `names` are those learned so far, `latest` those of the latest example. By column, `strings` are
    the labels in which it held a string, and those in which the string was new. `refused` are the
    checksums of strings that got no feature, as of ids: one that comes again is no id, and gets it.
    All else is made anew for a copy and after loading.
    """

    def __init__(
        self,
        encoder: Encoder | None,
        strings: dict[str, list[int]],
        refused: list[int],
        names: Iterable[FeatureName] = (),
        latest: Collection[FeatureName] = (),
    ) -> None:
        self.encoder, self.strings, self.refused = encoder, strings, refused
        self.told: set[str] = set()
        self.n_added, self.recent = 0, deque[int](maxlen=RECENT - 1)  # new names: now, by label
        sources = [*map(self.source, names)]
        self.n_made: Counter[str] = Counter(each for each in sources if each is not None)
        self.n_numbers: Counter[str] = Counter()  # of these, strings that read as numbers
        self.expect_nothing_new()
        self.n_labels = LEAST_LABELS if latest else 0
        self.n_seen = 0  # labels since this was made
        self.n_meanwhile = 0  # labels during a run of odd predictions, with all that these lack
        self.common: set[FeatureName] | None = None  # names that all labels have; None: no label
        self.names: tuple[FeatureName, ...] | None = None  # of the latest label
        if latest:
            self.learned(tuple(latest), 0)
        self.run, self.lacked = 0, set[FeatureName]()  # odd predictions in a row; what all lack

    def source(self, name: FeatureName) -> str | None:
        """The column whose strings or missing values this feature stands for; None if it is one."""
        return self.encoder.source(name) if self.encoder else None

    def expect_nothing_new(self) -> None:
        """The next labels bring no string that is new, until `without_ids` says so."""
        self.n_new: Counter[str] = Counter()  # by column
        self.left_out: dict[FeatureName, None] = {}  # without a feature, in their order

    def once(self, what: str, text: str) -> None:
        """Warn unless `what` was told of before."""
        if what not in self.told:
            self.told.add(what)
            warn(text)

    def learned(self, names: tuple[FeatureName, ...], n: int) -> None:
        """Note the names of n examples with given labels."""
        self.n_labels += n
        self.n_seen += n
        self.n_meanwhile += n
        self.recent.append(self.n_added if self.common is not None else 0)
        self.n_added = 0
        if self.encoder and n:
            sources = map(self.source, names)
            for column in dict.fromkeys(each for each in sources if each is not None):
                so_far = self.strings.setdefault(column, [0, 0])
                so_far[:] = so_far[0] + n, so_far[1] + self.n_new[column]
            self.refused += map(checksum, self.left_out)
            del self.refused[:-MOST_REFUSED]
        if names != self.names:
            self.names = names
            given = [n for n in names if self.source(n) is None] if self.encoder else names
            self.common = {*given} if self.common is None else self.common.intersection(given)

    def small(self, names: tuple[FeatureName, ...], small: Any) -> None:
        """Warn of the first of names whose values are all too small to tell apart, (names,)."""
        if small.any() and self.n_labels >= LEAST_LABELS:
            name = names[int(small.argmax())]
            self.once("small", f"feature {name!r} varies by less than {CLOSEST:g}. {UNITS}")

    def changed(
        self, names: tuple[FeatureName, ...], columns: dict[FeatureName, int]
    ) -> set[FeatureName]:
        """Columns of numbers that were text in all labels, or of text that were numbers."""
        changed = set[FeatureName]()
        for name in names if self.encoder else ():
            if name not in columns:
                column = self.source(name)  # of text
                if column is None and self.n_made[str(name)]:
                    changed.add(name)
                elif column in columns and not self.n_made[str(column)]:
                    changed.add(column)
        return changed

    def lacks(
        self, names: tuple[FeatureName, ...], columns: dict[FeatureName, int]
    ) -> set[FeatureName] | None:
        """The names that all labels have and that are not among these, and `changed` columns.

        None if less than a half of all names are in all labels, as where examples hold words.
        """
        common, changed = self.common or set(), self.changed(names, columns)
        if 2 * len(common) <= len(columns) - self.n_made.total():
            return changed or None
        return common.difference(names) | changed

    def odd(self, names: tuple[FeatureName, ...], columns: dict[FeatureName, int]) -> bool:
        """Whether a prediction lacks what labels have, or where names vary, has nothing of it."""
        if self.n_labels < LEAST_LABELS or "odd" in self.told:
            return False
        lacked = self.lacks(names, columns)
        strange = bool(names) and columns.keys().isdisjoint(names)
        return strange if lacked is None else bool(lacked)

    def predicted(
        self, names: tuple[FeatureName, ...], odd: bool, n: int, columns: dict[FeatureName, int]
    ) -> None:
        """Count n predictions of these names, and warn where a run of odd ones is long.

        All of a run lack the same names, which values that are missing at random do not. Where they
        lack a third of the names or less, and have no others, a run is longer, or labels that have
        them must come meanwhile: where a source fails, its values are missing in labels as well.
        """
        lacked = (self.lacks(names, columns) or set()) if odd else set()
        same = self.lacked & lacked
        if not odd or (lacked and not same):
            self.run, self.n_meanwhile, same = 0, 0, lacked
        self.run, self.lacked = self.run + n * odd, same
        many = 3 * len(same) > len(self.common or ())
        changed = same & self.changed(names, columns)
        others = [name for name in names if name not in columns and self.source(name) is None]
        enough = many or not lacked or changed or others or self.n_meanwhile >= LEAST_LABELS
        least = RUN if many else LONG_RUN if enough else LONGEST
        sure = enough or self.n_seen >= LEAST_LABELS  # that all labels have what is lacking
        if not (odd and columns and sure) or self.run < least:
            return
        if changed:
            of_kinds = OF_KINDS.format(min(changed, key=repr))
            self.once("odd", f"{self.run} predictions in a row {of_kinds}")
        else:
            had = [repr(name) for name in columns if name in (same or columns)]
            example = " and ".join(had[:2])
            if others:
                example = f"{had[0]}, and have others, such as {others[0]!r}"
            whose = "all" if lacked else "some"
            self.once(
                "odd",
                f"{self.run} predictions in a row lack features that {whose} labels had, such as "
                f"{example}. {REMEDY}",
            )

    def check(self, new: list[FeatureName], columns: dict[FeatureName, int]) -> None:
        """Warn of too many new names, or of one that reads like a known one, as 1 and "1" do."""
        self.numbers(new)
        if columns and sum(self.recent) + len(new) >= MANY:  # a wide table has all at the start
            self.once("flood", FLOOD.format(new[-1]))
        for name in new:
            other: Any = str(name) if type(name) is int else name
            if other is name and isinstance(name, str) and name.isdecimal() and len(name) < 300:
                other = int(name)
            if other is not name and other in columns:
                self.once("alike", f"{other!r} and {name!r} are two features. {REMEDY}")

    def numbers(self, new: list[FeatureName]) -> None:
        """Warn of a column whose first strings, with these new names, read as numbers."""
        texts: dict[str, list[str]] = {}
        for name in new:
            if (column := self.source(name)) is not None:
                texts.setdefault(column, []).append(text_of(name, column))
        for column, more in texts.items():
            n = self.n_made[column]
            due = n == self.n_numbers[column] < LEAST_STRINGS <= n + len(more)
            if due and all(map(reads_as_number, more)):
                said = OF_NUMBERS.format(n=n + len(more), column=column, text=more[-1])
                self.once(f"numbers {column}", said)

    def without_ids(self, new: list[FeatureName], n: int) -> list[FeatureName]:
        """These new names of n labels, but of a column of ids only its first strings."""
        refused = {*self.refused}
        again = {name for name in new if refused and checksum(name) in refused}
        sources = ((name, self.source(name)) for name in new)
        of_column = {name: column for name, column in sources if column is not None}
        self.n_new = Counter(each for name, each in of_column.items() if name not in again)
        room = dict.fromkeys(of_column.values(), len(new))
        for column, more in self.n_new.items():
            n_strings, n_new = self.strings.get(column, (0, 0))
            n_strings, n_new = n_strings + n, n_new + more
            if n_new > FEW_STRINGS and n_new >= ID * n_strings:
                room[column] = FEW_STRINGS - self.n_made[column]
                if n_new >= MANY_STRINGS and f"numbers {column}" not in self.told:
                    text = OF_ID.format(column=column, n_new=n_new, n_strings=n_strings)
                    self.once(f"id {column}", text)
        for name, column in of_column.items():
            if room[column] <= 0 and name not in again:
                self.left_out[name] = None
            room[column] -= 1
        return [name for name in new if name not in self.left_out]

    def count(self, name: FeatureName, by: int) -> None:
        """Count a name that gets a column, or loses it."""
        self.n_added += by > 0
        if (column := self.source(name)) is not None:
            self.n_made[column] += by
            self.n_numbers[column] += by * reads_as_number(text_of(name, column))
            if not self.n_made[column]:  # so that there are no more of them than features
                self.strings.pop(column, None)


def checksum(name: FeatureName) -> int:
    """A number that stands for a name, which may be long."""
    return zlib.crc32(str(name).encode(errors="surrogatepass"))


def text_of(name: FeatureName, column: str) -> str:
    """The string of a column that a feature of this name stands for."""
    return str(name)[len(column) + len(EQUALS) :]
