"""Saved and loaded: to the bit, whole whatever happens, and nothing but a model."""

import copy
import functools
import math
import os
import pickle
import stat
import time
import tracemalloc
from unittest.mock import Mock

import kept
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from river import drift
from streams import blobs, dump, learned, python, shifting, small, waits_its_turn

from river_ineural import INeurAL, NeurONAL, active, load, save
from river_ineural.active import width as widths
from river_ineural.explorers.trust import EXPLORERS
from river_ineural.features.validation import SCHEMA
from river_ineural.persistence import LoadError, SaveError, from_bytes, to_bytes

STREAM = shifting(60, 6, 3, seed=2)


@pytest.fixture
def model():
    return learned(small(), STREAM)


@pytest.fixture(scope="module")
def opened():
    return kept.opened(kept.victim())


def refused(data, message=None):
    with pytest.raises(LoadError, match=message):
        from_bytes(data)


# As if nothing had happened


def goes_on(model, stream, waiting=()):
    """Decisions, and then all that the model is, draws and weights among it."""
    loaded = from_bytes(to_bytes(model))
    assert to_bytes(loaded) == to_bytes(model)
    one, other = [kept.Rounds(each, waiting).run(stream).digest() for each in (model, loaded)]
    assert one == other


@pytest.mark.parametrize("case", kept.cases())
@pytest.mark.filterwarnings("ignore:max_")
def test_it_goes_on_to_the_bit(case):
    model, stream, at = kept.cases()[case]
    rounds = kept.Rounds(model).run(stream[:at])
    if case in ("in a recovery", "after a drift"):
        assert (model.n_drifts, model.classifier.changing) == (1, case == "in a recovery")
    goes_on(model, stream[at:], rounds.waiting)


@pytest.mark.filterwarnings("ignore:Only one class", "ignore:No label of", "ignore:max_")
@settings(max_examples=12)
@given(
    kind=st.sampled_from([INeurAL, NeurONAL]),
    sampler=st.sampled_from([active.INeurALSampler, active.RandomSampler, active.MarginSampler]),
    budget=st.sampled_from([None, 0.5, 7, active.Budget(0.25, burst=3)]),
    audit=st.sampled_from([0.0, 0.3]),
    explorers=st.sampled_from([(), ("network",), ("forest", "network")]),
    detector=st.sampled_from([None, "cusum", "DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW"]),
    n_layers=st.sampled_from([2, 3]),
    n_steps=st.floats(0, 3),
    capacity=st.integers(2, 40),
    classes=st.sampled_from([None, ("class 0", "late", 3)]),
    n=st.integers(0, 40),
)
def test_any_model_goes_on_to_the_bit(kind, sampler, budget, audit, detector, n, **parameters):
    river = detector not in (None, "cusum")
    parameters["drift_detector"] = getattr(drift.binary, detector)() if river else detector
    model = sampler(small(kind, **parameters), budget=budget, seed=3, audit=audit)
    kept.Rounds(model).run(STREAM[:n])
    goes_on(model, STREAM[n:])


def test_it_goes_on_in_another_process(tmp_path):
    """One that hashes strings otherwise, with labels on their way."""
    model, stream, at = kept.cases()["what appears"]
    waiting = [*kept.Rounds(model).run(stream[:at]).waiting]
    assert model.n_pending == kept.LATE
    save(model, tmp_path / "model")
    expected = kept.Rounds(model, waiting).run(stream[at:]).digest()
    code = f"import kept; kept.goes_on({str(tmp_path / 'model')!r}, {waiting})"
    assert python("-c", code, PYTHONHASHSEED="7").stdout.strip() == expected


LABELS = (True, 2, "three", 4.5, np.int64(5), np.float32(6.5), np.str_("seven"), np.bool_(False))
NAMES = [
    *("a", 1, 2.5, False, None, ("pair", 3, ("of", None)), np.int64(7), b"bytes", "\u00e9\ud800"),
    *(math.inf, 10**30, np.str_("x"), "$tuple"),
]


def test_labels_and_names_keep_their_types():
    model = active.INeurALSampler(small(classes=LABELS), seed=1)
    model.learn_one(dict.fromkeys(NAMES, 1.0), LABELS[0])
    loaded = from_bytes(to_bytes(model))
    learner, names = loaded.classifier, dump(model.classifier).features.names
    assert repr(learner.known_labels) == repr(learner.classes) == repr(LABELS)  # and so their types
    assert repr(dump(learner).features.names) == repr(names)
    assert to_bytes(loaded) == to_bytes(model)


def test_each_explorer_and_width_and_what_was_set_since_is_saved():
    learner = learned(small(explorers=(*EXPLORERS,)), STREAM)
    for name in ("ConstantWidth", "TheoreticalWidth"):
        model = active.INeurALSampler(learner, width=getattr(widths, name)(), seed=1)
        model.gamma, model.budget, model.classifier.lr = 0.5, active.Budget(0.25, burst=3), 1e-3
        model.since, model.classifier.note = 3, {"spring": [1, "b"]}
        loaded = from_bytes(to_bytes(model))
        assert (loaded.width, loaded.budget, loaded.gamma) == (model.width, model.budget, 0.5)
        assert (loaded.since, loaded.classifier.note) == (3, {"spring": [1, "b"]})
        assert loaded.classifier.lr == 1e-3
        assert to_bytes(loaded) == to_bytes(model)
    assert from_bytes(to_bytes(learner)).note == learner.note  # without a sampler too


def test_on_a_device(model, cuda):
    on_gpu = from_bytes(to_bytes(model), device=cuda)
    assert dump(on_gpu).networks.block[0].device.type == "cuda"
    back = from_bytes(to_bytes(on_gpu), device="cpu")
    assert to_bytes(back) == to_bytes(model)
    assert from_bytes(to_bytes(on_gpu)).device == "cuda"


DEVICE = ("parameters", "device")


def test_a_device_that_is_not_there(opened):
    document, arrays = opened
    data = kept.sealed(kept.changed(document, DEVICE, "cuda:99"), arrays)
    with pytest.raises(ValueError, match="cuda:99"):
        from_bytes(data, device="cuda:99")
    with pytest.warns(UserWarning, match="loaded on the CPU"):
        assert from_bytes(data).classifier.device == "cpu"


def test_a_save_waits_for_its_turn(model):
    around = active.INeurALSampler(model, seed=1)
    for lock in (around._lock, model._lock):
        assert waits_its_turn(to_bytes, around, lock)


# What a file cannot hold


class Own(drift.binary.DDM):
    pass


class INeurALSampler(active.INeurALSampler):
    """The name alone is not enough."""


def changed(path, value):
    """A model with another attribute somewhere."""
    model = active.INeurALSampler(learned(small(), STREAM), seed=1)
    *way, last = path.split(".")
    setattr(functools.reduce(getattr, way, model), last, value)
    return model


def with_nan_weights():
    model = active.INeurALSampler(learned(small(), STREAM), seed=1)
    dump(model).networks.block[0, 3] = math.nan
    return model


REFUSED = {
    "test_persistence.INeurALSampler": lambda: INeurALSampler(INeurAL()),
    "drift_detector is Own(?s:.*) of objects only .* DDM, EDDM": lambda: INeurAL(
        drift_detector=Own()
    ),
    "width is <function": lambda: changed("width", lambda t, k, n: 0.1),
    "notes.INeurALSampler.note is <object": lambda: changed("note", object()),
    "tensor learner.model.networks.block must be finite": with_nan_weights,
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_saved_says_so(message, tmp_path):
    path = tmp_path / "model"
    path.write_text("as before")
    with pytest.raises(SaveError, match=message):
        save(REFUSED[message](), path)
    assert path.read_text() == "as before"
    assert os.listdir(tmp_path) == ["model"]


# Files


@pytest.mark.skipif(not hasattr(os, "fchown"), reason="owners and modes of files")
def test_files_are_replaced_at_once_and_keep_their_rights(model, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    save(model, os.fsencode(path))
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    owners = []
    monkeypatch.setattr(os, "fchown", lambda file, *owner: owners.append(owner))
    save(model, tmp_path / "link")
    assert owners == [(path.stat().st_uid, path.stat().st_gid)]
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with monkeypatch.context() as patch:  # a folder that cannot be read will do
        patch.setattr(os, "O_RDONLY", os.O_WRONLY)
        save(model, path)
    before, synced, fsync = load(os.fsencode(path)), [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda n: synced.append(os.fstat(n).st_mode) or fsync(n))
    save(model, str(path))
    assert [stat.S_ISDIR(mode) for mode in synced] == [False, True]
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        save(small(), path)
    assert to_bytes(before) == path.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["link", "model.safetensors"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs")
def test_nothing_but_a_regular_file_is_replaced_or_read(tmp_path):
    """And no file that is the user's own is deleted, whatever its name."""
    own = tmp_path / ".river_ineural.0123.tmp"
    own.write_text("mine")
    os.utime(own, (0, 0))
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "device").symlink_to(os.devnull)
    save(INeurAL(), tmp_path / "model")
    names = sorted(os.listdir(tmp_path))
    for name in ("fifo", "folder", "loop", "device"):
        with pytest.raises(OSError, match=r"no regular file|symbolic links"):
            save(INeurAL(), tmp_path / name)
        with pytest.raises((LoadError, OSError), match=r"regular file|symbolic links|\[Errno 21\]"):
            load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        save(INeurAL(), "")
    with pytest.raises(FileNotFoundError, match=r"no such folder: '.*/nowhere'$"):
        save(INeurAL(), tmp_path / "nowhere" / "model")
    assert sorted(os.listdir(tmp_path)) == names
    assert stat.S_ISFIFO(os.lstat(tmp_path / "fifo").st_mode)


def test_a_file_is_not_larger_than_what_is_in_it():
    """Weights, averaged weights, optimiser, rows in use; not the room for more of them."""
    model = learned(small(hidden_dim=50), blobs(50, n_features=200))
    model.learn_one({"one more": 1.0}, 0)
    state = dump(model)
    used, room = state.networks.n_features, state.networks.shape.n_features
    assert (used, room) == (202, 251)
    weights = state.networks.shape._replace(n_features=used).n_parameters
    least = 4 * (4 * weights + 51 * (2 * 2 + 1)) + 8 * (51 * used + (4 + 3 + 6) * room)
    forest = state.explorers.by_name["forest"].__getstate__()
    least += forest["child"].size * (2 + 8 + 4)
    least += sum(each.nbytes for each in state.explorers.by_name["discriminant"].fit)
    for written, read in ((to_bytes, from_bytes), (pickle.dumps, pickle.loads)):
        data = written(model)
        assert least < len(data) < least + 20_000
        state = dump(read(data))
        assert state.networks.shape.n_features == state.history.x.shape[1] == room
        assert to_bytes(read(data)) == to_bytes(model)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="SIGKILL")
def test_kills_leave_a_whole_file_and_hostile_files_take_little_memory():
    python("-c", "import kept; kept.survives_kills(); kept.stands_damage()")


# Files that are not what they seem


def test_a_pickle_is_refused_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").write_bytes(b"\x80\x04cos\nsystem\n(S'touch trapped'\ntR.")
    with pytest.raises(LoadError, match=r"model: not a file of.*as a pickle does"):
        load(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


def of_learner(name):
    return "parameters", name


SAMPLER = "around", "$tuple"


def at(path):
    """The place of a value, by its path in the model."""
    first, *way = path.split(".")
    return (*SAMPLER, 2, *way) if first == "sampler" else ("learner", *path.split("."))


FORGED = [
    ((*SAMPLER, 0), "os.system", "Invalid enum value .os.system. .*around"),
    (("kind",), "os.system", "Invalid enum value .os.system. .*kind"),
    (of_learner("hidden_dim"), 9, "networks.block must be .* weights"),
    (of_learner("n_layers"), 10**9, "networks.block must be .* weights"),
    (of_learner("capacity"), 10**15, "no model can be made of it|capacities"),
    (of_learner("lr"), -1.0, "lr must be finite and in"),
    (of_learner("lr"), 10**400, "lr must be finite"),
    (of_learner("seed"), kept.DROPPED, "lacks its parameter seed"),
    (of_learner("drift_detector"), {"$os.system": {}}, "os.system"),
    (DEVICE, "meta", "device must be 'cpu', 'cuda' or"),
    ((*SAMPLER, 1, "budget"), {"$Budget": {"limit": 1.5}}, "Budget lacks its parameter"),
    (("room",), 10**9, "room must be that of 5 names"),
    (("labels",), [1, 1, 1], "label"),
    (("labels",), [0, 1, math.inf], "label inf"),
    (("names",), [{"$dict": []}] * 5, "name {} "),
    (at("sampler._budget_manager.left"), math.nan, "Expected `float` >= .*_budget_manager.left"),
    (at("sampler._rng"), "x", "Expected `array`"),
    (at("sampler.predict_one"), 1, "unknown field `predict_one`"),
    (at("detector.error_rates"), [0.5, 1.1, 0.5, 0.5], "Expected `float` <= 1.0"),
    (at("detector.n_of_class"), kept.DROPPED, "missing required field `n_of_class`"),
    (at("model.explorers.forest"), None, "explorers.forest must be as its model's parameters"),
    (at("model.explorers.discriminant.n_new"), -1, "n_new"),
    (at("model.explorers.last_label.last"), -1, "counts must be of the last label too"),
    (at("model.explorers.last_label.examples"), 0.0, "changes must be at most the examples"),
    (at("detector.n_of_class"), {"$dict": [[3, 1]]}, "n_of_class must be of 3 classes"),
    (at("detector.cusum.sums"), {"$dict": [[1, 0.5]]}, "sums with a start each"),
    (at("detector.river"), {}, "river must be as drift_detector says"),
    (at("model.scaling.n"), 10**400, "scaling.n"),
    (at("model.history.added"), [9, 0], "history must be tensors of 9 rows"),
    (at("recovery.n_since"), 10**6, "recovery.n_since must be at most"),
    (at("recovery"), None, "snapshot must be as its model's parameters say"),
]


@pytest.mark.parametrize(("place", "value", "message"), FORGED, ids=lambda part: f"{part!r:.50}")
def test_an_error_names_what_is_wrong(opened, place, value, message):
    document, arrays = opened
    refused(kept.sealed(kept.changed(document, place, value), arrays), message)


def first_row(change):
    return lambda array: np.r_[change(array[:1]), array[1:]]


def without_column(array):
    return array[:, 1:]


NEGATIVE = np.diag([1.0, 1.0, 1.0, -1.0])
SPOILED = [
    ("networks.block", first_row(lambda row: row * math.nan), "finite"),
    ("explorers.b", first_row(lambda row: row - math.inf), "finite"),
    ("explorers.a", np.triu, "symmetric"),
    ("explorers.a", lambda array: NEGATIVE, "symmetric, with no negative eigen"),
    ("explorers.discriminant.gains", lambda array: array - 1e9, "a gain and a square"),
    ("explorers.discriminant.at", lambda array: array - 1e302, "means and inverse deviations"),
    ("explorers.discriminant.forms", first_row(lambda row: row * math.nan), "finite"),
    ("explorers.discriminant.constants", lambda array: array + 1, "log likelihoods, and shares"),
    ("scaling.moments", without_column, r"float64 .*\(4, 6\), got float64 .*\(4, 5\)"),
    ("history.x", without_column, r"float64 .*, 6\), got float64 of shape .*, 5\)"),
]


@pytest.mark.parametrize(("name", "change", "message"), SPOILED)
def test_numbers_that_would_spoil_each_prediction(opened, name, change, message):
    document, arrays = opened
    name = f"learner.model.{name}"
    data = kept.sealed(document, {**arrays, name: change(arrays[name])})
    refused(data, f"tensor {name} must be {message}")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("classes", lambda classes: classes + 3, "from 0 to 2"),
        ("classes", lambda classes: classes - 3, "from 0 to 2"),
        ("columns", lambda columns: columns + 1, "from 1 to 6"),
        ("columns", lambda columns: columns - 1, "from 1 to 6"),  # 0 is the constant's
        ("columns", lambda columns: columns - 8, "from 1 to 6"),
        ("values", lambda values: values * 1e16, "from -1"),
        ("values", lambda values: values + math.inf, "from -1"),
        ("w", lambda w: -w, "from 0 to 1"),
        ("w", lambda w: w + 1e7, "from 0 to 1"),
        ("w", lambda w: w * math.nan, "from 0 to 1"),
        ("n_values", lambda counts: counts + 1, "of fewer than 6 examples"),
        ("n_values", lambda counts: counts * np.array([-1, 3, 1, 1, 1]), "fewer than 6"),
    ],
)
def test_pseudo_labels_that_wait_are_checked(name, change, message):
    model = learned(small(), blobs(9, n_classes=3, seed=1))
    for x, y in blobs(5, n_classes=3, seed=1):
        model.learn_one(x, y, pseudo_label=True)
    document, arrays = kept.opened(to_bytes(model))
    name = f"learner.pseudo_labels.{name}"
    refused(kept.sealed(document, {**arrays, name: change(arrays[name])}), message)
    doubled = {n: np.r_[a, a] if "pseudo_labels" in n else a for n, a in arrays.items()}
    refused(kept.sealed(document, doubled), "of fewer than 6 examples")


@pytest.mark.parametrize(
    ("part", "node", "value"),
    [
        *(("feature", 0, column) for column in (6, -2)),  # of five, in columns 1 to 5; 0 is a 0
        *(("child", 0, node) for node in (0, 10**6)),  # back to the root: it would never end
        *(("child", -1, label) for label in (3, -2)),  # of three classes, or none
    ],
)
def test_trees_that_lead_nowhere_are_refused(opened, part, node, value):
    """The nodes that are in use begin with the root, and end with a leaf."""
    (document, arrays), path = opened, "learner.model.explorers.forest"
    (nodes,) = (arrays[f"{path}.child"][0] >= 0).nonzero()
    array = arrays[f"{path}.{part}"].copy()
    array[0, nodes[node]] = value
    data = kept.sealed(document, {**arrays, f"{path}.{part}": array})
    refused(data, "forest must be trees of features and classes in use")


def header(text):
    return len(text).to_bytes(8, "little") + text


COLLIDING = [i * (2**61 - 1) for i in range(1, 60_001)]
COUNTS = {"$dict": [[i, {"$tuple": [1, 1]}] for i in COLLIDING]}
NUMBERS = b",".join([b"9" * 4_000] * 1_500)
BOMBS = {
    "names": {"names": COLLIDING},
    "labels": {"labels": COLLIDING},
    "counts": {"around": {"$tuple": ["INeurALSampler", {}, {"_seen": COUNTS}]}},
    "shape": header(b'{"a":{"dtype":"F32","shape":[%s],"data_offsets":[0,4]}}' % NUMBERS),
    "lists": kept.signed(f'{{"a":[{",".join(["[[]]"] * (8 << 18))}]}}', {}),
    "lists that just fit": kept.signed(f'{{"a":[{",".join(["[[]]"] * 600_000)}]}}', {}),
    "deep": kept.signed('{"a":' + "[" * 900_000, {}),
    "long": header(b" " * (32 << 20)),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_bombs_are_refused_at_once(opened, kind):
    document, arrays = opened
    data = BOMBS[kind]
    if isinstance(data, dict):
        data = kept.sealed(document | data, arrays)
    start = time.thread_time()
    refused(data)
    assert time.thread_time() - start < 15  # what is refused would take a minute, or all memory
    tracemalloc.start()
    refused(data)
    assert tracemalloc.get_traced_memory()[1] < 300 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("text", ["[", '{"a":', "[]}", "3}", "{}}", "NaN}"])
def test_json_that_is_no_model(text):
    arrays = {"a": np.zeros(2)}
    for metadata in (None, {"other": "x"}, {"river_ineural": text}):
        refused(safetensors.numpy.save(arrays, metadata))
    refused(kept.signed('{"a":' + text, arrays))


@pytest.mark.parametrize("schema", [SCHEMA - 1, SCHEMA + 1, True, None, "1"])
def test_another_schema_is_refused(opened, schema):
    document, arrays = opened
    document = document | {"schema": schema, "made_by": "9.1"}
    refused(kept.sealed(document, arrays), r"it is of schema .* version that made it \(9\.1\)")
    if schema is not True:  # a pickle is trusted: it says what its maker wrote
        model = active.INeurALSampler(small(), seed=1)
        for each in (model, model.classifier):
            with pytest.raises(ValueError, match="this pickle is of schema"):
                object.__new__(type(each)).__setstate__(each.__getstate__() | {"schema": schema})


def test_a_copy_shares_no_memory_of_a_full_history(model):
    history = dump(model).history
    history.added = list(history.capacities)
    for other in (copy.copy(history), copy.deepcopy(history), pickle.loads(pickle.dumps(history))):
        other.x[:] = 1
    assert not (history.x == 1).all()
