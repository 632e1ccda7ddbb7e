"""A page to label on, and a CSV file that the service predicts row by row.

`GET /` of `examples/service.py` is `labelling.html`, which shows one question at a time. With

    python examples/service.py --csv rows.csv --classes yes no

the service predicts the rows of the file in random order until the sampler asks for a label, and
goes on when that question is settled. `GET /rows.csv` returns every row with its label.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import threading
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response
from journal import Ask, Journal
from rows import Features, Label, labels_of

from river_ineural import INeurAL, active
from river_ineural.active.budget import combined
from river_ineural.active.pipelines import find_learner
from river_ineural.compare.giveaways import giveaways
from river_ineural.compare.reading import (
    Table,
    examples_of,
    feature_of,
    read_cells,
    read_features,
)
from river_ineural.compare.times import column_of
from river_ineural.inspection.words import MEANING

__all__ = [
    "LABELS",
    "Rows",
    "check_classes",
    "of_service",
    "page",
    "router",
    "sampler_for",
    "used_up",
]

LABELS = 100  # of a file, unless --budget says another number
FEW = 10  # labels below which the page shows no accuracy
ENOUGH = 20  # labels that show whether a column gives them away
AT_ONCE = 200  # rows predicted in one request; the page then shows how far it is
ADDED = "label", "probability", "said_by"  # columns of /rows.csv after those of the file
ADVICE = {  # what stands in the place of options of `compare`
    r"guessed --": "guessed ",
    r"--separator .* belong in quotes; .*\)$": "cells that have a separator belong in quotes)",
    r": say --date-format, as .*": ": write 2024-12-31",
    r": say --decimal, .*": ": write numbers as 1234.5, or leave the column out by --drop",
}
PAGE = Path(__file__).with_name("labelling.html")
# The page loads nothing, and sends to this service alone.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


class Rows:
    """The rows of a CSV file: their cells as written, and the examples that the sampler gets.

    The columns in `drop` are not learned from. ValueError is raised if the file has no rows, no
    column to learn from, no column of a name in `drop`, or a column whose name `/rows.csv` adds.
    """

    def __init__(self, path: Path, drop: Sequence[str] = (), classes: Collection[str] = ()) -> None:
        self.cells, notes = read_cells(path, as_written=True)
        if taken := [name for name in ADDED if name in self.cells]:
            raise ValueError(
                f"{path.name} has a column {taken[0]!r}, which /rows.csv adds: rename it"
            )
        if strange := [name for name in drop if name not in self.cells]:
            there = f"there are {list(self.cells)}"
            raise ValueError(f"--drop: no column {strange[0]!r} in {path.name}: {there}")
        cells = read_cells(path)[0].drop(columns=[*drop])
        self.features, of_columns = read_features(cells, path.name)
        marks = self.cells.attrs  # of the file, with which it is given back
        self.header = [*(marks["names"][name] for name in self.cells), *ADDED]
        self.separator, self.decimal = marks["sep"] or ",", marks["decimal"] or "."
        self.notes = [*notes, *of_columns, f"learns from: {', '.join(map(str, self.features))}"]
        learned = {column_of(name) for name in self.features}
        of_learned = self.cells[[name for name in cells if feature_of(name) in learned]]
        self.notes += suspicions(of_learned, {*classes})
        # What a folder belongs to: answers are kept by the number of their row.
        text = self.cells.to_csv(index=False) + "".join(f"\n--drop {name}" for name in sorted(drop))
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.file = f"{path.name.partition('.')[0]}-labelled.csv"  # its name where it is downloaded
        self.examples = list(examples_of(self.features))
        self.numbers = {name_of(i): i for i in range(len(self))}
        self.order = np.random.default_rng(1).permutation(len(self)).tolist()
        self.n_predicted = 0
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self.cells)

    def shown(self, id: str) -> Features | None:
        """The cells of a row, as people see them; None if the id is of no row of the file."""
        if id not in self.numbers:
            return None
        cells = zip(self.cells, self.header, self.cells.iloc[self.numbers[id]], strict=False)
        return {name: cell for name, written, cell in cells if written or cell}

    def resume(self, journal: Journal) -> None:
        """Go on after the rows that were predicted before a new start.

        ValueError is raised if the folder of the journal is not of these rows.
        """
        with journal.reading() as (model, rows):
            if getattr(model, "of_rows", "") != self.digest:
                raise ValueError(
                    "this folder has answers for other rows, or another --drop, and keeps them by "
                    "the number of the row: put back the file, or begin anew in another --folder"
                )
            known = {id for (id,) in rows.execute("SELECT id FROM rounds")}
        new = (n for n, i in enumerate(self.order) if name_of(i) not in known)
        self.n_predicted = next(new, len(self))

    def go_on(self, journal: Journal) -> bool:
        """Predict rows until a label is asked for; False if there may be more to ask for.

        Once the labels are used up, the other rows wait: a larger budget may ask for them.
        """
        with self._turn:
            with journal.reading() as (model, _):
                if used_up(model):
                    return True
            for i in itertools.islice(self.order, self.n_predicted, self.n_predicted + AT_ONCE):
                asked = journal.predict(name_of(i), self.examples[i]).ask
                self.n_predicted += 1
                if asked and journal.asks(most=1):
                    return True
            return self.n_predicted == len(self)

    def giveaways(self, journal: Journal) -> list[str]:
        """A note for each column that alone tells nearly all labels that people gave."""
        with journal.reading() as (_, rows):
            known = labels_of(rows)
        numbers = [self.numbers[id] for id in known if id in self.numbers]
        labels = tuple(str(known[name_of(i)]) for i in numbers)
        if len(labels) < ENOUGH or len({*labels}) < 2:
            return []
        return [
            *giveaways(Table(self.features.iloc[numbers].reset_index(drop=True), labels, None, ()))
        ]

    def labelled(self, journal: Journal) -> pd.DataFrame:
        """All rows in the order of the file, with label, probability, and who said the label.

        The label is that of a person, else the most probable one for the model as it is now. The
        probability is the one that the model gives to it. All are empty before the first answer.
        """
        with journal.reading() as (model, rows):
            known = labels_of(rows)
            predicted = model.classifier.predict_proba_one if known else lambda x: {}
            added = [said(predicted(x), known.get(name_of(i))) for i, x in enumerate(self.examples)]
        table = self.cells.assign(**dict(zip(ADDED, zip(*added, strict=True), strict=True)))
        table["probability"] = table["probability"].str.replace(".", self.decimal)
        return table


def name_of(row: int) -> str:
    """The id of a row, whose number is counted from 0 here, and from 1 in the id."""
    return f"row {row + 1}"


def said(probabilities: dict[Any, float], label: Label | None) -> tuple[str, str, str]:
    """Label, probability and who said it; no text before the model knows a label."""
    by = "model" if label is None else "person"
    if label is None:
        label = max(probabilities, key=probabilities.__getitem__, default=None)
    if label is None:
        return "", "", ""
    p = probabilities.get(label)
    return str(label), "" if p is None else f"{p:.3f}", by


def of_service(text: str) -> str:
    """What `compare` says of a file, without its options."""
    for said, instead in ADVICE.items():
        text = re.sub(said, instead, text)
    return text


def suspicions(cells: pd.DataFrame, classes: Collection[str]) -> list[str]:
    """What to say of columns that people may not want to be learned from."""
    answers, ids = [], []
    for name, column in cells.items():
        there = {*column} - {""}
        if len(there) > 1 and there <= {*classes}:
            answers.append(name)
        elif len(column) > FEW and column.is_unique and column.str.fullmatch("[0-9]+").all():
            ids.append(name)
    said = (
        (answers, "with values that are classes (--drop leaves out the one that is the answer)"),
        (ids, "with another whole number in each row (--drop leaves out ids)"),
    )
    return [f"{what}: {', '.join(map(str, names))}" for names, what in said if names]


def sampler_for(
    rows: Rows, classes: Iterable[str], budget: float | int | None
) -> active.INeurALSampler:
    """A new sampler for a file; a budget of None is `LABELS` labels.

    Rows come in random order. So the labels are spent on one half of them, or on more where there
    are more labels, and the other rows wait for a larger budget.
    """
    n, limit = len(rows), LABELS if budget is None else budget
    total = min(n, active.Budget(limit, n).total or 0)
    if not total:
        raise ValueError(f"--budget {limit} of {n:,} rows is no label: write 100 for so many")
    allowed = active.Budget(total, max(total, n // 2))
    classifier = INeurAL(categories=True, missing=True, classes=tuple(classes) or None, seed=1)
    sampler = active.INeurALSampler(classifier, budget=allowed, seed=1)
    sampler.of_rows = rows.digest  # type: ignore[attr-defined]  # saved with the model
    return sampler


def check_classes(named: Iterable[str], known: Iterable[Any]) -> None:
    """Raise ValueError if a model is started again without a class that it knows."""
    wanted, there = {*named}, {*map(str, known)}
    if wanted and (missing := sorted(there - wanted)):
        raise ValueError(
            f"--classes leaves out {', '.join(missing)}, which the model knows from its first "
            "start or from a label: name it too; another --folder begins anew"
        )


def used_up(model: active.BudgetedSampler) -> bool:
    """Whether all labels of a total were asked for."""
    total = combined(model.budget, model.horizon).total
    return total is not None and model.n_queries >= total


def labels_left(model: active.BudgetedSampler) -> int | None:
    """Labels that may be asked for now; None without a limit."""
    budget, decision = combined(model.budget, model.horizon), model.last_decision
    if budget.total is not None:
        return max(0, budget.total - model.n_queries)
    left = budget.bucket if decision is None else decision.budget_left
    return None if left in (None, math.inf) else int(left)


def accuracy_of(model: active.BudgetedSampler) -> dict[str, float] | None:
    """The estimated accuracy with its interval; None where the sampler has none, or few labels."""
    estimate = getattr(model, "accuracy", None)
    if getattr(estimate, "n_labels", 0) < FEW:
        return None
    found = {name: getattr(estimate, name, math.nan) for name in ("value", "low", "high")}
    return None if any(map(math.isnan, found.values())) else found


def question(ask: Ask, rows: Rows | None, suggests: bool) -> dict[str, Any]:
    """A question as the page shows it, with the prediction if the model `suggests` something."""
    why = MEANING[ask.reason].removeprefix("asked: ")  # type: ignore[index]
    shown = rows.shown(ask.id) if rows else None
    return {
        "id": ask.id,
        "x": shown or ask.x,
        "why": why,
        "suggestion": ask.prediction if suggests else None,
    }


def page() -> HTMLResponse:
    """The page itself, which holds no data."""
    return HTMLResponse(PAGE.read_text(), headers={"Content-Security-Policy": POLICY})


def router(journal: Journal, rows: Rows | None = None, classes: Iterable[str] = ()) -> APIRouter:
    """The HTTP paths of the page, but for those that any client uses.

    With `classes` the page offers these, and no others.
    """
    paths, named = APIRouter(), [*classes]

    if rows is not None:
        rows.resume(journal)

    @paths.post("/next")
    def next() -> dict[str, Any]:
        """The next question. If it is null, send again until `done`: there are no more.

        `done` is true once all labels are used or all rows are predicted.
        """
        waiting = journal.asks(most=1)
        over = True
        if rows is not None and not waiting:
            over = rows.go_on(journal)
            waiting = journal.asks(most=1)
        done = over and not waiting
        with journal.reading() as (model, _):
            learner = find_learner(model.classifier)[0]
            told = {
                "classes": named or [*learner.known_labels],
                "spent": model.n_queries,
                "left": labels_left(model),
                "accuracy": accuracy_of(model),
            }
        return {
            **told,
            "question": question(waiting[0], rows, learner.n_labels > 0) if waiting else None,
            "named": bool(named),
            "done": done,
            "notes": rows.giveaways(journal) if rows and done else [],
            "predicted": None if rows is None else rows.n_predicted,
            "rows": None if rows is None else len(rows),
            "file": None if rows is None else rows.file,
        }

    @paths.get("/rows.csv")
    def table() -> Response:
        """The rows of the file, each with its label, its probability, and who said it."""
        if rows is None:
            raise HTTPException(404, "there is no file: start the service with --csv rows.csv")
        text = rows.labelled(journal).to_csv(index=False, header=rows.header, sep=rows.separator)
        name = {"Content-Disposition": f'attachment; filename="{quote(rows.file)}"'}
        return Response(text, media_type="text/csv", headers=name)

    return paths
