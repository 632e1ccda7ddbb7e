"""Pages whose blocks are run as they stand, in their order, in one folder."""

import contextlib
import datetime
import doctest
import inspect
import io
import math
import pydoc
import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from river import ensemble, linear_model
from river.feature_extraction import BagOfWords
from streams import python, small

from river_ineural import INeurAL, active, load, save

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(
    r"^```(python|bash)\n(.*?)^```\n(?:\n<!-- output -->\n```text\n(.*?)^```\n)?", re.M | re.S
)
PAGES = ("your-own-csv", "compared-with")


def blocks(page):
    """Language, code, and what it prints where the page says so."""
    return [match.groups() for match in BLOCK.finditer((DOCS / f"{page}.md").read_text())]


def table(text):
    """Of what `compare` prints: name, and the numbers but for the seconds."""
    found = re.findall(r"^(\S.*?)\s{2,}([\d.]+(?:\s+[\d.-]+){5})$", text, re.M)
    return {name: [*map(float, re.findall(r"[\d.]+", row)[:-1])] for name, row in found}


def assert_alike(printed, said):
    """The same, but for 0.02 of a share and 5 labels: other machines round otherwise."""
    number = r"\b0\.\d+\b|\b\d+(?= labels)"
    assert re.sub(number, "…", printed) == re.sub(number, "…", said)
    for found, expected in zip(re.findall(number, printed), re.findall(number, said), strict=True):
        assert float(found) == pytest.approx(float(expected), abs=0.02 if "." in found else 5)


def run_bash(code, said):
    """One command; accuracies as on the page within three points, for seeds are of a machine."""
    words = shlex.split(code)
    assert words[0] == "river-ineural"
    out = python("-m", "river_ineural", *words[1:]).stdout
    found, expected = table(out), table(said)
    assert len(expected) == 6
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        most = 3, 9, 9, 3, np.inf, 3  # accuracy, the ends of what is told, F1, mistakes, labels
        assert (abs(np.subtract(found[name], numbers)) <= most).all(), name
    *_, shares, page = out.splitlines()
    assert [shares, page] == said.splitlines()[-2:]


def numbers(text):
    """Lines of the algorithms that a text speaks of: "lines 5 to 7, 2.1" are 5, 6, 7 and 2.1."""
    found = set()
    said = re.compile(r"\d+(?:\.\d)?(?: to \d+(?:\.\d)?)?")
    for first, _, last in (each.partition(" to ") for each in said.findall(text)):
        if "." in first:  # of Algorithm 2
            found |= {f"2.{i}" for i in range(int(first[2:]), int((last or first)[2:]) + 1)}
        else:
            found |= {str(i) for i in range(int(first), int(last or first) + 1)}
    return found


def test_each_line_of_the_paper_is_where_the_page_says():
    """Each of the 28 and 8 lines has one row, and the function of its row cites it."""
    page = (DOCS / "how-it-decides.md").read_text().partition("## The paper line by line")[2]
    rows = re.findall(r"^\| (\d.*?) \|.*\| `(.*?)` \|$", page, re.M)
    cited = re.compile(r"\blines? ((?:\d[\d.]*(?:,? and |, | to )?)+)", re.I)
    every = sorted(line for lines, _ in rows for line in numbers(lines))
    assert every == sorted(numbers("1 to 28, 2.1 to 2.8"))
    for lines, name in rows:
        found = pydoc.locate(f"river_ineural.{name}")
        assert found is not None, f"{name} is gone"
        source = inspect.getsource(getattr(found, "py_func", found))
        there = numbers(" ".join(cited.findall(" ".join(source.split()))))
        assert numbers(lines) <= there, f"{name} does not cite lines {lines}, but {sorted(there)}"


# River's iter_csv leaves a file open that is not read to its end, as by `next`.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("page", PAGES)
def test_each_block_runs_and_prints_what_is_said(page, tmp_path, monkeypatch):
    text, found = (DOCS / f"{page}.md").read_text(), blocks(page)
    if "river-ineural compare" in text:
        pytest.importorskip("jinja2", reason="needs the extra: pip install -e '.[compare]'")
        pytest.importorskip("matplotlib", reason="needs the extra compare")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page}
    for language, code, said in found:
        if language == "bash":
            run_bash(code, said)
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, page, "exec"), names)
            assert_alike(out.getvalue(), said or "")
    assert len(found) == text.count("\n```python\n") + text.count("\n```bash\n") > 0


def test_the_example_of_the_readme_prints_what_it_says():
    """Rounded, so that it holds on every machine. The home page has it too."""
    examples = doctest.DocTestParser().get_examples((DOCS.parent / "README.md").read_text())
    out, names = io.StringIO(), {}
    with contextlib.redirect_stdout(out):
        for example in examples:
            exec(example.source, names)
    assert out.getvalue() == examples[-1].want
    assert '--8<-- "README.md:example"' in (DOCS / "index.md").read_text()


def learn(x, y=1, **settings):
    return lambda: small(**settings).learn_one(x, y)


def frame(column, y=(1,)):
    return lambda: small().learn_many(pd.DataFrame({"it": column}), pd.Series(list(y)))


def each(xs, ys, **settings):
    def run():
        model = small(**settings)
        for x, y in zip(xs, ys, strict=True):
            model.learn_one(x, y)

    return run


def one_class(**settings):
    model = active.INeurALSampler(small(**settings), budget=50, seed=1)
    for _ in range(15):
        model.predict_one({"a": 1.0})
        model.learn_one({"a": 1.0}, "x")


def flood():
    each(({f"id{50 * i + j}": 1.0 for j in range(50)} for i in range(101)), [1] * 101)()


def ids():
    each(({"id": f"u{i}"} for i in range(100)), [1] * 100, categories=True)()


def predicted(learned, given):
    model = small(categories=True)
    for _ in range(10):
        model.learn_one(learned, 1)
    for _ in range(20):
        model.predict_one(given)


def no_file():
    Path("bad").write_text("no safetensors file")
    load("bad")


MEET = (
    *(learn({"a": None}), learn({"a": math.nan}), frame([math.nan])),
    *(learn({"a": value}) for value in ("31", "", "clerk", "2024-02-29")),
    *(learn({"a": value}) for value in (datetime.datetime(2024, 2, 29), math.inf, 1e16)),
    learn(dict.fromkeys("abc", 1.0), max_features=2),
    learn({"a=b": 1.0}, categories=True),
    learn({"a missing": 1.0}, missing=True),
    flood,
    ids,
    each(({"it": f"{i / 2}"} for i in range(10)), [1] * 10, categories=True),
    each([{"a": 1.0}] * 100, [0, 1] * 50),
    lambda: predicted({"a": 1.0}, {"b": 1.0}),
    lambda: predicted({"a": "1"}, {"a": 1.0}),
    each([{"1": 1.0}, {1: 1.0}], [0, 1]),
    each([{"a": 1.0}, {"b": 1.0}], [0, 1], max_features=1),
    each([{f"f{i}": 1.0 for i in range(5_000)}] * 2, [0, 1], hidden_dim=3_000),
    *(frame(column) for column in (pd.to_datetime(["2024-01-01"]), ["a"])),
    *(learn({"a": 1.0}, label) for label in (None, math.nan)),
    one_class,
    lambda: one_class(classes=("x", "y")),
    each([{"a": 1.0}] * 3, [0, 1, 2], max_classes=2),
    each([{"a": 1.0}] * 20, [i + 0.5 for i in range(20)]),
    frame([1.0], (1, 2)),
    lambda: small().learn_many(pd.DataFrame({"a": [1.0]}), pd.Series([1], [7])),
    *((lambda budget=budget: active.Budget(budget)) for budget in ("10%", 10.0)),
    lambda: setattr(small(), "hidden_dim", 3),
    lambda: ensemble.BaggingClassifier(active.INeurALSampler(small()), 2).predict_one({"a": 1.0}),
    lambda: active.INeurALSampler(linear_model.LogisticRegression()),
    lambda: active.RandomSampler(active.MarginSampler(linear_model.LogisticRegression())),
    lambda: INeurAL(device="cuda:99"),
    lambda: save(BagOfWords(tokenizer=str.split) | small(), "x"),
    lambda: save(linear_model.LogisticRegression(), "x"),
    no_file,
)  # fmt: skip


def told(action):
    """What an error or a warning says."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            action()
        except Exception as error:
            return str(error)
    raise AssertionError("no message")


def test_each_message_of_the_page_is_one_that_is_met(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "troubleshooting.md").read_text().partition("## No message")[0]
    cells = re.findall(r"^\| (`[^|]*`)", page, re.M)
    messages = [message for cell in cells for message in re.findall("`([^`]*)`", cell)]
    assert len(messages) == len(MEET)
    for message, action in zip(messages, MEET, strict=True):
        pattern = ".*".join(map(re.escape, message.split("…")))
        assert re.match(pattern, told(action)), message
