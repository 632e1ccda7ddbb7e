"""The rows of `journal.py`, and what a row of a label does to the sampler."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple

from river_ineural.active.pipelines import find_learner

__all__ = ["TABLES", "Features", "Label", "Latest", "labels_of", "last_number", "latest", "settle"]

Label = bool | int | str
Features = dict[str, Any]

TABLES = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
CREATE TABLE IF NOT EXISTS rounds (
    number INTEGER PRIMARY KEY, -- rounds and labels are counted together
    id TEXT NOT NULL UNIQUE,
    x TEXT NOT NULL,
    prediction TEXT NOT NULL,
    ask INTEGER NOT NULL,
    reason TEXT NOT NULL,
    gap REAL,
    threshold REAL,
    query INTEGER, -- the name of its question; NULL if it was not asked for
    waiting INTEGER NOT NULL, -- asked for, and neither answered nor skipped
    at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS asks ON rounds (number) WHERE waiting;
CREATE TABLE IF NOT EXISTS labels (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL REFERENCES rounds (id) ON DELETE CASCADE, -- its latest label holds
    label TEXT NOT NULL, -- or 'null' if it was withdrawn
    source TEXT, -- who gave it
    learned INTEGER NOT NULL, -- its number among the labels of the learner; 0 if it is an answer
    at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS ids ON labels (id, number);
CREATE INDEX IF NOT EXISTS sources ON labels (source, number);
"""


class Latest(NamedTuple):
    """A row of a label: its number, the label (None: withdrawn), who gave it, and `learned`."""

    number: int = 0
    label: Label | None = None
    source: str | None = None
    learned: int = 0


def latest(rows: sqlite3.Connection, key: str, value: str, before: int = 2**62) -> Latest:
    """The latest label of an id or a source, before a number; its number is 0 if there is none."""
    row = rows.execute(
        f"SELECT number, label, source, learned FROM labels WHERE {key} = ? AND number < ? "
        "ORDER BY number DESC LIMIT 1",
        (value, before),
    ).fetchone()
    return Latest(row[0], json.loads(row[1]), *row[2:]) if row else Latest()


def last_number(rows: sqlite3.Connection) -> int:
    """Number of the last row; 0 if there is none."""
    (last,) = rows.execute(
        "SELECT max(number) FROM (SELECT number FROM rounds UNION ALL SELECT number FROM labels)"
    ).fetchone()
    return last or 0


def labels_of(rows: sqlite3.Connection) -> dict[str, Label]:
    """The label that holds of each id that has one."""
    newest = rows.execute("SELECT id, label, max(number) FROM labels GROUP BY id")
    found = {id: json.loads(label) for id, label, _ in newest}
    return {id: label for id, label in found.items() if label is not None}


def settle(model: Any, query: int | None, x: Features, latest: Latest, label: Label | None) -> int:
    """Let a sampler learn the label of a round, or correct it, or withdraw it if it is None.

    A label answers its question, and 0 is returned. It answers none if it was not asked for, was
    withdrawn before, or comes so late that the sampler no longer has the question. Its number among
    the labels of the learner is then returned, by which it is corrected later; 0 if the learner has
    as many classes as it takes, and so ignores it. Such a label is learned once it is corrected.
    """
    number, before, _, learned = latest
    learner = find_learner(model.classifier)[0]
    if before is not None and label is not None and before not in learner.known_labels:
        query = before = None
    if learned and before is not None:
        learner.correct_one(learned, label)
        return learned
    if query is None and (label is None or before is not None):
        raise LookupError("This label was not asked for, so that it stays.")
    waits = not number and any(query == each.query for each in model.queries())
    if label is None:
        model.withdraw(query)
    elif waits or before is not None:
        model.answer(query, label)
    else:
        n_before = learner.n_labels
        model.learn_one(x, label, asked=False)
        return learner.n_labels if learner.n_labels == n_before + 1 else 0
    return 0
