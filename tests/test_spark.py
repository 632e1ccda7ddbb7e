"""One learner a key on Spark: what Spark runs, by its own tester; and Spark itself, killed."""

import datetime
import itertools
import json
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from river import datasets, preprocessing
from streams import python

from river_ineural import INeurAL, NeurONAL
from river_ineural.active import INeurALSampler, MarginSampler, RandomSampler
from river_ineural.persistence import from_bytes, to_bytes

pyspark = pytest.importorskip("pyspark", reason="needs PySpark: pip install -e '.[spark]'")

from pyspark.sql import Row, types  # noqa: E402
from pyspark.sql.streaming import TwsTester  # noqa: E402

from river_ineural.spark import THRESHOLD, Keyed, by_key, check_size, schema_of  # noqa: E402

STREAM = [(x, "bad" if y else "good") for x, y in datasets.Phishing().take(120)]
EXAMPLE = Path(__file__).parents[1] / "examples" / "spark_keyed.py"
sys.path.append(str(EXAMPLE.parent))

import spark_keyed  # noqa: E402


def sampler(budget=20, kind=INeurAL, around=INeurALSampler, scaled=False, **settings):
    learner = kind(hidden_dim=8, n_steps=2, seed=1, **settings)
    inner = preprocessing.StandardScaler() | learner if scaled else learner
    return around(inner, budget=budget, seed=1)


def keyed(model=None, idle=None, most_waiting=1000):
    """The processor behind Spark's in-memory state, and a clock."""
    time = None if idle is None else datetime.timedelta(milliseconds=idle)
    processor = Keyed(to_bytes(model or sampler()), time, most_waiting)
    return TwsTester(processor, timeMode="None" if idle is None else "ProcessingTime")


def row(id, at, features=None, label=None, key="a"):
    return Row(key=key, id=id, at=at, features=features, label=label)


def rows_of(stream, delay, key="a"):
    """A row an example, and a row a label `delay` of them later."""
    for i, (x, y) in enumerate(stream):
        yield row(str(i), 2 * i, features=x, key=key)
        yield row(str(i), 2 * (i + delay) + 1, label=y, key=key)


def by_hand(model, stream, delay):
    """What a loop makes of `rows_of`: predictions and asks, by id."""
    found, waiting = {}, {}
    for i in range(len(stream) + delay):
        if i < len(stream):
            found[str(i)] = _prediction, ask = model.predict_one(stream[i][0])
            if ask:
                waiting[i] = stream[i]
        if i - delay in waiting:
            model.learn_one(*waiting.pop(i - delay))
    return found


def kept(tester, key="a"):
    return from_bytes(bytes(tester.peekValueState("learner", key)[0]))


def test_a_label_that_nobody_asked_for_answers_no_question():
    """Though another id with the same features waits for its label."""
    tester, x = keyed(), STREAM[0][0]
    asked, old = row("a", 1, features=x), row("old", 2, features=x, label="good")
    (first, second) = tester.test("a", [asked, old])
    assert (first.ask, second.event, second.n_waiting) == (True, "learned", 1)
    assert kept(tester).n_pending == 1


@settings(max_examples=15, deadline=None)
@given(
    settings=st.sampled_from(
        [
            *({}, {"kind": NeurONAL}, {"scaled": True}),
            *({"around": RandomSampler}, {"around": MarginSampler}),
        ]
    ),
    delay=st.integers(0, 12),
    cuts=st.lists(st.integers(0, 2 * len(STREAM)), max_size=24),
    random=st.randoms(use_true_random=False),
)
def test_a_key_is_a_loop_by_hand(settings, delay, cuts, random):
    tester, model = keyed(sampler(**settings)), sampler(**settings)
    rows, found = sorted(rows_of(STREAM, delay), key=lambda row: row.at), []
    for first, last in itertools.pairwise([0, *sorted(cuts), len(rows)]):
        batch = rows[first:last]
        random.shuffle(batch)
        found += tester.test("a", batch) if batch else []
    expected = by_hand(model, STREAM, delay)
    predicted = [each for each in found if each.event == "prediction"]
    assert {each.id: (each.prediction, each.ask) for each in predicted} == expected
    learned = sum(each.event == "learned" for each in found)
    assert 0 < learned == model.n_queries <= 20
    assert found[-1].n_unknown == len(STREAM) - learned
    assert to_bytes(kept(tester)) == to_bytes(model)
    answered = next(each.id for each in found if each.event == "learned")
    (again,) = tester.test("a", [row(answered, 999, label="good")])
    assert again.event == "unknown"  # a label counts once


def test_keys_do_not_meet():
    tester, alone = keyed(), keyed()
    for first in range(0, 60, 20):
        for key in ("a", "b"):
            tester.test(key, list(rows_of(STREAM[first : first + 20], 3, key)))
        alone.test("a", list(rows_of(STREAM[first : first + 20], 3)))
    assert to_bytes(kept(tester, "a")) == to_bytes(kept(tester, "b")) == to_bytes(kept(alone))


GOOD = STREAM[0][0]
BAD = {
    "a feature that is no number": row("x", 1, {**GOOD, "age_of_domain": float("nan")}),
    "text without the option": row("x", 1, {**GOOD, "age_of_domain": "old"}),
    "no features and no label": row("x", 1),
    "an empty label": row("0", 1, label=" "),
    "no id": row(None, 1, GOOD),
    "no place": row("x", None, GOOD),
    "an id that waits": row("0", 1, GOOD),
    "a value that no text holds": row("x", 1, {**GOOD, "age_of_domain": b"1"}),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_is_refused_changes_nothing(bad):
    tester, clean = keyed(), keyed()
    before, after = row("0", 0, GOOD), [row("0", 2, label="good"), row("1", 3, STREAM[1][0])]
    found = tester.test("a", [before, bad, *after])
    expected = clean.test("a", [before, *after])
    refused = [each for each in found if each.event == "refused"]
    assert len(refused) == 1
    assert len(refused[0].error) > 10
    assert refused[0].id == bad.id
    assert [each for each in found if each.event != "refused"] == expected
    assert to_bytes(kept(tester)) == to_bytes(kept(clean))


def test_what_has_a_label_is_learned():
    """As in a warm start, by hand: no round, nothing asked for."""
    tester, model = keyed(), sampler()
    found = tester.test("a", [row(str(i), i, x, y) for i, (x, y) in enumerate(STREAM[:30])])
    for x, y in STREAM[:30]:
        model.learn_one(x, y)
    assert {each.event for each in found} == {"learned"}
    assert found[-1].n_rounds == found[-1].n_queries == 0
    assert to_bytes(kept(tester)) == to_bytes(model)


def test_what_waits_is_bounded():
    """The oldest go, and their labels are unknown then; nothing of them is left in the state."""
    tester = keyed(sampler(budget=None), most_waiting=5)
    asked = tester.test("a", [row(str(i), i, x) for i, (x, _) in enumerate(STREAM[:8])])
    assert all(each.ask for each in asked)
    assert [each.n_waiting for each in asked] == [1, 2, 3, 4, 5, 5, 5, 5]
    assert set(tester.peekMapState("features", "a")) == {("3",), ("4",), ("5",), ("6",), ("7",)}
    late = tester.test("a", [row("2", 9, label="good"), row("3", 9, label="good")])
    assert [each.event for each in late] == ["unknown", "learned"]


def test_an_idle_key_is_forgotten():
    tester = keyed(idle=1000)
    first = tester.test("a", list(rows_of(STREAM[:20], 2)))
    assert tester.setProcessingTime(600) == []
    tester.test("a", [row("20", 99, STREAM[20][0])])
    assert tester.setProcessingTime(1500) == []
    (expired,) = tester.setProcessingTime(1700)
    assert (expired.key, expired.event) == ("a", "expired")
    assert expired.n_rounds == 21
    assert tester.peekValueState("learner", "a") is None
    assert tester.peekMapState("features", "a") == {}
    assert tester.test("a", list(rows_of(STREAM[:20], 2))) == first


TEXT, NUMBER, WHOLE = types.StringType(), types.DoubleType(), types.LongType()
COLUMNS = {"key": TEXT, "id": TEXT, "at": types.TimestampType(), "label": TEXT}
COLUMNS |= {"features": types.MapType(TEXT, NUMBER)}


def frame(**changed):
    """What `by_key` reads of a data frame."""
    schema = types.StructType()
    for name, kind in (COLUMNS | changed).items():
        if kind is not None:
            schema.add(name, kind)
    return SimpleNamespace(schema=schema)


REFUSED = {  # what is said; a column, a model or an option
    "'id' must be of text, got bigint: cast it": ("id", WHOLE),
    "'features' must be a struct or a map from text, got double": ("features", NUMBER),
    "or a map from text, got map<bigint": ("features", types.MapType(WHOLE, NUMBER)),
    "'label' must be of text, integers or booleans, got double": ("label", NUMBER),
    "no column 'at': there are .* withColumnRenamed": ("at", None),
    "must be a sampler": ("model", INeurAL()),
    "knows the label 0, and the column 'label'": ("model", sampler(classes=(0, 1))),
    "most_waiting must be at least 1": ("most_waiting", 0),
    "idle must be a positive time or None": ("idle", datetime.timedelta(0)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_all_is_checked_before_anything_runs(message):
    name, value = REFUSED[message]
    rows = frame(**({name: value} if name in COLUMNS else {}))
    model = value if name == "model" else sampler()
    options = {name: value} if name in ("most_waiting", "idle") else {}
    with pytest.raises((TypeError, ValueError), match=message):
        by_key(rows, model, **options)


@pytest.mark.parametrize(("setting", "fits"), [(None, False), ("1m", False), ("2M", True)])
def test_a_model_too_large_for_spark_says_what_to_set(setting, fits):
    """Of a megabyte and a half; what is advised is enough."""
    settings = {} if setting is None else {THRESHOLD: setting}
    rows = SimpleNamespace(sparkSession=SimpleNamespace(conf=settings))
    if fits:
        check_size(rows, 1_500_000)
        return
    with pytest.raises(ValueError, match=r"1,500,000 bytes, too many for .*=1m") as error:
        check_size(rows, 1_500_000)
    settings[THRESHOLD] = re.search('set it to "(.*?)"', str(error.value)).group(1)
    check_size(rows, 1_500_000)


def test_rows_are_of_the_schema():
    names = schema_of(frame()).names
    tester = keyed(idle=1000)
    rows = [*rows_of(STREAM[:20], 2), row("x", 99)]
    found = [*tester.test("a", rows), *tester.setProcessingTime(2000)]
    assert {each.event for each in found} == {
        *("prediction", "learned", "unknown", "refused", "expired")
    }
    assert all(each.__fields__ == names for each in found)


@pytest.mark.parametrize("cuts", [[0, 5], [0, 1, 2, 4, 5]])
def test_files_of_the_example_may_be_read_in_any_batches(cuts, tmp_path):
    """After a kill between Spark's two logs it reads two files at once."""
    spark_keyed.write(tmp_path / "source", 2, 120)
    files = [
        [
            row(**dict.fromkeys(("features", "label")) | json.loads(line))
            for line in path.read_text().splitlines()
        ]
        for path in sorted((tmp_path / "source").iterdir())
    ]
    assert len(files) == 5

    def decided(cuts):
        tester = TwsTester(Keyed(to_bytes(sampler()), None, 1000), timeMode="None")
        batches = [[*itertools.chain(*files[a:b])] for a, b in itertools.pairwise(cuts)]
        found = [
            tester.test(key, [each for each in batch if each.key == key])
            for batch in batches
            for key in ("key 0", "key 1")
        ]
        return sorted(itertools.chain(*found), key=lambda row: (int(row.id), row.event))

    assert decided(cuts) == decided(range(6))


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime")
def test_a_driver_that_is_killed_goes_on_where_it_was():
    """The example, small: every prediction and ask as without, nothing lost, nothing twice."""
    out = python(EXAMPLE, "--keys", 6, "--rows", 240, "--json")
    told = json.loads(out.stdout.splitlines()[-1])
    assert told["killed"]
    assert told["batches_at_kill"] < told["batches"]
    assert told["rows"] == told["rows_resumed"] == 2 * 240
    assert told["differences"] == 0, out.stderr[-2_000:]
    assert told["predictions"] == 240
    assert 0 < told["learned"] <= told["asks"]


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime")
def test_the_page_prints_what_it_says(tmp_path):
    page = (Path(__file__).parents[1] / "docs" / "many-keys.md").read_text()
    code = page.partition("```python\n")[2].partition("```")[0]
    said = page.partition("<!-- output -->\n```text\n")[2].partition("```")[0]
    (tmp_path / "page.py").write_text(code)
    assert python("page.py", cwd=tmp_path).stdout == said
