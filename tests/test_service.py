"""The service of examples/: what HTTP clients, people and a SIGKILL leave in its books."""

import argparse
import contextlib
import copy
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import hypothesis.strategies as st
import odd_requests
import pytest
from hypothesis import given, settings
from river import compose, datasets
from streams import learned, small

from river_ineural import INeurAL, active, load, save
from river_ineural.active.pipelines import find_learner
from river_ineural.persistence import to_bytes

for name in ("fastapi", "filelock", "httpx", "pydantic", "uvicorn"):
    pytest.importorskip(name, reason="needs pip install -e '.[service]' in a checkout")

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
sys.path.append(str(EXAMPLES))

import httpx  # noqa: E402
import label_studio  # noqa: E402
import service  # noqa: E402
import uvicorn  # noqa: E402
from fastapi import FastAPI, Request  # noqa: E402
from journal import Conflict, Journal, Unknown  # noqa: E402

PAGE = (ROOT / "docs" / "in-production.md").read_text()
STREAM = [(x, "bad" if y else "good") for x, y in datasets.Phishing().take(240)]


def sampler(budget=24, **options):
    return active.INeurALSampler(small(n_steps=2, **options), budget=budget, seed=1)


def crash(journal):
    """What a kill leaves: the files, and no lock."""
    journal._rows.close()
    journal._folder.release()


@pytest.fixture
def opened(tmp_path):
    """Opens the journal of a folder; one that is open there is killed first, and at the end."""
    with contextlib.ExitStack() as kill:

        def opened(**options):
            kill.close()
            journal = Journal(tmp_path, sampler(), **options)
            kill.callback(crash, journal)
            return journal

        yield opened


@pytest.fixture
def journal(opened):
    return opened()


def predicted(journal, *numbers):
    """What is said of these rows of the stream."""
    return [journal.predict(str(i), STREAM[i][0]) for i in numbers]


# Over HTTP


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.mark.slow
def test_sixteen_clients_and_a_kill_leave_the_books_of_a_loop(tmp_path):
    """A label comes fifty rounds late, and every fifth request is sent by two clients at once."""
    n, port, until, interrupted = len(STREAM), free_port(), time.monotonic() + 240, []
    command = [sys.executable, EXAMPLES / "service.py", "--folder", tmp_path]
    command += ["--budget", "60", "--port", str(port)]
    turns, told = [], defaultdict(list)

    def sent(path, i, **body):
        """The answer, when there is one."""
        while time.monotonic() < until:
            with contextlib.suppress(httpx.TransportError):
                answer = http.post(path, json={"id": str(i), **body}).raise_for_status().json()
                told[path, i].append(answer)
                return answer
            interrupted.append(path)
            time.sleep(0.2)
        raise TimeoutError(f"no answer to {path} {i}")

    def client(i):
        """Whether the label of the next example is asked for; an earlier one is sent before."""
        if i >= 50 and turns[i - 50][0].result():
            sent("/labels", i - 50, label=STREAM[i - 50][1])
        return i < n and sent("/predictions", i, x=STREAM[i][0])["ask"]

    process = subprocess.Popen(command)
    try:
        with (
            httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http,
            ThreadPoolExecutor(16) as pool,
        ):
            for i in range(n + 50):
                clients = range(2 if i % 5 == 0 else 1)
                turns.append([pool.submit(client, i) for _ in clients])
            turns[n // 2][0].result()
            process.kill()
            process.wait()
            n_interrupted = len(interrupted)  # before the kill: while the service started
            process = subprocess.Popen(command)
            asked = [i for i, both in enumerate(turns) if max(turn.result() for turn in both)]
            health = http.get("/health").json()
        process.terminate()
        process.wait(60)
    finally:
        process.kill()
    assert len(interrupted) > n_interrupted
    assert 20 < len(asked) <= 60
    assert any(len(told["/labels", i]) == 2 for i in asked)
    assert (health["n_rounds"], health["n_queries"]) == (n, len(asked))
    books = sqlite3.connect(tmp_path / "rows.sqlite")
    rounds = dict(books.execute("SELECT number, CAST(id AS INTEGER) FROM rounds"))
    labels = dict(books.execute("SELECT number, CAST(id AS INTEGER) FROM labels"))
    books.close()
    assert sorted(rounds.values()) == list(range(n))
    assert sorted(labels.values()) == asked
    loop, queries = active.INeurALSampler(INeurAL(seed=1), budget=60, seed=1), {}
    for number, i in sorted((rounds | labels).items()):
        x, y = STREAM[i]
        if number in rounds:
            answers = {(each["prediction"], each["ask"]) for each in told["/predictions", i]}
            decision = loop.decide_one(x)
            queries[i] = decision.query
            assert answers == {(decision.label, decision.asked)}
        else:
            loop.answer(queries[i], y)
            assert [each["outcome"] for each in told["/labels", i]].count("learned") <= 1
        loop.n_rows = number  # as the journal does
    assert to_bytes(load(tmp_path / "model.safetensors")) == to_bytes(loop)


@contextlib.contextmanager
def serving(app):
    """A client of an app that uvicorn serves in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            with httpx.Client(base_url=address, timeout=60) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.fixture
def http(journal):
    with serving(service.service(journal)) as client:
        yield client


def posted(http, path, **body):
    answer = http.post(path, json=body)
    return answer.status_code, answer.json()


MANY = {str(i): i for i in range(200_000)}
TASK = {"data": {"id": "\ud800"}}  # half of a character
EVENT = {"action": "ANNOTATION_CREATED", "annotation": {"result": []}, "task": TASK}
REFUSED = [  # path, body, status, what the answer says
    ("/predictions", '{"id": "a", "x": {"age": 2}}', 409, "with another x"),
    ("/predictions", '{"id": "b", "x": {"age": "old"}}', 422, "--categories"),
    ("/predictions", '{"id": "b", "x": {"age": null}}', 422, "--missing"),
    ("/predictions", '{"id": "b", "x": {"age": [1]}}', 422, "valid number"),
    ("/predictions", '{"id": "", "x": {"age": 1}}', 422, "at least 1 character"),
    ("/labels", '{"id": "a", "label": "bad"}', 409, "has the label 'good': "),
    ("/labels", '{"id": "b", "label": "bad"}', 404, "no round has the id 'b'"),
    ("/labels", '{"id": "a", "label": 0.5}', 422, "a label is text, a whole number, true or f"),
    ("/labels", '{"id": "a", "label": null}', 422, "null is no label; send the id to /skips"),
    (
        "/labels",
        '{"id": "a", "label": " "}',
        422,
        "an empty text is no label; send the id to /skips",
    ),
    ("/skips", '{"id": "b"}', 404, "no round has the id 'b'"),
    ("/predictions", '{"id"', 422, "JSON decode error"),
    ("/labels", "[]", 422, "valid dictionary"),
    ("/predictions", '{"id": "a", "x": {"age": [NaN]}}', 422, "valid number"),
    ("/predictions", '{"id": "b", "x": {"age": 1e999}}', 422, "not finite"),
    ("/predictions", '{"id": "b", "x": {"age": 1' + 4000 * "0" + "}}", 422, "inf, beyond"),
    ("/predictions", '{"id": "b", "x": {"age": 1' + 9000 * "0" + "}}", 400, "parsing the body"),
    ("/predictions", b'{"id": "\xff"}', 400, "parsing the body"),
    ("/predictions", r'{"id": "b", "x": {"\ud800": 1}}', 422, "valid string"),
    ("/predictions", r'{"id": "\ud800", "x": {"age": 1}}', 422, "valid string"),
    ("/labels", r'{"id": "a", "label": "\ud800"}', 422, "valid string"),
    ("/label-studio/webhook", json.dumps(EVENT), 422, "half of a character"),
    ("/predictions", 100_000 * "[", 400, "parsing the body"),
    ("/predictions", '{"id": "' + 10_000_000 * "a" + '"}', 413, "4,000,000 bytes at most"),
    ("/predictions", (100_000 * b" " for _ in range(100)), 413, "4,000,000 bytes at most"),
    ("/predictions", json.dumps({"id": "b", "x": MANY}), 422, "more than max_features"),
]


def test_a_budget_is_a_share_or_a_number():
    """Which of them is in range says `Budget`."""
    found = [*map(service.number, ("0.05", "5%", "1e-2", "500", "-5"))]
    assert [*map(repr, found)] == ["0.05", "0.05", "0.01", "500", "-5"]
    with pytest.raises(argparse.ArgumentTypeError, match="'ten' is no budget"):
        service.number("ten")


def test_what_is_refused_changes_nothing(http, journal):
    first = posted(http, "/predictions", id="a", x={"age": 1.0, "size": 2.0})
    assert posted(http, "/predictions", id="a", x={"size": 2.0, "age": 1.0}) == first
    posted(http, "/labels", id="a", label="good")
    before = to_bytes(journal._model)
    for path, body, status, said in REFUSED:
        answer = http.post(path, content=body, headers={"Content-Type": "application/json"})
        found = answer.status_code, said in str(answer.json()["detail"])
        assert found == (status, True), answer.text[:300]
        assert to_bytes(journal._model) == before, answer.text[:300]
    assert posted(http, "/predictions", id="b", x={"age": 1.0})[0] == 200


def test_asks_are_a_queue(http):
    for i, (x, _) in enumerate(STREAM[:5]):
        posted(http, "/predictions", id=str(i), x=x)

    def waiting(**params):
        return [ask["id"] for ask in http.get("/asks", params=params).json()]

    assert waiting(most=2) == ["0", "1"]
    assert waiting(after=2) == ["2", "3", "4"]
    for outcome in ("learned", "known"):
        assert posted(http, "/labels", id="0", label="good") == (200, {"outcome": outcome})
    assert posted(http, "/skips", id="1") == (200, {"outcome": "skipped"})
    assert waiting() == ["2", "3", "4"]
    assert posted(http, "/labels", id="1", label="bad") == (200, {"outcome": "learned"})


def test_a_token_is_asked_for(journal):
    with serving(service.service(journal, token="secret")) as client:
        assert client.get("/health").status_code == 200
        for path in ("/docs", "/redoc", "/openapi.json"):
            assert client.get(path).status_code == 404
        for path in ("/asks", "/label-studio/tasks"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"Authorization": "Bearer other"}).status_code == 401
            assert client.get(path, headers={"Authorization": "Bearer secret"}).status_code == 200


@pytest.mark.parametrize("token", ["", " ", "schlüssel", "two words", "a\n"])
def test_a_token_that_no_header_can_hold_is_refused(token, journal):
    with pytest.raises(ValueError, match="SERVICE_TOKEN must be visible ASCII"):
        service.service(journal, token)


JSON = {"Content-Type": "application/json"}


def test_odd_requests_are_answered_and_leave_the_books_of_a_loop(tmp_path):
    """No 500, no restart, a model that is saved after each row; nothing that blocks the queue."""
    first = sampler(60, categories=True, missing=True)  # which takes more of them
    loop, n, queries = copy.deepcopy(first), 0, {}
    journal = Journal(tmp_path, first, every=1)
    with serving(service.service(journal)) as http:
        refused = http.post("/predictions", json={"id": "a", "x": {"a=b": 1.0}}).json()["detail"]
        assert "INeurAL(categories=True) makes features of: rename it" in refused

        def sent(method, path, **options):
            answer = http.request(method, path, **options)
            assert answer.status_code < 500, (path, f"{options!r:.200}", answer.text[:300])
            health = http.get("/health")
            assert (health.status_code, health.json()["n_unsaved"]) == (200, 0), path
            return 1

        for body in odd_requests.PREDICTED:
            n += sent("POST", "/predictions", content=body, headers=JSON)
        for path in odd_requests.GOT:
            n += sent("GET", path)
        for body in odd_requests.LABELLED:
            n += sent("POST", "/labels", content=body, headers=JSON)
        for path, bodies in (
            ("webhook", odd_requests.TASKS),
            ("export", [f"[{each}]" for each in odd_requests.TASKS]),
        ):
            for body in bodies:
                n += sent("POST", f"/label-studio/{path}", content=body, headers=JSON)
        for path in ("/skips", "/withdrawals"):
            for id in ("0", "1", "1", "nobody", "", "\x00"):
                n += sent("POST", path, json={"id": id})
        for method in ("GET", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH"):
            for path in ("/predictions", "/asks"):
                n += sent(method, path, content=b"{}")
        for kind in ("text/plain", "application/xml", "multipart/form-data", "application/json; x"):
            n += sent("POST", "/labels", content=b'{"id": "0"}', headers={"Content-Type": kind})
        for text in odd_requests.RAW:
            with socket.create_connection((http.base_url.host, http.base_url.port)) as raw:
                raw.settimeout(0.3)
                raw.sendall(text)
                with contextlib.suppress(TimeoutError, ConnectionError):
                    assert b" 500 " not in raw.recv(4096)[:20]
            n += sent("GET", "/asks")
        assert posted(http, "/predictions", id="last", x={"a": 1.0})[0] == 200
        found = to_bytes(journal._model)
        rows = journal._rows.execute(
            "SELECT number, id, x, NULL FROM rounds UNION ALL "
            "SELECT labels.number, id, x, label FROM labels JOIN rounds USING (id) ORDER BY 1"
        ).fetchall()
    assert n > 150
    for number, id, x, label in rows:
        if label is None:
            queries[id] = loop.decide_one(json.loads(x)).query
        elif label == "null":
            loop.withdraw(queries[id])
        else:
            loop.answer(queries[id], json.loads(label))
        loop.n_rows = number
    assert to_bytes(loop) == found
    assert to_bytes(load(tmp_path / "model.safetensors")) == found


def test_what_cannot_be_saved_ends_nothing(opened):
    """The service goes on, and saves when it can."""
    kept = opened(every=1)
    kept._model.width = lambda t, k, n: 0.1
    predicted(kept, 0, 1)
    assert kept.health()["n_unsaved"] == 2
    kept._model.width = None
    predicted(kept, 2)
    assert kept.health()["n_unsaved"] == 0


def test_a_budget_of_one_is_no_share_of_all(opened):
    kept = opened()
    for budget in (1.0, 1, 1.0):
        kept.change_budget(budget)
        assert kept.health()["budget"] == repr(active.Budget(budget))


def test_a_label_that_was_not_asked_for_answers_no_other_question(opened):
    """Another row has equal features, and its question is taken back later."""
    kept = opened()
    kept.change_budget(1)
    x = STREAM[0][0]
    assert [kept.predict(id, x).ask for id in "ab"] == [True, False]
    kept.learn("b", "good")
    kept.withdraw("a")
    assert kept.health()["n_queries"] == 0
    assert kept.learner.known_labels == ("good",)
    assert kept.learner.unseen_labels == ()


@pytest.mark.filterwarnings("ignore:max_classes=2 reached")
def test_a_label_that_the_learner_ignores_can_be_corrected(tmp_path):
    """Its number is not that of the label before it, whose row would be changed."""
    kept = Journal(tmp_path, sampler(budget=0, max_classes=2))
    predicted(kept, *range(4))
    for id, label in zip("0123", ("good", "bad", "good", "typo"), strict=True):
        kept.learn(id, label)
    kept.learn("3", "bad", correct=True)
    kept.learn("3", "good", correct=True)
    kept.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "rows.sqlite")) as rows:
        found = rows.execute("SELECT learned FROM labels WHERE id = '3'").fetchall()
    assert [number for (number,) in found] == [0, 4, 4]
    history = load(tmp_path / "model.safetensors").classifier._learner.model.history
    assert history.targets[:4, 0].argmax(axis=1).tolist() == [0, 1, 0, 0]


# The journal

EVENTS = ["predict"] * 4 + ["learn"] * 3 + ["correct", "withdraw", "crash", "close", "fail"]
STORIES = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 9)), min_size=20, max_size=50)


@settings(max_examples=12)
@given(events=STORIES, budget=st.sampled_from([5, 0.2]))
def test_whatever_happens_it_is_a_loop(tmp_path_factory, events, budget):
    folder = tmp_path_factory.mktemp("journal")
    plain, told, learned, queries, gone, n_rows = sampler(budget), {}, {}, {}, set(), 0
    numbers = {}  # of labels that were learned by their features
    kept = Journal(folder, sampler(budget), every=4)
    for event, i in events:
        (x, y), id = STREAM[i], str(i)
        if event in ("crash", "close"):
            crash(kept) if event == "crash" else kept.close()
            kept = Journal(folder, sampler(), every=4)
        elif event == "fail" and id not in learned:
            kept._rows.execute("PRAGMA query_only = ON")
            with pytest.raises(sqlite3.Error, match="readonly"):
                kept.learn(id, y) if id in told else kept.predict(id, x)
            kept._rows.execute("PRAGMA query_only = OFF")
        elif event == "predict":
            if id not in told:
                decision = plain.decide_one(x)
                told[id], queries[id] = (decision.label, decision.asked), decision.query
            found = kept.predict(id, x)
            assert (found.prediction, found.ask) == told[id]
        elif event == "learn" and id in told:
            if learned.get(id, y) != y:
                with pytest.raises(Conflict, match="replaces it"):
                    kept.learn(id, y)
            else:
                assert kept.learn(id, y) == ("known" if id in learned else "learned")
            if id not in learned:
                query = queries.get(id)
                plain.answer(query, y) if query else plain.learn_one(x, y, asked=False)
                numbers[id] = 0 if query else plain.classifier.n_labels
                learned[id] = y
                n_rows += 1
        elif event == "correct" and id in learned:
            y = "good" if learned[id] == "bad" else "bad"
            assert kept.learn(id, y, correct=True) == "corrected"
            if numbers[id]:
                plain.classifier.correct_one(numbers[id], y)
            else:
                plain.answer(queries[id], y)
            learned[id], n_rows = y, n_rows + 1
        elif event == "withdraw" and numbers.get(id) and id in learned:
            assert kept.withdraw(id)
            plain.classifier.correct_one(numbers[id], None)
            del learned[id]
            n_rows += 1
        elif event == "withdraw" and queries.get(id):
            assert kept.withdraw(id) == (id not in gone)
            if id not in gone:
                plain.withdraw(queries[id])
                gone.add(id)
                n_rows += 1
                del queries[id]
                learned.pop(id, None)
    waiting = {id for id in told if told[id][1]} - gone - learned.keys()
    assert {ask.id for ask in kept.asks()} == waiting
    assert kept.health()["n_labels"] == len(learned)
    kept.close()
    Journal(folder, sampler()).close()  # after a failure nothing was saved until then
    found = load(folder / "model.safetensors")
    found.n_rows = getattr(found, "n_rows", 0)  # none before there is a row
    plain.n_rows = len(told) + n_rows
    assert to_bytes(found) == to_bytes(plain)


def test_a_model_that_cannot_be_saved_leaves_the_rows(opened, monkeypatch):
    """A full disk is tried again later; a kill between the new file and its end loses nothing."""

    def killed(model, path):
        save(model, path)
        raise KeyboardInterrupt

    kept = opened(every=3)
    with monkeypatch.context() as patched:
        patched.setattr("journal.save", Mock(side_effect=OSError("no space left")))
        told = predicted(kept, 0, 1, 2)
        assert kept.health()["n_unsaved"] == 3
    told += predicted(kept, 3, 4, 5)
    assert kept.health()["n_unsaved"] == 0
    monkeypatch.setattr("journal.save", killed)
    with pytest.raises(KeyboardInterrupt):
        predicted(kept, 6, 7, 8)
    monkeypatch.undo()
    kept = opened()
    assert predicted(kept, *range(6)) == told
    assert kept.health()["n_rounds"] == 9


@pytest.mark.parametrize(
    ("missing", "said"),
    [("model.safetensors", "start with an empty folder"), ("rows.sqlite", "that belongs to it")],
)
def test_files_that_do_not_belong_together_say_what_to_do(missing, said, opened, tmp_path):
    kept, file = opened(), tmp_path / missing
    predicted(kept, 0)
    kept.close()
    file.rename(tmp_path / "away")
    with pytest.raises(RuntimeError, match=said):
        opened()
    (tmp_path / "away").replace(file)
    assert opened().health()["n_rounds"] == 1


def test_old_rows_go_when_the_model_is_saved(opened):
    kept = opened(every=5, keep=10)
    for i in range(30):
        predicted(kept, i)
        if i < 15:
            kept.learn(str(i), STREAM[i][1])
    here = kept._rows.execute("SELECT number FROM rounds").fetchall()
    assert here == [(number,) for number in range(36, 46)]  # of thirty rounds and fifteen labels
    with pytest.raises(Unknown):
        kept.learn("0", "good")
    assert opened().health()["n_rounds"] == 30


def test_rounds_decided_otherwise_after_a_kill_are_counted(opened, caplog):
    """What was said holds; a budget that was changed decides no earlier round otherwise."""
    kept = opened()
    assert all(found.ask for found in predicted(kept, *range(8)))
    kept.change_budget(5)
    assert not any(found.ask for found in predicted(kept, *range(8, 12)))
    kept._rows.execute("UPDATE rounds SET ask = 1 WHERE id = '9'")
    kept._rows.commit()
    kept = opened()
    assert (kept.health()["n_queries"], kept.health()["n_otherwise"]) == (8, 1)
    assert "1 rounds were decided otherwise" in caplog.text
    assert predicted(kept, 9)[0].ask


@pytest.mark.parametrize("piped", [False, True])
def test_a_model_of_ones_own_is_gone_on_with(opened, tmp_path, piped):
    """Warm, with labels that are numbers: people's "1" is 1. It may hold a pipeline."""
    rows = [({**x, "kind": "a"}, int(y == "bad")) for x, y in STREAM[:20]]
    model = sampler(categories=True)
    if piped:
        model.classifier = compose.Discard("popup_window") | model.classifier
    learned(model, rows)
    model.horizon = 1  # which ends with the stream that it learned
    save(model, tmp_path / "model.safetensors")
    kept = opened()
    kept.change_budget(20)
    assert kept.health()["budget"] == repr(active.Budget(20))
    assert kept.predict("a", {**STREAM[0][0], "kind": "b"}).prediction in (0, 1)
    assert kept.learn("a", "1") == "learned"
    assert kept.learn("a", 1) == "known"
    with pytest.raises(Conflict):
        kept.learn("a", "0")
    assert set(find_learner(kept._model.classifier)[0].known_labels) == {0, 1}


@pytest.mark.filterwarnings("ignore:labels True")
def test_a_form_says_true_for_a_known_true(opened):
    kept = opened()
    for i, label in enumerate([True, False, "true", "False", "TRUE"]):
        kept.predict(str(i), STREAM[i][0])
        assert kept.learn(str(i), label) == "learned"
    assert kept.learner.known_labels == (True, False, "TRUE")


# People


def recorded(name):
    return json.loads((ROOT / f"tests/files/label_studio/{name}.json").read_text())


def asked(http, i):
    """Whether people are asked about an order; they were about the first twelve."""
    return posted(http, "/predictions", id=f"order {i}", x=STREAM[i][0])[1]["ask"]


def test_answers_of_label_studio_are_learned_once(http):
    """By webhook and by the export, from the form of the page; a skip ends the waiting."""

    def hooked(sent):
        answer = http.post("/label-studio/webhook", json=sent)
        health = http.get("/health").json()
        outcome = answer.json().get("outcome", answer.status_code)
        return outcome, health["n_labels"], health["n_waiting"]

    assert all(asked(http, i) for i in range(12))
    sent, tasks = recorded("annotation_created"), recorded("export")
    assert f"```xml\n{sent['project']['label_config']}\n```" in PAGE
    for change in ({"action": "TASKS_CREATED"}, {"task": None}):
        assert hooked(sent | change) == ("ignored", 0, 12)
    assert hooked(sent) == ("learned", 1, 11)
    assert hooked(sent) == ("known", 1, 11)
    other = copy.deepcopy(sent)
    other["annotation"]["result"][0]["value"]["choices"] = ["something else"]
    other["annotation"]["id"] = 999  # of another person: the first label counts
    assert hooked(other) == (409, 1, 11)
    assert hooked(recorded("skipped")) == ("skipped", 1, 10)
    export = "/label-studio/export"
    tasks[1]["annotations"][0]["result"].append({"type": "relation", "from_id": "a"})
    assert http.post(export, json=tasks).json() == {"known": 1, "learned": 6, "skipped": 1}
    tasks[0]["annotations"][0]["result"][0]["value"]["choices"] = ["something else"]
    tasks[0]["annotations"][0]["id"] = 999
    tasks[1]["data"]["id"] = "order 99"
    del tasks[2]["data"]["id"]
    tasks[3]["annotations"][0]["result"] *= 2
    found = {"conflict": 1, "unknown": 1, "ignored": 1, "refused": 1, "known": 3, "skipped": 1}
    assert http.post(export, json=tasks).json() == found
    assert http.get("/health").json()["n_labels"] == 7


def test_annotations_that_are_updated_or_deleted_correct_and_withdraw(http, journal):
    """By webhook, and by the export where the service was down; a deleted one names no task."""

    def hooked(action, **changes):
        event = sent | {"action": action} | changes
        outcome = http.post("/label-studio/webhook", json=event).json()["outcome"]
        health = http.get("/health").json()
        return outcome, health["n_labels"], health["n_queries"], health["n_waiting"]

    assert all(asked(http, i) for i in range(12))
    sent, tasks = recorded("annotation_created"), recorded("export")
    assert hooked("ANNOTATION_CREATED") == ("learned", 1, 12, 11)
    sent["annotation"]["result"][0]["value"]["choices"] = ["good"]
    assert hooked("ANNOTATION_UPDATED") == ("corrected", 1, 12, 11)
    assert hooked("ANNOTATION_UPDATED") == ("known", 1, 12, 11)
    export = "/label-studio/export"
    assert http.post(export, json=tasks[:1]).json() == {"corrected": 1}
    deleted = {"annotations": [{"id": 5}, {"id": 999}], "task": None, "annotation": None}
    assert hooked("ANNOTATIONS_DELETED", **deleted) == ("withdrawn", 0, 11, 11)
    assert hooked("ANNOTATIONS_DELETED", **deleted) == ("ignored", 0, 11, 11)
    sent["annotation"]["id"] = 50  # labelled anew
    assert hooked("ANNOTATION_CREATED") == ("learned", 1, 11, 11)
    assert http.post(export, json=tasks[1:2]).json() == {"learned": 1}
    tasks[1]["annotations"][0]["was_cancelled"] = True
    assert http.post(export, json=tasks[1:2]).json() == {"withdrawn": 1}
    assert http.post(export, json=tasks[1:2]).json() == {"skipped": 1}
    assert journal._model.n_pending == 10


def test_labels_are_corrected_and_withdrawn_by_http(http):
    asks = [
        posted(http, "/predictions", id=str(i), x=x)[1]["ask"] for i, (x, _) in enumerate(STREAM)
    ]
    first, other = "0", str(asks.index(False))
    assert posted(http, "/labels", id=first, label="bad") == (200, {"outcome": "learned"})
    assert posted(http, "/labels", id=first, label="good")[0] == 409
    corrected = posted(http, "/labels", id=first, label="good", correct=True)
    assert corrected == (200, {"outcome": "corrected"})
    for outcome in ("withdrawn", "known"):
        assert posted(http, "/withdrawals", id=first) == (200, {"outcome": outcome})
    assert http.get("/health").json()["n_queries"] == sum(asks) - 1
    assert posted(http, "/labels", id=other, label="bad") == (200, {"outcome": "learned"})
    n_queries = http.get("/health").json()["n_queries"]
    corrected = posted(http, "/labels", id=other, label="good", correct=True)
    assert corrected == (200, {"outcome": "corrected"})
    for outcome in ("withdrawn", "known"):
        assert posted(http, "/withdrawals", id=other) == (200, {"outcome": outcome})
    assert http.get("/health").json()["n_queries"] == n_queries  # nothing is given back
    neither = str(asks.index(False, int(other) + 1))
    assert posted(http, "/withdrawals", id=neither)[0] == 422
    assert posted(http, "/skips", id=neither) == (200, {"outcome": "not waiting"})
    assert posted(http, "/withdrawals", id="nobody")[0] == 404


def test_asks_are_handed_over_once(http, tmp_path, monkeypatch, capsys):
    """To what stands for Label Studio: it imports tasks, and exports those recorded."""
    imported, other = [], FastAPI()

    @other.post("/api/token/refresh")
    async def token(request: Request) -> dict[str, str]:
        assert await request.json() == {"refresh": "personal"}
        return {"access": "short"}

    @other.post("/api/projects/3/import", status_code=201)
    async def take(request: Request) -> None:
        assert request.headers["Authorization"] == "Bearer short"
        imported.extend(await request.json())

    @other.get("/api/projects/3/export")
    def give(exportType: str) -> list[dict]:
        return recorded("export")

    assert all(asked(http, i) for i in range(12))
    with serving(other) as studio:
        addresses = ["--service", str(http.base_url), "--label-studio", str(studio.base_url)]
        monkeypatch.setattr(sys, "argv", ["label_studio.py", "--project", "3", *addresses])
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("LABEL_STUDIO_TOKEN", "personal")
        label_studio.main()
        assert capsys.readouterr().out == "12 tasks made; answers: {'learned': 7, 'skipped': 1}\n"
        late = next(i for i in range(12, len(STREAM)) if asked(http, i))
        label_studio.main()
        assert capsys.readouterr().out == "1 tasks made; answers: {'known': 7, 'skipped': 1}\n"
    assert [task["data"]["id"] for task in imported] == [f"order {i}" for i in (*range(12), late)]
    made = {"id": "order 0", "number": 1, "reason": "few classes", "x": STREAM[0][0]}
    assert imported[0] == {"data": made}


STUDIO = "--project 3 --label-studio http://127.0.0.1:"


@pytest.mark.parametrize(
    ("script", "token", "options", "said"),
    [
        (service, "", "--folder . --budget 0.1", "one serves it at a time"),
        (service, "", "--folder . --budget 1.5", "write 0.015 for 1.5 % of the rounds"),
        (label_studio, "", STUDIO + "9", "set LABEL_STUDIO_TOKEN"),
        (label_studio, "mine", STUDIO + "9", "http://127.0.0.1:9/api/token/refresh: ConnectError"),
        (label_studio, "mine", STUDIO + "x", "InvalidURL"),
        (label_studio, "mine", STUDIO + "{}", "404 Not Found"),  # the service is no Label Studio
    ],
)
def test_a_script_that_cannot_do_it_says_why(
    script, token, options, said, http, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", token)
    options = options.format(http.base_url.port).split()
    monkeypatch.setattr(sys, "argv", [f"{script.__name__}.py", *options])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"{script.__name__}.py: ")
    assert said in line


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("timeout")), reason="the page speaks HTTP by curl"
)
def test_the_page_prints_what_it_says(tmp_path):
    blocks = re.findall(r"<!-- run -->\n```(bash|python)\n(.*?)```", PAGE, re.DOTALL)
    assert [kind for kind, _ in blocks] == ["bash"] * 3 + ["python"] * 2 + ["bash"]
    said = "".join(re.findall(r"<!-- output -->\n```text\n(.*?)```", PAGE, re.DOTALL))
    script = "".join(
        f"python - <<'END'\n{code}END\n" if kind == "python" else code for kind, code in blocks
    )
    port = str(free_port())
    script = script.replace("service.py", f"service.py --port {port}").replace("8000", port)
    script = f"trap 'wait' EXIT\n{script}"  # until the service has saved, and ended
    (tmp_path / "examples").symlink_to(EXAMPLES)
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    told = subprocess.run(
        ["timeout", "170", "bash", "-c", script],  # which ends what runs in the background, too
        cwd=tmp_path,
        env={**os.environ, "PATH": os.pathsep.join(folders), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    found = re.sub(r'"at": [\d.]+', '"at": 1790000000.0', told.stdout)
    assert found == said, told.stderr
    assert load(tmp_path / "shop" / "model.safetensors").n_rounds == 101
    assert load(tmp_path / "other-shop" / "model.safetensors").budget == 0.03


def test_what_the_container_runs_serves_and_is_healthy(http, tmp_path, monkeypatch, capsys):
    """Its command, but for the folder, and its health check, but for the port."""
    text = (EXAMPLES / "Dockerfile").read_text().replace("\\\n", "")
    health, command = (json.loads(line) for line in re.findall(r"CMD (\[.*\])", text))
    command[command.index("/data")] = str(tmp_path / "other")
    served = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: served.update(given))
    monkeypatch.setattr(sys, "argv", command[1:])
    service.main()
    assert (served["host"], served["port"]) == ("0.0.0.0", 8000)
    said = "budget: at most 125 labels at once, then 5 in 100 rounds: at most 174 in 1,000 rounds\n"
    assert capsys.readouterr().err == f"{said}page to label on: http://0.0.0.0:8000/\n"
    *python, code = health
    assert python == ["python", "-c"]
    exec(code.replace("8000", str(http.base_url.port)), {})
    with pytest.raises(httpx.ConnectError):
        exec(code.replace("8000", "9"), {})  # where nobody listens
