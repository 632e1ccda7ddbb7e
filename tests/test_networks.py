"""The networks as modules, which serve other devices, against the compiled form."""

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given

from river_ineural.networks import part
from river_ineural.networks.layout import Shape, Weights
from river_ineural.networks.loops import Loops
from river_ineural.networks.modules import Modules

shapes = st.builds(
    Shape,
    n_classes=st.integers(1, 4),
    n_features=st.integers(1, 6),
    hidden_dim=st.integers(1, 9),
    n_layers=st.integers(2, 4),
    explores=st.booleans(),
    outputs=st.booleans(),
)


class Passed:
    """A form of the networks over random weights, with Adam's averages at 0, and examples."""

    def __init__(self, form, shape, n, seed=0, dtype=np.float64):
        rng, self.exploring = np.random.default_rng(seed), shape.explores
        drawn = rng.normal(0, shape.hidden_dim**-0.5, shape.n_parameters)
        self.block = torch.from_numpy(np.stack([drawn, drawn, 0 * drawn, 0 * drawn]).astype(dtype))
        self.radius = torch.tensor(0.1, dtype=self.block.dtype)
        self.form = form(shape, self.block, torch.zeros(2), self.radius)
        self.scaling = np.zeros((3, shape.n_features))  # x as it is
        self.scaling[1] = 1
        x = rng.normal(size=(n, shape.n_features))
        self.x = x / np.linalg.norm(x, axis=1, keepdims=True)
        labels = np.eye(shape.n_classes)[rng.integers(0, shape.n_classes, n)]
        self.targets = np.stack((labels, rng.normal(size=labels.shape)), axis=1).astype(dtype)
        self.weight = rng.uniform(size=n).astype(dtype)

    def score(self, n):
        return self.form.score(self.x[:n], self.scaling, self.exploring)

    def step(self, targets, most=None):
        stored, rows = (self.x, targets, self.weight), np.arange(len(self.x))
        how = self.scaling, 2.0, most, 0.01, 0.02, self.exploring
        return self.form.step(stored, rows, len(rows), *how)


@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@given(
    shape=shapes,
    n=st.integers(1, 12),
    seed=st.integers(0, 2**32),
    exploring=st.booleans(),
    most=st.sampled_from([None, 0.15]),
)
def test_both_forms_take_the_same_steps(dtype, close, shape, n, seed, exploring, most):
    """Scores, what Adam remembers of the gradients of a step, and the radius of what is moved."""
    both = [Passed(form, shape, n, seed, dtype) for form in (Loops, Modules)]
    for each in both:
        each.exploring &= exploring
    for n_rows in (n, 0):
        scores = [each.score(n_rows) for each in both]
        assert scores[0].shape[1:] == (n_rows, shape.n_classes)
        np.testing.assert_allclose(*scores, atol=close)
    assert all(each.step(each.targets, most) for each in both)
    gradients = [each.block[2] for each in both]
    torch.testing.assert_close(*gradients, atol=close / 10, rtol=100 * close)
    assert both[0].radius.item() == pytest.approx(both[1].radius.item(), rel=1e-5)


@pytest.mark.parametrize("form", [Loops, Modules])
def test_a_step_that_is_not_finite_is_not_taken(form):
    passed = Passed(form, Shape(n_classes=2, n_features=3, hidden_dim=4, n_layers=2), 4)
    before = passed.block.clone()
    for kind in range(2):
        bad = passed.targets.copy()
        bad[0, kind, 0] = np.inf
        assert not passed.step(bad)
        assert torch.equal(passed.block, before)
    assert passed.step(passed.targets)


@given(shape=shapes, exploring=st.booleans(), data=st.data())
def test_a_part_of_the_columns_is_copied_alike_on_every_device(shape, exploring, data):
    """What is taken, changed and put back; elsewhere than on the CPU with tensors."""
    columns = sorted(data.draw(st.sets(st.integers(0, shape.n_features - 1))))
    columns = np.array(columns, np.int64)
    drawn = np.random.default_rng(1).normal(size=(2, 3, shape.n_parameters))
    block, other = torch.from_numpy(drawn)
    found = []
    for views in (part.views, Weights):
        whole, target = block.clone(), other.clone()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(part, "views", views)
            some = part.Part(shape, columns, exploring and shape.explores)
            some.put_columns(whole, target)
            taken = some.of(whole)
            some.put(-taken, whole)
        found.append(torch.cat([taken, whole, target], 1))
    assert torch.equal(*found)
    inputs = taken.new_zeros(shape.n_features)
    inputs[columns] = torch.arange(1.0, len(columns) + 1, dtype=torch.float64)
    small = Weights(taken, some.shape).first_layers
    for one, all_ in zip(small, Weights(block, some.included).first_layers, strict=True):
        torch.testing.assert_close(one @ inputs[columns], all_ @ inputs)
    assert torch.equal(block.eq(-whole), block.ne(whole))  # moved, or as they were
