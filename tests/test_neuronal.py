"""NeurONAL as a learner; its networks are tested in `test_networks`."""

from __future__ import annotations

import pytest
from streams import shifting

from river_ineural import INeurAL, NeurONAL, active, persistence


def test_parameters_are_those_of_ineural_with_other_defaults():
    """So that nothing that one can do is missing in the other."""
    ours, theirs = (kind(seed=1)._get_params() for kind in (NeurONAL, INeurAL))
    assert list(ours) == list(theirs)
    assert {name for name in ours if ours[name] != theirs[name]} == {
        "hidden_dim",
        "lr",
        "batch_size",
    }


@pytest.mark.parametrize("n_layers", [2, 3])
def test_a_saved_model_goes_on_to_the_bit(n_layers):
    """With its width, and a first layer that has room for a feature that is to come."""
    model = active.INeurALSampler(
        NeurONAL(hidden_dim=8, n_layers=n_layers, seed=1),
        width=active.NeurONALWidth(horizon=120),
        budget=60,
        seed=1,
    )
    stream = shifting(120, 7, 3)
    for x, y in stream[:60]:
        if model.predict_one(x)[1]:
            model.learn_one(x, y)
    loaded = persistence.from_bytes(persistence.to_bytes(model))
    for x, y in stream[60:]:
        assert loaded.predict_proba_one(x) == model.predict_proba_one(x)
        loaded.learn_one(x, y)
        model.learn_one(x, y)
