"""The query, policy, schemas and tables that workers get.

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
from eddy.wiring import IndexChoice, PolicyChoice, engine

MOST_OPENED = 4
"""Queries that a worker keeps read: it may serve several, and a restarted query is a new one."""

OPENED: OrderedDict[str, Opened] = OrderedDict()


@dataclass(frozen=True, kw_only=True)
class Shipped:
    """Everything that a worker needs.

    Values are plain, and the user's code is bytes. `parts` and `layout` say what the state in a checkpoint depends
    on, `pushed` which filters Spark evaluates before, `sources` which streams each source has. `ticks_per_ms` turns
    Spark's watermark into the engine's; 0 if some stream has no delay, so that there is none. `flush` is how many rows
    make Spark send on what it holds. `beats` is there where cells work out the watermark: the answer has one of its
    own, or results wait for it.
    """

    token: str
    code: bytes
    functions: tuple[str, ...]
    schemas: Mapping[str, pa.Schema]
    tables: Mapping[str, bytes]
    seed: int
    parts: Mapping[str, str]
    layout: Mapping[str, Any]
    ticks_per_ms: int
    flush: int
    pushed: Sequence[PushedFilter] = ()
    index: IndexChoice = None
    cache_memory: int | None = None
    cache_state: str | None = None
    beats: Beats | None = None
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def answer_time(self) -> str | None:
        """By whose time the answer has a watermark of its own; None where it has none."""
        return None if self.beats is None else self.beats.by

    def engine(self, cell: int) -> Engine:
        """Make a new engine for a cell, with clocks of this thread."""
        opened = _find_opened(self)
        return engine(
            opened.query,
            self.schemas,
            opened.policy,
            tables=opened.tables,
            clock=time.perf_counter,
            seed=self.seed,
            cell=cell,
            cells=self.layout["cells"],
            parts=self.parts,
            pushed=self.pushed,
            index=self.index,
            cache_memory=self.cache_memory,
            cache_state=self.cache_state,
            thinking=time.thread_time,
            working=make_work_clock(),
        )


@dataclass(frozen=True)
class Opened:
    """The query, policy and tables, unpickled."""

    query: Query
    policy: PolicyChoice
    tables: Mapping[str, pa.RecordBatch]


def pack_code(query: Query, policy: PolicyChoice) -> tuple[bytes, tuple[str, ...]]:
    """Pickle the query and the policy, and name their functions."""
    asked = [f for f in query.filters if f.function is not None]
    for f in asked:
        _pickle(f.function, f'filter "{f.name}": its function')
        _pickle(f.setup, f'filter "{f.name}": its setup')
    code = _pickle((query, policy), "policy: the class")
    return code, tuple(f'filter "{f.name}"' for f in asked)


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
        query, policy = cloudpickle.loads(shipped.code)
    except Exception as error:  # the import of a user's module may raise anything
        raise QueryError(
            f"{quote(shipped.functions) if shipped.functions else 'policy'}: cannot be loaded on a worker, "
            f"{describe_error(error)}; send the module to the workers, with --py-files or "
            "spark.addArtifact(..., pyfile=True), or define the function in the job itself"
        ) from error
    return Opened(query, policy, {name: rows_of(data) for name, data in shipped.tables.items()})
