"""`river-ineural compare`: what is read, that each accuracy is right, and what is shown."""

import argparse
import datetime
import gzip
import html
import itertools
import re
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streams import rounds

pytest.importorskip("rich", reason="needs the extra: pip install -e '.[compare]'")
pytest.importorskip("sklearn", reason="needs the extra: pip install -e '.[compare]'")

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score

import river_ineural
from river_ineural import active
from river_ineural.__main__ import main
from river_ineural.active import Budget, INeurALSampler
from river_ineural.compare import contenders, reporting, verdict
from river_ineural.compare.command import page_of
from river_ineural.compare.contenders import CONTENDERS, WithRest
from river_ineural.compare.giveaways import giveaways
from river_ineural.compare.reading import read_table
from river_ineural.compare.refitted import Refitted, numbered
from river_ineural.compare.running import Outcome, mean_of, parse_budget, parse_delay, run

# What columns hold


def read(cells, tmp_path, **options):
    """The features of one column, and what is said of it; another column is there too."""
    path = tmp_path / "data.csv"
    lines = (f'"{cell}";{i % 7};{"ab"[i % 2]}' for i, cell in enumerate(cells))
    path.write_text("\n".join(["it;other;y", *lines]))
    table = read_table(path, "y", **({"sep": ";"} | options))
    return table.features.drop(columns="other"), "; ".join(table.notes)


DAYS = {"it (weekday)": [3, 6, 3], "it (month)": [2, 12, 2], "it (days)": [19782, 19722, 19782]}
TWELVE = {"it (month)": [2, 12, 2], "it (days)": [19782 + 41 / 48, 19722, 19782 + 41 / 48]}
TIMES = {"it (weekday)": [3, 4, 3], "it (hour)": [12, 0, 12], "it (month)": [2, 3, 2]}
TIMES |= {"it (days)": [19782.5, 19783, 19782.5]}
NINETEEN = [*map(str, range(19))]
LEFT_OUT = {
    "ids": "it: left out: 150 different texts in 150 rows, as ids have",
    "counters": "it: left out: larger in each row, as counters are",
}
USELESS = "it: 1 cells such as {!r} are not numbers, so missing"
PRICES = "it: read without $"
ONE_DAY = "it: left out: its times only grow, or are all the same"
KINDS = [f"c{i}" for i in (*range(90), 0)]
OR_FAR = ", or not of 1678 to 2261"
SIZES = {"it": [1986.7, 1797, 2032]}, ""
LARGE = [f"{10**17}", f"{2 * 10**17}"] * 20
LARGEST = [f"{1 + i / 100}e+17" for i in range(40)]
BEYOND = f"it: read as text: numbers such as {10**17} are beyond 10¹⁵: use a larger unit"
NO_TWO = "it: left out: 40 different texts in 40 rows, as ids have"
COLUMNS = {  # cells and options; features, and what is said
    "numbers": (["1", " 2.5", "-3e2"], {}, {"it": [1, 2.5, -300]}, ""),
    "gaps": (["1", "", "?", "-", "NA", "2"], {}, {"it": [1, *[np.nan] * 4, 2]}, ""),
    **{
        f"{cell} among numbers": (
            *([*NINETEEN, cell], {}),
            *({"it": [*range(19), np.nan]}, USELESS.format(cell)),
        )
        for cell in ("many", "-inf")
    },
    "true and false": (["true", "False", "", "TRUE"], {}, {"it": [1, 0, np.nan, 1]}, ""),
    "text": (["yes", "no ", "", "1"], {}, {"it": ["yes", "no", np.nan, "1"]}, ""),
    "codes": (["01", "2", "01"], {"categories": ["it"]}, {"it": ["01", "2", "01"]}, ""),
    "ISO 8601": (["2024-02-29T12:00Z", "2024-03-01 01:00+01:00", "2024-02-29T12Z"], {}, TIMES, ""),
    "dates": (["29.02.2024", "31.12.2023", "29.02.2024"], {"date_format": "%d.%m.%Y"}, DAYS, ""),
    "decimal commas": (
        *(["1.234,5", "2,25", "3"], {"decimal": ",", "thousands": "."}),
        *({"it": [1234.5, 2.25, 3]}, ""),
    ),
    "thousands beside decimal commas": (
        *(["1.234,5", "2.250", "3,1", "4,0"], {"sep": ";"}, {"it": [1234.5, 2250, 3.1, 4]}),
        "guessed --decimal ','; it: read without dots between thousands",
    ),
    "points beside decimal commas": (
        *(["0.125", "0.5", "1.500", "0.375"], {"decimal": ","}, {"it": [0.125, 0.5, 1.5, 0.375]}),
        "",
    ),
    "spaces between thousands": (
        *(["1\u00a0500,5", "2\u202f250", "3,1"], {"decimal": ","}, {"it": [1500.5, 2250, 3.1]}, ""),
    ),
    "a lakh": (["1,20,000", "3", "40,000"], {"thousands": ","}, {"it": [120000, 3, 40000]}, ""),
    "days beside thousands": (
        *(["12.03.2024", "13.03.2024", "12.03.2024"], {"thousands": "."}),
        {"it (weekday)": [1, 2, 1], "it (days)": [19794, 19795, 19794]},
        "it: guessed --date-format '%d.%m.%Y'",
    ),
    "another minus": (["\N{MINUS SIGN}1.5", "2", "-3"], {}, {"it": [-1.5, 2, -3]}, ""),
    "another minus and commas": (
        *(["\N{MINUS SIGN}1,5", "2,5", "3,0"], {}),
        *({"it": [-1.5, 2.5, 3]}, "guessed --decimal ','"),
    ),
    "prices": (["$12", "-$3.5", "$1,200"], {"thousands": ","}, {"it": [12, -3.5, 1200]}, PRICES),
    "prices of which one is odd": (
        *([*(f"${i}" for i in range(9)), "soon"], {}, {"it": [*range(9), np.nan]}),
        PRICES + ", and 1 cells such as 'soon' are not numbers, so missing",
    ),
    "a unit": (["12 kg", "-3.5 kg", "89kg"], {}, {"it": [12, -3.5, 89]}, "it: read without kg"),
    "a unit and commas": (
        *(["12,5 kg", "2,25 kg", "3,0 kg"], {"decimal": ","}, {"it": [12.5, 2.25, 3]}),
        "it: read without kg",
    ),
    "nine numbers of ten with a unit": (
        *(["9 days"] * 19 + ["1 day"], {}, {"it": ["9 days"] * 19 + ["1 day"]}, ""),
    ),
    "versions with a letter": (["1b", "1.0.1b"] * 2, {}, {"it": ["1b", "1.0.1b"] * 2}, ""),
    "padded counters": ([f"{i:05}" for i in range(150)], {}, {}, LEFT_OUT["counters"]),
    "two units": (["12 kg", "3 g", "12 kg"], {}, {"it": ["12 kg", "3 g", "12 kg"]}, ""),
    "codes that are not named": (
        *(["04109", "10115", "04109"], {}, {"it": [4109, 10115, 4109]}),
        "it: if 04109 is a code and no number, say --categories it",
    ),
    "named codes": (*(["01", "10"], {"categories": ["it"]}, {"it": ["01", "10"]}), ""),
    "shares": (["12%", "3.5 %", "0"], {}, {"it": [12, 3.5, 0]}, "it: read without %"),
    "days and months": (
        *(["29/02/2024", "31/12/2023", "29/02/2024"], {}, DAYS),
        "it: guessed --date-format '%d/%m/%Y'",
    ),
    "days or months": (
        *(["01/01/2012", "02/01/2012", "01/02/2012"], {}, {}),
        "it: left out: '01/01/2012' is a time: write all alike and say --date-format, as "
        "'%d/%m/%Y'",
    ),
    "times of day": (
        *(["08:30", "23:59", "08:30"], {}, {"it (hour)": [8.5, 23 + 59 / 60, 8.5]}),
        "it: guessed --date-format '%H:%M'",
    ),
    "hours up to twelve": (
        *(["2024-02-29 8:30 PM", "2023-12-31 12:00 am", "2024-02-29 8:30 pm"], {}),
        {"it (weekday)": [3, 6, 3], "it (hour)": [20.5, 0, 20.5], **TWELVE},
        "it: guessed --date-format '%Y-%m-%d %I:%M %p'",
    ),
    "days as numbers": (
        *(["20240229", "20231231", "20240229"], {"date_format": "%Y%m%d"}, DAYS, ""),
    ),
    "numbers beside days": (["1", "2.5", "3"], {"date_format": "%Y%m%d"}, {"it": [1, 2.5, 3]}, ""),
    "days beside those of --date-format": (
        *(["29/02/2024", "31/12/2023", "29/02/2024"], {"date_format": "%Y%m%d"}, DAYS),
        "it: guessed --date-format '%d/%m/%Y'",
    ),
    "days that look like numbers": (
        ["20240229", "20231231", "20240229"],
        *({}, DAYS, "it: guessed --date-format '%Y%m%d'"),
    ),
    "numbers that are nearly days": (
        *(["20240229", "20231231", "20240230"], {}),
        *({"it": [20240229, 20231231, 20240230]}, ""),
    ),
    "months by name": (
        *(["29-Feb-2024", "31-Dec-2023", "29-Feb-2024"], {}, DAYS),
        "it: guessed --date-format '%d-%b-%Y'",
    ),
    "days of May": (
        *(["26 May 2023", "7 May 2023"], {}, {"it (days)": [19503, 19484]}),
        "it: guessed --date-format '%d %b %Y'",
    ),
    "months in another language": (["5 Juni 2023"] * 3, {}, {"it": ["5 Juni 2023"] * 3}, ""),
    "long months and times of day": (
        [*("February 29, 2024 8:30 PM", "December 31, 2023 12:00 am", "February 29, 2024 8:30 PM")],
        *({}, {"it (weekday)": [3, 6, 3], "it (hour)": [20.5, 0, 20.5], **TWELVE}),
        "it: guessed --date-format '%B %d, %Y %I:%M %p'",
    ),
    "times with their zone": (
        ["2024-02-29 12:00 UTC", "2024-03-01 00:00 GMT", "2024-02-29 12:00:00 UTC"],
        *({}, TIMES, ""),
    ),
    "days with blanks": (
        *(["29.02.2024 ", "31.12.2023 ", "29.02.2024 "], {"date_format": "%d.%m.%Y"}, DAYS, ""),
    ),
    "years and sizes": (["1986.7", "1797", "2032"], {"date_format": "%Y"}, *SIZES),
    "a day that is none": (
        *(["13/02/2024", "31/13/2024", "14/02/2024"], {"date_format": "%d/%m/%Y"}, {}),
        f"it: left out: '31/13/2024' is not written as --date-format '%d/%m/%Y'{OR_FAR}",
    ),
    "days and one that is none": (
        *(["2024-02-29", "2023-12-31", *["2024-02-29"] * 7, "0000-00-00"], {}),
        {name: [*days[:2], *days[:1] * 7, np.nan] for name, days in DAYS.items()},
        "it: 1 cells such as '0000-00-00' are not times, so missing",
    ),
    "days and many that are none": (
        *(["2024-02-29", "0000-00-00", "2023-12-31"], {}, {}),
        f"it: left out: '0000-00-00' is not written as '2024-02-29'{OR_FAR}",
    ),
    "points between thousands alone": (
        *(["16.410", "894", "43.737"], {}, {"it": [16410, 894, 43737]}),
        "guessed --decimal ','; it: read without dots between thousands",
    ),
    "three decimals": (["16.410", "1894", "43.737"], {}, {"it": [16.41, 1894, 43.737]}, ""),
    "three decimals in each": (["16.410", "894.000", "1.737"], {}, {"it": [16.41, 894, 1.737]}, ""),
    "nine numbers of ten": (
        [*map(str, range(9)), "none"],
        *({}, {"it": [*range(9), np.nan]}, USELESS.format("none")),
    ),
    "small numbers with commas": (
        *(["0,071", "-1,352", "0,250"], {}, {"it": [0.071, -1.352, 0.25]}),
        "guessed --decimal ','",
    ),
    "numbers and words": (
        *([*map(str, range(9)), "none", "low"], {}),
        {"it": [*map(str, range(9)), "none", "low"]},
        "it: read as text: 2 cells such as 'none' are not numbers: make them empty",
    ),
    "nothing": ([""] * 3, {}, {}, "it: left out: it is empty"),
    "a counter": (map(str, range(150)), {}, {}, LEFT_OUT["counters"]),
    "a counter with a gap": (["1", "", *map(str, range(2, 32))], {}, {}, LEFT_OUT["counters"]),
    "newest first": (
        *(map(str, range(30, 0, -1)), {}, {}),
        LEFT_OUT["counters"].replace("larger", "smaller"),
    ),
    "few numbers in order": (NINETEEN, {}, {"it": [*range(19)]}, ""),
    "prices in order": (
        *([f"{i}.5" for i in range(40)], {}, {"it": [i + 0.5 for i in range(40)]}, ""),
    ),
    "ids": ([f"c{i}" for i in range(150)], {}, {}, LEFT_OUT["ids"]),
    "large ids": ([f"{10**17 + i}" for i in range(150)], {}, {}, LEFT_OUT["ids"]),
    "large numbers": (LARGE, {}, {"it": LARGE}, BEYOND),
    "large numbers, each another": (
        *(LARGEST, {}, {}, f"{NO_TWO}; {BEYOND.replace(LARGE[0], '1e+17')}"),
    ),
    "few ids": ([f"c{i}" for i in range(21)], {}, {}, LEFT_OUT["ids"].replace("150", "21")),
    "a few kinds": (KINDS, {}, {"it": KINDS}, ""),
    "one day": (["2024-11-05"] * 30, {}, {}, ONE_DAY),
}


@pytest.mark.parametrize(("cells", "options", "features", "said"), COLUMNS.values(), ids=COLUMNS)
def test_what_a_column_holds(cells, options, features, said, tmp_path):
    found, notes = read(cells, tmp_path, **options)
    assert list(found) == list(features)
    for name, values in features.items():
        pd.testing.assert_series_equal(found[name], pd.Series(values, name=name), check_dtype=False)
    assert notes == said


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
    ids = [f"c{i}" for i in range(n)]
    return pd.DataFrame({"id": ids, "at": at, "age": age, "job": job, "tall": tall, "y": label})


@pytest.fixture
def file(tmp_path):
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
    assert table.numbers == ["at (hour)", "age", "tall"]  # the weekday only grows
    assert table.notes == ("id: left out: 240 different texts in 240 rows, as ids have",)
    first = next(table.examples())
    assert first["job"] == frame["job"][0]
    assert all(value is None or type(value) in (float, str) for value in first.values())
    gap = int(frame["age"].isna().idxmax())
    assert [x["age"] for x in table.examples()][gap] is None
    assert table.shares.to_dict() == frame["y"].value_counts(normalize=True).to_dict()


def test_months_may_be_seasons(tmp_path):
    _, said = read(["2008-09", "2009-10", "2010-11"], tmp_path)
    assert "it: read as months: --categories it reads text" in said


def test_times_may_be_numbers_beside_days(tmp_path):
    """Or days that are numbers."""
    path = tmp_path / "a.csv"
    for times in ([3, 1, 2], [20240103, 20240101, 20240102]):
        days = ["01.02.2024", "13.02.2024", "01.02.2024"] if times[0] == 3 else [1, 2, 1]
        pd.DataFrame({"t": times, "d": days, "x": [0.5, 0.1, 0.2], "y": list("aba")}).to_csv(path)
        form = "%d.%m.%Y" if times[0] == 3 else "%Y%m%d"
        table = read_table(path, "y", time="t", date_format=form)
        assert table.features["x"].tolist() == [0.1, 0.2, 0.5]
        moments = [1, 2, 3] if times[0] == 3 else pd.to_datetime(sorted(map(str, times)))
        assert list(table.moments) == [getattr(each, "value", each) for each in moments]


def test_rows_of_the_same_time_stay_in_their_order(tmp_path):
    path = tmp_path / "ties.csv"
    path.write_text("t,x,y\n2,1,a\n1,2,b\n2,3,b\n1,4,a\n")
    table = read_table(path, "y", time="t")
    assert list(table.features["x"]) == [2, 4, 1, 3]
    assert list(table.features) == ["x"]
    assert table.moments == read_table(path, "y", time="t", drop=["t"]).moments == [1, 1, 2, 2]
    assert list(read_table(path, "y").features["x"]) == [1, 2, 3, 4]


# What files hold, and failures: one line each, and what it says


PLAIN = "größe;y\n1.5;a\n2;b\n3;a\n"
CHINESE = "大小,y\n1,一\n2,大小大小\n"
LARGE = f"{2**53}", f"{2**53 + 1}", "1.5"
READ = {  # a text, options; the features, and the labels
    "cp1252": (PLAIN.encode("cp1252"), {}, [1.5, 2, 3], "aba"),
    "decimal commas": (PLAIN.replace(".", ","), {}, [1.5, 2, 3], "aba"),
    "UTF-16 without a word": (PLAIN.encode("utf-16"), {}, [1.5, 2, 3], "aba"),
    "UTF-16": (PLAIN.encode("utf-16"), {"encoding": "utf-16"}, [1.5, 2, 3], "aba"),
    "UTF-16 without a mark": (PLAIN.encode("utf-16-le"), {}, [1.5, 2, 3], "aba"),
    "UTF-16, big end first": (PLAIN.encode("utf-16-be"), {}, [1.5, 2, 3], "aba"),
    "UTF-16 of the other mark": (b"\xfe\xff" + PLAIN.encode("utf-16-be"), {}, [1.5, 2, 3], "aba"),
    "UTF-16 of few letters": (CHINESE.encode("utf-16-le"), {}, [1, 2], ["一", "大小大小"]),
    "UTF-16 in gz": (gzip.compress(PLAIN.encode("utf-16-be")), {}, [1.5, 2, 3], "aba"),
    "a byte order mark": (PLAIN.encode("utf-8-sig"), {}, [1.5, 2, 3], "aba"),
    "gz": (gzip.compress(PLAIN.encode()), {}, [1.5, 2, 3], "aba"),
    "tabs": ("x\ty\n1\ta\n\tb\n2\ta\n", {}, [1, np.nan, 2], "aba"),
    "a bar": ('x|y\n1|"a|b"\n2|b\n', {}, [1, 2], ["a|b", "b"]),
    "a separator of its own": ("x~y\n1~a\n2~b\n", {"sep": "~"}, [1, 2], "ab"),
    "another separator in quotes": (
        'x,"c; d; e; f",y\n0,1,a\n1,1,b\n',
        {"drop": ["c; d; e; f"]},
        [0, 1],
        "ab",
    ),
    "separators at all ends": ("x,y,\n1,a,\n2,b,\n", {}, [1, 2], "ab"),
    "labels that are missing": ("x,y\n1,a\n2,NA\n3,NaN\n4,?\n5,b\n6,\n7,n/a\n", {}, [1, 5], "ab"),
    "labels none and -": ("x,y\n1,none\n2,-\n", {}, [1, 2], ["none", "-"]),
    "labels that are numbers": ("x,y\n1,0\n2,1\n3,0\n", {}, [1, 2, 3], "010"),
    "labels 1 and 1.0": ("x,y\n1,1.0\n2,1\n3,0\n", {}, [1, 2, 3], "110"),
    "large labels": (
        f"x,y\n1,{10**25}\n2,{10**25 + 1}\n",
        {},
        [1, 2],
        [f"{10**25}", f"{10**25 + 1}"],
    ),
    "labels of 2**53": (f"x,y\n1,{2**53}\n2,{2**53 + 1}\n3,1.5\n", {}, [1, 2, 3], LARGE),
    "names as of categories": ("b=c, missing,y\n1,2,a\n2,3,b\n", {}, [1, 2], "ab"),
    "spaces": ("x, y\n 1, a\n2 ,a \n3, b\n", {}, [1, 2, 3], "aab"),
    "empty lines": ("x,y\n\n1,a\n\n2,b\n\n", {}, [1, 2], "ab"),
}


@pytest.mark.parametrize(("text", "options", "values", "labels"), READ.values(), ids=READ)
def test_what_a_file_holds(text, options, values, labels, tmp_path):
    text = text if isinstance(text, bytes) else text.encode()
    path = tmp_path / ("data.csv.gz" if text[:2] == b"\x1f\x8b" else "data.csv")
    path.write_bytes(text)
    table = read_table(path, "y", **options)
    assert table.labels == tuple(labels)
    np.testing.assert_array_equal(table.features.iloc[:, 0], values)
    notes = [note for note in table.notes if not note.startswith("guessed")]
    left_out = sum(int(note.split(" rows are left out")[0]) for note in notes)
    assert left_out == (5 if "NA" in str(text) else 0)


ARFF = """% a comment
@RELATION people
@attribute 'the size' NUMERIC
@ATTRIBUTE code{1, 2}
@attribute "y" {a, 'b c'}
@Data
% another
1.5, 1, a
?, 2, 'b c'

3,1,a
"""
FRAME = pd.DataFrame({"the size": [1.5, np.nan, 3], "code": ["1", "2", "1"]})


def test_arff_and_parquet_files(tmp_path):
    """Cells as in a CSV file; numbers that ARFF declares as categories are text."""
    polars = pytest.importorskip("polars")
    arff, parquet = tmp_path / "people.ARFF", tmp_path / "people.Parquet"
    arff.write_text(ARFF)
    days = [datetime.datetime(2024, 1, day) for day in (3, 1, 2)]
    columns = {"the size": [1.5, None, 3.0], "code": ["x", None, "y"], "at": days}
    columns |= {"list": [[1], [2, 3], []], "bytes": [b"a", b"", b"b"]}
    columns |= {"for": [datetime.timedelta(seconds=n) for n in (1, 60, 90)]}
    polars.DataFrame({**columns, "y": ["a", "b c", "a"]}).write_parquet(parquet)
    found = read_table(arff, "y")
    assert found.labels == ("a", "b c", "a")
    pd.testing.assert_frame_equal(found.features, FRAME)
    found = read_table(parquet, "y", time="at", drop=["at"])
    assert found.labels == ("b c", "a", "a")
    assert found.features["the size"].tolist()[1:] == [3, 1.5]
    assert found.features["code"].tolist()[1:] == ["y", "x"]
    assert found.features["for"].tolist() == [60, 90, 1]
    assert found.features.isna().sum().tolist() == [1, 1, 0]
    assert [note for note in found.notes if note.startswith(("list: left", "bytes: left"))]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.arff", "@relation x\n1,2\n", "no @attribute or no @data"),
        ("a.arff", "@attribute y {a}\n@data\n{0 a}\n", "sparse rows, .* are not read"),
        ("a.arff", "@attribute y {a,\udce9}\n@data\na\n", "a.arff cannot be read: 'utf-8' codec"),
        ("a.parquet", "no parquet", "a.parquet cannot be read"),
        ("a.csv", "x,y\n1,a\n1,2,3,4\n", r"a.csv cannot be read: [^\n]* in line 3, saw 4 \(line"),
    ],
)
def test_arff_and_parquet_files_that_cannot_be_read(name, content, said, tmp_path):
    path = tmp_path / name
    path.write_bytes(content.encode("utf8", "surrogateescape"))
    with pytest.raises(ValueError, match=said):
        read_table(path, "y")


@pytest.mark.parametrize(
    ("file", "name"), [("a.csv", "a"), ("of/a.b.csv", "a.b"), ("a.csv.gz", "a"), ("a.gz", "a")]
)
def test_each_file_has_a_page_of_its_own(file, name):
    assert page_of(Path(file)) == Path(f"{name}-compare.html")


TWO = "a,y\n1,a\n2,b\n"
TIMED = "t,a,y\n2024-01-01,1,a\n{},2,b\n"
CUT = gzip.compress(TWO.encode() * 99)[:40]
WRONG = [
    (CUT, "", "data.csv.gz cannot be read, as it is damaged: .* ended"),
    (TWO, "--report data.csv", "--report data.csv is the file to read"),
    (None, "", "No such file or directory: data.csv"),
    ("", "", "data.csv is empty"),
    ("a,y\n", "", "data.csv has no row below its header"),
    (TWO, "--encoding nonsense", "unknown encoding: nonsense .* --encoding says how text is"),
    ("a,y\n1,a\n2,\udce9\n", "--encoding utf-8", "'utf-8' codec .* --encoding says .* as cp1252"),
    ("a,b\n1,2\n", "", r"no column 'y' in data.csv: there are \['a', 'b'\]"),
    ("a~y\n1~2\n", "", r"there are \['a~y'\], unless --separator says another"),
    ("a,y\n1,b\n2,b\n", "", "the values of column 'y' are 1 classes in 2 rows"),
    ("a,y\n1,\n2,\n", "", "'y' has no label in any of 2 rows"),
    ("a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(150)), "", "column 'y' are 150 classes"),
    ("a,y\n,a\n,b\n", "", "no column of data.csv is left"),
    ("a=b,a:b,y\n1,2,a\n2,3,b\n", "", "the feature 'a:b' already when column 'a:b' .*--drop 'a:b'"),
    ("a,y,y\n1,a,a\n2,b,b\n", "", "data.csv has two columns 'y'.*: rename one"),
    ("a;y\n1,500;a\n2,500;b\n", "", "'a' holds '1,500': say --decimal, .* or --categories a"),
    ("a,y\n1,a\n1,b,\n", "", "Expected 2 fields in line 3, saw 3 .* belong in quotes"),
    ("a,y\n1,5,a\n2,5,b\n", "", "rows have more cells than the header .* belong in quotes"),
    (TWO, "--budget 200%", "--budget '200%' is not a budget: write 5%"),
    (
        "a;y\n30.123.456;a\n030.123.456;b\n",
        "--decimal ,",
        "'a' holds '30.123.456': say .* --categories a",
    ),
    (TWO, "--budget 3", "--budget 3 is too many: there are 2 rows"),
    (TWO, "--budget 0", "--budget '0' of 2 rows is no label: write"),
    (TWO, "--budget few", "--budget 'few' is not a budget"),
    (TWO, "--delay 1d", "--delay '1d' is not a delay: write .* number of rows"),
    (TWO, "--delay inf", "--delay 'inf' is not a delay: write"),
    (TIMED.format("2024-01-02"), "--time t --delay 5", "--delay '5' is not a delay: write 1d"),
    (TIMED.format("soon"), "--time t", "'t' of --time has the cell 'soon', which is no time"),
    (TIMED.format("31.12.2023"), "--time t", "'31.12.2023', which is no time: .* --date-format"),
    ("t,a,y\n1,1,a\n,2,b\n", "--time t", "'t' of --time has an empty cell: write a number or"),
    ("y\na\nb\n", "", "to learn from: there is no other, or all were dropped"),
    (
        "PK\0\0\1\0x,y\n\0",
        "",
        "data.csv cannot be read: it is no text, but perhaps a workbook: save",
    ),
    (TWO, "--drop y", "--drop 'y' is the column of the labels"),
    (TWO, "--models best", "no model 'best': there are ineural, "),
    (TWO, "--report none/x.html", "there is no folder none"),
    (TWO, "--report .", "--report . is a folder: say the name of a file"),
    (TWO, "--seeds 0", "--seeds must be at least 1, got 0"),
]


@pytest.mark.parametrize(("text", "options", "reason"), WRONG, ids=[each[2] for each in WRONG])
def test_a_failed_run_says_why_in_one_line(text, options, reason, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = "data.csv"
    if isinstance(text, bytes):
        name = "data.csv.gz"
        Path(name).write_bytes(text)
    elif text is not None:
        Path(name).write_text(text, errors="surrogateescape")
    assert main(["compare", name, "--target", "y", *options.split()]) == 1
    out, err = capsys.readouterr()
    line = err.splitlines()[-1]
    assert line.startswith("river-ineural: ")
    assert re.search(reason, line)
    assert out == ""
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize("given", ["compare data.csv", "compare --no", "rank", "", "compare -h"])
def test_a_command_line_that_cannot_be_understood_is_told_of_help_which_is_short(given, capsys):
    with pytest.raises(SystemExit) as end:
        main(given.split())
    out, err = capsys.readouterr()
    if given.endswith("-h"):
        assert (end.value.code, "%%" in out, "--delay" in out) == (0, False, True)
        assert len(out.splitlines()) <= 40
    else:
        (line,) = err.splitlines()
        assert (end.value.code, "--help" in line) == (2, True)


def test_a_learner_is_not_praised_that_always_says_the_commonest_class(tmp_path, capsys):
    path = tmp_path / "data.csv"
    labels = np.where(np.arange(120) % 4, "no", "yes")
    a = np.random.default_rng(0).normal(size=120).round(3)
    pd.DataFrame({"a": a, "y": labels}).to_csv(path, index=False)
    given = ["--budget", "30", "--report", str(tmp_path / "page.html")]
    assert main(["compare", str(path), "--target", "y", "--models", "river-logistic", *given]) == 0
    said = "Always saying 'no' may be as right as any of them."
    assert said in capsys.readouterr().out
    assert said.replace("'", "&#39;") in (tmp_path / "page.html").read_text(encoding="utf8")


def test_the_versions_are_those_of_all_packages(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--versions"])
    found = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert end.value.code == 0
    assert found["river-ineural"] == river_ineural.__version__
    assert found["numpy"] == np.__version__
    assert {"Python", "system", "river", "torch", "numba", "safetensors"} <= found.keys()
    assert found["capymoa"]  # "-" if it is not there


def test_what_is_not_installed_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.delitem(sys.modules, "river_ineural.compare.running")
    monkeypatch.delattr("river_ineural.compare.running")
    assert main(["compare", str(tmp_path / "x.csv"), "--target", "y"]) == 1
    said = capsys.readouterr().err
    assert "compare needs rich.progress: pip install -e '.[compare]' in a checkout" in said


# Accuracy


SETTINGS = ("at", None, 3), ("at", "4h", 2), ("at", "25min", 3), (None, "15", 2)


def count_by_hand(model, examples, labels, comes, known):
    """A loop that knows nothing of River's; `comes` is the time of a row and that of its label.

    A row without a prediction is a mistake: it counts as one of a class -1.
    """
    waiting, told, learned = deque(), [], 0

    def answer():
        nonlocal learned
        _, x, predicted, ask, label = waiting.popleft()
        told.append((known[label], -1 if predicted is None else predicted))
        if ask:
            model.learn_one(x, known[label])
            learned += 1

    for x, label, (now, then) in zip(examples, labels, comes, strict=True):
        while waiting and waiting[0][0] <= now:
            answer()
        predicted, ask = model.predict_one(dict(x))
        waiting.append((then, x, predicted, ask, label))
    while waiting:
        answer()
    truth, predicted = zip(*told, strict=True)
    classes = [*known.values()]
    f1 = f1_score(truth, predicted, average="macro", labels=classes, zero_division=0)
    return accuracy_score(truth, predicted), f1, learned


@pytest.mark.parametrize(
    ("name", "time", "delay", "k"),
    [(name, *SETTINGS[0]) for name in CONTENDERS]
    + [(name, *each) for name in ("ineural", "river-tree") for each in SETTINGS[1:]],
)
def test_each_accuracy_is_that_of_a_count_by_hand(name, time, delay, k, tmp_path):
    path = tmp_path / "people.csv"
    frame = rows(n=60, k=k)
    frame.to_csv(path, index=False)
    table = read_table(path, "y", time)
    budget = parse_budget("20%", len(table))
    late = parse_delay(delay, table) if delay else None
    outcome = run(CONTENDERS[name], table, budget, late, seed=4)
    assert outcome.error == ""
    if time:
        late = pd.to_timedelta([delay or 0])[0]
        comes = [(at, at + late) for at in frame["at"]]
    else:
        comes = [(t, t + int(delay)) for t in range(len(frame))]
    model = CONTENDERS[name].sampler(table, budget, 4)
    known = {label: i for i, label in enumerate(sorted({*frame["y"]}))}  # ties take the first
    found = count_by_hand(model, CONTENDERS[name].examples(table), frame["y"], comes, known)
    accuracy, f1, n_learned = found
    assert outcome.row.pop("s") > 0
    told = [outcome.row.pop(each) / 100 for each in ("told low", "told high")]
    assert told == pytest.approx(model.accuracy[1:3])
    assert outcome.row == pytest.approx(
        {
            "accuracy %": 100 * accuracy,
            "F1 %": 100 * f1,
            "mistakes": round((1 - accuracy) * len(frame)),
            "labels": n_learned,
        }
    )
    assert 0 < n_learned <= model.budget.total == 12
    assert len(outcome.mistakes) == len(outcome.labels) == len(table)
    assert outcome.labels == sorted(outcome.labels)
    assert outcome.labels[-1] == n_learned


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


@pytest.mark.parametrize("columns", [["age", "tall"], ["job"]], ids=["numbers", "categories"])
def test_files_of_one_kind_of_columns(columns, tmp_path):
    path = tmp_path / "one.csv"
    rows()[[*columns, "y"]].to_csv(path, index=False)
    table = read_table(path, "y")
    for name in CONTENDERS:
        outcome = run(CONTENDERS[name], table, parse_budget("12", len(table)))
        assert outcome.error == "", name
        assert 30 < outcome.row["accuracy %"] <= 100


@pytest.mark.parametrize("name", ["river-tree", "sklearn-logistic"])
def test_what_a_contender_would_leave_it_gets_at_random(name, tmp_path, monkeypatch):
    """All labels that it may have, no more, and at an even pace where it is soon sure."""
    path = tmp_path / "data.csv"
    lines = (f"{i * 37 % 100},{i * 37 % 100 > 50}" for i in range(300))
    path.write_text("\n".join(["x,y", *lines]))
    table, budget = read_table(path, "y"), parse_budget("50%", 300)
    model, labels = CONTENDERS[name].sampler(table, budget, 0), map("True".__eq__, table.labels)
    for t, (x, label) in enumerate(zip(CONTENDERS[name].examples(table), labels, strict=True)):
        assert model.n_queries >= t / 2 - 20
        if model.predict_one(x)[1]:
            model.learn_one(x, label)
    assert model.n_queries == 150
    for kind in (active.MarginSampler, WithRest):
        monkeypatch.setattr(sys.modules[kind.__module__], "pace", lambda manager: (0.0, False))
    assert run(CONTENDERS[name], table, budget).row["labels"] < 130


# What is shown


def broken(table, budget, seed):
    raise RuntimeError("no\nluck")


def test_the_page_is_one_file_with_all_numbers(tmp_path):
    """Nothing is fetched, nothing of the file is taken for markup, colours follow the reader's."""
    path = tmp_path / "<i>.csv"
    frame = rows().drop(columns="id").rename(columns={"age": "<b>", "y": "<u>"})
    frame.to_csv(path, index=False)
    table, budget = read_table(path, "<u>", time="at"), parse_budget("10%", 240)
    outcomes = [run(CONTENDERS[name], table, budget) for name in ("river-tree", "neuronal")]
    outcomes.append(run(contenders.Contender("<s>", broken), table, budget))
    given = {
        "file": path,
        "target": "<u>",
        "delay": "<script>alert(1)</script>",
        "seed": 0,
        "seeds": 1,
    }
    options = argparse.Namespace(budget="10%", horizon=False, **given)
    page = reporting.page(table, outcomes, options, "river-ineural compare 'a&b'")
    assert page.count("<svg") == 2  # for wide screens, and for narrow ones
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len({*ids}) == len(ids)
    assert not re.search(r"\b(src|href)=\"(?!#)|@import|url\((?!#)|<script|<link", page)
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search("<[ibus]>", page)
    assert "&lt;s&gt; failed: RuntimeError: no luck" in page
    assert "prefers-color-scheme: dark" in page
    assert "currentColor" in page.partition("<svg")[2]
    assert reporting.BLACK not in page.partition("<svg")[2]
    assert len(page) < 250_000
    best, other = sorted(outcomes[:2], key=lambda each: -each.row["accuracy %"])
    assert list(reporting.results(outcomes).index) == [best.name, other.name]
    (axes,) = reporting.draw(outcomes).axes
    drawn = [line.get_ydata()[-1] for line in axes.lines]
    assert drawn == [each.mistakes[-1] for each in outcomes[:2]]
    for each in outcomes[:2]:
        assert f"<td>{each.row['accuracy %']:.1f}</td>" in page
        assert f"<td>{each.row['mistakes']}</td>" in page
    for name in table.features:
        assert f"<th>{html.escape(name)}</th>" in page


def test_the_command_line(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = ["compare", file.name, "--target", "y", "--time", "at", "--delay", "1h"]
    given += ["--budget", "24", "--models", "river-tree", "river-logistic"]
    assert main(given) == 0
    out, err = capsys.readouterr()
    table = read_table(file, "y", time="at")
    budget = parse_budget("24", 240, horizon=False)  # rows in time order
    for name in ("river-tree", "river-logistic"):
        outcome = run(CONTENDERS[name], table, budget, parse_delay("1h", table))
        lines = out.partition("\n\n")[0].splitlines()
        (line,) = (line for line in lines if line.startswith(outcome.name))
        assert f"{outcome.row['accuracy %']:.1f}" in line.split()
        assert str(outcome.row["labels"]) in line.split()
    assert "id: left out: 240 different texts" in err
    assert reporting.REST in out
    page = Path("people-compare.html").read_text()
    command = "river-ineural compare people.csv --target y"
    assert all(said in page for said in (reporting.REST, command, "by at", "1h later"))

    monkeypatch.setitem(CONTENDERS, "river-forest", contenders.Contender("bad one", broken))
    given = ["compare", file.name, "--target", "y", "--models", "river-tree", "river-forest"]
    assert main([*given, "--report", "other.html"]) == 1
    out, err = capsys.readouterr()
    assert "Hoeffding tree" in out
    assert "bad one" not in out
    assert err.splitlines()[-1] == "river-ineural: bad one failed: RuntimeError: no luck"
    assert Path("other.html").exists()
    assert main([*given[:-1], "--delay", "240"]) == 1
    assert "it predicted nothing, as no label came before the last row" in capsys.readouterr().err


def test_nothing_is_installed_from_an_index_that_has_no_release():
    root = Path(__file__).parents[1]
    for folder in ("river_ineural", "docs", "examples", "tests"):
        for path in [*root.glob(f"{folder}/**/*.py"), *root.glob(f"{folder}/**/*.md")]:
            assert not re.search(r"install .?river-ineural", path.read_text("utf8")), path


def test_budgets_and_delays_are_what_they_say(file):
    table = read_table(file, "y", time="at")
    assert [parse_budget(text, 240).total for text in ("5%", "0.05", "12", "100%")] == [
        *(12, 12, 12, 240)
    ]
    for n, text in itertools.product((1, 2, 3, 7, 240, 1461), ("5%", "1", "2", "3", "100%")):
        if (text.isdigit() and int(text) > n) or (text == "5%" and n < 20):
            continue  # refused
        of_horizon = parse_budget(text, n).most(n)
        budget = parse_budget(text, n, horizon=False)
        assert budget.most(n) == of_horizon
        assert budget.horizon is None
        assert budget.bucket == (of_horizon + 1) // 2
    with pytest.raises(ValueError, match="'5%' of 19 rows is no label"):
        parse_budget("5%", 19)
    with pytest.raises(ValueError, match="--budget 20 is too many: there are 19 rows"):
        parse_budget("20", 19)
    assert parse_delay("1d", table) == 86_400 * 10**9
    assert parse_delay("1.5h", table) == 5_400 * 10**9
    assert parse_delay("7", read_table(file, "y")) == 7


# The verdict, and a column that gives the label away


def outcome(name, wrong, labels=20.0, totals=None):
    """Of a learner that is wrong in these rows of a hundred."""
    total = np.cumsum([row in wrong for row in range(100)]).tolist()
    row = {"labels": labels, "accuracy %": 100.0 - total[-1]}
    return Outcome(name, total, row, totals=totals or [total[-1]], labels=[*range(7, 107)])


SEVERAL = [
    ([("A", range(10)), ("B", range(50))], "With 20 labels take A: it makes 0.20 times"),
    ([("B", range(50)), ("A", range(10))], "With 20 labels take A: it makes 0.20 times"),
    ([("A", range(10)), ("B", range(1, 12))], "differences between A and B may be chance"),
    ([("A", range(9)), ("B", range(9)), ("C", range(60))], "between A and B may be chance"),
    (
        [("A", range(20)), ("B", range(40, 99))],
        "of B. Up to 26 labels, in row 20, take B: it made 0.00 times the mistakes of A.",
    ),
    ([("A", range(3)), ("B", range(40, 99))], "the mistakes of B."),  # three rows are no start
    ([("A", range(10))], ""),
]


@pytest.mark.parametrize(("learners", "said"), SEVERAL, ids=[each[1] for each in SEVERAL])
def test_the_verdict(learners, said):
    found = verdict.verdict([outcome(*each) for each in learners])
    assert said in found
    assert bool(said) == bool(found)
    assert ("Up to" in found) == ("Up to" in said)


def test_learners_that_are_alike_asked_for_so_many_labels():
    """The best one alone had been named, of which the others needed a third."""
    alike = outcome("A", range(9), 399.0), outcome("B", range(9), 148.0)
    assert "With 148 to 399 labels the differences" in verdict.verdict(alike)


def test_seeds_that_disagree_are_no_verdict():
    """By rows it is sure, by seeds it is not."""
    sure = outcome("A", range(10), totals=[10, 9, 11]), outcome("B", range(40), totals=[40, 41, 39])
    assert "take A" in verdict.verdict(sure)
    unsure = outcome("A", range(10), totals=[1, 1, 28]), outcome("B", range(40), totals=[0, 60, 60])
    assert "may be chance" in verdict.verdict(unsure)


def test_the_mean_of_several_seeds(file):
    table = read_table(file, "y")
    given = CONTENDERS["river-tree-random"], table, parse_budget("40", 240), None
    runs = [run(*given, seed) for seed in (3, 4, 5)]
    found = mean_of(runs)
    accuracies = [each.row["accuracy %"] for each in runs]
    assert len({*accuracies}) > 1
    assert found.row["accuracy %"] == pytest.approx(np.mean(accuracies))
    assert found.row["±"] == pytest.approx(np.std(accuracies, ddof=1))
    assert list(found.row)[:2] == ["accuracy %", "±"]
    assert found.totals == [each.mistakes[-1] for each in runs]
    assert found.mistakes[-1] == pytest.approx(np.mean(found.totals))
    assert found.labels[-1] == pytest.approx(found.row["labels"])
    failed = run(contenders.Contender("bad", broken), table, parse_budget("40", 240))
    assert mean_of([runs[0], failed]) is failed
    assert "±" not in mean_of(runs[:1]).row


def test_a_column_that_gives_the_label_away_is_named(tmp_path):
    frame = rows(n=400)
    frame["copy"] = (frame["y"] == "yes") + np.linspace(0, 0.5, 400)  # a number
    frame["word"] = frame["y"].map({"yes": "sent back", "no": None})  # a gap tells it
    frame["day"] = frame["y"].map({"yes": "2024-11-05", "no": None})
    frame.to_csv(tmp_path / "data.csv", index=False)
    found = [*giveaways(read_table(tmp_path / "data.csv", "y", drop=["at"]))]
    assert [note.partition(":")[0] for note in found] == ["copy", "word", "day"]
    frame["size"] = np.random.default_rng(1).normal(size=400)
    frame.loc[frame["y"] == "no", "size"] = None  # filled for one class, with other values each
    frame[["age", "size", "copy", "y"]][:150].to_csv(tmp_path / "few.csv", index=False)
    few = [*giveaways(read_table(tmp_path / "few.csv", "y"))]
    assert [note.partition(":")[0] for note in few] == ["size", "copy"]
    pairs = pd.DataFrame({"it": [0, 1, 2] * 40, "copy": ["b", "a"] * 60, "y": ["no", "yes"] * 60})
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    (note,) = giveaways(read_table(tmp_path / "pairs.csv", "y"))
    assert note.startswith("copy: this column alone tells 100.0%")
    assert "tells 100.0% of the labels" in found[1]
    assert "--drop 'word'" in found[1]


# What is refitted answers and asks as it would row by row


def data(n=250, k=2):
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, 3)) + y[:, None], y


class Counting(LogisticRegression):
    fitted, called = [], []

    def fit(self, x, y):
        self.fitted.append(len(x))
        return super().fit(x, y)

    def predict_proba(self, x):
        self.called.append(len(x))
        return super().predict_proba(x)


@pytest.fixture
def counting(monkeypatch):
    for calls in ("fitted", "called"):
        monkeypatch.setattr(Counting, calls, [])
    return Counting


def decided(rows, y, block):
    """In which the prediction was wrong, and in which a label was asked for, as I-NeurAL does."""
    budget, learner = Budget(0.2, len(rows)), Refitted(Counting, rows, block=block)
    model = INeurALSampler(learner, budget=budget, self_training=False, seed=3)
    labels, asked = np.array([*rounds(model, zip(numbered(y), y.tolist(), strict=True))], float).T
    return labels != y, asked


@pytest.mark.parametrize("block", [7, 10_000])
def test_blocks_answer_as_row_by_row(block, counting):
    x, y = data(k=3)
    (wrong, asked), *others = (decided(x, y, n) for n in (1, block))
    assert np.array_equal((wrong, asked), *others)
    assert len(y) - 5 < len(counting.called) < 2 * len(y) - 5
    assert 40 < asked.sum() <= 50
    assert wrong.mean() < 0.5


def test_it_is_fitted_whenever_labels_have_grown_by_a_twentieth(counting):
    """From the first two classes on; what was answered ahead is dropped then."""
    x, y = data(421)
    y[:6] = 0
    y[6] = 1
    learner = Refitted(Counting, x)
    assert learner.scores_one({"row": 0}) == {}
    for row, label in enumerate(y[:400].tolist()):
        learner.learn_one({"row": row}, label)
    expected = [7]
    for n in range(8, 401):
        if n >= 1.05 * expected[-1]:
            expected.append(n)
    assert counting.fitted == expected
    assert learner.n_fits == len(expected)
    before = learner.scores_one({"row": 9})
    assert learner.scores_one({"row": 10}).keys() == before.keys()
    for row in range(400, 421):
        learner.learn_one({"row": row}, 1)
    assert learner.scores_one({"row": 9}) != before
    assert counting.called == [256, 256]


def test_what_is_odd_about_labels_is_told_of(tmp_path):
    """Rows sorted by label, but not those that a time sorts; labels that differ in case."""
    path = tmp_path / "data.csv"
    rows = (f"{i},{i % 3},{'no' if i < 20 else 'yes'}\n" for i in range(40))
    path.write_text("t,x,y\n" + "".join(rows))
    (note,) = read_table(path, "y", drop=["t"]).notes
    assert note.startswith("rows are sorted by label")
    assert read_table(path, "y", time="t").notes == ()
    for n_runs, told in (4, True), (6, True), (20, False):  # by chance half of 40 rows
        labels = ("yes" if i * n_runs // 40 % 2 else "no" for i in range(40))
        path.write_text("x,y\n" + "".join(f"{i % 3},{y}\n" for i, y in enumerate(labels)))
        notes = read_table(path, "y").notes
        assert [f"{n_runs} runs" in note for note in notes] == [True] * told
    path.write_text("x,y\n1,no\n2,yes\n3,No\n4,yes\n")
    (note,) = read_table(path, "y").notes
    assert note.startswith("labels 'no' and 'No' are two classes")
    for missing in ("NA", "NULL", "N/A", "#N/A", "<NA>"):
        path.write_text(f"x,y\n1,{missing}\n2,yes\n3,{missing}\n4,yes\n")
        with pytest.raises(ValueError, match=f"are 1 classes .*; 2 rows are .* '{missing}'"):
            read_table(path, "y")


@pytest.mark.parametrize(
    ("header", "told"), [("1.288,-0.5,yes", True), ("0,1,y", False), ("v1.5,0.5,y", False)]
)
def test_a_header_of_values_is_told_of(header, told, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(f"{header}\n" + "".join(f"{i}.5,{i % 3}.25,{i % 2}\n" for i in range(30)))
    notes = [each for each in read_table(path, header.split(",")[-1]).notes if "line 1" in each]
    assert len(notes) == told
    assert all("'1.288' is no name" in each for each in notes)


def test_labels_of_one_number_are_told_of(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,01\n2,1\n3,1.0\n4,2\n")
    table = read_table(path, "y")
    assert table.labels == ("01", "1", "1", "2")
    assert table.notes == ("labels '01' and '1' are two classes of one number",)


def test_a_column_whose_name_is_that_of_a_category_is_learned(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("b=c,a missing,y\n" + "".join(f"{i % 2},{i % 3},{i % 2}\n" for i in range(60)))
    table = read_table(path, "y")
    outcome = run(CONTENDERS["ineural"], table, parse_budget("50%", len(table)))
    assert outcome.error == ""
    assert outcome.row["accuracy %"] > 80
