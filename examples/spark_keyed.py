"""Fifty keys on Spark, each with its own learner, with late labels and a driver that is killed.

    python examples/spark_keyed.py

The script needs `pip install -e ".[spark]"` in a checkout and a Java runtime (Debian: `apt-get
install openjdk-17-jre-headless`). The keys share the rows of River's Phishing and Bananas, which
have different features and labels. A label comes one file after its row.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from river import datasets

from river_ineural import INeurAL, active

SCHEMA = "key STRING, id STRING, at BIGINT, features MAP<STRING, DOUBLE>, label STRING"
FILES = 4  # each is a micro-batch
SHOWN = 6  # rows that differ, at most
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def learner() -> active.INeurALSampler:
    """The learner that each key starts with."""
    return active.INeurALSampler(INeurAL(seed=1), budget=20, seed=1)


def examples(n_keys: int, n: int) -> Iterator[tuple[str, dict[str, float], str]]:
    """Key, features and label; keys take turns, even keys get Phishing, odd keys Bananas."""
    streams = [itertools.cycle(datasets.Phishing()), itertools.cycle(datasets.Bananas())]  # type: ignore[no-untyped-call]
    for i in range(n):
        key = i % n_keys
        x, y = next(streams[key % 2])
        yield f"key {key}", {str(name): float(value) for name, value in x.items()}, str(y)


def write(folder: Path, n_keys: int, n: int) -> None:
    """Write files of rows, with each label one file after its row. Spark reads the oldest first.

    `at` grows from file to file, because after a kill Spark may read two of them at once.
    """
    folder.mkdir(parents=True)
    files: list[list[dict[str, Any]]] = [[] for _ in range(FILES + 1)]
    for i, (key, x, y) in enumerate(examples(n_keys, n)):
        number = i * FILES // n
        at = 2 * n * number + i
        files[number].append({"key": key, "id": str(i), "at": at, "features": x})
        files[number + 1].append({"key": key, "id": str(i), "at": at + 3 * n, "label": y})
    for number, rows in enumerate(files):
        path = folder / f"{number:03d}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (number + 1, number + 1))


def session() -> Any:
    """A Spark session in this process."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.providerClass": PROVIDER,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def query(source: Path, folder: Path) -> None:
    """Process all files of a source, starting from the checkpoint."""
    from river_ineural import spark

    rows = session().readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(source))
    started = (
        spark.by_key(rows, learner(), idle=None)
        .writeStream.format("parquet")
        .option("path", str(folder / "decisions"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    started.awaitTermination()


def decided(folder: Path) -> list[tuple[Any, ...]]:
    """The rows that a query wrote, sorted by id."""
    rows = session().read.parquet(str(folder / "decisions")).drop("gap", "threshold").collect()
    return sorted((tuple(row) for row in rows), key=id_and_event)


def id_and_event(row: tuple[Any, ...]) -> tuple[int, str]:
    """What orders the rows that a query wrote."""
    return int(row[1]), row[2]


def commits(folder: Path) -> int:
    """Micro-batches that a query has finished."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def kill_in_the_middle(source: Path, folder: Path) -> tuple[bool, int]:
    """Start a driver and kill it after half of the files; whether it ran, and finished batches."""
    command = [sys.executable, __file__, "--drive", str(source), str(folder)]
    driver = subprocess.Popen(command, start_new_session=True)
    while driver.poll() is None and commits(folder) < FILES // 2:
        time.sleep(0.02)
    time.sleep(0.3)  # into the next micro-batch
    ran = driver.poll() is None
    if ran:
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    return ran, commits(folder)


def killed_and_resumed(folder: Path, n_keys: int, n: int) -> dict[str, Any]:
    """Run with and without a kill, and compare the results."""
    source = folder / "source"
    write(source, n_keys, n)
    killed, done = kill_in_the_middle(source, folder / "killed")
    query(source, folder / "killed")
    query(source, folder / "whole")
    whole, resumed = decided(folder / "whole"), decided(folder / "killed")
    differences = sorted(set(whole) ^ set(resumed), key=id_and_event)
    for row in differences[:SHOWN]:
        print("differs:", row, file=sys.stderr)
    events = [row[2] for row in whole]
    return {
        "killed": killed,
        "batches": commits(folder / "whole"),
        "batches_at_kill": done,
        "rows": len(whole),
        "rows_resumed": len(resumed),
        "differences": len(differences),
        "predictions": events.count("prediction"),
        "asks": sum(row[4] is True for row in whole),
        "learned": events.count("learned"),
        "unknown": events.count("unknown"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--keys", type=int, default=50)
    parser.add_argument("--rows", type=int, default=4_000, help="without those of labels")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--drive", type=Path, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        query(*given.drive)
        return
    with tempfile.TemporaryDirectory() as folder:
        told = killed_and_resumed(Path(folder), given.keys, given.rows)
    if given.json:
        print(json.dumps(told))
        return
    for name, value in told.items():
        print(f"{name.replace('_', ' '):16} {value:,}")


if __name__ == "__main__":
    main()
