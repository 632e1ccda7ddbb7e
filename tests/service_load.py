"""Clients, labels that come late, a SIGKILL in between: what the service promises, counted.

The stream is River's Phishing. A label comes 50 predictions after it was asked for, and one request
in ten is sent a second time by another client.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from river import datasets

from river_ineural import INeurAL, active, load, persistence

SERVICE = Path(__file__).parents[1] / "examples" / "service.py"
DELAY = 50  # predictions after which a label comes
AGAIN = 0.1  # share of the requests that are sent twice
PATIENCE = 120.0  # seconds, of anything


def free_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


class Process:
    """The service in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.command = [sys.executable, str(SERVICE), "--folder", str(folder)]
        self.command += ["--port", str(self.port), *options]

    def start(self) -> None:
        """Come back when it answers."""
        self.started = subprocess.Popen(self.command)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self.started.poll() is not None:
                raise RuntimeError(f"the service ended with {self.started.returncode}")
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/health").is_success:
                    return
            time.sleep(0.05)
        raise TimeoutError("the service does not answer")

    def stop(self, sent: signal.Signals = signal.SIGTERM) -> None:
        """Send it a signal, and come back when it has ended."""
        self.started.send_signal(sent)
        try:
            self.started.wait(PATIENCE)
        finally:
            self.started.kill()

    def __enter__(self) -> Process:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Load:
    """Clients that share a stream; what they are told is kept by id."""

    def __init__(self, url: str, n: int) -> None:
        self.url = url
        self.examples = [
            (str(i), x, "bad" if y else "good")
            for i, (x, y) in enumerate(datasets.Phishing().take(n))
        ]
        self.left = deque(range(n))
        self.due: deque[tuple[int, int]] = deque()  # place in the stream, example
        self.again: deque[tuple[str, dict[str, Any]]] = deque()
        self.told: dict[str, list[dict[str, Any]]] = {id: [] for id, _, _ in self.examples}
        self.outcomes: dict[str, list[str]] = {}
        self.n_retries = 0
        self.lock = threading.Lock()
        self.rng = random.Random(1)

    def run(self, n_clients: int) -> None:
        """All of the stream and all labels."""
        with ThreadPoolExecutor(n_clients) as pool:
            for client in [pool.submit(self.client) for _ in range(n_clients)]:
                client.result()

    def client(self) -> None:
        """One after the other: what is to be sent again, labels that are due, the next example."""
        with httpx.Client(base_url=self.url, timeout=PATIENCE) as http:
            while (request := self.next()) is not None:
                self.send(http, *request)

    def next(self) -> tuple[str, dict[str, Any]] | None:
        """Path and body of the next request; None at the end."""
        with self.lock:
            if self.again:
                return self.again.popleft()
            place = self.left[0] if self.left else None
            if self.due and (place is None or self.due[0][0] <= place):
                _, i = self.due.popleft()
                request = "/labels", {"id": self.examples[i][0], "label": self.examples[i][2]}
            elif place is not None:
                self.left.popleft()
                request = "/predictions", {"id": str(place), "x": self.examples[place][1]}
            else:
                return None
            if self.rng.random() < AGAIN:
                self.again.append(request)
            return request

    def send(self, http: httpx.Client, path: str, body: dict[str, Any]) -> None:
        """Until there is an answer, whoever was killed meanwhile."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                answer = http.post(path, json=body)
                if answer.status_code < 500:
                    answer.raise_for_status()
                    break
            except httpx.TransportError:
                pass
            if time.monotonic() > until:
                raise TimeoutError(f"no answer to {path} {body['id']}")
            with self.lock:
                self.n_retries += 1
            time.sleep(0.1)
        with self.lock:
            told, id = answer.json(), body["id"]
            if path == "/labels":
                self.outcomes.setdefault(id, []).append(told["outcome"])
                return
            first = not self.told[id]
            self.told[id].append(told)
            if told["ask"] and first:
                self.due.append((int(id) + DELAY, int(id)))


def sampler(budget: float | int) -> active.INeurALSampler:
    """What the service starts with."""
    return active.INeurALSampler(INeurAL(seed=1), budget=budget, seed=1)


def books(folder: Path) -> tuple[list[Any], list[Any], bytes, bytes]:
    """Rounds, labels, the model's bytes, and those of a loop over the rows without any kill."""
    with contextlib.closing(sqlite3.connect(folder / "rows.sqlite")) as rows:
        rounds = rows.execute("SELECT number, id, x, ask, waiting FROM rounds").fetchall()
        labels = rows.execute(
            "SELECT labels.number, id, x, label FROM labels JOIN rounds USING (id)"
        ).fetchall()
    model = load(folder / "model.safetensors")
    plain = sampler(model.budget)
    for number, _, x, *told in sorted(rounds + labels):
        if len(told) == 1:
            plain.learn_one(json.loads(x), json.loads(told[0]))
        else:
            plain.predict_one(json.loads(x))
        plain.n_rows = number  # type: ignore[attr-defined]  # as the journal does
    return rounds, labels, persistence.to_bytes(model), persistence.to_bytes(plain)


def killed(folder: Path, n: int, n_clients: int, n_kills: int, budget: int) -> dict[str, Any]:
    """The whole stream with kills spread over it, and what the books say then."""
    with Process(folder, "--budget", str(budget)) as process:
        clients = Load(process.url, n)
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(clients.run, n_clients)
            for kill in range(1, n_kills + 1):
                goal = n * kill / (n_kills + 1)  # of examples that a client has been told of
                while sum(map(bool, [*clients.told.values()])) < goal and not run.done():
                    time.sleep(0.001)
                process.stop(signal.SIGKILL)
                process.start()
            run.result()
        health = httpx.get(f"{process.url}/health").json()
    rounds, labels, model, plain = books(folder)
    asked = {id for _, id, _, ask, _ in rounds if ask}
    told, outcomes = clients.told.values(), clients.outcomes.values()
    return {
        "predictions": len(rounds),
        "asked_for": len(asked),
        "labels": len(labels),
        "labels_lost": len(asked - {id for _, id, _, _ in labels}),
        "labels_twice": sum(of.count("learned") > 1 for of in outcomes),
        "told_otherwise": sum(any(each != of[0] for each in of) for of in told),
        "rounds_of_the_model": health["n_rounds"],
        "asked_by_the_model": health["n_queries"],
        "retries": clients.n_retries,
        "sent_twice": sum(len(of) - 1 for of in told) + sum(len(of) - 1 for of in outcomes),
        "as_a_loop_without_kills": model == plain,
    }
