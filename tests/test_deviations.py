"""Every number of docs/deviations.md: the parameter that it names brings the paper's back."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from river import base
from test_printed import DIM, ROUNDS, stream

from river_ineural import INeurAL, Training, active
from river_ineural.active import ConstantWidth, TheoreticalWidth
from river_ineural.learning.trainer import Trainer
from river_ineural.network import compiled

DOCS = Path(__file__).parents[1] / "docs" / "deviations.md"

ENOUGH = 40  # labels: more than the print asks for here

LEFT_AT_THE_DEFAULT = {
    "1 optimizer": {"training": {"optimizer": "adam"}},
    "1 rate": {"classifier": {"lr": 1.4e-3}},
    "2 and 3 batches": {"training": {"batches": "shared"}},
    "3 and 4 rings": {"training": {"labelled_share": 0.7}},
    "4 capacity": {"classifier": {"capacity": ROUNDS // 2}},
    "5 confidence": {"sampler": {"confidence": 0.6}},
    "6 width": {"sampler": {"width": ConstantWidth()}},
    "6 thrift": {"sampler": {"thrift": 0.75, "budget": ENOUGH}},
    "7 audits": {"sampler": {"audits": 1.0, "budget": 1_000, "horizon": 2_000}},
    "7 exploration": {"sampler": {"exploration": 0.1}},  # the default's 0.02 is for longer streams
    "8 and 11 classes": {"classifier": {"classes": None}},
    "9 exploration": {"training": {"exploration": "none"}},
    "9 exploration_lr": {"training": {"exploration_lr": 1e-6}},
    "10 center": {"classifier": {"center": True}},
    "10 scale": {"classifier": {"scale": True}},
    "10 ranks": {"classifier": {"ranks": True}},
    "10 relevance": {"classifier": {"relevance": True}},
    "10 normalize": {"classifier": {"normalize": True}},
    "12 iterate": {"classifier": {"iterate": "average"}},
    "12 n_iterates": {"training": {"n_iterates": 8}},
    "13 init_scale": {"training": {"init_scale": 0.3}},
    "14 n_steps": {"classifier": {"n_steps": 8.0}},
    "14 exploration_share": {"training": {"exploration_share": 0.25}},
    "14 pseudo_label_exploration": {"training": {"pseudo_label_exploration": False}},
    "14 pseudo_label_steps": {"training": {"pseudo_label_steps": 0.35}},
    "15 adversarial_radius": {"classifier": {"adversarial_radius": 0.15}},
    "16 budget": {"sampler": {"budget": 10}},
    "17 horizon": {"sampler": {"width": TheoreticalWidth()}},
}
ELSEWHERE = {  # what is no difference from the twin
    18: "test_a_late_label_has_the_residual_of_its_day",
    19: "test_margin_of_two_classes_is_a_probability",
    20: "test_bounds_are_those_written_out",
    21: "test_the_first_labels_train_hypotheses_that_stay",
    22: "test_a_sample_is_fetched_once_and_kept",
    23: "test_features_of_every_x_stay",
    24: "test_networks_of_bounded_size_are_learned_as_they_are",
    25: "test_no_gradient_is_shortened",
    26: "test_a_dead_network_scores_zero",
    27: "test_a_gap_that_is_no_number_never_asks",
    28: "test_without_a_detector_nothing_is_noticed",
}


def test_a_class_that_comes_late_is_learned_in_more_steps(monkeypatch):
    """And not in the print; its second label, of so few, in as many as others."""
    steps = []
    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda self, *parts: steps.append(1) or step(self, *parts))
    for late, expected in (10.0, [10, 1, 1]), (1.0, [1, 1, 1]):
        model = INeurAL(
            hidden_dim=4,
            n_steps=1,
            adversarial_radius=0,
            training=Training(late_class_steps=late),
            seed=1,
        )
        for t in range(64):
            model.learn_one({"a": float(t)}, "first")
        taken = []
        for _ in range(3):
            steps.clear()
            model.learn_one({"a": -1.0}, "late")
            taken.append(len(steps))
        assert taken == expected


def test_every_number_has_a_test():
    text = DOCS.read_text()
    numbers = [int(n) for n in re.findall(r"^(\d+)\. \*\*", text, re.MULTILINE)]
    assert numbers == list(range(1, 29))
    named = {int(n) for name in LEFT_AT_THE_DEFAULT for n in re.findall(r"\d+", name)}
    assert named | set(ELSEWHERE) == set(numbers)
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    for test in ELSEWHERE.values():
        assert f"def {test}" in tests


def test_the_page_shows_the_defaults_of_training():
    code = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    space = {}
    exec(code.group(1), space)
    assert space["model"].training == Training()
    names = re.findall(r"^        (\w+)=", code.group(1), re.MULTILINE)
    assert names == list(Training.__dataclass_fields__)


def test_a_late_label_has_the_residual_of_its_day():
    """18: in the same round it is that of the round; later that of the networks by then."""
    residuals = []
    for delay in (0, 5):
        model = INeurAL(seed=1, classes=(0, 1))
        examples = list(stream(2, rounds=8))
        x, y = examples[0]
        for other, label in examples[1 : 1 + delay]:
            model.learn_one(other, label)
        expected = reward(y) - f1(model, x)
        model.learn_one(x, y)
        row = len(model._state.history) - 1
        residuals.append(model._state.history.targets[row, 1].numpy().copy())
        np.testing.assert_allclose(residuals[-1], expected, atol=1e-5)
    assert not np.allclose(*residuals)


def reward(y):
    return np.eye(2)[y]


def f1(model, x):
    return model._parts(x)[0][0]


class Fixed(base.Classifier):
    """Says what x says."""

    def learn_one(self, x, y):
        pass

    def predict_proba_one(self, x):
        return {False: 1 - x["p"], True: x["p"]}


@pytest.mark.parametrize("probability", [0.6, 0.75, 0.9, 0.95])
def test_margin_of_two_classes_is_a_probability(probability):
    """19: below it the paper's Margin asks."""
    sampler = active.MarginSampler(Fixed(), threshold=2 * probability - 1)
    for p in np.linspace(0.003, 0.997, 211).tolist():
        _, ask = sampler.predict_one({"p": p})
        assert ask == (max(p, 1 - p) < probability)


def test_features_of_every_x_stay():
    """23: where every x has the same names none ever makes room."""
    model = INeurAL(max_features=DIM, seed=1)
    for x, y in stream(2, rounds=30):
        model.learn_one(x, y)
    assert sorted(model._state.features.names) == [f"f{j}" for j in range(DIM)]
    assert not model._state.features._warned


def test_networks_of_bounded_size_are_learned_as_they_are():
    """24: the largest of the paper's networks is far below the bound."""
    model = INeurAL(seed=1)
    shape = model._state.trainer.shape._replace(n_features=3_073, n_classes=10)
    assert model._state.trainer.room_for(*shape[1::-1]) == shape


def test_no_gradient_is_shortened():
    """25: where no norm is too long."""
    weights, gradient = np.zeros(3), np.array([30.0, 40.0, 0.0])
    compiled.sgd(weights, gradient, np.zeros(1, np.float32), 0.1, math.inf)
    np.testing.assert_allclose(weights, -0.1 * gradient)


@pytest.mark.parametrize("given", [{"a": 1.0}, {"a": 0.6, "b": -0.8}, {"a": 0.6, "b": 0.8004}])
def test_unit_norm_is_taken_for_granted(given):
    model = INeurAL(normalize="assumed", seed=1)
    model.learn_one(given, True)
    assert model.predict_one(given) is True


@pytest.mark.parametrize("given", [{}, {"a": 0.5}, {"a": 0.6, "b": 0.9}])
def test_another_norm_is_an_error_that_says_what_to_do(given):
    """10: of every method, before anything changes; and what it says works."""
    import pandas as pd
    from river import preprocessing

    model = INeurAL(normalize="assumed", seed=1)
    model.learn_one({"a": 1.0}, True)
    before = model._state.trainer.flat.clone()
    frame = pd.DataFrame([{"a": 1.0}, given] if given else [{"a": 0.0}]).fillna(0.0)
    for call in (
        lambda: model.learn_one(given, True),
        lambda: model.predict_one(given),
        lambda: model.check_one(given),
        lambda: model.learn_many(frame, pd.Series([True] * len(frame))),
        lambda: model.predict_many(frame),
        lambda: active.INeurALSampler(model).predict_one(given),
    ):
        with pytest.raises(ValueError, match=r"norm .*, not 1.*preprocessing\.Normalizer\(\)"):
            call()
    assert torch.equal(model._state.trainer.flat, before)
    if given:
        pipeline = preprocessing.Normalizer() | model
        pipeline.learn_one(given, False)
        assert len(model.known_labels) == 2
