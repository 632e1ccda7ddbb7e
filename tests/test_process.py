"""What happens around models: Ctrl-C, threads, forks, modes of torch, the import, compilation."""

import contextlib
import copy
import faulthandler
import functools
import itertools
import multiprocessing
import os
import pickle
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from numba.core import event
from river import preprocessing
from streams import blobs, dump, learned, python, rounds, shifting

from river_ineural import INeurAL, NeurONAL, active
from river_ineural.features import jit

STREAM = blobs(60, n_features=4, n_classes=2, seed=4)
OPPOSITE = [(x, 1 - y) for x, y in STREAM]  # after STREAM these show a change
SMALL = {"hidden_dim": 4, "batch_size": 4, "capacity": 16, "drift_detector": None, "seed": 1}


def alone(test):
    """Run a test by a pytest of its own, which no other test needs if it is killed or hangs."""

    @functools.wraps(test)
    def run(**given):
        if "ALONE" in os.environ:
            faulthandler.dump_traceback_later(300, exit=True)  # where each thread hangs
            sys.setswitchinterval(1e-6)
            return test(**given)
        name = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].removesuffix(" (call)")
        python("-m", "pytest", "-s", "-m", "", f"{__file__}::{name}", ALONE="yes")

    return run


def growing(model, t):
    """An example with one or four features that a model does not know, and often a new class."""
    (x, y), n = STREAM[t % len(STREAM)], len(dump(model).features)
    new = {f"new {n} {i}": i + 1.0 for i in range((1, 4)[t % 2])}
    return x | new, y if t % 3 == 1 else f"class {t}"


def assert_whole(model):
    """A classifier is whole and can be used on: it predicts, and learns new names and classes."""
    assert_agreement(model)
    x = STREAM[0][0]
    assert pickle.loads(pickle.dumps(model)).scores_one(x) == model.scores_one(x)
    for t in range(2):
        assert model.predict_proba_one({**x, "unknown": 1.0}).keys() == {*model.known_labels}
        learned(model, [STREAM[t], growing(model, t)])
    assert_agreement(model)


def assert_agreement(model):
    """The parts of a classifier agree on names, classes, sizes and counts, and hold no NaN."""
    state = dump(model)
    features, k, n = state.features, len(set(state.labels)), len(state.features.touched)
    assert features.columns == dict(zip(features.names, range(1, n), strict=True))
    others = state.incumbent, state.snapshot, *state.formers
    for part in filter(None, (state, *others)):
        networks, history, scaling = part.networks, part.history, part.scaling
        assert networks.n_features == history.n_features == n
        assert networks.shape.n_classes == history.targets.shape[2] == k
        assert networks.block.shape == (4, networks.shape.n_parameters)
        for array in (history.x, scaling.scaling, scaling.moments, scaling.recent):
            assert array.shape[1] == networks.shape.n_features
        rows = np.r_[history.filled]
        assert (history.targets[rows, 0].sum(axis=1) == 1).all()  # one class for each example
        for array in (networks.block, scaling.scaling, scaling.moments, history.x[rows]):
            assert abs(array).max() < 1e12
    if state.detector is None:  # else the history may have begun anew
        assert model.n_labels == state.history.added[0]
        n_learned = sum(state.history.added)
        assert state.scaling.n == n_learned == features.now - len(state.waiting)


def stopped(starts, work, at_calls=False):
    """What models were, what they are after SIGINT, as Ctrl-C sends it, and examples finished.

    It comes at 15 random moments; or at every seventh call of one example, in one copy after the
    other.
    """

    def see(frame, event, arg):
        if event in ("call", "c_return") and next(calls) == n:  # where Python looks for signals
            signal.raise_signal(signal.SIGINT)

    rng, n = np.random.default_rng(0), 0
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    while at_calls or n < 15:
        start, calls, n_done = starts[n % len(starts)], itertools.count(), 0
        model = copy.deepcopy(start)
        try:
            sys.setprofile(see if at_calls else None)
            signal.setitimer(signal.ITIMER_REAL, 0 if at_calls else rng.uniform(1e-5, 8e-3))
            for t in range(1 if at_calls else 50):
                work(model, t)
                n_done = t + 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.setprofile(None)
            if at_calls:
                assert 100 < next(calls) <= n  # it had an effect at each of these calls
                return
        except KeyboardInterrupt:
            sys.setprofile(None)
            n += 7 if at_calls else 1
            yield start, model, n_done


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["steady", "guessing", "changing", "deep", "of words"])
@alone
def test_ctrl_c_leaves_a_classifier_before_or_after_an_example(kind):
    """Also of pseudo-labels; at an alarm, among the labels after it and at their end; of deep
    networks; and where examples have few of many features, as of words.
    """

    def learn(model, t):
        example = growing(model, t) if t % 2 else OPPOSITE[t + 1]
        model.learn_one(*example, pseudo_label=kind == "guessing")

    def count(model):
        known = dump(model)
        assert len(known.waiting) < 6
        return model.n_labels + known.history.added[1] + len(known.waiting)

    deep = {"hidden_dim": 200, "n_layers": 3, "batch_size": 256}
    words = [({f"word {4 * t + i}": 1.0 for i in range(8)}, t % 2) for t in range(80)]
    settings = SMALL | {"deep": deep, "changing": {"drift_detector": "cusum"}}.get(kind, {})
    changes = [2 * STREAM + OPPOSITE[:n] for n in (1, 20, 48)]
    streams = {"of words": [words], "changing": changes}.get(kind, [STREAM])
    starts = [learned(INeurAL(**settings), stream) for stream in streams]
    assert [model.changing for model in starts] == [False, True, True][: len(starts)]
    assert starts[0].takes_pseudo_labels == (kind != "of words")
    for start, model, n_done in stopped(starts, learn):
        assert count(model) - count(start) in (n_done, n_done + 1)
        assert_whole(model)


@pytest.mark.slow
@pytest.mark.parametrize("at_calls", [False, True], ids=["at random moments", "at each call"])
@alone
def test_ctrl_c_leaves_a_sampler_and_its_classifier_in_agreement(at_calls):
    """What is learned counts for both or for neither, and the budget holds, at its last label."""

    def play(sampler, t):
        list(rounds(sampler, [growing(sampler, t)]))

    start = active.INeurALSampler(INeurAL(**SMALL, n_steps=1), seed=1)
    list(rounds(start, STREAM))
    start.gamma = 1e6  # each round wants a label; when the budget is spent, pseudo-labels come
    start.budget = start.n_queries + (1 if at_calls else 2)
    for _, sampler, n_done in stopped([start], play, at_calls):
        assert sampler.n_rounds - start.n_rounds in (n_done, n_done + 1)
        for _ in range(2):
            known = dump(sampler)
            labels, pseudo_labels = known.history.added
            assert sampler._n_labels == sampler.classifier.n_labels == labels
            assert sampler.n_pseudo_labels == pseudo_labels + len(known.waiting)
            assert 0 <= sampler.n_pending <= sampler.n_queries - labels <= 1
            assert sampler.n_queries <= sampler.budget
            for t in range(3):
                play(sampler, t)
        assert_whole(sampler.classifier)


@pytest.mark.slow
@alone
def test_ctrl_c_leaves_no_step_of_a_pipeline_ahead_of_its_round():
    inner = preprocessing.StandardScaler() | INeurAL(**SMALL, n_steps=1)
    start = active.INeurALSampler(inner, seed=1)
    list(rounds(start, STREAM))
    for _, sampler, n_done in stopped([start], lambda model, t: model.predict_one(STREAM[t][0])):
        assert sampler.n_rounds - start.n_rounds in (n_done, n_done + 1)
        assert {*sampler.classifier["StandardScaler"].counts.values()} == {sampler.n_rounds}


@pytest.fixture
def models():
    """A classifier in a pipeline, and a sampler around it that wants every label: three locks."""
    learner = learned(INeurAL(**SMALL), STREAM)
    inner = preprocessing.StandardScaler() | learner
    return learner, active.INeurALSampler(inner, gamma=1e6, seed=1)


@pytest.mark.slow
@alone
def test_threads_take_turns(models):
    """Eight ask, learn, grow and copy: all is counted, the budget holds, and copies are whole."""
    (learner, sampler), asked = models, []
    sampler.budget = 200

    def work(i):
        for t in range(40):
            x, y = STREAM[(t + i) % len(STREAM)]
            asked.append(sampler.predict_one(x)[1])
            new = ({**x, f"of thread {i}": 1.0}, f"class {i}") if t % 10 == i else (x, y)
            (sampler, learner)[t % 2].learn_one(*new)
            assert sum(learner.predict_proba_one(x).values()) == pytest.approx(1)
            if t % 20 == 0:
                assert_whole(pickle.loads(pickle.dumps(learner)))
                copy.deepcopy(sampler).learn_one(x, y)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))  # raises what a thread has raised
    assert sum(asked) == sampler.n_queries == 200
    assert sampler.n_rounds == 2 * sampler._n_labels == 320
    assert learner.n_labels == len(STREAM) + 320
    assert_whole(learner)


def in_a_fork(call):
    """A call in a fork of this process, which has 20 seconds for it."""
    fork = multiprocessing.get_context("fork").Process(target=call, daemon=True)
    fork.start()
    fork.join(20)
    assert fork.exitcode == 0, "None: it waits for a lock or a thread of its parent; 1: see above"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks of processes with threads")
@alone
def test_a_fork_goes_on_after_a_large_frame():
    """Several threads of torch have scored it, and a fork has none of them."""
    torch.set_num_threads(2)
    model, X = INeurAL(seed=1), pd.DataFrame(np.random.default_rng(0).normal(size=(3_000, 60)))
    model.learn_many(X[:50], pd.Series([0, 1] * 25))
    model.predict_many(X)
    in_a_fork(lambda: (model.predict_many(X), model.learn_one(dict(X.iloc[0]), 1)))
    assert torch.get_num_threads() == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks of processes with threads")
@alone
def test_forks_beside_threads_that_learn(models):
    """Each of ten finds whole models, predicts and learns at once; so does their parent after."""
    (learner, sampler), learning = models, [True]

    def learn():
        while learning:
            for t, (x, y) in enumerate(STREAM[:20]):
                sampler.predict_one(x)
                sampler.learn_one(x, f"class {t % 4}" if t > 10 else y)
            copy.deepcopy(learner)  # makes a lock

    def goes_on():
        assert 0 <= sampler.n_rounds - sampler._n_labels <= 3  # each thread between its two calls
        assert_whole(learner)
        list(rounds(sampler, STREAM[:1]))

    with ThreadPoolExecutor(3) as pool:
        threads = [pool.submit(learn) for _ in range(3)]
        try:
            for _ in range(10):
                in_a_fork(goes_on)
        finally:
            learning.clear()
        assert [thread.result() for thread in threads] == [None] * 3
    goes_on()


@contextlib.contextmanager
def half_precision():
    torch.set_default_dtype(torch.float16)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [INeurAL, NeurONAL])
@alone
def test_modes_of_torch_change_nothing(kind):
    """Around every other round, and around copies: neither predictions nor decisions."""

    def play(mode):
        model, decisions = active.INeurALSampler(kind(**SMALL), budget=30, seed=1), []
        for t, example in enumerate(shifting(50, 6, 3)):
            with mode() if t % 2 else contextlib.nullcontext():
                decisions += rounds(model, [example])
                if t in (21, 31):
                    model = pickle.loads(pickle.dumps(model)) if t == 21 else copy.deepcopy(model)
        return decisions, model.classifier.scores_one(example[0])

    expected, on_meta = play(contextlib.nullcontext), functools.partial(torch.device, "meta")
    for mode in (torch.inference_mode, torch.no_grad, half_precision, on_meta):
        assert play(mode) == expected, mode


def test_the_import_is_light_and_compiles_nothing():
    """Neither it nor a loop over dicts needs libraries for frames, plots or other models."""
    code = """
import sys
from numba.core.dispatcher import Dispatcher
compiles, Dispatcher.compile = Dispatcher.compile, None  # neither here nor from a cache
from river_ineural import INeurAL
Dispatcher.compile = compiles
model = INeurAL(seed=1)
print(*(name for name in sys.modules if name.startswith("river")))
for t in range(4):
    model.predict_one({"a": t}), model.learn_one({"a": t}, t % 2)
print(*{"pandas", "sklearn", "narwhals", "polars", "matplotlib"} & {*sys.modules})
"""
    loaded, heavy = python("-W", "error", "-c", code).stdout.split("\n")[:2]
    loaded = {".".join(name.split(".")[:2]) for name in loaded.split()}
    of_river = {name for name in loaded if not name.startswith("river_ineural")}
    assert of_river == {"river", "river.__version__", "river.active", "river.base"}
    unused = "baselines", "compare", "datasets", "inspection", "paper", "persistence", "spark"
    assert not loaded & {f"river_ineural.{name}" for name in unused}
    assert heavy == ""


def test_without_a_folder_for_compiled_loops_there_is_one_warning():
    """As in a container with a read-only file system: loops work, and are compiled each time."""
    code = """
from numba.core import caching
for kind in (caching.CacheImpl, *caching.CacheImpl.__subclasses__()):
    kind._locator_classes = []
import river_ineural  # all its loops are made
assert river_ineural.features.jit.loop(lambda a: a + 1)(1) == 2
"""
    told = python("-c", code).stderr
    assert told.count("Warning:") == told.count("NUMBA_CACHE_DIR to a folder") == 1


def test_a_long_compilation_is_told_once_and_each_function_is_logged(monkeypatch, capsys, caplog):
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    monkeypatch.setattr(jit.notices, "told", False)
    caplog.set_level("INFO", "river_ineural")
    for n in range(2):
        source = lambda x, n=n: x + n  # noqa: E731
        source.__module__ = "river_ineural.made_up"
        jit.numba.njit(source)(1.0)
    assert capsys.readouterr().err.count("compiling its loops") == 1
    assert caplog.text.count("compiled river_ineural.made_up.<lambda> in") == 2


@pytest.mark.slow
def test_loops_compiled_beforehand_are_not_compiled_at_first_use():
    """As in a Dockerfile, which runs the command once: no other types later, nor at a change."""
    use = """
import sys
from numba.core.dispatcher import Dispatcher
from river_ineural import INeurAL, NeurONAL, __main__, active
from river_ineural.datasets import KnownPosterior
def types():
    modules = [each for name, each in sys.modules.items() if name.startswith("river_ineural.")]
    found = {id(part): part for each in modules for part in vars(each).values()}
    loops = [part for part in found.values() if isinstance(part, Dispatcher)]
    return sum(len(part.signatures) for part in loops)
__main__.main(["compile"])
before = types()
for kind in (INeurAL, NeurONAL):
    model = active.INeurALSampler(kind(seed=1), seed=1)
    for t, (x, y) in enumerate(KnownPosterior(margin=1.0, seed=1).take(100)):
        model.predict_one(x)
        model.learn_one(x, bool(y) != (t >= 50))
    assert model.drifts
print("types", before, types())
"""
    before, after = python("-c", use).stdout.partition("types")[2].split()
    assert int(before) == int(after) > 15


@pytest.mark.slow
def test_whoever_compiles_decides_as_others_do(tmp_path):
    """Above 256 features too: a sum in a loop might be compiled twice, in another order."""
    use = """
import zlib
from river_ineural import INeurAL, active
from river_ineural.features import jit
model = active.INeurALSampler(INeurAL(seed=1), seed=1)
for i in range(60):
    x = {f"x{j}": (i * j % 7) / 9 for j in range(300)}
    model.predict_one(x)
    model.learn_one(x, i % 2)
block = model.classifier._learner.model.networks.block.numpy()
print("bits", zlib.crc32(block.tobytes()), jit.notices.n)
"""
    said = [python("-c", use, NUMBA_CACHE_DIR=str(tmp_path)).stdout for _ in range(2)]
    (bits, n), (same, again) = (each.partition("bits")[2].split() for each in said)
    assert int(n) > 10
    assert int(again) <= 1  # a call of PyTorch within a loop cannot be kept
    assert bits == same


def test_the_error_of_another_listener_is_not_hidden():
    """One that hears of a compilation before the notices do, and fails."""

    class Failing(event.Listener):
        def on_start(self, event):
            raise RuntimeError("another package")

        def on_end(self, event):
            pass

    others = event._registered["numba:compile"]
    others.insert(0, Failing())
    try:
        with pytest.raises(RuntimeError, match="another package"):
            jit.numba.njit(lambda a: a + 1)(1)
    finally:
        del others[0]
    assert jit.numba.njit(lambda a: a + 1)(1) == 2


def test_others_can_compile_a_function_without_a_module():
    """`exec` makes such functions. The notices hear of their compilation, too."""
    learned(INeurAL(**SMALL), STREAM[:5])
    names = {}
    exec("import numba\n@numba.njit\ndef f(a): return a + 1", names)
    assert (names["f"].py_func.__module__, names["f"](1)) == (None, 2)
