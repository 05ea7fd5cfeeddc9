"""A job whose driver kills itself, JVM and all, at one point of its second micro-batch; run as a process of its own.

The sink writes one file for each micro-batch, under the number that Spark gives it, as an exactly-once sink does.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

import eddy
from tests.eddy.spark import feeds, servers
from tests.eddy.spark.test_attach import BIG, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

POINTS = ("routing", "before the state commit", "after the state commit", "half written", "written", "never")
"""Where a start ends; the last one goes to the end."""


def main(place: Path, point: str) -> None:
    group, first = os.getpgid(0), len(list((place / "out").glob("*.parquet")))

    def die(here: str, batch: int) -> None:
        if here == point and batch > first:
            os.killpg(group, signal.SIGKILL)

    def odd(v: npt.NDArray[np.int32]) -> Any:
        if len(list((place / "out").glob("*.parquet"))) > first:
            die("routing", first + 1)
        return v % 2 == 1

    def take(batch: DataFrame, number: int) -> None:
        die("before the state commit", number)
        table = batch.toArrow()
        die("after the state commit", number)
        half = place / "out" / f"{number}.half"
        pq.write_table(table, half)
        die("half written", number)
        half.rename(place / "out" / f"{number:04}.parquet")
        die("written", number)

    spark = servers.session(place)
    asked = query(filters=[BIG, eddy.Filter("odd", on="b", function=odd)])
    frames = {name: feeds.stream(spark, place / "in" / name) for name in "ab"}
    frame = eddy.attach(asked, frames, policy="content", cells=3)
    writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(place / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
