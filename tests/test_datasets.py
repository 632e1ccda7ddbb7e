"""The paper's streams: where the files are looked for, and what is in them."""

import os
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from river_ineural import datasets

KINDS = [
    *(datasets.PhishingWebsites, datasets.IJCNN, datasets.Letter),
    *(datasets.Fashion, datasets.MNIST, datasets.CIFAR10),
]
COUNTS = {  # rows of class 1 in the binary task
    **{"phishing": 6157, "ijcnn": 1177, "letter": 5959},
    **{"fashion": 6002, "mnist": 6119, "cifar10": 6000},
}


@pytest.fixture
def small_mnist(tmp_path, monkeypatch):
    """A file in the place of MNIST's, 20 rows of 6 pixels."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (20, 6), dtype=np.uint8), rng.integers(0, 10, 20)
    np.savez(tmp_path / "mnist.npz", X=x, y=y)
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    monkeypatch.setattr(datasets.MNIST, "shape", (20, 6))
    return x, y


@pytest.mark.parametrize("multiclass", [False, True])
@pytest.mark.parametrize("seed", [None, 3])
def test_a_stream_is_its_file(small_mnist, multiclass, seed):
    x, y = small_mnist
    order = slice(None) if seed is None else np.random.default_rng(seed).permutation(20)
    stream = datasets.MNIST(multiclass, seed)
    assert stream.n_classes == (10 if multiclass else 2)
    found, labels = stream.arrays()
    np.testing.assert_allclose(found, x[order] / 255, rtol=1e-6)
    np.testing.assert_array_equal(labels, y[order] if multiclass else y[order] % 2)
    rows = list(stream)
    assert [label for _, label in rows] == labels.tolist()
    np.testing.assert_array_equal([list(row.values()) for row, _ in rows], found)
    assert list(rows[0][0]) == [f"x{j}" for j in range(6)]


def test_the_data_folder_of_river_is_looked_in_and_another_file_of_that_name_is_refused(
    small_mnist, tmp_path, monkeypatch
):
    home = tmp_path / "home" / "river_ineural"
    home.mkdir(parents=True)
    (tmp_path / "mnist.npz").rename(home / "mnist.npz")
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "home"))
    assert datasets.MNIST().path() == home / "mnist.npz"
    monkeypatch.delenv(datasets.FOLDER)
    assert datasets.MNIST().path() == home / "mnist.npz"
    monkeypatch.setattr(datasets.MNIST, "shape", (20, 7))
    with pytest.raises(ValueError, match=r"mnist is \(20, 7\)"):
        datasets.MNIST().arrays()


@pytest.fixture
def no_files(tmp_path, monkeypatch):
    """Two empty folders where files are looked for; the second is the cache."""
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path / "named"))
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "home"))
    return tmp_path / "home" / "river_ineural"


@pytest.fixture
def openml(monkeypatch):
    """OpenML holds what is put into this dictionary, by number; asked for another, it is away."""
    held, asked = {}, []

    def fetch_openml(data_id, data_home, **settings):
        asked.append(data_id)
        if data_id not in held:
            raise URLError("no network")
        (Path(data_home) / "part").write_bytes(bytes(1000))
        return SimpleNamespace(data=held[data_id][0], target=held[data_id][1])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return SimpleNamespace(held=held, asked=asked)


def test_a_missing_file_says_all_three_ways_to_provide_it(no_files, openml):
    """And nothing is kept of what cannot be fetched, or fails its checksum, or is no picture."""
    openml.held[554] = np.full((5, 784), 0.5), np.zeros(5)
    for kind, why in (
        (datasets.IJCNN, "no network"),
        (datasets.MNIST, "pixels are not whole numbers from 0 to 255"),
    ):
        with pytest.raises(FileNotFoundError, match=why) as error:
            kind().arrays()
        for part in (datasets.FOLDER, str(no_files / f"{kind.name}.npz"), "OpenML"):
            assert part in str(error.value)
    assert openml.asked == [1575, 554]
    assert not any(no_files.iterdir())


def test_a_sample_is_fetched_once_and_kept(no_files, openml, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (50, 6)), rng.integers(0, 10, 50)
    openml.held[554] = x, y.astype(str)
    monkeypatch.setattr(datasets.MNIST, "shape", (20, 6))
    assert not datasets.MNIST().is_downloaded
    found, labels = datasets.MNIST(multiclass=True).arrays()
    rows = np.random.default_rng(0).permutation(50)[:20]
    np.testing.assert_allclose(found, x[rows] / 255, rtol=1e-6)
    np.testing.assert_array_equal(labels, y[rows])
    assert "mnist.npz from OpenML" in capsys.readouterr().out
    datasets.MNIST().arrays()
    assert openml.asked == [554]
    assert datasets.MNIST().is_downloaded
    assert [file.name for file in no_files.iterdir()] == ["mnist.npz"]


def fetched(kind, data, target, openml, monkeypatch, multiclass=False):
    """Raw features and labels in the file made from what OpenML holds, in its order."""
    openml.held[kind.openml_id] = data, target
    monkeypatch.setattr(kind, "shape", (len(target), 0))  # no fewer rows than there are
    stream = kind(multiclass=multiclass)
    stream.download(verbose=False)
    with np.load(stream.path()) as file:
        back = np.argsort(np.random.default_rng(0).permutation(len(file["y"])))
        return file["X"][back], file["y"][back]


def test_what_is_made_of_raw_features(no_files, openml, monkeypatch):
    """Phishing: one-hot, of norm 1. IJCNN: dense. Letter: capitals and small ones, no digits."""
    attributes = pd.DataFrame({"a": ["-1", "1", "1"], "b": ["0", "-1", "1"]}, dtype="category")
    target = pd.Series(["1", "-1", "1"], dtype="category")
    x, y = fetched(datasets.PhishingWebsites, attributes, target, openml, monkeypatch)
    hot = [[1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [0, 1, 0, 0, 1]]
    np.testing.assert_allclose(x, np.array(hot) / np.sqrt(2), rtol=1e-6)
    assert y.tolist() == [1, -1, 1]
    dense, target = np.array([[0.0, 0.5], [-1.25, 0.0]]), np.array(["-1", "1"])
    x, y = fetched(datasets.IJCNN, sparse.csr_matrix(dense), target, openml, monkeypatch)
    np.testing.assert_array_equal(x, dense.astype(np.float32))
    assert y.tolist() == [-1, 1]
    classes = np.array([0, 9, 10, 35, 36, 38, 46])  # digits 0 and 9, then A Z a d t
    x, y = fetched(datasets.Letter, classes[:, None], classes, openml, monkeypatch)
    np.testing.assert_array_equal(x.ravel(), classes[2:])
    assert "".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[label] for label in y) == "AZADT"
    classes = np.arange(10)
    for kind in (datasets.Fashion, datasets.CIFAR10):  # of ten classes two, for the binary task
        given = classes[:, None], classes.astype(str), openml, monkeypatch
        x, y = fetched(kind, *given)
        assert y.tolist() == x.ravel().tolist() == list(kind.pair)
        assert kind.positive == kind.pair[1:]
        assert fetched(kind, *given, True)[1].tolist() == classes.tolist()


@pytest.mark.skipif(datasets.FOLDER not in os.environ, reason="FOLDER names no folder of files")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_files_hold_the_paper_s_tasks(kind):
    x, y = kind().arrays()
    assert (x.dtype, y.dtype) == (np.float32, np.int64)
    assert np.bincount(y).tolist() == [len(y) - COUNTS[kind.name], COUNTS[kind.name]]
    assert np.isfinite(x).all()
    assert "Samples" in repr(kind())
    if kind.name_multiclass is not None:
        _, original = kind(multiclass=True).arrays()
        assert len(np.bincount(original)) == kind.n_original
