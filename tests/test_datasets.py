"""The paper's streams: where the files are looked for, and what is in them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from river_ineural import datasets

KINDS = [
    *(datasets.PhishingWebsites, datasets.IJCNN, datasets.Letter),
    *(datasets.Fashion, datasets.MNIST, datasets.CIFAR10),
]
COUNTS = {  # rows of class 1 in the binary task
    **{"phishing": 6157, "ijcnn": 1177, "letter": 5959},
    **{"fashion": 6002, "mnist": 6119, "cifar10": 6000},
}
needs_files = pytest.mark.skipif(
    datasets.FOLDER not in os.environ, reason=f"{datasets.FOLDER} does not name a folder of files"
)


@pytest.fixture
def small_mnist(tmp_path, monkeypatch):
    """A file in the place of MNIST's, 20 rows of 6 pixels."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (20, 6), dtype=np.uint8), rng.integers(0, 10, 20)
    np.savez(tmp_path / "mnist.npz", X=x, y=y)
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path))
    monkeypatch.setattr(datasets.MNIST, "shape", (20, 6))
    return x, y


def test_binary_and_original_labels(small_mnist):
    x, y = small_mnist
    found, binary = datasets.MNIST().arrays()
    np.testing.assert_allclose(found, x / 255, rtol=1e-6)
    np.testing.assert_array_equal(binary, y % 2)
    _, original = datasets.MNIST(multiclass=True).arrays()
    np.testing.assert_array_equal(original, y)
    assert datasets.MNIST(multiclass=True).n_classes == 10
    assert datasets.MNIST().n_classes == 2


def test_a_seed_draws_an_order_and_iteration_keeps_it(small_mnist):
    x, _ = small_mnist
    found, labels = datasets.MNIST(seed=3).arrays()
    order = np.random.default_rng(3).permutation(20)
    np.testing.assert_allclose(found, x[order] / 255, rtol=1e-6)
    rows = list(datasets.MNIST(seed=3))
    assert [label for _, label in rows] == labels.tolist()
    np.testing.assert_array_equal([list(row.values()) for row, _ in rows], found)
    assert list(rows[0][0]) == [f"x{j}" for j in range(6)]


def test_the_data_folder_of_river_is_looked_in(small_mnist, tmp_path, monkeypatch):
    home = tmp_path / "home" / "river_ineural"
    home.mkdir(parents=True)
    (tmp_path / "mnist.npz").rename(home / "mnist.npz")
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "home"))
    assert datasets.MNIST().path() == home / "mnist.npz"
    monkeypatch.delenv(datasets.FOLDER)
    assert datasets.MNIST().path() == home / "mnist.npz"


def test_a_missing_file_says_where_it_may_be_put(tmp_path, monkeypatch):
    monkeypatch.setenv(datasets.FOLDER, str(tmp_path / "named"))
    monkeypatch.setenv("RIVER_DATA", str(tmp_path / "home"))
    with pytest.raises(FileNotFoundError, match=r"ijcnn\.npz") as error:
        datasets.IJCNN().arrays()
    for part in (str(tmp_path / "named"), str(tmp_path / "home"), datasets.FOLDER):
        assert part in str(error.value)


def test_another_file_under_that_name_is_refused(small_mnist, monkeypatch):
    monkeypatch.setattr(datasets.MNIST, "shape", (20, 7))
    with pytest.raises(ValueError, match=r"mnist is \(20, 7\)"):
        datasets.MNIST().arrays()


@pytest.mark.parametrize("kind", [datasets.PhishingWebsites, datasets.IJCNN])
def test_two_classes_cannot_be_more(kind):
    with pytest.raises(ValueError, match="leave multiclass at False"):
        kind(multiclass=True)


@pytest.mark.parametrize("seed", [-1, "1", 1.5])
def test_a_bad_seed_is_named(seed):
    with pytest.raises((TypeError, ValueError), match="seed"):
        datasets.MNIST(seed=seed)


@needs_files
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_files_hold_the_paper_s_tasks(kind):
    x, y = kind().arrays()
    assert x.dtype == np.float32
    assert y.dtype == np.int64
    assert np.bincount(y).tolist() == [len(y) - COUNTS[kind.name], COUNTS[kind.name]]
    assert np.isfinite(x).all()
    assert "Samples" in repr(kind())
    if kind.name_multiclass is not None:
        _, original = kind(multiclass=True).arrays()
        assert len(np.bincount(original)) == kind.n_original
