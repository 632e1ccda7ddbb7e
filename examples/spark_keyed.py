"""Fifty keys on Spark, each with a learner of its own, labels that come late, a driver killed.

    python examples/spark_keyed.py               # 50 keys, killed in the middle, and resumed
    python examples/spark_keyed.py --throughput  # rows a second by keys and cores
    python examples/spark_keyed.py --sizes       # milliseconds a key by the size of its learner

Needs `pip install "river-ineural[spark]"` and a Java runtime (Debian: `apt-get install
openjdk-17-jre-headless`). The keys share the rows of River's Phishing and Bananas, two streams of
other features and labels. A label follows its row a file later.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from river import datasets

from river_ineural import INeurAL, active, persistence

SCHEMA = "key STRING, id STRING, at BIGINT, features MAP<STRING, DOUBLE>, label STRING"
FILES = 8  # each is a micro-batch
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def learner() -> active.INeurALSampler:
    """What each key starts with."""
    return active.INeurALSampler(INeurAL(seed=1), budget=20, seed=1)


def examples(n_keys: int, n: int) -> Iterator[tuple[str, dict[str, float], str]]:
    """Key, features and label: keys in turns, even ones of Phishing, odd ones of Bananas."""
    streams = [itertools.cycle(datasets.Phishing()), itertools.cycle(datasets.Bananas())]  # type: ignore[no-untyped-call]
    for i in range(n):
        key = i % n_keys
        x, y = next(streams[key % 2])
        yield f"key {key}", {str(name): float(value) for name, value in x.items()}, str(y)


def write(folder: Path, n_keys: int, n: int) -> None:
    """Files of rows, each label a file after its row."""
    folder.mkdir(parents=True)
    files: list[list[dict[str, Any]]] = [[] for _ in range(FILES + 1)]
    for i, (key, x, y) in enumerate(examples(n_keys, n)):
        number = i * FILES // n
        files[number].append({"key": key, "id": str(i), "at": i, "features": x})
        files[number + 1].append({"key": key, "id": str(i), "at": i + n, "label": y})
    for number, rows in enumerate(files):
        write_file(folder, number, rows)


def write_file(folder: Path, number: int, rows: Iterable[dict[str, Any]]) -> None:
    """One file of rows, which Spark takes in the order of the numbers."""
    path = folder / f"{number:03d}.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(path, (number + 1, number + 1))  # the oldest first


def session(cores: int) -> Any:
    """Spark in this process."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.broadcast.UDFCompressionThreshold": "64m",  # for learners that know much already
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.stateStore.providerClass": PROVIDER,
    }
    builder = SparkSession.builder.master(f"local[{cores}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def query(source: Path, folder: Path, cores: int, model: Any = None) -> list[dict[str, Any]]:
    """Take all files of a source, from where the checkpoint is.

    Returns the progress of each micro-batch with rows but the first, in which workers start.
    """
    from river_ineural import spark

    running = session(cores)
    rows = running.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(source))
    decisions = spark.by_key(rows, model or learner(), idle=None)
    started = (
        decisions.writeStream.format("parquet")
        .option("path", str(folder / "decisions"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    started.awaitTermination()
    batches = [json.loads(progress.json) for progress in started.recentProgress]
    return [batch for batch in batches[1:] if batch["numInputRows"]]


def decided(folder: Path) -> list[tuple[Any, ...]]:
    """What a query wrote, in the order of ids."""
    rows = session(2).read.parquet(str(folder / "decisions")).drop("gap", "threshold").collect()
    return sorted((tuple(row) for row in rows), key=lambda row: (int(row[1]), row[2]))


def commits(folder: Path) -> int:
    """Micro-batches that a query has finished."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def kill_in_the_middle(source: Path, folder: Path) -> tuple[bool, int]:
    """Start a driver, kill it when half of the files are done; whether it ran, and how far."""
    command = [sys.executable, __file__, "--drive", str(source), str(folder)]
    driver = subprocess.Popen(command, start_new_session=True)
    while driver.poll() is None and commits(folder) < FILES // 2:
        time.sleep(0.02)
    time.sleep(0.3)  # into the next one
    ran = driver.poll() is None
    if ran:
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    return ran, commits(folder)


def killed_and_resumed(folder: Path, n_keys: int, n: int) -> dict[str, Any]:
    """Run with and without a kill, and compare what came out."""
    source = folder / "source"
    write(source, n_keys, n)
    killed, done = kill_in_the_middle(source, folder / "killed")
    query(source, folder / "killed", 2)
    query(source, folder / "whole", 2)
    whole, resumed = decided(folder / "whole"), decided(folder / "killed")
    events = [row[2] for row in whole]
    return {
        "killed": killed,
        "batches": commits(folder / "whole"),
        "batches_at_kill": done,
        "rows": len(whole),
        "rows_resumed": len(resumed),
        "differences": len(set(whole) ^ set(resumed)),
        "predictions": events.count("prediction"),
        "asks": sum(row[4] is True for row in whole),
        "learned": events.count("learned"),
        "unknown": events.count("unknown"),
    }


def plain(n_keys: int, n: int) -> float:
    """Rows a second of a loop without Spark, labels as late."""
    models: dict[str, Any] = {}
    waiting: list[list[Any]] = [[] for _ in range(FILES + 1)]
    started = time.perf_counter()
    rows, number = list(enumerate(examples(n_keys, n))), 0
    for i, (key, x, y) in rows:
        while number < i * FILES // n:
            number += 1
            for model, *learned in waiting[number]:
                model.learn_one(*learned)
        model = models.setdefault(key, learner())
        if model.predict_one(x)[1]:
            waiting[number + 1].append((model, x, y))
    for model, *learned in waiting[FILES]:
        model.learn_one(*learned)
    return 2 * n / (time.perf_counter() - started)


def throughput(folder: Path, n: int) -> None:
    """Rows a second of all micro-batches but the first, which starts the workers."""
    plain(1, n)  # compiles
    print("| keys | cores | rows a second | of a plain loop | ms a row more |")
    print("| --- | --- | --- | --- | --- |")
    for n_keys in (1, 50, 1_000):
        source = folder / f"source {n_keys}"
        write(source, n_keys, n)
        loop = plain(n_keys, n)
        for cores in (1, 2):
            run = folder / f"{n_keys} {cores}"
            found = subprocess.run(
                [sys.executable, __file__, "--drive", str(source), str(run), "--cores", str(cores)],
                capture_output=True,
                check=True,
                text=True,
            )
            rows, seconds = json.loads(found.stdout.splitlines()[-1])
            more = 1e3 * (seconds / rows - 1 / loop)
            print(f"| {n_keys:,} | {cores} | {rows / seconds:,.0f} | {loop:,.0f} | {more:.2f} |")
            shutil.rmtree(run)


def warmed(d: int, n_rows: int) -> active.INeurALSampler:
    """A learner of d features whose history holds so many rows, drawn at random, and no more."""
    rng = np.random.default_rng(0)
    model = INeurAL(n_steps=0, seed=1)
    rows = pd.DataFrame(rng.normal(size=(n_rows, d)), columns=[f"x{j}" for j in range(d)])
    model.learn_many(rows, pd.Series(rng.choice(["a", "b"], n_rows)))
    return active.INeurALSampler(model, budget=0.0, seed=1)


def sizes(folder: Path) -> None:
    """Time of a micro-batch of a row a key, all but the first, and of a learner's bytes alone."""
    print("| features | rows in the history | keys | MB a key | ms a key | from bytes and back |")
    print("| --- | --- | --- | --- | --- | --- |")
    for d, n_rows in ((10, 50), (10, 8_192), (68, 50), (68, 8_192), (784, 50), (784, 2_000)):
        n_keys = 100 if d < 100 else 10
        model, source = warmed(d, n_rows), folder / f"{d} {n_rows}"
        source.mkdir()
        x = {f"x{j}": 0.5 for j in range(d)}
        for number in range(FILES):
            row = {"id": str(number), "at": number, "features": x}
            write_file(source, number, ({"key": f"key {i}", **row} for i in range(n_keys)))
        batches = query(source, folder / f"run {d} {n_rows}", 1, model)
        milliseconds = [batch["durationMs"]["addBatch"] for batch in batches]
        data, started = persistence.to_bytes(model), time.perf_counter()
        for _ in range(10):
            persistence.to_bytes(persistence.from_bytes(data))
        alone = (time.perf_counter() - started) / 10
        told = np.median(milliseconds) / n_keys
        size = f"{n_keys} | {len(data) / 1e6:.2f}"
        print(f"| {d} | {n_rows:,} | {size} | {told:.0f} | {1e3 * alone:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--keys", type=int, default=50)
    parser.add_argument("--rows", type=int, default=4_000, help="without those of labels")
    parser.add_argument("--folder", type=Path, help="to work in (default: one that is removed)")
    parser.add_argument("--throughput", action="store_true", help="time it instead")
    parser.add_argument("--sizes", action="store_true", help="time it by the size of a learner")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--cores", type=int, default=2, help=argparse.SUPPRESS)
    parser.add_argument("--drive", type=Path, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        source, run = given.drive
        batches = query(source, run, given.cores)
        seconds = sum(batch["durationMs"]["triggerExecution"] for batch in batches) / 1e3
        print(json.dumps([sum(batch["numInputRows"] for batch in batches), seconds]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if given.throughput:
            throughput(folder, given.rows)
            return
        if given.sizes:
            sizes(folder)
            return
        told = killed_and_resumed(folder, given.keys, given.rows)
        if given.json:
            print(json.dumps(told))
        else:
            for name, value in told.items():
                print(f"{name.replace('_', ' '):16} {value:,}")


if __name__ == "__main__":
    main()
