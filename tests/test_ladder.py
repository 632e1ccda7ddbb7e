"""The ladder stands on the print and leads to the defaults."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest
from river import preprocessing
from streams import blobs

from river_ineural import INeurAL, Training, active, paper
from river_ineural.active.learner import route
from river_ineural.benchmark.ladder import RUNGS, learner, parameters

LIMITS = {"budget": 0.5, "horizon": 240, "seed": 3}


def defaults(kind):
    return {name: p.default for name, p in inspect.signature(kind).parameters.items()}


def settings(sampler):
    """All parameters of a sampler's classifier, of its training and of itself."""
    model, _ = route(sampler.classifier)
    own = {name: getattr(sampler, name) for name in defaults(active.INeurALSampler)}
    of_model = {name: getattr(model, name) for name in defaults(INeurAL)}
    for name in ("classifier", "seed"):
        del own[name]
    return of_model.pop("training"), of_model, own


def test_the_first_rung_is_the_print():
    training, model, sampler = settings(learner(0, LIMITS))
    printed = settings(paper.printed((0, 1), 240, gamma=6.0, seed=3))
    assert replace(training, beta2=0.99) == printed[0]  # Adam's, which SGD does not use
    assert model == printed[1] | {"capacity": model["capacity"]}
    assert sampler == printed[2] | {"budget": 0.5, "horizon": 240}  # the cap of the experiments


def test_the_third_is_the_experiments_form():
    training, model, sampler = settings(learner(2, LIMITS))
    experiments = settings(paper.experiments((0, 1), 240, budget=0.5, seed=3))
    assert training == experiments[0]
    assert model == experiments[1] | {"capacity": model["capacity"]}
    assert sampler == experiments[2]


def test_the_last_rung_is_the_defaults():
    training, model, sampler = settings(learner(len(RUNGS) - 1, LIMITS))
    assert training == Training()
    assert {**model, "training": None} == defaults(INeurAL) | {"seed": 3}
    own = defaults(active.INeurALSampler) | {"budget": 0.5, "horizon": 240}
    assert {**sampler, "classifier": own["classifier"], "seed": own["seed"]} == own


@pytest.mark.parametrize("rung", range(1, len(RUNGS)), ids=lambda i: RUNGS[i].name)
def test_each_rung_is_a_change_that_tells(rung):
    """What it sets was set otherwise, and the learner behaves otherwise or is told to be alike."""
    before, after = parameters(rung - 1), parameters(rung)
    changed = {
        name
        for old, new in zip(before, after, strict=True)
        for name in new
        if old[name] != new[name]
    }
    each = RUNGS[rung]
    assert changed == {*each.classifier, *each.training, *each.sampler}
    assert all(name in each.parameter for name in changed)


def test_every_rung_runs_and_changes_what_is_learned():
    """But for those that have no occasion in 240 rounds."""
    stream = [(x, int(y)) for x, y in blobs(240, n_features=4, n_classes=2)]
    told = []
    for rung in range(len(RUNGS)):
        model = learner(rung, LIMITS)
        for x, y in stream:
            _, ask = model.predict_one(x)
            if ask:
                model.learn_one(x, y)
        assert 0 < model.n_queries <= 120
        inner, pipelines = route(model.classifier)
        assert bool(pipelines) == (rung < 10)
        x = preprocessing.Normalizer().transform_one(x) if pipelines else x
        told.append(inner.scores_one(x))
    alike = {RUNGS[i].name for i in range(1, len(told)) if told[i] == told[i - 1]}
    assert alike == {"a bounded history", "noticing changes", "linear pieces"}
