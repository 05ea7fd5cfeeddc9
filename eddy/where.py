"""Filters over one frame, in whatever order is best: `eddy.where`.

A frame of pandas or Arrow is filtered here and now, one of Spark becomes another one (`eddy.spark.stateless`). Of the
frame's columns the engine reads those that predicates read, and those by which the policy tells rows apart; rows that
pass are picked out of the frame itself, so all columns stay as they are.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np
import pyarrow as pa

from eddy.clocks import make_work_clock
from eddy.engine import Engine
from eddy.engine.emission import Rejected, name_reasons
from eddy.engine.remembered import Remembered, check_folder
from eddy.errors import QueryError
from eddy.frame_columns import ArrowColumns, Columns, FieldColumns, PandasColumns, PlacedColumns
from eddy.local import BATCH_ROWS, make_table
from eddy.observe.frame_notes import FrameNote, find_note, note_frame
from eddy.observe.report import Report
from eddy.query import Query
from eddy.query.existence import ANTI, SEMI
from eddy.query.explain.describe import describe_where
from eddy.query.lookups import Lookups, check_apart, check_lookups, name_joined
from eddy.query.shorthand import check_distinct, find_free, has_rejects, list_ways, make_query, read_predicates
from eddy.spark.stateless.options import WhereOptions
from eddy.sql import describe_ambiguous
from eddy.sql.values.name_case import fold_case
from eddy.tuples.arrays import RowIds
from eddy.tuples.arrow import one_batch
from eddy.tuples.pandas_frames import is_frame, put_beside

if TYPE_CHECKING:
    import pandas as pd

    from eddy.wiring import PolicyChoice

SPARK = "pyspark.sql"
"""Where the classes of Spark's frames come from, with Spark Connect and without it: known by name, so that who has
pandas alone imports no Spark."""

LOCAL = "local"
"""Who leaves what it has learned, where there is one engine alone."""

Frame = TypeVar("Frame")


def where(  # noqa: PLR0913  what a user may say
    frame: Frame,
    *predicates: Any,
    tables: Mapping[str, Any] | None = None,
    joins: str | Sequence[str] = (),
    semi: str | Sequence[str] = (),
    anti: str | Sequence[str] = (),
    policy: PolicyChoice = "auto",
    name: str = "where",
    seed: int = 0,
    remember: str | os.PathLike[str] | None = None,
    report: bool = True,
) -> Frame:
    """Give the rows of a frame for which every predicate is true.

    `frame` is a DataFrame of pandas or of Spark, batch or streaming, or an Arrow table, and so is what comes back: the
    same columns, in the same order. A predicate is SQL text; a function whose parameters are called like columns, or
    one with its columns, (function, "column"), which may be fields of structs, "user.agent"; a udf or a pandas_udf; a
    `Filter`. With Spark a Column is one too, and may stand beside a function. A function is handed whole columns as
    pd.Series, or as its annotations say, and gives a boolean for each row; it must judge each row by itself, since it
    sees only rows that may still pass, in no promised order.

    With Spark this is one step without a shuffle and without state; it evaluates texts and Columns before all
    functions. `tables` are lookup tables by name, `joins="user = users.id"` joins their rows, which adds columns such
    as `users_id`; `semi` and `anti` let rows pass for which a table has a match, or none. `name` is what the step is
    called in reports, without `report` there is none; `remember` is a folder, for all machines, of what was learned.

    >>> import pandas as pd
    >>> trips = pd.DataFrame({"city": ["Wien", "Graz", "Linz"], "km": [12, 190, 180]})
    >>> def is_far(km):
    ...     return km > 100
    >>> where(trips, is_far, "city <> 'Linz'")
       city   km
    1  Graz  190
    """
    given = check_lookups(tables, {"joins": joins, SEMI: semi, ANTI: anti})
    kept = check_folder(remember, "where")
    options = WhereOptions(policy=policy, name=name, seed=seed, remember=kept, report=report, given=given)
    found: Frame = _filter_frame(frame, predicates, options)
    return found


def _filter_frame(frame: Any, predicates: Sequence[Any], options: WhereOptions) -> Any:
    if not predicates and not options.given.conditions:
        raise QueryError('where: expected one predicate or more, such as "size > 100" or a function, got none')
    if any(base.__module__.startswith(SPARK) and base.__name__ == "DataFrame" for base in type(frame).__mro__):
        from eddy.spark.stateless import frames  # noqa: PLC0415  so that there need be no Spark

        return frames.where(frame, predicates, options)
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
            "rejected: nobody keeps the rows of this frame that are put aside: eddy.where, and attach of one stream "
            'without state, keep them where a predicate has on_error="reject", with @eddy.predicate or as a Filter'
        )
    found: Frame = note.read_rejected()
    return found


class Judged(NamedTuple):
    """Where the rows stand that passed, in their order, and those that were put aside; what there is to tell of it.

    Where tables are joined, a row stands there for each of its combinations, and `met` has the places of their rows.
    """

    places: RowIds
    met: Mapping[str, RowIds]
    aside: Sequence[Rejected]
    note: Callable[[Callable[[], Any]], FrameNote]


def _filter_arrow(frame: Any, predicates: Sequence[Any], options: WhereOptions) -> Any:
    judged = _judge(frame, frame.schema.names, predicates, options)

    def read_rejected() -> Any:
        found = _take_rows(frame, np.array([row.place for row in judged.aside], np.int64))
        for name, texts in name_reasons(judged.aside, frame.schema.names).items():
            found = found.append_column(name, pa.array(texts, pa.string()))
        return found

    answer = _take_rows(frame, judged.places)
    joined = name_joined({name: _list_names(options.given.tables[name]) for name in judged.met}, frame.schema.names)
    for table, places in judged.met.items():
        met = _take_rows(make_table(table, options.given.tables[table]), places)
        for name, column in zip(joined[table], met.columns, strict=True):
            answer = answer.append_column(name, column if isinstance(frame, pa.Table) else column.combine_chunks())
    note_frame(answer, judged.note(read_rejected))
    return answer


def _filter_pandas(frame: pd.DataFrame, predicates: Sequence[Any], options: WhereOptions) -> pd.DataFrame:
    names = [name for name in frame.columns if isinstance(name, str)]
    judged = _judge(frame, names, predicates, options)

    def read_rejected() -> pd.DataFrame:
        found = frame.iloc[[row.place for row in judged.aside]]
        return found.assign(**name_reasons(judged.aside, names))

    parts = [frame.iloc[judged.places]]
    joined = name_joined({name: _list_names(options.given.tables[name]) for name in judged.met}, names)
    for name, places in judged.met.items():
        table = options.given.tables[name]
        met = table.iloc[places] if is_frame(table) else _take_rows(table, places).to_pandas()
        parts.append(met.set_axis(joined[name], axis=1).set_axis(parts[0].index))
    answer = parts[0] if len(parts) == 1 else put_beside(parts)
    note_frame(answer, judged.note(read_rejected))
    return answer


def _judge(frame: Any, names: Sequence[str], predicates: Sequence[Any], options: WhereOptions) -> Judged:
    """Ask the engine about all rows."""
    from eddy import wiring  # noqa: PLC0415  a plug-in that is imported first needs the contracts before the wiring

    check_apart(options.given.tables, names)
    known = {name: _check_table(name, table) for name, table in options.given.tables.items()}
    lookups = Lookups(tables=known, conditions=options.given.conditions)
    ways = _find_ways(predicates, names, lookups)
    asked = read_predicates(predicates, [*names, *ways], case_sensitive=False, lookups=lookups)
    own = check_distinct(asked, names)
    roots = {way[0] for way in ways.values()}
    views: dict[str, Columns] = {asked.stream: FieldColumns(_view(frame, own, asked.find_needed(own) | roots), ways)}
    views |= {name: _view(options.given.tables[name], own, asked.find_needed(own, name)) for name, own in known.items()}
    # Of joined tables the engine gives the places of the rows: who holds them needs no copies.
    places = {name: find_free("place", known[name]) for name in asked.joined}
    for name, place in places.items():
        views[name] = PlacedColumns(views[name], len(options.given.tables[name]), place)
    select = [f"{name}.{place} AS {name}" for name, place in places.items()]
    # Where nothing is read of the frame, one column has to say how many rows there are: one that fits into Arrow.
    query = make_query(asked, views[asked.stream].schema.names or own, options.name, select)
    schemas = {name: view.schema for name, view in views.items()}
    read = wiring.list_read_columns(query, schemas, options.policy, time.perf_counter)
    rows, *tables = (view.read(read[name].names) for name, view in views.items())
    batches = {name: one_batch(name, table) for name, table in zip(known, tables, strict=True)}

    def make() -> Engine:
        return wiring.engine(
            query,
            {asked.stream: rows.schema},
            options.policy,
            tables=batches,
            clock=time.perf_counter,
            thinking=time.thread_time,
            working=make_work_clock(),
            seed=options.seed,
        )

    return _ask_engine(make, rows, query, options)


def _find_ways(predicates: Sequence[Any], names: Sequence[str], lookups: Lookups) -> dict[str, Sequence[str]]:
    """Find the fields of structs that functions are to be handed, with the columns that they are in."""
    found, ways = list_ways(predicates, names, [*lookups.tables]), dict[str, Sequence[str]]()
    for text, (root, *rest) in found.items():
        spelled = [name for name in dict.fromkeys(names) if fold_case(name) == fold_case(root)]
        if len(spelled) > 1:
            raise QueryError(f"where: {describe_ambiguous(text, spelled)}")
        if spelled:
            ways[text] = [*spelled, *rest]
    return ways


def _ask_engine(make: Callable[[], Engine], rows: pa.Table, query: Query, options: WhereOptions) -> Judged:
    """Ask part by part, beginning with what was learned."""
    # Each call is a run of its own: it has all in it that those before it have left.
    remembered = None if options.remember is None else Remembered(Path(options.remember), uuid4().hex)
    engine, begun = (make(), ()) if remembered is None else remembered.begin(make)
    places, met = [np.empty(0, np.int64)], []
    counters, aside = [], dict[int, Rejected]()
    for start in range(0, rows.num_rows, BATCH_ROWS):
        picked = engine.pick(one_batch(query.streams[0].name, rows.slice(start, BATCH_ROWS)))
        places.append(start + picked.places)
        met += [] if picked.found is None else [picked.found]
        counters.append(engine.read_counters())
        # A row with several combinations that are put aside is told of once.
        aside |= {start + row.place: row._replace(place=start + row.place) for row in sorted(engine.read_rejected())}
    if remembered is not None:
        remembered.leave(LOCAL, engine.snapshot(), begun)
    found = pa.Table.from_batches(met, schema=engine.schema)
    text, rejects = describe_where(query), has_rejects(query.filters)
    return Judged(
        np.concatenate(places),
        {name: found[name].to_numpy() for name in query.inputs[1:]},
        [*aside.values()],
        lambda read: FrameNote(options.name, text, lambda: Report(counters), read if rejects else None),
    )


def _view(frame: Any, names: Sequence[str], needed: frozenset[str]) -> Columns:
    """Look at some columns of a frame, or of a table beside it."""
    if is_frame(frame):
        return PandasColumns(frame, names, needed)
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_batches([frame])
    return ArrowColumns(table.select(list(names)), needed)


def _check_table(name: str, table: Any) -> list[str]:
    """List the columns of a table that texts can name."""
    if not (is_frame(table) or isinstance(table, pa.Table | pa.RecordBatch)):
        raise QueryError(
            f'where: table "{name}": expected a pandas DataFrame, or a pyarrow Table or RecordBatch, beside a frame '
            f"that is one, got {type(table).__name__}"
        )
    counts = Counter(_list_names(table))
    return [own for own, count in counts.items() if count == 1 and isinstance(own, str)]


def _list_names(table: Any) -> list[Any]:
    """List all columns of a table, whatever they are called."""
    return list(table.columns) if is_frame(table) else list(table.schema.names)


def _take_rows(frame: Any, places: RowIds) -> Any:
    """Take rows of a table or a batch, of any types, in the order of their places."""
    try:
        return frame.take(pa.array(places))
    except pa.ArrowNotImplementedError:
        # Arrow has types that no kernel knows, and every array has slices: a run of rows is one of them.
        begun = np.flatnonzero(np.diff(places, prepend=-2) != 1)
        ends = np.append(begun[1:], len(places))
        runs = [frame.slice(places[a], b - a) for a, b in zip(begun.tolist(), ends[: len(begun)].tolist(), strict=True)]
        join: Callable[[list[Any]], Any] = pa.concat_tables if isinstance(frame, pa.Table) else pa.concat_batches
        return join(runs or [frame.slice(0, 0)])
