"""Saved and loaded: to the bit, whole whatever happens, and nothing but a model."""

from __future__ import annotations

import copy
import io
import json
import math
import os
import pickle
import random
import re
import stat
import sys
import time

import kept
import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import given
from hypothesis import strategies as st
from river import drift, linear_model, preprocessing
from streams import blobs, learned, shifting, small, waits_its_turn

from river_ineural import INeurAL, active, load, persistence, save
from river_ineural.active.width import TheoreticalWidth
from river_ineural.inputs.versions import SCHEMA
from river_ineural.learning import change
from river_ineural.persistence import LoadError, SaveError, from_bytes, to_bytes
from river_ineural.storage import classes, container

CASES = list(kept.cases(0))
STREAM = shifting(60, 6, 3, seed=2)


@pytest.fixture
def model():
    return learned(small(), STREAM)


@pytest.fixture(scope="module")
def victim():
    return kept.victim()


@pytest.fixture
def opened(victim):
    """What is in a file: JSON, and arrays."""
    return container.unpack(io.BytesIO(victim))


def refused(document, arrays, message):
    with pytest.raises(LoadError, match=message):
        from_bytes(kept.sealed(document, arrays))


# As if nothing had happened


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:max_")
def test_it_goes_on_to_the_bit(case):
    """Decisions, and then all that the model is, draws and weights among it."""
    model, stream, at = kept.cases(25)[case]
    rounds = kept.Rounds(model).run(stream[:at])
    learner = model.classifier
    if case == "what appears":
        assert model.n_pending == kept.LATE
        assert {name for x, _ in stream[at:] for name in x} - set(learner._state.features.names)
    if case in ("in a trial", "after a drift"):
        assert (learner.n_drifts, learner.changing) == (1, case == "in a trial")
    loaded = from_bytes(to_bytes(model))
    assert to_bytes(loaded) == to_bytes(model)
    others = [kept.Rounds(each, rounds.waiting).run(stream[at:]) for each in (model, loaded)]
    assert others[0].digest() == others[1].digest()
    assert model.n_rounds == loaded.n_rounds == len(stream)


def test_it_goes_on_in_another_process(tmp_path):
    """One that hashes strings otherwise, with labels on their way."""
    names, expected = ("what appears", "in a trial"), []
    for case in names:
        model, stream, at = kept.cases(25)[case]
        rounds = kept.Rounds(model).run(stream[:at])
        save(model, tmp_path / f"{case}.safetensors")
        (tmp_path / f"{case}.json").write_text(json.dumps(list(rounds.waiting)))
        expected.append(kept.Rounds(model, rounds.waiting).run(stream[at:]).digest())
    assert (
        kept.in_a_process("goes_on", tmp_path, 25, *names, PYTHONHASHSEED="7").split() == expected
    )


def test_a_model_that_has_learned_nothing():
    for model in (INeurAL(seed=1), active.INeurALSampler(INeurAL(seed=1, classes=(1, 2)))):
        loaded = from_bytes(to_bytes(model))
        for each in (model, loaded):
            each.learn_one({"a": 1.0}, 1)
        assert to_bytes(loaded) == to_bytes(model)


def test_features_named_but_not_learned_yet():
    """An example of a class beyond the cap brings names, whose weights wait to be written."""
    stream = blobs(20, n_features=12)
    model, x = learned(small(max_classes=2), stream), stream[0][0]
    model.learn_one({**x, "first": 1.0}, 0)  # makes room for another
    with pytest.warns(UserWarning, match="max_classes"):
        model.learn_one({**x, "second": 1.0}, "third")
    assert model._state.trainer.pending
    loaded = from_bytes(to_bytes(model))
    x = {**x, "second": 3.0}
    assert loaded.scores_one(x) == model.scores_one(x)
    for each in (model, loaded):
        each.learn_one(x, 0)
    assert to_bytes(loaded) == to_bytes(model)


LABELS = [True, 2, "three", 4.5, np.int64(5), np.float32(6.5), np.str_("seven"), np.bool_(False)]
NAMES = [
    *("a", 1, 2.5, False, None, ("pair", 3, ("of", None)), np.int64(7), b"bytes", "\u00e9\ud800"),
    *(math.inf, 10**30, np.str_("x")),
]


def test_labels_and_names_keep_their_types():
    model = small(classes=tuple(LABELS))
    model.learn_one(dict.fromkeys(NAMES, 1.0), LABELS[0])
    loaded = from_bytes(to_bytes(model))

    def kinds(values):
        return [(type(value), value) for value in values]

    assert kinds(loaded.known_labels) == kinds(loaded.classes) == kinds(LABELS)
    assert kinds(loaded._state.features.names) == kinds(model._state.features.names)


def test_parameters_and_what_was_set_since():
    width = TheoreticalWidth(horizon=100)
    inner = learned(small(explorers=("forest",)), STREAM)
    model = active.INeurALSampler(inner, width=width, budget=active.Budget(0.25, burst=3), seed=1)
    model.gamma, model.note = 0.5, {"since": ("spring", [np.arange(3), math.nan])}
    loaded = from_bytes(to_bytes(model))
    assert (loaded.width, loaded.budget, loaded.gamma) == (width, model.budget, 0.5)
    assert loaded.classifier.trust == inner.trust
    season, (numbers, nan) = loaded.note["since"]
    assert (season, numbers.tolist(), math.isnan(nan)) == ("spring", [0, 1, 2], True)
    with pytest.raises(AttributeError, match="fixed"):
        loaded.seed = 3
    assert loaded.clone().gamma == 0.5


@pytest.mark.parametrize("kind", ["DDM", "EDDM", "FHDDM", "HDDMA", "HDDMW"])
def test_a_detector_of_river_goes_on(kind):
    settings = {"short_window_size": 20} if kind == "FHDDM" else {}
    model = small(drift_detector=getattr(drift.binary, kind)(**settings))
    model.learn_one({"a": 1.0}, 0)
    watched = model._state.watch.river
    rng = np.random.default_rng(0)
    for _ in range(150):  # FHDDM tells of ones that grow rare, the others of more of them
        watched.update(bool(rng.random() < (0.9 if kind == "FHDDM" else 0.1)))
    other = from_bytes(to_bytes(model))._state.watch.river
    assert type(other) is type(watched)
    told = []
    for _ in range(300):
        mistaken = bool(rng.random() < 0.5)
        for each in (watched, other):
            each.update(mistaken)
        told.append(watched.drift_detected)
        assert other.drift_detected == watched.drift_detected
    assert any(told)


def test_on_a_device(model, cuda):
    """Onto the CPU and back to rounding."""
    on_gpu = from_bytes(to_bytes(model), device=cuda)
    assert on_gpu._state.trainer.flat.device.type == "cuda"
    back = from_bytes(to_bytes(on_gpu), device="cpu")
    x = STREAM[0][0]
    for other in (on_gpu, back):
        assert other.scores_one(x) == pytest.approx(model.scores_one(x), abs=1e-4)
    assert to_bytes(back) == to_bytes(model)
    assert from_bytes(to_bytes(on_gpu)).device == "cuda"


def test_a_device_that_is_not_there(model, tmp_path):
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="cuda:99"):
        load(tmp_path / "model", device="cuda:99")
    document, arrays = container.unpack(io.BytesIO((tmp_path / "model").read_bytes()))
    document["objects"][-1]["state"]["device"] = "cuda:99"
    with pytest.warns(UserWarning, match="loaded on the CPU"):
        assert from_bytes(kept.sealed(document, arrays)).device == "cpu"
    assert from_bytes(kept.sealed(document, arrays), device="cpu").device == "cpu"


def test_a_save_waits_for_its_turn(model):
    """As pickling does: a model is not read while another thread changes it."""
    around = active.INeurALSampler(model, seed=1)
    for lock in (around._lock, model._lock):
        assert waits_its_turn(to_bytes, around, lock)


# What a file cannot hold


class Own(drift.binary.DDM):
    pass


class INeurALSampler(active.INeurALSampler):
    """The name alone is not enough."""


def of_a_name(name):
    return learned(small(), [({name: 1.0}, 0)])


def noted(value):
    model = INeurAL()
    model.note = value
    return model


def holding_itself():
    model, surprise = INeurAL(), change.Surprise()
    model._state.surprise = surprise.other = surprise
    return model


PIPELINE = preprocessing.StandardScaler() | INeurAL()
REFUSED = [
    (lambda: PIPELINE, r"save\(model\[-1\], path\)"),
    (lambda: active.INeurALSampler(PIPELINE), r"around Pipeline.*save\(model.classifier\[-1\], pa"),
    (
        lambda: active.RandomSampler(linear_model.LogisticRegression()),
        "around LogisticRegression.*INeurAL",
    ),
    (lambda: linear_model.LogisticRegression(), "LogisticRegression cannot be saved"),
    (lambda: 3, "int cannot be saved: INeurAL"),
    (lambda: INeurALSampler(INeurAL()), "test_persistence.INeurALSampler"),
    (lambda: INeurAL(drift_detector=Own()), "drift_detector is a Own, .* DDM, EDDM"),
    (
        lambda: active.INeurALSampler(INeurAL(), width=lambda t, k, n: 0.1),
        "width is <function",
    ),
    (lambda: of_a_name(frozenset((1, 2))), r"names.*frozenset"),
    (lambda: of_a_name((1, frozenset((2,)))), r"names.*frozenset"),
    (lambda: of_a_name(math.nan), "names.*nan"),
    (lambda: noted(object()), r"model\.note is <object"),
    (lambda: noted([1, {"x": {1, 2}}]), r"model\.note\.1\['x'\]\.1 is \{1, 2\}"),
    (lambda: noted(np.array(["text"])), r"model\.note is an array of <U4"),
    (lambda: noted(10**4001), "4,000 digits"),
    (lambda: noted(np.random.Generator(np.random.MT19937(1))), "MT19937"),
    (holding_itself, "holds itself"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_saved_says_so(make, message, tmp_path):
    path = tmp_path / "model"
    path.write_text("as before")
    with pytest.raises(SaveError, match=message):
        save(make(), path)
    assert path.read_text() == "as before"
    assert os.listdir(tmp_path) == ["model"]


def test_every_attribute_is_described():
    """One that is not is saved all the same, but not checked: describe it in `storage.fields`."""

    def looked_at(value, seen):
        name = type(value).__name__
        if name in classes.KNOWN and id(value) not in seen:
            seen[id(value)] = value
            known = classes.KNOWN[name]
            state = known.take(value)
            described = set(known.described)
            if name in classes.DETECTORS or name in ("Mean", "Var"):
                return
            if name in persistence.MODELS:
                described |= set(classes.parameters(type(value)))
            assert set(state) == described, name
            for part in state.values():
                looked_at(part, seen)
        elif isinstance(value, list | tuple | dict):
            for part in value.values() if isinstance(value, dict) else value:
                looked_at(part, seen)

    for case in ("what appears", "in a trial", "at random"):
        model, stream, at = kept.cases(1)[case]
        looked_at(kept.Rounds(model).run(stream[:at]).model, {})


# Files


def test_files_are_replaced_at_once_and_keep_their_rights(model, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    save(model, path)
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    save(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    before, synced, fsync = path.read_bytes(), [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda n: synced.append(os.fstat(n).st_mode) or fsync(n))
    save(model, str(path))
    assert [stat.S_ISDIR(mode) for mode in synced] == [False, True]

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(small(), path)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["link", "model.safetensors"]


def test_what_killed_processes_left_goes(tmp_path):
    left, new = (tmp_path / f".river_ineural.{name}.tmp" for name in ("left", "new"))
    for path in (left, new):
        path.write_bytes(b"part")
    os.utime(left, (time.time() - 7200,) * 2)
    save(INeurAL(), tmp_path / "model")
    assert not left.exists()
    assert new.exists()


def test_a_file_is_not_larger_than_what_is_in_it():
    """Weights, averaged weights, optimiser, rows in use; not the room for more of them."""
    model = learned(small(hidden_dim=50), blobs(50, n_features=200))
    model.learn_one({"one more": 1.0}, 0)
    state = model._state
    used, room = state.trainer.n_features, state.trainer.shape.n_features
    assert (used, room) == (202, 251)
    weights = state.trainer.shape._replace(n_features=used).n_parameters
    rows = 51 * (used + 2 * 2 + 1)
    scaling = (4 * 3 + 8 * (1 + 4)) * room
    trees = state.explorers.parts["forest"].__getstate__()["child"].size * (2 + 4 + 4)
    least = 4 * (4 * weights + rows) + scaling + trees
    assert least < len(to_bytes(model)) < least + 20_000
    assert len(pickle.dumps(model)) < len(to_bytes(model)) + 1_000
    pickled = pickle.loads(pickle.dumps(model))
    for copied in (pickled, copy.deepcopy(model), from_bytes(to_bytes(model))):
        assert copied._state.trainer.shape.n_features == copied._state.history.x.shape[1] == room
        assert torch.equal(copied._state.trainer.flat, state.trainer.flat)
        assert to_bytes(copied) == to_bytes(model)


def test_others_read_the_file_too(victim, opened):
    """safetensors' own reader finds the same tensors, each at a multiple of its numbers' size."""
    document, arrays = opened
    found = safetensors.numpy.load(victim)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(found[name], array)
    start = 8 + int.from_bytes(victim[:8], "little")
    header = json.loads(victim[8:start])
    assert json.loads(header.pop("__metadata__")[container.KEY])["class"] == document["class"]
    for name, spec in header.items():
        assert (start + spec["data_offsets"][0]) % arrays[name].itemsize == 0


# Files that are not what they seem


@given(st.integers(0, 2**32))
def test_hostile_files_are_refused(victim, seed):
    """Cut, flipped, of wrong lengths and shapes, of odd values under a right checksum."""
    with np.errstate(over="ignore"):
        bad, refuse = kept.hostile(victim, random.Random(seed))
    assert not (kept.tried(bad) and refuse)


class Trap:
    def __reduce__(self):
        return os.system, ("touch trapped",)


def test_a_pickle_is_refused_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(LoadError, match=r"model: not a whole safetensors file.*as a pickle does"):
        load(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("name", ["os.system", "posix.system", "Popen", "Pipeline", "numpy.load"])
def test_nothing_that_a_file_names_is_imported(opened, name, monkeypatch):
    """Only classes of the list are looked up."""
    document, arrays = opened
    looked_up = []
    monkeypatch.setattr(
        classes.importlib, "import_module", lambda name: looked_up.append(name) or sys.modules[name]
    )
    for at in range(len(document["objects"])):
        bad = kept.changed(document, ("objects", at, "class"), name)
        refused(bad, arrays, re.escape(name))
    refused(kept.changed(document, ("class",), name), arrays, "not one of INeurAL")
    assert set(looked_up) <= {known.module for known in classes.KNOWN.values()}


@pytest.mark.parametrize(
    ("kind", "key", "value", "message"),
    [
        ("INeurAL", "hidden_dim", 9, "hidden_dim must be 8, as what it has learned, got 9"),
        ("INeurAL", "lr", -1.0, "lr must be finite and in"),
        ("INeurAL", "seed", kept.DROPPED, "lacks its parameter seed"),
        ("INeurAL", "scores_one", 3, "scores_one must be an attribute of no other use"),
        ("Shape", "hidden_dim", 10**9, "hidden_dim must be 1000000000, as what it has learned"),
        ("INeurAL", "capacity", 10**15, "capacity must be 8192, as what it has learned"),
        ("Shape", "n_features", 10**9, "room for 6 columns"),
        ("Shape", "explores", False, "with an f2 if there is an explorer of that"),
        ("Explorers", "trust", {"tuple": [0.5, 1.1]}, "a number in .0, 1., got 1.1"),
        ("Explorers", "trust", {"tuple": [0.5]}, "trust must be a tuple of 2"),
        ("Explorers", "trust", {"tuple": [0.5, {"float": "nan"}]}, "a number in .0, 1., got nan"),
        ("Explorers", "parts", {"dict": []}, r"explorers must be \(\), as what it has learned"),
        ("Explorers", "parts", {"dict": [["printer", None]]}, "some of network, forest"),
        ("INeurAL", "explorers", {"tuple": ["network"]}, "as what it has learned"),
        ("Average", "span", 7, "span must be an integer from 8"),
        ("Recipe", "balance", 2.0, "balance must be a number in .0, 1."),
        ("Recipe", "extra", 1, "no model can be made of it .*extra"),
        ("LabelIndex", "labels", [1, 2], r"\.labels|of 2 classes"),
        ("LabelIndex", "labels", [1, 1, 1], "without repetitions"),
        ("FeatureIndex", "names", [{"dict": []}] * 5, "names"),
        ("Generator", "state", 2**128, r"rng\.state must be an integer from 0 to"),
        ("Trainer", "flat", {"array": "history.weight.0"}, "missing, or named twice"),
        ("Watch", "n_of_class", {"dict": [[3, 1]]}, "an integer from 0 to 2, got 3"),
        ("Budget", "limit", 1.5, "no model can be made of it .*budget must be"),
        ("Account", "rate", "fast", "rate must be a number"),
        ("Random", "spare", "x", "spare must be a number"),
    ],
)
def test_an_error_names_what_is_wrong(opened, kind, key, value, message):
    document, arrays = opened
    at = [part["class"] for part in document["objects"]].index(kind)
    refused(kept.changed(document, ("objects", at, "state", key), value), arrays, message)


@pytest.mark.parametrize(
    ("key", "message"),
    [("hidden_dim", "of 25,000,000 weights"), ("n_layers", "an integer from 2 to 1000")],
)
def test_sizes_that_fit_each_other_are_bounded(opened, key, message):
    document, arrays = opened
    for part in document["objects"]:
        if key in part["state"]:
            part["state"][key] = 10**9
    refused(document, arrays, message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("trainer.flat", math.nan, "finite"),
        ("trainer.average.flat", math.inf, "finite"),
        ("explorers.a", math.nan, "finite"),
        ("explorers.b", -math.inf, "finite"),
        ("explorers.a", 1e9, "symmetric"),
        ("explorers.a", -1e9, "symmetric"),
        ("explorers.a", np.diag([1.0, -1.0]), "symmetric, with no negative eigenvalue"),
    ],
)
def test_numbers_that_would_spoil_each_prediction(opened, name, value, message):
    document, arrays = opened
    array = arrays[name].copy()
    if np.ndim(value):
        array[:] = value
    else:
        array.reshape(-1)[1] = value
    refused(document, {**arrays, name: array}, f"{name} must be {message}")


def test_an_error_names_the_tensor_and_how_it_differs(opened):
    document, arrays = opened
    n = len(arrays["trainer.flat"])
    message = (
        f"tensor trainer.flat must be float32 of shape ({n},), got float32 of shape ({n - 1},)"
    )
    bad = {**arrays, "trainer.flat": arrays["trainer.flat"][1:]}
    refused(document, bad, re.escape(message))
    refused(document, {**arrays, "more": np.zeros(3)}, "nothing refers to more")


@pytest.mark.parametrize("text", ["[" * 10**6, '{"a":' * 10**6, "[]", "3", "{}", "NaN"])
def test_json_that_is_no_model(text):
    arrays = {"a": np.zeros(2)}
    unsigned = container.CHECKSUM % 0 + f'"a":{text}}}'
    signed = container.CHECKSUM % container.crc(unsigned, arrays) + unsigned[21:]
    for metadata in ({container.KEY: signed}, {container.KEY: text}, {"other": "x"}, None):
        with pytest.raises(LoadError):
            from_bytes(safetensors.numpy.save(arrays, metadata))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="SIGKILL")
def test_kills_leave_a_whole_file_and_hostile_files_take_little_memory():
    """20 kills; 300 files: what memory grows by is mostly the interpreter's own."""
    found = kept.in_a_process("stands", 20, 300)
    assert "20 of 20 files load" in found
    assert float(re.search(r"grew by ([0-9.]+) times", found).group(1)) < 200, found


def test_a_copy_shares_no_memory_of_a_full_history(model):
    history = model._state.history
    history.added = list(history.capacities)
    for other in (copy.copy(history), copy.deepcopy(history), pickle.loads(pickle.dumps(history))):
        other.x.zero_()
        other.x.add_(1)
    assert not (history.x == 1).all()


def test_a_file_that_ends_early_while_it_is_read_is_refused(tmp_path, victim):
    path = tmp_path / "model"
    path.write_bytes(victim)

    class Shrinking(io.FileIO):
        def readinto(self, buffer):
            os.truncate(path, 0)
            return super().readinto(buffer)

    with Shrinking(path) as file, pytest.raises(LoadError, match="ends before its last tensor"):
        container.unpack(file)


@pytest.mark.parametrize("schema", [SCHEMA - 1, SCHEMA + 1, True, None, "1"])
def test_another_schema_is_refused(opened, schema):
    document, arrays = opened
    document |= {"schema": schema, "versions": {"river_ineural": "9.1"}}
    refused(document, arrays, r"it is of schema .* version that made it \(9\.1\)")
    if schema is not True:  # a pickle is trusted: it says what its maker wrote
        model = active.INeurALSampler(small(), seed=1)
        for each in (model, model.classifier):
            with pytest.raises(ValueError, match="this pickle is of schema"):
                object.__new__(type(each)).__setstate__(each.__getstate__() | {"schema": schema})
