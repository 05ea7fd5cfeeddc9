"""Cells that have more to do than others: told when a job ends, and what a new checkpoint could do about it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import eddy
from eddy import sql
from eddy.jobs.run.checkpoints import STORE, CellState, Checkpoint
from eddy.wiring import count_stored

UNEVEN = 2.0
"""Times the mean from which a cell is told of: a micro-batch is over when its last cell is."""

FEWEST_ROWS = 1_000
"""Rows below which nothing is told: of few, some cell always has twice the mean."""

FEWEST_SECONDS = 1.0
"""Seconds of all cells below which their work is not compared: a worker's first call alone would make it uneven."""

MOST_VALUES = 5
"""Values of a column that are proposed: more of them are hardly heavy."""


def tell_skew(report: eddy.Report) -> Iterator[str]:
    """Tell of the cell that has worked most, if it is far from the others."""
    cells = report.cells()
    if len(cells) < 2 or cells["rows"].sum() < FEWEST_ROWS:
        return
    worst = cells.iloc[0]
    worked = worst["seconds_over_mean"] if cells["seconds"].sum() >= FEWEST_SECONDS else 0
    if max(worked, worst["rows_over_mean"]) < UNEVEN:
        return
    stored, more = "", ""
    if cells["stored"].sum() > 0:
        stored = f"{worst['stored_over_mean']:.1f} of stored rows, "
        more = "; eddy explain JOB --checkpoint proposes sizes and heavy values for a new checkpoint"
    yield (
        f"cells are uneven: of {len(cells)} cell {worst['cell']:.0f} had {worst['rows_over_mean']:.1f} times the "
        f"mean of rows, {stored}{worst['seconds_over_mean']:.1f} of seconds{more}"
    )


def propose(found: Checkpoint) -> Iterator[str]:
    """Propose `sizes` and `heavy` for a new checkpoint, as a job's file has them; nothing where one cell is all."""
    lines = [*_propose_sizes(found), *_propose_heavy(found)] if found.layout["cells"] > 1 else []
    if lines:
        yield from ("", "for a new checkpoint, by the rows that came and those that are stored", "  [engine]")
        yield from (f"  {line}" for line in lines)


def _propose_sizes(found: Checkpoint) -> Iterator[str]:
    """Only a grid has use for them: with one direction no stream is copied, whatever its size."""
    came = _count_rows(found.cells)
    if len(found.layout["dimensions"]) > 1 and len(set(came.values())) > 1:
        yield f"sizes = {{ {', '.join(f'{json.dumps(name)} = {rows}' for name, rows in came.items())} }}"


def _propose_heavy(found: Checkpoint) -> Iterator[str]:
    keys = [
        (stream, key, dimension["share"])
        for dimension in found.layout["dimensions"]
        for stream, some in dimension["keys"].items()
        for key in some
    ]
    heavy = {key: values for stream, key, share in keys if (values := _find_heavy(found.cells, stream, key, share))}
    if heavy:
        told = ", ".join(f"{json.dumps(key)} = {json.dumps(list(values))}" for key, values in heavy.items())
        shares = "; ".join(f"{key}: {_tell_shares(values)}" for key, values in heavy.items())
        yield f"heavy = {{ {told} }}  # shares of the stored rows: {shares}"


def _tell_shares(values: Mapping[Any, float]) -> str:
    return ", ".join(f"{value!r} {share:.0%}" for value, share in values.items())


def _count_rows(cells: Sequence[CellState]) -> Mapping[str, int]:
    """Count the rows of each stream that came since the checkpoint began, each once."""
    counted: Counter[str] = Counter()
    for cell in cells:
        counted.update({stream: count["rows"] for stream, count in cell.meta.get("came", {}).items()})
    return counted


def _find_heavy(cells: Sequence[CellState], stream: str, key: str, share: int) -> Mapping[Any, float]:
    """Find the values of a column that alone are more than a cell's part of its rows.

    Rows that are copied along other directions are so alike, and change no share.
    """
    column = sql.parse(key, where=f'key "{key}"').as_column()
    if column is None or share < 2:
        return {}
    counted: Counter[Any] = Counter()
    for cell in cells:
        for part in cell.tables.get(STORE + stream, ())[:-1]:
            counted.update(count_stored(part.read(), column.name))
    rows = counted.total()
    found = {value: count / rows for value, count in counted.most_common(MOST_VALUES) if count * share > rows}
    return found if rows >= FEWEST_ROWS else {}
