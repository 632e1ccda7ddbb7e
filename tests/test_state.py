"""Seeds, copies, processes, devices, memory: what a model holds, and leaves alone."""

import copy
import functools
import hashlib
import pickle
import random

import numpy as np
import pandas as pd
import pytest
import torch
from river import preprocessing
from streams import blobs, dump, learned, shifting, small

from river_ineural import INeurAL, NeurONAL, active, baselines, paper
from river_ineural.active.accuracy import Accuracy
from river_ineural.active.questions import Questions

STREAM = shifting(150, 6, 3, seed=2)
FRAME = pd.DataFrame([x for x, _ in STREAM[:40]]).fillna(0.0)
VARIANTS = {
    "default": {},
    "deep": {"n_layers": 3},
    "f1 alone": {"explorers": (), "n_steps": 8.0},  # sure enough for pseudo-labels
    "an output a class": {"kind": NeurONAL},
    "a deep output a class": {"kind": NeurONAL, "n_layers": 3},
}
of_each_kind = pytest.mark.parametrize("settings", list(VARIANTS.values()), ids=list(VARIANTS))


def make(pipeline=False, **settings):
    """A sampler with every source of randomness in use."""
    inner = small(capacity=60, **settings)
    return active.INeurALSampler(
        preprocessing.StandardScaler() | inner if pipeline else inner,
        gamma=2.0,
        budget=60,
        seed=2,
    )


def run(model, stream):
    """A hash of all decisions on the stream, and of the weights after it."""
    digest, printed = hashlib.sha256(), isinstance(model, paper.INeurAL)
    for t, (x, y) in enumerate(stream):
        decision = model.predict_one(x) if printed else model.predict_proba_one(x)
        digest.update(repr(decision).encode())
        if decision[1] and t != 60:  # a label that never comes
            model.learn_one(x, y)
    weights = [*model.hat.theta, *model.returned().theta] if printed and stream else []
    if isinstance(model, active.INeurALSampler):
        weights = [dump(model).networks.block[0]]
    for each in weights:
        digest.update(each.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


def guesses(model, rows):
    """A model that has learned these rows with its own labels."""
    for x in rows:
        model.learn_one(x, model.predict_one(x), pseudo_label=True)
    return model


@of_each_kind
def test_pseudo_labels_wait_for_six_or_for_a_label(settings):
    model, rest = learned(small(**settings), STREAM[:40]), [x for x, _ in STREAM[40:60]]
    before, at = pickle.dumps(model.predict_proba_many(FRAME)), copy.deepcopy(model)
    guesses(model, rest[:5])
    assert pickle.dumps(model.predict_proba_many(FRAME)) == before
    assert (len(dump(model).waiting), dump(model).history.added) == (5, [40, 0])
    guesses(model, rest[5:6])
    assert (len(dump(model).waiting), dump(model).history.added) == (0, [40, 6])
    assert pickle.dumps(model.predict_proba_many(FRAME)) != before
    learned(guesses(at, rest[:2]), STREAM[60:61])
    assert (len(dump(at).waiting), dump(at).history.added) == (0, [41, 2])


@pytest.mark.parametrize("missing", [False, True])
def test_pseudo_labels_wait_in_any_order_of_their_features(missing):
    """And with features that others lack, or that no label has had; saved or not."""
    model, gap = small(missing=missing), {"none": None} if missing else {}
    learned(model, [(x | gap, y) for x, y in STREAM[:40]])
    other = copy.deepcopy(model)
    for i, (_, row) in enumerate(FRAME[:11].iterrows()):
        x = {**row, "new": 1e-9}
        if i % 4 == 2 and missing:
            x["none" if i % 8 == 2 else "f0"] = None
        there = [*x.items()]
        del there[i % 3 : i % 3 + (2 if i > 6 else 1)]
        guesses(model, [dict(there)])
        guesses(other, [dict(random.Random(i).sample(there, len(there)))])
        other = pickle.loads(pickle.dumps(other))
    assert len(dump(model).waiting) == 5
    for each in (model, other):
        learned(each, STREAM[51:60])
    assert dump(model).history.x.tolist() == dump(other).history.x.tolist()
    of = [dump(each).scaling for each in (model, other)]
    for name in ("moments", "scaling", "recent"):
        assert getattr(of[0], name).tolist() == getattr(of[1], name).tolist()
    assert model.predict_proba_many(FRAME).equals(other.predict_proba_many(FRAME))


def test_features_of_pseudo_labels_that_wait_are_not_the_longest_unused():
    model = small(max_features=3)
    for i in range(20):
        model.learn_one({"u": 0.1 * i, "old": float(i % 3)}, "ab"[i % 2])
    model.learn_one({"u": 0.3, "w": 2.0}, "a")
    for i in range(5):
        model.learn_one({"u": 1.0, "old": float(i)}, "a", pseudo_label=True)
    with pytest.warns(UserWarning, match="max_features=3 reached"):
        model.learn_one({"u": 1.0, "fresh": 2.0}, "b")
    assert set(dump(model).features.names) == {"u", "old", "fresh"}


def snapshot():
    """What is of the whole process: generators, threads, modes."""
    legacy = np.random.get_state()  # noqa: NPY002  # the global generator is the point
    return (
        torch.get_rng_state().tolist(),
        (legacy[0], legacy[1].tolist(), *legacy[2:]),
        random.getstate(),
        torch.get_num_threads(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
    )


@pytest.fixture
def three_threads():
    """Of torch's, which are the caller's."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture
def model():
    model = make()
    run(model, STREAM[:70])
    return model


UNIT = [
    ({name: value / np.linalg.norm([*x.values()]) for name, value in x.items()}, y)
    for x, y in blobs(75, n_features=4, seed=2, noise=0.6)
]
PRINTED = functools.partial(paper.INeurAL, (0, 1), 75, gamma=0.1, hidden_dim=12, batch_size=8)
OTHERS = {
    "a retrained network": lambda **given: active.RandomSampler(
        baselines.RetrainedNetwork(8, n_epochs=1, **given), p=0.3, seed=2
    ),
    "by margin": lambda seed: active.MarginSampler(
        small(seed=seed), budget=active.Budget(0.2, burst=10), seed=seed
    ),
    "a frozen network": functools.partial(baselines.NeuALNTKF, 6, gamma=0.3),
    "a trained network": functools.partial(baselines.NeuALNTKD, 6, gamma=0.3, n_epochs=1),
    "hypotheses": functools.partial(baselines.ALPS, 4, 20, hidden_dim=6, n_epochs=1),
    "as printed": functools.partial(PRINTED, lr=3e-3, optimizer="adam", budget=0.5),
}
MAKERS = {name: functools.partial(make, **settings) for name, settings in VARIANTS.items()}
MAKERS |= {"in a pipeline": functools.partial(make, pipeline=True)} | OTHERS


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("name", MAKERS)
def test_same_seed_same_run_and_copies_and_clones_do_as_they_should(name):
    """A copy goes on from the middle and shares nothing, a clone starts over; without a seed each
    run is another, and no generator, number of threads or default of the process is touched.
    """
    made, stream = MAKERS[name], UNIT if name in OTHERS else STREAM
    of_the_process = snapshot()
    model = made(seed=1)
    expected = run(model, stream)
    assert 0 < model.n_queries < len(stream)
    assert getattr(model, "n_pseudo_labels", 1) > 0
    clone = model.clone()
    assert (clone.n_rounds, clone.n_queries) == (0, 0)
    assert repr(clone) == repr(model)
    assert run(clone, stream) == run(made(seed=1), stream) == expected
    assert len({run(made(seed=seed), stream[:40]) for seed in (1, 7, None, None)}) == 4
    for n in (0, 65) if name in OTHERS else (70,):
        model = made(seed=1)
        run(model, stream[:n])
        before = pickle.dumps(model)
        rest = stream[n : n + 40]
        runs = {run(twin, rest) for twin in (pickle.loads(before), copy.deepcopy(model))}
        assert pickle.dumps(model) == before
        assert runs == {run(model, rest)}
    assert snapshot() == of_the_process


def test_a_pickle_whose_arrays_cannot_be_written_to_is_copied(model):
    """Out-of-band buffers may be read-only; none is a tensor, which only a device could read."""
    buffers = []
    assert b"torch" not in pickle.dumps(model)
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    loaded = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
    waiting = dump(loaded).waiting
    assert all(array.flags.writeable for each in waiting for array in (each[0], each[1], each[3]))
    assert run(loaded, STREAM[70:]) == run(model, STREAM[70:])


@pytest.mark.filterwarnings("ignore:20 predictions in a row lack")
@pytest.mark.usefixtures("three_threads")
@of_each_kind
def test_predicting_and_what_is_refused_change_nothing(settings):
    """But that the last label gets older. Nor does a sampler that teaches itself nothing; no call
    changes what is of the process.
    """
    model = small(**settings)
    before = snapshot()
    model.learn_many(FRAME, pd.Series([y for _, y in STREAM[:40]]))
    assert snapshot() == before
    before = pickle.dumps(model), before
    sampler = active.INeurALSampler(model, self_training=False, seed=1)
    for t, (x, _) in enumerate(STREAM):
        model.predict_one(x)
        model.predict_proba_one({**x, f"unknown {t}": 1.0})
        model.scores_one({"only unknown": 1.0})
        model.debug_one(x)
        sampler.predict_one(x)
    model.predict_many(FRAME)
    model.predict_proba_many(FRAME)
    for predict in (model.predict_one, model.predict_proba_one):
        with pytest.raises(TypeError, match="surplus"):
            predict(x, surplus=1)
    with pytest.raises(ValueError, match="device='cuda:99'"):
        model.to("cuda:99")
    if last := dump(model).explorers.last_label:
        assert last.predicted == 5 * len(STREAM) + 2 * len(FRAME)
        last.predicted = 0
    dump(model).explorers.predicted = False
    assert (pickle.dumps(model), snapshot()) == before


def test_memory_counts_what_torch_holds():
    model = learned(INeurAL(hidden_dim=200, capacity=2000, seed=1), blobs(3, n_features=50))
    parameters = 4 * dump(model).networks.shape.n_parameters
    history = 2000 * (8 * 50 + 4 * (2 * len(dump(model).labels) + 1))
    trees = 64 * 511 * (2 + 8 + 4) + 51 * 768 * (2 + 8)  # nodes, and ranks of the rows
    least = 3 * parameters + history + trees  # Adam keeps two more numbers a parameter
    assert least < model._raw_memory_usage < 3 * least
    sampler = active.INeurALSampler(preprocessing.StandardScaler() | model)
    assert sampler._raw_memory_usage > model._raw_memory_usage


@pytest.mark.slow
def test_memory_is_constant():
    """But for labels on their way, no more than the budget of the rounds they are expected for."""
    inner = small(hidden_dim=4, capacity=500)
    model = active.INeurALSampler(preprocessing.StandardScaler() | inner, budget=0.03, seed=1)
    usage, waiting = [], []
    for _ in range(2):
        for x, y in blobs(5_000, n_features=3, n_classes=3):
            if model.predict_one(x)[1]:
                waiting.append((x, y))
            if len(waiting) == 10:
                model.learn_one(*waiting.pop(0))
                waiting.pop(0)  # this one is lost
        assert 50 < model.n_pending <= 0.03 * 5_000 + 75
        held = model._questions, model._accuracy  # of the latest 10,000 asks: see their own tests
        model._questions, model._accuracy = Questions(), Accuracy()
        # The second time: looking into an object gives it a `__dict__` that it did without before.
        usage.append([model._raw_memory_usage for _ in range(2)][1])
        model._questions, model._accuracy = held
    assert 100 < model.n_queries <= 375
    assert model.n_pseudo_labels > 4 * 500  # their ring is full many times
    assert abs(usage[1] / usage[0] - 1) < 0.01


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
@pytest.mark.parametrize("device", ["cuda", "cuda:3"])
def test_a_cuda_model_loads_on_the_cpu_with_a_warning(model, device):
    """Arrays in a pickle are on no device, so a machine without CUDA can read it."""
    vars(model.classifier)["device"] = device  # as if it had been trained there
    with pytest.warns(UserWarning, match=f"'{device}' is not available"):
        loaded = pickle.loads(pickle.dumps(model))
    assert loaded.classifier.device == "cpu"
    assert run(loaded, STREAM[70:]) == run(model, STREAM[70:])


@of_each_kind
def test_cuda_agrees_with_the_cpu(cuda, settings):
    on_cpu, on_cuda = small(**settings), small(**settings, device=cuda)
    for x, y in STREAM[:50]:
        expected, actual = on_cpu.scores_one(x), on_cuda.scores_one(x)
        assert actual == pytest.approx(expected, abs=2e-3)
        on_cpu.learn_one(x, y)
        on_cuda.learn_one(x, y)
    assert dump(on_cuda).networks.block[0].is_cuda
    difference = on_cpu.predict_proba_many(FRAME) - on_cuda.predict_proba_many(FRAME)
    assert difference.abs().max().max() < 2e-3


def test_cuda_models_travel(cuda):
    model, (x, _) = make(device=cuda), STREAM[70]
    run(model, STREAM[:70])
    expected = pytest.approx(model.classifier.scores_one(x), abs=1e-4)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        for device in (cuda, "cpu", cuda):
            assert copied.classifier.to(device).scores_one(x) == expected
            assert dump(copied.classifier).networks.block[0].device.type == device
        run(copied, STREAM[70:])


class Narrow(INeurAL):
    """With a constructor of its own."""

    def __init__(self, seed=None):
        super().__init__(hidden_dim=8, seed=seed)


def test_a_subclass_with_its_own_parameters_is_cloned():
    model = active.INeurALSampler(Narrow(seed=1), seed=1)
    assert (
        model.clone().classifier.hidden_dim == model.clone({"seed": 2}).classifier.hidden_dim == 8
    )


@pytest.mark.parametrize("kind", [baselines.NeuALNTKF, baselines.NeuALNTKD, baselines.ALPS])
def test_a_parameter_of_a_baseline_is_not_set_in_vain(kind):
    with pytest.raises(AttributeError, match="hidden_dim is fixed when"):
        kind(hidden_dim=4, seed=1).hidden_dim = 8
