"""Streams: the six of the paper's experiments, and synthetic ones with known P(y | x)."""

from river_ineural.datasets.paper import (
    CIFAR10,
    FOLDER,
    IJCNN,
    MNIST,
    Fashion,
    Letter,
    PaperStream,
    PhishingWebsites,
)
from river_ineural.datasets.synthetic import KnownPosterior

__all__ = [
    "CIFAR10",
    "FOLDER",
    "IJCNN",
    "MNIST",
    "Fashion",
    "KnownPosterior",
    "Letter",
    "PaperStream",
    "PhishingWebsites",
]
