"""Data at hand, cut into micro-batches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard

import pyarrow as pa

from eddy.errors import QueryError, read_message
from eddy.tuples.arrow import no_rows, one_batch
from eddy.tuples.pandas_frames import is_frame

BATCH_ROWS = 10_000
"""Rows of each stream in a micro-batch: enough that the cost of a call into an operator is small beside its work."""

if TYPE_CHECKING:
    import pandas as pd

Data: TypeAlias = "pa.Table | pa.RecordBatch | pd.DataFrame | Iterable[Any]"
"""A whole input, to be cut into micro-batches; or an iterable of them, each taken as it comes."""


class Feeds(NamedTuple):
    """The rows of sources as micro-batches, their schemas, and lookup tables; there may be any number of `batches`."""

    tables: Mapping[str, pa.RecordBatch]
    schemas: Mapping[str, pa.Schema]
    steps: Iterator[dict[str, pa.RecordBatch]]
    batches: int | None


def open_feeds(data: Mapping[str, Data], lookup: Collection[str], batch_rows: int) -> Feeds:
    """Read lookup tables, and the first micro-batch of all else."""
    tables = {name: one_batch(name, make_table(name, value)) for name, value in data.items() if name in lookup}
    feeds = {name: _feed(name, value, batch_rows) for name, value in data.items() if name not in lookup}
    first = {name: next(feed, None) for name, feed in feeds.items()}
    schemas = {name: _read_schema(name, table) for name, table in first.items()}
    steps = _step_together({name: _chain(first[name], feed) for name, feed in feeds.items()}, schemas)
    return Feeds(tables, schemas, steps, _count_batches([data[name] for name in feeds], batch_rows))


def peek(name: str, data: Data) -> tuple[list[str], Data]:
    """Look at the columns of an input; what is iterated over is given back whole."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return data.schema.names, data
    if is_frame(data):
        return [*data.columns], data
    if not isinstance(data, Iterable) or isinstance(data, str | bytes | Mapping):
        raise QueryError(_describe_unfit(name, data))
    parts = iter(data)
    first = next(parts, None)
    names = [] if first is None else make_table(name, first).schema.names
    return names, chain([] if first is None else [first], parts) if isinstance(data, Iterator) else data


def _is_whole(data: Data) -> TypeGuard[pa.Table]:
    return isinstance(data, pa.Table | pa.RecordBatch) or is_frame(data)


def _read_schema(name: str, first: pa.Table | None) -> pa.Schema:
    if first is None:
        raise QueryError(f'data "{name}": expected at least one micro-batch, to learn the columns from; got none')
    return first.schema


def _count_batches(whole: Iterable[Data], batch_rows: int) -> int | None:
    """Count the micro-batches of inputs that are there as a whole; of others nobody knows."""
    counts = [max(1, -(-len(one) // batch_rows)) if _is_whole(one) else None for one in whole]
    known = [count for count in counts if count is not None]
    return max(known, default=0) if len(known) == len(counts) else None


def _feed(name: str, data: Data, batch_rows: int) -> Iterator[pa.Table]:
    """Cut one input into micro-batches."""
    if _is_whole(data):
        table = make_table(name, data)
        for start in range(0, max(table.num_rows, 1), batch_rows):
            yield table.slice(start, batch_rows)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping):
        for part in data:
            yield make_table(name, part)
    else:
        raise QueryError(_describe_unfit(name, data))


def make_table(name: str, data: object) -> pa.Table:
    """Turn an input that is there as a whole into a table."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if is_frame(data):
        try:
            return pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)
        except (pa.ArrowException, ValueError) as error:
            raise QueryError(
                f'data "{name}": the DataFrame does not fit into Arrow columns: {read_message(error)}'
            ) from error
    raise QueryError(_describe_unfit(name, data))


def _describe_unfit(name: str, data: object) -> str:
    return (
        f'data "{name}": expected a pyarrow Table or RecordBatch, a pandas DataFrame, or an iterable of them, '
        f"got {type(data).__name__}"
    )


def _chain(first: pa.Table | None, rest: Iterator[pa.Table]) -> Iterator[pa.Table | None]:
    yield first
    yield from rest


def _step_together(
    feeds: Mapping[str, Iterator[pa.Table | None]], schemas: Mapping[str, pa.Schema]
) -> Iterator[dict[str, pa.RecordBatch]]:
    """Give one micro-batch of every input at a time.

    An input that has ended goes on with no rows.
    """
    for tables in zip_longest(*feeds.values()):
        yield {
            name: no_rows(schemas[name]) if table is None else one_batch(name, table)
            for name, table in zip(feeds, tables, strict=True)
        }
