"""Reads checkpoints with Spark's own reader of state."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eddy.engine.cell_inputs import name_input
from eddy.engine.engine import QUERIES, read_parts
from eddy.engine.snapshot import Snapshot, unpack
from eddy.errors import CheckpointError, QueryError, clip
from eddy.jobs.config.file_paths import find_local
from eddy.jobs.run.own_session import own_session
from eddy.observe.caching import list_pipelines, read_notes, sum_notes
from eddy.observe.indexing import list_indexes, list_tunings, read_latest, sum_indexes
from eddy.observe.insight import Regret
from eddy.observe.regret import sum_over_cells
from eddy.observe.statistics import NOTHING, Statistic
from eddy.observe.text import align_columns, plural
from eddy.query.explain.run import WIDEST_ALONE, list_adapting, list_classes
from eddy.spark.layout.hashing import cell_of
from eddy.tuples import Hop
from eddy.tuples.packed import Packed
from eddy.tuples.pandas_frames import make_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BESIDES = ("sampling", "duels", "control", "learning")
"""What an account has spent besides the rows' own way."""

ACCOUNT = ("written", "saved", *BESIDES)
"""What the state of a policy that keeps an account has of each stream, in seconds."""

MOST_REASONS = 12
"""Reasons that are shown of a stream, over all cells."""

STORE = "stream "
"""The name of a STeM's rows in a cell's state begins with this."""


class StemSize(NamedTuple):
    """The living rows of a STeM, and the bytes in which they are written down."""

    rows: int
    nbytes: int


@dataclass(frozen=True, kw_only=True)
class CellState:
    """The state of one cell.

    It has plain values, the size of each STeM, and the bytes of it all. `tables` are the rows, still to be read.
    """

    number: int
    meta: Mapping[str, Any]
    stems: Mapping[str, StemSize]
    nbytes: int
    tables: Mapping[str, Sequence[Packed]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A checkpoint: its query, its layout, the cells with rows.

    Of queries that are answered together each has its own, among `members`. The cells of the whole have the rows, which
    are stored once; what each has learned is in those of its members. The layout of the whole has the cells alone.
    """

    query: Mapping[str, str]
    layout: Mapping[str, Any]
    cells: Sequence[CellState]
    members: Mapping[str, Checkpoint] = field(default_factory=dict)


def read(place: str) -> Checkpoint:
    """Read a checkpoint, as of its last micro-batch."""
    folder = find_local(place)
    if folder is not None and not has_state(folder):
        raise QueryError(f'checkpoint "{place}": expected a folder with the state of a query in it; there is none')
    with own_session(os.cpu_count() or 1) as spark:
        return read_in(spark, place)


def read_in(spark: SparkSession, place: str) -> Checkpoint:
    """Read a checkpoint by a session that there is."""
    found = spark.read.format("statestore").load(place)
    rows = found.selectExpr("key.*", "value.*").toArrow().to_pylist()
    return _checkpoint(place, dict(map(_state, rows)))


def has_state(folder: str) -> bool:
    """Tell whether a folder of this machine has state."""
    return (Path(folder) / "state").is_dir()


def _state(row: dict[str, Any]) -> tuple[int, Snapshot]:
    """Give a group's label, and what is kept for it."""
    label, *rest = row.values()
    kept = next((value for value in rest if isinstance(value, dict)), row)
    return int(label), Snapshot(kept["format"], kept["meta"], kept["blob"])


def _checkpoint(place: str, found: dict[int, Snapshot]) -> Checkpoint:
    from eddy.spark.checkpoint_guard import LABEL  # noqa: PLC0415  which imports Spark

    guard = found.pop(LABEL, None)
    if guard is None:
        raise CheckpointError(f'checkpoint "{place}": no query with an eddy in it has ended a micro-batch here')
    meta, _ = unpack(guard)
    found = dict(sorted(found.items(), key=lambda one: cell_of(one[0])))
    if QUERIES in meta:
        cells = [_cell(cell_of(label), snapshot) for label, snapshot in found.items()]
        members = {name: _member(name, one, found) for name, one in meta[QUERIES].items()}
        layout = {"cells": max(one.layout["cells"] for one in members.values())}
        return Checkpoint(query={}, layout=layout, cells=cells, members=members)
    cells = [_cell(cell_of(label), snapshot) for label, snapshot in found.items()]
    return Checkpoint(query=meta["query"], layout=meta["layout"], cells=cells)


def _member(query: str, told: Mapping[str, Any], found: Mapping[int, Snapshot]) -> Checkpoint:
    """Read what one of several queries has for itself; in cells that it has not been to it has nothing."""
    cells = [_cell(cell_of(label), snapshot, query) for label, snapshot in found.items()]
    return Checkpoint(query=told["query"], layout=told["layout"], cells=[cell for cell in cells if cell.meta])


def _cell(number: int, snapshot: Snapshot, query: str | None = None) -> CellState:
    """Read the state of a cell, or that of one of several queries in it."""
    try:
        meta, tables = unpack(snapshot)
        if query is not None:
            return _read_own(number, query, meta, tables)
    except CheckpointError as error:
        raise CheckpointError(f"cell {number}: {error}") from None
    stems = {
        name: StemSize(_count_rows(numbers, tables[STORE + name]), sum(len(part.data) for part in tables[STORE + name]))
        for name, numbers in meta["numbers"].items()
    }
    size = len(snapshot.meta) + len(snapshot.blob)
    return CellState(number=number, meta=meta, stems=stems, nbytes=size, tables=tables)


def _read_own(number: int, query: str, meta: Mapping[str, Any], tables: Mapping[str, Sequence[Packed]]) -> CellState:
    """Give what one of several queries has for itself in a cell: the rows are not its own."""
    own, kept = read_parts(meta, tables).get(query, ({}, {}))
    begin = name_input(query, "")
    newest = {name: ticks for name, ticks in meta["gate"]["newest"].items() if name.startswith(begin)}
    gate = {"newest": {name.removeprefix(begin): ticks for name, ticks in newest.items()}}
    size = sum(len(part.data) for parts in kept.values() for part in parts)
    known = {**own, "batch": meta["batch"], "gate": gate} if own else {}
    return CellState(number=number, meta=known, stems={}, nbytes=size, tables=kept)


def _count_rows(numbers: Mapping[str, int], parts: Sequence[Packed]) -> int:
    """Count the living rows; in states of format 1 there are no others."""
    return numbers["alive"] if "alive" in numbers else sum(part.read().num_rows for part in parts)


def describe_learned(cells: Sequence[CellState]) -> Iterator[str]:
    """Describe what a policy has learned.

    It says who took which route last, what the operators did to recent rows, and how stored rows were found.
    """
    for policy in dict.fromkeys(cell.meta["policy"] for cell in cells):
        numbers = [str(cell.number) for cell in cells if cell.meta["policy"] == policy]
        yield f"policy of {'cell' if len(numbers) == 1 else 'cells'} {', '.join(numbers)}: {policy}"
    yield from _adapting(cells)
    for stream in dict.fromkeys(stream for cell in cells for stream in cell.meta.get("taken", {})):
        yield from ("", f'routes of "{stream}", as taken last', *_routes(stream, cells))
    yield from _list_pipelines(cells)
    for cell in cells:
        for stream, known in cell.meta.get("taken", {}).items():
            if known["tree"]:
                yield from ("", f'who takes which way of "{stream}", cell {cell.number}')
                yield from (f"  {line}" for line in known["tree"])
    yield from ("", "operators, recent rows first: older ones count less and less", *_statistics(cells))
    yield from _list_indexing(cells)


def _list_pipelines(cells: Sequence[CellState]) -> Iterator[str]:
    """Draw the pipeline that most rows of each stream took last, with its caches; nothing where there are none."""
    notes = sum_notes(read_notes(cell.meta.get("state", {}).get("notes", ())) for cell in cells)
    if not notes:
        return
    taken: dict[str, dict[tuple[str, ...], int]] = {}
    for stream, known in (entry for cell in cells for entry in cell.meta.get("taken", {}).items()):
        for _, route, tuples in known["routes"]:
            of_stream = taken.setdefault(stream, {})
            of_stream[tuple(route)] = of_stream.get(tuple(route), 0) + tuples
    usual = {stream: max(known.items(), key=lambda route: route[1])[0] for stream, known in taken.items()}
    yield from list_pipelines(usual, notes, ())


def _list_indexing(cells: Sequence[CellState]) -> Iterator[str]:
    """Write the indexes of all cells, as last used, and each cell's last decisions; nothing without any."""
    read = [(cell.number, *read_latest(cell.meta.get("indexed", {}))) for cell in cells]
    counts = [found for _, found, _ in read]
    yield from list_indexes(sum_indexes(counts, counts))
    yield from list_tunings(
        [
            (batch, replace(tuning, input=f"{tuning.input}, cell {cell}"))
            for cell, _, tunings in read
            for batch, tuning in tunings
        ]
    )


def _adapting(cells: Sequence[CellState]) -> Iterator[str]:
    """Write the accounts of all cells, and the last reasons of each; nothing if no policy keeps an account."""
    found = [(cell.number, account, reasons) for cell in cells for account, reasons in read_accounts(cell.meta)]
    yield from list_adapting(sum_over_cells(account for _, account, _ in found))
    for stream in dict.fromkeys(account.stream for _, account, _ in found):
        told = [(cell, reasons) for cell, account, reasons in found if account.stream == stream and reasons]
        if told:
            # Of many cells each has its last reason, of few the last ones.
            each = max(MOST_REASONS // len(told), 1)
            lines = [f"  cell {cell}: {clip(text, WIDEST_ALONE)}" for cell, reasons in told for text in reasons[-each:]]
            yield from ("", f'last decisions about "{stream}"', *lines[:MOST_REASONS])
            if len(lines) > MOST_REASONS:
                yield f"  {plural(len(lines) - MOST_REASONS, 'more cell')}"


def read_accounts(meta: Mapping[str, Any]) -> Iterator[tuple[Regret, Sequence[str]]]:
    """Read the account of each stream, and the last reasons, from what a policy has left in a cell's state.

    That is, for each stream, its "state", "arm", "account" and "reasons". Policies that leave something else have no
    account. How sure the written order is, the state does not say.
    """
    left = meta.get("state", {})
    streams = left.get("streams", left)
    for stream, known in streams.items() if isinstance(streams, Mapping) else ():
        account = known.get("account") if isinstance(known, Mapping) else None
        if not isinstance(account, Mapping) or not {*ACCOUNT} <= account.keys():
            continue
        seconds = {name: float(account[name]) for name in ACCOUNT}
        besides = sum(seconds[name] for name in BESIDES)
        told = Regret(
            stream=stream,
            state=str(known.get("state", "")),
            arm=str(known.get("arm", "")),
            spent=seconds["written"] - seconds["saved"] + besides,
            error=0.0,
            **seconds,
        )
        yield told, [str(reason) for reason in known.get("reasons", ())]


def _routes(stream: str, cells: Sequence[CellState]) -> Iterator[str]:
    """Write the largest classes with their routes, over all cells.

    The routes of all other classes are one line.
    """
    taken = [
        (name, " > ".join(route), tuples)
        for cell in cells
        for name, route, tuples in cell.meta.get("taken", {}).get(stream, {"routes": []})["routes"]
    ]
    frame = make_frame(taken, ["class", "route", "tuples"])
    frame = frame.groupby(["class", "route"], sort=False)["tuples"].sum().reset_index()
    frame["share"] = frame["tuples"] / frame["tuples"].sum()
    return list_classes(frame.sort_values("tuples", ascending=False, kind="stable", ignore_index=True))


def _statistics(cells: Sequence[CellState]) -> Iterator[str]:
    """Statistics add up, over cells as well."""
    known: dict[Hop, Statistic] = {}
    for cell in cells:
        for operator, pattern, *counts in cell.meta["statistics"]:
            hop = Hop(operator, pattern)
            known[hop] = known.get(hop, NOTHING) + Statistic(*counts)
    rows = [["operator", "searched by", "rows in", "rows out", "rate", "us a row"]]
    rows += [
        [hop.operator, hop.pattern, f"{s.rows_in:,.0f}", f"{s.rows_out:,.0f}", f"{s.rate:.3f}", f"{s.cost * 1e6:.2f}"]
        for hop, s in known.items()
    ]
    return align_columns(rows, "<<>>>>")
