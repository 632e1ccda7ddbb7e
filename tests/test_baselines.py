"""The classifier of the paper's baselines against PyTorch's own layers."""

import copy

import numpy as np
import pytest
import torch
from streams import blobs, learned
from torch.nn import functional

from river_ineural.baselines import RetrainedNetwork
from river_ineural.baselines.network import Stored, TrainedInEpochs

STREAM = blobs(60, n_features=4, n_classes=3, seed=1)
NAMES = sorted(STREAM[0][0])


def small(**settings):
    return RetrainedNetwork(**{"hidden_dim": 8, "batch_size": 16, "seed": 1, **settings})


def trained(n=30, **settings):
    return learned(small(**settings), STREAM[:n])


def weights_of(model):
    """A copy."""
    return [part.detach().clone().requires_grad_() for part in model._weights]


def network(weights, x):
    first, first_bias, last, last_bias = weights
    return functional.linear(functional.linear(x, first, first_bias).relu(), last, last_bias)


def inputs(stream):
    return torch.tensor([[x[name] for name in NAMES] for x, _ in stream]).float()


def test_probabilities_are_the_network_s():
    model = trained()
    expected = network(model._weights, inputs(STREAM)).softmax(1)
    for (x, _), row in zip(STREAM, expected, strict=True):
        proba = model.predict_proba_one(x)
        assert list(proba) == model._labels.labels
        assert list(proba.values()) == pytest.approx(row.tolist(), abs=1e-6)


def test_a_label_takes_epochs_over_all_stored():
    """The same batches through PyTorch's layers and Adam give the same weights."""
    model = trained(40, n_epochs=3, tolerance=0.0)
    weights, rng = weights_of(model), copy.deepcopy(model._rng)
    x, y = STREAM[40]
    model.learn_one(x, y)

    stored = STREAM[:41]
    targets = torch.tensor([model._labels.index[label] for _, label in stored])
    optimizer = torch.optim.Adam(weights, lr=1e-3)
    for _ in range(3):
        for rows in torch.from_numpy(rng.permutation(41)).split(16):
            optimizer.zero_grad()
            said = network(weights, inputs(stored)[rows])
            functional.cross_entropy(said, targets[rows]).backward()
            optimizer.step()
    for mine, reference in zip(weights_of(model), weights, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("tolerance", "n_epochs"), [(0.2499, 5), (0.25, 1)])
def test_the_tolerance_is_of_the_sum_of_the_batch_losses_for_each_example(tolerance, n_epochs):
    """Two batches of loss 1 a pass, 8 examples: small from 2 / 8 on."""
    batches = []

    def loss(weights, rows):
        batches.append(rows.tolist())
        return 1 + 0 * weights[0].sum()

    settings = {"lr": 0.1, "batch_size": 4, "n_epochs": 5, "tolerance": tolerance}
    trained = TrainedInEpochs(**settings)
    trained.train_epochs([torch.zeros(1)], loss, 8, np.random.default_rng(0))
    assert len(batches) == 2 * n_epochs
    for first, second in zip(batches[::2], batches[1::2], strict=True):
        assert sorted(first + second) == list(range(8))


def test_what_is_stored_are_the_newest_with_zeros_for_features_they_had_not():
    """Five examples of one to three features, room for three."""
    stored = Stored(capacity=3)
    for i, n_features in enumerate((1, 1, 2, 2, 3)):
        stored.add(np.full(n_features, i + 1.0, np.float32), i, -i)
        assert len(stored) == min(i + 1, 3)
    vectors, first, second = stored.tensors()
    assert vectors.tolist() == [[4, 4, 0], [5, 5, 5], [3, 3, 0]]
    assert (first.tolist(), second.tolist()) == ([3, 4, 2], [-3, -4, -2])


def test_a_new_feature_and_a_new_class_leave_known_weights():
    two = [({name: x[name] for name in NAMES[:2]}, "seen" if y else "other") for x, y in STREAM]
    model = learned(small(), two[:10])
    before = weights_of(model)
    model._train = lambda: None
    model.learn_one(STREAM[0][0], "new")
    first, first_bias, last, last_bias = weights_of(model)
    assert first.shape == (8, 4)
    assert last.shape == (3, 8)
    assert torch.equal(first[:, :2], before[0])
    assert torch.equal(first_bias, before[1])
    assert torch.equal(last[:2], before[2])
    assert torch.equal(last_bias[:2], before[3])
    assert (first[:, 2:] != 0).all()
    assert first[:, 2:].abs().max() <= 0.5


def test_first_weights_are_drawn_as_pytorch_s_layers_draw_them():
    """Uniform within 1/√inputs of 0: 25 features, 400 units."""
    model = small(hidden_dim=400)
    model._train = lambda: None
    model.learn_one({f"f{j}": 1.0 for j in range(25)}, 0)
    for part, bound in zip(model._weights, (1 / 5, 1 / 5, 1 / 20, 1 / 20), strict=True):
        assert part.abs().max() <= bound
        if part.numel() > 1:
            assert part.max() > 0.95 * bound
            assert part.min() < -0.95 * bound


def test_a_class_beyond_the_cap_teaches_nothing():
    model = learned(small(max_classes=2, capacity=15), [(x, y % 2) for x, y in STREAM[:20]])
    assert len(model._stored) == 15
    before = weights_of(model)
    with pytest.warns(UserWarning, match="max_classes"):
        model.learn_one(STREAM[20][0], "third")
    assert all(map(torch.equal, model._weights, before))
    assert list(model.predict_proba_one(STREAM[21][0])) == model._labels.labels == [0, 1]
