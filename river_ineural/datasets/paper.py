"""The six streams of the paper's experiments, as River data sets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from river.base.typing import FeatureName
from river.datasets import base

from river_ineural.features.validation import check_choice, check_seed

FOLDER = "RIVER_INEURAL_DATA"  # the environment variable that names the folder of the files
ADVICE = 'pip install -e ".[data]" in a checkout, for scikit-learn, which fetches from OpenML'
BALANCED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt"  # letters of EMNIST's balanced split

Decoded = tuple[NDArray[Any], NDArray[np.int64]]  # raw features and original labels


def integers(target: Any) -> NDArray[np.int64]:
    """Labels of OpenML, which are text or numbers, as integers."""
    return np.asarray(target).astype(np.float64).astype(np.int64)


class PaperStream(base.Dataset):
    """A stream of the paper's experiments.

    Its file `NAME.npz` holds the raw features X (rows, features), with pixels as bytes, and the
    original labels y (rows,). The file is searched for in the folder $RIVER_INEURAL_DATA, then in
    `river_ineural` within River's data folder ($RIVER_DATA, by default `~/river_data`). If it is in
    neither, a fixed sample of the rows of OpenML is downloaded into the second folder.

    Parameters
    ----------
    multiclass
        False: the paper's binary task, with labels 0 and 1. True: the original labels, if the data
        set has more than two.
    seed
        Seed of a permutation of the rows. None: the order of the file.
    """

    name: ClassVar[str]
    name_multiclass: ClassVar[str | None] = None  # file with the original classes, if any
    shape: ClassVar[tuple[int, int]]  # rows, features
    n_original: ClassVar[int] = 2  # number of original classes
    openml_id: ClassVar[int]
    pair: ClassVar[tuple[int, ...]] = ()  # original classes of the binary task, if not all
    positive: ClassVar[tuple[int, ...]] = (1,)  # original classes that are class 1 of the task

    def __init__(self, multiclass: bool = False, seed: int | None = None) -> None:
        multiclass = check_choice("multiclass", multiclass, (True, False))
        if multiclass and self.name_multiclass is None:
            raise ValueError(f"{type(self).__name__} has two classes: leave multiclass at False.")
        seed = check_seed(seed)
        n_samples, n_features = self.shape
        super().__init__(  # type: ignore[no-untyped-call]
            task=base.MULTI_CLF if multiclass else base.BINARY_CLF,
            n_features=n_features,
            n_samples=n_samples,
            n_classes=self.n_original if multiclass else 2,
        )
        self.multiclass = multiclass
        self.seed = seed

    @staticmethod
    def decoded(data: Any, target: Any) -> Decoded:
        """Raw features and original labels from the data of OpenML; here features are pixels."""
        x = np.asarray(data).astype(np.uint8)
        if not np.array_equal(x, data):
            raise ValueError("pixels are not whole numbers from 0 to 255.")
        return x, integers(target)

    @property
    def _paths(self) -> list[Path]:
        name = f"{(self.name_multiclass if self.multiclass else self.name)}.npz"
        home: str = base.get_data_home()  # type: ignore[no-untyped-call]
        folders = filter(None, [os.environ.get(FOLDER), f"{home}/river_ineural"])
        return [Path(folder) / name for folder in folders]

    @property
    def is_downloaded(self) -> bool:
        """Whether the file exists, downloaded or not."""
        return any(path.is_file() for path in self._paths)

    def download(self, verbose: bool = True) -> None:
        """Download the data set from OpenML unless the file exists, and store a fixed sample of it.

        The file gets its name only when it is complete, so several processes may call this at once.

        Raises
        ------
        FileNotFoundError
            If the download fails. The message says why, and what else can be done.
        """
        if self.is_downloaded:
            return
        path = self._paths[-1]
        if verbose:
            print(f"Fetching {path.name} from OpenML")
        try:
            from sklearn.datasets import fetch_openml  # type: ignore[import-untyped]

            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                found = fetch_openml(data_id=self.openml_id, parser="auto", data_home=folder)
                x, y = self.decoded(found.data, found.target)
                of_task = self.pair if self.pair and not self.multiclass else np.unique(y)
                rows = np.flatnonzero(np.isin(y, of_task))
                rows = np.random.default_rng(0).permutation(rows)[: self.shape[0]]
                np.savez_compressed(Path(folder) / path.name, X=x[rows], y=y[rows])
                (Path(folder) / path.name).replace(path)
        except (ImportError, OSError, ValueError) as error:
            raise FileNotFoundError(
                f"{path.name} is not there. Either set {FOLDER} to a folder that holds it, or put "
                f"it at {path}: a NumPy file of X (rows, features) and y (rows,). Or have it "
                f"fetched ({ADVICE}; a network), which failed: "
                f"{type(error).__name__}: {error}"
            ) from error

    def path(self) -> Path:
        """Path of the file, downloaded first if needed. Raises the errors of `download`."""
        self.download()
        return next(path for path in self._paths if path.is_file())

    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """All rows in order: float32 (rows, features), with pixels in [0, 1], and int64 (rows,).

        Raises the errors of `download`, and ValueError if the file has the wrong shapes.
        """
        path = self.path()
        with np.load(path) as file:
            raw, y = file["X"], file["y"]
        if raw.shape != self.shape or y.shape != self.shape[:1]:
            raise ValueError(
                f"{path} holds X {raw.shape} and y {y.shape}; {self.name} is {self.shape}."
            )
        x = raw.astype(np.float32)
        if raw.dtype == np.uint8:
            x /= 255
        labels = y if self.multiclass else np.isin(y, self.positive)
        if self.seed is not None:
            order = np.random.default_rng(self.seed).permutation(len(x))
            x, labels = x[order], labels[order]
        return x, labels.astype(np.int64)

    def __iter__(self) -> Iterator[tuple[dict[FeatureName, float], int]]:
        x, y = self.arrays()
        names: list[FeatureName] = [f"x{j}" for j in range(x.shape[1])]
        for row, label in zip(x, y.tolist(), strict=True):
            yield dict(zip(names, row.tolist(), strict=True)), label


class PhishingWebsites(PaperStream):
    """Phishing web sites, legitimate or not, with 30 one-hot encoded attributes.

    This is not `river.datasets.Phishing`, a different set of 1,250 sites. Source: Mohammad,
    Thabtah, McCluskey: Phishing Websites. UCI Machine Learning Repository, 2015.
    """

    name = "phishing"
    shape = (11_055, 68)
    openml_id = 4534

    @staticmethod
    def decoded(data: Any, target: Any) -> Decoded:
        """One-hot encoded attributes, with rows of norm 1."""
        from sklearn.preprocessing import OneHotEncoder  # type: ignore[import-untyped]

        hot = OneHotEncoder(sparse_output=False, dtype=np.float32).fit_transform(data)
        return hot / np.sqrt(np.float32(data.shape[1])), integers(target)


class IJCNN(PaperStream):
    """Misfires of an engine: one row in ten is a misfire.

    Source: Prokhorov: IJCNN 2001 neural network competition.
    """

    name = "ijcnn"
    shape = (12_000, 22)
    openml_id = 1575

    @staticmethod
    def decoded(data: Any, target: Any) -> Decoded:
        """The sparse features as a dense matrix."""
        return data.toarray().astype(np.float32), integers(target)


class Letter(PaperStream):
    """Letters: A to M against N to Z, or 26 classes.

    Source: Cohen, Afshar, Tapson, van Schaik: EMNIST. arXiv:1702.05373, 2017.
    """

    name = name_multiclass = "letter"
    shape = (12_000, 784)
    n_original = 26
    openml_id = 41039
    positive = tuple(range(13, 26))  # N to Z

    @staticmethod
    def decoded(data: Any, target: Any) -> Decoded:
        """The letters of the balanced split, without digits; small letters count as capitals."""
        x, y = PaperStream.decoded(data, target)
        letters = np.array([-1] * 10 + [ord(c) - ord("A") for c in BALANCED.upper()])[y]
        return x[letters >= 0], letters[letters >= 0]


class Fashion(PaperStream):
    """Fashion-MNIST: T-shirts against trousers, or 10 classes in another sample of rows.

    Source: Xiao, Rasul, Vollgraf: Fashion-MNIST. arXiv:1708.07747, 2017.
    """

    name, name_multiclass = "fashion", "fashion_10"
    shape = (12_000, 784)
    n_original = 10
    openml_id = 40996
    pair = (0, 1)


class MNIST(PaperStream):
    """Handwritten digits: even against odd, or 10 classes.

    Source: LeCun, Cortes, Burges: The MNIST database of handwritten digits, 1998.
    """

    name = name_multiclass = "mnist"
    shape = (12_000, 784)
    n_original = 10
    openml_id = 554
    positive = (1, 3, 5, 7, 9)


class CIFAR10(PaperStream):
    """Small photographs: horses against ships, or 10 classes in another sample of rows.

    Source: Krizhevsky: Learning multiple layers of features from tiny images. Toronto, 2009.
    """

    name, name_multiclass = "cifar10", "cifar10_10"
    shape = (12_000, 3_072)
    n_original = 10
    openml_id = 40927
    pair = (7, 8)
    positive = (8,)
