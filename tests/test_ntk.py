"""The NTK baselines against gradients by autograd and sums written out."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from streams import blobs

from river_ineural.baselines import NeuALNTKD, NeuALNTKF

STREAM = blobs(80, n_features=3, n_classes=2, seed=2, noise=0.4)
NAMES = sorted(STREAM[0][0])
KINDS = [NeuALNTKF, NeuALNTKD]


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
    hidden = torch.einsum("imd,id->m", first, context).relu()
    f = hidden @ last
    gradients = torch.autograd.grad(f, (first, last))
    return f.item(), torch.cat([g.flatten() for g in gradients]).numpy()


def written_out(model, kind, rounds):
    """U and widths of each round from the definition, the model learning along."""
    classifier = model.classifier
    z, b, found = None, None, []
    for x, y in rounds:
        if len(classifier.labels) == 2:
            weights = classifier.first, classifier.last
            if z is None:  # what was learned while classes appeared
                z = np.concatenate((classifier.z_first.ravel(), classifier.z_last))
                if kind is NeuALNTKF:
                    b = np.concatenate((classifier.b_first.ravel(), classifier.b_last))
            both = [output_and_gradient(*weights, unit(x), i) for i in range(2)]
            widths = [np.sqrt(0.3 * (g**2 / z).sum()) for _, g in both]
            values = [f if b is None else (b / z) @ g for f, g in both]
            upper = np.add(values, widths)
            found.append((upper, widths, *classifier.bounds(unit(x))))
            chosen = upper.argmax()
            g = both[chosen][1]
            z = z + g**2
            if b is not None:
                b = b + g * (classifier.labels.index[y] == chosen)
        model.learn_one(x, y)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_those_written_out(kind):
    found = written_out(small(kind), kind, STREAM[:40])
    assert len(found) > 30
    for upper, widths, actual, actual_widths in found:
        np.testing.assert_allclose(actual, upper, atol=2e-5)
        np.testing.assert_allclose(actual_widths, widths, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_before_anything_is_learned_the_width_is_that_of_the_ridge(kind):
    """√(γ Σ g² / λ), new features and the last layer included."""
    classifier = small(kind, ridge=4.0).classifier
    classifier.features, _ = classifier.features.grown(NAMES)
    classifier.labels = classifier.labels.grown([0, 1])
    classifier.widen()
    x = unit(STREAM[0][0])
    both = [output_and_gradient(classifier.first, classifier.last, x, i) for i in range(2)]
    upper, widths = classifier.bounds(x)
    expected = [np.sqrt(0.3 * (g**2).sum() / 4) for _, g in both]
    np.testing.assert_allclose(widths, expected, rtol=1e-5)
    values = [0, 0] if kind is NeuALNTKF else [f for f, _ in both]
    np.testing.assert_allclose(upper, np.add(values, expected), rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_first_weights_have_the_variances_they_say(kind):
    """2/m in the first layer, 1/m in the last."""
    classifier = small(kind, hidden_dim=2000).classifier
    classifier.features, _ = classifier.features.grown(NAMES)
    classifier.widen()
    for part, variance in ((classifier.first, 2 / 2000), (classifier.last, 1 / 2000)):
        assert abs(part.mean()) < 0.1 * np.sqrt(variance)
        assert part.var() == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_of_zeros_says_nothing(kind):
    """It has no norm to divide by, both bounds are 0, and learning it changes no width."""
    model = small(kind)
    for x, y in STREAM[:10]:
        model.learn_one(x, y)
    zeros = dict.fromkeys(NAMES, 0.0)
    before = model.classifier.bounds(unit(STREAM[20][0]))[1]
    model.learn_one(zeros, 0)
    assert model.classifier.predict_proba_one(zeros) == pytest.approx({0: 0.5, 1: 0.5})
    after = model.classifier.bounds(unit(STREAM[20][0]))[1]
    np.testing.assert_allclose(after, before, rtol=0.05 if kind is NeuALNTKD else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_it_predicts_the_higher_bound_and_asks_near_one_half(kind):
    model = small(kind)
    asked = []
    for x, y in STREAM:
        before = copy.deepcopy(model.classifier)
        label, ask = model.predict_one(x)
        if len(before.labels) < 2:
            assert ask
            asked.append(ask)
        else:
            upper, widths = before.bounds(unit(x))
            chosen = upper.argmax()
            assert label == before.labels.labels[chosen]
            assert ask == (abs(upper[chosen] - 0.5) <= 2 * widths[chosen])
            asked.append(ask)
        if ask:
            model.learn_one(x, y)
    assert model.n_rounds == len(STREAM) == len(asked)
    assert 2 < model.n_queries == sum(asked) < len(STREAM)


@pytest.mark.parametrize(
    ("upper", "width", "ask"),
    [(0.75, 0.125, True), (0.75, 0.12, False), (0.25, 0.125, True), (0.25, 0.12, False)],
)
def test_it_asks_within_two_widths_of_one_half_on_either_side(upper, width, ask):
    """The width is that of the chosen class."""
    model = small(NeuALNTKF)
    for x, y in ((STREAM[0][0], 0), (STREAM[1][0], 1)):
        model.learn_one(x, y)
    model.classifier.bounds = lambda x: (np.array([0.1, upper]), np.array([0.5, width]))
    assert model.predict_one(STREAM[2][0]) == (1, ask)


def test_the_frozen_network_stays_and_the_other_is_trained():
    models = [small(kind) for kind in KINDS]
    for model in models:
        model.learn_one(*STREAM[0])
    before = [model.classifier.first.copy() for model in models]
    for model in models:
        for x, y in STREAM[1:10]:
            model.learn_one(x, y)
    frozen, trained = (model.classifier.first for model in models)
    np.testing.assert_array_equal(frozen, before[0])
    assert (trained != before[1]).mean() > 0.5


def test_training_is_on_the_chosen_context_and_its_reward():
    """One step of Adam from the squared error, by hand."""
    model = small(NeuALNTKD, n_epochs=1, lr=0.01)
    for x, y in STREAM[:5]:
        model.learn_one(x, y)
    classifier = model.classifier
    first, last = (torch.tensor(part) for part in (classifier.first, classifier.last))
    x, y = STREAM[5]
    model.learn_one(x, y)
    rows = list(zip(*classifier.stored.tensors(), strict=True))
    assert rows[5][2] == (rows[5][1] == classifier.labels.index[y])
    assert {int(chosen) for _, chosen, _ in rows} == {0, 1}
    weights = [first.requires_grad_(), last.requires_grad_()]
    errors = [(first[chosen] @ vector).relu() @ last - reward for vector, chosen, reward in rows]
    torch.stack(errors).square().mean().backward()
    torch.optim.Adam(weights, lr=0.01).step()
    torch.testing.assert_close(torch.from_numpy(classifier.first), first.detach())
    torch.testing.assert_close(torch.from_numpy(classifier.last), last.detach())


def test_the_trained_one_stores_no_more_than_its_capacity():
    """The newest, and training takes no others."""
    model = small(NeuALNTKD, capacity=5, n_epochs=1)
    for x, y in STREAM[:12]:
        model.learn_one(x, y)
    vectors, _, _ = model.classifier.stored.tensors()
    newest = [unit(STREAM[i][0]) for i in (10, 11, 7, 8, 9)]
    np.testing.assert_allclose(vectors, newest, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_computed_once_a_round_and_anew_after_a_label(kind):
    model, computed = small(kind), []
    for x, y in STREAM[:10]:
        model.learn_one(x, y)
    bounds = model.classifier.bounds
    model.classifier.bounds = lambda vector: computed.append(1) or bounds(vector)
    x, y = STREAM[20]
    model.predict_one(x)
    assert len(computed) == 1
    _, _, before = model.classifier.latest
    model.learn_one(x, y)
    model.predict_one(x)
    assert (model.classifier.latest[2] < before).any()
    assert len(computed) == 3  # learning needs those before it
    del model.classifier.bounds
    assert pickle.loads(pickle.dumps(model.classifier)).latest is None


def test_the_trained_one_learns():
    model, right = small(NeuALNTKD, hidden_dim=50, gamma=0.1), 0
    for x, y in blobs(300, n_features=3, n_classes=2, seed=3, noise=0.2):
        label, ask = model.predict_one(x)
        right += label == y
        if ask:
            model.learn_one(x, y)
    assert right > 250


@pytest.mark.parametrize("kind", KINDS)
def test_a_third_class_is_an_error(kind):
    model = small(kind)
    model.learn_one({"a": 1.0}, "red")
    model.learn_one({"a": 2.0}, "green")
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="third class"):
        model.learn_one({"a": 3.0, "b": 1.0}, "blue")
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("kind", KINDS)
def test_features_that_appear_change_no_prediction(kind):
    model = small(kind)
    for x, y in STREAM[:20]:
        model.learn_one(x, y)
    before = model.classifier.predict_proba_one(STREAM[30][0])
    features = model.classifier.features
    model.classifier.features, _ = features.grown({**STREAM[30][0], "new": 1.0})
    model.classifier.widen()
    assert model.classifier.first.shape == (2, 6, 4)
    after = model.classifier.predict_proba_one(STREAM[30][0])
    assert list(after.values()) == pytest.approx(list(before.values()), abs=1e-6)


def decisions(model, stream):
    """Probabilities and asks of each round, the model learning what it asks for."""
    found = []
    for x, y in stream:
        proba, ask = model.predict_proba_one(x)
        found.append((proba, ask))
        if ask:
            model.learn_one(x, y)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_run_and_a_copy_goes_on(kind):
    """Another seed asks for other labels."""
    runs = []
    for seed in (1, 1, 2):
        model = small(kind, seed=seed)
        run = decisions(model, STREAM[:40])
        copied = pickle.loads(pickle.dumps(model))
        run += decisions(model, STREAM[40:])
        assert run[40:] == decisions(copied, STREAM[40:])
        runs.append(run)
    assert runs[0] == runs[1]
    asks = [[ask for _, ask in run] for run in (runs[0], runs[2])]
    assert asks[0] != asks[1]


def test_the_seed_draws_the_order_of_training_too():
    """The same weights and labels, and another generator from then on: other weights."""
    models = [small(NeuALNTKD, batch_size=4) for _ in range(3)]
    for model in models:
        for x, y in STREAM[:3]:
            model.learn_one(x, y)
    models[2].classifier.rng = np.random.default_rng(5)
    for model in models:
        for x, y in STREAM[3:20]:
            model.learn_one(x, y)
    first = [model.classifier.first for model in models]
    np.testing.assert_array_equal(first[0], first[1])
    assert (first[0] != first[2]).mean() > 0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "settings", [{"hidden_dim": 0}, {"gamma": -1.0}, {"ridge": 0.0}, {"budget": 2.0}], ids=str
)
def test_a_bad_parameter_is_named(kind, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        small(kind, **settings)
