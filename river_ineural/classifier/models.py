"""The models of a classifier, and what they share: names, labels, and a detector of changes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from river.base.typing import ClfTarget, FeatureName

from river_ineural.classifier.pseudo_labels import TOGETHER, PseudoLabels
from river_ineural.drift import DriftDetector
from river_ineural.features.constants import CLOSEST, CONSTANT
from river_ineural.features.imputation import LATEST, impute
from river_ineural.features.index import NONE, FeatureIndex
from river_ineural.features.labels import LabelIndex
from river_ineural.features.scaling import UnitChange
from river_ineural.features.standardizing import place
from river_ineural.features.watch import ALIKE, OF_CONSTANTS
from river_ineural.learner import Model, Said
from river_ineural.networks.threads import single_threaded, uninterrupted
from river_ineural.recovery import FOLLOWED, KEPT, Former, Recovery, returning, unknown

Floats = NDArray[np.floating[Any]]
Values = NDArray[np.float64]
Columns = NDArray[np.int64]


class Learner:
    """Names and labels, a detector of changes, and the models that learn a stream.

    It has one model. After an alarm it has three: a challenger is in use; the model at the alarm is
    kept as a snapshot, which does not learn, and as the incumbent, which does (`recovery`). If the
    challenger stays, the snapshot is one of three `Former` models, which may return.
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
        self.formers: list[Former] = []  # the oldest first
        self.pseudo_labels = PseudoLabels()  # that are not learned yet

    @property
    def models(self) -> list[Model]:
        """All: the one in use, in a recovery the incumbent and the snapshot, and former ones."""
        others = self.incumbent, self.snapshot, *(former.model for former in self.formers)
        return [self.model, *filter(None, others)]

    @property
    def learning(self) -> list[Model]:
        """The models that learn: the one in use, and the incumbent."""
        return [self.model, self.incumbent] if self.incumbent else [self.model]

    def to(self, device: torch.device) -> None:
        """Move all models to a device."""
        for model in self.models:
            model.networks.to(device)

    def _one_call(self, model: Model) -> bool:
        """Whether a model scores an example in one compiled call: see `Model.score_one`."""
        networks, dense = model.networks, not (model.scaling.sparse or self.features.encoder)
        return bool(dense and networks.loops and networks.n_features)

    def vectors(self, columns: Columns, values: Values, new: Columns = NONE) -> Values:
        """Raw vectors (B, d) of values (B, n) of columns (n,); `new` are those of new features."""
        history = self.model.history
        x = np.empty((len(values), self.model.networks.shape.n_features))
        place(values, columns, x)
        if self.features.encoder is not None:
            impute(x, history.x[history.labelled(LATEST)], new)
        return x

    def score_one(self, names: Iterable[FeatureName], values: Values) -> Said:
        """`score` of the values (1, names) of one example."""
        if self._one_call(self.model):
            return self.model.score_one(values, self.features.look_up(names, 1), every=False)
        return self.score(names, values)

    def score(self, names: Iterable[FeatureName], values: Values) -> Said:
        """What the model in use says of values (B, names); all 0 before anything is learned."""
        model, columns = self.model, self.features.look_up(names, len(values))
        if model.networks.n_features:
            return model.score(self.vectors(columns, values), every=False)
        nothing = np.zeros((2 + len(model.explorers.trust), len(values), len(self.labels)))
        return Said(nothing, slice(1, -1), model.explorers.trust)

    def check(self, names: Iterable[FeatureName], label: Any) -> None:
        """Raise if the label is none, or if with it and these names networks would be too large."""
        more = self.labels.checked(label) not in self.labels.index
        k = min(self.labels.max_classes, len(self.labels) + more)
        self.model.networks.room_for(CONSTANT + self.features.n_with(names), k)

    @single_threaded
    def grow(
        self, names: Iterable[FeatureName], values: Values, labels: list[ClfTarget]
    ) -> Columns:
        """Know these names and labels too, as far as the limits allow; the columns of new names.

        Raises ValueError if networks would be too large; before anything is allocated.
        """
        new = self.features.new(names, values, len(labels))
        started = self.model.networks.n_features > 0
        more = self.labels.new(labels)
        if started and not (new or more):
            return NONE
        columns = new.columns if new else NONE
        n_features = max(CONSTANT + len(self.features), int(columns.max(initial=0)) + 1)
        k = len(self.labels.labels) + len(more)
        self.model.networks.room_for(n_features, k)
        self.learn_waiting()  # before columns change
        for model in self.models:
            model.grow(columns if started else np.arange(n_features), n_features, k)
        if new:
            self.features.add(new)
        self.labels.add(more)
        return columns

    def learn(
        self,
        names: Iterable[FeatureName],
        values: Values,
        labels: list[ClfTarget],
        w: Values,
        n_steps: float,
        lr: float,
        late: int = 0,
    ) -> None:
        """Learn examples as one batch (lines 14 to 17, 24 to 26), and let labels show a change.

        Parameters
        ----------
        names, values, labels, w
            Checked values (B, names); label and weight of each row. Rows of labels beyond
            `max_classes` are left out.
        n_steps, lr, late
            Steps for each example; learning rate η1 of f1; examples learned until labels came.
        """
        names, n_known = tuple(names), len(self.labels.labels)
        with uninterrupted():  # Ctrl-C finds all models before or after these examples
            if not all(kept := self.labels.kept(labels)):  # beyond max_classes
                values, w, labels = values[kept], w[kept], [*itertools.compress(labels, kept)]
            if not labels:
                return
            new = self.grow(names, values, labels)
            classes = [self.labels.index[label] for label in labels]
            self.learn_waiting()
            columns, n = self.features.look_up(names), len(classes)
            x = self.vectors(columns, values, new)
            self.features.touch(columns)
            self.features.learned(names, n)
            for model in self.learning:
                model.explorers.note_late(late)
            since, change = self._learn(x, classes, w, n_known, values, columns)
            self._accept(change)
            self._scan_units(names, values, columns)
        for model in self.learning:
            model.train(n * n_steps, lr)
        if former := returning(self.formers):
            self._return(former, self.recovery.n_after if self.recovery else n, n_steps, lr)
        elif since:
            self._begin_recovery(since, n_steps, lr)
        elif self.recovery:
            self._continue_recovery(self.recovery, n_steps, lr)
        elif self.detector and self.model.ageing.aged:
            self.model = self.model.without_aged(n_steps, lr)
        for model in self.models:
            model.explorers.note_late(0)

    def learn_pseudo_label(
        self, names: tuple[FeatureName, ...], values: Values, label: ClfTarget, w: Values, lr: float
    ) -> None:
        """Learn an example, values (1, names), with the model's own label (lines 18 to 21 and 26).

        Names that are not known are ignored, but before anything is learned. The example waits
        until six can be learned together, or a label comes.
        """
        model, index, waiting = self.model, self.labels.index, self.pseudo_labels.examples
        with uninterrupted():
            if not (label in index and model.networks.n_features):
                self.grow(() if model.networks.n_features else names, values, [label])
            if (found := index.get(label)) is None:  # beyond max_classes
                return
            columns = self.features.look_up(names)
            self.features.touch(columns)
            waiting.append((values, columns, found, w))
            model.explorers.count_pseudo_label()
            if len(waiting) < TOGETHER:
                return
            self.learn_waiting()
        model.train(0.0, lr, pseudo_label=True)

    def learn_waiting(self) -> None:
        """Learn the pseudo-labelled examples that wait as one batch; their steps are due then."""
        waiting = self.pseudo_labels
        if not waiting.examples:
            return
        given, of, classes, w = zip(*waiting.examples, strict=True)
        if self.features.encoder or any(each is not of[0] for each in of):
            x = np.concatenate([*map(self.vectors, of, given)])
            values, columns = waiting.spread(x.shape[1]), np.arange(x.shape[1])
        else:
            values, columns = np.concatenate(given), of[0]
            x = self.vectors(columns, values)
        waiting.examples.clear()
        labels, weights = np.array(classes), np.concatenate(w)
        self._accept(self.model.learn(x, labels, None, weights, values, columns))

    def _accept(self, change: UnitChange | None) -> None:
        """Let all models go on with other units of some features."""
        if change:
            for model in self.models:
                model.scaling.accept(change)

    def _scan_units(self, names: tuple[FeatureName, ...], values: Values, columns: Columns) -> None:
        """Look at the units of values (B, names) that were learned with given labels."""
        scaling = self.model.scaling
        if scaling.tiny:
            small = ((values != 0) & (abs(values) < CLOSEST)).any(axis=0)
            same = (columns >= 0) & ~scaling.varies()[columns]
            self.features.watch.small(names, small & same)
        if self.n_labels - len(values) < ALIKE <= self.n_labels and not scaling.varies().any():
            self.features.watch.once("constants", OF_CONSTANTS)

    def _learn(
        self,
        x: Values,
        classes: list[int],
        w: Values,
        n_known: int,
        values: Values,
        columns: Columns,
    ) -> tuple[int, UnitChange | None]:
        """Store examples with given labels.

        Returns the number of labels since a change or 0, and the features whose units have shrunk.
        """
        since, told = 0, self.model.history.told(x, w, self.model.explorers.predicted)
        said = [
            each.score_one(values, columns)
            if len(x) == 1 and self._one_call(each)
            else each.score(x)
            for each in self.models
        ]
        known = [each.scores[:, :n_known].astype(np.float64) for each in said]
        self.scores_before = known[0][-1]
        if self.detector and n_known:
            counts = told > 0  # the others tell nothing of a change
            for i in np.flatnonzero(counts).tolist():
                if since:  # the rest of a frame comes after the change too
                    since += 1
                    self.detector.note(known[0][i], classes[i])
                else:
                    since = self.detector.update(known[0][i], classes[i])
            for former, then in zip(self.formers[::-1], said[::-1], strict=False):
                former.compare(self.model.without_last(then), known[0], classes, counts)
            if self.recovery:
                apart = [self.model.without_last(each)[:, :n_known] for each in said[:2]]
                self.recovery.update([*apart, known[2]], classes, counts)
                since = 0
        changes = [
            model.learn(x, np.array(classes), each, w, values, columns, self.n_labels + 1, told)
            for model, each in zip(self.learning, said, strict=False)
        ]
        self.n_labels += len(classes)
        return since, changes[0]

    def correct(self, number: int, label: ClfTarget | None, n_steps: float, lr: float) -> None:
        """Give the stored example of the label of this number another label, and take its steps.

        With the label None, or one beyond `max_classes`, the example has no weight from then on.
        Raises LookupError if no history holds it.
        """
        found = ((model, model.history.find(number)) for model in self.models)
        held = [(model, row) for model, row in found if row is not None]
        if not held:
            raise LookupError(
                f"The example of label {number} is no longer in the history: later labels have "
                "replaced it (`capacity`), or a change of the stream has."
            )
        with uninterrupted():
            index = -1
            if label is not None:
                self.grow((), np.empty((1, 0)), [label])
                index = self.labels.index.get(label, index)
            for model, row in held:
                model.correct(row, index)
        for model, _ in held:
            if model in self.learning:
                model.train(n_steps, lr)

    def _begin_recovery(self, since: int, n_steps: float, lr: float) -> None:
        """After an alarm, for a change so many labels ago: a challenger that is trained anew."""
        assert self.detector is not None
        current, snapshot = copy.copy(self.model), self.model
        current.scaling = snapshot.scaling.faded(FOLLOWED)
        recovery = Recovery(self.detector, since, snapshot.history)
        challenger = self._challenger(recovery, current, snapshot, n_steps, lr)
        incumbent, detector = copy.deepcopy(snapshot), self.detector.successor()
        with uninterrupted():
            self.model, self.snapshot, self.incumbent = challenger, snapshot, incumbent
            self.detector, self.recovery = detector, recovery

    def _continue_recovery(self, recovery: Recovery, n_steps: float, lr: float) -> None:
        """After more labels the challenger may be trained anew, or all be decided."""
        assert self.detector
        challenger, incumbent, snapshot, *formers = self.models
        if recovery.refuted:
            self._go_on(incumbent, recovery.detector, formers)
            return
        if recovery.retrains:
            self.model = self._challenger(recovery, challenger, snapshot, n_steps, lr)
        if recovery.over:
            self._go_on(self.model, self.detector, [*formers, snapshot][-KEPT:])

    def _return(self, former: Former, n: int, n_steps: float, lr: float) -> None:
        """Use a former model again, which first learns the last n labels and more: `unknown`."""
        assert self.detector
        model, history = copy.deepcopy(former.model), (self.incumbent or self.model).history
        model.study([unknown(history, n, model.history)], n_steps, lr)
        formers = [each.model for each in self.formers if each is not former]
        self._go_on(model, self.detector, [*formers, self.snapshot or self.model][-KEPT:])

    def _go_on(self, model: Model, detector: DriftDetector, formers: list[Model]) -> None:
        """Use a model from now on, and keep former ones; without an alarm this is a change."""
        with uninterrupted():
            detector.reset()
            detector.n_drifts += not self.recovery
            self.model, self.detector, self.formers = model, detector, [*map(Former, formers)]
            self.recovery = self.snapshot = self.incumbent = None

    def _challenger(
        self, recovery: Recovery, current: Model, snapshot: Model, n_steps: float, lr: float
    ) -> Model:
        """A model trained on the labels since the change and on what old labels are worth."""
        examples = recovery.examples(snapshot.history, current.history, len(self.labels))
        return current.retrained(examples, n_steps, lr)
