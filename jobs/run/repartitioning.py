"""Divides the state of a checkpoint into another number of Spark's partitions, by Spark's own manager.

Cells stay what they are; what moves is in which of Spark's tasks their states are. Spark adds a micro-batch without
rows to the checkpoint for that, and writes all state anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eddy.errors import QueryError
from eddy.jobs.run.spark_files import SparkFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDER, PARTITIONS = "spark.sql.streaming.stateStore.providerClass", "spark.sql.shuffle.partitions"

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The only store that Spark divides anew. With another one it stops halfway, and the checkpoint cannot go on."""

SINCE = "4.2"
"""The first Spark with such a manager."""

LOG, COMPACTED_EACH = "_spark_metadata", "spark.sql.streaming.fileSink.log.compactInterval"
"""Where Spark's file sink lists what it has written, and after how many micro-batches it puts the lists together."""

EMPTY_LIST = "v1"
"""The list of a micro-batch that has written no file."""


@dataclass(frozen=True)
class Repartitioned:
    """The micro-batch that was added, and the number of partitions before."""

    batch: int
    before: int


def is_missing() -> bool:
    """Tell whether this Spark has no manager of checkpoints."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    return not hasattr(SparkSession, "_streamingCheckpointManager")


def repartition(spark: SparkSession, place: str, wanted: int, output: str | None) -> Repartitioned:
    """Divide the state anew; `output` is the folder of a file sink, which needs an entry for the micro-batch."""
    if is_missing():
        raise QueryError(
            f"repartition: Spark {spark.version} cannot do it; expected {SINCE} or newer; start the job with one, "
            "or begin a new checkpoint"
        )
    files = SparkFiles(spark)
    commits = files.list_numbers(f"{place}/commits")
    if not commits:
        raise QueryError(f'checkpoint "{place}": expected a query that has ended a micro-batch, got none')
    last = commits[-1]
    known = _read_settings(files.read(f"{place}/offsets/{last}"))
    before = int(known.get(PARTITIONS, 0))
    if before != wanted:
        _check_provider(known, place)
        if output:
            _check_list(spark, files, output, last + 1)
        spark._streamingCheckpointManager.repartition(place, wanted)
        last += 1
    elif not output or files.exists(f"{output}/{LOG}/{last}"):
        raise QueryError(f'checkpoint "{place}": it has {wanted} partitions already')
    if output:
        files.write(f"{output}/{LOG}/{last}", EMPTY_LIST)
    return Repartitioned(last, before)


def _check_provider(known: Mapping[str, str], place: str) -> None:
    """Refuse a store that Spark does not divide: it would find that out halfway."""
    provider = known.get(PROVIDER, "")
    if provider != ROCKSDB:
        raise QueryError(
            f'checkpoint "{place}": its state is in "{provider.rpartition(".")[2]}"; Spark divides only that of '
            f'"{ROCKSDB.rpartition(".")[2]}" anew. Begin a new checkpoint with "{PROVIDER}" = "{ROCKSDB}"'
        )


def _check_list(spark: SparkSession, files: SparkFiles, output: str, batch: int) -> None:
    """Refuse a folder that no file sink writes, and a micro-batch for which its lists are put together."""
    if not files.exists(f"{output}/{LOG}"):
        raise QueryError(
            f'repartition: --output "{output}": expected a folder that a file sink has written, with {LOG}'
        )
    each = int(str(spark.conf.get(COMPACTED_EACH, "10")))
    if (batch + 1) % each == 0:
        raise QueryError(
            f'repartition: --output "{output}": in micro-batch {batch} Spark puts its lists of files '
            "together; let the job do one micro-batch more, and try again"
        )


def _read_settings(text: str) -> Mapping[str, str]:
    """Read the settings that a micro-batch was begun with: the second line, JSON."""
    found = json.loads(text.splitlines()[1])["conf"]
    return {str(name): str(value) for name, value in found.items()}
