"""What a checkpoint holds, read with Spark's own reader of state."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from eddy.errors import CheckpointError, QueryError
from eddy.places import local
from eddy.snapshot import Snapshot, unpack
from eddy.spark.labels import cell_of
from jobs.quiet import session

STORE = "stream "
"""What the name of a STeM's rows begins with in a cell's state."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The state of one cell: plain values, the rows of each STeM, and the bytes of it all."""

    number: int
    meta: Mapping[str, Any]
    stems: Mapping[str, pa.RecordBatch]
    nbytes: int


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The parts of the query that it is for, how its cells are laid out, and those that have had rows."""

    query: Mapping[str, str]
    layout: Mapping[str, Any]
    cells: Sequence[Cell]


def read(place: str) -> Checkpoint:
    """Read a checkpoint, as of its last micro-batch."""
    folder = local(place)
    if folder is not None and not has_state(folder):
        raise QueryError(f'checkpoint "{place}": expected a folder with the state of a query in it; there is none')
    with session(os.cpu_count() or 1) as spark:
        found = spark.read.format("statestore").load(place)
        rows = found.selectExpr("key.*", "value.*").toArrow().to_pylist()
    return _checkpoint(place, dict(map(_state, rows)))


def has_state(folder: str) -> bool:
    """Is there anything to read in a folder of this machine."""
    return (Path(folder) / "state").is_dir()


def _state(row: dict[str, Any]) -> tuple[int, Snapshot]:
    """A group's label, and what is kept for it."""
    label, *rest = row.values()
    kept = next((value for value in rest if isinstance(value, dict)), row)
    return int(label), Snapshot(kept["format"], kept["meta"], kept["blob"])


def _checkpoint(place: str, found: dict[int, Snapshot]) -> Checkpoint:
    from eddy.spark.guard import LABEL  # noqa: PLC0415  which imports Spark

    guard = found.pop(LABEL, None)
    if guard is None:
        raise CheckpointError(f'checkpoint "{place}": no query with an eddy in it has ended a micro-batch here')
    meta, _ = unpack(guard)
    cells = [_cell(cell_of(label), snapshot) for label, snapshot in found.items()]
    return Checkpoint(query=meta["query"], layout=meta["layout"], cells=sorted(cells, key=lambda cell: cell.number))


def _cell(number: int, snapshot: Snapshot) -> Cell:
    try:
        meta, tables = unpack(snapshot)
    except CheckpointError as error:
        raise CheckpointError(f"cell {number}: {error}") from None
    stems = {name.removeprefix(STORE): table for name, table in tables.items() if name.startswith(STORE)}
    return Cell(number=number, meta=meta, stems=stems, nbytes=len(snapshot.meta) + len(snapshot.blob))
