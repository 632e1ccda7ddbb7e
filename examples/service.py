"""A prediction service that asks for labels: FastAPI around the crash-safe `journal.py`.

    python examples/service.py --folder data --budget 0.05

and in another terminal

    curl localhost:8000/predictions -H 'Content-Type: application/json' \\
        -d '{"id": "order 17", "x": {"age": 31, "amount": 12.5}}'
    curl localhost:8000/asks
    curl localhost:8000/labels -H 'Content-Type: application/json' \\
        -d '{"id": "order 17", "label": "good"}'
    curl localhost:8000/health

http://localhost:8000/ is a page to label on; `labelling.py` has a start from a CSV file.

The client chooses the ids. A request that is sent again gets the same answer, and counts once. The
app needs `pip install -e ".[service]"` in a checkout. docs/in-production.md lists the guarantees.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import secrets
import socket
import sqlite3
import sys
import warnings
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import label_studio
import labelling
import torch
import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from journal import EVERY, Ask, Conflict, Journal, Refused, Round, Unknown
from label_studio import After, Most
from pydantic import BaseModel, BeforeValidator, Field
from rows import Label
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import river_ineural
from river_ineural import INeurAL, active
from river_ineural.datasets import KnownPosterior
from river_ineural.persistence import SaveError

ANSWERS = {Refused: 422, Unknown: 404, Conflict: 409}
OPTIONS = {  # what stands in the place of advice for Python
    "INeurAL(categories=True)": "a service takes text if it was first started with --categories",
    "INeurAL(missing=True)": "a service takes null if it was first started with --missing",
}
LONGEST = 200  # maximum characters of an id, a name or a label
MOST_CONNECTIONS = 200  # more connections get the status 503
MOST_BYTES = 4_000_000  # of a request; larger requests get the status 413

BEARER = HTTPBearer(auto_error=False)
Text = Annotated[str, Field(max_length=LONGEST)]
Id = Annotated[Text, Field(min_length=1)]


class Example(BaseModel):
    """A round to predict."""

    id: Id
    x: dict[Text, bool | int | float | str | None]


def a_label(label: Any) -> Any:
    """A label as JSON has it; a number with a fraction is none."""
    if label is None:
        raise ValueError("null is no label; send the id to /skips if nobody can say it")
    if isinstance(label, str) and not label.strip():
        raise ValueError("an empty text is no label; send the id to /skips if nobody can say it")
    if not isinstance(label, Label):
        raise ValueError("a label is text, a whole number, true or false")
    return label


class Answer(BaseModel):
    """The label of a round; with `correct` it may be another than before."""

    id: Id
    label: Annotated[bool | int | Text, BeforeValidator(a_label)]
    correct: bool = False


class Named(BaseModel):
    """A round whose label nobody can give, or whose label is taken back."""

    id: Id


class Limited:
    """An app that rejects requests of more than `MOST_BYTES` bytes."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > MOST_BYTES:
                raise HTTPException(413, f"a request has {MOST_BYTES:,} bytes at most")
            return message

        await self.app(scope, limited, send)


def service(
    journal: Journal,
    token: str | None = None,
    rows: labelling.Rows | None = None,
    classes: Sequence[str] = (),
) -> FastAPI:
    """The app around a journal; the app closes the journal when it ends.

    With a token, all paths but / and /health need the header `Authorization: Bearer <token>`, and
    there is no page of the paths. ValueError is raised if no header could hold the token.
    """
    if token is not None and not re.fullmatch("[!-~]+", token):
        raise ValueError(
            "SERVICE_TOKEN must be visible ASCII characters; unset it to let everybody in"
        )

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        journal.close()

    def allowed(given: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]) -> None:
        sent = given.credentials if given else ""
        if token and not secrets.compare_digest(sent.encode(), token.encode()):
            raise HTTPException(401, "the header Authorization: Bearer <token> is missing or wrong")

    paths = None if token else "/openapi.json"
    app = FastAPI(title="Predictions and labels", lifespan=lifespan, openapi_url=paths)
    app.add_middleware(Limited)
    closed = [Depends(allowed)]
    app.include_router(label_studio.router(journal), dependencies=closed)
    app.include_router(labelling.router(journal, rows, classes), dependencies=closed)

    async def answer(request: Request, error: Exception) -> JSONResponse:
        text = str(error)
        for of_python, option in OPTIONS.items():
            head, found, _ = text.partition(f": {of_python}")  # advice ends a message
            text = f"{head}: {option}" if found else text
        return JSONResponse({"detail": text}, ANSWERS[type(error)])

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        """Leave out the input. FastAPI would repeat it, and would fail if it has a NaN."""
        assert isinstance(error, RequestValidationError)
        keys = "loc", "msg", "type"
        return JSONResponse(
            {"detail": [{key: e[key] for key in keys} for e in error.errors()]}, 422
        )

    for kind in ANSWERS:
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(RequestValidationError, invalid)

    # Functions without async run in a pool of threads; the journal admits one thread at a time.

    @app.post("/predictions", dependencies=closed)
    def predict(example: Example) -> Round:
        if rows is not None:
            raise HTTPException(409, "this service predicts the rows of its --csv alone")
        return journal.predict(example.id, example.x)

    @app.post("/labels", dependencies=closed)
    def learn(answer: Answer) -> dict[str, str]:
        return {"outcome": journal.learn(answer.id, answer.label, correct=answer.correct)}

    @app.post("/skips", dependencies=closed)
    def skip(given: Named) -> dict[str, str]:
        return {"outcome": "skipped" if journal.skip(given.id) else "not waiting"}

    @app.post("/withdrawals", dependencies=closed)
    def withdraw(given: Named) -> dict[str, str]:
        return {"outcome": "withdrawn" if journal.withdraw(given.id) else "known"}

    @app.get("/asks", dependencies=closed)
    def asks(after: After = 0, most: Most = 100) -> list[Ask]:
        return journal.asks(after, most)

    @app.get("/")
    def page() -> HTMLResponse:
        return labelling.page()

    @app.get("/health")
    def health() -> dict[str, Any]:
        versions = {"river_ineural": river_ineural.__version__, "torch": torch.__version__}
        return {"status": "ok", **journal.health(), "versions": versions}

    return app


def warm_up(model: active.BudgetedSampler) -> None:
    """Compile the code that a stream needs, by a run of an untrained copy of the model."""
    fresh = model.clone()
    for t, (x, y) in enumerate(KnownPosterior(margin=1.0, seed=1).take(100)):
        fresh.predict_one(x)
        fresh.learn_one(x, bool(y) != (t >= 50))  # the stream changes in the middle


def number(text: str) -> float | int:
    """Parse a budget: 0.05 or 5% is a share, 500 is a number of labels."""
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        return int(text) if text.removeprefix("-").isdigit() else float(text)
    except ValueError:
        said = f"{text!r} is no budget: 0.05 is a share of the rounds, 500 a number of labels"
        raise argparse.ArgumentTypeError(said) from None


def check_address(host: str, port: int) -> None:
    """Raise ValueError if nothing can listen there."""
    if not 0 < port < 65_536:
        raise ValueError(f"--port is a number from 1 to 65535, got {port}")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        said = f"{host}:{port} cannot be used: {error.strerror}. Choose another --port"
        raise ValueError(said) from None


def main() -> None:
    parser = argparse.ArgumentParser(description="A prediction service that asks for labels.")
    say = parser.add_argument
    say("--folder", type=Path, help="of the model and the rows (service-data, or CSV-labels)")
    say("--budget", type=number, help="share of the rounds, as 0.05 (a new model), or labels: 500")
    say("--categories", action="store_true", help="take text in features (a new model)")
    say("--missing", action="store_true", help="take null in features (a new model)")
    say("--csv", type=Path, help="rows to label, 100 of them unless --budget says otherwise")
    say("--classes", nargs="+", default=[], metavar="LABEL", help="all that there are")
    say("--drop", nargs="+", default=[], metavar="COLUMN", help="of the CSV, not to learn from")
    say("--host", default="127.0.0.1")
    say("--port", type=int, default=8000)
    say("--every", type=int, default=EVERY, help="rows after which the model is saved")
    given = parser.parse_args()
    given.classes = [name.strip() for name in given.classes]
    named = {*given.classes} - {""}
    if given.classes and not 2 <= len(named) == len(given.classes):
        parser.error("--classes takes two different labels or more, with spaces between them")
    rows, budget = None, 0.05 if given.budget is None else given.budget
    folder = given.folder or Path("service-data")
    if given.csv and not given.folder:  # beside the file, wherever the service is started
        folder = given.csv.with_name(f"{given.csv.stem}-labels")
    try:
        check_address(given.host, given.port)
        classifier = INeurAL(categories=given.categories, missing=given.missing, seed=1)
        first = plain = active.INeurALSampler(classifier, budget=budget, seed=1)
        if given.csv:
            warnings.filterwarnings("ignore", "Only one class was seen")  # its advice is Python
            rows = labelling.Rows(given.csv, given.drop, given.classes)
            first = labelling.sampler_for(rows, given.classes, given.budget)
            sys.stderr.writelines(f"{labelling.of_service(note)}\n" for note in rows.notes)
        journal = Journal(folder, first, every=given.every, classes=given.classes)
        for name in ("categories", "missing"):
            if getattr(given, name) and not getattr(journal.learner, name, False):
                raise ValueError(f"--{name} is for a new model: {folder} has one without it")
        if given.budget is not None:
            journal.change_budget(first.budget)
        labelling.check_classes(given.classes, journal.learner.known_labels)
        app = service(journal, os.environ.get("SERVICE_TOKEN"), rows, given.classes)
        warm_up(plain)  # last, because it takes long; its stream has classes of its own
        health = journal.health()
        allows = health["allows"]
        if rows is not None:  # where the model is sure it asks for fewer
            allows = f"at most {allows.replace('rounds', 'rows, taken at random')}"
        print(f"budget: {allows}", file=sys.stderr)
        if rows is not None:
            print(f"rows predicted: {rows.n_predicted:,} of {len(rows):,}", file=sys.stderr)
            with journal.reading() as (model, _):
                used_up = labelling.used_up(model)
            if rows.n_predicted == len(rows):
                over = "all rows are predicted: no more are asked for; another --folder begins anew"
                print(over, file=sys.stderr)
            elif used_up and health["n_queries"] and not health["n_waiting"]:
                print("all labels are used: a larger --budget asks for more", file=sys.stderr)
        print(f"page to label on: http://{given.host}:{given.port}/", file=sys.stderr)
    except (RuntimeError, ValueError, OSError, SaveError, sqlite3.Error) as error:
        said = labelling.of_service(str(error))
        if isinstance(error, OSError) and error.filename and error.strerror:
            said = f"{error.strerror}: {error.filename}"
        parser.exit(1, f"{parser.prog}: {said}\n")
    uvicorn.run(
        app,
        host=given.host,
        port=given.port,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=10,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
