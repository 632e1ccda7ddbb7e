"""The benchmark commands run and report what they say."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from river_ineural.benchmark import contenders, policy, profile, speed


def test_speed_prints_and_writes_a_row_a_size(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(speed, "SIZES", ((5, 2), (4, 3)))
    monkeypatch.setattr(speed, "DENSE_SIZE", (5, 3))
    monkeypatch.setattr(speed, "EARLY", 30)
    monkeypatch.setattr(speed, "WINDOW", 20)
    monkeypatch.setattr(speed, "LATE", 200)
    monkeypatch.setattr(speed, "LONG", 50)
    speed.run(n_calls=5, folder=tmp_path)
    with (tmp_path / "speed.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["d"], row["k"]) for row in rows] == [("5", "2"), ("4", "3")]
    assert all(float(row[name]) > 0 for row in rows for name in speed.COLUMNS)
    with (tmp_path / "speed-ratios.csv").open() as file:
        ratios = {row["ratio"]: float(row["value"]) for row in csv.DictReader(file)}
    assert ratios["memory at a late round"] == pytest.approx(1, abs=0.05)
    assert (tmp_path / "speed-light.svg").stat().st_size > 0
    assert len(capsys.readouterr().out.splitlines()) == 2 + 2 + len(ratios)


def test_profile_has_a_part_a_line_and_parts_are_within_the_whole(monkeypatch, capsys):
    monkeypatch.setattr(profile, "SIZES", ((5, 2),))
    profile.run(n_calls=20)
    printed = [line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines()[1:]]
    times = {name: float(time) for name, time in printed}
    assert 0 < times["  a step"] < times["learn_one"]
    assert 0 < times["    features dropped"] < times["  a step"]


def test_dense_contexts_are_the_blocks_written_out():
    """Each context holds one example's numbers in its class's block, and 0 elsewhere."""
    dense = contenders.Dense(3, 4)
    blocks = dense.contexts.view(-1, 4, 3)
    for i, context in enumerate(blocks):
        assert (context.abs().sum(1) > 0).nonzero().flatten().tolist() == [i % 4]
    before = dense.flat.clone()
    dense.step()
    assert (dense.flat != before).float().mean() > 0.9  # both networks moved


@pytest.mark.parametrize(("d", "k"), [(7, 2), (3, 5)])
def test_the_floor_and_the_model_take_a_step_of_the_same_size(d, k):
    """The floor is no floor if its networks or its batch are smaller than the model's."""
    model = speed.new_model(d, k)
    model.learn_one({f"f{j}": 1.0 for j in range(d)}, 0)
    trainer = model._trainer
    assert trainer.training.n_contexts == -(-speed.CONTEXTS // k) * k
    assert trainer.shape[:3] == (k, d + 1, speed.WIDTH)
    sizes = [len(part) for part in (trainer.weights.f1, trainer.weights.f2)]
    floor = contenders.Floor(d + 1, k)
    assert sizes == [floor.split, len(floor.flat) - floor.split]


def test_policies_are_compared_on_data_from_the_folder_named(tmp_path, monkeypatch, capsys):
    """A row a stream and policy; without the folder, a word on how to name it."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    np.savez(tmp_path / "ijcnn.npz", X=x, y=y)
    monkeypatch.setattr(policy, "STREAMS", {"ijcnn": policy.STREAMS["ijcnn"]})
    monkeypatch.setattr(policy, "POLICIES", {"none": (0, 0), "4 a label": (4, 1)})
    monkeypatch.delenv("RIVER_INEURAL_DATA", raising=False)
    with pytest.raises(SystemExit, match="RIVER_INEURAL_DATA"):
        policy.run(n_seeds=1)
    monkeypatch.setenv("RIVER_INEURAL_DATA", str(tmp_path))
    policy.run(n_seeds=2, folder=tmp_path)
    with (tmp_path / "policy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == ["none", "4 a label"]
    assert all(0 <= float(row["regret"]) <= 60 for row in rows)
    assert len(capsys.readouterr().out.splitlines()) == 2
