"""River's own contract: every check that `river.checks.yield_checks` has for our models."""

import pytest
from river import linear_model, preprocessing
from river.checks import yield_checks

from river_ineural import INeurAL, NeurONAL, active, baselines

SMALL = {"hidden_dim": 8, "n_steps": 0.5}
QUICK = {**SMALL, "explorers": ("network",)}  # trees take long
LONG = ("check_bounded_memory_growth",)
MODELS = {
    "INeurAL": INeurAL(**SMALL),
    "INeurAL-encoding": INeurAL(**QUICK, categories=True, missing=True),
    "NeurONAL": NeurONAL(**QUICK),
    "INeurALSampler": active.INeurALSampler(INeurAL(**QUICK)),
    "INeurALSampler-around-pipeline": active.INeurALSampler(
        preprocessing.StandardScaler() | INeurAL(**QUICK)
    ),
    "RandomSampler": active.RandomSampler(linear_model.SoftmaxRegression()),
    "MarginSampler": active.MarginSampler(linear_model.SoftmaxRegression()),
    "RetrainedNetwork": baselines.RetrainedNetwork(hidden_dim=8, n_epochs=1, capacity=8),
    "ALPS": baselines.ALPS(n_hypotheses=2, n_pretraining=10, hidden_dim=8, n_epochs=1),
    "NeuALNTKF": baselines.NeuALNTKF(hidden_dim=8),
    "NeuALNTKD": baselines.NeuALNTKD(hidden_dim=8, n_epochs=1, capacity=8),
}


def cases():
    for name, model in MODELS.items():
        for check in yield_checks(model):
            marks = ()
            if check.__name__ in LONG:
                marks = pytest.mark.slow
            if check.__name__ in model._unit_test_skips():
                marks = pytest.mark.skip(reason="in _unit_test_skips, where the reason is given")
            yield pytest.param(model, check, id=f"{name}-{check.__name__}", marks=marks)


@pytest.mark.filterwarnings("ignore:.* labels answered no question")  # they learn other features
@pytest.mark.filterwarnings("ignore:20 predictions in a row lack")  # by chance: one feature is left
@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_check(model, check):
    """As `river.checks.check_estimator` runs it."""
    check(model.clone())


@pytest.mark.parametrize("model", list(MODELS.values()), ids=list(MODELS))
def test_few_checks_are_skipped(model):
    skips = model._unit_test_skips()
    assert len(skips) <= 2
    assert skips <= {check.__name__ for check in yield_checks(model)}
