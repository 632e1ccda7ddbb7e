"""The service of examples/: what HTTP clients, people and a SIGKILL leave in its books."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from river import datasets
from streams import learned, small

from river_ineural import active, load, save
from river_ineural.persistence import to_bytes

for name in ("fastapi", "filelock", "httpx", "pydantic", "uvicorn"):
    pytest.importorskip(name, reason="needs pip install -e '.[service]' in a checkout")

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
sys.path.append(str(EXAMPLES))

import httpx  # noqa: E402
import journal as journal_module  # noqa: E402
import label_studio  # noqa: E402
import service as service_module  # noqa: E402
import service_load  # noqa: E402
import uvicorn  # noqa: E402
from fastapi import FastAPI, Request  # noqa: E402
from journal import Conflict, Journal, Unknown  # noqa: E402
from service import service  # noqa: E402

RECORDED = Path(__file__).parent / "files" / "label_studio"
STREAM = [(x, "bad" if y else "good") for x, y in datasets.Phishing().take(60)]


def sampler(budget=20, **options):
    return active.INeurALSampler(small(n_steps=2, **options), budget=budget, seed=1)


def opened(folder, first=None, **options):
    return Journal(folder, first or sampler(), **options)


def crash(journal):
    """What a kill leaves: the files, and no lock."""
    journal._rows.close()
    journal._folder.release()


def with_broken(journal, table, change):
    """What `change` raises while no row can be written into a table."""
    journal._rows.execute(
        f"CREATE TEMP TRIGGER broken BEFORE INSERT ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    with pytest.raises(sqlite3.Error, match="full"):
        change()
    journal._rows.execute("DROP TRIGGER broken")


@pytest.fixture
def journal(tmp_path):
    opened_here = opened(tmp_path / "data")
    yield opened_here
    crash(opened_here)


@contextlib.contextmanager
def after_a_crash(journal, folder):
    """The journal of what a kill left."""
    crash(journal)
    again = opened(folder)
    yield again
    crash(again)


def predicted(journal, *numbers):
    """What is said of these rows of the stream."""
    return [journal.predict(str(i), STREAM[i][0]) for i in numbers]


# Over HTTP


@pytest.mark.slow
def test_sixteen_clients_and_a_kill(tmp_path):
    told = service_load.killed(tmp_path / "data", n=240, n_clients=16, n_kills=1, budget=60)
    assert told["predictions"] == told["rounds_of_the_model"] == 240
    assert told["asked_for"] == told["asked_by_the_model"] == told["labels"] <= 60
    assert told["labels"] > 20
    assert told["labels_lost"] == told["labels_twice"] == told["told_otherwise"] == 0
    assert told["retries"] > 0  # somebody was interrupted
    assert told["sent_twice"] > 10
    assert told["as_a_loop_without_kills"]


@contextlib.contextmanager
def serving(app, **headers):
    """A client of an app that uvicorn serves in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    until = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < until
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    try:
        with httpx.Client(base_url=f"http://{host}:{port}", headers=headers, timeout=60) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(60)


@pytest.fixture
def http(journal):
    with serving(service(journal)) as client:
        yield client


def posted(http, path, **body):
    answer = http.post(path, json=body)
    return answer.status_code, answer.json()


def test_what_contradicts_is_refused_and_changes_nothing(http, journal):
    """What is sent again counts once."""
    x = {"age": 1.0, "size": 2.0}
    status, first = posted(http, "/predictions", id="a", x=x)
    assert (status, first["ask"], first["reason"]) == (200, True, "few classes")
    assert posted(http, "/predictions", id="a", x=dict(reversed(x.items()))) == (200, first)
    for outcome in ("learned", "known"):
        assert posted(http, "/labels", id="a", label="good") == (200, {"outcome": outcome})
    health = http.get("/health").json()
    assert (health["n_rounds"], health["n_queries"], health["n_labels"]) == (1, 1, 1)
    before = to_bytes(journal._model)
    for path, body, status, said in (
        ("/predictions", {"id": "a", "x": {"age": 2.0}}, 409, "with another x"),
        ("/predictions", {"id": "b", "x": {"age": "old"}}, 422, "INeurAL(categories=True)"),
        ("/predictions", {"id": "b", "x": {"age": None}}, 422, "INeurAL(missing=True)"),
        ("/predictions", {"id": "b", "x": {"age": [1]}}, 422, "valid number"),
        ("/predictions", {"id": "", "x": {"age": 1}}, 422, "at least 1 character"),
        ("/labels", {"id": "a", "label": "bad"}, 409, "has the label 'good' already"),
        ("/labels", {"id": "b", "label": "bad"}, 404, "no round has the id 'b'"),
        ("/labels", {"id": "a", "label": 0.5}, 422, "valid integer"),
        ("/skips", {"id": "b"}, 404, "no round has the id 'b'"),
    ):
        answer = http.post(path, json=body)
        assert (answer.status_code, said in answer.text) == (status, True), answer.text
    assert to_bytes(journal._model) == before


NOT_UNDERSTOOD = {
    "a half": ("/predictions", '{"id"', 422),
    "nothing": ("/predictions", "", 422),
    "a list": ("/labels", "[]", 422),
    "NaN": ("/predictions", '{"id": "a", "x": {"age": [NaN]}}', 422),
    "an infinite number": ("/predictions", '{"id": "b", "x": {"age": 1e999}}', 422),
    "a huge number": ("/predictions", '{"id": "b", "x": {"age": 1' + 4000 * "0" + "}}", 422),
    "a huger number": ("/predictions", '{"id": "b", "x": {"age": 1' + 9000 * "0" + "}}", 400),
    "no UTF-8": ("/predictions", b'{"id": "\xff"}', 400),
    "half a character in a name": ("/predictions", r'{"id": "b", "x": {"\ud800": 1}}', 422),
    "half a character in an id": ("/predictions", r'{"id": "\ud800", "x": {"age": 1}}', 422),
    "half a character in a label": ("/labels", r'{"id": "a", "label": "\ud800"}', 422),
    "half a character in a task": (
        "/label-studio/webhook",
        r'{"action": "ANNOTATION_CREATED", "annotation": {"result": []}, '
        r'"task": {"data": {"id": "\ud800"}}}',
        422,
    ),
    "deep": ("/predictions", 100_000 * "[", 400),
    "10 MB of an id": ("/predictions", '{"id": "' + 10_000_000 * "a" + '"}', 413),
    "10 MB in pieces": ("/predictions", (b" " * 100_000 for _ in range(100)), 413),
    "3 MB of features": (
        "/predictions",
        '{"id": "b", "x": {' + ", ".join(f'"{i}": {i}' for i in range(200_000)) + "}}",
        422,
    ),
}


@pytest.mark.parametrize(
    ("path", "body", "status"), NOT_UNDERSTOOD.values(), ids=list(NOT_UNDERSTOOD)
)
def test_what_cannot_be_understood_changes_nothing(path, body, status, http, journal):
    before = to_bytes(journal._model)
    answer = http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, bool(answer.json()["detail"])) == (status, True)
    assert to_bytes(journal._model) == before
    assert posted(http, "/predictions", id="b", x={"age": 1.0})[0] == 200


def test_asks_are_a_queue(http):
    for i, (x, _) in enumerate(STREAM[:5]):
        posted(http, "/predictions", id=str(i), x=x)

    def waiting(**params):
        return [ask["id"] for ask in http.get("/asks", params=params).json()]

    first, second = http.get("/asks", params={"most": 2}).json()
    assert (first["id"], first["x"], first["reason"]) == ("0", STREAM[0][0], "few classes")
    assert waiting(after=second["number"]) == ["2", "3", "4"]
    posted(http, "/labels", id="0", label="good")
    assert posted(http, "/skips", id="1") == (200, {"outcome": "skipped"})
    assert waiting() == ["2", "3", "4"]
    assert posted(http, "/labels", id="1", label="bad") == (200, {"outcome": "learned"})
    assert http.get("/health").json()["n_waiting"] == 3


def test_a_token_is_asked_for(journal):
    with serving(service(journal, token="secret")) as client:
        assert client.get("/health").status_code == 200
        for path in ("/asks", "/label-studio/tasks"):
            assert client.get(path).status_code == 401
            wrong = client.get(path, headers={"Authorization": "Bearer other"})
            assert wrong.status_code == 401
            assert client.get(path, headers={"Authorization": "Bearer secret"}).status_code == 200


# The journal


@settings(max_examples=25)
@given(
    events=st.lists(
        st.tuples(
            st.sampled_from(["predict"] * 4 + ["learn"] * 3 + ["crash", "close", "fail"]),
            st.integers(0, 14),
        ),
        max_size=50,
    ),
    budget=st.sampled_from([5, 0.2]),
)
def test_whatever_happens_it_is_a_loop(tmp_path_factory, events, budget):
    folder = tmp_path_factory.mktemp("journal")
    plain, told, learned = sampler(budget), {}, set()
    plain.n_rows = 0
    kept = opened(folder, sampler(budget), every=4)
    for event, i in events:
        (x, y), id = STREAM[i], str(i)
        if event in ("crash", "close"):
            crash(kept) if event == "crash" else kept.close()
            kept = opened(folder, every=4)
        elif event == "fail" and id not in told:
            with_broken(kept, "rounds", lambda: kept.predict(id, x))  # noqa: B023
        elif event == "fail" and id not in learned:
            with_broken(kept, "labels", lambda: kept.learn(id, y))  # noqa: B023
        elif event == "predict":
            if id not in told:
                told[id] = plain.predict_one(x)
                plain.n_rows += 1
            found = kept.predict(id, x)
            assert (found.prediction, found.ask) == told[id]
        elif event == "learn" and id in told:
            if new := id not in learned:
                plain.learn_one(x, y)
                plain.n_rows += 1
                learned.add(id)
            assert kept.learn(id, y) == new
        elif event == "learn":
            with pytest.raises(Unknown):
                kept.learn(id, y)
    waiting = {id for id, (_, ask) in told.items() if ask} - learned
    assert {ask.id for ask in kept.asks()} == waiting
    kept.close()
    opened(folder).close()  # after a row that could not be written the file is behind until then
    found = load(folder / "model.safetensors")
    found.n_rows = getattr(found, "n_rows", 0)  # none before there is a row
    assert to_bytes(found) == to_bytes(plain)


@pytest.mark.parametrize(
    ("error", "written"), [(OSError, False), (KeyboardInterrupt, False), (KeyboardInterrupt, True)]
)
def test_a_model_that_cannot_be_saved_leaves_the_rows(error, written, tmp_path, monkeypatch):
    """A full disk is tried again later; a kill loses nothing, with the new file there or not."""
    kept = opened(tmp_path, every=3)

    def broken(model, path):
        if written:
            save(model, path)
        raise error("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(journal_module, "save", broken)
        told = predicted(kept, 0, 1)
        with pytest.raises(error) if error is KeyboardInterrupt else contextlib.nullcontext():
            predicted(kept, 2)
    if error is OSError:
        assert kept.health()["n_unsaved"] == 3
        predicted(kept, 3, 4, 5)
        assert kept.health()["n_unsaved"] == 0
    with after_a_crash(kept, tmp_path) as again:
        assert predicted(again, 0, 1) == told
        assert again.health()["n_rounds"] == (6 if error is OSError else 3)


def test_files_that_do_not_belong_together_say_what_to_do(tmp_path):
    kept = opened(tmp_path)
    kept.predict("a", {"age": 1.0})
    kept.close()
    file, rows = tmp_path / "model.safetensors", tmp_path / "rows.sqlite"
    file.rename(tmp_path / "away")
    with pytest.raises(RuntimeError, match="put it back, or start with an empty folder"):
        opened(tmp_path)
    (tmp_path / "away").rename(file)
    rows.rename(tmp_path / "away")
    with pytest.raises(RuntimeError, match=r"put back the rows\.sqlite that belongs to it"):
        opened(tmp_path)
    (tmp_path / "away").replace(rows)
    again = opened(tmp_path)
    assert again.health()["n_rounds"] == 1
    again.close()


def test_old_rows_go_when_the_model_is_saved(tmp_path):
    kept, numbers = opened(tmp_path, every=5, keep=10), []
    for i, (_, y) in enumerate(STREAM[:30]):
        (found,) = predicted(kept, i)
        numbers.append(kept._model.n_rows)
        if found.ask:
            kept.learn(str(i), y)
    here = [number for (number,) in kept._rows.execute("SELECT number FROM rounds")]
    assert here == [number for number in numbers if number > kept._saved - 10]
    assert len(here) < 15
    with pytest.raises(Unknown):
        kept.learn("0", "good")
    with after_a_crash(kept, tmp_path) as again:
        assert again.health()["n_rounds"] == 30


def test_rounds_decided_otherwise_after_a_kill_are_counted(tmp_path, caplog):
    """What was said holds; a budget that was changed decides no earlier round otherwise."""
    kept = opened(tmp_path)
    assert all(found.ask for found in predicted(kept, *range(8)))
    kept.change_budget(5)
    assert not any(found.ask for found in predicted(kept, *range(8, 12)))
    kept._rows.execute("UPDATE rounds SET ask = 1 WHERE id = '9'")
    kept._rows.commit()
    with after_a_crash(kept, tmp_path) as again:
        assert (again.health()["n_queries"], again.health()["n_otherwise"]) == (8, 1)
        assert "1 rounds were decided otherwise" in caplog.text
        assert predicted(again, 9)[0].ask


def test_a_model_of_ones_own_is_gone_on_with(tmp_path):
    """Warm, with labels that are numbers: people's "1" is 1."""
    rows = [({**x, "kind": "a"}, int(y == "bad")) for x, y in STREAM[:20]]
    model = learned(sampler(categories=True), rows)
    model.horizon = 1  # which ends with the stream that it learned
    save(model, tmp_path / "model.safetensors")
    kept = opened(tmp_path)
    kept.change_budget(20)
    assert (kept.health()["budget"], kept.health()["horizon"]) == ("20", None)
    assert kept.predict("a", {**STREAM[0][0], "kind": "b"}).prediction in (0, 1)
    assert kept.learn("a", "1")
    assert not kept.learn("a", 1)
    with pytest.raises(Conflict):
        kept.learn("a", "0")
    assert set(kept._model.classifier.known_labels) == {0, 1}
    crash(kept)


# People


def recorded(name):
    return json.loads((RECORDED / f"{name}.json").read_text())


@pytest.fixture
def with_orders(http):
    """The rounds that people were asked about when that was recorded."""
    for i, (x, _) in enumerate(STREAM[:12]):
        assert posted(http, "/predictions", id=f"order {i}", x=x)[1]["ask"]
    return http


def test_answers_of_label_studio_are_learned_once(with_orders):
    """By webhook and by the export; what people skip is waited for no longer."""

    def hooked(sent):
        answer = with_orders.post("/label-studio/webhook", json=sent)
        health = with_orders.get("/health").json()
        outcome = answer.json().get("outcome", answer.status_code)
        return outcome, health["n_labels"], health["n_waiting"]

    sent, tasks = recorded("annotation_created"), recorded("export")
    for change in ({"action": "ANNOTATION_UPDATED"}, {"task": None}):
        assert hooked(sent | change) == ("ignored", 0, 12)
    assert hooked(sent) == ("learned", 1, 11)
    assert hooked(sent) == ("known", 1, 11)
    sent["annotation"]["result"][0]["value"]["choices"] = ["something else"]
    assert hooked(sent) == (409, 1, 11)
    assert hooked(recorded("skipped")) == ("skipped", 1, 10)
    answered = with_orders.post("/label-studio/export", json=tasks).json()
    assert answered == {"known": 1, "learned": 6, "skipped": 1}
    tasks[0]["annotations"][0]["result"][0]["value"]["choices"] = ["something else"]
    tasks[1]["data"]["id"] = "order 99"
    del tasks[2]["data"]["id"]
    tasks[3]["annotations"][0]["result"] *= 2
    answered = with_orders.post("/label-studio/export", json=tasks).json()
    found = {"conflict": 1, "unknown": 1, "ignored": 1, "refused": 1, "known": 3, "skipped": 1}
    assert answered == found
    assert with_orders.get("/health").json()["n_labels"] == 7


def test_asks_are_handed_over_once(with_orders, tmp_path, monkeypatch, capsys):
    """To what stands for Label Studio: it imports tasks, and exports those recorded."""
    imported, other = [], FastAPI()

    @other.post("/api/token/refresh")
    async def token(request: Request) -> dict[str, str]:
        assert await request.json() == {"refresh": "personal"}
        return {"access": "short"}

    @other.post("/api/projects/{project}/import", status_code=201)
    async def take(project: int, request: Request) -> None:
        assert request.headers["Authorization"] == "Bearer short"
        imported.extend((project, task) for task in await request.json())

    @other.get("/api/projects/{project}/export")
    def give(project: int, exportType: str) -> list[dict]:
        return recorded("export")

    with serving(other) as studio:
        addresses = ["--service", str(with_orders.base_url), "--label-studio", str(studio.base_url)]
        options = ["--project", "3", "--cursor", str(tmp_path / "cursor")]
        monkeypatch.setattr(sys, "argv", ["label_studio.py", *addresses, *options])
        monkeypatch.setenv("LABEL_STUDIO_TOKEN", "personal")
        label_studio.main()
        assert capsys.readouterr().out == "12 tasks made; answers: {'learned': 7, 'skipped': 1}\n"
        late = next(
            f"late {i}"
            for i, (x, _) in enumerate(STREAM[12:60])
            if posted(with_orders, "/predictions", id=f"late {i}", x=x)[1]["ask"]
        )
        label_studio.main()
        assert capsys.readouterr().out == "1 tasks made; answers: {'known': 7, 'skipped': 1}\n"
    ids = [task["data"]["id"] for _, task in imported]
    assert ids == [*(f"order {i}" for i in range(12)), late]
    made = {"id": "order 0", "number": 1, "reason": "few classes", "x": STREAM[0][0]}
    assert imported[0] == (3, {"data": made})


TO_NOBODY = ["--label-studio", "http://127.0.0.1:9"]


@pytest.mark.parametrize(
    ("script", "token", "options", "said"),
    [
        (service_module, "", ["--budget", "0.1"], "one serves it at a time"),
        (service_module, "", ["--budget", "1.5"], "write 0.015 for 1.5 % of the rounds"),
        (label_studio, "", TO_NOBODY, "set LABEL_STUDIO_TOKEN"),
        (label_studio, "mine", TO_NOBODY, "http://127.0.0.1:9/api/token/refresh: ConnectError"),
        (label_studio, "mine", ["--label-studio", "http://127.0.0.1:x"], "InvalidURL"),
        (label_studio, "mine", [], "404 Not Found"),  # the service is no Label Studio
    ],
)
def test_a_script_that_cannot_do_it_says_why(
    script, token, options, said, http, tmp_path, monkeypatch, capsys
):
    own = ["--folder", str(tmp_path / "data")]
    if script is label_studio:
        own = ["--project", "3", "--cursor", str(tmp_path / "cursor")]
        own += ["--label-studio", str(http.base_url)]
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", token)
    monkeypatch.setattr(sys, "argv", [f"{script.__name__}.py", *own, *options])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"{script.__name__}.py: ")
    assert said in line


# The page


def page():
    return (ROOT / "docs" / "in-production.md").read_text()


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("timeout")), reason="the page speaks HTTP by curl"
)
def test_the_page_prints_what_it_says(tmp_path):
    blocks = re.findall(r"<!-- run -->\n```(bash|python)\n(.*?)```", page(), re.DOTALL)
    assert [kind for kind, _ in blocks] == ["bash"] * 3 + ["python"] * 2 + ["bash"]
    said = "".join(re.findall(r"<!-- output -->\n```text\n(.*?)```", page(), re.DOTALL))
    script = "".join(
        f"python - <<'END'\n{code}END\n" if kind == "python" else code for kind, code in blocks
    )
    port = str(service_load.free_port())
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


def test_the_form_of_the_page_is_the_one_that_was_tried():
    form = page().partition("```xml\n")[2].partition("```")[0]
    assert recorded("annotation_created")["project"]["label_config"] + "\n" == form


def test_what_the_container_runs_serves_and_is_healthy(http, tmp_path, monkeypatch):
    """Its command, but for the folder, and its health check, but for the port."""
    text = (EXAMPLES / "Dockerfile").read_text().replace("\\\n", "")
    health, command = (json.loads(line) for line in re.findall(r"CMD (\[.*\])", text))
    command[command.index("/data")] = str(tmp_path / "other")
    served = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: served.update(given))
    monkeypatch.setattr(sys, "argv", command[1:])
    service_module.main()
    assert (served["host"], served["port"]) == ("0.0.0.0", 8000)
    *python, code = health
    assert python == ["python", "-c"]
    exec(code.replace("8000", str(http.base_url.port)), {})
    with pytest.raises(httpx.ConnectError):
        exec(code.replace("8000", str(service_load.free_port())), {})
