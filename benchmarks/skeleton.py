"""The bare steps of Spark around an eddy, doing nothing.

Rows go into Python and come out as one small parcel for each cell; parcels are shuffled to their cells; a cell reads
what comes, writes a small state, and gives nothing back. Nobody who keeps state in Python has less. Steps that ours has
beside that can be added one by one, which shows what each of them costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from benchmarks.feeds import CORES
from eddy.spark import cell, checkpoint_guard
from eddy.spark.layout.hashing import label
from eddy.spark.parcels import PARCEL_SCHEMA, PARCELS, RESULTS

STATE = (1, "{}", bytes(1_000))
"""The state of a cell: about what an eddy without stored rows writes."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Steps that are added to the bare skeleton.

    A group more, the observed reports, the step that unpacks results.
    """

    guarded: bool = False
    reported: bool = False
    unpacked: bool = False


def skeleton(frames: Sequence[DataFrame], steps: Steps, answer: str) -> DataFrame:
    """Lay the steps out over streams with a time `ts`.

    `answer` is the schema of results; no result comes.
    """
    labels = [label(number) for number in range(CORES)] + [checkpoint_guard.LABEL] * steps.guarded
    packed = [f.mapInArrow(_packer(labels), PARCELS).withWatermark("time", "0 seconds") for f in frames]
    found = (
        reduce(DataFrame.unionAll, packed)
        .groupBy("cell")
        .applyInPandasWithState(
            _cell(reported=steps.reported), RESULTS, cell.STATE, "append", GroupStateTimeout.NoTimeout
        )
    )
    if steps.reported:
        found = found.observe("skeleton", F.collect_list("report").alias("reports"))
    return found.mapInArrow(_nothing, answer) if steps.unpacked else found


def _packer(labels: Sequence[int]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            count = len(labels)
            latest = pa.scalar(batch.column("ts")[-1].as_py(), PARCEL_SCHEMA.field("time").type)
            columns = [labels, [""] * count, [latest] * count, [b""] * count]
            arrays = [pa.array(values, f.type) for values, f in zip(columns, PARCEL_SCHEMA, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=PARCEL_SCHEMA)

    return pack


def _cell(*, reported: bool) -> Callable[[Any, Iterable[pd.DataFrame], GroupState], Iterator[pd.DataFrame]]:
    def run(_key: Any, parcels: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        for _ in parcels:
            pass
        state.update(STATE)
        if reported:
            yield pd.DataFrame({"payload": [None], "report": ["{}"]})

    return run


def _nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    yield from ()
