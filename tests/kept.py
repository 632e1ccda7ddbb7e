"""Models to save, and what is done to their files, some of it in a process of its own."""

import contextlib
import copy
import hashlib
import itertools
import json
import os
import random
import signal
import tempfile
import time
from collections import deque
from pathlib import Path

import numpy as np
import safetensors.numpy
from river import drift
from streams import blobs, dump, learned, shifting, small

from river_ineural import active, load, save
from river_ineural.persistence import LoadError, encoding, from_bytes, to_bytes

LATE = 5  # rounds after which a label that was asked for is there
REST = 25  # rounds after a model is saved


def sampler(**settings):
    return active.INeurALSampler(small(batch_size=16, n_steps=3.0, **settings), budget=0.5, seed=2)


def changing(detector, at):
    """A sampler that asks for all, and a stream that changes after 150 rounds; when to save it."""
    inner = small(batch_size=16, n_steps=3.0, drift_detector=detector)
    model = active.INeurALSampler(inner, gamma=1e3, seed=2)
    stream = blobs(3000, n_features=5, n_classes=3, noise=0.4, seed=3)[: at + REST]
    return model, [(x, (y + (t >= 150)) % 3) for t, (x, y) in enumerate(stream)], at


def cases():
    """A model, its stream, and the round in which it is saved."""
    grows = shifting(120, 12, 4, seed=2)
    for t, (x, y) in enumerate(shifting(REST, 12, 4, seed=3)):  # features and classes go on coming
        named = {name.replace("f", "late ") if t % 2 else name: value for name, value in x.items()}
        grows.append((named, f"late {y}" if t % 5 == 4 else y))
    few = [(dict(list(x.items())[:6]), y) for x, y in grows]  # of which each names others
    gaps = [
        ({i: None if v > 1 else v for i, v in x.items()} | {"kind": str(y)[-1]}, y)
        for x, y in grows
    ]
    return {
        "what appears": (sampler(capacity=60), grows, 120),
        "categories and gaps": (sampler(categories=True, missing=True), gaps, 120),
        "few features": (sampler(max_features=7, max_classes=3), few, 120),
        "in a recovery": changing("cusum", 165),
        "after a drift": changing("cusum", 230),
        "River's detector": changing(drift.binary.DDM(warm_start=20), 160),
        "another of River's": changing(drift.binary.HDDMW(0.01), 160),
    }


class Rounds:
    """Rounds of a stream, labels coming late."""

    def __init__(self, model, waiting=()):
        self.model, self.waiting = model, deque(waiting)
        self.said = hashlib.sha256()

    def run(self, stream):
        for x, y in stream:
            asked = self.model.predict_proba_one(x)
            self.said.update(repr((asked, self.model.last_decision)).encode())
            if asked[1]:
                self.waiting.append((x, y))
            if len(self.waiting) > LATE:
                self.model.learn_one(*self.waiting.popleft())
        return self

    def digest(self):
        """Of all decisions, and of all that the model is now: weights, draws, counts."""
        return self.said.hexdigest() + hashlib.sha256(to_bytes(self.model)).hexdigest()


def goes_on(path, waiting):
    """Print the digest of what a loaded model does in the rest of its stream."""
    _, stream, at = cases()["what appears"]
    print(Rounds(load(path), waiting).run(stream[at:]).digest())


def survives_kills():
    """Kill 20 processes that save two models by turns; the file is one of the two each time."""
    stream = blobs(60, n_features=300)
    models = [learned(small(), stream[:11]), learned(small(), stream[11:])]
    rng, found = random.Random(0), set()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        for _ in range(20):
            path.unlink(missing_ok=True)
            child = os.fork()
            if not child:
                for model in itertools.cycle(models):
                    save(model, path)
            while not path.exists():
                time.sleep(0.001)
            time.sleep(rng.random() * 0.05)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            found.add(dump(load(path)).features.now)
    assert found <= {11, 49}, found


# Hostile files


def victim():
    """The bytes of a model with something of everything."""
    model, stream, at = cases()["in a recovery"]
    Rounds(model).run(stream[:at])
    return to_bytes(model)


def opened(data):
    """JSON and tensors of a file."""
    arrays = safetensors.numpy.load(data)
    return json.loads(arrays.pop(encoding.DOCUMENT).tobytes()), arrays


def signed(text, arrays):
    """A file whose checksum is right, whatever is in it."""
    arrays = {**arrays, encoding.DOCUMENT: np.frombuffer(text.encode(), np.uint8)}
    data = safetensors.numpy.save(arrays, {"river_ineural": "0" * 8})
    at = encoding.AT
    return data[:at] + encoding.checksum(data) + data[at + 8 :]


def sealed(document, arrays):
    """A file of any JSON."""
    return signed(json.dumps(document), arrays)


def walk(node, path=()):
    """Every place in JSON."""
    yield path
    if isinstance(node, dict | list):
        for key, part in node.items() if isinstance(node, dict) else enumerate(node):
            yield from walk(part, (*path, key))


def changed(document, path, value):
    """A copy with another value in one place."""
    document = copy.deepcopy(document)
    part = document
    for key in path[:-1]:
        part = part[key]
    if value is DROPPED:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return document


DROPPED = "what is dropped"
ODD = (
    *(None, True, -1, 0, 3, 10**6, 2**62, 1.5, -2.5, 1e300, "", "os.system", "trainer", [], {}),
    *([[]], {"$tuple": []}, {"$dict": [[[], 1]]}, {"$float64": "x"}, {"$bytes": "zz"}, DROPPED),
    *({"$os.system": {}}, {"$Budget": {}}, {"$DDM": [1]}, 10**400, float("nan"), float("inf")),
)
SHAPES = (
    lambda array: array[:-1] if array.ndim else array.reshape(1),
    lambda array: np.concatenate([array, array]) if array.ndim else array.astype("f8"),
    lambda array: array.astype("f2"),
    lambda array: array.reshape(-1, 1, 1),
    lambda array: array.astype("i8"),
)


def hostile(data, rng):
    """Bytes that differ from those of a model, and whether any of them must be refused."""
    kind = rng.randrange(6)
    if kind == 0:
        return data[: rng.randrange(len(data))], True
    if kind == 1:
        damaged, end = bytearray(data), rng.choice([len(data), 20_000])  # or of the JSON alone
        damaged[rng.randrange(end)] ^= 1 << rng.randrange(8)
        return bytes(damaged), True
    if kind == 2:
        length = rng.choice([0, 1, len(data), 2**31, 2**62, 2**64 - 1, rng.randrange(1, 2**40)])
        return length.to_bytes(8, "little") + data[8:], True
    document, arrays = opened(data)
    if kind == 3:
        name = rng.choice(sorted(arrays))
        array = rng.choice(SHAPES)(arrays[name])
        same = (array.shape, array.dtype) == (arrays[name].shape, arrays[name].dtype)
        return sealed(document, {**arrays, name: array}), not same
    if kind == 4:
        start = rng.randrange(len(data))
        return data[:start] + rng.randbytes(rng.randrange(1, 64)) + data[start:], True
    place = rng.choice([path for path in walk(document) if path])
    return sealed(changed(document, place, rng.choice(ODD)), arrays), False


def stands_damage():
    """All of 300 files are refused, or load with a value that may be another; in little memory."""
    import resource  # which Windows lacks

    data, rng = victim(), random.Random(0)
    from_bytes(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(300):
        bad, refuse = hostile(data, rng)
        with contextlib.suppress(LoadError):  # anything else is raised
            assert type(from_bytes(bad)).__name__ in ("INeurALSampler", "INeurAL")
            assert not refuse, i
    # What it grows by is mostly the interpreter's own.
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 200 * len(data), grown / len(data)
