"""The six streams of the paper's experiments, as River data sets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from river.base.typing import FeatureName
from river.datasets import base

from river_ineural.validation import check_choice, check_seed

__all__ = [
    "CIFAR10",
    "FOLDER",
    "IJCNN",
    "MNIST",
    "Fashion",
    "Letter",
    "PaperStream",
    "PhishingWebsites",
]

FOLDER = "RIVER_INEURAL_DATA"  # the environment variable that names the folder of the files


class PaperStream(base.Dataset):
    """A stream of the paper, read from a NumPy file.

    `NAME.npz` holds X (rows, features), raw, pixels as bytes, and y (rows,), the original labels.
    It is looked for in the folder that the environment variable RIVER_INEURAL_DATA names, then in
    `river_ineural` within River's data folder (`~/river_data`, or what RIVER_DATA names).

    Parameters
    ----------
    multiclass
        False: the paper's binary task, labels 0 and 1. True: the original labels.
    seed
        Order of the rows: None as in the file, else a permutation that the seed draws.
    """

    name: ClassVar[str]
    name_multiclass: ClassVar[str | None] = None  # file of the original classes, where there is one
    shape: ClassVar[tuple[int, int]]  # rows, features
    n_original: ClassVar[int] = 2  # classes

    def __init__(self, multiclass: bool = False, seed: int | None = None) -> None:
        check_choice("multiclass", multiclass, (True, False))
        if multiclass and self.name_multiclass is None:
            raise ValueError(f"{type(self).__name__} has two classes: leave multiclass at False.")
        check_seed(seed)
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
    def positive(y: NDArray[Any]) -> Any:
        """Which original labels are class 1 of the binary task."""
        return np.equal(y, 1)

    def path(self) -> Path:
        """The file.

        Raises
        ------
        FileNotFoundError
            If it is in neither folder; says how to provide it.
        """
        name = f"{(self.name_multiclass if self.multiclass else self.name)}.npz"
        named = os.environ.get(FOLDER)
        folders = [Path(named)] if named else []
        home: str = base.get_data_home()  # type: ignore[no-untyped-call]
        folders.append(Path(home) / "river_ineural")
        for folder in folders:
            if (folder / name).is_file():
                return folder / name
        raise FileNotFoundError(
            f"{name} is not in {' or '.join(map(str, folders))}: put it there, or set {FOLDER} to "
            "the folder that holds it. It is a NumPy file of X (rows, features) and y (rows,)."
        )

    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """All rows at once, float32 (rows, features) and int64 (rows,), in the stream's order.

        Pixels are divided by 255.

        Raises
        ------
        FileNotFoundError, ValueError
            If the file is missing, or not the data set it is named after.
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
        labels = y if self.multiclass else self.positive(y)
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
    """Phishing web sites, 30 attributes one-hot coded: legitimate or not.

    Not `river.datasets.Phishing`, which is another set of 1,250 sites.

    Parameters
    ----------
    multiclass, seed
        As in `PaperStream`; two classes only.

    References
    ----------
    Mohammad, Thabtah, McCluskey: Phishing Websites. UCI Machine Learning Repository, 2015.
    """

    name = "phishing"
    shape = (11_055, 68)


class IJCNN(PaperStream):
    """The IJCNN 2001 neural network competition: misfires of an engine, one in ten.

    Parameters
    ----------
    multiclass, seed
        As in `PaperStream`; two classes only.

    References
    ----------
    Prokhorov: IJCNN 2001 neural network competition.
    """

    name = "ijcnn"
    shape = (12_000, 22)


class Letter(PaperStream):
    """EMNIST letters: A to M against N to Z.

    Parameters
    ----------
    multiclass, seed
        As in `PaperStream`; 26 classes.

    References
    ----------
    Cohen, Afshar, Tapson, van Schaik: EMNIST. arXiv:1702.05373, 2017.
    """

    name = name_multiclass = "letter"
    shape = (12_000, 784)
    n_original = 26

    @staticmethod
    def positive(y: NDArray[Any]) -> Any:
        """N to Z."""
        return np.greater_equal(y, 13)


class Fashion(PaperStream):
    """Fashion-MNIST: T-shirts against trousers.

    Parameters
    ----------
    multiclass, seed
        As in `PaperStream`; 10 classes, other rows.

    References
    ----------
    Xiao, Rasul, Vollgraf: Fashion-MNIST. arXiv:1708.07747, 2017.
    """

    name, name_multiclass = "fashion", "fashion_10"
    shape = (12_000, 784)
    n_original = 10


class MNIST(PaperStream):
    """Handwritten digits: even against odd.

    Parameters
    ----------
    multiclass, seed
        As in `PaperStream`; 10 classes.

    References
    ----------
    LeCun, Cortes, Burges: The MNIST database of handwritten digits, 1998.
    """

    name = name_multiclass = "mnist"
    shape = (12_000, 784)
    n_original = 10

    @staticmethod
    def positive(y: NDArray[Any]) -> Any:
        """Odd digits."""
        return np.equal(y % 2, 1)


class CIFAR10(PaperStream):
    """Small photographs: horses against ships.

    Parameters
    ----------
    multiclass, seed
        As in `PaperStream`; 10 classes, other rows.

    References
    ----------
    Krizhevsky: Learning multiple layers of features from tiny images. University of Toronto, 2009.
    """

    name, name_multiclass = "cifar10", "cifar10_10"
    shape = (12_000, 3_072)
    n_original = 10

    @staticmethod
    def positive(y: NDArray[Any]) -> Any:
        """Ships."""
        return np.equal(y, 8)
