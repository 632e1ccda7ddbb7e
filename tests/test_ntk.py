"""The NTK baselines against gradients by autograd and sums written out."""

import pickle

import numpy as np
import pytest
import torch
from streams import blobs, learned, raises_and_keeps

from river_ineural.baselines import NeuALNTKD, NeuALNTKF

STREAM = blobs(80, n_features=3, n_classes=2, seed=2, noise=0.4)
NAMES = sorted(STREAM[0][0])


@pytest.fixture(params=[NeuALNTKF, NeuALNTKD])
def kind(request):
    return request.param


def small(kind, **settings):
    return kind(**{"hidden_dim": 6, "gamma": 0.3, "ridge": 0.7, "seed": 1, **settings})


def unit(x):
    vector = np.array([x[name] for name in NAMES])
    return vector / np.linalg.norm(vector)


def output_and_gradient(first, last, x, i):
    """f and its gradient at context i, one flat vector: the blocks of both classes, then v."""
    context = torch.zeros(2, len(x))
    context[i] = torch.from_numpy(x)
    first, last = (torch.tensor(part, requires_grad=True) for part in (first, last))
    f = torch.einsum("imd,id->m", first, context).relu() @ last
    gradients = torch.autograd.grad(f, (first, last))
    return f.item(), torch.cat([g.flatten() for g in gradients]).numpy()


def test_bounds_are_those_written_out(kind):
    model = learned(small(kind), STREAM[:3])
    classifier = model.classifier
    assert len(classifier.labels) == 2
    first = classifier.first.copy()
    z = np.concatenate((classifier.z_first.ravel(), classifier.z_last))
    b = None
    if kind is NeuALNTKF:
        b = np.concatenate((classifier.b_first.ravel(), classifier.b_last))
    for x, y in STREAM[3:40]:
        both = [output_and_gradient(classifier.first, classifier.last, unit(x), i) for i in (0, 1)]
        widths = [np.sqrt(0.3 * (g**2 / z).sum()) for _, g in both]
        upper = np.add([f if b is None else (b / z) @ g for f, g in both], widths)
        np.testing.assert_allclose(classifier.bounds(unit(x)), (upper, widths), atol=2e-5)
        chosen = upper.argmax()
        g = both[chosen][1]
        z = z + g**2
        if b is not None:
            b = b + g * (classifier.labels.index[y] == chosen)
        model.learn_one(x, y)
    assert (classifier.first != first).any() == (kind is NeuALNTKD)  # the other is frozen


def test_before_anything_is_learned_the_width_is_that_of_the_ridge(kind):
    """√(γ Σ g² / λ), new features and the last layer included. Weights are N(0, 2/m), N(0, 1/m)."""
    classifier = small(kind, ridge=4.0, hidden_dim=2000).classifier
    classifier.features.learn(NAMES)
    classifier.labels.learn([0, 1])
    classifier.widen()
    x = unit(STREAM[0][0])
    both = [output_and_gradient(classifier.first, classifier.last, x, i) for i in range(2)]
    upper, widths = classifier.bounds(x)
    expected = [np.sqrt(0.3 * (g**2).sum() / 4) for _, g in both]
    np.testing.assert_allclose(widths, expected, rtol=1e-4)
    values = [0, 0] if kind is NeuALNTKF else [f for f, _ in both]
    np.testing.assert_allclose(upper, np.add(values, expected), rtol=1e-4)
    for part, variance in ((classifier.first, 2 / 2000), (classifier.last, 1 / 2000)):
        assert abs(part.mean()) < 0.1 * np.sqrt(variance)
        assert part.var() == pytest.approx(variance, rel=0.1)


def test_an_example_of_zeros_says_nothing(kind):
    model = learned(small(kind), STREAM[:10])
    zeros = dict.fromkeys(NAMES, 0.0)
    before = model.classifier.bounds(unit(STREAM[20][0]))[1]
    model.learn_one(zeros, 0)
    assert model.classifier.predict_proba_one(zeros) == pytest.approx({0: 0.5, 1: 0.5})
    after = model.classifier.bounds(unit(STREAM[20][0]))[1]
    np.testing.assert_allclose(after, before, rtol=0.05 if kind is NeuALNTKD else 0)


@pytest.mark.parametrize(
    ("upper", "width", "ask"),
    [(0.75, 0.125, True), (0.75, 0.12, False), (0.25, 0.125, True), (0.25, 0.12, False)],
)
def test_it_predicts_the_higher_bound_and_asks_within_two_widths_of_one_half(upper, width, ask):
    """On either side; the width is that of the chosen class."""
    model = learned(small(NeuALNTKF), [(STREAM[0][0], 0), (STREAM[1][0], 1)])
    model.classifier.bounds = lambda x: (np.array([0.1, upper]), np.array([0.5, width]))
    assert model.predict_one(STREAM[2][0]) == (1, ask)


def test_training_is_on_the_chosen_context_and_its_reward():
    """One step of Adam from the squared error, by hand; the newest are stored."""
    model = learned(small(NeuALNTKD, n_epochs=1, lr=0.01, capacity=5), STREAM[:11])
    classifier = model.classifier
    first, last = (torch.tensor(part) for part in (classifier.first, classifier.last))
    x, y = STREAM[11]
    model.learn_one(x, y)
    rows = list(zip(*classifier.stored.tensors(), strict=True))
    newest = [unit(STREAM[i][0]) for i in (10, 11, 7, 8, 9)]
    np.testing.assert_allclose(np.stack([vector for vector, _, _ in rows]), newest, rtol=1e-6)
    assert rows[1][2] == (rows[1][1] == classifier.labels.index[y])
    assert {int(chosen) for _, chosen, _ in rows} == {0, 1}
    weights = [first.requires_grad_(), last.requires_grad_()]
    errors = [(first[chosen] @ vector).relu() @ last - reward for vector, chosen, reward in rows]
    torch.stack(errors).square().mean().backward()
    torch.optim.Adam(weights, lr=0.01).step()
    torch.testing.assert_close(torch.from_numpy(classifier.first), first.detach())
    torch.testing.assert_close(torch.from_numpy(classifier.last), last.detach())


def test_bounds_are_computed_once_a_round_and_anew_after_a_label(kind):
    model, computed = learned(small(kind), STREAM[:10]), []
    bounds = model.classifier.bounds
    model.classifier.bounds = lambda vector: computed.append(1) or bounds(vector)
    x, y = STREAM[20]
    model.predict_one(x)
    assert len(computed) == 1
    _, (_, before) = model.classifier.latest
    model.learn_one(x, y)
    model.predict_one(x)
    assert (model.classifier.latest[1][1] < before).any()
    assert len(computed) == 3  # learning needs those before it
    del model.classifier.bounds
    assert pickle.loads(pickle.dumps(model.classifier)).latest is None


def test_a_third_class_is_an_error(kind):
    model = learned(small(kind), [({"a": 1.0}, "red"), ({"a": 2.0}, "green")])
    with raises_and_keeps(model, "third class"):
        model.learn_one({"a": 3.0, "b": 1.0}, "blue")


def test_features_that_appear_change_no_prediction(kind):
    classifier = learned(small(kind), STREAM[:20]).classifier
    x = STREAM[30][0]
    before = classifier.predict_proba_one(x)
    classifier.features.learn({**x, "new": 1.0})
    classifier.widen()
    assert classifier.first.shape == (2, 6, 4)
    assert classifier.predict_proba_one(x) == pytest.approx(before, abs=1e-6)
