"""`river-ineural compare`: what is read, that each accuracy is right, and what is shown."""

from __future__ import annotations

import argparse
import gzip
import html
import re
import subprocess
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rich", reason="needs the extra: pip install -e '.[compare]'")
pytest.importorskip("sklearn", reason="needs the extra: pip install -e '.[compare]'")

from sklearn.metrics import accuracy_score, f1_score

from river_ineural.__main__ import main
from river_ineural.compare import contenders, reporting, running
from river_ineural.compare.contenders import CONTENDERS, MarginAndRest, WithRest
from river_ineural.compare.reading import parts_of_times, read_column, read_table
from river_ineural.compare.running import parse_budget, parse_delay, run


def kind(cells, **options):
    return read_column("it", pd.Series(cells), **options)


# What columns hold


@pytest.mark.parametrize(
    ("cells", "expected", "values"),
    [
        (["1", " 2.5", "-3e2"], "numbers", [1, 2.5, -300]),
        (["1", "", "?", "NA", "null", "nan", "2"], "numbers", [1, *[np.nan] * 5, 2]),
        ([*map(str, range(19)), "many"], "numbers", [*range(19), np.nan]),
        (["true", "False", "", "TRUE"], "flags", [1, 0, np.nan, 1]),
        (["0", "1", "0"], "numbers", [0, 1, 0]),
        (["yes", "no", "", "none"], "categories", ["yes", "no", None, "none"]),
        (["1", "b", "2"], "categories", ["1", "b", "2"]),
        (["", "", ""], "categories", [None] * 3),
        (
            ["2024-02-29 12:30", "2024-03-01T00:00:00Z", "-"],
            "times",
            ["2024-02-29 12:30", "2024-03-01", None],
        ),
        (["2024-02-29T12:00+02:00", "2024-02-29"], "times", ["2024-02-29 10:00", "2024-02-29"]),
        (["31.12.2023", "01.02.2024"], "times", ["2023-12-31", "2024-02-01"]),
        (
            ["12/31/2023 11:05:00 PM", "01/02/2024 01:00:00 AM"],
            "times",
            ["2023-12-31 23:05", "2024-01-02 01:00"],
        ),
        (["31/12/2023", "01/02/2024"], "times", ["2023-12-31", "2024-02-01"]),
        (["2024-02-29", "soon"], "categories", ["2024-02-29", "soon"]),
    ],
    ids=str,
)
def test_what_a_column_holds(cells, expected, values):
    column = kind(cells)
    assert column.kind == expected
    if expected == "times":
        values = pd.to_datetime(pd.Series(values), utc=True, format="ISO8601")
        assert column.values.isna().tolist() == values.isna().tolist()
        assert (column.values.dropna() == values.dropna()).all()
    elif expected == "categories":
        assert [None if pd.isna(v) else v for v in column.values] == values
    else:
        np.testing.assert_array_equal(column.values, values)


@pytest.mark.parametrize(
    ("cells", "note", "use"),
    [
        (["a", "a", "a"], "left out: always a", False),
        (["5", "5"], "left out: always 5.0", False),
        (["", "", ""], "left out: empty", False),
        ([*map(str, range(150))], "left out: larger in each row, as counters are", False),
        ([f"c{i}" for i in range(150)], "left out: 150 different texts in 150 rows, as id", False),
        (["a", "", "a"], "", True),
        ([f"c{i}" for i in range(90)], "", True),  # a hundred at most may tell something
        (
            [*map(str, range(30)), "many", "?", "few"],
            "2 cells are no numbers, as 'many' in line 30: taken as missing",
            True,
        ),
    ],
)
def test_what_tells_nothing_is_left_out(cells, note, use):
    column = kind(cells)
    assert column.use == use
    assert column.note.startswith(note)
    assert bool(column.note) == bool(note)


def test_parts_of_times():
    """Weekday and hour; days where they do not only grow, the month of more than a year."""

    def parts_of(*cells):
        return {name: list(values) for name, values in parts_of_times(kind(list(cells)))}

    assert parts_of("1970-01-02 06:30", "1970-02-02 06:30") == {"it (weekday)": [4, 0]}
    assert parts_of("1970-02-02 06:30", "1970-01-02 06:30") == {
        "it (weekday)": [0, 4],
        "it (days)": [32 + 6.5 / 24, 1 + 6.5 / 24],
    }
    assert parts_of("06:30", "18:00") == {"it (hour)": [6.5, 18]}
    assert parts_of("2020-01-06", "2022-02-07") == {"it (month)": [1, 2]}


# What tables hold


def rows(n=240, k=2, seed=0):
    """A frame with an id, a time, numbers and text with gaps, a flag, and labels."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["clerk", "maid", "smith"], n).astype(object)
    age = rng.normal(40, 12, n).round(1)
    names = np.array(["no", "yes", "perhaps"])[:k]
    score = (age - 40) / 12 + (job == "maid")
    label = names[np.digitize(score, [0.4, 1.2][: k - 1])]
    job[rng.random(n) < 0.1] = None
    age[rng.random(n) < 0.1] = np.nan
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) * 20, unit="min")
    tall = rng.choice(["true", "false"], n)
    return pd.DataFrame(
        {
            "id": [f"c{i}" for i in range(n)],
            "at": at,
            "age": age,
            "job": job,
            "tall": tall,
            "y": label,
        }
    )


@pytest.fixture
def file(tmp_path):
    """Rows that are not in the order of their times."""
    path = tmp_path / "people.csv"
    rows().sample(frac=1, random_state=3).to_csv(path, index=False)
    return path


def test_rows_are_sorted_by_their_times(file):
    table = read_table(file, "y", time="at")
    frame = rows()
    assert list(table.labels) == list(frame["y"])
    np.testing.assert_array_equal(table.features["age"], frame["age"])
    assert table.moments == [value.value for value in frame["at"]]
    assert table.categories == ["job"]
    assert table.numbers == ["at (weekday)", "at (hour)", "age", "tall"]
    assert [column.name for column in table.columns] == ["id", "at", "age", "job", "tall"]
    first = next(table.examples())
    assert first["job"] == frame["job"][0]
    assert all(value is None or type(value) in (float, str) for value in first.values())
    gap = int(frame["age"].isna().idxmax())
    assert [x["age"] for x in table.examples()][gap] is None
    assert table.shares.to_dict() == frame["y"].value_counts(normalize=True).to_dict()


def test_rows_of_the_same_time_stay_in_their_order(tmp_path):
    path = tmp_path / "ties.csv"
    path.write_text("t,x,y\n2,1,a\n1,2,b\n2,3,b\n1,4,a\n")
    table = read_table(path, "y", time="t")
    assert list(table.features["x"]) == [2, 4, 1, 3]
    assert list(table.features) == ["x"]
    assert table.columns[0].note == "left out: rows are sorted by it"
    assert table.moments == read_table(path, "y", time="t", drop=["t"]).moments == [1, 1, 2, 2]
    assert list(read_table(path, "y").features["x"]) == [1, 2, 3, 4]


def test_what_is_said_of_columns_counts(tmp_path):
    path = tmp_path / "codes.tsv"
    path.write_text("a=b\tzip\tx missing\tempty\ty\n1\t01\t2\t\t0\n2\t02\t\t\t1\n3\t01\t5\t\t\n")
    table = read_table(path, "y", categories=["zip"])
    assert table.categories == ["zip"]
    assert list(table.features) == ["a_b", "zip", "x_missing"]
    assert table.labels == ("0", "1")
    assert table.notes == ("1 rows without a label in 'y' are left out",)
    assert run(CONTENDERS["ineural"], table, parse_budget("100%", 2)).error == ""


# What files hold, and failures: one line each, and what it says


def table_of(text, tmp_path, **options):
    """What is read of a text, or of bytes."""
    path = tmp_path / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, "y", **options)


GERMAN = "größe;y\n1.234,5;a\n2,25;b\n3;a\n"
READ = {  # a text, options; the features, and the labels
    "decimal commas and points of thousands": (GERMAN, {}, [1234.5, 2.25, 3], "aba"),
    "cp1252": (GERMAN.encode("cp1252"), {}, [1234.5, 2.25, 3], "aba"),
    "UTF-16, as Excel saves text": (GERMAN.encode("utf-16"), {}, [1234.5, 2.25, 3], "aba"),
    "a byte order mark": (GERMAN.encode("utf-8-sig"), {}, [1234.5, 2.25, 3], "aba"),
    "gz": (gzip.compress(GERMAN.encode()), {}, [1234.5, 2.25, 3], "aba"),
    "commas of thousands": ('x,y\n"1,234",a\n"1,234,567.5",b\n', {}, [1234, 1234567.5], "ab"),
    "1,234 as it is said": ('x,y\n"1,234",a\n"2,345",b\n', {"decimal": ","}, [1.234, 2.345], "ab"),
    "spaces of thousands": ("x;y\n1 234,5;a\n12\u202f345;b\n", {}, [1234.5, 12345], "ab"),
    "days are no numbers": ("d;x;y\n01.02.2024;1,5;a\n31.12.2024;2;b\n", {}, [1.5, 2], "ab"),
    "tabs": ("x\ty\n1\ta\n2\tb\n", {}, [1, 2], "ab"),
    "a bar": ('x|y\n1|"a|b"\n2|b\n', {}, [1, 2], ["a|b", "b"]),
    "a separator of its own": ("x~y\n1~a\n2~b\n", {"separator": "~"}, [1, 2], "ab"),
    "separators at all ends": ("x,y,\n1,a,\n2,b,\n", {}, [1, 2], "ab"),
    "labels that are missing": ("x,y\n1,a\n2,NA\n3,NaN\n4,?\n5,b\n6,\n", {}, [1, 5], "ab"),
    "labels none and -": ("x,y\n1,none\n2,-\n", {}, [1, 2], ["none", "-"]),
    "labels 1 and 1.0": ("x,y\n1,1.0\n2,0\n3,1\n4,00\n", {}, [1, 2, 3, 4], "1010"),
    "labels true and TRUE": (
        "x,y\n1,true\n2,FALSE\n3,TRUE\n",
        {},
        [1, 2, 3],
        ["true", "FALSE", "true"],
    ),
    "spaces": ("x , y\n 1, a\n2 ,a \n3, b\n", {}, [1, 2, 3], "aab"),
    "empty lines": ("x,y\n\n1,a\n\n2,b\n\n", {}, [1, 2], "ab"),
}


@pytest.mark.parametrize(("text", "options", "values", "labels"), READ.values(), ids=READ)
def test_what_a_file_holds(text, options, values, labels, tmp_path):
    if text[:2] == b"\x1f\x8b":
        path = tmp_path / "data.csv.gz"
        path.write_bytes(text)
        table = read_table(path, "y", **options)
    else:
        table = table_of(text, tmp_path, **options)
    assert table.labels == tuple(labels)
    assert list(table.features[table.numbers[-1]]) == values


def test_what_was_guessed_is_said(tmp_path):
    table = table_of(GERMAN.encode("cp1252"), tmp_path, decimal=",")
    said = "encoding 'cp1252' (guessed), separator ';' (guessed), decimal ','"
    assert table.written == said
    table = table_of("x,y\n1,1.0\n2,0\n3,1\n4,NA\n5,\n", tmp_path)
    assert table.notes == (
        "2 rows without a label in 'y' (or with 'NA', which is read as none) are left out",
        "the label '1.0' is read as '1'",
    )


TWO = "a,y\n1,a\n2,b\n"
TIMED = "t,a,y\n2024-01-01,1,a\n{},2,b\n"
DAY = "t,y\n,a\n01/02/2024,b\n"
WRONG = [
    (None, "", "No such file or directory: data.csv"),
    ("", "", "data.csv is empty"),
    ("\na,y\n1,a\n", "", "data.csv is empty, or its first line is"),
    (TWO, "--encoding nonsense", "is not of nonsense: say what it is with --encoding"),
    ("a,b\n1,2\n", "", "no column 'y' in data.csv: there are 'a', 'b'"),
    ("a~y\n1~2\n", "", r"there are 'a~y', if the separator is ',' \(--separator says another"),
    ("a,y\n1,b\n2,b\n", "", "'y' has 1 different values in 2 rows"),
    ("a,y\n1,\n2,\n", "", "'y' has 0 different values in 0 rows"),
    ("a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(150)), "", "'y' has 150 different values"),
    ("a,y\n1,a\n-Inf,b\n", "", "column 'a' has -inf in line 3, beyond .*--drop 'a'"),
    ("a,y\n1,a\n1,b\n", "", "no column of data.csv is left"),
    ("a,y\n1,a\n1,b,\n", "", r"Expected 2 fields in line 3, saw 3 .*remove what is too much"),
    ("a,y\n1,a,\n1,b,\n", "", r"Expected 2 fields in line 2, saw 3 .*remove what is too much"),
    ("a,y\n1,5,a\n2,5,b\n", "", r"Expected 2 fields in line 2, saw 3 .*in quotes"),
    ("y,a,y\n1,a,2\n", "", "line 1 of data.csv has the name 'y' in columns 1 and 3: give one"),
    ("a,a ,y\n1,a,2\n", "", "line 1 of data.csv has the name 'a' in columns 1 and 2: give one"),
    ("a=b,a_b,y\n1,2,a\n2,3,b\n", "", "two columns come to the feature 'a_b': rename one"),
    (
        'a,b,y\n1.5,1,a\n2,"2,5",b\n',
        "",
        "'1.5' in line 2, column 'a', has a decimal point, and '2,5' in line 3, column 'b', a d",
    ),
    ('a,y\n5,a\n"1,234",b\n', "", "'1,234' in line 3, column 'a', may be .*say --decimal"),
    ("a,y\n1,a\n2,\udc81\n", "", "is not of cp1252: say what it is with --encoding"),
    ("a,y\n1,a\n2,\udce9\n", "--encoding utf8", "is not of utf8: say what it is with --encoding"),
    ('a,y\n"1\n",a\n1e16,b\n', "", "column 'a' has 1e[+]16 in line 4, .*--drop 'a'"),
    (DAY, "", "column 't': '01/02/2024' in line 3 is a day and a month or"),
    (TWO, "--budget 200%", "--budget '200%' is none: write 5%"),
    (TWO, "--budget 50%", "'50%' of 2 rows is 1 labels: 2"),
    (TWO, "--budget few", "--budget 'few' is none"),
    (TWO, "--budget 100% --delay 1d", "--delay '1d' is none: write .* number of rows"),
    (TWO, "--budget 100% --delay inf", "--delay 'inf' is none: write"),
    (
        TIMED.format("2024-01-02"),
        "--budget 100% --time t --delay 5",
        "--delay '5' is none: write 1d",
    ),
    (TIMED.format("soon"), "--time t", "'t' is to tell the time, and 'soon' in line 3"),
    (TWO, "--models best", "no model 'best': there are ineural, "),
    (TWO, "--report none/x.html", "there is no folder none"),
    (TWO, "--figure x.txt", r"must end in .svg or .png"),
]


@pytest.mark.parametrize(("text", "options", "reason"), WRONG, ids=[each[2] for each in WRONG])
def test_a_failed_run_says_why_in_one_line(text, options, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("data.csv").write_text(text, errors="surrogateescape")
    assert main(["compare", "data.csv", "--target", "y", *options.split()]) == 1
    out, err = capsys.readouterr()
    (line,) = (line for line in err.splitlines() if not line.startswith("data.csv: "))
    assert line.startswith("river-ineural: ")
    assert re.search(reason, line)
    assert out == ""
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize("given", [["compare", "data.csv"], ["compare", "--no"], ["rank"], []])
def test_a_command_line_that_cannot_be_understood(given, capsys):
    with pytest.raises(SystemExit) as end:
        main(given)
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--help" in line


def test_help_is_short(capsys):
    for given, said in ((["--help"], "compare"), (["compare", "--help"], "--delay")):
        with pytest.raises(SystemExit) as end:
            main(given)
        out = capsys.readouterr().out
        assert end.value.code == 0
        assert said in out
        assert "%%" not in out
        assert len(out.splitlines()) <= 40


def test_what_is_not_installed_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(["compare", str(tmp_path / "x.csv"), "--target", "y"]) == 1
    said = capsys.readouterr().err
    assert "compare needs rich.console: pip install -e '.[compare]' in a checkout" in said


# Accuracy


SETTINGS = ("at", None, 3), ("at", "4h", 2), ("at", "25min", 3), (None, "15", 2)


def count_by_hand(model, examples, labels, comes, known):
    """Accuracy, macro F1, predictions and labels learned: a loop that knows nothing of River's.

    `comes` is the time of each row and that of its label.
    """
    waiting, told, learned = deque(), [], 0

    def answer():
        nonlocal learned
        _, x, predicted, ask, label = waiting.popleft()
        if predicted is not None:
            told.append((label, predicted))
        if ask:
            model.learn_one(x, label)
            learned += 1

    for x, label, (now, then) in zip(examples, labels, comes, strict=True):
        while waiting and waiting[0][0] <= now:
            answer()
        predicted, ask = model.predict_one(dict(x))
        waiting.append((then, x, predicted, ask, known[label]))
    while waiting:
        answer()
    truth, predicted = zip(*told, strict=True)
    accuracy, f1 = accuracy_score(truth, predicted), f1_score(truth, predicted, average="macro")
    return accuracy, f1, len(told), learned


@pytest.mark.parametrize(
    ("name", "time", "delay", "k"),
    [(name, *SETTINGS[0]) for name in CONTENDERS]
    + [(name, *each) for name in ("ineural", "river-tree") for each in SETTINGS[1:]],
)
def test_each_accuracy_is_that_of_a_count_by_hand(name, time, delay, k, tmp_path):
    """Of whatever contender, and of two, labels at once, some rows or some time late."""
    path = tmp_path / "people.csv"
    frame = rows(k=k)
    frame.to_csv(path, index=False)
    table = read_table(path, "y", time)
    budget = parse_budget("20%", len(table))
    outcome = run(CONTENDERS[name], table, budget, parse_delay(delay, table), seed=4)
    assert outcome.error == ""
    if time:
        late = pd.Timedelta(delay or 0)
        comes = [(at, at + late) for at in frame["at"]]
    else:
        comes = [(t, t + int(delay)) for t in range(len(frame))]
    model = CONTENDERS[name].sampler(table, budget, 4)
    known = {label: i for i, label in enumerate(dict.fromkeys(frame["y"]))}
    found = count_by_hand(model, CONTENDERS[name].examples(table), frame["y"], comes, known)
    measured = outcome.accuracy, outcome.macro_f1, outcome.n_predicted, outcome.labels[-1]
    assert measured == pytest.approx(found)
    assert outcome.mistakes[-1] == round((1 - found[0]) * found[2])
    assert 0 < outcome.n_labels == found[3] <= model.budget.total == 48
    assert len(outcome.mistakes) == len(outcome.labels) == len(table)


def test_river_s_learners_get_whole_rows(file):
    """Gaps at the mean so far; numbers scaled and categories flagged where they must be."""
    table = read_table(file, "y", time="at", drop=["at", "tall"])
    frame = rows()
    trees = list(CONTENDERS["river-tree"].examples(table))
    means = frame["age"].expanding().mean()
    np.testing.assert_allclose([x["age"] for x in trees], frame["age"].fillna(means))
    assert [x["job"] for x in trees] == frame["job"].fillna("missing").tolist()
    linear = list(CONTENDERS["river-logistic"].examples(table))
    assert [set(x) for x in linear] == [
        {"age", f"job_{job}"} for job in frame["job"].fillna("missing")
    ]
    filled = np.array([x["age"] for x in trees])
    last = (filled[-1] - filled.mean()) / filled.std()
    assert linear[-1]["age"] == pytest.approx(last)


@pytest.mark.parametrize("text", ["people.csv without categories", "without numbers"])
def test_files_of_one_kind_of_columns(text, tmp_path):
    frame = rows()[["age", "tall", "y"] if "categories" in text else ["job", "y"]]
    path = tmp_path / "one.csv"
    frame.to_csv(path, index=False)
    table = read_table(path, "y")
    for name in CONTENDERS:
        outcome = run(CONTENDERS[name], table, parse_budget("12", len(table)))
        assert outcome.error == "", name
        assert 0.3 < outcome.accuracy <= 1


@pytest.mark.parametrize("name", ["river-tree", "sklearn-logistic"])
def test_what_a_contender_would_leave_it_gets_at_random(name, tmp_path, monkeypatch):
    """All labels that it may have, no more, and at an even pace where it is soon sure."""
    text = "x,y\n" + "".join(f"{i * 37 % 100},{i * 37 % 100 > 50}\n" for i in range(300))
    table, budget = table_of(text, tmp_path), parse_budget("50%", 300)
    outcome = run(CONTENDERS[name], table, budget)
    assert outcome.n_labels == 150
    assert all(n >= t / 2 - 20 for t, n in enumerate(outcome.labels))
    for kind in (MarginAndRest, WithRest):
        monkeypatch.setattr(sys.modules[kind.__module__], "behind", lambda sampler: False)
    assert run(CONTENDERS[name], table, budget).n_labels < 130


# What is shown


def broken(table, budget, seed):
    raise RuntimeError("no\nluck")


@pytest.fixture
def report(file):
    """Two learners that ran, and one that failed; a hostile name."""
    table = read_table(file, "y", time="at")
    budget = parse_budget("10%", len(table))
    outcomes = [run(CONTENDERS[name], table, budget) for name in ("river-tree", "ineural")]
    outcomes.append(run(contenders.Contender("<b>&", broken), table, budget))
    options = argparse.Namespace(delay="<script>alert(1)</script>", budget="10%", seed=0)
    return reporting.Report(table, outcomes, options, "river-ineural compare 'a&b'")


def test_a_failure_is_a_line_of_its_own(report):
    assert report.outcomes[2].error == "RuntimeError: no luck"
    assert [each.name for each in report.ranked][-1] == "<b>&"
    accuracies = [each.accuracy for each in report.ranked[:2]]
    assert accuracies == sorted(accuracies, reverse=True)
    page = html.unescape(report.html())
    assert "RuntimeError: no luck" in page


def test_the_page_is_one_file_with_all_numbers(report):
    """Nothing is fetched, nothing of the file is taken for markup, colours follow the reader's."""
    page = report.html()
    assert not re.search(r"\b(src|href)=\"(?!#)|@import|url\((?!#)|<script|<link", page)
    assert "&lt;script&gt;alert(1)" in page
    assert "<b>" not in page
    assert "prefers-color-scheme: dark" in page
    assert reporting.BLACK not in report.svg()
    assert "currentColor" in report.svg()
    assert len(page) < 150_000
    cells = re.findall(r'<td class="number">([^<]*)</td>', page)
    for each in report.outcomes[:2]:
        assert {f"{100 * each.accuracy:.1f}", f"{each.mistakes[-1]:,}"} <= set(cells)
    for column in report.table.columns:
        assert f"<td>{column.name}</td>" in page
    assert report.html() == page  # made again it is the same


def test_what_is_drawn(report):
    """A line a learner in each panel, up to what it came to."""
    figure = report.figure()
    for axes, name in zip(figure.axes, ("mistakes", "labels"), strict=True):
        ends = [line.get_ydata()[-1] for line in axes.lines]
        assert ends == [getattr(each, name)[-1] for each in report.ranked[:2]]
        assert [line.get_xdata()[-1] for line in axes.lines] == [240, 240]


def test_the_command_line(file, tmp_path, monkeypatch, capsys):
    """Prints a table, writes the page, and exits with 0; with 1 if a learner failed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    given = ["compare", file.name, "--target", "y", "--time", "at", "--delay", "1h"]
    given += ["--budget", "24", "--models", "river-tree", "river-logistic", "--figure", "f.svg"]
    assert main(given) == 0
    out, err = capsys.readouterr()
    table = read_table(file, "y", time="at")
    for name in ("river-tree", "river-logistic"):
        outcome = run(CONTENDERS[name], table, parse_budget("24", 240), parse_delay("1h", table))
        (line,) = (line for line in out.splitlines() if outcome.name in line)
        assert f"{100 * outcome.accuracy:.1f}" in line.split()
        assert str(outcome.n_labels) in line.split()
    assert "id: left out: 240 different texts" in err
    assert reporting.REST in out
    page = Path("people-compare.html").read_text()
    assert reporting.REST in page
    assert "river-ineural compare people.csv --target y" in page
    assert "by at" in page
    assert "1h later" in page
    assert Path("f.svg").stat().st_size > 5_000

    bad = contenders.Contender("bad one", broken)
    monkeypatch.setitem(CONTENDERS, "river-forest", bad)
    given = ["compare", file.name, "--target", "y", "--models", "river-tree", "river-forest"]
    assert main([*given, "--report", "other.html"]) == 1
    out, err = capsys.readouterr()
    assert "bad one (failed)" in out
    assert err.splitlines()[-1] == "river-ineural: bad one failed: RuntimeError: no luck"
    assert Path("other.html").exists()


def test_labels_that_come_too_late_are_a_failure(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = ["compare", file.name, "--target", "y", "--models", "river-tree", "--delay", "240"]
    assert main(given) == 1
    assert "it predicted nothing, as no label came before the last row" in capsys.readouterr().err


def test_warnings_of_learners_are_shown(tmp_path, monkeypatch, capsys):
    path = tmp_path / "late.csv"
    path.write_text("a,y\n" + "".join(f"{i % 9},{'b' if i > 55 else 'a'}\n" for i in range(60)))
    monkeypatch.chdir(tmp_path)
    assert (
        main(["compare", "late.csv", "--target", "y", "--models", "ineural", "--budget", "20"]) == 0
    )
    assert "I-NeurAL: Only one class was seen in" in capsys.readouterr().err
    assert "Only one class was seen in" in Path("late-compare.html").read_text()


def test_nothing_is_installed_from_an_index_that_has_no_release():
    """Each text says how to install an extra from a checkout."""
    root = Path(__file__).parents[1]
    for folder in ("river_ineural", "docs", "examples", "tests"):
        for path in [*root.glob(f"{folder}/**/*.py"), *root.glob(f"{folder}/**/*.md")]:
            assert not re.search(r"install .?river-ineural", path.read_text("utf8")), path


def test_as_a_module(tmp_path):
    """In a process of its own, as people run it."""
    out = subprocess.run(
        [sys.executable, "-m", "river_ineural", "compare", "no.csv", "--target", "y"],
        capture_output=True, text=True, cwd=tmp_path, timeout=120,
    )  # fmt: skip
    assert out.returncode == 1
    assert out.stderr == "river-ineural: No such file or directory: no.csv\n"


def test_budgets_and_delays_are_what_they_say(file):
    table = read_table(file, "y", time="at")
    assert [parse_budget(text, 240).total for text in ("5%", "0.05", "12", "100%")] == [
        *(12, 12, 12, 240)
    ]
    assert parse_delay("1d", table) == 86_400 * 10**9
    assert parse_delay("1.5h", table) == 5_400 * 10**9
    assert parse_delay(None, table) is None
    assert running.parse_delay("7", read_table(file, "y")) == 7
