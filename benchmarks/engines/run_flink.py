"""Joins a task's streams in Flink: run_flink.py TASK.

SQL over files, with Flink's interval joins.

It runs with the python that has Flink, so it imports nothing of ours. All rows go through Flink's own Java; Python
only hands over the text.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any


def main(task: dict[str, Any]) -> float:
    """Seconds from the text of the query to the end of its answer's file."""
    flink: Any = import_module("pyflink.table")
    session = flink.TableEnvironment.create(flink.EnvironmentSettings.in_streaming_mode())
    session.get_config().set("parallelism.default", str(task["cores"]))
    session.get_config().set("table.local-time-zone", "UTC")
    started = time.perf_counter()
    for text in tables(task):
        session.execute_sql(text)
    session.execute_sql(query(list(task["streams"]), task["window"])).wait()
    return time.perf_counter() - started


def tables(task: dict[str, Any]) -> list[str]:
    """Make the streams and the answer as tables.

    Each stream is in order, and so its watermark is its newest time.
    """
    columns = "ts bigint, nr bigint, k bigint, moment as to_timestamp_ltz(ts, 3), watermark for moment as moment"
    files = "'connector' = 'filesystem', 'format' = 'csv', 'path'"
    found = [f"create table {s} ({columns}) with ({files} = '{path}')" for s, path in task["plain"].items()]
    result = ", ".join(f"{s} bigint" for s in task["streams"])
    return [*found, f"create table answer ({result}) with ({files} = '{task['answer']}')"]


def query(streams: list[str], window: int) -> str:
    """Write one join of all streams.

    Every two are within the window of each other: `window` in milliseconds.

    An interval join is between one time of either side: that of the first stream and that of the one that is joined.
    That the others are near as well is said of their times as numbers.
    """
    minutes, rest = divmod(window, 60_000)
    near = f"interval '{minutes}:{rest // 1_000:02}.{rest % 1_000:03}' minute to second(3)"
    conditions = [f"{a}.k = {b}.k" for a, b in pairwise(streams)]
    first, *others = streams
    conditions += [f"{s}.moment between {first}.moment - {near} and {first}.moment + {near}" for s in others]
    conditions += [f"{b}.ts between {a}.ts - {window} and {a}.ts + {window}" for a, b in combinations(others, 2)]
    chosen = ", ".join(f"{s}.nr" for s in streams)
    return f"insert into answer select {chosen} from {', '.join(streams)} where {' and '.join(conditions)}"


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text())
    Path(given["seconds"]).write_text(str(main(given)))
