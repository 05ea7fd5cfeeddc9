"""The queries of a cell on Spark: rows of their sources to cells, through the engines there, and out as an answer."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import StringType, StructField, StructType

from eddy.engine.cell_inputs import CellInputs, CellStream
from eddy.query import fingerprint
from eddy.query.shorthand import find_free
from eddy.query.together.queries import LONE, QUERY, merge_schemas
from eddy.spark import cell, checkpoint_guard
from eddy.spark.after.beats import Beats
from eddy.spark.before.frames import check_watermark, make_readable
from eddy.spark.before.own_sql import add_columns
from eddy.spark.before.pushdown import describe_pushed, make_pushed_filters, mark_pushed
from eddy.spark.layout.shared import SharedLayout, StreamLayout
from eddy.spark.listener import listen
from eddy.spark.parcels import PARCELS, RESULTS, Marked, Naming, pack, unpack, write
from eddy.spark.plan import AttachPlan, Options, count_delay, list_fields
from eddy.spark.progress import OBSERVED
from eddy.spark.shipped import Shipped, ShippedQuery, pack_code
from eddy.spark.stateless.frames import column
from eddy.spark.together.answers import OWN_COLUMNS
from eddy.spark.worker_cache import freeze_loaded
from eddy.tuples.arrow import merge_fields


@dataclass(frozen=True)
class CellPlan:
    """The queries of each cell as they are run, and the frames of sources that none of them reads.

    Where there are several queries `most` cells are called in each micro-batch, whether any of them has a row there:
    queries come and go, and no cell may have old news of them.
    """

    queries: Mapping[str, AttachPlan]
    unread: Mapping[str, DataFrame] = field(default_factory=dict)
    most: int = 1

    @cached_property
    def inputs(self) -> CellInputs:
        """The streams of all queries."""
        return CellInputs.of({name: plan.binding for name, plan in self.queries.items()})

    @property
    def spark(self) -> SparkSession:
        """The session of all frames."""
        return next(iter(self.queries.values())).frames.spark

    @property
    def cells(self) -> int:
        """The number of cells: each query has the first ones."""
        return max(self.most, *(plan.layout.cells for plan in self.queries.values()))

    @property
    def is_several(self) -> bool:
        """The queries have names; a lone one has not."""
        return LONE not in self.queries

    @cached_property
    def tells(self) -> bool:
        """Every cell hears in each micro-batch how far the streams have come.

        Spark has one watermark, the least of all streams since the checkpoint began; each of several queries goes by
        that of its own streams, since it is there.
        """
        return self.is_several or self.queries[LONE].tells

    def answer(self, options: Options) -> DataFrame:
        """Give the steps, from the frames to the answer."""
        shipped = self._make_shipped(options)

        def step(key: tuple[Any, ...], parcels: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
            return freeze_loaded(cell.run(shipped, key, parcels, state))

        # All streams as one frame of parcels, so that a single operator with one state serves them:
        #
        #     a -> parcels \
        #     b -> parcels  > union -> by cell -> engine -> payloads and reports -> rows
        #     c -> parcels /
        packed = {source: self._pack_source(source, streams) for source, streams in self.inputs.sources.items()}
        packed |= {source: _pack_nothing(frame) for source, frame in self.unread.items()}
        # Spark knows the sources of a checkpoint by their order, which must not depend on the queries that there are.
        order = sorted(packed) if self.is_several else packed
        answers = (
            reduce(DataFrame.unionAll, [packed[source] for source in order])
            .groupBy("cell")
            .applyInPandasWithState(step, RESULTS, cell.STATE, "append", GroupStateTimeout.NoTimeout)
        )
        listen(self.spark)
        observed = answers.observe(OBSERVED, F.collect_list("report").alias("reports"))
        return observed.mapInArrow(lambda results: freeze_loaded(unpack(results)), self._list_columns())

    def _list_columns(self) -> StructType:
        """List the columns of the answer; of several queries the first one says whose row it is."""
        if not self.is_several:
            return StructType(list_fields(self.queries[LONE]))
        fields = {name: list_fields(plan) for name, plan in self.queries.items()}
        own = {OWN_COLUMNS: {name: [one.name for one in found] for name, found in fields.items()}}
        every = {one.name: one for found in reversed(fields.values()) for one in found}
        ordered = {one.name: every[one.name] for found in fields.values() for one in found}
        return StructType([StructField(QUERY, StringType(), True, own), *ordered.values()])

    def _make_shipped(self, options: Options) -> Shipped:
        rows = int(str(self.spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")))
        code, functions = pack_code({name: plan.query for name, plan in self.queries.items()}, options.policy)
        sources = {source: [one.name for one in streams] for source, streams in self.inputs.sources.items()}
        schemas = {name: plan.binding.schema for name, plan in self.queries.items()}
        return Shipped(
            token=uuid.uuid4().hex,
            code=code,
            functions=functions,
            queries={name: self._ship(plan) for name, plan in self.queries.items()},
            tables={name: write(table) for name, table in self._read_tables().items()},
            seed=int(options.seed),
            flush=rows + 1 if rows > 0 else 0,
            index=options.index,
            cache_memory=options.cache_memory,
            cache_state=options.cache_state,
            sources=sources,
            columns=self.inputs.schemas,
            unread=sorted(self.unread),
            cells=self.cells,
            answer=merge_schemas(schemas) if self.is_several else None,
        )

    def _ship(self, plan: AttachPlan) -> ShippedQuery:
        """Describe a query to workers."""
        return ShippedQuery(
            schemas={name: plan.binding.schemas[name] for name in plan.query.given},
            parts={**fingerprint.of(plan.binding), **describe_pushed(plan.pushed)},
            layout=plan.layout.describe(),
            ticks_per_ms=plan.ticks_per_ms if plan.watermarked else 0,
            pushed=make_pushed_filters(plan.pushed, plan.frames.schemas),
            beats=self._make_beats(plan),
        )

    def _make_beats(self, plan: AttachPlan) -> Beats | None:
        """Make what cells must know to work out the watermark of a query."""
        # A query that has none needs to know no more.
        if not self.tells or not (plan.watermarked or plan.tells):
            return None
        delays = {stream.name: count_delay(plan, stream) for stream in plan.query.streams}
        if plan.time is not None:
            return plan.time.make_beats(delays)
        return Beats(delays=delays, ticks_per_ms=plan.ticks_per_ms)

    def _read_tables(self) -> dict[str, pa.RecordBatch]:
        """Give the lookup tables, with the columns that any query reads."""
        read: dict[str, pa.Schema] = {}
        found: dict[str, pa.RecordBatch] = {}
        for plan in self.queries.values():
            for name, table in plan.frames.tables.items():
                read[name] = merge_fields([*([read[name]] if name in read else []), plan.binding.schemas[name]])
                known = [found[name]] if name in found else []
                # What Spark computes of a table for one query stands beside what it computes for another.
                found[name] = _join_columns([*known, table])
        return {name: table.select(read[name].names) for name, table in found.items()}

    def _pack_source(self, source: str, streams: Sequence[CellStream]) -> DataFrame:
        """Turn the rows of a source into parcels, and declare the watermark.

        It is on the largest event time of each parcel: declared before `mapInArrow` a watermark is not visible after
        it. The columns go without their names, since Spark does not find one there that has a dot in it.
        """
        (_, owner, stream), tell = streams[0], self.cells if self.tells else 0
        plan = self.queries[owner]
        found, marked = self._find_frame(streams)
        layout = plan.layout
        shared = SharedLayout({name: StreamLayout(self.queries[q].layout, s.name) for name, q, s in streams})
        naming = Naming(shared, marked.names) if len(streams) > 1 else None
        own = self.inputs.schemas[source].names
        names = [*own, marked.column] if marked.names else own

        def packer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            renamed = (marked.spread(batch.rename_columns(names)) for batch in batches)
            packed = pack(renamed, stream, layout, tell=tell, naming=naming)
            return freeze_loaded(checkpoint_guard.label_with_state(packed))

        frame, respelled = make_readable(found)
        columns = [column(respelled.get(name, name)).alias(f"c{place}") for place, name in enumerate(names)]
        parcels = frame.select(*columns).mapInArrow(packer, PARCELS)
        if self.is_several or not plan.watermarked:
            return parcels
        check_watermark(stream.name, plan.frames.streams[stream.name])
        return parcels.withWatermark("time", f"{count_delay(plan, stream)} milliseconds")

    def _find_frame(self, streams: Sequence[CellStream]) -> tuple[DataFrame, Marked]:
        """Give the frame of a source behind what Spark evaluates, and the column that marks the rows of some streams.

        A row that no stream needs is left to Spark.
        """
        (_, query, stream), *others = streams
        if not others:
            return self.queries[query].find_frame(stream.name), Marked()
        frame = self.queries[query].frames.streams[stream.name]
        for _, query, stream in streams:
            computed = self.queries[query].computed.get(stream.name, {})
            # The same text of the same rows is the same column, whoever asks for it.
            new = {name: text for name, text in computed.items() if name not in frame.columns}
            frame = add_columns(frame, stream.name, new)
        marks: dict[str, str] = {}
        for name, query, stream in streams:
            pushed = self.queries[query].pushed
            if any(f.on == (stream.name,) for f in pushed):
                marks[name] = find_free(f"{name}>", frame.columns)
                frame = mark_pushed(frame, {stream.name: marks[name]}, pushed)
        if not marks:
            return frame, Marked()
        # All marks are one column. Catalyst writes what it knows of a condition anew for each set of columns that stand
        # for parts of it: with a column for each of 32 marks it does not come to an end.
        held = find_free("marks", frame.columns)
        frame = frame.select("*", F.array(*map(column, marks.values())).alias(held))
        if len(marks) == len(streams):
            frame = frame.where(F.array_contains(column(held), F.lit(True)))
        return frame, Marked([*marks], held)


def _pack_nothing(frame: DataFrame) -> DataFrame:
    """Read a source, and send nothing of it."""
    return frame.where(F.lit(False)).select(F.lit(0)).mapInArrow(_drop, PARCELS)


def _drop(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give no rows."""
    for _ in batches:
        yield from ()


def _join_columns(tables: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Give one table the columns of others with the same rows."""
    columns = {name: one.column(name) for one in tables for name in one.schema.names}
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=merge_fields([one.schema for one in tables]))
