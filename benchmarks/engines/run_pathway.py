"""Joins a task's streams in Pathway: run_pathway.py TASK.

With its interval joins.

It runs with the python that has Pathway, so it imports nothing of ours. The files are read as a whole, which is what
Pathway is quickest at: row by row it would have to keep every row's changes apart.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


def main(task: dict[str, Any]) -> float:
    """Seconds from the first line of the query to the end of its answer's file."""
    pw: Any = import_module("pathway")
    started = time.perf_counter()
    schema = pw.schema_from_types(ts=int, nr=int, k=int)
    streams = {s: pw.io.csv.read(path, schema=schema, mode="static") for s, path in task["streams"].items()}
    pw.io.csv.write(join_streams(pw, streams, task["window"]), task["answer"])
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return time.perf_counter() - started


def join_streams(pw: Any, streams: dict[str, Any], window: int) -> Any:
    """Join one stream after the other.

    The next is near the newest row so far, and after that near the oldest as well.
    """
    first, *others = streams
    table = streams[first]
    so_far = table.select(low=table.ts, high=table.ts, k=table.k, **{first: table.nr})
    names = [first]
    for name in others:
        new = streams[name]
        both = so_far.interval_join(
            new, so_far.high, new.ts, pw.temporal.interval(-window, window), so_far.k == new.k
        ).select(
            low=pw.if_else(so_far.low < new.ts, so_far.low, new.ts),
            high=pw.if_else(so_far.high > new.ts, so_far.high, new.ts),
            k=so_far.k,
            **{other: so_far[other] for other in names},
            **{name: new.nr},
        )
        so_far = both.filter(both.high - both.low <= window)
        names.append(name)
    return so_far.select(**{name: so_far[name] for name in names})


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text())
    Path(given["seconds"]).write_text(str(main(given)))
