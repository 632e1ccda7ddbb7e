"""Algorithms 1 and 2 of the paper, their lines numbered, and the models of a stream that changes.

Numbers in comments are lines of Algorithm 1; 2.1 to 2.8 are those of Algorithm 2. Lines 8 to 13 and
18, which predict and decide, are those of `active.ineural` and `active.query`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river.base.typing import ClfTarget, FeatureName

from river_ineural.drift import DriftDetector
from river_ineural.explorers.trust import Explorers
from river_ineural.features.constants import CONSTANT
from river_ineural.features.imputation import LATEST, impute
from river_ineural.features.index import FeatureIndex
from river_ineural.features.labels import LabelIndex
from river_ineural.features.scaling import Scaling
from river_ineural.history import History
from river_ineural.networks.threads import single_threaded, uninterrupted
from river_ineural.networks.weights import Networks
from river_ineural.recovery import FOLLOWED, Examples, Recovery

__all__ = ["Learner", "Model", "Said"]

Floats = NDArray[np.floating[Any]]
Values = NDArray[np.float64]
Columns = NDArray[np.int64]

NONE = np.empty(0, np.int64)
ROWS_A_PASS = 1024  # of a frame: bounds the memory of its pass
PSEUDO_LABEL_STEPS = 0.35  # after each pseudo-labelled example
SPARSE_STEPS = 0.5  # of the steps, where examples have few of many features
MOST_STEPS = 1000  # of a model that is trained anew from the history
COUNTED = 2  # contexts of an example that count towards those of a batch, at most


class Said(NamedTuple):
    """What a model says of B examples."""

    f1: Floats  # (B, k)
    estimates: list[Floats]  # of the residual r1 - f1, by each explorer: (B, k) each
    trust: tuple[float, ...]  # in each explorer
    scores: Floats  # f1 and the estimates, each times its trust, (B, k)


class Model:
    """f1, f2 and the other explorers, with the history and the statistics of their examples.

    It knows columns and classes, but neither their names nor whether the stream has changed.

    Parameters
    ----------
    batch_size
        Contexts b of each step.
    """

    def __init__(
        self, networks: Networks, history: History, explorers: Explorers, batch_size: int
    ) -> None:
        self.networks, self.history, self.explorers = networks, history, explorers
        self.scaling = Scaling()
        self.batch_size = batch_size
        self.steps_due = self.explorations_due = 0.0

    def score(self, x: Values, every: bool = True) -> Said:
        """Lines 5 to 7: f1, f2 and f of every class, for raw x (B, d).

        Without `every`, an explorer that is not trusted, f2 too, is not asked and counts as 0.
        """
        if len(x) > ROWS_A_PASS:
            starts = range(0, len(x), ROWS_A_PASS)
            parts = [self.score(x[i : i + ROWS_A_PASS], every) for i in starts]
            f1s, estimated, trusts, all_scores = zip(*parts, strict=True)
            said = [np.concatenate(each) for each in zip(*estimated, strict=True)]
            return Said(np.concatenate(f1s), said, trusts[0], np.concatenate(all_scores))
        explorers = self.explorers
        f1, f2 = self.networks.score(x, self.scaling, every or explorers.explores)
        estimates, scores = explorers.estimates(x, f1, f2, every), f1
        for trust, estimate in zip(explorers.trust, estimates, strict=True):
            scores = scores + trust * estimate if trust else scores  # line 6
        return Said(f1, estimates, explorers.trust, scores)

    def learn(self, x: Values, classes: list[int], said: Said | None, w: Values) -> None:
        """Lines 14 to 25: store examples of these classes, with their rewards and residuals.

        Parameters
        ----------
        said
            What this model said of them before; None for pseudo-labels, whose residuals are 0.
        """
        targets = self.targets(classes, None if said is None else said.f1)
        self.history.add(x, targets, w, pseudo_label=said is None)  # lines 24, 25
        self.scaling.update(x)
        if said is not None:
            self.explorers.update_trust(targets[:, 1], said.estimates, w)
        self.explorers.learn(self.history, self.scaling, len(x), pseudo_label=said is None)

    def targets(self, classes: list[int], f1: Floats | None) -> Floats:
        """Rewards r1 and residuals r2 of every class, (B, 2, k)."""
        shape = len(classes), 2, self.networks.shape.n_classes
        targets = np.zeros(shape, self.networks.dtype)
        targets[np.arange(len(classes)), 0, classes] = 1  # lines 15, 20: r1
        if f1 is not None:
            np.subtract(targets[:, 0], f1, out=targets[:, 1])  # line 16: r2 = r1 - f1
        return targets

    def train(self, n_steps: float, lr: float, pseudo_label: bool = False) -> None:
        """Line 26: the steps due; a fraction of one is carried over.

        f2 takes part in a share of the steps after given labels.
        """
        explores = self.networks.shape.explores and not pseudo_label
        share = self.networks.recipe.exploration_share if explores else 0.0
        self.steps_due += n_steps * (SPARSE_STEPS if self.scaling.sparse else 1)
        while self.steps_due >= 1:
            self.steps_due -= 1
            self.explorations_due += share
            exploring = self.explorations_due >= 1
            self.explorations_due -= exploring
            self.step(lr, exploring)

    def step(self, lr: float, exploring: bool) -> None:
        """Lines 2.1 to 2.8: one step of f1, and with `exploring` of f2, on one batch for both.

        A batch holds whole examples, with replacement. For more than two classes there are as many
        as for two.
        """
        history, k = self.history, self.networks.shape.n_classes
        rows = history.rows(-(-self.batch_size // min(max(k, 1), COUNTED)))  # lines 2.2, 2.5
        # lines 2.1, 2.3, 2.4 and 2.6: losses and gradients; 2.7 and 2.8: the average of iterates
        self.networks.step(history.stored, rows, history.capacities[0], self.scaling, lr, exploring)

    def grow(self, columns: Columns, n_features: int, n_classes: int) -> None:
        """Make room for the new features of `columns`, n_features in all, and for classes."""
        self.networks.grow(columns, n_features, n_classes)
        room = self.networks.shape.n_features
        self.history.grow(room, columns, n_features, n_classes)
        self.scaling.grow(room, columns)

    def retrained(self, examples: list[Examples], n_steps: float, lr: float) -> Model:
        """A new model with the statistics of this one, trained on these examples alone."""
        history, explorers = self.history.emptied(), self.explorers.renewed()
        anew = Model(self.networks.renewed(), history, explorers, self.batch_size)
        anew.scaling = self.scaling
        for x, classes, w in examples:
            targets = anew.targets(classes.tolist(), anew.score(x).f1)
            history.add(x, targets, w, pseudo_label=False)
        explorers.learn(history, anew.scaling, history.n_labelled, pseudo_label=False)
        anew.train(min(MOST_STEPS, n_steps * history.n_labelled), lr)
        return anew


class Learner:
    """Names and labels, a detector of changes, and the models that learn a stream.

    It has one model. After an alarm it has three: a challenger is in use; the model at the alarm is
    kept as a snapshot, which does not learn, and as the incumbent, which does (`recovery`).
    """

    def __init__(
        self,
        features: FeatureIndex,
        labels: LabelIndex,
        model: Model,
        detector: DriftDetector | None,
    ) -> None:
        self.features, self.labels, self.model, self.detector = features, labels, model, detector
        self.n_labels = 0  # given so far: each counts once its example is stored
        self.scores_before: Floats = np.empty(0)  # of the latest label, before it was learned
        self.recovery: Recovery | None = None
        self.snapshot: Model | None = None
        self.incumbent: Model | None = None

    @property
    def models(self) -> list[Model]:
        """All models: the one in use, and in a recovery the incumbent and the snapshot."""
        return [each for each in (self.model, self.incumbent, self.snapshot) if each]

    @property
    def unseen_labels(self) -> tuple[ClfTarget, ...]:
        """Known labels that no labelled example in the history has."""
        seen = self.model.history.classes()
        return tuple(label for i, label in enumerate(self.labels.labels) if i not in seen)

    def vectors(self, names: Iterable[FeatureName], values: Values, new: Columns = NONE) -> Values:
        """Raw vectors (B, d) of checked values (B, names); `new` are columns of new features."""
        history = self.model.history
        x = self.features.place(names, values, self.model.networks.shape.n_features)
        if self.features.encoder is not None:
            impute(x, history.x[history.labelled()[-LATEST:]], new)
        return x

    def score(self, names: Iterable[FeatureName], values: Values) -> Said:
        """What the model in use says of values (B, names); all 0 before anything is learned."""
        if self.model.networks.n_features:
            return self.model.score(self.vectors(names, values), every=False)
        nothing, trust = np.zeros((len(values), len(self.labels))), self.model.explorers.trust
        return Said(nothing, [nothing for _ in trust], trust, nothing)

    def check(self, names: Iterable[FeatureName], label: Any) -> None:
        """Raise if the label is none, or if with it and these names networks would be too large."""
        more = self.labels.checked(label) not in self.labels.index
        k = min(self.labels.max_classes, len(self.labels) + more)
        self.model.networks.room_for(CONSTANT + self.features.n_with(names), k)

    def grow(
        self, names: Iterable[FeatureName], values: Values, labels: list[ClfTarget]
    ) -> Columns:
        """Know these names and labels too, as far as the limits allow; the columns of new names.

        Raises ValueError if networks would be too large; before anything is allocated.
        """
        new, started = self.features.new(names, values), self.model.networks.n_features > 0
        unknown = any(label not in self.labels.index for label in labels)
        more = self.labels.new(labels) if unknown else []
        if started and not (new or more):
            return NONE
        columns = new.columns if new else NONE
        n_features = max(CONSTANT + len(self.features), int(columns.max(initial=0)) + 1)
        k = len(self.labels) + len(more)
        self.model.networks.room_for(n_features, k)
        for model in self.models:
            model.grow(columns if started else np.arange(n_features), n_features, k)
        if new:
            self.features.add(new)
        self.labels.add(more)
        return columns

    @single_threaded
    def learn(
        self,
        names: Iterable[FeatureName],
        values: Values,
        labels: list[ClfTarget],
        w: Values,
        n_steps: float,
        lr: float,
        pseudo_label: bool = False,
    ) -> None:
        """Learn examples as one batch (lines 14 to 26), and let given labels show a change.

        Parameters
        ----------
        names, values, labels, w
            Checked values (B, names); label and weight of each row. Rows of labels beyond
            `max_classes` are left out.
        n_steps, lr
            Steps for each example whose label was given, and learning rate η1 of f1.
        pseudo_label
            Whether the labels are the model's own. New names are then ignored.
        """
        names, n_known, since = tuple(names), len(self.labels), 0
        with uninterrupted():  # Ctrl-C finds all models before or after these examples
            ignored = pseudo_label and self.model.networks.n_features
            new = self.grow(() if ignored else names, values, labels)
            classes = [self.labels.index.get(label, -1) for label in labels]
            if -1 in classes:  # beyond max_classes
                kept = np.array(classes) >= 0
                values, w, classes = values[kept], w[kept], [c for c in classes if c >= 0]
            if not classes:
                return
            x, n = self.vectors(names, values, new), len(classes)
            if pseudo_label:
                self.model.learn(x, classes, None, w)
            else:
                since = self._learn(x, classes, w, n_known)
            columns = self.features.look_up(names)
            self.features.touch(columns)
            if change := self.model.scaling.unit_change(values, columns):
                for model in self.models:
                    model.scaling.accept(change)
        if pseudo_label:
            self.model.train(n * PSEUDO_LABEL_STEPS, lr, pseudo_label)
            return
        for model in self.models[:2]:
            model.train(n * n_steps, lr)
        if since:
            self._begin_recovery(since, n_steps, lr)
        elif self.recovery:
            self._continue_recovery(self.recovery, n, n_steps, lr)

    def _learn(self, x: Values, classes: list[int], w: Values, n_known: int) -> int:
        """Store examples with given labels; the number of labels since a change, or 0."""
        said, since = [model.score(x) for model in self.models], 0
        known = [each.scores[:, :n_known].astype(np.float64) for each in said]
        self.scores_before = known[0][-1]
        if self.detector and n_known > 1:
            for scores, label in zip(known[0], classes, strict=True):
                since = since or self.detector.update(scores, label)
            if self.recovery:
                self.recovery.update(known, classes)
                since = 0
        for model, each in zip(self.models[:2], said, strict=False):
            model.learn(x, classes, each, w)
        self.n_labels += len(classes)
        if self.recovery:
            self.recovery.n_after += len(classes)
        return since

    def _begin_recovery(self, since: int, n_steps: float, lr: float) -> None:
        """After an alarm, for a change so many labels ago: a challenger that is trained anew."""
        assert self.detector is not None
        current, snapshot = copy.copy(self.model), self.model
        current.scaling = snapshot.scaling.faded(FOLLOWED)
        recovery = Recovery(self.detector, min(since, snapshot.history.n_labelled))
        challenger = self._challenger(recovery, current, snapshot, n_steps, lr)
        incumbent, detector = copy.deepcopy(snapshot), self.detector.successor()
        with uninterrupted():
            self.model, self.snapshot, self.incumbent = challenger, snapshot, incumbent
            self.detector, self.recovery = detector, recovery

    def _continue_recovery(self, recovery: Recovery, n: int, n_steps: float, lr: float) -> None:
        """After n more labels: the incumbent, or the challenger, which may be trained anew."""
        assert self.detector
        assert self.snapshot
        assert self.incumbent
        model, detector = self.model, self.detector
        if recovery.refuted:
            model, detector = self.incumbent, recovery.detector
        elif recovery.retrains(n):
            model = self._challenger(recovery, model, self.snapshot, n_steps, lr)
        with uninterrupted():
            self.model, self.detector = model, detector
            if recovery.over or recovery.refuted:
                self.detector.reset()
                self.recovery = self.snapshot = self.incumbent = None

    def _challenger(
        self, recovery: Recovery, current: Model, snapshot: Model, n_steps: float, lr: float
    ) -> Model:
        """A model trained on the labels since the change and on what old labels are worth."""
        examples = recovery.examples(snapshot.history, current.history, len(self.labels))
        return current.retrained(examples, n_steps, lr)
