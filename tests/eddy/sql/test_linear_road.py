"""Linear Road's joins give the naive answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy.query import Query
from tests import reference
from tests.eddy.sql.linear_road import BLOCKS, HISTORY, STREAMS, Block, make_rows
from tests.eddy.test_joins import Found, answered

SEEDS = range(6)
ROWS = {4: 8}
"""Of a stream where there are four of them, which meet in 4,096 ways; else MOST."""

MOST = 13

POLICIES = ("auto", "source", "lottery", "random", "fixed", "content")


def traffic(block: Block, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Random rows of every source that a block names."""
    random = Random(seed)
    sources, rows = block.statement.sources, ROWS.get(len(block.windows), MOST)
    found = {name: make_rows(random, STREAMS[name], rows) for name in sources.values() if name in STREAMS}
    return {**found, "History": [_without_time(row) for row in make_rows(random, HISTORY, rows)]}


def _without_time(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "at"}


def batches(rows: Mapping[str, Sequence[Any]], size: int) -> list[dict[str, list[Any]]]:
    """The micro-batches that the engine makes of the streams."""
    cut = {name: [some[i : i + size] for i in range(0, len(some), size)] for name, some in rows.items()}
    together = zip_longest(*cut.values(), fillvalue=[])
    return [{name: list(part) for name, part in zip(cut, parts, strict=True)} for parts in together]


def check(block: Block, seed: int) -> Found:
    """A run finds what the reference finds."""
    data, sources, size = traffic(block, seed), block.statement.sources, 1 + seed % 4
    tables = {name: pa.Table.from_pylist(rows) for name, rows in data.items() if name in sources.values()}
    run = eddy.iter_local(block.statement, tables, policy=POLICIES[seed % len(POLICIES)], batch_rows=size, seed=seed)
    question = block.question({alias: data[sources[alias]] for alias in block.tables})
    expected = reference.answer(question, batches({alias: data[sources[alias]] for alias in block.windows}, size))
    assert answered(run, run.schema) == expected
    return expected


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_gives_the_naive_answer(name: str) -> None:
    assert sum(sum(check(BLOCKS[name], seed).values()) for seed in SEEDS) > 0


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_is_a_query_that_is_written_and_read_back(name: str) -> None:
    block = BLOCKS[name]
    columns = {alias: ["at", *STREAMS.get(source, HISTORY)] for alias, source in block.statement.sources.items()}
    asked: Query = block.statement.with_columns(columns).query
    streams = [eddy.Stream(stream.name, time="at", delay=stream.delay) for stream in asked.streams]
    assert eddy.Statement(asked.sql(), streams=streams).query == asked
    assert len(asked.inputs) > 1
