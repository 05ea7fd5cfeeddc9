"""A job that knows of Spark only the address of a Connect server; run as a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import eddy
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import BIG, query


def low(v: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    return v < 90


LOOKUP = pa.table({"k": [0, 1, 2, 3, 4, 5, 6], "name": list("abcdefg")})

ENDS = 7
"""The exit code of a job that went well."""

ASKED = query(
    tables=[eddy.Table("t")],
    joins=["a.k = b.k", "a.k = t.k"],
    filters=[BIG, eddy.Filter("low", on="b", function=low), eddy.Filter("known", on="t", where="name <> 'c'")],
)


def filter_frames(spark: SparkSession, place: Path) -> list[object]:
    """Filters without state: a batch frame with its report, and a stream."""
    table = spark.read.schema("v int, k bigint").parquet(str(place / "in" / "a"))
    kept = eddy.where(table, low, "v > 20", lambda k: k.notna())
    count = kept.count()
    seen = int(eddy.report_of(kept).batches()["rows"].sum())
    stream = eddy.where(feeds.stream(spark, place / "in" / "a"), low, "v > 20", lambda k: k.notna())
    running = stream.writeStream.format("memory").queryName("kept").trigger(availableNow=True)
    job = running.option("checkpointLocation", str(place / "kept")).start()
    job.awaitTermination()
    told = [count, seen, spark.table("kept").count(), sorted(set(eddy.report_of(job).operators()["operator"]))]
    lookups = {"t": spark.createDataFrame(LOOKUP)}
    joined = eddy.where(table, low, "k > t.k - 2", tables=lookups, joins="k = t.k")
    return [*told, joined.count(), joined.columns, eddy.where(table, low, tables=lookups, anti="k = t.k").count()]


TOGETHER = [
    query(name="joined", select=["a.k AS k", "b.v AS v"]),
    eddy.Query(name="lone", streams=[query().streams[1]], filters=[eddy.Filter("low", on="b", function=low)]),
]


def answer_together(spark: SparkSession, place: Path) -> dict[str, int]:
    """Two queries, each of whose rows are taken from the common answer, in a query of its own."""
    frames = {name: feeds.stream(spark, place / "in" / name) for name in "ab"}
    found = {}
    for asked in TOGETHER:
        own = eddy.of(eddy.attach(eddy.Queries(TOGETHER), frames, cells=2), asked.name)
        running = own.writeStream.format("memory").queryName(asked.name).trigger(availableNow=True)
        job = running.option("checkpointLocation", str(place / asked.name)).start()
        job.awaitTermination()
        report = eddy.report_of(job)
        assert isinstance(report, eddy.ReportTogether)
        told = int(report[asked.name].batches()["results"].sum())
        found[asked.name] = told if spark.table(asked.name).count() == told else -1
    return found


def main(place: Path, url: str) -> None:
    spark = SparkSession.builder.remote(url).getOrCreate()
    frames = {name: feeds.stream(spark, place / "in" / name) for name in "ab"}
    tables = {"t": spark.createDataFrame(LOOKUP)}
    frame = eddy.attach(ASKED, {**frames, **tables}, policy="content", cells=3)
    writer = (
        frame.writeStream.format("memory").queryName("found").option("checkpointLocation", str(place / "checkpoint"))
    )
    running = writer.trigger(availableNow=True).start()
    running.awaitTermination()
    pq.write_table(spark.table("found").toArrow(), place / "found.parquet")
    report = eddy.report_of(running)
    batches = report.batches()
    told = {"results": int(batches["results"].sum()), "batches": batches["batch"].tolist()}
    told["operators"] = sorted(set(report.operators()["operator"]))
    told["filtered"] = filter_frames(spark, place)
    told["together"] = answer_together(spark, place)
    (place / "told.json").write_text(json.dumps(told))
    raise SystemExit(ENDS)  # and no spark.stop(): a job must end also when it fails


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
