"""One learner per key on Spark Structured Streaming, stored in the state of Spark."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from typing import Any

from river_ineural.active.pipelines import find_learner
from river_ineural.features.validation import check_integer
from river_ineural.persistence import SAMPLERS, from_bytes, to_bytes

try:
    from pyspark.sql import DataFrame, Row
    from pyspark.sql import types as kinds
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
except ImportError as error:
    raise ImportError(
        'river_ineural.spark needs PySpark from 4.1 on, pip install -e ".[spark]" in a checkout, '
        "and a Java runtime, 17 or 21."
    ) from error

__all__ = ["by_key"]

LABELS: dict[Any, type] = {
    **{kinds.StringType: str, kinds.BooleanType: bool},
    **{kinds.LongType: int, kinds.IntegerType: int},
}
THRESHOLD = "spark.broadcast.UDFCompressionThreshold"  # larger UDFs are broadcast, and fail here
COLUMNS = ("key", "id", "at", "features", "label")
SPARE = 100_000  # bytes for the data that is sent with the model
DAY = datetime.timedelta(days=1)
MILLISECOND = datetime.timedelta(milliseconds=1)


def by_key(
    rows: DataFrame,
    model: Any,
    *,
    idle: datetime.timedelta | None = 30 * DAY,
    most_waiting: int = 1_000,
) -> DataFrame:
    """Give each key its own learner, and return the decisions of the learners.

    Each key starts with a copy of `model`. A row with only features is predicted, and its label is
    asked for or not. A row with only a label gives the label of the row with the same id. A row
    with both is learned, as in a warm start. The rows of a key in a micro-batch are processed in
    order. The learners are part of Spark's checkpoint, so every row counts once. After a kill Spark
    may cut micro-batches elsewhere; decisions are the same if `at` is in order over all of them.

    Parameters
    ----------
    rows
        A streaming data frame. `key`: the column to group by. `id`: text that identifies a row of a
        key. `at`: the sort key of the rows. `features`: structs or maps with text keys, null in
        rows of a label. `label`: text, integers or booleans, null in rows to be predicted.
    model
        A sampler of `active` that `save` takes, around a pipeline or not.
    idle
        Processing time after which a key without new rows is forgotten; None: never. With an idle
        time, a query with the trigger `availableNow` does not end.
    most_waiting
        Maximum number of rows per key, at least 1, whose features are stored until the label
        arrives. After that the oldest row is dropped.

    Returns
    -------
    A streaming data frame (docs/many-keys.md) with a row for each row of `rows`, and for each key
    that expires.

    Raises
    ------
    TypeError, ValueError
        If a column is missing or has a wrong type, or if a parameter is out of its range.

    Examples
    --------
    >>> decisions = by_key(rows, INeurALSampler(INeurAL(seed=1)))  # doctest: +SKIP
    """
    check_options(model, idle, most_waiting)
    out = schema_of(rows)
    kind = LABELS[type(out["prediction"].dataType)]
    for known in find_learner(model.classifier)[0].known_labels:
        if type(known) is not kind:
            raise TypeError(
                f"the model knows the label {known!r}, and the column 'label' is of "
                f"{kind.__name__}: give labels of one type."
            )
    data = to_bytes(model)
    check_size(rows, len(data))
    keyed = Keyed(data, idle, most_waiting)
    mode = "None" if idle is None else "ProcessingTime"
    return rows.select(*COLUMNS).groupBy("key").transformWithState(keyed, out, "Append", mode)


def check_options(model: Any, idle: datetime.timedelta | None, most_waiting: int) -> None:
    """Raise unless these arguments of `by_key` are valid."""
    if type(model) not in SAMPLERS.values():
        raise TypeError(
            f"model must be a sampler of river_ineural.active, got {type(model).__name__}: e.g. "
            "INeurALSampler(INeurAL(), budget=0.1)."
        )
    check_integer("most_waiting", most_waiting, least=1)
    if idle is not None and idle <= datetime.timedelta(0):
        raise ValueError(f"idle must be a positive time or None, got {idle}.")


def schema_of(rows: DataFrame) -> kinds.StructType:
    """Output schema of `by_key` for these rows; raises if a column is missing or mistyped."""
    found = {field.name: field.dataType for field in rows.schema}
    for name in COLUMNS:
        if name not in found:
            raise ValueError(
                f"no column {name!r}: there are {list(found)}; name it with withColumnRenamed."
            )
    key, id, _, features, label = (found[name] for name in COLUMNS)
    if not isinstance(id, kinds.StringType):
        raise TypeError(f"'id' must be of text, got {id.simpleString()}: cast it.")
    of_text = isinstance(getattr(features, "keyType", None), kinds.StringType)  # a map
    if not isinstance(features, kinds.StructType) and not of_text:
        raise TypeError(
            f"'features' must be a struct or a map from text, got {features.simpleString()}: e.g. "
            "struct('age', 'income')."
        )
    if type(label) not in LABELS:
        raise TypeError(
            f"'label' must be of text, integers or booleans, got {label.simpleString()}: cast it."
        )
    out = kinds.StructType().add("key", key).add("id", id).add("event", "string")
    out = out.add("prediction", label).add("ask", "boolean").add("reason", "string")
    out = out.add("gap", "double").add("threshold", "double")
    for name in ("n_rounds", "n_queries", "n_waiting", "n_unknown"):
        out = out.add(name, "long")
    return out.add("error", "string")


def check_size(rows: DataFrame, n_bytes: int) -> None:
    """Raise if a model is too large for Spark to send to a stateful processor."""
    found = rows.sparkSession.conf.get(THRESHOLD, "1m")
    number, unit = re.fullmatch(r"(\d+)([kmgt]?)b?", str(found).lower()).groups()  # type: ignore[union-attr]
    if n_bytes + SPARE > int(number) << 10 * " kmgt".index(unit or " "):
        raise ValueError(
            f"the model has {n_bytes:,} bytes, too many for {THRESHOLD}={found}: set it to "
            f'"{n_bytes // 500_000 + 1}m" before the session starts, or give a model that has '
            "learned less."
        )


class Keyed(StatefulProcessor):
    """The processor that Spark runs for each key of each micro-batch; see `by_key`."""

    def __init__(self, first: bytes, idle: datetime.timedelta | None, most_waiting: int) -> None:
        self.first = first  # the model that each key starts with
        self.idle = None if idle is None else max(1, int(idle / MILLISECOND))
        self.most_waiting = most_waiting

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state: the learner, the ids that wait for a label, and their features."""
        self.handle = handle
        self.learner = handle.getValueState(
            "learner", "model BINARY, waiting ARRAY<STRING>, n_unknown BIGINT, latest BIGINT"
        )
        self.features = handle.getMapState("features", "id STRING", "json STRING")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Process the rows of a key in order, then store the learner."""
        known = self.learner.get()
        now = 0 if self.idle is None else timerValues.getCurrentProcessingTimeInMs()
        if known is None and self.idle is not None:
            self.handle.registerTimer(now + self.idle)
        learner = KeyLearner(self, known)
        found = [learner.take(key[0], row) for row in sorted(rows, key=place)]
        kept = to_bytes(learner.model), list(learner.waiting), learner.n_unknown
        self.learner.update((*kept, now))
        return iter(found)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Row]:
        """Forget a key that had no rows for the idle time, or set its timer again."""
        known = self.learner.get()
        if self.idle is None or known is None:
            return
        due = known[3] + self.idle
        if due > timerValues.getCurrentProcessingTimeInMs():
            self.handle.registerTimer(due)
            return
        learner = KeyLearner(self, known)
        self.learner.clear()
        self.features.clear()
        yield learner.row(key[0], None, "expired")


def place(row: Row) -> tuple[Any, ...]:
    """Sort key of a row. Rows without `at` or `id` come first, and are refused."""
    has = row["at"] is not None and row["id"] is not None
    return (has, row["at"], row["label"] is not None, row["id"]) if has else (has,)


class KeyLearner:
    """The learner of one key in one micro-batch."""

    def __init__(self, keyed: Keyed, known: Any) -> None:
        self.keyed = keyed
        data, waiting, n_unknown, _ = known or (keyed.first, [], 0, 0)
        self.model = from_bytes(bytes(data))
        self.waiting: dict[str, None] = dict.fromkeys(waiting)  # ids, the oldest first
        self.n_unknown = n_unknown

    def take(self, key: Any, row: Row) -> Row:
        """Process a row and return its output; a refused row changes nothing."""
        try:
            event, decided = self.learn_or_predict(key, row)
        except (TypeError, ValueError) as error:
            event, decided = "refused", {"error": str(error)}
        return self.row(key, row["id"], event, **decided)

    def learn_or_predict(self, key: Any, row: Row) -> tuple[str, dict[str, Any]]:
        """Process a row; returns the event and the values of further columns."""
        for name, value in (("key", key), ("id", row["id"]), ("at", row["at"])):
            if value is None:
                raise ValueError(f"{name!r} is null.")
        id, x, y = row["id"], row["features"], row["label"]
        if isinstance(y, str) and not y.strip():
            raise ValueError("'label' is empty: make null of it where there is none.")
        if x is not None and y is None:
            return "prediction", self.predict(id, x)
        if x is not None:
            self.model.learn_one(as_dict(x), y, asked=False)  # it answers no question
            return "learned", {}
        if y is None:
            raise ValueError("'features' and 'label' are null.")
        if id not in self.waiting:
            self.n_unknown += 1
            return "unknown", {}
        (text,) = self.keyed.features.getValue((id,)) or ("",)  # it exists, as the id waits
        self.model.learn_one(json.loads(text), y)
        self.drop(id)
        return "learned", {}

    def predict(self, id: str, x: Any) -> dict[str, Any]:
        """The prediction and the decision; stores the features if the label is asked for."""
        if id in self.waiting:
            raise ValueError(
                f"{id!r} was predicted before and waits for its label: ids tell rows apart."
            )
        given = as_dict(x)
        text = json.dumps(given)  # may fail, so it comes before the model changes
        prediction, ask = self.model.predict_one(given)
        if ask:
            if len(self.waiting) >= self.keyed.most_waiting:
                self.drop(next(iter(self.waiting)))
            self.keyed.features.updateValue((id,), (text,))
            self.waiting[id] = None
        decision = self.model.last_decision
        numbers = {"gap": float(decision.gap), "threshold": float(decision.threshold)}
        return {"prediction": prediction, "ask": ask, "reason": decision.reason, **numbers}

    def drop(self, id: str) -> None:
        self.keyed.features.removeKey((id,))
        del self.waiting[id]

    def row(self, key: Any, id: str | None, event: str, **decided: Any) -> Row:
        """An output row with the columns of `schema_of`."""
        said: dict[str, Any] = dict.fromkeys(("prediction", "ask", "reason", "gap", "threshold"))
        counts = {"n_rounds": self.model.n_rounds, "n_queries": self.model.n_queries}
        counts |= {"n_waiting": len(self.waiting), "n_unknown": self.n_unknown}
        return Row(key=key, id=id, event=event, **said | counts | {"error": None} | decided)


def as_dict(x: Row | dict[str, Any]) -> dict[str, Any]:
    """Features as a dict by name."""
    return x.asDict() if isinstance(x, Row) else dict(x)
