"""Filters over one frame, in whatever order is best: `eddy.where`.

A frame of pandas or Arrow is filtered here and now, one of Spark becomes another one (`eddy.spark.stateless`). Of the
frame's columns the engine reads those that predicates read, and those by which the policy tells rows apart; rows that
pass are picked out of the frame itself, so all columns stay as they are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from eddy.clocks import make_work_clock
from eddy.engine import Engine
from eddy.engine.emission import Rejected, name_reasons
from eddy.engine.snapshot_file import resume, write_file
from eddy.errors import QueryError, check_whole, read_message, write_repr
from eddy.local import BATCH_ROWS
from eddy.observe.frame_notes import FrameNote, find_note, note_frame
from eddy.observe.report import Report
from eddy.query import Query
from eddy.query.binding import can_pick
from eddy.query.explain import describe_query
from eddy.query.shorthand import check_distinct, find_needed, has_rejects, make_query, read_predicates
from eddy.query.validation import check_name
from eddy.tuples.arrays import Mask
from eddy.tuples.arrow import one_batch
from eddy.tuples.pandas_frames import is_frame

if TYPE_CHECKING:
    import pandas as pd

    from eddy.wiring import PolicyChoice

SPARK = "pyspark.sql"
"""Where the classes of Spark's frames come from, with Spark Connect and without it: known by name, so that who has
pandas alone imports no Spark."""

SAMPLE_ROWS = 1_000
"""Rows of a pandas frame by which the types of columns are known that nothing has asked for yet: enough to see what an
object column holds, and nothing beside the work."""

Frame = TypeVar("Frame")


@dataclass(frozen=True, kw_only=True)
class WhereOptions:
    """The user's settings of one call."""

    policy: PolicyChoice
    name: str
    seed: int
    remember: str | None


def where(
    frame: Frame,
    *predicates: Any,
    policy: PolicyChoice = "auto",
    name: str = "where",
    seed: int = 0,
    remember: str | os.PathLike[str] | None = None,
) -> Frame:
    """Give the rows of a frame for which every predicate is true.

    `frame` is a DataFrame of pandas or of Spark, batch or streaming, or an Arrow table, and so is what comes back: the
    same columns, in the same order. A predicate is SQL text; a function whose parameters are called like columns, or
    one with its columns, (function, "column"); a udf or a pandas_udf; a `Filter`; with Spark also a Column. A function
    is handed whole columns as pd.Series, or as its annotations say, and gives a boolean for each row; it must judge
    each row by itself, since it sees only rows that may still pass, in no promised order.

    With Spark this is one step without a shuffle and without state, and texts and Columns are evaluated by Spark,
    before all functions. `name` is what the step is called in reports: `eddy.report_of(query, name)`.

    `remember` is a file in which what was learned of the predicates stays, for the next run. On a cluster it must be
    one that all machines see. No answer depends on it: where it cannot be read that is told, and learned anew.

    >>> import pandas as pd
    >>> trips = pd.DataFrame({"city": ["Wien", "Graz", "Linz"], "km": [12, 190, 180]})
    >>> def is_far(km):
    ...     return km > 100
    >>> where(trips, is_far, "city <> 'Linz'")
       city   km
    1  Graz  190
    """
    check_name("where: name", name)
    check_whole(seed, "seed", 0, where="where")
    options = WhereOptions(policy=policy, name=name, seed=seed, remember=_check_path(remember))
    if not predicates:
        raise QueryError('where: expected one predicate or more, such as "size > 100" or a function, got none')
    found: Frame = _filter_frame(frame, predicates, options)
    return found


def _filter_frame(frame: Any, predicates: Sequence[Any], options: WhereOptions) -> Any:
    if any(base.__module__.startswith(SPARK) and base.__name__ == "DataFrame" for base in type(frame).__mro__):
        from eddy.spark.stateless import frames  # noqa: PLC0415  so that there need be no Spark

        return frames.where(frame, predicates, **asdict(options))
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return _filter_arrow(frame, predicates, options)
    if is_frame(frame):
        return _filter_pandas(frame, predicates, options)
    raise QueryError(
        f"where: expected a DataFrame of pandas or Spark, or a pyarrow Table or RecordBatch, got {type(frame).__name__}"
    )


def rejected(frame: Frame) -> Frame:
    """Give the rows that `eddy.where` put aside when it gave this very frame.

    They are those that pass everything but predicates with `on_error="reject"` that have no answer for them. Two more
    columns say which predicate, `rejected_by`, and why, `rejected_because`; of several any may be named. With Spark it
    is a frame of its own: whoever wants both caches what the filters read, or writes a stream of its own.

    >>> import pandas as pd
    >>> from eddy import predicate
    >>> texts = pd.DataFrame({"text": ["7", "x", "9"]})
    >>> large = predicate(rowwise=True, on_error="reject", name="large")(lambda text: int(text) > 7)
    >>> rejected(where(texts, large))[["text", "rejected_by"]]
      text rejected_by
    1    x       large
    """
    note = find_note(frame)
    if note is None:
        raise QueryError(
            f"rejected: expected the very frame that eddy.where gave, got another {type(frame).__name__}; keep that one"
        )
    if note.read_rejected is None:
        raise QueryError(
            "rejected: nobody keeps the rows of this frame that are put aside: attach only counts them, and eddy.where "
            'keeps them where a predicate has on_error="reject", with @eddy.predicate or as a Filter'
        )
    found: Frame = note.read_rejected()
    return found


def _check_path(path: object) -> str | None:
    """Check where to remember what was learned; workers may be in another folder than this process."""
    if path is None:
        return None
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    # An address such as "hdfs://a/b" would be taken for a folder of this machine.
    if not isinstance(text, str) or not text or "\0" in text or "://" in text:
        raise QueryError(f"where: remember: expected the path of a file, got {write_repr(path)}")
    return os.path.abspath(text)


class Columns(Protocol):
    """The columns of a frame: their types, and those of them that are needed."""

    @property
    def schema(self) -> pa.Schema:
        """The columns that the engine could read."""

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some of them."""


@dataclass(frozen=True)
class ArrowColumns:
    """Those of a table."""

    table: pa.Table
    needed: frozenset[str]

    @property
    def schema(self) -> pa.Schema:
        """All but those of a type that cannot be picked out by position, unless a filter reads them."""
        return pa.schema([f for f in self.table.schema if f.name in self.needed or can_pick(f.type)])

    def read(self, names: Sequence[str]) -> pa.Table:
        """They are there already."""
        return self.table.select(list(names))


@dataclass(frozen=True)
class PandasColumns:
    """Those of a DataFrame: what nobody reads is never made an Arrow array."""

    frame: pd.DataFrame
    names: Sequence[str]
    needed: frozenset[str]

    @property
    def schema(self) -> pa.Schema:
        """The columns that fit into Arrow, by their first rows; those that a filter reads must."""
        first = self.frame.head(SAMPLE_ROWS)
        found = ((name, _to_arrow(first, name, must=name in self.needed)) for name in self.names)
        return pa.schema([(name, array.type) for name, array in found if array is not None])

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns as Arrow has them."""
        return pa.table({name: _to_arrow(self.frame, name, must=True) for name in names})


class Judged(NamedTuple):
    """Which rows have passed, which were put aside, in their order, and what there is to tell of it."""

    passed: Mask
    aside: Sequence[Rejected]
    note: Callable[[Callable[[], Any]], FrameNote]


def _filter_arrow(frame: Any, predicates: Sequence[Any], options: WhereOptions) -> Any:
    stream, filters = read_predicates(predicates, frame.schema.names, case_sensitive=False)
    own = check_distinct(filters, frame.schema.names)
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_batches([frame])
    columns = ArrowColumns(table.select(own), find_needed(filters, own))
    judged = _judge(columns, table.num_rows, make_query(stream, filters, own, options.name), options)

    def read_rejected() -> Any:
        mask = np.zeros(table.num_rows, np.bool_)
        mask[[row.place for row in judged.aside]] = True
        found = _pick_rows(frame, mask)
        for name, texts in name_reasons(judged.aside, frame.schema.names).items():
            found = found.append_column(name, pa.array(texts, pa.string()))
        return found

    answer = _pick_rows(frame, judged.passed)
    note_frame(answer, judged.note(read_rejected))
    return answer


def _filter_pandas(frame: pd.DataFrame, predicates: Sequence[Any], options: WhereOptions) -> pd.DataFrame:
    names = [name for name in frame.columns if isinstance(name, str)]
    stream, filters = read_predicates(predicates, names, case_sensitive=False)
    own = check_distinct(filters, names)
    columns = PandasColumns(frame, own, find_needed(filters, own))
    judged = _judge(columns, len(frame), make_query(stream, filters, own, options.name), options)

    def read_rejected() -> pd.DataFrame:
        found = frame.iloc[[row.place for row in judged.aside]]
        return found.assign(**name_reasons(judged.aside, names))

    answer = frame[judged.passed]
    note_frame(answer, judged.note(read_rejected))
    return answer


def _judge(columns: Columns, rows: int, query: Query, options: WhereOptions) -> Judged:
    """Ask the engine about all rows, part by part."""
    from eddy import wiring  # noqa: PLC0415  a plug-in that is imported first needs the contracts before the wiring

    (stream,) = query.inputs
    clock = time.perf_counter
    read = wiring.list_read_columns(query, {stream: columns.schema}, options.policy, clock)[stream]
    table = columns.read(read.names)

    def make() -> Engine:
        schemas = {stream: table.schema}
        return wiring.engine(
            query,
            schemas,
            options.policy,
            tables={},
            clock=clock,
            thinking=time.thread_time,
            working=make_work_clock(),
            seed=options.seed,
        )

    learned = None if options.remember is None else Path(options.remember)
    engine, remembers = resume(make, [] if learned is None else [learned])
    passed = np.zeros(rows, np.bool_)
    counters, aside = [], list[Rejected]()
    for start in range(0, rows, BATCH_ROWS):
        passed[start + engine.pick(one_batch(stream, table.slice(start, BATCH_ROWS)))] = True
        counters.append(engine.read_counters())
        aside += [row._replace(place=start + row.place) for row in sorted(engine.read_rejected())]
    if learned is not None and learned in remembers:
        write_file(learned, engine.snapshot())
    text = describe_query(query)
    rejects = has_rejects(query.filters)
    return Judged(passed, aside, lambda read: FrameNote(text, lambda: Report(counters), read if rejects else None))


def _pick_rows(frame: Any, passed: Mask) -> Any:
    """Pick rows of a table or a batch, of any types."""
    try:
        return frame.filter(pa.array(passed))
    except pa.ArrowNotImplementedError:
        # Arrow has types that no kernel knows, and every array has slices: a run of rows is one of them.
        edges = np.flatnonzero(np.diff(passed, prepend=False, append=False)).tolist()
        parts = [frame.slice(begun, end - begun) for begun, end in zip(edges[::2], edges[1::2], strict=True)]
        join: Callable[[list[Any]], Any] = pa.concat_tables if isinstance(frame, pa.Table) else pa.concat_batches
        return join(parts or [frame.slice(0, 0)])


def _to_arrow(frame: pd.DataFrame, name: str, *, must: bool) -> pa.Array | None:
    try:
        return pa.Array.from_pandas(frame[name])
    except (pa.ArrowException, ValueError, TypeError) as error:
        if not must:
            return None
        raise QueryError(
            f'where: column "{name}" does not fit into an Arrow array: {read_message(error)}; make its values of one '
            "type"
        ) from error
