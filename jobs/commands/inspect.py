"""eddy inspect: what a checkpoint holds, cell by cell."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eddy.errors import QueryError, quote
from eddy.jobs.commands.command import Command
from eddy.jobs.run.checkpoints import CellState, Checkpoint, StemSize, describe_learned, read
from eddy.observe.counters import BAD
from eddy.observe.text import align_columns
from eddy.query import fingerprint
from eddy.tuples.event_time import UNZONED, ZONED
from eddy.tuples.pandas_frames import make_times


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("checkpoint", help="the folder that checkpoint.location names")
    parser.add_argument("--cell", type=int, metavar="N", help="what this cell alone has learned")


def run(chosen: Namespace) -> int:
    """Print what each cell has."""
    print("\n".join(describe(read(chosen.checkpoint), chosen.cell)))
    return 0


def describe(found: Checkpoint, only: int | None) -> Iterator[str]:
    """Describe a checkpoint: its query, its cells, its knowledge; of several queries, those of each."""
    cells = _pick(found.cells, only)
    if not cells and only is not None:
        raise QueryError(f"--cell: expected one of {', '.join(str(cell.number) for cell in found.cells)}, got {only}")
    had_rows = f"cells: {found.layout['cells']}, of which {len(found.cells)} have had rows"
    if not found.members:
        yield from _describe_query("query", found)
        yield from ("", had_rows, *_sizes(cells), *_describe_learned(found, cells))
        return
    yield from (f"queries: {quote(found.members)}", "", f"{had_rows}, stored once for all", *_sizes(cells))
    for name, member in found.members.items():
        yield from ("", *_describe_query(f'query "{name}"', member))
        yield from _describe_learned(member, _pick(member.cells, only))


def _pick(cells: Sequence[CellState], only: int | None) -> Sequence[CellState]:
    return cells if only is None else [cell for cell in cells if cell.number == only]


def _describe_query(title: str, found: Checkpoint) -> Iterator[str]:
    yield title
    yield from (f"  {name}: {text}" for name, text in found.query.items())


def _describe_learned(found: Checkpoint, cells: Sequence[CellState]) -> Iterator[str]:
    yield from ("", "rows that came, and those that took no part", *_count_arrived(found.query, cells))
    yield ""
    yield from describe_learned(cells)


def _sizes(cells: Sequence[CellState]) -> Iterator[str]:
    """Write the bytes of each cell and of its STeMs.

    The rows of each STeM go with its bytes.
    """
    stems = list(dict.fromkeys(name for cell in cells for name in cell.stems))
    rows = [["cell", "micro-batches", "bytes", *stems]]
    for cell in cells:
        sizes = [_size(cell.stems[name]) for name in stems]
        rows.append([f"{cell.number}", f"{cell.meta['batch']}", f"{cell.nbytes:,}", *sizes])
    return align_columns(rows, ">" * len(rows[0]))


def _count_arrived(query: Mapping[str, str], cells: Sequence[CellState]) -> Iterator[str]:
    """Count each stream's rows since the checkpoint began, and say how far it has come.

    The late and the bad ones are counted apart. The newest times, less the delays, are what the watermark follows.
    """
    known: dict[str, Counter[str]] = {}
    for cell in cells:
        for stream, counts in cell.meta.get("came", {}).items():
            known[stream] = known.get(stream, Counter()) + Counter(counts)
    rows = [["stream", "rows", "late", "newest", "bad"]]
    for stream, counts in known.items():
        bad = ", ".join(f"{counts[kind]:,} {BAD_ROWS[kind]}" for kind in BAD if counts[kind])
        newest = _find_newest(query, stream, cells)
        rows.append([stream, f"{counts['rows']:,}", f"{counts['late']:,}", newest, bad or "0"])
    return align_columns(rows, "<>><<")


def _find_newest(query: Mapping[str, str], stream: str, cells: Sequence[CellState]) -> str:
    """Write the newest event time that a stream has shown to any cell; "" where it has shown none."""
    ticks = max((cell.meta["gate"]["newest"].get(stream, -math.inf) for cell in cells), default=-math.inf)
    if ticks == -math.inf:
        return ""
    kind = query.get(fingerprint.name_column(stream, query.get(fingerprint.name_time(stream), "")), "")
    clock = (ZONED if "tz=" in kind else UNZONED) if kind.startswith("timestamp") else None
    return str(make_times([ticks], clock)[0])


BAD_ROWS = {
    "untimed": "without a time",
    "ahead": "too far ahead",
    "keyless": "without a key",
    "malformed": "malformed",
}
"""The names of the kinds of bad rows."""


def _size(stem: StemSize) -> str:
    return f"{stem.rows:,} rows, {stem.nbytes:,} bytes"


COMMAND = Command(arguments=arguments, run=run)
