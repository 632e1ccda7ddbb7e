"""Send asks to Label Studio, and answers back to the service of `examples/service.py`.

    LABEL_STUDIO_TOKEN=... python examples/label_studio.py \\
        --service http://127.0.0.1:8000 --label-studio http://127.0.0.1:8080 --project 1

creates a task in Label Studio for each label that the service expects, except for tasks created
before, and sends the service the answers given while the service was down. Run it every minute.
Label Studio's webhook sends the answers in between. The id in the task identifies an answer, so
answers may arrive repeatedly and in any order. LABEL_STUDIO_TOKEN is a personal access token of
Label Studio. SERVICE_TOKEN is the token of the service, if it has one.
"""

from __future__ import annotations

import argparse
import collections
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
from fastapi import APIRouter, Query
from journal import Ask, Conflict, Journal, Refused, Unknown
from pydantic import BaseModel

__all__ = ["After", "Annotation", "Event", "Most", "Task", "hand_over", "router", "take"]

After = Annotated[int, Query(ge=0, le=2**62)]  # the number of an ask, and how many to send
Most = Annotated[int, Query(ge=1, le=1000)]
AT_ONCE = 100  # tasks per request; the service accepts a few megabytes

Outcome = Literal[
    "learned",
    "known",
    "corrected",
    "withdrawn",
    "skipped",
    "ignored",
    "unknown",
    "conflict",
    "refused",
]
FAILURES: dict[type[Exception], Outcome]
FAILURES = {Unknown: "unknown", Conflict: "conflict", Refused: "refused"}


class Value(BaseModel):
    """The value of one control of the form; empty unless the control is Choices."""

    choices: list[str] = []


class Result(BaseModel):
    """The result of one control of the form; one that links two others has no value."""

    value: Value = Value()


class Annotation(BaseModel):
    """The answer of one person to a task; `was_cancelled` if the task was skipped."""

    id: int | None = None
    result: list[Result] | None = None  # not given of a deleted one
    was_cancelled: bool = False


class Task(BaseModel):
    """A task to label; `annotations` are filled only in an export."""

    data: dict[str, Any]
    annotations: list[Annotation] = []


class Event(BaseModel):
    """The message of a webhook, without fields that are not needed here."""

    action: str
    annotation: Annotation | None = None
    annotations: list[Annotation] = []  # those deleted
    task: Task | None = None


def take(journal: Journal, task: Task, annotation: Annotation) -> Outcome:
    """Learn an answer, or skip the label if the task was skipped; raises as `Journal.learn`.

    An annotation with another choice than before corrects its label.
    """
    id = task.data.get("id")
    if not isinstance(id, str):
        return "ignored"  # not a task of this service
    choices = [choice for result in annotation.result or [] for choice in result.value.choices]
    if annotation.was_cancelled or not choices:
        if drop(journal, annotation) == "withdrawn":
            return "withdrawn"
        journal.skip(id)
        return "skipped"
    if len(choices) > 1:
        raise Refused(f"{id!r} has {len(choices)} choices: the form must allow one.")
    return journal.learn(id, choices[0], source_of(annotation))


def drop(journal: Journal, annotation: Annotation) -> Outcome:
    """Withdraw the label that an annotation gave, if it still holds."""
    source = source_of(annotation)
    id = journal.labelled_by(source) if source else None
    if id is None:
        return "ignored"
    journal.withdraw(id)
    return "withdrawn"


def source_of(annotation: Annotation) -> str | None:
    """The name of an annotation in the rows."""
    return None if annotation.id is None else f"annotation {annotation.id}"


def task_of(ask: Ask) -> dict[str, Any]:
    """The task to import. The prediction is left out, because people would follow it."""
    return {"data": {"id": ask.id, "number": ask.number, "reason": ask.reason, "x": ask.x}}


def router(journal: Journal) -> APIRouter:
    """The HTTP paths that Label Studio and `hand_over` use."""
    paths = APIRouter(prefix="/label-studio")

    @paths.get("/tasks")
    def tasks(after: After = 0, most: Most = 100) -> list[dict[str, Any]]:
        return [task_of(ask) for ask in journal.asks(after, most)]

    @paths.post("/webhook")
    def webhook(event: Event) -> dict[str, Outcome]:
        if event.action == "ANNOTATIONS_DELETED":
            dropped = {drop(journal, each) for each in event.annotations}
            return {"outcome": "withdrawn" if "withdrawn" in dropped else "ignored"}
        taken = event.action in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
        if not (taken and event.task and event.annotation):
            return {"outcome": "ignored"}
        return {"outcome": take(journal, event.task, event.annotation)}

    @paths.post("/export")
    def export(tasks: list[Task]) -> dict[Outcome, int]:
        outcomes: collections.Counter[Outcome] = collections.Counter()
        for task in tasks:
            for annotation in task.annotations:
                try:
                    outcomes[take(journal, task, annotation)] += 1
                except tuple(FAILURES) as error:
                    outcomes[FAILURES[type(error)]] += 1
        return dict(outcomes)

    return paths


def hand_over(
    service: httpx.Client, label_studio: httpx.Client, project: int, cursor: Path
) -> tuple[int, Mapping[str, int]]:
    """Send asks to Label Studio and all its answers to the service; returns both counts.

    `cursor` is a file with the number of the last ask that was sent. After a kill before it is
    written, tasks are created twice; the first answer counts.
    """
    made, after = 0, int(cursor.read_text()) if cursor.exists() else 0
    while True:
        found = service.get("/label-studio/tasks", params={"after": after})
        tasks = found.raise_for_status().json()
        if not tasks:
            break
        label_studio.post(f"/api/projects/{project}/import", json=tasks).raise_for_status()
        made, after = made + len(tasks), tasks[-1]["data"]["number"]
        new = cursor.with_suffix(".new")
        new.write_text(str(after))
        new.replace(cursor)
    found = label_studio.get(f"/api/projects/{project}/export", params={"exportType": "JSON"})
    answers, outcomes = found.raise_for_status().json(), collections.Counter[str]()
    for first in range(0, len(answers), AT_ONCE):
        part = answers[first : first + AT_ONCE]
        outcomes += service.post("/label-studio/export", json=part).raise_for_status().json()
    return made, dict(outcomes)


def said(error: Exception) -> str:
    """An error in one line, with the URL of the failed request."""
    request = getattr(error, "_request", None)
    where = f"{request.url}: " if request and not isinstance(error, httpx.HTTPStatusError) else ""
    return f"{where}{type(error).__name__}: {' '.join(str(error).split())}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Asks to Label Studio, and answers back.")
    parser.add_argument("--service", default="http://127.0.0.1:8000")
    parser.add_argument("--label-studio", default="http://127.0.0.1:8080")
    parser.add_argument("--project", type=int, required=True)
    parser.add_argument("--cursor", type=Path, default=Path("label-studio.cursor"))
    given = parser.parse_args()
    token, own = os.environ.get("LABEL_STUDIO_TOKEN"), os.environ.get("SERVICE_TOKEN")
    if not token:
        parser.exit(1, f"{parser.prog}: set LABEL_STUDIO_TOKEN, a personal access token\n")
    try:
        with (
            httpx.Client(base_url=given.service, timeout=60) as service,
            httpx.Client(base_url=given.label_studio, timeout=60) as label_studio,
        ):
            if own:
                service.headers["Authorization"] = f"Bearer {own}"
            fresh = label_studio.post("/api/token/refresh", json={"refresh": token})
            access = fresh.raise_for_status().json()["access"]  # valid for some minutes
            label_studio.headers["Authorization"] = f"Bearer {access}"
            made, outcomes = hand_over(service, label_studio, given.project, given.cursor)
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        LookupError,
        OSError,
        TypeError,
        ValueError,
    ) as error:
        parser.exit(1, f"{parser.prog}: {said(error)}\n")
    print(f"{made} tasks made; answers: {outcomes}")


if __name__ == "__main__":
    main()
