"""Explorers: how much they are trusted, and what adding one takes."""

import copy

import numpy as np
import pandas as pd
import pytest
from reference_discriminant import ReferenceDiscriminant
from river import (
    anomaly,
    drift,
    ensemble,
    evaluate,
    imblearn,
    metrics,
    multiclass,
    preprocessing,
)
from river.preprocessing import StandardScaler
from streams import blobs, dump, f1_of

from river_ineural import INeurAL, active, persistence
from river_ineural.explorers import discriminant
from river_ineural.explorers.last_label import LastLabel
from river_ineural.explorers.trust import EXPLORERS

ALL = "network", "forest", "discriminant", "last_label"


class Toy:
    """An explorer that says a half of f1."""

    TRUST, PRIOR = 0.25, 1.0

    def __init__(self):
        self.n_learned = 0

    def estimate(self, x, f1):
        return 0.5 * f1

    def learn(self, history, scaling, n):
        self.n_learned += n

    def renewed(self):
        return type(self)()


def test_a_fourth_explorer_needs_no_more_than_the_protocol(monkeypatch):
    monkeypatch.setitem(EXPLORERS, "toy", lambda rng: Toy())
    names = *ALL, "toy"
    model = INeurAL(hidden_dim=8, explorers=names, seed=1)
    assert model.trust["toy"] == 0.25
    stream = blobs(120, noise=0.3)
    for i, (x, y) in enumerate(stream):
        model.learn_one(x, y if i < 70 else 1 - y)
        if model.n_drifts:
            break
    assert (*model.trust,) == names
    assert 0 <= model.trust["toy"] <= 1 != model.trust["toy"] / 0.25
    _, added = model.explained_one(x)
    f1 = f1_of(model, x)
    assert (*added,) == names
    assert "another" not in added
    np.testing.assert_allclose(added["toy"], model.trust["toy"] * 0.5 * f1, atol=1e-6)
    assert model.n_drifts == 1
    snapshot = dump(model).snapshot.explorers.by_name["toy"]
    assert dump(model).explorers.by_name["toy"] is not snapshot
    assert snapshot.n_learned == i + 1


def lasting(seed, n=3_000):
    """Rows whose class lasts for some thirty of them, which x tells at three of four."""
    rng = np.random.default_rng(seed)
    for y in (np.cumsum(rng.random(n) < 0.03) % 2).tolist():
        x = rng.normal([1.0 if y else -1.0, 0.0], [1.2, 1.0])
        yield dict(zip("ab", x.tolist(), strict=True)), y


def of_lasting(explorers=("network", "forest", "last_label"), around=lambda model: model, **late):
    """Right predictions on such rows, with a fifth of the labels, which may come late."""
    model = INeurAL(explorers=explorers, drift_detector=None, seed=1)
    sampler = active.INeurALSampler(around(model), budget=0.2, seed=1)
    evaluate.progressive_val_score(lasting(1), sampler, right := metrics.Accuracy(), **late)
    return right.get()


@pytest.mark.parametrize("around", [lambda model: model, lambda model: StandardScaler() | model])
def test_the_last_label_says_nothing_where_classes_end_before_labels_come(around):
    """It had been taken for what is true now; it still counts where labels are a little late."""
    without = of_lasting(("network", "forest"), around, delay=100)
    assert of_lasting(around=around, delay=3) > without + 0.1
    assert of_lasting(around=around, delay=100) > without - 0.02


@pytest.mark.parametrize("chunk", [1, 700, 1400])
def test_the_last_label_gets_older_where_nothing_is_learned(chunk):
    """All rows after it had been of its class. A frame is one row after the other, too."""
    rows, right = [*lasting(2, 2_000)], []
    for explorers in (("forest",), ("forest", "last_label")):
        model = INeurAL(explorers=explorers, drift_detector=None, seed=1)
        for x, y in rows[:600]:
            model.learn_one(x, y)
        assert model.temporal_dependence == ("last_label" in explorers)
        xs, ys = [x for x, _ in rows[600:]], [y for _, y in rows[600:]]
        if chunk == 1:
            said = [model.predict_one(x) for x in xs]
        else:
            frames = (pd.DataFrame(xs[at : at + chunk]) for at in range(0, len(xs), chunk))
            said = [y for frame in frames for y in model.predict_many(frame)]
        right.append(np.mean([one == y for one, y in zip(said, ys, strict=True)]))
    assert right[1] > right[0] - 0.03


def test_a_prediction_counts_as_far_as_predictions_are_learned():
    """A label in five rounds: 50 rounds later it is as old as ten labels."""
    last = LastLabel()
    for t in range(60):
        last.predicted += 5
        last.update(t // 30)
    last.predicted += 50
    assert last.since == pytest.approx(10)
    last.age = 12
    assert last.since == 12


@pytest.mark.filterwarnings("ignore:no feature has varied")
def test_labels_of_features_that_never_vary_are_no_repetitions():
    """They are learned without a prediction between, and only the last one tells the next."""
    right = []
    for seed in range(3):
        rng, model = np.random.default_rng(seed), INeurAL(hidden_dim=8, seed=seed)
        for t, y in enumerate((np.cumsum(rng.random(500) < 0.03) % 2).tolist()):
            if t >= 300:
                right.append(model.predict_one({"a": 1.0}) == y)
            model.learn_one({"a": 1.0}, y)
    assert np.mean(right) > 0.93


def test_labels_of_little_weight_count_little():
    """Most labels are wrong, and their weight says so: they teach no trust."""
    right = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, plane = rng.normal(size=(900, 6)), rng.normal(size=6)
        model = INeurAL(seed=seed)
        for t, (row, score) in enumerate(zip(x.tolist(), x @ plane, strict=True)):
            example, wrong = dict(zip("abcdef", row, strict=True)), rng.random() < 0.6
            if t >= 300:
                right.append(model.predict_one(example) == (score > 0))
            model.learn_one(example, bool(score > 0) != wrong, w=0.01 if wrong else 1.0)
    assert np.mean(right) > 0.8


def test_one_unit_of_weight_is_as_good_as_another():
    """Trust knows how much a label weighs among the others."""
    said = []
    for unit in (1.0, 2.0**-10, 2.0**10):
        model = INeurAL(hidden_dim=8, seed=1)
        for t, (x, y) in enumerate(blobs(80)):
            model.learn_one(x, y, w=unit * (1 + t % 3))
        said.append([*model.trust.values()])
    np.testing.assert_allclose(said[1:], said[:1] * 2, atol=0.02)


@pytest.mark.parametrize("times", [2, 4])
def test_an_example_that_is_learned_several_times_tells_once(times):
    """So do ensembles and oversamplers: labels seemed to hang together, and mistakes a change."""
    right = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, plane = rng.normal(size=(500, 6)), rng.normal(size=6)
        model = INeurAL(seed=seed)
        for row, score in zip(x, x @ plane + 0.3 * rng.normal(size=500), strict=True):
            example = dict(zip("abcdef", row.tolist(), strict=True))
            right.append(model.predict_one(example) == (score > 0))
            for _ in range(times):
                model.learn_one(example, bool(score > 0))
        assert model.trust["last_label"] == 0
        assert not model.temporal_dependence
        assert model.n_drifts == 0
    assert np.mean(right) > 0.89


def test_a_label_is_late_for_itself_alone():
    """So that a copy, a file and a model that is put away need not know of it."""
    model, last = INeurAL(seed=1), LastLabel()
    for t in range(90):
        last.late = 40
        last.update(t // 30)
        assert not last.dependent
        model.learn_one({"a": t % 7}, t // 30, late=40)
        assert dump(model).explorers.last_label.late == 0
    last.late = 0
    last.update(2)
    assert last.dependent


@pytest.mark.parametrize("late", [-1, 1.5, True])
def test_examples_before_a_late_label_are_counted(late):
    model = INeurAL(seed=1)
    with pytest.raises((TypeError, ValueError), match="late must be"):
        model.learn_one({"a": 1.0}, 0, late=late)
    assert not model.n_labels


WRAPPED = {
    "filter": lambda model: (
        preprocessing.MinMaxScaler()
        | anomaly.QuantileFilter(anomaly.HalfSpaceTrees(n_trees=2, seed=1), q=0.95)
        | model
    ),
    "sampler": lambda model: imblearn.RandomUnderSampler(model, {0: 0.5, 1: 0.5}, seed=1),
    "retraining": lambda model: drift.DriftRetrainingClassifier(model),
}
ENSEMBLES = {
    "bagging": lambda model: ensemble.BaggingClassifier(model, 2, seed=1),
    "one against the rest": multiclass.OneVsRestClassifier,
    "a pipeline in bagging": lambda model: ensemble.BaggingClassifier(
        preprocessing.StandardScaler() | model, 2, seed=1
    ),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_late_labels_are_learned_in_wrappers(name):
    right = of_lasting(around=WRAPPED[name], delay=100)
    assert right > 0.5 if name == "filter" else right > of_lasting(("network", "forest")) - 0.1
    assert right > of_lasting(("network", "forest"), WRAPPED[name], delay=100) - 0.03


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.filterwarnings("ignore:Only one class")
def test_late_labels_are_learned_in_ensembles(name):
    """These hand on no argument that says how late a label is."""
    right = []
    for explorers in (("forest",), ("forest", "last_label")):
        model = INeurAL(explorers=explorers, drift_detector=None, seed=1)
        around = ENSEMBLES[name](model)
        sampler = active.MarginSampler(around, budget=active.Budget(0.2, burst=50), seed=1)
        found = evaluate.progressive_val_score(
            lasting(3, 1_500), sampler, metrics.Accuracy(), delay=150
        )
        right.append(found.get())
    assert right[1] > right[0] - 0.03


def test_a_recovery_knows_that_labels_are_late():
    """Trained anew, the explorer had learned all labels as if they were in time."""
    rng, model = np.random.default_rng(1), INeurAL(seed=1)
    for t, y in enumerate((np.cumsum(rng.random(600) < 0.06) % 2).tolist()):
        sign = (1 if t < 400 else -1) * (2.0 if y else -2.0)
        model.learn_one({"a": rng.normal(sign), "b": rng.normal()}, y, late=100)
        assert t < 60 or not model.temporal_dependence
    assert model.n_drifts


@pytest.mark.parametrize("late", [-1, None, ""])
def test_a_bad_lateness_is_refused_before_steps_learn(late):
    scaler = StandardScaler()
    model = active.INeurALSampler(scaler | INeurAL(seed=1), seed=1)
    with pytest.raises((TypeError, ValueError), match="late must be"):
        model.learn_one({"a": 1.0}, 0, asked=False, late=late)
    assert not scaler.counts


def right_on(stream, n=600, **settings):
    """Right predictions of the latter half, each label learned, and the model."""
    model, right = INeurAL(seed=1, drift_detector=None, **settings), 0
    for t, (x, y) in enumerate(stream(n)):
        right += t >= n // 2 and model.predict_one(x) == y
        model.learn_one(x, y)
    return right / (n // 2), model


def ball(n):
    """Whether normal points in ten dimensions are far out."""
    for x in np.random.default_rng(1).normal(size=(n, 10)):
        yield dict(enumerate(x)), int((x**2).sum() > 9.34)


def plane(n):
    """On which side of a plane features are; their units differ, and one is constant."""
    rng = np.random.default_rng(2)
    normal = rng.normal(size=24)
    for z in rng.normal(size=(n, 24)):
        yield dict(enumerate([*(z * 10.0 ** np.arange(-12, 12)), 7.0])), int(z @ normal > 0)


def rule(n):
    """A rule on two features."""
    for x in np.random.default_rng(3).random((n, 6)):
        yield dict(enumerate(x)), int((x[0] > 0.5) != (x[1] > 0.3))


@pytest.mark.parametrize("stream", [ball, plane])
def test_a_discriminant_finds_planes_and_ellipsoids(stream):
    found, model = right_on(stream)
    without, _ = right_on(stream, explorers=("network", "forest", "last_label"))
    assert 1 - found < 0.75 * (1 - without)
    assert model.trust["discriminant"] > 0.2


def test_a_discriminant_that_does_not_help_changes_nothing():
    """It is silent, and the others are trusted as if there were none."""
    _, model = right_on(rule)
    _, without = right_on(rule, explorers=("network", "forest", "last_label"))
    trust = model.trust
    assert trust.pop("discriminant") == 0.0
    assert trust == without.trust
    xs = [x for x, _ in rule(50)]
    assert [model.scores_one(x) for x in xs] == [without.scores_one(x) for x in xs]


def test_a_discriminant_says_the_same_after_it_was_saved_or_copied(tmp_path):
    _, model = right_on(ball, n=205)
    persistence.save(model, tmp_path / "model")
    loaded, copied = persistence.load(tmp_path / "model"), copy.deepcopy(model)
    for x, y in list(ball(300))[205:]:
        scores = model.scores_one(x)
        assert model.trust["discriminant"] > 0
        for each in (model, loaded, copied):
            assert each.scores_one(x) == scores
            each.learn_one(x, y)


@pytest.mark.filterwarnings("ignore:feature 'tinier' varies by less")
def test_a_discriminant_takes_all_units_and_learns_no_label_without_weight(tmp_path):
    """Labels of weight 0 are of examples turned round."""
    model = INeurAL(explorers=ALL, drift_detector=None, seed=1)
    for t, (x, y) in enumerate(plane(120)):
        odd = {"huge": 1e15 if t % 2 else -1e15, "tiny": 1e-60 * t, "tinier": 1e-158 * t}
        model.learn_one(x | odd, y)
        model.learn_one({name: -value for name, value in x.items()}, y, w=0.0)
    at, forms, constants = dump(model).explorers.discriminant.fit
    assert all(np.isfinite(each).all() for each in (at, forms, constants))
    assert np.isfinite([*model.scores_one(x | odd).values()]).all()
    assert dump(model).explorers.discriminant.losses.min() < 45
    persistence.save(model, tmp_path / "model")


def test_a_mean_that_rounding_puts_above_each_value_can_be_saved(tmp_path):
    """As 171 values of 1e15 and one of 500 less, with some weights, have it."""
    model = INeurAL(explorers=("discriminant",), drift_detector=None, hidden_dim=4, seed=1)
    weights = np.random.default_rng(3).uniform(0.1, 3, size=172).tolist()
    for t, w in enumerate(weights):
        model.learn_one({"far": 1e15 - 500.0 * (t == 0), "b": float(t % 7)}, t % 2, w=w)
    mean = dump(model).explorers.discriminant.fit[0][0]
    mean[mean.argmax()] = np.nextafter(1e15, np.inf)  # wherever this machine rounds to
    persistence.save(model, tmp_path / "model")
    loaded = dump(persistence.load(tmp_path / "model")).explorers.discriminant
    np.testing.assert_array_equal(loaded.fit[0][0], mean)


def test_logistic_regression_goes_downhill():
    """Flags that are rarely up and part the classes: Newton's whole steps go too far."""
    rng = np.random.default_rng(0)
    x = (rng.random((768, 20)) < 0.02).astype(float)
    at = x @ rng.normal(size=20)
    y = (at > np.quantile(at, 0.9)).astype(int)
    (mean, scale), (planes, _), (offsets, _, shares) = discriminant.fit(x, y, np.ones(768), 2)
    found = (x - mean) * scale @ planes[1].T + offsets + shares
    assert (found.argmax(axis=1) != y).mean() < 0.01


@pytest.mark.parametrize(("k", "d", "named"), [(2, 4, 2), (3, 4, 3), (4, 70, 4), (2, 4, 30)])
def test_logistic_regression_agrees_with_the_reference(k, d, named):
    """Two classes, three, so many columns that all classes share the second derivatives, and many
    classes without an example; fitted once, and again to other labels.
    """
    rng = np.random.default_rng(k)
    x, w = rng.normal(size=(80, d)), rng.uniform(0.5, 2, size=80)
    twin, found = ReferenceDiscriminant(), discriminant.NO_FIT
    for _ in range(3):
        y = (x @ rng.normal(size=(d, k)) + 0.3 * rng.gumbel(size=(80, k))).argmax(axis=1)
        found = discriminant.fit(x, y, w, named, found)
        twin.fit(x, y, w, named)
        own = np.column_stack([found[1][0, 1], found[2][0]])
        np.testing.assert_allclose(own, twin.coefficients, rtol=1e-8, atol=1e-10)


def model_column(model, name):
    return dump(model).features.columns[name]


def test_a_discriminant_forgets_features_that_are_gone():
    """A column of a new feature counts for nothing until the next fit."""
    model = INeurAL(max_features=3, explorers=ALL, drift_detector=None, seed=1)
    for t in range(60):
        model.learn_one({"a": t % 2 + 0.1 * (t % 5), "b": float(t % 7), "c": float(t % 3)}, t % 2)
    before, column = dump(model).explorers.discriminant.fit[0].copy(), model_column(model, "a")
    with pytest.warns(UserWarning, match="max_features"):
        model.learn_one({"d": 5.0, "b": 1.0, "c": 1.0}, 0)
    after = dump(model).explorers.discriminant.fit[0]
    assert column == model_column(model, "d")
    assert not after[:, column].any()
    np.testing.assert_array_equal(np.delete(after, column, 1), np.delete(before, column, 1))


def test_above_256_features_a_discriminant_is_silent():
    def wide(n):
        for x in np.random.default_rng(1).normal(size=(n, 257)):
            yield dict(enumerate(x)), int(x[:5].sum() > 0)

    _, model = right_on(wide, n=60)
    assert not dump(model).explorers.discriminant.fitted
    assert model.trust["discriminant"] == 0.0


def test_a_corrected_label_moves_the_discriminant():
    """As if the label had been right: the fit is that of the examples as they are now."""
    model, other = (INeurAL(explorers=ALL, drift_detector=None, seed=1) for _ in range(2))
    for t, (x, y) in enumerate(plane(40)):
        model.learn_one(x, 1 - y if t == 30 else y)
        other.learn_one(x, y)
    model.correct_one(31, [y for _, y in plane(40)][30])
    fitted, expected = (dump(each).explorers.discriminant for each in (model, other))
    expected.relearn(dump(other).history)
    for own, each in zip(fitted.fit, expected.fit, strict=True):
        np.testing.assert_array_equal(own, each)
