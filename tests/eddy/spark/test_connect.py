"""Through Spark Connect: a job that knows of Spark only the address of a server."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.eddy.spark import feeds, servers
from tests.eddy.spark.remote import ASKED, ENDS, LOOKUP, TOGETHER
from tests.eddy.spark.test_attach import local, rows
from tests.eddy.test_same_answer import rows_of

OPTIONS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": servers.QUICK,
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_job_through_spark_connect(tmp_path: Path) -> None:
    data = {name: rows(seed) for seed, name in enumerate("ab")}
    for name, tables in data.items():
        feeds.write(tmp_path / "in" / name, tables)
    options = [text for key, value in OPTIONS.items() for text in ("--conf", f"{key}={value}")]
    main = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    server = servers.server(
        tmp_path / "server.log",
        r"Spark Connect server started at: .*:(\d+)",
        *("spark-submit", "--master", "local[2]", *options, *main),
    )
    with server as port:
        url = f"sc://127.0.0.1:{port}"
        ended = servers.job(tmp_path / "job.log", "tests.eddy.spark.remote", str(tmp_path), url)
    assert ended == ENDS, (tmp_path / "job.log").read_text("utf-8")
    expected = local(ASKED, {**data, "t": LOOKUP})
    assert rows_of(pq.read_table(tmp_path / "found.parquet")) == expected
    values = [row for part in data["a"] for row in part.to_pylist()]
    large = [row for row in values if row["v"] > 20]
    kept = sum(row["v"] < 90 and row["k"] is not None for row in large)
    low = [row["k"] for row in values if row["v"] < 90]
    met = sum(k in range(7) for k in low)
    assert json.loads((tmp_path / "told.json").read_text("utf-8")) == {
        "filtered": [kept, len(large), kept, ["function_1", "low"], met, ["v", "k", "t_k", "t_name"], len(low) - met],
        "batches": [0, 1, 2],
        "results": sum(expected.values()),
        "operators": ["known", "low", "probe_a", "probe_b", "probe_t"],
        "together": {
            asked.name: sum(local(asked, {name: data[name] for name in asked.sources}).values()) for asked in TOGETHER
        },
    }
