"""What is done to a model in a process of its own, where it may kill no other test.

Each function fails by an exception, or with the process; it may return how many cases it tried.
"""

import contextlib
import copy
import faulthandler
import io
import os
import pickle
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from functools import partial

import numpy as np
from streams import blobs, shifting

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


def exceptions_at_every_call():
    """MemoryError at each fifth call into C of a growing `learn_one`, which may allocate."""
    return at_every(trained(n_steps=1), every=5, by_call=True)


def exceptions_at_every_line():
    """An interrupt at each 16th line of the package, from another one on with room for all."""
    return at_every(trained(n_steps=1), every=16)


def exceptions_at_every_line_of_outputs():
    """The same with an output a class, at every fortieth line."""
    return at_every(trained(NeurONAL, n_steps=1), every=40)


def at_every(model, every, by_call=False):
    """A growing `learn_one` is stopped there, and a copy of the model is whole after each."""
    n_raised = 0
    for t in range(2):
        (x, y), raised, at = grower(model, t), True, t
        while raised:
            copied = copy.deepcopy(model)
            before = model.scores_one(x)
            raised = stops(partial(copied.learn_one, x, y), at, by_call)
            assert before.keys() <= copied.scores_one(x).keys()
            assert_whole(copied)
            at += every * raised
            n_raised += raised
        assert at > 100, at
        model.learn_one(x, y)
    return n_raised


def stops(call, at, by_call):
    """Whether a call was stopped at the at-th call into C, or line, of the package, if there is."""
    n_seen = 0

    def see(frame, event, arg):
        nonlocal n_seen
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        n_seen += event == ("c_call" if by_call else "line")
        if n_seen > at:
            sys.setprofile(None)
            sys.settrace(None)
            raise MemoryError if by_call else KeyboardInterrupt
        return see

    try:
        (sys.setprofile if by_call else sys.settrace)(see)
        call()
    except (MemoryError, KeyboardInterrupt):
        return True
    finally:
        sys.setprofile(None)
        sys.settrace(None)
    return False


def interrupted(call, seconds):
    """Whether a call was interrupted, by a signal after so long, before it was done."""

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call()
        signal.setitimer(signal.ITIMER_REAL, 0)  # here, so that one that comes so late is caught
    except KeyboardInterrupt:
        return True
    return False


def interrupts():
    """200 of them, by a signal at a random moment of growth; a churning vocabulary among it."""

    def grow(model, churns):
        for i in range(100):
            x, y = grower(model, i)
            model.learn_one(dict(list(x.items())[-9:]) if churns else x, y)

    warnings.filterwarnings("ignore", "max_features")  # how far a model gets is a matter of time
    rng, n_interrupted, t = random.Random(0), 0, 0
    models = [trained(), trained(max_features=9)]
    while n_interrupted < 200:
        t += 1
        model = copy.deepcopy(models[t % 2])
        n_interrupted += interrupted(partial(grow, model, t % 2), rng.uniform(1e-5, 2e-3))
        if not t % 2:
            assert_whole(model)
        model.learn_one(*STREAM[0])
        assert abs(sum(model.predict_proba_one(STREAM[1][0]).values()) - 1) < 1e-9
    return n_interrupted


def labels_of_a_sampler():
    """300 interrupts by a signal, and a MemoryError at each call into C, while a label is learned.

    Either it counts for the history, the learner and the sampler, or nothing has changed.
    """

    def learn(stopped_by, *given):
        """Whether it was stopped."""
        model = copy.deepcopy(before)
        stopped = stopped_by(partial(model.learn_one, *STREAM[0]), *given)
        learner = model.classifier
        n = {learner._state.history.added[0], learner.n_labels, model._n_labels, model._n_learned}
        assert n in ({20}, {21}), n
        assert n == {21 - model.n_pending}
        assert model.n_queries == 21
        assert n == {21} or pickle.dumps(model) == whole
        return stopped

    before = active.INeurALSampler(INeurAL(hidden_dim=4, capacity=32, seed=1), seed=1)
    for i, (x, y) in enumerate(STREAM[:21]):
        before._budget_manager.spend(), before._budget_manager.round()
        before._pending.add(x, i + 1)
        if i:
            before.learn_one(x, y)
    rng, n_stopped, whole = random.Random(0), 0, pickle.dumps(copy.deepcopy(before))
    while n_stopped < 300:
        n_stopped += learn(interrupted, rng.uniform(1e-5, 1.5e-3))
    at = 0
    while learn(stops, at, True):
        at += 1
    return n_stopped + at


def together(n_threads, work):
    """Run work(i) in threads at once; whatever one raises is raised."""
    errors = []

    def run(i):
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


def threads_that_predict():
    """Eight threads get the scores that one gets."""
    model = trained()
    xs = [{**x, "unknown": 1.0} if i % 2 else x for i, (x, _) in enumerate(STREAM)]
    expected = [model.scores_one(x) for x in xs]

    def work(i):
        for t in range(1_000):
            at = (7 * i + t) % len(xs)
            assert model.scores_one(xs[at]) == expected[at]

    together(8, work)
    return 8 * 1_000


def threads_that_learn():
    """Eight threads learn, predict, grow and copy; the model is whole, every label counted.

    Without a detector: some orders of these labels cause an alarm, and the history begins anew.
    """
    model = trained(drift_detector=None)
    before = list(model._state.history.added)

    def work(i):
        for t in range(40):
            x, y = STREAM[(t + i) % len(STREAM)]
            if t % 10 == i:
                model.learn_one({**x, f"of thread {i}": 1.0}, f"class {i}")
            else:
                model.learn_one(x, y)
            probabilities = model.predict_proba_one(x)
            assert abs(sum(probabilities.values()) - 1) < 1e-9
            if t % 20 == 0:
                copied = pickle.loads(pickle.dumps(model))
                assert_whole(copied)
                copy.deepcopy(model).learn_one(x, y)

    together(8, work)
    assert model._state.history.added[0] == before[0] + 8 * 40
    assert_whole(model)
    return 8 * 40


def threads_and_a_budget():
    """Not one label above 200, however many threads ask; rounds and queries are all counted."""
    from river import preprocessing

    for inner in (trained(), preprocessing.StandardScaler() | trained()):
        model = active.INeurALSampler(inner, gamma=1e6, budget=200, seed=1)
        asked = [0] * 8

        def work(i, model=model, asked=asked):
            for t in range(100):
                x, y = STREAM[(t + i) % len(STREAM)]
                ask = model.predict_one(x)[1]
                asked[i] += ask
                if ask and t % 4 == 0:
                    model.learn_one(x, y)

        together(8, work)
        assert sum(asked) == model.n_queries == 200, asked
        assert model.n_rounds == 800
    return 2 * 8 * 100


def a_fork_after_a_frame():
    """A child goes on where the parent was, after `predict_many`."""
    import pandas as pd
    import torch

    torch.set_num_threads(2)
    model = INeurAL(seed=1)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3_000, 60)))
    model.learn_many(X[:50], pd.Series(rng.integers(0, 2, 50)))
    model.predict_many(X)
    child = os.fork()
    if not child:
        signal.alarm(20)
        model.predict_many(X)
        model.learn_one(dict(X.iloc[0]), 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert torch.get_num_threads() == 2


def forks_while_threads_learn():
    """Each of 50 children predicts and learns at once, with whole models; so does the parent."""
    from river import preprocessing

    warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of any fork beside threads
    pipeline = preprocessing.StandardScaler() | trained()
    samplers = [active.INeurALSampler(inner, gamma=1e6, seed=1) for inner in (trained(), pipeline)]
    stop = threading.Event()

    def work(i):
        model = samplers[i % 2]
        while not stop.is_set():
            for t in range(20):
                x, y = STREAM[t]
                model.predict_one(x)
                model.learn_one(x, f"class {t % 4}" if t > 10 else y)
                if t == 10:
                    copy.deepcopy(model.classifier)  # makes a lock

    def child(model):
        signal.alarm(10)
        assert_whole(model.classifier if model is samplers[0] else model.classifier[-1])
        assert model.n_rounds - model._n_labels in (0, 1, 2, 3)
        model.predict_one(STREAM[0][0])
        model.learn_one(*STREAM[0])
        copy.deepcopy(model).predict_one(STREAM[0][0])

    for n_threads in (1, 3):
        threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(n_threads)]
        for thread in threads:
            thread.start()
        for i in range(25):
            pid = os.fork()
            if not pid:
                try:
                    child(samplers[i % 2])
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            _, status = os.waitpid(pid, 0)
            assert status == 0, (n_threads, i, status)
        stop.set()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()
        stop.clear()
    child(samplers[0])
    return 2 * 25


@contextlib.contextmanager
def usual(setter, value, before):
    setter(value)
    try:
        yield
    finally:
        setter(before)


def modes_of_torch():
    """What a user sets around calls changes neither decisions nor what can be done next."""
    import torch

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
        for around in (
            torch.inference_mode,
            torch.no_grad,
            partial(usual, torch.set_default_dtype, torch.float16, torch.float32),
            partial(usual, torch.set_default_device, "meta", None),
        ):
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
    assert [str(w.message)[:25] for w in caught] == ["Numba finds no folder to "], caught
    assert "NUMBA_CACHE_DIR" in str(caught[0].message)


def a_light_import():
    """torch, NumPy and River's base, nothing else, until it is used; and nothing is compiled."""
    loaded = set(sys.modules)
    heavy = {"pandas", "scipy", "sklearn", "narwhals", "numba", "polars", "matplotlib"}
    assert not loaded & heavy, loaded & heavy
    river = {name for name in loaded if name.startswith("river.")}
    allowed = ("river.base", "river.active", "river.__version__", "river.utils.estimator_checks")
    others = {name for name in river if not name.startswith(allowed)}
    assert not others, others
    assert not any(name.startswith("river_ineural.d") for name in loaded)
    model = INeurAL(seed=1)
    for t in range(4):
        model.predict_one({"a": float(t)})
        model.learn_one({"a": float(t)}, t % 2)
    assert not set(sys.modules) & {"pandas", "sklearn", "narwhals", "polars", "matplotlib"}


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


if __name__ == "__main__":
    faulthandler.enable()
    for name in sys.argv[1:]:
        start = time.perf_counter()
        n = globals()[name]()
        print(f"{name}: {n or 1} cases, {time.perf_counter() - start:.1f} s")
