"""The benchmark commands run and report what they say."""

from __future__ import annotations

import csv

import pytest

from river_ineural.benchmark import speed


def test_speed_prints_a_row_a_size_and_appends_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(speed, "SIZES", ((5, 2), (4, 3)))
    path = tmp_path / "speed.csv"
    for n_runs in (1, 2):
        speed.run(n_calls=2, csv_path=path)
        with path.open() as file:
            rows = list(csv.DictReader(file))
        assert [(row["d"], row["k"]) for row in rows] == [("5", "2"), ("4", "3")] * n_runs
    assert all(
        float(row[name]) > 0 for row in rows for name in ("floor", "learn_one", "predict_one")
    )
    assert len(capsys.readouterr().out.splitlines()) == 2 * (2 + 2)


@pytest.mark.parametrize(("d", "k"), [(7, 2), (3, 5)])
def test_the_floor_and_the_model_take_a_step_of_the_same_size(d, k):
    """The floor is no floor if its networks or its batch are smaller than the model's."""
    model = speed.new_model(d, k)
    model.learn_one({f"f{j}": 1.0 for j in range(d)}, 0)
    trainer = model._trainer
    assert trainer.training.n_contexts == -(-speed.CONTEXTS // k) * k
    assert trainer.shape[:3] == (k, d + 1, speed.WIDTH)
    sizes = [len(part) for part in (trainer.weights.f1, trainer.weights.f2)]
    assert sizes == [len(p) for p in speed.Floor(d + 1, k).parameters]
