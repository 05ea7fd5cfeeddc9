"""A process with a Spark whose states are in RocksDB: partitions become more, then fewer, for two kinds of sinks.

python -m tests.jobs.repartitioned FOLDER
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from eddy.jobs import cli
from eddy.jobs.run.repartitioning import PROVIDER, ROCKSDB
from tests import reference
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import local, query
from tests.eddy.spark.test_restart import WHOLE, add, attached


def main(place: Path) -> None:
    """Three starts with a repartitioning after each of the first two."""
    settings: dict[str, bool | float | int | str | None] = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        PROVIDER: ROCKSDB,
    }
    spark = SparkSession.builder.config(map=settings).getOrCreate()
    in_memory, out = Counter[tuple[Any, ...]](), place / "out"
    for number, partitions in enumerate((3, 1, None)):
        add(place, number, number + 1)
        in_memory += feeds.answer(attached(spark, place, query(), cells=3), place / "one").rows
        writer = attached(spark, place, query(), cells=3).writeStream.format("parquet").option("path", str(out))
        writer.option("checkpointLocation", str(place / "two")).trigger(availableNow=True).start().awaitTermination()
        if partitions:
            # The hint about files comes after; the same command then adds what is missing.
            for more in (["one"], ["two"], ["two", "--output", str(out)]):
                folder, *options = more
                assert cli.main(["repartition", str(place / folder), str(partitions), *options]) == 0
            assert len(list((place / "one" / "state" / "0").glob("[0-9]*"))) >= partitions
    assert cli.main(["repartition", str(place / "one"), "1"]) == cli.FAILED
    expected = local(query(), {name: tables[:3] for name, tables in WHOLE.items()})
    rows = spark.read.parquet(str(out)).toArrow().to_pylist()
    assert in_memory == expected
    assert Counter(tuple(map(reference.plain, row.values())) for row in rows) == expected
    sys.stdout.write("the same answer\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
