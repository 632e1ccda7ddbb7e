"""A model stays whole whatever interrupts, overloads or misfeeds it."""

import contextlib
import copy
import faulthandler
import io
import itertools
import os
import pickle
import random
import re
import signal
import sys
import threading
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
from streams import blobs, python, shifting

import river_ineural
from river_ineural import INeurAL, NeurONAL, active
from river_ineural.learning.scaling import CONSTANT

PACKAGE = str(river_ineural.__path__[0])
STREAM = blobs(60, n_features=4, n_classes=2, seed=4)


def trained(kind=INeurAL, **settings):
    """A model that has room for one more feature, and for none."""
    model = kind(**{"hidden_dim": 4, "batch_size": 4, "capacity": 16, "seed": 1, **settings})
    for i, (x, y) in enumerate(STREAM):
        model.learn_one(x, y, pseudo_label=i % 3 == 0)
    return model


def grower(model, t):
    """Examples that name new features and classes, as `learn_one` takes them."""
    x, y = STREAM[t % len(STREAM)]
    names = list(model._state.features.columns)
    new = {f"new {len(names)} {i}": float(i + 1) for i in range((1, 5)[t % 2])}
    return x | new, f"class {t}" if t % 3 else y


def assert_whole(model):
    """Names, classes, shapes and rows fit each other; it predicts and learns on."""
    state = model._state
    features, labels, trainer = state.features, state.labels, state.trainer
    k, room = len(labels), trainer.shape.n_features
    assert labels.index == {label: i for i, label in enumerate(labels.labels)}
    columns = sorted(features.columns.values())
    assert columns == list(range(CONSTANT, CONSTANT + len(features)))
    assert trainer.n_features == CONSTANT + len(features) <= room
    assert trainer.shape.n_classes == k
    assert len(trainer.flat) == trainer.shape.n_parameters
    assert state.history.x.shape[1] == state.scaling.scaling.shape[1] == room
    assert state.history.targets.shape[2] == k
    for t in range(2):
        x, y = STREAM[t]
        probabilities = model.predict_proba_one({**x, "never learned": 1.0})
        assert len(probabilities) == len(model.known_labels)
        assert abs(sum(probabilities.values()) - 1) < 1e-9
        model.learn_one(x, y)
        model.learn_one(*grower(model, t))
    state = model._state  # the one before has other rows, but counts with this one
    for rows in state.history.filled:
        assert state.history.x[rows].isfinite().all()
    trainer = state.trainer
    for flat in (trainer.flat, trainer.average.flat, *trainer.optimizer.moments):
        assert flat.isfinite().all()
    assert state.scaling.moments.isfinite().all()
    assert len(model._state.labels) >= k
    x = STREAM[0][0]
    assert pickle.loads(pickle.dumps(model)).scores_one(x) == model.scores_one(x)


def exceptions_anywhere():
    """A growing `learn_one` is stopped, and a copy of the model is whole after each.

    By a MemoryError at each fifth call into C, which may allocate; by an interrupt at each 16th
    line of the package, from another one on with room for all; and at fewer lines where names make
    room for each other, and with an output a class.
    """
    warnings.filterwarnings("ignore", "max_features")
    for every, by_call, settings in (
        (5, True, {}),
        (16, False, {}),
        (60, False, {"max_features": 9}),
        (40, False, {"kind": NeurONAL}),
    ):
        model = trained(n_steps=1, **settings)
        for t in range(2):
            (x, y), raised, at = grower(model, t), True, t
            while raised:
                copied = copy.deepcopy(model)
                raised = stops(partial(copied.learn_one, x, y), at, by_call)
                assert model.scores_one(x).keys() <= copied.scores_one(x).keys()
                assert_whole(copied)
                at += every * raised
            assert at > 100, at
            model.learn_one(x, y)


def stops(call, at, by_call):
    """Whether a call was stopped at the at-th call into C, or line, of the package, if there is."""
    n_seen, watch = 0, sys.setprofile if by_call else sys.settrace

    def see(frame, event, arg):
        nonlocal n_seen
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        n_seen += event == ("c_call" if by_call else "line")
        if n_seen > at:
            watch(None)
            raise MemoryError if by_call else KeyboardInterrupt
        return see

    try:
        watch(see)
        call()
    except (MemoryError, KeyboardInterrupt):
        return True
    finally:
        watch(None)
    return False


def interrupts():
    """Signals at random moments, within compiled loops too, while a model grows."""

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    rng, before, n_interrupted = random.Random(0), trained(), 0
    while n_interrupted < 100:
        model = copy.deepcopy(before)
        try:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 2e-3))
            for t in range(100):
                model.learn_one(*grower(model, t))
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            n_interrupted += 1
        assert_whole(model)


def labels_of_a_sampler():
    """A MemoryError at each call into C, an interrupt at each third line, as a label is learned.

    Either it counts for the learner and the sampler, or nothing has changed.
    """
    before = active.INeurALSampler(INeurAL(hidden_dim=4, capacity=32, seed=1), seed=1)
    for i, (x, y) in enumerate(STREAM[:21]):
        before._budget_manager.spend(), before._budget_manager.round()
        before._pending.add(x, i + 1)
        if i:
            before.learn_one(x, y)
    whole = pickle.dumps(copy.deepcopy(before))
    for by_call, every in ((True, 1), (False, 3)):
        for at in itertools.count(step=every):
            model = copy.deepcopy(before)
            stopped = stops(partial(model.learn_one, *STREAM[0]), at, by_call)
            n = {model.classifier.n_labels, model._n_labels, model._n_learned}
            assert n in ({20}, {21}), n
            assert n == {21 - model.n_pending}
            assert model.n_queries == 21
            assert n == {21} or pickle.dumps(model) == whole
            if not stopped:
                break


def together(n_threads, work):
    """Run work(i) in threads at once; whatever one raises is raised."""
    sys.setswitchinterval(1e-6)
    with ThreadPoolExecutor(n_threads) as pool:
        for thread in [pool.submit(work, i) for i in range(n_threads)]:
            thread.result()


def threads_take_turns():
    """Eight threads ask, learn, grow and copy: all is counted, and the models are whole.

    Not one label is above the budget. Without a detector: some orders of these labels cause an
    alarm, and the history begins anew.
    """
    from river import preprocessing

    for pipeline in (False, True):
        learner = trained(drift_detector=None)
        inner = preprocessing.StandardScaler() | learner if pipeline else learner
        model = active.INeurALSampler(inner, gamma=1e6, budget=200, seed=1)
        before, asked = learner._state.history.added[0], [0] * 8

        def work(i, model=model, learner=learner, asked=asked):
            for t in range(40):
                x, y = STREAM[(t + i) % len(STREAM)]
                asked[i] += model.predict_one(x)[1]
                learns = (model, learner)[t % 2]
                if t % 10 == i:
                    learns.learn_one({**x, f"of thread {i}": 1.0}, f"class {i}")
                else:
                    learns.learn_one(x, y)
                assert abs(sum(learner.predict_proba_one(x).values()) - 1) < 1e-9
                if t % 20 == 0:
                    assert_whole(pickle.loads(pickle.dumps(learner)))
                    copy.deepcopy(model).learn_one(x, y)

        together(8, work)
        assert sum(asked) == model.n_queries == 200, asked
        assert model.n_rounds == 2 * model._n_labels == 320
        assert learner._state.history.added[0] == before + 320
        assert_whole(learner)


def in_a_child(call):
    """A call in a fork of this process, which has 20 seconds for it."""
    child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            call()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status


def a_fork_after_a_frame():
    """A child goes on where the parent was, after `predict_many`."""
    import pandas as pd

    torch.set_num_threads(2)
    model = INeurAL(seed=1)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3_000, 60)))
    model.learn_many(X[:50], pd.Series(rng.integers(0, 2, 50)))
    model.predict_many(X)

    def goes_on():
        model.predict_many(X)
        model.learn_one(dict(X.iloc[0]), 1)

    in_a_child(goes_on)
    assert torch.get_num_threads() == 2


def forks_while_threads_learn():
    """Each of 50 children predicts and learns at once, with whole models; so does the parent."""
    from river import preprocessing

    warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of any fork beside threads
    learners, stop = [trained(), trained()], threading.Event()
    inner = learners[0], preprocessing.StandardScaler() | learners[1]
    samplers = [active.INeurALSampler(each, gamma=1e6, seed=1) for each in inner]

    def goes_on(at):
        model = samplers[at]
        assert_whole(learners[at])
        assert model.n_rounds - model._n_labels in (0, 1, 2, 3)
        model.predict_one(STREAM[0][0])
        model.learn_one(*STREAM[0])
        copy.deepcopy(model).predict_one(STREAM[0][0])

    def work(i):
        """The first thread forks while the others learn."""
        if i == 0:
            try:
                for n in range(25):
                    in_a_child(partial(goes_on, n % 2))
            finally:
                stop.set()
        model = samplers[(i - 1) % 2]
        while not stop.is_set():
            for t in range(20):
                x, y = STREAM[t]
                model.predict_one(x)
                model.learn_one(x, f"class {t % 4}" if t > 10 else y)
                if t == 10:
                    copy.deepcopy(model.classifier)  # makes a lock

    for n_learning in (1, 3):
        stop.clear()
        together(1 + n_learning, work)
    goes_on(0)


@contextlib.contextmanager
def in_half_precision():
    torch.set_default_dtype(torch.float16)
    yield
    torch.set_default_dtype(torch.float32)


def modes_of_torch():
    """What a user sets around calls changes neither decisions nor what can be done next."""

    def run(around, kind):
        model = active.INeurALSampler(kind(hidden_dim=8, batch_size=8, seed=1), budget=30, seed=1)
        decisions = []
        for t, (x, y) in enumerate(shifting(50, 6, 3)):
            with around() if t % 2 else contextlib.nullcontext():
                decisions.append(model.predict_proba_one(x))
                if decisions[-1][1]:
                    model.learn_one(x, y)
                if t in (21, 31):
                    model = pickle.loads(pickle.dumps(model)) if t == 21 else copy.deepcopy(model)
        return decisions

    for kind in (INeurAL, NeurONAL):
        expected = run(contextlib.nullcontext, kind)
        on_meta = partial(torch.device, "meta")
        for around in (torch.inference_mode, torch.no_grad, in_half_precision, on_meta):
            assert run(around, kind) == expected, (kind, around)


def nowhere_to_cache():
    """Numba can write nowhere, as in a container with a read-only file system: one warning."""
    from numba.core import caching

    for kind in (caching.CacheImpl, *caching.CacheImpl.__subclasses__()):
        kind._locator_classes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from river_ineural.inputs.loops import scatter
        from river_ineural.network import compiled  # noqa: F401  # has many loops

        placed = np.zeros((1, 3))
        scatter(np.ones((1, 2)), np.array([0, 2]), np.zeros(3), placed)
    assert placed.tolist() == [[1, 0, 1]]
    (warning,) = caught
    assert re.match("Numba finds no folder to .* NUMBA_CACHE_DIR", str(warning.message))


def a_light_import():
    """torch, NumPy and River's base, nothing else, until it is used; and nothing is compiled."""
    heavy = {"pandas", "sklearn", "narwhals", "polars", "matplotlib"}
    assert not (heavy | {"scipy", "numba"}) & set(sys.modules)
    allowed = ("river.base", "river.active", "river.__version__", "river.utils.estimator_checks")
    unused = [name for name in sys.modules if name.startswith(("river.", "river_ineural.d"))]
    assert all(name.startswith(allowed) for name in unused), unused
    model = INeurAL(seed=1)
    for t in range(4):
        model.predict_one({"a": float(t)})
        model.learn_one({"a": float(t)}, t % 2)
    assert not heavy & set(sys.modules)


def compilation_is_told():
    """On a terminal, once, when it takes long; nothing on a pipe."""
    from river_ineural.network import loops

    for terminal in (True, False):
        loops.notices.told, loops.notices.spent, loops.PATIENCE = False, 0.0, 0.0
        said = io.StringIO()
        said.isatty = lambda terminal=terminal: terminal
        with contextlib.redirect_stderr(said):
            source = lambda x: x + 2.0  # noqa: E731
            source.__module__ = "river_ineural.made_up"
            function = loops.numba.njit(source)
            function(1.0), function(1)
        assert said.getvalue().count("compiling its loops") == terminal, said.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        "exceptions_anywhere labels_of_a_sampler interrupts",
        "a_light_import modes_of_torch threads_take_turns",
        "a_fork_after_a_frame forks_while_threads_learn",
        "nowhere_to_cache compilation_is_told",
    ],
)
def test_it_stays_whole(names):
    """The functions above, in a process of their own, where they may kill no other test."""
    python("-W", "error", __file__, *names.split())


if __name__ == "__main__":  # with the names of functions
    faulthandler.enable()
    for name in sys.argv[1:]:
        globals()[name]()
