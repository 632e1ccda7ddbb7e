"""A sampler that loses no round or label, and counts none twice, even if it is killed.

Each prediction and each label is a numbered row in SQLite, on the disk before the caller gets the
answer. Now and then the sampler is saved next to the rows, with the number of the last row that it
has processed. After a kill the sampler is loaded and replays the later rows: it decides and learns
bit for bit as before. `examples/service.py` is an HTTP service around it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import filelock
from rows import TABLES, Features, Label, last_number, latest, settle

from river_ineural import active, load, save
from river_ineural.active.budget import combined
from river_ineural.active.pipelines import find_learner
from river_ineural.persistence import SaveError

__all__ = ["Ask", "Conflict", "Journal", "Refused", "Round", "Unknown"]

EVERY = 500  # rows after which the sampler is saved
KEEP = 1_000_000  # least number of rows kept; a retry of an older one would be a new round

log = logging.getLogger("journal")


class Refused(ValueError):
    """The sampler does not accept this x, or does not change this label; nothing has changed."""


class Unknown(LookupError):
    """No round has this id."""


class Conflict(ValueError):
    """This id was used before with another x or another label; nothing has changed."""


@dataclass(frozen=True)
class Round:
    """The prediction and the decision of a round; gap and threshold are None without a value."""

    id: str
    prediction: Label | None
    ask: bool
    reason: str
    gap: float | None
    threshold: float | None


@dataclass(frozen=True)
class Ask:
    """A label that is expected; `number` grows from ask to ask, `at` is in seconds since 1970."""

    number: int
    id: str
    x: Features
    prediction: Label | None
    reason: str
    gap: float | None
    at: float


def check_json(what: str, value: Any) -> None:
    """Raise `Refused` unless an answer can hold the value as JSON."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        text = f"{what} has half of a character, or is a number that is not finite."
        raise Refused(text) from error


class Journal:
    """A sampler in a folder: `model.safetensors`, and the rows in `rows.sqlite`.

    It continues with the sampler in the folder, or starts with `first`. It saves the sampler after
    `every` rows, and then deletes rows older than the last `keep`. With `classes` it refuses all
    other labels. RuntimeError is raised if another process uses the folder, or if the two files do
    not belong together.
    """

    def __init__(
        self,
        folder: Path,
        first: active.BudgetedSampler,
        every: int = EVERY,
        keep: int = KEEP,
        classes: Collection[str] = (),
    ) -> None:
        self.every, self.keep, self.classes = every, keep, classes
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "model.safetensors"
        # The system releases it after a kill, and any thread may close the journal.
        self._folder = filelock.FileLock(folder / "lock", thread_local=False)
        try:
            self._folder.acquire(timeout=0)
        except filelock.Timeout:
            raise RuntimeError(f"another process has {folder}: one serves it at a time.") from None
        self._turn = threading.Lock()
        self._rows = sqlite3.connect(folder / "rows.sqlite", check_same_thread=False)
        self._model: Any = None  # None: to be restored from the file and the rows
        self._saved = self._due = self.n_otherwise = 0
        try:
            self._rows.executescript(TABLES)
            if not self._file.exists():
                if last := last_number(self._rows):
                    raise RuntimeError(
                        f"{self._file} is missing, and {last} rows are there that it has seen: put "
                        "it back, or start with an empty folder."
                    )
                save(first, self._file)
            self._recover()
        except BaseException:
            self.close()
            raise

    @property
    def learner(self) -> Any:
        """The classifier in the sampler."""
        return find_learner(self._model.classifier)[0]

    def predict(self, id: str, x: Features) -> Round:
        """Predict one round; an id that was predicted before gets the same answer."""
        with self._changing() as model:
            told = self._told(id)
            if told is not None:
                before, known = told
                if json.dumps(before, sort_keys=True) != json.dumps(x, sort_keys=True):
                    raise Conflict(f"{id!r} was predicted before, with another x.")
                return known
            for name, value in x.items():
                check_json(f"feature {name!r}", value)
            try:
                text = json.dumps(x)
                of_round = model.decide_one(json.loads(text))  # the x that a replay gets
            except (TypeError, ValueError) as error:
                raise Refused(str(error)) from error
            model.n_rows += 1
            row = (model.n_rows, id, text, json.dumps(of_round.label), of_round.asked)
            given = of_round.gap, of_round.threshold
            numbers = of_round.reason, *(n if math.isfinite(n) else None for n in given)
            self._rows.execute(
                "INSERT INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, *numbers, of_round.query, of_round.asked, time.time()),
            )
            return self._known(id)[1]

    def learn(
        self, id: str, label: Label, source: str | None = None, correct: bool = False
    ) -> Literal["learned", "known", "corrected"]:
        """Learn the label of a round, asked for or not, or correct it; "known": it is learned.

        Another label than before is a `Conflict`, unless `correct` is true or both have the same
        source. A label with the same text as a known label is that label: "1" is 1 if 1 is known,
        and "true" or "True" is True.
        """
        with self._changing() as model:
            self._known(id)
            if isinstance(label, str) and not label.strip():
                raise Refused("the label is empty: skip the round if nobody can give its label.")
            check_json("the label", label)
            if self.classes and str(label) not in self.classes:
                raise Refused(f"the label {label!r} is none of {', '.join(self.classes)}.")
            known = self.learner.known_labels
            same = {str(each).lower(): each for each in known if isinstance(each, bool)}
            same |= {str(each): each for each in known}
            label = same.get(str(label), label)
            _, before, by, _ = latest(self._rows, "id", id)
            if before is None:
                self._settle(model, id, label, source)
                return "learned"
            if before == label:
                return "known"
            if not correct and (source is None or source != by):
                raise Conflict(f'{id!r} has the label {before!r}: "correct": true replaces it.')
            self._settle(model, id, label, source)
            return "corrected"

    def withdraw(self, id: str) -> bool:
        """Take a question back, and its label if it has one; False if it was withdrawn before.

        The budget has the label back. A round that was not asked for and has no label is `Refused`.
        """
        with self._changing() as model:
            self._known(id)
            given = latest(self._rows, "id", id)
            if given.number and given.label is None:
                return False
            self._settle(model, id, None, None)
            return True

    def labelled_by(self, source: str) -> str | None:
        """The id of the round whose label is of this source; None if there is none."""
        with self._turn:
            number = latest(self._rows, "source", source).number
            row = self._rows.execute("SELECT id FROM labels WHERE number = ?", (number,)).fetchone()
            return row[0] if row and latest(self._rows, "id", row[0]).number == number else None

    def _settle(self, model: Any, id: str, label: Label | None, source: str | None) -> None:
        """Let the sampler learn, correct, or withdraw the label None; and write the row."""
        query, x = self._rows.execute("SELECT query, x FROM rounds WHERE id = ?", (id,)).fetchone()
        try:
            text = json.dumps(label)
            before = latest(self._rows, "id", id)
            learned = settle(model, query, json.loads(x), before, json.loads(text))
        except (LookupError, TypeError, ValueError) as error:
            raise Refused(str(error)) from error
        model.n_rows += 1
        row = (model.n_rows, id, text, source, learned, time.time())
        self._rows.execute("INSERT INTO labels VALUES (?, ?, ?, ?, ?, ?)", row)
        self._rows.execute("UPDATE rounds SET waiting = 0 WHERE id = ?", (id,))

    def skip(self, id: str) -> bool:
        """Stop waiting for a label that nobody can give; False if it was not waited for.

        It still counts, and may still arrive.
        """
        with self._changing():
            self._known(id)
            of_round = "WHERE id = ? AND waiting"
            found = self._rows.execute(f"UPDATE rounds SET waiting = 0 {of_round}", (id,))
            return found.rowcount > 0

    def asks(self, after: int = 0, most: int = 100) -> list[Ask]:
        """Expected labels with a number above `after`, the oldest first; `most` at most."""
        with self._turn:
            rows = self._rows.execute(
                "SELECT number, id, x, prediction, reason, gap, at FROM rounds "
                "WHERE waiting AND number > ? ORDER BY number LIMIT ?",
                (after, most),
            ).fetchall()
        return [
            Ask(number, id, json.loads(x), json.loads(prediction), *rest)
            for number, id, x, prediction, *rest in rows
        ]

    def health(self) -> dict[str, Any]:
        """Counts; `n_unsaved` rows are not saved, `n_otherwise` differed in the last replay."""
        with self._changing() as model:
            return {
                "n_rounds": model.n_rounds,
                "n_queries": model.n_queries,
                "n_waiting": self._count("rounds WHERE waiting"),
                "n_labels": self._count(
                    "(SELECT label, max(number) FROM labels GROUP BY id) WHERE label != 'null'"
                ),
                "n_unsaved": model.n_rows - self._saved,
                "n_otherwise": self.n_otherwise,
                "n_drifts": model.n_drifts,
                "accuracy": model.accuracy._asdict() if model.accuracy.n_labels else None,
                "by_reason": dict(model.n_by_reason),
                "budget": repr(combined(model.budget, model.horizon)),
                "allows": str(combined(model.budget, model.horizon)),
            }

    @contextlib.contextmanager
    def reading(self) -> Iterator[tuple[Any, sqlite3.Connection]]:
        """Give the sampler and the rows to one reader at a time, who changes neither."""
        with self._changing() as model:
            yield model, self._rows

    def change_budget(self, budget: active.Budget | float | int | None) -> None:
        """Set a new budget, and no horizon beside it; labels asked for before still count."""
        with self._changing() as model:
            if (repr(budget), None) != (repr(model.budget), model.horizon):  # for 1 == 1.0
                model.budget, model.horizon = budget, None
                self._save()  # so that a replay uses the new budget

    def close(self) -> None:
        """Save the sampler, and release the folder.

        After a failed change nothing is saved; the next start replays the rows.
        """
        with self._turn:
            if self._model is not None and self._model.n_rows > self._saved:
                self._save_if_possible()
            self._rows.close()
            self._folder.release()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Any]:
        """Give the sampler to one caller at a time, and commit its new rows at the end.

        After a failure half-way, the rows are rolled back and the sampler is restored from them.
        """
        with self._turn:
            if self._model is None:
                self._recover()
            try:
                with self._rows:  # commits, or rolls back
                    yield self._model
            except (Refused, Unknown, Conflict):
                raise  # nothing has changed
            except BaseException:
                self._model = None
                raise
            if self._model.n_rows >= self._due:
                self._save_if_possible()

    def _recover(self) -> None:
        """Load the sampler, and replay the rows that it has not processed."""
        model = load(self._file)
        model.n_rows = getattr(model, "n_rows", 0)  # an attribute, which is saved with the model
        for label in find_learner(model.classifier)[0].known_labels:
            if type(label) not in (bool, int, str):
                raise RuntimeError(f"the label {label!r} is no bool, int or str, as JSON has them.")
        last = last_number(self._rows)
        if model.n_rows > last:
            raise RuntimeError(
                f"{self._file} has seen {model.n_rows} rows, and there are {last}: put back the "
                "rows.sqlite that belongs to it."
            )
        rows = self._rows.execute(
            "SELECT number, id, x, prediction, ask, query, NULL FROM rounds WHERE number > :seen "
            "UNION ALL SELECT labels.number, id, x, NULL, NULL, query, label FROM labels "
            "JOIN rounds USING (id) WHERE labels.number > :seen ORDER BY 1",
            {"seen": model.n_rows},
        ).fetchall()
        self._saved, self.n_otherwise = model.n_rows, 0
        for number, id, x, prediction, ask, query, label in rows:
            if number != model.n_rows + 1:
                raise RuntimeError(f"row {model.n_rows + 1} is missing: put back a later model.")
            if label is not None:
                before = latest(self._rows, "id", id, number)
                settle(model, query, json.loads(x), before, json.loads(label))
            else:
                of_round = model.decide_one(json.loads(x))
                said = of_round.label, of_round.asked
                self.n_otherwise += said != (json.loads(prediction), bool(ask))
            model.n_rows = number
        if self.n_otherwise:
            log.warning(
                "%d rounds were decided otherwise than before the kill: another processor, or "
                "another version of a package. What was said then holds; the labels asked for "
                "may be off the budget by so many.",
                self.n_otherwise,
            )
        self._model, self._due = model, self._saved + self.every

    def _save_if_possible(self) -> None:
        """Save the sampler, or try again after `every` rows: the answers are in the rows."""
        try:
            self._save()
        except (OSError, SaveError, sqlite3.Error):
            log.exception("the model could not be saved; it goes on")
            self._due = self._model.n_rows + self.every

    def _save(self) -> None:
        """Save the sampler. All rows that it has processed must be committed."""
        save(self._model, self._file)
        self._saved = self._model.n_rows
        self._due = self._saved + self.every
        with self._rows:
            self._rows.execute("DELETE FROM rounds WHERE number <= ?", (self._saved - self.keep,))

    def _told(self, id: str) -> tuple[Features, Round] | None:
        """The x and the answer of a round; None if no round has the id."""
        check_json(f"the id {id!r}", id)
        row = self._rows.execute(
            "SELECT x, prediction, ask, reason, gap, threshold FROM rounds WHERE id = ?", (id,)
        ).fetchone()
        if row is None:
            return None
        x, prediction, ask, *rest = row
        return json.loads(x), Round(id, json.loads(prediction), bool(ask), *rest)

    def _known(self, id: str) -> tuple[Features, Round]:
        told = self._told(id)
        if told is None:
            raise Unknown(f"no round has the id {id!r}.")
        return told

    def _count(self, rows: str) -> int:
        (n,) = self._rows.execute(f"SELECT count(*) FROM {rows}").fetchone()
        return int(n)
