"""The networks as modules, which serve other devices, against the compiled form; and its parts."""

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from streams import Float64

from river_ineural import INeurAL
from river_ineural.features import jit, standardizing
from river_ineural.networks import batch, compiled, part, products
from river_ineural.networks.layout import Shape, Weights
from river_ineural.networks.loops import Loops
from river_ineural.networks.modules import Modules

ROOT = Path(__file__).parents[1]

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
    block = torch.from_numpy(np.random.default_rng(1).normal(size=(4, shape.n_parameters)))
    found = []
    for views in (part.views, Weights):
        whole = block.clone()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(part, "views", views)
            some = part.Part(shape, columns, exploring and shape.explores)
            taken = some.of(whole, part.ALL)
            some.put(-taken, whole)
        found.append(torch.cat([taken, whole], 1))
    assert torch.equal(*found)
    layers = (Weights(each, some.included).first_layers for each in (block, whole))
    for before, after in zip(*layers, strict=True):
        assert torch.equal(after[:2, ..., columns], -before[[0, 0]][..., columns])
    inputs = taken.new_zeros(shape.n_features)
    inputs[columns] = torch.arange(1.0, len(columns) + 1, dtype=torch.float64)
    small = Weights(taken, some.shape).first_layers
    for one, all_ in zip(small, Weights(block, some.included).first_layers, strict=True):
        torch.testing.assert_close(one @ inputs[columns], all_ @ inputs)
    same, moved = block[[0, 2, 3]].eq(whole[[0, 2, 3]]), block[[0, 2, 3]].eq(-whole[[0, 2, 3]])
    assert torch.equal(moved, ~same)  # moved, or as they were


# Parts of the compiled pass by hand, and what it does at the edges


@given(seed=st.integers(0, 2**32), n=st.integers(1, 70))
def test_adam_is_pytorch_s(seed, n):
    """Ten updates; numbers that it cannot square, or that are none, count as 0."""
    rng = np.random.default_rng(seed)
    flat = rng.normal(size=n)
    expected = torch.tensor(flat)
    reference = torch.optim.Adam([expected], lr=0.1, betas=(0.9, 0.99), eps=1e-8)
    (mean, square), count = np.zeros((2, n)), np.zeros(1)
    for _ in range(10):
        g = rng.normal(size=n) * (rng.random(n) < 0.7)
        odd = np.where(g == 0, rng.choice([np.nan, np.inf, -2e15, 0], n), g)
        compiled.adam(flat, odd, mean, square, count, 0.1)
        expected.grad = torch.tensor(g)
        reference.step()
    np.testing.assert_allclose(flat, expected, rtol=1e-9, atol=1e-12)
    assert count == 10


def test_adam_forgets_what_is_too_small_to_matter():
    """A gradient that has been 0 for long leaves averages of 0, not subnormal numbers."""
    p, g, mean, square = np.zeros((4, 3), np.float32)
    count = np.zeros(1, np.float32)
    g[0] = mean[0] = mean[1] = 1
    square[:] = (1, 1e30, 1e-35)
    for _ in range(2_000):
        compiled.adam(p, g, mean, square, count, 0.0)
    assert mean.tolist() == pytest.approx([1, 0, 0])
    assert square[2] == 0 < square[1] < 1e30


@given(
    n_examples=st.integers(1, 6),
    n_classes=st.integers(1, 5),
    n_labelled=st.integers(0, 9),
    seed=st.integers(0, 2**32),
)
def test_oppose_sets_a_class_against_the_best_other(n_examples, n_classes, n_labelled, seed):
    """By hand; a tie is a label missed, and the radius stays within its bounds."""
    rng = np.random.default_rng(seed)
    rows, most = rng.integers(0, 9, n_examples), 0.3
    f1 = rng.integers(0, 4, (n_classes, n_examples)) / 4  # ties as well
    labels = rng.integers(0, n_classes, n_examples)
    targets = rng.normal(size=(n_examples, 2, n_classes))
    targets[:, 0] = np.eye(n_classes)[labels]

    expected, missed = np.zeros_like(f1), []
    for i, label in enumerate(labels):
        others = [c for c in range(n_classes) if c != label]
        if others:
            best = max(others, key=lambda c: f1[c, i])
            expected[label, i], expected[best, i] = 1, -1
            if rows[i] < n_labelled:
                missed.append(f1[label, i] <= f1[best, i])
    before = rng.uniform(most / 15, most)
    radius = before * np.exp(0.2 * (0.01 - np.mean(missed))) if missed else before
    sign, moved = np.full(f1.shape, np.nan), np.array([before])
    batch.oppose(f1, targets, rows, n_labelled, most, sign, moved)
    np.testing.assert_array_equal(sign, expected)
    assert moved[0] == pytest.approx(min(max(radius, most / 15), most), rel=1e-12)


@given(
    st.tuples(*(st.integers(0, 70),) * 3),
    st.sampled_from([products.NEITHER, products.LEFT, products.RIGHT]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 99),
)
def test_products_are_those_of_numpy(sizes, turned, dtype, seed):
    """Whatever is left over at the edges of tiles; nothing is written beyond the product."""
    rows, inner, columns = sizes
    rng = np.random.default_rng(seed)
    a, b = (rng.normal(size=size).astype(dtype) for size in ((rows, inner), (inner, columns)))
    given_a, given_b = (
        np.ascontiguousarray(each.T if turned == side else each)
        for each, side in ((a, products.LEFT), (b, products.RIGHT))
    )
    room = np.full((rows + 2, columns), np.nan, dtype)
    products.product(given_a, given_b, turned, room[1:-1])
    most = 1e-6 if dtype is np.float32 else 1e-14
    scale = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=0)
    assert (abs(room[1:-1] - a.astype(float) @ b.astype(float)) <= most * (1 + scale)).all()
    assert np.isnan(room[[0, -1]]).all()


@given(st.lists(st.floats(-(2.0**49), 2.0**49, width=32), max_size=40))
def test_arsinh_is_correct_to_the_last_bits(values):
    """Within 1e-7 in float32; only what is squashed is changed."""
    raw, x = np.array([values, values]).reshape(2, -1), np.empty((2, len(values)), np.float32)
    scaling = np.array([np.zeros_like(raw[0]), np.ones_like(raw[0]), np.ones_like(raw[0])])
    norm = np.linalg.norm(np.arcsinh(raw[0]))
    standardizing.standardized(raw, scaling, x)
    np.testing.assert_allclose(x[0] * max(norm, 1e-12), np.arcsinh(raw[0]), rtol=4e-7, atol=1e-30)


def test_a_change_of_any_module_compiles_loops_anew(tmp_path):
    """Loops of one module hold those of others: after an update they must not be old ones."""
    found = []
    for text in "", "a = 1", "a = 1\nb = 2":
        (tmp_path / "within").mkdir(exist_ok=True)
        (tmp_path / "within" / "module.py").write_text(text)
        found.append(jit.stamp(tmp_path))
    assert len({*found}) == 3
    index = compiled.train._cache._cache_file
    assert index._source_stamp == jit.STAMP == jit.stamp(ROOT / "river_ineural")


@pytest.mark.parametrize("kind", [INeurAL, Float64])
@pytest.mark.usefixtures("by_both")
def test_what_float32_cannot_tell_is_a_constant(kind):
    """A feature that is 0.1 + 0.2 in some examples and 0.3 in others says nothing of the class."""
    model = kind(hidden_dim=16, batch_size=8, seed=1)
    values = 0.3, 0.1 + 0.2
    assert values[0] != values[1]
    for i, varies in enumerate(np.random.default_rng(0).normal(size=30).tolist()):
        model.learn_one({"varies": varies, "same": values[i % 2]}, i % 2)
    for varies in (-1.0, 0.5):
        by_value = [model.scores_one({"varies": varies, "same": value}) for value in values]
        assert by_value[0] == pytest.approx(by_value[1], abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 6], ids=["loops", "matrix products"])
def test_scores_outlast_the_next_call(n_classes):
    model = INeurAL(hidden_dim=8, batch_size=8, explorers=("network", "forest"), seed=1)
    for i in range(12):
        model.learn_one({"a": float(i), "b": float(i % 3)}, i % n_classes)

    def seen(x):
        said = model._said({"a": x[0], "b": x[1]})
        return [said.f1, *said.estimates]

    found = seen([1.0, 2.0])
    before = [part.copy() for part in found]
    assert all((part != other).any() for part, other in zip(before, seen([9.0, -5.0]), strict=True))
    assert all(map(np.array_equal, found, before))
