"""States of engines that stop halfway, for checkpoints that an older version wrote.

`python -m tests.eddy.old_states FOLDER`, run with a version's code, writes what that version leaves behind.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import eddy
from eddy import wiring

POLICIES: Mapping[str, Any] = {
    "fixed": "fixed",
    "source": {"name": "source", "costs": "unit"},
    "content": {"name": "content", "costs": "unit", "R": 20, "P": 0.5},
    "query_mesh": {"name": "query_mesh", "costs": "unit", "S": 64, "T": 8, "d": 4, "budget_ms": 20},
}

BATCHES, ROWS = 8, 128
"""The state is that after half of the micro-batches."""


def filters() -> eddy.Query:
    """One stream and three filters, whose rates depend on the kind of a row."""
    texts = {"even": "v % 2 = 0 or kind = 0", "low": "v % 7 < 3 or kind = 1", "rare": "v % 5 = 1 or kind = 2"}
    return eddy.Query(
        name="filters",
        streams=[eddy.Stream("s", time="ts", delay=50)],
        filters=[eddy.Filter(name, on="s", where=text) for name, text in texts.items()],
        select=["s.ts as a", "s.v as b"],
    )


def join() -> eddy.Query:
    """Two streams with windows, and a filter on each."""
    return eddy.Query(
        name="join",
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(40), delay=50) for name in "ab"],
        joins=["a.k = b.k"],
        filters=[
            eddy.Filter("fa", on="a", where="v % 3 <> 0 or kind = 1"),
            eddy.Filter("fb", on="b", where="v % 4 = 0 or kind = 2"),
        ],
        select=["a.ts as a", "b.ts as b"],
    )


QUERIES = {"filters": filters, "join": join}

SCHEMA = pa.schema([(name, pa.int64()) for name in ("ts", "k", "v", "kind")])


def engine(shape: str, policy: str) -> Any:
    """An engine whose clock ticks alike in every run."""
    query = QUERIES[shape]()
    ticks = itertools.count()
    schemas = {stream.name: SCHEMA for stream in query.streams}
    return wiring.engine(query, schemas, POLICIES[policy], tables={}, clock=lambda: next(ticks) / 1024, seed=0)


def batch(query: eddy.Query, number: int) -> dict[str, pa.RecordBatch]:
    """The same rows in every version: numbers by a rule, and no generator's."""
    found = {}
    for place, stream in enumerate(query.streams):
        numbers = [number * ROWS + n for n in range(ROWS)]
        spread = [(n + place) * 2_654_435_761 % 2**32 >> 8 for n in numbers]
        columns = {
            "ts": numbers,
            "k": [s % 11 for s in spread],
            "v": [s // 11 % 210 for s in spread],
            "kind": [s // 2_310 % 3 for s in spread],
        }
        found[stream.name] = pa.record_batch(columns, schema=SCHEMA)
    return found


def run(engine: Any, shape: str, first: int, last: int) -> list[tuple[int, int]]:
    """The answer of some micro-batches."""
    query = QUERIES[shape]()
    parts = [part for number in range(first, last) for part in engine.run(batch(query, number))]
    return sorted((row["a"], row["b"]) for part in parts for row in part.to_pylist())


def main(folder: Path) -> None:
    """Write the states."""
    for shape, policy in itertools.product(QUERIES, POLICIES):
        stopped = engine(shape, policy)
        run(stopped, shape, 0, BATCHES // 2)
        saved = stopped.snapshot()
        text = {"format": saved.format, "meta": saved.meta, "blob": base64.b64encode(saved.blob).decode()}
        path = folder / f"{shape}-{policy}.json.gz"
        path.write_bytes(gzip.compress(json.dumps(text).encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
