"""The queries, policy, schemas and tables that workers get.

Spark hands it to every task. What is larger than a megabyte it broadcasts by itself, so that an executor gets it once.
A worker unpickles the user's functions once for a query, and keeps what it has read in a module global: it is cheap to
lose.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import pyarrow as pa

from eddy.clocks import make_work_clock
from eddy.engine import Engine
from eddy.errors import QueryError, describe_error, quote
from eddy.query import Query
from eddy.query.pushed_filter import PushedFilter
from eddy.spark.after.beats import Beats
from eddy.spark.parcels import rows_of
from eddy.wiring import Begun, IndexChoice, PolicyChoice, Tools, engine_together

MOST_OPENED = 4
"""Queries that a worker keeps read: it may serve several, and a restarted query is a new one."""

OPENED: OrderedDict[str, Opened] = OrderedDict()


@dataclass(frozen=True, kw_only=True)
class ShippedQuery:
    """What a worker needs to know of a query beside its code.

    `schemas` are those of its inputs. `parts` and `layout` say what the state in a checkpoint depends on, `pushed`
    which filters Spark evaluates before. `ticks_per_ms` turns Spark's watermark into the engine's; 0 if some stream has
    no delay, so that there is none. `beats` is there where cells work out the watermark: the answer has one of its own,
    results wait for it, or other queries have other streams.
    """

    schemas: Mapping[str, pa.Schema]
    parts: Mapping[str, str]
    layout: Mapping[str, Any]
    ticks_per_ms: int
    pushed: Sequence[PushedFilter] = ()
    beats: Beats | None = None

    @property
    def answer_time(self) -> str | None:
        """By whose time the answer has a watermark of its own; None where it has none."""
        return None if self.beats is None else self.beats.by


@dataclass(frozen=True, kw_only=True)
class Shipped:
    """Everything that a worker needs.

    Values are plain, and the user's code is bytes. `sources` has the streams of each source, by the names that cells
    have for them, and `columns` its columns; nobody asks about those that are `unread`. Several queries share so many
    `cells`, and `answer` is the schema of their common answer. `flush` is how many rows make Spark send what it holds.
    """

    token: str
    code: bytes
    functions: tuple[str, ...]
    queries: Mapping[str, ShippedQuery]
    tables: Mapping[str, bytes]
    seed: int
    flush: int
    index: IndexChoice = None
    cache_memory: int | None = None
    cache_state: str | None = None
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    columns: Mapping[str, pa.Schema] = field(default_factory=dict)
    unread: Sequence[str] = ()
    cells: int = 1
    answer: pa.Schema | None = None

    def engine(self, cell: int) -> Engine:
        """Make a new engine for a cell, with clocks of this thread."""
        opened = _find_opened(self)
        begun = {
            name: Begun(
                query=opened.queries[name],
                schemas=one.schemas,
                policy=opened.policy,
                cells=one.layout["cells"],
                parts=one.parts,
                pushed=one.pushed,
            )
            for name, one in self.queries.items()
        }
        tools = Tools(
            clock=time.perf_counter,
            seed=self.seed,
            cell=cell,
            index=self.index,
            cache_memory=self.cache_memory,
            cache_state=self.cache_state,
            thinking=time.thread_time,
            working=make_work_clock(),
        )
        return engine_together(begun, opened.tables, tools)


@dataclass(frozen=True)
class Opened:
    """The queries, policy and tables, unpickled."""

    queries: Mapping[str, Query]
    policy: PolicyChoice
    tables: Mapping[str, pa.RecordBatch]


def pack_code(queries: Mapping[str, Query], policy: PolicyChoice) -> tuple[bytes, tuple[str, ...]]:
    """Pickle the queries and the policy, and name their functions."""
    asked = [f for query in queries.values() for f in query.filters if f.function is not None]
    for f in asked:
        _pickle(f.function, f'filter "{f.name}": its function')
        _pickle(f.setup, f'filter "{f.name}": its setup')
    # In one piece, so that a function that several queries have is one on the workers as well.
    code = _pickle((dict(queries), policy), "policy: the class")
    return code, tuple(dict.fromkeys(f'filter "{f.name}"' for f in asked))


def _pickle(value: object, what: str) -> bytes:
    try:
        return cloudpickle.dumps(value)
    except Exception as error:  # whatever an object of the user's raises when it is asked for its state
        raise QueryError(
            f"{what} cannot be sent to the workers, {describe_error(error)}; "
            "it must not hold a lock, an open file, a connection or a Spark session: make such things inside of it"
        ) from error


def _find_opened(shipped: Shipped) -> Opened:
    if shipped.token not in OPENED:
        OPENED[shipped.token] = _open(shipped)
    OPENED.move_to_end(shipped.token)
    # The query that was used longest ago; it is unpickled again if it comes back.
    while len(OPENED) > MOST_OPENED:
        OPENED.popitem(last=False)
    return OPENED[shipped.token]


def _open(shipped: Shipped) -> Opened:
    try:
        queries, policy = cloudpickle.loads(shipped.code)
    except Exception as error:  # the import of a user's module may raise anything
        raise QueryError(
            f"{quote(shipped.functions) if shipped.functions else 'policy'}: cannot be loaded on a worker, "
            f"{describe_error(error)}; send the module to the workers, with --py-files or "
            "spark.addArtifact(..., pyfile=True), or define the function in the job itself"
        ) from error
    return Opened(queries, policy, {name: rows_of(data) for name, data in shipped.tables.items()})
