"""eddy inspect: what a checkpoint holds, cell by cell."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from eddy.errors import CheckpointError, QueryError
from eddy.named import local
from eddy.snapshot import Snapshot, unpack
from eddy.spark.labels import cell_of
from jobs.commands.command import Command

STORE = "stream "
"""What the name of a STeM's rows begins with in a cell's state."""


def arguments(parser: ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("checkpoint", help="the folder that checkpoint.location names")


def run(chosen: Namespace) -> int:
    """Print what each cell has."""
    place = local(chosen.checkpoint)
    if place is not None and not (Path(place) / "state").is_dir():
        raise QueryError(
            f'checkpoint "{chosen.checkpoint}": expected a folder with the state of a query in it; there is none'
        )
    print("\n".join(told(states(chosen.checkpoint))))
    return 0


def states(checkpoint: str) -> list[tuple[int, Snapshot]]:
    """The label and the state of every cell, by Spark's own reader of state."""
    from pyspark.errors import PySparkException  # noqa: PLC0415  no other command starts Spark
    from pyspark.sql import SparkSession  # noqa: PLC0415

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    quiet: dict[str, bool | float | int | str | None] = {"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    spark = SparkSession.builder.config(map=quiet).getOrCreate()
    try:
        found = spark.read.format("statestore").load(checkpoint)
        rows = found.selectExpr("key.*", "value.*").toArrow().to_pylist()
    except PySparkException as error:
        reason = str(error).splitlines()[0]
        raise QueryError(f'checkpoint "{checkpoint}": Spark cannot read its state: {reason}') from None
    return [_state(row) for row in rows]


def _state(row: dict[str, Any]) -> tuple[int, Snapshot]:
    label, *rest = row.values()
    kept = next((value for value in rest if isinstance(value, dict)), row)
    return int(label), Snapshot(kept["format"], kept["meta"], kept["blob"])


def told(found: list[tuple[int, Snapshot]]) -> Iterator[str]:
    """What the checkpoint is for, then a line for each cell."""
    from eddy.spark.guard import LABEL  # noqa: PLC0415  which imports Spark

    read = {label: (unpack(snapshot), snapshot) for label, snapshot in found}
    if LABEL not in read:
        raise CheckpointError("checkpoint: no query with an eddy in it has ended a micro-batch here")
    (meta, _), _ = read.pop(LABEL)
    yield from (f"{name}: {text}" for name, text in meta["query"].items())
    yield f"cells: {meta['layout']['cells']}, of which {len(read)} have had rows"
    for label, ((cell, tables), snapshot) in sorted(read.items(), key=lambda one: cell_of(one[0])):
        size = len(snapshot.meta) + len(snapshot.blob)
        yield f"cell {cell_of(label)}: micro-batches={cell['batch']} bytes={size} {_stems(tables)}".rstrip()
        yield f"  policy {cell['policy']}"


def _stems(tables: dict[str, pa.RecordBatch]) -> str:
    """How many rows each STeM holds."""
    stems = {name.removeprefix(STORE): table for name, table in tables.items() if name.startswith(STORE)}
    return " ".join(f"{name}={table.num_rows}" for name, table in stems.items())


COMMAND = Command(text="say what a checkpoint holds (starts Spark)", arguments=arguments, run=run)
