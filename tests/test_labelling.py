"""The page of the service to label on, and a CSV file that goes from unlabelled to labelled."""

import ast
import contextlib
import csv
import io
import itertools
import json
import re
import shutil
import socket
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

for name in ("fastapi", "filelock", "httpx", "pydantic", "uvicorn"):
    pytest.importorskip(name, reason="needs pip install -e '.[service]' in a checkout")

sys.path.append(str(Path(__file__).parents[1] / "examples"))

import httpx  # noqa: E402
import labelling  # noqa: E402
import service  # noqa: E402
import uvicorn  # noqa: E402
from journal import Journal  # noqa: E402
from streams import python  # noqa: E402

CLASSES = "low", "high"
N = 300
CELLS = [
    {"id": f"o{i}", "size": f"{(i * 37 % N) / 10:.1f}", "shop": "AB "[i % 3].strip(), "-": "?"}
    for i in range(N)
]
TRUTH = [CLASSES[float(row["size"]) > 15] for row in CELLS]
EXAMPLES = Path(labelling.__file__).parent
PAGE = EXAMPLES.parent / "docs" / "label-a-csv.md"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "orders.csv"
    with path.open("w", newline="") as opened:
        rows = csv.DictWriter(opened, CELLS[0])
        rows.writeheader()
        rows.writerows(CELLS)
    return path


@contextlib.contextmanager
def serving(file, budget=None, classes=CLASSES, token=None):
    """A client of the service that was started with this file; the folder is beside it."""
    rows = labelling.Rows(file)
    sampler = labelling.sampler_for(rows, classes, budget)
    journal = Journal(file.parent / "kept", sampler, classes=classes)
    if budget is not None:
        journal.change_budget(sampler.budget)
    try:
        app = service.service(journal, token, rows, classes)
    except ValueError:
        journal.close()
        raise
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with httpx.Client(base_url=address, timeout=60) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(60)


def sent(http, path, **body):
    return http.post(path, json=body).raise_for_status().json()


def asked(http):
    """What the page is told when a question waits, or there are no more."""
    while not ((told := sent(http, "/next"))["done"] or told["question"]):
        pass
    return told


def truth(id):
    return TRUTH[int(id.removeprefix("row ")) - 1]


def table(http):
    return list(csv.DictReader(io.StringIO(http.get("/rows.csv").raise_for_status().text)))


def test_the_extra_service_is_all_that_the_service_needs():
    """Packages that other extras bring are taken away."""
    others = ("jinja2", "matplotlib", "polars", "rich", "sklearn", "tqdm")
    code = f"import sys; sys.modules |= dict.fromkeys({others}); sys.path.append({str(EXAMPLES)!r})"
    python("-c", f"{code}; import service")


def test_the_program_of_the_page_labels_a_file(file, tmp_path, monkeypatch):
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)

    def somebody(prompt):
        return TRUTH[CELLS.index(ast.literal_eval(prompt.removesuffix(": ")))]

    monkeypatch.chdir(tmp_path)
    with serving(file, budget=15) as http:
        code = code.replace("http://127.0.0.1:8000", str(http.base_url))
        exec(code, {"input": somebody})
    found = list(csv.DictReader(io.StringIO((tmp_path / "labelled.csv").read_text())))
    said = {i: row["label"] for i, row in enumerate(found) if row["said_by"] == "person"}
    assert said == {i: TRUTH[i] for i in said}
    assert len(said) == 15


def test_a_service_of_a_file_predicts_nothing_else(file):
    with serving(file, budget=15) as http:
        answer = http.post("/predictions", json={"id": "a", "x": CELLS[0]})
        assert (answer.status_code, answer.json()["detail"]) == (
            409,
            "this service predicts the rows of its --csv alone",
        )


def test_a_file_is_labelled_and_its_cells_stay_as_they_were(file):
    """To the end, with a question that is skipped and one that is withdrawn, and a new start."""
    answers, others = {}, []
    with serving(file, budget=15) as http:
        assert {row["label"] + row["said_by"] for row in table(http)} == {""}  # nobody answered
        first = asked(http)
        assert (first["classes"], first["named"], first["left"]) == ([*CLASSES], True, 14)
        for path in ("/skips", "/withdrawals"):
            others.append((asked(http)["question"])["id"])
            sent(http, path, id=others[-1])
        while len(answers) < 12:
            told = asked(http)
            id = told["question"]["id"]
            assert told["question"]["x"] == CELLS[int(id[4:]) - 1]
            answers[id] = truth(id)
            sent(http, "/labels", id=id, label=answers[id])
        waiting = asked(http)["question"]
    with serving(file, budget=15) as http:
        assert asked(http)["question"] == waiting
        answer_all(http, answers, others)
        told = asked(http)
        assert (told["rows"], told["done"], told["left"]) == (N, True, 0)
        assert told["spent"] == len(answers) + 1 == 15  # and the skipped one
        assert told["predicted"] < N  # the others wait for more labels
    with serving(file, budget=30) as http:
        assert sent(http, "/next")["predicted"] > told["predicted"]
        answer_all(http, answers, others)
        told = asked(http)
        assert told["spent"] == len(answers) + 1 == 30 - told["left"]
        wrong = next(iter(answers))
        answers[wrong] = next(label for label in CLASSES if label != answers[wrong])
        sent(http, "/labels", id=wrong, label=answers[wrong], correct=True)
        found = table(http)
    assert [{name: row[name] for name in CELLS[0]} for row in found] == CELLS
    people = {f"row {i + 1}": row for i, row in enumerate(found) if row["said_by"] == "person"}
    assert {id: row["label"] for id, row in people.items()} == answers
    assert all(0 <= float(row["probability"]) <= 1 for row in found)
    said = [row["label"] for row in found]
    right = sum(label == true for label, true in zip(said, TRUTH, strict=True))
    assert right > 0.9 * N  # of 300, with 29 labels, one of them wrong
    of_model = [float(row["probability"]) for row in found if row["said_by"] == "model"]
    assert min(of_model) >= 0.5  # of two classes


def answer_all(http, answers, others):
    """Answer questions as long as there are some."""
    while question := asked(http)["question"]:
        assert question["id"] not in {*answers, *others}
        answers[question["id"]] = truth(question["id"])
        sent(http, "/labels", id=question["id"], label=truth(question["id"]))


def test_a_request_predicts_a_bounded_number_of_rows(file, monkeypatch):
    monkeypatch.setattr(labelling, "AT_ONCE", 7)
    told = []
    with serving(file, budget=40) as http:
        while not told or not told[-1]["done"]:
            told.append(sent(http, "/next"))
            if question := told[-1]["question"]:
                sent(http, "/labels", id=question["id"], label=truth(question["id"]))
    between = [b["predicted"] - a["predicted"] for a, b in itertools.pairwise(told)]
    assert max(between) == 7
    assert told[-1]["predicted"] == N
    assert [each["done"] for each in told] == [False] * (len(told) - 1) + [True]


@pytest.mark.parametrize("change", ["cells", "order", "drop", "more"])
def test_other_rows_of_the_same_name_are_refused(change, file, monkeypatch):
    """Else answers, which are kept by the number of the row, would go to wrong rows."""
    with serving(file) as http:
        asked(http)
    header, *lines = file.read_text().splitlines(keepends=True)
    if change == "cells":
        lines = [line.replace(".", ".1") for line in lines]
    elif change == "order":
        lines = sorted(lines)
    elif change == "more":
        lines += lines[:3]
    else:
        whole = labelling.Rows
        monkeypatch.setattr(labelling, "Rows", lambda file: whole(file, drop=["shop"]))
    file.write_text("".join([header, *lines]))
    with pytest.raises(ValueError, match="put back the file"), serving(file):
        pass


def test_what_is_learned_from_is_said(tmp_path):
    path = tmp_path / "orders.csv"
    rows = [f"{i * 7 % 50},{i * 37 % 50 / 4},{CLASSES[i % 3 > 0]}\n" for i in range(50)]
    path.write_text("number,size,what\n" + "".join(rows))
    assert labelling.Rows(path, classes=CLASSES).notes == [
        "learns from: number, size, what",
        "with values that are classes (--drop leaves out the one that is the answer): what",
        "with another whole number in each row (--drop leaves out ids): number",
    ]
    dropped = labelling.Rows(path, drop=["number", "what"], classes=CLASSES)
    assert dropped.notes == ["learns from: size"]
    assert dropped.examples[1] == {"size": 9.25}
    assert [*dropped.cells] == ["number", "size", "what"]
    with pytest.raises(ValueError, match="no column 'nr'"):
        labelling.Rows(path, drop=["nr"])


def test_a_column_that_is_the_answer_is_told_of_at_the_end(file):
    """In other words, so that its values did not show it."""
    header, *lines = file.read_text().splitlines()
    words = ("small" if label == "low" else "large" for label in TRUTH)
    rows = [f"{line},{word}" for line, word in zip(lines, words, strict=True)]
    file.write_text("\n".join([f"{header},kind", *rows]))
    with serving(file, budget=120) as http:
        first = asked(http)
        assert first["question"]["suggestion"] is None  # nobody has said anything
        answer_all(http, answers := {}, [])
        assert len(answers) >= labelling.ENOUGH
        notes = asked(http)["notes"]
    told = {note.partition(":")[0]: note for note in notes}
    assert {"kind"} <= told.keys() <= {"size", "kind"}
    assert told["kind"].startswith("kind: this column alone tells 100.0% of the labels")


def test_a_file_is_given_back_with_its_marks(file):
    text = file.read_text().replace(",", ";").replace(".", ",")
    text = text.replace("id;size", ";size").replace(
        "shop;-", "shop;shop"
    )  # names as pandas has none
    file.write_text(text, encoding="utf-8-sig")
    with serving(file, budget=15) as http:
        answer_all(http, {}, [])
        lines = http.get("/rows.csv").text.splitlines()
    before = text.splitlines()
    assert lines[0] == f"{before[0]};label;probability;said_by"
    for line, cells in zip(lines[1:], before[1:], strict=True):
        assert re.fullmatch(f"{re.escape(cells)};(low|high);[01],\\d{{3}};(person|model)", line)


def test_columns_without_a_name_stay(file):
    """As those that a program writes in front, or that separators at the ends of lines make."""
    header, *lines = file.read_text().splitlines()
    lines = [f"{i},{line},," for i, line in enumerate(lines)]
    file.write_text("\n".join([f",{header},,", *lines]))
    with serving(file, budget=15) as http:
        told = asked(http)["question"]
        answer_all(http, {}, [])
        found = http.get("/rows.csv").text.splitlines()
    assert found[0] == f",{header},,,label,probability,said_by"
    assert all(line.startswith(before) for line, before in zip(found[1:], lines, strict=True))
    assert [*told["x"]] == ["Unnamed: 0", *CELLS[0]]


def test_no_more_labels_are_allowed_than_rows(file):
    rows = labelling.Rows(file)
    for given, limit, of in ((None, 100, 150), (200, 200, 200), (1.0, N, N), (10**9, N, N)):
        budget = labelling.sampler_for(rows, CLASSES, given).budget
        assert (budget.limit, budget.horizon) == (limit, of)


def test_a_label_that_is_no_class_is_refused(file):
    with serving(file) as http:
        id = asked(http)["question"]["id"]
        answer = http.post("/labels", json={"id": id, "label": "hgih"})
        assert (answer.status_code, answer.json()) == (
            422,
            {"detail": "the label 'hgih' is none of low, high."},
        )
        assert sent(http, "/labels", id=id, label="high") == {"outcome": "learned"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,label\n1,2\n", "column 'label', which /rows.csv adds: rename"),
        ("a,b\n", "orders.csv has no row below its header"),
        ("a\n" + "".join(f"word {i}\n" for i in range(150)), "no column of orders.csv is left"),
        ("a;b\n1,500;2\n2,500;3\n", "'a' holds '1,500': write numbers as 1234.5, or leave"),
        ("a,b\n1,2\n1,2,3\n", "(line 1 is the header; cells that have a separator belong in"),
        ("a\n1\n", "--budget 0.1 of 1 rows is no label: write 100"),
    ],
)
def test_a_file_that_cannot_be_labelled_says_why(text, said, file, monkeypatch, capsys):
    file.write_text(text)
    monkeypatch.chdir(file.parent)
    given = ["--csv", str(file), "--budget", "10%", "--classes", "yes", "no"]
    monkeypatch.setattr(sys, "argv", ["service.py", *given])
    monkeypatch.setattr(service, "warm_up", lambda model: None)
    with pytest.raises(SystemExit):
        service.main()
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_an_address_that_cannot_be_used_is_said_before_a_folder_is_made(file, monkeypatch, capsys):
    monkeypatch.chdir(file.parent)
    before = {*file.parent.iterdir()}
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        for port, said in (("99999", "a number from 1 to 65535"), (taken, "Choose another --port")):
            monkeypatch.setattr(sys, "argv", ["service.py", "--csv", str(file), "--port", port])
            with pytest.raises(SystemExit):
                service.main()
            assert said in capsys.readouterr().err.splitlines()[-1]
    assert {*file.parent.iterdir()} == before


@pytest.mark.parametrize("named", [["yes,no"], ["yes", " "], ["yes", "yes ", "no"]])
def test_classes_that_are_none_are_refused_before_the_file_is_read(named, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["service.py", "--csv", "none.csv", "--classes", *named])
    with pytest.raises(SystemExit):
        service.main()
    assert "--classes takes two different labels or more" in capsys.readouterr().err


@pytest.mark.parametrize("after", ["a question", "the last one", "all labels", "all rows"])
def test_a_start_says_why_no_more_is_asked_for(after, file, monkeypatch, capsys):
    if after == "all rows":
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:12]))
    with serving(file, budget=2, classes=()) as http:
        while after != "a question" and not (found := sent(http, "/next"))["done"]:
            if found["question"] and after == "all rows":
                sent(http, "/withdrawals", id=found["question"]["id"])
            elif found["question"] and after == "the last one" and not found["left"]:
                break
            elif found["question"]:
                sent(http, "/skips", id=found["question"]["id"])
    opened = []
    monkeypatch.setattr(
        service, "Journal", lambda *args, **how: opened.append(Journal(*args, **how)) or opened[0]
    )
    monkeypatch.setattr(service, "warm_up", lambda model: None)
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: opened[0].close())
    folder = str(file.parent / "kept")
    monkeypatch.setattr(sys, "argv", ["service.py", "--csv", str(file), "--folder", folder])
    service.main()
    said = capsys.readouterr().err
    assert ("all rows are predicted" in said) == (after == "all rows")
    assert ("all labels are used" in said) == (after == "all labels")


@pytest.mark.parametrize(
    ("named", "known", "missing"),
    [
        (["yes", "no"], ["no", "yes"], None),
        (["1", "0"], [0, 1], None),
        ([], ["yes"], None),
        (["Y", "N", "U"], ["Y", "N"], None),
        (["Y", "U"], ["Y", "N"], "N"),
    ],
)
def test_a_restart_names_all_classes_that_there_are(named, known, missing):
    if missing is None:
        labelling.check_classes(named, known)
    else:
        with pytest.raises(ValueError, match=f"leaves out {missing}, which"):
            labelling.check_classes(named, known)


def test_without_a_file_the_page_shows_the_queue(tmp_path):
    rows = labelling.Rows(file_of(tmp_path))
    journal = Journal(tmp_path / "kept", labelling.sampler_for(rows, (), None))
    paths = {route.path: route.endpoint for route in labelling.router(journal).routes}
    assert paths["/next"]()["question"] is None
    journal.predict("order 1", {"age": 3.0})
    told = paths["/next"]()
    assert told["question"]["x"] == {"age": 3.0}
    assert (told["classes"], told["named"], told["rows"]) == ([], False, None)
    journal.learn("order 1", "good")
    assert paths["/next"]()["classes"] == ["good"]
    with pytest.raises(service.HTTPException, match="--csv"):
        paths["/rows.csv"]()
    journal.close()


def file_of(folder):
    path = folder / "few.csv"
    path.write_text("age\n1\n2\n")
    return path


@pytest.mark.parametrize(("value", "n_labels"), [(0.9, 10), (0.9, 9), (float("nan"), 10)])
def test_an_estimate_of_the_accuracy_is_told_where_there_are_labels(value, n_labels):
    told = {"value": 0.9, "low": 0.8, "high": 1.0}
    model = SimpleNamespace(accuracy=SimpleNamespace(**told | {"value": value}, n_labels=n_labels))
    assert labelling.accuracy_of(model) == (told if (value, n_labels) == (0.9, 10) else None)
    assert labelling.accuracy_of(SimpleNamespace()) is None


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_page_goes_on_where_another_page_was_first(file):
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with serving(file) as http, sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(str(http.base_url))
        first = page.locator("#name", has_text="row ").text_content(timeout=60_000)
        sent(http, "/labels", id=first, label="low")  # as another page does
        page.keyboard.press("2")
        page.locator("#name", has_text=re.compile(rf"^(?!{first}$)row")).text_content()
        told = f"{first} got another label on another page, which stays. Undo shows it again."
        assert page.locator("#problem").text_content() == told
        page.keyboard.press("u")
        assert page.locator("#name").text_content() == first
        page.keyboard.press("2")  # corrects it
        page.locator("#name", has_text=re.compile(rf"^(?!{first}$)row")).text_content()
        assert page.locator("#problem").text_content() == ""
        lines = http.get("/rows.csv").text.splitlines()
        label, _, by = lines[int(first.removeprefix("row "))].split(",")[-3:]
        assert (label, by) == ("high", "person")
        browser.close()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_twenty_questions_by_keyboard_on_a_narrow_screen(file, scheme):
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    answers = {}
    with serving(file, token="t") as http, sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        size = {"width": 390, "height": 844}
        context = browser.new_context(viewport=size, color_scheme=scheme)
        page, problems = context.new_page(), []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(str(http.base_url))
        page.locator("#token input").fill("t")
        page.keyboard.press("Enter")

        def shown(but=None):
            """The id of the question, when it is another one."""
            found = page.locator("#name", has_text=re.compile(rf"^(?!{but}$)row \d+$"))
            return found.text_content(timeout=60_000)

        id = shown()
        while len(answers) < 20:
            assert not page.locator("#suggestion").is_visible()
            answers[id] = truth(id)
            page.keyboard.press(str(1 + CLASSES.index(answers[id])))
            id = shown(id)
        page.keyboard.press("h")
        assert page.locator("#suggestion").text_content() in (
            f"The model says {label}." for label in CLASSES
        )
        page.keyboard.press("u")  # the latest one gets the other label
        last = [*answers][-1]
        assert shown(id) == last
        (given,) = page.locator("#classes .given").all()
        assert answers[last] in given.text_content()
        answers[last] = CLASSES[answers[last] == CLASSES[0]]
        page.keyboard.press(str(1 + CLASSES.index(answers[last])))
        assert shown(last) == id
        left = page.locator("#spent").text_content()
        page.keyboard.press("w")
        skipped = shown(id)
        assert "21 labels asked for, 79 left" in left  # twenty labels, and the one that is shown
        assert "21 labels asked for, 79 left" in page.locator("#spent").text_content()
        page.keyboard.press("s")  # a slip, which Undo takes back
        id = shown(skipped)
        page.keyboard.press("u")
        assert shown(id) == skipped
        answers[skipped] = truth(skipped)
        page.keyboard.press(str(1 + CLASSES.index(answers[skipped])))
        assert shown(skipped) == id
        assert "22 labels asked for, 78 left" in page.locator("#spent").text_content()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for button in page.locator("button:visible, a:visible").all():
            assert button.bounding_box()["height"] >= 44  # of a finger
        light = page.evaluate(
            "getComputedStyle(document.querySelector('#actions')).backgroundColor"
        )
        assert (min(json.loads(f"[{light[4:-1]}]")) > 200) == (scheme == "light")
        with page.expect_download() as download:
            page.locator("#file").press("Enter")
        assert download.value.suggested_filename == f"{file.stem}-labelled.csv"
        found = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
        browser.close()
    assert not problems
    said = {
        f"row {i}": row["label"] for i, row in enumerate(found, 1) if row["said_by"] == "person"
    }
    assert said == answers
    assert len(found) == N
